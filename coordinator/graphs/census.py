"""The census of a whole space: every configuration, its component, and each component's exact distances.

The components are found by expanding every configuration once, in chunks, and uniting the ends of each move, not by
a search per component. Each step is committed; what is on disk is not computed again.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np

from coordinator.errors import ContradictionError
from coordinator.graphs.building import build_graph
from coordinator.graphs.diameter import Eccentricities, Interval, by_bounds, exact_eccentricities, sorted_pairs
from coordinator.layers.search import Reached
from coordinator.session.session import ComputeContext, Session
from coordinator.steps.inspection import compare_rules
from puzzles.keys.layout import Keys, key_at
from puzzles.keys.order import equal_rows, is_increasing
from storage.layers.digest import chain
from storage.layers.store import RunStore
from storage.ledger.manifest import ComponentRecord, Progress
from storage.ledger.records import pack_record
from storage.results.census import read_labels, read_pairs, recorded_components, stage_component, stage_labels
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
    """The graph in component order: component c has the vertices ``firsts[c]..firsts[c + 1] - 1``, in key order."""

    keys: Keys
    graph: Graph
    firsts: np.ndarray

    def size(self, component: int) -> int:
        return int(self.firsts[component + 1] - self.firsts[component])

    def part(self, begin: int, end: int) -> Graph:
        """Components ``begin..end-1``."""
        return part_of(self.graph, int(self.firsts[begin]), int(self.firsts[end]))


class Census:
    """A census of the whole space, on an open run, from its last commit on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store = session, session.store
        self._state = self._store.state
        self._found = Counted.of(self._state)

    def run(self) -> None:
        """Count until every component is measured. Commits as it goes; raises as `explore` does."""
        keys = self._configurations()
        compare_rules(self._session.puzzle, keys)
        graph = build_graph(self._session.context, keys, control=self._session.control)
        self._session.control.check()
        if self._found.components is None:
            self._label(keys, graph)
        ordered = _in_order(keys, graph, read_labels(self._store, len(keys)))
        try:
            for record, pairs in self._measure(ordered):
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

    def _configurations(self) -> Keys:
        if self._state.depth >= 0:
            return self._store.layer(0)
        puzzle, blocks, count = self._session.puzzle, [], 0
        for block in puzzle.configurations():
            blocks.append(block)
            count += len(block)
            self._session.tell(Progress(count))
            self._session.control.check()
        keys = np.concatenate(blocks)
        if not is_increasing(keys):
            raise ContradictionError(f"{puzzle.name} does not list its configurations in increasing order")
        self._store.put_layer(0, keys, int(np.count_nonzero(puzzle.is_goal(keys))))
        self._state = replace(self._state, depth=0)
        self._commit(configurations=len(keys))
        return keys

    def _label(self, keys: Keys, graph: Graph) -> None:
        labels, puzzle = label_components(graph).astype(np.uint32), self._session.puzzle
        stage_labels(self._store, labels)
        start = labels[equal_rows(keys, puzzle.keys([puzzle.start]))]
        self._commit(
            edges=len(graph.targets) // 2,
            components=int(labels.max()) + 1 if len(labels) else 0,
            start_component=int(start[0]) if len(start) else None,
        )

    def _measure(self, ordered: _Ordered) -> Iterator[tuple[ComponentRecord, Keys]]:
        """The records of all components that have none yet, with their diametral pairs."""
        missing = sorted(set(range(self._found.components or 0)) - set(recorded_components(self._store)))
        context, tuning = self._session.context, self._session.context.tuning
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
    parts: list[bytes | str] = [keys.digest, read_labels(store, keys.size).astype(">u4").tobytes()]
    for component, record in recorded_components(store).items():
        parts.append(pack_record(record.as_dict()))
        parts.append(store.layout.big_endian(read_pairs(store, component)))
    return chain(parts)


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


def _in_order(keys: Keys, graph: Graph, labels: np.ndarray) -> _Ordered:
    order, ordered = order_by_component(graph, labels.astype(np.int32))
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return _Ordered(keys[order], ordered, firsts)


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
    firsts = ordered.firsts[batch.start : batch.stop] - ordered.firsts[batch.start]
    return [*ordered.part(batch.start, batch.stop), firsts]


def _batch_records(
    ordered: _Ordered, batch: range, found: np.ndarray, pairs: np.ndarray
) -> Iterator[tuple[ComponentRecord, Keys]]:
    shift = int(ordered.firsts[batch.start])
    for component in batch:
        begin, end = (int(first) - shift for first in ordered.firsts[component : component + 2])
        own = found[begin:end]
        mine = pairs[(pairs[:, 0] >= begin) & (pairs[:, 0] < end)] - np.int32(begin)
        diameter, radius = int(own.max()), int(own.min())
        centre, periphery = np.flatnonzero(own == radius), np.flatnonzero(own == diameter)
        answer = Eccentricities(
            diameter, radius, centre.astype(np.int32), periphery.astype(np.int32), sorted_pairs(mine)
        )
        yield _record(ordered, component, answer)


def _record(ordered: _Ordered, component: int, answer: Eccentricities) -> tuple[ComponentRecord, Keys]:
    keys = ordered.keys[ordered.firsts[component] : ordered.firsts[component + 1]]
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
