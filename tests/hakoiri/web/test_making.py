"""Runs made, driven, stopped and removed over HTTP."""

import fcntl
import json
import signal
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.testclient import TestClient

from hakoiri.api import open_run
from hakoiri.coordinator.goals.job import KIND as HARDEST
from hakoiri.coordinator.graphs.bounding import KIND as ECCENTRICITIES
from hakoiri.coordinator.runs import catalogue
from hakoiri.coordinator.runs.kinds import KINDS
from hakoiri.coordinator.runs.service import serve
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles.user import files
from hakoiri.rows import positions
from hakoiri.rows.positions import position_row, table_of
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import HOLDER_FILE, questions_folder
from hakoiri.web.routes import runs as routes
from hakoiri.web.settings import Settings
from tests.support.commands import PATIENCE_SECONDS, ROOT
from tests.support.web import TOKEN, client_of

TILES: dict[str, object] = {"puzzle": "tiles", "options": {"rows": "2", "columns": "2"}}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def client(data: Path) -> Iterator[TestClient]:
    with client_of(Settings(data, token=TOKEN)) as client:
        yield client


def drive(data: Path, client: TestClient) -> None:
    """Do the work of the coordinator beside the server, in this process."""
    client.app.state.runs.close()  # type: ignore[attr-defined]
    serve(data, Resources(workers=1), None, Control(), lambda _: SilentObserver(), print, burst=True)


#: What is wanted, and of the run that comes of it; and what is refused, with words.
REQUESTS = json.loads(Path(__file__).with_name("requests.json").read_text(encoding="utf-8"))
KINDS_WANTED = REQUESTS["runs of every kind"]
DEFINITIONS = ROOT / "examples" / "definitions"


def test_every_kind_is_asked_for() -> None:
    """Goal distances below."""
    assert {found["kind"] for _, found in KINDS_WANTED} == KINDS.keys() - {HARDEST, ECCENTRICITIES}


@pytest.mark.parametrize(
    ("wanted", "found"), KINDS_WANTED, ids=lambda row: row.get("kind", "") if "puzzle" in row else ""
)
def test_a_run_of_every_kind(
    client: TestClient, data: Path, wanted: dict[str, object], found: dict[str, object]
) -> None:
    response = client.post("/api/runs", json=wanted)
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"/api/runs/{response.json()['run']}"
    assert response.json()["status"] == "queued"
    drive(data, client)
    row = client.get(response.headers["location"]).json()
    assert row["status"] == "complete", row
    assert found.items() <= row.items()


def puzzles_of_each_sort() -> dict[str, dict[str, Any]]:
    """Requests by the puzzle's name; with the text of a definition if it is one."""
    found = {}
    for wanted in REQUESTS["puzzles of each sort"]:
        file = DEFINITIONS / wanted["puzzle"]
        text = {"definition": file.read_text(encoding="utf-8")} if file.exists() else {}
        found[wanted["puzzle"]] = wanted | text
    return found


def wanted_of(client: TestClient, data: Path, kind: str) -> dict[str, dict[str, Any]]:
    """Return a request for a run of a kind of each puzzle; of kinds that belong to a run or have starts, make a run."""
    puzzles, own = puzzles_of_each_sort(), REQUESTS["fields of each kind"].get(kind, {}) | {"kind": kind}
    if kind not in (HARDEST, ECCENTRICITIES, "starts"):
        return {name: puzzle | own for name, puzzle in puzzles.items()}
    # Those whose space is large stop early.
    few = {name: {"layers": 2} for name in ("nakuron", "pyraminx.json")}
    made = {name: client.post("/api/runs", json=puzzle | few.get(name, {})).json() for name, puzzle in puzzles.items()}
    drive(data, client)
    if kind == "starts":
        return {name: puzzles[name] | {"starts": row["start"] or "", "start": None} | own for name, row in made.items()}
    return {name: own | {"base": row["run"]} for name, row in made.items()}


@pytest.mark.ci_slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_run_is_driven_to_its_end_or_refused_whatever_the_puzzle(
    kind: str, client: TestClient, data: Path
) -> None:
    refused, made = {}, list[str]()
    for name, wanted in wanted_of(client, data, kind).items():
        response = client.post("/api/runs", json=wanted)
        row = response.json()
        if response.status_code == 202:
            made.append(row["run"])
            continue
        assert response.status_code in (409, 422), response.text
        assert "\n" not in row["detail"]
        refused[name] = row["detail"]
    # A kind that is not listed may refuse with any line.
    expected = REQUESTS["puzzles refused by each kind"].get(kind, dict.fromkeys(refused, ""))
    assert refused.keys() == expected.keys()
    assert [text for name, text in refused.items() if expected[name] not in text] == []
    drive(data, client)
    rows = client.get("/api/runs").json()["runs"]
    assert {row["run"] for row in rows if row["kind"] == kind} >= {*made}
    assert [row for row in rows if row["status"] != "complete"] == []


