"""Pieces on a board of cells: their identities along a path, and pictures of the boards.

A cell is row * columns + column.
"""

from collections.abc import Collection, Mapping, Sequence

from hakoiri.puzzles.pictures.colours import apart, ink
from hakoiri.puzzles.pictures.shapes import EDGE, GROUND, Label, Line, Part, Picture, Rectangle, Shape, Span

#: The cells of a piece, and those of all pieces by their letters.
Covered = frozenset[int]
Lettered = dict[str, Covered]

_CELL, _GAP, _RADIUS, _LETTER = 48, 2, 7, 20
_EMPTY, _WALL = ".", "#"


def followed(first: str, boards: Sequence[Mapping[Covered, int]]) -> list[Lettered]:
    """The pieces of each board of a path by the letters that they have on its `first` board, given as text.

    A board says of which kind the piece on some cells is. A move takes one piece from its cells to others; if more
    have changed, pieces of one kind keep their order.
    """

    def order(piece: tuple[Covered, int]) -> tuple[int, int]:
        return piece[1], min(piece[0])

    text = first.replace("/", "")
    known = {(cells, kind): text[min(cells)] for cells, kind in boards[0].items()}
    found = []
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


def block_pictures(
    boards: Sequence[Lettered],
    rows: int,
    columns: int,
    walls: Collection[int] = (),
    lying: Collection[str] = (),
    upright: Collection[str] = (),
) -> list[Picture]:
    """The boards of a path; no two pieces that touch on any of them have the same colour.

    Pieces that move along their row are `lying`, along their column `upright`: a line across each end shows that.
    """
    colours = apart(sorted(boards[0]), _neighbours(boards, columns))
    pictures = [_picture(board, colours, rows, columns, walls) for board in boards]
    ends = dict.fromkeys(lying, False) | dict.fromkeys(upright, True)
    return [
        picture._replace(parts=tuple(_with_ends(part, ends) for part in picture.parts)) if ends else picture
        for picture in pictures
    ]


def _with_ends(part: Part, ends: Mapping[str, bool]) -> Part:
    """A rectangular piece with a line across each of its ends, if it is among those that have any."""
    body, *others = part.shapes
    if part.name not in ends or not isinstance(body, Rectangle) or any(isinstance(each, Rectangle) for each in others):
        return part
    upright, first, last = ends[part.name], _GAP + _RADIUS, _GAP - _RADIUS
    length, width = (body.height, body.width) if upright else (body.width, body.height)
    lines = [
        Line(first, at, last + width, at, EDGE, 2) if upright else Line(at, first, at, last + width, EDGE, 2)
        for at in (_GAP + _CELL / 4, _GAP + length - _CELL / 4)
    ]
    return part._replace(shapes=(body, *lines, *others))


def _neighbours(boards: Sequence[Lettered], columns: int) -> dict[str, set[str]]:
    """Return the pieces that share an edge with each piece on some board."""
    found: dict[str, set[str]] = {letter: set() for letter in boards[0]}
    for board in boards:
        of_cell = {cell: letter for letter, piece in board.items() for cell in piece}
        for cell, letter in of_cell.items():
            right = cell + 1 if (cell + 1) % columns else -1
            for other in (of_cell.get(right, letter), of_cell.get(cell + columns, letter)):
                if other != letter:
                    found[letter].add(other)
                    found[other].add(letter)
    return found


def _picture(board: Lettered, colours: Mapping[str, str], rows: int, columns: int, walls: Collection[int]) -> Picture:
    width, height = columns * _CELL, rows * _CELL
    ground: list[Shape] = [Rectangle(0, 0, width, height, GROUND, _RADIUS, EDGE)]
    ground += [Rectangle(cell % columns * _CELL, cell // columns * _CELL, _CELL, _CELL, EDGE) for cell in sorted(walls)]
    parts = [_part(letter, board[letter], colours[letter], columns) for letter in sorted(board)]
    text = board_text(board, rows * columns, columns, walls)
    spans = (tuple(Span(letter, colours.get(letter, "")) for letter in row) for row in text.split("/"))
    return Picture(width, height, (Part("ground", tuple(ground)), *parts), tuple(spans))


def _part(letter: str, piece: Covered, colour: str, columns: int) -> Part:
    """A piece: one rectangle if it is one, else a rectangle for each cell and bridges between them."""
    top, left = min(piece) // columns, min(cell % columns for cell in piece)
    places = sorted((cell // columns - top, cell % columns - left) for cell in piece)
    down, across = places[-1][0] + 1, 1 + max(column for _, column in places)
    whole = len(places) == down * across
    row, column = ((down - 1) / 2, (across - 1) / 2) if whole else places[0]
    label = Label((column + 0.5) * _CELL, (row + 0.5) * _CELL, letter, _LETTER, ink(colour))
    shapes = [_box(0, 0, down, across, colour, _RADIUS)] if whole else _bent(places, colour)
    return Part(letter, (*shapes, label), left * _CELL, top * _CELL)


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


def _box(row: float, column: float, down: float, across: float, colour: str, radius: float = 0) -> Rectangle:
    width, height = across * _CELL - 2 * _GAP, down * _CELL - 2 * _GAP
    return Rectangle(column * _CELL + _GAP, row * _CELL + _GAP, width, height, colour, radius)
