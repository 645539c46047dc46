"""Peg solitaire on the English board of 33 cells.

A key has a bit for each cell in reading order, the first cell in the lowest bit: 1 is a peg. A text has seven rows of
seven characters, ``*`` a peg, ``.`` a hole, ``#`` no cell; the usual start is
``##***##/##***##/*******/***.***/*******/##***##/##***##``. In words the columns are a to g and the rows 1 to 7 from
the top: that hole is d4.
"""

from collections.abc import Mapping
from functools import partial
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit, popcount
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import U64, Counts, Field, Fields, Key, Keys, Mask
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import OVERFLOW, Expansion, Matching
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.pictures import BED, EDGE, GROUND, Circle, Part, Picture, Rectangle
from hakoiri.puzzles.texts import rows_in

_Cell = tuple[int, int]
#: A peg's cell, the cell that it jumps over, and the cell where it lands.
_Jump = tuple[_Cell, _Cell, _Cell]
_Table = NDArray[np.int64]

_SIDE = 7
_CELLS = [(row, column) for row in range(_SIDE) for column in range(_SIDE) if 2 <= row <= 4 or 2 <= column <= 4]
_NUMBER = {cell: number for number, cell in enumerate(_CELLS)}
_FULL = (1 << len(_CELLS)) - 1
_CENTRE = 1 << _NUMBER[3, 3]
#: Pixels of a cell, and the colours of a picture.
_CELL, _PEG = 40, "#0072b2"
#: The meanings of the marks of a text.
_MARKS = {"*": "a peg", ".": "a hole", "#": "no cell", "?": "anything"}


#: The image of every cell under each symmetry of the board: first the identity, second the flip.
_SYMMETRIES: list[dict[_Cell, _Cell]] = []
_targets = _CELLS
for _ in range(4):
    _SYMMETRIES += [dict(zip(_CELLS, cells, strict=True)) for cells in (_targets, [cell[::-1] for cell in _targets])]
    # A quarter turn clockwise.
    _targets = [(column, _SIDE - 1 - row) for row, column in _targets]
#: All 76 jumps, in reading order of the cells where they begin.
_JUMPS: list[_Jump] = [
    ((row, column), (row + down, column + right), (row + 2 * down, column + 2 * right))
    for row, column in _CELLS
    for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1))
    if (row + 2 * down, column + 2 * right) in _NUMBER
]


