"""Output of commands: results to stdout, as tables or as one JSON object; progress and notes to stderr."""

import json
import re
from collections.abc import Iterable, Set
from string import Formatter
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from hakoiri.errors import counted, visible, visible_lines
from hakoiri.puzzles.sliding_blocks.boards import LETTERS, WALL
from hakoiri.render.streams import results

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job

_FILE_WIDTH = 120
#: A width greater than that of any table.
_ANY_WIDTH = 10_000
#: The least letters of a shortened heading.
_HEADING = 4
#: The digits of a shortened digest.
_DIGITS = 12


def stdout() -> Console:
    """Return the console for results."""
    # A file or pipe has no width; this one holds every line.
    width = None if results().isatty() else _FILE_WIDTH
    # Longer lines continue on the next line of the terminal: nothing is cut, and copied lines are complete.
    return _Console(file=results(), width=width)


def stderr() -> Console:
    """Return the console for everything else."""
    return _Console(stderr=True)


def print_json(result: dict[str, Any]) -> None:
    """Print the one JSON object."""
    print(json.dumps(result), file=results(), flush=True)


class _Console(Console):
    """Prints texts literally: no markup, and control characters made visible."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, highlight=False, markup=False, emoji=False, soft_wrap=True)

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        # All output passes here, before the codes for colours are put around it.
        shown = (one if one.control else Segment(visible_lines(one.text), one.style) for one in buffer)
        text = super()._render_buffer(shown)
        return text if self.is_terminal else re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


class _Table(Table):
    """A table that never cuts numbers: on a narrow terminal words wrap, headings shrink, lines overflow."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """Add a row of cells, in one line each where they are no `Text`."""
        super().add_row(*(visible(cell) if isinstance(cell, str) else cell for cell in cells), **options)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room, headings = options.max_width, [str(column.header) for column in self.columns]
        # Headings are shortened as little as makes the lines fit, if that is possible.
        lengths = range(max(map(len, headings), default=0), _HEADING, -1)
        most = next((length for length in lengths if self.least_width(console, length) <= room), _ANY_WIDTH)
        for column, heading in zip(self.columns, headings, strict=True):
            column.header = heading if len(heading) <= most else f"{heading[: most - 1]}…"
        # A folded column with a least width gets the rest of the room, so that it wraps.
        roomy = console.options.update(max_width=_ANY_WIDTH)
        cells = ((str(column.header), *column.cells) for column in self.columns)
        widths = [max(Measurement.get(console, roomy, cell).maximum for cell in each) for each in cells]
        rest = room - sum(widths) - len(widths) + 1
        for column, width in zip(self.columns, widths, strict=True):
            if column.overflow == "fold" and column.min_width is not None:
                column.width = max(column.min_width, min(width, width + rest))
        needed = self.least_width(console)
        for column, least in zip(self.columns, self._least_widths(console), strict=True):
            if column.overflow != "fold":
                column.min_width = max(least, len(str(column.header)))
        yield from super().__rich_console__(console, options.update(max_width=max(needed + 1, room)))

    def least_width(self, console: Console, heading: int = _ANY_WIDTH) -> int:
        """Return the width of its lines if no number is cut and no heading is longer than `heading`."""
        headings = (min(len(str(column.header)), heading) for column in self.columns)
        return sum(map(max, self._least_widths(console), headings)) + len(self.columns) - 1

    def _least_widths(self, console: Console) -> list[int]:
        """Return the least width of the cells of each column."""
        roomy = console.options.update(max_width=_ANY_WIDTH)
        found = []
        for column in self.columns:
            sizes = [Measurement.get(console, roomy, cell) for cell in column.cells if column.overflow != "fold"]
            least = (size.maximum if column.no_wrap else size.minimum for size in sizes)
            found.append(max(least, default=column.min_width or 1))
        return found


def first_fitting(tables: Iterable[Table]) -> Table:
    """Return the first table that fits the terminal, else the last; a file or pipe fits any."""
    console = stdout()
    for made in tables:
        if not results().isatty() or (isinstance(made, _Table) and made.least_width(console) <= console.width):
            break
    return made


def table(*columns: str, numbers: tuple[str, ...] = ()) -> Table:
    """Return an empty table; `numbers` are aligned to the right."""
    made = _Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True)
    for column in columns:
        made.add_column(column, justify="right" if column in numbers else "left", no_wrap=column in numbers)
    return made


def fitting_digest(digest: str, room: int, wide: bool) -> str:
    """Return a digest unchanged if it fits or is `wide`; else its first 12 digits and an ellipsis."""
    return digest if wide or len(digest) <= room else f"{digest[:_DIGITS]}…"


def rows_table(rows: list[dict[str, Any]]) -> Table:
    """Return a table with a column for each key of the first row; words are aligned left, all others right."""
    names = list(rows[0]) if rows else []
    words = {name for name in names if any(isinstance(row[name], str) and row[name][:1].isalpha() for row in rows)}
    headings = {name: name.replace("_", " ") for name in names}
    listed = table(*headings.values(), numbers=tuple(headings[name] for name in names if name not in words))
    for row in rows:
        listed.add_row(*(_as_cell(row[name]) for name in names))
    return listed


def _as_cell(value: Any) -> Text:
    if isinstance(value, float):
        text = f"{value:,.4f}".rstrip("0")
        return Text(f"{text}0" if text.endswith(".") else text)
    return Text("" if value is None else _as_text(value))


def facts(pairs: dict[str, Any], wide: bool = False) -> Table:
    """Return names and values, one pair per line, without ``None``. A digest that does not fit is shortened."""
    if pairs.get("digest"):
        room = stdout().width - max(map(len, pairs)) - 1
        pairs = pairs | {"digest": fitting_digest(pairs["digest"], room, wide)}
    made = Table(box=None, pad_edge=False, show_header=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in pairs.items():
        if value is not None:
            # As plain text: a configuration may contain what rich would take for markup.
            made.add_row(name, Text(_as_text(value)))
    return made


def _as_text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(f"{name}={entry}" for name, entry in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


#: How a strategy searches.
ORDERS = {"bfs": "breadth first", "dfs": "depth first"}


class _Columns(Formatter):
    """Formats columns by fields of a summary and `job`, or else by attributes of the job.

    Besides the usual ones there are the specifications ``order``, ``rows`` and the plural of a noun to count.
    """

    def __init__(self, job: "Job", summary: dict[str, Any]) -> None:
        self._job, self._fields = job, summary | {"job": job}

    def get_value(self, key: int | str, *_: Any) -> Any:
        name = str(key)
        return self._fields[name] if name in self._fields else getattr(self._job, name, None)

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "order":
            return ORDERS[value]
        if format_spec == "rows":
            return str(value.replace("/", "\n"))
        return counted(value, format_spec) if format_spec.isalpha() else super().format_field(value, format_spec)

    def value(self, what: str) -> Any:
        """Return the value of a column; ``None`` if a part of it is unknown."""
        if "{" in what:
            try:
                return self.format(what)
            except TypeError:
                return None
        found = self.get_value(what)
        return "\n".join(found) if isinstance(found, list) else None if found == "" else found


def facts_of(job: "Job", summary: dict[str, Any]) -> dict[str, Any]:
    """Return the results of a run by label; ``None`` stands for an unknown one."""
    columns, found = _Columns(job, summary), {}
    for each in job.facts:
        label, _, what = each.rpartition(": ")
        found[columns.format((label or what).replace("_", " "))] = columns.value(what)
    return found


_FILLED = "▒"
#: Box characters by the lines up, down, left, right that meet in a corner (bits 8, 4, 2, 1).
_CORNERS = "   ─ ┌┐┬ └┘┴│├┤┼"


def framed(board: str, goal: Set[tuple[int, int]] = frozenset()) -> str:
    """Return a board text with a line around every piece, a letter in each piece's first cell, and walls filled.

    The `goal` (`Picture.goal`) has a dashed line; where it is open to outside, there is a gap of the frame.
    """
    rows = board.split("/")
    height, width = len(rows), len(rows[0])

    def at(row: int, column: int) -> str:
        return rows[row][column] if 0 <= row < height and 0 <= column < width else ""

    def edge(solid: str, dashed: str, before: tuple[int, int], here: tuple[int, int]) -> str:
        one, other, aimed = at(*before), at(*here), {before, here} & goal
        if not (one or other) or (len(aimed) == 2 and not (one and other)):
            return ""
        return solid if one != other else dashed if len(aimed) == 1 else ""

    def above(row: int, column: int) -> str:
        return edge("───", "╌╌╌", (row - 1, column), (row, column))

    def beside(row: int, column: int) -> str:
        return edge("│", "╎", (row, column - 1), (row, column))

    def corner(row: int, column: int) -> str:
        lines = (beside(row - 1, column), beside(row, column), above(row, column - 1), above(row, column))
        return _CORNERS[sum(8 >> place for place, line in enumerate(lines) if line)].strip() or fill(row, column)

    def fill(row: int, column: int) -> str:
        return _FILLED if at(row, column) == WALL else " "

    def letter(row: int, column: int) -> str:
        here = at(row, column)
        first = here in LETTERS and here not in "".join(rows[:row]) + rows[row][:column]
        return here if first else fill(row, column)

    lines = []
    for row in range(height + 1):
        edges = (above(row, column) or fill(row, column) * 3 for column in range(width))
        lines.append("".join(corner(row, column) + shown for column, shown in enumerate(edges)) + corner(row, width))
        if row < height:
            sides = (beside(row, column) or fill(row, column) for column in range(width + 1))
            cells = [fill(row, column) + letter(row, column) + fill(row, column) for column in range(width)] + [""]
            lines.append("".join(side + cell for side, cell in zip(sides, cells, strict=True)))
    return "\n".join(lines)
