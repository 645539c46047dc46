"""Chunks sent to other processes, by whatever channel: which are sent again, which are done here; a share is audited.

Tasks are pure functions, so a worker that gives another answer is wrong: by its memory, its disk, or on purpose. It is
left out. Its answer is replaced by the one made here, and where it has answered before, what follows from that is made
again, too (`UntrustedError`).

Whether a chunk is lost is decided here, by when it was sent and by whether the worker that began it is still alive.
Tasks are idempotent, so a lost chunk is simply sent again, or done here; the first answer counts. Whatever is waited
for is renewed, so slowness, of a worker or of this process, fails no run.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np

from hakoiri.coordinator.errors import UntrustedError
from hakoiri.coordinator.session.resources import DEFAULT, Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint, PayloadError, TaskError
from hakoiri.memory import available_memory
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.layers.ranges import ExpandedChunk
from hakoiri.worker.machine import WORKER_BYTES, host_of
from hakoiri.worker.tasks import Part, Sizes, Task, do_task, task_of, wrong_array
from hakoiri.worker.transport.payload import Array, Arrays, Event, pack_arrays, unpack_arrays

_chance = secrets.SystemRandom()
#: The interval at which lost chunks are looked for.
WAIT_SECONDS = 0.25
#: The number of a chunk, and its result.
Landed = tuple[int, list[Array]]


def same_answer(task: Task, theirs: Arrays, ours: Arrays) -> bool:
    """Return whether two answers to a request of a task are equal, but for the time that they took."""
    try:
        theirs, ours = (task.without_time(answer) for answer in (theirs, ours))
    except (PayloadError, IndexError, TypeError, ValueError):
        return False
    return same_arrays(theirs, ours)


def same_arrays(these: Arrays, those: Arrays) -> bool:
    """Return whether two answers have equal arrays: types, shapes and elements."""
    pairs = zip(these, those, strict=False)
    return len(these) == len(those) and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)


@dataclass
class Chunk:
    """One chunk in flight. Times are those of `time.monotonic`."""

    number: int
    token: str
    payload: bytes
    #: How long a worker may take, in seconds, before another one is asked as well.
    deadline: float
    #: Counts how often the chunk was sent.
    attempt: int = 0
    sent_at: float = 0.0
    begun_at: float = 0.0
    #: How often it was lost for other reasons than slowness.
    losses: int = 0
    #: The bytes of its result.
    received: int = 0
    #: The lengths of its arrays (`worker.tasks`).
    sizes: Sizes = field(default_factory=dict)
    #: The workers that have begun it, by attempt.
    begun: dict[int, str] = field(default_factory=dict)

    @property
    def worker(self) -> str | None:
        """The worker that has begun the last attempt, if any has."""
        return self.begun.get(self.attempt)


class SentChunks:
    """The chunks of one stage that are sent and not answered yet."""

    def __init__(self, task: str, stage: int) -> None:
        self.task, self._prefix = task, stage
        self.chunks: dict[str, Chunk] = {}

    @property
    def bytes(self) -> int:
        return sum(len(chunk.payload) for chunk in self.chunks.values())

    def add(self, number: int, arrays: Arrays, deadline: float) -> Chunk:
        chunk = Chunk(number, f"{self._prefix}.{number}", pack_arrays(arrays), deadline)
        self.chunks[chunk.token] = chunk
        return chunk

    def send_all(self, chunks: Iterable[tuple[Chunk, str]]) -> None:
        """Make another attempt at each chunk, by the worker that is named with it, or by any."""
        raise NotImplementedError

    def send(self, chunk: Chunk, wanted: str = "") -> None:
        """Make another attempt at a chunk, as `send_all` does."""
        self.send_all([(chunk, wanted)])

    def resend(self, chunk: Chunk) -> None:
        """Make another attempt at a chunk that was lost, perhaps with all that it needs."""
        self.send(chunk)

    def fetch(self, chunk: Chunk, event: Event) -> list[Array] | None:
        """Return the result that an event announces, or ``None`` if it is gone; `PayloadError` if it is damaged."""
        raise NotImplementedError

    def land(self, chunk: Chunk) -> None:
        """Expect no more answers for a chunk."""
        del self.chunks[chunk.token]

    def take_back(self) -> None:
        """Forget all chunks."""
        self.chunks.clear()


class Channel:
    """A way to workers, and those that may be expected to work; each kind of channel defines its own."""

    #: The name for users; whether the workers are children of this process; the seconds that sending a chunk takes.
    name: str
    own: bool
    chunk_seconds: float
    #: The errors that `outlast` waits for.
    faults: tuple[type[Exception], ...] = ()
    #: The workers that may be expected to work, and those that are being started.
    living: set[str]
    coming: set[str]
    #: Whether a worker has come that was not there at the look before.
    has_newcomer = False

    @property
    def is_away(self) -> bool:
        """Return whether no worker has lived or answered for a while, and no worker is being started."""
        raise NotImplementedError

    def guard(self) -> AbstractContextManager[object]:
        """Translate the faults that leave the block."""
        return nullcontext()

    def outlast(self, error: Exception, send_again: Callable[[], int]) -> None:
        """Wait until a fault is over, and `send_again` what is in flight; or raise the error."""
        raise error

    def begin(self, task: str, stage: int, shared: Arrays) -> SentChunks:
        """Return the empty flight of a stage, whose chunks share some arrays."""
        raise NotImplementedError

    def look(self) -> None:
        """Update which workers live."""

    def expect_work(self, seconds: float, beside: int = 0) -> None:
        """Note that so many seconds of work are to come; `beside` threads of this process work, too."""

    def events(self, seconds: float) -> Iterator[Event]:
        """Yield the events that have come, what has begun first; wait up to `seconds` for an outcome."""
        raise NotImplementedError

    def renew(self, now: float) -> Callable[[Chunk], str]:
        """Renew what is in flight; return a function that says why a chunk is lost, nothing if it is not."""
        raise NotImplementedError

    def drop(self, worker: str) -> None:
        """Give up a worker that takes too long, if it takes no other chunks."""

    def exclude(self, worker: str, why: str, *hints: Hint) -> None:
        """Expect nothing more of a worker that cannot work for this run."""
        raise NotImplementedError

    def say_alone(self) -> None:
        """Note once that this process works without others."""

    def close(self) -> None:
        """Release everything."""


class SendingExecutor:
    """Sends chunks to the workers of a channel, and works itself where none is left.

    The inputs in flight take up to `in_flight` bytes of this process. A share `audit` of the chunks, at random, is
    computed again to compare.
    """

    def __init__(
        self, channel: Channel, puzzle: Puzzle, control: Control, observer: Observer, work_log: WorkLog, in_flight: int,
        tuning: Tuning = DEFAULT, audit: float = 0.0,
    ) -> None:  # fmt: skip
        self._channel, self._puzzle, self._control, self._observer = channel, puzzle, control, observer
        self._most_bytes, self._tuning, self._audit = in_flight, tuning, audit
        self.name, self.own, self.chunk_seconds = channel.name, channel.own, channel.chunk_seconds
        self.work_log = work_log
        self._flight, self._stage, self._scarce = SentChunks("", 0), 0, False
        self._shared, self._shared_sizes = cast(Arrays, ()), Sizes()
        #: The times of the last look for lost chunks, and of the last count of workers.
        self._last_look = self._counted_at = 0.0

    @property
    def workers(self) -> int:
        """The number of living workers; at least 1, because this process works if no worker lives."""
        self._look()
        return max(1, len(self._channel.living))

    @property
    def living(self) -> int:
        if time.monotonic() > self._counted_at + WAIT_SECONDS:
            self._look()
            self._counted_at = time.monotonic()
        return len(self._channel.living) or bool(self._channel.coming)

    @property
    def is_starting(self) -> bool:
        if not self.own:
            return False
        self._look()
        return not self._channel.living and bool(self._channel.coming)

    def expect_work(self, seconds: float, beside: int = 0) -> None:
        self._channel.expect_work(seconds, beside)

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False) -> Iterator[Landed]:
        self._stage += 1
        self._scarce, self._shared = scarce, shared
        numbered = enumerate(chunks)
        with self._channel.guard():
            self._flight = self._channel.begin(task, self._stage, shared)
            self._shared_sizes = self._sizes_of("shared", shared, Sizes())
            while True:
                results: list[Landed] = []
                try:
                    self._refill(numbered)
                    if not self._flight.chunks:
                        return
                    self._collect(results)
                    self._reap()
                    if not results:
                        results.extend(self._work_alone())
                except self._channel.faults as error:
                    self._outlast(error)
                self._control.check()
                yield from results

    def close(self) -> None:
        """Forget chunks in flight, and release the channel."""
        with suppress(*self._channel.faults):
            self._flight.take_back()
        self._channel.close()

    def _look(self) -> None:
        with self._channel.guard():
            while True:
                try:
                    return self._channel.look()
                except self._channel.faults as error:
                    self._outlast(error)

    def _outlast(self, error: Exception) -> None:
        """Wait until a fault is over; then send all chunks again, because the other side may have lost them."""
        self._channel.outlast(error, self._send_again)

    def _send_again(self) -> int:
        for chunk in self._flight.chunks.values():
            self._flight.resend(chunk)
        return len(self._flight.chunks)

    def _refill(self, numbered: Iterator[tuple[int, Arrays]]) -> None:
        """Send more chunks. IMPORTANT: a function, because `map` would hold the last arrays while it is suspended."""
        living, flying = len(self._channel.living), self._flight
        most = max(1, living) + (1 + living // 2 if self._scarce else max(3, 2 * living))
        new = list[Chunk]()
        while len(flying.chunks) < most and flying.bytes <= self._most_bytes:
            if (following := next(numbered, None)) is None:
                break
            new.append(flying.add(*following, self._tuning.deadline))
            new[-1].sizes = self._sizes_of("chunk", following[1], self._shared_sizes)
        if new and (not self._channel.is_away or self._channel.has_newcomer):
            self._channel.has_newcomer = False
            # In one round trip.
            flying.send_all((chunk, "") for chunk in new)

    def _sizes_of(self, part: Part, arrays: Arrays, known: Sizes) -> Sizes:
        """Return the `known` sizes and those of some arrays; `TaskError` for arrays that workers would refuse."""
        sizes = dict(known)
        if wrong := wrong_array(self._flight.task, part, self._puzzle, arrays, sizes, own=True):
            raise TaskError(wrong)
        return sizes

    def _collect(self, results: list[Landed]) -> None:
        """Add the results that came within a moment; they are in flight no more."""
        for event in self._channel.events(0.0 if self._channel.is_away else WAIT_SECONDS):
            # Late and doubled events have an unknown token: the first answer counted.
            if (chunk := self._flight.chunks.get(event.token)) is not None:
                results.extend(self._hear(chunk, event))

    def _hear(self, chunk: Chunk, event: Event) -> Iterator[Landed]:
        """Update the chunk of an event; yield its result if the event brings one."""
        current = event.attempt == chunk.attempt
        if event.kind == "started":
            chunk.begun[event.attempt] = event.worker
            chunk.begun_at = time.monotonic()
        elif event.kind == "done":
            yield from self._take_in(chunk, event)
        elif event.kind in ("failed", "missing") and self.own:
            # An error of the rules is the one that threads report, as is too little memory.
            yield self._land(chunk, self._do(chunk))
        elif event.kind == "failed":
            text = f"task {self._flight.task} failed on worker {event.worker}: {event.detail}"
            raise TaskError(text, *event.hints)
        elif event.kind == "refused":
            self._channel.exclude(event.worker, event.detail, *event.hints)
            if current:
                self._flight.send(chunk)
        elif current:
            self._lose(chunk, f"worker {event.worker} could not do it ({event.detail})")

    def _take_in(self, chunk: Chunk, event: Event) -> Iterator[Landed]:
        """Yield the result of a worker; send the chunk again if that is missing or damaged."""
        try:
            result = self._flight.fetch(chunk, event)
        except PayloadError as error:
            self._observer.note(f"{error}; asking again")
            result = None
        if result is None or event.worker in self.work_log.untrusted:
            self._flight.send(chunk)
        elif _chance.random() < self._audit or wrong_array(
            self._flight.task, "result", self._puzzle, result, dict(chunk.sizes)
        ):
            yield self._land(chunk, self._audited(chunk, event.worker, result))
        else:
            yield self._land(chunk, self._counted(chunk, event.worker, result))

    def _counted(self, chunk: Chunk, worker: str, result: list[Array]) -> list[Array]:
        self._log(chunk, result, worker)
        # IMPORTANT: without an audit, too. A later session may have one, and a malformed result is found without.
        self.work_log.answered.add(worker)
        return result

    def _log(self, chunk: Chunk, result: list[Array], worker: str = "") -> None:
        """Count a chunk as done by a worker, or by this process."""
        self.work_log.add_chunk(self._flight.task, host_of(worker), worker)
        if self._flight.task == "expand":
            size, _, micros = ExpandedChunk(*result).figures.tolist()
            moved = (len(chunk.payload), chunk.received) if worker else (0, 0)
            self.work_log.add_expanded(worker, size, micros / 1e6, *moved)

    def _audited(self, chunk: Chunk, worker: str, result: list[Array]) -> list[Array]:
        """Return the result of a worker, or the one made here if they differ; then exclude the worker.

        `UntrustedError` if other results of that worker were used.
        """
        made_again, task = self._do(chunk), self._flight.task
        self.work_log.audited += 1
        if same_answer(task_of(task, self._puzzle), result, made_again):
            return self._counted(chunk, worker, result)
        self._channel.exclude(worker, f"its result of chunk {chunk.number} of task {task} is not the one made here")
        self.work_log.untrusted.append(worker)
        if worker in self.work_log.answered:
            self.work_log.answered.remove(worker)
            self._flight.take_back()
            raise UntrustedError(f"worker {worker} gave wrong answers, and the run has used some of its answers")
        return made_again

    def _land(self, chunk: Chunk, result: list[Array]) -> Landed:
        self._flight.land(chunk)
        return chunk.number, result

    def _reap(self) -> None:
        """Renew chunks in flight, and send lost and overdue ones again."""
        now = time.monotonic()
        if now < self._last_look + WAIT_SECONDS:
            return
        # While this process was busy elsewhere, nothing was renewed.
        was_away = now > self._last_look + self._tuning.keep / 2
        self._last_look = now
        self._channel.look()
        why_lost = self._channel.renew(now)
        if self._channel.is_away:
            return
        for chunk in list(self._flight.chunks.values()):
            if not chunk.attempt:
                self._flight.send(chunk)
            elif why := why_lost(chunk):
                self._lose(chunk, why, counts=not was_away)
            elif chunk.worker is not None and now > chunk.begun_at + chunk.deadline:
                # A chunk that is merely slow must not end up with every worker.
                chunk.deadline *= 2
                self._channel.drop(chunk.worker)
                self._lose(chunk, "it is overdue", counts=False)

    def _lose(self, chunk: Chunk, why: str, counts: bool = True) -> None:
        chunk.losses += counts
        if chunk.losses >= self._tuning.most_losses:
            raise TaskError(
                f"chunk {chunk.number} of task {self._flight.task} was lost {chunk.losses} times, the last time "
                f"because {why}; look at the workers' messages; if the system killed one, give its host more memory, "
                f"{WORKER_BYTES // 1_000_000} MB for each worker, or run without workers",
                Hint("give", "farm", "never") if self._channel.own else Hint("leave out", "redis"),
                Hint("give", "memory", f"{available_memory() // 4 >> 20}MB"),
            )
        self.work_log.repeated += 1
        self._observer.note(f"chunk {chunk.number} is sent again: {why}")
        self._flight.resend(chunk)

    def _work_alone(self) -> Iterator[Landed]:
        """Compute one chunk here and yield its result, if no worker has lived for a while."""
        if not self._channel.is_away or not self._flight.chunks:
            return
        self._channel.say_alone()
        chunk = next(iter(self._flight.chunks.values()))
        result = self._do(chunk)
        self._log(chunk, result)
        yield self._land(chunk, result)

    def _do(self, chunk: Chunk) -> list[Array]:
        work = partial(do_task, self._flight.task, self._puzzle, unpack_arrays(chunk.payload), self._shared)
        return self._control.compute(self._puzzle, work)
