"""Pancakes: the tables of stacks, and compiled kernels: a batch of keys in, all their successors out.

Keys are those of `puzzles.permutation.pancakes`. To turn over the upper k changes only the digits of the first k
places. For k up to eight the outcome stands in a table of all 8! orders of the upper eight. For more: if u of the upper
k are larger than the pancake at place i, of which e, its digit, stand above it, then it comes to place k-1-i with the
digit u - e.
"""

from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.keys.layout import Keys
from puzzles.keys.permutations import all_orders, pack_places

_Words = NDArray[np.int64]
_Numbers = NDArray[np.uint16]

#: How many upper pancakes have tables: 8! numbers fit in 16 bits.
_TABLE_PANCAKES = 8
#: Keys of burnt pancakes that a kernel processes together.
_BLOCK = 1024


class Tables(NamedTuple):
    """What the kernels know of stacks of n pancakes; m of them, at most eight, have tables.

    `turned` is of shape (m!, m-1): the number of each order of the upper m after turning over 2, 3, ..., m of them.
    `larger` and `digits` have for each such order how many of the m are larger, and how many of these are above, place
    by place in four bits each, place 0 lowest. `worth[k, i]` is what the digit of place i is worth, which turning over
    the upper k brings to place k-1-i.
    """

    turned: _Numbers
    larger: _Words
    digits: _Words
    worth: _Words


@lru_cache(maxsize=4)
def tables_of(n: int) -> Tables:
    """The tables of stacks of n pancakes: a megabyte from n = 8 on."""
    upper = min(n, _TABLE_PANCAKES)
    worth = np.zeros((n + 1, n), dtype=np.int64)
    for k in range(1, n + 1):
        worth[k, :k] = [factorial(k - 1 - place) for place in range(k)]
    numbers = np.arange(factorial(upper))
    turned = np.zeros((len(numbers), upper - 1), dtype=np.uint16)
    for k in range(2, upper + 1):
        larger, digits = all_orders(k)
        before = numbers % factorial(k)
        turned[:, k - 2] = numbers - before + (worth[k, :k] @ (larger - digits))[before]
    larger, digits = all_orders(upper)
    return Tables(turned, pack_places(larger), pack_places(digits), worth)


def turned_sides(n: int) -> _Numbers:
    """Of shape (2**n, n): each `sides` after turning over 1, 2, ..., n."""
    sides = np.arange(1 << n)
    turned = np.empty((1 << n, n), dtype=np.uint16)
    for k in range(1, n + 1):
        upper = sum((~sides >> place & 1) << (k - 1 - place) for place in range(k))
        turned[:, k - 1] = sides >> k << k | upper
    return turned


@jit
def _add_pancake(larger: _Words, digits: _Words, worth: _Words, place: int) -> int:
    """The number of the first `place` + 1 pancakes, turned over; `larger` is brought up to date with the last of them.

    `digits` must have the digits of the places up to `place`; `larger` those of the places before it, counted among
    these alone.
    """
    digit = digits[place]
    larger[place] = digit
    number = np.int64(0)
    for above in range(place):
        larger[above] += larger[above] >= digit
        number += (larger[above] - digits[above]) * worth[place + 1, above]
    return int(number)


@jit
def expand_plain(
    keys: Keys, turned: _Numbers, all_larger: _Words, all_digits: _Words, worth: _Words, n: int, room: Keys
) -> None:
    """Write the successors of all `keys` into `room`, n - 1 for each.

    Fastest where neighbours in the batch have the same lower pancakes.
    """
    upper = turned.shape[1] + 1
    count = np.int64(len(turned))
    larger, digits = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    begin = -count
    at = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        if not 0 <= key - begin < count:
            rest = key // count
            begin = rest * count
            for place in range(upper, n):
                digits[place] = rest % (place + 1)
                rest //= place + 1
        order = key - begin
        for move in range(upper - 1):
            room[at + move] = begin + turned[order, move]
        if n > upper:
            for place in range(upper):
                larger[place] = all_larger[order] >> 4 * place & 15
                digits[place] = all_digits[order] >> 4 * place & 15
            before = order
            for place in range(upper, n):
                before += digits[place] * worth[place + 1, 0]
                room[at + place - 1] = key - before + _add_pancake(larger, digits, worth, place)
        at += n - 1


@jit
def expand_burnt(
    keys: Keys,
    turned: _Numbers,
    all_larger: _Words,
    all_digits: _Words,
    worth: _Words,
    sides: _Numbers,
    n: int,
    room: Keys,
) -> None:
    """Write the successors of all `keys` into `room`, n for each. Neighbours of the same order share the work."""
    orders = np.empty(_BLOCK, dtype=np.uint32)
    found = np.empty(_BLOCK * n, dtype=np.uint32)
    mask = (np.int64(1) << n) - 1
    at = 0
    for begin in range(0, len(keys), _BLOCK):
        end = min(begin + _BLOCK, len(keys))
        count = 0
        for i in range(begin, end):
            order = np.int64(keys[i]) >> n
            if count == 0 or order != np.int64(orders[count - 1]):
                orders[count] = order
                count += 1
        expand_plain(orders[:count], turned, all_larger, all_digits, worth, n, found)
        last = np.int64(-1)
        for i in range(begin, end):
            key = np.int64(keys[i])
            if last < 0 or key >> n != np.int64(orders[last]):
                last += 1
            room[at] = key >> n << n | np.int64(sides[key & mask, 0])
            for move in range(1, n):
                room[at + move] = np.int64(found[last * (n - 1) + move - 1]) << n | np.int64(sides[key & mask, move])
            at += n
