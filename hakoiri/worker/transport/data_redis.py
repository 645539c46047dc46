"""The data Redis of hosts: each holds the messages to its host, and is known by a number.

A host may start a redis-server for the messages to it, which ends with the process that started it. It reports the URL
in its heartbeat; no process connects to any other. The number of a data Redis is computed from its URL: numbers need
not be assigned, and survive a flush of the queue's Redis. Number 0 is the Redis of the queue. A URL is believed: who
can write to the Redis of the queue is trusted. Any fault of a data Redis counts as its loss.
"""

import errno
import hashlib
import ipaddress
import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self
from urllib.parse import urlsplit

import redis
from redis.backoff import NoBackoff
from redis.exceptions import OutOfMemoryError, RedisError
from redis.retry import Retry

from hakoiri.errors import PayloadError, WorkerError
from hakoiri.worker.machine import end, end_with
from hakoiri.worker.transport.connection import living_hosts, without_password

#: The environment variable of a host with the URL of its data Redis.
DATA_REDIS = "HAKOIRI_DATA_REDIS"
#: The Redis of the queue, which holds the messages to hosts without a data Redis.
MAIN = 0
_CONNECT_SECONDS, _ANSWER_SECONDS = 3.0, 6.0
#: Heartbeats must not wait for long.
_BEAT_ANSWER_SECONDS = 1.0
#: A data Redis that did not answer is not tried again for this time.
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
        if number not in self._opened:
            urls = {data_redis_number(beat.url): beat.url for beat in living_hosts(self._main).values()}
            if number not in urls:
                raise PayloadError("the data Redis of a message belongs to no live host")
            url = urls[number]
            self._opened[number] = open_data_redis(url), without_password(url)
        connection, where = self._opened[number]
        if time.monotonic() < self._away.get(number, 0.0):
            raise PayloadError(f"the data Redis at {where} did not answer a moment ago")
        try:
            yield connection
        except OutOfMemoryError:
            raise
        except RedisError as error:
            self._away[number] = time.monotonic() + _AWAY_SECONDS
            raise PayloadError(f"the data Redis at {where} does not answer ({type(error).__name__})") from error


def own_data_redis(url: str) -> Callable[[], str]:
    """Return a function that gives the URL of this host's data Redis if that answers, else an empty text."""
    connection = open_data_redis(url, _BEAT_ANSWER_SECONDS) if url else None
    return lambda: url if connection is not None and _answers(connection) else ""


_START_SECONDS, _POLL_SECONDS, _STOP_SECONDS = 10.0, 0.02, 5.0
#: Linux assigns ports from 32,768 on to clients, so one of them could be taken before the server has it, or while it is
#: down.
_PORTS = range(10_000, 30_000)
#: Most characters of the server's log in an error.
_MOST_WORDS = 300


class DataRedis:
    """A redis-server at one address of this host, with a random password and up to `memory` bytes.

    It evicts nothing and writes nothing to disk. It ends with the context, and with this process, however that ends (on
    Linux). `WorkerError` if it cannot be started.
    """

    def __init__(self, host: str, memory: int) -> None:
        self._host, self._memory = host, memory
        self._password = secrets.token_hex(24)
        self._port = free_port(host)
        address = f"[{host}]" if ":" in host else host
        self.url = f"redis://:{self._password}@{address}:{self._port}/0"
        self.revive()

    @property
    def lives(self) -> bool:
        """True while its process lives."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process, _STOP_SECONDS)

    def revive(self) -> None:
        """Start it, empty; each time at the same address and with the same password."""
        settings = {
            "bind": self._host, "port": self._port, "requirepass": self._password, "maxmemory": self._memory,
            "maxmemory-policy": "noeviction", "save": '""', "appendonly": "no",
        }  # fmt: skip
        with tempfile.TemporaryFile() as config, tempfile.TemporaryFile() as log:
            # The settings are passed by standard input: arguments are visible to every user of the machine.
            config.write("".join(f"{name} {value}\n" for name, value in settings.items()).encode())
            config.seek(0)
            try:
                process = subprocess.Popen(
                    ["redis-server", "-"], stdin=config, stdout=log, stderr=log, cwd=tempfile.gettempdir(),
                    # Ctrl-C on the terminal is for the supervisor.
                    process_group=0,
                    # One system call, which no thread can disturb.
                    preexec_fn=partial(end_with, os.getpid()),  # noqa: PLW1509
                )  # fmt: skip
            except OSError as error:
                raise WorkerError(f"cannot start redis-server ({error}); install it") from error
            until = time.monotonic() + _START_SECONDS
            with open_data_redis(self.url) as connection:
                while not _answers(connection):
                    if process.poll() is not None or time.monotonic() > until:
                        end(process, _STOP_SECONDS)
                        log.seek(0)
                        why = log.read().decode(errors="replace").replace(self._password, "...").strip()[-_MOST_WORDS:]
                        raise WorkerError(f"the redis-server for {without_password(self.url)} does not start: {why}")
                    time.sleep(_POLL_SECONDS)
        self._process = process


def address_towards(connection: redis.Redis) -> str:
    """Return the address of this host from which its connection to Redis goes out."""
    server = connection.get_connection_kwargs()
    if "host" not in server:
        return "127.0.0.1"  # A socket in the file system.
    with socket.create_connection((server["host"], server["port"])) as probe:
        return str(probe.getsockname()[0])


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


def _answers(connection: redis.Redis) -> bool:
    try:
        return bool(connection.ping())
    except RedisError:
        return False


def free_port(host: str) -> int:
    """Return a free port of this host, outside the range that the system assigns to clients."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    while True:
        port = secrets.choice(_PORTS)
        try:
            with socket.create_server((host, port), family=family):
                return port
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise WorkerError(f"{host} is not an address of this machine; choose one that is") from error
