"""Graphs in memory: components, breadth-first searches, cheapest paths, and checks of claims about moves.

A graph is in compressed sparse rows: the neighbours of vertex v are ``targets[offsets[v]:offsets[v + 1]]``; `offsets`
is int64 of length n + 1, `targets` int32. It is undirected and, unless said otherwise, connected. Distances are int32.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import TaskError
from hakoiri.keys.layout import Keys
from hakoiri.keys.order import KeyIndex, distinct, equal_rows, order_of
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.layers.kernels import simple_edges, split

Vertices = NDArray[np.int32]
Distances = NDArray[np.int32]
Labels = NDArray[np.int32]
Offsets = NDArray[np.int64]
Costs = NDArray[np.int64]
UNSEEN = -1
#: Vertices are numbered by signed integers of 32 bits.
MOST_VERTICES = int(np.iinfo(np.int32).max)


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
def _search_each(graph: Graph, sources: Vertices, found: Distances, ends: Vertices, room: Vertices) -> int:
    """Write each source's eccentricity, and the least vertex that far away.

    Write (source, vertex) for every such vertex > source, while there is room; return their number.
    """
    vertices = len(graph.offsets) - 1
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    total = 0
    for number in range(len(sources)):
        count = search(graph, sources[number], distance, queue)
        ends[number] = queue[count - 1]
        found[number] = distance[ends[number]]
        for place in range(count - 1, -1, -1):
            vertex = queue[place]
            if distance[vertex] == found[number]:
                ends[number] = min(ends[number], vertex)
                if vertex > sources[number]:
                    if total < len(room):
                        room[total, 0] = sources[number]
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


def by_sides(graph: Graph, order: Vertices) -> tuple[Vertices, int]:
    """Return the vertices of a connected graph in `order`, but those of one side first, and the size of that side.

    A bipartite graph has two sides, else all vertices are on one. Unit moves of sliding blocks make such graphs: each
    changes the sum of the rows and columns of all pieces by one.
    """
    odd = (distances_from(graph, 0) & 1).astype(np.bool_)
    if (odd[graph.targets] == np.repeat(odd, np.diff(graph.offsets))).any():
        return order, len(order)
    return order[np.argsort(odd[order], kind="stable")], int(np.count_nonzero(~odd))


def farthest_pairs(graph: Graph, sources: Vertices) -> Vertices:
    """Return all pairs (source, vertex), source < vertex, of vertices at the source's eccentricity; shape (pairs, 2).

    They are in increasing order. With a component's whole periphery as sources: each of its diametral pairs once.
    """
    found, ends = np.empty((2, len(sources)), dtype=np.int32)
    room = np.empty((2 * len(sources), 2), dtype=np.int32)
    total = _search_each(graph, sources, found, ends, room)
    if total > len(room):
        room = np.empty((total, 2), dtype=np.int32)
        _search_each(graph, sources, found, ends, room)
    pairs: Vertices = room[:total]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def eccentricities_of(graph: Graph, sources: Vertices | None = None) -> tuple[Distances, Vertices]:
    """Return the eccentricity of some vertices, or all, within their components, and the least vertex that far away.

    By a search from each: for small components.
    """
    sources = np.arange(len(graph.offsets) - 1, dtype=np.int32) if sources is None else sources
    found, ends = np.empty((2, len(sources)), dtype=np.int32)
    _search_each(graph, sources, found, ends, np.empty((0, 2), dtype=np.int32))
    return found, ends


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


@jit
def root_of(parents: Vertices, vertex: int) -> int:
    """Return the root of a vertex's tree; the path there is halved."""
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]
        vertex = parents[vertex]
    return vertex


@jit
def unite(parents: Vertices, one: int, other: int) -> None:
    """Join the trees of two vertices; the least vertex of a tree is its root."""
    one, other = root_of(parents, one), root_of(parents, other)
    if one < other:
        parents[other] = one
    else:
        parents[one] = other


@jit
def unite_all(parents: Vertices, ones: Vertices, others: Vertices) -> None:
    """Join the trees of each two vertices."""
    for number in range(len(ones)):
        unite(parents, ones[number], others[number])


@jit
def find_roots(parents: Vertices) -> None:
    """Make each vertex a child of its root."""
    for vertex in range(len(parents)):
        parents[vertex] = root_of(parents, vertex)


