"""A layer step by threads of this process."""

from collections.abc import Iterator
from typing import cast

import numpy as np

from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.puzzles.keys.layout import key_at
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.readers import Layer, Source
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.exchange.step import RangeStep
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.kernels import is_dense
from hakoiri.worker.layers.partition import Partition, partition_by


class LocalStep(LayerStep):
    """The making of a layer by threads."""

    #: If given, the layer has only keys that this has, too.
    _within: Source | None = None
    _uses_bitmaps = True

    def _begin(self) -> None:
        exchange = Exchange(self._partition, self._depth, self._spill, self._shares.bucket_bytes // 2)
        self._ranges = RangeStep(
            self._puzzle, exchange, self._source, self._known, self._sampled, self._range_size, self._shares,
            self._context.local,
        )  # fmt: skip
        if self._uses_bitmaps:
            self._ranges.plan_bitmaps()

    def _cut(self) -> Partition:
        """Ranges of about as many keys and successors together, for whoever merges a range expands it, too."""
        keys, successors, _ = self._sampled
        if not len(successors):
            return super()._cut()
        return partition_by(sort_keys(np.concatenate([keys, successors])), self._wanted_ranges)

    @property
    def _wanted_ranges(self) -> int:
        """So many that threads share evenly, and what each has in hand fits its share of the memory."""
        chunks, successors = -(-self._source.size // self._range_size), self._sampled.successors
        span = int(successors[-1]) - int(successors[0]) if self._layout.words == 1 else None
        if span is None or not is_dense(span, self._expected):
            return max(chunks, super()._wanted_ranges)
        room = self._shares.bucket_bytes
        if span // 8 <= room:
            return chunks
        # Else what is spilled of a range is in hand with it, a byte or so a successor, of two ranges for each thread.
        needed = 2 * self._context.local.workers * max(span // 8, self._expected)
        return max(chunks, -(-needed // room))

    @property
    def _range_size(self) -> int:
        """How many keys of the source a range should have, or a piece of it."""
        return self._shares.range_size(self._source.size, self._sampled.seconds_each)

    def _expand_some(self, done: int) -> Iterator[int]:
        # Workers may have stopped anywhere.
        if done and self._at is None:
            self._at = key_at(next(cast(Layer, self._source).chunks(done, 1)), 0)
        self._ranges.begin_at(self._at or 0)
        for made in self._ranges.expand(lambda: self._checkpoint_is_due, self._flow is not None, self._commit_before):
            self._flow, self._at = total_flow([self._flow, made.flow]), self._ranges.end
            yield made.size

    def _spill_all(self) -> None:
        self._ranges.spill()

    def _merge_all(self) -> None:
        first = self._partial.merged
        merged = self._ranges.merge(first, lambda: self._held.pieces is not None, self._within)
        for number, pieces in enumerate(merged, first):
            for piece in pieces:
                self._take_in(piece.summary, piece.coded)
                self._held.add(piece)
            self._finish_range(number)
            self._session.control.check()
