"""Boards of a run as a PDF to print: a few on a page, and behind them pages with their solutions.

The boards are those of a study or a generator (`Job.boards`), else the hardest configurations of a run that has goals.
"""

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.errors import Hint, counted, require_within
from hakoiri.guests.boards.job import StudyBoards
from hakoiri.guests.deals.dealt import Dealt, Family
from hakoiri.guests.deals.searching import MOST_POSITIONS, solve
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import EDGE, Circle, Label, Line, Part, Picture, Polygon, Rectangle, Shape
from hakoiri.puzzles.pictures import GOAL as GOAL_COLOUR
from hakoiri.render.images import titled
from hakoiri.rows.positions import require_positions
from hakoiri.run.goals import hardest, require_goals
from hakoiri.run.opened import OpenRun
from hakoiri.run.paths import GOAL, path
from hakoiri.storage.engine.files import replaced, require_place
from hakoiri.storage.ledger.manifest import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_pdf import PdfPages

#: A4.
WIDTH, HEIGHT = 595.3, 841.9
_BLACK, _GREY, _WHITE = "#000000", "#d2d2d2", "#ffffff"
#: The width of the lines of a board, in pixels of its picture.
_EDGE = 1.4


def printed(picture: Picture) -> Picture:
    """Return a board of pieces in black on white, its pieces that have a goal grey.

    Other pictures are returned as they are.
    """
    if not picture.boxed:
        return picture
    ground, *pieces = picture.parts
    board = [
        shape._replace(fill=_BLACK if shape.fill == EDGE else _WHITE, edge=_BLACK if shape.edge else "")
        for shape in ground.shapes if isinstance(shape, Rectangle)
    ]  # fmt: skip
    return picture._replace(parts=(ground._replace(shapes=tuple(board)), *map(_outlined, pieces)))


def _outlined(piece: Part) -> Part:
    boxes = [shape for shape in piece.shapes if isinstance(shape, Rectangle)]
    around = [
        box._replace(
            x=box.x - _EDGE, y=box.y - _EDGE, width=box.width + 2 * _EDGE, height=box.height + 2 * _EDGE,
            radius=box.radius and box.radius + _EDGE, fill=_BLACK,
        )
        for box in boxes
    ]  # fmt: skip
    inside = [box._replace(fill=_GREY if box.fill == GOAL_COLOUR else _WHITE) for box in boxes]
    rest = [shape._replace(colour=shape.colour and _BLACK) for shape in piece.shapes if isinstance(shape, Line | Label)]
    return piece._replace(shapes=(*around, *inside, *rest))


class Paper:
    """One page."""

    def __init__(self, axes: "Axes") -> None:
        self._axes = axes

    @classmethod
    @contextmanager
    def page(cls, pages: "PdfPages") -> Iterator["Paper"]:
        """Yield an empty page, which is added to `pages` at the end of the block."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, WIDTH)
        axes.set_ylim(HEIGHT, 0)
        yield cls(axes)
        pages.savefig(figure)  # type: ignore[no-untyped-call]

    def text(
        self, x: float, y: float, words: str, size: float, bold: bool = False, align: str = "left", colour: str = _BLACK
    ) -> None:
        """Write words whose middle is at the height `y`; `align` is the side of them that is at `x`."""
        # A dollar sign would begin a formula.
        weight = "bold" if bold else "normal"
        self._axes.text(x, y, words, size=size, weight=weight, ha=align, va="center", color=colour, parse_math=False)

    def picture(self, picture: Picture, left: float, top: float, width: float, height: float) -> None:
        """Draw a picture as large as fits into a box, in the middle of it."""
        scale = min(width / picture.width, height / picture.height)
        left += (width - scale * picture.width) / 2
        top += (height - scale * picture.height) / 2
        for part in printed(picture).parts:
            for shape in part.shapes:
                self._draw(shape, left + scale * part.x, top + scale * part.y, scale)

    def _draw(self, shape: Shape, left: float, top: float, scale: float) -> None:
        from matplotlib import patches

        def at(x: float, y: float) -> tuple[float, float]:
            return left + scale * x, top + scale * y

        look: dict[str, Any] = {"facecolor": getattr(shape, "fill", ""), "linewidth": _EDGE * scale}
        look["edgecolor"] = getattr(shape, "edge", "") or "none"
        match shape:
            case Rectangle(x, y, width, height, _, radius, _):
                look["boxstyle"] = f"round,pad=0,rounding_size={radius * scale}" if radius else "square,pad=0"
                self._axes.add_patch(patches.FancyBboxPatch(at(x, y), width * scale, height * scale, **look))
            case Circle(x, y, radius, _, _):
                self._axes.add_patch(patches.Circle(at(x, y), radius * scale, **look))
            case Polygon(points, _, _):
                self._axes.add_patch(patches.Polygon([at(*point) for point in points], **look))
            case Line(x, y, to_x, to_y, colour, width, dash):
                ends = zip(at(x, y), at(to_x, to_y), strict=True)
                # Lengths of dashes are in widths of the line.
                style = (0, (dash / width, dash / width)) if dash else "solid"
                look = {"linewidth": width * scale, "linestyle": style, "solid_capstyle": "butt"}
                self._axes.plot(*ends, color=colour or _WHITE, **look)
            case Label(x, y, words, size, colour):
                self.text(*at(x, y), words, size * scale, align="center", colour=colour)


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


def require_printed(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` for a run without boards to print."""
    if run.kind.has_graph:
        require_goals(run)
        require_positions(run)
    elif not run.kind(run.store, run.puzzle).boards():
        hint = (Hint("give", "hardest", "K"),) if issubclass(run.kind, StudyBoards) else ()
        raise UnanswerableError(f"run {run.name} has no boards to print", *hint)


def problems_of(run: OpenRun) -> Iterator[Problem]:
    """Yield the boards of a run, each with a shortest solution."""
    require_printed(run)
    if rows := run.kind(run.store, run.puzzle).boards():
        for row in rows:
            puzzle: Any = cast(Family, run.puzzle).member(row["board"], row["goal"])
            goal = solve(cast(Dealt, puzzle), puzzle.start, "bfs", "goal", MOST_POSITIONS).goal
            problem = Problem.of(puzzle, puzzle.follow(puzzle.start, goal.moves if goal else []))
            yield problem._replace(name=row.get("name", ""))
    else:
        for key in ints(hardest(run, _MOST).configurations):
            found = path(run, GOAL, key)
            yield Problem.of(found.puzzle, found.keys)


def _write(pages: "PdfPages", problems: Sequence[Problem], title: str, per_page: int) -> None:
    boards = [list(enumerate(problems, 1))[begin : begin + per_page] for begin in range(0, len(problems), per_page)]
    texts = list(_solutions(problems))
    for number in range(len(boards) + len(texts)):
        with Paper.page(pages) as paper:
            if number < len(boards):
                _draw_boards(paper, boards[number], per_page)
            else:
                paper.text(_MARGIN, _MARGIN, "Solutions", _LARGE, bold=True)
                for place, (bold, line) in enumerate(texts[number - len(boards)], 2):
                    paper.text(_MARGIN, _MARGIN + place * _LINE, line, _USUAL, bold)
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
