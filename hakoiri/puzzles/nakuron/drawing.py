"""Pictures of Nakuron boards: a frame with holes, walls and balls."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from hakoiri.puzzles.nakuron.board import EMPTY, SIDES, WALL, Board, tilt
from hakoiri.puzzles.pictures.colours import ink
from hakoiri.puzzles.pictures.shapes import EDGE, PAPER, Circle, Label, Part, Picture, Rectangle, Shape, Span

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
        names = names or {cell: f"row {cell[0] + 1} column {cell[1] + 1}" for cell in _balls_of(board)}
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
            for number, hole in enumerate(board.frame[side]):
                found |= _rolled_line(names, board.rows, _line(side, number, board.size), hole)
            return found
    return {}


def _line(side: int, number: int, size: int) -> list[_Cell]:
    """Return the cells of a line from the frame's side inwards."""
    cells = [(place, number) if side in (0, 2) else (number, place) for place in range(size)]
    return cells[::-1] if side in (1, 2) else cells


def _rolled_line(names: _Names, rows: Sequence[str], line: Sequence[_Cell], hole: str) -> _Names:
    """The balls of a line that stay on the board, as far towards its first cell as they go."""
    after: _Names = {}
    is_open, free = hole != WALL, 0
    for place, cell in enumerate(line):
        if rows[cell[0]][cell[1]] == WALL:
            is_open, free = False, place + 1
        elif cell in names and not is_open:
            after[line[free]] = names[cell]
            free += 1
    return after


def _draw(board: Board, names: _Names) -> Picture:
    lines = framed_rows(board)
    is_round = len(lines) <= _ROUND_BALLS
    cell = _CELL if is_round else max(2, _LARGE_BOARD // len(lines))
    side = cell * len(lines)
    inside = Rectangle(cell, cell, side - 2 * cell, side - 2 * cell, COLOURS[0])
    squares = framed_rows(Board(tuple(map(_without_balls, board.rows)), board.frame)) if is_round else lines
    ground = (Rectangle(0, 0, side, side, COLOURS[-1]), inside, *_squares(squares, cell))
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


def _without_balls(row: str) -> str:
    return "".join(cell if cell == WALL else EMPTY for cell in row)


def _squares(lines: Sequence[str], cell: int) -> list[Shape]:
    """A square for each cell that is not empty; neighbours in a row that have one colour in one piece."""
    found: list[Shape] = []
    for row, line in enumerate(lines):
        column = 0
        for digit, group in groupby(line):
            count = len(list(group))
            if digit != EMPTY:
                found.append(Rectangle(column * cell, row * cell, count * cell, cell, COLOURS[int(digit)]))
            column += count
    return found


def _holes(lines: Sequence[str]) -> Iterator[Label]:
    """The numbers of the frame's holes."""
    last = len(lines) - 1
    for row, line in enumerate(lines):
        for column, digit in enumerate(line):
            if digit != WALL and (row in (0, last) or column in (0, last)):
                yield Label((column + 0.5) * _CELL, (row + 0.5) * _CELL, digit, 14, ink(COLOURS[int(digit)]))


def _balls_of(board: Board) -> Iterator[_Cell]:
    for row, line in enumerate(board.rows):
        yield from ((row, column) for column, digit in enumerate(line) if digit not in (EMPTY, WALL))


def _ball(digit: str, cell: _Cell, name: str) -> Part:
    """Round, with the number of its colour; its place is counted from the corner of the frame."""
    fill, middle = COLOURS[int(digit)], _CELL / 2
    shapes = (Circle(middle, middle, _CELL * 0.4, fill, COLOURS[-1]), Label(middle, middle, digit, 14, ink(fill)))
    return Part(name, shapes, (cell[1] + 1) * _CELL, (cell[0] + 1) * _CELL)
