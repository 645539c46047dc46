"""Graphs of sets of configurations that no move leaves."""

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.key_index import KeyIndex
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import equal_rows, order_of
from hakoiri.worker.errors import TaskError
from hakoiri.worker.graphs.components import inner_graph
from hakoiri.worker.graphs.searches import Graph, Offsets, Vertices, all_eccentricities, farthest_pairs
from hakoiri.worker.layers.kernels import simple_edges, split

#: A row for each component: diameter, radius, and the sizes of centre and periphery.
Figures = NDArray[np.int32]

#: Configurations expanded together.
_BLOCK = 1 << 17


def closed_graph(puzzle: Puzzle, keys: Keys) -> Graph:
    """Return the simple graph of the moves of increasing `keys`: vertex v is ``keys[v]``, targets are sorted.

    Raises `TaskError` if a move leaves the set.
    """
    places, counts, targets = KeyIndex.of(keys), [np.empty(0, np.uint16)], [np.empty(0, np.int32)]
    for block in split(keys, _BLOCK):
        successors, degrees = simple_edges(block, *puzzle.expand(block))
        found = np.minimum(places.lower_bounds(successors), len(keys) - 1)
        if not equal_rows(keys[found], successors).all():
            raise TaskError(f"{puzzle.name}: a move leaves a set of configurations that must be closed")
        counts.append(degrees)
        targets.append(found.astype(np.int32))
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    return Graph(offsets, np.concatenate(targets))


def component_distances(puzzle: Puzzle, keys: Keys, firsts: Offsets) -> tuple[Figures, Vertices]:
    """Return the figures of small components, and all diametral pairs in order, by a search from every configuration.

    `keys` holds one component after another, each in increasing order; `firsts` are their beginnings.
    """
    order = order_of(keys)
    labels = np.repeat(np.arange(len(firsts), dtype=np.int32), np.diff(np.append(firsts, len(keys))))
    by_component = np.argsort(labels[order], kind="stable").astype(np.int32)
    graph = inner_graph(closed_graph(puzzle, keys[order]), labels[order], by_component)
    found = all_eccentricities(graph)
    diameter, radius = (extreme.reduceat(found, firsts) for extreme in (np.maximum, np.minimum))
    outermost = found == diameter[labels]
    counts = [np.add.reduceat(which.astype(np.int32), firsts) for which in (found == radius[labels], outermost)]
    pairs = farthest_pairs(graph, np.flatnonzero(outermost).astype(np.int32))
    return np.stack([diameter, radius, *counts], axis=1), pairs[np.lexsort(pairs.T[::-1])]
