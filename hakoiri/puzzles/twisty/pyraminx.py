"""The Pyraminx without its four tips, which turn freely: 933,120 configurations.

Six edges change places (evenly) and flip, four centres twist where they are. A move turns one of the four corners U
(up), L (left), R (right), B (back) by a third, clockwise as seen from outside, or the other way round, e.g. ``U'``.

A text has four rows, the faces F (front), L (left), R (right), D (down). Each face is a triangle without its tips,
read from the top: edge, centre, edge, and below centre, edge, centre. F, L and R are seen with the corner U at the
top, D from below with the corner B at the top. The solved puzzle is ``FFFFFF/LLLLLL/RRRRRR/DDDDDD``; ``FFFFFF`` has in
turn the edge at L, the centre U, the edge at R, the centre L, the edge at D and the centre R.
"""

from collections.abc import Mapping, Sequence

from hakoiri.puzzles.pictures import BED, EDGE, Label, Part, Picture, Polygon, Span, ink
from hakoiri.puzzles.twisty.base import Twisty

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


class Pyraminx(Twisty):
    """Every move turns a corner by a third, one way or the other."""

    name = "pyraminx"
    summary = "the Pyraminx without its tips: a corner turns by a third"
    goal_summary = "every face of one colour"
    faces = {
        "F": "FL FLR FR LFD FD RDF", "L": "LR FLR FL DRL LD LFD",
        "R": "FR FLR LR RDF RD DRL", "D": "RD DRL LD RDF FD LFD",
    }  # fmt: skip
    places = {
        **{f"edge {piece}": piece for piece in ("FL", "FR", "LR", "FD", "LD", "RD")},
        "centre U": "FLR", "centre L": "LFD", "centre R": "RDF", "centre B": "DRL",
    }  # fmt: skip
    # A scramble may turn the tips, too, which are not there.
    turns = {"U": "FLR", "L": "FDL", "R": "FRD", "B": "LDR", "u": "", "l": "", "r": "", "b": ""}
    usual = "ULRB"

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


def _triangle(corners: Sequence[_Point], small: tuple[tuple[int, int], ...]) -> tuple[_Point, ...]:
    """Points of a face that has three rows of small triangles."""
    (x, y), (x1, y1), (x2, y2) = corners
    shares = ((3 - row, row - place, place) for row, place in small)
    return tuple(
        (round((top * x + left * x1 + right * x2) / 3, 2), round((top * y + left * y1 + right * y2) / 3, 2))
        for top, left, right in shares
    )
