"""A client without a token attacks a server, a real process: it is refused, and others are answered."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import psutil
import pytest

from tests.support.commands import PATIENCE_SECONDS, Hakoiri
from tests.support.web import ADDRESS, ENVIRONMENT, TOKEN, Server
from tests.support.web_requests import CHUNKED, ENDLESS, HEAD, MUCH


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    command = Hakoiri(tmp_path_factory.mktemp("attacked"))
    found = Server(command.start("serve", *ADDRESS, "--no-drive", env=ENVIRONMENT))
    yield found
    found.client.close()
    command.close()


def connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.client.base_url.port or 0), timeout=PATIENCE_SECONDS)


def test_what_never_ends_is_cut_off(server: Server) -> None:
    """Long before it is all sent; and it costs the server no memory."""
    before = resident(server)
    for what, (begin, more) in ENDLESS.items():
        sent = 0
        with connect(server) as client, suppress(ConnectionError):
            client.sendall(begin)
            while sent < MUCH:
                client.sendall(more)
                sent += len(more)
        assert sent < MUCH, f"{what}: all of it was taken in"
        assert server.client.get("/api/puzzles").status_code == 200
    assert resident(server) - before < 30_000_000


def resident(server: Server) -> int:
    """The memory that it takes, in bytes."""
    return psutil.Process(server.process.pid).memory_info().rss


def test_a_trailer_is_no_header(server: Server) -> None:
    """Neither of this request nor of the next."""
    with connect(server) as client:
        client.sendall(CHUNKED + f"0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert client.recv(12) == b"HTTP/1.1 401"
    with connect(server) as client:
        trailing = f"0\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        client.sendall(CHUNKED + trailing + HEAD + b"Connection: close\r\n\r\n")
        answers = b"".join(iter(partial(client.recv, 65_536), b""))
        assert answers.count(b"HTTP/1.1 401") == 2
