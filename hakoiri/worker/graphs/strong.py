"""Directed graphs in memory: their strong components, and the diameters of these.

A graph is in compressed sparse rows as in `worker.graphs.searches`, but its edges are directed. Vertices are ordered by
component: component c has the vertices ``firsts[c]..firsts[c + 1] - 1``; `firsts` is int64.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.worker.graphs import searches
from hakoiri.worker.graphs.searches import UNSEEN, Graph, Labels, Vertices, distances_from, transposed

#: A row per component: its diameter, and the two vertices that attain it.
Diameters = NDArray[np.int32]
#: Vertices entered or left between two calls of `check`: some tenths of a second.
_AT_ONCE = 1 << 21
#: No number yet.
_NEW = 0


class _Depths(NamedTuple):
    """The state of a depth-first search.

    `found` is 0 for a vertex not reached yet; the least number that it is known to lead back to; or its component, in
    numbers that decrease from the number of vertices. `path` is the path to the present vertex, `edges` the number of
    edges of each vertex followed, `waiting` the vertices whose component is not complete. `counts` are the next number,
    the next component, the lengths of `path` and `waiting`, and the vertex from which to look for a new root.
    """

    found: Labels
    is_root: NDArray[np.bool_]
    path: Vertices
    edges: Vertices
    waiting: Vertices
    counts: NDArray[np.int64]


@jit
def _go_on(graph: Graph, depths: _Depths, steps: int) -> bool:
    """Enter or leave up to `steps` vertices; return True if all have been left."""
    found, is_root, path, edges, waiting, counts = depths
    index, label, length, waits, beginning = counts[0], counts[1], counts[2], counts[3], counts[4]
    while steps > 0:
        if length == 0:
            while beginning < len(found) and found[beginning] != _NEW:
                beginning += 1
            if beginning == len(found):
                break
            path[0], edges[beginning], length = beginning, 0, 1
            found[beginning], is_root[beginning] = index, True
            index += 1
        here = path[length - 1]
        place = graph.offsets[here] + edges[here]
        end = graph.offsets[here + 1]
        while place < end:
            there = graph.targets[place]
            if found[there] == _NEW:
                break
            if found[there] < found[here]:
                found[here], is_root[here] = found[there], False
            place += 1
        edges[here] = place - graph.offsets[here]
        steps -= 1
        if place < end:
            # The edge is read again when its end has been left.
            path[length], edges[there], length = there, 0, length + 1
            found[there], is_root[there] = index, True
            index += 1
            continue
        length -= 1
        if is_root[here]:
            index -= 1
            while waits > 0 and found[here] <= found[waiting[waits - 1]]:
                waits -= 1
                found[waiting[waits]] = label
                index -= 1
            found[here] = label
            label -= 1
        else:
            waiting[waits] = here
            waits += 1
    counts[0], counts[1], counts[2], counts[3], counts[4] = index, label, length, waits, beginning
    return bool(length == 0 and beginning == len(found))


def strong_labels(graph: Graph, check: Callable[[], None]) -> Labels:
    """Return a number for the strong component of each vertex, from 0 on, in arbitrary order.

    As in Pearce, "A space-efficient algorithm for finding strongly connected components", 2016: takes 17 bytes for each
    vertex. `check` is called now and then, and may raise.
    """
    vertices = len(graph.offsets) - 1
    found, path, edges, waiting = np.zeros((4, vertices), dtype=np.int32)
    # Vertex numbers from 1 on are below those of components as long as both are in use.
    counts = np.array([1, vertices, 0, 0, 0], dtype=np.int64)
    depths = _Depths(found, np.zeros(vertices, dtype=np.bool_), path, edges, waiting, counts)
    while not _go_on(graph, depths, _AT_ONCE):
        check()
    return vertices - found


@jit
def _look_across(graph: Graph, vertices: Vertices, labels: Labels, met: Labels, left: NDArray[np.bool_]) -> int:
    """Count the components that the edges of `vertices`, given component by component, lead into.

    `met` holds the component from which each was entered last, `left` marks those that have been left.
    """
    count = 0
    for vertex in vertices:
        here = labels[vertex]
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            there = labels[graph.targets[edge]]
            if there != here and met[there] != here:
                met[there], left[here] = here, True
                count += 1
    return count


def condensation(graph: Graph, labels: Labels, count: int, check: Callable[[], None]) -> tuple[int, int, int]:
    """Return the pairs of components joined by an edge, and the numbers of components that are sources and sinks.

    Takes up to 20 bytes for each vertex. `check` is called now and then, and may raise.
    """
    order = np.argsort(labels, kind="stable").astype(np.int32)
    met, left = np.full(count, UNSEEN, dtype=np.int32), np.zeros(count, dtype=np.bool_)
    pairs = 0
    for begin in range(0, len(order), _AT_ONCE):
        check()
        pairs += _look_across(graph, order[begin : begin + _AT_ONCE], labels, met, left)
    return pairs, int(np.count_nonzero(met == UNSEEN)), int(np.count_nonzero(~left))


def bounded_diameter(graph: Graph, check: Callable[[int, int], None] = lambda lower, upper: None) -> Diameters:
    """Return the diameter of a strongly connected graph and a pair (from, to) that attains it, by bounds; shape (1, 3).

    Each search goes both ways from a vertex s. It bounds the eccentricity of every v, out and in: d(v, s) <= ecc(v) <=
    d(v, s) + ecc(s) and ecc(s) <= d(s, v) + ecc(v), by the triangle inequality. The greatest of either direction is the
    diameter. `check` is called after each search with bounds of it, and may raise. Takes up to 60 bytes for each
    vertex, and the transposed graph.
    """
    ways, vertices = (graph, transposed(graph)), len(graph.offsets) - 1
    lower, upper = np.zeros((2, vertices), np.int32), np.full((2, vertices), np.iinfo(np.int32).max, np.int32)
    diameter, pair, source, outer = 0, (0, 0), 0, False
    while True:
        away = np.stack([distances_from(way, source) for way in ways])
        farthest, ends = away.max(axis=1, keepdims=True), away.argmax(axis=1).tolist()
        np.maximum(lower, np.maximum(away[::-1], farthest - away), out=lower)
        np.minimum(upper, away[::-1] + farthest, out=upper)
        if farthest.max() > diameter:
            diameter, into = int(farthest.max()), farthest[1] > farthest[0]
            pair = (ends[1], source) if into else (source, ends[0])
        highest = max(diameter, int(upper.max(axis=1).min()))
        check(diameter, highest)
        if diameter == highest:
            return np.array([[diameter, *pair]], dtype=np.int32)
        outer, known = not outer, (lower == upper).all(axis=0)
        if outer or known.all():
            # The greatest upper bound in the direction in which fewer vertices may still exceed the diameter.
            source = int(upper[np.count_nonzero(upper > diameter, axis=1).argmin()].argmax())
        else:
            # The least bounds of a vertex that is not known: it bounds best.
            source = int(np.where(known, np.iinfo(np.int64).max, lower.sum(axis=0)).argmin())


def all_diameters(graph: Graph, firsts: searches.Offsets) -> Diameters:
    """Return the diameter and a pair (from, to) that attains it, per strong component; shape (components, 3).

    By a search from every vertex: for small components. No edge may leave a component; the last entry of `firsts` is
    the number of vertices.
    """
    found, ends = searches.eccentricities_of(graph)
    components = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    # The first vertex of the greatest eccentricity in each component.
    sources = np.lexsort((-found, components))[firsts[:-1]].astype(np.int32)
    return np.stack([found[sources], sources, ends[sources]], axis=1)
