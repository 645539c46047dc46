"""Boards of Nakuron: texts, random boards, rules in plain Python (the reference for every kernel), and a bound.

A text has SIZE, the sides of the frame (up, right, down, left) and SIZE rows of SIZE cells. In a side 1 to 4 is a hole,
5 a wall; up and down run from left to right, right and left from top to bottom. In a row 0 is empty, 1 to 4 a ball
(red, yellow, green, blue), 5 a wall. A side is a number, too: 0 up, 1 right, 2 down, 3 left. The frame stands first:
that is the order in which the boards with known optima (tests/support/published.py) have these optima.

Source: the final task of Supercomputing Contest 2011, "Nakuron" (Osaka University and Tokyo Institute of Technology).

`upper_bound` is proved as follows. A ball that a tilt takes to a hole drops, and so does every other in its segment,
the cells of its line between two walls. In a segment that a wall of the frame closes it stops somewhere on the way to
the end, wherever others stop it. So walls and frame alone determine the holes through which a ball can ever drop, and a
ball that cannot drop through one of its own colour scores nothing. Balls that exclude each other are found by looking
ahead: the board with the greatest bound is tilted to all sides, again and again, and each result is bounded by its next
two tilts. The greatest bound of the boards left bounds every play; if a board has already scored as much, it is the
optimum.
"""

import heapq
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.splitmix import random_words

EMPTY, WALL = "0", "5"
COLOURS = "1234"
SIDES = ("up", "right", "down", "left")
#: The most moves of a game.
MOST_MOVES = 30_000
#: Ends a sequence.
STOP = "-1"
_CELLS, _FRAME = "012345", "12345"
_WORD = 1 << 64
#: The probabilities of a ball of each colour and of a wall in the three problems of the contest.
SETTINGS = {
    1: (Fraction(9, 40), Fraction(1, 10)),
    2: (Fraction(17, 80), Fraction(3, 20)),
    3: (Fraction(1, 5), Fraction(1, 5)),
}
#: The largest boards of the contest; a kernel holds a row in four words.
MOST_SIZE = 256


@dataclass(frozen=True)
class Board:
    """The rows and the four sides of the frame, each a text of digits."""

    rows: tuple[str, ...]
    frame: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def balls(self) -> int:
        return sum(row.count(colour) for row in self.rows for colour in COLOURS)

    def lines(self) -> list[str]:
        return [str(self.size), *self.frame, *self.rows]

    def text(self) -> str:
        return "/".join(self.lines())


class Tilted(NamedTuple):
    """The result of a tilt: the rows after it, and the balls that dropped, as (the hole's colour, the ball's) each."""

    rows: tuple[str, ...]
    dropped: list[tuple[str, str]]

    @property
    def score(self) -> int:
        """The number of balls that dropped through a hole of their own colour."""
        return sum(hole == ball for hole, ball in self.dropped)


def parse_board(text: str) -> Board:
    """The board of a text whose lines are joined by ``/``; `ConfigurationError` names the line that is wrong."""
    lines = text.strip().strip("/").split("/")
    if not re.fullmatch("0*[1-9][0-9]{0,2}", lines[0]) or int(lines[0]) > MOST_SIZE:
        raise ConfigurationError(
            f"the first line must be the size of the board, 1 to {MOST_SIZE}, not {_short(lines[0])}"
        )
    size = int(lines[0])
    names = [f"the frame's side {side}" for side in SIDES] + [f"row {number}" for number in range(1, size + 1)]
    for number, (name, line) in enumerate(zip(names, lines[1:], strict=False), 2):
        allowed = _FRAME if number <= 1 + len(SIDES) else _CELLS
        for place, digit in enumerate(line, 1):
            if digit not in allowed:
                why = "; the frame stands before the rows" if digit == EMPTY else ""
                raise ConfigurationError(
                    f"line {number}, {name}, has {digit!r} in cell {place}, expected {allowed[0]} to {allowed[-1]}{why}"
                )
        if len(line) != size:
            raise ConfigurationError(f"line {number}, {name}, {_short(line)} has {len(line)} cells, expected {size}")
    if len(lines) - 1 != len(names):
        missing = f"; {names[len(lines) - 1]} is missing" if len(lines) <= len(names) else ""
        raise ConfigurationError(
            f"expected {size + 4} lines below size {size}, the 4 sides of the frame and {size} rows; found "
            f"{len(lines) - 1}{missing}"
        )
    sides = len(SIDES)
    return Board(tuple(lines[1 + sides :]), tuple(lines[1 : 1 + sides]))


