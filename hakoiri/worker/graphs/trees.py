"""The trees of one range (`worker.graphs.forests`): made by its moves, and the edges to them from those of others."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, layout_of
from hakoiri.puzzles.keys.order import distinct
from hakoiri.worker.graphs.forests import Forest, PlaceIndex, Trees, balance, split_numbered
from hakoiri.worker.layers.kernels import simple_edges, split

_WORD = 32


class Grown(NamedTuple):
    """The trees of a range, the number of moves of its keys, and their balance."""

    trees: Trees
    moves: int
    balance: int


class TreeEdges(NamedTuple):
    """Edges to the trees of a range, and the size of each of these.

    Each of `pairs` has 32 bits for the number of such a tree, from 0 on, and 32 for that of a tree elsewhere.
    """

    pairs: NDArray[np.int64]
    sizes: NDArray[np.integer]


def grow(puzzle: Puzzle, keys: Keys, first: int, step: int) -> Grown:
    """Return the trees of a range, numbered from `first` on, by the moves of its keys, expanded `step` at a time."""
    forest, moves, total = Forest(keys), 0, 0
    for number, part in enumerate(split(keys, step)):
        targets, counts = simple_edges(part, *puzzle.expand(part))
        moves, total = moves + len(targets), total + balance(part, targets, counts)
        forest.link(number * step, targets, counts, puzzle.undirected)
    return Grown(forest.trees(first), moves, total)


def edges_to(keys: Keys, labels: NDArray[np.int64], pairs: Iterable[Keys]) -> TreeEdges | None:
    """Return the edges to the trees of a range, `labels` from 0 on, by pairs (key, tree elsewhere).

    ``None`` if a key of the pairs is not among `keys`.
    """
    index, found, most = PlaceIndex(keys), [np.empty(0, dtype=np.int64)], len(keys)
    for batch in pairs:
        targets, others = split_numbered(batch, layout_of(keys))
        if ((places := index.places(targets)) < 0).any():
            return None
        found.append(distinct(labels[places] << _WORD | others))
        if sum(map(len, found)) > most:
            found = [distinct(np.concatenate(found))]
            most = max(most, 2 * len(found[0]))
    return TreeEdges(distinct(np.concatenate(found)), np.bincount(labels))
