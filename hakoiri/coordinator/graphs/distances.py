"""The choice of how distances of components are found, for API, command line, page, studies and censuses.

There are three ways:

By symmetry   A search by layers from each kind of configuration (`coordinator.graphs.symmetry`), if there are at most
              64 kinds. In a census only if not all diametral pairs can be listed: the graph gives them all.
All sources   A search from every vertex, many small components of a census in one task (`worker.graphs.searches`).
By bounds     The graph in memory, and searches until all that is wanted is known (`coordinator.graphs.eccentricities`).
              The 25,955 configurations of Hakoiri-musume's start take some 130 searches instead of 25,955.

Bounds of 60,000 configurations or more are a run of its own, which is kept and resumed (`coordinator.graphs.bounding`):
for more distances than a census stores, or for any of a search. If not every eccentricity is wanted it ends when the
bounds of the diameter meet; an interval is never returned as the diameter.

Verification uses other methods, because it trusts neither kernels nor the puzzle's symmetries.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import chain

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.graphs.eccentricities import LEAST_BYTES, EccentricitySolver, bytes_of_pair
from hakoiri.coordinator.graphs.symmetry import Kinds, by_symmetry, kinds_among
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.resources import Budget, Tuning
from hakoiri.coordinator.session.session import ComputeContext, Control
from hakoiri.errors import Hint
from hakoiri.keys.layout import Keys, key_at
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.names import COMPONENTS, number_key
from hakoiri.storage.results import Diameter, Labels, read_component, read_pairs
from hakoiri.worker.census.slabs import Slabs
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.searches import Offsets
from hakoiri.worker.transport.payload import Arrays

#: A requested component with at least this many configurations is measured by a run of its own.
RUN_FROM = 60_000


class Way(Enum):
    """The methods to verify distances: by kinds, by a search from each vertex, or from the stored ends."""

    SYMMETRY = auto()
    EACH = auto()
    ENDS = auto()


class DistancePolicy:
    """Chooses the method for the components of a run; `moves`, for a census, is the mean number per configuration."""

    def __init__(self, run: RunStore, puzzle: Puzzle, budget: Budget, moves: float | None = None) -> None:
        self._run, self._puzzle, self._budget, self._tuning = run, puzzle, budget, budget.tuning
        self._census, self._moves = moves is not None, moves or 0.0
        self._kinds: dict[int, Kinds | None] = {}

    def size(self, component: int) -> int:
        """Return the number of configurations of a component of a finished run."""
        if self._census:
            return read_component(self._run, component).size
        return sum(record.size for record in self._run.layer_records())

    def needs_run(self, component: int) -> bool:
        """Return whether a component of a finished run is to be measured by a run of its own, if one is allowed."""
        size = self.size(component)
        return size >= RUN_FROM and not (self.may_be_symmetry(size) and self.kinds(component, Control()))

    def may_be_symmetry(self, size: int) -> bool:
        """Return whether a component of this size may have few kinds; only reading all of it tells."""
        return self._knows_kinds and not (self._census and self.lists_all(size))

    @cached_property
    def _knows_kinds(self) -> bool:
        return self._puzzle.orbits(self._puzzle.keys([self._puzzle.start])) is not None

    def kinds(self, component: int, control: Control) -> Kinds | None:
        """Return the kinds of a component's configurations, if there are few."""
        if component not in self._kinds:
            blocks: Iterator[Keys] = chain.from_iterable(map(self._run.blocks, range(self._run.state.depth + 1)))
            if self._census:
                blocks = (keys for keys, _ in Slabs(self._run).parts([component], control))
            self._kinds[component] = kinds_among(self._puzzle, blocks)
        return self._kinds[component]

    def lists_all(self, size: int) -> bool:
        """Return whether the graph surely gives all pairs, before the periphery is known.

        Maps give all diametral pairs from those of a few; with kinds alone every configuration may be an end.
        """
        if size <= self._tuning.searched_alone_from:
            return True
        alone = self._knows_kinds and not self._puzzle.symmetry_maps()
        return self._lists(size, size, size * size // 2) if alone else self._fits(size)

    def _lists(self, size: int, ends: int, pairs: int) -> bool:
        """Return whether to list `pairs` by a search from each end: it must fit in memory and take seconds."""
        return size * ends <= self._tuning.most_steps and self._fits(size, pairs)

    def _fits(self, size: int, pairs: int = 0) -> bool:
        """Return whether the memory suffices to measure a component of this size and to list `pairs`."""
        return self.bytes_of(size) + pairs * bytes_of_pair(self._puzzle.layout) <= self._budget.memory

    def bytes_of(self, size: int) -> float:
        """Return the least memory to measure a component of this size by its graph; the graph needs no more."""
        measuring = size * (self._puzzle.layout.bytes + LEAST_BYTES + 2 * (8 + 4 * self._moves))
        return max(measuring, self.graph_bytes(size))

    def graph_bytes(self, size: int) -> float:
        """Return the memory to build the graph of a component of this size."""
        return size * (2 * (self._puzzle.layout.bytes + 2 + 4 * self._moves) + 8)

    def by_symmetry(self, context: ComputeContext, component: int, size: int) -> Diameter | None:
        """Return the distances of a component by its kinds; ``None`` if they come from the graph."""
        kinds = self.kinds(component, context.control) if self.may_be_symmetry(size) else None
        found = by_symmetry(context, self._run, component, kinds) if kinds else None
        if found is None or not self._census:
            return found
        return None if self._lists(size, found.record.periphery or 0, found.record.pair_count or 0) else found

    def measure(self, context: ComputeContext, component: int, every: bool = False) -> Diameter:
        """Return the exact distances of a component of a finished run, computed in this process."""
        found = self.by_symmetry(context, component, self.size(component))
        return found or measure_graph(context, component_keys(context, self._run, component), component, every)

    def way_to_verify(self, record: ComponentRecord, full: bool, fits: bool) -> Way:
        """Return the method for a component of a census; `fits`: its reference moves fit the memory.

        If only some pairs are stored, it was measured by symmetry.
        """
        size, listed = record.size, record.pair_count == len(read_pairs(self._run, record.component))
        if full:
            steps = size * size * (1 + self._moves)
            return Way.SYMMETRY if steps > self._tuning.most_steps_verified else Way.EACH
        if not listed and (not fits or size > self._tuning.most_derived):
            return Way.SYMMETRY
        return Way.EACH if size <= self._tuning.searched_alone_from else Way.ENDS


def component_keys(context: ComputeContext, run: RunStore, component: int) -> Keys:
    """Return the configurations of a component of a finished run, in order; `UnanswerableError` if it has none."""
    keys = run.layout.empty(0)
    if kind_of(run.manifest.kind).from_start:
        keys = keys if component else run_keys(context, run)
    elif run.names(COMPONENTS, number_key(component)):
        size = read_component(run, component).size
        context.budget.require(f"a list of {size:,} configurations", 2 * size * run.layout.bytes)
        keys, _ = Slabs(run).members([component], context.control)
    if not len(keys):
        hint = Hint("ask", run.manifest.run, "components")
        raise UnanswerableError(f"run {run.manifest.run} has no component {component}", hint)
    return keys


def measure_graph(context: ComputeContext, keys: Keys, component: int = 0, every: bool = False) -> Diameter:
    """Return the exact distances of a component by its graph in memory: `every` eccentricity, or the ends'."""
    aim = Aim.ALL if every else Aim.ENDS
    context.tell(Progress(unit="", headline="building the graph"))
    solver = EccentricitySolver(context, keys, build_graph(context, keys))
    solver.settle(aim)
    return solver.found(component, aim)


def part_name(component: int, size: int) -> str:
    """Return the name of a component in progress messages."""
    return f"component {component} of {size:,} configurations"


@dataclass(frozen=True)
class Ordered:
    """The keys of the components from number `base` on, in order, and within each component in order.

    Component ``base + c`` has ``keys[firsts[c] : firsts[c + 1]]``.
    """

    keys: Keys
    firsts: Offsets
    base: int = 0

    def size(self, component: int) -> int:
        return int(self.firsts[component + 1 - self.base] - self.firsts[component - self.base])

    def part(self, part: range) -> tuple[Keys, Offsets]:
        """Return the keys of neighbouring components, and the index at which each begins."""
        firsts = self.firsts[part.start - self.base : part.stop + 1 - self.base]
        return self.keys[firsts[0] : firsts[-1]], firsts[:-1] - firsts[0]


def in_order(keys: Keys, labels: Labels, base: int = 0) -> Ordered:
    """Return increasing `keys` grouped by their components, which `labels` numbers from 0 on, 0 being `base`."""
    firsts = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    return Ordered(keys[np.argsort(labels, kind="stable")], firsts, base)


def measure_each(context: ComputeContext, ordered: Ordered, components: list[int]) -> Iterator[Diameter]:
    """Yield the distances of components whose graphs fit in memory, the largest first."""
    least = context.tuning.searched_alone_from
    sizes = {component: ordered.size(component) for component in components}
    large = [component for component in components if sizes[component] >= least]
    for component in large:
        context.control.check()
        keys, _ = ordered.part(range(component, component + 1))
        yield measure_graph(context.part(part_name(component, len(keys))), keys, component)
    small = sum(sizes[component] for component in components[len(large) :])
    plan = context.farm.plan_of(small)
    parts = list(batches(components[len(large) :], sizes, context.tuning, plan.chunk))
    chunks: Iterator[Arrays] = ([*ordered.part(part)] for part in parts)
    for number, result in context.farm.map(plan, "eccentricities", chunks):
        context.control.check()
        figures, pairs = result
        keys, firsts = ordered.part(parts[number])
        ends = np.searchsorted(pairs[:, 0], np.append(firsts, len(keys))).tolist()
        for place, (diameter, radius, centre, periphery) in enumerate(figures.tolist()):
            component, mine = parts[number][place], pairs[ends[place] : ends[place + 1]]
            size, least = ordered.size(component), key_at(keys, firsts[place])
            record = ComponentRecord(component, size, diameter, radius, centre, periphery, len(mine), least)
            yield Diameter(record, keys[mine])


def batches(
    components: Iterable[int], sizes: Mapping[int, int] | Offsets, tuning: Tuning, most: int | None = None
) -> Iterator[range]:
    """Yield consecutive components per task: about `most` vertices together, or enough work.

    A large component is a task of its own.
    """
    numbers = list(components)
    begin, work, size = 0, 0, 0
    for index, number in enumerate(numbers):
        large = sizes[number] >= tuning.searched_alone_from
        work, size = work + (tuning.batch_work if large else int(sizes[number]) ** 2), size + int(sizes[number])
        full = work >= tuning.batch_work or (most is not None and size >= most)
        if full or numbers[index + 1 : index + 2] != [number + 1]:
            yield range(numbers[begin], number + 1)
            begin, work, size = index + 1, 0, 0