def _short(line: str) -> str:
    return repr(line if len(line) <= 20 else f"{line[:17]}...")


def random_board(size: int, setting: int, seed: int) -> Board:
    """A board of a contest's setting, the same on every machine: cells row by row, then the sides, a word for each.

    The words are those of SplitMix64 from the state seed * 2^32 + setting (modulo 2^64). A word w of a cell means the
    fraction w / 2^64: a wall below the setting's probability of walls, from there up balls 1, 2, 3 and 4 by theirs. A
    word of the frame means hole or wall 1 + w % 5.
    """
    if setting not in SETTINGS or not 1 <= size <= MOST_SIZE:
        raise PuzzleError(
            f"setting {setting} with size {size} is not possible; expected setting 1, 2 or 3 and size 1..{MOST_SIZE}"
        )
    words = random_words(((seed << 32) + setting) % _WORD)
    ball, wall = SETTINGS[setting]
    rows = tuple("".join(_random_cell(next(words), ball, wall) for _ in range(size)) for _ in range(size))
    return Board(rows, tuple("".join(_FRAME[next(words) % 5] for _ in range(size)) for _ in SIDES))


def _random_cell(word: int, ball: Fraction, wall: Fraction) -> str:
    # In whole numbers: floating point would round on the border between two.
    rest = word * wall.denominator - wall.numerator * _WORD
    if rest < 0:
        return WALL
    return COLOURS[min(len(COLOURS) - 1, rest * ball.denominator // (wall.denominator * ball.numerator * _WORD))]


def tilt(rows: Sequence[str], frame: Sequence[str], side: int) -> Tilted:
    """Return the rows after a tilt: balls roll up to a wall, a ball or the frame; those that reach a hole drop."""
    upright, forward = side in (0, 2), side in (0, 3)
    lines = _flipped(rows) if upright else list(rows)
    dropped: list[tuple[str, str]] = []
    for number, (line, hole) in enumerate(zip(lines, frame[side], strict=True)):
        parts = line.split(WALL)
        nearest = 0 if forward else -1
        balls = [part.replace(EMPTY, "") for part in parts]
        if hole != WALL:
            dropped += [(hole, ball) for ball in balls[nearest]]
            balls[nearest] = ""
        pad = str.ljust if forward else str.rjust
        lines[number] = WALL.join(pad(each, len(part), EMPTY) for each, part in zip(balls, parts, strict=True))
    return Tilted(tuple(_flipped(lines) if upright else lines), dropped)


def _flipped(rows: Sequence[str]) -> list[str]:
    """Rows and columns exchanged."""
    cells, width = "".join(rows), len(rows)
    return [cells[column::width] for column in range(width)]


def replay(board: Board, sequence: Sequence[int]) -> Iterator[Tilted]:
    """Yield the result of each move of a sequence."""
    rows = board.rows
    for side in sequence:
        tilted = tilt(rows, board.frame, side)
        rows = tilted.rows
        yield tilted


def parse_sequence(text: str) -> list[int]:
    """The sides of a sequence of digits 0 to 3, with blanks or not; `PuzzleError` names the one that is wrong.

    As in the contest, `STOP` ends the game, and what comes after it does not count.
    """
    digits = "".join(text.partition(STOP)[0].split())
    for place, digit in enumerate(digits, 1):
        if digit not in "0123":
            raise PuzzleError(f"move {place} is {digit!r}; expected 0 (up), 1 (right), 2 (down) or 3 (left)")
    if len(digits) > MOST_MOVES:
        raise PuzzleError(f"the sequence has {len(digits):,} moves, above the limit of {MOST_MOVES:,}")
    return [int(digit) for digit in digits]


#: The cells of a board, in reading order.
Cells = NDArray[np.uint8]
#: The holes of its sides, (4, n).
Frame = NDArray[np.uint8]

_WALL = int(WALL)
#: The most cells of boards held at once, and the most boards tilted.
_MOST_CELLS, _MOST_BOARDS = 1 << 24, 200_000


def upper_bound(
    board: Board, most_boards: int = _MOST_BOARDS, check: Callable[[], None] | None = None
) -> int:  # fmt: skip
    """Return an upper bound of all plays. Tilts at most `most_boards` boards, fewer large ones, always the same.

    `check` is called before each is tilted, if it is given.
    """
    cells = np.array(list("".join(board.rows)), dtype=np.uint8)
    frame = np.array([list(side) for side in board.frame], dtype=np.uint8)
    leaving = ways_out(cells, frame)
    most = min(most_boards, _MOST_CELLS // cells.size)
    # Ordered by the bound of a board; `points_of` includes its score so far.
    points_of, after, best = {cells.tobytes(): 0}, np.empty_like(cells), 0
    room = np.stack([after, after])
    waiting = [(-_reserve(cells, frame, leaving, room), 0, 0, cells.tobytes())]
    while waiting:
        if check is not None:
            check()
        if -waiting[0][0] <= best or len(points_of) >= most:
            return max(best, -waiting[0][0])
        _, _, points, name = heapq.heappop(waiting)
        if points < points_of[name]:
            continue
        here = np.frombuffer(name, dtype=np.uint8)
        for side in range(len(SIDES)):
            scored = tilt_cells(here, frame[side], side, after)
            there, now = after.tobytes(), points + scored
            if scored >= 0 and points_of.get(there, -1) < now:
                points_of[there], best = now, max(best, now)
                heapq.heappush(waiting, (-now - _reserve(after, frame, leaving, room), len(points_of), now, there))
    return best


@jit
def _line(side: int, line: int, size: int) -> tuple[int, int]:
    """The cell of a line that is next to a side of the frame, and how far it is from each cell to the next inwards."""
    if side == 0:
        return line, size
    if side == 1:
        return size * line + size - 1, -1
    if side == 2:
        return size * (size - 1) + line, -size
    return size * line, 1


@jit
def tilt_cells(cells: Cells, holes: Cells, side: int, after: Cells) -> int:
    """Write the board after a tilt into `after`; return what it scores, -1 where nothing moves."""
    size, scored, moved = len(holes), 0, False
    for line in range(size):
        first, step = _line(side, line, size)
        falls, free = holes[line] != _WALL, first
        for far in range(size):
            here = first + far * step
            ball = cells[here]
            after[here] = 0
            if ball == _WALL:
                after[here] = _WALL
                falls, free = False, here + step
            elif ball and falls:
                scored += ball == holes[line]
                moved = True
            elif ball:
                after[free] = ball
                moved |= free != here
                free += step
    return scored if moved else -1


@jit
def _spread(cells: Cells, frame: Frame, found: Cells) -> bool:
    """Add to the holes of each cell those that a tilt leads to, now or later; return whether any were added."""
    size, more = frame.shape[1], False
    for side in range(4):
        for line in range(size):
            ways = np.uint8(0)
            if frame[side, line] != _WALL:
                ways = np.uint8(1 << frame[side, line])
            opened = ways != 0
            first, step = _line(side, line, size)
            for far in range(size):
                here = first + far * step
                if cells[here] == _WALL:
                    ways, opened = np.uint8(0), False
                    continue
                if not opened:
                    ways |= found[here]
                if found[here] | ways != found[here]:
                    found[here] |= ways
                    more = True
    return more


def ways_out(cells: Cells, frame: Frame) -> Cells:
    """Return for each cell the colours of the holes through which a ball there may ever drop: bit c for colour c."""
    found = np.zeros_like(cells)
    while _spread(cells, frame, found):
        pass
    return found


@jit
def _count(cells: Cells, leaving: Cells) -> int:
    """Return the number of balls that may score, each by itself."""
    count = 0
    for place in range(len(cells)):
        ball = cells[place]
        count += 0 < ball < _WALL and leaving[place] >> ball & 1 == 1
    return count


@jit
def _reserve(cells: Cells, frame: Frame, leaving: Cells, room: Cells) -> int:
    """Return the bound by two tilts: nothing scores more from here on. Nine boards are examined, without allocation."""
    most, (once, twice) = 0, room
    for side in range(len(frame)):
        scored = tilt_cells(cells, frame[side], side, once)
        if scored < 0:
            continue
        most = max(most, scored)
        for other in range(len(frame)):
            more = tilt_cells(once, frame[other], other, twice)
            if more >= 0:
                most = max(most, scored + more + _count(twice, leaving))
    return most