class PegSolitaire(Reversible):
    """A peg jumps over its neighbour into a hole, and the neighbour is taken away. The goal is one peg in the middle.

    Option `symmetry`: by ``on`` a configuration stands for all its turned and mirrored images too, and its key is the
    least of theirs.
    """

    name = "peg-solitaire"
    summary = "peg solitaire, English board; symmetry on: turned and mirrored boards count as one"
    goal_summary = "one peg, in the middle"
    options = {"symmetry": Choice(("on", "off"))}
    layout, fields = U64, Fields.of(U64, [Field(0, len(_CELLS), _FULL + 1)])
    undirected = False
    # The most jumps that any of the 2^33 boards has; a test finds it row by row.
    most_successors = most_predecessors = 26

    def prepare(self, start: str | None) -> None:
        self._merged = self.parameters["symmetry"] == "on"
        self.unmerged = PegSolitaire({"symmetry": "off"}) if self._merged else None

    def usual_start(self) -> Key:
        return _FULL ^ _CENTRE

    def is_goal(self, keys: Keys) -> Mask:
        """One peg is left, in the middle."""
        return np.asarray(keys == _CENTRE)

    def expand(self, keys: Keys) -> Expansion:
        return self._jumped(keys, holes=0)

    def unmove(self, keys: Keys) -> Expansion:
        """A jump backwards is a jump of holes."""
        return self._jumped(keys, holes=_FULL)

    def _jumped(self, keys: Keys, holes: int) -> Expansion:
        return self.expansion(keys, self.most_successors, partial(_expand_keys, keys, holes, self._merged))

    def successors(self, key: Key) -> list[Key]:
        return [self._key_of(after) for _, after in _moves(_unpack(key))]

    def predecessors(self, key: Key) -> list[Key]:
        # A jump backwards is a jump of holes.
        return [self._key_of({*_CELLS} - holes) for _, holes in _moves({*_CELLS} - _unpack(key))]

    def check_key(self, key: Key) -> None:
        if not 0 <= key <= _FULL:
            raise ConfigurationError(f"{key:#x} has more bits than the board has cells, {len(_CELLS)}")
        least = self._key_of(_unpack(key))
        if least != key:
            raise ConfigurationError(
                f"{key:#x} is a mirror image of {least:#x}; with symmetry=on only the least image is a key"
            )

    def parse_text(self, text: str) -> Key:
        return self._key_of({cell for cell, mark in self._read(text, "*.").items() if mark == "*"})

    def match(self, pattern: str) -> Matching:
        """Match a pattern in which ``?`` is anything, because ``*`` is a peg."""
        marks = self._read(pattern, "*.?")
        # By ``symmetry=on`` a board stands for all its images: it will do if one of them is like the pattern.
        asked = [
            [sum(1 << _NUMBER[image[cell]] for cell, mark in marks.items() if mark in which) for which in ("*.", "*")]
            for image in (_SYMMETRIES if self._merged else _SYMMETRIES[:1])
        ]
        return lambda keys: np.logical_or.reduce([keys & np.uint64(cells) == pegs for cells, pegs in asked])

    def _read(self, text: str, marks: str) -> dict[_Cell, str]:
        """Return the character on each cell of a text, one of `marks`."""
        found = {}
        for row, characters in enumerate(row for _, row in rows_in(text, _SIDE, _SIDE)):
            for column, character in enumerate(characters):
                if (row, column) in _NUMBER:
                    found[row, column] = character
                allowed = marks if (row, column) in _NUMBER else f"#{marks[2:]}"
                if character not in allowed:
                    wanted = " or ".join(f"{mark!r} ({_MARKS[mark]})" for mark in allowed)
                    where = f"row {row + 1} column {column + 1}"
                    raise ConfigurationError(f"{where} is {character!r}, expected {wanted}")
        return found

    def render(self, key: Key) -> str:
        return self._text(_unpack(key))

    def render_path(self, path: list[Key]) -> list[str]:
        return [self._text(set(pegs.values())) for pegs in self._lifted(path)]

    def describe_moves(self, path: list[Key]) -> list[str]:
        """The jumps on the boards of `render_path`."""
        jumps = []
        for board, later in pairwise(self._lifted(path)):
            (jump,) = [(begin, later[name]) for name, begin in board.items() if later.get(name, begin) != begin]
            jumps.append(f"{_name(jump[0])} jumps to {_name(jump[1])}")
        return jumps

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [_draw(pegs) for pegs in self._lifted(path)]

    def _lifted(self, path: list[Key]) -> list[dict[str, _Cell]]:
        """Return each peg's cell, by the name of its first cell: boards that follow each other by jumps, not turns.

        What no jump leads to, two boards side by side for example, stands as its key says.
        """
        found: list[dict[str, _Cell]] = []
        for key in path:
            before = found[-1] if found else {}
            for (begin, over, end), pegs in _moves(set(before.values())):
                if self._key_of(pegs) == key:
                    there = {name: end if cell == begin else cell for name, cell in before.items() if cell != over}
                    break
            else:
                there = {_name(cell): cell for cell in sorted(_unpack(key))}
            found.append(there)
        return found

    @staticmethod
    def _text(pegs: set[_Cell]) -> str:
        marks = {cell: "*" if cell in pegs else "." for cell in _CELLS}
        return "/".join("".join(marks.get((row, column), "#") for column in range(_SIDE)) for row in range(_SIDE))

    def describe_move(self, before: Key, after: Key) -> str:
        """A jump, e.g. ``"d2 jumps to d4"``; by ``symmetry=on`` the first that leads to an image of `after`."""
        return self.describe_moves([before, after])[0]

    def _key_of(self, pegs: set[_Cell]) -> Key:
        """The key of a set of pegs: by ``symmetry=on`` the least of all images."""
        symmetries = _SYMMETRIES if self._merged else _SYMMETRIES[:1]
        return min(sum(1 << _NUMBER[symmetry[cell]] for cell in pegs) for symmetry in symmetries)


def _unpack(key: Key) -> set[_Cell]:
    return {cell for number, cell in enumerate(_CELLS) if key >> number & 1}


