"""The HTTP interface gives the answers of the command line."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from hakoiri.api import open_run
from hakoiri.coordinator.graphs import distances
from hakoiri.export.graphs import write_map
from hakoiri.keys.layout import ints
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.questions.question import COMMANDS, QUESTIONS, Question, question_class
from hakoiri.rows import positions
from hakoiri.rows.positions import position_row, table_of
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.web.runs.questions import LongQuestion, Questions
from hakoiri.web.settings import Settings
from tests.hakoiri.web.conftest import Served
from tests.support.commands import Hakoiri, wait_until
from tests.support.runs import driven
from tests.support.web import TOKEN, client_of


def asked(served: Served, path: str, status: int = 200) -> dict[str, Any]:
    response = served.client.get(path)
    assert response.status_code == status, response.text
    found: dict[str, Any] = response.json()
    return found


def test_puzzles(served: Served) -> None:
    every = asked(served, "/api/puzzles")
    assert {"explore", "census", "generate"} <= {each["kind"] for each in every.pop("kinds")}
    assert every.pop("defined")["name"] == "definition"
    assert every == served.said("puzzles")
    assert asked(served, "/api/puzzles/sliding") == served.said("puzzles", "sliding")
    assert asked(served, "/api/puzzles/tiles") == served.said("puzzles", "tiles")


def test_runs_and_their_status(served: Served) -> None:
    runs = served.said("runs")["runs"]
    assert [row | {"can": None} for row in asked(served, "/api/runs")["runs"]] == runs[::-1]
    for row in runs:
        found = asked(served, f"/api/runs/{row['run']}")
        assert served.said("status", row["run"]).items() <= (found | {"can": None}).items()


def test_runs_page_by_page(served: Served) -> None:
    first = asked(served, "/api/runs?limit=2")
    rest = asked(served, f"/api/runs?limit=2&after={first['next']}")
    assert (len(first["runs"]), len(rest["runs"]), rest["next"]) == (2, 1, None)
    assert first["runs"] + rest["runs"] == asked(served, "/api/runs")["runs"]
    assert [row["run"] for row in asked(served, "/api/runs?puzzle=gap&status=complete")["runs"]] == [served.directed]
    assert asked(served, "/api/runs?status=failed") == {"runs": [], "next": None}


#: What is asked over HTTP, and on the command line.
SAME = [
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
    ("{small}/sample?n=3&seed=7&depth=2..4", "sample {small} -n 3 --seed 7 --depth 2..4"),
    ("{small}/statistics", "path {small} --statistics"),
    ("{small}/statistics?from=1.2/345", "path {small} --statistics --from 1.2/345"),
]


def by_example(question: type[Question], path: str) -> tuple[str, str]:
    """The example of a question over HTTP, and on the command line."""
    query = urlencode(re.findall(r"--(\w+) (\S+)", question.example))
    return f"{{small}}{path}?{query}", question.example.replace("last", "{small}")


# The questions without a line.
SAME += [
    by_example(question, route.path)
    for name, question in zip(COMMANDS, map(question_class, COMMANDS), strict=True)
    if (route := question.route) and not question.has_own_run and name not in {line.split()[0] for _, line in SAME}
]


@pytest.mark.parametrize(("path", "line"), SAME)
def test_an_answer(served: Served, path: str, line: str) -> None:
    names = {"small": served.small, "whole": served.whole, "directed": served.directed}
    expected = served.said(*(word.format(**names) for word in line.split()))
    where = f"/api/runs/{path.format(**names)}"
    assert asked(served, where) == expected
    begun = served.client.post(where)
    at_once = {"layers", "sample", "citation"} & {*re.findall("[a-z]+", path)}
    assert begun.status_code == 405 if at_once else begun.json() == expected


def test_statistics_of_a_board_of_a_large_run_are_a_long_question(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that a process would answer; and of what has none it is said at once."""

    def begin(_: Questions, question: LongQuestion) -> None:
        (question.data / question.folder).mkdir(parents=True, exist_ok=True)
        told = served.said(question.words[0], question.run, *question.words[1:])
        (question.data / question.folder / "answer").write_text(json.dumps(told), encoding="utf-8")

    where = f"/api/runs/{served.small}/statistics?from=1.2/345"
    expected = asked(served, where)
    monkeypatch.setattr(positions, "SMALL", 10)
    monkeypatch.setattr(Questions, "start", begin)
    assert served.client.post(where).json() == expected == asked(served, where)
    monkeypatch.undo()
    found = asked(served, f"/api/runs/{served.directed}/statistics", 409)
    assert found["detail"] == "the moves of gap cannot be taken back, so boards have no statistics"


