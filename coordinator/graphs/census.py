"""The census of a whole space: every configuration, its component, and each component's exact distances.

The components are found by expanding every configuration once, in chunks, and uniting the ends of each move, not by
a search per component: in memory, or where the moves do not fit there, by passes (`coordinator.graphs.joining`). Each
step is committed; what is on disk is not computed again.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from coordinator.errors import OverBudgetError
from coordinator.graphs.building import build_graph
from coordinator.graphs.diameter import Eccentricities, Interval, by_bounds, exact_eccentricities, sorted_pairs
from coordinator.graphs.joining import Joining
from coordinator.graphs.listing import Listing
from coordinator.graphs.slabs import NOWHERE, Sizes, Slabs, component_sizes
from coordinator.graphs.wanted import ALL, DIAMETERS, wanted_of
from coordinator.layers.search import Reached
from coordinator.session.session import ComputeContext, Session
from coordinator.steps.inspection import compare_rules
from coordinator.steps.window import StoredLayer
from puzzles.keys.layout import Keys, key_at
from puzzles.keys.order import equal_rows
from storage.layers.digest import chain
from storage.layers.store import RunStore
from storage.ledger.manifest import ComponentRecord, Progress
from storage.ledger.records import pack_record
from storage.names import META, PARTIAL_KEY
from storage.results.census import (
    SLAB,
    read_labels,
    read_pairs,
    read_slab,
    recorded_components,
    stage_component,
    stage_labels,
)
from worker.graphs.searches import Graph, label_components, order_by_component, part_of
from worker.tasks import Arrays


@dataclass(frozen=True)
class Counted(Reached):
    """What a census has found: the moves between configurations, the components, and how many of them are measured.

    `start_component` is the one that holds the puzzle's start. ``None`` is not known yet.
    """

    edges: int | None = None
    components: int | None = None
    components_done: int = 0
    start_component: int | None = None


@dataclass(frozen=True)
class _Ordered:
    """The graph of the components from number `base` on, which lie in order, their vertices in the order of the keys.

    Component ``base + c`` has the vertices ``firsts[c]..firsts[c + 1] - 1``.
    """

    keys: Keys
    graph: Graph
    firsts: np.ndarray
    base: int = 0

    @property
    def components(self) -> range:
        return range(self.base, self.base + len(self.firsts) - 1)

    def bounds(self, begin: int, end: int) -> tuple[int, int]:
        """Where the vertices of components ``begin..end-1`` begin and end."""
        return int(self.firsts[begin - self.base]), int(self.firsts[end - self.base])

    def size(self, component: int) -> int:
        begin, end = self.bounds(component, component + 1)
        return end - begin

    def part(self, begin: int, end: int) -> Graph:
        """Components ``begin..end-1``."""
        return part_of(self.graph, *self.bounds(begin, end))


class Census:
    """A census of the whole space, on an open run, from its last commit on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._context = session, session.store, session.context
        self._state = self._store.state
        self._found = Counted.of(self._state)

    def run(self) -> None:
        """Count until every component is measured. Commits as it goes; raises as `explore` does."""
        if self._state.depth < 0:
            self._list()
        sample = StoredLayer(self._store, 0, self._store.layer_record(0).size).sample()
        compare_rules(self._session.puzzle, sample)
        try:
            for record, pairs in self._measured(self._graph(sample)):
                self._add(record, pairs)
        finally:
            self._state = self._session.commit_staged(self._state)
        self._state = replace(self._state, status="complete", digest=census_digest(self._store))
        self._session.tell(Progress(self._found.configurations, headline=f"{self._found.components:,} components"))
        self._commit(exhausted=True)

    def _commit(self, **found: Any) -> None:
        """Make durable what is staged, and what is found."""
        self._found = replace(self._found, **found)
        self._state = self._session.commit(replace(self._state, figures=self._found.as_dict()))

    def _list(self) -> None:
        for record in Listing(self._session).run():
            if record is None:
                self._commit()
            else:
                self._state = replace(self._state, depth=0)
                self._commit(configurations=record.size)

    # Components

    def _graph(self, sample: Keys) -> tuple[Keys, Graph] | None:
        """All configurations and their graph, if it fits in memory; in any case they are labelled then."""
        moves = len(self._session.puzzle.expand(sample).successors) / max(1, len(sample))
        found = None
        with suppress(OverBudgetError):
            self._context.budget.require("the graph", self._bytes_of(self._found.configurations, moves))
            keys = self._store.layer(0)
            found = keys, build_graph(self._context, keys, control=self._session.control)
        self._session.control.check()
        if self._found.components is None:
            if found is None:
                self._join()
            else:
                self._label(*found)
        return found

    def _bytes_of(self, configurations: int, moves: float) -> int:
        """The memory of a graph while it is built, where each configuration has so many moves."""
        return int(configurations * (2 * (self._store.layout.bytes + 2 + 4 * moves) + 8))

    def _label(self, keys: Keys, graph: Graph) -> None:
        labels, puzzle = label_components(graph).astype(np.uint32), self._session.puzzle
        stage_labels(self._store, labels)
        self._store.erase(META, PARTIAL_KEY)
        start = labels[equal_rows(keys, puzzle.keys([puzzle.start]))]
        self._commit(
            edges=len(graph.targets) // 2,
            components=int(labels.max()) + 1 if len(labels) else 0,
            start_component=int(start[0]) if len(start) else None,
        )

    def _join(self) -> None:
        joining, puzzle = Joining(self._session), self._session.puzzle
        components = joining.run()
        place = joining.slabs.places_of(puzzle.keys([puzzle.start]))
        start = None if place[0] == NOWHERE else int(joining.slabs.labels_at(place)[0])
        self._commit(edges=joining.moves // 2, components=components, start_component=start)
        joining.finish()

    # Distances

    def _measured(self, graph: tuple[Keys, Graph] | None) -> Iterator[tuple[ComponentRecord, Keys]]:
        """The records of all components that have none yet, and the diametral pairs of those that are wanted."""
        slabs = Slabs(self._store)
        sizes = component_sizes(slabs)
        wanted = wanted_of(self._store.manifest.plan.get(DIAMETERS, ALL), sizes)
        missing = set(range(len(sizes))) - set(recorded_components(self._store))
        if not missing.issubset(wanted):
            yield from self._unmeasured(slabs, sizes, missing - set(wanted))
        mine = sorted(missing.intersection(wanted))
        if graph is not None:
            groups = iter([_in_order(*graph, read_labels(self._store, self._found.configurations))])
        else:
            groups = self._groups(slabs, sizes, mine)
        for ordered in groups if mine else ():
            yield from self._measure(ordered, [component for component in mine if component in ordered.components])

    def _unmeasured(self, slabs: Slabs, sizes: Sizes, components: set[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """Records without distances, in the order of the least keys."""
        waiting = np.zeros(len(sizes), dtype=np.bool_)
        waiting[list(components)] = True
        for slab in range(len(slabs)):
            self._session.control.check()
            labels, firsts = np.unique(slabs.labels(range(slab, slab + 1)), return_index=True)
            if (new := waiting[labels]).any():
                keys = slabs.keys(range(slab, slab + 1))
                for component, first in zip(labels[new].tolist(), firsts[new].tolist(), strict=True):
                    record = ComponentRecord(
                        component, int(sizes[component]), None, None, None, None, None, key_at(keys, first)
                    )
                    yield record, np.stack([keys[:0], keys[:0]], axis=1)
                waiting[labels] = False

    def _groups(self, slabs: Slabs, sizes: Sizes, missing: list[int]) -> Iterator[_Ordered]:
        """The missing components in groups that fit in memory, each read in one pass; others may lie between them."""
        moves = 2 * (self._found.edges or 0) / max(1, self._found.configurations)
        begin = 0
        while missing := [component for component in missing if component >= begin]:
            begin = missing[0]
            needed = np.cumsum(sizes[begin : missing[-1] + 1]) * self._bytes_of(1, moves)
            # Some components have more moves than others: only `build_graph` knows the bytes of one alone.
            most = self._context.budget.memory * 3 // 4
            self._context.budget.require(
                f"component {begin} of {sizes[begin]:,} configurations", int(needed[0] * 3 // 4)
            )
            end = begin + max(1, int(np.searchsorted(needed, most, "right")))
            keys, labels = self._members(slabs, begin, end)
            graph = build_graph(self._context, keys, control=self._session.control)
            yield _in_order(keys, graph, labels, begin)
            begin = end

    def _members(self, slabs: Slabs, begin: int, end: int) -> tuple[Keys, np.ndarray]:
        """The configurations of components ``begin..end-1``, and which of these each is in."""
        keys, labels = [self._store.layout.empty(0)], [np.empty(0, dtype=np.uint32)]
        for slab in range(len(slabs)):
            self._session.control.check()
            part = range(slab, slab + 1)
            found = slabs.labels(part)
            if (mine := (found >= begin) & (found < end)).any():
                keys.append(slabs.keys(part)[mine])
                labels.append(found[mine] - np.uint32(begin))
        return np.concatenate(keys), np.concatenate(labels)

    def _measure(self, ordered: _Ordered, missing: list[int]) -> Iterator[tuple[ComponentRecord, Keys]]:
        """The records of some components, with their diametral pairs."""
        context, tuning = self._context, self._context.tuning
        large = [component for component in missing if ordered.size(component) >= tuning.searched_alone_from]
        for component in large:
            self._session.control.check()
            graph = ordered.part(component, component + 1)
            yield _record(ordered, component, measure_component(context, graph))
        batches = list(_batches(missing[len(large) :], ordered, tuning.batch_work))
        chunks = (_batch_arrays(ordered, batch) for batch in batches)
        small = sum(ordered.size(component) for component in missing[len(large) :])
        for number, result in context.map_chunks("eccentricities", chunks, small):
            self._session.control.check()
            yield from _batch_records(ordered, batches[number], *result)

    def _add(self, record: ComponentRecord, pairs: Keys) -> None:
        stage_component(self._store, record, pairs)
        found = self._found = replace(self._found, components_done=self._found.components_done + 1)
        self._state = replace(self._state, figures=found.as_dict())
        self._session.tell(Progress(found.components_done, found.components, "components", work=found.configurations))
        if self._session.commit_is_due:
            self._commit()


def census_digest(store: RunStore) -> str:
    """The digest of a finished census: of all keys, their labels, every component's record and pairs."""
    keys = store.layer_record(0)
    labels = (read_slab(store, slab).astype(">u4").tobytes() for slab in range(-(-keys.size // SLAB)))
    components = (
        part
        for component, record in recorded_components(store).items()
        for part in (pack_record(record.as_dict()), store.layout.big_endian(read_pairs(store, component)))
    )
    return chain([keys.digest, labels, *components])


def measure_component(context: ComputeContext, graph: Graph) -> Eccentricities:
    """Exact distances of a connected graph, its searches sent to the executor where it is large enough."""
    size = len(graph.offsets) - 1
    tasks = context.executor.workers if context.budget.distributes(size) else 1

    def run(task: str, chunks: Iterable[Arrays]) -> list[list[np.ndarray]]:
        return [result for _, result in context.map_chunks(task, chunks, size, graph)]

    return exact_eccentricities(graph, run, tasks)


def bound_component(
    context: ComputeContext, graph: Graph, keys: Keys, known: Interval | None, report: Callable[[Interval], None]
) -> Interval:
    """The exact diameter alone of a connected graph that is too large for more."""
    size = len(keys)

    def run(task: str, chunks: Iterable[Arrays]) -> list[list[np.ndarray]]:
        return [result for _, result in sorted(context.map_chunks(task, chunks, size, graph), key=itemgetter(0))]

    return by_bounds(graph, keys, run, context.executor.workers, known, report)


def _in_order(keys: Keys, graph: Graph, labels: np.ndarray, base: int = 0) -> _Ordered:
    order, ordered = order_by_component(graph, labels.astype(np.int32))
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return _Ordered(keys[order], ordered, firsts, base)


def _batches(components: list[int], ordered: _Ordered, most: int) -> Iterator[range]:
    """Consecutive components whose searches touch about `most` vertices together."""
    begin, work = 0, 0
    for index, component in enumerate(components):
        work += ordered.size(component) ** 2
        last = index + 1 == len(components)
        if last or work >= most or components[index + 1] != component + 1:
            yield range(components[begin], component + 1)
            begin, work = index + 1, 0


def _batch_arrays(ordered: _Ordered, batch: range) -> Arrays:
    firsts = ordered.firsts[batch.start - ordered.base : batch.stop - ordered.base]
    return [*ordered.part(batch.start, batch.stop), firsts - firsts[0]]


def _batch_records(
    ordered: _Ordered, batch: range, found: np.ndarray, pairs: np.ndarray
) -> Iterator[tuple[ComponentRecord, Keys]]:
    shift, _ = ordered.bounds(batch.start, batch.stop)
    for component in batch:
        begin, end = (place - shift for place in ordered.bounds(component, component + 1))
        own = found[begin:end]
        mine = pairs[(pairs[:, 0] >= begin) & (pairs[:, 0] < end)] - np.int32(begin)
        diameter, radius = int(own.max()), int(own.min())
        centre, periphery = np.flatnonzero(own == radius), np.flatnonzero(own == diameter)
        answer = Eccentricities(
            diameter, radius, centre.astype(np.int32), periphery.astype(np.int32), sorted_pairs(mine)
        )
        yield _record(ordered, component, answer)


def _record(ordered: _Ordered, component: int, answer: Eccentricities) -> tuple[ComponentRecord, Keys]:
    keys = ordered.keys[slice(*ordered.bounds(component, component + 1))]
    record = ComponentRecord(
        component=component,
        size=len(keys),
        diameter=answer.diameter,
        radius=answer.radius,
        centre=len(answer.centre),
        periphery=len(answer.periphery),
        pair_count=len(answer.pairs),
        representative=key_at(keys, 0),
    )
    return record, keys[answer.pairs]
