"""A server as a real process: runs driven beside it, kills, more processes, refusals."""

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, Hakoiri, wait_until
from tests.support.web import ADDRESS, ENVIRONMENT, TOKEN, Server, family, gone


@pytest.fixture
def serve(hakoiri: Hakoiri) -> Iterator[Callable[..., Server]]:
    """Starts servers."""
    with ExitStack() as clients:

        def start(*options: str) -> Server:
            # One that starts others like itself is no fork of a test.
            executable = HAKOIRI if "--workers" in options else None
            server = Server(hakoiri.start("serve", *ADDRESS, *options, env=ENVIRONMENT, executable=executable))
            clients.callback(server.client.close)
            return server

        yield start


def test_a_run_from_the_request_to_its_end_and_a_kill(serve: Callable[..., Server]) -> None:
    """Queued, driven, watched over two streams; killed, and nobody is left."""
    server = serve()
    where = server.client.post("/api/runs", json={"puzzle": "klotski"}).headers["location"]
    layers: list[int] = []
    with closing(server.events(where)) as events:
        while len(layers) < 60:
            kind, last, row = next(events)
            layers += [row["depth"]] if kind == "layer" else []
    with closing(server.events(where, last)) as events:
        while row.get("status") != "complete" or len(layers) < 168:
            kind, last, row = next(events)
            layers += [row["depth"]] if kind == "layer" else []
    assert layers == list(range(168))
    assert server.client.get(f"{where}/distance?to=goal").json()["length"] == 116
    assert len(family(server)) == 2
    killed(server)


def killed(server: Server) -> None:
    """SIGKILL to the server alone; all that it has started leave by themselves."""
    processes = family(server)
    server.process.kill()
    wait_until(lambda: gone(processes), what=f"all of them to leave: {processes}")


@pytest.mark.slow
def test_a_kill_in_the_midst_of_a_run(hakoiri: Hakoiri, serve: Callable[..., Server]) -> None:
    """The next server goes on with it, from its last commit."""
    server = serve()
    wanted = {"puzzle": "pancakes", "options": {"n": "11"}}
    where = server.client.post("/api/runs", json=wanted).headers["location"]
    wait_until(lambda: (server.client.get(where).json()["depth"] or 0) > 2, what="a run under way")
    killed(server)
    before = hakoiri.ask("status", where.rpartition("/")[2])
    assert before["status"] == "interrupted" and 0 < before["configurations"] < 39_916_800
    server = serve()
    wait_until(lambda: server.client.get(where).json()["status"] == "complete", what="its end")
    found = server.client.get(where).json()
    assert found["configurations"] == 39_916_800
    assert len({layer["session"] for layer in server.client.get(f"{where}/layers").json()["layers"]}) == 2


@pytest.mark.slow
def test_a_kill_in_the_midst_of_questions_a_file_and_streams(hakoiri: Hakoiri, serve: Callable[..., Server]) -> None:
    """Nobody works on, nothing stays locked; what is asked again is answered, and a file goes on where it was cut."""
    run = hakoiri.json("run", "pancakes", "-o", "n=10")["run"]
    server = serve()
    where = f"/api/runs/{run}"
    asked = server.client.post(f"{where}/path?from=0x5&to=farthest")
    exported = server.client.post(f"{where}/export.csv")
    assert (asked.status_code, exported.status_code) == (202, 202)
    with closing(server.events(where)) as events:
        _, last, _ = next(events)
        assert len(family(server)) == 4, "the server, its coordinator and two who answer"
        killed(server)
        with pytest.raises(httpx2.TransportError):
            tuple(events)
    server = serve("--no-drive")
    for question in (asked, exported):
        row = server.client.get(question.headers["location"]).json()
        assert (row["status"], row["reason"]) == ("failed", "it was stopped")
    again = server.client.post(f"{where}/path?from=0x5&to=farthest")
    assert (again.status_code, again.headers["location"]) == (202, asked.headers["location"])
    wait_until(lambda: server.client.get(again.headers["location"]).json()["status"] == "answered", what="an answer")
    wait_until(lambda: server.client.post(f"{where}/export.csv").status_code == 303, 600, "the file")
    with closing(server.events(where, last)) as events:
        assert next(events)[0] in ("layer", "state")
    with server.client.stream("GET", f"{where}/export.csv") as stream:
        begun = next(stream.iter_raw())
        killed(server)
    server = serve("--no-drive")
    whole = next(hakoiri.data.glob(".questions/*/*/export.csv")).read_bytes()
    rest = server.client.get(f"{where}/export.csv", headers={"Range": f"bytes={len(begun)}-"})
    assert (rest.status_code, begun + rest.content == whole) == (206, True)
    assert server.client.delete(where).json()["runs"] == [run]
    assert not [*hakoiri.data.glob(".questions/*")]