def test_one_component(served: Served) -> None:
    for run in (served.whole, served.directed):
        rows = served.said("components", run)["components"]
        assert asked(served, f"/api/runs/{run}/components/{len(rows) - 1}") == {"run": run} | rows[-1]


def test_all_of_a_run(served: Served) -> None:
    """It answers what `run` and `resume` print of a complete run, and its tables."""
    for run in (served.small, served.whole):
        found = asked(served, f"/api/runs/{run}/summary")
        del found["tables"]
        assert found == served.said("resume", run)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Runs of other kinds, to be changed: `small` is given its goal distances, `whole` are stars, `directed` plays."""
    command = Hakoiri(tmp_path_factory.mktemp("others"))
    made: list[tuple[PuzzleSpec, str]] = [
        (PuzzleSpec("tiles", {"rows": "2", "columns": "2"}), "explore"),
        (PuzzleSpec("magic-star", {"points": "6", "solutions": "keep"}), "tree"),
        (PuzzleSpec("nakuron", {}, "2/15/55/55/55/10/01"), "explore"),
    ]
    names = [driven(command.data, spec, kind, {}, {}).name for spec, kind in made]
    with client_of(Settings(command.data, token=TOKEN)) as client:
        yield Served(command.data, client, command, *names)


def test_solutions_and_plays_and_goal_distances(others: Served) -> None:
    run = others.whole
    found = asked(others, f"/api/runs/{run}/solutions?limit=4")
    assert len(found.pop("pictures")) == 4
    assert found == others.said("solutions", run, "--first", "4")
    play = asked(others, f"/api/runs/{others.directed}/play")
    assert {name: play[name] for name in ("score", "moves", "sequence")}.items() <= others.said(
        "resume", others.directed
    ).items()
    expected = others.said("hardest", others.small)
    assert asked(others, f"/api/runs/{others.small}/hardest") == expected


def test_runs_are_made_and_ended_as_on_the_command_line(others: Served) -> None:
    """In each pair one is made, stopped, gone on with and removed by HTTP, the other by commands."""
    client = others.client
    options = ["-o", "rows=2", "-o", "columns=2"]
    body = {
        "puzzle": "tiles", "options": {"rows": "2", "columns": "2"}, "name": "web", "kind": "census", "priority": 3,
    }  # fmt: skip
    mine, theirs = (
        client.post("/api/runs", json=body).json(),
        others.said("enqueue", "tiles", *options, "--whole", "--name", "line", "--priority", "3"),
    )
    assert (mine["run"], mine["status"]) == ("web", theirs["status"])
    for run in ("web", "line"):
        with Ledger(others.data / run) as ledger:
            assert ledger.manifest.settings == {"priority": 3}
    own = ("run", "created")
    rows = [
        {name: value for name, value in others.said("status", run).items() if name not in own}
        for run in ("web", "line")
    ]
    assert rows[0] == rows[1]
    assert mine["priority"] == rows[0]["priority"] == 3
    for verb, status in (("cancel", "cancelled"), ("resume", "queued")):
        assert client.post(f"/api/runs/web/{verb}").json()["status"] == status
    assert client.post("/api/runs/web/title", json={"title": " Two\tby  two\n"}).json()["title"] == "Two by two"
    assert [others.said("status", run)["title"] for run in ("web", "line")] == ["Two by two", ""]
    # The server keeps what it knows of a run that has ended.
    assert client.get(f"/api/runs/{others.small}").json()["title"] == ""
    assert client.post(f"/api/runs/{others.small}/title", json={"title": "Small"}).json()["title"] == "Small"
    client.post(f"/api/runs/{others.small}/title", json={"title": ""})
    assert others.said("cancel", "line")["status"] == "cancelled"
    assert others.said("status", "web")["status"] == "queued"
    deleted = client.delete("/api/runs/web").json()
    assert deleted == others.said("delete", "line", "--yes") | {"runs": ["web"]}


def test_every_eccentricity_of_a_large_component_is_queued(others: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked again it is the same run, in whatever state, and once that is complete there is the answer."""
    monkeypatch.setattr(distances, "RUN_FROM", 10)
    run = driven(others.command.data, PuzzleSpec("sliding", {}, "AABB/C..D"), "census", {}, {}).name
    where = f"/api/runs/{run}/components/1/diameter?all=true"
    assert others.client.get(where).status_code == 409
    answers = [others.client.post(where), others.client.get(where)]
    (queued,) = {answer.headers["location"] for answer in answers}
    row = answers[1].json()
    assert [answer.status_code for answer in answers] == [202, 202]
    assert (queued, row["kind"], row["status"]) == (f"/api/runs/{row['run']}", "eccentricities", "queued")
    with RunLock(others.command.data / row["run"]):
        assert others.client.post(where).headers["location"] == queued
    others.said("resume", row["run"])
    expected = others.said("diameter", run, "--component", "1", "--all")
    assert expected["component"] == 1 and expected["eccentricities"]
    assert asked(others, where) == expected


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


