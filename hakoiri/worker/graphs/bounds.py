"""Exact eccentricities of a connected graph, by searches (`worker.graphs.lanes`) that give bounds of all of them.

A search from s bounds the eccentricity e of every v at distance d: max(d, e(s) - d) <= e(v) <= e(s) + d (Takes and
Kosters, "Determining the diameter of small world networks", 2011). The distances of v from the sources of earlier
searches are known, so only those from other vertices need a bound. It is d + b(s), if b(s) is the greatest distance of
s from any of these. If that is at most the greatest distance known of v, e(v) is that distance (Li and others,
"Exacting eccentricity for small-world networks", 2018, do so with one s). So searches start from two kinds of vertices:
from those far from others, with vertices around them, which lowers b everywhere, and from those whose eccentricity is
open. Vertices that are images of each other under symmetries share their bounds.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.worker.graphs import searches
from hakoiri.worker.graphs.lanes import LANES, WORD, Searched, SearchResults, look_from, pairs_at
from hakoiri.worker.graphs.searches import Distances, Graph, Vertices, distances_from, least_connected, renumbered

#: No bound yet; small enough that a distance can be added.
UNBOUNDED = 1 << 30
#: The number of first sources, which doubles each time: their results guide the next choice.
_FIRST = 8
#: The same if all searches are made in this thread: one from 128 sources takes little longer than one from a few.
_FIRST_HERE = 128
#: The number of vertices around far ones that are examined per source.
_AROUND = 4
_MIX = np.uint64(0x9E3779B97F4A7C15)

#: Searches from some chunks of sources, as `look_from`, given the vertices searched from by then.
LookFrom = Callable[[list[Vertices], Searched], list[SearchResults]]


class Aim(Enum):
    """The vertices whose eccentricities are wanted."""

    DIAMETER = "the greatest"
    WIDEST = "the greatest, and nothing else afterwards"
    ENDS = "of all that have the greatest or the least"
    ALL = "of every vertex"


@jit
def _raise(lower: Distances, first: Vertices, away: Distances) -> None:
    for vertex in range(len(first)):
        lower[first[vertex]] = max(lower[first[vertex]], away[vertex])


@jit
def _follow(graph: Graph, first: Vertices, value: Distances, sources: Vertices, queue: Vertices) -> None:
    """Lower `value` wherever it exceeds that of a neighbour by more than one, beginning from `sources`."""
    waiting = np.zeros(len(queue), dtype=np.bool_)
    begin, count = 0, 0
    for source in sources:
        if not waiting[source]:
            waiting[source] = True
            queue[count] = source
            count += 1
    while count:
        here = queue[begin]
        begin, count = (begin + 1) % len(queue), count - 1
        waiting[here] = False
        for edge in range(graph.offsets[here], graph.offsets[here + 1]):
            there = first[graph.targets[edge]]
            if value[there] > value[here] + 1:
                value[there] = value[here] + 1
                if not waiting[there]:
                    waiting[there] = True
                    queue[(begin + count) % len(queue)] = there
                    count += 1


@jit
def _around(graph: Graph, first: Vertices, searched: Searched, near: Vertices, count: int, found: Vertices) -> int:
    """Write vertices not `searched` into `found`, nearest first to the `count` vertices that `near` begins with.

    Examines at most as many vertices as `near` has room for; returns the number found.
    """
    met = np.zeros(len(first), dtype=np.bool_)
    for vertex in near[:count]:
        met[vertex] = True
    done, total = 0, 0
    while done < count and total < len(found):
        here = near[done]
        done += 1
        if not searched[here]:
            found[total] = here
            total += 1
        for edge in range(graph.offsets[here], graph.offsets[here + 1]):
            there = first[graph.targets[edge]]
            if not met[there] and count < len(near):
                met[there] = True
                near[count] = there
                count += 1
    return total


class Bounds:
    """Bounds of the eccentricities of a connected graph.

    ``first[v]`` is the least of the vertices that symmetries of the graph take v to. For v = ``first[v]``:
    ``lower[v] <= eccentricity <= max(lower[v], beyond[v])``, where `beyond` bounds the distance of the vertices not
    `searched`. `evens` is passed to searches (`look_from`). Memory: 26 bytes a vertex, besides the graph.
    """

    def __init__(self, graph: Graph, first: Vertices, evens: int | None = None) -> None:
        self.graph, self.first, self.evens = graph, first, len(first) if evens is None else evens
        count = len(first)
        self.lower = np.zeros(count, dtype=np.int32)
        self.beyond = np.full(count, UNBOUNDED, dtype=np.int32)
        self.searched = np.zeros(count, dtype=np.bool_)
        #: A fixed pseudo-random order, so that sources are spread out.
        self._order = ((np.arange(count, dtype=np.uint64) + np.uint64(1)) * _MIX >> np.uint64(40)).astype(np.int32)
        self._queue = np.empty(count, dtype=np.int32)
        #: Vertices that are farthest from some source, or near to such.
        self._far = self._queue[:0]
        self._firsts = np.flatnonzero(self.first == np.arange(count)).astype(np.int32)

    @property
    def upper(self) -> Distances:
        """The upper bound of every vertex that is the first of its class; meaningless for others."""
        upper: Distances = np.maximum(self.lower, self.beyond)
        return upper

    def outermost(self) -> Vertices:
        """Return the first vertex of each class with the greatest eccentricity known, once the diameter is settled."""
        lower = self.lower[self._firsts]
        found: Vertices = self._firsts[lower == lower.max()]
        return found

    def of_all(self) -> tuple[Distances, Distances]:
        """Return lower and upper bounds of all vertices."""
        return self.lower[self.first], self.upper[self.first]

    def open(self, aim: Aim) -> Vertices:
        """Return the first vertex of each class whose eccentricity is wanted and not known yet."""
        lower, upper = self.lower[self._firsts], self.upper[self._firsts]
        greatest, wanted = lower.max(), lower < upper
        if aim in (Aim.DIAMETER, Aim.WIDEST):
            wanted &= upper > greatest
        elif aim is Aim.ENDS:
            wanted &= (upper >= greatest) | (lower <= upper.min())
        left: Vertices = self._firsts[wanted]
        return left

    def settle(
        self, aim: Aim, look: LookFrom, tasks: int = 1, lanes: int = LANES, report: Callable[[], None] = lambda: None,
        first: int = _FIRST,
    ) -> None:  # fmt: skip
        """Search until `aim` is reached, up to `tasks` at a time from up to `lanes` sources each; begin with `first`
        sources.

        `report` is called after every few searches and may raise.
        """
        count = first
        while len(sources := self._sources(aim, count)):
            # A search from one word of sources takes little longer than from a few: two of 32 cost 1.2 s, one of 64 0.7
            # s.
            chunks = np.array_split(sources, min(tasks, -(-len(sources) // WORD)))
            searched = self.searched | np.isin(self.first, sources)
            if aim is Aim.WIDEST:
                # Vertices that cannot end a longer pair are left out: others are at most as far from them as is known.
                searched |= (self.upper <= self.lower.max())[self.first]
            # IMPORTANT: all at once. The bounds from each search for other vertices leave out the sources of the
            # others.
            self._take(chunks, look(chunks, searched), searched)
            count = min(2 * count, tasks * lanes)
            report()

    def _sources(self, aim: Aim, count: int) -> Vertices:
        """Return far vertices, random open ones, and for `Aim.ENDS` those that seem to be innermost."""
        left = self.open(aim)
        if len(left) <= count:
            return left
        far = self._far[: count // (2 if aim is Aim.ALL else 4)]
        rest = count - len(far)
        inner = rest // 2 if aim is Aim.ENDS else 0
        chosen = [far, _least(left, self._order[left], rest - inner)]
        if inner:
            others = self._firsts[~self.searched[self._firsts]]
            chosen.append(_least(others, (self.lower[others].astype(np.int64) << 24) + self._order[others], inner))
        sources: Vertices = np.unique(np.concatenate(chosen))
        return sources

    def _take(self, chunks: list[Vertices], found: list[SearchResults], searched: Searched) -> None:
        for looked in found:
            _raise(self.lower, self.first, looked.away.astype(np.int32, copy=False))
        sources = np.concatenate(chunks)
        eccentricities = np.concatenate([looked.eccentricities for looked in found])
        beyond = np.concatenate([looked.beyond for looked in found])
        self.searched = searched
        self.lower[sources] = eccentricities
        self.beyond[sources] = np.minimum(self.beyond[sources], beyond)
        _follow(self.graph, self.first, self.beyond, sources[np.argsort(beyond, kind="stable")], self._queue)
        lower = -self.lower
        _follow(self.graph, self.first, lower, sources[np.argsort(-eccentricities, kind="stable")], self._queue)
        np.negative(lower, out=self.lower)
        # Far vertices for the next searches: first those that are the farthest from the most sources.
        ends = np.concatenate([looked.ends for looked in found])
        far, counts = np.unique(self.first[ends[ends >= 0]], return_counts=True)
        room = np.empty(2 * len(ends), dtype=np.int32)
        near = np.empty(_AROUND * len(room), dtype=np.int32)
        near[: len(far)] = far[np.argsort(-counts, kind="stable")]
        self._far = room[: _around(self.graph, self.first, self.searched, near, len(far), room)]


def look_here(bounds: Bounds) -> LookFrom:
    """Return a function that searches in this thread."""
    return lambda chunks, searched: [look_from(bounds.graph, bounds.evens, sources, searched) for sources in chunks]


def _least(vertices: Vertices, ranks: NDArray[np.int64] | Distances, count: int) -> Vertices:
    return vertices if len(vertices) <= count else vertices[np.argpartition(ranks, count)[:count]]


def least_alike(count: int, images: Sequence[Vertices]) -> Vertices:
    """Return for each of `count` vertices the least vertex that products of some permutations take it to."""
    if not images:
        return np.arange(count, dtype=np.int32)
    offsets = np.arange(count + 1, dtype=np.int64) * len(images)
    return least_connected(Graph(offsets, np.stack(images, axis=1).reshape(-1)))


class Widest(NamedTuple):
    """The diameter of a connected graph, a pair that attains it, and the number of such pairs, or -1."""

    diameter: int
    pair: tuple[int, int]
    pairs: int = -1


def widest(graph: Graph, images: Sequence[Vertices] = (), pairs: bool = False) -> Widest:
    """Return the exact diameter of a connected graph; with `pairs`, also the number of diametral pairs.

    `images` are permutations of the vertices that keep the edges.
    """
    order, evens = searches.by_sides(graph, np.arange(len(graph.offsets) - 1, dtype=np.int32))
    graph, images = renumbered(graph, images, order)
    bounds = Bounds(graph, least_alike(len(order), images), evens)
    bounds.settle(Aim.ENDS if pairs else Aim.WIDEST, look_here(bounds), first=_FIRST_HERE)
    diameter = int(bounds.lower.max())
    one, other = order[list(an_end(bounds))].tolist()
    if not pairs:
        return Widest(diameter, (one, other))
    # The pairs of an outermost vertex count for its whole class, and each is seen from both ends.
    alike = np.bincount(bounds.first)
    outermost, twice = bounds.outermost(), 0
    for begin in range(0, len(outermost), LANES):
        twice += int(alike[pairs_at(graph, outermost[begin : begin + LANES], diameter)[:, 0]].sum())
    return Widest(diameter, (one, other), twice // 2)


def an_end(bounds: Bounds) -> tuple[int, int]:
    """Return a pair of vertices at the greatest distance known."""
    source = int(bounds.lower.argmax())
    return source, int(distances_from(bounds.graph, source).argmax())
