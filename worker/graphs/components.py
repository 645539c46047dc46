"""Connected components of a graph in memory, by union-find, and the graph put in order of its components.

Graphs are undirected, in compressed sparse rows (`worker.graphs.searches`).
"""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from worker.graphs.searches import Graph, Offsets, Vertices

Labels = NDArray[np.int32]


@jit
def _root(parents: Vertices, vertex: int) -> int:
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex


@jit
def _unite(offsets: Offsets, targets: Vertices, parents: Vertices) -> None:
    """Leave in `parents` the least vertex of each vertex's component."""
    for vertex in range(len(parents)):
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            one = _root(parents, vertex)
            other = _root(parents, targets[edge])
            if one < other:
                parents[other] = one
            elif other < one:
                parents[one] = other
    for vertex in range(len(parents)):
        parents[vertex] = _root(parents, vertex)


@jit
def _one_way(offsets: Offsets, targets: Vertices) -> tuple[int, int]:
    """The first edge (u, v) without an edge (v, u), or (-1, -1); the targets of each vertex are sorted."""
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


@jit
def _reorder(
    offsets: Offsets, targets: Vertices, order: Vertices, place: Vertices, new_offsets: Offsets, new_targets: Vertices
) -> None:
    total = 0
    new_offsets[0] = 0
    for number in range(len(order)):
        vertex = order[number]
        for edge in range(offsets[vertex], offsets[vertex + 1]):
            new_targets[total] = place[targets[edge]]
            total += 1
        new_offsets[number + 1] = total


def one_way_edge(graph: Graph) -> tuple[int, int] | None:
    """An edge without a counterpart, or ``None`` if the graph is undirected."""
    vertex, target = _one_way(graph.offsets, graph.targets)
    return None if vertex < 0 else (int(vertex), int(target))


def label_components(graph: Graph) -> Labels:
    """The component of each vertex: 0 is the largest, ties go to the component with the least vertex."""
    parents = np.arange(len(graph.offsets) - 1, dtype=np.int32)
    _unite(graph.offsets, graph.targets, parents)
    roots, sizes = np.unique(parents, return_counts=True)
    rank = np.empty(len(roots), dtype=np.int32)
    rank[np.lexsort((roots, -sizes))] = np.arange(len(roots), dtype=np.int32)
    labels: Labels = rank[np.searchsorted(roots, parents)]
    return labels


def order_by_component(graph: Graph, labels: Labels) -> tuple[Vertices, Graph]:
    """The vertices sorted by component, keeping their order within each, and the graph numbered that way."""
    order = np.argsort(labels, kind="stable").astype(np.int32)
    place = np.empty_like(order)
    place[order] = np.arange(len(order), dtype=np.int32)
    ordered = Graph(np.empty_like(graph.offsets), np.empty_like(graph.targets))
    _reorder(graph.offsets, graph.targets, order, place, *ordered)
    return order, ordered


def part_of(graph: Graph, begin: int, end: int) -> Graph:
    """The vertices ``begin..end-1`` as a graph by themselves; no edge may leave them."""
    first, last = graph.offsets[begin], graph.offsets[end]
    return Graph(graph.offsets[begin : end + 1] - first, graph.targets[first:last] - np.int32(begin))
