"""Disks that fail: no room, errors, short writes, power cuts, a read-only file system."""

import errno
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

from campaigns.mayhem.power import Disk, after_a_cut
from campaigns.mayhem.scene import MOST_SECONDS, Disturbed, Scene
from campaigns.mayhem.shim import NAMES, READS, SYNCS, WRITES, arm, require_preloaded
from campaigns.mayhem.trials import TWICE, ImpossibleError, Measure
from campaigns.mayhem.works import the_run
from tests.support.commands import Finished

_CHANGES = WRITES | SYNCS | NAMES


class Failure(NamedTuple):
    """The calls that may fail, their error (0: a short write), whether for good, and the words that explain it."""

    kinds: int
    error: int
    for_good: bool
    words: tuple[str, ...]


_FULL, _BROKEN = ("is full",), ("Input/output error", "is full or broken", "is damaged")
FAILURES = {
    "ENOSPC, once": Failure(_CHANGES, errno.ENOSPC, False, _FULL),
    "ENOSPC from then on": Failure(_CHANGES, errno.ENOSPC, True, _FULL),
    "EIO, once": Failure(_CHANGES, errno.EIO, False, _BROKEN),
    "EIO from then on": Failure(_CHANGES, errno.EIO, True, _BROKEN),
    "EIO on fsync": Failure(SYNCS, errno.EIO, False, _BROKEN),
    "EIO on reading": Failure(READS, errno.EIO, False, _BROKEN),
    "short write": Failure(WRITES, 0, False, _BROKEN),
    # If it interrupts a write of several parts, all that is known is that the write came out short.
    "read-only from then on": Failure(_CHANGES, errno.EROFS, True, ("not writable", "Read-only", *_BROKEN)),
}
#: How many calls of some kinds a run of a work makes that nothing fails.
_counts: dict[tuple[str, int], int] = {}


def _failing(scene: Scene, failure: Failure) -> None:
    """A random call of all that the run makes fails."""
    made = (scene.work.name, failure.kinds)
    if made not in _counts:
        _counts[made] = _armed(scene, Failure(failure.kinds, 0, False, ()), 0)[1]
        shutil.rmtree(scene.hakoiri.data)
        scene.prepare()
    figures, number = scene.outcome.figures, scene.chance.randint(1, _counts[made])
    ended, calls = _armed(scene, failure, number)
    if calls >= number:
        figures["met"] += 1
        figures["survived" if ended.code == 0 else "refused"] += 1
    if ended.code and not (ended.code == 1 and any(words in _error(ended) for words in failure.words)):
        scene.outcome.faults.append(f"call {number}: {ended}"[:1500])
    scene.finish(scene.drive())


def _armed(scene: Scene, failure: Failure, number: int, log: Path | None = None) -> tuple[Finished, int]:
    """Drive the run while the n-th call fails; how it ended, and how many calls there were."""
    require_preloaded()
    counter, work = scene.place / "counter", scene.work
    counter.write_bytes(bytes(8))
    scene.before = partial(
        arm, work.before, scene.hakoiri.data, failure.kinds, number, failure.error, failure.for_good, counter, log
    )
    ended = scene.drive().finish(MOST_SECONDS)
    scene.before = work.before
    return ended, int.from_bytes(counter.read_bytes(), sys.byteorder)


def _power_cut(scene: Scene) -> None:
    """All that a whole run does to the disk is written down; then it is as after a cut in the midst of it."""
    data, log = scene.hakoiri.data, scene.place / "log"
    data.mkdir(exist_ok=True)
    disk, root = Disk.of(data), data.stat().st_ino
    _armed(scene, Failure(0, 0, False, ()), 0, log)
    shutil.rmtree(data)
    committed = after_a_cut(disk, log, root, scene.chance, data)
    lost = committed > scene.standing().state.updated
    scene.outcome.figures["met"] += 1
    scene.outcome.figures["lost"] += lost
    if lost:
        scene.outcome.faults.append(f"the commit of {committed} had returned, and is lost: {scene.standing().state}")
    scene.finish(scene.drive())


def _remounted(scene: Scene) -> None:
    """The run is killed, its file system is read-only for a while: answers go on, and to go on with it is refused."""
    data, kept = scene.hakoiri.data, scene.place / "kept"
    if data.exists():
        data.rename(kept)
    data.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", data], check=False, capture_output=True, text=True)
    if mounted.returncode:
        raise ImpossibleError(f"mount is refused here: {mounted.stderr.strip()}")
    scene.ended.callback(lambda: subprocess.run(["umount", "--lazy", data], check=True))
    if kept.exists():
        shutil.copytree(kept, data, dirs_exist_ok=True)
    running = scene.drive()
    if scene.let_work(running, scene.seconds):
        scene.struck(time.time(), running.kill)
    if scene.made():
        name = the_run(scene.work, data).name
        subprocess.run(["mount", "-o", "remount,ro", data], check=True, capture_output=True)
        whole = scene.standing().state.status == "complete"
        refused, asked = scene.hakoiri.here("resume", name, check=False), scene.hakoiri.here("status", name)
        subprocess.run(["mount", "-o", "remount,rw", data], check=True, capture_output=True)
        scene.outcome.figures["met"] += 1
        scene.outcome.figures["refused"] += refused.code
        if not whole and (refused.code != 1 or "not writable" not in refused.error):
            scene.outcome.faults.append(f"resumed on a read-only file system: {refused}, {asked}")
    scene.finish(scene.drive())


def _error(ended: Finished) -> str:
    """Return the line of the error; empty without an error, or with a traceback."""
    try:
        return ended.error
    except AssertionError:
        return ""


class Disks(Disturbed):
    """A trial is one failure in a run of one kind."""

    name, usual, short = "disks", 480, (0, 8)
    headings = ("failure", "run")
    ways: ClassVar = {name: partial(_failing, failure=failure) for name, failure in FAILURES.items()} | {
        "power cut": _power_cut, "remounted read-only": _remounted,
    }  # fmt: skip
    measures: ClassVar = {
        "met": Measure("met"),
        "survived": Measure("of them without harm"),
        "refused": Measure("ended with an error"),
        **TWICE,
        "lost": Measure("commits lost"),
    }
    text = """\
A library between Hakoiri and the system (`LD_PRELOAD`) lets a call below the data directory fail: a write, fsync,
rename or read, a random one of all that the run makes. The run must end with one line that says why, or without harm.
A *power cut* keeps what was synced at a random call, and of the rest what chance leaves, torn at sectors: no commit
that had returned may be lost. Then the disk works again, and the run is resumed: it must find the same as an
undisturbed run, and `hakoiri verify` must agree."""
