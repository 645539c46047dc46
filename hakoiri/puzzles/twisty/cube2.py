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

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.twisty.base import Pieces, Place, Turn, Twisty, turned_then
from hakoiri.puzzles.twisty.nets import draw_cube

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

    def net(self, faces: Mapping[str, str]) -> Picture:
        return draw_cube(faces)

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


def _sum(*vectors: _Vector) -> _Vector:
    x, y, z = (sum(parts) for parts in zip(*vectors, strict=True))
    return x, y, z


def _times(factor: int, vector: _Vector) -> _Vector:
    return factor * vector[0], factor * vector[1], factor * vector[2]


def _spots() -> list[_Vector]:
    """Return each sticker's position: 2 from the middle of the cube towards its face, 1 along the face both ways."""
    return [
        _sum(_times(2, out), _times(column, right), _times(row, down))
        for out, right, down in _FACES.values()
        for row in (-1, 1)
        for column in (-1, 1)
    ]


@cache
def _stickers_of(corner: str) -> Place:
    spots, out = _spots(), {face: vectors[0] for face, vectors in _FACES.items()}
    middle = _sum(*(out[face] for face in corner))
    return tuple(spots.index(_sum(middle, out[face])) for face in corner)


@cache
def _quarter_turn(face: str, whole: bool = False) -> Turn:
    """A face, or the `whole` cube, turned clockwise by a quarter, looking at the face from outside."""
    spots, out = _spots(), _FACES[face][0]
    sources = list(range(len(spots)))
    for sticker, spot in enumerate(spots):
        along = sum(one * other for one, other in zip(spot, out, strict=True))
        if whole or along > 0:
            # Clockwise is from v to v x out, for v in the plane of the turn.
            target = _sum(_times(along, out), _cross(spot, out))
            sources[spots.index(target)] = sticker
    return tuple(sources)


def _cross(one: _Vector, two: _Vector) -> _Vector:
    return (one[1] * two[2] - one[2] * two[1], one[2] * two[0] - one[0] * two[2], one[0] * two[1] - one[1] * two[0])
