"""The application on the web, asked in this process, and small runs to ask it about."""

from pathlib import Path

from starlette.testclient import TestClient

from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.web.app import make_app
from hakoiri.web.settings import Settings
from tests.support.runs import driven


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
