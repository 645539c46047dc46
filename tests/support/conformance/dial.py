"""A puzzle that keeps all promises, those that break one of them by check, and those that differ in what is pinned."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import LAYOUTS, U128, Key, Keys, Mask, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import Choice, Number, Option

_MARKS = 200


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

    def are_keys(self, keys: Keys) -> Mask:
        return np.array([key % self.stride == 0 for key in ints(keys)], dtype=np.bool_)

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


def breaks(check: str) -> Callable[[type[Puzzle]], type[Puzzle]]:
    """Say of a puzzle which check must refuse it, and no other one: its `refused_by`."""

    def register(broken: type[Puzzle]) -> type[Puzzle]:
        broken.refused_by = check  # type: ignore[attr-defined]
        return broken

    return register


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
