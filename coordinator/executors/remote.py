"""The distributed executor: chunks as RQ jobs, their arrays in plain Redis string keys.

The store is the truth and RQ's registries are hints: whether a chunk is lost is decided here, by when it was sent and
by whether the worker that began it is still alive. Tasks are idempotent, so a lost chunk is simply sent again; each
attempt has its own result key, and the first answer counts. Redis may be killed, flushed or restarted at any moment.
Whatever is waited for is renewed, so slowness, of a worker or of this process, fails no run.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import redis

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.executors.auditing import Auditor
from hakoiri.coordinator.executors.company import Company
from hakoiri.coordinator.executors.flight import Chunk, Flight, read_events
from hakoiri.coordinator.executors.lying import Answer, Lying
from hakoiri.coordinator.executors.patience import AWAY, Patience
from hakoiri.coordinator.executors.plane import Plane
from hakoiri.coordinator.executors.shared import Shared
from hakoiri.coordinator.session.places import Places
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.tuning import DEFAULT, Tuning
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.errors import DepotLostError, PayloadError, TaskError
from hakoiri.worker.machine import WORKER_BYTES, available_memory
from hakoiri.worker.program import program_of
from hakoiri.worker.tasks import SHUFFLES, Array, Arrays, do_task
from hakoiri.worker.transport.connection import ALIVE_SECONDS, host_of, redis_errors
from hakoiri.worker.transport.depots import MAIN, Depots
from hakoiri.worker.transport.lots import Origin
from hakoiri.worker.transport.messages import Event, TaskRequest
from hakoiri.worker.transport.names import event_key
from hakoiri.worker.transport.payload import unpack_arrays
from hakoiri.worker.transport.pieces import perform

_WAIT_SECONDS = 0.25

#: The arrays of a chunk, and the worker that had better do it, or nothing.
Wanted = tuple[Arrays, str]


class _Landed(NamedTuple):
    """The result of the chunk of a number, and whose it is; ``None`` where what it refers to is not in Redis."""

    number: int
    origin: Origin
    result: list[Array] | None


class RemoteExecutor:
    """Sends chunks to the RQ workers of a Redis server, and works itself where none is left.

    The inputs in flight take up to `in_flight` bytes of this process.
    """

    name = "redis"

    def __init__(
        self, url: str, connection: redis.Redis, puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer,
        in_flight: int, tuning: Tuning = DEFAULT, audit: float = 0.0,
    ) -> None:  # fmt: skip
        self._url, self._redis = url, connection
        self._puzzle = puzzle
        self._control, self._observer = control, observer
        self._in_flight, self._tuning = in_flight, tuning
        self._request = TaskRequest(
            secrets.token_hex(6), "", 0, 0, tuning.keep, spec.as_dict(), {**program_of(puzzle)}, exact=audit > 0
        )
        self._events = event_key(self._request.session)
        self._patience = Patience(url, connection, control, observer, tuning.patience, self._send_again)
        self._plane = Plane(Depots(connection), tuning, self._patience.call, observer.note)
        self._shared = Shared(connection, self._request.session, tuning.keep)
        self._stage = 0
        self._flight = Flight(connection, "", self._stage, self._request, self._shared, self._plane.left_out)
        self.lying = Lying(self._plane, self._request.session, tuning)
        self.places = Places()
        self._company = Company(observer, self.places)
        self._audit, self._layer = Auditor(audit, self.places, self.lying), 0
        self._last_look = 0.0
        #: The result of the last chunk that an audit made again.
        self._made_again: list[Array] | None = None
        #: When jobs of this run were last seen to wait in a queue.
        self._queued = dict[str, float]()

    def expect(self, coming: Callable[[], set[str]]) -> None:
        """Wait for the workers that `coming` names, which this run has started, until they come or it does not."""
        self._company.expect(coming)

    @property
    def workers(self) -> int:
        """How many workers live now; at least one, for this process would work itself."""
        self._patience.call(self._look_for_workers)
        return max(1, len(self._company.living))

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        for number, _, result in self._run(task, ((chunk, "") for chunk in chunks), shared):
            if result is not None:
                yield number, result

    def shuffle(self, task: str, layer: Depth, requests: Iterable[Wanted]) -> Iterator[Answer]:
        """`map` for a half of a layer step, which makes blocks of `layer`."""
        self._layer = layer
        for number, origin, result in self._run(task, requests, ()):
            yield self.lying.answer(number, origin, layer, result)

    def _run(self, task: str, chunks: Iterable[Wanted], shared: Arrays) -> Iterator[_Landed]:
        self._stage += 1
        numbered = enumerate(chunks)
        with redis_errors(self._url):
            self._patience.call(lambda: self._shared.become(shared))
            self._flight = Flight(self._redis, task, self._stage, self._request, self._shared, self._plane.left_out)
            while True:
                results: list[_Landed] = []
                try:
                    self._refill(numbered)
                    if not self._flight.chunks:
                        self._flight.take_back()
                        return
                    self._flight.even_out(self._company.living)
                    self._collect(results)
                    self._reap()
                    if not results:
                        results.extend(self._work_alone())
                except AWAY as error:
                    self._patience.outlast(error)
                self._control.check()
                yield from results

    def close(self) -> None:
        """Take back what is in flight, as far as Redis still answers."""
        try:
            self._flight.take_back()
            self._shared.take_back()
            self.lying.close()
            self._redis.delete(self._events)
        except redis.RedisError:
            pass  # Every key has a time to live.
        self._redis.close()

    def _refill(self, numbered: Iterator[tuple[int, Wanted]]) -> None:
        while self._has_room() and (following := next(numbered, None)) is not None:
            number, (arrays, wanted) = following
            chunk = self._flight.add(number, arrays, self._tuning.deadline)
            if not self._company.is_away or self._company.has_newcomer:
                self._company.has_newcomer = False
                self._flight.send(chunk, wanted if wanted in self._company.living else "")

    def _has_room(self) -> bool:
        return (
            len(self._flight.chunks) < max(4, 3 * len(self._company.living)) and self._flight.bytes <= self._in_flight
        )

    # What workers say

    def _collect(self, results: list[_Landed]) -> None:
        """Add the results that came within a moment; they are in flight no more."""
        seconds = 0.0 if self._company.is_away else _WAIT_SECONDS
        for event in read_events(self._redis, self._events, seconds, self._observer):
            self._company.hear()
            # Of late and doubled events nobody knows the token: the first answer counted.
            if (chunk := self._flight.chunks.get(event.token)) is not None:
                results.extend(self._hear(chunk, event))

    def _hear(self, chunk: Chunk, event: Event) -> Iterator[_Landed]:
        """What an event means for its chunk; the result, if that is what it brings."""
        current = event.attempt == chunk.attempt
        if event.kind == "started":
            chunk.begun[event.attempt] = event.worker
            chunk.begun_at = time.monotonic()
        elif event.kind == "done":
            yield from self._take_in(chunk, event)
        elif event.kind == "failed":
            text = f"task {self._flight.task} failed on worker {event.worker}: {event.detail}"
            raise TaskError(text, *event.steps)
        elif event.kind == "refused":
            self._company.exclude(event.worker, event.detail, *event.steps)
            if current:
                self._flight.send(chunk)
        elif current and self._shuffles:
            if event.depot != MAIN:
                self._plane.leave_out(event.depot, event.detail)
            yield self._land(chunk, event.attempt, None)
        elif current:
            self._lose(chunk, f"worker {event.worker} could not do it ({event.detail})")

    def _take_in(self, chunk: Chunk, event: Event) -> Iterator[_Landed]:
        """The result that a worker left; where it is gone or broken, the chunk is sent again."""
        try:
            result = self._flight.fetch(chunk, event.attempt)
        except PayloadError as error:
            self._observer.note(f"{error}; asking again")
            result = None
        if result is None or event.worker in self.places.untrusted:
            self._flight.send(chunk)
        elif self._audit.picks() and not self._agrees(chunk, event, result):
            yield self._land(chunk, chunk.attempt + 1, self._made_again)
        else:
            worker, task = event.worker, self._flight.task
            depot = self._company.data_redis_of(worker) if self._shuffles else ""
            self.places.add_chunk(task, host_of(worker), worker, depot)
            self._audit.note_answer(worker, self._layer)
            landed = self._land(chunk, event.attempt, result)
            if self._shuffles:
                self.lying.note_maker(landed.origin, worker)
            yield landed

    def _agrees(self, chunk: Chunk, event: Event, result: list[Array]) -> bool:
        """Whether a chunk made again here has the same result; else `_made_again` has it, if anything has.

        `UntrustedError` where other results of that worker count already.
        """
        self._made_again = self._do(chunk)
        if self._made_again is None:
            return False
        theirs, ours = (self._origin(chunk, attempt) for attempt in (event.attempt, chunk.attempt + 1))
        try:
            if self._audit.agrees(self._flight.task, (theirs, result), (ours, self._made_again)):
                return True
        except PayloadError:
            self._made_again = None
            return False
        why = f"its result of chunk {chunk.number} of task {self._flight.task} is not the one made here"
        self._company.exclude(event.worker, why)
        try:
            self._audit.leave_out(event.worker)
        except UntrustedError:
            self._flight.take_back()
            self.lying.retain([])
            raise
        return False

    def _origin(self, chunk: Chunk, attempt: int) -> Origin:
        return Origin.of(self._request.session, chunk.token, attempt)

    def _land(self, chunk: Chunk, attempt: int, result: list[Array] | None) -> _Landed:
        self._flight.land(chunk)
        return _Landed(chunk.number, self._origin(chunk, attempt), result)

    @property
    def _shuffles(self) -> bool:
        return self._flight.task in SHUFFLES

    # What becomes of chunks

    def _reap(self) -> None:
        """Renew what is waited for, and send again what is lost or overdue."""
        now = time.monotonic()
        if now < self._last_look + _WAIT_SECONDS:
            return
        # While this process was busy elsewhere, nothing was renewed.
        was_away = now > self._last_look + self._tuning.keep / 2
        self._last_look = now
        self._look_for_workers()
        kept = self._flight.renew()
        self.lying.renew()
        if self._company.is_away:
            return
        self._queued |= dict.fromkeys(self._flight.waiting(), now)
        for token, chunk in list(self._flight.chunks.items()):
            if not chunk.attempt:
                self._flight.send(chunk)
            elif why := self._why_lost(chunk, kept[token], now):
                self._lose(chunk, why, counts=not was_away)
            elif chunk.worker is not None and now > chunk.begun_at + chunk.deadline:
                # A chunk that is merely slow must not end up with every worker.
                chunk.deadline *= 2
                self._lose(chunk, "it is overdue", counts=False)

    def _why_lost(self, chunk: Chunk, kept: bool, now: float) -> str:
        """Why a chunk must be sent again, or nothing."""
        worker = chunk.worker or chunk.wanted
        if worker and worker not in self._company.living:
            return f"worker {worker} died"
        if not kept:
            return "Redis lost its data"
        # A worker that has just taken the last job, however long that waited, needs a moment to say so.
        taken = now > max(chunk.sent_at, self._queued.get(chunk.queue, 0.0)) + ALIVE_SECONDS
        if chunk.worker is None and taken and self._company.living:
            return "its job is in no queue and no worker has begun it"
        return ""

    def _lose(self, chunk: Chunk, why: str, counts: bool = True) -> None:
        chunk.losses += counts
        if chunk.losses >= self._tuning.most_losses:
            raise TaskError(
                f"chunk {chunk.number} of task {self._flight.task} was lost {chunk.losses} times, the last time "
                f"because {why}; look at the workers' messages; if the system killed one, its host needs more memory, "
                f"{WORKER_BYTES // 1_000_000} MB for each worker, or the run must do without workers",
                Step("leave out", "redis"),
                Step("give", "memory", f"{available_memory() // 4 >> 20}MB"),
            )
        self._observer.note(f"chunk {chunk.number} is sent again: {why}")
        self._flight.resend(chunk)

    # Workers that come and go

    def _look_for_workers(self) -> None:
        self._plane.announced(self._company.look(self._redis, self._flight.waiting_since))

    def _work_alone(self) -> Iterator[_Landed]:
        """Where no worker has lived for a while: one chunk and its result, computed here."""
        if not self._company.is_away or not self._flight.chunks:
            return
        self._company.say_alone(self._url)
        chunk = next(iter(self._flight.chunks.values()))
        self.places.add_chunk(self._flight.task)
        yield self._land(chunk, chunk.attempt + 1, self._do(chunk))

    def _do(self, chunk: Chunk) -> list[Array] | None:
        """The result of a chunk, computed here as the next attempt at it."""
        arrays = unpack_arrays(chunk.payload)
        if not self._shuffles:
            return do_task(self._flight.task, self._puzzle, arrays, self._shared.arrays)
        origin = self._origin(chunk, chunk.attempt + 1)
        try:
            return perform(self._plane.depots, MAIN, self._flight.task, self._puzzle, origin, self._tuning.keep, arrays)
        except DepotLostError as error:
            self._plane.leave_out(error.depot, str(error))
            return None
        except PayloadError:
            return None

    # Redis away

    def _send_again(self) -> int:
        """All that is in flight, for Redis may have come back empty; how many chunks that is."""
        for chunk in self._flight.chunks.values():
            self._flight.resend(chunk)
        # Workers have lost it too.
        self._company.expect_all()
        self._plane.expect_all()
        return len(self._flight.chunks)
