"""Puzzles of placements: their solutions grow on a tree of partial placings, and are counted subtree by subtree."""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from hakoiri.keys.layout import Key, Keys, Placings
from hakoiri.puzzles.contract import Puzzle


class SubtreeCounts(NamedTuple):
    """The result of counting some subtrees.

    `solutions` counts all solutions, including those that a search leaves out as images of others. `orbits` counts them
    up to the symmetries of the figure, and `classes` up to all automorphisms. `nodes` counts the numbers placed below
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

    undirected, usual_kind, is_tree = False, "tree", True
    levels: int  # below the start, that of the solutions included
    keeps: bool  # solutions are stored, not only counted
    #: The number of images of each solution by the symmetries of the figure, itself included, and by all automorphisms.
    symmetries: int
    automorphisms: int

    @abstractmethod
    def count_subtrees(self, keys: Keys) -> SubtreeCounts:
        """Count the subtrees below `keys`, all of one level. Releases the GIL meanwhile."""

    @abstractmethod
    def exceeds(self, keys: Keys, nodes: int) -> bool:
        """Return whether more than `nodes` numbers are placed below some of `keys`; stops as soon as that is known."""

    @abstractmethod
    def reference_counts(self, key: Key) -> SubtreeCounts:
        """Count one subtree as `count_subtrees` does, in plain Python, from `successors`."""

    @abstractmethod
    def numbers_placed(self, level: int) -> int:
        """Return the number of numbers that the step to this level places."""

    @abstractmethod
    def images(self, key: Key) -> list[Key]:
        """The images of a solution by the symmetries of the figure, in increasing order."""

    def batches(self, keys: list[Key]) -> list[list[Key]]:
        levels: dict[int, list[Key]] = {}
        for key in keys:
            levels.setdefault(int(np.count_nonzero(self.placings(self.keys([key])))), []).append(key)
        return list(levels.values())

    @abstractmethod
    def placings(self, keys: Keys) -> Placings:
        """Return the number on each point, shape (keys, points), uint8; 0 for none."""

    @abstractmethod
    def drawing(self, key: Key) -> str:
        """The figure with its numbers, in lines of text."""
