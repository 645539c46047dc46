"""The server itself: its health, its figures, its description, and who may ask."""

import asyncio
import errno
import gc
import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import uvicorn
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.testclient import TestClient

from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import OUTCOMES
from hakoiri.storage.engine.environment import translated
from hakoiri.web import guard, server
from hakoiri.web.app import make_app
from hakoiri.web.routes.runs import Streams
from hakoiri.web.runs.opened import OpenRuns
from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.commands import PATIENCE_SECONDS
from tests.support.forged import snapshot
from tests.support.web import TOKEN, client_of
from tests.support.web_requests import METHODS, fuzz

REQUESTS = json.loads(Path(__file__).with_name("requests.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def stranger(served: Served) -> TestClient:
    """Somebody without a token."""
    settings = Settings(served.data, token=TOKEN, names=("localhost", "den"))
    return TestClient(make_app(settings), "http://127.0.0.1:8080", follow_redirects=False)


def test_health_and_figures(served: Served) -> None:
    response = served.client.get("/api/health")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "1")
    row = response.json()
    assert (row["ok"], row["coordinator"], row["workers"], row["queue"]) == (False, False, 0, [])
    assert row["runs"] == {"complete": 3}
    figures = served.client.get("/metrics").text
    assert 'hakoiri_runs{status="complete"} 3.0' in figures
    assert 'hakoiri_http_requests_total{method="GET",status="503"}' in figures


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/api/runs?limt=3", "query.limt: there is no such parameter (did you mean limit?)"),
        ("/api/runs/last/layers/1?depth=2&limit=3", "query.depth: there is no such parameter"),
        ("/api/boards/klotski.svg?conf=x&size=3", "query.size: there is no such parameter"),
        ("/api/health?all=1", "query.all: there is no such parameter"),
    ],
)
def test_an_unknown_parameter_is_refused(path: str, said: str, served: Served) -> None:
    response = served.client.get(path)
    assert (response.status_code, response.json()["detail"]) == (422, said)


def test_the_description(served: Served) -> None:
    description = served.client.get("/api/openapi.json").json()
    assert {"/api/runs/{run}/positions/{conf}", "/api/runs/{run}/events", "/metrics"} <= set(description["paths"])
    assert description["info"]["version"] == version("hakoiri")
    assert description["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    assert description["security"] == [{"token": []}]
    statuses = {"401", "403", *(str(each.status) for each in OUTCOMES.values())}
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            told = {status for status, each in route["responses"].items() if "application/problem+json" in str(each)}
            assert told == statuses, (method, path)
    page = served.client.get("/docs")
    assert "//" not in page.text.replace("</", ""), "something is loaded from elsewhere"
    assert served.client.get("/docs/swagger-ui-bundle.js").headers["content-type"].startswith("text/javascript")
    assert served.client.get("/docs/..%2fcore.py").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/", "/api/runs", "/docs", "/metrics", "/api/openapi.json", "/nothing", "/style/%2e%2e/index.html",
     "/style/..%2findex.html", "/style/x/%2e%2e/%2e%2e/js/main.js"],
)  # fmt: skip
def test_nothing_is_shown_to_strangers(stranger: TestClient, path: str) -> None:
    refused = stranger.get(path)
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
    for wrong in ("", "x", TOKEN[:-1], f"{TOKEN}x", "ä"):
        headers = {b"Authorization": f"Bearer {wrong}".encode()}
        assert stranger.get(path, headers=headers).status_code == 401
        assert stranger.get(path, headers={b"Cookie": f"hakoiri-8080={wrong}".encode()}).status_code == 401
    assert stranger.get(f"{path}?token=wrong").status_code == 401


