"""Runs that hosts keep: kills of everybody who takes part in one, and cuts of their links, at random moments."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from campaigns.mayhem.keeping_hosts import CONTROL, NAMES, KeepingHosts
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import Measure
from campaigns.mayhem.works import Work
from tests.support.namespaces import Network
from tests.support.process_setup import be_impatient

_MOST_BLOWS = 4
#: By hosts a run takes so many times what it takes by threads, the start included.
_LONGER = 4
_KEPT = ("--hosts", "all", "--farm", "1")
#: A whole space, of which no component is measured.
_WHOLE = ("--whole", "--diameters", "largest=0")


_BLOWS = {
    "process of a host": KeepingHosts.kill_process,
    "host with all its processes": KeepingHosts.kill_host,
    "data Redis": KeepingHosts.kill_data_redis,
    "Redis of the queue": KeepingHosts.kill_redis,
    "coordinator": KeepingHosts.kill_coordinator,
    "host stopped": KeepingHosts.stop,
}


def _struck(*blows: Callable[[KeepingHosts], None], impatient: bool = False) -> Callable[[Scene], None]:
    """A way that deals some of `blows` at random moments."""
    return lambda scene: _strike(scene, blows, impatient)


def _linked(*blows: Callable[[KeepingHosts], None]) -> Callable[[Scene], None]:
    """The same with hosts that have links of their own."""

    def way(scene: Scene) -> None:
        with Network([CONTROL, *NAMES]) as network, network.inside(CONTROL):
            _strike(scene, blows, False, network)

    return way


def _strike(
    scene: Scene, blows: Sequence[Callable[[KeepingHosts], None]], impatient: bool, network: Network | None = None
) -> None:  # fmt: skip
    if impatient:
        scene.before = be_impatient
    hosts = KeepingHosts(scene, network)
    for _ in range(scene.chance.randint(1, _MOST_BLOWS)):
        if not scene.let_work(hosts.running, scene.seconds * _LONGER):
            scene.outcome.figures["late"] += 1
            break
        blow = scene.chance.choice(blows)
        scene.survived(partial(blow, hosts), lambda: hosts.running)
    scene.finish_at_last(hosts.running, hosts.await_one)
    # `collect` waits for a host that was lost after the end, and says that it can be drained.
    hosts.drain_lost()
    if scene.standing().state.status != "complete":
        # A whole space that a host has left after the end.
        scene.finish(scene.drive())
    collecting = scene.hakoiri.start("collect", "last", "--redis", scene.url, before=scene.before).finish()
    if collecting.code:
        scene.outcome.faults.append(f"not brought home: {collecting.stderr}")
    scene.outcome.figures["middle"] = scene.outcome.figures["stood"]
    # A host that is still cut off cannot be told; then its user is.
    left = [host for host in hosts.with_parts() if f"host {host} is away" not in collecting.stderr]
    if left:
        scene.outcome.faults.append(f"what was brought home is left at {', '.join(left)}")


def _works(*options: str) -> dict[str, Work]:
    lines = {
        "tiles 2x5": ("tiles", "-o", "rows=2", "-o", "columns=5"),
        "pancakes 9": ("pancakes", "-o", "n=9"),
        "gap 5, directed": ("gap", "-o", "ranks=5"),
        "gap 6, directed, wide keys": ("gap", "-o", "ranks=6"),
        "tiles 2x5, whole": ("tiles", "-o", "rows=2", "-o", "columns=5", *_WHOLE),
    }
    return {name: Work(name, ("run", *line), farmed=(*_KEPT, *options)) for name, line in lines.items()}


class Keepers(Disturbed):
    """A trial is a run that hosts keep, and one to four blows to one of those who take part."""

    name, usual, short = "keepers", 56, (6,)
    headings = ("who is killed", "run")
    crossed = "blows"
    works: ClassVar = _works()
    ways: ClassVar = {name: _struck(blow) for name, blow in _BLOWS.items()} | {
        "any of these, one by one": _struck(*_BLOWS.values()),
        "all at once": _struck(KeepingHosts.kill_all),
        "link cut": _linked(KeepingHosts.cut_link),
        "links cut and slowed, kills": _linked(
            KeepingHosts.cut_link, KeepingHosts.slow_link, KeepingHosts.kill_process, KeepingHosts.kill_host
        ),
    }
    measures: ClassVar = {
        "blows": Measure("kills"),
        "late": Measure("after its end"),
        "stood": Measure("seconds until it went on", most=True),
        "middle": Measure("median of the trials", middle=True),
    }
    text = """\
Each trial is a run whose layers, or a whole space, two or three hosts keep (`worker --store`), some with a data
Redis. One to four kills come at random moments (SIGKILL, or SIGSTOP for 1 to 10 s and SIGCONT). They hit the process
of a host, or its supervisor with all children, which is started again on the same directory; a data Redis; or the
Redis of the queue, which comes back empty. Or they hit the coordinator, after which another one resumes the run, or
all of these. In other trials each host is a network namespace, and its link is cut for 1 to 10 s, or slowed to 1 or
10 Mbit/s.

The run must be complete, with the layers and digests of an undisturbed run by threads. `hakoiri collect` must bring it
home and leave nothing at hosts that it can reach, and `hakoiri verify` must agree. *Seconds until it went on* are those
to the coordinator's next commit. They include the start of a killed process and the time that a host was stopped or cut
off. Done on 2 cores of an AMD EPYC, by `--part keepers --count 300 --minutes 58 --seed 71`, and for more cut links by
`--part keepers --case "link cut" --count 620 --minutes 12 --seed 72`."""


class Copies(Disturbed):
    """A trial is a run with copies, and one to four losses of a disk, or hosts that leave."""

    name, usual, short = "copies", 48, (0,)
    headings = ("what happens", "run")
    crossed = "blows"
    works: ClassVar = _works("--copies", "2")
    ways: ClassVar = {
        "disk of a host lost": _struck(KeepingHosts.lose_disk, impatient=True),
        "host drained": _struck(KeepingHosts.drain, impatient=True),
        "these and kills": _struck(KeepingHosts.lose_disk, KeepingHosts.drain, *_BLOWS.values(), impatient=True),
    }
    measures = Keepers.measures
    text = """\
Each trial is a run whose layers, or a whole space, two or three hosts keep, each range at two of them (`run --copies
2`), and one to four blows at random moments. A whole space that a host leaves after the end is resumed. A host is
ended and its directory removed, and another one begins in its place. The run waits for the lost one in vain, for 3 s
instead of a minute, or `hakoiri drain` says that it does not come back. Or a host leaves by `hakoiri drain`, and
comes back; or one of the kills above happens. The next disk is lost when each range is at two hosts again. The run
must be as above. Done on 2 cores of an AMD EPYC, by `--part copies --count 90 --seed 71`."""
