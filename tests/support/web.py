"""The web application in this process, and servers on the web as real processes with a client of each."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import psutil
from starlette.testclient import TestClient

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.web.app import make_app
from hakoiri.web.settings import Settings
from tests.support.commands import PATIENCE_SECONDS, Running, wait_until
from tests.support.runs import driven

TOKEN = "a-token-that-only-tests-have"  # noqa: S105
#: What a server is started with.
ADDRESS, ENVIRONMENT = ("--port", "0"), {"HAKOIRI_TOKEN": TOKEN}


class Server:
    """A command ``serve``, answering when the constructor returns, and a client that knows its token."""

    def __init__(self, process: Running) -> None:
        self.process = process
        process.wait_for("http://")
        address = next(line for line in self.process.stdout.splitlines() if line.startswith("http://"))
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self.client = httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE_SECONDS)
        wait_until(self._answers, what="an answer")

    def _answers(self) -> bool:
        try:
            return self.client.get("/api/puzzles").status_code == 200
        except httpx2.TransportError:
            return False

    def events(self, where: str, last: str = "") -> Generator[tuple[str, str, dict[str, Any]]]:
        """Kind, id and content of the events of a run, as they come."""
        with self.client.stream("GET", f"{where}/events", headers={"Last-Event-ID": last}) as stream:
            event: dict[str, str] = {}
            for line in stream.iter_lines():
                name, _, value = line.partition(": ")
                if line and not line.startswith(":"):
                    event[name] = value
                elif "data" in event:
                    yield event["event"], event["id"], json.loads(event["data"])
                    event = {}


def family(server: Server) -> list[psutil.Process]:
    """All processes of a server."""
    return [psutil.Process(server.process.pid), *server.process.children()]


def gone(processes: list[psutil.Process]) -> bool:
    return not [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def client_of(settings: Settings) -> TestClient:
    """Asks with the token, as from the machine itself."""
    headers = {"Authorization": f"Bearer {settings.token}"}
    return TestClient(make_app(settings), "http://127.0.0.1:8080", headers=headers, raise_server_exceptions=False)


def small_runs(data: Path) -> list[str]:
    """The names of a search that has a goal, of a census, and of a search whose moves lead one way; made here."""
    tiles = PuzzleSpec("tiles", {"rows": "2", "columns": "3"})
    return [
        driven(data, tiles, "explore", {}, {}).name,
        driven(data, PuzzleSpec("sliding", {}, "AABB/C..D"), "census", {}, {}).name,
        driven(data, PuzzleSpec("gap", {"ranks": "4"}), "explore", {}, {}).name,
    ]
