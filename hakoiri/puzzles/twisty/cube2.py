"""The 2x2x2 pocket cube: 3,674,160 configurations, counted with one corner held still.

The corner at the faces D, B and L never moves, so only the faces U, R and F turn. Turning one of the others is turning
the whole cube and the face on the far side.

A text has six rows, the faces U, R, F, D, L, B: up, right, front, down, left, back. Each face is read from its upper
left sticker by rows, looking at it from outside: the sides with U above them, U with F below it, D with F above it.
The solved cube is ``UUUU/RRRR/FFFF/DDDD/LLLL/BBBB``; the corner held still has the third sticker of D and of L and the
fourth of B. A cube that was turned as a whole is turned back: no position depends on that.
"""

from collections.abc import Mapping
from functools import cache
from itertools import accumulate

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.pictures import EDGE, Label, Part, Picture, Rectangle, Span, ink
from hakoiri.puzzles.twisty.base import Pieces, Place, Turn, Twisty, turned_then

_Vector = tuple[int, int, int]

#: For each face the ways out of it, to its right and to its lower edge; x goes right, y up, z to the front.
_FACES: dict[str, tuple[_Vector, _Vector, _Vector]] = {
    "U": ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    "R": ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
    "F": ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
    "D": ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
    "L": ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "B": ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
}
_TURNING = "URF"
#: Turns of the whole cube by the face that they turn with.
_AXES = {"x": "R", "y": "U", "z": "F"}
#: The faces of the usual colours; red and blue have the letters of theirs, right and back.
_COLOURS = str.maketrans("WGYO", "UFDL")
#: The corners by their faces, clockwise.
_CORNERS = ("URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DRB")
_STILL = "DBL"
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

    def prepare(self, start: str | None) -> None:
        self.pieces = Pieces(
            faces="".join(_FACES),
            exchanged={f"corner {faces}": _stickers_of(faces) for faces in _CORNERS},
            still={f"corner {_STILL}": _stickers_of(_STILL)},
        )
        super().prepare(start)
        whole = {axis: _quarter_turn(face, whole=True) for axis, face in _AXES.items()}
        # Two layers are the whole cube.
        wide = {f"{face}w": _quarter_turn(face, whole=True) for face in _FACES}
        self._clockwise = {face: _quarter_turn(face) for face in _FACES} | whole | wide
        x, y, z = whole.values()
        upper = [*accumulate([tuple(range(len(x))), x, x, x], turned_then), z, wide["Bw"]]
        self._rotations = [rotation for side in upper for rotation in accumulate([side, y, y, y], turned_then)]

    def _read(self, text: str, anything: str = "") -> str:
        """Also in colours, small or capital letters."""
        letters = {*text.upper()} - {"/", anything}
        if letters <= {*"WRGYOB"} and not letters <= {*"RB"}:
            text = text.upper().translate(_COLOURS)
        return super()._read(text, anything)

    def _upright(self, colours: str) -> str:
        (place,) = self.pieces.still.values()
        for rotation in self._rotations:
            turned = "".join(colours[sticker] for sticker in rotation)
            if "".join(turned[sticker] for sticker in place) == _STILL:
                return turned
        raise ConfigurationError(f"no corner has the colours {', '.join(_STILL)}, clockwise")

    def wholes(self) -> list[Turn]:
        """The 24 rotations, and these after a reflection left to right."""
        mirror = tuple(_SPOTS.index([-x, y, z]) for x, y, z in _SPOTS)
        return [*self._rotations, *(turned_then(rotation, mirror) for rotation in self._rotations)]

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

    def turns(self) -> dict[str, Turn]:
        found = {}
        for face in _TURNING:
            once = _quarter_turn(face)
            twice = turned_then(once, once)
            found[face] = once
            if self.parameters["metric"] == "half":
                found[f"{face}2"] = twice
            found[f"{face}'"] = turned_then(twice, once)
        return found


#: Each sticker's position: 2 from the middle of the cube towards its face, 1 along the face both ways.
_SPOTS = [
    (2 * out + column * right + row * down).tolist()
    for out, right, down in map(np.array, _FACES.values())
    for row in (-1, 1)
    for column in (-1, 1)
]


@cache
def _stickers_of(corner: str) -> Place:
    out = np.array([_FACES[face][0] for face in corner])
    return tuple(map(_SPOTS.index, (out.sum(axis=0) + out).tolist()))


@cache
def _quarter_turn(face: str, whole: bool = False) -> Turn:
    """A face, or the `whole` cube, turned clockwise by a quarter, looking at the face from outside."""
    out, sources = np.array(_FACES[face][0]), list(range(len(_SPOTS)))
    along = np.array(_SPOTS) @ out
    # Clockwise is from v to v x out, for v in the plane of the turn.
    targets = (along[:, None] * out + np.cross(_SPOTS, out)).tolist()
    for sticker in np.flatnonzero(whole | (along > 0)).tolist():
        sources[_SPOTS.index(targets[sticker])] = sticker
    return tuple(sources)
