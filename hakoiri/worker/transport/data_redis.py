"""A redis-server for the messages to this host, which ends with the process that started it."""

import errno
import ipaddress
import os
import secrets
import socket
import subprocess
import tempfile
import time
from functools import partial
from typing import Any, Self

import redis
from redis.exceptions import RedisError

from hakoiri.worker.errors import WorkerError
from hakoiri.worker.parent import end, end_with
from hakoiri.worker.transport.connection import without_password
from hakoiri.worker.transport.data_redis_pool import open_data_redis

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
        self._process = self._start()

    @property
    def lives(self) -> bool:
        """True while its process lives."""
        return self._process.poll() is None

    def revive(self) -> None:
        """Start it again, empty, at the same address and with the same password."""
        self._process = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process, _STOP_SECONDS)

    def _start(self) -> "subprocess.Popen[bytes]":
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
            self._await_answer(process, log)
        return process

    def _await_answer(self, process: "subprocess.Popen[bytes]", log: Any) -> None:
        until = time.monotonic() + _START_SECONDS
        with open_data_redis(self.url) as connection:
            while not _answers(connection):
                if process.poll() is not None or time.monotonic() > until:
                    end(process, _STOP_SECONDS)
                    log.seek(0)
                    why = log.read().decode(errors="replace").replace(self._password, "...").strip()[-_MOST_WORDS:]
                    raise WorkerError(f"the redis-server for {without_password(self.url)} does not start: {why}")
                time.sleep(_POLL_SECONDS)


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
