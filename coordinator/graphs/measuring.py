"""The exact distances of components whose graph is in memory: large ones one by one, small ones in batches."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from coordinator.graphs.diameter import Interval, MapChunks, by_bounds
from coordinator.graphs.eccentricities import (
    Bounds,
    Eccentricities,
    exact_eccentricities,
    settle_all,
    sorted_pairs,
    summed_up,
)
from coordinator.session.session import ComputeContext, Control
from puzzles.keys.layout import Keys, key_at
from storage.ledger.manifest import ComponentRecord
from worker.graphs.searches import Graph, inner_graph, order_by_component, part_of, search_order
from worker.tasks import Arrays


@dataclass(frozen=True)
class Ordered:
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


def in_order(keys: Keys, graph: Graph, labels: np.ndarray, base: int = 0) -> Ordered:
    """The graph of `keys` by their components, which `labels` numbers from 0 on."""
    order, ordered = order_by_component(graph, labels.astype(np.int32))
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return Ordered(keys[order], ordered, firsts, base)


def measured(
    context: ComputeContext, control: Control, ordered: Ordered, components: list[int]
) -> Iterator[tuple[ComponentRecord, Keys]]:
    """The records of some components, the largest first, with their diametral pairs."""
    tuning = context.tuning
    large = [component for component in components if ordered.size(component) >= tuning.searched_alone_from]
    for component in large:
        control.check()
        yield _record(ordered, component, measure_component(context, ordered.part(component, component + 1)))
    batches = list(_batches(components[len(large) :], ordered, tuning.batch_work))
    chunks = (_batch_arrays(ordered, batch) for batch in batches)
    small = sum(ordered.size(component) for component in components[len(large) :])
    for number, result in context.map_chunks("eccentricities", chunks, small):
        control.check()
        yield from _batch_records(ordered, batches[number], *result)


def measure_component(context: ComputeContext, graph: Graph) -> Eccentricities:
    """Exact distances of a connected graph, its searches sent to the executor where it is large enough."""
    return exact_eccentricities(graph, *_executed(context, graph))


def settle_component(
    context: ComputeContext, graph: Graph, bounds: Bounds, report: Callable[[], None]
) -> Eccentricities:
    """Exact eccentricities of all vertices of a connected graph, which `bounds` has in the end.

    `bounds` are narrowed as searches end; `report` is called after each few and may raise.
    """
    # Vertices that are near each other lie near each other in memory: 8 instead of 20 ms for a search of 447,904.
    order = search_order(graph)
    near = inner_graph(graph, np.zeros(len(order), dtype=np.int32), order)

    def moved(found: Bounds) -> None:
        bounds.lower[order], bounds.upper[order] = found
        report()

    settle_all(Bounds(bounds.lower[order], bounds.upper[order]), *_executed(context, near), moved)
    return summed_up(bounds, *_executed(context, graph))


def _executed(context: ComputeContext, graph: Graph) -> tuple[MapChunks, int]:
    """How tasks are run on a graph, and how many at a time."""
    size = len(graph.offsets) - 1
    tasks = context.executor.workers if context.budget.distributes(size) else 1

    def run(task: str, chunks: Iterable[Arrays]) -> list[list[np.ndarray]]:
        return [result for _, result in sorted(context.map_chunks(task, chunks, size, graph), key=itemgetter(0))]

    return run, tasks


def bound_component(
    context: ComputeContext, graph: Graph, keys: Keys, known: Interval | None, report: Callable[[Interval], None]
) -> Interval:
    """The exact diameter alone of a connected graph that is too large for more."""
    return by_bounds(graph, keys, *_executed(context, graph), known, report)


def _batches(components: list[int], ordered: Ordered, most: int) -> Iterator[range]:
    """Consecutive components whose searches touch about `most` vertices together."""
    begin, work = 0, 0
    for index, component in enumerate(components):
        work += ordered.size(component) ** 2
        last = index + 1 == len(components)
        if last or work >= most or components[index + 1] != component + 1:
            yield range(components[begin], component + 1)
            begin, work = index + 1, 0


def _batch_arrays(ordered: Ordered, batch: range) -> Arrays:
    firsts = ordered.firsts[batch.start - ordered.base : batch.stop - ordered.base]
    return [*ordered.part(batch.start, batch.stop), firsts - firsts[0]]


def _batch_records(
    ordered: Ordered, batch: range, found: np.ndarray, pairs: np.ndarray
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


def _record(ordered: Ordered, component: int, answer: Eccentricities) -> tuple[ComponentRecord, Keys]:
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