@pytest.mark.slow
def test_a_kill_in_the_midst_of_a_request_with_a_key(hakoiri: Hakoiri, serve: Callable[..., Server]) -> None:
    """Killed as soon as something of it is on disk, the request that comes again makes no second run."""
    wanted: dict[str, Any] = {"json": {"puzzle": "hanoi"}, "headers": {"Idempotency-Key": "one"}}
    server = serve("--no-drive")

    def ask() -> None:
        with suppress(httpx2.TransportError):
            server.client.post("/api/runs", **wanted)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_until(lambda: [*hakoiri.data.glob(".requests/*")], what="a trace of the request")
    killed(server)
    asking.join()
    server = serve()
    where = {server.client.post("/api/runs", **wanted).headers["location"] for _ in range(3)}
    assert [f"/api/runs/{row['run']}" for row in server.client.get("/api/runs").json()["runs"]] == [*where]
    wait_until(lambda: server.client.get(*where).json()["status"] == "complete", what="its end")


@pytest.mark.slow
def test_several_processes_answer_and_end_together(serve: Callable[..., Server]) -> None:
    server = serve("--workers", "2")
    key = {"Idempotency-Key": "one"}
    wanted = {"puzzle": "tiles", "options": {"rows": "2", "columns": "2"}}
    runs = {server.client.post("/api/runs", json=wanted, headers=key).json()["run"] for _ in range(8)}
    assert len(runs) == 1
    where = f"/api/runs/{runs.pop()}"
    wait_until(lambda: server.client.get(where).json()["status"] == "complete", what="its end")
    # Whoever began it, both know how a question stands.
    question = server.client.post(f"{where}/verify").headers["location"]
    for _ in range(8):
        assert server.client.get(question).json()["status"] in ("running", "answered")
    wait_until(lambda: server.client.get(question).json()["status"] == "answered", what="the proof")
    assert server.client.get(question).json()["answer"]["ok"]
    killed(server)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_all_that_it_started(serve: Callable[..., Server], number: int) -> None:
    server = serve()
    processes = family(server)
    server.process.send(number)
    assert "Traceback" not in server.process.finish().stderr
    assert gone(processes)


@pytest.mark.slow
def test_a_coordinator_that_dies_is_replaced(serve: Callable[..., Server]) -> None:
    server = serve()
    (coordinator,) = server.process.children()
    coordinator.kill()
    server.process.wait_for("another one starts")
    where = server.client.post("/api/runs", json={"puzzle": "hanoi"}).headers["location"]
    wait_until(lambda: server.client.get(where).json()["status"] == "complete", what="its end")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_question_that_is_stopped_keeps_what_it_proved(hakoiri: Hakoiri, serve: Callable[..., Server]) -> None:
    run = hakoiri.json("run", "pancakes", "-o", "n=10")["run"]
    server = serve("--no-drive")
    asked = server.client.post(f"/api/runs/{run}/path?from=0x5&to=farthest")
    assert asked.status_code == 202
    question = asked.headers["location"]
    server.client.delete(question)
    wait_until(lambda: server.client.get(question).json()["status"] != "running", what="it to stop")
    assert server.client.get(question).json()["status"] in ("failed", "answered")
    exported = f"/api/runs/{run}/export.npz"
    wait_until(lambda: server.client.post(exported).status_code == 303, 600, "the file")
    part = server.client.get(exported, headers={"Range": "bytes=0-3"})
    assert (part.status_code, part.content) == (206, b"PK\x03\x04")


