"""Boards of pieces as text for people, with a line around every piece."""

from hakoiri.puzzles.sliding_blocks.boards import LETTERS, WALL

_FILLED = "▒"
#: Box characters by the lines up, down, left, right that meet in a corner (bits 8, 4, 2, 1).
_CORNERS = "   ─ ┌┐┬ └┘┴│├┤┼"


def framed(board: str) -> str:
    """Return a board text with a line around every piece, a letter in each piece's first cell, and walls filled."""
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
        return _CORNERS[sum(8 >> place for place, line in enumerate(lines) if line)].strip() or fill(row, column)

    def fill(row: int, column: int) -> str:
        return _FILLED if at(row, column) == WALL else " "

    def letter(row: int, column: int) -> str:
        here = at(row, column)
        first = here in LETTERS and here not in "".join(rows[:row]) + rows[row][:column]
        return here if first else fill(row, column)

    lines = []
    for row in range(height + 1):
        edges = ("───" if above(row, column) else fill(row, column) * 3 for column in range(width))
        lines.append("".join(corner(row, column) + edge for column, edge in enumerate(edges)) + corner(row, width))
        if row < height:
            sides = ("│" if beside(row, column) else fill(row, column) for column in range(width + 1))
            cells = [fill(row, column) + letter(row, column) + fill(row, column) for column in range(width)] + [""]
            lines.append("".join(side + cell for side, cell in zip(sides, cells, strict=True)))
    return "\n".join(lines)
