"""What boards of Nakuron look like: a frame with holes, walls and balls."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from puzzles.nakuron.board import EMPTY, WALL, Board
from puzzles.pictures.colours import ink
from puzzles.pictures.shapes import Circle, Label, Part, Picture, Rectangle, Shape, Span

#: By digit: nothing, red, yellow, green, blue, a wall.
COLOURS = ("#f4f1ea", "#d55e00", "#f0e442", "#009e73", "#0072b2", "#4a4a4a")
#: Boards of up to so many cells a side, frame included, get round balls with numbers; others a square for each cell.
_ROUND_BALLS = 40
_CELL, _LARGE_BOARD = 32, 1000


def draw_board(board: Board) -> Picture:
    """A board in its frame."""
    lines = framed_rows(board)
    is_round = len(lines) <= _ROUND_BALLS
    cell = _CELL if is_round else max(2, _LARGE_BOARD // len(lines))
    side = cell * len(lines)
    inside = Rectangle(cell, cell, side - 2 * cell, side - 2 * cell, COLOURS[0])
    squares = framed_rows(Board(tuple(map(_without_balls, board.rows)), board.frame)) if is_round else lines
    ground = (Rectangle(0, 0, side, side, COLOURS[-1]), inside, *_squares(squares, cell))
    holes = _holes(lines) if is_round else ()
    balls = _balls(board) if is_round else []
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


def _balls(board: Board) -> list[Part]:
    """Round, with the number of their colour."""
    found = []
    for row, line in enumerate(board.rows, 1):
        for column, digit in enumerate(line, 1):
            if digit not in (EMPTY, WALL):
                fill, middle = COLOURS[int(digit)], _CELL / 2
                ball = Circle(middle, middle, _CELL * 0.4, fill, COLOURS[-1])
                shapes = (ball, Label(middle, middle, digit, 14, ink(fill)))
                found.append(Part(f"row {row} column {column}", shapes, column * _CELL, row * _CELL))
    return found
