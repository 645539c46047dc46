"""Puzzles whose moves break a promise: by the plain rules, by the kernel, or in words."""

import numpy as np

from puzzles.contract import Expansion, Puzzle
from puzzles.errors import ConfigurationError
from puzzles.keys.layout import Key, Keys, ints
from tests.support.conformance.dial import Dial, breaks

# The plain rules


@breaks("rules")
class LeadsToNothing(Dial):
    def successors(self, key: Key) -> list[Key]:
        return [*super().successors(key)[:1], key + 1]


@breaks("rules")
class LeavesTheKeys(Dial):
    def successors(self, key: Key) -> list[Key]:
        return [*super().successors(key)[:1], self.layout.greatest + 1]


@breaks("rules")
class GivesOtherNumbers(Dial):
    def successors(self, key: Key) -> list[Key]:
        return [np.uint64(found) for found in super().successors(key)]  # type: ignore[misc]


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
class RemembersItsBatches(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.known: dict[bytes, Expansion] = {}

    def expand(self, keys: Keys) -> Expansion:
        return self.known.setdefault(keys.tobytes(), super().expand(keys))


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
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        counts[-1:] += 1
        return Expansion(successors, counts)


@breaks("expand")
class GivesAnotherLayout(Dial):
    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        return Expansion(successors.reshape(-1), counts[:0] if self.layout.words > 1 else counts.reshape(-1, 1))


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
    """Of wide keys; of others the sign."""

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
