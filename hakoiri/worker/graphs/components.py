"""Components of graphs, and subgraphs with vertices renumbered by component."""

from collections.abc import Sequence

import numpy as np

from hakoiri.puzzles.jit import jit
from hakoiri.worker.graphs.searches import UNSEEN, Graph, Labels, Offsets, Vertices


@jit
def root_of(parents: Vertices, vertex: int) -> int:
    """Return the root of a vertex's tree; the path there is halved."""
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex


@jit
def _unite(graph: Graph, parents: Vertices) -> None:
    """Leave in `parents` the least vertex of each vertex's component."""
    for vertex in range(len(parents)):
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            one = root_of(parents, vertex)
            other = root_of(parents, graph.targets[edge])
            if one < other:
                parents[other] = one
            elif other < one:
                parents[one] = other
    for vertex in range(len(parents)):
        parents[vertex] = root_of(parents, vertex)


@jit
def _count_inner(graph: Graph, labels: Labels, order: Vertices, new_offsets: Offsets) -> None:
    new_offsets[0] = 0
    for number in range(len(order)):
        vertex = order[number]
        inner = 0
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            inner += labels[graph.targets[edge]] == labels[vertex]
        new_offsets[number + 1] = new_offsets[number] + inner


@jit
def _fill_inner(graph: Graph, labels: Labels, order: Vertices, place: Vertices, new_targets: Vertices) -> None:
    total = 0
    for number in range(len(order)):
        vertex = order[number]
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            target = graph.targets[edge]
            if labels[target] == labels[vertex]:
                new_targets[total] = place[target]
                total += 1


def least_connected(graph: Graph) -> Vertices:
    """Return the least vertex of each vertex's component; the direction of edges is ignored."""
    parents = np.arange(len(graph.offsets) - 1, dtype=np.int32)
    _unite(graph, parents)
    return parents


def label_components(graph: Graph) -> Labels:
    """Return the component of each vertex: 0 is the largest, ties go to the component with the least vertex."""
    parents = least_connected(graph)
    roots, sizes = np.unique(parents, return_counts=True)
    rank = np.empty(len(roots), dtype=np.int32)
    rank[np.lexsort((roots, -sizes))] = np.arange(len(roots), dtype=np.int32)
    labels: Labels = rank[np.searchsorted(roots, parents)]
    return labels


def inner_graph(graph: Graph, labels: Labels, order: Vertices) -> Graph:
    """Return the edges within components, between the vertices in `order` alone, numbered in that order.

    `order` must hold whole components. Sorted targets stay sorted if it is increasing within each component.
    """
    place = np.full(len(labels), UNSEEN, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    offsets = np.empty(len(order) + 1, dtype=np.int64)
    _count_inner(graph, labels, order, offsets)
    targets = np.empty(offsets[-1], dtype=np.int32)
    _fill_inner(graph, labels, order, place, targets)
    return Graph(offsets, targets)


def renumbered(graph: Graph, images: Sequence[Vertices], order: Vertices) -> tuple[Graph, list[Vertices]]:
    """Return a graph and permutations of its vertices with vertex ``order[v]`` renumbered to v."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return inner_graph(graph, np.zeros(len(order), dtype=np.int32), order), [place[image[order]] for image in images]


def part_of(graph: Graph, begin: int, end: int) -> Graph:
    """Return the vertices ``begin..end-1`` as a graph; no edge may leave them."""
    first, last = graph.offsets[begin], graph.offsets[end]
    return Graph(graph.offsets[begin : end + 1] - first, graph.targets[first:last] - np.int32(begin))
