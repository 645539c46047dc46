"""Requests to hosts, one at a time to each. The loss of a host is reported as soon as it is seen."""

import secrets
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

import numpy as np
import redis

from hakoiri.coordinator.executors.in_flight import InFlight, Shared, read_events
from hakoiri.coordinator.executors.sending import Chunk
from hakoiri.coordinator.executors.worker_pool import RedisRetry
from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import Hint, PayloadError, WorkerError, counted
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.program import program_of
from hakoiri.worker.transport.connection import (
    BEAT_SECONDS,
    HostBeat,
    draining_hosts,
    is_away,
    living_hosts,
    redis_errors,
    without_password,
)
from hakoiri.worker.transport.payload import Array, Arrays, Event, TaskRequest

#: Between two looks at events, and the longest pause before another attempt.
_WAIT_SECONDS, _LONGEST_PAUSE_SECONDS = 0.25, 8.0
#: Hosts cost 1.0 to 1.6 times the processor time of threads (docs/reports/scaling.md), and some hundredths of a second
#: for each layer. So they pay if they have this many times the threads, and threads take this long for a layer.
_TIMES_THREADS, _LEAST_SECONDS = 2, 0.25
#: An idle host that does not take a request counts as away for this long.
_MUTE_SECONDS = 120.0
_Value = TypeVar("_Value")


class HostLostError(WorkerError):
    """A host, or a data Redis, has lost work in progress: the layer goes on after the last round kept."""


class HostGoneError(WorkerError):
    """A host has been away for long, and others have copies of its ranges."""

    def __init__(self, host: str) -> None:
        super().__init__(f"host {host} is away", Hint("drain", host))
        self.host = host


class HostRefusedError(WorkerError):
    """A host takes no request of the run: it has other code, or lacks the puzzle; `process` is its present process."""

    def __init__(self, host: str, process: str, detail: str, *hints: Hint) -> None:
        super().__init__(f"host {host}: {detail}", *hints)
        self.host, self.process, self.detail = host, process, detail


class TooFewHostsError(WorkerError):
    """Fewer hosts than wanted may begin a run."""


