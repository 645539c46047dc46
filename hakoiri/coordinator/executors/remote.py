"""The channel to RQ workers: chunks as RQ jobs, their arrays in plain Redis string keys.

The store is the truth and RQ's registries are hints (`coordinator.executors.sending`). Each attempt has its own result
key. Redis may be killed, flushed or restarted at any moment.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

import redis

from hakoiri.coordinator.executors.in_flight import InFlight, Shared, read_events
from hakoiri.coordinator.executors.sending import Channel, Chunk, SendingExecutor
from hakoiri.coordinator.executors.worker_pool import RedisRetry, WorkerPool
from hakoiri.coordinator.session.resources import CHUNK_SECONDS, DEFAULT, Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.program import program_of
from hakoiri.worker.transport.connection import ALIVE_SECONDS, begun_key, event_key, redis_errors
from hakoiri.worker.transport.payload import Arrays, Event, TaskRequest


class RedisChannel(WorkerPool, Channel):
    """The RQ workers of a Redis server."""

    name, own, chunk_seconds, faults = "redis", False, CHUNK_SECONDS, (redis.RedisError,)

    def __init__(
        self, url: str, connection: redis.Redis, puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer,
        work_log: WorkLog, tuning: Tuning,
    ) -> None:  # fmt: skip
        super().__init__(observer, work_log, tuning)
        self._url, self._redis, self._puzzle = url, connection, puzzle
        self._request = TaskRequest(secrets.token_hex(6), "", 0, 0, tuning.keep, spec.as_dict(), {})
        self._redis_retry = RedisRetry(url, connection, control, observer, tuning.patience)
        self._shared = Shared(connection, self._request.session, tuning)
        self._flight = InFlight(connection, "", 0, self._request, self._shared)
        #: The time of the last job seen waiting in the queue.
        self._queued_at = 0.0

    def guard(self) -> AbstractContextManager[object]:
        return redis_errors(self._url)

    def outlast(self, error: Exception, send_again: Callable[[], int]) -> None:
        self._redis_retry.outlast(error, send_again)
        # Workers have lost it too.
        self.expect_all()

    def begin(self, task: str, stage: int, shared: Arrays) -> InFlight:
        self._shared.become(shared)
        request = replace(self._request, program={**program_of(self._puzzle, task)})
        self._flight = InFlight(self._redis, task, stage, request, self._shared)
        return self._flight

    def look(self) -> None:
        self.count(self._redis, self._flight.waiting_since)

    def events(self, seconds: float) -> Iterator[Event]:
        for event in read_events(self._redis, self._request.session, seconds, self._observer):
            self.hear()
            yield event

    def renew(self, now: float) -> Callable[[Chunk], str]:
        kept = self._flight.renew()
        if not self.is_away and self._flight.waits():
            self._queued_at = now
        return lambda chunk: self._why_lost(chunk, kept[chunk.token], now)

    def _why_lost(self, chunk: Chunk, kept: bool, now: float) -> str:
        if chunk.worker and chunk.worker not in self.living:
            return f"worker {chunk.worker} died"
        if not kept:
            return "Redis lost its data"
        # A worker that has just taken the last job, however long that waited, needs a moment to say so.
        taken = now > max(chunk.sent_at, self._queued_at) + ALIVE_SECONDS
        if chunk.worker is None and taken and self.living:
            return "its job is in no queue and no worker has begun it"
        return ""

    def say_alone(self) -> None:
        self.note_alone(self._url)

    def close(self) -> None:
        try:
            self._shared.take_back()
            self._redis.delete(event_key(self._request.session), begun_key(self._request.session))
        except redis.RedisError:
            pass  # Every key has a time to live.
        self._redis.close()


def remote_executor(
    url: str, connection: redis.Redis, puzzle: Puzzle, spec: PuzzleSpec, control: Control, observer: Observer,
    in_flight: int, tuning: Tuning = DEFAULT, audit: float = 0.0, coming: Callable[[], set[str]] = set,
) -> SendingExecutor:  # fmt: skip
    """Return the executor of the RQ workers of a Redis; `coming` names those that this run starts."""
    channel = RedisChannel(url, connection, puzzle, spec, control, observer, work_log := WorkLog(), tuning)
    channel.expect(coming)
    return SendingExecutor(channel, puzzle, control, observer, work_log, in_flight, tuning, audit)
