"""A client without a token attacks a server, a real process: it is refused, and others are answered."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from http.client import HTTPConnection

import psutil
import pytest

from tests.support.commands import PATIENCE_SECONDS, Hakoiri
from tests.support.web import ADDRESS, ENVIRONMENT, TOKEN, Server
from tests.support.web_requests import CHUNKED, ENDLESS, HEAD, MUCH, SHOWN, many_files


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


def test_headers_up_to_the_bound_are_read(server: Server) -> None:
    for size, status in ((60_000, 200), (70_000, 431)):
        with connect(server) as client:
            client.sendall(SHOWN + b"X: " + b"x" * size + b"\r\nConnection: close\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 %d" % status


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


def test_a_body_that_nobody_needs_is_no_mistake(server: Server) -> None:
    """A client that shows the token requests a file with a body."""
    with connect(server) as client:
        client.sendall(SHOWN.replace(b"/api/puzzles", b"/js/map/scene.js") + b"Content-Length: 9999999\r\n\r\n")
        # The file may have been begun when the length is looked at.
        assert client.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 413")
    assert server.client.get("/api/puzzles").status_code == 200
    assert "Traceback" not in server.process.stderr


def test_who_leaves_before_his_answers_is_no_mistake(server: Server) -> None:
    """The answers to all requests that wait are dropped, not written to nobody."""
    for _ in range(20):
        with connect(server) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.sendall((SHOWN + b"\r\n") * 20)
            client.recv(1)
    assert server.client.get("/api/puzzles").status_code == 200
    assert "Traceback" not in server.process.stderr


def test_any_number_of_strangers_keeps_nobody_out(server: Server) -> None:
    """Idle ones, more than there may be connections: who shows a token is answered, by a new connection, too."""
    port, shown = server.client.base_url.port, {"Authorization": f"Bearer {TOKEN}"}
    with many_files(), ExitStack() as open_ones:
        known, new = (
            open_ones.enter_context(closing(HTTPConnection("127.0.0.1", port, PATIENCE_SECONDS))) for _ in range(2)
        )
        known.request("GET", "/api/puzzles", headers=shown)
        assert known.getresponse().read()
        connected = known.sock
        for _ in range(1_010):
            open_ones.enter_context(connect(server))
        for client in (known, new):
            client.request("GET", "/api/puzzles", headers=shown)
            answer = client.getresponse()
            assert (answer.status, bool(answer.read())) == (200, True)
        assert known.sock is connected, "it had to connect again"
