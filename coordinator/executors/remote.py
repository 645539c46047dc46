"""The distributed executor: chunks as RQ jobs, their arrays in plain Redis string keys.

The store is the truth and RQ's registries are hints: whether a chunk is lost is decided here, by the time at which it
was given out and by whether the worker that took it still says that it lives. Tasks are idempotent, so a lost chunk is
simply given out again; each attempt has its own result key, and the first answer counts. Redis may be killed, flushed
or restarted at any moment: everything that a chunk needs is kept here until its result is.
"""

import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import redis
from redis.exceptions import AuthenticationError

from coordinator.session.control import Control, Observer
from coordinator.session.tuning import DEFAULT, Tuning
from puzzles.contract import Puzzle
from puzzles.registry import PuzzleSpec
from worker.errors import PayloadError, TaskError
from worker.tasks import Array, Arrays, do_task
from worker.transport.connection import get_bytes, redis_errors
from worker.transport.heartbeat import ALIVE_SECONDS, living_workers
from worker.transport.messages import Event, TaskRequest
from worker.transport.names import event_key, input_key, result_key, shared_key
from worker.transport.payload import pack_arrays, unpack_arrays
from worker.transport.rq_worker import TaskQueue

_WAIT_SECONDS = 0.25
_RETRY_SECONDS = 0.2
#: Without any worker for so long, the coordinator works itself. Longer than a worker needs to be declared dead.
_ALONE_SECONDS = 2.0
_MESSAGES_AT_ONCE = 64
_OVERDUE, _BACK = "it is overdue", "workers are back"
_AWAY = (redis.ConnectionError, redis.TimeoutError)


@dataclass
class _Chunk:
    """One chunk in flight."""

    arrays: Arrays
    payload: bytes
    #: Counts the times that it was given out.
    attempt: int = 0
    given_out: float = 0.0
    #: How often a worker died of it or took too long.
    losses: int = 0
    begun_at: float = 0.0
    #: The workers that have begun it, by attempt.
    begun: dict[int, str] = field(default_factory=dict)


