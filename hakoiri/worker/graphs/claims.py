"""Checks of a puzzle's claims about its moves, on every edge of a graph."""

import numpy as np

from hakoiri.puzzles.jit import jit
from hakoiri.worker.graphs.searches import Graph, Vertices


@jit
def _one_way(graph: Graph) -> tuple[int, int]:
    """The first edge (u, v) without an edge (v, u), or (-1, -1); the targets of each vertex are sorted."""
    offsets, targets = graph
    for vertex in range(len(offsets) - 1):
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            target = targets[edge]
            low, high = offsets[target], offsets[target + 1]
            while low < high:
                middle = (low + high) // 2
                if targets[middle] < vertex:
                    low = middle + 1
                else:
                    high = middle
            if low == offsets[target + 1] or targets[low] != vertex:
                return vertex, target
    return -1, -1


def one_way_edge(graph: Graph) -> tuple[int, int] | None:
    """Return an edge without a counterpart, or ``None`` if the graph is undirected."""
    vertex, target = _one_way(graph)
    return None if vertex < 0 else (int(vertex), int(target))


@jit
def _keeps_edges(graph: Graph, image: Vertices) -> bool:
    offsets, targets = graph
    for vertex in range(len(image)):
        begin, end = offsets[image[vertex]], offsets[image[vertex] + 1]
        if end - begin != offsets[vertex + 1] - offsets[vertex]:
            return False
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            there, found = image[targets[edge]], False
            for other in range(begin, end):
                found |= targets[other] == there
            if not found:
                return False
    return True


def keeps_edges(graph: Graph, image: Vertices) -> bool:
    """Return whether `image` is a permutation of the vertices that takes edges to edges; no edge may be doubled."""
    once = bool((np.bincount(image, minlength=len(image)) == 1).all())
    return once and bool(_keeps_edges(graph, image))