def test_a_browser_without_the_token_is_told_where_it_is(stranger: TestClient) -> None:
    """The page takes the token, too; programs get a problem."""
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    refused = stranger.get("/", headers=browser)
    assert (refused.status_code, refused.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert "This server needs a token" in refused.text
    assert stranger.post("/", headers=browser).headers["content-type"] == "application/problem+json"
    assert 'name="token"' in refused.text
    assert stranger.get(f"/?token={TOKEN}", headers=browser).status_code == 303


def test_the_token_goes_from_the_address_into_a_cookie(stranger: TestClient) -> None:
    moved = stranger.get("/api/runs", params={"limit": "2", "token": TOKEN})
    assert (moved.status_code, moved.headers["location"]) == (303, "/api/runs?limit=2")
    cookie = moved.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    assert TOKEN not in cookie
    with_cookie = {"Cookie": cookie.partition(";")[0]}
    stranger.cookies.clear()
    assert stranger.get("/api/runs", headers=with_cookie).status_code == 200
    assert stranger.get(f"http://127.0.0.1:8080//evil.example/?token={TOKEN}").headers["location"] == "/evil.example/"
    stranger.cookies.clear()
    # No other method takes it from the address.
    assert stranger.post(f"/api/runs?token={TOKEN}", json={"puzzle": "klotski"}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8080"}, 421),
        ({"Host": "localhost.evil.example"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "[::1"}, 421),
        ({"Host": "den:8080"}, 200),
        ({"Host": "[::1]:8080"}, 200),
        ({"Host": "192.168.7.7:8080"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9090"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": ""}, 403),
        ({"Origin": "http://127.0.0.1:8080"}, 200),
    ],
    ids=str,
)
def test_host_and_origin(stranger: TestClient, headers: dict[str, str], status: int) -> None:
    found = stranger.get("/api/puzzles", headers={"Authorization": f"Bearer {TOKEN}"} | headers)
    assert found.status_code == status


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_page_elsewhere_may_ask(stranger: TestClient, site: str) -> None:
    """Neither by a form nor by an image or a link; a link may lead to the page."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Sec-Fetch-Site": site}
    assert stranger.post("/api/runs", json={}, headers=headers).status_code == 403
    for path in ("/api/runs", "/api/runs/last/export.csv", "/api/boards/klotski.svg", "/api/health", "/metrics"):
        assert stranger.get(path, headers=headers).status_code == 403
    assert stranger.get("/docs", headers=headers).status_code == 200
    for own in ("same-origin", "none"):
        assert stranger.get("/api/puzzles", headers=headers | {"Sec-Fetch-Site": own}).status_code == 200
    assert stranger.post("/api/runs", json={}, headers=headers | {"Sec-Fetch-Site": "same-origin"}).status_code == 422


def test_without_a_token_the_same_is_refused(served: Served) -> None:
    """The server then lets everybody of this machine in, so nothing else keeps pages out."""
    client = TestClient(make_app(Settings(served.data)), "http://127.0.0.1:8080")
    assert client.get("/api/runs").status_code == 200
    assert client.get("/api/runs", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.get("/api/runs", headers={"Origin": "http://["}).status_code == 403


def test_a_pass_expires_and_is_taken_back(served: Served, stranger: TestClient) -> None:
    plain = stranger.get("/", params={"token": TOKEN}).headers["set-cookie"]
    forwarded = {"X-Forwarded-Proto": "https"}
    secure = stranger.get("/", params={"token": TOKEN}, headers=forwarded).headers["set-cookie"]
    assert ("Secure" in plain.split("; "), "Secure" in secure.split("; ")) == (False, True)
    assert "Max-Age=604800" in plain.split("; ")
    stranger.cookies.clear()
    mine = {"Cookie": f"a=b; {plain.partition(';')[0]}; c"}
    assert stranger.get("/api/puzzles", headers=mine).status_code == 200
    name, _, value = plain.partition(";")[0].partition("=")
    later = f"{int(value.partition('.')[0], 16) + 9:x}.{value.partition('.')[2]}"
    for forged in (later, value.partition(".")[0], f"{value}0", f".{value}", ""):
        assert stranger.get("/api/puzzles", headers={"Cookie": f"{name}={forged}"}).status_code == 401
    ended = stranger.post("/api/logout", headers=mine)
    assert (ended.status_code, "Max-Age=0" in ended.headers["set-cookie"]) == (200, True)
    assert ended.headers["set-cookie"].startswith(f'{name}="";')
    expired = TestClient(make_app(Settings(served.data, token=TOKEN, pass_seconds=0)), "http://127.0.0.1:8080")
    stale = expired.get("/", params={"token": TOKEN}, follow_redirects=False).headers["set-cookie"].partition(";")[0]
    stranger.cookies.clear()
    assert stranger.get("/api/puzzles", headers={"Cookie": stale}).status_code == 401
    assert stranger.get("/api/puzzles", headers=mine).status_code == 200


def test_a_cookie_of_any_length_is_read_at_once(stranger: TestClient) -> None:
    """The standard library's reader takes 13 s for this one."""
    begun = time.process_time()
    assert stranger.get("/api/runs", headers={"Cookie": 'hakoiri-8080="' + "\\" * 60_000 + '"'}).status_code == 401
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/nothing", "/docs"])
def test_what_every_response_carries(served: Served, path: str) -> None:
    headers = served.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "script-src" not in headers["content-security-policy"]
    assert "default-src 'self'" in headers["content-security-policy"]


