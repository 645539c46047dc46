"""The distributed executor: chunks as RQ jobs, their arrays in plain Redis string keys; a share of them audited.

Tasks are pure functions, so a worker that gives another answer is wrong: by its memory, its disk, or on purpose. It is
left out. Its answer is replaced by the one made here, and where it has answered before, what follows from that is made
again, too (`UntrustedError`).

The store is the truth and RQ's registries are hints: whether a chunk is lost is decided here, by when it was sent and
by whether the worker that began it is still alive. Tasks are idempotent, so a lost chunk is simply sent again; each
attempt has its own result key, and the first answer counts. Redis may be killed, flushed or restarted at any moment.
Whatever is waited for is renewed, so slowness, of a worker or of this process, fails no run.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import redis

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.executors.in_flight import Chunk, InFlight, Shared, read_events
from hakoiri.coordinator.executors.worker_pool import RedisRetry, WorkerPool
from hakoiri.coordinator.session.resources import DEFAULT, Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint, PayloadError, TaskError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.layers.ranges import ExpandedChunk
from hakoiri.worker.machine import WORKER_BYTES, available_memory
from hakoiri.worker.program import program_of
from hakoiri.worker.studies.deals import SolveResult
from hakoiri.worker.tasks import Part, Sizes, do_task, wrong_array
from hakoiri.worker.transport.connection import ALIVE_SECONDS, event_key, host_of, redis_errors
from hakoiri.worker.transport.payload import Array, Arrays, Event, TaskRequest, packed, unpack_arrays, unpacked

_chance = secrets.SystemRandom()
#: Where the answers to ``subtrees`` and ``expand`` have the time that they took.
_SUBTREE_SECONDS, _EXPAND_SECONDS = 4, 2


def same_answer(task: str, theirs: Arrays, ours: Arrays) -> bool:
    """Return whether two answers to a request of a task are equal, but for the time that they took."""
    try:
        theirs, ours = (_UNTIMED.get(task, list)(answer) for answer in (theirs, ours))
    except (PayloadError, IndexError, TypeError, ValueError):
        return False
    return same_arrays(theirs, ours)


def same_arrays(these: Arrays, those: Arrays) -> bool:
    """Return whether two answers have equal arrays: types, shapes and elements."""
    pairs = zip(these, those, strict=False)
    return len(these) == len(those) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


_UNTIMED: dict[str, Callable[[Arrays], Sequence[np.ndarray]]] = {
    "expand": lambda answer: [answer[0][:_EXPAND_SECONDS], *answer[1:]],
    "subtrees": lambda answer: [np.delete(answer[0], _SUBTREE_SECONDS), *answer[1:]],
    "solve": lambda answer: packed(replace(unpacked(answer, SolveResult), seconds=0.0)),
}


_WAIT_SECONDS = 0.25

#: The number of a chunk, and its result.
_Landed = tuple[int, list[Array]]


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
        self._most_bytes, self._tuning = in_flight, tuning
        self._request = TaskRequest(secrets.token_hex(6), "", 0, 0, tuning.keep, spec.as_dict(), {**program_of(puzzle)})
        self._events = event_key(self._request.session)
        self._redis_retry = RedisRetry(url, connection, control, observer, tuning.patience, self._send_again)
        self._shared = Shared(connection, self._request.session, tuning)
        self._stage, self._scarce, self._shared_sizes = 0, False, Sizes()
        self._in_flight = InFlight(connection, "", self._stage, self._request, self._shared)
        self.work_log = WorkLog()
        self._workers = WorkerPool(observer, self.work_log, tuning)
        #: The share of chunks that are computed again, at random, to compare.
        self._audit = audit
        #: The times of the last look for lost chunks, of the last job seen waiting in the queue, and of the last count.
        self._last_look = self._queued_at = self._counted_at = 0.0

    def expect(self, coming: Callable[[], set[str]]) -> None:
        """Wait for the workers that `coming` names, which this run has started, until they come or it does not."""
        self._workers.expect(coming)

    @property
    def workers(self) -> int:
        """The number of living workers; at least 1, because this process works if no worker lives."""
        self._redis_retry.call(self._look_for_workers)
        return max(1, len(self._workers.living))

    @property
    def living(self) -> int:
        if time.monotonic() > self._counted_at + _WAIT_SECONDS:
            self._redis_retry.call(self._look_for_workers)
            self._counted_at = time.monotonic()
        return len(self._workers.living) or bool(self._workers.coming)

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False) -> Iterator[_Landed]:
        self._stage += 1
        self._scarce = scarce
        numbered = enumerate(chunks)
        with redis_errors(self._url):
            self._redis_retry.call(lambda: self._shared.become(shared))
            self._in_flight = InFlight(self._redis, task, self._stage, self._request, self._shared)
            self._shared_sizes = self._sizes_of("shared", shared, Sizes())
            while True:
                results: list[_Landed] = []
                try:
                    self._refill(numbered)
                    if not self._in_flight.chunks:
                        self._in_flight.take_back()
                        return
                    self._collect(results)
                    self._reap()
                    if not results:
                        results.extend(self._work_alone())
                except redis.RedisError as error:
                    self._redis_retry.outlast(error)
                self._control.check()
                yield from results

    def close(self) -> None:
        """Remove chunks in flight from Redis, if it answers."""
        try:
            self._in_flight.take_back()
            self._shared.take_back()
            self._redis.delete(self._events)
        except redis.RedisError:
            pass  # Every key has a time to live.
        self._redis.close()

    def _refill(self, numbered: Iterator[tuple[int, Arrays]]) -> None:
        """Send more chunks. IMPORTANT: a function, because `map` would hold the last arrays while it is suspended."""
        living, flying = len(self._workers.living), self._in_flight
        most = max(1, living) + (1 + living // 2 if self._scarce else max(3, 2 * living))
        while len(flying.chunks) < most and flying.bytes <= self._most_bytes:
            if (following := next(numbered, None)) is None:
                return
            chunk = self._in_flight.add(*following, self._tuning.deadline)
            chunk.sizes = self._sizes_of("chunk", following[1], self._shared_sizes)
            if not self._workers.is_away or self._workers.has_newcomer:
                self._workers.has_newcomer = False
                self._in_flight.send(chunk)

    def _sizes_of(self, part: Part, arrays: Arrays, known: Sizes) -> Sizes:
        """Return the `known` sizes and those of some arrays; `TaskError` for arrays that workers would refuse."""
        sizes = dict(known)
        if wrong := wrong_array(self._in_flight.task, part, self._puzzle, arrays, sizes, own=True):
            raise TaskError(wrong)
        return sizes

    def _collect(self, results: list[_Landed]) -> None:
        """Add the results that came within a moment; they are in flight no more."""
        seconds = 0.0 if self._workers.is_away else _WAIT_SECONDS
        for event in read_events(self._redis, self._events, seconds, self._observer):
            self._workers.hear()
            # Late and doubled events have an unknown token: the first answer counted.
            if (chunk := self._in_flight.chunks.get(event.token)) is not None:
                results.extend(self._hear(chunk, event))

    def _hear(self, chunk: Chunk, event: Event) -> Iterator[_Landed]:
        """Update the chunk of an event; yield its result if the event brings one."""
        current = event.attempt == chunk.attempt
        if event.kind == "started":
            chunk.begun[event.attempt] = event.worker
            chunk.begun_at = time.monotonic()
        elif event.kind == "done":
            yield from self._take_in(chunk, event)
        elif event.kind == "failed":
            text = f"task {self._in_flight.task} failed on worker {event.worker}: {event.detail}"
            raise TaskError(text, *event.hints)
        elif event.kind == "refused":
            self._workers.exclude(event.worker, event.detail, *event.hints)
            if current:
                self._in_flight.send(chunk)
        elif current:
            self._lose(chunk, f"worker {event.worker} could not do it ({event.detail})")

    def _take_in(self, chunk: Chunk, event: Event) -> Iterator[_Landed]:
        """Yield the result that a worker has left in Redis; send the chunk again if that is missing or damaged."""
        try:
            result = self._in_flight.fetch(chunk, event.attempt)
        except PayloadError as error:
            self._observer.note(f"{error}; asking again")
            result = None
        if result is None or event.worker in self.work_log.untrusted:
            self._in_flight.send(chunk)
        elif _chance.random() < self._audit or wrong_array(
            self._in_flight.task, "result", self._puzzle, result, dict(chunk.sizes)
        ):
            yield self._land(chunk, self._audited(chunk, event.worker, result))
        else:
            yield self._land(chunk, self._counted(chunk, event.worker, result))

    def _counted(self, chunk: Chunk, worker: str, result: list[Array]) -> list[Array]:
        self._log(chunk, result, worker)
        if self._audit:
            self.work_log.answered.add(worker)
        return result

    def _log(self, chunk: Chunk, result: list[Array], worker: str = "") -> None:
        """Count a chunk as done by a worker, or by this process."""
        self.work_log.add_chunk(self._in_flight.task, host_of(worker), worker)
        if self._in_flight.task == "expand":
            size, _, micros = ExpandedChunk(*result).figures.tolist()
            moved = (len(chunk.payload), chunk.received) if worker else (0, 0)
            self.work_log.add_expanded(worker, size, micros / 1e6, *moved)

    def _audited(self, chunk: Chunk, worker: str, result: list[Array]) -> list[Array]:
        """Return the result of a worker, or the one made here if they differ; then exclude the worker.

        `UntrustedError` if other results of that worker were used.
        """
        made_again, task = self._do(chunk), self._in_flight.task
        self.work_log.audited += 1
        if same_answer(task, result, made_again):
            return self._counted(chunk, worker, result)
        self._workers.exclude(worker, f"its result of chunk {chunk.number} of task {task} is not the one made here")
        self.work_log.untrusted.append(worker)
        if worker in self.work_log.answered:
            self.work_log.answered.remove(worker)
            self._in_flight.take_back()
            raise UntrustedError(f"worker {worker} gave wrong answers, and the run has used some of its answers")
        return made_again

    def _land(self, chunk: Chunk, result: list[Array]) -> _Landed:
        self._in_flight.land(chunk)
        return chunk.number, result

    def _reap(self) -> None:
        """Renew chunks in flight, and send lost and overdue ones again."""
        now = time.monotonic()
        if now < self._last_look + _WAIT_SECONDS:
            return
        # While this process was busy elsewhere, nothing was renewed.
        was_away = now > self._last_look + self._tuning.keep / 2
        self._last_look = now
        self._look_for_workers()
        kept = self._in_flight.renew()
        if self._workers.is_away:
            return
        if self._in_flight.waits():
            self._queued_at = now
        for token, chunk in list(self._in_flight.chunks.items()):
            if not chunk.attempt:
                self._in_flight.send(chunk)
            elif why := self._why_lost(chunk, kept[token], now):
                self._lose(chunk, why, counts=not was_away)
            elif chunk.worker is not None and now > chunk.begun_at + chunk.deadline:
                # A chunk that is merely slow must not end up with every worker.
                chunk.deadline *= 2
                self._lose(chunk, "it is overdue", counts=False)

    def _why_lost(self, chunk: Chunk, kept: bool, now: float) -> str:
        if chunk.worker and chunk.worker not in self._workers.living:
            return f"worker {chunk.worker} died"
        if not kept:
            return "Redis lost its data"
        # A worker that has just taken the last job, however long that waited, needs a moment to say so.
        taken = now > max(chunk.sent_at, self._queued_at) + ALIVE_SECONDS
        if chunk.worker is None and taken and self._workers.living:
            return "its job is in no queue and no worker has begun it"
        return ""

    def _lose(self, chunk: Chunk, why: str, counts: bool = True) -> None:
        chunk.losses += counts
        if chunk.losses >= self._tuning.most_losses:
            raise TaskError(
                f"chunk {chunk.number} of task {self._in_flight.task} was lost {chunk.losses} times, the last time "
                f"because {why}; look at the workers' messages; if the system killed one, give its host more memory, "
                f"{WORKER_BYTES // 1_000_000} MB for each worker, or run without workers",
                Hint("leave out", "redis"),
                Hint("give", "memory", f"{available_memory() // 4 >> 20}MB"),
            )
        self.work_log.repeated += 1
        self._observer.note(f"chunk {chunk.number} is sent again: {why}")
        self._in_flight.resend(chunk)

    def _look_for_workers(self) -> None:
        self._workers.look(self._redis, self._in_flight.waiting_since)

    def _work_alone(self) -> Iterator[_Landed]:
        """Compute one chunk here and yield its result, if no worker has lived for a while."""
        if not self._workers.is_away or not self._in_flight.chunks:
            return
        self._workers.say_alone(self._url)
        chunk = next(iter(self._in_flight.chunks.values()))
        result = self._do(chunk)
        self._log(chunk, result)
        yield self._land(chunk, result)

    def _do(self, chunk: Chunk) -> list[Array]:
        return do_task(self._in_flight.task, self._puzzle, unpack_arrays(chunk.payload), self._shared.arrays)

    def _send_again(self) -> int:
        """Send all chunks in flight again, because Redis may have come back empty; return their number."""
        for chunk in self._in_flight.chunks.values():
            self._in_flight.resend(chunk)
        # Workers have lost it too.
        self._workers.expect_all()
        return len(self._in_flight.chunks)