class HostPool:
    """Sends requests to hosts at the Redis `url`. `wanted` hosts keep a new run; 0 stands for all living hosts.

    ``None`` also stands for all living hosts, but only if they pay (`pays`).

    Attributes: `puzzle`; `memory`, the bytes that each host may take, 0 if it may choose. `copies` is the number of
    hosts that keep each range of a new run, 1 or 2, `address` the URL without its password, and `tuning`.
    """

    def __init__(
        self, url: str, connection: redis.Redis, puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer,
        tuning: Tuning, wanted: int | None = None, memory: int = 0, copies: int = 1,
    ) -> None:  # fmt: skip
        self.puzzle, self.memory, self.copies, self.address = puzzle, memory, copies, without_password(url)
        self._url, self._redis, self.wanted = url, connection, wanted
        self._control, self._observer, self.tuning = control, observer, tuning
        self._request = TaskRequest(secrets.token_hex(6), "", 0, 0, tuning.keep, spec.as_dict(), {**program_of(puzzle)})
        self._shared = Shared(connection, self._request.session, tuning)
        self._redis_retry = RedisRetry(url, connection, control, observer, tuning.patience)
        self._stage, self._redis_answers = 0, True
        #: By process of a host: the time until which it counts as away, because it took no request.
        self._mute = dict[str, float]()
        #: The names of hosts that have refused to join the run, by process.
        self._refusing = dict[str, str]()

    def living(self) -> dict[str, HostBeat]:
        """Return the hosts that live and take requests, by name."""
        return self._responsive(self._redis_retry.call(lambda: living_hosts(self._redis)))

    def _responsive(self, living: Mapping[str, HostBeat]) -> dict[str, HostBeat]:
        """Return the living hosts, except hosts that have just left a request waiting."""
        now = time.monotonic()
        return {name: beat for name, beat in living.items() if self._mute.get(beat.process, 0.0) < now}

    def willing(self) -> dict[str, HostBeat]:
        """Return the hosts that live and take requests, except hosts that have refused to join the run."""
        return self._willing(self.living())

    def _willing(self, living: Mapping[str, HostBeat]) -> dict[str, HostBeat]:
        return {name: beat for name, beat in living.items() if beat.process not in self._refusing}

    def exclude(self, refused: HostRefusedError) -> None:
        """Ask a host, which keeps nothing of the run, no more; note why."""
        self._refusing[refused.process] = refused.host
        self._observer.note(f"host {refused.host} is excluded from this run: {refused.detail}", *refused.hints)

    @property
    def is_requested(self) -> bool:
        """True if the user has asked for hosts, or for copies; else hosts make layers where that pays."""
        return self.wanted is not None or self.copies > 1

    def pays(self, threads: int, seconds: float) -> bool:
        """Return whether hosts are to make a layer that would take `threads` threads of this process `seconds`."""
        if self.is_requested:
            return True
        if seconds < _LEAST_SECONDS:
            return False
        try:
            living, leaving = self._responsive(living_hosts(self._redis)), draining_hosts(self._redis)
        except redis.RedisError:
            # Threads need no Redis.
            return False
        free = [beat.threads for name, beat in self._willing(living).items() if name not in leaving]
        return sum(free) >= _TIMES_THREADS * threads

    def choose(self, again: bool = False) -> list[str]:
        """Return the hosts for a new run, after two heartbeats if the user has asked for more than live at first.

        Raises `TooFewHostsError`, or `HostLostError` if hosts are chosen `again` and may come back.
        """
        # Redis may have lost all heartbeats a moment ago.
        until = time.monotonic() + 2 * BEAT_SECONDS * self.is_requested
        while True:
            leaving, names = self.changes([])
            wanted = max(self.copies, self.wanted or len(names), 1)
            if len(names) >= wanted:
                return names[:wanted]
            if again or time.monotonic() >= until:
                others = f"; {', '.join(sorted(leaving))} are to leave" if leaving else ""
                others += f"; excluded: {', '.join(sorted(self._refusing.values()))}" if self._refusing else ""
                text = f"{counted(len(names), 'hosts')} live, {wanted} are wanted{others}"
                if again and self.is_requested and not self._refusing:
                    raise HostLostError(text, Hint("host", "DIR"))
                raise TooFewHostsError(text, Hint("host", "DIR"))
            self._control.check()
            time.sleep(_WAIT_SECONDS)

    def changes(self, members: Sequence[str]) -> tuple[set[str], list[str]]:
        """Return the hosts that are to leave, and the living hosts that may join a run with these members."""
        living = self.willing()
        leaving = self.draining()
        free = sorted(living.keys() - leaving - {*members})
        return leaving, free[: max(0, self.wanted - len(members))] if self.wanted else free

    def draining(self) -> set[str]:
        """Return the hosts that are to give up all their ranges."""
        return self._redis_retry.call(lambda: draining_hosts(self._redis))

    def await_all(self, names: list[str], dispensable: Collection[str] = ()) -> dict[str, HostBeat]:
        """Wait until all these hosts live; return the living hosts. `StopRun` if the run is to stop.

        `HostGoneError` if one `dispensable` host is the only one missing, and is to leave or has been away for long.
        `WorkerError` to make room for other runs.
        """
        noted, began = set[str](), time.monotonic()
        while missing := set(names) - (living := self.living()).keys():
            if not missing <= noted:
                noted |= missing
                self._observer.note(f"waiting for {', '.join(sorted(missing))}", Hint("host", "DIR"))
            self._control.check()
            waited = time.monotonic() - began
            if len(missing) == 1 and missing <= {*dispensable}:
                if waited > self.tuning.away or missing <= self.draining():
                    raise HostGoneError(*missing)
            elif waited > self.tuning.place and self._control.others_wait():
                text = f"host {', '.join(sorted(missing))} is away, and other runs are queued"
                raise WorkerError(text, Hint("host", "DIR"))
            time.sleep(_WAIT_SECONDS)
        return living

    def ask(
        self, task: str, shared: Arrays, requests: Mapping[str, Arrays], living: Mapping[str, HostBeat]
    ) -> dict[str, list[Array]]:
        """Return the answer of each host to its request, which has a `shared` part; `living` comes from `await_all`.

        Raises `HostLostError`, `HostRefusedError`, `WorkerError` if a host cannot answer, and `StopRun`.
        """
        with redis_errors(self._url):
            flight, waiting = self._flight(task, shared, requests)
            try:
                flight.send_all((flight.chunks[token], host) for token, host in waiting.items())
                answers, looked, idle = dict[str, list[Array]](), time.monotonic(), dict[str, float]()
                while waiting:
                    for event in read_events(self._redis, self._request.session, _WAIT_SECONDS, self._observer):
                        if event.token in waiting and event.kind != "started":
                            host = waiting[event.token]
                            if event.kind == "refused":
                                raise HostRefusedError(host, living[host].process, event.detail, *event.hints)
                            answers[host] = self._answer(flight, flight.chunks[event.token], host, event)
                            del waiting[event.token]
                    self._control.check()
                    if waiting and time.monotonic() > looked + self.tuning.host_look:
                        looked = time.monotonic()
                        self._look(flight, waiting, living, idle)
                return answers
            except redis.RedisError as error:
                self._redis_answers = not is_away(error)
                self._redis_retry.outlast(error)
                self._redis_answers = True
                raise HostLostError("Redis was away") from error
            finally:
                # The keys expire by themselves, and the first error is the one to report.
                with suppress(redis.RedisError):
                    flight.take_back()

    def tell(self, task: str, shared: Arrays, requests: Mapping[str, Arrays]) -> None:
        """Send each host a request without waiting for answers; do nothing if Redis does not answer."""
        if not self._redis_answers:
            return
        flight, hosts = self._flight(task, shared, requests)
        with suppress(redis.RedisError):
            flight.send_all((flight.chunks[token], host) for token, host in hosts.items())

    def insist(self, what: str, work: Callable[[], _Value], kept: Callable[[], int] = lambda: 0) -> _Value:
        """Return the result of `work`; call it again after each loss of a host, with growing pauses.

        `kept` returns the number of rounds that are not lost. Raises `WorkerError` after many losses without progress.
        """
        pause, losses, before = self.tuning.host_pause, 0, kept()
        while True:
            try:
                return work()
            except HostLostError as lost:
                losses, before = 1 if kept() > before else losses + 1, kept()
                if losses >= self.tuning.most_losses:
                    raise WorkerError(f"{what} was lost {losses} times, the last time because {lost}") from lost
                self._observer.note(f"{lost}; {what} {goes_on(before)}")
                self._control.check()
                time.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def _flight(self, task: str, shared: Arrays, requests: Mapping[str, Arrays]) -> tuple[InFlight, dict[str, str]]:
        """Return the requests as chunks in flight, and the host of each by token."""
        self._stage += 1
        # The same bytes are shared until a host or a range moves.
        if not (self._shared.arrays and np.array_equal(shared[0], self._shared.arrays[0])):
            self._shared.become(shared)
        flight = InFlight(self._redis, task, self._stage, self._request, self._shared)
        return flight, {flight.add(n, arrays, 0.0).token: host for n, (host, arrays) in enumerate(requests.items())}

    def _answer(self, flight: InFlight, chunk: Chunk, host: str, event: Event) -> list[Array]:
        if event.kind == "missing":
            raise HostLostError(f"host {host}: {event.detail}")
        if event.kind != "done":
            raise WorkerError(f"host {host}: {event.detail}", *event.hints)
        try:
            result = flight.fetch(chunk, event)
        except PayloadError as error:
            raise HostLostError(f"the answer of host {host} is damaged: {error}") from error
        if result is None:
            raise HostLostError(f"the answer of host {host} is missing from Redis")
        return result

    def _look(
        self, flight: InFlight, waiting: Mapping[str, str], began: Mapping[str, HostBeat], idle: dict[str, float]
    ) -> None:
        """Renew the keys of waiting requests; `HostLostError` if a host cannot answer any more.

        `idle` maps a host to the time since which it has been idle although a request waits for it.
        """
        living, kept = living_hosts(self._redis), flight.renew()
        for token, host in waiting.items():
            if host not in living:
                raise HostLostError(f"host {host} is away")
            if living[host].process != began[host].process:
                raise HostLostError(f"host {host} was restarted")
            if not kept[token]:
                raise HostLostError("Redis lost its data")
            if not living[host].idle:
                idle.pop(host, None)
            elif (now := time.monotonic()) > idle.setdefault(host, now) + self.tuning.host_taken:
                self._mute[living[host].process] = now + _MUTE_SECONDS
                raise HostLostError(f"host {host} is alive, but takes no requests")


def goes_on(kept: int) -> str:
    """Return the words for work that continues after its last kept round."""
    return f"goes on after round {kept}" if kept else "restarts"
