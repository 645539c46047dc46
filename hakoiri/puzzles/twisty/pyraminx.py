"""The Pyraminx without its four tips, which turn freely: 933,120 configurations.

Six edges change places (evenly) and flip, four centres twist where they are. A move turns one of the four corners U
(up), L (left), R (right), B (back) by a third, clockwise as seen from outside, or the other way round, e.g. ``U'``.

A text has four rows, the faces F (front), L (left), R (right), D (down). Each face is a triangle without its tips,
read from the top: edge, centre, edge, and below centre, edge, centre. F, L and R are seen with the corner U at the
top, D from below with the corner B at the top. The solved puzzle is ``FFFFFF/LLLLLL/RRRRRR/DDDDDD``; ``FFFFFF`` has in
turn the edge at L, the centre U, the edge at R, the centre L, the edge at D and the centre R.
"""

from collections.abc import Mapping
from itertools import combinations

from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.twisty.base import Pieces, Place, Turn, Twisty, turned_then
from hakoiri.puzzles.twisty.nets import draw_pyraminx

#: For each face its top, left and right corner, looking at it from outside.
_FACES = {"F": ("U", "L", "R"), "L": ("U", "B", "L"), "R": ("U", "R", "B"), "D": ("B", "R", "L")}
#: For each corner the other three, clockwise as seen from outside.
_OTHERS = {"U": ("B", "R", "L"), "L": ("R", "B", "U"), "R": ("L", "U", "B"), "B": ("U", "L", "R")}
_CORNERS = "".join(_OTHERS)

#: The face of a sticker and the corners that its piece turns with: two for an edge, one for a centre.
_Spot = tuple[str, frozenset[str]]


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
                f"edge {''.join(faces)}": tuple(_spots().index((face, pair)) for face in faces)
                for faces, pair in zip(edges, pairs, strict=True)
            },
            pivots={f"centre {corner}": _centre(corner) for corner in _CORNERS},
            even=True,
        )
        super().prepare(start)
        # A scramble may turn the tips, too, which are not there.
        unmoved = tuple(range(len(_spots())))
        self._clockwise |= {corner.lower(): unmoved for corner in _CORNERS}

    def net(self, faces: Mapping[str, str]) -> Picture:
        return draw_pyraminx(faces)

    def turns(self) -> dict[str, Turn]:
        found = {}
        for corner in _CORNERS:
            once = _third_turn(corner)
            found[corner] = once
            found[f"{corner}'"] = turned_then(once, once)
        return found


def _spots() -> list[_Spot]:
    """The stickers in the order of a text."""
    return [
        (face, frozenset(corners))
        for face, (top, left, right) in _FACES.items()
        for corners in (top + left, top, top + right, left, left + right, right)
    ]


def _face(corners: frozenset[str]) -> str:
    """The face with these three corners."""
    (face,) = [face for face in _FACES if corners == frozenset(_FACES[face])]
    return face


def _centre(corner: str) -> Place:
    """The stickers of a centre, clockwise: each face is the one opposite to one of the other corners."""
    faces = [_face(frozenset(_CORNERS) - {other}) for other in _OTHERS[corner]]
    return tuple(_spots().index((face, frozenset(corner))) for face in faces)


def _third_turn(corner: str) -> Turn:
    """A corner turned clockwise by a third: its pieces follow the other corners round."""
    first, second, third = _OTHERS[corner]
    to = {corner: corner, first: second, second: third, third: first}
    spots = _spots()
    sources = list(range(len(spots)))
    for sticker, (face, corners) in enumerate(spots):
        if corner in corners:
            target = _face(frozenset(to[other] for other in _FACES[face])), frozenset(to[other] for other in corners)
            sources[spots.index(target)] = sticker
    return tuple(sources)
