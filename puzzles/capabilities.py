"""What a puzzle can do beyond the contract: it says so by its base class, and no engine asks for a puzzle by name.

``Placements``  its solutions grow on a tree of partial placings: they are counted, subtree by subtree
``Quotient``    it is another puzzle whose mirror images are taken as one
"""

from abc import abstractmethod
from typing import NamedTuple

from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys
from puzzles.keys.numbering import Placings


class SubtreeCounts(NamedTuple):
    """What grows on some subtrees.

    `solutions` counts all, those too that a search leaves out as images of others; `orbits` counts them up to the
    symmetries of the figure, and `classes` up to all automorphisms. `nodes` counts the numbers placed below
    the roots. `found` holds the least image of one solution of each orbit, distinct, in no order.
    """

    solutions: int
    orbits: int
    classes: int
    nodes: int
    found: Keys


class Placements(Puzzle):
    """A puzzle whose configurations are partial placings; those of the last level that are goals are its solutions.

    `successors` and `expand` lead one level deeper, never to the same placing twice; the keys of a batch are of one
    level. Where a strategy leaves out images, every orbit must be met once, in whatever subtree. Nodes are counted by
    the numbers placed: a step that places two numbers counts two, and a number that is tried and refused at once
    counts nothing.
    """

    undirected = False
    #: Levels below the start, that of the solutions included.
    levels: int
    #: Solutions are to be stored, not only counted.
    keeps: bool
    #: How many images each solution has by the symmetries of the figure, itself included, and by all automorphisms.
    symmetries: int
    automorphisms: int

    @abstractmethod
    def count_subtrees(self, keys: Keys) -> SubtreeCounts:
        """What grows on the subtrees below `keys`, all of one level. Releases the GIL while it counts."""

    @abstractmethod
    def exceeds(self, keys: Keys, nodes: int) -> bool:
        """Whether more than so many numbers are placed below some of `keys`; takes no longer than to see that."""

    @abstractmethod
    def reference_counts(self, key: Key) -> SubtreeCounts:
        """The same for one subtree in plain Python, from `successors`."""

    @abstractmethod
    def numbers_placed(self, level: int) -> int:
        """How many numbers the step to this level places."""

    @abstractmethod
    def images(self, key: Key) -> list[Key]:
        """The images of a solution by the symmetries of the figure, in increasing order."""

    @abstractmethod
    def placings(self, keys: Keys) -> Placings:
        """Which number stands on which point, shape (keys, points), uint8; 0 for none."""

    @abstractmethod
    def drawing(self, key: Key) -> str:
        """The figure with its numbers, in lines of text."""

    @abstractmethod
    def svg(self, key: Key) -> str:
        """The figure with its numbers as an SVG document."""


class Quotient(Puzzle):
    """The classes of alike configurations of `base`, each named by one of its members."""

    base: Puzzle

    @abstractmethod
    def lift(self, path: list[Key], start: Key) -> list[Key]:
        """A path of `base` from `start` whose classes are those of `path`; `start` belongs to the first class."""
