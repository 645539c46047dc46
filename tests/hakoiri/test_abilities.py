"""A run answers the questions that it says it can, and no others: all of them are asked."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import Run, open_run
from hakoiri.errors import HakoiriError
from hakoiri.guest_table import ANSWERS
from hakoiri.loading import loaded
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.questions.abilities import abilities
from hakoiri.render.files import export_run
from hakoiri.rows.positions import position_row, table_of
from hakoiri.web.settings import Settings
from tests.support.commands import Hakoiri
from tests.support.runs import driven
from tests.support.web import TOKEN, client_of

TILES, HANOI = PuzzleSpec("tiles", {"rows": "2", "columns": "3"}), PuzzleSpec("hanoi", {"discs": "3"})
ASKED: dict[str, Callable[[Run], object]] = {
    "positions": lambda run: position_row(run, table_of(run), run.puzzle.render(run.puzzle.start)),
    "layer": lambda run: run.configurations(),
    "sample": lambda run: run.sample(1),
    "hardest": lambda run: run.hardest(1),
    "components": lambda run: run.components(1) if run.puzzle.undirected else run.weak_components(1),
    "map": lambda run: run.map(),
    "statistics": loaded(ANSWERS["statistics"]),
    "solutions": lambda run: next(run.solutions()),
    "play": loaded(ANSWERS["best play"]),
}
FILES = ("csv", "html")
CASES: dict[str, tuple[PuzzleSpec, str, dict[str, Any]]] = {
    "search": (TILES, "explore", {}),
    "depths": (TILES, "explore", {"keep": "depths"}),
    "frontier": (HANOI, "explore", {"keep": "frontier"}),
    "first layers": (TILES, "explore", {"layers": 3}),
    "until the goal": (HANOI, "explore", {"until_goal": True}),
    "several starts": (PuzzleSpec("pancakes", {"n": "3"}, starts="1 2 3\n3 2 1"), "explore", {}),
    "census": (HANOI, "census", {}),
    "tree": (PuzzleSpec("magic-star", {"points": "6", "solutions": "keep"}), "tree", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_answers_what_it_says_and_nothing_else(case: str, tmp_path: Path) -> None:
    run_of = driven(tmp_path, *CASES[case], {})
    with open_run(run_of.name, tmp_path) as run:
        can = abilities(run)
        files = {f"export.{end}": lambda run, end=end: export_run(run, tmp_path / f"run.{end}") for end in FILES}
        answered = [name for name, ask in (ASKED | files).items() if _answers(ask, run)]
    assert [name for name in can if name in ASKED | files] == answered


def _answers(ask: Callable[[Run], object], run: Run) -> bool:
    try:
        ask(run)
    except (HakoiriError, StopIteration):
        return False
    return True


def test_the_service_says_it_and_status_opens_no_run(tmp_path: Path) -> None:
    command = Hakoiri(tmp_path)
    command.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--keep", "frontier")
    with open_run("last", command.data) as run:
        found = abilities(run)
    assert found == ["hardest"]
    assert command.ask("status", "last")["can"] is None
    with client_of(Settings(command.data, token=TOKEN)) as client:
        (listed,) = client.get("/api/runs").json()["runs"]
        assert [listed["can"], client.get("/api/runs/last").json()["can"]] == [found] * 2
