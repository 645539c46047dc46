"""Exact eccentricities of a connected graph in memory, by searches from where a bound says most.

A search from a vertex bounds the eccentricity of every other one (`worker.graphs.searches.sweep`). Searches go on until
both bounds meet, either wherever a vertex may be in the periphery or in the centre (the 25,955 configurations of
Hakoiri-musume's start take some 130 searches), or everywhere (a sliding board of 81,462 configurations that is 359
moves wide takes some 360).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coordinator.graphs.diameter import MapChunks
from storage.layers.store import RunStore
from storage.ledger.manifest import Progress
from storage.results.rows import read_arrays, stage_arrays
from worker.graphs.searches import Distances, Graph, Vertices
from worker.tasks import Arrays

#: Sources per task: with more, better choices come later (130 searches by ones, 240 by sixteens).
SOURCES_PER_TASK = 2
#: Distances from so many farthest vertices are at hand, 4 bytes a vertex each: nearly all vertices share them.
_ENDS_KEPT = 4


class Bounds(NamedTuple):
    """What is proved of the eccentricity of every vertex: ``lower <= eccentricity <= upper``, in moves."""

    lower: Distances
    upper: Distances

    @classmethod
    def none(cls, vertices: int) -> "Bounds":
        """Of a connected graph of so many vertices, before the first search."""
        return cls(np.zeros(vertices, dtype=np.int32), np.full(vertices, np.iinfo(np.int32).max, dtype=np.int32))

    @property
    def open(self) -> NDArray[np.bool_]:
        """Where they do not meet yet."""
        unsettled: NDArray[np.bool_] = self.lower != self.upper
        return unsettled


def settling_progress(bounds: Bounds) -> Progress:
    """Of how many vertices the eccentricity is known, and the intervals of diameter and radius."""
    lower, upper = bounds
    headline = (
        f"the diameter is in [{lower.max():,}, {upper.max():,}], the radius in [{lower.min():,}, {upper.min():,}]"
    )
    return Progress(len(lower) - int(np.count_nonzero(bounds.open)), len(lower), "eccentricities", headline)


def keep_bounds(store: RunStore, component: int, bounds: Bounds) -> None:
    """Make what was proved of a component's eccentricities durable, in the order of its keys."""
    stage_arrays(store, bounds._asdict() | {"component": np.array([component])})
    store.commit(store.state)


def read_bounds(store: RunStore, component: int, vertices: int) -> Bounds:
    """What was last kept, if it was of this component; else what is known before the first search."""
    arrays = read_arrays(store)
    if not arrays or arrays.pop("component")[0] != component:
        return Bounds.none(vertices)
    return Bounds(**arrays)


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
    bounds = Bounds.none(len(graph.offsets) - 1)
    while len(sources := _chosen(bounds, *_outermost_and_innermost(bounds), tasks * SOURCES_PER_TASK)):
        chunks = np.array_split(sources, min(tasks, len(sources)))
        for _, least, most in spread("bounds", [[chunk] for chunk in chunks]):
            np.maximum(bounds.lower, least, out=bounds.lower)
            np.minimum(bounds.upper, most, out=bounds.upper)
    return summed_up(bounds, spread, tasks)


