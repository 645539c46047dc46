"""Keys of any layout compared, copied and sorted: what kernels share. Wide keys are ordered by their words in turn.

The kernels take batches as `hakoiri.keys.layout` describes them; numba compiles one version for single numbers and one
for rows of words, and drops the branch that does not apply.

Positions of keys in a sorted batch, for many queries: by counted bits if the keys are dense, else by bisection.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import Key, Keys, key_at, layout_of

#: Steps of a sort of few keys, and of how many that tie it is the faster one.
_GAPS, _FEW_TIED = (701, 301, 132, 57, 23, 10, 4, 1), 1000
#: If keys are so many times fewer than others, they are looked up one by one; otherwise both are merged.
_FEW = 32


@jit
def less(keys: Keys, index: int, others: Keys, other: int) -> bool:
    """Return whether ``keys[index] < others[other]``."""
    if keys.ndim == 1:
        return bool(keys[index] < others[other])
    for word in range(keys.shape[1]):
        if keys[index, word] != others[other, word]:
            return bool(keys[index, word] < others[other, word])
    return False


@jit
def equal(keys: Keys, index: int, others: Keys, other: int) -> bool:
    """Return whether ``keys[index] == others[other]``."""
    if keys.ndim == 1:
        return bool(keys[index] == others[other])
    same = True
    for word in range(keys.shape[1]):
        same &= keys[index, word] == others[other, word]
    return bool(same)


@jit
def put(keys: Keys, index: int, others: Keys, other: int) -> None:
    """``keys[index] = others[other]``."""
    if keys.ndim == 1:
        keys[index] = others[other]
    else:
        for word in range(keys.shape[1]):
            keys[index, word] = others[other, word]


@jit
def _increasing(keys: Keys) -> bool:
    increasing = True
    for index in range(1, len(keys)):
        # No early return, so that the loop is vectorised.
        increasing &= less(keys, index - 1, keys, index)
    return increasing


@jit
def _lower_bounds(keys: Keys, wanted: Keys, found: NDArray[np.int64]) -> None:
    for number in range(len(wanted)):
        low = 0
        high = len(keys)
        while low < high:
            middle = (low + high) // 2
            if less(keys, middle, wanted, number):
                low = middle + 1
            else:
                high = middle
        found[number] = low


@jit
def sort_few(rows: Keys, begin: int, end: int, held: Keys) -> None:
    """Sort some keys of a batch in place (Shell, with the gaps of Ciura); `held` is room for one key."""
    for gap in _GAPS:
        for index in range(begin + gap, end):
            put(held, 0, rows, index)
            place = index
            while place >= begin + gap and less(held, 0, rows, place - gap):
                put(rows, place, rows, place - gap)
                place -= gap
            put(rows, place, held, 0)


@jit
def _differing(rows: Keys, found: Keys) -> None:
    """Set the bits of each word in which keys differ."""
    for index in range(len(rows)):
        for word in range(rows.shape[1]):
            found[word] |= rows[index, word] ^ rows[0, word]


@jit
def _tag(rows: Keys, word: int, shift: np.uint64, mask: np.uint64, tags: Keys) -> None:
    """Set for each key its bits from `shift` of a word on, as many as the place of the key, under `mask`, leaves."""
    for index in range(len(rows)):
        bits = rows[index, word] << shift
        if shift and word + 1 < rows.shape[1]:
            bits |= rows[index, word + 1] >> (np.uint64(64) - shift)
        tags[index] = bits & ~mask | np.uint64(index)


@jit
def _in_order(rows: Keys, tags: Keys, mask: np.uint64, ordered: Keys, long: NDArray[np.int64]) -> int:
    """Write rows in the order of sorted tags; sort those of equal tags, but write the ends of long groups of them."""
    begin = 0
    count = 0
    held = np.empty((1, rows.shape[1]), dtype=rows.dtype)
    for index in range(len(rows)):
        put(ordered, index, rows, int(tags[index] & mask))
        if index + 1 < len(rows) and (tags[index] | mask) == (tags[index + 1] | mask):
            continue
        if index - begin >= _FEW_TIED:
            long[count, 0] = begin
            long[count, 1] = index + 1
            count += 1
        elif index > begin:
            sort_few(ordered, begin, index + 1, held)
        begin = index + 1
    return count


def _sorted_rows(rows: Keys) -> Keys:
    """Return wide keys in increasing order."""
    differing = np.zeros(rows.shape[1], dtype=np.uint64)
    _differing(rows, differing)
    if not differing.any():
        return rows.copy()
    word = int(np.flatnonzero(differing)[0])
    shift, mask = 64 - int(differing[word]).bit_length(), np.uint64((1 << len(rows).bit_length()) - 1)
    tags, ordered = np.empty(len(rows), dtype=np.uint64), np.empty_like(rows)
    _tag(rows, word, np.uint64(shift), mask, tags)
    tags.sort()
    long = np.empty((len(rows) // _FEW_TIED + 1, 2), dtype=np.int64)
    for begin, end in long[: _in_order(rows, tags, mask, ordered, long)].tolist():
        ordered[begin:end] = _sorted_rows(ordered[begin:end])
    return ordered


@jit
def _merge_two(keys: Keys, others: Keys, merged: Keys) -> None:
    index = 0
    other = 0
    for place in range(len(merged)):
        if other == len(others) or (index < len(keys) and less(keys, index, others, other)):
            put(merged, place, keys, index)
            index += 1
        else:
            put(merged, place, others, other)
            other += 1


@jit
def _subtract(keys: Keys, known: Keys) -> int:
    """Move the keys of an increasing array that increasing `known` does not hold to its front; return how many."""
    count = 0
    index = 0
    place = 0
    while index < len(keys) and place < len(known):
        put(keys, count, keys, index)
        before = less(keys, index, known, place)
        after = less(known, place, keys, index)
        count += before
        index += not after
        place += not before
    while index < len(keys):
        put(keys, count, keys, index)
        count += 1
        index += 1
    return count


def sort_keys(keys: Keys) -> Keys:
    """The keys in increasing order. A batch of single numbers is sorted in place and returned, one of wide ones copied.

    Wide keys are ordered by numpy's vectorised sort of numbers: the first bits in which keys differ, and the place of
    each. Those that tie are sorted by a kernel; where more than a thousand do, by their next bits.
    """
    if keys.ndim == 1:
        keys.sort()
        return keys
    return _sorted_rows(keys)


def merge_sorted(parts: Sequence[Keys]) -> Keys:
    """The keys of at least one sorted batch, sorted; those that several batches hold come several times."""
    ordered = sorted(parts, key=len)
    merged = ordered[0]
    for part in ordered[1:]:
        longer = layout_of(part).empty(len(merged) + len(part))
        _merge_two(merged, part, longer)
        merged = longer
    return merged


def order_of(keys: Keys) -> NDArray[np.intp]:
    """The indices that put the keys in increasing order; equal keys keep theirs."""
    if keys.ndim == 1:
        return np.argsort(keys, kind="stable")
    return np.lexsort(keys.T[::-1])


def is_increasing(keys: Keys) -> bool:
    """Return whether the keys are strictly increasing."""
    return bool(_increasing(keys))


def lower_bounds(keys: Keys, wanted: Keys) -> NDArray[np.int64]:
    """Return for each of `wanted` the number of `keys`, which must be sorted, that are less."""
    if keys.ndim == 1:
        return np.searchsorted(keys, wanted)
    found = np.empty(len(wanted), dtype=np.int64)
    _lower_bounds(keys, wanted, found)
    return found


def subtract(keys: Keys, known: Keys) -> Keys:
    """Return the keys of one increasing batch that are not in another; overwrites the first."""
    if len(known) > _FEW * len(keys):
        return keys[~members(known, keys)]
    return keys[: _subtract(keys, known)]


def difference(keys: Keys, known: Keys) -> Keys:
    """Return `subtract` of a copy."""
    return subtract(keys.copy(), known)


def members(keys: Keys, wanted: Keys) -> NDArray[np.bool_]:
    """Return for each key of `wanted` whether it is among the sorted `keys`."""
    if not len(keys):
        return np.zeros(len(wanted), dtype=np.bool_)
    places = np.minimum(lower_bounds(keys, wanted), len(keys) - 1)
    return equal_rows(keys[places], wanted)


def equal_rows(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    """Return key by key whether two batches of one length are equal; `others` may also be a batch of one key."""
    same: NDArray[np.bool_] = keys == others
    return same if keys.ndim == 1 else np.all(same, axis=1)


def less_than(keys: Keys, others: Keys) -> NDArray[np.bool_]:
    """Return key by key whether those of the first batch are less than those of another of the same length."""
    if keys.ndim == 1:
        return keys < others
    found = np.zeros(len(keys), dtype=np.bool_)
    for word in reversed(range(keys.shape[1])):
        found = np.where(keys[:, word] == others[:, word], found, keys[:, word] < others[:, word])
    return found


def lesser(keys: Keys, others: Keys) -> Keys:
    """Return key by key the lesser of two batches of one length."""
    less = less_than(others, keys)
    return np.where(less if keys.ndim == 1 else less[:, None], others, keys)


def equal_neighbours(keys: Keys) -> Keys:
    """Return the keys that a sorted batch contains more than once."""
    return np.asarray(keys[1:][equal_rows(keys[1:], keys[:-1])])


def distinct(numbers: NDArray[Any]) -> NDArray[Any]:
    """Each of some integers once, in increasing order.

    By sorting them: numpy's own (2.4) hashes, and takes 8.5 s instead of 0.07 for ten million.
    """
    numbers = np.sort(numbers)
    return np.asarray(numbers[np.append(True, numbers[1:] != numbers[:-1])[: len(numbers)]])


def slice_between(keys: Keys, low: Key, high: Key) -> Keys:
    """The part of a sorted batch with low <= key < high; a view. Both may be one beyond the greatest key."""
    layout = layout_of(keys)
    if low > layout.greatest:
        return keys[:0]
    if high > layout.greatest:
        begin, end = int(lower_bounds(keys, layout.pack([low]))[0]), len(keys)
    else:
        begin, end = (int(place) for place in lower_bounds(keys, layout.pack([low, high])))
    return keys[begin:end]


@jit
def _mask_between(keys: Keys, low: Keys, high: Keys, open_end: bool, found: NDArray[np.bool_]) -> None:
    for index in range(len(keys)):
        found[index] = not less(keys, index, low, 0) and (open_end or less(keys, index, high, 0))


def mask_between(keys: Keys, low: Key, high: Key) -> NDArray[np.bool_]:
    """For each key of a batch in any order whether low <= key < high; `high` may be one beyond the greatest key."""
    layout, found = layout_of(keys), np.empty(len(keys), dtype=np.bool_)
    open_end = high > layout.greatest
    _mask_between(keys, layout.pack([low]), layout.pack([0 if open_end else high]), open_end, found)
    return found


#: Bits take 4 bytes a key where every sixteenth number is one. To look up a move of 852,264 boards takes 2 ns, not 45.
_SPARSEST = 16
_BITS = np.uint64(63)

#: (words, 2): a bit for each key that there is, and how many there are in the words before.
Table = NDArray[np.uint64]


@jit
def _mark(keys: Keys, low: np.uint64, table: Table) -> None:
    for key in keys:
        offset = np.uint64(key) - low
        table[offset >> np.uint64(6), 0] |= np.uint64(1) << (offset & _BITS)
    before = np.uint64(0)
    for word in range(len(table)):
        table[word, 1] = before
        before += np.uint64(popcount(table[word, 0]))


@jit
def _look_up(table: Table, low: np.uint64, wanted: Keys, found: NDArray[np.int64]) -> None:
    for number in range(len(wanted)):
        key = np.uint64(wanted[number])
        offset = key - low if key > low else np.uint64(0)
        word = offset >> np.uint64(6)
        if word >= len(table):
            word, offset = np.uint64(len(table) - 1), _BITS
        lower = table[word, 0] & ((np.uint64(1) << (offset & _BITS)) - np.uint64(1))
        found[number] = table[word, 1] + np.uint64(popcount(lower))


class KeyIndex(NamedTuple):
    """An index for `lower_bounds` of strictly increasing `keys`: a table of them, if that is worth it."""

    keys: Keys
    low: np.uint64
    table: Table

    @classmethod
    def of(cls, keys: Keys) -> "KeyIndex":
        """Takes no more than 4 bytes a key."""
        low, size = np.uint64(0), 0
        if keys.ndim == 1 and len(keys):
            low, last = np.uint64(key_at(keys, 0)), key_at(keys, -1)
            span = last - int(low) + 1
            size = -(-(span + 1) // 64) if span <= _SPARSEST * len(keys) else 0
        table = np.zeros((size, 2), dtype=np.uint64)
        if size:
            _mark(keys, low, table)
        return cls(keys, low, table)

    def lower_bounds(self, wanted: Keys) -> NDArray[np.int64]:
        """Return for each wanted key the number of keys that are less."""
        if not len(self.table):
            return lower_bounds(self.keys, wanted)
        found = np.empty(len(wanted), dtype=np.int64)
        _look_up(self.table, self.low, wanted, found)
        return found
