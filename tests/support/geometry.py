"""Twisty puzzles from their geometry, as the files with definitions in `examples/definitions`.

A sticker is a point of its piece and the direction that it faces. A move rotates all that is beyond a plane. Run it as
``python -m tests.support.geometry`` to write the files.
"""

import json
from collections.abc import Mapping
from itertools import permutations, product
from math import sqrt
from pathlib import Path

import numpy as np

from hakoiri.puzzles.definitions.definition import Definition
from hakoiri.puzzles.definitions.stickers import from_permutations

FOLDER = Path(__file__).parents[2] / "examples" / "definitions"
_Vector = tuple[int, ...]
_Sticker = tuple[_Vector, _Vector]
_FACES = {"U": (0, 1, 0), "R": (1, 0, 0), "F": (0, 0, 1), "D": (0, -1, 0), "L": (-1, 0, 0), "B": (0, 0, -1)}
_CORNERS = list(product((1, -1), repeat=3))
_TETRAHEDRON = [corner for corner in _CORNERS if np.prod(corner) == 1]


def rotated(axis: _Vector, angle: float, vector: _Vector) -> _Vector:
    """Return a vector turned clockwise, seen from outside (Rodrigues' formula)."""
    unit, v = np.array(axis) / sqrt(np.dot(axis, axis)), np.array(vector)
    angle = -np.radians(angle)
    turned = v * np.cos(angle) + np.cross(unit, v) * np.sin(angle) + unit * (unit @ v) * (1 - np.cos(angle))
    return tuple(np.rint(turned).astype(int).tolist())


def _moves(stickers: list[_Sticker], axes: Mapping[str, _Vector], angle: float, beyond: float) -> dict[str, list[int]]:
    """Return the permutation of each move: place i takes the sticker that the rotation brings there."""
    places = {sticker: place for place, sticker in enumerate(stickers)}
    found = {}
    for name, axis in axes.items():
        row = list(range(len(stickers)))
        for place, (point, facing) in enumerate(stickers):
            if np.dot(point, axis) > beyond:
                row[places[rotated(axis, angle, point), rotated(axis, angle, facing)]] = place
        found[name] = row
    return found


def _named(corner: _Vector) -> str:
    return "".join(face for face, out in _FACES.items() if np.dot(corner, out) > 0)


def _corner_stickers() -> list[_Sticker]:
    return [(corner, out) for corner in _CORNERS for out in _FACES.values() if np.dot(corner, out) > 0]


def cube_corners(faces: str) -> dict[str, list[int]]:
    """Return the moves of the corners of a cube by some faces."""
    return _moves(_corner_stickers(), {face: _FACES[face] for face in faces}, 90, 0)


def with_rotations(faces: str) -> dict[str, list[int]]:
    """Return the moves of the corners by some faces, and turns of the whole cube with R, U and F."""
    whole = {"x": _FACES["R"], "y": _FACES["U"], "z": _FACES["F"]}
    return cube_corners(faces) | _moves(_corner_stickers(), whole, 90, -9)


def skewb() -> dict[str, list[int]]:
    """Return the moves of the Skewb about four corners, of which no two are neighbours: they stay where they are."""
    stickers = _corner_stickers() + [(out, out) for out in _FACES.values()]
    return _moves(stickers, {_named(corner): corner for corner in _TETRAHEDRON}, 120, 0)


def _edge_stickers() -> list[_Sticker]:
    pairs, outs = permutations(_FACES.values(), 2), list(_FACES.values())
    edges: set[_Vector] = {tuple(np.add(one, two).tolist()) for one, two in pairs if np.dot(one, two) == 0}
    return [(edge, out) for edge in sorted(edges) for out in outs if np.dot(edge, out) > 0]


def cube() -> dict[str, list[int]]:
    """Return the moves of the 3x3x3 cube, whose centres never move."""
    return _moves(_corner_stickers() + _edge_stickers(), _FACES, 90, 0)


def dino() -> dict[str, list[int]]:
    """Return the moves of the Dino cube, which turns three edges about each corner."""
    return _moves(_edge_stickers(), {_named(corner): corner for corner in _CORNERS}, 120, 1)


def pyraminx() -> dict[str, list[int]]:
    """Return the moves of the Pyraminx without its tips, about its four corners."""
    names = dict(zip("ULRB", _TETRAHEDRON, strict=True))
    pieces = [*_TETRAHEDRON, *sorted({tuple(np.add(a, b).tolist()) for a, b in permutations(_TETRAHEDRON, 2)})]
    # A face is opposite a corner.
    stickers = [(piece, corner) for piece in pieces for corner in _TETRAHEDRON if np.dot(piece, corner) <= 0]
    stickers = [each for each in stickers if each[0] != each[1]]
    return _moves(stickers, names, 120, 0)


