"""Algorithms and facelets of twisty puzzles, against a cube of loose stickers that is turned in space."""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.twisty.cube2 import Cube2
from hakoiri.puzzles.twisty.pyraminx import Pyraminx

CUBE, PYRAMINX = Cube2(), Pyraminx()
#: The ways out of the faces; x goes right, y up, z to the front.
OUT = {"U": (0, 1, 0), "R": (1, 0, 0), "F": (0, 0, 1), "D": (0, -1, 0), "L": (-1, 0, 0), "B": (0, 0, -1)}
#: Which way the rows of a face go, and its columns.
DOWN = {"U": (0, 0, 1), "R": (0, -1, 0), "F": (0, -1, 0), "D": (0, 0, -1), "L": (0, -1, 0), "B": (0, -1, 0)}
RIGHT = {"U": (1, 0, 0), "R": (0, 0, -1), "F": (1, 0, 0), "D": (1, 0, 0), "L": (0, 0, 1), "B": (-1, 0, 0)}
AXES = {"x": "R", "y": "U", "z": "F"}
COLOURS = {"U": "W", "R": "R", "F": "G", "D": "Y", "L": "O", "B": "B"}

#: Where a sticker is: the corner, and the way that it looks.
Spot = tuple[tuple[int, ...], tuple[int, ...]]
Stickers = dict[Spot, str]


def vector(values: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


@cache
def spots() -> list[Spot]:
    """In the order of a text."""
    return [
        (vector(np.array(OUT[face]) + column * np.array(RIGHT[face]) + row * np.array(DOWN[face])), OUT[face])
        for face in OUT
        for row in (-1, 1)
        for column in (-1, 1)
    ]


@cache
def ways(move: str) -> dict[Spot, Spot]:
    """The spots to which stickers come by one clockwise quarter turn: of a face, or of the cube (``x``, ``Uw``)."""
    axis = np.array(OUT[AXES.get(move, move[0])])

    def carried(way: tuple[int, ...]) -> tuple[int, ...]:
        here = np.array(way)
        return vector(axis * (axis @ here) + np.cross(here, axis))

    whole = move in AXES or move.endswith("w")
    return {
        (corner, way): (carried(corner), carried(way)) if whole or axis @ np.array(corner) > 0 else (corner, way)
        for corner, way in spots()
    }


def turned(stickers: Stickers, move: str) -> Stickers:
    return {ways(move)[spot]: colour for spot, colour in stickers.items()}


def text_of(stickers: Stickers) -> str:
    return "".join(stickers[spot] for spot in spots())


def upright(stickers: Stickers) -> Stickers:
    """The whole cube turned until the corner of D, B and L has its place."""
    still = {((-1, -1, -1), OUT[face]): face for face in "DBL"}
    for first in ("", "x", "xx", "xxx", "z", "zzz"):
        for second in ("", "y", "yy", "yyy"):
            found = stickers
            for move in first + second:
                found = turned(found, move)
            if still.items() <= found.items():
                return found
    raise AssertionError("no such corner")


class Written(NamedTuple):
    """An algorithm as text, and as its single turns: a name, and whether it is the other way round."""

    text: str
    moves: tuple[tuple[str, bool], ...]

    def back(self) -> tuple[tuple[str, bool], ...]:
        return tuple((name, not back) for name, back in reversed(self.moves))

    def ended(self, times: int, back: bool) -> "Written":
        """With a number and a prime after it."""
        text = f"{self.text}{times if times > 1 else ''}{chr(39) * back}"
        return Written(text, (self.back() if back else self.moves) * times)


def joined(parts: list[Written], between: str) -> Written:
    return Written(between.join(part.text for part in parts), sum((part.moves for part in parts), ()))


def grouped(parts: list[Written], kind: str) -> Written:
    one, two = joined(parts[: len(parts) // 2], " "), joined(parts[len(parts) // 2 :], " ")
    if kind == "()":
        return Written(f"({one.text} {two.text})", one.moves + two.moves)
    back = two.back() if kind == "," else ()
    return Written(f"[{one.text}{kind} {two.text}]", one.moves + two.moves + one.back() + back)


NAMES = [*OUT, *AXES, *(f"{face}w" for face in OUT)]
ENDS = {"times": st.integers(1, 3), "back": st.booleans()}
TURNS = st.builds(lambda name, **ends: Written(name, ((name, False),)).ended(**ends), st.sampled_from(NAMES), **ENDS)
ALGORITHMS = st.lists(
    st.recursive(
        TURNS,
        lambda inner: st.builds(
            lambda parts, kind, **ends: grouped(parts, kind).ended(**ends),
            st.lists(inner, min_size=2, max_size=3), st.sampled_from(["()", ",", ":"]), **ENDS,
        ),
        max_leaves=6,
    ),
    min_size=1, max_size=4,
).map(lambda parts: joined(parts, " "))  # fmt: skip


@pytest.mark.ci_slow
@given(ALGORITHMS)
def test_an_algorithm_does_what_its_turns_do_to_stickers(algorithm: Written) -> None:
    stickers = dict(zip(spots(), "".join(face * 4 for face in OUT), strict=True))
    for name, back in algorithm.moves:
        for _ in range(3 if back else 1):
            stickers = turned(stickers, name)
    key = CUBE.parse(algorithm.text)
    assert CUBE.render(key).replace("/", "") == text_of(upright(stickers))
    # However the cube lies, it is the same position.
    facelets = text_of(stickers)
    colours = "".join(COLOURS[face] for face in facelets)
    assert {CUBE.parse(text) for text in (facelets, colours, colours.lower())} == {key}


@given(st.integers(0, CUBE.size - 1), st.sampled_from(["", "/", " ", "\n"]))
def test_facelets_round_trip(key: int, between: str) -> None:
    assert CUBE.parse(CUBE.render(key).replace("/", between)) == key


@given(st.integers(0, PYRAMINX.size - 1))
def test_the_pyraminx_without_slashes(key: int) -> None:
    assert PYRAMINX.parse(PYRAMINX.render(key).replace("/", "")) == key


def test_well_known_algorithms() -> None:
    for solved in ("(R U R' U')6", "([R, U])6", "x y z", "Rw2 Uw'", "L R' x", "((R2 U2)3)2", "(R)999 R", "U2' U2"):
        assert CUBE.parse(solved) == CUBE.start, solved
    assert CUBE.parse("RUR'U'") == CUBE.parse("[R,U]") == CUBE.parse("R U\nR' U\u2019")
    assert CUBE.parse("R U // F") == CUBE.parse("R U ; F") == CUBE.parse("R U")
    with pytest.raises(ConfigurationError, match="turn 3, '//F', is not a turn"):
        CUBE.parse("R U//F")
    assert PYRAMINX.parse("[R, U'] u l'") == PYRAMINX.parse("R U' R' U")


def test_nested_repeats_take_no_time() -> None:
    assert CUBE.parse("(" * 2000 + "R" + ")999" * 2000) == CUBE.parse("R")
