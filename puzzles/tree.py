"""What a puzzle says of itself whose solutions grow on a tree: placings without duplicates, no graph of moves.

A node of the tree is a partial placing. Its successors are the nodes one level deeper, each node has one predecessor,
and what is wanted stands on the last level. So a search needs no window of older layers: it makes the first levels as
layers and then works off the subtrees below, in chunks that have nothing to do with each other.
"""

from abc import abstractmethod
from typing import NamedTuple

from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys
from puzzles.keys.numbering import Placings


class SubtreeCounts(NamedTuple):
    """What grows on some subtrees.

    `solutions` counts all, those too that a search leaves out as images of others; `orbits` counts them up to the
    symmetries of the figure, and `classes` up to all automorphisms. `nodes` counts the numbers placed (`Tree`) below
    the roots. `found` holds the least image of one solution of each orbit, distinct, in no order.
    """

    solutions: int
    orbits: int
    classes: int
    nodes: int
    found: Keys


class Tree(Puzzle):
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
