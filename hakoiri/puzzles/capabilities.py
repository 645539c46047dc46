"""Capabilities of puzzles beyond the contract, each a base class; engines never test for a puzzle by name.

``Quotient``    it is another puzzle whose mirror images are taken as one
``Reversible``  its moves cannot be taken back, but the configurations before one are known

Guests have capabilities of their own (`hakoiri.guests`).
"""

from abc import abstractmethod

from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Expansion, Puzzle


class Quotient(Puzzle):
    """The classes of equivalent configurations of `base`, each named by one of its members."""

    base: Puzzle

    @abstractmethod
    def lift(self, path: list[Key], start: Key) -> list[Key]:
        """A path of `base` from `start` whose classes are those of `path`; `start` belongs to the first class."""


class Reversible(Puzzle):
    """A directed puzzle with moves backwards: `unmove` is to `predecessors` as `expand` is to `successors`.

    Predecessors are all configurations with a move to the key, even if no start reaches them.
    """

    #: No configuration has more predecessors than this.
    most_predecessors: int

    @abstractmethod
    def unmove(self, keys: Keys) -> Expansion:
        """Return all predecessors of a batch: those of its first key, then of its second, and so on."""

    @abstractmethod
    def predecessors(self, key: Key) -> list[Key]:
        """The predecessors of one key in plain Python: the reference for `unmove`."""
