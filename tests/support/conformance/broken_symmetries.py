"""Puzzles whose mirror images, orbits or symmetry maps are wrong."""

from collections.abc import Callable, Sequence

import numpy as np

from hakoiri.keys.layout import Key, Keys, Mask, ints
from hakoiri.puzzles.contract import Orbits, Puzzle
from tests.support.conformance.dial import Dial, breaks


@breaks("mirrors")
class TurnsTheImageOn(Dial):
    def canonical(self, keys: Keys) -> Keys:
        return self.keys([key - (self.stride if key else 0) for key in ints(keys)])


@breaks("mirrors")
class TakesTheGreaterImage(Dial):
    def canonical(self, keys: Keys) -> Keys:
        return self.keys([max(key, self.key_of(-self.mark_of(key))) for key in ints(keys)])


@breaks("mirrors")
class MirrorsWithoutKeepingMoves(Dial):
    """Pairs of neighbours are no images of each other."""

    def canonical(self, keys: Keys) -> Keys:
        return self.keys([self.key_of(self.mark_of(key) & ~1) for key in ints(keys)])

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([self.mark_of(key) // 2 == self.marks // 4 for key in ints(keys)], dtype=np.bool_)


@breaks("mirrors")
class MirrorsAwayFromTheGoal(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        return np.array([2 * self.mark_of(key) >= self.marks for key in ints(keys)], dtype=np.bool_)


@breaks("mirrors")
class ForgetsTheLastOfManyImages(Dial):
    def canonical(self, keys: Keys) -> Keys:
        images = super().canonical(keys)
        if len(keys) > 4:
            images[-1] = keys[-1]
        return images


@breaks("mirrors")
class GivesImagesInAnotherLayout(Dial):
    def canonical(self, keys: Keys) -> Keys:
        images = super().canonical(keys)
        return images.astype(images.dtype.newbyteorder())


@breaks("mirrors")
class HasImagesOfImages(Dial):
    """Though all are alike: each leads to the same two."""

    undirected = vertex_transitive = False
    describe_move = Puzzle.describe_move

    def successors(self, key: Key) -> list[Key]:
        return [self.key_of(7), self.key_of(8)]

    def is_goal(self, keys: Keys) -> Mask:
        return np.ones(len(keys), dtype=np.bool_)

    def canonical(self, keys: Keys) -> Keys:
        return self.keys([max(0, key - self.stride) for key in ints(keys)])


@breaks("mirrors")
class HasNoImagesAfterAll(Dial):
    canonical = Puzzle.canonical


@breaks("mirrors")
class HidesItsImages(Dial):
    has_mirrors = False


@breaks("orbits")
class IsNotAlikeEverywhere(Dial):
    """A gap in the dial between two marks."""

    has_mirrors = False
    canonical = Puzzle.canonical

    def successors(self, key: Key) -> list[Key]:
        return [after for after in super().successors(key) if {0, self.key_of(-1)} != {key, after}]


@breaks("orbits")
class SaysOrbitsOfTens(Dial):
    """All marks are alike, and yet not all lead to the same orbits."""

    def orbits(self, keys: Keys) -> Orbits:
        return np.array([self.mark_of(key) // 10 % 2 for key in ints(keys)], dtype=np.int64)


@breaks("orbits")
class SaysOrbitsByThePlace(Dial):
    def orbits(self, keys: Keys) -> Orbits:
        return np.array([place == 0 and len(keys) > 4 for place in range(len(keys))], dtype=np.int64)


@breaks("orbits")
class SaysOrbitsInSmallNumbers(Dial):
    def orbits(self, keys: Keys) -> Orbits:
        return np.zeros(len(keys), dtype=np.int32)


@breaks("orbits")
class HasTwoDials(Dial):
    """Of 80 and of 120 marks: each has two successors, but not all have so many further on."""

    has_mirrors = False
    canonical = Puzzle.canonical

    def successors(self, key: Key) -> list[Key]:
        mark = self.mark_of(key)
        first, size = (0, 80) if mark < 80 else (80, 120)
        return [self.key_of(first + (mark - first + step) % size) for step in (1, -1)]

    def describe_move(self, before: Key, after: Key) -> str:
        return f"to {after}"


@breaks("symmetry maps")
class MirrorsOneMark(Dial):
    """The marks 3 and 4 trade places, and no others."""

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        traded = {self.key_of(3): self.key_of(4), self.key_of(4): self.key_of(3)}
        return [lambda keys: self.keys([traded.get(key, key) for key in ints(keys)])]


@breaks("symmetry maps")
class FoldsTheDial(Dial):
    """A mark and its mirror image become one."""

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        return [self.canonical]


@breaks("symmetry maps")
class LosesAnImage(Dial):
    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        return [lambda keys: keys[1:]]
