"""The Pyraminx without its four tips, which turn freely: 933,120 configurations.

Six edges change places (evenly) and flip, four centres twist where they are. A move turns one of the four corners U
(up), L (left), R (right), B (back) by a third, clockwise as seen from outside, or the other way round, e.g. ``U'``.

A text has four rows, the faces F (front), L (left), R (right), D (down). Each face is a triangle without its tips,
read from the top: edge, centre, edge, and below centre, edge, centre. F, L and R are seen with the corner U at the
top, D from below with the corner B at the top. The solved puzzle is ``FFFFFF/LLLLLL/RRRRRR/DDDDDD``; ``FFFFFF`` has in
turn the edge at L, the centre U, the edge at R, the centre L, the edge at D and the centre R.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations

from hakoiri.puzzles.pictures import BED, EDGE, Label, Part, Picture, Polygon, Span, ink
from hakoiri.puzzles.twisty.base import Pieces, Place, Turn, Twisty, turned_then

#: For each face its top, left and right corner, looking at it from outside.
_FACES = {"F": ("U", "L", "R"), "L": ("U", "B", "L"), "R": ("U", "R", "B"), "D": ("B", "R", "L")}
#: For each corner the other three, clockwise as seen from outside.
_OTHERS = {"U": ("B", "R", "L"), "L": ("R", "B", "U"), "R": ("L", "U", "B"), "B": ("U", "L", "R")}
_CORNERS = "".join(_OTHERS)
#: Green, red, blue and yellow.
_PAINTS = {"F": "#009e73", "L": "#c1272d", "R": "#0f62ac", "D": "#f7e64a"}
_Point = tuple[float, float]
_LETTER, _SIDE, _SHRUNK = 14, 150, 0.95
#: The stickers of a face in the order of its text, by the corners of small triangles: (row, place).
_SMALL = (
    ((1, 0), (2, 0), (2, 1)), ((1, 0), (1, 1), (2, 1)), ((1, 1), (2, 1), (2, 2)),
    ((2, 0), (2, 1), (3, 1)), ((2, 1), (3, 1), (3, 2)), ((2, 1), (2, 2), (3, 2)),
)  # fmt: skip
_TIPS = (((0, 0), (1, 0), (1, 1)), ((2, 0), (3, 0), (3, 1)), ((2, 2), (3, 2), (3, 3)))

#: The face of a sticker and the corners that its piece turns with: two for an edge, one for a centre.
_Spot = tuple[str, frozenset[str]]
#: The stickers in the order of a text.
_SPOTS: list[_Spot] = [
    (face, frozenset(corners))
    for face, (top, left, right) in _FACES.items()
    for corners in (top + left, top, top + right, left, left + right, right)
]


class Pyraminx(Twisty):
    """Every move turns a corner by a third, one way or the other."""

    name = "pyraminx"
    summary = "the Pyraminx without its tips: a corner turns by a third"
    goal_summary = "every face of one colour"

    def prepare(self, start: str | None) -> None:
        pairs = [frozenset(pair) for pair in combinations(_CORNERS, 2)]
        edges = [[face for face in _FACES if pair <= set(_FACES[face])] for pair in pairs]
        self.pieces = Pieces(
            faces="".join(_FACES),
            exchanged={
                f"edge {''.join(faces)}": tuple(_SPOTS.index((face, pair)) for face in faces)
                for faces, pair in zip(edges, pairs, strict=True)
            },
            pivots={f"centre {corner}": _centre(corner) for corner in _CORNERS},
            even=True,
        )
        super().prepare(start)
        # A scramble may turn the tips, too, which are not there.
        unmoved = tuple(range(len(_SPOTS)))
        self._clockwise |= {corner.lower(): unmoved for corner in _CORNERS}

    def wholes(self) -> list[Turn]:
        """Every permutation of the four corners: 12 rotations and 12 reflections."""
        found = []
        for corners in permutations(_CORNERS):
            to = dict(zip(_CORNERS, corners, strict=True))
            faces = {face: _face(frozenset(map(to.__getitem__, _FACES[face]))) for face in _FACES}
            found.append(tuple(_SPOTS.index((faces[face], frozenset(map(to.__getitem__, at)))) for face, at in _SPOTS))
        return found

    def net(self, faces: Mapping[str, str]) -> Picture:
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
            # A little smaller, so that it does not touch its neighbours.
            x, y = (sum(values) / 3 for values in zip(*corner, strict=True))
            points = [(x + (px - x) * _SHRUNK, y + (py - y) * _SHRUNK) for px, py in corner]
            tips = tuple(Polygon(_triangle(points, tip), BED, EDGE) for tip in _TIPS)
            parts.append(Part(f"tips {face}", tips))
            for place, (letter, small) in enumerate(zip(faces[face], _SMALL, strict=True)):
                triangle, fill = _triangle(points, small), _PAINTS[letter]
                x, y = (round(sum(values) / 3, 2) for values in zip(*triangle, strict=True))
                shapes = Polygon(triangle, fill, EDGE), Label(x, y, letter, _LETTER, ink(fill))
                parts.append(Part(f"{face}{place + 1}", shapes))
        blank, apart = Span(" " * 7), Span(" ")
        spans = {face: [Span(f"{letter} ", _PAINTS[letter]) for letter in letters] for face, letters in faces.items()}
        upper, lower = slice(0, 3), slice(3, 6)
        rows = [(*spans["L"][half], apart, *spans["F"][half], apart, *spans["R"][half]) for half in (upper, lower)]
        rows += [(blank, *spans["D"][half], blank) for half in (upper, lower)]
        return Picture(2 * _SIDE, round(2 * height, 2), tuple(parts), tuple(rows))

    def turns(self) -> dict[str, Turn]:
        found = {}
        for corner in _CORNERS:
            # Clockwise by a third: its pieces follow the other corners round.
            first, second, third = _OTHERS[corner]
            to = {corner: corner, first: second, second: third, third: first}
            sources = list(range(len(_SPOTS)))
            for sticker, (face, corners) in enumerate(_SPOTS):
                if corner in corners:
                    there = _face(frozenset(map(to.__getitem__, _FACES[face])))
                    sources[_SPOTS.index((there, frozenset(map(to.__getitem__, corners))))] = sticker
            found[corner] = once = tuple(sources)
            found[f"{corner}'"] = turned_then(once, once)
        return found


def _face(corners: frozenset[str]) -> str:
    (face,) = [face for face in _FACES if corners == frozenset(_FACES[face])]
    return face


def _centre(corner: str) -> Place:
    """The stickers of a centre, clockwise: each face is the one opposite to one of the other corners."""
    faces = [_face(frozenset(_CORNERS) - {other}) for other in _OTHERS[corner]]
    return tuple(_SPOTS.index((face, frozenset(corner))) for face in faces)


def _triangle(corners: Sequence[_Point], small: tuple[tuple[int, int], ...]) -> tuple[_Point, ...]:
    """Points of a face that has three rows of small triangles."""
    (x, y), (x1, y1), (x2, y2) = corners
    shares = ((3 - row, row - place, place) for row, place in small)
    return tuple(
        (round((top * x + left * x1 + right * x2) / 3, 2), round((top * y + left * y1 + right * y2) / 3, 2))
        for top, left, right in shares
    )