class RemoteExecutor:
    """Gives chunks to the RQ workers of a Redis server, and works itself where none is left."""

    name = "redis"

    def __init__(
        self, url: str, connection: redis.Redis, puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer,
        memory: int, tuning: Tuning = DEFAULT,
    ) -> None:  # fmt: skip
        self._url, self._redis, self._queue = url, connection, TaskQueue(connection=connection)
        self._puzzle, self._spec = puzzle, spec
        self._control, self._observer = control, observer
        self._memory, self._tuning = memory, tuning
        self._session = secrets.token_hex(6)
        self._stage = 0
        self._task = ""
        self._shared: Arrays = ()
        self._shared_sent = False
        self._chunks: dict[int, _Chunk] = {}
        self._living: set[str] = set()
        self._next_look = 0.0
        self._last_company = time.monotonic()
        self._told_alone = False

    @property
    def workers(self) -> int:
        """How many workers live now; at least one, for this process would work itself."""
        with redis_errors(self._url):
            try:
                self._look_for_workers()
            except _AWAY as error:
                self._outlast(error)
        return max(1, len(self._living))

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        self._stage += 1
        self._task, self._shared, self._chunks = task, shared, {}
        self._shared_sent = False
        numbered = enumerate(chunks)
        with redis_errors(self._url):
            while True:
                try:
                    self._refill(numbered)
                    if not self._chunks:
                        self._forget_stage()
                        return
                    self._reap()
                    results = self._collect()
                except _AWAY as error:
                    self._outlast(error)
                    continue
                self._control.check()
                for number, result in results or self._work_alone():
                    del self._chunks[number]
                    yield number, result

    def close(self) -> None:
        """Take back what is in flight, as far as Redis still answers."""
        try:
            self._forget_stage()
            self._redis.delete(event_key(self._session))
        except redis.RedisError:
            pass  # Every key has a time to live.
        self._redis.close()

    # Giving out

    def _refill(self, numbered: Iterator[tuple[int, Arrays]]) -> None:
        self._send_shared()
        while self._has_room() and (following := next(numbered, None)) is not None:
            number, arrays = following
            self._chunks[number] = _Chunk(arrays, pack_arrays(arrays))
            if not self._alone:
                self._give_out(number)

    def _has_room(self) -> bool:
        flying = len(self._chunks)
        # The inputs of chunks in flight may take a quarter of the memory.
        bytes_flying = sum(len(chunk.payload) for chunk in self._chunks.values())
        return flying < max(4, 3 * len(self._living)) and bytes_flying <= self._memory // 4

    def _give_out(self, number: int) -> None:
        chunk = self._chunks[number]
        chunk.attempt += 1
        chunk.given_out = time.monotonic()
        token = self._token(number)
        self._redis.set(input_key(self._session, token), chunk.payload, ex=self._tuning.keep)
        stage = self._stage if len(self._shared) else -1
        order = TaskRequest(
            self._session, token, chunk.attempt, stage, self._tuning.keep, self._spec.as_dict(), self._puzzle.version
        )
        self._queue.enqueue(
            self._task, kwargs=order.as_dict(), result_ttl=0, failure_ttl=self._tuning.keep, ttl=self._tuning.keep,
            job_timeout=self._tuning.keep,
        )  # fmt: skip

    def _send_shared(self) -> None:
        if len(self._shared) and not self._shared_sent:
            self._redis.set(shared_key(self._session, self._stage), pack_arrays(self._shared), ex=self._tuning.keep)
            self._shared_sent = True

    def _resend(self, number: int) -> None:
        """Give out a chunk with all that belongs to it."""
        self._shared_sent = False
        self._send_shared()
        self._give_out(number)

    def _forget_stage(self) -> None:
        keys = [input_key(self._session, self._token(number)) for number in self._chunks]
        self._redis.delete(shared_key(self._session, self._stage), *keys)

    def _token(self, number: int) -> str:
        return f"{self._stage}.{number}"

    # Taking in

    def _collect(self) -> list[tuple[int, list[Array]]]:
        """The results that came within a moment."""
        key = event_key(self._session)
        first = None if self._alone else self._redis.brpop([key], timeout=_WAIT_SECONDS)
        more = self._redis.rpop(key, _MESSAGES_AT_ONCE) or []
        messages = [raw for raw in [*(first[1:] if first else []), *more] if isinstance(raw, bytes)]
        results: dict[int, list[Array]] = {}
        for raw in messages:
            try:
                event = Event.unpack(raw)
            except PayloadError as error:
                self._observer.note(f"{error}; passed over")
                continue
            number = self._expected(event.token)
            if number is None or number in results:
                continue  # Late or doubled: the first answer counted.
            if (result := self._hear(number, event)) is not None:
                results[number] = result
        return list(results.items())

    def _expected(self, token: str) -> int | None:
        """The number of the chunk that is in flight under this token, or ``None``."""
        return next((number for number in self._chunks if self._token(number) == token), None)

    def _hear(self, number: int, event: Event) -> list[Array] | None:
        """What one message means for its chunk; its result, if that is what it brings."""
        if event.kind == "started":
            self._chunks[number].begun[event.attempt] = event.worker
            self._chunks[number].begun_at = time.monotonic()
        elif event.kind == "failed":
            raise TaskError(f"task {self._task} failed on worker {event.worker}: {event.detail}")
        elif event.kind == "refused":
            raise TaskError(f"worker {event.worker} refused the puzzle: {event.detail}")
        elif event.kind == "missing":
            if event.attempt == self._chunks[number].attempt:
                self._lose(number, f"worker {event.worker} could not read it {event.detail}".strip())
        else:
            raw = get_bytes(self._redis, result_key(self._session, event.token, event.attempt), delete=True)
            try:
                if raw is not None:
                    result = unpack_arrays(raw)
                    self._redis.delete(input_key(self._session, event.token))
                    return result
            except PayloadError as error:
                self._observer.note(f"{error}; asking again")
            self._give_out(number)
        return None

    def _reap(self) -> None:
        """Give out again what is lost or overdue."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._look_for_workers()
        self._next_look = now + _WAIT_SECONDS
        if self._alone:
            return
        numbers = list(self._chunks)
        keys = [input_key(self._session, self._token(number)) for number in numbers]
        kept = self._redis.pipeline(transaction=False)
        for key in keys:
            kept.exists(key)
        waiting = self._queue.count > 0
        for number, there in zip(numbers, kept.execute(), strict=True):
            if why := self._why_lost(self._chunks[number], bool(there), waiting, now):
                self._lose(number, why)

    def _why_lost(self, chunk: _Chunk, payload_there: bool, jobs_waiting: bool, now: float) -> str:
        """Why a chunk must be given out again, or nothing."""
        if not chunk.attempt:
            return _BACK
        age = now - chunk.given_out
        worker = chunk.begun.get(chunk.attempt)
        if worker is not None and worker not in self._living:
            return f"worker {worker} died"
        if not payload_there:
            return "Redis lost its data"
        if worker is None and not jobs_waiting and age > ALIVE_SECONDS and self._living:
            return "its job is in no queue and no worker has begun it"
        if worker is not None and now - chunk.begun_at > self._tuning.deadline:
            return _OVERDUE
        return ""

    def _lose(self, number: int, why: str) -> None:
        chunk = self._chunks[number]
        # A chunk that is merely slow harms nobody.
        chunk.losses += why not in (_OVERDUE, _BACK)
        if chunk.losses >= self._tuning.most_losses:
            raise TaskError(
                f"chunk {number} of task {self._task} was lost {chunk.losses} times, the last time because {why}; "
                "look at the workers' messages"
            )
        self._observer.note(f"chunk {number} is given out again: {why}")
        self._resend(number)

    def _look_for_workers(self) -> None:
        self._living = living_workers(self._redis)
        if self._living:
            self._last_company, self._told_alone = time.monotonic(), False

    # Without workers

    @property
    def _alone(self) -> bool:
        return time.monotonic() - self._last_company >= _ALONE_SECONDS

    def _work_alone(self) -> list[tuple[int, list[Array]]]:
        """Where no worker has lived for a while: one chunk and its result, worked out here."""
        if not self._alone:
            return []
        if not self._told_alone:
            self._told_alone = True
            self._observer.note("no worker listens on Redis, so this process works alone; start some: hakoiri worker")
        number, chunk = next(iter(self._chunks.items()))
        with suppress(*_AWAY):
            self._redis.delete(input_key(self._session, self._token(number)))
        return [(number, do_task(self._task, self._puzzle, chunk.arrays, self._shared))]

    # Without Redis

    def _outlast(self, error: redis.RedisError) -> None:
        """Wait until Redis is back, then give out everything anew, for it may have come back empty."""
        if isinstance(error, AuthenticationError):
            raise error
        self._observer.note(
            f"Redis is away ({type(error).__name__}); waiting up to {self._tuning.patience:.0f} s for it"
        )
        until = time.monotonic() + self._tuning.patience
        while True:
            self._control.check()
            try:
                self._redis.ping()
                for number in self._chunks:
                    self._resend(number)
                self._observer.note(f"Redis is back; chunks given out again: {len(self._chunks)}")
                return
            except AuthenticationError:
                raise
            except _AWAY:
                if time.monotonic() > until:
                    raise
            time.sleep(_RETRY_SECONDS)
