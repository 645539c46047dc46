"""The server on the web while it drives a run: killed, asked improper questions, and by clients that are slow."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import ClassVar

from httpx2 import Client

from campaigns.mayhem.grammar import stream
from campaigns.mayhem.kills import again_and_again
from campaigns.mayhem.mutation import mutated
from campaigns.mayhem.scene import Disturbed, Scene
from campaigns.mayhem.trials import REQUESTS, TWICE, WAITED, Measure
from campaigns.mayhem.works import the_run
from tests.support.commands import Running
from tests.support.web import ADDRESS, TOKEN, Server
from tests.support.web_requests import ENDLESS, many_files

_MOST_REQUESTS, _CLIENTS, _STRANGERS = 60, 60, 1_010
_ANSWER_SECONDS = 30.0
#: What is answered as it should be, though it sounds otherwise: too much at once.
_BUSY = (503, 507)
_HEAD = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
#: Requests about a run; `POST` only where it changes nothing.
_ASKED = ("GET {}", "HEAD {}", "GET {}/layers", "GET {}/events", "GET {}/path?to=farthest", "GET {}/components",
          "GET {}/export.csv", "GET /api/runs", "GET /metrics", "GET /api/openapi.json", "POST {}/verify",
          "PUT {}", "POST {}/cancel/it")  # fmt: skip


def _request(scene: Scene) -> bytes:
    where = f"/api/runs/{the_run(scene.work, scene.hakoiri.data).name}"
    return f"{scene.chance.choice(_ASKED).format(where)} HTTP/1.1\r\n{_HEAD}Content-Length: 0\r\n\r\n".encode()


def _connect(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.client.base_url.port or 0), timeout=_ANSWER_SECONDS)


def _ask_anything(scene: Scene, server: Server) -> None:
    """Requests, most of them spoiled: each is answered, refused or cut, and none with a mistake of the server's."""
    for _ in range(scene.chance.randint(10, _MOST_REQUESTS)):
        raw = [_request(scene)]
        if scene.chance.random() < 0.4:
            raw = [mutated(raw[0], scene.chance)]
        elif scene.chance.random() < 0.7:
            raw = stream([the_run(scene.work, scene.hakoiri.data).name], scene.chance)
        scene.outcome.faults += mistakes(server, raw)
        scene.outcome.figures["requests"] += 1


def mistakes(server: Server, raw: list[bytes]) -> list[str]:
    """Send a connection's bytes, piece by piece; that the server answers by a mistake of its own, if it does."""
    status = b""
    with _connect(server) as connection, suppress(ConnectionError):
        for piece in raw:
            connection.sendall(piece)
        with suppress(OSError):  # The server has hung up already.
            connection.shutdown(socket.SHUT_WR)
        status = connection.recv(12)[9:12]
    return [f"{status!r} for {raw!r}"] if status.startswith(b"5") and int(status) not in _BUSY else []


def _be_slow(scene: Scene, server: Server) -> None:
    """Half a request, an answer that is not read, or byte by byte; meanwhile another client is answered."""
    with ExitStack() as open_ones:
        for _ in range(_CLIENTS):
            connection, raw = open_ones.enter_context(_connect(server)), _request(scene)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(scene.chance.choice((raw, raw * 20, raw[: scene.chance.randrange(len(raw))])))
            if scene.chance.random() < 0.2 and raw.startswith(b"GET"):
                with suppress(TimeoutError):
                    connection.settimeout(0.1)
                    _ = [connection.recv(1) for _ in range(20)]
            scene.outcome.figures["requests"] += 1
        _ask_beside(scene, server, "slow clients")


def _ask_beside(scene: Scene, server: Server, others: str) -> None:
    """One who shows the token, by a connection of his own, is answered."""
    began = time.monotonic()
    # The client's earlier connection would be known already.
    with Client(base_url=server.client.base_url, headers=server.client.headers, timeout=_ANSWER_SECONDS) as client:
        if (answer := client.get("/api/runs")).status_code != 200:
            scene.outcome.faults.append(f"beside {others}: {answer}")
    scene.outcome.figures["waited"] = round(time.monotonic() - began, 3)


def _take_all(scene: Scene, server: Server) -> None:
    """Without a token: more connections than there may be, and on some of them what never ends."""
    with many_files(), ExitStack() as open_ones:
        for _ in range(_STRANGERS):
            open_ones.enter_context(_connect(server))
        for begin, more in scene.chance.sample(list(ENDLESS.values()), 4):
            connection = open_ones.enter_context(_connect(server))
            connection.settimeout(0.2)
            with suppress(ConnectionError, TimeoutError):
                connection.sendall(begin + more * 40)
            scene.outcome.figures["requests"] += 1
        _ask_beside(scene, server, "strangers")


def _ask_much(scene: Scene, server: Server) -> None:
    """Good requests, whose answers a kill cuts off."""
    for _ in range(scene.chance.randint(1, _MOST_REQUESTS)):
        connection = scene.ended.enter_context(_connect(server))
        connection.sendall(_request(scene))
        scene.outcome.figures["requests"] += 1


def _with_clients(scene: Scene, harm: Callable[[Scene, Server], None]) -> None:
    """Servers drive a run while clients do harm, and each is killed; then a coordinator goes on."""

    def blow(running: Running) -> None:
        server = Server(running)
        with closing(server.client):
            harm(scene, server)
        scene.leave_alone(running)

    scene.queue()
    again_and_again(scene, lambda: scene.start("serve", *ADDRESS), blow)
    scene.finish(scene.coordinate())


class Web(Disturbed):
    """A trial is a run of one kind that servers drive, and clients of one kind."""

    name, usual, short = "web", 144, (1,)
    headings = ("clients", "run")
    ways: ClassVar = {
        "asking anything": partial(_with_clients, harm=_ask_anything),
        "slow": partial(_with_clients, harm=_be_slow),
        "strangers": partial(_with_clients, harm=_take_all),
        "killed in mid-answer": partial(_with_clients, harm=_ask_much),
    }
    measures: ClassVar = {**REQUESTS, "blows": Measure("servers killed"), **TWICE, **WAITED}
    text = """\
`hakoiri serve` drives a run, answers requests meanwhile, and is killed (SIGKILL); another server continues. Clients
send spoiled requests, or bytes drawn from a grammar of HTTP. They send half a request, twenty at once whose answers
they do not read, or read byte by byte, or many good ones that a kill cuts off. Without a token, they open a thousand
idle connections, and send heads that never end. Each request must be answered, refused or cut, and none may cause a
mistake of the server (500). Slow clients and strangers must not block others. A killed server may leave no process,
and the run must find the same as an undisturbed run."""