@pytest.mark.slow
def test_who_is_slow_holds_nobody_up(serve: Callable[..., Server]) -> None:
    """Requests that never come to their end, answers that nobody takes in or byte by byte, connections left idle."""
    server = serve("--no-drive")
    port = server.client.base_url.port or 0
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    begun = {
        "headers": "GET /api/puzzles HTTP/1.1\r\nHost: 127.0",
        "body": f"POST /api/runs HTTP/1.1\r\n{head}Content-Length: 500\r\nContent-Type: application/json\r\n\r\n{{",
        "nothing": "",
    }
    with ExitStack() as open_ones:
        slow = {what: open_ones.enter_context(socket.create_connection(("127.0.0.1", port))) for what in begun}
        for what, connection in slow.items():
            connection.sendall(begun[what].encode())
            connection.settimeout(PATIENCE_SECONDS)
        for _ in range(200):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
        for _ in range(150):
            # Asks again and again, and takes nothing in.
            greedy = open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
            greedy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            greedy.sendall(f"GET /api/openapi.json HTTP/1.1\r\n{head}\r\n".encode() * 20)
        lazy = open_ones.enter_context(socket.create_connection(("127.0.0.1", port)))
        lazy.sendall(f"GET /api/puzzles HTTP/1.1\r\n{head}\r\n".encode())
        assert b"".join(lazy.recv(1) for _ in range(500)).startswith(b"HTTP/1.1 200")
        assert server.client.get("/api/puzzles").status_code == 200
        assert slow["headers"].recv(100) == b"" == slow["nothing"].recv(100)
        assert b"408" in slow["body"].recv(1000)
    assert server.client.get("/api/puzzles").status_code == 200


@pytest.mark.slow
def test_streams_are_counted_and_dropped_ones_forgotten(hakoiri: Hakoiri, serve: Callable[..., Server]) -> None:
    run = hakoiri.json("run", "tiles", "-o", "rows=2", "-o", "columns=2")["run"]
    server = serve("--no-drive")
    head = f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"

    def streams() -> int:
        figures = server.client.get("/metrics").text
        return int(float(figures.partition("\nhakoiri_event_streams ")[2].split("\n")[0]))

    with ExitStack() as open_ones:
        for _ in range(257):
            stream = open_ones.enter_context(socket.create_connection(("127.0.0.1", server.client.base_url.port or 0)))
            stream.sendall(head.encode())
        wait_until(lambda: streams() == 256, what="256 streams")
        assert server.client.get(f"/api/runs/{run}/events").status_code == 503
    wait_until(lambda: streams() == 0, what="none to be left")


@pytest.mark.parametrize(
    ("options", "env", "said"),
    [
        (("--host", "192.0.2.1"), {}, "is open to other machines"),
        (("--host", "192.0.2.1", "--no-token"), {"HAKOIRI_TOKEN": TOKEN}, "is open to other machines"),
        (("--host", "nowhere.invalid", "--no-token"), {}, "is open to other machines"),
        ((), {"HAKOIRI_TOKEN": "short"}, "the token has fewer than 16 characters"),
        (("--no-token", "--token-file", "x"), {}, "cannot be combined"),
        (("--token-file", "/nowhere/x"), {}, "/nowhere/x"),
        (("--puzzle", "nothing.py:X"), {}, "there is no file nothing.py"),
    ],
)  # fmt: skip
def test_a_start_that_is_refused(
    hakoiri: Hakoiri, options: tuple[str, ...], env: dict[str, str], said: str, tmp_path: Path
) -> None:
    refused = hakoiri.here("serve", "--port", "0", *options, env=env, check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error