@pytest.mark.parametrize(("wanted", "said"), REQUESTS["bad wishes"], ids=lambda value: str(value)[:40])
def test_a_bad_wish_is_refused_and_leaves_nothing_behind(
    client: TestClient, data: Path, wanted: dict[str, object], said: str
) -> None:
    response = client.post("/api/runs", json=wanted)
    assert response.status_code in (404, 409, 422), response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert said in response.json()["detail"]
    if said.startswith("was not started"):
        assert "hakoiri serve --puzzle PATH/" in response.json()["hints"][0]["text"]
    assert not data.exists()


def test_an_unknown_kind_is_a_wrong_request(client: TestClient) -> None:
    response = client.post("/api/runs", json={"puzzle": "klotski", "kind": "foo"})
    assert (response.status_code, response.json()["type"]) == (422, "urn:hakoiri:puzzle")


def test_the_same_key_gives_the_same_run_also_after_a_restart(client: TestClient, data: Path) -> None:
    key = {"Idempotency-Key": "order 1"}
    first = client.post("/api/runs", json=TILES, headers=key).json()["run"]
    drive(data, client)
    with client_of(Settings(data, token=TOKEN)) as later:
        again = later.post("/api/runs", json=TILES, headers=key)
        assert (again.status_code, again.json()["run"], again.json()["status"]) == (202, first, "complete")
        assert later.post("/api/runs", json=TILES | {"merge_mirrors": True}, headers=key).status_code == 422
        assert later.post("/api/runs", json=TILES, headers={"Idempotency-Key": "order 2"}).json()["run"] != first
        assert len(later.get("/api/runs").json()["runs"]) == 2


