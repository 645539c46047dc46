"""Parsing of Redis replies: large values into memory of their own, and never more than a caller allows.

redis-py collects all replies of a pipeline in one growing buffer and copies each value out of it. That costs 1.0 to 2.0
ns per byte of a value of some megabytes; this costs 0.1 to 0.2 ns (docs/reports/measurements.md).

A server may be hostile, or in failover. A reply beyond the bounds, or against the protocol, is a
`redis.ConnectionError`, and so is the reply of a server that cannot serve for now (`AwayError`).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import numpy as np
import redis
from redis._parsers.base import BaseParser, _RESPBase
from redis._parsers.resp2 import _RESP2Parser
from redis._parsers.resp3 import _RESP3Parser
from redis._parsers.socket import SERVER_CLOSED_CONNECTION_ERROR, SocketBuffer
from redis.connection import parse_url
from redis.utils import SENTINEL

#: Bytes from which on a value is large.
_LARGE = 1 << 15
_END = b"\r\n"
#: The longest line and the longest value: Redis itself sends no longer ones.
_MOST_LINE, _MOST_VALUE = 1 << 16, 1 << 29
#: Bytes a second; a slower server is taken for one that does not answer.
_LEAST_PACE = 20_000


class AwayError(redis.ConnectionError):
    """Redis answers, and refuses to serve for now: it is a replica, or waits for one, a disk or a script."""


class _Allowance:
    """The bytes that servers may send to this thread, and the seconds that they may keep it waiting."""

    def __init__(self, most: int, seconds: float) -> None:
        self.left, self._seconds = most, seconds

    def take(self, received: int, seconds: float) -> None:
        self.left -= received
        self._seconds += received / _LEAST_PACE - seconds
        if self.left < 0:
            raise redis.ConnectionError("it sent an unexpected reply")
        if self._seconds < 0:
            raise redis.ConnectionError("its reply takes too long")


_allowance: ContextVar[_Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowing(most: int, seconds: float) -> Iterator[None]:
    """Raise `redis.ConnectionError` if servers send more than `most` bytes, or take longer than `seconds`.

    The time is that spent waiting for bytes, and grows with them. Other threads are not affected.
    """
    before = _allowance.set(_Allowance(most, seconds))
    try:
        yield
    finally:
        _allowance.reset(before)


class _BoundedParser(_RESPBase):
    """One of redis-py's parsers, with bounds; it returns large values as read-only views."""

    EXCEPTION_CLASSES = BaseParser.EXCEPTION_CLASSES | dict.fromkeys(
        # UNBLOCKED ends blocking commands when Redis becomes a replica.
        ("READONLY", "MASTERDOWN", "NOREPLICAS", "MISCONF", "BUSY", "UNBLOCKED"),
        AwayError,
    )

    def on_connect(self, connection: Any) -> None:
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        self._buffer = _Buffer(cast(Any, _Metered(connection._sock)), self.socket_read_size, connection.socket_timeout)

    def _read_response(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super()._read_response(*arguments, **options)  # type: ignore[misc]
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError, redis.InvalidResponse) as error:
            raise redis.ConnectionError(f"it does not speak the protocol of Redis ({type(error).__name__})") from None


class ValueParser(_BoundedParser, _RESP3Parser):
    """For all connections to the Redis of the queue, unless the URL demands RESP2."""


class OldValueParser(_BoundedParser, _RESP2Parser):
    """For RESP2, whose null reply the RESP3 parser would take for the beginning of a longer one.

    It knows no unsolicited messages of a server, so it is the one for data Redis.
    """


def parser_of(url: str) -> type[ValueParser | OldValueParser]:
    """Return the parser for the protocol that a URL names; `ValueError` for any other URL than Redis's."""
    asked = parse_url(url).get("protocol", 3)  # type: ignore[no-untyped-call]
    return OldValueParser if int(asked) == 2 else ValueParser


class _Metered:
    """A socket that charges its bytes and time to the `_Allowance`."""

    def __init__(self, sock: Any) -> None:
        self._sock, self.settimeout = sock, sock.settimeout

    def recv(self, size: int) -> bytes:
        began = time.monotonic()
        received: bytes = self._sock.recv(size)
        _take(len(received), began)
        return received

    def recv_into(self, view: memoryview) -> int:
        began = time.monotonic()
        received = int(self._sock.recv_into(view))
        _take(received, began)
        return received


def _take(received: int, began: float) -> None:
    if (allowance := _allowance.get()) is not None:
        allowance.take(received, time.monotonic() - began)


class _Buffer(SocketBuffer):
    def readline(self, timeout: Any = SENTINEL) -> bytes:
        line: bytes = self._buffer.readline()
        while not line.endswith(_END):
            if len(line) > _MOST_LINE:
                raise redis.ConnectionError("its reply has an endless line")
            self._read_from_socket(timeout=timeout)
            line += self._buffer.readline()
        return line[: -len(_END)]

    def read(self, length: int, timeout: Any = SENTINEL) -> Any:
        allowance = _allowance.get()
        if not 0 <= length <= (allowance.left + self.unread_bytes() if allowance else _MOST_VALUE):
            raise redis.ConnectionError(f"its reply announces a value of {length:,} bytes")
        if length < _LARGE:
            return super().read(length, timeout)
        # Not a bytearray, which would be filled with zeroes first.
        value = np.empty(length + len(_END), dtype=np.uint8).data
        # IMPORTANT: errors, including time-outs, pass through to redis-py, which then closes the connection.
        held = self._buffer.readinto(value)
        while held < len(value):
            received = self._sock.recv_into(value[held:])
            if not received:
                raise redis.ConnectionError(SERVER_CLOSED_CONNECTION_ERROR)
            held += received
        return value[:length].toreadonly()