@pytest.mark.ci_slow
def test_every_position_of_a_run_is_as_far_from_the_goal_as_the_path_is_long(served: Served) -> None:
    where = f"/api/runs/{served.small}"
    for depth, count in ((0, 1), (5, 3), (21, 1)):
        configurations = asked(served, f"{where}/layers/{depth}?limit=3")["configurations"]
        assert len(configurations) == count
        for conf in configurations:
            row = asked(served, f"{where}/positions/{conf}")
            assert row["depth"] == depth
            assert row["goal_distance"] == len(served.said("path", served.small, "--from", conf)["moves"])
            shown = served.said("show", conf, "--puzzle", "tiles", "-o", "rows=2", "-o", "columns=3")
            assert sorted(move["move"] for move in row["moves"]) == sorted(shown["moves"])
            distances = [move["goal_distance"] for move in row["moves"]]
            assert distances == sorted(distances)
            assert {abs(row["depth"] - move["depth"]) for move in row["moves"]} == {1}


def test_a_board_is_drawn(served: Served, tmp_path: Path) -> None:
    response = served.client.get(f"/api/boards/klotski.svg?conf={quote('ABBC/ABBC/DEEF/DGHF/.IJ.')}")
    assert response.headers["content-type"] == "image/svg+xml"
    drawn = tmp_path / "board.svg"
    served.command.here("show", "ABBC/ABBC/DEEF/DGHF/.IJ.", "--puzzle", "klotski", "--plot", str(drawn))
    assert response.text == drawn.read_text(encoding="utf-8")
    assert served.client.get("/api/boards/sliding.svg?conf=AA/.B").status_code == 200
    assert asked(served, "/api/boards/klotski.svg?conf=AB", 422)["type"] == "urn:hakoiri:configuration"


