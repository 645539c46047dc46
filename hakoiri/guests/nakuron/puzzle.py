"""Nakuron: a box of coloured balls is tilted to one of its four sides, and they roll out through coloured holes.

In a board's key each cell that is no wall is a digit of base 5 (0 empty, else the ball's colour), in reading order. A
word of 64 bits has 27 digits, the first ones lowest; the first word is the most significant. So boards of up to 108
such cells have keys, which every board of 10 x 10 has. `guests.nakuron.board` has the rules and the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise, product

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError, Hint, PuzzleError
from hakoiri.guests.nakuron.board import (
    EMPTY,
    SIDES,
    WALL,
    Board,
    Tilted,
    parse_board,
    parse_sequence,
    random_board,
    replay,
    tilt,
    tilt_cells,
    upper_bound,
)
from hakoiri.guests.nakuron.kernels import field_of, ground_of
from hakoiri.guests.nakuron.scored import Arena, Filmed, Scored, ScoredMoves, Scores
from hakoiri.keys.layout import U32, U64, U128, U256, Counts, Field, Fields, Key, Keys
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.pictures import EDGE, PAPER, Circle, Label, Part, Picture, Rectangle, Shape, Span, ink

_Cell = tuple[int, int]
#: The name of the ball on a cell.
_Names = dict[_Cell, str]

#: By digit: nothing, red, yellow, green, blue, a wall.
COLOURS = (PAPER, "#d55e00", "#f0e442", "#009e73", "#0072b2", EDGE)
#: Boards of up to so many cells a side, frame included, get round balls with numbers; others a square for each cell.
_ROUND_BALLS = 40
_CELL, _LARGE_BOARD = 32, 1000


def draw_boards(boards: Iterable[Board]) -> Iterator[Picture]:
    """Boards in their frame; where a tilt leads from one to the next, its balls keep their names."""
    names: _Names = {}
    before: Board | None = None
    for board in boards:
        names = _rolled(names, before, board) if before else {}
        cells = [cell for cell in product(range(board.size), range(board.size)) if _is_ball(board, cell)]
        names = names or {cell: f"row {cell[0] + 1} column {cell[1] + 1}" for cell in cells}
        before = board
        yield _draw(board, names)


def draw_board(board: Board) -> Picture:
    """Return the picture of one board."""
    return next(draw_boards([board]))


def _rolled(names: _Names, board: Board, after: Board) -> _Names:
    """Return the places of the balls after the tilt that leads from `board` to `after`; empty without such a tilt."""
    for side in range(len(SIDES)):
        if tilt(board.rows, board.frame, side).rows == after.rows:
            found: _Names = {}
            for line in (_line(side, number, board.size) for number in range(board.size)):
                # Balls keep their order on a line, and the first ones have dropped.
                balls, there = ([cell for cell in line if _is_ball(each, cell)] for each in (board, after))
                found |= zip(there, (names[cell] for cell in balls[len(balls) - len(there) :]), strict=True)
            return found
    return {}


def _line(side: int, number: int, size: int) -> list[_Cell]:
    """Return the cells of a line from the frame's side inwards."""
    cells = [(place, number) if side in (0, 2) else (number, place) for place in range(size)]
    return cells[::-1] if side in (1, 2) else cells


def _is_ball(board: Board, cell: _Cell) -> bool:
    return board.rows[cell[0]][cell[1]] not in (EMPTY, WALL)


