"""`hakoiri`, and a look at what everybody who takes part has spent, after each layer of a run and at each request.

    python -m benchmarks.watched FILE TEAM run tiles --redis ...

TEAM is the JSON of `Watched`. FILE gets the JSON of `Seen`.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from hakoiri.__main__ import main as hakoiri
from hakoiri.coordinator.executors.hosts import HostPool
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.session import Session
from hakoiri.worker.hosts.requests import HostRequest, of_array
from hakoiri.worker.tasks import Array, Arrays
from hakoiri.worker.transport.connection import HostBeat

#: The clock of a process number on Linux, all threads that it ever had: bits 3 and up are the number, inverted, and 2
#: means the time that the scheduler gave it (clock_getcpuclockid(3)).
_CLOCK_SHIFT, _SCHEDULED = 3, 2


class Watched(NamedTuple):
    """Process numbers by role; and whether hosts are asked one after the other, each alone on the machine.

    A request takes a host as long then as on a machine of its own, however many there are.
    """

    processes: dict[str, list[int]]
    in_turn: bool = False

    def cpu(self) -> dict[str, float]:
        """The processor seconds of each role up to now."""
        return {role: sum(map(_seconds, processes)) for role, processes in self.processes.items()}


#: A run by threads.
ALONE = Watched({})


class Moment(NamedTuple):
    """What was spent before a search, or up to the end of a layer: seconds by the clock, and of processors by role.

    Without looking. `hosted` layers up to now were made by hosts, which sent so many bytes.
    """

    clock: float
    cpu: dict[str, float]
    hosted: int
    sent: int


class Asked(NamedTuple):
    """A request to the host of process `host` for layer `depth`, asked in turn: the keys read or made, the bytes sent.

    Processor seconds of the host, those of its main thread alone, those between its last request and this one, in which
    it took in what others sent; and the seconds by the clock.
    """

    depth: int
    task: str
    host: int
    size: int
    sent: int
    cpu: float
    main: float
    between: float
    clock: float


class Seen(NamedTuple):
    """All that was seen of a run: a moment before its search, and one after each layer, the empty one included."""

    moments: list[Moment]
    asked: list[Asked]

    @classmethod
    def of(cls, text: str | bytes) -> "Seen":
        """The inverse of JSON."""
        moments, asked = json.loads(text)
        return cls([Moment(*each) for each in moments], [Asked(*each) for each in asked])


class _Watch:
    def __init__(self, team: Watched) -> None:
        self._team, self._looking = team, 0.0
        self._before, self._told = dict[int, float](), dict[tuple[int, str, int], tuple[int, int]]()
        self.seen = Seen([], [])

    def look(self, session: Session) -> None:
        began = time.process_time()
        cpu = self._team.cpu() | {"coordinator": began - self._looking}
        places = session.places.as_dict()
        hosted, sent = places.get("layers", {}).get("hosts", [0])[0], places.get("kept", {}).values()
        self.seen.moments.append(Moment(time.monotonic(), cpu, hosted, sum(host["sent"] for host in sent)))
        self._looking += time.process_time() - began

    def asked(self, task: str, chunk: Arrays, process: int, answer: Callable[[], list[Array]]) -> list[Array]:
        """The answer of a host to one request."""
        began, before, main = time.monotonic(), _seconds(process), _main_seconds(process)
        arrays = answer()
        clock, after = time.monotonic() - began, _seconds(process)
        looking, fields = time.process_time(), of_array(arrays[0])
        key = process, task, HostRequest.of(chunk).depth
        told = fields.get("size", 0), fields.get("bytes", 0)
        # Of a layer of several rounds a host tells what it has done in all of them.
        size, sent = (now - earlier for now, earlier in zip(told, self._told.get(key, (0, 0)), strict=True))
        self._told[key] = told
        self.seen.asked.append(Asked(
            key[2], task, process, size, sent, after - before, _main_seconds(process) - main,
            before - self._before.get(process, before), clock,
        ))  # fmt: skip
        self._before[process] = after
        self._looking += time.process_time() - looking
        return arrays


def _seconds(process: int) -> float:
    return time.clock_gettime(~process << _CLOCK_SHIFT | _SCHEDULED)


def _main_seconds(process: int) -> float:
    return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[0]) / 1e9


def _only(ask: Callable[[], dict[str, list[Array]]]) -> list[Array]:
    """The one answer to a request."""
    (answer,) = ask().values()
    return answer


def main() -> None:
    """Run `hakoiri`, watched."""
    target, team, *arguments = sys.argv[1:]
    watched = Watched(*json.loads(team))
    watch, step, ask = _Watch(watched), LayeredSearch.step, HostPool.ask

    def stepped(search: LayeredSearch) -> None:
        if not watch.seen.moments:
            watch.look(search._session)
        step(search)
        watch.look(search._session)

    def asked(
        pool: HostPool, task: str, requests: Mapping[str, Arrays], living: Mapping[str, HostBeat]
    ) -> dict[str, list[Array]]:
        found = {}
        for host, chunk in requests.items():
            process = int(living[host].process.partition("-")[0])
            alone = partial(ask, pool, task, {host: chunk}, living)
            found[host] = watch.asked(task, chunk, process, partial(_only, alone))
        return found

    LayeredSearch.step = stepped  # type: ignore[method-assign]
    if watched.in_turn:
        HostPool.ask = asked  # type: ignore[method-assign]
    sys.argv = ["hakoiri", *arguments]
    try:
        hakoiri()
    finally:
        Path(target).write_text(json.dumps(watch.seen))


if __name__ == "__main__":
    main()
