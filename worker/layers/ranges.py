"""A layer made by threads, one key range at a time: what the keys of a range lead to, and a range merged of all that.

keys of a range -> expand -> what lies within the range and its bitmap: set there
                          -> all else: put together by range
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import chain
from queue import Empty, SimpleQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, Layout
from hakoiri.puzzles.keys.order import difference
from hakoiri.storage.layers.bitmap import WORD_BITS, Words
from hakoiri.storage.layers.blocks import Block, Coded, code_bits, code_keys, decode, join_coded
from hakoiri.storage.layers.digest import lanes_of
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.flow import flow_of, total_flow
from hakoiri.worker.layers.kernels import Window, clip, fill_of, is_dense, list_bits, merge, set_within, split, take_off
from hakoiri.worker.layers.partition import scatter

#: So many successors at most are set at a time, so that they stay in the second-level cache.
_BATCH = 1 << 17
#: So many batches wait for a bitmap at most, while another thread uses it.
_WAITING = 4
#: So many bits, about, are listed at a time.
_LISTED = 1 << 18
#: From so many keys in a word on, words are coded as they are.
_CROWDED = 3

#: Takes blocks of the range of some number.
Put = Callable[[int, Coded], None]


@dataclass
class Bitmap:
    """The bitmap of a key range whose keys are dense: from `base` on, of so many words; ``None`` while it is empty.

    Keys of the range may also lie beyond it.
    """

    base: Key
    length: int
    words: Words | None = None

    @property
    def nbytes(self) -> int:
        """The memory that it takes when it is not empty."""
        return self.length * WORD_BITS // 8

    @property
    def end(self) -> Key:
        """The first key beyond it."""
        return self.base + self.length * WORD_BITS

    def fill(self) -> Words:
        """Its words, which may be written."""
        if self.words is None:
            self.words = np.zeros(self.length, dtype=np.uint64)
        return self.words

    def between(self, low: Key, high: Key) -> "Bitmap":
        """The part of it with low <= key < high; a copy where it has a part of a word."""
        base, words = _part_of((self.base, self.fill()), low, high)
        return Bitmap(base, len(words), words)


def bitmap_for(sample: Keys, count: int, low: Key, high: Key, margin: int) -> Bitmap | None:
    """A bitmap for some `count` keys that lie where those of a sorted sample do; ``None`` unless they are dense.

    It reaches up to `margin` beyond the sample. No word of it has a key below `low`, or from `high` on.
    """
    if sample.ndim > 1 or not len(sample):
        return None
    begin = max(-(-low // WORD_BITS), (int(sample[0]) - margin) // WORD_BITS)
    length = min(high // WORD_BITS, (int(sample[-1]) + margin) // WORD_BITS + 1) - begin
    return Bitmap(begin * WORD_BITS, length) if length > 0 and is_dense(length * WORD_BITS, count) else None


class RangeSource(NamedTuple):
    """The keys of range `number` that are expanded, in batches; the range's bitmap, if any, and what becomes of that.

    Where it does not stay in memory, its keys are coded, less the known ones. Who holds `alone` may use it.
    """

    number: int
    batches: Iterable[Keys]
    bitmap: Bitmap | None
    stays: bool
    known: Iterable[Keys]
    alone: AbstractContextManager[object] = nullcontext()


class ExpandedRange(NamedTuple):
    """How many keys of a range were expanded, and what they lead to beside what stays in the range's bitmap.

    `keys` lie together by range, and `ends` says where each range ends. `flow` is that of all moves, if it is summed.
    """

    size: int
    keys: Keys
    ends: NDArray[np.int64]
    flow: int | None


class RangeExpansion:
    """The expanding of ranges for layer `depth`; `table` is that of the partition.

    Where there are bitmaps of the `whole` stretch of the keys, successors are set in one of them, which no other thread
    uses meanwhile. Keys that do not lie in a bitmap are coded when they take more than `most_bytes`, and go to `put`
    with the number of their range.
    """

    def __init__(
        self,
        puzzle: Puzzle,
        depth: Depth,
        table: NDArray[np.int64],
        put: Put,
        whole: list[Bitmap],
        most_bytes: int,
        sums_flow: bool,
    ) -> None:
        self._puzzle, self._layout, self._depth, self._table = puzzle, puzzle.layout, depth, table
        self._put, self._most_bytes, self._sums_flow = put, most_bytes, sums_flow
        self._has_whole, self._free = bool(whole), SimpleQueue[Bitmap]()
        for bitmap in whole:
            self._free.put(bitmap)

    def __call__(self, work: RangeSource) -> ExpandedRange:
        """Expand the keys of a range; any thread may."""
        with work.alone:
            return self._expand(work)

    def _expand(self, work: RangeSource) -> ExpandedRange:
        bitmap, beyond, held = work.bitmap, [self._layout.empty(0)], 0
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
        return ExpandedRange(sum(sizes), keys, ends, total_flow(flows))

    def _successors(self, batches: Iterable[Keys], sizes: list[int], flows: list[int | None]) -> Iterator[Keys]:
        """What some keys lead to; the length of each batch that was expanded is added to `sizes`, and its flow."""
        step = max(1, _BATCH // self._puzzle.most_successors)
        for keys in chain.from_iterable(split(keys, step) for keys in batches):
            expansion = self._puzzle.expand(keys)
            sizes.append(len(keys))
            flows.append(flow_of(self._puzzle, keys, expansion) if self._sums_flow else None)
            yield expansion.successors

    def _beyond(self, bitmap: Bitmap | None, found: Iterable[Keys]) -> Iterator[Keys]:
        """Set what lies in a bitmap; the others."""
        if bitmap is not None or not self._has_whole:
            yield from found if bitmap is None else (set_within(bitmap.fill(), keys, bitmap.base) for keys in found)
            return
        waiting = list[Keys]()
        for keys in found:
            waiting.append(keys)
            yield from self._set_in_whole(waiting, len(waiting) == _WAITING)
        yield from self._set_in_whole(waiting, wait=True)

    def _set_in_whole(self, waiting: list[Keys], wait: bool) -> list[Keys]:
        """Set what lies in the whole stretch, now or if no other thread is at it; the others. None waits afterwards."""
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
        """Put some keys away as blocks by range, each key once."""
        keys, ends = scatter(np.concatenate(parts), self._table)
        for number, part in enumerate(np.split(keys, ends[:-1])):
            if len(part):
                self._put(number, code_keys(self._depth, merge([part], [])))


class RangeInput(NamedTuple):
    """What was found in a key range: keys in no order and with duplicates, spilled blocks, and its bitmap, if any."""

    parts: list[Keys]
    blocks: list[Block]
    bitmap: Bitmap | None


class MergeInput(NamedTuple):
    """What was found in a range, sorted batches of known keys to be taken off, and whether to keep what is left.

    If `within` is given, only keys that are in one of these sorted batches, too, are left.
    """

    found: RangeInput
    known: Iterable[Keys]
    keep: bool
    within: Iterable[Keys] | None = None


class MergedRange(NamedTuple):
    """[How many keys, how many goals, the two lanes of the digest] of a range, its blocks, and its keys if kept."""

    summary: NDArray[np.uint64]
    coded: Coded
    keys: Keys


def merge_range(puzzle: Puzzle, depth: Depth, work: MergeInput) -> MergedRange:
    """A range of layer `depth`; where its keys are bits and need not be kept, some of them are listed at a time."""
    whole = work.keep or work.within is not None
    total, parts, kept = np.zeros(4, dtype=np.uint64), list[Coded](), puzzle.layout.empty(0)
    for batch in _new_keys(work.found, work.known, puzzle.layout, whole):
        keys = batch if work.within is None or not len(batch) else difference(batch, merge([batch], work.within))
        if len(keys):
            goals = int(np.count_nonzero(puzzle.is_goal(keys)))
            total += np.array([len(keys), goals, *lanes_of(keys)], dtype=np.uint64)
            parts.append(code_keys(depth, keys))
            kept = _own(keys) if work.keep else kept
    return MergedRange(total, join_coded(parts or [Coded.empty(puzzle.layout)]), kept)


def code_found(layout: Layout, depth: Depth, found: RangeInput) -> Coded:
    """What was found in a range, sorted, without duplicates, as blocks of layer `depth`; its bitmap is empty then."""
    bitmap = found.bitmap
    if bitmap is None or bitmap.words is None:
        return code_keys(depth, merge(found.parts or [layout.empty(0)], []))
    coded = join_coded([code_keys(depth, keys) for keys in _new_keys(found, [], layout, whole=False)])
    bitmap.words = None
    return coded


def _new_keys(found: RangeInput, known: Iterable[Keys], layout: Layout, whole: bool) -> Iterator[Keys]:
    """The distinct keys of what was found that none of the known batches holds, increasing; in one batch if `whole`.

    Its bitmap is empty in the end: to clear words that are in the cache takes less time than to have new ones.
    """
    bitmap, parts = found.bitmap, found.parts
    if bitmap is None:
        yield merge([layout.empty(0), *parts, *(decode(block, layout) for block in found.blocks)], known)
        return
    words, base = bitmap.fill(), bitmap.base
    # IMPORTANT: another session may have had a larger bitmap, so of blocks of bits, too, some keys may lie beyond it.
    decoded = (decode(block, layout) for block in found.blocks)
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


def code_window(number: int, window: Window, layout: Layout) -> Coded:
    """The keys of a window as blocks of layer `number`: as bits where that takes about as many bytes, and less time."""
    base, words = window
    filled, count = fill_of(words)
    if count and count >= _CROWDED * filled:
        return code_bits(number, words, base, filled, layout)
    return code_keys(number, list_bits(words, base, layout))


def _part_of(window: Window, low: Key, high: Key) -> Window:
    """The keys of a window with low <= key < high, as a window: a view, or a copy where they do not fill its words."""
    base, words = window
    low, high = (min(max(bound, base), base + len(words) * WORD_BITS) for bound in (low, high))
    begin = (low - base) // WORD_BITS
    part = base + begin * WORD_BITS, words[begin : -((base - high) // WORD_BITS)]
    if low % WORD_BITS or high % WORD_BITS:
        part = part[0], part[1].copy()
        clip(part, low, high)
    return part


def _own(keys: Keys) -> Keys:
    """`keys` without the larger array that they may be a part of."""
    return keys if keys.base is None else keys.copy()
