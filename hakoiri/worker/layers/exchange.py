"""The keys found for each range of a layer under way: in bitmaps, arrays, coded blocks, and spill files."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from threading import Lock

import numpy as np

from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import mask_between, slice_between, sort_keys
from hakoiri.storage.layers.blocks import Block, Coded, decode, join_coded
from hakoiri.storage.layers.codec import WORD_BITS, Words
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.layers.ranges import Bitmap, Put, RangeInput, bitmap_for, code_found
from hakoiri.worker.pool import Threads
from hakoiri.worker.transport.payload import Array

#: Keys sampled for each piece of a range that is divided again.
_SAMPLE_PER_PIECE = 64
#: Memory of an array besides its keys.
_PART_BYTES = 150
#: Threads per bitmap of the whole key range: setting bits takes a third of the time of expanding, and more of one
#: bitmap stays in the cache than of two.
_SHARED_BY = 2
#: Each thread codes the ranges in this many turns: handing out one range takes longer than coding a short one.
_TURNS = 4
#: Bitmaps extend beyond a sample by this part of its span at either end, for keys that it misses.
_MARGIN = 32


def _fitting(spare: Sequence[Words], length: int, count: int) -> list[Words | None]:
    """Return the words of `count` bitmaps of this length: those of spare ones that are long enough, else ``None``."""
    return [*[words[:length] for words in spare if len(words) >= length], *[None] * count][:count]


class Exchange:
    """The ranges of `partition`, of layer `depth`; blocks stay in memory up to `most_coded` bytes.

    Blocks of ranges that are `away`, at other hosts, go to `send` at once.

    Attributes: `bounds`, the keys low <= key < high of each range; `bitmaps`, one for each range with dense keys;
    `whole`, in their place, bitmaps of the whole key range. `held_bytes` is the size of the arrays in memory.
    `by_others` is true once others have found some of the keys, or an earlier session; `run` is the name of the run.
    """

    def __init__(
        self, partition: Partition, depth: Depth, spill: Spill, most_coded: int,
        away: Collection[int] = (), send: Put | None = None,
    ) -> None:  # fmt: skip
        self._layout, self._spill, self._most_coded = spill.layout, spill, most_coded
        self.partition, self.depth, self.away, self._send = partition, depth, away, send
        self.bounds = [partition.bounds(number) for number in range(partition.ranges)]
        self._parts: list[list[Keys]] = [[] for _ in self.bounds]
        self._coded: list[list[Coded]] = [[] for _ in self.bounds]
        self._coded_bytes, self._lock = 0, Lock()
        self.bitmaps: list[Bitmap | None] = [None] * partition.ranges
        self.whole: list[Bitmap] = []
        self.held_bytes, self.by_others, self.run = 0, bool(spill.stored_bytes) or send is not None, spill.run

    def plan_marks(self, numbers: int, most: float, room: int, threads: int, spare: Sequence[Words]) -> bool:
        """Use a bitmap of all `numbers` for each of `threads` if these fit in `room`, and one in `most` words."""
        length = -(-numbers // WORD_BITS)
        if not 0 < length <= most or length * threads * WORD_BITS // 8 > room:
            return False
        self.whole = [Bitmap(0, length, words) for words in _fitting(spare, length, threads)]
        return True

    def plan_bitmaps(
        self, sample: Keys, expected: int, room: int, threads: int, whole_words: float, spare: Sequence[Words] = ()
    ) -> bool:
        """Use bitmaps where about `expected` keys, distributed like a sorted sample, are dense.

        Return whether all fit in `room` bytes; otherwise those in use must fit, one for each of `threads`. Bitmaps of
        the whole key range, if they have up to `whole_words` per key, reuse the `spare` ones that another exchange has
        `emptied`, if these are long enough.
        """
        if sample.ndim > 1 or not len(sample):
            return True
        each, margin = expected / len(sample), (int(sample[-1]) - int(sample[0])) // _MARGIN + WORD_BITS
        whole = bitmap_for(sample, expected, 0, self._layout.greatest + 1, margin)
        count = -(-threads // _SHARED_BY)
        if whole and whole.nbytes * count <= room and whole.length * count <= whole_words * expected:
            self.whole = [replace(whole, words=words) for words in _fitting(spare, whole.length, count)]
            return True
        for number, (low, high) in enumerate(self.bounds):
            mine = slice_between(sample, low, high)
            bitmap = bitmap_for(mine, int(len(mine) * each), low, high, margin)
            if bitmap and bitmap.nbytes * threads <= room and number not in self.away:
                self.bitmaps[number] = bitmap
        needed = sum(bitmap.nbytes for bitmap in self.bitmaps if bitmap)
        return needed <= room

    def add(self, keys: Keys, ends: Array) -> None:
        """Add keys that are grouped by range; `ends` are the ends of the ranges."""
        begin = 0
        for number, end in enumerate(ends.tolist()):
            if end > begin:
                self._parts[number].append(keys[begin:end])
                self.held_bytes += (end - begin) * self._layout.bytes + _PART_BYTES
            begin = end

    def put(self, number: int, coded: Coded) -> None:
        """Add blocks of a range. Thread-safe."""
        if self._send is not None and number in self.away:
            # IMPORTANT: without the lock: it may wait for another host, which waits until this one receives blocks.
            self._send(number, coded)
            return
        with self._lock:
            if self._coded_bytes + len(coded.data) > self._most_coded:
                self._spill_coded()
            # A copy, without the unused room of the coder.
            self._coded[number].append(coded._replace(data=memoryview(bytes(coded.data))))
            self._coded_bytes += len(coded.data)

    def spill(self) -> None:
        """Write all coded blocks to the spill files."""
        with self._lock:
            self._spill_coded()

    def _spill_coded(self) -> None:
        for number, parts in enumerate(self._coded):
            if parts:
                self._spill.append(number, join_coded(parts))
                self._coded[number] = []
        self._coded_bytes = 0

    def keys_in(self, number: int) -> int:
        """Return the number of keys in a range, except those in bitmaps, duplicates counted."""
        coded = sum(int(each.counts.sum()) for each in self._coded[number])
        return sum(map(len, self._parts[number])) + coded + self._spill.keys_in(number)

    def has_bitmap(self, number: int) -> bool:
        """Return whether a range has a bitmap, or part of one."""
        low, high = self.bounds[number]
        mine = self.whole[0] if self.whole else self.bitmaps[number]
        return mine is not None and low < mine.end and high > mine.base

    def take(self, number: int) -> RangeInput:
        """Return everything in a range, and remove it from memory."""
        if self.whole and all(each.words is None for each in self.whole):
            # Workers have expanded all of the layer: their blocks of bits are set here.
            self.whole[0].fill()
        found = RangeInput(
            self._take_parts(number), [*self._take_coded(number), *self._spill.read(number)], self._bitmap(number)
        )
        self.bitmaps[number] = None
        return found

    def drain(self, number: int) -> Iterator[Keys]:
        """Yield the keys of a range without a bitmap in batches, as they are read, and remove them from memory."""
        yield from self._take_parts(number)
        with self._spill.decoding(number):
            for block in chain(self._take_coded(number), self._spill.read(number)):
                yield decode(block, self._layout)

    def _bitmap(self, number: int) -> Bitmap | None:
        """Return the bitmap of a range; its part of several bitmaps of all ranges is combined in the first."""
        if not self.whole or not self.has_bitmap(number):
            return self.bitmaps[number]
        parts = [each.between(*self.bounds[number]) for each in self.whole if each.words is not None]
        for part in parts[1:]:
            words = part.fill()
            np.bitwise_or(parts[0].fill(), words, out=parts[0].words)
            words[:] = 0
        return parts[0] if parts else None

    def emptied(self) -> list[Words]:
        """Return the cleared bitmaps of all ranges after the merge or sending; empty if ranges share words."""
        if any(low % WORD_BITS for low, _ in self.bounds):
            return []
        return [words if words.base is None else words.base for words in (each.fill() for each in self.whole)]

    def _blocks(self, number: int) -> Iterator[Block]:
        yield from chain.from_iterable(coded.blocks(self.depth) for coded in self._coded[number])
        yield from self._spill.read(number)

    def _take_coded(self, number: int) -> Iterator[Block]:
        with self._lock:
            coded, self._coded[number] = self._coded[number], []
            self._coded_bytes -= sum(len(each.data) for each in coded)
        return chain.from_iterable(each.blocks(self.depth) for each in coded)

    def _take_parts(self, number: int) -> list[Keys]:
        parts, self._parts[number] = self._parts[number], []
        self.held_bytes -= sum(part.nbytes + _PART_BYTES for part in parts)
        return parts

    def between(self, number: int, low: Key, high: Key) -> RangeInput:
        """Return the keys low <= key < high of a range without a bitmap; they stay."""
        held = [part[mask_between(part, low, high)] for part in self._parts[number]]
        coded = (slice_between(decode(block, self._layout), low, high) for block in self._blocks(number))
        with self._spill.decoding(number):
            parts = [keys for keys in (*held, *coded) if len(keys)]
        return RangeInput(parts, [], None)

    def cut_again(self, number: int, pieces: int) -> list[Key]:
        """Return keys that divide a range without a bitmap into about `pieces` pieces of equal size, if possible."""
        low, high = self.bounds[number]
        step = max(1, self.keys_in(number) // (_SAMPLE_PER_PIECE * pieces))
        held = [part[::step] for part in self._parts[number]]
        spilled = self._layout.pack([block.first for block in self._blocks(number)])
        sample = sort_keys(np.concatenate([*held, spilled]))
        return sorted({cut for cut in ints(sample[:: max(1, len(sample) // pieces)]) if low < cut < high})

    def take_held(self, bits: bool, away: bool = False) -> Iterator[tuple[int, RangeInput]]:
        """Yield and remove the keys in memory of each range that has any, those in bitmaps only if `bits`.

        With `bits`, either the ranges at other hosts, in the order of `away`, if `away` is true, or only the others.
        """
        for number in self.away if bits and away else range(len(self._parts)):
            if bits and not away and number in self.away:
                continue
            parts = self._parts[number]
            bitmap = self._bitmap(number) if bits else None
            if parts or (bitmap and bitmap.words is not None):
                yield number, RangeInput(self._take_parts(number), [], bitmap)
        if bits and not away:
            self.whole = [replace(each, words=None) for each in self.whole]

    def code_held(self, threads: Threads, bits: bool, away: bool = False) -> None:
        """Code the keys in memory, in the selection of `take_held`."""
        together = max(1, len(self.bounds) // (_TURNS * threads.workers))
        held = self.take_held(bits, away)
        batches = iter(lambda: list(islice(held, together)), [])

        def code(some: list[tuple[int, RangeInput]]) -> list[tuple[int, Coded]]:
            return [(number, code_found(self._layout, self.depth, found)) for number, found in some]

        for _, coded in threads.each("merge", code, batches):
            for number, blocks in coded:
                self.put(number, blocks)
