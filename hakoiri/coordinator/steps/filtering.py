"""Layers filtered out of the stored layers of another run: its goals, or what leads to some of its configurations.

As large as they may be: what passes goes the way of a layer step's successors, by key range, beyond the budget to disk.
Moves backwards lead to many configurations that the run has not found. A Bloom filter takes off most of them
(`worker.layers.bloom`); each key range of what is left is compared with that range of the run.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.pace import Pace
from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.keys.layout import Keys, Layout
from hakoiri.puzzles.keys.order import difference
from hakoiri.storage.layers.bitmap import Words
from hakoiri.storage.layers.readers import Layer, LayerUnion, Source, StoredLayer, all_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.exchange.shares import Shares
from hakoiri.worker.exchange.step import between
from hakoiri.worker.layers.bloom import add, empty_filter, may_hold
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.plain import Array, Arrays
from hakoiri.worker.tasks import do_task

#: Keys put into a Bloom filter at a time.
_FILTERED = 1 << 16


class Filter(NamedTuple):
    """A task that gives those of some keys that pass, put together by range, and what it compares them with, if any.

    Where that is more than memory may hold, all keys are looked at again for each part of it.
    """

    task: str
    targets: Layer | None = None


class StoredRun(LayerUnion):
    """The configurations of a finished run, in layers."""

    _bloom: Words | None = None

    def bloom_filter(self, most_bytes: int) -> Words:
        """A Bloom filter of its keys, made once: later calls give the same."""
        if self._bloom is None:
            self._bloom = empty_filter(self.size, most_bytes)
            for layer in self.layers:
                for keys in layer.chunks(0, _FILTERED):
                    add(self._bloom, keys)
        return self._bloom

    def among(self, keys: Keys) -> Keys:
        """Those of some increasing keys that it has."""
        others = keys
        for layer in self.layers:
            others = layer.exclude_from(others)
        return difference(keys, others)


def stored_run(store: RunStore, with_goals: bool = False) -> StoredRun:
    """Return all configurations of a finished run, or those in layers with goals."""
    records = [record for record in store.layer_records() if (record.goals if with_goals else record.size)]
    return StoredRun([StoredLayer(store, record.depth, record.size) for record in records])


class FilterStep(LayerStep):
    """The making of layer `depth`: those keys of `source` that pass the `keys_filter`, less `known`."""

    _uses_bitmaps = False

    def __init__(
        self, session: Session, depth: Depth, source: Source, keys_filter: Filter, known: list[Layer], pace: Pace
    ) -> None:
        super().__init__(session, depth, source, known, pace)
        self._filter, self._part = keys_filter, max(1, self._shares.layer_bytes // self._layout.bytes)

    def _take_up(self) -> None:
        super()._take_up()
        # IMPORTANT: what an earlier session has done counts in its parts, whatever the memory is now.
        self._part = self._partial.part or self._part
        self._partial = replace(self._partial, part=self._part)

    @property
    def _wanted_ranges(self) -> int:
        # Ranges are looked at in pieces.
        return -(-self._load // self._range_keys)

    def _begin(self) -> None:
        # IMPORTANT: all keys of a piece are looked at together, unlike those of a range that is expanded.
        cost = self.cost._replace(successors=self._puzzle.most_successors + self.cost.successors)
        self._sent = self._context.farmed_chunk(self._source.size, cost)
        self._chunk = self._sent or self._shares.chunk_size(self._source.size, cost.successors, cost.seconds)
        super()._begin()

    @property
    def _range_size(self) -> int:
        return self._chunk

    @property
    def _sums(self) -> bool:
        return False

    def _successors(self, keys: Keys) -> Keys:
        passed, _ = do_task(self._filter.task, self._puzzle, [keys], [self._layout.empty(0), *self._targets(0)])
        return passed

    _inspected = _successors

    @property
    def _work_size(self) -> int:
        targets = self._filter.targets
        return self._source.size * (1 if targets is None else -(-targets.size // self._part))

    def _targets(self, part: int) -> Arrays:
        """Return the `part`-th part of the keys to compare with."""
        if self._filter.targets is None:
            return []
        held, left = [self._layout.empty(0)], self._part
        for keys in self._filter.targets.chunks(part * self._part, self._part):
            held.append(keys[:left])
            left -= len(held[-1])
            if not left:
                break
        return [np.concatenate(held)]

    def _expand_some(self, done: int) -> Iterator[int]:
        part, passed = divmod(done, self._source.size)
        given = list[_Piece]()
        self._ranges.begin_at(self._at or 0 if passed else 0)

        def keys() -> Iterator[_Piece]:
            for _, low, high in self._ranges.pieces(lambda: self._checkpoint_is_due):
                batches, unwanted = self._source.between(low, high), between(self._unwanted, low, high)
                given.append(_Piece(self._layout, batches, unwanted))
                yield given[-1]

        context, shared = self._context, [self._partition.cut_keys, *self._targets(part)]
        if self._sent:
            results = context.executor.map(self._filter.task, ([piece.keys()] for piece in keys()), shared)
        else:

            def look(piece: _Piece) -> list[Array]:
                return do_task(self._filter.task, self._puzzle, [piece.keys()], shared)

            results = context.local.each(self._filter.task, look, keys())
        for number, (found, ends) in results:
            self._ranges.take(found, ends)
            self._at = self._ranges.end
            yield given[number].size

    @property
    def _unwanted(self) -> list[Layer]:
        """Return the layers whose keys cannot pass, because only keys of the source itself can."""
        return self._known


@dataclass
class _Piece:
    """Keys of the source, in batches that are each increasing, and those of them that need not be looked at.

    `size` says how many they were, once `keys` has given them.
    """

    layout: Layout
    batches: Iterable[Keys]
    unwanted: Iterable[Keys]
    size: int = 0

    def keys(self) -> Keys:
        """Return the keys to look at, in increasing order."""
        found = np.concatenate([self.layout.empty(0), *self.batches])
        self.size = len(found)
        return reduce(difference, self.unwanted, merge([found], [])) if len(found) else found


class UnmoveStep(FilterStep):
    """The making of layer `depth`: those of `run` that lead to layer `depth` - 1, which is stored, less `known`."""

    def __init__(self, session: Session, depth: Depth, run: StoredRun, known: list[Layer], pace: Pace) -> None:
        size = session.store.layer_record(depth - 1).size
        super().__init__(session, depth, StoredLayer(session.store, depth - 1, size), Filter("before"), known, pace)
        self._run = self._within = run
        # No keys are compared with a part of others.
        self._part = 0

    def _targets(self, part: int) -> Arrays:
        return [run_filter(self._run, self._shares)]

    @property
    def _unwanted(self) -> list[Layer]:
        return []


def run_filter(run: StoredRun, shares: Shares) -> Words:
    """Return a Bloom filter of the run, which drops most keys that are not in it before they are sorted."""
    return run.bloom_filter(shares.free // 4)


def small_step_back(puzzle: Reversible, current: Layer, run: StoredRun, known: list[Layer], shares: Shares) -> Keys:
    """The same at once, and here; `current` is the layer before."""
    before = puzzle.unmove(all_keys(current)).successors
    keys = merge([before[may_hold(run_filter(run, shares), before)]], [])
    for layer in known:
        keys = layer.exclude_from(keys)
    return run.among(keys)
