"""Boards of a run as a PDF to print: a few on a page, and behind them pages with their solutions.

The boards are those of a study or a generator (`Job.boards`), else the hardest configurations of a run that has goals.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.families.boards import StudyBoards
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.opened import OpenRun
from hakoiri.paths import GOAL
from hakoiri.puzzles.capabilities import Dealt, Family
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Hint, counted, require_within
from hakoiri.puzzles.keys.layout import Key, ints
from hakoiri.puzzles.pictures.shapes import Picture
from hakoiri.render.pictures.paper import HEIGHT, WIDTH, Paper
from hakoiri.render.pictures.sheet import titled
from hakoiri.storage.engine.files import replaced, require_place
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.deals.solving import MOST_POSITIONS, solve

if TYPE_CHECKING:
    from matplotlib.backends.backend_pdf import PdfPages

ENDING = ".pdf"
PER_PAGE, _MOST_PER_PAGE = 6, 30
#: The most of the hardest configurations of a run.
_MOST = 100
#: In points: the margin of a page, the room between boards, the heights of a caption and of a line, sizes of letters.
_MARGIN, _APART, _CAPTION, _LINE = 54.0, 24.0, 26.0, 13.0
_SMALL, _USUAL, _LARGE = 8.0, 9.5, 12.0
#: The most letters of a line, and lines of a page.
_LETTERS, _LINES = 98, 54
_UNBROKEN = "\N{NO-BREAK SPACE}"


class Problem(NamedTuple):
    """A board to be printed: its picture, its goal in words, the moves of a shortest solution, and perhaps a name."""

    picture: Picture
    goal: str
    moves: list[str]
    name: str = ""

    @classmethod
    def of(cls, puzzle: Puzzle, path: list[Key]) -> "Problem":
        return cls(puzzle.pictures(path)[0], puzzle.goal_text(), puzzle.describe_moves(path))


def write_print_sheet(
    run: OpenRun, target: Path, per_page: int | None = None, control: Control | None = None,
    observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write the boards of a run with their solutions, 6 or `per_page` on a page; return the number of boards.

    The bytes are deterministic. `UnanswerableError` for a run without boards.
    """
    require_within("per page", per_page := per_page or PER_PAGE, 1, _MOST_PER_PAGE)
    require_place(target)
    problems = []
    for problem in problems_of(run):
        problems.append(problem)
        (control or Control()).check()
        (observer or SilentObserver()).progress(Progress(len(problems), None, "boards solved"))
    # matplotlib takes half a second to import.
    from matplotlib.backends.backend_pdf import PdfPages

    with replaced(target) as part, PdfPages(part, metadata={"CreationDate": None}) as pages:
        _write(pages, problems, f"{titled(run.puzzle)} · run {run.name}", per_page)
    return len(problems)


def problems_of(run: OpenRun) -> Iterator[Problem]:
    """Yield the boards of a run, each with a shortest solution."""
    if rows := run.kind(run.store, run.puzzle).boards():
        for row in rows:
            problem = _solved(cast(Family, run.puzzle).member(row["board"], row["goal"]))
            yield problem._replace(name=row.get("name", ""))
    elif run.kind.has_graph:
        for key in ints(run.hardest(_MOST).configurations):
            path = run.path(GOAL, key)
            yield Problem.of(path.puzzle, path.keys)
    else:
        hint = (Hint("give", "hardest", "K"),) if issubclass(run.kind, StudyBoards) else ()
        raise UnanswerableError(f"run {run.name} has no boards to print", *hint)


def _solved(puzzle: Any) -> Problem:
    found = solve(cast(Dealt, puzzle), puzzle.start, "bfs", "goal", MOST_POSITIONS)
    return Problem.of(puzzle, puzzle.follow(puzzle.start, found.goal.moves if found.goal else []))


def _write(pages: "PdfPages", problems: Sequence[Problem], title: str, per_page: int) -> None:
    boards = [list(enumerate(problems, 1))[begin : begin + per_page] for begin in range(0, len(problems), per_page)]
    texts = list(_solutions(problems))
    for number in range(len(boards) + len(texts)):
        with Paper.page(pages) as paper:
            if number < len(boards):
                _draw_boards(paper, boards[number], per_page)
            else:
                _write_lines(paper, texts[number - len(boards)])
            foot = f"{title} · page {number + 1} of {len(boards) + len(texts)}"
            paper.text(WIDTH / 2, HEIGHT - _MARGIN / 2, foot, _SMALL, align="center")


def _draw_boards(paper: Paper, boards: Sequence[tuple[int, Problem]], per_page: int) -> None:
    """Draw numbered boards in reading order, in as many rows and columns as `per_page` of them need."""
    columns = max(1, round(math.sqrt(per_page * WIDTH / HEIGHT)))
    rows = math.ceil(per_page / columns)
    wide, high = (WIDTH - 2 * _MARGIN + _APART) / columns, (HEIGHT - 2 * _MARGIN + _APART) / rows
    for place, (number, problem) in enumerate(boards):
        left, top = _MARGIN + place % columns * wide, _MARGIN + place // columns * high
        middle, below = left + (wide - _APART) / 2, top + high - _APART - _CAPTION
        paper.picture(problem.picture, left, top, wide - _APART, high - _APART - _CAPTION - _SMALL)
        paper.text(middle, below + _LINE / 2, _head(number, problem), _LARGE, bold=True, align="center")
        paper.text(middle, below + _LINE * 1.7, problem.goal, _SMALL, align="center")


def _head(number: int, problem: Problem) -> str:
    return f"{number}. {', '.join(filter(None, [problem.name, counted(len(problem.moves), 'moves')]))}"


def _write_lines(paper: Paper, lines: Sequence[tuple[bool, str]]) -> None:
    paper.text(_MARGIN, _MARGIN, "Solutions", _LARGE, bold=True)
    for place, (bold, line) in enumerate(lines, 2):
        paper.text(_MARGIN, _MARGIN + place * _LINE, line, _USUAL, bold)


def _solutions(problems: Sequence[Problem]) -> Iterator[list[tuple[bool, str]]]:
    """Yield the lines of each page, with whether they are bold; a solution that fits a page is not divided."""
    page: list[tuple[bool, str]] = []
    for number, problem in enumerate(problems, 1):
        # No line ends within a move.
        moves = "; ".join(move.replace(" ", _UNBROKEN) for move in problem.moves)
        lines = [(True, _head(number, problem)), *((False, line) for line in textwrap.wrap(moves, _LETTERS))]
        if page and len(page) + len(lines) > _LINES:
            yield page
            page = []
        page += [*lines, (False, "")]
        while len(page) > _LINES + 1:
            yield page[:_LINES]
            page = page[_LINES:]
    yield page
