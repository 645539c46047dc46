"""Workers that are not as the coordinator: their clocks jump, their Hakoiri or their puzzle file is another one."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

from campaigns.mayhem.liars import other_worker
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.shim import CLOCK, be_on_clock, require_preloaded
from campaigns.mayhem.trials import TWICE, Measure
from campaigns.mayhem.works import FOR_WORKERS, OWN_FILE
from hakoiri.puzzles.user.files import FILES

_HOUR, _MOST_JUMPS = 3600, 4
#: What makes a program a worker of another version.
_OTHER = {
    "number": "from hakoiri.puzzles.sliding_blocks.klotski import Klotski; Klotski.version = 0",
    "task": "from hakoiri.worker.tasks import TASKS; TASKS.clear()",
    "field": "from hakoiri.worker import rq_worker; rq_worker.TaskRequest = lambda session, token: None",
}
_CLOCKS = ("run", "workers", "Redis")


def _jumps(scene: Scene, whose: tuple[str, ...]) -> None:
    """Clocks jump by an hour, ahead or behind, and back, while all are at work."""
    require_preloaded()
    clocks = {name: scene.place / f"clock of {name}" for name in _CLOCKS}
    for clock in clocks.values():
        clock.write_bytes(bytes(8))
    scene.before = partial(be_on_clock, scene.work.before, clocks["run"])
    with patch.dict(os.environ, {CLOCK: str(clocks["Redis"])}):
        scene.farm(before=partial(be_on_clock, None, clocks["workers"]))
    running = scene.drive()
    for _ in range(scene.chance.randint(1, _MOST_JUMPS)):
        if not scene.let_work(running, scene.seconds):
            break
        _set(clocks[scene.chance.choice(whose)], scene.chance.choice((-_HOUR, 0, _HOUR)))
        scene.outcome.figures["harms"] += 1
    scene.finish(running)


def _set(clock: Path, seconds: int) -> None:
    # IMPORTANT: in its place, for who has an empty file in his memory dies of reading it.
    with clock.open("r+b") as file:
        file.write(seconds.to_bytes(8, sys.byteorder, signed=True))


def _other_version(scene: Scene) -> None:
    """One worker of another version beside two."""
    scene.farm()
    with other_worker(scene.url, _OTHER[scene.chance.choice(sorted(_OTHER))]):
        scene.outcome.figures["harms"] += 1
        scene.finish(scene.drive())


def _other_file(scene: Scene, beside: bool) -> None:
    """Workers whose file of the puzzle has the same name and other rules, perhaps beside one that has the right one."""
    other = scene.place / OWN_FILE.name
    other.write_text(OWN_FILE.read_text(encoding="utf-8").replace("(-1, 1)", "(-7, 7)"), encoding="utf-8")
    scene.farm(env={FILES: str(other)})
    if beside:
        scene.hosts.append(scene.start_host())
    running = scene.drive()
    scene.finish(running)
    scene.outcome.figures["harms"] += 1
    if "is excluded from this run" not in running.stderr:
        scene.outcome.faults.append(f"no message says that these workers are left out: {running.stderr[-600:]}")


class Hosts(Disturbed):
    """A trial is a farmed run of one kind, and a participant that differs from the others."""

    name, usual, short = "hosts", 131, (64,)
    headings = ("what is otherwise", "run")
    works = FOR_WORKERS
    ways: ClassVar = {
        **{f"clock of the {name}": partial(_jumps, whose=(name,)) for name in _CLOCKS},
        "all clocks, one by one": partial(_jumps, whose=_CLOCKS),
        "worker of another version": _other_version,
        "puzzle file of the same name": partial(_other_file, beside=False),
        "one such file, and a right one": partial(_other_file, beside=True),
    }
    of_work: ClassVar = {"puzzle file of the same name": "own puzzle", "one such file, and a right one": "own puzzle"}
    measures: ClassVar = {"harms": Measure("harms done"), **TWICE}
    text = """\
Each trial is a run by two workers. The clocks of the run, the workers and Redis jump by an hour either way and back
while all are at work. Or one worker has another version, or another file of a user's puzzle with the same name. The run
must end by itself and find the same as an undisturbed run."""
