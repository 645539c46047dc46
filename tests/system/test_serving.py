"""A server as a real process: runs driven beside it, kills, more processes, refusals."""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import psutil
import pytest

from tests.support.commands import HAKOIRI, PATIENCE_SECONDS, Hakoiri, wait_until
from tests.support.web import ADDRESS, ENVIRONMENT, TOKEN, Server, family, gone
from tests.support.web_requests import CHUNKED, ENDLESS, HEAD, MUCH, many_files


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
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_signal_ends_it_and_all_that_it_started(serve: Callable[..., Server], processes: str, number: int) -> None:
    server = serve("--workers", processes)
    started = family(server)
    server.process.send(number)
    assert "Traceback" not in server.process.finish().stderr
    wait_until(lambda: gone(started), what=f"all of them to leave: {started}")


@pytest.mark.slow
def test_a_server_that_nohup_started_outlives_its_terminal(hakoiri: Hakoiri) -> None:
    ignored = partial(signal.signal, signal.SIGHUP, signal.SIG_IGN)
    server = Server(hakoiri.start("serve", *ADDRESS, env=ENVIRONMENT, before=ignored))
    with closing(server.client) as client:
        server.process.send(signal.SIGHUP)
        assert client.get("/api/runs").status_code == 200
        server.process.send(signal.SIGTERM)
    assert "Traceback" not in server.process.finish().stderr


@pytest.mark.slow
@pytest.mark.parametrize("processes", ["1", "2"])
def test_open_streams_and_questions_do_not_hold_up_its_end(
    processes: str, hakoiri: Hakoiri, serve: Callable[..., Server]
) -> None:
    """It waited 3 s for streams, then 5 s for each question, then for the coordinator."""
    run = hakoiri.json("run", "klotski")["run"]
    server = serve("--workers", processes)
    with server.client.stream("GET", f"/api/runs/{run}/events") as stream:
        assert next(stream.iter_text()).startswith("retry:")
        assert server.client.post(f"/api/runs/{run}/verify?full=true").status_code == 202
        began = time.monotonic()
        server.process.send(signal.SIGINT)
        ended = server.process.finish()
    # A second on an idle machine.
    assert time.monotonic() - began < 3.0
    assert "Traceback" not in ended.stderr and " error " not in ended.stderr, ended.stderr


@pytest.mark.slow
def test_a_signal_before_it_answers_ends_it(hakoiri: Hakoiri) -> None:
    process = hakoiri.start("serve", *ADDRESS, env=ENVIRONMENT)
    process.wait_for("http://")
    process.send(signal.SIGINT)
    assert "Traceback" not in process.finish().stderr


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


# A client without a token attacks a server, a real process: it is refused, and others are answered


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
