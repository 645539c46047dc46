"""Probes over HTTP: nothing is created, and no more than one takes a core."""

import re
import threading
from pathlib import Path

import pytest

from hakoiri.web.routes import puzzles
from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.web import TOKEN, client_of

BOARD = {"puzzle": "sliding", "start": "AABB/AACC/DE../FGHH/FGII", "options": {"goal": "A@4,1"}}


def test_a_board_is_solved_and_nothing_is_created(tmp_path: Path) -> None:
    with client_of(Settings(tmp_path / "data", token=TOKEN, memory=200 << 20)) as client:
        row = client.post("/api/probe", json=BOARD).json()
    assert (row["configurations"], row["exhausted"], row["goal_depth"], row["fits"]) == (1_398, True, 83, True)
    assert row["memory"] == 200 << 20
    assert row["notes"] == []
    assert not (tmp_path / "data").exists()


def test_a_dry_run_says_the_same(served: Served) -> None:
    """But for the time that it took, and what is free by now."""
    row = served.client.post("/api/probe", json=BOARD).json()
    said = served.said("run", "sliding", "--from", str(BOARD["start"]), "--goal", "A@4,1", "--dry-run")
    moving = {"seconds", "free", "memory", "notes"}
    assert {name: row[name] for name in row.keys() - moving} == {name: said[name] for name in said.keys() - moving}
    told = served.command.here("run", "tiles", "-o", "rows=4", "-o", "columns=4", "--dry-run").stdout
    assert "10,461,394,944,000" in told
    assert re.search(r"disk +[\d,.]+ GB, [\d,.]+ GB are free", told)
    assert re.search(r"time +\S", told)
    assert "181,440" in served.command.here("run", "tiles", "--whole", "--dry-run").stdout


def test_what_does_not_fit_is_said(served: Served) -> None:
    wanted = {"puzzle": "tiles", "options": {"rows": "4", "columns": "4"}}
    row = served.client.post("/api/probe", json=wanted).json()
    assert (row["exhausted"], row["fits"], row["expected"]) == (False, False, 10_461_394_944_000)
    assert row["disk"] > row["expected"]
    large = "AB.../CD.../...../...../....."
    row = served.client.post(
        "/api/probe", json={"puzzle": "sliding", "start": large, "options": {"distinct": "all"}}
    ).json()
    assert (row["exhausted"], row["fits"], row["expected"]) == (False, None, None)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"puzzle": "sliding"}, "sliding needs a board"),
        ({"puzzle": "sliding", "start": "A.A"}, "piece A is not connected"),
        ({"puzzle": "magic-star"}, "is a tree"),
        ({}, "there is no puzzle"),
    ],
)
def test_a_bad_wish_is_refused(served: Served, wanted: dict[str, object], said: str) -> None:
    response = served.client.post("/api/probe", json=wanted)
    assert response.status_code in (409, 422)
    assert said in response.json()["detail"]


def test_a_second_probe_waits_and_is_refused_while_the_first_goes_on(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(puzzles, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(puzzles, "_PROBING", taken := threading.Lock())
    with taken:
        response = served.client.post("/api/probe", json=BOARD)
    assert response.status_code == 503
    assert "another probe is in progress" in response.json()["detail"]
    assert served.client.post("/api/probe", json=BOARD).status_code == 200


def test_a_stranger_computes_nothing(served: Served) -> None:
    assert served.client.post("/api/probe", json=BOARD, headers={"Authorization": "Bearer no"}).status_code == 401
