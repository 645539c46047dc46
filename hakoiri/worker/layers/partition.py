"""The key space cut into ranges that are merged one by one; sizes of chunks, ranges and pieces in a given memory.

Ranges are cut at keys. A key's *cell* is the key shifted right, less a base, kept within 0 and the number of cells less
one; a table says how many cuts lie before each cell. Most cells have none inside, so finding a range is one look-up;
else the cuts in the cell are searched.
"""

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
import psutil
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import PayloadError
from hakoiri.keys.layout import Key, Keys, Layout, ints, layout_of
from hakoiri.keys.order import is_increasing

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
        """The cuts as a batch."""
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


#: Memory of the process beyond its budget: the interpreter, its libraries and compiled kernels.
BASE_BYTES = 150_000_000
#: Pages of the data file that readers map; and one part in this many for memory that the allocator cannot return.
_MAPPED_BYTES, SLACK = 10_000_000, 3
#: The least memory of a layer step, whatever the budget: with less it would be divided into too many pieces.
LEAST_BYTES = 24_000_000
#: Keys merged at a time when segments of older keys are merged on disk.
MERGED_AT_ONCE = 1 << 17
_LEAST_CHUNK = 1_024
#: Larger chunks and ranges leave the second-level cache; smaller ones cost more to distribute.
_MOST_CHUNK, _MOST_REMOTE_CHUNK, _MOST_RANGE = 1 << 18, 1 << 21, 1 << 21
#: Chunks per worker in a layer: enough that one slow chunk does not delay the layer.
_CHUNKS_PER_WORKER = 4
#: Chunks for each helper in another process. They are smaller, because a layer ends with the last of them.
_CHUNKS_PER_HELPER = 8
#: Most seconds per chunk, so that a stop, or the loss of a worker, costs little.
_MOST_SECONDS = 2.0
#: Most bytes of finished blocks that wait for the next commit.
_MOST_STAGED = 32_000_000


@dataclass(frozen=True)
class Shares:
    """The division of a layer step's memory: `free` bytes for `workers` threads, with keys of `key_bytes` bytes."""

    free: int
    workers: int
    key_bytes: int
    chunk: int | None = None
    #: The least configurations of a key range.
    least_range: int = 1 << 14
    #: If the bitmaps of the whole key range have more words than this per successor, combining them takes longer than
    #: handing successors from range to range (measured: docs/reports/measurements.md).
    whole_words: float = 2.0

    @property
    def layer_bytes(self) -> int:
        """The largest layer that stays in memory; three layers are needed at once."""
        return self.free // 8

    @property
    def bucket_bytes(self) -> int:
        """Most bytes of successors that stay in memory until they are merged; more are spilled."""
        return self.free // 4

    @property
    def in_flight_bytes(self) -> int:
        """Most bytes of inputs that wait for workers elsewhere."""
        return self.free // 4

    @property
    def staged_bytes(self) -> int:
        """Most bytes of finished blocks that wait for a commit; LMDB keeps a copy of them while it writes."""
        return min(_MOST_STAGED, self.free // 16)

    def chunk_size(
        self, configurations: int, successors: float, pace: float = 0.0, remote_workers: int = 0,
        least: int = _LEAST_CHUNK,
    ) -> int:  # fmt: skip
        """Return the configurations per chunk of a layer of `configurations` with `successors` each on the average.

        `pace` is the number of seconds per configuration, 0 if unknown; `remote_workers` that of workers elsewhere. A
        chunk has `least` configurations if memory and time allow.
        """
        if self.chunk is not None:
            return self.chunk
        most, chunks = _MOST_CHUNK, self.workers * _CHUNKS_PER_WORKER
        if remote_workers:
            most, chunks = _MOST_REMOTE_CHUNK, remote_workers * _CHUNKS_PER_HELPER
        wanted = max(least, -(-configurations // chunks))
        if pace:
            wanted = min(wanted, int(_MOST_SECONDS / pace))
        # A chunk being expanded holds itself and, twice, its successors; as many results wait to be collected.
        fitting = self.free // 4 // (2 * self.workers * self.key_bytes * (2 + 3 * successors))
        return max(1, min(wanted, most, int(fitting)))

    def range_size(self, configurations: int, pace: float) -> int:
        """Return the configurations per key range of a layer, each of which takes `pace` seconds to expand."""
        if self.chunk is not None:
            return self.chunk
        wanted = max(self.least_range, -(-configurations // (self.workers * _CHUNKS_PER_WORKER)))
        # The blocks of two ranges per worker are read ahead, about a quarter of the keys.
        fitting = self.free // 8 // (2 * self.workers * -(-self.key_bytes // 4))
        return max(1, min(wanted, int(_MOST_SECONDS / pace), fitting))

    @property
    def range_keys(self) -> int:
        """The most successors per key range, duplicates counted, for ranges being merged to fit their memory."""
        # A range being merged holds its successors, the same sorted, the known keys around them, result and code.
        return max(1, min(_MOST_RANGE, self.free // 4 // (3 * self.workers * 5 * self.key_bytes)))


def shares_within(
    memory: int, key_bytes: int, workers: int, chunk: int | None, least: int, resident: int | None = None
) -> Shares:
    """Return the shares of a process that may take `memory` bytes and takes `resident` (default: its present size).

    A layer step gets at least `least` bytes, even beyond `memory`.
    """
    taken = psutil.Process().memory_info().rss if resident is None else resident
    free = memory - max(0, taken - BASE_BYTES) - _MAPPED_BYTES
    return Shares(max(least, free - free // SLACK), workers, key_bytes, chunk)