@jit
def _fill_inner(
    graph: Graph, labels: Labels, order: Vertices, place: Vertices, offsets: Offsets, targets: Vertices
) -> int:
    total = 0
    for number in range(len(order)):
        vertex = order[number]
        offsets[number] = total
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            target = graph.targets[edge]
            if labels[target] == labels[vertex]:
                targets[total] = place[target]
                total += 1
    return total


def least_connected(graph: Graph) -> Vertices:
    """Return the least vertex of each vertex's component; the direction of edges is ignored."""
    parents = np.arange(len(graph.offsets) - 1, dtype=np.int32)
    unite_all(parents, np.repeat(parents, np.diff(graph.offsets)), graph.targets)
    find_roots(parents)
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
    # Pages that are not written take no memory.
    targets = np.empty(int(np.diff(graph.offsets)[order].sum()), dtype=np.int32)
    offsets[-1] = _fill_inner(graph, labels, order, place, offsets, targets)
    return Graph(offsets, targets[: offsets[-1]])


def renumbered(graph: Graph, images: Sequence[Vertices], order: Vertices) -> tuple[Graph, list[Vertices]]:
    """Return a graph and permutations of its vertices with vertex ``order[v]`` renumbered to v."""
    place = np.empty(len(order), dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    return inner_graph(graph, np.zeros(len(order), dtype=np.int32), order), [place[image[order]] for image in images]


def part_of(graph: Graph, begin: int, end: int) -> Graph:
    """Return the vertices ``begin..end-1`` as a graph; no edge may leave them."""
    first, last = graph.offsets[begin], graph.offsets[end]
    return Graph(graph.offsets[begin : end + 1] - first, graph.targets[first:last] - np.int32(begin))


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
    found, _ = eccentricities_of(graph)
    diameter, radius = (extreme.reduceat(found, firsts) for extreme in (np.maximum, np.minimum))
    outermost = found == diameter[labels]
    counts = [np.add.reduceat(which.astype(np.int32), firsts) for which in (found == radius[labels], outermost)]
    pairs = farthest_pairs(graph, np.flatnonzero(outermost).astype(np.int32))
    return np.stack([diameter, radius, *counts], axis=1), pairs


@jit
def _turn(graph: Graph, offsets: Offsets, sources: Vertices) -> None:
    """Fill `sources` by vertex; ``offsets[v + 1]`` is the number of edges to v before, and their end afterwards."""
    offsets[1:] = np.cumsum(offsets[1:]) - offsets[1:]
    for vertex in range(len(graph.offsets) - 1):
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            target = graph.targets[edge]
            sources[offsets[target + 1]] = vertex
            offsets[target + 1] += 1


def transposed(graph: Graph) -> Graph:
    """Return the graph with every edge reversed, the targets of each vertex sorted."""
    offsets = np.append(0, np.bincount(graph.targets, minlength=len(graph.offsets) - 1))
    sources = np.empty(len(graph.targets), dtype=np.int32)
    _turn(graph, offsets, sources)
    return Graph(offsets, sources)


def both_ways(graph: Graph) -> Graph:
    """Return the graph with a counterpart for every edge, the targets of each vertex sorted."""
    vertices = len(graph.offsets) - 1
    sources = np.repeat(np.arange(vertices), np.diff(graph.offsets))
    # The targets have 32 bits, too few for the square of 46,341.
    targets = graph.targets.astype(np.int64)
    edges = distinct(np.concatenate([sources * vertices + targets, targets * vertices + sources]))
    offsets = np.searchsorted(edges, np.arange(vertices + 1) * vertices)
    return Graph(offsets.astype(np.int64), (edges % vertices).astype(np.int32))


def one_way_edge(graph: Graph) -> tuple[int, int] | None:
    """Return the first edge without a counterpart, or ``None`` if the graph is undirected; targets must be sorted."""
    back, vertices = transposed(graph), len(graph.offsets) - 1
    if np.array_equal(graph.offsets, back.offsets) and np.array_equal(graph.targets, back.targets):
        return None
    one, other = (
        np.repeat(np.arange(vertices), np.diff(way.offsets)) * vertices + way.targets for way in (graph, back)
    )
    vertex, target = divmod(int(np.setdiff1d(one, other)[0]), vertices)
    return vertex, target


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
