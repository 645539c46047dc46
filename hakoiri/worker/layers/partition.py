"""The key space cut into ranges, so that each can be merged by itself: which range a key belongs to, and its bounds.

Ranges are cut at keys. A key's *cell* is the key shifted right, less a base, kept within 0 and the number of cells less
one; a table says how many cuts lie before each cell. Most cells have none inside, so finding a range is one look-up;
else the cuts in the cell are searched.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, ints, layout_of
from hakoiri.puzzles.keys.order import is_increasing
from hakoiri.worker.errors import PayloadError

#: A table of 2^13 cells stays in the second-level cache.
_CELL_BITS = 13
_MOST_RANGES = 1 << 12
_WORD_BITS = 64
#: Most bits of the number of a cell before its base is subtracted.
_CELL_NUMBER_BITS = 62
#: What a table has before its cells: base, shift, how many cuts.
_HEAD = 3
#: Cuts so far apart may be moved to where words of bitmaps begin, with ranges as even as before.
_FAR_APART = 64 * _WORD_BITS


@dataclass(frozen=True)
class Partition:
    """Ranges of keys of a `layout`: range r holds ``cuts[r - 1] <= key < cuts[r]``; the outer ones are open."""

    layout: Layout
    cuts: tuple[Key, ...]

    @property
    def ranges(self) -> int:
        return len(self.cuts) + 1

    def range_of(self, key: Key) -> int:
        """Return the number of the range of a key."""
        return bisect_right(self.cuts, key)

    def bounds(self, number: int) -> tuple[Key, Key]:
        """The keys of a range: low <= key < high."""
        ends = (0, *self.cuts, self.layout.greatest + 1)
        return ends[number], ends[number + 1]

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """[base, shift, number of cuts, cuts before each cell, all cuts, the words of each cut]: for the kernels."""
        least, greatest = (self.cuts[0], self.cuts[-1]) if self.cuts else (0, 0)
        span = greatest - least
        shift = max(0, span.bit_length() - _CELL_BITS, greatest.bit_length() - _CELL_NUMBER_BITS)
        # The first cell may be cut by the least key, so the span may reach one cell more.
        shift += (greatest >> shift) - (least >> shift) >= 1 << _CELL_BITS
        base = least >> shift
        cells = np.array([(cut >> shift) - base for cut in self.cuts], dtype=np.int64)
        before = np.searchsorted(cells, np.arange((greatest >> shift) - base + 1))
        words = self.layout.pack(self.cuts).astype(np.uint64).view(np.int64).reshape(-1)
        return np.concatenate([[base, shift, len(self.cuts)], before, [len(self.cuts)], words])

    @property
    def cut_keys(self) -> Keys:
        """The cuts as a batch, from which `table_of` makes the table again."""
        return self.layout.pack(self.cuts)

    @property
    def packed(self) -> bytes:
        """As it is stored and sent: the cuts, most significant byte first."""
        return self.layout.big_endian(self.cut_keys)

    @classmethod
    def unpack(cls, packed: bytes, layout: Layout) -> "Partition":
        """The inverse; `PayloadError` for bytes that cut no keys."""
        if not isinstance(packed, bytes) or len(packed) % layout.bytes or len(packed) >= _MOST_RANGES * layout.bytes:
            raise PayloadError("ranges are not readable: their bounds are not keys")
        size = layout.bytes
        cuts = tuple(int.from_bytes(packed[at : at + size], "big") for at in range(0, len(packed), size))
        if cuts and (cuts[0] == 0 or not is_increasing(layout.pack(cuts))):
            raise PayloadError("ranges are not readable: their bounds do not increase")
        return cls(layout, cuts)


@lru_cache(maxsize=4)
def read_partition(packed: bytes, layout: Layout) -> Partition:
    """Return `Partition.unpack`: the ranges of many requests are the same, and take a while to unpack."""
    return Partition.unpack(packed, layout)


def table_of(cuts: Keys) -> NDArray[np.int64]:
    """Return the table of the partition with these cuts."""
    layout = layout_of(cuts)
    return read_partition(layout.big_endian(cuts), layout).table


def partition_by(sample: Keys, ranges: int) -> Partition:
    """About `ranges` ranges of about equally many keys each, if the keys are distributed as in the sorted `sample`."""
    ranges = min(ranges, _MOST_RANGES)
    places = (np.arange(1, ranges) * len(sample)) // ranges
    least = ints(sample[:1])[0]
    cuts = sorted({cut for cut in ints(sample[places]) if cut > least})
    if all(following - cut >= _FAR_APART for cut, following in pairwise([least, *cuts])):
        # Bitmaps then have no word in common.
        cuts = [cut - cut % _WORD_BITS for cut in cuts]
    return Partition(layout_of(sample), tuple(cuts))


@jit
def _cell(keys: Keys, index: int, base: int, shift: int, most: int) -> int:
    if keys.ndim == 1:
        value = np.uint64(keys[index]) >> np.uint64(shift)
        if value >> np.uint64(_CELL_NUMBER_BITS) != np.uint64(0):
            return most
        cell = np.int64(value) - base
    else:
        words = keys.shape[1]
        word = words - 1 - shift // _WORD_BITS
        within = np.uint64(shift % _WORD_BITS)
        for above in range(word):
            beyond = keys[index, above]
            # The low bits of the word just above belong to the cell's number.
            if above == word - 1 and within > np.uint64(0):
                beyond >>= within
            if beyond != np.uint64(0):
                return most
        value = keys[index, word] >> within
        if word > 0 and within > np.uint64(0):
            value |= keys[index, word - 1] << (np.uint64(_WORD_BITS) - within)
        if value >> np.uint64(_CELL_NUMBER_BITS) != np.uint64(0):
            return most
        cell = np.int64(value) - base
    return min(max(int(cell), 0), most)


@jit
def _is_below(keys: Keys, index: int, table: NDArray[np.int64], place: int) -> bool:
    """Return whether a key is less than the cut whose words begin at a place of the table."""
    if keys.ndim == 1:
        return bool(np.uint64(keys[index]) < np.uint64(table[place]))
    for word in range(keys.shape[1]):
        cut = np.uint64(table[place + word])
        if keys[index, word] != cut:
            return bool(keys[index, word] < cut)
    return False


@jit
def _count(keys: Keys, table: NDArray[np.int64], places: NDArray[np.uint16], ends: NDArray[np.int64]) -> None:
    base, shift, cuts = table[0], table[1], table[2]
    words = 1 if keys.ndim == 1 else keys.shape[1]
    first = len(table) - cuts * words
    most = first - _HEAD - 2
    for index in range(len(keys)):
        cell = _HEAD + _cell(keys, index, base, shift, most)
        number, after = table[cell], table[cell + 1]
        while number < after:
            middle = (number + after) // 2
            if _is_below(keys, index, table, first + middle * words):
                after = middle
            else:
                number = middle + 1
        places[index] = number
        ends[number] += 1


@jit
def _scatter(keys: Keys, places: NDArray[np.uint16], nexts: NDArray[np.int64], sorted_keys: Keys) -> None:
    for index in range(len(keys)):
        number = places[index]
        place = nexts[number]
        if keys.ndim == 1:
            sorted_keys[place] = keys[index]
        else:
            for word in range(keys.shape[1]):
                sorted_keys[place, word] = keys[index, word]
        nexts[number] = place + 1


def scatter(keys: Keys, table: NDArray[np.int64]) -> tuple[Keys, NDArray[np.int64]]:
    """The keys put together by ranges, in no order within each, and where each range ends; `table` is a partition's."""
    ranges = int(table[2]) + 1
    places = np.empty(len(keys), dtype=np.uint16)
    ends = np.zeros(ranges, dtype=np.int64)
    _count(keys, table, places, ends)
    np.cumsum(ends, out=ends)
    nexts = np.zeros(ranges, dtype=np.int64)
    nexts[1:] = ends[:-1]
    ordered = np.empty_like(keys)
    _scatter(keys, places, nexts, ordered)
    return ordered, ends
