"""Pictures as data: shapes on a plane, colours, and the pictures of texts and of pieces on a board.

A picture is made of parts. A part with the same name on two boards of a path is the same piece: where its shapes are
the same too, it has only been moved, and a film may let it glide.

A cell is row * columns + column.
"""

import colorsys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import count, product
from typing import NamedTuple
from zlib import crc32

#: Colours of text on a part, of lines, and of empty ground; of what cells are set in, of blank paper, and of cards.
INK, EDGE, GROUND, BED, PAPER, CARD = "#1b1b1b", "#4a4a4a", "#efebe3", "#d9d4c9", "#fcfbf8", "#fefefe"


class Rectangle(NamedTuple):
    """With rounded corners where it has a `radius`; `edge` is the colour of its outline, if it has one."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    radius: float = 0
    edge: str = ""


class Circle(NamedTuple):
    """A disc, with an outline where there is an `edge`."""

    x: float
    y: float
    radius: float
    fill: str
    edge: str = ""


class Polygon(NamedTuple):
    """The points of its corners, in order round it."""

    points: tuple[tuple[float, float], ...]
    fill: str
    edge: str = ""


class Line(NamedTuple):
    """Between two points; without a colour a gap that shows the background. Dashes and their gaps are `dash` long."""

    x: float
    y: float
    to_x: float
    to_y: float
    colour: str
    width: float = 1
    dash: float = 0


class Label(NamedTuple):
    """Words whose middle is at a point; `size` is that of the letters."""

    x: float
    y: float
    text: str
    size: float
    colour: str = INK


Shape = Rectangle | Circle | Polygon | Line | Label


class Part(NamedTuple):
    """A piece that moves as a whole: shapes, with their (0, 0) at `x`, `y` of the picture."""

    name: str
    shapes: tuple[Shape, ...]
    x: float = 0
    y: float = 0


#: A row and a column.
_Cell = tuple[int, int]


class Span(NamedTuple):
    """Characters on a terminal, on a ground of this colour if any."""

    text: str
    fill: str = ""


class Picture(NamedTuple):
    """Parts in the order in which they are drawn, the ground first; nothing reaches beyond `width` and `height`.

    `rows` is the picture on a terminal. A picture that has none looks there like the text of its configuration. If
    `boxed`, each row has a span for each cell, and a terminal with room draws a line around equal letters. It also
    draws one around the cells of the `goal`, by row and column; those outside the board are where the goal is open.
    """

    width: float
    height: float
    parts: tuple[Part, ...]
    rows: tuple[tuple[Span, ...], ...] = ()
    boxed: bool = False
    goal: frozenset[_Cell] = frozenset()


#: The first seven are those of Okabe and Ito ("Color universal design", 2008); the others differ in lightness, too.
DISTINCT = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2",
    "#b3de69", "#7b4ba0", "#f4c9a8", "#7f4a21", "#bdbdbd", "#a6dcd8", "#5e6b73",
)  # fmt: skip
#: The goal's pieces have the first, its outline the second; kinds of pieces, told apart by shapes too, the others.
GOAL, OUTLINE = "#e68d74", "#b7472f"
#: The names of colours that a viewer with a dark background replaces by its own.
SURFACES = {EDGE: "edge", GROUND: "ground", BED: "bed", PAPER: "paper", CARD: "card", OUTLINE: "goal"}
_KINDS = ("#e3c27f", "#9cc2b2", "#a9bcd8", "#c9b3d8", "#dba9b2", "#c8c2b2")
#: Points of viridis, which grows lighter evenly (van der Walt and Smith, 2015); without its darkest end.
_SCALE = ("#414487", "#2a788e", "#22a884", "#7ad151", "#fde725")
_WHITE = "#ffffff"
#: The golden angle, as a part of the circle of hues: consecutive hues are never close.
_GOLDEN = 0.381966


def distinct(number: int) -> str:
    """The colour of this number; beyond the chosen ones, hues that follow each other by the golden angle."""
    if number < len(DISTINCT):
        return DISTINCT[number]
    lightness = (0.45, 0.65, 0.8)[number % 3]
    return _text(colorsys.hls_to_rgb(number * _GOLDEN % 1, lightness, 0.5))


def of_kind(number: int) -> str:
    """The colour of a kind of pieces."""
    return _KINDS[number] if number < len(_KINDS) else distinct(number - len(_KINDS))


def scale(number: int, count: int) -> str:
    """The colour of `number` of 0 to `count` - 1, from dark to light."""
    place = number / max(count - 1, 1) * (len(_SCALE) - 1)
    index = min(int(place), len(_SCALE) - 2)
    low, high = _parts(_SCALE[index]), _parts(_SCALE[index + 1])
    share = place - index
    return _text(tuple(one + share * (other - one) for one, other in zip(low, high, strict=True)))


@cache
def ink(fill: str) -> str:
    """Return black or white, whichever has more contrast with this ground (contrast as WCAG 2 defines it)."""
    light = luminance(fill)
    return INK if (light + 0.05) / (luminance(INK) + 0.05) > 1.05 / (light + 0.05) else _WHITE


def luminance(colour: str) -> float:
    """Return the luminance of a colour, 0 to 1."""
    linear = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in _parts(colour))
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _parts(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[begin : begin + 2], 16) / 255 for begin in (1, 3, 5))


def _text(parts: Iterable[float]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


_WORD_CELL, _WORD_GAP, _WORD_RADIUS = 40, 2, 5
#: Width of a character of words, as a part of their size.
_WIDTH, _SIZE = 0.66, 20
#: No piece for these: nothing is there. This is a wall.
_NOTHING, _WORD_WALL = (".", " ", ".."), "#"
#: The number of colours for words that the first text does not have.
_OTHERS = 40


def text_pictures(texts: Sequence[str], start: str = "") -> list[Picture]:
    """The pictures of texts that belong together; what reads the same has the same colour, given by the text `start`.

    A word that is elsewhere in the next text is the same piece. Where there is but one sign, such as ``*``, the colour
    alone says where it is.
    """
    boards = [_words_of(text) for text in texts]
    usual = dict.fromkeys(word for word in _words_of(start).values() if _is_piece(word))
    colours = {word: distinct(number) for number, word in enumerate(usual)}
    found = {word for board in boards for word in board.values() if _is_piece(word)}
    colours |= {word: distinct(len(usual) + crc32(word.encode()) % _OTHERS) for word in found - usual.keys()}
    wide = max((len(word) for board in boards for word in board.values()), default=1)
    width = max(_WORD_CELL, round(_SIZE * _WIDTH * wide) + 16)
    across, down = (1 + max((cell[axis] for board in boards for cell in board), default=0) for axis in (1, 0))
    extent = across * width, down * _WORD_CELL
    drawn = zip(boards, _followed(boards), strict=True)
    return [_word_picture(board, named, colours, width, extent) for board, named in drawn]


def _words_of(text: str) -> dict[_Cell, str]:
    """The words by row and column: those of a row with blanks, or its characters; a number or a key is one word."""
    rows = (row.split() if row.startswith("0x") or " " in row else list(row) for row in text.split("/"))
    return {(row, column): word for row, words in enumerate(rows) for column, word in enumerate(words)}


def _is_piece(word: str) -> bool:
    return word not in (*_NOTHING, _WORD_WALL)


def _followed(boards: Sequence[Mapping[_Cell, str]]) -> list[dict[_Cell, str]]:
    """The names of the pieces on each board: a word and a number. A word that left one cell for another keeps it."""
    numbers, known, before = count(1), dict[_Cell, str](), dict[_Cell, str]()
    found = []
    for board in boards:
        now = {cell: word for cell, word in board.items() if _is_piece(word)}
        named = {cell: name for cell, name in known.items() if now.get(cell) == before[cell]}
        left, come = sorted(known.keys() - named.keys()), sorted(now.keys() - named.keys())
        gone, new = Counter(before[cell] for cell in left), Counter(now[cell] for cell in come)
        moved = {before[cell]: known[cell] for cell in left if gone[before[cell]] == new[before[cell]] == 1}
        named |= {cell: moved.get(now[cell]) or f"{now[cell]} {next(numbers)}" for cell in come}
        found.append(named)
        known, before = named, now
    return found


def _word_picture(
    board: Mapping[_Cell, str], named: Mapping[_Cell, str], colours: Mapping[str, str], width: int,
    extent: tuple[int, int],
) -> Picture:  # fmt: skip
    def box(fill: str, row: int = 0, column: int = 0) -> Rectangle:
        x, y = column * width + _WORD_GAP, row * _WORD_CELL + _WORD_GAP
        return Rectangle(x, y, width - 2 * _WORD_GAP, _WORD_CELL - 2 * _WORD_GAP, fill, _WORD_RADIUS)

    cells = (box(EDGE if word == _WORD_WALL else GROUND, *cell) for cell, word in board.items())
    parts = [Part("ground", (Rectangle(0, 0, *extent, BED, _WORD_RADIUS), *cells))]
    for (row, column), name in sorted(named.items()):
        word = board[row, column]
        plain = len(colours) == 1 and not any(map(str.isalnum, word))
        label = () if plain else (Label(width / 2, _WORD_CELL / 2, word, _SIZE, ink(colours[word])),)
        parts.append(Part(name, (box(colours[word]), *label), column * width, row * _WORD_CELL))
    return Picture(*extent, tuple(parts))


#: The cells of a piece, and those of all pieces by their letters.
Covered = frozenset[int]
Lettered = dict[str, Covered]

_CELL, _GAP, _RADIUS, _LETTER = 48, 2, 7, 20
_EMPTY, _WALL = ".", "#"
_SIDES = (-1, 0), (1, 0), (0, -1), (0, 1)
#: The outline of the goal: its distance from the middle of a cell, its width, the length of its dashes, which begin and
#: end a side. The width of an exit.
_INSET, _THICK, _DASH, _EXIT = 21.0, 2.5, 6, 6


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
    rows, columns, found = scene.rows, scene.columns, []
    ground, (outline, goal) = _ground(rows, columns, frozenset(scene.walls)), _goal(rows, columns, tuple(scene.targets))
    for board in boards:
        pieces = sorted(board.items())
        parts = [_part(each, cells, columns, scene.colours[each], scene.axes[each]) for each, cells in pieces]
        text = board_text(board, rows * columns, columns, scene.walls).replace("/", "")
        fills = [
            scene.colours.get(letter, GOAL if divmod(cell, columns) in goal else "") for cell, letter in enumerate(text)
        ]
        cells = tuple(map(Span, text, fills))
        spans = tuple(cells[begin : begin + columns] for begin in range(0, len(cells), columns))
        found.append(Picture(columns * _CELL, rows * _CELL, (ground, *parts, *outline), spans, boxed=True, goal=goal))
    return found


@lru_cache(maxsize=64)
def _ground(rows: int, columns: int, walls: Covered) -> Part:
    board = _box(0, 0, rows, columns, GROUND, _RADIUS, 0)._replace(edge=EDGE)
    return Part("ground", (board, *(_box(*divmod(cell, columns), 1, 1, EDGE, 0, 0) for cell in sorted(walls))))


@lru_cache(maxsize=64)
def _goal(
    rows: int, columns: int, targets: tuple[tuple[Covered, str], ...]
) -> tuple[tuple[Part, ...], frozenset[_Cell]]:
    """The goal: a dashed line just inside the edges of its places, and a gap of the frame where it is open to outside.

    Also its cells and those outside (`Picture.goal`).
    """
    lines, goal = list[Line](), set[_Cell]()
    for cells, axis in targets:
        places = {divmod(cell, columns) for cell in cells}
        outside = _exit(places, axis, rows, columns) if len(targets) == 1 else set()
        goal |= places | outside
        for place, side in product(sorted(places), _SIDES):
            if (beside := _beside(place, side)) in outside:
                lines.append(_edge(place, side, _CELL / 2, "", _EXIT))
            if beside not in places:
                lines.append(_edge(place, side, _INSET, OUTLINE, _THICK, _DASH))
    return ((Part("goal", tuple(lines)),) if lines else ()), frozenset(goal)


def _exit(places: Collection[_Cell], axis: str, rows: int, columns: int) -> set[_Cell]:
    """The cells outside the board to which a piece in its place in the goal would leave, if they are on one side."""
    board, found = set(product(range(rows), range(columns))), []
    for side in _SIDES:
        if axis != ("row" if side[0] else "column") and (out := {_beside(place, side) for place in places} - board):
            found.append(out)
    return found[0] if len(found) == 1 else set()


def _beside(place: _Cell, side: _Cell) -> _Cell:
    return place[0] + side[0], place[1] + side[1]


def _edge(place: _Cell, side: _Cell, out: float, colour: str, width: float, dash: float = 0) -> Line:
    """A line along a side of a cell, `out` from its middle and as far to both sides."""
    y, x = ((at + 0.5) * _CELL + out * way for at, way in zip(place, side, strict=True))
    along, down = out * abs(side[0]), out * abs(side[1])
    return Line(x - along, y - down, x + along, y + down, colour, width, dash)


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
