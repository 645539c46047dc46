"""Searches from up to 256 vertices at once, with a bit for each in the words of every vertex; and of small components.

An edge is read once for all searches whose frontiers pass it together (Then et al., "The more the merrier: efficient
multi-source graph traversal", 2014). A search among 256 takes 3 ms, and 97 ms alone, for 660,296 sliding boards 57
moves wide; 10 ms, and 40 ms alone, for 688,774 boards 365 moves wide.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.worker.graphs.searches import Distances, Graph, Vertices, search

#: Searches at once; with 512, words no longer fit the cache, and each search takes as long.
LANES = 256
#: Searches with a bit in the same word.
WORD = 64
#: A front of less than this part of the vertices is pushed along its edges; otherwise every vertex pulls from
#: neighbours.
_SPARSE = 16
_UNBOUNDED = int(np.iinfo(np.int32).max)

#: Shape (vertices, words), or (words,) for one vertex.
Words = NDArray[np.uint64]
#: For each vertex, whether it has been searched from.
Searched = NDArray[np.bool_]


class SearchResults(NamedTuple):
    """The results of searches from some sources, the input of `Bounds._take`.

    For each source: its eccentricity; the greatest distance of a vertex that has not been searched from, 0 without any;
    and one such vertex, or -1. `away` is the distance of every vertex from the farthest source.
    """

    eccentricities: Distances
    beyond: Distances
    ends: Vertices
    away: Distances


def narrowed(distances: NDArray[Any]) -> NDArray[Any]:
    """Return non-negative distances in the narrowest sufficient dtype."""
    return distances.astype(np.min_scalar_type(distances.max(initial=0)))


@jit
def _push(
    graph: Graph, vertices: Vertices, front: Words, seen: Words, after: Words, found: Vertices, count: int
) -> int:
    """Write the successors of the front of `vertices` into `after`, and append new ones to the `count` in `found`."""
    for vertex in vertices:
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
            there = graph.targets[edge]
            had = come = np.uint64(0)
            for word in range(seen.shape[1]):
                had |= after[there, word]
                new = front[vertex, word] & ~seen[there, word]
                come |= new
                after[there, word] |= new
            if had == 0 and come != 0:
                found[count] = there
                count += 1
    return count


@jit
def _pull(
    graph: Graph, begin: int, end: int, full: Words, front: Words, seen: Words, after: Words, found: Vertices
) -> int:
    """Write the next front into `after`, from the neighbours of the vertices ``begin..end-1`` not seen by all."""
    count, last = 0, seen.shape[1] - 1
    # In registers, the last word repeated if there are fewer: kept in `after`, each edge would wait for the one before.
    second, third, fourth = min(1, last), min(2, last), min(3, last)
    for vertex in range(begin, end):
        lack = np.uint64(0)
        for word in range(last + 1):
            lack |= full[word] & ~seen[vertex, word]
        one = two = three = four = np.uint64(0)
        for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1] if lack else graph.offsets[vertex]):
            there = graph.targets[edge]
            one |= front[there, 0]
            two |= front[there, second]
            three |= front[there, third]
            four |= front[there, fourth]
        one &= ~seen[vertex, 0]
        two &= ~seen[vertex, second]
        three &= ~seen[vertex, third]
        four &= ~seen[vertex, fourth]
        after[vertex, 0] = one
        after[vertex, second] = two
        after[vertex, third] = three
        after[vertex, fourth] = four
        if one | two | three | four:
            found[count] = vertex
            count += 1
    return count


@jit
def _note(
    level: int, vertices: Vertices, after: Words, ahead: Words, seen: Words, searched: Searched, looked: SearchResults
) -> None:
    """Mark the front at `vertices` as seen, and record its distance: one more for sources that are `ahead`."""
    words = seen.shape[1]
    hit, apart = np.zeros(words, dtype=np.uint64), np.zeros(words, dtype=np.uint64)
    for vertex in vertices:
        first = np.uint64(0)
        for word in range(words):
            come = after[vertex, word]
            seen[vertex, word] |= come
            hit[word] |= come
            first |= come & ahead[word]
            if not searched[vertex]:
                fresh = come & ~apart[word]
                apart[word] |= come
                while fresh != 0:
                    lane = (word << 6) + lowest_bit(fresh)
                    looked.beyond[lane] = level + _bit(ahead, lane)
                    looked.ends[lane] = vertex
                    fresh &= fresh - np.uint64(1)
        looked.away[vertex] = level + (first != 0)
    for word in range(words):
        while hit[word] != 0:
            lane = (word << 6) + lowest_bit(hit[word])
            looked.eccentricities[lane] = level + _bit(ahead, lane)
            hit[word] &= hit[word] - np.uint64(1)


@jit
def _bit(words: Words, lane: int) -> int:
    return int(words[lane >> 6] >> np.uint64(lane & 63) & np.uint64(1))


@jit
def _begin(graph: Graph, evens: int, sources: Vertices, room: Words, masks: Words, here: Vertices) -> int:
    """Write the first front and its vertices; return their number. Sources on the second side are a step ahead."""
    seen, front, before = room[0], room[1], room[2]
    full, ahead = masks[0], masks[1]
    count = 0
    for lane in range(len(sources)):
        source, word = sources[lane], lane >> 6
        bit = np.uint64(1) << np.uint64(lane & 63)
        full[word] |= bit
        seen[source, word] |= bit
        if source < evens:
            front[source, word] |= bit
            here[count] = source
            count += 1
        else:
            ahead[word] |= bit
            before[source, word] |= bit
    early = sources[sources >= evens]
    count = _push(graph, early, before, seen, front, here, count)
    _clear(before, early)
    return count


@jit
def _clear(rows: Words, vertices: Vertices) -> None:
    # One by one: an array as index would be compiled with the texts of all its possible errors, 1.5 s.
    for vertex in vertices:
        for word in range(rows.shape[1]):
            rows[vertex, word] = 0


@jit
def _look(
    graph: Graph, evens: int, sources: Vertices, searched: Searched, most: int, room: Words, lists: Vertices,
    looked: SearchResults,
) -> tuple[Words, Vertices]:  # fmt: skip
    """Search up to the distance `most`; return the words of the front there, and its vertices."""
    masks = np.zeros((2, room.shape[2]), dtype=np.uint64)
    full, ahead = masks[0], masks[1]
    # One by one: numba does not know that the rows of unpacked arrays are contiguous.
    seen, front, after = room[0], room[1], room[2]
    here, there = lists[0], lists[1]
    count, before, level = _begin(graph, evens, sources, room, masks, here), 0, 0
    while True:
        _note(level, here[:count], front, ahead, seen, searched, looked)
        if count == 0 or level == most:
            return front, here[:count]
        level += 1
        if count * _SPARSE < len(seen):
            _clear(after, there[:before])
            found = _push(graph, here[:count], front, seen, after, there, 0)
        else:
            begin, end = (evens, len(seen)) if level & 1 and evens < len(seen) else (0, evens)
            found = _pull(graph, begin, end, full, front, seen, after, there)
        before, count = count, found
        front, after, here, there = after, front, there, here


def _searched(
    graph: Graph, evens: int, sources: Vertices, searched: Searched, most: int
) -> tuple[SearchResults, Words, Vertices]:
    vertices, lanes = len(graph.offsets) - 1, len(sources)
    room = np.zeros((3, vertices, -(-lanes // 64)), dtype=np.uint64)
    none = np.zeros((2, lanes), dtype=np.int32)
    looked = SearchResults(none[0], none[1], np.full(lanes, -1, dtype=np.int32), np.zeros(vertices, dtype=np.int32))
    lists = np.empty((2, vertices), dtype=np.int32)
    front, there = _look(graph, evens, sources, searched, most, room, lists, looked)
    return looked, front, there


def look_from(graph: Graph, evens: int, sources: Vertices, searched: Searched) -> SearchResults:
    """Search from up to `LANES` distinct vertices of a connected graph; `searched` marks all vertices searched from.

    The first `evens` vertices are one side of a bipartite graph (`worker.graphs.searches.by_sides`): then only one side
    looks for each front. Otherwise `evens` is the number of all vertices.

    Takes 8 bytes a vertex for the result, and while searching 8, and 24 for every 64 sources.
    """
    return _searched(graph, evens, sources, searched, _UNBOUNDED)[0]


@jit
def _write_pairs(front: Words, there: Vertices, sources: Vertices, room: Vertices) -> int:
    """Write (source, vertex) for every vertex of a front while there is room; return their number."""
    total = 0
    for vertex in there:
        for word in range(front.shape[1]):
            bits = front[vertex, word]
            while bits != 0:
                if total < len(room):
                    room[total, 0] = sources[(word << 6) + lowest_bit(bits)]
                    room[total, 1] = vertex
                total += 1
                bits &= bits - np.uint64(1)
    return total


def pairs_at(graph: Graph, sources: Vertices, distance: int) -> Vertices:
    """Return all pairs (source, vertex) at this distance, the greatest of up to `LANES` sources; shape (pairs, 2)."""
    nobody = np.zeros(len(graph.offsets) - 1, dtype=np.bool_)
    # Not by sides: one would be a step ahead.
    _, front, there = _searched(graph, len(nobody), sources, nobody, distance)
    room = np.empty((_write_pairs(front, there, sources, np.empty((0, 2), dtype=np.int32)), 2), dtype=np.int32)
    _write_pairs(front, there, sources, room)
    return room


@jit
def _bound(
    graph: Graph, begin: int, end: int, outermost: bool, distance: Distances, queue: Vertices, lower: Distances,
    upper: Distances,
) -> tuple[int, int, int]:  # fmt: skip
    """Return the diameter of the component ``begin..end-1`` and a pair; with `outermost`, find all vertices at it."""
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
    graph: Graph, firsts: Vertices, chosen: Vertices, outermost: bool, figures: NDArray[np.int64], lower: Distances
) -> None:
    """Find diameters and ends of the `chosen` components; component c is the vertices ``firsts[c]..firsts[c + 1] - 1``.

    ``figures[c]`` begins with the diameter, and a pair that attains it. With `outermost`, ``lower[v]`` is the diameter
    if v is an outermost vertex, and less otherwise.
    """
    vertices = len(graph.offsets) - 1
    distance, queue = np.full(vertices, -1, dtype=np.int32), np.empty(vertices, dtype=np.int32)
    upper = np.empty(vertices, dtype=np.int32)
    for component in chosen:
        begin, end = firsts[component], firsts[component + 1]
        best, one, other = _bound(graph, begin, end, outermost, distance, queue, lower, upper)
        figures[component, 0], figures[component, 1], figures[component, 2] = best, one, other
