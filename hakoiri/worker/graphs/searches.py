"""Graphs in memory: breadth-first searches, the eccentricities that they give, and cheapest paths.

A graph is in compressed sparse rows: the neighbours of vertex v are ``targets[offsets[v]:offsets[v + 1]]``; `offsets`
is int64 of length n + 1, `targets` int32. It is undirected and, unless said otherwise, connected. Distances are int32.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit

Vertices = NDArray[np.int32]
Distances = NDArray[np.int32]
Labels = NDArray[np.int32]
Offsets = NDArray[np.int64]
Costs = NDArray[np.int64]
UNSEEN = -1


class Graph(NamedTuple):
    """Compressed sparse rows."""

    offsets: Offsets
    targets: Vertices


def nearer(graph: Graph, away: Distances) -> NDArray[np.bool_]:
    """Return for each entry of `targets` whether it is nearer than its source, by the distances `away`."""
    return away[graph.targets] < np.repeat(away, np.diff(graph.offsets))


@jit
def search_on(graph: Graph, distance: Distances, queue: Vertices, count: int) -> int:
    """Search from the `count` vertices in `queue`, whose `distance` is set; it must be UNSEEN for all others reached.

    Returns the number of vertices reached; these are in `queue` then, by distance.
    """
    offsets, targets = graph
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
def search(graph: Graph, source: int, distance: Distances, queue: Vertices) -> int:
    """Search from one vertex as `search_on` does, with nothing set."""
    distance[source] = 0
    queue[0] = source
    return int(search_on(graph, distance, queue, 1))


@jit
def _eccentricities(graph: Graph, sources: Vertices, found: Distances) -> None:
    vertices = len(graph.offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    for number in range(len(sources)):
        count = search(graph, sources[number], distance, queue)
        found[number] = distance[queue[count - 1]]
        for place in range(count):
            distance[queue[place]] = UNSEEN


@jit
def _far(graph: Graph, sources: Vertices, room: Vertices) -> int:
    """Write (source, vertex) for every vertex > source farthest from it, while there is room; return their number."""
    vertices = len(graph.offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    total = 0
    for source in sources:
        count = search(graph, source, distance, queue)
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


def distances_from(graph: Graph, sources: int | Vertices) -> Distances:
    """Return the distance of every vertex from one, or from the nearest of distinct ones; UNSEEN without a path."""
    distance, queue = np.full((2, len(graph.offsets) - 1), UNSEEN, dtype=np.int32)
    count = np.size(sources)
    distance[sources], queue[:count] = 0, sources
    search_on(graph, distance, queue, count)
    return distance


def search_order(graph: Graph, source: int = 0) -> Vertices:
    """Return all vertices of a connected graph, by their distance from `source`."""
    vertices = len(graph.offsets) - 1
    order = np.empty(vertices, dtype=np.int32)
    search(graph, source, np.full(vertices, UNSEEN, dtype=np.int32), order)
    return order


@jit
def _part_sides(graph: Graph, odd: NDArray[np.bool_], queue: Vertices) -> bool:
    """Mark the vertices at an odd distance from vertex 0; return False if an edge joins two of a side."""
    met = np.zeros(len(odd), dtype=np.bool_)
    met[0] = True
    queue[0], count = 0, 1
    for place in range(len(queue)):
        here = queue[place]
        for edge in range(graph.offsets[here], graph.offsets[here + 1]):
            there = graph.targets[edge]
            if not met[there]:
                met[there] = True
                odd[there] = not odd[here]
                queue[count] = there
                count += 1
            elif odd[there] == odd[here]:
                return False
    return True


def by_sides(graph: Graph, order: Vertices) -> tuple[Vertices, int]:
    """Return the vertices of a connected graph in `order`, but those of one side first, and the size of that side.

    A bipartite graph has two sides, else all vertices are on one. Unit moves of sliding blocks make such graphs: each
    changes the sum of the rows and columns of all pieces by one.
    """
    odd = np.zeros(len(order), dtype=np.bool_)
    if not _part_sides(graph, odd, np.empty(len(order), dtype=np.int32)):
        return order, len(order)
    return order[np.argsort(odd[order], kind="stable")], int(np.count_nonzero(~odd))


def farthest_pairs(graph: Graph, sources: Vertices) -> Vertices:
    """Return all pairs (source, vertex), source < vertex, of vertices at the source's eccentricity; shape (pairs, 2).

    With a component's whole periphery as sources: each of its diametral pairs once, by source, the vertices in any
    order.
    """
    room = np.empty((2 * len(sources), 2), dtype=np.int32)
    total = _far(graph, sources, room)
    if total > len(room):
        room = np.empty((total, 2), dtype=np.int32)
        _far(graph, sources, room)
    return room[:total]


def eccentricities_of(graph: Graph, sources: Vertices) -> Distances:
    """Return the eccentricity of some vertices within their components, by a search from each."""
    found = np.empty(len(sources), dtype=np.int32)
    _eccentricities(graph, sources, found)
    return found


def all_eccentricities(graph: Graph) -> Distances:
    """Return the eccentricity of every vertex within its component, by a search from each: for small components."""
    return eccentricities_of(graph, np.arange(len(graph.offsets) - 1, dtype=np.int32))


def cheapest_paths(graph: Graph, costs: Costs, source: int) -> tuple[Costs, Vertices]:
    """Return the least cost of a path from `source` to each vertex, and the vertex before the last on such a path.

    `costs` has one entry per edge, none negative; all vertices must be reachable. Edges are directed and may be double.
    """
    found = np.full(len(graph.offsets) - 1, np.iinfo(np.int64).max)
    before = np.empty(len(found), dtype=np.int32)
    _cheapest(graph, costs, source, found, before)
    return found, before


@jit
def _cheapest(graph: Graph, costs: Costs, source: int, found: Costs, before: Vertices) -> None:
    """Run Dijkstra's algorithm. A vertex is pushed again when its cost falls; its earlier entries are then skipped."""
    found[source], before[source] = 0, source
    heap = [(np.int64(0), np.int64(source))]
    while heap:
        cost, here = heappop(heap)
        if cost > found[here]:
            continue
        for edge in range(graph.offsets[here], graph.offsets[here + 1]):
            there, total = np.int64(graph.targets[edge]), cost + costs[edge]
            if total < found[there]:
                found[there], before[there] = total, here
                heappush(heap, (total, there))
