"""Mixes of rectangular pieces on a board: the number of each piece, and of empty cells.

``4x5`` is a board of four columns and five rows, ``2x1:3`` three pieces two cells wide and one high, ``2x1:*`` any
number of them. ``2`` cells are empty, or ``2..`` at least two, or ``2..4``.
"""

import re
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, EMPTY, LETTERS, MOST_CELLS

_ANY = "*"
#: The most choices of numbers of pieces; more would take too long to count.
_MOST_NUMBERS = 100_000


class Extent(NamedTuple):
    """Columns and rows."""

    width: int
    height: int

    @property
    def cells(self) -> int:
        return self.width * self.height

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


@dataclass(frozen=True)
class Mix:
    """The number of pieces of each extent, the numbers of empty cells and of configurations, and one configuration."""

    pieces: tuple[tuple[Extent, int], ...]
    empty: int
    configurations: int
    board: str

    def __str__(self) -> str:
        return " ".join(f"{extent}:{count}" for extent, count in self.pieces)


@dataclass(frozen=True)
class Boards:
    """All mixes of some pieces on a board, within bounds for the number of each extent and of empty cells."""

    size: Extent
    pieces: tuple[tuple[Extent, int, int], ...]
    least_empty: int
    most_empty: int

    @classmethod
    def parse(cls, size: str, pieces: str, empty: str) -> "Boards":
        """Return the boards that three texts describe; `PuzzleError` for a malformed one."""
        board = _extent(size, "size", "4x5")
        if board.cells > MOST_CELLS:
            raise PuzzleError(f"size {size} is above the limit of {MOST_CELLS} cells")
        wanted: list[tuple[Extent, int, int]] = []
        for word in pieces.split():
            text, colon, count = word.partition(":")
            extent = _extent(text, f"pieces {word}", "2x1:3 or 2x1:*")
            if not colon or not (count == _ANY or count.isdigit()):
                raise PuzzleError(f"pieces {word} are malformed; expected words such as 2x1:3 or 2x1:*")
            if extent in (known for known, *_ in wanted):
                raise PuzzleError(f"pieces {word}: {extent} is given twice")
            most = board.cells // extent.cells if count == _ANY else int(count)
            wanted.append((extent, 0 if count == _ANY else most, most))
        if not wanted:
            raise PuzzleError("no pieces are given; expected words such as 2x1:3 or 2x1:*")
        return cls(board, tuple(wanted), *_bounds(empty, board.cells))

    def mixes(self) -> list[Mix]:
        """Every mix that fits on the board, in the order of its numbers; `PuzzleError` for none or too many."""
        if prod(most + 1 for _, _, most in self.pieces) > _MOST_NUMBERS:
            raise PuzzleError("too many mixes; give the numbers of more pieces")
        found = []
        for counts, configurations in sorted(configurations_of(self).items()):
            pieces = tuple((extent, count) for (extent, *_), count in zip(self.pieces, counts, strict=True))
            empty = self.size.cells - sum(extent.cells * count for extent, count in pieces)
            enough = all(count >= least for count, (_, least, _) in zip(counts, self.pieces, strict=True))
            if self.least_empty <= empty <= self.most_empty and enough and any(counts):
                found.append(Mix(pieces, empty, configurations, board_of(self.size, pieces, empty)))
        if not found:
            raise PuzzleError("no mix of these pieces fills the board with this many empty cells")
        return found


def configurations_of(boards: Boards) -> dict[tuple[int, ...], int]:
    """Return the number of configurations of each mix, by its numbers of pieces: counted cell by cell, all at once.

    A state is the set of covered cells ahead; each has an array of ways by numbers of pieces.
    """
    limits = [most for _, _, most in boards.pieces]
    nothing = np.zeros([most + 1 for most in limits])
    nothing[(0,) * len(limits)] = 1
    states = {0: nothing}
    for cell in range(boards.size.cells):
        after: dict[int, NDArray[np.float64]] = {}
        for covered, ways in states.items():
            _add(after, covered >> 1, ways)
            for kind, (extent, *_) in enumerate(boards.pieces) if not covered & 1 else ():
                mask = sum(1 << each - cell for each in _cells(boards.size, extent, cell))
                if mask and not mask & covered:
                    _add(after, (covered | mask) >> 1, _one_more(ways, kind))
        states = after
    found = states[0]
    return {tuple(map(int, counts)): round(found[tuple(counts)]) for counts in np.argwhere(found)}


