"""The nets of the cube and the Pyraminx: stickers in their colours, with the letter of their face."""

from collections.abc import Mapping

from hakoiri.puzzles.pictures import BED, EDGE, Label, Part, Picture, Polygon, Rectangle, Span, ink

_Point = tuple[float, float]

#: As cubes are sold (white, red, green, yellow, orange, blue), in shades that differ for the colour-blind, too.
CUBE_COLOURS = {"U": "#ffffff", "R": "#c1272d", "F": "#009e73", "D": "#f7e64a", "L": "#f39c12", "B": "#0f62ac"}
#: Green, red, blue and yellow.
PYRAMINX_COLOURS = {"F": "#009e73", "L": "#c1272d", "R": "#0f62ac", "D": "#f7e64a"}

#: Faces of the cube by their column and row in the net.
_CUBE_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
_STICKER, _GAP, _LETTER, _BETWEEN = 34, 1.5, 14, 4
_SIDE, _SHRUNK = 150, 0.95
#: The stickers of a face of the Pyraminx in the order of its text, by the corners of small triangles: (row, place).
_SMALL = (
    ((1, 0), (2, 0), (2, 1)), ((1, 0), (1, 1), (2, 1)), ((1, 1), (2, 1), (2, 2)),
    ((2, 0), (2, 1), (3, 1)), ((2, 1), (3, 1), (3, 2)), ((2, 1), (2, 2), (3, 2)),
)  # fmt: skip
_TIPS = (((0, 0), (1, 0), (1, 1)), ((2, 0), (3, 0), (3, 1)), ((2, 2), (3, 2), (3, 3)))


def draw_cube(faces: Mapping[str, str]) -> Picture:
    """The stickers of each face, four letters read by rows."""
    size = 2 * _STICKER + _BETWEEN
    parts, cells = [], [[Span("  ")] * 8 for _ in range(6)]
    for face, (column, row) in _CUBE_NET.items():
        for place, letter in enumerate(faces[face]):
            down, right = divmod(place, 2)
            fill = CUBE_COLOURS[letter]
            box = Rectangle(_GAP, _GAP, _STICKER - 2 * _GAP, _STICKER - 2 * _GAP, fill, 4, EDGE)
            label = Label(_STICKER / 2, _STICKER / 2, letter, _LETTER, ink(fill))
            x, y = column * size + right * _STICKER, row * size + down * _STICKER
            parts.append(Part(f"{face}{place + 1}", (box, label), x, y))
            cells[2 * row + down][2 * column + right] = Span(f"{letter} ", fill)
    return Picture(4 * size - _BETWEEN, 3 * size - _BETWEEN, tuple(parts), tuple(map(tuple, cells)))


def draw_pyraminx(faces: Mapping[str, str]) -> Picture:
    """The stickers of each face, six letters read by rows; the tips, which turn freely, are grey.

    L, F and R stand in a row, F with its tip up; D hangs below F.
    """
    height = _SIDE * 3**0.5 / 2
    left, middle, right = (_SIDE / 2, height), (_SIDE, 0.0), (1.5 * _SIDE, height)
    # The points of the net where each face has its top, its left and its right corner.
    corners: dict[str, tuple[_Point, _Point, _Point]] = {
        "F": (middle, left, right),
        "L": (middle, (0.0, 0.0), left),
        "R": (middle, right, (2.0 * _SIDE, 0.0)),
        "D": ((_SIDE, 2 * height), right, left),
    }
    parts = []
    for face, corner in corners.items():
        points = _shrunk(corner)
        tips = tuple(Polygon(_triangle(points, tip), BED, EDGE) for tip in _TIPS)
        parts.append(Part(f"tips {face}", tips))
        for place, (letter, small) in enumerate(zip(faces[face], _SMALL, strict=True)):
            triangle, fill = _triangle(points, small), PYRAMINX_COLOURS[letter]
            x, y = (round(sum(values) / 3, 2) for values in zip(*triangle, strict=True))
            shapes = Polygon(triangle, fill, EDGE), Label(x, y, letter, _LETTER, ink(fill))
            parts.append(Part(f"{face}{place + 1}", shapes))
    return Picture(2 * _SIDE, round(2 * height, 2), tuple(parts), _rows_of_pyraminx(faces))


def _shrunk(corners: tuple[_Point, _Point, _Point]) -> tuple[_Point, _Point, _Point]:
    """Return the face a little smaller, so that it does not touch its neighbours."""
    x, y = (sum(values) / 3 for values in zip(*corners, strict=True))
    first, second, third = ((x + (px - x) * _SHRUNK, y + (py - y) * _SHRUNK) for px, py in corners)
    return first, second, third


def _triangle(corners: tuple[_Point, _Point, _Point], small: tuple[tuple[int, int], ...]) -> tuple[_Point, ...]:
    """Points of a face that has three rows of small triangles."""
    (x, y), (left_x, left_y), (right_x, right_y) = corners
    shares = ((3 - row, row - place, place) for row, place in small)
    return tuple(
        (
            round((top * x + left * left_x + right * right_x) / 3, 2),
            round((top * y + left * left_y + right * right_y) / 3, 2),
        )
        for top, left, right in shares
    )


def _rows_of_pyraminx(faces: Mapping[str, str]) -> tuple[tuple[Span, ...], ...]:
    """L, F, R side by side and D below F, each face as its text reads."""

    def half(face: str, begin: int) -> list[Span]:
        return [Span(f"{letter} ", PYRAMINX_COLOURS[letter]) for letter in faces[face][begin : begin + 3]]

    blank, apart = Span(" " * 7), Span(" ")
    above = [(*half("L", row), apart, *half("F", row), apart, *half("R", row)) for row in (0, 3)]
    return (*above, *((blank, *half("D", row), blank) for row in (0, 3)))
