"""A layer that is sifted out of the stored layers of another run: its goals, or what leads to some configurations.

As large as it may be: what passes goes the way of a layer step's successors, into buckets, beyond the budget to disk,
and is merged range by range.
"""

import time
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.buckets import Buckets
from hakoiri.coordinator.steps.pace import Pace
from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.coordinator.steps.window import Layer, StoredLayer, Unread
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.bitmap import Words
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.layers.bloom import add, empty_filter
from hakoiri.worker.layers.kernels import difference
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.tasks import Arrays, do_task

#: Keys by which it is judged what passes, at most.
_SAMPLED = 1 << 14
#: Keys put into a filter at a time.
_FILTERED = 1 << 16


class Sieve(NamedTuple):
    """A task that gives those of some keys that pass, scattered over ranges, and what it compares them with, if any.

    Where that is more than memory may hold, everything is sifted again for each part of it.
    """

    task: str
    targets: Layer | None = None


class StoredRun:
    """The configurations of a finished run, layer by layer, some times over; a batch does not reach beyond its layer.

    Attributes: `count`, how many there are; `size`, that number as many times.
    """

    def __init__(self, layers: list[StoredLayer]) -> None:
        self._layers = layers
        self._filter: Words | None = None
        self.count = self.size = sum(layer.size for layer in layers)

    def again(self, times: int) -> "StoredRun":
        """The same, so many times over."""
        other = copy(self)
        other.size = times * self.count
        return other

    def unread(self, begin: int, size: int) -> Iterator[Unread]:
        """The keys from the one numbered `begin` on, up to the end of this time."""
        begin %= self.count
        for layer in self._layers:
            if begin < layer.size:
                yield from layer.unread(begin, size)
            begin = max(0, begin - layer.size)

    def sample(self) -> Keys:
        """Some keys of each layer."""
        return self._sample

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        """The keys with low <= key < high, increasing within each batch.

        Read layer by layer as they are taken, by whatever thread: there may be many layers, and nobody writes to them.
        """
        return chain.from_iterable(layer.between(low, high) for layer in self._layers)

    def filter(self, most_bytes: int) -> Words:
        """A filter of its keys (`worker.layers.bloom`), made once: later calls give the same."""
        if self._filter is None:
            self._filter = empty_filter(self.count, most_bytes)
            for layer in self._layers:
                for keys in layer.chunks(0, _FILTERED):
                    add(self._filter, keys)
        return self._filter

    def among(self, keys: Keys) -> Keys:
        """Those of some increasing keys that it has."""
        others = keys
        for layer in self._layers:
            others = layer.exclude_from(others)
        return difference(keys, others)

    @cached_property
    def _sample(self) -> Keys:
        found = np.concatenate([layer.sample() for layer in self._layers])
        return found[:: -(-len(found) // _SAMPLED)]


def stored_run(store: RunStore) -> StoredRun:
    """All configurations of a finished run."""
    return _of_layers(store, store.layer_records())


def layers_with_goals(store: RunStore) -> StoredRun:
    """Those of its layers that hold goals."""
    return _of_layers(store, [record for record in store.layer_records() if record.goals])


def _of_layers(store: RunStore, records: list[LayerRecord]) -> StoredRun:
    return StoredRun([StoredLayer(store, record.depth, record.size) for record in records if record.size])


class SiftingStep(LayerStep):
    """The making of layer `depth`: those configurations of `run` that pass the `sieve`, less `known`."""

    _current: StoredRun

    def __init__(
        self, session: Session, depth: Depth, run: StoredRun, sieve: Sieve, known: list[Layer], pace: Pace
    ) -> None:
        super().__init__(session, depth, run, known, pace)
        self._sieve, self._part = sieve, max(1, self._shares.layer_bytes // self._layout.bytes)

    def _take_up(self) -> None:
        super()._take_up()
        # IMPORTANT: the key numbers of an earlier session count in its parts, whatever the memory is now.
        self._part = self._partial.part or self._part
        self._partial = replace(self._partial, part=self._part)
        if self._sieve.targets is not None:
            self._current = self._current.again(-(-self._sieve.targets.size // self._part))

    @property
    def _sums(self) -> bool:
        return False

    @property
    def _moves(self) -> float:
        """How many moves of a key are in memory while it is sifted."""
        return self._puzzle.most_successors

    def _begin(self) -> None:
        self._buckets = Buckets(self._partition, self._layout, self._spill, self._partial.merged)

    def _look(self) -> None:
        """Time a sample, and sort what passes of it."""
        sample, table = self._current.sample(), partition_by(self._layout.pack([0]), 1).table
        began = time.perf_counter()
        passed, _ = do_task(self._sieve.task, self._puzzle, [sample], [table, *self._targets(0)])
        self._seconds_each = (time.perf_counter() - began) / len(sample)
        self._branching = len(passed) / len(sample)
        self._successors = sort_keys(passed)

    def _targets(self, begin: int) -> Arrays:
        """What the keys from number `begin` on are compared with."""
        if self._sieve.targets is None:
            return []
        part = begin // self._current.count * self._part
        held, left = [self._layout.empty(0)], self._part
        for keys in self._sieve.targets.chunks(part, self._part):
            held.append(keys[:left])
            left -= len(held[-1])
            if not left:
                break
        return [np.concatenate(held)]

    def _expand_some(self, begin: int) -> Iterator[int]:
        """Sift from key number `begin` on, until all are, or those of one time, or a checkpoint is due."""
        sizes: dict[int, int] = {}
        context = self._context
        size = self._shares.chunk_size(self._current.count, self._moves, context.remote_workers, self._seconds_each)

        def chunks() -> Iterator[Arrays]:
            held: list[Keys] = []
            taken = 0
            for unread in self._current.unread(begin, size):
                held.append(self._unknown(unread.keys()))
                taken += unread.size
                if sum(map(len, held)) > size // 2 or self._checkpoint_is_due:
                    sizes[len(sizes)] = taken
                    yield [np.concatenate(held)]
                    held, taken = [], 0
                    if self._checkpoint_is_due:
                        return
            if taken:
                sizes[len(sizes)] = taken
                yield [np.concatenate(held)]

        shared = [self._partition.table, *self._targets(begin)]
        for number, (keys, ends) in context.map_chunks(self._sieve.task, chunks(), self._current.count, shared):
            self._buckets.add_scattered(keys, ends)
            if self._buckets.held_bytes > self._shares.bucket_bytes:
                self._spill_all()
            yield sizes[number]

    def _unknown(self, keys: Keys) -> Keys:
        """Those of some increasing keys that no known layer holds."""
        low, high = key_at(keys, 0), key_at(keys, -1) + 1
        for layer in self._known:
            for others in layer.between(low, high):
                keys = difference(keys, others)
        return keys
