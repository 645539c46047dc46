"""Runs that hosts keep: kills of everybody who takes part in one, and cuts of their links, at random moments."""

import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

import psutil

from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import Measure
from campaigns.mayhem.works import Work, the_run
from hakoiri.coordinator.executors.range_map import NOBODY, RangeMap
from hakoiri.storage.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import HOSTS_KEY, META
from hakoiri.worker.transport.connection import living_hosts
from tests.support.commands import Running, wait_until
from tests.support.namespaces import Network, enter
from tests.support.process_setup import be_impatient
from tests.support.servers import RedisServer

_MOST_BLOWS = 4
#: By hosts a run takes so many times what it takes by threads, the start included.
_LONGER = 4
_LEAST_STILL, _MOST_STILL = 1.0, 10.0
#: Where the coordinator and its Redis are, and the hosts.
_CONTROL, _NAMES = "control", ("one", "two", "three")
_KEPT = ("--hosts", "all", "--farm-from", "1")
#: A whole space, of which no component is measured.
_WHOLE = ("--whole", "--diameters", "largest=0")


class _Hosts:
    """Two or three hosts of one thread, each with its directory, and the command that drives the run.

    The second host has a data Redis of its own; others may have one. In a `network` each host is a host of its own, and
    all have one.
    """

    def __init__(self, scene: Scene, network: Network | None = None) -> None:
        self._scene, self._network = scene, network
        address = network.addresses[_CONTROL] if network else "127.0.0.1"
        scene.redis = RedisServer(scene.place / "redis", "secret" if network else "", host=address)
        scene.ended.callback(scene.redis.close)
        scene.url = scene.redis.url
        self._own = [True, *(bool(network) or scene.chance.random() < 0.5 for _ in range(scene.chance.randint(1, 2)))]
        #: Whose disk was lost last.
        self._lost = ""
        scene.hosts = [self._start(number) for number in range(len(self._own))]
        wait_until(lambda: len(living_hosts(scene.one_redis.client)) == len(self._own), what="the hosts")
        if network:
            scene.before = partial(enter, network.namespace(_CONTROL))
        elif scene.chance.random() < 0.5:
            scene.before = be_impatient
        self.running = scene.drive()

    def _start(self, number: int) -> Running:
        scene, own = self._scene, ("--data-redis", "auto") if self._own[number] else ()
        line = ("worker", "--store", str(self.directory(number)), *own)
        before = partial(enter, self._network.namespace(_NAMES[number])) if self._network else None
        return scene.hakoiri.start(*line, env={"HAKOIRI_REDIS": scene.url}, before=before)

    def directory(self, number: int) -> str:
        return str(self._scene.place / f"host-{number}")

    def kill_process(self) -> None:
        """SIGKILL to the process of one host; its supervisor starts another."""
        self._scene.kill_one(data_redis=False)

    def kill_data_redis(self) -> None:
        """SIGKILL to a data Redis."""
        self._scene.kill_one(data_redis=True)

    def kill_host(self) -> None:
        """SIGKILL to all processes of a host, which is started again on its directory."""
        number = self._scene.chance.randrange(len(self._own))
        self._scene.hosts[number].end()
        self._scene.hosts[number] = self._start(number)

    def kill_redis(self) -> None:
        """SIGKILL to the Redis of the queue, which comes back empty."""
        self._scene.restart_redis(wipe=True)

    def kill_coordinator(self) -> None:
        """SIGKILL to the command that drives the run; another one goes on."""
        self.running.kill()
        self.running = self._scene.drive()

    def kill_all(self) -> None:
        """SIGKILL to all of these at once."""
        self.running.kill()
        for host in self._scene.hosts:
            host.end()
        self.kill_redis()
        self._scene.hosts = [self._start(number) for number in range(len(self._own))]
        self.await_one()
        self.running = self._scene.drive()

    def lose_disk(self) -> None:
        """End a host, remove its directory, and start one in its place; it is drained, or waited for in vain.

        Nothing happens if a run has ended with one host: no host joins a whole space that is under way.
        """
        self._await_copies()
        if not self._has_copies():
            return
        number, chance = self._scene.chance.randrange(len(self._own)), self._scene.chance
        self._lost = name = self._name(number)
        self._scene.hosts[number].end()
        shutil.rmtree(self.directory(number))
        self._scene.hosts[number] = self._start(number)
        if chance.random() < 0.5:
            self._drain(name)

    def drain_lost(self) -> None:
        """Drain the host that was lost last, if a run that has ended still names it."""
        with Ledger(the_run(self._scene.work, self._scene.hakoiri.data)) as run:
            is_named = self._lost in run.keepers()
        if is_named:
            self._drain(self._lost)

    def drain(self) -> None:
        """Have a host leave, and start it again."""
        self._await_copies()
        number = self._scene.chance.randrange(len(self._own))
        self._drain(self._name(number))
        self._scene.hosts[number].end()
        self._scene.hosts[number] = self._start(number)

    def _drain(self, name: str) -> None:
        finished = self._scene.hakoiri.start("drain", name, "--redis", self._scene.url).finish()
        if finished.code:
            self._scene.outcome.faults.append(f"not drained: {finished.stderr}")

    def with_parts(self) -> list[str]:
        """The names of the hosts whose directories hold a part of a run."""
        numbers = range(len(self._own))
        return [self._name(each) for each in numbers if [*Path(self.directory(each)).glob("run-*")]]

    def _name(self, number: int) -> str:
        file = Path(self.directory(number)) / "host"
        wait_until(file.exists, what="the name of a host")
        return file.read_text(encoding="utf-8").strip()

    def _await_copies(self) -> None:
        """Return when each range is at two hosts, or the run has ended."""
        wait_until(lambda: self._has_copies() or self.running.process.poll() is not None, what="copies")

    def _has_copies(self) -> bool:
        with (
            suppress(FileNotFoundError, StorageError),
            Ledger(the_run(self._scene.work, self._scene.hakoiri.data)) as run,
        ):
            range_map = RangeMap(**run.read_record(META, HOSTS_KEY, "record of its hosts"))
            is_done = range_map.settled and not range_map.due and NOBODY not in range_map.copies
            return is_done and self._lost not in range_map.hosts
        return False

    def await_one(self) -> None:
        """Return when a host lives."""
        wait_until(lambda: living_hosts(self._scene.one_redis.client), what="a host")

    def stop(self) -> None:
        """SIGSTOP to the process of a host, and SIGCONT some seconds later."""
        if processes := self._scene.children(data_redis=False):
            process = self._scene.chance.choice(processes)
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                time.sleep(self._scene.chance.uniform(_LEAST_STILL, _MOST_STILL))
                process.resume()

    def cut_link(self) -> None:
        """Cut the link of a host, and mend it some seconds later."""
        network, name = cast(Network, self._network), _NAMES[self._scene.chance.randrange(len(self._own))]
        network.cut(name)
        time.sleep(self._scene.chance.uniform(_LEAST_STILL, _MOST_STILL))
        network.mend(name)

    def slow_link(self) -> None:
        """Let little through the link of a host from now on."""
        name, chance = _NAMES[self._scene.chance.randrange(len(self._own))], self._scene.chance
        cast(Network, self._network).limit(name, chance.choice((1_000_000, 10_000_000)))


