"""Exact eccentricities of a component whose graph is in memory (`worker.graphs.bounds`), searched on any executor."""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.graphs.symmetry import MOST_PAIRS, first_alike, images_of
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.keys.layout import Keys, Layout, key_at
from hakoiri.keys.order import distinct
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.results import Diameter
from hakoiri.worker.graphs.bounds import Aim, Bounds, an_end, least_alike
from hakoiri.worker.graphs.lanes import LANES, WORD, Searched, SearchResults, narrowed
from hakoiri.worker.graphs.searches import Distances, Graph, Vertices, by_sides, renumbered, search_order
from hakoiri.worker.transport.payload import Array

#: Bytes of a vertex besides keys and graph: bounds, orders, and temporary copies.
_BYTES = 80
#: The same for each search in progress, and for each 64 of its sources.
_BYTES_OF_TASK, _BYTES_OF_WORD = 16, 24
#: The least bytes of a vertex besides its key and two graphs.
LEAST_BYTES = _BYTES + _BYTES_OF_TASK + _BYTES_OF_WORD

#: Bytes of a listed pair besides its keys, and the number of copies of these while it is stored.
_BYTES_OF_PAIR, _COPIES_OF_PAIR = 24, 4

#: The number of configurations compared with others of their orbit.
_COMPARED = 8

#: Pairs of vertices, each as one number: the first in the high 32 bits.
_Numbers = NDArray[np.int64]


