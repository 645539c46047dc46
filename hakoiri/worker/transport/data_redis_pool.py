"""The data Redis of hosts, by number: each holds the messages to its host. Number 0 is the Redis of the queue.

A host reports in its heartbeat the data Redis at which it receives messages; no process connects to any other. The
number of a data Redis is computed from its URL: numbers need not be assigned, and survive a flush of the queue's Redis.
A URL is believed: who can write to the Redis of the queue is trusted. Any fault of a data Redis counts as its loss.
"""

import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError
from redis.retry import Retry

from hakoiri.worker.errors import PayloadError
from hakoiri.worker.transport.connection import living_hosts, without_password

#: The environment variable of a host with the URL of its data Redis.
DATA_REDIS = "HAKOIRI_DATA_REDIS"
#: The Redis of the queue, which holds the messages to hosts without a data Redis.
MAIN = 0
_CONNECT_SECONDS, _ANSWER_SECONDS = 3.0, 6.0
#: Heartbeats must not wait for long.
_BEAT_ANSWER_SECONDS = 1.0
#: A data Redis that did not answer is not tried again for so long.
_AWAY_SECONDS = 5.0


def data_redis_number(url: str) -> int:
    """Return the number of a data Redis; an empty URL is the queue's."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], "big") if url else MAIN


def open_data_redis(url: str, answer_seconds: float = _ANSWER_SECONDS) -> redis.Redis:
    """Return a connection to a data Redis, without contacting it. `PayloadError` unless other hosts can use its URL."""
    try:
        # A heartbeat has its parts between spaces.
        if not urlsplit(url).hostname or " " in url:
            raise ValueError
        return redis.Redis.from_url(
            url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=answer_seconds,
            # No retries: to begin the layer anew is faster.
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
    except ValueError:
        raise PayloadError("the URL of a data Redis is malformed; expected redis://:PASSWORD@HOST:PORT/0") from None


class DataRedisPool:
    """The connections of this process to data Redis, each made when it is first needed.

    `main` is that of the queue, `own` the URL of the data Redis of this process, if it has one.
    """

    def __init__(self, main: redis.Redis, own: str = "") -> None:
        self._main = main
        self._opened: dict[int, tuple[redis.Redis, str]] = {}
        self._away: dict[int, float] = {}
        if own:
            self._opened[data_redis_number(own)] = open_data_redis(own), without_password(own)

    @contextmanager
    def reach(self, number: int) -> Iterator[redis.Redis]:
        """Yield a connection to a data Redis.

        Raises `PayloadError` if it does not answer, or not as Redis does; for some seconds afterwards, at once.
        """
        if number == MAIN:
            yield self._main
            return
        connection, where = self._open(number)
        if time.monotonic() < self._away.get(number, 0.0):
            raise PayloadError(f"the data Redis at {where} did not answer a moment ago")
        try:
            yield connection
        except OutOfMemoryError:
            raise
        except RedisError as error:
            self._away[number] = time.monotonic() + _AWAY_SECONDS
            raise PayloadError(f"the data Redis at {where} does not answer ({type(error).__name__})") from error

    def _open(self, number: int) -> tuple[redis.Redis, str]:
        """Return a data Redis that a living host reports, without contacting it, and its address."""
        if number not in self._opened:
            urls = {data_redis_number(beat.url): beat.url for beat in living_hosts(self._main).values()}
            if number not in urls:
                raise PayloadError("the data Redis of a message belongs to no live host")
            url = urls[number]
            self._opened[number] = open_data_redis(url), without_password(url)
        return self._opened[number]


class OwnDataRedis:
    """Returns the URL of this host's data Redis if that answers, else an empty text."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = open_data_redis(url, _BEAT_ANSWER_SECONDS) if url else None

    def __call__(self) -> str:
        if self._connection is not None:
            with suppress(RedisError):
                self._connection.ping()
                return self._url
        return ""
