"""Puzzles of the user's own: only those that the server was started with are run, whoever names them."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from hakoiri.coordinator.runs.service import serve
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.user import files
from hakoiri.web.settings import Settings
from tests.support.web import TOKEN, client_of

SOURCE = '''
from hakoiri import U32, Puzzle

with open({mark!r}, "a") as mark:
    mark.write("x")


class Ring(Puzzle):
    """A ring of seven places."""

    name, layout, undirected, most_successors = "ring", U32, True, 2

    def usual_start(self):
        return 0

    def successors(self, key):
        return [(key + 1) % 7, (key - 1) % 7]
'''


@pytest.fixture
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a puzzle, which leaves a mark whenever it is executed; nobody has loaded it."""
    path = tmp_path / "ring.py"
    path.write_text(SOURCE.format(mark=str(tmp_path / "mark")), encoding="utf-8")
    forget(monkeypatch)
    return path


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has loaded nothing."""
    monkeypatch.setattr(files, "_files", {})
    monkeypatch.setattr(files, "_puzzles", {})


def executed(ring: Path) -> int:
    mark = ring.with_name("mark")
    return len(mark.read_text(encoding="utf-8")) if mark.exists() else 0


def names(client: TestClient) -> set[str]:
    return {row["name"] for row in client.get("/api/puzzles").json()["puzzles"]}


def test_only_what_the_server_was_started_with(ring: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, wanted = ring.parent / "data", {"puzzle": "ring.py:Ring"}
    with client_of(Settings(data, token=TOKEN)) as client:
        for name in (str(ring), f"{ring}:Ring", "ring.py:Ring", "../ring.py:Ring"):
            assert client.post("/api/runs", json={"puzzle": name}).status_code == 422
            assert client.get(f"/api/boards/{name}.svg").status_code in (404, 422)
        assert "ring.py:Ring" not in names(client)
    assert executed(ring) == 0

    with client_of(Settings(data, token=TOKEN, puzzles=(f"{ring}:Ring",))) as client:
        assert executed(ring) == 1
        assert "ring.py:Ring" in names(client)
        where = client.post("/api/runs", json=wanted).headers["location"]
        client.app.state.runs.close()  # type: ignore[attr-defined]
        serve(data, Resources(workers=1), None, Control(), SilentObserver, print, burst=True)
        assert client.get(f"{where}/layers").json()["layers"][3]["size"] == 2
        assert client.get("/api/boards/ring.py:Ring.svg?conf=0x3").status_code == 200

    # A run of it in the data directory does not have it executed either.
    forget(monkeypatch)
    with client_of(Settings(data, token=TOKEN)) as client:
        refused = client.get(f"{where}/layers")
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:hakoiri:unanswerable")
        assert client.get(where).json()["status"] == "complete"
    assert executed(ring) == 2  # Once here, once by the process that drove the run.