def _moves(pegs: set[_Cell]) -> list[tuple[_Jump, set[_Cell]]]:
    return [
        ((begin, over, end), pegs - {begin, over} | {end})
        for begin, over, end in _JUMPS
        if begin in pegs and over in pegs and end not in pegs
    ]


def _draw(pegs: Mapping[str, _Cell]) -> Picture:
    def disc(cell: _Cell, radius: float, fill: str) -> Circle:
        return Circle((cell[1] + 0.5) * _CELL, (cell[0] + 0.5) * _CELL, radius, fill)

    side, corner, arm = _SIDE * _CELL, 2 * _CELL, 3 * _CELL
    arms = (Rectangle(0, corner, side, arm, GROUND, 8), Rectangle(corner, 0, arm, side, GROUND, 8))
    holes = (disc(cell, 7, BED) for cell in _CELLS)
    ball = (Circle(_CELL / 2, _CELL / 2, 15, _PEG, EDGE),)
    parts = (Part(name, ball, cell[1] * _CELL, cell[0] * _CELL) for name, cell in pegs.items())
    return Picture(side, side, (Part("board", (*arms, *holes)), *parts))


def _name(cell: _Cell) -> str:
    return f"{'abcdefg'[cell[1]]}{cell[0] + 1}"


# The kernel has all images of a board at once. Jumps along a row are three neighbouring bits of the board, jumps along
# a column three neighbouring bits of the flipped board; a jump changes all three bits, in every image those of its own.

_CHUNK = 7


#: The images of each seven cells with each setting of pegs: by chunk, setting and symmetry.
_CHUNK_IMAGES: _Table = np.zeros((-(-len(_CELLS) // _CHUNK), 1 << _CHUNK, len(_SYMMETRIES)), dtype=np.int64)
for _number, _cell in enumerate(_CELLS):
    _chunk, _bit = divmod(_number, _CHUNK)
    _settings = np.arange(1 << _CHUNK) >> _bit & 1 == 1
    _CHUNK_IMAGES[_chunk, _settings] |= np.array([1 << _NUMBER[image[_cell]] for image in _SYMMETRIES], dtype=np.int64)
#: The three cells of each jump, in every image: by flipped or not, first of three bits, and symmetry.
_JUMP_IMAGES: _Table = np.zeros((2, len(_CELLS), len(_SYMMETRIES)), dtype=np.int64)
for _jump, _flip in product(_JUMPS, range(2)):
    _first, _over, _last = (_NUMBER[_SYMMETRIES[_flip][cell]] for cell in _jump)
    if _first + 1 == _over == _last - 1:
        _JUMP_IMAGES[_flip, _first] = [sum(1 << _NUMBER[image[cell]] for cell in _jump) for image in _SYMMETRIES]
#: The cells with two more to their right in the same row.
_FIRST_OF_THREE = sum(1 << _NUMBER[row, column] for row, column in _CELLS if (row, column + 2) in _NUMBER)


@jit
def _expand_keys(keys: Keys, holes: int, merged: bool, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` if they do not fit. Where `holes` are the cells whose holes jump like pegs, none or all, these are the
    predecessors.
    """
    images = np.empty(8, dtype=np.int64)
    total = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        for j in range(8):
            images[j] = (
                _CHUNK_IMAGES[0, key & 127, j]
                | _CHUNK_IMAGES[1, key >> 7 & 127, j]
                | _CHUNK_IMAGES[2, key >> 14 & 127, j]
                | _CHUNK_IMAGES[3, key >> 21 & 127, j]
                | _CHUNK_IMAGES[4, key >> 28, j]
            )
        before = total
        for flip in range(2):
            board = images[flip] ^ holes
            # A peg in the middle and at one end, a hole at the other.
            starts = board >> 1 & (board ^ board >> 2) & _FIRST_OF_THREE
            if total + np.int64(popcount(np.uint64(starts))) > len(room):
                return OVERFLOW
            while starts != 0:
                jump = _JUMP_IMAGES[flip, lowest_bit(np.uint64(starts))]
                starts &= starts - 1
                least = images[0] ^ jump[0]
                if merged:
                    for j in range(1, 8):
                        least = min(least, images[j] ^ jump[j])
                room[total] = least
                total += 1
        counts[i] = total - before
    return total
