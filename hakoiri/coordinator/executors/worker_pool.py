"""The workers of a run, and calls to Redis that are repeated while it is away.

Redis also counts as away while it refuses to serve: during a failover it may be a replica, or not know the password.

Anyone with access to Redis can announce a worker, so workers are relied on only while at least one of them answers.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import redis

from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint, RedisRefusedError, RedisUnavailableError
from hakoiri.worker.transport.connection import (
    PROBE,
    connect,
    has_answered,
    is_away,
    living_workers,
    redis_errors,
    without_password,
)

_RETRY_SECONDS = 0.2
_Value = TypeVar("_Value")


def await_redis(url: str, seconds: float, control: Control, observer: Observer) -> redis.Redis:
    """Return a new connection, once it is answered; raises as `connect` does when that many seconds are over.

    A Redis that has not answered this process before is not waited for: its URL may be wrong.
    """
    until, told = time.monotonic() + seconds, False
    while True:
        try:
            return connect(url)
        except (RedisRefusedError, RedisUnavailableError) as error:
            if time.monotonic() > until or not has_answered(url):
                raise
            if not told:
                observer.note(f"{error}; waiting up to {seconds:.0f} s for it")
        told = True
        control.check()
        time.sleep(_RETRY_SECONDS)


class RedisRetry:
    """Waits for `seconds` while Redis is away."""

    def __init__(self, url: str, connection: redis.Redis, control: Control, observer: Observer, seconds: float) -> None:
        self._url, self._redis = url, connection
        self._control, self._observer, self._seconds = control, observer, seconds

    def call(self, call: Callable[[], _Value]) -> _Value:
        """Return the result of a call; repeat the call while Redis is away."""
        with redis_errors(self._url):
            while True:
                try:
                    return call()
                except redis.RedisError as error:
                    self.outlast(error)

    def outlast(self, error: Exception, send_again: Callable[[], int] = lambda: 0) -> None:
        """Wait until Redis is back, then `send_again`, for it may have come back empty; that returns how many chunks.

        Any other error than that Redis `is_away` is raised.
        """
        if not isinstance(error, redis.RedisError) or not is_away(error):
            raise error
        self._observer.note(f"Redis is away ({type(error).__name__}); waiting up to {self._seconds:.0f} s for it")
        until = time.monotonic() + self._seconds
        while True:
            if time.monotonic() > until:
                raise error
            self._control.check()
            try:
                # A replica would answer a ping.
                self._redis.delete(PROBE)
                count = send_again()
            except redis.RedisError as still:
                if not is_away(still):
                    raise
                error = still
                time.sleep(_RETRY_SECONDS)
            else:
                break
        self._observer.note(f"Redis is back; {count} chunks are sent again")


class WorkerPool:
    """The workers of a run, as they were at the last `count`.

    Attributes: `living`, those that may be expected to work; `coming`, those that it has started and have not come yet.
    """

    def __init__(self, observer: Observer, work_log: WorkLog, tuning: Tuning) -> None:
        self._observer, self._work_log, self._tuning = observer, work_log, tuning
        self.living: set[str] = set()
        self._refusing: set[str] = set()
        self._last_seen = self._last_heard = time.monotonic()
        self._is_silent = False
        self._said_alone = False
        #: Whether a worker has come that was not there at the look before.
        self.has_newcomer = False
        self._own: Callable[[], set[str]] = set
        self._came: set[str] = set()
        self.coming: set[str] = set()

    def expect(self, coming: Callable[[], set[str]]) -> None:
        """Wait for the workers that `coming` names until they come or it does not; it may raise `WorkerError`."""
        self._own = coming
        self.coming = coming()

    def count(self, connection: redis.Redis, waiting_since: float | None) -> None:
        """Update `living`. `waiting_since` is the time since which chunks have waited without any being begun."""
        found, now = {*living_workers(connection)}, time.monotonic()
        self.has_newcomer |= not found <= self._came
        self._came |= found
        self.coming = self._own() - self._came
        self.living = found - self._refusing - {*self._work_log.untrusted}
        if waiting_since is not None and now > max(waiting_since, self._last_heard) + self._tuning.silence:
            self._is_silent = True
        if self._is_silent:
            self.living = set()
        if self.living:
            self._last_seen, self._said_alone = now, False

    def hear(self) -> None:
        """Note that a worker has answered."""
        self._last_heard, self._is_silent = time.monotonic(), False

    def expect_all(self) -> None:
        """Give workers a moment for a new heartbeat, because Redis was away."""
        self._last_seen = time.monotonic()
        self.hear()

    def exclude(self, worker: str, why: str, *hints: Hint) -> None:
        """Expect nothing more of a worker that cannot work for this run."""
        if worker not in self._refusing:
            self._refusing.add(worker)
            self.living.discard(worker)
            self._observer.note(f"worker {worker} is excluded from this run: {why}", *hints)

    @property
    def is_away(self) -> bool:
        """Return whether no worker has lived or answered for a while, and no worker is being started."""
        alone = self._is_silent or time.monotonic() - self._last_seen >= self._tuning.alone
        return alone and not self.coming

    def note_alone(self, url: str) -> None:
        """Note once that there are no workers."""
        if not self._said_alone:
            self._said_alone = True
            which = "no other worker" if self._refusing else "no worker"
            does = "answers" if self._is_silent else "listens on Redis"
            self._observer.note(f"{which} {does}, so this process works alone", Hint("worker", without_password(url)))
