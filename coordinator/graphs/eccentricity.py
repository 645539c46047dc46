"""The exact diameter, radius, centre, periphery and all diametral pairs of one large component.

Bounding (Takes and Kosters, "Determining the diameter of small world networks", 2011): a breadth-first search from one
vertex bounds the eccentricity of all. Sources are chosen where a bound says most, until it is settled for every
vertex whether it is in the periphery and whether it is in the centre. The 25,955 configurations of Hakoiri-musume's
start take some 130 searches instead of 25,955.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worker.graphs.searches import Distances, Graph, Vertices
from worker.tasks import Arrays

#: Sources per task: with more, better choices come later (130 searches by ones, 240 by sixteens).
SOURCES_PER_TASK = 2
#: Runs a task over some chunks of sources on the component's graph.
MapChunks = Callable[[str, list[Arrays]], list[list[np.ndarray]]]


@dataclass(frozen=True)
class Eccentricities:
    """Exact distances of one component. `centre` and `periphery` are vertices; `pairs` has shape (pairs, 2)."""

    diameter: int
    radius: int
    centre: Vertices
    periphery: Vertices
    pairs: Vertices


def exact_eccentricities(graph: Graph, spread: MapChunks, tasks: int) -> Eccentricities:
    """The answer for a connected `graph`, with `tasks` searches at the same time."""
    lower, upper = _settle(graph, spread, tasks)
    diameter, radius = int(lower.max()), int(upper.min())
    known = lower == upper
    centre = np.flatnonzero(known & (upper == radius)).astype(np.int32)
    periphery = np.flatnonzero(known & (lower == diameter)).astype(np.int32)
    found = spread("pairs", [[part] for part in np.array_split(periphery, min(tasks, len(periphery)))])
    pairs = np.concatenate([part for (part,) in found])
    return Eccentricities(diameter, radius, centre, periphery, sorted_pairs(pairs))


def sorted_pairs(pairs: Vertices) -> Vertices:
    """Pairs in increasing order."""
    ordered: Vertices = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered


def _settle(graph: Graph, spread: MapChunks, tasks: int) -> tuple[Distances, Distances]:
    """Bounds of every eccentricity, equal wherever the vertex may belong to the periphery or the centre."""
    vertices = len(graph.offsets) - 1
    lower = np.zeros(vertices, dtype=np.int32)
    upper = np.full(vertices, np.iinfo(np.int32).max, dtype=np.int32)
    sources = np.zeros(1, dtype=np.int32)
    while len(sources):
        chunks = np.array_split(sources, min(tasks, len(sources)))
        for _, least, most in spread("bounds", [[chunk] for chunk in chunks]):
            np.maximum(lower, least, out=lower)
            np.minimum(upper, most, out=upper)
        sources = _next_sources(lower, upper, tasks * SOURCES_PER_TASK)
    return lower, upper


def _next_sources(lower: Distances, upper: Distances, count: int) -> Vertices:
    """Up to `count` vertices that may still be outermost or innermost; none when all is settled."""
    unsettled = lower != upper
    outer = np.flatnonzero(unsettled & (upper >= lower.max()))
    inner = np.flatnonzero(unsettled & (lower <= upper.min()))
    half = max(1, count // 2)
    from_outer = _least(outer, -upper[outer], half if len(inner) else count)
    from_inner = _least(inner, lower[inner], half if len(outer) else count)
    return np.unique(np.concatenate([from_outer, from_inner])).astype(np.int32)


def _least(vertices: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    if len(vertices) <= count:
        return vertices
    return vertices[np.argpartition(values, count - 1)[:count]]
