"""Puzzles whose moves lead one way only, and that know all the same what leads to a configuration."""

from abc import abstractmethod

from puzzles.contract import Expansion, Puzzle
from puzzles.keys.layout import Key, Keys


class Reversible(Puzzle):
    """A directed puzzle with moves backwards: `retract` is to `predecessors` what `expand` is to `successors`.

    All predecessors count that are configurations, whether a start reaches them or not.
    """

    #: No configuration has more predecessors than this.
    most_predecessors: int

    @abstractmethod
    def retract(self, keys: Keys) -> Expansion:
        """All predecessors of a batch: those of its first key, then of its second, and so on."""

    @abstractmethod
    def predecessors(self, key: Key) -> list[Key]:
        """The predecessors of one key in plain Python: the reference for `retract`."""


class Backwards(Reversible):
    """`base` with all moves made backwards, for searches: all else of it is asked of `base`."""

    undirected = False

    def __init__(self, base: Reversible) -> None:
        self._base = base
        self.name, self.layout, self.parameters = base.name, base.layout, base.parameters
        self.most_successors, self.most_predecessors = base.most_predecessors, base.most_successors
        self._start = base.start

    def usual_start(self) -> Key:
        return self._start

    def expand(self, keys: Keys) -> Expansion:
        return self._base.retract(keys)

    def successors(self, key: Key) -> list[Key]:
        return self._base.predecessors(key)

    def retract(self, keys: Keys) -> Expansion:
        return self._base.expand(keys)

    def predecessors(self, key: Key) -> list[Key]:
        return self._base.successors(key)

    def check_key(self, key: Key) -> None:
        self._base.check_key(key)

    def render(self, key: Key) -> str:
        return self._base.render(key)
