"""Pancakes: a stack of n different sizes, put in order by turning over the upper ones; plain, or burnt on one side.

A text names the pancakes from the top one down by their sizes, 1 the smallest: ``3 1 2``, or ``3,1,2``. A burnt
pancake with its burnt side up has a minus: ``3 -1 2``.

The key of a plain stack is the number of its order (`puzzles.keys.permutations`); that of a burnt one is
``number << n | sides``, where bit i of `sides` tells whether the pancake at place i, counted from the top, has its
burnt side up. Both count the configurations without a gap, and the ordered stack is 0.
"""

from abc import abstractmethod
from math import factorial

import numpy as np

from puzzles.contract import Expansion, Number, Numbered
from puzzles.errors import ConfigurationError
from puzzles.keys.layout import Key, Keys
from puzzles.keys.permutations import number_of, order_of
from puzzles.permutation.drawing import draw_stack
from puzzles.permutation.pancakes_kernels import expand_burnt, expand_plain, tables_of, turned_sides
from puzzles.pictures.shapes import Picture

#: The sizes from the top down, negative with the burnt side up.
Stack = list[int]


class _Stacks(Numbered):
    """What both puzzles share. A move reverses the upper `least` pancakes, or more."""

    undirected = True
    # The moves do not depend on the names of the sizes, so any stack can be called the ordered one.
    vertex_transitive = True
    least: int

    def prepare(self, start: str | None) -> None:
        self.n = int(self.parameters["n"])
        self.most_successors = self.n + 1 - self.least
        self.number(self._count())
        self._tables = tables_of(self.n)

    @abstractmethod
    def unpack(self, key: Key) -> Stack:
        """The stack of a key."""

    @abstractmethod
    def pack(self, stack: Stack) -> Key:
        """The key of a stack."""

    @abstractmethod
    def _count(self) -> int:
        """How many stacks there are."""

    @abstractmethod
    def _turned(self, upper: Stack) -> Stack:
        """The upper pancakes after they have been turned over."""

    def successors(self, key: Key) -> list[Key]:
        stack = self.unpack(key)
        return [self.pack(self._turned(stack[:k]) + stack[k:]) for k in range(self.least, self.n + 1)]

    def parse_text(self, text: str) -> Key:
        words = text.replace(",", " ").split()
        if len(words) != self.n:
            raise ConfigurationError(f"a stack has {self.n} pancakes, from the top one down; {text!r} has {len(words)}")
        stack: Stack = []
        for place, word in enumerate(words, 1):
            stack.append(self._size_of(word, place))
            if abs(stack[-1]) in map(abs, stack[:-1]):
                raise ConfigurationError(f"place {place}: pancake {abs(stack[-1])} is there a second time")
        return self.pack(stack)

    def render(self, key: Key) -> str:
        return " ".join(map(str, self.unpack(key)))

    def describe_move(self, before: Key, after: Key) -> str:
        """How many pancakes are turned over, e.g. ``"reverse 3"``."""
        pairs = enumerate(zip(self.unpack(before), self.unpack(after), strict=True), 1)
        return f"reverse {max(place for place, (old, new) in pairs if old != new)}"

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [draw_stack(self.unpack(key), self.least == 1) for key in path]

    def _size_of(self, word: str, place: int) -> int:
        digits = word.removeprefix("-") if self.least == 1 else word
        if digits not in map(str, range(1, self.n + 1)):
            minus = ", with a minus if the burnt side is up" if self.least == 1 else ""
            raise ConfigurationError(f"place {place}: {word!r} is no pancake; they are 1 to {self.n}{minus}")
        return int(word)


class Pancakes(_Stacks):
    """Option `n`: the pancakes of the stack. A move turns over two or more: turning over one changes nothing."""

    name = "pancakes"
    summary = "a stack of pancakes: any number of upper ones is turned over at once (prefix reversals)"
    options = {"n": Number(8, 2, 13)}
    least = 2

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        expand_plain(keys, *self._tables, self.n, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    def unpack(self, key: Key) -> Stack:
        return [size + 1 for size in order_of(key, self.n)]

    def pack(self, stack: Stack) -> Key:
        return number_of(stack)

    def _count(self) -> int:
        return factorial(self.n)

    def _turned(self, upper: Stack) -> Stack:
        return upper[::-1]


class BurntPancakes(_Stacks):
    """Option `n`: the pancakes of the stack. A move turns over one or more, which show the other side."""

    name = "burnt-pancakes"
    summary = "a stack of pancakes, each burnt on one side, which must be down in the end"
    options = {"n": Number(5, 1, 10)}
    least = 1

    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        self._sides = turned_sides(self.n)

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        expand_burnt(keys, *self._tables, self._sides, self.n, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    def unpack(self, key: Key) -> Stack:
        order = order_of(key >> self.n, self.n)
        return [-size - 1 if key >> place & 1 else size + 1 for place, size in enumerate(order)]

    def pack(self, stack: Stack) -> Key:
        sides = sum(1 << place for place, size in enumerate(stack) if size < 0)
        return number_of([abs(size) for size in stack]) << self.n | sides

    def _count(self) -> int:
        return factorial(self.n) << self.n

    def _turned(self, upper: Stack) -> Stack:
        return [-size for size in reversed(upper)]
