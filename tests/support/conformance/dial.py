"""A puzzle that keeps all promises, and those that differ from it in what is pinned."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

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


def changed(name: str, base: type[Puzzle] = Dial, /, **changes: Any) -> type[Puzzle]:
    """Return a puzzle that differs in these methods and attributes."""
    return type(name, (base,), changes)


def flags(of_each: Iterable[bool]) -> Mask:
    """Return a mask."""
    return np.fromiter(of_each, dtype=np.bool_)


def aiming_at(is_wanted: Callable[[Any, int], bool]) -> Callable[[Any, Keys], Mask]:
    """Return an `is_goal` by the marks of the keys."""
    return lambda self, keys: flags(is_wanted(self, self.mark_of(key)) for key in ints(keys))


def _traded(mark: int) -> int:
    return {7: 8, 8: 7}.get(mark, mark)


def _pack_widely(self: Any, start: str | None) -> None:
    Dial.prepare(self, start)
    self.layout = U128


#: Puzzles whose keys, texts, moves, goals or images are others than those of `Dial`, though their version is not.
CHANGED = [
    changed(
        "MovesOtherwise",
        successors=lambda self, key: [self.key_of(self.mark_of(key) + step) for step in (2, -2)],
    ),
    changed(
        "CountsOtherwise", key_of=lambda self, mark: Dial.key_of(self, _traded(mark % self.marks)),
        mark_of=lambda self, key: _traded(Dial.mark_of(self, key)),
    ),
    changed("WritesOtherwise", render=lambda self, key: f"on {self.mark_of(key)}"),
    changed("AimsOtherwise", is_goal=aiming_at(lambda self, mark: mark == 8)),
    changed(
        "MirrorsOtherwise",
        canonical=lambda self, keys: self.keys([max(key, self.key_of(-self.mark_of(key))) for key in ints(keys)]),
    ),
    changed("PacksOtherwise", prepare=_pack_widely),
]  # fmt: skip