def test_who_drives_a_cancelled_run_may_take_its_time(
    client: TestClient, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A leg of a hunt cannot be broken off."""
    monkeypatch.setattr(catalogue, "time", SimpleNamespace(monotonic=count(step=6).__next__, sleep=lambda _: None))
    where = client.post("/api/runs", json=TILES).headers["location"]
    run = where.rpartition("/")[2]
    books = client.app.state.runs.books  # type: ignore[attr-defined]
    with RunLock(data / run):
        with books(data / run, writable=True) as ledger:
            ledger.commit(ledger.state.become("running"))
        told = client.post(f"{where}/cancel")
        assert (told.status_code, told.json()) == (202, {"run": run, "status": "running"})
        with books(data / run) as ledger:
            assert ledger.cancel_requested()
    assert client.post(f"{where}/cancel").json() == {"run": run, "status": "cancelled"}


def test_the_life_of_a_run(client: TestClient, data: Path) -> None:
    where = client.post("/api/runs", json=TILES).headers["location"]
    run = where.rpartition("/")[2]
    assert client.post(f"{where}/cancel").json() == {"run": run, "status": "cancelled"}
    assert client.get(where).json()["status"] == "cancelled"
    drive(data, client)
    assert client.get(where).json()["configurations"] == 0
    resumed = client.post(f"{where}/resume")
    assert (resumed.status_code, resumed.json()["status"]) == (202, "queued")
    drive(data, client)
    assert client.get(where).json()["status"] == "complete"
    for verb in ("cancel", "resume"):
        refused = client.post(f"{where}/{verb}")
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:hakoiri:run")
        assert refused.json()["hints"][0]["href"].startswith(where)
    assert client.delete(where).json() == {"runs": [run], "status": "deleted"}
    assert client.get(where).status_code == 404
    assert [entry.name for entry in data.iterdir() if not entry.name.startswith(".")] == []


@pytest.mark.ci_slow
def test_goal_distances_are_a_run_that_a_question_queues(client: TestClient, data: Path) -> None:
    """By its name, by that of its base, and by a request for such a run it is the same one."""
    where = client.post("/api/runs", json=TILES).headers["location"]
    wanted = {"kind": "hardest", "base": where.rpartition("/")[2]}
    early = client.post("/api/runs", json=wanted)
    assert (early.status_code, "is not complete" in early.json()["detail"]) == (409, True)
    drive(data, client)
    waiting = client.post("/api/runs", json=wanted)
    for ask in (client.get, client.post):
        again = ask(f"{where}/hardest")
        assert (again.status_code, again.json()["kind"]) == (202, "hardest")
        assert again.headers["location"] == waiting.headers["location"]
        again = client.post("/api/runs", json=wanted | {"base": waiting.json()["run"]})
        assert (again.status_code, again.headers["location"]) == (202, waiting.headers["location"])
    wrong = client.post("/api/runs", json=wanted | {"kind": "explore"})
    assert (wrong.status_code, "body.base" in wrong.json()["detail"]) == (422, True)
    drive(data, client)
    assert client.get(waiting.headers["location"]).json()["status"] == "complete"
    found = client.get(f"{where}/hardest").json()
    assert client.get(f"{waiting.headers['location']}/hardest").json() == found
    # Though the server has it open.
    assert client.post("/api/runs", json=wanted).json()["status"] == "queued"
    drive(data, client)
    assert (found["distance"], found["count"], sum(found["layers"])) == (6, 1, 12)
    for number, status, said in ((5, 409, "has the components 0 to 0, not 5"), ("x", 422, "a valid integer")):
        other = client.post("/api/runs", json={"kind": ECCENTRICITIES, "base": wanted["base"], "component": number})
        assert (other.status_code, said in other.json()["detail"]) == (status, True)
    every = client.post("/api/runs", json={"kind": ECCENTRICITIES, "base": wanted["base"]})
    drive(data, client)
    row = client.get(every.headers["location"]).json()
    assert (row["status"], row["settled"], row["diameter"], row["open"]) == ("complete", 12, [6, 6], [])
    # By the blocks of both runs, as of a run that is too large for memory.
    run = open_run(where.rpartition("/")[2], data)
    with run:
        for layer in range(run.store.state.depth + 1):
            for key in run.layer(layer):
                assert position_row(run, None, key) == position_row(run, table_of(run), key)


def test_a_kill_between_the_key_and_the_run_leaves_one_run(client: TestClient, data: Path) -> None:
    key = {"Idempotency-Key": "order 1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routes, "make_planned", lambda *_: 1 / 0)
        assert client.post("/api/runs", json=TILES, headers=key).status_code == 500
    assert client.get("/api/runs").json()["runs"] == []
    first = client.post("/api/runs", json=TILES, headers=key).json()["run"]
    assert client.post("/api/runs", json=TILES, headers=key).json()["run"] == first
    assert len(client.get("/api/runs").json()["runs"]) == 1


def test_what_is_found_later_is_told_then(client: TestClient, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A position whose goal distance is still to be found is kept neither by the client nor here."""
    monkeypatch.setattr(positions, "SMALL", 0)
    run = client.post("/api/runs", json=TILES | {"start": "1./23"}).json()["run"]
    drive(data, client)
    where = f"/api/runs/{run}/positions/1./23"
    for _ in range(2):
        before = client.get(where)
        assert (before.json()["goal_distance"], "etag" in before.headers) == (None, False)
    assert client.post(f"/api/runs/{run}/hardest").status_code == 202
    drive(data, client)
    assert client.get(f"/api/runs/{run}/hardest").status_code == 200
    after = client.get(where)
    assert (after.json()["goal_distance"], "etag" in after.headers) == (1, True)


def test_with_a_run_go_its_goal_distances_and_its_questions(client: TestClient, data: Path) -> None:
    """Also where the server has them open; whoever answers a question is stopped."""
    run = client.post("/api/runs", json=TILES).json()["run"]
    drive(data, client)
    distances = client.post(f"/api/runs/{run}/hardest").json()["run"]
    drive(data, client)
    client.get(f"/api/runs/{run}/hardest")
    asked = data / questions_folder(run) / "0123"
    asked.mkdir(parents=True)
    # Where tests run in the background SIGINT may be ignored, which programs inherit.
    program = ["env", "--default-signal=INT", "sh", "-c", "echo ready; exec sleep 60"]
    with (
        (asked / HOLDER_FILE).open("w", encoding="utf-8") as holder,
        subprocess.Popen(program, pass_fds=[holder.fileno()], stdout=subprocess.PIPE) as answering,
    ):
        # Before that it may be ignored still.
        assert answering.stdout is not None and answering.stdout.readline() == b"ready\n"
        fcntl.flock(holder, fcntl.LOCK_EX)
        holder.write(json.dumps({"pid": answering.pid}))
        holder.flush()
        assert client.delete(f"/api/runs/{run}").json() == {"runs": [distances, run], "status": "deleted"}
        assert answering.wait(PATIENCE_SECONDS) == -signal.SIGINT
    assert [*data.glob(".questions/*")] == []
    assert [entry.name for entry in data.iterdir() if not entry.name.startswith(".")] == []


# Puzzles of the user's own: only those that the server was started with are run, whoever names them


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
    """A file with a puzzle, which leaves a mark whenever it is executed. It has not been loaded."""
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


@pytest.mark.ci_slow
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
        serve(data, Resources(workers=1), None, Control(), lambda _: SilentObserver(), print, burst=True)
        assert client.get(f"{where}/layers").json()["layers"][3]["size"] == 2
        assert client.get("/api/boards/ring.py:Ring.svg?conf=0x3").status_code == 200

    # A run of it in the data directory does not have it executed either.
    forget(monkeypatch)
    with client_of(Settings(data, token=TOKEN)) as client:
        refused = client.get(f"{where}/layers")
        assert (refused.status_code, refused.json()["type"]) == (409, "urn:hakoiri:unanswerable")
        assert client.get(where).json()["status"] == "complete"
    assert executed(ring) == 2  # Once here, once by the process that drove the run.
