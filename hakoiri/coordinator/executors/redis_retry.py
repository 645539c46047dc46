"""Calls to Redis that are repeated while it is away, for as long as a run waits; then everything is sent again.

Redis also counts as away while it refuses to serve: during a failover it may be a replica, or not know the password.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import redis

from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.worker.errors import RedisRefusedError, RedisUnavailableError
from hakoiri.worker.transport.connection import connect, is_away, redis_errors
from hakoiri.worker.transport.names import PROBE

_RETRY_SECONDS = 0.2
_Value = TypeVar("_Value")


def await_redis(url: str, seconds: float, control: Control, observer: Observer) -> None:
    """Return when a new connection is answered; raises as `connect` does when that many seconds are over.

    For a run under way: its Redis was there when it began.
    """
    until, told = time.monotonic() + seconds, False
    while True:
        try:
            return connect(url).close()
        except (RedisRefusedError, RedisUnavailableError) as error:
            if time.monotonic() > until:
                raise
            if not told:
                observer.note(f"{error}; waiting up to {seconds:.0f} s for it")
        told = True
        control.check()
        time.sleep(_RETRY_SECONDS)


class RedisRetry:
    """Waits for `seconds`; `send_again` sends what Redis may have lost, and says how many chunks that is."""

    def __init__(
        self, url: str, connection: redis.Redis, control: Control, observer: Observer, seconds: float,
        send_again: Callable[[], int],
    ) -> None:  # fmt: skip
        self._url, self._redis = url, connection
        self._control, self._observer = control, observer
        self._seconds, self._send_again = seconds, send_again

    def call(self, call: Callable[[], _Value]) -> _Value:
        """Return the result of a call; repeat the call while Redis is away."""
        with redis_errors(self._url):
            while True:
                try:
                    return call()
                except redis.RedisError as error:
                    self.outlast(error)

    def outlast(self, error: redis.RedisError) -> None:
        """Wait until Redis is back, then send everything again, for it may have come back empty.

        Any other error than that Redis `is_away` is raised.
        """
        if not is_away(error):
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
                count = self._send_again()
            except redis.RedisError as still:
                if not is_away(still):
                    raise
                error = still
                time.sleep(_RETRY_SECONDS)
            else:
                break
        self._observer.note(f"Redis is back; {count} chunks are sent again")
