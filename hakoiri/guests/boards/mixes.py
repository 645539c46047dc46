"""Mixes of pieces on a board: the number of each piece, and of empty cells.

``4x5`` is a board of four columns and five rows, ``2x1:3`` three pieces two cells wide and one high, ``2x1:*`` any
number of them, ``2x1:1..3`` one to three. Pieces of other shapes are drawn, row after row: ``xx/x.:2``. ``2`` cells are
empty, or ``2..`` at least two, or ``2..4``.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import Hint, PuzzleError
from hakoiri.puzzles.sliding_blocks.boards import ANYTHING, EMPTY, LETTERS, MOST_CELLS, WALL, parse_board
from hakoiri.puzzles.sliding_blocks.shapes import Shape, extent_of, shape_name, shape_of

_ANY = "*"
#: A cell of a drawn piece.
_DRAWN = "x"
_NO_MIX = "no mix of these pieces fills the board with this many empty cells"
_EXAMPLES = "words such as 2x1:3, 2x1:* or xx/x.:1..2"
#: How often a random mix, or a random board of it, is begun anew; how many pieces are tried for one board, and how
#: many places in a varied one.
_ATTEMPTS, _STEPS, _PUT = 20, 1_000, 100
#: The most choices of numbers of pieces; more would take too long to count.
_MOST_NUMBERS = 100_000


class Extent(NamedTuple):
    """Columns and rows, and the cells that are walls."""

    width: int
    height: int
    walls: frozenset[int] = frozenset()

    @property
    def cells(self) -> int:
        return self.width * self.height

    @property
    def free(self) -> int:
        """The number of cells that are not walls."""
        return self.cells - len(self.walls)

    @classmethod
    def parse(cls, text: str, what: str = "size", example: str = "4x5") -> "Extent":
        """Return the columns and rows of ``4x5``, or of a board such as ``..#/...``; `PuzzleError` for another text."""
        if not text.strip(f"{EMPTY}{WALL}/") and text:
            board = parse_board(text)
            return cls(board.columns, board.rows, board.walls)
        match = re.fullmatch(r"(\d{1,2})x(\d{1,2})", text.strip())
        if not match or not int(match[1]) * int(match[2]):
            raise PuzzleError(f"{what}: {text!r} is not a size; expected columns x rows, such as {example}")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


class Form(NamedTuple):
    """A piece: its text, the extent of its bounding box, and its cells there as (row, column), in reading order."""

    text: str
    extent: Extent
    shape: Shape

    @classmethod
    def parse(cls, text: str, what: str) -> "Form":
        """Return the piece that ``2x1`` or a drawing ``xx/x.`` describes; `PuzzleError` for another text."""
        if text.strip("./x"):
            extent = Extent.parse(text, what, "2x1")
            return cls(str(extent), extent, tuple(product(range(extent.height), range(extent.width))))
        rows = text.split("/")
        cells = {row * len(rows[0]) + column for row, line in enumerate(rows) for column, cell in enumerate(line)
                 if cell == _DRAWN}  # fmt: skip
        if not cells or len({*map(len, rows)}) > 1:
            raise PuzzleError(
                f"{what}: {text!r} is not a piece; expected columns x rows, or rows of x and . such as xx/x."
            )
        shape = shape_of(cells, len(rows[0]))
        height, width = extent_of(shape)
        if len(shape) == height * width:
            return cls.parse(f"{width}x{height}", what)
        board = ["".join("A" if (row, column) in shape else EMPTY for column in range(width)) for row in range(height)]
        parse_board("/".join(board))
        return cls(shape_name(shape), Extent(width, height), shape)

    def __str__(self) -> str:
        return self.text

    def cells(self, size: Extent, first: int) -> list[int]:
        """Return the cells of the piece whose first cell is `first` on a board of `size`; empty if it does not fit."""
        row, column = divmod(first, size.width)
        left = column - self.shape[0][1]
        if left < 0 or left + self.extent.width > size.width or row + self.extent.height > size.height:
            return []
        cells = [(row + down) * size.width + left + right for down, right in self.shape]
        return cells if size.walls.isdisjoint(cells) else []


#: Each piece with its number.
Pieces = tuple[tuple[Form, int], ...]


@dataclass(frozen=True)
class Mix:
    """The number of each of the pieces, the numbers of empty cells and of configurations, and one configuration."""

    pieces: Pieces
    empty: int
    configurations: int
    board: str

    def __str__(self) -> str:
        return " ".join(f"{form}:{count}" for form, count in self.pieces)


