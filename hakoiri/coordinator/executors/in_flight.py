"""The chunks of one `map` in flight: their jobs and arrays in Redis, and the arrays that they share.

A chunk stays here until its result arrives, so it can be sent again; in Redis it expires unless it is renewed. Arrays
that all chunks share are sent once, in pieces: a graph may have gigabytes. Every method may raise an error of Redis,
and may then be called again.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from operator import is_
from typing import Any

import numpy as np
import redis
from redis.client import Pipeline

from hakoiri.coordinator.executors.sending import Chunk, SentChunks
from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import PayloadError
from hakoiri.worker.rq_worker import TaskJob, TaskQueue
from hakoiri.worker.transport.connection import (
    QUEUE,
    begun_key,
    event_key,
    input_key,
    own_queue,
    result_key,
    shared_key,
)
from hakoiri.worker.transport.payload import Array, Arrays, Event, TaskRequest, pack_arrays, unpack_arrays


class Shared:
    """Arrays that workers fetch once and keep until others replace them. They must not change meanwhile.

    Methods may raise Redis's errors, and be called again.
    """

    def __init__(self, connection: redis.Redis, session: str, tuning: Tuning) -> None:
        self._redis, self._session, self._keep = connection, session, tuning.keep
        self._piece_bytes = tuning.piece_bytes
        self.arrays: Arrays = ()
        #: Whether Redis may have them; names in Redis that are no longer needed, which go with the next that is sent.
        self._sent, self.old = False, list[str]()
        #: Counts how often it became other arrays.
        self.number = -1

    def become(self, arrays: Arrays) -> None:
        """Share these arrays from now on; they are sent with the next chunk."""
        if len(arrays) == len(self.arrays) and all(map(is_, arrays, self.arrays)):
            return
        self.old += [name for name, _ in self._named()]
        self.arrays, self.number, self._sent = arrays, self.number + 1, False

    @property
    def pieces(self) -> list[int]:
        """The number of pieces of each array."""
        return [len(range(0, max(1, array.nbytes), self._piece_bytes)) for array in self.arrays]

    def send(self, pipeline: Pipeline | None = None) -> None:
        """Put missing pieces into Redis, and renew the others; small ones go with the rest of a given `pipeline`."""
        kept = self.renew() if self._sent else [False] * sum(self.pieces)
        own = self._redis.pipeline(transaction=False) if pipeline is None else pipeline
        size = 0
        for (name, part), is_there in zip(self._named(), kept, strict=True):
            if not is_there:
                own.set(name, packed := pack_arrays([part]), ex=self._keep)
                size += len(packed)
            if size > _MOST_BYTES:
                own.execute()
                size = 0
        if pipeline is None:
            own.execute()
        self._sent = True

    def renew(self) -> list[bool]:
        """Renew the lifetime of all pieces in Redis; return which of them it still has."""
        with self._redis.pipeline(transaction=False) as pipeline:
            for name, _ in self._named():
                pipeline.expire(name, self._keep)
            return [*map(bool, pipeline.execute())]

    def take_back(self) -> None:
        """Remove them from Redis, and all that is no longer needed."""
        if names := [*self.old, *(name for name, _ in self._named())]:
            self._redis.unlink(*names)

    def _named(self) -> Iterator[tuple[str, Array]]:
        parts = (np.array_split(array, count) for array, count in zip(self.arrays, self.pieces, strict=True))
        for place, part in enumerate(chain.from_iterable(parts)):
            yield shared_key(self._session, self.number, place), part


#: Events taken at a time.
_MOST_EVENTS = 10_000
#: Inputs are sent in one round trip until they have this many bytes.
_MOST_BYTES = 1 << 24


class InFlight(SentChunks):
    """The chunks of one stage as jobs in Redis, which are `request` with the chunk filled in.

    `shared` are the arrays that they have in common, which stay in Redis for the stages that follow.
    """

    def __init__(self, connection: redis.Redis, task: str, stage: int, request: TaskRequest, shared: Shared) -> None:
        super().__init__(task, stage)
        self._redis, self._queue = connection, TaskQueue(connection=connection)
        self._request = replace(request, shared=shared.number, pieces=shared.pieces)
        self.shared, self._shared_sent = shared, False

    @property
    def waiting_since(self) -> float | None:
        """The time at which the oldest chunk was sent, if no worker has begun any chunk."""
        if any(chunk.worker for chunk in self.chunks.values()):
            return None
        return min((chunk.sent_at for chunk in self.chunks.values() if chunk.attempt), default=None)

    def waits(self) -> bool:
        """Return whether the queue has a job that no worker has taken."""
        return bool(self._redis.llen(_key(QUEUE)))

    def send_all(self, chunks: Iterable[tuple[Chunk, str]]) -> None:
        """Make another attempt at each chunk, by the host named with it or by any worker; in few round trips."""
        chunks = [*chunks]
        total = sum(array.nbytes for array in self.shared.arrays) + sum(len(chunk.payload) for chunk, _ in chunks)
        # Small ones go with the chunks: no worker takes a job of the transaction before its end.
        together = not self._shared_sent and total < _MOST_BYTES
        if not self._shared_sent and not together:
            self.shared.send()
        pipeline, size = self._redis.pipeline(), 0
        for chunk, wanted in chunks:
            self._put(pipeline, chunk, wanted)
            size += len(chunk.payload)
            if size > _MOST_BYTES:
                pipeline.execute()
                size = 0
        if together:
            self.shared.send(pipeline)
        if self.shared.old:
            pipeline.unlink(*self.shared.old)
        pipeline.execute()
        self.shared.old, self._shared_sent = [], True

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
        # Redis may have lost the shared arrays.
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

    def fetch(self, chunk: Chunk, event: Event) -> list[Array] | None:
        raw: Any = event.result
        if raw is None:
            raw = self._redis.getdel(result_key(self._request.session, chunk.token, event.attempt))
        chunk.received = 0 if raw is None else len(raw)
        return None if raw is None else unpack_arrays(raw)

    def land(self, chunk: Chunk) -> None:
        super().land(chunk)
        self.shared.old.append(self._input_key(chunk))

    def take_back(self) -> None:
        if names := [*map(self._input_key, self.chunks.values())]:
            self._redis.unlink(*names)

    def _input_key(self, chunk: Chunk) -> str:
        return input_key(self._request.session, chunk.token)

    def _job_id(self, chunk: Chunk) -> str:
        return f"{self._request.session}-{chunk.token.replace('.', '-')}-{chunk.attempt}"


def read_events(connection: redis.Redis, session: str, seconds: float, observer: Observer) -> Iterator[Event]:
    """Yield the events of a session that have come, what has begun first; wait up to `seconds` for an outcome."""
    pipeline, key = connection.pipeline(transaction=False), event_key(session)
    if seconds:
        pipeline.brpop([key], timeout=seconds)
    pipeline.rpop(key, _MOST_EVENTS)
    pipeline.rpop(begun_key(session), _MOST_EVENTS)
    *first, more, begun = pipeline.execute()
    for raw in [*(begun or []), *(first[0][1:] if first and first[0] else []), *(more or [])]:
        try:
            yield Event.unpack(raw)
        except PayloadError as error:
            observer.note(f"{error}; passed over")


def _key(queue: str) -> str:
    return f"{TaskQueue.redis_queue_namespace_prefix}{queue}"
