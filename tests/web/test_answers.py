"""What the interface answers is what the command line answers."""

from typing import Any
from urllib.parse import quote

import pytest

from hakoiri.api import open_run
from hakoiri.web.runs.positions import position_row, table_of
from puzzles.keys.layout import ints
from tests.web.conftest import Served


def asked(served: Served, path: str, status: int = 200) -> dict[str, Any]:
    response = served.client.get(path)
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


def test_puzzles(served: Served) -> None:
    assert asked(served, "/api/puzzles") == served.said("puzzles")
    assert asked(served, "/api/puzzles/sliding") == served.said("puzzles", "sliding")
    assert asked(served, "/api/puzzles/tiles") == served.said("puzzles", "tiles")


def test_runs_and_their_status(served: Served) -> None:
    runs = served.said("runs")["runs"]
    assert asked(served, "/api/runs")["runs"] == runs[::-1]
    for row in runs:
        found = asked(served, f"/api/runs/{row['run']}")
        assert served.said("status", row["run"]).items() <= found.items()


def test_runs_page_by_page(served: Served) -> None:
    first = asked(served, "/api/runs?limit=2")
    rest = asked(served, f"/api/runs?limit=2&after={first['next']}")
    assert (len(first["runs"]), len(rest["runs"]), rest["next"]) == (2, 1, None)
    assert first["runs"] + rest["runs"] == asked(served, "/api/runs")["runs"]
    assert [row["run"] for row in asked(served, "/api/runs?puzzle=gap&status=complete")["runs"]] == [served.directed]
    assert asked(served, "/api/runs?status=failed") == {"runs": [], "next": None}


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("{small}/layers", "layers {small}"),
        ("{whole}/layers", "layers {whole}"),
        ("{whole}/components", "components {whole}"),
        ("{small}/components", "components {small}"),
        ("{directed}/components", "components {directed}"),
        ("{directed}/components/strong", "components {directed} --strong"),
        ("{whole}/components/1/diameter", "diameter {whole} --component 1"),
        ("{whole}/components/1/diameter?all=true", "diameter {whole} --component 1 --all"),
        ("{small}/components/0/diameter", "diameter {small}"),
        ("{small}/path?to=farthest", "path {small} --to farthest"),
        ("{small}/distance?to=1.2/345", "distance {small} 1.2/345"),
        ("{small}/path?to=goal&from=1.2/345", "path {small} --to goal --from 1.2/345"),
        ("{whole}/path?to=.AAC/BBD.&from=AABB/C..D", "path {whole} --to .AAC/BBD. --from AABB/C..D"),
    ],
)
def test_an_answer(served: Served, path: str, line: str) -> None:
    names = {"small": served.small, "whole": served.whole, "directed": served.directed}
    expected = served.said(*(word.format(**names) for word in line.split()))
    assert asked(served, f"/api/runs/{path.format(**names)}") == expected


def test_a_layer_page_by_page(served: Served) -> None:
    expected = served.said("layers", served.small, "--depth", "14")
    where, found, after = f"/api/runs/{served.small}/layers/14?limit=20", list[str](), ""
    while True:
        page = asked(served, f"{where}&after={after}")
        assert page["size"] == expected["size"]
        found += page["configurations"]
        if (after := page["next"]) is None:
            break
    assert found == expected["configurations"]
    assert len(found) > 40


def test_every_position_of_a_run_is_as_far_from_the_goal_as_the_path_is_long(served: Served) -> None:
    where = f"/api/runs/{served.small}"
    for depth in (0, 5, 21):
        for conf in asked(served, f"{where}/layers/{depth}?limit=3")["configurations"]:
            row = asked(served, f"{where}/positions/{conf}")
            assert row["depth"] == depth
            assert row["goal_distance"] == len(served.said("path", served.small, "--from", conf)["moves"])
            shown = served.said("show", conf, "--puzzle", "tiles", "-o", "rows=2", "-o", "columns=3")
            assert sorted(move["move"] for move in row["moves"]) == sorted(shown["moves"])
            distances = [move["goal_distance"] for move in row["moves"]]
            assert distances == sorted(distances)
            assert {abs(row["depth"] - move["depth"]) for move in row["moves"]} == {1}


def test_a_board_is_drawn(served: Served) -> None:
    response = served.client.get(f"/api/boards/klotski.svg?conf={quote('ABBC/ABBC/DEEF/DGHF/.IJ.')}")
    assert response.headers["content-type"] == "image/svg+xml"
    assert response.text.startswith("<svg") and "DGHF/.IJ." in response.text
    assert served.client.get("/api/boards/sliding.svg?conf=AA/.B").status_code == 200
    assert asked(served, "/api/boards/klotski.svg?conf=AB", 422)["type"] == "urn:hakoiri:configuration"


def test_depths_are_goal_distances_where_the_start_is_the_one_goal(served: Served) -> None:
    """So a run that is too large for memory has them at once."""
    with open_run(served.small, served.data) as run:
        assert run.start_is_the_goal()
        for depth in (0, 1, 11, run.store.state.depth):
            for key in ints(run.layer(depth)[:5]):
                assert position_row(run, None, f"{key:#x}") == position_row(run, table_of(run), f"{key:#x}")
                assert position_row(run, None, f"{key:#x}")["goal_distance"] == depth
    with open_run(served.directed, served.data) as run:
        assert not run.start_is_the_goal()
