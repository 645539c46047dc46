"""Large values read from Redis: whole, in whatever bits they come, or an error that closes the connection."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from worker.transport.values import ValueParser

LARGE = bytes(range(256)) * 160


def bulk(value: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(value), value)


@pytest.fixture
def ends() -> Iterator[tuple[Any, socket.socket]]:
    """A parser that reads what is sent into the socket."""
    mine, other = socket.socketpair()
    mine.settimeout(0.05)
    parser = ValueParser(socket_read_size=1 << 16)
    parser.on_connect(SimpleNamespace(_sock=mine, socket_timeout=0.05, encoder=redis.Redis().get_encoder()))
    yield parser, other
    mine.close()
    other.close()


@pytest.mark.parametrize("first", [0, 1, 5, 9, 30_000, len(LARGE) + 9, len(LARGE) + 11])
def test_values_of_a_pipeline(first: int, ends: tuple[Any, socket.socket]) -> None:
    """However much of the next one comes with one of them."""
    parser, other = ends
    sent = bulk(b"small") + bulk(LARGE) + bulk(LARGE[::-1]) + b"_\r\n" + bulk(b"x" * 40_000) + b":7\r\n"
    other.sendall(sent[:first])
    if first > len(bulk(b"small")):
        assert parser.read_response() == b"small"
        other.sendall(sent[first:])
    else:
        other.sendall(sent[first:])
        assert parser.read_response() == b"small"
    found = [parser.read_response() for _ in range(5)]
    assert found == [LARGE, LARGE[::-1], None, b"x" * 40_000, 7]
    assert found[0].readonly


def test_a_value_that_does_not_come_whole(ends: tuple[Any, socket.socket]) -> None:
    parser, other = ends
    other.sendall(bulk(LARGE)[:-7])
    with pytest.raises(TimeoutError):
        parser.read_response()


def test_a_server_that_ends_in_a_value(ends: tuple[Any, socket.socket]) -> None:
    parser, other = ends
    other.sendall(bulk(LARGE)[:-7])
    other.shutdown(socket.SHUT_WR)
    with pytest.raises(redis.ConnectionError, match="closed by server"):
        parser.read_response()
