"""The chunks of one `map` in flight: their jobs and arrays in Redis, and the arrays that they share.

A chunk stays here until its result arrives, so it can be sent again; in Redis it expires unless it is renewed. Arrays
that all chunks share are sent once, in pieces: a graph may have gigabytes. Every method may raise an error of Redis,
and may then be called again.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
import redis
from redis.client import Pipeline

from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import PayloadError
from hakoiri.worker.rq_worker import TaskJob, TaskQueue
from hakoiri.worker.tasks import Sizes
from hakoiri.worker.transport.connection import QUEUE, input_key, own_queue, result_key, shared_key
from hakoiri.worker.transport.payload import Array, Arrays, Event, TaskRequest, pack_arrays, unpack_arrays


class Shared:
    """Arrays that workers fetch once and keep until others replace them. They must not change meanwhile.

    Methods may raise Redis's errors, and be called again.
    """

    def __init__(self, connection: redis.Redis, session: str, tuning: Tuning) -> None:
        self._redis, self._session, self._keep = connection, session, tuning.keep
        self._piece_bytes = tuning.piece_bytes
        self.arrays: Arrays = ()
        #: Counts how often it became other arrays.
        self.number = -1

    def become(self, arrays: Arrays) -> None:
        """Share these arrays from now on; they are sent with the next chunk."""
        if len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays)):
            return
        old = [name for name, _ in self._named()]
        # IMPORTANT: first, so that an error of Redis leaves no old arrays to be sent in place of these.
        self.arrays, self.number = arrays, self.number + 1
        if old:
            self._redis.unlink(*old)

    @property
    def pieces(self) -> list[int]:
        """The number of pieces of each array."""
        return [len(range(0, max(1, array.nbytes), self._piece_bytes)) for array in self.arrays]

    def send(self) -> None:
        """Put missing pieces into Redis, and renew the others."""
        for name, part in self._named():
            if not self._redis.expire(name, self._keep):
                self._redis.set(name, pack_arrays([part]), ex=self._keep)

    def renew(self) -> None:
        """Renew the lifetime of all pieces in Redis."""
        with self._redis.pipeline(transaction=False) as pipeline:
            for name, _ in self._named():
                pipeline.expire(name, self._keep)
            pipeline.execute()

    def take_back(self) -> None:
        """Remove them from Redis."""
        if self.arrays:
            self._redis.unlink(*(name for name, _ in self._named()))

    def _named(self) -> Iterator[tuple[str, Array]]:
        parts = (np.array_split(array, count) for array, count in zip(self.arrays, self.pieces, strict=True))
        for place, part in enumerate(chain.from_iterable(parts)):
            yield shared_key(self._session, self.number, place), part


#: Events taken at a time.
_MOST_EVENTS = 10_000
#: Inputs are sent in one round trip until they have this many bytes.
_MOST_BYTES = 1 << 24


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


class InFlight:
    """The chunks of one stage; their jobs are `request` with the chunk filled in.

    `shared` are the arrays that they have in common, which stay in Redis for the stages that follow.
    """

    def __init__(self, connection: redis.Redis, task: str, stage: int, request: TaskRequest, shared: Shared) -> None:
        self._redis, self._queue = connection, TaskQueue(connection=connection)
        self._request = replace(request, shared=shared.number, pieces=shared.pieces)
        self.task, self.shared = task, shared
        self.chunks: dict[str, Chunk] = {}
        self._prefix, self._shared_sent = stage, False
        #: Inputs that are no longer needed, but still in Redis.
        self._landed: list[str] = []

    @property
    def bytes(self) -> int:
        return sum(len(chunk.payload) for chunk in self.chunks.values())

    @property
    def waiting_since(self) -> float | None:
        """The time at which the oldest chunk was sent, if no worker has begun any chunk."""
        if any(chunk.worker for chunk in self.chunks.values()):
            return None
        return min((chunk.sent_at for chunk in self.chunks.values() if chunk.attempt), default=None)

    def waits(self) -> bool:
        """Return whether the queue has a job that no worker has taken."""
        return bool(self._redis.llen(_key(QUEUE)))

    def add(self, number: int, arrays: Arrays, deadline: float) -> Chunk:
        chunk = Chunk(number, f"{self._prefix}.{number}", pack_arrays(arrays), deadline)
        self.chunks[chunk.token] = chunk
        return chunk

    def send(self, chunk: Chunk, wanted: str = "") -> None:
        """Make another attempt at a chunk, in one round trip: by the host `wanted`, or by any worker."""
        self.send_all([(chunk, wanted)])

    def send_all(self, chunks: Iterable[tuple[Chunk, str]]) -> None:
        """Make another attempt at each chunk, in one round trip unless they are large, as `send` does."""
        if not self._shared_sent:
            self.shared.send()
        pipeline, size = self._redis.pipeline(), 0
        for chunk, wanted in chunks:
            self._put(pipeline, chunk, wanted)
            size += len(chunk.payload)
            if size > _MOST_BYTES:
                pipeline.execute()
                size = 0
        if self._landed:
            pipeline.unlink(*self._landed)
        pipeline.execute()
        self._landed, self._shared_sent = [], True

    def _put(self, pipeline: Pipeline, chunk: Chunk, wanted: str) -> None:
        keep = self._request.keep
        chunk.attempt += 1
        chunk.sent_at = time.monotonic()
        request = replace(self._request, token=chunk.token, attempt=chunk.attempt)
        # IMPORTANT: no timeout, for RQ would break off a slow chunk and call that a failure of its task.
        self._queue.enqueue(
            self.task, kwargs=request.as_dict(), job_id=self._job_id(chunk), job_timeout=-1, ttl=keep, result_ttl=0,
            failure_ttl=keep, pipeline=pipeline,
        )  # fmt: skip
        if wanted:
            # In one transaction, so that no other worker takes the job. RQ would keep the names of all queues for ever.
            own = _key(own_queue(wanted))
            pipeline.lmove(_key(QUEUE), own, "RIGHT", "RIGHT")
            pipeline.expire(own, keep)
        pipeline.set(self._input_key(chunk), chunk.payload, ex=keep)

    def resend(self, chunk: Chunk) -> None:
        """Make another attempt, and send the shared arrays again, because Redis may have lost them."""
        self._shared_sent = False
        self.send(chunk)

    def renew(self) -> dict[str, bool]:
        """Renew the lifetime of all jobs and inputs; return by token whether Redis still has the input."""
        self.shared.renew()
        pipeline, keep = self._redis.pipeline(transaction=False), self._request.keep
        for chunk in self.chunks.values():
            pipeline.expire(TaskJob.key_for(self._job_id(chunk)), keep)
            pipeline.expire(self._input_key(chunk), keep)
        return dict(zip(self.chunks, map(bool, pipeline.execute()[1::2]), strict=True))

    def fetch(self, chunk: Chunk, attempt: int) -> list[Array] | None:
        """Return the result of an attempt, or ``None`` if it is gone; `PayloadError` if it is damaged."""
        raw: Any = self._redis.getdel(result_key(self._request.session, chunk.token, attempt))
        chunk.received = 0 if raw is None else len(raw)
        return None if raw is None else unpack_arrays(raw)

    def land(self, chunk: Chunk) -> None:
        del self.chunks[chunk.token]
        self._landed.append(self._input_key(chunk))

    def take_back(self) -> None:
        """Remove everything of these chunks from Redis."""
        if names := [*self._landed, *map(self._input_key, self.chunks.values())]:
            self._redis.unlink(*names)

    def _input_key(self, chunk: Chunk) -> str:
        return input_key(self._request.session, chunk.token)

    def _job_id(self, chunk: Chunk) -> str:
        return f"{self._request.session}-{chunk.token.replace('.', '-')}-{chunk.attempt}"


def read_events(connection: redis.Redis, key: str, seconds: float, observer: Observer) -> Iterator[Event]:
    """Yield the events that have come; wait up to `seconds` for the first one."""
    pipeline = connection.pipeline(transaction=False)
    if seconds:
        pipeline.brpop([key], timeout=seconds)
    pipeline.rpop(key, _MOST_EVENTS)
    *first, more = pipeline.execute()
    for raw in [*(first[0][1:] if first and first[0] else []), *(more or [])]:
        try:
            yield Event.unpack(raw)
        except PayloadError as error:
            observer.note(f"{error}; passed over")


def _key(queue: str) -> str:
    return f"{TaskQueue.redis_queue_namespace_prefix}{queue}"
