"""The key space cut into ranges, so that each can be merged by itself: which range a key belongs to, and its bounds.

A key's *cell* is the key shifted right, less a base, kept within 0 and the number of cells less one; a table gives the
range of each cell. So finding a range is one look-up, and ranges are cut where cells are.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, ints
from hakoiri.worker.errors import PayloadError

#: A table of 2^13 cells of two bytes stays in the first-level cache.
_CELL_BITS = 13
_MOST_RANGES = 1 << 12
_WORD_BITS = 64
#: No key has more bits.
_MOST_SHIFT = 256
#: Most bits of the number of a cell before its base is subtracted.
_CELL_NUMBER_BITS = 62


@dataclass(frozen=True)
class Partition:
    """Ranges of keys: range r holds the cells ``cuts[r - 1] <= cell < cuts[r]``; the outer ones are open."""

    base: int
    shift: int
    cuts: tuple[int, ...]

    @property
    def ranges(self) -> int:
        return len(self.cuts) + 1

    def bounds(self, number: int, layout: Layout) -> tuple[Key, Key]:
        """The keys of a range: low <= key < high."""
        low = 0 if number == 0 else (self.base + self.cuts[number - 1]) << self.shift
        high = layout.greatest + 1 if number == len(self.cuts) else (self.base + self.cuts[number]) << self.shift
        return low, high

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """[base, shift, the range of each cell...]: what the kernels take."""
        cells = np.arange(1 << _CELL_BITS)
        ranges = np.searchsorted(np.array(self.cuts, dtype=np.int64), cells, side="right")
        return np.concatenate([np.array([self.base, self.shift], dtype=np.int64), ranges])

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """As they are sent to workers: the base, the shift, the cuts."""
        return np.array([self.base, self.shift, *self.cuts], dtype=np.int64)

    @classmethod
    def of_numbers(cls, numbers: NDArray[np.int64]) -> "Partition":
        """The inverse; `PayloadError` for numbers that cut no keys."""
        base, shift, *cuts = numbers.tolist() if len(numbers) > 1 else (-1, 0)
        cells = pairwise([0, *cuts, 1 << _CELL_BITS])
        fits = 0 <= base < 1 << _CELL_NUMBER_BITS and 0 <= shift < _MOST_SHIFT
        if not fits or any(cut >= following for cut, following in cells):
            raise PayloadError("ranges are not readable: their cuts do not increase")
        return cls(base, shift, tuple(cuts))

    def as_dict(self) -> dict[str, Any]:
        return {"base": self.base, "shift": self.shift, "cuts": list(self.cuts)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "Partition":
        return cls(fields["base"], fields["shift"], tuple(fields["cuts"]))


def partition_by(sample: Keys, ranges: int) -> Partition:
    """About `ranges` ranges of about equally many keys each, if the keys are distributed as in the sorted `sample`."""
    values = ints(sample[[0, -1]])
    least, span = values[0], values[-1] - values[0]
    shift = max(0, span.bit_length() - _CELL_BITS, values[-1].bit_length() - _CELL_NUMBER_BITS)
    # The first cell may be cut by the least key, so the span may reach one cell more.
    shift += (values[-1] >> shift) - (least >> shift) >= 1 << _CELL_BITS
    base = least >> shift
    if sample.ndim == 1:
        cells = (sample.astype(np.uint64) >> np.uint64(shift)).astype(np.int64) - base
    else:
        cells = np.array([(value >> shift) - base for value in ints(sample)], dtype=np.int64)
    ranges = min(ranges, _MOST_RANGES)
    wanted = cells[(np.arange(1, ranges) * len(cells)) // ranges]
    return Partition(base, shift, tuple(int(cut) for cut in np.unique(wanted[wanted > 0])))


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
def _count(keys: Keys, table: NDArray[np.int64], places: NDArray[np.uint16], ends: NDArray[np.int64]) -> None:
    most = len(table) - 3
    base = table[0]
    shift = table[1]
    for index in range(len(keys)):
        number = table[2 + _cell(keys, index, base, shift, most)]
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
    ranges = int(table[2:].max()) + 1
    places = np.empty(len(keys), dtype=np.uint16)
    ends = np.zeros(ranges, dtype=np.int64)
    _count(keys, table, places, ends)
    np.cumsum(ends, out=ends)
    nexts = np.zeros(ranges, dtype=np.int64)
    nexts[1:] = ends[:-1]
    ordered = np.empty_like(keys)
    _scatter(keys, places, nexts, ordered)
    return ordered, ends
