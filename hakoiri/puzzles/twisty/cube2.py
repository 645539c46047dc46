"""The 2x2x2 pocket cube: 3,674,160 configurations, counted with one corner held still.

The corner at the faces D, B and L never moves, so only the faces U, R and F turn. Turning one of the others is turning
the whole cube and the face on the far side.

A text has six rows, the faces U, R, F, D, L, B: up, right, front, down, left, back. Each face is read from its upper
left sticker by rows, looking at it from outside: the sides with U above them, U with F below it, D with F above it.
The solved cube is ``UUUU/RRRR/FFFF/DDDD/LLLL/BBBB``; the corner held still has the third sticker of D and of L and the
fourth of B. A cube that was turned as a whole is turned back: no position depends on that.
"""

from collections.abc import Mapping

from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.pictures import EDGE, Label, Part, Picture, Rectangle, Span, ink
from hakoiri.puzzles.twisty.base import Twisty

#: The faces, with what turns with them, clockwise; and those on the far side.
_TURNS = {"U": "FLBR U", "R": "FUBD R", "F": "LURD F", "D": "FRBL D", "L": "UFDB L", "B": "ULDR B"}
_FAR = {"U": "D", "R": "L", "F": "B", "D": "U", "L": "R", "B": "F"}
#: The faces of the usual colours; red and blue have the letters of theirs, right and back.
_COLOURS = str.maketrans("WGYO", "UFDL")
#: As cubes are sold (white, red, green, yellow, orange, blue), in shades that differ for the colour-blind, too.
_PAINTS = {"U": "#ffffff", "R": "#c1272d", "F": "#009e73", "D": "#f7e64a", "L": "#f39c12", "B": "#0f62ac"}
#: Faces by their column and row in the net.
_NET = {"U": (1, 0), "L": (0, 1), "F": (1, 1), "R": (2, 1), "B": (3, 1), "D": (1, 2)}
_STICKER, _GAP, _LETTER, _BETWEEN = 34, 1.5, 14, 4


class Cube2(Twisty):
    """Option `metric`: whether a half turn of a face is one move or two.

    A start is the six faces in this order: U, R, F, D, L, B. They need no ``/`` between them, may be in the colours W,
    R, G, Y, O, B, and the cube may lie in any way. Algorithms are starts, too. They have turns of all six faces,
    ``x y z`` and ``Rw`` for the whole cube, repeats ``(R U R' U')3``, commutators ``[R, U]`` and conjugates ``[R: U]``.
    """

    name = "cube2"
    summary = "the 2x2x2 cube with one corner held still; metric half: half turns are one move, quarter: two"
    goal_summary = "every face of one colour"
    options = {"metric": Choice(("half", "quarter"))}
    faces = {
        "U": "ULB UBR UFL URF", "R": "URF UBR DFR DRB", "F": "UFL URF DLF DFR",
        "D": "DLF DFR DBL DRB", "L": "ULB UFL DBL DLF", "B": "UBR ULB DRB DBL",
    }  # fmt: skip
    places = {f"corner {piece}": piece for piece in ("URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DRB", "DBL")}
    # Two layers are the whole cube, which turns with a face or about an axis.
    turns = {
        **_TURNS, **{axis: _TURNS[face] + _FAR[face] for axis, face in {"x": "R", "y": "U", "z": "F"}.items()},
        **{f"{face}w": turn + _FAR[face] for face, turn in _TURNS.items()},
    }  # fmt: skip
    usual = "URF"

    def _colours_in(self, text: str, anything: str = "") -> str:
        """Also in colours, small or capital letters."""
        letters = {*text.upper()} - {"/", anything}
        if letters <= {*"WRGYOB"} and not letters <= {*"RB"}:
            text = text.upper().translate(_COLOURS)
        return super()._colours_in(text, anything)

    def net(self, faces: Mapping[str, str]) -> Picture:
        """The stickers of each face, four letters read by rows."""
        size = 2 * _STICKER + _BETWEEN
        parts, cells = [], [[Span("  ")] * 8 for _ in range(6)]
        for face, (column, row) in _NET.items():
            for place, letter in enumerate(faces[face]):
                down, right = divmod(place, 2)
                fill = _PAINTS[letter]
                box = Rectangle(_GAP, _GAP, _STICKER - 2 * _GAP, _STICKER - 2 * _GAP, fill, 4, EDGE)
                label = Label(_STICKER / 2, _STICKER / 2, letter, _LETTER, ink(fill))
                x, y = column * size + right * _STICKER, row * size + down * _STICKER
                parts.append(Part(f"{face}{place + 1}", (box, label), x, y))
                cells[2 * row + down][2 * column + right] = Span(f"{letter} ", fill)
        return Picture(4 * size - _BETWEEN, 3 * size - _BETWEEN, tuple(parts), tuple(map(tuple, cells)))
