"""Checks of a puzzle's promises about its symmetries: mirror images, and equivalent configurations."""

from itertools import chain

import numpy as np

from hakoiri.puzzles.conformance.checks import describe_key, kind_of
from hakoiri.puzzles.conformance.pool import Pool, RefusedError
from hakoiri.puzzles.conformance.rules import expanded
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.keys.layout import Key, ints

#: Searches that compare configurations of an orbit end with the layer that brings them to this size.
_ALIKE = 300


def check_mirrors(pool: Pool) -> None:
    """`canonical`, if `has_mirrors`, gives the least of a key's images, and keeps moves and goals."""
    puzzle, batch = pool.puzzle, pool.puzzle.keys(pool.keys)
    if not puzzle.has_mirrors:
        try:
            puzzle.canonical(batch)
        except PuzzleError:
            return
        raise RefusedError("canonical is defined, but has_mirrors is False")
    images = puzzle.canonical(batch)
    if not puzzle.layout.holds(images):
        raise RefusedError(f"canonical returns {kind_of(images)}, which is not layout {puzzle.layout.name}")
    for key, image in zip(pool.keys, ints(images), strict=True):
        if image > key:
            raise RefusedError(f"canonical of {describe_key(puzzle, key)} is {image:#x}, which is not its least image")
    if ints(puzzle.canonical(images)) != ints(images):
        raise RefusedError("canonical of a canonical key is another key")
    if ints(puzzle.canonical(batch[::-1].copy())) != ints(images)[::-1]:
        raise RefusedError("canonical of a key depends on the batch that holds it")
    if puzzle.is_goal(images).tolist() != puzzle.is_goal(batch).tolist():
        raise RefusedError("a configuration is a goal and its mirror image is not")
    moves = zip(*(expanded(puzzle, each) for each in (pool.keys, ints(images))), strict=True)
    for key, found in zip(pool.keys, moves, strict=True):
        here, there = (sorted(ints(puzzle.canonical(puzzle.keys(successors)))) for successors in found)
        if here != there:
            raise RefusedError(
                f"the moves of {describe_key(puzzle, key)} are not the mirror images of the moves of its image"
            )


def check_orbits(pool: Pool) -> None:
    """Configurations that `orbits` or `vertex_transitive` call alike have as many moves, to alike ones, and layers."""
    puzzle, keys = pool.puzzle, pool.keys
    orbits = puzzle.orbits(puzzle.keys(keys))
    if orbits is None:
        return
    if orbits.dtype != np.int64 or orbits.shape != (len(keys),):
        raise RefusedError(
            f"orbits returns {kind_of(orbits)} for {len(keys)} keys, expected int64 of shape ({len(keys)},)"
        )
    number_of = dict(zip(keys, orbits.tolist(), strict=True))
    backwards = puzzle.orbits(puzzle.keys(keys[::-1]))
    if backwards is None or backwards.tolist() != orbits.tolist()[::-1]:
        raise RefusedError("orbits of a key depends on the batch that holds it")
    alike: dict[int, list[Key]] = {}
    for key, number in number_of.items():
        alike.setdefault(number, []).append(key)
    for number, several in alike.items():
        profiles = {_profile(puzzle, key): key for key in several[:: len(several) // 4 + 1]}
        if len(profiles) != 1:
            one, other, *_ = (describe_key(puzzle, key) for key in profiles.values())
            raise RefusedError(f"{one} and {other} are of orbit {number}, but the layers around them differ in size")
        following = {tuple(_orbits_after(pool, key)): key for key in several}
        if len(following) != 1:
            one, other, *_ = (describe_key(puzzle, key) for key in following.values())
            raise RefusedError(f"{one} and {other} are of orbit {number}, but lead to different orbits")


def check_symmetry_maps(pool: Pool) -> None:
    """Each of the `symmetry_maps` takes configurations to configurations, and their moves to moves of the images."""
    puzzle, keys = pool.puzzle, pool.keys
    for number, symmetry in enumerate(puzzle.symmetry_maps()):
        images = symmetry(puzzle.keys(keys))
        if not puzzle.layout.holds(images) or len(images) != len(keys):
            raise RefusedError(f"symmetry map {number} returns {kind_of(images)} for {len(keys)} keys")
        if len({*ints(images)}) != len(keys):
            raise RefusedError(f"symmetry map {number} maps several configurations to one")
        moves = zip(keys, *(expanded(puzzle, each) for each in (keys, ints(images))), strict=True)
        for key, here, there in moves:
            if sorted(ints(symmetry(puzzle.keys(here)))) != sorted(there):
                raise RefusedError(
                    f"symmetry map {number} maps the moves of {describe_key(puzzle, key)} to others than "
                    "those of its image"
                )


def _orbits_after(pool: Pool, key: Key) -> list[int]:
    """The orbits that a key leads to, sorted."""
    found = pool.puzzle.orbits(pool.puzzle.keys(pool.successors[key]))
    return [] if found is None else sorted(found.tolist())


def _profile(puzzle: Puzzle, start: Key) -> tuple[int, ...]:
    """The sizes of the layers from `start`."""
    seen, layer, sizes = {start}, [start], []
    while layer and len(seen) < _ALIKE:
        sizes.append(len(layer))
        layer = sorted({*chain.from_iterable(expanded(puzzle, layer))} - seen)
        seen.update(layer)
    return (*sizes, len(layer))
