"""Each curl line of docs/reference/http.md works, and every route has one."""

import io
import re
import shlex
import threading
import time
import urllib.request
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from hakoiri.coordinator.runs.service import serve
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.commands import ROOT
from tests.support.web import TOKEN, client_of

TEXT = (ROOT / "docs" / "reference" / "http.md").read_text(encoding="utf-8")
HERE = "http://127.0.0.1:8080"
#: Begin processes of their own, never end, or compute for long.
_OF_THEIR_OWN = ("/events", "/verify", "/export.", "/film.gif", "/map", "/questions/", "?all=true")


def lines() -> Iterator[str]:
    """The curl lines of the text."""
    for block in re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL):
        yield from (line for line in block.splitlines() if line.startswith("curl "))


def request_of(line: str) -> httpx2.Request:
    """Return the request that curl would send."""
    words = shlex.split(line.replace("$HERE", HERE).replace("$AUTH", f"Authorization: Bearer {TOKEN}"))[1:]
    method, url, headers, data = "", "", {}, None
    while words:
        word = words.pop(0)
        if word == "-X":
            method = words.pop(0)
        elif word == "-H":
            name, _, headers_value = words.pop(0).partition(": ")
            headers[name] = headers_value
        elif word == "-d":
            data = words.pop(0)
        elif word == "--max-time":
            words.pop(0)
        elif not word.startswith("-"):
            url = word
    return httpx2.Request(method or ("GET" if data is None else "POST"), url, headers=headers, content=data)


@pytest.mark.ci_slow
def test_every_line_works(tmp_path: Path) -> None:
    asked = 0
    with client_of(Settings(tmp_path, token=TOKEN)) as client:
        for line in lines():
            request = request_of(line)
            if any(part in str(request.url) for part in _OF_THEIR_OWN):
                continue
            response = client.send(request)
            health = request.url.path == "/api/health"
            assert response.status_code < 400 or health, (line, response.text)
            asked += 1
            if response.status_code == 202:
                client.app.state.runs.close()  # type: ignore[attr-defined]
                if "towers" not in line:
                    serve(
                        tmp_path, Resources(workers=1), None, Control(), lambda _: SilentObserver(), print, burst=True
                    )
    assert asked > 30


def test_the_client_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```py\n(.*?)```", TEXT, re.DOTALL)
    assert len([line for line in block.splitlines() if line]) <= 12
    polled, here, sleep = 0, threading.current_thread(), time.sleep
    with client_of(Settings(tmp_path, token=TOKEN)) as client:

        def urlopen(request: urllib.request.Request) -> io.BytesIO:
            headers, data = dict(request.header_items()), request.data
            response = client.request(request.get_method(), request.selector, headers=headers, content=data)  # type: ignore[arg-type]
            assert response.status_code < 300, response.text
            return io.BytesIO(response.content)

        def drive(seconds: float) -> None:
            nonlocal polled
            if threading.current_thread() is not here:
                # One that an earlier test has left, such as that which watches a file.
                sleep(seconds)
                return
            polled += 1
            client.app.state.runs.close()  # type: ignore[attr-defined]
            serve(tmp_path, Resources(workers=1), None, Control(), lambda _: SilentObserver(), print, burst=True)

        monkeypatch.setenv("HAKOIRI_TOKEN", TOKEN)
        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        monkeypatch.setattr(time, "sleep", drive)
        exec(compile(block, "http.md", "exec"), {})  # noqa: S102  (our own page)
    assert (polled, len(literal_eval(capsys.readouterr().out.splitlines()[-1]))) == (1, 5)


def test_every_route_has_a_line(served: Served) -> None:
    asked = {(request.method.lower(), request.url.path) for request in map(request_of, lines())}
    missing = []
    for path, methods in served.client.get("/api/openapi.json").json()["paths"].items():
        expression = re.compile(re.sub(r"\\\{conf\\\}", ".+", re.sub(r"\\\{(?!conf)\w+\\\}", "[^/]+", re.escape(path))))
        # POST computes what GET answers.
        both = {*methods} == {"get", "post"} and path != "/api/runs"
        for method in methods:
            if not any((both or method == one) and expression.fullmatch(there) for one, there in asked):
                missing.append(f"{method} {path}")
    assert missing == []