def _draw(board: Board, names: _Names) -> Picture:
    lines = framed_rows(board)
    is_round = len(lines) <= _ROUND_BALLS
    cell = _CELL if is_round else max(2, _LARGE_BOARD // len(lines))
    side = cell * len(lines)
    inside = Rectangle(cell, cell, side - 2 * cell, side - 2 * cell, COLOURS[0])
    walls = tuple(re.sub(f"[^{WALL}]", EMPTY, row) for row in board.rows)
    squares = framed_rows(Board(walls, board.frame)) if is_round else lines
    # Neighbours in a row that have one colour are one piece.
    found: list[Shape] = []
    for row, line in enumerate(squares):
        column = 0
        for digit, group in groupby(line):
            count = len(list(group))
            if digit != EMPTY:
                found.append(Rectangle(column * cell, row * cell, count * cell, cell, COLOURS[int(digit)]))
            column += count
    ground = (Rectangle(0, 0, side, side, COLOURS[-1]), inside, *found)
    holes = _holes(lines) if is_round else ()
    balls = [_ball(board.rows[cell[0]][cell[1]], cell, name) for cell, name in names.items()] if is_round else []
    spans = (tuple(map(_span, line)) for line in lines)
    return Picture(side, side, (Part("ground", (*ground, *holes)), *balls), tuple(spans))


def _span(digit: str) -> Span:
    if digit in (EMPTY, WALL):
        return Span(". " if digit == EMPTY else "▒▒")
    return Span(f"{digit} ", COLOURS[int(digit)])


def framed_rows(board: Board) -> list[str]:
    """The rows of a board with its frame around them, walls in the corners."""
    up, right, down, left = board.frame
    rows = (f"{left[row]}{cells}{right[row]}" for row, cells in enumerate(board.rows))
    return [f"5{up}5", *rows, f"5{down}5"]


def _holes(lines: Sequence[str]) -> Iterator[Label]:
    """The numbers of the frame's holes."""
    last = len(lines) - 1
    for row, line in enumerate(lines):
        for column, digit in enumerate(line):
            if digit != WALL and (row in (0, last) or column in (0, last)):
                yield Label((column + 0.5) * _CELL, (row + 0.5) * _CELL, digit, 14, ink(COLOURS[int(digit)]))


def _ball(digit: str, cell: _Cell, name: str) -> Part:
    """Round, with the number of its colour; its place is counted from the corner of the frame."""
    fill, middle = COLOURS[int(digit)], _CELL / 2
    shapes = (Circle(middle, middle, _CELL * 0.4, fill, COLOURS[-1]), Label(middle, middle, digit, 14, ink(fill)))
    return Part(name, shapes, (cell[1] + 1) * _CELL, (cell[0] + 1) * _CELL)


#: Digits of base 5 in a word of a key, and what fits the narrowest layout.
_DIGITS, _FEWEST_DIGITS = 27, 13
_BASE = 5
_WORD_BITS = 64
#: The default start (`guests.nakuron.board.random_board`).
_USUAL = (8, 3, 1)
#: The least number of cells of all boards in a chunk of games.
_CELLS_PER_CHUNK = 10_000

Table = NDArray[np.int64]
Words = NDArray[np.uint64]


class Nakuron(Scored):
    """A move tilts the box to a side: every ball rolls until a wall, a ball or a wall of the frame stops it.

    Through a hole of the frame it drops, and so do those behind it. A ball that drops through a hole of its own colour
    scores 1; the best play has the highest score, then the fewest moves. What changes nothing is no move.

    A board is written as its size, the frame's sides up, right, down and left, and its rows; a configuration as its
    rows alone. In a side 1 to 4 is a hole, 5 a wall; in a row 0 is empty, 1 to 4 a ball, 5 a wall.
    """

    name = "nakuron"
    summary = "balls rolled out of a box through holes of their colour"
    goal_summary = "no ball left in the box"
    undirected = False
    mover, notation = "planes", "arrows"
    games = ("cycle", "random", "greedy", "two-step", "sample")
    fixed_games = ("cycle",)
    large_boards = True
    start_word = "BOARD"
    draws_start = "hakoiri.guests.nakuron.commands:draw_start"
    most_successors = len(SIDES)

    def prepare(self, start: str | None) -> None:
        named = start is not None and not start.strip().lower().startswith("0x")
        self.board = parse_board(start) if named and start is not None else random_board(*_USUAL)
        cells = "".join(self.board.rows)
        self._free = [place for place, cell in enumerate(cells) if cell != WALL]
        words = -(-len(self._free) // _DIGITS)
        if words > U256.words:
            said = f"this board has {len(self._free):,} free cells; a run holds at most {U256.words * _DIGITS}"
            raise PuzzleError(said, Hint("optimise", "nakuron"))
        small = U32 if len(self._free) <= _FEWEST_DIGITS else U64
        self.layout = small if words <= 1 else U128 if words == U128.words else U256
        bits = min(self.layout.bits, _WORD_BITS)
        #: The cells whose digits each word has.
        self._in_word = [self._free[word * _DIGITS : (word + 1) * _DIGITS] for word in range(self.layout.words)]
        counts = map(len, reversed(self._in_word))
        fields = (Field(_WORD_BITS * place, bits, _BASE**count) for place, count in enumerate(counts))
        self.fields = Fields.of(self.layout, fields)
        self._walls = np.array([_BASE if cell == WALL else 0 for cell in cells], dtype=np.uint8)
        self._places = np.array(self._free, dtype=np.int64)
        self._frame = np.array([[int(hole) for hole in side] for side in self.board.frame], dtype=np.uint8)

    def usual_start(self) -> Key:
        return self.pack(self.board.rows)

    def start_text(self) -> str:
        return Board(self.rows_of(self.start), self.board.frame).text()

    def pack(self, rows: tuple[str, ...]) -> Key:
        """The key of a board's rows."""
        cells, key = "".join(rows), 0
        for places in self._in_word:
            key = key << _WORD_BITS | int("".join(cells[place] for place in reversed(places)) or "0", _BASE)
        return key

    def rows_of(self, key: Key) -> tuple[str, ...]:
        """The rows of a key; `ConfigurationError` for one that no board has."""
        cells = [WALL] * len(self._walls)
        for word, places in enumerate(reversed(self._in_word)):
            value = key >> word * _WORD_BITS & ((1 << _WORD_BITS) - 1)
            for place in places:
                value, digit = divmod(value, _BASE)
                cells[place] = str(digit)
            if value:
                raise ConfigurationError(f"{key:#x} has more digits than the board has cells")
        size = self.board.size
        return tuple("".join(cells[row * size : (row + 1) * size]) for row in range(size))

    def pictures(self, path: list[Key]) -> list[Picture]:
        return list(draw_boards(Board(self.rows_of(key), self.board.frame) for key in path))

    def successors(self, key: Key) -> list[Key]:
        rows = self.rows_of(key)
        found = [tilt(rows, self.board.frame, side).rows for side in range(len(SIDES))]
        return [self.pack(after) for after in found if after != rows]

    def expand(self, keys: Keys) -> Expansion:
        return Expansion(*self.scored(keys)[:2])

    def score(self, before: Key, after: Key) -> int:
        return max(tilted.score for _, tilted in self._tilts_between(before, after))

    def reserve(self, key: Key) -> int:
        return Board(self.rows_of(key), self.board.frame).balls

    def scored(self, keys: Keys) -> ScoredMoves:
        words = keys.astype(np.uint64, copy=False).reshape(len(keys), self.layout.words)
        most = len(keys) * self.most_successors
        room = np.empty((most, words.shape[1]), dtype=np.uint64)
        counts = np.empty(len(keys), dtype=np.uint16)
        scores = np.empty(most, dtype=np.int64)
        total = _expand_keys(words, self._walls, self._places, self._frame, room, counts, scores)
        found = room[:total].astype(self.layout.dtype)
        successors: Keys = found if self.layout.words > 1 else found.reshape(-1)
        return ScoredMoves(successors, counts, scores[:total])

    def reserves(self, keys: Keys) -> Scores:
        """Return the number of balls on each board."""
        words = keys.astype(np.uint64, copy=False).reshape(len(keys), self.layout.words).copy()
        found = np.zeros(len(keys), dtype=np.int64)
        for _ in range(_DIGITS):
            found += np.count_nonzero(words % _BASE, axis=1)
            words //= _BASE
        return found

    def write_play(self, path: Sequence[Key]) -> str:
        """The side of each move, a digit each."""
        tilts = (max(self._tilts_between(*move), key=lambda each: each[1].score) for move in pairwise(path))
        return "".join(str(side) for side, _ in tilts)

    def spell(self, moves: Sequence[int]) -> str:
        return "".join(map(str, moves))

    def arena(self, start: str | None = None) -> Arena:
        board = self._board_of(start)
        games = max(1, _CELLS_PER_CHUNK // board.size**2)
        return Arena(list(ground_of(board)), field_of(board)[None], board.balls, games)

    def bound(self, start: str | None = None, check: Callable[[], None] | None = None) -> int:
        """By where balls can leave at all, and by looking ahead (`guests.nakuron.board`)."""
        return upper_bound(self._board_of(start), check=check)

    @classmethod
    def tidy_board(cls, text: str) -> str:
        return parse_board(text).text()

    def replay(self, play: str, start: str | None = None) -> int:
        return sum(tilted.score for tilted in replay(self._board_of(start), parse_sequence(play)))

    def filmed(self, play: str, start: str | None = None) -> Iterator[Filmed]:
        board, sides = self._board_of(start), parse_sequence(play)
        tilts = [Tilted(board.rows, []), *replay(board, sides)]
        pictures = draw_boards(Board(tilted.rows, board.frame) for tilted in tilts)
        for name, tilted, picture in zip(["start", *(SIDES[side] for side in sides)], tilts, pictures, strict=True):
            yield Filmed(f"{name}{_dropped(tilted)}", tilted.score, picture)

    def _board_of(self, start: str | None) -> Board:
        return Board(self.rows_of(self.start), self.board.frame) if start is None else parse_board(start)

    def _tilts_between(self, before: Key, after: Key) -> list[tuple[int, Tilted]]:
        """Return each side whose tilt leads from one board to the other, with the result."""
        rows, wanted = self.rows_of(before), self.rows_of(after)
        tilts = [tilt(rows, self.board.frame, side) for side in range(len(SIDES))]
        return [(side, tilted) for side, tilted in enumerate(tilts) if tilted.rows == wanted]

    def check_key(self, key: Key) -> None:
        self.rows_of(key)

    def parse_text(self, text: str) -> Key:
        lines = text.strip().strip("/").split("/")
        if len(lines) == self.board.size:
            lines = [str(self.board.size), *self.board.frame, *lines]
        board = parse_board("/".join(lines))
        if board.frame != self.board.frame or board.size != self.board.size:
            raise ConfigurationError("the frame of this board differs from that of the run")
        for number, (row, own) in enumerate(zip(board.rows, self.board.rows, strict=True), 1):
            if [cell == WALL for cell in row] != [cell == WALL for cell in own]:
                raise ConfigurationError(f"the walls of row {number}, '{row}', differ from those of the run, '{own}'")
        return self.pack(board.rows)

    def render(self, key: Key) -> str:
        return "/".join(self.rows_of(key))

    def describe_move(self, before: Key, after: Key) -> str:
        """Return the side of a tilt, and its score: ``"right, 3 of 5"``."""
        for side, tilted in self._tilts_between(before, after):
            return f"{SIDES[side]}{_dropped(tilted)}"
        raise ConfigurationError(f"no tilt leads from {self.render(before)} to {self.render(after)}")


def _dropped(tilted: Tilted) -> str:
    return f", {tilted.score} of {len(tilted.dropped)}" if tilted.dropped else ""


@jit
def _expand_keys(
    keys: Words, walls: NDArray[np.uint8], places: Table, frame: NDArray[np.uint8], room: Words, counts: Counts,
    scores: Scores,
) -> int:  # fmt: skip
    """Write the moves of all `keys` (m, words) into `room` and `scores`; return how many there are.

    There is room for one move of each key to each side.
    """
    cells, rolled = np.empty(len(walls), dtype=np.uint8), np.empty(len(walls), dtype=np.uint8)
    total = 0
    for index in range(len(keys)):
        _unpack(keys[index], walls, places, cells)
        before = total
        for side in range(4):
            score = tilt_cells(cells, frame[side], side, rolled)
            if score >= 0:
                _pack(rolled, places, room[total])
                scores[total] = score
                total += 1
        counts[index] = total - before
    return total


@jit
def _unpack(words: Words, walls: NDArray[np.uint8], places: Table, cells: NDArray[np.uint8]) -> None:
    cells[:] = walls
    value = np.uint64(0)
    for number in range(len(places)):
        if number % _DIGITS == 0:
            value = words[number // _DIGITS]
        rest = value // np.uint64(_BASE)
        cells[places[number]] = value - rest * np.uint64(_BASE)
        value = rest


@jit
def _pack(cells: NDArray[np.uint8], places: Table, words: Words) -> None:
    words[:] = 0
    for number in range(len(places) - 1, -1, -1):
        word = number // _DIGITS
        words[word] = words[word] * np.uint64(_BASE) + np.uint64(cells[places[number]])
