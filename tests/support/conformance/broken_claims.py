"""Puzzles that break a promise about anything but their moves."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import SupportsIndex

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key, Keys, Mask, ints
from hakoiri.puzzles.contract import BitKernel, Puzzle
from hakoiri.puzzles.options import Number, Option
from hakoiri.puzzles.pictures import Picture
from tests.support.conformance.dial import Dial, breaks

# What is said of the puzzle


@breaks("attributes")
class NamedInCapitals(Dial):
    name = "The Dial"


@breaks("attributes")
class HasMoreSuccessorsThanCountsHold(Dial):
    most_successors = 1 << 16


class _Silent(Number):
    def describe(self) -> str:
        return ""


@breaks("attributes")
class DoesNotSayWhatIsAllowed(Dial):
    options: Mapping[str, Option] = MappingProxyType({**Dial.options, "hands": _Silent(1, 1, 3)})


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
class StartsOnTwoLines(Dial):
    def start_text(self) -> str:
        return f"{super().start_text()}\n"


@breaks("start")
class WritesItsStartAnew(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.is_usual = start is None

    def start_text(self) -> str:
        return super().start_text() if self.is_usual else f"{self.start:#x}"


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
class WritesABlank(Dial):
    def render(self, key: Key) -> str:
        return f"{super().render(key)} "

    def start_text(self) -> str:
        return super().render(self.start)


@breaks("texts")
class ReadsSmallLettersAlone(Dial):
    def parse(self, text: str | SupportsIndex | Keys) -> Key:
        if str(text).startswith("0X"):
            raise ConfigurationError(f"{text!r} is no key")
        return super().parse(text)


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
class TakesNothingForTheStart(Dial):
    def parse_text(self, text: str) -> Key:
        return super().parse_text(text or "at 7")


@breaks("refusals")
class TakesAnyNumber(Dial):
    def parse_text(self, text: str) -> Key:
        digits = text.removeprefix("at ")
        return int(digits) * self.stride if digits.isdecimal() else super().parse_text(text)


@breaks("refusals")
class TakesKeysBetweenMarks(Dial):
    configurations = Puzzle.configurations

    def check_key(self, key: Key) -> None:
        super().check_key(key // self.stride * self.stride)


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
    """The bytes of its numbers in the other order."""

    def configurations(self) -> Iterator[Keys]:
        for block in super().configurations():
            yield block.astype(block.dtype.newbyteorder()) if ints(block)[0] else block


@breaks("listing")
class RefusesWhatItLists(Dial):
    """A fault at keys that the walks do not reach."""

    def check_key(self, key: Key) -> None:
        super().check_key(key)
        if self.mark_of(key) == 153:
            raise ConfigurationError("nobody goes there")


@breaks("listing")
class TakesWhatItDoesNotList(Dial):
    def check_key(self, key: Key) -> None:
        """Any key will do."""

    def render(self, key: Key) -> str:
        return super().render(key) if key % self.stride == 0 else f"{key:#x}"


# Pictures


@breaks("pictures")
class HasTwoPartsOfOneName(Dial):
    def pictures(self, path: list[Key]) -> list[Picture]:
        return [picture._replace(parts=picture.parts * 2) for picture in super().pictures(path)]


@breaks("pictures")
class DrawsTheEndsAlone(Dial):
    def pictures(self, path: list[Key]) -> list[Picture]:
        return super().pictures([path[0], path[-1]])


@breaks("pictures")
class WritesThePathBackwards(Dial):
    def render_path(self, path: list[Key]) -> list[str]:
        return super().render_path(path[::-1])


# Goals


@breaks("goals")
class AimsElsewhere(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        return np.zeros(len(keys), dtype=np.bool_)


@breaks("expand")
class SetsNoBits(Dial):
    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self.stride, self.total = 1, self.marks

    @property
    def spread(self) -> BitKernel:
        return BitKernel(lambda *_: None)


@breaks("keys")
class RefusesAKeyOfItsOwn(Dial):
    def are_keys(self, keys: Keys) -> Mask:
        return super().are_keys(keys) & np.array([self.mark_of(key) != 7 for key in ints(keys)], dtype=np.bool_)


@breaks("keys")
class SaysKeysInNumbers(Dial):
    def are_keys(self, keys: Keys) -> Mask:
        return super().are_keys(keys).astype(np.uint8)


@breaks("goals")
class SaysGoalsInNumbers(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        return super().is_goal(keys).astype(np.uint8)


@breaks("goals")
class SeesTheFirstGoalAlone(Dial):
    def is_goal(self, keys: Keys) -> Mask:
        found = super().is_goal(keys)
        found[1:] = False
        return found