class EccentricitySolver:
    """Bounds of the eccentricities of a connected graph, vertex v being ``keys[v]``.

    Searches go to the executor if the graph is large enough. Raises `OverBudgetError` if the memory is too small.
    """

    def __init__(self, context: ComputeContext, keys: Keys, graph: Graph) -> None:
        self._context, self.keys, self._size = context, keys, len(keys)
        #: The number of searches at the same time, and of vertices that each begins from.
        self._farm, self._plan = context.farm, context.farm.plan_of(len(keys), rules=False)
        budget, tasks = context.budget, self._plan.takers
        images = len(context.puzzle.symmetry_maps())
        held = keys.nbytes + 2 * sum(part.nbytes for part in graph) + (_BYTES + 4 * images) * self._size
        plans = [(tasks, LANES), (tasks, WORD), (1, WORD)]
        self._held = held
        needs = [held + n * self._size * (_BYTES_OF_TASK + _BYTES_OF_WORD * lanes // WORD) for n, lanes in plans]
        budget.require(f"the eccentricities of {self._size:,} configurations", needs[-1])
        self.plan = next(plan for plan, needed in zip(plans, needs, strict=True) if needed <= budget.memory)
        # Near vertices are near in memory, too: a search of 447,904 takes 8 instead of 20 ms.
        self._order, evens = by_sides(graph, search_order(graph))
        graph, self._images = renumbered(graph, images_of(context.puzzle, keys, graph), self._order)
        orbits = None if self._images else context.puzzle.orbits(keys)
        self._says_alike = orbits is not None
        if orbits is None:
            first = least_alike(self._size, self._images)
        else:
            first = first_alike(context.puzzle, graph, orbits[self._order])
        self._bounds = Bounds(graph, first, evens)

    def _places(self, vertices: Vertices) -> Vertices:
        """Return the numbers in the graph of vertices numbered in the order of the keys."""
        places = np.empty(self._size, dtype=np.int32)
        places[self._order] = np.arange(self._size, dtype=np.int32)
        return places[vertices]

    def settle(self, aim: Aim, report: Callable[[], None] | None = None) -> None:
        """Search until everything in `aim` is proved.

        `report` is called after every few searches, and may raise; by default it reports progress. Raises `StopRun`,
        and `ContradictionError` if the puzzle's orbits are impossible.
        """
        self._bounds.settle(aim, self._look, *self.plan, report or (lambda: self._context.tell(self.progress(aim))))
        alike = np.flatnonzero(self._bounds.first != np.arange(self._size))
        if not self._says_alike or not len(alike):
            return
        # From a few vertices that were not searched from because of their orbits.
        some = self._order[np.random.default_rng(0).permutation(alike)[:_COMPARED]]
        exact, (lower, upper) = self.exact(some), self.bounds()
        if ((exact < lower[some]) | (exact > upper[some])).any():
            raise ContradictionError(f"{self._context.puzzle.name} declares configurations as equivalent that are not")

    def _look(self, chunks: list[Vertices], searched: Searched) -> list[SearchResults]:
        known = [np.packbits(searched), np.array([self._bounds.evens])]
        asked = ([chunk, *known] for chunk in chunks)
        found = self._farm.map(self._plan, "look", asked, self._bounds.graph)
        return [SearchResults(*arrays) for _, arrays in sorted(found, key=itemgetter(0))]

    def progress(self, aim: Aim) -> Progress:
        """Return the number of known eccentricities if all are wanted, and the diameter's bounds."""
        lower, upper = self.bounds()
        told = interval_progress(int(lower.max()), int(upper.max()))
        if aim is not Aim.ALL:
            return told
        headline = f"{told.headline}, the radius in [{lower.min():,}, {upper.min():,}]"
        return Progress(int(np.count_nonzero(lower == upper)), self._size, "eccentricities", headline)

    def bounds(self) -> tuple[Distances, Distances]:
        """Return lower and upper bounds in the order of the keys, in moves."""
        found = np.empty((2, self._size), dtype=np.int32)
        found[:, self._order] = self._bounds.of_all()
        return found[0], found[1]

    def arrays(self) -> dict[str, Array]:
        """Return everything proved, in the order of the keys, in the narrowest dtypes."""
        searched = np.empty(self._size, dtype=np.bool_)
        searched[self._order] = self._bounds.searched
        lower, upper = map(narrowed, self.bounds())
        return {"lower": lower, "upper": upper, "searched": np.packbits(searched)}

    def go_on(self, arrays: Mapping[str, Array]) -> None:
        """Resume from earlier `arrays`, if there are any."""
        if arrays:
            self._bounds.lower[:], self._bounds.beyond[:] = arrays["lower"][self._order], arrays["upper"][self._order]
            searched = np.unpackbits(arrays["searched"], count=self._size)[self._order].astype(np.bool_)
            # The orbits may be larger than at that time: an orbit is searched completely or not at all.
            first = self._bounds.first
            self._bounds.searched[:] = ~np.isin(first, first[~searched])

    def found(self, component: int, aim: Aim) -> Diameter:
        """Return the distances of `component` once `aim` is settled, with all pairs; for a diameter one."""
        lower, upper = self.bounds()
        size, diameter, least = self._size, int(lower.max()), key_at(self.keys, 0)
        if aim is Aim.DIAMETER:
            pair = np.sort(self._order[list(an_end(self._bounds))])
            record = ComponentRecord(component, size, diameter, None, None, None, None, least)
            return Diameter(record, self.keys[pair[None]])
        radius, pairs = int(upper.min()), self._pairs(diameter)
        centre = np.flatnonzero((lower == upper) & (upper == radius))
        periphery = int(((lower == upper) & (lower == diameter)).sum())
        record = ComponentRecord(component, size, diameter, radius, len(centre), periphery, len(pairs), least)
        counts = histogram(lower) if aim is Aim.ALL else None
        return Diameter(record, self.keys[pairs], self.keys[centre[:MOST_PAIRS]], counts)

    def _pairs(self, diameter: int) -> Vertices:
        """Return all pairs at the diameter: those of one vertex per orbit, and their images if known."""
        lower, _ = self._bounds.of_all()
        sources = self._bounds.outermost() if self._images else np.flatnonzero(lower == diameter).astype(np.int32)
        found = self._far(sources, diameter)
        if self._images:
            # All images of these pairs, these included, each once.
            found = new = distinct(_renamed(found, np.arange(self._size)))
            while len(new):
                moved = distinct(np.concatenate([_renamed(new, image) for image in self._images]))
                new = moved[~np.isin(moved, found, assume_unique=True)]
                found = np.concatenate([found, new])
        return self._in_order(found)

    def _far(self, sources: Vertices, distance: int) -> _Numbers:
        """Return all pairs of a source and a vertex at `distance`, its greatest, in search order, each once."""
        chosen = np.zeros(self._size, dtype=np.bool_)
        chosen[sources] = True
        parts = self._cut(sources)
        chunks = ([part, np.array([distance])] for part in parts)
        found, count, searched = [np.empty(0, dtype=np.int64)], 0, 0
        each = bytes_of_pair(self._context.puzzle.layout)
        for number, (part,) in self._farm.map(self._plan, "pairs", chunks, self._bounds.graph):
            # A pair of two sources is seen from both.
            new = part[~chosen[part[:, 1]] | (part[:, 0] < part[:, 1])]
            found.append(_numbers(new[:, 0], new[:, 1]))
            count, searched = count + len(new), searched + len(parts[number])
            self._context.budget.require(f"a list of {count:,} diametral pairs or more", self._held + each * count)
            self._context.tell(Progress(searched, len(sources), headline="listing diametral pairs"))
        return np.concatenate(found)

    def _cut(self, sources: Vertices) -> list[Vertices]:
        return np.array_split(sources, -(-len(sources) // self.plan[1]))

    def _in_order(self, pairs: _Numbers) -> Vertices:
        """Return pairs in search order as sorted pairs in key order, the lesser vertex first."""
        renamed = np.sort(_renamed(pairs, self._order))
        found = np.empty((len(renamed), 2), dtype=np.int32)
        found[:, 0], found[:, 1] = renamed >> 32, renamed & 0xFFFFFFFF
        return found

    def pairs_from(self, vertices: Vertices, distance: int) -> Vertices:
        """Return all pairs at `distance` with one of `vertices`, whose eccentricity is not greater."""
        return self._in_order(self._far(self._places(vertices), distance))

    def exact(self, vertices: Vertices) -> Distances:
        """Return the eccentricities of some vertices, by a search from each."""
        looked = self._look(self._cut(self._places(vertices)), np.zeros(self._size, dtype=np.bool_))
        return np.concatenate([each.eccentricities for each in looked])


def interval_progress(lower: int, upper: int) -> Progress:
    """Return the progress that the diameter is in [lower, upper]."""
    return Progress(unit="", headline=f"the diameter is between {lower:,} and {upper:,}")


def bytes_of_pair(layout: Layout) -> int:
    """Return the memory of a diametral pair while all are listed and stored."""
    return _BYTES_OF_PAIR + 2 * _COPIES_OF_PAIR * layout.bytes


def histogram(eccentricities: Array) -> dict[int, int]:
    """Return the number of eccentricities with each value, in increasing order."""
    values, counts = np.unique(eccentricities, return_counts=True)
    return dict(zip(values.tolist(), counts.tolist(), strict=True))


def open_intervals(lower: Distances, upper: Distances) -> list[tuple[int, int, int]]:
    """Return (lower, upper, number of unknown eccentricities), bounds included, the widest first."""
    unsettled = lower < upper
    bounds = lower[unsettled].astype(np.int64) << 32 | upper[unsettled]
    intervals, counts = (found.tolist() for found in np.unique(bounds, return_counts=True))
    found = [(both >> 32, both & 0xFFFFFFFF, count) for both, count in zip(intervals, counts, strict=True)]
    return sorted(found, key=lambda each: each[0] - each[1])


def _renamed(pairs: _Numbers, names: NDArray[Any]) -> _Numbers:
    """Return the pairs with ``names[v]`` instead of v, the lesser first."""
    one, other = names[pairs >> 32], names[pairs & 0xFFFFFFFF]
    return _numbers(np.minimum(one, other), np.maximum(one, other))


def _numbers(one: NDArray[Any], other: NDArray[Any]) -> _Numbers:
    return np.asarray(one.astype(np.int64) << 32 | other)
