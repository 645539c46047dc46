"""A puzzle that keeps all promises, and others that break one each: `BROKEN` says which check must refuse them."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from puzzles.contract import Expansion, Orbits, Puzzle
from puzzles.errors import ConfigurationError
from puzzles.keys import LAYOUTS, U128, Key, Keys, Mask, ints
from puzzles.options import Choice, Number, Option

_MARKS = 60
#: What check refuses a puzzle -> the puzzles.
BROKEN: dict[str, list[type["Dial"]]] = {}


class Dial(Puzzle):
    """A hand on one of the marks around a dial goes to the next mark or back to the one before.

    A mirror keeps mark 0 and the goal opposite; the keys of the marks lie far apart and have bits in every word.
    """

    name = "dial"
    summary = "a hand on a dial"
    options: Mapping[str, Option] = MappingProxyType(
        {"layout": Choice(("u64", "u32", "u128", "u256")), "marks": Number(_MARKS, 4, _MARKS)}
    )
    undirected = True
    most_successors = 2
    has_mirrors = True
    vertex_transitive = True

    def prepare(self, start: str | None) -> None:
        self.layout = LAYOUTS[self.parameters["layout"]]
        self.marks = int(self.parameters["marks"])
        self.stride = self.layout.greatest // (self.marks + 1) | 1

    def key_of(self, mark: int) -> Key:
        """The key of a mark, counted from anywhere."""
        return mark % self.marks * self.stride

    def mark_of(self, key: Key) -> int:
        """The mark of a key."""
        return key // self.stride

    def usual_start(self) -> Key:
        return self.key_of(7)

    def successors(self, key: Key) -> list[Key]:
        return [self.key_of(self.mark_of(key) + step) for step in (1, -1)]

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([key == self.key_of(self.marks // 2) for key in ints(keys)], dtype=np.bool_)

    def configurations(self) -> Iterator[Keys]:
        for begin in range(0, self.marks, 25):
            yield self.keys([self.key_of(mark) for mark in range(begin, min(begin + 25, self.marks))])

    def check_key(self, key: Key) -> None:
        if key % self.stride or self.mark_of(key) >= self.marks:
            raise ConfigurationError(f"{key:#x} is between two marks")

    def parse_text(self, text: str) -> Key:
        digits = text.removeprefix("at ")
        if digits not in map(str, range(self.marks)) or not text.startswith("at "):
            raise ConfigurationError(f"{text!r} is no mark")
        return self.key_of(int(digits))

    def render(self, key: Key) -> str:
        return f"at {self.mark_of(key)}"

    def describe_move(self, before: Key, after: Key) -> str:
        return "on" if after == self.key_of(self.mark_of(before) + 1) else "back"

    def canonical(self, keys: Keys) -> Keys:
        return self.keys([min(key, self.key_of(-self.mark_of(key))) for key in ints(keys)])


def breaks(check: str) -> Callable[[type[Dial]], type[Dial]]:
    """Say of a puzzle which check must refuse it, and no other one."""

    def register(broken: type[Dial]) -> type[Dial]:
        BROKEN.setdefault(check, []).append(broken)
        return broken

    return register


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


# What is said of the puzzle


@breaks("attributes")
class NamedInCapitals(Dial):
    name = "The Dial"


@breaks("attributes")
class OfNoVersion(Dial):
    version = 0


@breaks("attributes")
class TakesAnyOption(Dial):
    def __init__(self, options: Mapping[str, str] | None = None, start: str | None = None) -> None:
        known = {name: value for name, value in (options or {}).items() if name in self.options}
        super().__init__(known, start)


@breaks("start")
class StartsElsewhereByItsText(Dial):
    def start_text(self) -> str:
        return "at 8"


@breaks("start")
class PinsAnOptionWrongly(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        if start is None:
            self.parameters["marks"] = str(self.marks - 2)


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
        further = [self.key_of(self.mark_of(key) + step) for key in ints(keys) for step in (1, -1 - (key == self.start))]
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


# Texts


@breaks("texts")
class WritesAnotherMark(Dial):
    def render(self, key: Key) -> str:
        return f"at {(self.mark_of(key) + 1) % self.marks}"

    def start_text(self) -> str:
        return super().render(self.start)


@breaks("texts")
class WritesTwoLines(Dial):
    def render(self, key: Key) -> str:
        return f"at\n{self.mark_of(key)}"

    def parse_text(self, text: str) -> Key:
        return super().parse_text(text.replace("\n", " "))

    def start_text(self) -> str:
        return super().render(self.start)


@breaks("refusals")
class StumblesOverTexts(Dial):
    def parse_text(self, text: str) -> Key:
        return self.key_of(int(text.removeprefix("at ")))


@breaks("refusals")
class TakesTheFirstWordsItFinds(Dial):
    def parse_text(self, text: str) -> Key:
        return super().parse_text(text) if text.startswith("at ") else self.stride * self.marks


@breaks("refusals")
class RefusesInTwoLines(Dial):
    def parse_text(self, text: str) -> Key:
        try:
            return super().parse_text(text)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error}\nwrite: at 7") from error


@breaks("refusals")
class StumblesOverKeys(Dial):
    configurations = Puzzle.configurations

    def check_key(self, key: Key) -> None:
        assert key % self.stride == 0


# The whole space


@breaks("listing")
class ListsOneTwice(Dial):
    def configurations(self) -> Iterator[Keys]:
        for block in super().configurations():
            yield self.keys(sorted([*ints(block), ints(block)[4]]))


@breaks("listing")
class ListsBlocksThatOverlap(Dial):
    def configurations(self) -> Iterator[Keys]:
        first, *others = super().configurations()
        yield from (first, first[-1:], *others)


@breaks("listing")
class ListsInDisorder(Dial):
    def configurations(self) -> Iterator[Keys]:
        yield from list(super().configurations())[::-1]


@breaks("listing")
class LeavesOneOut(Dial):
    def configurations(self) -> Iterator[Keys]:
        for block in super().configurations():
            yield self.keys([key for key in ints(block) if self.mark_of(key) != 8])


@breaks("listing")
class ListsNothingBeyond(Dial):
    def configurations(self) -> Iterator[Keys]:
        yield self.keys([self.key_of(mark) for mark in range(7)])


@breaks("listing")
class ListsAnotherLayout(Dial):
    def configurations(self) -> Iterator[Keys]:
        for block in super().configurations():
            yield block if len(block) == 25 else block.astype(np.int64)  # type: ignore[misc]


@breaks("listing")
class TakesWhatItDoesNotList(Dial):
    def check_key(self, key: Key) -> None:
        """Any key will do."""

    def render(self, key: Key) -> str:
        return super().render(key) if key % self.stride == 0 else f"{key:#x}"


# Goals


@breaks("goals")
class AimsElsewhere(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        return np.zeros(len(keys), dtype=np.bool_)


@breaks("goals")
class SaysGoalsInNumbers(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        return super().is_goal(keys).astype(np.uint8)  # type: ignore[return-value]


@breaks("goals")
class SeesTheFirstGoalAlone(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        found = super().is_goal(keys)
        found[1:] = False
        return found


# Mirrors and orbits


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
class MirrorsABatchByItsFirst(Dial):
    def canonical(self, keys: Keys) -> Keys:
        if len(keys) and self.mark_of(ints(keys[:1])[0]) > self.marks // 2:
            return keys.copy()
        return super().canonical(keys)


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
class SaysOrbitsOfHalves(Dial):
    """All marks are alike, and yet not all lead to the same orbits."""

    def orbits(self, keys: Keys) -> Orbits:
        return np.array([self.mark_of(key) < self.marks // 2 for key in ints(keys)], dtype=np.int64)


@breaks("orbits")
class SaysOrbitsByTheBatch(Dial):
    def orbits(self, keys: Keys) -> Orbits:
        return np.full(len(keys), len(keys) and ints(keys[:1])[0] == self.start, dtype=np.int64)


@breaks("orbits")
class SaysOrbitsOfTheFirst(Dial):
    def orbits(self, keys: Keys) -> Orbits:
        return np.zeros(1, dtype=np.int64)


# Moves in words


@breaks("moves in words")
class HasNoWords(Dial):
    def describe_move(self, before: Key, after: Key) -> str:
        return ""


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
class SaysMovesInTwoLines(Dial):
    def describe_move(self, before: Key, after: Key) -> str:
        return "one mark\n" + super().describe_move(before, after)


@breaks("moves in words")
class TellsOneMoveTooFew(Dial):
    def describe_moves(self, path: list[Key]) -> list[str]:
        return super().describe_moves(path)[1:]


# What is pinned


class MovesOtherwise(Dial):
    """By two marks."""

    def successors(self, key: Key) -> list[Key]:
        return [self.key_of(self.mark_of(key) + step) for step in (2, -2)]


class CountsOtherwise(Dial):
    """The keys of two marks are exchanged."""

    def key_of(self, mark: int) -> Key:
        return super().key_of({7: 8, 8: 7}.get(mark % self.marks, mark))

    def mark_of(self, key: Key) -> int:
        mark = super().mark_of(key)
        return {7: 8, 8: 7}.get(mark, mark)


class WritesOtherwise(Dial):
    """On instead of at."""

    def render(self, key: Key) -> str:
        return f"on {self.mark_of(key)}"


class AimsOtherwise(Dial):
    """At what the start leads to."""

    def is_goal(self, keys: Keys) -> Mask:
        return np.array([self.mark_of(key) == 8 for key in ints(keys)], dtype=np.bool_)


class MirrorsOtherwise(Dial):
    """The greater image names a class."""

    def canonical(self, keys: Keys) -> Keys:
        return self.keys([max(key, self.key_of(-self.mark_of(key))) for key in ints(keys)])


class PacksOtherwise(Dial):
    """Into wider keys of the same value."""

    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.layout = U128


#: Puzzles whose keys, texts, moves, goals or images are others than those of `Dial`, though their version is not.
CHANGED = [MovesOtherwise, CountsOtherwise, WritesOtherwise, AimsOtherwise, MirrorsOtherwise, PacksOtherwise]
