"""The exact distances of components whose graph is in memory: large ones one by one, small ones in batches."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from coordinator.graphs.diameter import Measured
from coordinator.graphs.eccentricities import Settling, sorted_pairs
from coordinator.session.session import ComputeContext, Control
from puzzles.keys.layout import Keys, key_at
from storage.ledger.manifest import ComponentRecord
from worker.graphs.bounds import Aim
from worker.graphs.searches import Graph, order_by_component, part_of
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
        keys = ordered.keys[slice(*ordered.bounds(component, component + 1))]
        found = measured_in_keys(context, keys, ordered.part(component, component + 1))
        yield found.record(component, len(keys), key_at(keys, 0)), found.pairs
    batches = list(_batches(components[len(large) :], ordered, tuning.batch_work))
    chunks = (_batch_arrays(ordered, batch) for batch in batches)
    small = sum(ordered.size(component) for component in components[len(large) :])
    for number, result in context.map_chunks("eccentricities", chunks, small):
        control.check()
        yield from _batch_records(ordered, batches[number], *result)


def measured_in_keys(context: ComputeContext, keys: Keys, graph: Graph, every: bool = False) -> Measured:
    """Exact distances of a connected graph, vertex v being ``keys[v]``; `every` eccentricity, or those of its ends."""
    settling = Settling(context, keys, graph)
    settling.settle(Aim.ALL if every else Aim.ENDS)
    return settling.measured(every)


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
        own, keys = found[begin:end], ordered.keys[slice(*ordered.bounds(component, component + 1))]
        mine = sorted_pairs(pairs[(pairs[:, 0] >= begin) & (pairs[:, 0] < end)] - np.int32(begin))
        diameter, radius = int(own.max()), int(own.min())
        centre, periphery = int((own == radius).sum()), int((own == diameter).sum())
        least = key_at(keys, 0)
        yield ComponentRecord(component, len(keys), diameter, radius, centre, periphery, len(mine), least), keys[mine]