@dataclass(frozen=True)
class Boards:
    """All mixes of some pieces on a board, within bounds for the number of each piece and of empty cells."""

    size: Extent
    pieces: tuple[tuple[Form, int, int], ...]
    least_empty: int
    most_empty: int

    @classmethod
    def parse(cls, size: str, pieces: str, empty: str) -> "Boards":
        """Return the boards that three texts describe; `PuzzleError` for a malformed one."""
        board = Extent.parse(size)
        if board.free > MOST_CELLS:
            raise PuzzleError(f"size {size} is above the limit of {MOST_CELLS} free cells")
        wanted: list[tuple[Form, int, int]] = []
        for word in pieces.split():
            text, colon, count = word.partition(":")
            form = Form.parse(text, f"pieces {word}")
            if not colon:
                raise PuzzleError(f"pieces {word} are malformed; expected {_EXAMPLES}")
            if form in (known for known, *_ in wanted):
                raise PuzzleError(f"pieces {word}: {form} is given twice")
            most = board.free // len(form.shape)
            wanted.append(
                (form, *((0, most) if count == _ANY else _bounds(count, most, f"pieces {word} are", _EXAMPLES)))
            )
        if not wanted:
            raise PuzzleError(f"no pieces are given; expected {_EXAMPLES}")
        range_of = _bounds(empty, board.free, f"empty {empty} is", "a number or range such as 2, 2.. or 2..4")
        return cls(board, tuple(wanted), *range_of)

    def random(self, words: Iterator[int], fitted: bool = True) -> tuple[Pieces, str]:
        """Return a random mix and a random board of it; an empty text if no board was found in some attempts.

        A number of pieces is `fitted` to the cells that those before have left, beginning with any of the pieces.
        """
        pieces: Pieces = ()
        for _ in range(_ATTEMPTS):
            turn = next(words) % len(self.pieces) if fitted else 0
            left = self.size.free - self.least_empty - sum(least * len(form.shape) for form, least, _ in self.pieces)
            counts = {}
            for form, least, most in self.pieces[turn:] + self.pieces[:turn]:
                more = min(most - least, max(left, 0) // len(form.shape)) if fitted else most - least
                counts[form] = least + next(words) % (more + 1)
                left -= (counts[form] - least) * len(form.shape)
            pieces = tuple((form, counts[form]) for form, *_ in self.pieces)
            empty = self.size.free - sum(len(form.shape) * count for form, count in pieces)
            if self.least_empty <= empty <= self.most_empty and (board := board_of(self.size, pieces, empty, words)):
                return pieces, board
        return pieces, ""

    def varied(self, board: str, words: Iterator[int]) -> tuple[Pieces, str]:
        """Return a random board with all but one or two pieces of a board, and its mix; an empty text if none is found.

        Others of the pieces, or the same, are put anywhere in place of these.
        """
        standing = list(parse_board(board).pieces.values())
        for _ in range(_ATTEMPTS):
            rest = list(standing)
            for _ in range(1 + next(words) % min(2, len(rest))):
                rest.pop(next(words) % len(rest))
            for _ in range(_PUT):
                form, cell = (next(words) % number for number in (len(self.pieces), self.size.cells))
                cells = frozenset(self.pieces[form][0].cells(self.size, cell))
                if not cells or any(cells & other for other in rest):
                    continue
                rest.append(cells)
                counts = Counter(shape_of(each, self.size.width) for each in rest)
                pieces = tuple((form, counts[form.shape]) for form, *_ in self.pieces)
                empty = self.size.free - sum(map(len, rest))
                fits = all(least <= counts[form.shape] <= most for form, least, most in self.pieces)
                fits = fits and self.least_empty <= empty <= self.most_empty and set(rest) != set(standing)
                if fits and next(words) % 2:
                    return pieces, _drawn(self.size, rest)
        return (), ""

    def mixes(self) -> list[Mix]:
        """Every mix that fits on the board, in the order of its numbers; `PuzzleError` for none or too many."""
        if prod(most + 1 for _, _, most in self.pieces) > _MOST_NUMBERS:
            raise PuzzleError("too many mixes; give the numbers of more pieces")
        found, left = [], set()
        for counts, configurations in sorted(configurations_of(self).items()):
            pieces = tuple((form, count) for (form, *_), count in zip(self.pieces, counts, strict=True))
            empty = self.size.free - sum(len(form.shape) * count for form, count in pieces)
            if not any(counts) or any(count < least for count, (_, least, _) in zip(counts, self.pieces, strict=True)):
                continue
            left.add(empty)
            if self.least_empty <= empty <= self.most_empty:
                found.append(Mix(pieces, empty, configurations, board_of(self.size, pieces, empty)))
        if not found and left:
            some = f"{min(left)}" if len(left) == 1 else f"{min(left)}..{max(left)}"
            raise PuzzleError(f"{_NO_MIX}: they leave {some}", Hint("give", "empty", some))
        if not found:
            raise PuzzleError(_NO_MIX)
        return found


def configurations_of(boards: Boards) -> dict[tuple[int, ...], int]:
    """Return the number of configurations of each mix, by its numbers of pieces: counted cell by cell, all at once.

    A state is the set of covered cells ahead; each has an array of ways by numbers of pieces.
    """
    found = _ways(boards, np.float64)
    if found.max() >= 1 << 53:
        # Beyond that, floats have gaps. Python's integers take seven times as long (6x6, four kinds of pieces).
        found = _ways(boards, object)
    return {tuple(map(int, counts)): int(found[tuple(counts)]) for counts in np.argwhere(found)}


def _ways(boards: Boards, dtype: type) -> NDArray[Any]:
    """Return an array of the ways to fill the board, by numbers of pieces."""
    limits = [most for _, _, most in boards.pieces]
    nothing: NDArray[Any] = np.zeros([most + 1 for most in limits], dtype)
    nothing[(0,) * len(limits)] = 1
    states = {sum(1 << cell for cell in boards.size.walls): nothing}
    for cell in range(boards.size.cells):
        after = defaultdict[int, NDArray[Any]](partial(np.zeros, nothing.shape, dtype))
        for covered, ways in states.items():
            after[covered >> 1] += ways
            for kind, (form, *_) in enumerate(boards.pieces) if not covered & 1 else ():
                mask = sum(1 << each - cell for each in form.cells(boards.size, cell))
                if mask and not mask & covered:
                    # With one more piece of this kind.
                    np.moveaxis(after[(covered | mask) >> 1], kind, 0)[1:] += np.moveaxis(ways, kind, 0)[:-1]
        states = dict(after)
    return states[0]


def board_of(size: Extent, pieces: Pieces, empty: int, words: Iterator[int] | None = None) -> str:
    """Return a board of these pieces; empty if they do not fit.

    Without random `words` it is the first in reading order, the larger pieces first; with them any, or an empty text if
    none is found soon.
    """
    board, left, steps = [WALL if cell in size.walls else "" for cell in range(size.cells)], dict(pieces), 0
    order = sorted(left, key=lambda form: (-len(form.shape), form.extent, form.shape))

    def filled(blanks: int) -> bool:
        nonlocal steps
        steps += 1
        if "" not in board:
            return True
        if words is not None and steps > _STEPS:
            return False
        cell = board.index("")
        forms: list[Form | None] = [*order, None]
        if words is not None:
            # The pieces that are left, and blanks, in random order: the frequent tend to be first.
            forms = [form for form, count in left.items() for _ in range(count)] + [None] * blanks
            for place in range(len(forms) - 1, 0, -1):
                other = next(words) % (place + 1)
                forms[place], forms[other] = forms[other], forms[place]
        for form in dict.fromkeys(forms):
            cells = ([cell] if blanks else []) if form is None else form.cells(size, cell) if left[form] else []
            if not cells or any(board[each] for each in cells):
                continue
            if form is not None:
                left[form] -= 1
            for each in cells:
                board[each] = EMPTY if form is None else ANYTHING + str(cell)
            if filled(blanks - (form is None)):
                return True
            if form is not None:
                left[form] += 1
            for each in cells:
                board[each] = ""
        return False

    if not filled(empty):
        return ""
    places: dict[str, set[int]] = {}
    for cell, mark in enumerate(board):
        places.setdefault(mark, set()).add(cell)
    return _drawn(size, [cells for mark, cells in places.items() if mark not in (EMPTY, WALL)])


def _drawn(size: Extent, pieces: Collection[Collection[int]]) -> str:
    """Return a board of pieces, by their cells, which are named in reading order; empty if letters do not suffice."""
    if len(pieces) > len(LETTERS):
        return ""
    marks = {cell: letter for letter, cells in zip(LETTERS, sorted(pieces, key=min), strict=False) for cell in cells}
    marks |= dict.fromkeys(size.walls, WALL)
    text = "".join(marks.get(cell, EMPTY) for cell in range(size.cells))
    return "/".join(text[begin : begin + size.width] for begin in range(0, len(text), size.width))


def in_reading_order(text: str) -> str:
    """Return a board with its pieces named `LETTERS` in the order in which they are read."""
    pieces = dict.fromkeys(each for each in text if each in LETTERS)
    return text.translate(str.maketrans("".join(pieces), LETTERS[: len(pieces)]))


def goal_of(size: Extent, pieces: Pieces, goal: str) -> str:
    """Return ``2x2@4,2``, a piece at row 4, column 2, as a goal board of a mix; empty if the mix has no such piece.

    `PuzzleError` for a malformed text, or a place where the piece does not fit.
    """
    match = re.fullmatch(r"(\d+x\d+|[x./]+)@(\d+),(\d+)", goal)
    if not match:
        raise PuzzleError(f"goal {goal} is malformed; expected PIECE@ROW,COLUMN, such as 2x2@4,2")
    form, row, column = Form.parse(match[1], f"goal {goal}"), int(match[2]) - 1, int(match[3]) - 1
    first = row * size.width + column + form.shape[0][1]
    cells = form.cells(size, first) if 0 <= column < size.width and 0 <= row < size.height else []
    if not cells or column + form.extent.width > size.width:
        raise PuzzleError(f"goal {goal} does not fit on a board of {size}")
    if not dict(pieces).get(form):
        return ""
    text = "".join("A" if cell in cells else ANYTHING for cell in range(size.cells))
    return "/".join(text[begin : begin + size.width] for begin in range(0, len(text), size.width))


def _bounds(text: str, most: int, what: str, expected: str) -> tuple[int, int]:
    match = re.fullmatch(r"\s*(\d{1,2})\s*(\.\.\s*(\d{1,2})?\s*)?", text)
    if not match or (match[3] and int(match[3]) < int(match[1])):
        raise PuzzleError(f"{what} malformed; expected {expected}")
    return int(match[1]), int(match[3]) if match[3] else most if match[2] else int(match[1])
