"""Boards for people: framed when there is one, small, coloured and side by side when there are many."""

from rich.console import Console
from rich.text import Text

from puzzles.boards import EMPTY

#: Colours by how many cells a piece has, so that a shape is known at a glance.
_STYLES = {1: "black on yellow", 2: "black on cyan", 4: "white on red"}
_OTHER = "black on green"
#: Box characters by which of the lines up, down, left, right meet in a corner (bits 8, 4, 2, 1).
_CORNERS = "   ─ ┌┐┬ └┘┴│├┤┼"


def framed(board: str) -> str:
    """A board text with a line around every piece, a letter in each piece's first cell."""
    rows = board.split("/")
    height, width = len(rows), len(rows[0])

    def at(row: int, column: int) -> str:
        return rows[row][column] if 0 <= row < height and 0 <= column < width else ""

    def above(row: int, column: int) -> bool:
        return at(row - 1, column) != at(row, column)

    def beside(row: int, column: int) -> bool:
        return at(row, column - 1) != at(row, column)

    def corner(row: int, column: int) -> str:
        lines = (beside(row - 1, column), beside(row, column), above(row, column - 1), above(row, column))
        return _CORNERS[sum(8 >> place for place, line in enumerate(lines) if line)]

    def letter(row: int, column: int) -> str:
        first = above(row, column) and beside(row, column) and at(row, column) != EMPTY
        return at(row, column) if first else " "

    lines = []
    for row in range(height + 1):
        edges = ("───" if above(row, column) else "   " for column in range(width))
        lines.append("".join(corner(row, column) + edge for column, edge in enumerate(edges)) + corner(row, width))
        if row < height:
            walls = ("│" if beside(row, column) else " " for column in range(width + 1))
            cells = [f" {letter(row, column)} " for column in range(width)] + [""]
            lines.append("".join(wall + cell for wall, cell in zip(walls, cells, strict=True)))
    return "\n".join(lines)


def print_side_by_side(console: Console, boards: list[str], titles: list[str]) -> None:
    """Small boards under their titles, as many in a row as the console is wide."""
    width = 2 + max(len(line) for line in [*titles, *(board.split("/")[0] for board in boards)])
    per_row = max(1, console.width // width)
    for begin in range(0, len(boards), per_row):
        group = [board.split("/") for board in boards[begin : begin + per_row]]
        console.print("".join(title.ljust(width) for title in titles[begin : begin + per_row]).rstrip(), style="bold")
        for line in range(len(group[0])):
            text = Text()
            for board in group:
                text.append(_coloured(board, line)).append(" " * (width - len(board[line])))
            text.rstrip()
            console.print(text)
        console.print()


def _coloured(board: list[str], line: int) -> Text:
    sizes = {letter: sum(row.count(letter) for row in board) for letter in set(board[line])}
    text = Text()
    for letter in board[line]:
        text.append(letter, style="dim" if letter == EMPTY else _STYLES.get(sizes[letter], _OTHER))
    return text
