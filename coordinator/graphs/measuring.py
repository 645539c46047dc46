"""The exact distances of components: by their kinds, else large ones by their graphs, small ones in batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.diameter import Kinds, Measured, by_orbits
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.coordinator.spaces.slabs import Slabs
from hakoiri.puzzles.keys.layout import Keys, key_at
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.results.census import Labels
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.closed import Figures
from hakoiri.worker.graphs.searches import Vertices
from hakoiri.worker.tasks import Arrays

#: A list of keys while it is sorted, in copies of it.
_COPIES = 3


@dataclass(frozen=True)
class Ordered:
    """The keys of the components from number `base` on, which lie in order, those of each in their order.

    Component ``base + c`` has ``keys[firsts[c] : firsts[c + 1]]``.
    """

    keys: Keys
    firsts: np.ndarray
    base: int = 0

    @property
    def components(self) -> range:
        return range(self.base, self.base + len(self.firsts) - 1)

    def bounds(self, begin: int, end: int) -> tuple[int, int]:
        """Where the keys of components ``begin..end-1`` begin and end."""
        return int(self.firsts[begin - self.base]), int(self.firsts[end - self.base])

    def size(self, component: int) -> int:
        begin, end = self.bounds(component, component + 1)
        return end - begin

    def part(self, begin: int, end: int) -> Keys:
        """The keys of components ``begin..end-1``."""
        return self.keys[slice(*self.bounds(begin, end))]


def in_order(keys: Keys, labels: Labels, base: int) -> Ordered:
    """Increasing `keys` by their components, which `labels` numbers from 0 on; 0 is called `base`."""
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return Ordered(keys[np.argsort(labels, kind="stable")], firsts, base)


def component_keys(context: ComputeContext, run: RunStore, component: int) -> Keys:
    """The configurations of a component of a finished run, in order; `UnanswerableError` if there is none."""
    count = sum(record.size for record in run.layer_records())
    context.budget.require(f"a list of {count:,} configurations", _COPIES * count * run.layout.bytes)
    if not kind_of(run.manifest.mode).from_start:
        keys, _ = Slabs(run).members(range(component, component + 1), context.control)
    else:
        depths = range(0 if component else run.state.depth + 1)
        keys = sort_keys(np.concatenate([run.layout.empty(0), *chain.from_iterable(map(run.blocks, depths))]))
    if not len(keys):
        raise UnanswerableError(f"run {run.manifest.run} has no component {component}")
    return keys


def measured_component(
    context: ComputeContext, run: RunStore, component: int, kinds: Kinds | None, every: bool = False
) -> Measured:
    """The exact distances of a component of a finished run: of its `kinds`, else by its graph in memory."""
    if kinds:
        return by_orbits(context, run, kinds)
    return measured_in_keys(context, component_keys(context, run, component), every)


def measured(
    context: ComputeContext, ordered: Ordered, components: list[int]
) -> Iterator[tuple[ComponentRecord, Keys]]:
    """The records of some components, the largest first, with their diametral pairs."""
    tuning = context.tuning
    large = [component for component in components if ordered.size(component) >= tuning.searched_alone_from]
    for component in large:
        context.control.check()
        keys = ordered.part(component, component + 1)
        found = measured_in_keys(context.part(part_name(component, len(keys))), keys)
        yield found.record(component, len(keys), key_at(keys, 0)), found.pairs
    small = sum(ordered.size(component) for component in components[len(large) :])
    most = context.shares.chunk_size(small, context.puzzle.most_successors, context.remote_workers)
    batches = list(_batches(components[len(large) :], ordered, tuning.batch_work, most))
    chunks = (_batch_arrays(ordered, batch) for batch in batches)
    for number, result in context.map_chunks("eccentricities", chunks, small):
        context.control.check()
        yield from _batch_records(ordered, batches[number], *result)


def part_name(component: int, size: int) -> str:
    """What progress calls a component."""
    return f"component {component} of {size:,} configurations"


def measured_in_keys(context: ComputeContext, keys: Keys, every: bool = False) -> Measured:
    """Exact distances of a component, by its graph: `every` eccentricity, or those of its ends."""
    aim = Aim.ALL if every else Aim.ENDS
    context.tell(Progress(unit="", headline="building the graph"))
    solver = EccentricitySolver(context, keys, build_graph(context, keys))
    solver.settle(aim)
    return solver.measured(every)


def _batches(components: list[int], ordered: Ordered, work: int, most: int) -> Iterator[range]:
    """Consecutive components with about `most` keys together, or whose searches touch about `work` together."""
    begin, touched, size = 0, 0, 0
    for index, component in enumerate(components):
        touched, size = touched + ordered.size(component) ** 2, size + ordered.size(component)
        last = index + 1 == len(components)
        if last or touched >= work or size >= most or components[index + 1] != component + 1:
            yield range(components[begin], component + 1)
            begin, touched, size = index + 1, 0, 0


def _batch_arrays(ordered: Ordered, batch: range) -> Arrays:
    firsts = ordered.firsts[batch.start - ordered.base : batch.stop - ordered.base]
    return [ordered.part(batch.start, batch.stop), firsts - firsts[0]]


def _batch_records(
    ordered: Ordered, batch: range, figures: Figures, pairs: Vertices
) -> Iterator[tuple[ComponentRecord, Keys]]:
    keys, firsts = _batch_arrays(ordered, batch)
    ends = np.searchsorted(pairs[:, 0], np.append(firsts, len(keys))).tolist()
    for place, (diameter, radius, centre, periphery) in enumerate(figures.tolist()):
        component, least = batch[place], key_at(keys, firsts[place])
        size, mine = ordered.size(component), pairs[ends[place] : ends[place + 1]]
        yield ComponentRecord(component, size, diameter, radius, centre, periphery, len(mine), least), keys[mine]
