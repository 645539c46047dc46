"""Expansion and merge of one key range at a time, by threads, and of a chunk by a worker; bitmaps of dense ranges.

keys of a range -> expand -> those within the range and its bitmap: set there
                          -> all others: grouped by range
keys of a chunk -> expand -> sorted, distinct, coded by range (`expand_chunk`)
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain, pairwise
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import DamagedError, Hint
from hakoiri.keys.layout import Key, Keys, Layout, ints, key_at, layout_of
from hakoiri.keys.order import difference, lower_bounds
from hakoiri.puzzles.contract import BitKernel, Expansion, Puzzle
from hakoiri.storage.layers.blocks import Block, Coded, code_bits, code_keys, decode, join_coded, lanes_of, set_bits
from hakoiri.storage.layers.codec import WORD_BITS, Words
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import (
    Window,
    clip,
    fill_of,
    flow_of,
    is_dense,
    list_bits,
    merge,
    set_within,
    split,
    take_off,
    total_flow,
)
from hakoiri.worker.layers.partition import scatter

#: Keys per word from which on words are coded as they are (measured: docs/reports/measurements.md, dense keys).
_CROWDED = 5


@dataclass
class Bitmap:
    """The bitmap of a dense key range: `length` words from `base` on; `words` is ``None`` while it is empty.

    The range may also have keys beyond it.
    """

    base: Key
    length: int
    words: Words | None = None

    @property
    def nbytes(self) -> int:
        """Its memory when it is not empty."""
        return self.length * WORD_BITS // 8

    @property
    def end(self) -> Key:
        """The first key beyond it."""
        return self.base + self.length * WORD_BITS

    def fill(self) -> Words:
        """Return its words, which may be written."""
        if self.words is None:
            self.words = np.zeros(self.length, dtype=np.uint64)
        return self.words

    def between(self, low: Key, high: Key) -> "Bitmap":
        """Return the part with low <= key < high: a view, or a copy if the bounds divide a word."""
        low, high = (min(max(bound, self.base), self.end) for bound in (low, high))
        begin = (low - self.base) // WORD_BITS
        base, words = self.base + begin * WORD_BITS, self.fill()[begin : -((self.base - high) // WORD_BITS)]
        if low % WORD_BITS or high % WORD_BITS:
            words = words.copy()
            clip((base, words), low, high)
        return Bitmap(base, len(words), words)


def bitmap_for(sample: Keys, count: int, low: Key, high: Key, margin: int) -> Bitmap | None:
    """Return a bitmap for about `count` keys distributed like a sorted sample; ``None`` unless they are dense.

    It reaches up to `margin` beyond the sample. No word of it has a key below `low`, or from `high` on.
    """
    if sample.ndim > 1 or not len(sample):
        return None
    begin = max(-(-low // WORD_BITS), (int(sample[0]) - margin) // WORD_BITS)
    length = min(high // WORD_BITS, (int(sample[-1]) + margin) // WORD_BITS + 1) - begin
    return Bitmap(begin * WORD_BITS, length) if length > 0 and is_dense(length * WORD_BITS, count) else None


def code_window(number: Depth, window: Window, layout: Layout) -> Coded:
    """Code the keys of a window for layer `number`."""
    base, words = window
    return as_bits(number, window, layout) or code_keys(number, list_bits(words, base, layout))


def as_bits(number: Depth, window: Window, layout: Layout) -> Coded | None:
    """Code the keys of a window as bits, if that takes less time and fewer bytes than their differences."""
    base, words = window
    filled, count = fill_of(words)
    return code_bits(number, words, base, filled, layout) if count and count >= _CROWDED * filled else None


#: Most successors set at a time, so that they stay in the second-level cache.
_BATCH = 1 << 17
#: Most batches that wait for a bitmap while another thread uses it.
_WAITING = 4
#: Bits listed at a time, approximately.
_LISTED = 1 << 18

#: A worker collects the successors of a chunk in a bitmap of at most the second number of bytes if there are fewer
#: numbers per successor than the first times `DENSE_SPAN`: 1.8 ns a successor of the 3x4 tiles instead of 6.4.
_SPARSE, _MOST_BITMAP = 4, 1 << 26

#: Stores blocks of the range with the given number.
Put = Callable[[int, Coded], None]


class RangeSource(NamedTuple):
    """The keys of range `number` to be expanded, in batches, and the range's bitmap, if any.

    If the bitmap `stays`, it stays in memory. Otherwise its keys, less the `known` ones, are coded afterwards. A thread
    must hold `alone` to use it.
    """

    number: int
    batches: Iterable[Keys]
    bitmap: Bitmap | None
    stays: bool
    known: Iterable[Keys]
    alone: AbstractContextManager[object] = nullcontext()


class ExpandedRange(NamedTuple):
    """The number of keys of a range that were expanded, and their successors except those in the range's bitmap.

    `keys` are grouped by range, and `ends` are the ends of the groups. `flow` is the flow of all moves, if it is
    summed. Expanding took `seconds`.
    """

    size: int
    keys: Keys
    ends: NDArray[np.int64]
    flow: int | None
    seconds: float


class RangeExpansion:
    """The expansion of ranges for layer `depth`; `table` is that of the partition.

    If there are bitmaps of the `whole` key range, successors are set in one of them, which no other thread uses
    meanwhile. The kernel `spread`, if any, does so without their keys. Keys outside a bitmap
    are coded when they take more than `most_bytes`, and passed to `put` with the number of their range.
    """

    def __init__(
        self, puzzle: Puzzle, depth: Depth, table: NDArray[np.int64], put: Put, whole: list[Bitmap], most_bytes: int,
        sums_flow: bool, spread: BitKernel | None = None,
    ) -> None:  # fmt: skip
        self._puzzle, self._layout, self._depth, self._table = puzzle, puzzle.layout, depth, table
        self._spread = spread
        self._put, self._most_bytes, self._sums_flow = put, most_bytes, sums_flow
        self._has_whole, self._free = bool(whole), SimpleQueue[Bitmap]()
        for bitmap in whole:
            self._free.put(bitmap)

    def __call__(self, work: RangeSource) -> ExpandedRange:
        """Expand the keys of a range. Thread-safe."""
        with work.alone:
            return self._expand(work)

    def _expand(self, work: RangeSource) -> ExpandedRange:
        began, bitmap, beyond, held = time.perf_counter(), work.bitmap, [self._layout.empty(0)], 0
        sizes, flows = list[int](), list[int | None]()
        for keys in self._beyond(bitmap, self._successors(work.batches, sizes, flows)):
            if len(keys):
                beyond.append(_own(keys))
                held += keys.nbytes
            if held > self._most_bytes:
                self._code(beyond)
                beyond, held = beyond[:1], 0
        if bitmap is not None and not work.stays:
            window = bitmap.base, bitmap.fill()
            take_off(window, work.known)
            self._put(work.number, code_window(self._depth, window, self._layout))
            bitmap.words = None
        keys, ends = scatter(np.concatenate(beyond), self._table)
        return ExpandedRange(sum(sizes), keys, ends, total_flow(flows), time.perf_counter() - began)

    def _mark(self, keys: Keys, spread: BitKernel) -> int | None:
        """Set the successors of increasing keys in a bitmap of all keys; return the flow if it is summed."""
        if not len(keys):
            return 0
        low = key_at(keys, 0) // spread.block * spread.block
        blocks = (key_at(keys, -1) - low) // spread.block + 1
        words = np.zeros(blocks * spread.block // WORD_BITS, dtype=np.uint64)
        set_within(words, keys, low)
        bitmap = self._free.get()
        try:
            if self._sums_flow or spread.mark is None:
                return spread.write(words, low, bitmap.fill())
            spread.mark(words, low, bitmap.fill())
            return None
        finally:
            self._free.put(bitmap)

    def _successors(self, batches: Iterable[Keys], sizes: list[int], flows: list[int | None]) -> Iterator[Keys]:
        """Yield the successors of some keys; append the size and the flow of each batch to `sizes` and `flows`."""
        if self._spread is not None:
            for keys in batches:
                sizes.append(len(keys))
                flows.append(self._mark(keys, self._spread))
            return
        for keys, expansion in expanded(self._puzzle, batches):
            sizes.append(len(keys))
            flows.append(flow_of(self._puzzle, keys, expansion) if self._sums_flow else None)
            yield expansion.successors

    def _beyond(self, bitmap: Bitmap | None, found: Iterable[Keys]) -> Iterator[Keys]:
        """Set the keys within a bitmap; yield the others."""
        if bitmap is not None or not self._has_whole:
            yield from found if bitmap is None else (set_within(bitmap.fill(), keys, bitmap.base) for keys in found)
            return
        waiting = list[Keys]()
        for keys in found:
            waiting.append(keys)
            yield from self._set_in_whole(waiting, len(waiting) == _WAITING)
        yield from self._set_in_whole(waiting, wait=True)

    def _set_in_whole(self, waiting: list[Keys], wait: bool) -> list[Keys]:
        """Set keys in a free bitmap of the whole range, and clear `waiting`; return the keys beyond it.

        If no bitmap is free, return no keys, or `wait` for one.
        """
        try:
            bitmap = self._free.get(wait)
        except Empty:
            return []
        try:
            return [set_within(bitmap.fill(), keys, bitmap.base) for keys in waiting]
        finally:
            waiting.clear()
            self._free.put(bitmap)

    def _code(self, parts: list[Keys]) -> None:
        """Store some keys as blocks by range, without duplicates."""
        keys, ends = scatter(np.concatenate(parts), self._table)
        for number, part in enumerate(np.split(keys, ends[:-1])):
            if len(part):
                self._put(number, code_keys(self._depth, merge([part], [])))


def expanded(puzzle: Puzzle, batches: Iterable[Keys]) -> Iterator[tuple[Keys, Expansion]]:
    """Yield some keys, a few at a time, with their expansion."""
    step = max(1, _BATCH // max(1, puzzle.most_successors))
    for keys in chain.from_iterable(split(keys, step) for keys in batches):
        yield keys, puzzle.expand(keys)


class ExpandedChunk(NamedTuple):
    """The distinct successors of a chunk of U(N), as blocks of U(N+1), and what expanding it took.

    `figures` are the number of keys expanded, their flow, and the microseconds it took (uint64). `blocks` is the number
    of blocks of each range; the other columns are those of `Coded`.
    """

    figures: NDArray[np.uint64]
    blocks: NDArray[np.int64]
    firsts: Keys
    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    data: NDArray[np.uint8]

    def by_range(self) -> Iterator[tuple[int, Coded]]:
        """Yield the blocks of each range that has any, with the number of the range."""
        coded, ends = Coded(*self[2:5], self.data.data), np.cumsum(self.blocks)
        for number in np.flatnonzero(self.blocks).tolist():
            yield number, coded.between(int(ends[number] - self.blocks[number]), int(ends[number]))

    def keys(self, layout: Layout) -> Keys:
        """Return all of them, for a plan of layer 0."""
        blocks = Coded(*self[2:5], self.data.data).blocks(0)
        return np.concatenate([layout.empty(0), *(decode(block, layout) for block in blocks)])


def chunk_plan(depth: Depth, sample: Keys, found: int) -> NDArray[np.uint64]:
    """Return [depth, base, words]: the bitmap in which a worker collects about `found` keys; no words if it sorts them.

    The keys are distributed like a sorted sample.
    """
    margin = 0 if sample.ndim > 1 or not len(sample) else (int(sample[-1]) - int(sample[0])) // 32 + WORD_BITS
    window = bitmap_for(sample, found * _SPARSE, 0, layout_of(sample).greatest + 1, margin)
    words = 0 if window is None or window.nbytes > _MOST_BITMAP else window.length
    return np.array([depth, window.base if window and words else 0, words], dtype=np.uint64)


def expand_chunk(puzzle: Puzzle, keys: Keys, cuts: Keys, plan: NDArray[np.uint64]) -> ExpandedChunk:
    """Return the distinct successors of `keys`, coded by the ranges between `cuts`; for `plan` see `chunk_plan`."""
    began, flow, found, layout = time.perf_counter(), 0, [keys[:0]], puzzle.layout
    depth, base, length = map(int, plan)
    bitmap = Bitmap(base, length, _cleared(length)) if length else None
    for batch, expansion in expanded(puzzle, [keys]):
        flow += flow_of(puzzle, batch, expansion)
        successors = expansion.successors
        found.append(successors if bitmap is None else set_within(bitmap.fill(), successors, base))
    # Beyond a bitmap there are hardly any.
    others = merge(found, [])
    ranges = list[Coded]()
    bounds = pairwise([0, *ints(cuts), layout.greatest + 1])
    for part, (low, high) in zip(np.split(others, lower_bounds(others, cuts)), bounds, strict=True):
        if bitmap is None:
            ranges.append(code_keys(depth, part))
        else:
            ranges.append(code_found(layout, depth, RangeInput([part], [], bitmap.between(low, high))))
    if bitmap is not None:
        _spare.append(bitmap.fill())
    coded, micros = join_coded(ranges), (time.perf_counter() - began) * 1e6
    figures = np.array([len(keys), flow % (1 << 64), int(micros)], dtype=np.uint64)
    data = np.frombuffer(coded.data, dtype=np.uint8)
    return ExpandedChunk(figures, np.array([len(each.counts) for each in ranges]), *coded[:3], data)


#: The bitmap of the last chunk: to clear it takes a tenth of the time of allocating one.
_spare: deque[Words] = deque(maxlen=1)


def _cleared(length: int) -> Words:
    """Return a bitmap without bits."""
    words = _spare.pop() if _spare else np.empty(0, dtype=np.uint64)
    if len(words) < length:
        return np.zeros(length, dtype=np.uint64)
    words[:] = 0
    return words[:length]


class RangeInput(NamedTuple):
    """The keys found for a range: arrays in any order and with duplicates, spilled blocks, and its bitmap, if any."""

    parts: list[Keys]
    blocks: list[Block]
    bitmap: Bitmap | None


class MergeInput(NamedTuple):
    """The keys found for a range, sorted batches of known keys to subtract, and whether to keep the result.

    If `within` is given, intersect with these sorted batches. If `run` is given, the name of the run, others have found
    some of the keys, so all are checked.
    """

    found: RangeInput
    known: Iterable[Keys]
    keep: bool
    within: Iterable[Keys] | None = None
    run: str = ""


class MergedRange(NamedTuple):
    """[Number of keys, tally (`Puzzle.tally`), both lanes of the digest] of a range, its blocks, its keys if kept."""

    summary: NDArray[np.uint64]
    coded: Coded
    keys: Keys


def merge_range(puzzle: Puzzle, depth: Depth, work: MergeInput) -> MergedRange:
    """Merge a range of layer `depth`; if its keys are bits and need not be kept, list some of them at a time."""
    whole = work.keep or work.within is not None
    total, parts, kept = np.zeros(5, dtype=np.uint64), list[Coded](), puzzle.layout.empty(0)
    for batch in _new_keys(work.found, work.known, puzzle.layout, whole):
        keys = batch if work.within is None or not len(batch) else difference(batch, merge([batch], work.within))
        if work.run and not (right := puzzle.are_keys(keys)).all():
            wrong = f"{key_at(keys, int(right.argmin())):#x}, which is not a configuration of {puzzle.name}"
            raise DamagedError(f"run {work.run}: layer {depth} would have {wrong}", Hint("repair", work.run))
        if len(keys):
            total += np.array([len(keys), *puzzle.tally(keys), *lanes_of(keys)], dtype=np.uint64)
            parts.append(code_keys(depth, keys))
            kept = _own(keys) if work.keep else kept
    return MergedRange(total, join_coded(parts or [Coded.empty(puzzle.layout)]), kept)


def code_found(layout: Layout, depth: Depth, found: RangeInput) -> Coded:
    """Return the keys found for a range, sorted and distinct, as blocks of layer `depth`; empties its bitmap."""
    bitmap = found.bitmap
    if bitmap is None or bitmap.words is None:
        return code_keys(depth, merge(found.parts or [layout.empty(0)], []))
    coded = None if any(map(len, found.parts)) else as_bits(depth, (bitmap.base, bitmap.words), layout)
    if coded is None:
        parts = [code_keys(depth, keys) for keys in _new_keys(found, [], layout, whole=False)]
        coded = join_coded(parts or [Coded.empty(layout)])
    else:
        bitmap.words[:] = 0
    bitmap.words = None
    return coded


def _new_keys(found: RangeInput, known: Iterable[Keys], layout: Layout, whole: bool) -> Iterator[Keys]:
    """Yield the distinct keys found that are in none of the known batches, increasing; in one batch if `whole`.

    Empties the bitmap: clearing words in the cache takes less time than allocating new ones.
    """
    bitmap, parts = found.bitmap, found.parts
    if bitmap is None:
        yield merge([layout.empty(0), *parts, *(decode(block, layout) for block in found.blocks)], known)
        return
    words, base = bitmap.fill(), bitmap.base
    # IMPORTANT: another session may have had a larger bitmap, so keys in blocks of bits, too, may be beyond this one.
    decoded = (decode(block, layout) for block in found.blocks if not set_bits(block, words, base, layout))
    beyond = [set_within(words, part, base) for part in chain(parts, decoded)]
    if any(map(len, beyond)):
        beyond.append(list_bits(words, base, layout))
        words[:] = 0
        yield merge(beyond, known)
        return
    take_off((base, words), known)
    step = len(words) if whole else max(1, len(words) * _LISTED // max(1, fill_of(words)[1]))
    for begin in range(0, len(words), step):
        part = words[begin : begin + step]
        keys = list_bits(part, base + begin * WORD_BITS, layout)
        part[:] = 0
        yield keys


def _own(keys: Keys) -> Keys:
    """Return `keys` without the larger array of which they may be a view."""
    return keys if keys.base is None else keys.copy()
