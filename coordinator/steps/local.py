"""A layer step by threads of this process: a thread takes a key range at a time, and no other touches its bitmap."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, pairwise
from typing import cast

import numpy as np

from hakoiri.coordinator.steps.exchange import Exchange
from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.puzzles.keys.layout import Key, Keys, ints, key_at
from hakoiri.puzzles.keys.order import slice_between, sort_keys
from hakoiri.storage.layers.readers import Layer
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.kernels import is_dense
from hakoiri.worker.layers.partition import Partition, partition_by
from hakoiri.worker.layers.ranges import (
    Expansion,
    Found,
    Frontier,
    Merged,
    Work,
    code_found,
    merge_range,
)


class LocalStep(LayerStep):
    """The making of a layer by threads. Bitmaps that do not all fit in memory are coded, and spilled, one by one."""

    def _begin(self) -> None:
        self._exchange = Exchange(self._partition, self._depth, self._spill, self._shares.bucket_bytes // 2)
        threads = self._context.local.workers
        self._stay = self._exchange.plan_bitmaps(self._successors, self._expected, self._room, threads)

    def _cut(self) -> Partition:
        """Ranges of about as many keys and successors together, for whoever merges a range expands it, too."""
        if not len(self._successors):
            return super()._cut()
        return partition_by(sort_keys(np.concatenate([self._sampled, self._successors])), self._wanted_ranges)

    @property
    def _wanted_ranges(self) -> int:
        """So many that threads share evenly, and what each has in hand fits its share of the memory."""
        size = self._source.size
        chunks = -(-size // self._range_size)
        span = int(self._successors[-1]) - int(self._successors[0]) if self._layout.words == 1 else None
        if span is None or not is_dense(span, self._expected):
            return max(chunks, super()._wanted_ranges)
        if span // 8 <= self._room:
            return chunks
        # Else what is spilled of a range is in hand with it, a byte or so a successor, of two ranges for each thread.
        needed = 2 * self._context.local.workers * max(span // 8, self._expected)
        return max(chunks, -(-needed // self._room))

    @property
    def _range_size(self) -> int:
        """How many keys of the source a range should have, or a piece of it."""
        return self._shares.range_size(self._source.size, self._seconds_each)

    @property
    def _room(self) -> int:
        """What bitmaps may take."""
        return self._shares.bucket_bytes

    # Expanding

    def _expand_some(self, done: int) -> Iterator[int]:
        most_bytes = self._shares.bucket_bytes // (4 * self._context.local.workers)
        table, sums = self._partition.table, self._flow is not None
        exchange = self._exchange
        expand = Expansion(self._puzzle, self._depth, table, exchange.put, exchange.whole, most_bytes, sums)
        for _, made in self._context.local.each("expand", expand, self._frontiers(done)):
            self._flow = total_flow([self._flow, made.flow])
            self._take(made.keys, made.ends)
            yield made.size

    def _frontiers(self, done: int) -> Iterator[Frontier]:
        """The next ranges to be expanded, until a checkpoint is due."""
        if self._at is None:
            # Workers may have stopped anywhere.
            self._at = key_at(next(cast(Layer, self._source).chunks(done, 1)), 0) if done else 0
        for number, low, high in self._pieces_from(self._at):
            # Moves lead back into the range: what is known there goes before it is written.
            known = self._known[1:] if self._puzzle.undirected and not self._stay else []
            bitmap = self._exchange.bitmaps[number]
            yield Frontier(number, self._source.between(low, high), bitmap, self._stay, between(known, low, high))

    def _pieces_from(self, begin: Key) -> Iterator[tuple[int, Key, Key]]:
        """The ranges from some key on, those without a bitmap where keys crowd in pieces, until a checkpoint is due."""
        each, size = self._source.size / len(self._sampled), self._range_size
        sample = sort_keys(self._sampled.copy())
        for number, (low, high) in enumerate(self._exchange.bounds):
            mine = slice_between(sample, low, high)[:: max(1, int(size / each))]
            cuts = [] if self._exchange.has_bitmap(number) else [cut for cut in ints(mine[1:]) if low < cut < high]
            for first, end in pairwise([low, *cuts, high]):
                if end > begin:
                    self._at = end
                    yield number, max(first, begin), end
                    if self._checkpoint_is_due:
                        return

    def _take(self, keys: Keys, ends: np.ndarray) -> None:
        """Hold keys in memory by range, while it lasts."""
        self._exchange.add(keys, ends)
        if self._exchange.held_bytes > self._shares.bucket_bytes // 2:
            # IMPORTANT: bitmaps stay, for threads go on with them.
            self._code_held(bits=False)

    def _spill_all(self) -> None:
        self._code_held(bits=True)
        self._exchange.spill()

    def _code_held(self, bits: bool) -> None:
        """Code the keys in memory; those in bitmaps, too, or not."""
        numbers: list[int] = []

        def held() -> Iterator[Found]:
            for number, found in self._exchange.take_held(bits):
                numbers.append(number)
                yield found

        code = partial(code_found, self._layout, self._depth)
        for place, coded in self._context.local.each("merge", code, held()):
            self._exchange.put(numbers[place], coded)

    # Merging

    def _merge_all(self) -> None:
        waiting: dict[int, Merged] = {}
        pieces: list[Merged] = []
        completes: list[int | None] = []
        following = 0
        merge = partial(merge_range, self._puzzle, self._depth)
        for number, result in self._context.local.each("merge", merge, self._ranges_left(completes)):
            waiting[number] = result
            while following in waiting:
                pieces.append(waiting.pop(following))
                # IMPORTANT: a range is taken whole or not at all, because its pieces may be cut differently next time.
                if (finished := completes[following]) is not None:
                    for piece in pieces:
                        self._keep(piece)
                    pieces.clear()
                    self._finish_range(finished)
                following += 1
            self._session.control.check()

    def _ranges_left(self, completes: list[int | None]) -> Iterator[Work]:
        """What to merge; `completes` says for each which range is finished with it."""
        exchange = self._exchange
        for number in range(self._partial.merged, self._partition.ranges):
            low, high = exchange.bounds[number]
            # Keys in a bitmap are listed some at a time, however many there are.
            pieces = 1 if exchange.has_bitmap(number) else self._pieces_of(exchange.keys_in(number), low, high)
            if pieces == 1:
                completes.append(number)
                yield self._work(exchange.take(number), low, high, self._pieces is not None)
                continue
            # Too large: the sample misled, or older keys crowd here. It is merged in smaller pieces.
            cuts = [low, *exchange.cut_again(number, pieces), high]
            for begin, end in pairwise(cuts):
                completes.append(number if end == high else None)
                yield self._work(exchange.between(number, begin, end), begin, end, keep=False)
            exchange.take(number)

    def _work(self, found: Found, low: Key, high: Key, keep: bool) -> Work:
        return Work(found, between(self._known, low, high), keep)

    def _keep(self, merged: Merged) -> None:
        """Take in a merged piece; its keys stay in memory while all of the layer fits."""
        self._take_in(merged.summary, merged.coded)
        self._piece_bytes += merged.keys.nbytes
        if len(merged.keys) < int(merged.summary[0]) or self._piece_bytes > self._shares.layer_bytes:
            self._pieces = None
        if self._pieces is not None:
            self._pieces.append(merged.keys)


def between(layers: list[Layer], low: Key, high: Key) -> Iterable[Keys]:
    """The keys of some layers with low <= key < high, increasing within each batch."""
    return chain.from_iterable([layer.between(low, high) for layer in layers])
