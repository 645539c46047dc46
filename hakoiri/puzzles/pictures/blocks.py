"""Pieces on a board of cells: their identities along a path, and pictures of the boards.

A cell is row * columns + column.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from hakoiri.puzzles.pictures.colours import GOAL, ink
from hakoiri.puzzles.pictures.shapes import EDGE, GROUND, Label, Line, Part, Picture, Rectangle, Shape, Span

#: The cells of a piece, and those of all pieces by their letters.
Covered = frozenset[int]
Lettered = dict[str, Covered]

_CELL, _GAP, _RADIUS, _LETTER = 48, 2, 7, 20
_EMPTY, _WALL = ".", "#"
#: The distance of an outline from the middle of a cell, in cells, and the width of an exit.
_INSET, _EXIT = 0.44, 6


class Scene(NamedTuple):
    """A board without its pieces, and what is drawn of a piece on every board, by its letter: colour and axis.

    An axis is ``row``, ``column`` or empty. `targets` are the places in the goal, each with the axis of its piece.
    """

    rows: int
    columns: int
    walls: Collection[int]
    colours: Mapping[str, str]
    axes: Mapping[str, str]
    targets: Sequence[tuple[Covered, str]] = ()


def followed(first: Mapping[tuple[Covered, int], str], boards: Sequence[Mapping[Covered, int]]) -> list[Lettered]:
    """The pieces of each board of a path by the letters that they have on its `first` board, by their cells and kind.

    A board says of which kind the piece on some cells is. A move takes one piece from its cells to others; if more
    have changed, pieces of one kind keep their order.
    """

    def order(piece: tuple[Covered, int]) -> tuple[int, int]:
        return piece[1], min(piece[0])

    known, found = dict(first), []
    for board in boards:
        there = set(board.items())
        left, come = sorted(known.keys() - there, key=order), sorted(there - known.keys(), key=order)
        moved = dict(zip(left, come, strict=True))
        known = {moved.get(piece, piece): letter for piece, letter in known.items()}
        found.append({letter: cells for (cells, _), letter in sorted(known.items(), key=lambda item: min(item[0][0]))})
    return found


def board_text(board: Lettered, cells: int, columns: int, walls: Collection[int] = ()) -> str:
    """A board as text, each piece by its letter."""
    of_cell = {cell: letter for letter, piece in board.items() for cell in piece} | dict.fromkeys(walls, _WALL)
    text = "".join(of_cell.get(cell, _EMPTY) for cell in range(cells))
    return "/".join(text[begin : begin + columns] for begin in range(0, cells, columns))


def block_pictures(boards: Sequence[Lettered], scene: Scene) -> list[Picture]:
    """The boards of a path; a line across each end of a piece shows the axis that it moves along."""
    ground = _ground(scene.rows, scene.columns, frozenset(scene.walls), tuple(scene.targets))
    return [_picture(board, scene, ground) for board in boards]


def _picture(board: Lettered, scene: Scene, ground: Part) -> Picture:
    parts = [
        _part(letter, board[letter], scene.columns, scene.colours[letter], scene.axes[letter])
        for letter in sorted(board)
    ]
    text = board_text(board, scene.rows * scene.columns, scene.columns, scene.walls).replace("/", "")
    places = {cell for cells, _ in scene.targets for cell in cells}
    fills = [scene.colours.get(letter, GOAL if cell in places else "") for cell, letter in enumerate(text)]
    spans = tuple(map(Span, text, fills))
    rows = tuple(spans[begin : begin + scene.columns] for begin in range(0, len(spans), scene.columns))
    return Picture(scene.columns * _CELL, scene.rows * _CELL, (ground, *parts), rows, boxed=True)


@lru_cache(maxsize=64)
def _ground(rows: int, columns: int, walls: Covered, targets: tuple[tuple[Covered, str], ...]) -> Part:
    """The board, its walls, and the goal: its places in outline, and an exit where a place has one side at the edge."""
    found: list[Shape] = [_box(0, 0, rows, columns, GROUND, _RADIUS, 0)._replace(edge=EDGE)]
    found += (_box(*divmod(cell, columns), 1, 1, EDGE, 0, 0) for cell in sorted(walls))
    for cells, axis in targets:
        places = sorted(divmod(cell, columns) for cell in cells)
        found += _outline(places)
        found += _exit(places, axis, rows, columns) if len(targets) == 1 else []
    return Part("ground", tuple(found))


def _outline(places: Sequence[tuple[int, int]]) -> list[Line]:
    """Lines along the edges of a shape, just inside it."""
    found = []
    for row, column in places:
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            if (row + down, column + right) in places:
                continue
            y, x = (row + 0.5 + down * _INSET) * _CELL, (column + 0.5 + right * _INSET) * _CELL
            reach_x, reach_y = _INSET * _CELL * abs(down), _INSET * _CELL * abs(right)
            found.append(Line(x - reach_x, y - reach_y, x + reach_x, y + reach_y, GOAL, 2))
    return found


def _exit(places: Sequence[tuple[int, int]], axis: str, rows: int, columns: int) -> list[Line]:
    """A thick line where a piece in its place in the goal would leave the board, if that can be but one side."""
    downs, rights = zip(*places, strict=True)
    edges = min(downs), min(rights), max(downs) + 1, max(rights) + 1
    top, left, bottom, right = (edge * _CELL for edge in edges)
    width, height = columns * _CELL, rows * _CELL
    across = [x for x in (left, right) if x in (0, width) and axis != "column"]
    along = [y for y in (top, bottom) if y in (0, height) and axis != "row"]
    if len(across) + len(along) != 1:
        return []
    if across:
        return [Line(across[0], top, across[0], bottom, GOAL, _EXIT)]
    return [Line(left, along[0], right, along[0], GOAL, _EXIT)]


# The parts took two thirds of the time to draw one board after another.
@lru_cache(maxsize=4_096)
def _part(letter: str, piece: Covered, columns: int, colour: str, axis: str) -> Part:
    """A piece: one rectangle if it is one, else a rectangle for each cell and bridges between them."""
    top, left = min(piece) // columns, min(cell % columns for cell in piece)
    places = sorted((cell // columns - top, cell % columns - left) for cell in piece)
    down, across = places[-1][0] + 1, 1 + max(column for _, column in places)
    whole = len(places) == down * across
    row, column = ((down - 1) / 2, (across - 1) / 2) if whole else places[0]
    label = Label((column + 0.5) * _CELL, (row + 0.5) * _CELL, letter, _LETTER, ink(colour))
    shapes: list[Shape] = [_box(0, 0, down, across, colour, _RADIUS)] if whole else [*_bent(places, colour)]
    if whole and axis:
        shapes += _ends(down * _CELL, across * _CELL, axis == "column")
    return Part(letter, (*shapes, label), left * _CELL, top * _CELL)


def _ends(height: float, width: float, upright: bool) -> list[Line]:
    """A line across each end of a rectangle."""
    length, across = (height, width) if upright else (width, height)
    first, last = _GAP + _RADIUS, across - _GAP - _RADIUS
    ends = (_GAP + _CELL / 4, length - _GAP - _CELL / 4)
    return [Line(first, at, last, at, EDGE, 2) if upright else Line(at, first, at, last, EDGE, 2) for at in ends]


def _bent(places: Sequence[tuple[int, int]], colour: str) -> list[Rectangle]:
    """Cells with round corners, and boxes with square ones over where two or four of them meet."""
    there, boxes = set(places), [_box(row, column, 1, 1, colour, _RADIUS) for row, column in places]
    for row, column in places:
        right, below, across = ((row, column + 1), (row + 1, column), (row + 1, column + 1))
        if right in there:
            boxes.append(_box(row, column + 0.5, 1, 1, colour))
        if below in there:
            boxes.append(_box(row + 0.5, column, 1, 1, colour))
        if {right, below, across} <= there:
            boxes.append(_box(row + 0.5, column + 0.5, 1, 1, colour))
    return boxes


def _box(
    row: float, column: float, down: float, across: float, colour: str, radius: float = 0, gap: float = _GAP
) -> Rectangle:
    width, height = across * _CELL - 2 * gap, down * _CELL - 2 * gap
    return Rectangle(column * _CELL + gap, row * _CELL + gap, width, height, colour, radius)
