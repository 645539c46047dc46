"""Boards to print: each with a shortest solution in words that solves it, in black on white, a few on a page."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import Run, explore, open_run
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.studies.generate import reference_solutions
from hakoiri.errors import Hint, PuzzleError
from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import Label, Part
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.print_sheet import Problem, problems_of
from tests.support.refusals import refused
from tests.support.runs import driven

FAMILY = {"size": "3x3", "pieces": "xx/x.:1 2x1:0..1 1x1:*", "goal": "xx/x.@2,2"}


def made(data: Path, kind: str, **words: Any) -> Run:
    asked = kind_of(kind).parse_request(PuzzleSpec("sliding"), **words)
    return open_run(driven(data, asked.spec, kind, asked.plan, asked.limits, workers=1).name, data)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with made(tmp_path_factory.mktemp("family"), "boards", **FAMILY, empty="2", hardest=5) as run:
        yield run


def check(puzzle: Puzzle, problem: Problem, moves: int) -> None:
    """Play the moves by their words."""
    here = puzzle.start
    assert len(problem.moves) == moves == reference_solutions(puzzle, puzzle.start)[0]
    path = [here]
    for words in problem.moves:
        [here] = [key for key in {*puzzle.successors(here)} if puzzle.describe_moves([*path, key])[-1] == words]
        path.append(here)
    assert puzzle.is_goal(puzzle.keys([here]))[0]


@pytest.mark.parametrize("kind", ["boards", "generate"])
def test_boards_of_runs_are_printed_with_their_solutions(kind: str, family: Run, tmp_path: Path) -> None:
    run = family if kind == "boards" else made(tmp_path, "generate", **FAMILY, empty="2..3", least=3, boards=3)
    rows, problems = run.kind(run.store, run.puzzle).boards(), list(problems_of(run))
    assert len(rows) == len(problems) == (5 if kind == "boards" else 3)
    assert isinstance(run.puzzle, Family)
    for row, problem in zip(rows, problems, strict=True):
        puzzle = run.puzzle.member(row["board"], row["goal"])
        check(puzzle, problem, row["moves"])
        assert problem.picture == puzzle.picture(puzzle.start) and problem.goal == puzzle.goal_text()


def test_the_hardest_of_a_search_are_printed(tmp_path: Path) -> None:
    with explore("tiles", {"rows": "2", "columns": "3"}, data=tmp_path) as run:
        found = run.hardest()
        problems = list(problems_of(run))
        assert {len(problem.moves) for problem in problems} == {found.distance} == {21}
        assert len(problems) == found.count
        assert run.export(tmp_path / "tiles.pdf", per_page=1) == found.count


def letters(parts: tuple[Part, ...]) -> list[str]:
    return [shape.text for part in parts for shape in part.shapes if isinstance(shape, Label)]


def words_of(pdf: Path) -> list[str]:
    """The words of each page of a PDF that is not compressed: its strings, kerned letter by letter."""
    pages = re.findall(rb"stream\n(.*?)\nendstream", pdf.read_bytes(), re.DOTALL)
    found = ["".join(re.findall(r"\(([^)]*)\)", page.decode("latin-1"))) for page in pages]
    return [words for words in found if "page" in words]


def test_the_same_run_gives_the_same_bytes(family: Run, tmp_path: Path) -> None:
    for name in ("one.pdf", "other.pdf"):
        family.export(tmp_path / name)
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "other.pdf").read_bytes()


def test_what_cannot_be_printed_is_refused(family: Run, usual_run: Run, tmp_path: Path) -> None:
    with refused(UnanswerableError, "no pages; per_page does not apply", Hint("leave out", "per_page")):
        family.export(tmp_path / "x.csv", per_page=2)
    with refused(UnanswerableError, "a PDF has boards; layers does not apply", Hint("leave out", "layers")):
        usual_run.export(tmp_path / "x.pdf", layers=2)
    with pytest.raises(PuzzleError, match="per page 31"):
        family.export(tmp_path / "x.pdf", per_page=31)
    nothing = refused(UnanswerableError, "has no boards to print", Hint("give", "hardest", "K"))
    with made(tmp_path, "boards", **FAMILY, empty="2") as run, nothing:
        run.export(tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()
