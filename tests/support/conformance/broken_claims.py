"""Puzzles that break a promise about anything but their moves."""

from collections.abc import Iterator, Mapping

import numpy as np

from puzzles.contract import Orbits, Puzzle
from puzzles.errors import ConfigurationError
from puzzles.keys.layout import Key, Keys, Mask, ints
from tests.support.conformance.dial import Dial, breaks

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
