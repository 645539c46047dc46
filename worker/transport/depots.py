"""The depots: each Redis in which pieces lie, by number. Depot 0 is the one Redis of the queue, others are data Redis.

A worker says, where it says that it lives, in which data Redis it leaves pieces; nobody connects to any other. The
number of a depot is made of its URL: nobody deals numbers out, and none changes when the Redis of the queue is flushed.
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

from hakoiri.worker.errors import DepotLostError, PayloadError
from hakoiri.worker.transport.connection import living_workers, without_password
from hakoiri.worker.transport.values import ValueParser

#: The variable of a worker's environment with the URL of its data Redis.
DATA_REDIS = "HAKOIRI_DATA_REDIS"
#: The Redis of the queue, where pieces lie that are in no data Redis.
MAIN = 0
_CONNECT_SECONDS, _ANSWER_SECONDS = 3.0, 6.0
#: Whoever beats must not wait for long.
_BEAT_ANSWER_SECONDS = 1.0
#: A depot that did not answer is asked nothing for so long.
_AWAY_SECONDS = 5.0


def depot_number(url: str) -> int:
    """The number of a depot; that of no URL is the one of the queue."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], "big") if url else MAIN


def open_depot(url: str, answer_seconds: float = _ANSWER_SECONDS) -> redis.Redis:
    """A data Redis, which has not been asked anything yet. `PayloadError` unless its URL is a plain one.

    IMPORTANT: the URL may come from Redis, and the options of a longer one could name files of this machine.
    """
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("redis", "rediss") or not parts.hostname or parts.query:
            raise ValueError
        return redis.Redis.from_url(
            url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=answer_seconds, parser_class=ValueParser,
            # What lies there can be made again sooner.
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
    except ValueError:
        raise PayloadError("this is no URL of a data Redis; write redis://:PASSWORD@HOST:PORT/0") from None


class Depots:
    """The connections of this process to depots, each made when it is first needed.

    `main` is that of the queue, `own` the URL of the data Redis in which this process leaves pieces, if it has one.
    """

    def __init__(self, main: redis.Redis, own: str = "") -> None:
        self.main, self.own = main, depot_number(own)
        self._opened: dict[int, tuple[redis.Redis, str]] = {}
        self._away: dict[int, float] = {}
        if own:
            self._opened[self.own] = open_depot(own), without_password(own)

    @contextmanager
    def reach(self, number: int) -> Iterator[redis.Redis]:
        """A depot; `DepotLostError` where it does not answer, and then at once for some seconds more."""
        if number == MAIN:
            yield self.main
            return
        connection, where = self.open(number)
        if not self.answers(number):
            raise DepotLostError(f"the data Redis at {where} has just not answered", number)
        try:
            yield connection
        except OutOfMemoryError:
            raise
        except RedisError as error:
            self._away[number] = time.monotonic() + _AWAY_SECONDS
            raise DepotLostError(
                f"the data Redis at {where} does not answer ({type(error).__name__})", number
            ) from error

    def answers(self, number: int) -> bool:
        """Whether a depot did when it was last asked, if that was just now."""
        return time.monotonic() >= self._away.get(number, 0.0)

    def open(self, number: int) -> tuple[redis.Redis, str]:
        """A data Redis that living workers say they have, which is not asked anything yet, and its address."""
        if number not in self._opened:
            urls = {depot_number(url): url for url in living_workers(self.main).values()}
            if number not in urls:
                raise DepotLostError("no worker lives at the data Redis in which a piece lay", number)
            try:
                self._opened[number] = open_depot(urls[number]), without_password(urls[number])
            except PayloadError as error:
                raise DepotLostError(str(error), number) from error
        return self._opened[number]

    def close(self) -> None:
        """Close all connections but the one to the Redis of the queue."""
        for connection, _ in self._opened.values():
            connection.close()


class OwnDepot:
    """Gives the URL of the data Redis in which a worker leaves pieces, while that answers, else nothing."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection = open_depot(url, _BEAT_ANSWER_SECONDS) if url else None

    def __call__(self) -> str:
        if self._connection is not None:
            with suppress(RedisError):
                self._connection.ping()
                return self._url
        return ""
