"""Puzzles whose moves break a promise: by the reference rules, by the kernel, or in words."""

from collections.abc import Iterator

import numpy as np

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.quotient import MergedMirrors
from tests.support.conformance.dial import Dial, breaks

# The reference rules


@breaks("rules")
class LeadsToNothing(Dial):
    def successors(self, key: Key) -> list[Key]:
        return [*super().successors(key)[:1], key + 1]


@breaks("rules")
class LeavesTheKeys(Dial):
    def successors(self, key: Key) -> list[Key]:
        return [*super().successors(key)[:1], self.layout.greatest + 1]

    def check_key(self, key: Key) -> None:
        super().check_key(key % (self.layout.greatest + 1))


@breaks("rules")
class FailsToList(Dial):
    def configurations(self) -> Iterator[Keys]:
        raise PuzzleError("too many")


@breaks("rules")
class RefusesItsOwn(Dial):
    def check_key(self, key: Key) -> None:
        super().check_key(key)
        if self.mark_of(key) == 9:
            raise ConfigurationError("nobody goes there")


# The kernel


@breaks("expand")
class ForgetsASuccessor(Dial):
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        counts[3:4] = 1
        return Expansion(np.delete(successors, slice(6, 7 if len(counts) > 3 else 6), axis=0), counts)


@breaks("expand")
class LeadsSomewhereElse(Dial):
    def expand(self, keys: Keys) -> Expansion:
        further = [
            self.key_of(self.mark_of(key) + step) for key in ints(keys) for step in (1, -1 - (key == self.start))
        ]
        return Expansion(self.keys(further), super().expand(keys).counts)


@breaks("expand")
class GivesOneTwice(Dial):
    most_successors = 3

    def expand(self, keys: Keys) -> Expansion:
        found = [key for each in ints(keys) for key in (*self.successors(each), self.successors(each)[0])]
        return Expansion(self.keys(found), np.full(len(keys), 3, dtype=np.uint16))


@breaks("expand")
class SwapsNeighboursOfABatch(Dial):
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        successors[1:3] = successors[1:3][::-1].copy()
        return Expansion(successors, counts)


@breaks("expand")
class FailsAtTheEndOfLongBatches(Dial):
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        successors[1_024:] = successors[:1].copy()
        return Expansion(successors, counts)


@breaks("expand")
class KeepsTheSuccessors(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.known: dict[bytes, Keys] = {}

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        return Expansion(self.known.setdefault(keys.tobytes(), successors), counts)


@breaks("expand")
class ReusesItsRoom(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.room = self.layout.empty(10_000)

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        self.room[: len(successors)] = successors
        return Expansion(self.room[: len(successors)], counts)


@breaks("expand")
class KeepsTheCounts(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.counts: dict[int, np.ndarray] = {}

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        return Expansion(successors, self.counts.setdefault(len(keys), counts))


@breaks("expand")
class ChangesItsBatch(Dial):
    def expand(self, keys: Keys) -> Expansion:
        expansion = super().expand(keys)
        keys[:] = 0
        return expansion


@breaks("expand")
class NeedsAKey(Dial):
    def expand(self, keys: Keys) -> Expansion:
        assert len(keys)
        return super().expand(keys)


@breaks("expand")
class CountsInOtherNumbers(Dial):
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        return Expansion(successors, counts.astype(np.int64))


@breaks("expand")
class CountsTooMany(Dial):
    most_successors = 3

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        counts[-1:] += 1
        return Expansion(successors, counts)


@breaks("expand")
class GivesAnotherLayout(Dial):
    """The bytes of its numbers in the other order."""

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        return Expansion(successors.astype(successors.dtype.newbyteorder()), counts)


@breaks("expand")
class HasMoreSuccessorsThanItSays(Dial):
    most_successors = 1


@breaks("expand")
class DropsTheUpperHalf(Dial):
    """In each word: what a kernel does that was written for narrower keys."""

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        half = successors.dtype.itemsize * 4
        return Expansion(successors & successors.dtype.type((1 << half) - 1), counts)


@breaks("expand")
class DropsTheFirstWord(Dial):
    """Drops the first word of wide keys, and the sign of others."""

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        if self.layout.words > 1:
            successors[:, 0] = 0
        return Expansion(successors & successors.dtype.type(self.layout.greatest >> 1 & (1 << 63) - 1), counts)


@breaks("undirected")
class GoesOneWay(Dial):
    has_mirrors = False

    def successors(self, key: Key) -> list[Key]:
        return super().successors(key)[:1]

    def canonical(self, keys: Keys) -> Keys:
        return Puzzle.canonical(self, keys)


# Moves in words


@breaks("moves in words")
class HasNoWords(Dial):
    """For one of two moves."""

    def describe_move(self, before: Key, after: Key) -> str:
        return super().describe_move(before, after).removeprefix("on")

    def describe_moves(self, path: list[Key]) -> list[str]:
        return ["on"] * (len(path) - 1)


@breaks("moves in words")
class SaysTheSameOfAll(Dial):
    def describe_move(self, before: Key, after: Key) -> str:
        return "one mark further"


@breaks("moves in words")
class LosesItsWords(Dial):
    def describe_move(self, before: Key, after: Key) -> str:
        if before > after:
            raise KeyError(after)
        return super().describe_move(before, after)


@breaks("moves in words")
class SaysMovesInTwoLines(HasNoWords):
    def describe_move(self, before: Key, after: Key) -> str:
        return "one mark\n" + Dial.describe_move(self, before, after)


@breaks("moves in words")
class SaysPathsInTwoLines(Dial):
    def describe_moves(self, path: list[Key]) -> list[str]:
        return [f"{said}\n" for said in super().describe_moves(path)]


@breaks("moves in words")
class TellsOneMoveTooFew(Dial):
    def describe_moves(self, path: list[Key]) -> list[str]:
        return super().describe_moves(path)[1:]


# Merged mirrors


@breaks("moves in words")
class LiftsToOtherClasses(MergedMirrors):
    def lift(self, path: list[Key], start: Key) -> list[Key]:
        real = [start]
        while len(real) < len(path):
            real.append(self.base.successors(real[-1])[0])
        return real


@breaks("moves in words")
class LiftsByLeaps(MergedMirrors):
    """From one side of the mirror to the other."""

    def lift(self, path: list[Key], start: Key) -> list[Key]:
        assert isinstance(self.base, Dial)
        return [self.base.key_of(self.base.mark_of(key) * (-1) ** place) for place, key in enumerate(path)]