@pytest.mark.ci_slow
def test_a_map_is_made_once_and_kept(served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here in this process; in a browser by one of its own."""
    asked = []

    def begin(_: Questions, question: LongQuestion) -> None:
        (question.data / question.folder).mkdir(parents=True, exist_ok=True)
        asked.append(question)
        served.client.app.state.runs.close()  # type: ignore[attr-defined]
        component, dim = (word.partition("=")[2] for word in question.words[1:])
        with open_run(question.run, served.data) as run:
            write_map(run, run.map(int(component), int(dim)), question.file)
        (question.data / question.folder / "answer").write_text(json.dumps({"run": question.run}), encoding="utf-8")

    monkeypatch.setattr(Questions, "start", begin)
    where = f"/api/runs/{served.small}/map"
    refused = served.client.get(where)
    assert (refused.status_code, refused.json()["hints"][0]["href"]) == (409, where)
    begun = served.client.post(where, follow_redirects=False)
    assert (begun.status_code, begun.headers["location"]) == (303, where)
    first = served.client.get(where)
    assert (first.status_code, first.content[:8]) == (200, b"HAKOMAP1")
    assert "immutable" in first.headers["cache-control"]
    again = served.client.get(where, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for part, status in (("bytes=0-7", 206), (">", 400), ("bytes=99999999-", 416)):
        found = served.client.get(where, headers={"Range": part})
        assert found.status_code == status
        assert status == 206 or found.headers["content-type"] == "application/problem+json"
    assert served.client.get(f"{where}?component=0&dim=3").content == first.content
    assert len(asked) == 1
    flat = served.client.post(f"{where}?dim=2")
    assert flat.status_code == 200 and len(flat.content) < len(first.content)
    assert len(asked) == 2
    # A link in the place of the file is not followed: the file is made again.
    asked[0].file.replace(elsewhere := tmp_path / "elsewhere")
    asked[0].file.symlink_to(elsewhere)
    assert served.client.get(where).status_code == 409
    assert served.client.post(where).content == first.content
    assert len(asked) == 3 and not asked[0].file.is_symlink()


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


def test_health(served: Served) -> None:
    """Both agree on runs; the command line also asks Redis, which this server was started without."""
    statuses = [row["status"] for row in served.said("runs")["runs"]]
    assert asked(served, "/api/health", 503)["runs"] == Counter(statuses)


@pytest.mark.slow
def test_long_questions_are_commands(others: Served, tmp_path: Path) -> None:
    """Each is answered by a process, with what the command says."""
    where = f"/api/runs/{others.small}"
    number = others.client.post(f"{where}/verify?full=true").json()["question"]
    found = wait_until(lambda: (row := asked(others, f"{where}/questions/{number}"))["status"] == "answered" and row)
    assert found["answer"] == others.said("verify", others.small, "--full")

    def is_made(export: str) -> bool:
        return others.client.post(export).status_code == 200

    for ending in ("csv", "npz", "graphml", "parquet", "pdf"):
        wait_until(partial(is_made, f"{where}/export.{ending}"))
        others.said("export", others.small, "--to", str(tmp_path / f"run.{ending}"))
        assert others.client.get(f"{where}/export.{ending}").content == (tmp_path / f"run.{ending}").read_bytes()
    with open_run(others.small, others.data) as run:
        film = f"{where}/film.gif?from={run.puzzle.render(run.puzzle.start)}"
    wait_until(partial(is_made, film))
    others.said("path", others.small, "--film", str(tmp_path / "run.gif"))
    assert others.client.get(film).content == (tmp_path / "run.gif").read_bytes()
    wait_until(lambda: others.client.post(f"{where}/map").status_code == 200)
    others.said("map", others.small, "--to", str(tmp_path / "run.hakomap"))
    assert others.client.get(f"{where}/map").content == (tmp_path / "run.hakomap").read_bytes()


#: Each route, and where it is compared with what the command line says; or why there is nothing to compare it with.
COMPARED = {
    "get /api/puzzles": test_puzzles,
    "get /api/puzzles/{name}": test_puzzles,
    "get /api/runs": test_runs_and_their_status,
    "get /api/runs/{run}": test_runs_and_their_status,
    "post /api/runs": test_runs_are_made_and_ended_as_on_the_command_line,
    "delete /api/runs/{run}": test_runs_are_made_and_ended_as_on_the_command_line,
    "post /api/runs/{run}/title": test_runs_are_made_and_ended_as_on_the_command_line,
    "post /api/runs/{run}/cancel": test_runs_are_made_and_ended_as_on_the_command_line,
    "post /api/runs/{run}/resume": test_runs_are_made_and_ended_as_on_the_command_line,
    "get /api/runs/{run}/components/{component}": test_one_component,
    "get /api/runs/{run}/layers/{depth}": test_a_layer_page_by_page,
    "get /api/runs/{run}/positions/{conf}": test_every_position_of_a_run_is_as_far_from_the_goal_as_the_path_is_long,
    "get /api/boards/{puzzle}.svg": test_a_board_is_drawn,
    "get /api/runs/{run}/summary": test_all_of_a_run,
    "get /api/runs/{run}/solutions": test_solutions_and_plays_and_goal_distances,
    "get /api/runs/{run}/play": test_solutions_and_plays_and_goal_distances,
    "get /api/runs/{run}/hardest": test_solutions_and_plays_and_goal_distances,
    "post /api/runs/{run}/verify": test_long_questions_are_commands,
    "get /api/runs/{run}/export.{ending}": test_long_questions_are_commands,
    "get /api/runs/{run}/map": test_long_questions_are_commands,
    "get /api/runs/{run}/film.gif": test_long_questions_are_commands,
    "get /api/runs/{run}/questions/{number}": test_long_questions_are_commands,
    "delete /api/runs/{run}/questions/{number}": "Ctrl-C",
    "get /api/runs/{run}/questions/{number}/events": "the same as the question",
    "get /api/runs/{run}/events": "the rows of status and layers, see test_events",
    "get /api/boards/{puzzle}.json": "for those who draw boards themselves",
    "get /api/runs/{run}/pictures/{conf}": "for those who draw boards themselves",
    "get /metrics": "the counts of runs",
    "get /api/health": test_health,
    "post /api/probe": "the same as run --dry-run, see test_probes",
    "post /api/logout": "there is no cookie on a command line",
}


def test_every_route_is_compared(served: Served) -> None:
    """A new one is not here, and fails."""
    known = served.client.get("/api/openapi.json").json()["paths"]
    # POST computes what GET answers, by the same function.
    both = [path for path, methods in known.items() if {*methods} == {"get", "post"} and path != "/api/runs"]
    routed = [route for name in QUESTIONS if (route := question_class(name).route)]
    assert {f"/api/runs/{{run}}{route.path}" for route in routed if route.begins} <= {*both}
    routes = {f"{method} {path}" for path, methods in known.items() for method in methods}
    routes -= {f"post {path}" for path in both}
    expressions = {route: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(route))) for route in routes}
    asked_here = {
        route
        for path, _ in SAME
        for route, expression in expressions.items()
        if expression.fullmatch(f"get /api/runs/{path.partition('?')[0]}")
    }
    assert routes == COMPARED.keys() | asked_here