_BLOWS = {
    "process of a host": _Hosts.kill_process,
    "host with all its processes": _Hosts.kill_host,
    "data Redis": _Hosts.kill_data_redis,
    "Redis of the queue": _Hosts.kill_redis,
    "coordinator": _Hosts.kill_coordinator,
    "host stopped": _Hosts.stop,
}


def _struck(*blows: Callable[[_Hosts], None], impatient: bool = False) -> Callable[[Scene], None]:
    """A way that deals some of `blows` at random moments."""
    return lambda scene: _strike(scene, blows, impatient)


def _linked(*blows: Callable[[_Hosts], None]) -> Callable[[Scene], None]:
    """The same with hosts that have links of their own."""

    def way(scene: Scene) -> None:
        with Network([_CONTROL, *_NAMES]) as network, network.inside(_CONTROL):
            _strike(scene, blows, False, network)

    return way


def _strike(
    scene: Scene, blows: Sequence[Callable[[_Hosts], None]], impatient: bool, network: Network | None = None
) -> None:  # fmt: skip
    if impatient:
        scene.before = be_impatient
    hosts = _Hosts(scene, network)
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
        "all at once": _struck(_Hosts.kill_all),
        "link cut": _linked(_Hosts.cut_link),
        "links cut and slowed, kills": _linked(
            _Hosts.cut_link, _Hosts.slow_link, _Hosts.kill_process, _Hosts.kill_host
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
        "disk of a host lost": _struck(_Hosts.lose_disk, impatient=True),
        "host drained": _struck(_Hosts.drain, impatient=True),
        "these and kills": _struck(_Hosts.lose_disk, _Hosts.drain, *_BLOWS.values(), impatient=True),
    }
    measures = Keepers.measures
    text = """\
Each trial is a run whose layers, or a whole space, two or three hosts keep, each range at two of them (`run --copies
2`), and one to four blows at random moments. A whole space that a host leaves after the end is resumed. A host is
ended and its directory removed, and another one begins in its place. The run waits for the lost one in vain, for 3 s
instead of a minute, or `hakoiri drain` says that it does not come back. Or a host leaves by `hakoiri drain`, and
comes back; or one of the kills above happens. The next disk is lost when each range is at two hosts again. The run
must be as above. Done on 2 cores of an AMD EPYC, by `--part copies --count 90 --seed 71`."""
