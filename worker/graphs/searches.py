"""Breadth-first searches on a graph in memory: exact eccentricities, and the bounds that each search gives to all.

A graph is in compressed sparse rows: the neighbours of vertex v are ``targets[offsets[v]:offsets[v + 1]]``; `offsets`
is int64 of length n + 1, `targets` int32. It is undirected and, unless said otherwise, connected. Distances are int32.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit

Vertices = NDArray[np.int32]
Distances = NDArray[np.int32]
Offsets = NDArray[np.int64]
UNSEEN = -1


class Graph(NamedTuple):
    """Compressed sparse rows."""

    offsets: Offsets
    targets: Vertices


@jit
def search(offsets: Offsets, targets: Vertices, source: int, distance: Distances, queue: Vertices) -> int:
    """Fill `distance`, which must be UNSEEN wherever the source reaches; return how many vertices were reached."""
    distance[source] = 0
    queue[0] = source
    count = 1
    done = 0
    while done < count:
        here = queue[done]
        done += 1
        for edge in range(offsets[here], offsets[here + 1]):
            there = targets[edge]
            if distance[there] == UNSEEN:
                distance[there] = distance[here] + 1
                queue[count] = there
                count += 1
    return count


@jit
def _sweep(
    offsets: Offsets, targets: Vertices, sources: Vertices, found: Distances, lower: Distances, upper: Distances
) -> None:
    vertices = len(offsets) - 1
    distance = np.empty(vertices, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    for number in range(len(sources)):
        distance[:] = UNSEEN
        count = search(offsets, targets, sources[number], distance, queue)
        eccentricity = distance[queue[count - 1]]
        found[number] = eccentricity
        for vertex in range(vertices):
            away = distance[vertex]
            lower[vertex] = max(lower[vertex], away, eccentricity - away)
            upper[vertex] = min(upper[vertex], eccentricity + away)


@jit
def _far(offsets: Offsets, targets: Vertices, sources: Vertices, room: Vertices) -> int:
    """Write (source, vertex) for every vertex > source farthest from it, while there is room; return their number."""
    vertices = len(offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    total = 0
    for source in sources:
        count = search(offsets, targets, source, distance, queue)
        farthest = distance[queue[count - 1]]
        for place in range(count):
            vertex = queue[place]
            if vertex > source and distance[vertex] == farthest:
                if total < len(room):
                    room[total, 0] = source
                    room[total, 1] = vertex
                total += 1
            distance[vertex] = UNSEEN
    return total


@jit
def _all_eccentricities(offsets: Offsets, targets: Vertices, found: Distances) -> None:
    vertices = len(offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    for source in range(vertices):
        count = search(offsets, targets, source, distance, queue)
        found[source] = distance[queue[count - 1]]
        for place in range(count):
            distance[queue[place]] = UNSEEN


def distances_from(graph: Graph, source: int) -> Distances:
    """The distance of every vertex from `source`; UNSEEN where there is no path."""
    vertices = len(graph.offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    search(graph.offsets, graph.targets, source, distance, np.empty(vertices, dtype=np.int32))
    return distance


def sweep(graph: Graph, sources: Vertices) -> tuple[Distances, Distances, Distances]:
    """Eccentricities of the sources, and the lower and upper bounds that their searches give to every vertex.

    For a source s at distance d from v: max(d, ecc(s) - d) <= ecc(v) <= ecc(s) + d (Takes and Kosters, "Determining
    the diameter of small world networks", 2011).
    """
    vertices = len(graph.offsets) - 1
    found = np.empty(len(sources), dtype=np.int32)
    lower = np.zeros(vertices, dtype=np.int32)
    upper = np.full(vertices, np.iinfo(np.int32).max, dtype=np.int32)
    _sweep(graph.offsets, graph.targets, sources, found, lower, upper)
    return found, lower, upper


def farthest_pairs(graph: Graph, sources: Vertices) -> Vertices:
    """All pairs (source, vertex), source < vertex, of vertices at the source's eccentricity; shape (pairs, 2).

    With a component's whole periphery as sources: each of its diametral pairs once, by source, the vertices in any
    order.
    """
    room = np.empty((2 * len(sources), 2), dtype=np.int32)
    total = _far(graph.offsets, graph.targets, sources, room)
    if total > len(room):
        room = np.empty((total, 2), dtype=np.int32)
        _far(graph.offsets, graph.targets, sources, room)
    return room[:total]


def all_eccentricities(graph: Graph) -> Distances:
    """The eccentricity of every vertex within its component, by a search from each: for small components."""
    found = np.empty(len(graph.offsets) - 1, dtype=np.int32)
    _all_eccentricities(graph.offsets, graph.targets, found)
    return found
