"""The layers of one host's part of a run, as a step reads them: the keys to expand and the known keys."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.readers import HeldLayer, Layer, Source, StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import CLOSED, CLOSED_KEY, META
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.exchange.partial import PARTS, RoundMark
from hakoiri.worker.exchange.pool import CallingThread, ThreadPool
from hakoiri.worker.exchange.shares import MERGED_AT_ONCE, Shares
from hakoiri.worker.exchange.step import RangeStep, SourceSample
from hakoiri.worker.hosts.base_run import BaseConfigurations, moves_within
from hakoiri.worker.hosts.wire import Link

#: Keys of a layer that are expanded to plan the step, and keys of a range for each piece in which it is cut.
SAMPLED = 2_048
#: Planning the step of a short layer expands fewer keys: one in so many, and at least so many.
_SAMPLED_OF, _LEAST_SAMPLED = 64, 256
#: Threads are used only where they save more than this: handing out 16 ranges takes two milliseconds. Without that a
#: host of one thread takes 0.9 times the processor time (sliding blocks of 200 layers).
_SHORT_SECONDS = 0.002


class PartLayers:
    """The own keys of each layer in `store`, in memory where they fit.

    Attributes: `link`, the link to other hosts as the last round has shown it; `within`, for goal distances, the
    configurations that have one.
    """

    def __init__(self, store: RunStore, puzzle: Puzzle, threads: ThreadPool, shares: Shares) -> None:
        self.store, self.shares = store, shares
        self._puzzle, self._threads = puzzle, threads
        #: The layers of which all keys are in memory.
        self._held: dict[Depth, Layer] = {}
        self.link = Link()
        self.within: BaseConfigurations | None = None
        #: For a directed puzzle: the own keys of all older layers.
        self._older: ClosedSet | None = None

    def layer(self, depth: Depth) -> Layer:
        """Return the own keys of a layer."""
        return self._held.get(depth) or StoredLayer(self.store, depth, self.store.layer_record(depth).size)

    def source(self, depth: Depth) -> Source:
        """Return the own keys that are expanded for layer `depth`."""
        return self.layer(depth - 1) if depth or self.within is None else self.within

    def step_of(self, exchange: Exchange, depth: Depth) -> RangeStep:
        """Return the step that makes layer `depth` in the ranges of `exchange`; it expands a sample to plan."""
        puzzle, known = self._puzzle if self.within is None else moves_within(self._puzzle, depth), self._known(depth)
        source = self.source(depth)
        keys = source.sample() if source.size else self.store.layout.empty(0)
        wanted = min(SAMPLED, max(_LEAST_SAMPLED, source.size // _SAMPLED_OF))
        # IMPORTANT: contiguous, or numba would compile the kernels of the puzzle once more.
        keys, began = np.ascontiguousarray(keys[:: max(1, len(keys) // wanted)]), perf_counter()
        successors = sort_keys(puzzle.expand(keys).successors) if len(keys) else keys
        sample = SourceSample(keys, successors, max(perf_counter() - began, 1e-9) / max(1, len(keys)))
        size = self.shares.range_size(source.size, sample.seconds_each) // (PARTS if self.link.in_parts else 1)
        spared = source.size * sample.seconds_each * (1 - 1 / self._threads.workers)
        threads = CallingThread(self._threads.spare) if spared < _SHORT_SECONDS else self._threads
        return RangeStep(puzzle, exchange, source, known, sample, size, self.shares, threads, True)

    def finish(self, made: RoundMark, keys: list[Keys] | None) -> None:
        """Commit the own part of a layer, which is the last one then. Its `keys`, if given, stay in memory."""
        if not made.size and self._older is not None:
            # IMPORTANT: an empty layer may end the run.
            self._older.require_layers()
        self.store.stage_layer(made.finished(0, None))
        self._held = {each: layer for each, layer in self._held.items() if each >= made.depth - 1}
        if keys is not None:
            self._held[made.depth] = HeldLayer(keys)
        self.store.commit(replace(self.store.state, depth=made.depth))

    def forget(self, depth: Depth = 0) -> None:
        """Hold no keys of layer `depth` and those after it."""
        self._held = {each: layer for each, layer in self._held.items() if each < depth}

    def forget_older(self) -> None:
        """Drop the older keys of a directed puzzle, which belong to other ranges."""
        self.store.erase(CLOSED)
        self.store.erase(META, CLOSED_KEY)
        self._older = None

    def _known(self, depth: Depth) -> list[Layer]:
        """Return the own keys that layer `depth` must not have, those of the layer before it first."""
        if not depth:
            return []
        if self._puzzle.undirected:
            return [self.layer(each) for each in range(depth - 1, max(0, depth - 2) - 1, -1)]
        store = self.store
        # After a lost attempt the older keys may already contain layer `depth` - 1.
        if self._older is None or self._older.depth > depth:
            self._older = ClosedSet(store, depth - 1, self.shares, MERGED_AT_ONCE, lambda: store.commit(store.state))
        for each in range(self._older.depth, depth - 1):
            self._older.add(each, self.layer(each))
        return [self.layer(depth - 1), *self._older.layers()]
