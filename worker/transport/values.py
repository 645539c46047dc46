"""Large values read from Redis straight into memory of their own.

redis-py gathers all that a pipeline brings in one growing buffer and copies each value out of it, which costs 1.0 to
2.0 ns for a byte of a value of some megabytes; this 0.1 to 0.2 ns (docs/measurements.md).
"""

from typing import Any

import numpy as np
import redis
from redis._parsers.base import _RESPBase
from redis._parsers.resp2 import _RESP2Parser
from redis._parsers.resp3 import _RESP3Parser
from redis._parsers.socket import SERVER_CLOSED_CONNECTION_ERROR, SocketBuffer
from redis.connection import parse_url
from redis.utils import SENTINEL

#: From so many bytes on a value is large.
_LARGE = 1 << 15
_END = b"\r\n"


class _WithLargeValues(_RESPBase):
    """One of redis-py's parsers, which gives large values as read-only views."""

    def on_connect(self, connection: Any) -> None:
        """The socket is there."""
        super().on_connect(connection)  # type: ignore[no-untyped-call]
        self._buffer = _Buffer(connection._sock, self.socket_read_size, connection.socket_timeout)


class ValueParser(_WithLargeValues, _RESP3Parser):
    """For all connections, but where the URL asks for RESP2."""


class OldValueParser(_WithLargeValues, _RESP2Parser):
    """For RESP2, whose way to say that nothing is there the other one would wait for the rest of."""


def parser_of(url: str) -> type[ValueParser | OldValueParser]:
    """The parser for what a server says at a URL; `ValueError` if that is none of Redis's."""
    asked = parse_url(url).get("protocol", 3)  # type: ignore[no-untyped-call]
    return OldValueParser if int(asked) == 2 else ValueParser


class _Buffer(SocketBuffer):
    def read(self, length: int, timeout: Any = SENTINEL) -> Any:
        if length < _LARGE:
            return super().read(length, timeout)
        # Not a bytearray: nothing need be there before.
        value = np.empty(length + len(_END), dtype=np.uint8).data
        # IMPORTANT: errors, time-outs among them, go through to redis-py, which then closes the connection.
        held = self._buffer.readinto(value)
        while held < len(value):
            received = self._sock.recv_into(value[held:])
            if not received:
                raise redis.ConnectionError(SERVER_CLOSED_CONNECTION_ERROR)
            held += received
        return value[:length].toreadonly()