def _add(states: dict[int, NDArray[np.float64]], state: int, ways: NDArray[np.float64]) -> None:
    states[state] = states[state] + ways if state in states else ways


def _one_more(ways: NDArray[np.float64], kind: int) -> NDArray[np.float64]:
    """Return the ways with one more piece of a kind."""
    moved = np.zeros_like(ways)
    ahead = [slice(None)] * ways.ndim
    behind = ahead.copy()
    ahead[kind], behind[kind] = slice(1, None), slice(None, -1)
    moved[tuple(ahead)] = ways[tuple(behind)]
    return moved


def board_of(size: Extent, pieces: tuple[tuple[Extent, int], ...], empty: int) -> str:
    """Return the first board of these pieces in reading order, the larger ones first; empty if they do not fit."""
    board, left = [""] * size.cells, dict(pieces)
    order = sorted(left, key=lambda extent: (-extent.cells, extent))
    letters = iter(LETTERS)

    def filled(blanks: int) -> bool:
        if "" not in board:
            return True
        cell = board.index("")
        for extent in order:
            cells = _cells(size, extent, cell) if left[extent] else []
            if cells and not any(board[each] for each in cells):
                left[extent] -= 1
                for each in cells:
                    board[each] = ANYTHING + str(cell)
                if filled(blanks):
                    return True
                left[extent] += 1
                for each in cells:
                    board[each] = ""
        if blanks:
            board[cell] = EMPTY
            if filled(blanks - 1):
                return True
            board[cell] = ""
        return False

    if not filled(empty):
        return ""
    named = {mark: EMPTY if mark == EMPTY else next(letters) for mark in dict.fromkeys(board)}
    text = "".join(named[mark] for mark in board)
    return "/".join(text[begin : begin + size.width] for begin in range(0, len(text), size.width))


def goal_of(size: Extent, mix: Mix, goal: str) -> str:
    """Return ``2x2@4,2``, a piece at row 4, column 2, as a goal board of a mix; empty if the mix has no such piece.

    `PuzzleError` for a malformed text, or a place where the piece does not fit.
    """
    match = re.fullmatch(r"(\d+x\d+)@(\d+),(\d+)", goal)
    if not match:
        raise PuzzleError(f"goal {goal} is malformed; expected PIECE@ROW,COLUMN, such as 2x2@4,2")
    extent, row, column = _extent(match[1], "goal", "2x2@4,2"), int(match[2]) - 1, int(match[3]) - 1
    cells = _cells(size, extent, row * size.width + column) if column < size.width and row < size.height else []
    if not cells or min(row, column) < 0:
        raise PuzzleError(f"goal {goal} does not fit on a board of {size}")
    if not dict(mix.pieces).get(extent):
        return ""
    text = "".join("A" if cell in cells else ANYTHING for cell in range(size.cells))
    return "/".join(text[begin : begin + size.width] for begin in range(0, len(text), size.width))


def _cells(size: Extent, extent: Extent, first: int) -> list[int]:
    """Return the cells of a piece whose upper left cell is `first`; empty if it does not fit."""
    row, column = divmod(first, size.width)
    if row + extent.height > size.height or column + extent.width > size.width:
        return []
    return [first + down * size.width + right for down in range(extent.height) for right in range(extent.width)]


def _extent(text: str, what: str, example: str) -> Extent:
    match = re.fullmatch(r"(\d{1,2})x(\d{1,2})", text.strip())
    if not match or not int(match[1]) * int(match[2]):
        raise PuzzleError(f"{what}: {text!r} is not a size; expected columns x rows, such as {example}")
    return Extent(int(match[1]), int(match[2]))


def _bounds(text: str, most: int) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,2})\s*(\.\.\s*(\d{1,2})?\s*)?", text)
    if not match or (match[3] and int(match[3]) < int(match[1])):
        raise PuzzleError(f"empty {text} is malformed; expected a number or range such as 2, 2.. or 2..4")
    return int(match[1]), int(match[3]) if match[3] else most if match[2] else int(match[1])
