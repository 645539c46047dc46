"""Large values read from Redis: whole, in whatever bits they come, or an error that closes the connection."""

import socket
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis

from hakoiri.worker.transport.values import OldValueParser, ValueParser, allowing, parser_of

LARGE = bytes(range(256)) * 160


def bulk(value: bytes) -> bytes:
    return b"$%d\r\n%b\r\n" % (len(value), value)


#: How each says that nothing is there: a value, an array.
NOTHING = {"3": (b"_\r\n", b"_\r\n"), "2": (b"$-1\r\n", b"*-1\r\n")}


@pytest.fixture(params=sorted(NOTHING))
def protocol(request: pytest.FixtureRequest) -> str:
    """That of a connection."""
    return str(request.param)


@pytest.fixture
def ends(protocol: str) -> Iterator[tuple[Any, socket.socket]]:
    """A parser that reads what is sent into the socket."""
    mine, other = socket.socketpair()
    mine.settimeout(0.05)
    parser = parser_of(f"redis://den:6379/0?protocol={protocol}")(socket_read_size=1 << 16)
    parser.on_connect(SimpleNamespace(_sock=mine, socket_timeout=0.05, encoder=redis.Redis().get_encoder()))
    yield parser, other
    mine.close()
    other.close()


@pytest.mark.parametrize("first", [0, 1, 5, 9, 30_000, len(LARGE) + 9, len(LARGE) + 11])
def test_values_of_a_pipeline(first: int, ends: tuple[Any, socket.socket], protocol: str) -> None:
    """However much of the next one comes with one of them."""
    parser, other = ends
    sent = bulk(b"small") + bulk(LARGE) + bulk(LARGE[::-1]) + b"".join(NOTHING[protocol]) + bulk(b"x" * 40_000)
    sent += b":7\r\n"
    other.sendall(sent[:first])
    if first > len(bulk(b"small")):
        assert parser.read_response() == b"small"
        other.sendall(sent[first:])
    else:
        other.sendall(sent[first:])
        assert parser.read_response() == b"small"
    found = [parser.read_response() for _ in range(6)]
    assert found == [LARGE, LARGE[::-1], None, None, b"x" * 40_000, 7]
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


@pytest.mark.parametrize(("seconds", "kept"), [(60.0, True), (-60.0, False)])
def test_only_the_time_spent_waiting_is_taken_off_what_is_allowed(
    seconds: float, kept: bool, ends: tuple[Any, socket.socket]
) -> None:
    parser, other = ends
    other.sendall(bulk(b"small"))
    with allowing(1 << 20, seconds):
        if kept:
            assert parser.read_response() == b"small"
        else:
            with pytest.raises(redis.ConnectionError, match="takes too long"):
                parser.read_response()


def test_the_url_says_which_protocol() -> None:
    assert parser_of("redis://den:6379/0") is ValueParser
    assert parser_of("redis://den:6379/0?protocol=2") is OldValueParser
    with pytest.raises(ValueError, match="scheme"):
        parser_of("den")
