"""Run `hakoiri` and record the processor time of all roles after each layer, and of hosts at each request.

    python -m benchmarks.watched FILE TEAM run tiles --redis ...

TEAM is the JSON of `Watched`. The script writes the JSON of `Seen` to FILE.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgpack

from hakoiri.__main__ import main as hakoiri
from hakoiri.coordinator.hosts import layers
from hakoiri.coordinator.hosts.hosts import HostPool
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.session import Session
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.payload import Array, Arrays, unpacked

#: How Linux numbers the clock of the processor time of a process, ended threads included (clock_getcpuclockid(3)): the
#: bits from 3 on are the inverted process id, and 2 selects the time given by the scheduler.
_CLOCK_SHIFT, _SCHEDULED = 3, 2


class Watched(NamedTuple):
    """The process ids of each role.

    With `in_turn` the coordinator waits for the answer of each host before it sends a request to the next. So each host
    has the machine for itself, and a request takes as long as on a machine of its own.
    """

    processes: dict[str, list[int]]
    in_turn: bool = False

    def cpu(self) -> dict[str, float]:
        """Return the processor seconds of each role up to now."""
        return {role: sum(map(_seconds, processes)) for role, processes in self.processes.items()}


#: No other processes: a run by threads.
ALONE = Watched({})


class Moment(NamedTuple):
    """The state of a run before the search or at the end of a layer.

    `clock` is the time of `time.monotonic`, `cpu` the processor seconds up to now by role, those of recording excluded.
    `hosted` counts the layers that hosts have made, `sent` the bytes that hosts have sent.
    """

    clock: float
    cpu: dict[str, float]
    hosted: int
    sent: int


class Asked(NamedTuple):
    """One request for layer `depth` to the host with process id `host`, while the other hosts had no request.

    `size` is the number of keys expanded or merged, `sent` the bytes sent to other hosts. The processor seconds are
    those of the whole host, `cpu`; of one thread that works alone, `main`; and of the time since its last request,
    `between`, in which it received messages. The thread that works alone is the main thread, or the one that commits
    if that takes longer. `clock` is the duration in seconds.
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
    """The record of a run: a moment before its search and one after each layer, the empty last one included.

    `asked` has the requests to hosts, if `in_turn`.
    """

    moments: list[Moment]
    asked: list[Asked]

    @classmethod
    def of(cls, text: str | bytes) -> "Seen":
        """Return the record from its JSON."""
        moments, asked = json.loads(text)
        return cls([Moment(*each) for each in moments], [Asked(*each) for each in asked])


class _Watch:
    def __init__(self, team: Watched) -> None:
        self._team, self._looking = team, 0.0
        self._before, self._told = dict[int, float](), dict[tuple[int, str, int], tuple[int, int]]()
        self.seen = Seen([], [])

    def look(self, session: Session) -> None:
        """Record a moment."""
        began = time.process_time()
        cpu = self._team.cpu() | {"coordinator": began - self._looking}
        work_log = session.work_log.as_dict()
        hosted, sent = work_log.get("layers", {}).get("hosts", [0])[0], work_log.get("kept", {}).values()
        self.seen.moments.append(Moment(time.monotonic(), cpu, hosted, sum(int(host["sent"]) for host in sent)))
        self._looking += time.process_time() - began

    def asked(self, task: str, chunk: Arrays, process: int, answer: Callable[[], list[Array]]) -> list[Array]:
        """Return the answer of a host to one request, and record the request."""
        began, before, threads = time.monotonic(), _seconds(process), _thread_seconds(process)
        arrays = answer()
        clock, after = time.monotonic() - began, _seconds(process)
        looking = time.process_time()
        # If ranges are cut or move, hosts answer keys and figures of layers, not a map.
        fields = {} if task in ("host-cut", "host-settle") else msgpack.unpackb(arrays[0].tobytes())
        key = process, task, unpacked(chunk, dict[str, Any])["depth"]
        told = fields.get("size", 0), fields.get("bytes", 0)
        # A layer may take several rounds, and an answer counts all of them up to now.
        size, sent = (now - earlier for now, earlier in zip(told, self._told.get(key, (0, 0)), strict=True))
        self._told[key] = told
        self.seen.asked.append(Asked(
            key[2], task, process, size, sent, after - before, _alone(process, after - before, threads),
            before - self._before.get(process, before), clock,
        ))  # fmt: skip
        self._before[process] = after
        self._looking += time.process_time() - looking
        return arrays


def _seconds(process: int) -> float:
    return time.clock_gettime(~process << _CLOCK_SHIFT | _SCHEDULED)


def _thread_seconds(process: int) -> dict[int, float]:
    """Return the processor seconds of each living thread of a process."""
    found = dict[int, float]()
    for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
        with suppress(OSError):  # The thread has ended since.
            found[int(file.parent.name)] = int(file.read_text().split()[0]) / 1e9
    return found


def _alone(process: int, cpu: float, before: Mapping[int, float]) -> float:
    """Return the seconds of the main thread, or of the thread that commits, since `before`; `cpu` are those of all.

    A thread that commits ends with its request.
    """
    spent = {thread: now - before.get(thread, 0.0) for thread, now in _thread_seconds(process).items()}
    return max(spent[process], cpu - sum(spent.values()))


def _only(ask: Callable[[], dict[str, list[Array]]]) -> list[Array]:
    (answer,) = ask().values()
    return answer


def main() -> None:
    """Run `hakoiri` with recording patched in."""
    target, team, *arguments = sys.argv[1:]
    watched = Watched(*json.loads(team))
    watch, step, ask = _Watch(watched), LayeredSearch.step, HostPool.ask

    def stepped(search: LayeredSearch) -> None:
        if not watch.seen.moments:
            watch.look(search._session)
        step(search)
        watch.look(search._session)

    def asked(
        pool: HostPool, task: str, shared: Arrays, requests: Mapping[str, Arrays], living: Mapping[str, HostBeat]
    ) -> dict[str, list[Array]]:
        found = {}
        for host, chunk in requests.items():
            process = int(living[host].process.partition("-")[0])
            alone = partial(ask, pool, task, shared, {host: chunk}, living)
            found[host] = watch.asked(task, chunk, process, partial(_only, alone))
        return found

    LayeredSearch.step = stepped  # type: ignore[assignment, method-assign]
    if watched.in_turn:
        HostPool.ask = asked  # type: ignore[assignment, method-assign]
        # Then each request does the work of one layer only.
        layers.AHEAD_SECONDS = 0.0
    sys.argv = ["hakoiri", *arguments]
    try:
        hakoiri()
    finally:
        Path(target).write_text(json.dumps(watch.seen))


if __name__ == "__main__":
    main()