def settle_all(bounds: Bounds, spread: MapChunks, tasks: int, report: Callable[[Bounds], None]) -> None:
    """Search until the bounds of every vertex meet. `report` hears of them after every few searches, and may raise.

    The bounds are narrowed in place: what an earlier attempt proved is where this one goes on. After a vertex, its
    farthest one is searched from, and the gateway between them (`_gateway`): without it the 81,462 configurations of
    a sliding board took from 655 to many thousands of searches, as ties fell, and with it 360.
    """
    searched: set[int] = set()
    ends: dict[int, Distances] = {}

    def search(sources: Iterable[int]) -> list[Distances]:
        wanted = list(dict.fromkeys(sources))
        chunks: list[Arrays] = [
            [np.array(part, dtype=np.int32)] for part in np.array_split(wanted, min(tasks, len(wanted) or 1))
        ]
        found = [row for (rows,) in (spread("distances", chunks) if wanted else []) for row in rows]
        for row in found:
            _tighten(bounds, row)
        searched.update(wanted)
        return found

    while len(sources := _open_ones(bounds, tasks)):
        found = search(sources)
        farthest = [int(row.argmax()) for row in found]
        new = [end for end in dict.fromkeys(farthest) if end not in ends]
        ends |= dict(zip(new, search(new), strict=True))
        gates = (_gateway(bounds, row, ends[end]) for row, end in zip(found, farthest, strict=True))
        search(gate for gate in gates if gate not in searched)
        for end in list(ends)[:-_ENDS_KEPT]:
            del ends[end]
        report(bounds)


def _open_ones(bounds: Bounds, count: int) -> list[int]:
    """Up to `count` open vertices: those that may be least eccentric, and those of which least is known."""
    places = np.flatnonzero(bounds.open)
    lower, upper = bounds.lower[places], bounds.upper[places]
    inner = _least(places, lower, (count + 1) // 2)
    return [*inner.tolist(), *_least(places, lower - upper, count // 2).tolist()]


def _tighten(bounds: Bounds, away: Distances) -> None:
    """By the triangle inequality, from the distances to one vertex."""
    eccentricity = away.max()
    np.maximum(bounds.lower, np.maximum(away, eccentricity - away), out=bounds.lower)
    np.minimum(bounds.upper, eccentricity + away, out=bounds.upper)


def _gateway(bounds: Bounds, away: Distances, from_end: Distances) -> int:
    """The vertex farthest on the way to `end`, by any shortest path, to which no vertex is known to be farther than it.

    `away` are the distances to a vertex, `from_end` those to its farthest one, `end`. Where the gateway reaches no
    farther than `end`, its bounds meet for all vertices whose ways to `end` pass it.
    """
    on_the_way = (away + from_end == away.max()) & (bounds.lower <= from_end)
    return int(np.where(on_the_way, away, -1).argmax())


def summed_up(bounds: Bounds, spread: MapChunks, tasks: int) -> Eccentricities:
    """What follows from bounds that meet in the periphery and in the centre, and the diametral pairs."""
    diameter, radius = int(bounds.lower.max()), int(bounds.upper.min())
    centre = np.flatnonzero(~bounds.open & (bounds.upper == radius)).astype(np.int32)
    periphery = np.flatnonzero(~bounds.open & (bounds.lower == diameter)).astype(np.int32)
    found = spread("pairs", [[part] for part in np.array_split(periphery, min(tasks, len(periphery)))])
    pairs = np.concatenate([part for (part,) in found])
    return Eccentricities(diameter, radius, centre, periphery, sorted_pairs(pairs))


def sorted_pairs(pairs: Vertices) -> Vertices:
    """Pairs in increasing order."""
    ordered: Vertices = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    return ordered


def _outermost_and_innermost(bounds: Bounds) -> tuple[np.ndarray, np.ndarray]:
    outer = np.flatnonzero(bounds.open & (bounds.upper >= bounds.lower.max()))
    inner = np.flatnonzero(bounds.open & (bounds.lower <= bounds.upper.min()))
    return outer, inner


def _chosen(bounds: Bounds, outer: np.ndarray, inner: np.ndarray, count: int) -> Vertices:
    """Up to `count` of the vertices: the most eccentric of `outer` and the least eccentric of `inner`."""
    half = max(1, count // 2)
    from_outer = _least(outer, -bounds.upper[outer], half if len(inner) else count)
    from_inner = _least(inner, bounds.lower[inner], half if len(outer) else count)
    return np.unique(np.concatenate([from_outer, from_inner])).astype(np.int32)


def _least(vertices: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    if len(vertices) <= count:
        return vertices
    return vertices[np.argpartition(values, count - 1)[:count]]