def test_nothing_secret_is_logged(served: Served, stranger: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        stranger.get("/api/runs", params={"token": TOKEN})
        served.client.get("/api/runs/a%0Ab?x=1")
    said = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("hakoiri"))
    assert "GET /api/runs 303" in said
    assert "GET /api/runs/a?b 422" in said
    assert TOKEN not in said


@pytest.mark.parametrize(
    "path",
    ["/", "/metrics", "/api/runs", "/api/runs/{}", "/api/runs/{}/layers/9?limit=1", "/api/runs/nope", "/api/x", "/x"],
)
def test_head_has_the_head_of_get_and_no_body(served: Served, path: str) -> None:
    path = path.format(served.small)
    whole, head = served.client.get(path), served.client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    same = {"content-type", "etag", "cache-control"}
    assert [head.headers.get(name) for name in same] == [whole.headers.get(name) for name in same]


def test_the_head_of_a_stream_ends(served: Served) -> None:
    head = served.client.head(f"/api/runs/{served.small}/events")
    assert (head.status_code, head.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert len(served.client.app.state.streams) == 0  # type: ignore[attr-defined]


def test_an_option_that_may_be_repeated_is_given_twice(served: Served) -> None:
    assert served.client.get("/api/boards/tiles.svg?o=rows=2&o=columns=2").status_code == 200
    row = served.client.get(f"/api/runs/{served.small}/layers/9?limit=1&limit=2").json()
    assert row["detail"] == "query.limit: given more than once; send it once"


@pytest.mark.parametrize("path", ["/api/runs", "/api/runs/{}/title", "/api/probe"])
@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_type_is_told_its_type(served: Served, path: str, kind: str | None) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    refused = served.client.post(path.format(served.small), content=b'{"puzzle": "klotski"}', headers=headers)
    text = "body: its type is not JSON; send it as Content-Type: application/json"
    assert (refused.status_code, refused.json()["detail"]) == (422, text)


def test_limits(served: Served) -> None:
    post, get = served.client.post, served.client.get
    long = json.dumps({"puzzle": "x" * (1 << 20)})
    for body in (long, (part.encode() for part in (long[:9], long[9:]))):
        assert post("/api/runs", content=body, headers={"Content-Type": "application/json"}).status_code == 413
    for deep in (b"[" * 500_000, b'{"a": ' * 50_000, b'{"puzzle": "tiles", "sizes": %s}' % (b"[" * 900 + b"]" * 900)):
        refused = post("/api/runs", content=deep, headers={"Content-Type": "application/json"})
        assert refused.status_code in (400, 422), refused.text
    assert get(f"/api/runs?status={'x' * 20_000}").status_code == 414
    for path in ("/api/runs?limit=0", "/api/runs?limit=9999", f"/api/runs/{served.small}/layers/1?limit=1001"):
        assert get(path).status_code == 422
    assert get(f"/api/runs/{'x' * 200}").status_code == 422


def test_a_body_has_its_time_as_a_whole() -> None:
    """However often a byte of it comes."""

    async def receive() -> Any:
        await asyncio.sleep(0.01)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def send(_: Any) -> None:
        pass

    async def drip() -> int:
        sent = guard._Sent({"type": "http", "path": "/"}, send)
        body, taken = guard._Body({"type": "http", "headers": []}, receive, sent, 1.0), 0
        while (message := await body())["type"] == "http.request" and taken < 1_000:
            taken += len(message["body"])
        assert (message["type"], sent.status) == ("http.disconnect", 408)
        return taken

    assert 0 < asyncio.run(drip()) <= 100


@pytest.mark.ci_slow
def test_streams_of_all_kinds_have_one_limit() -> None:
    """Each of three processes has its share."""

    def look() -> tuple[list[str], None]:
        return ["x"], None

    async def held() -> None:
        streams, asked = Streams(3), Request({"type": "http"})
        answers = [streams.answer(asked, look) for _ in range(85)]
        with pytest.raises(HTTPException):
            streams.answer(asked, look)
        assert [text async for text in answers[0].body_iterator][1:] == ["x"]
        streams.answer(asked, look)
        del answers
        gc.collect()
        assert len(streams) == 0

    asyncio.run(held())


def test_what_is_finished_may_be_kept(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    first = served.client.get(f"/api/runs/{served.small}/layers")
    assert "immutable" in first.headers["cache-control"]
    known = {"If-None-Match": first.headers["etag"]}
    # It is known by another question's tag no more than by none.
    other = served.client.get(f"/api/runs/{served.small}/layers/3", headers=known)
    assert (other.status_code, other.json()["depth"]) == (200, 3)
    with monkeypatch.context() as patch:
        patch.setattr(OpenRuns, "asked", None)
        again = served.client.get(f"/api/runs/{served.small}/layers", headers=known)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    # By a prefix it may be another run tomorrow.
    assert "etag" not in served.client.get(f"/api/runs/{served.small[:6]}/layers").headers
    assert "no-store" in served.client.get("/api/runs").headers["cache-control"]


@pytest.mark.parametrize(("path", "status", "kind"), REQUESTS["problems"])
def test_what_goes_wrong_is_a_problem_with_its_details(served: Served, path: str, status: int, kind: str) -> None:
    response = served.client.get(path.format(small=served.small, whole=served.whole, directed=served.directed))
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    row: dict[str, Any] = response.json()
    assert row["type"] == (f"urn:hakoiri:{kind}" if kind else "about:blank")
    assert (row["status"], bool(row["title"]), bool(row["detail"])) == (status, True, True)
    assert all({"do", "what", "value", "text"} <= hint.keys() for hint in row["hints"])


def test_a_mistake_of_ours_is_a_problem_too(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenRuns, "directories", None)
    response = served.client.get("/api/runs")
    assert (response.status_code, response.headers["content-type"]) == (500, "application/problem+json")
    assert "nosniff" in response.headers["x-content-type-options"]
    assert "Traceback" not in response.text


def test_without_its_packages_it_says_what_to_install(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("uvicorn", "hakoiri.web"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    refused = served.command.here("serve", check=False)
    assert refused.error == "hakoiri: uvicorn is not installed; give: pip install 'hakoiri[web]'"


def test_an_answer_that_takes_too_long_is_given_up(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that is at it goes on, here until the answer is there."""
    seen, messages = threading.Event(), list[Any]()

    def wait(_: OpenRuns) -> list[Path]:
        assert seen.wait(PATIENCE_SECONDS)
        return []

    monkeypatch.setattr(OpenRuns, "directories", wait)

    async def send(message: Any) -> None:
        messages.append(message)
        if message["type"] == "http.response.body":
            seen.set()

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def answered() -> None:
        await make_app(Settings(served.data, token=TOKEN, answer_seconds=0.01))(scope, receive, send)

    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    path = {"path": "/api/runs", "raw_path": b"/api/runs", "query_string": b"", "root_path": ""}
    scope = {"type": "http", "method": "GET", "headers": headers, "scheme": "http", "http_version": "1.1"} | path
    asyncio.run(answered())
    assert [message["type"] for message in messages] == ["http.response.start", "http.response.body"]
    assert messages[0]["status"] == 503


# Requests of any kind: none finds a status of 500, none kills the server, takes long or more than its memory

#: The memory of the server that they are put to, in bytes.
LITTLE = 100 << 20


@pytest.mark.ci_slow
def test_some_questions_of_any_kind(served: Served) -> None:
    """They change nothing."""
    names = [served.small, served.whole, served.directed]
    before = {*served.data.iterdir()}, snapshot(served.data.parent, served.data)
    with client_of(Settings(served.data, token=TOKEN, memory=LITTLE)) as client:
        assert fuzz(client, names, 100, ("get", "head"), LITTLE).total() == 100
    assert ({*served.data.iterdir()}, snapshot(served.data.parent, served.data)) == before


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ten_thousand_requests_of_any_kind(served: Served, tmp_path: Path) -> None:
    # They may change the runs.
    data = Path(shutil.copytree(served.data, tmp_path / "data"))
    before = snapshot(tmp_path, data), snapshot(served.data)
    with client_of(Settings(data, token=TOKEN, memory=LITTLE)) as client:
        names = [served.small, served.whole, served.directed]
        assert fuzz(client, names, 10_000, METHODS, LITTLE).total() == 10_000
        assert client.get("/api/runs").status_code == 200
    assert (snapshot(tmp_path, data), snapshot(served.data)) == before


def test_the_first_two_passes_of_a_request_are_looked_at(stranger: TestClient) -> None:
    """Each costs a signature, and a request has room for thousands."""
    mine = stranger.get("/", params={"token": TOKEN}).headers["set-cookie"].partition(";")[0]
    stranger.cookies.clear()
    for others, code in ((0, 200), (1, 200), (2, 401), (4_000, 401)):
        cookie = f"{'hakoiri-8080=1; ' * others}{mine}"
        assert stranger.get("/api/puzzles", headers={"Cookie": cookie}).status_code == code


def test_a_signal_while_the_coordinator_begins_leaves_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Or the process would wait for it for ever."""
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt), server._driving(Settings(tmp_path), ["--help"], print, server._Stopping()):
        raise AssertionError("it has not begun")
    assert "coordinator" not in {thread.name for thread in threading.enumerate()}


def test_a_coordinator_that_cannot_be_started_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The system has no memory for it at the moment when it has ended the one before for want of memory."""
    notes, failures = queue.SimpleQueue[str](), [OSError("no memory")]

    def started(*_: Any, **__: Any) -> Any:
        if failures:
            raise failures.pop()
        return subprocess.Popen([sys.executable, "-c", ""])

    monkeypatch.setattr(server, "start_child", started)
    monkeypatch.setattr(server, "_RESTART_SECONDS", 0.01)
    with server._driving(Settings(tmp_path), ["--help"], notes.put, server._Stopping()):
        told = [notes.get(timeout=PATIENCE_SECONDS) for _ in range(2)]
    assert [each.partition(";")[0] for each in told] == [
        "the coordinator cannot be started (no memory)",
        "the coordinator ended with code 0",
    ]


def test_a_signal_may_come_while_another_one_is_handled() -> None:
    """A handler that took a lock would wait for itself."""
    stopping = server._Stopping()
    handler = server._Server(uvicorn.Config("nothing:here"), stopping).handle_exit
    seen: list[str] = []

    def called(frame: FrameType, event: str, what: object) -> None:
        seen.append(getattr(what, "__name__", frame.f_code.co_name))

    sys.setprofile(called)
    try:
        handler(signal.SIGTERM, None)
    finally:
        sys.setprofile(None)
    assert stopping.is_set
    assert not {"__enter__", "acquire", "notify_all"} & set(seen)


def test_a_run_that_could_not_be_opened_once_is_asked_again(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many files were open: that says nothing about the run."""
    runs, failures = OpenRuns(served.data, Resources()), [OSError(errno.EMFILE, "too many open files")]
    asked = OpenRuns._admitted

    def admitted(self: OpenRuns, directory: Path) -> Any:
        with translated(directory):
            if failures:
                raise failures.pop()
        return asked(self, directory)

    monkeypatch.setattr(OpenRuns, "_admitted", admitted)
    assert runs.abilities(served.data / served.small) == []
    assert "hardest" in (runs.abilities(served.data / served.small) or [])
