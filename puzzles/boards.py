"""Boards as text: rows joined by ``/``, a letter per piece, ``.`` for an empty cell.

Canonical letters are given in reading order: the piece met first is A, the next B, and so on. On input any letter may
name any piece; equal letters are one piece.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from puzzles.errors import ConfigurationError

EMPTY = "."
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

#: A cell is row * columns + column.
Cell = int


class Piece(NamedTuple):
    """A rectangle of `height` x `width` cells whose top left cell is (`row`, `column`), counted from 0."""

    row: int
    column: int
    height: int
    width: int

    def cells(self, columns: int) -> list[Cell]:
        """The cells that the piece covers on a board of so many columns, in reading order."""
        return [(self.row + i) * columns + self.column + j for i in range(self.height) for j in range(self.width)]


def parse_rectangles(text: str, rows: int, columns: int) -> dict[str, Piece]:
    """The pieces of a board by their letters, in reading order.

    Raises `ConfigurationError` that names the row of a wrong length or character, or the piece that is no rectangle.
    """
    lines = text.split("/")
    if len(lines) != rows:
        raise ConfigurationError(f"a board has {rows} rows joined by '/', this text has {len(lines)}: {text!r}")
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, line in enumerate(lines):
        if len(line) != columns:
            raise ConfigurationError(f"row {row + 1} {line!r} has {len(line)} cells, expected {columns}")
        for column, letter in enumerate(line):
            if letter == EMPTY:
                continue
            if letter not in LETTERS:
                raise ConfigurationError(f"row {row + 1} {line!r}: {letter!r} is neither a letter nor '{EMPTY}'")
            cells.setdefault(letter, []).append((row, column))
    return {letter: _rectangle(letter, places) for letter, places in cells.items()}


def _rectangle(letter: str, places: list[tuple[int, int]]) -> Piece:
    top, left = min(row for row, _ in places), min(column for _, column in places)
    height = max(row for row, _ in places) - top + 1
    width = max(column for _, column in places) - left + 1
    if height * width != len(places):
        where = ", ".join(f"row {row + 1} column {column + 1}" for row, column in places)
        raise ConfigurationError(f"piece {letter} is no rectangle: its cells are {where}")
    return Piece(top, left, height, width)


def render_pieces(pieces: Iterable[Piece], rows: int, columns: int) -> str:
    """The canonical text of a board with these pieces."""
    board = [EMPTY] * (rows * columns)
    in_reading_order = sorted(pieces, key=lambda piece: (piece.row, piece.column))
    for letter, piece in zip(LETTERS, in_reading_order, strict=False):
        for cell in piece.cells(columns):
            board[cell] = letter
    return "/".join("".join(board[row * columns : (row + 1) * columns]) for row in range(rows))


def describe_steps(path: list[tuple[int, int]]) -> str:
    """A way over (row, column) places in words: ``"down"``, ``"right 2"``, ``"down, left"``."""
    names = {(1, 0): "down", (-1, 0): "up", (0, 1): "right", (0, -1): "left"}
    steps: list[tuple[str, int]] = []
    for (row, column), (next_row, next_column) in pairwise(path):
        name = names[next_row - row, next_column - column]
        if steps and steps[-1][0] == name:
            steps[-1] = (name, steps[-1][1] + 1)
        else:
            steps.append((name, 1))
    return ", ".join(name if count == 1 else f"{name} {count}" for name, count in steps)
