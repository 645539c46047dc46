"""The data Redis of hosts, by number: each holds the messages to its host. Number 0 is the Redis of the queue.

A host reports in its heartbeat the data Redis at which it receives messages; no process connects to any other. The
number of a data Redis is computed from its URL: numbers need not be assigned, and survive a flush of the queue's Redis.

IMPORTANT: every program that may write to the main Redis may forge such a URL. So a process connects to a data Redis
only if the user allows its address (`DATA_NETWORKS`), or the host has proved it. The proof is a connection to the main
Redis, from that very address, with a name computed from the URL (`worker.transport.names.witness_name`). Replies of a
data Redis are bounded, and any fault in them counts as its loss.
"""

import hashlib
import ipaddress
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import unquote, urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError
from redis.retry import Retry

from hakoiri.puzzles.errors import HakoiriError
from hakoiri.worker.errors import DataRedisLostError, PayloadError
from hakoiri.worker.transport.connection import living_hosts, without_password
from hakoiri.worker.transport.names import witness_name
from hakoiri.worker.transport.values import OldValueParser, allowing

#: The environment variable of a host with the URL of its data Redis.
DATA_REDIS = "HAKOIRI_DATA_REDIS"
#: The variable with addresses, networks and names of hosts whose data Redis need no proof.
DATA_NETWORKS = "HAKOIRI_DATA_NETWORKS"
#: The Redis of the queue, which holds the messages to hosts without a data Redis.
MAIN = 0
_CONNECT_SECONDS, _ANSWER_SECONDS = 3.0, 6.0
#: Heartbeats must not wait for long.
_BEAT_ANSWER_SECONDS = 1.0
#: A data Redis that did not answer is not tried again for so long.
_AWAY_SECONDS = 5.0
#: Most bytes that a data Redis may send besides the requested values.
_LITTLE = 1 << 18
_MOST_URL = 1_000

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def data_redis_number(url: str) -> int:
    """Return the number of a data Redis; an empty URL is the queue's."""
    return int.from_bytes(hashlib.sha256(url.encode()).digest()[:6], "big") if url else MAIN


def open_data_redis(url: str, answer_seconds: float = _ANSWER_SECONDS) -> redis.Redis:
    """Return a connection to a data Redis, without contacting it. `PayloadError` unless its URL is plain.

    IMPORTANT: the URL may come from Redis. The options of a longer one could name files of this machine, and a password
    with an end of line could inject lines of another protocol.
    """
    try:
        parts = urlsplit(url)
        words = unquote(url)
        if parts.scheme not in ("redis", "rediss") or not parts.hostname or parts.query or len(url) > _MOST_URL:
            raise ValueError
        if not words.isprintable() or " " in words or not re.fullmatch(r"(/\d{0,4})?", parts.path):
            raise ValueError
        return redis.Redis.from_url(
            url, socket_connect_timeout=_CONNECT_SECONDS, socket_timeout=answer_seconds, protocol=2,
            parser_class=OldValueParser,
            # No retries: to begin the layer anew is faster.
            retry=Retry(NoBackoff(), 0),
        )  # fmt: skip
    except ValueError:
        raise PayloadError("the URL of a data Redis is malformed; expected redis://:PASSWORD@HOST:PORT/0") from None


def require_networks(text: str) -> None:
    """Raise `ValueError` unless all words of a value of `DATA_NETWORKS` are networks, addresses or names of hosts."""
    for word in text.replace(",", " ").split():
        if re.search(r"[/:]|^[\d.]+$", word):
            ipaddress.ip_network(word, strict=False)
        elif not re.fullmatch(r"[\w.-]+", word):
            raise ValueError(f"{word!r} is not a network, an address or the name of a host")


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
    def reach(self, number: int, most: int = 0) -> Iterator[redis.Redis]:
        """Yield a connection to a data Redis, which may send values of `most` bytes in all.

        Raises `DataRedisLostError` if it does not answer, or not as Redis does; for some seconds afterwards, at once.
        """
        if number == MAIN:
            yield self._main
            return
        connection, where = self._open(number)
        if time.monotonic() < self._away.get(number, 0.0):
            raise DataRedisLostError(f"the data Redis at {where} did not answer a moment ago")
        try:
            with allowing(most + _LITTLE, _ANSWER_SECONDS):
                yield connection
        except (OutOfMemoryError, HakoiriError):
            raise
        except (RedisError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
            self._away[number] = time.monotonic() + _AWAY_SECONDS
            raise DataRedisLostError(f"the data Redis at {where} does not answer ({type(error).__name__})") from error

    def _open(self, number: int) -> tuple[redis.Redis, str]:
        """Return a data Redis that a living host reports, without contacting it, and its address."""
        if number not in self._opened:
            urls = {data_redis_number(beat.url): beat.url for beat in living_hosts(self._main).values()}
            if number not in urls:
                raise DataRedisLostError("the data Redis of a message belongs to no live host")
            url, where = urls[number], without_password(urls[number])
            try:
                opened = open_data_redis(url)
            except PayloadError as error:
                raise DataRedisLostError(str(error)) from error
            if not _may_be_reached(self._main, url):
                words = f"no host announces a data Redis at {where} from that address; if it is yours,"
                raise DataRedisLostError(f"{words} add its host to {DATA_NETWORKS}")
            self._opened[number] = opened, where
        return self._opened[number]


def _may_be_reached(main: redis.Redis, url: str) -> bool:
    """Return whether a host has proved that the data Redis at a URL is at its own address, or the user allows it."""
    host, allowed = urlsplit(url).hostname or "", os.environ.get(DATA_NETWORKS, "").replace(",", " ").split()
    address = _address(host)
    if address is None:
        # A name may resolve to another address each time.
        return host in allowed
    for word in allowed:
        with suppress(ValueError):
            if address in ipaddress.ip_network(word, strict=False):
                return True
    # A loopback address, as Redis sees it, is one of the host of Redis.
    return any(_is_beside(main, address) if shown.is_loopback else address == shown for shown in _witnesses(main, url))


def _witnesses(main: redis.Redis, url: str) -> set[Address]:
    """Return the addresses of hosts whose connections to the main Redis name a data Redis; empty if Redis refuses."""
    try:
        clients = main.client_list()
    except redis.ResponseError:
        return set()
    here = witness_name(url)
    named = [str(client.get("addr", "")) for client in clients if client.get("name") == here]
    # A client on a socket of the file system is on Redis's host.
    found = {ipaddress.ip_address("127.0.0.1") if "/" in addr else _address(addr.rpartition(":")[0]) for addr in named}
    return {address for address in found if address is not None}


def _is_beside(main: redis.Redis, address: Address) -> bool:
    """Return whether an address is one of the main Redis's host, as this process reaches it."""
    server = str(main.get_connection_kwargs().get("host", "127.0.0.1"))
    with suppress(OSError):
        reached = {_address(str(found[4][0])) for found in socket.getaddrinfo(server, None, type=socket.SOCK_STREAM)}
        if not any(one is not None and one.is_loopback for one in reached):
            return address in reached
        with socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET) as probe:
            # Only an address of this machine can be bound to.
            probe.bind((str(address), 0))
            return True
    return False


def _address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


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