def reversals(count: int, lengths: range) -> dict[str, list[int]]:
    """Return the reversals of so many upper places: pancakes."""
    return {f"r{k}": [*range(k - 1, -1, -1), *range(k, count)] for k in lengths}


def shifts(count: int, words: str) -> dict[str, list[int]]:
    """Return L and R, which shift all places by one, and X, which exchanges the first two (CayleyPy's LX and LRX)."""
    left = [*range(1, count), 0]
    known = {"L": left, "R": [count - 1, *range(count - 1)], "X": [1, 0, *range(2, count)]}
    return {word: known[word] for word in words}


def as_gap(moves: dict[str, list[int]]) -> str:
    """Return permutations as a file for GAP."""
    lines = []
    for name, row in moves.items():
        cycles, met = "", set[int]()
        for first in range(len(row)):
            cycle, point = list[int](), first
            while point not in met:
                met.add(point)
                cycle.append(point + 1)
                point = row[point]
            cycles += f"({','.join(map(str, cycle))})" if len(cycle) > 1 else ""
        lines.append(f"M_{name}:={cycles};")
    return "\n".join([*lines, f"Gen:=[{','.join(f'M_{name}' for name in moves)}];", ""])


def as_tws(definition: Definition) -> str:
    """Return a definition in the format of twsearch."""
    lines = [f"Name {definition.name}", *(f"Set {' '.join(map(str, orbit))}" for orbit in definition.orbits), "Solved"]
    lines += [
        f"{orbit.name}\n{' '.join(str(place + 1) for place in range(orbit.places))}" for orbit in definition.orbits
    ]
    for name, (source, twist) in definition.moves.items():
        lines += ["End", f"Move {name}"]
        for orbit, begin in zip(definition.orbits, definition.begins, strict=False):
            places = range(begin, begin + orbit.places)
            # Orientations by the place that a piece comes from.
            turned = {source[place]: twist[place] for place in places}
            lines += [orbit.name, " ".join(str(source[place] - begin + 1) for place in places)]
            lines += [" ".join(str(turned[place]) for place in places)]
    return "\n".join([*lines, "End", ""])


def as_kpuzzle(definition: Definition) -> str:
    """Return a definition as a KPuzzle."""
    parts = list(zip(definition.orbits, definition.begins, strict=False))
    moves = {
        name: {
            orbit.name: {
                "permutation": [place - begin for place in source[begin : begin + orbit.places]],
                "orientationDelta": twist[begin : begin + orbit.places],
            }
            for orbit, begin in parts
        }
        for name, (source, twist) in definition.moves.items()
    }
    solved = {orbit.name: {"pieces": [*range(orbit.places)], "orientation": [0] * orbit.places} for orbit, _ in parts}
    orbits = [
        {"orbitName": name, "numPieces": count, "numOrientations": most} for name, count, most in definition.orbits
    ]
    return (
        json.dumps({"name": definition.name, "orbits": orbits, "defaultPattern": solved, "moves": moves}, indent=1)
        + "\n"
    )


def files() -> dict[str, str]:
    """Return the content of each file of `examples/definitions`."""
    return {
        "2x2x2.gap": as_gap(cube_corners("URF")),
        "corners.json": as_kpuzzle(from_permutations("Corners", with_rotations("URFDLB"), [], 0)),
        "3x3x3.gap": as_gap(cube()),
        "corners.gap": as_gap(cube_corners("URFDLB")),
        "dino.gap": as_gap(dino()),
        "skewb.tws": as_tws(from_permutations("Skewb", skewb(), [], 1)),
        "pyraminx.json": as_kpuzzle(from_permutations("Pyraminx", pyraminx(), [], 0)),
        "topspin-10-4.tws": as_tws(
            from_permutations("TopSpin", {"flip": [3, 2, 1, 0, *range(4, 10)]} | shifts(10, "L"), [], 1)
        ),
        "pancakes-9.gap": as_gap(reversals(9, range(2, 10))),
        "lx-9.gap": as_gap(shifts(9, "LX")),
    }


if __name__ == "__main__":
    for _name, _text in files().items():
        (FOLDER / _name).write_text(_text, encoding="utf-8")
