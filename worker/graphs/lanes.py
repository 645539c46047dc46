"""Searches from 64 vertices at once, a bit for each in a word per vertex, and the exact diameters that they settle."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit, lowest_bit
from worker.graphs.searches import Distances, Graph, Vertices, search

LANES = 64
_UNBOUNDED = int(np.iinfo(np.int32).max)
_MIX = np.uint64(0x9E3779B97F4A7C15)

Words = NDArray[np.uint64]
#: (vertices, `LANES`)
Rows = NDArray[np.uint16]


class Widest(NamedTuple):
    """The diameter of a connected graph, one pair that far apart, and how many such pairs there are, -1 if unasked."""

    diameter: int
    pair: tuple[int, int]
    pairs: int


@jit
def _search_lanes(graph: Graph, sources: Vertices, words: Words, rows: Rows) -> None:
    """Fill ``rows[v, j]`` with the distance of v from source j; `words` (3, vertices) is room. All must be reached."""
    offsets, targets = graph
    seen, front, after = words[0], words[1], words[2]
    one, full = np.uint64(1), np.uint64(0)
    seen[:] = 0
    front[:] = 0
    for lane in range(len(sources)):
        bit = one << np.uint64(lane)
        full |= bit
        seen[sources[lane]] |= bit
        front[sources[lane]] |= bit
        rows[sources[lane], lane] = 0
    level, active = 0, True
    while active:
        level += 1
        active = False
        for vertex in range(len(seen)):
            come, here = np.uint64(0), seen[vertex]
            if here != full:
                for edge in range(offsets[vertex], offsets[vertex + 1]):
                    come |= front[targets[edge]]
                come &= ~here
                seen[vertex] = here | come
                active |= come != 0
            after[vertex] = come
            while come != 0:
                rows[vertex, lowest_bit(come)] = level
                come &= come - one
        front, after = after, front


@jit
def _tighten(rows: Rows, lanes: int, found: Distances, lower: Distances, upper: Distances) -> None:
    """Write the eccentricities of the sources into `found`, and move the bounds of all vertices."""
    found[:] = 0
    for vertex in range(len(rows)):
        for lane in range(lanes):
            found[lane] = max(found[lane], np.int32(rows[vertex, lane]))
    for vertex in range(len(rows)):
        low, high = lower[vertex], upper[vertex]
        for lane in range(lanes):
            away = np.int32(rows[vertex, lane])
            low = max(low, away, found[lane] - away)
            high = min(high, found[lane] + away)
        lower[vertex], upper[vertex] = low, high


class _Bounds:
    """What is known of the eccentricities of a connected graph; `images` are permutations that keep its edges."""

    def __init__(self, graph: Graph, images: Sequence[Vertices]) -> None:
        self.graph, self.images = graph, images
        count = len(graph.offsets) - 1
        self.lower, self.upper = np.zeros(count, dtype=np.int32), np.full(count, _UNBOUNDED, dtype=np.int32)
        self.rows = np.empty((count, LANES), dtype=np.uint16)
        self._words = np.empty((3, count), dtype=np.uint64)
        self.best, self.pair = -1, (0, 0)
        vertices = np.arange(count, dtype=np.int32)
        #: The least of each class of images: searches from the others would say the same.
        self.first = np.logical_and.reduce([vertices <= image for image in images] or [vertices >= 0])
        #: A fixed order by chance, so that sources do not lie side by side.
        self._order = (vertices.astype(np.uint64) + np.uint64(1)) * _MIX >> np.uint64(40)

    def look_from(self, sources: Vertices) -> None:
        """Search from up to `LANES` vertices."""
        _search_lanes(self.graph, sources, self._words, self.rows)
        found = np.empty(len(sources), dtype=np.int32)
        _tighten(self.rows, len(sources), found, self.lower, self.upper)
        for image in self.images:
            self.lower, self.upper = (
                np.maximum(self.lower, self.lower[image]),
                np.minimum(self.upper, self.upper[image]),
            )
        lane = int(found.argmax())
        if found[lane] > self.best:
            self.best, self.pair = int(found[lane]), (int(sources[lane]), int(self.rows[:, lane].argmax()))

    def sources(self, periphery: bool) -> Vertices:
        """Where to look next: half of them where the bounds allow most, half where they ask for least."""
        open_ones = self.upper > self.best
        if periphery:
            open_ones |= (self.upper == self.best) & (self.lower < self.best)
        left: Vertices = np.flatnonzero(open_ones & self.first).astype(np.int32)
        if len(left) <= LANES:
            return left
        high = np.lexsort((self._order[left], -self.upper[left]))[: LANES // 2]
        low = np.lexsort((self._order[left], self.lower[left]))[: LANES // 2]
        chosen: Vertices = left[np.unique(np.concatenate([high, low]))]
        return chosen


def widest(graph: Graph, images: Sequence[Vertices] = (), pairs: bool = False) -> Widest:
    """The exact diameter of a connected graph, by bounds; with `pairs` how many pairs of vertices are that far apart.

    `images` are permutations of the vertices that keep the edges, each its own inverse. Distances are below 65,536.
    """
    bounds, count = _Bounds(graph, images), len(graph.offsets) - 1
    sources = np.linspace(0, count - 1, min(count, LANES)).astype(np.int32)
    while len(sources):
        bounds.look_from(sources)
        sources = bounds.sources(pairs)
    return Widest(bounds.best, bounds.pair, _count_pairs(bounds) if pairs else -1)


def _count_pairs(bounds: _Bounds) -> int:
    """Pairs at the greatest distance: from each outermost vertex, images counted by the first of their class."""
    if not bounds.best:
        return 0
    outermost = np.flatnonzero((bounds.lower == bounds.best) & bounds.first).astype(np.int32)
    twice = 0
    for begin in range(0, len(outermost), LANES):
        sources, best = outermost[begin : begin + LANES], bounds.best
        bounds.look_from(sources)
        alike = [len({int(source), *(int(image[source]) for image in bounds.images)}) for source in sources]
        far = np.count_nonzero(bounds.rows[:, : len(sources)] == best, axis=0)
        twice += int(far @ np.array(alike))
    return twice // 2


@jit
def _bound(
    graph: Graph, begin: int, end: int, outermost: bool, distance: Distances, queue: Vertices, lower: Distances,
    upper: Distances,
) -> tuple[int, int, int]:  # fmt: skip
    """The diameter of the component ``begin..end-1`` and a pair; with `outermost`, whose lower bound it is is, too."""
    best, one, other, source, highest = -1, begin, begin, begin, True
    lower[begin:end] = 0
    upper[begin:end] = _UNBOUNDED
    while source >= 0:
        count = search(graph, source, distance, queue)
        found = distance[queue[count - 1]]
        if found > best:
            best, one, other = found, source, queue[count - 1]
        high = low = -1
        for vertex in range(begin, end):
            away = distance[vertex]
            distance[vertex] = -1
            lower[vertex] = max(lower[vertex], away, found - away)
            upper[vertex] = min(upper[vertex], found + away)
            if upper[vertex] > best or (outermost and upper[vertex] == best and lower[vertex] < best):
                high = vertex if high < 0 or upper[vertex] > upper[high] else high
                low = vertex if low < 0 or lower[vertex] < lower[low] else low
        highest = not highest
        source = high if highest else low
    return best, one, other


@jit
def bound_each(
    graph: Graph,
    firsts: Vertices,
    chosen: Vertices,
    outermost: bool,
    found: Distances,
    ends: Vertices,
    lower: Distances,
) -> None:
    """Diameters and ends of the `chosen` ones of the components that begin at `firsts`, the last of which ends them.

    ``found[c]`` and ``ends[c]`` are set; with `outermost` ``lower[v]`` is the diameter where v is an outermost vertex,
    and less elsewhere.
    """
    vertices = len(graph.offsets) - 1
    distance, queue = np.full(vertices, -1, dtype=np.int32), np.empty(vertices, dtype=np.int32)
    upper = np.empty(vertices, dtype=np.int32)
    for component in chosen:
        begin, end = firsts[component], firsts[component + 1]
        best, one, other = _bound(graph, begin, end, outermost, distance, queue, lower, upper)
        found[component] = best
        ends[component, 0] = one
        ends[component, 1] = other


@jit
def _spread(graph: Graph, sources: Vertices, distance: Distances, queue: Vertices) -> None:
    offsets, targets = graph
    count = len(sources)
    queue[:count] = sources
    distance[sources] = 0
    done = 0
    while done < count:
        here = queue[done]
        done += 1
        for edge in range(offsets[here], offsets[here + 1]):
            there = targets[edge]
            if distance[there] < 0:
                distance[there] = distance[here] + 1
                queue[count] = there
                count += 1


def distances_to(graph: Graph, goals: Vertices) -> Distances:
    """The distance of each vertex from the nearest of the goals; -1 where none is reached."""
    vertices = len(graph.offsets) - 1
    distance = np.full(vertices, -1, dtype=np.int32)
    _spread(graph, goals, distance, np.empty(vertices, dtype=np.int32))
    return distance
