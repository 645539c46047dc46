"""Pictures on a terminal: characters on coloured background, small ones side by side."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from rich.console import Console
from rich.text import Text

from hakoiri.puzzles.capabilities import Family
from hakoiri.puzzles.errors import counted
from hakoiri.puzzles.nakuron.board import Board
from hakoiri.puzzles.nakuron.drawing import COLOURS, draw_board, framed_rows
from hakoiri.puzzles.pictures.colours import ink
from hakoiri.puzzles.pictures.shapes import Picture, Span
from hakoiri.puzzles.sliding_blocks.boards import WALL
from hakoiri.render.boards import framed

#: Brightness of red, green and blue on a terminal of 256 colours.
_LEVELS = (0, 95, 135, 175, 215, 255)
#: Background colours of a terminal of 16 colours, with contrast between neighbours.
_SIXTEEN = (
    "yellow", "bright_cyan", "green", "bright_yellow", "magenta", "red", "blue", "bright_green", "bright_magenta",
    "white", "bright_red", "bright_black", "cyan", "bright_blue", "bright_white",
)  # fmt: skip
#: The colours of a terminal of 256 colours by number, without the greys at the end.
_CUBE = {
    16 + 36 * red + 6 * green + blue: f"#{_LEVELS[red]:02x}{_LEVELS[green]:02x}{_LEVELS[blue]:02x}"
    for red, green, blue in product(range(6), repeat=3)
}


def print_nakuron(console: Console, board: Board) -> None:
    """Print a board with its frame: digits on colours if two characters per cell fit, else blocks.

    A block is two cells, one above the other.
    """
    lines = framed_rows(board)
    if 2 * len(lines) <= max(console.width, 80):
        print_picture(console, board.text(), draw_board(board))
        return
    for upper, lower in zip(lines[::2], [*lines[1::2], ""], strict=False):
        text = Text(no_wrap=True)
        for above, below in zip(upper, lower.ljust(len(upper), " "), strict=True):
            ground = f" on {COLOURS[int(below)]}" if below != " " else ""
            text.append("▀", COLOURS[int(above)] + ground)
        console.print(text, soft_wrap=True)


class _Paint:
    """Styles for the colours of given pictures."""

    def __init__(self, console: Console, pictures: Sequence[Picture]) -> None:
        fills = dict.fromkeys(span.fill for picture in pictures for row in picture.rows for span in row if span.fill)
        self._styles = dict(zip(fills, _styles(list(fills), console.color_system), strict=True))

    def text(self, span: Span) -> Text:
        return Text(span.text, self.style(span.fill))

    def style(self, fill: str) -> str:
        """Return the style of this background; empty for none."""
        return self._styles.get(fill, "")


def _styles(fills: Sequence[str], system: str | None) -> list[str]:
    """Return a style for each colour, all different while the terminal has colours left."""
    if system in ("standard", "windows"):
        return [f"black on {_SIXTEEN[number % len(_SIXTEEN)]}" for number in range(len(fills))]
    if system != "256":
        return [f"{ink(fill)} on {fill}" for fill in fills]
    left, found = set(_CUBE), []
    for fill in fills:
        nearest = min(sorted(left or _CUBE), key=lambda number: _distance(_CUBE[number], fill))
        left.discard(nearest)
        found.append(f"{ink(_CUBE[nearest])} on color({nearest})")
    return found


def _distance(one: str, other: str) -> int:
    """Return the squared distance of two colours in red, green and blue."""
    parts = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
    return sum((first - second) ** 2 for first, second in parts)


def print_picture(console: Console, text: str, picture: Picture) -> None:
    """Print one configuration, large: with a line around every piece if the rows of its picture are `boxed`."""
    paint = _Paint(console, [picture])
    if picture.boxed:
        for number, line in enumerate(framed(text).splitlines()):
            console.print(_coloured(line, number, picture, paint))
        return
    spaced = "/" in text and " " not in text
    spans = picture.rows or [[Span(" ".join(row) if spaced else row)] for row in text.replace(WALL, " ").split("/")]
    for row in spans:
        console.print(Text().join(map(paint.text, row)), no_wrap=True, overflow="ignore", crop=False)


def _coloured(line: str, number: int, picture: Picture, paint: "_Paint") -> Text:
    """Return a line of a framed board, all except its lines on the colour of the cell there."""
    text = Text(line)
    for place, character in enumerate(line):
        if character == " " or character.isalnum():
            span = picture.rows[(number - 1) // 2][(place - 1) // 4]
            text.stylize(paint.style(span.fill), place, place + 1)
    return text


def print_boards(console: Console, family: Family, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print boards to play (`coordinator.session.job.Job.boards`) under their names, or else ranks, and moves."""
    puzzles = [family.member(row["board"], row["goal"]) for row in rows]
    titles = [f"{row.get('name') or rank}: {counted(row['moves'], 'moves')}" for rank, row in enumerate(rows, 1)]
    pictures = [puzzle.picture(puzzle.start) for puzzle in puzzles]
    print_side_by_side(console, [row["board"] for row in rows], titles, pictures)


def print_side_by_side(
    console: Console, texts: Sequence[str], titles: Sequence[str], pictures: Sequence[Picture]
) -> None:
    """Print configurations under their titles, as many per row as fit the console."""
    paint = _Paint(console, pictures)
    drawn = zip(texts, pictures, strict=True)
    boards = [list(picture.rows or ([Span(row)] for row in text.split("/"))) for text, picture in drawn]
    width = 2 + max(*map(len, titles), *(_length(row) for board in boards for row in board))
    per_row = max(1, console.width // width)
    for begin in range(0, len(boards), per_row):
        group = boards[begin : begin + per_row]
        console.print(Text("".join(title.ljust(width) for title in titles[begin : begin + per_row]).rstrip(), "bold"))
        for line in range(max(map(len, group))):
            row = Text()
            for board in group:
                spans = board[line] if line < len(board) else ()
                row.append(Text().join(map(paint.text, spans))).append(" " * (width - _length(spans)))
            row.rstrip()
            console.print(row)
        console.print()


def _length(spans: Sequence[Span]) -> int:
    return sum(len(span.text) for span in spans)
