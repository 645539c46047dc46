"""Pancakes: a stack of n different sizes, put in order by turning over the upper ones; plain, or burnt on one side.

A text names the pancakes from the top one down by their sizes, 1 the smallest: ``3 1 2``, or ``3,1,2``. A burnt
pancake with its burnt side up has a minus: ``3 -1 2``.

The key of a plain stack is the number of its order (`puzzles.permutation.orders`). That of a burnt one is
``number << n | sides``, where bit i of `sides` tells whether the pancake at place i, counted from the top, has its
burnt side up. Both count the configurations without a gap, and the ordered stack is 0.
"""

from abc import abstractmethod
from functools import lru_cache, partial
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit, popcount, prefetch
from hakoiri.keys.layout import Key, Keys
from hakoiri.keys.splitmix import mix
from hakoiri.puzzles.contract import BitKernel, Expansion, Numbered
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.permutation.orders import all_orders, draw_stack, number_of, order_of, pack_places
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import numbers_in

#: The sizes from the top down, negative with the burnt side up.
Stack = list[int]
_Words = NDArray[np.int64]
_Numbers = NDArray[np.uint16]
_Masks = NDArray[np.uint64]
#: The number of upper pancakes that have tables: 8! numbers fit in 16 bits.
_TABLE_PANCAKES = 8
#: The orders of the upper eight: a block of bits. Sums are tabled from the second number in a block on: 1,000 orders of
#: eleven pancakes take 35 us so, 999 take 31 us without.
_BLOCK_ORDERS, _FEW = 40_320, 1_000
#: The keys whose marks are fetched into the cache before any is set: depths of 12 pancakes take half the time so.
_WAITING = 128
#: With fewer pancakes the kernel for bitmaps saves less than its tables take.
_LEAST_SPREAD = 10
#: With fewer burnt pancakes the sides of an order take less than a word.
_LEAST_SIDES = 6
#: Orders of burnt pancakes that a kernel processes together.
_BLOCK = 1024
#: The most pancakes whose numbers fit in 63 bits, as the kernels need.
_MOST_PLAIN, _MOST_BURNT = 20, 16


class _Stacks(Numbered):
    """The base of both puzzles. A move reverses the upper `least` pancakes, or more."""

    size_options = ("n",)

    undirected = paired = True
    # The moves do not depend on the names of the sizes, so any stack can be called the ordered one.
    vertex_transitive = True
    least: int

    def prepare(self, start: str | None) -> None:
        self.n: int = self.parameters["n"]
        self.most_successors = self.n + 1 - self.least
        self.number(factorial(self.n) << (self.n if self.least == 1 else 0))
        self._tables = tables_of(self.n)

    @abstractmethod
    def unpack(self, key: Key) -> Stack:
        """The stack of a key."""

    @abstractmethod
    def pack(self, stack: Stack) -> Key:
        """The key of a stack."""

    @abstractmethod
    def _turned(self, upper: Stack) -> Stack:
        """The upper pancakes after they have been turned over."""

    def successors(self, key: Key) -> list[Key]:
        stack = self.unpack(key)
        return [self.pack(self._turned(stack[:k]) + stack[k:]) for k in range(self.least, self.n + 1)]

    def parse_text(self, text: str) -> Key:
        return self.pack(numbers_in(text, self.n, "pancake", form=", from the top one down", signed=self.least == 1))

    def render(self, key: Key) -> str:
        return " ".join(map(str, self.unpack(key)))

    def describe_move(self, before: Key, after: Key) -> str:
        """Return the number of pancakes turned over, e.g. ``"reverse 3"``."""
        pairs = enumerate(zip(self.unpack(before), self.unpack(after), strict=True), 1)
        return f"reverse {max(place for place, (old, new) in pairs if old != new)}"

    def pictures(self, path: list[Key]) -> list[Picture]:
        return [draw_stack(self.unpack(key), self.least == 1) for key in path]


class Pancakes(_Stacks):
    """Option `n`: the pancakes of the stack. A move turns over two or more: turning over one changes nothing."""

    name = "pancakes"
    summary = "a stack of pancakes: any number of upper ones is turned over at once (prefix reversals)"
    options = {"n": Number(8, 2, _MOST_PLAIN)}
    least = 2

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        expand_plain(keys, self._tables, self.n, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    @property
    def spread(self) -> BitKernel | None:
        """The kernel for bitmaps, from ten pancakes on."""
        if self.n < _LEAST_SPREAD:
            return None
        worth, n = self._tables.worth, self.n

        def write(words: _Masks, base: Key, marks: _Masks, sums: bool) -> int:
            return int(spread_plain(words, base, spread_tables(), worth, n, marks, sums))

        return BitKernel(partial(write, sums=True), _BLOCK_ORDERS, True, partial(write, sums=False))

    def unpack(self, key: Key) -> Stack:
        return [size + 1 for size in order_of(key, range(self.n))]

    def pack(self, stack: Stack) -> Key:
        return number_of(stack)

    def _turned(self, upper: Stack) -> Stack:
        return upper[::-1]


class SpreadTables(NamedTuple):
    """The tables of `spread_plain`, for bitmaps of 8! orders of the upper eight pancakes in a block.

    `small[j, byte]` has the 120 bits, in two words, that turning over 2 to 5 makes of the `byte` at place j of the 15
    that five pancakes take. `turned` has the order after turning over 6, 7, 8. `halves` has for each order the kind of
    its first four pancakes and of its last four. `larger` and `digits`, by place and kind, are those of a kind.
    """

    small: _Masks
    turned: _Numbers
    halves: _Numbers
    larger: _Words
    digits: _Words


@lru_cache(maxsize=1)
def spread_tables() -> SpreadTables:
    """Return the tables, of 680 kB; to make them takes 17 ms."""
    turned = tables_of(_TABLE_PANCAKES).turned
    small = np.zeros((15, 256, 2), dtype=np.uint64)
    for order in range(120):
        found = 0
        for move in range(4):
            found |= 1 << int(turned[order, move])
        place, bit = divmod(order, 8)
        bytes_with = np.flatnonzero(np.arange(256) >> bit & 1)
        small[place, bytes_with, 0] |= np.uint64(found & 0xFFFFFFFFFFFFFFFF)
        small[place, bytes_with, 1] |= np.uint64(found >> 64)
    larger, digits = all_orders(_TABLE_PANCAKES)
    halves, both = np.empty((len(turned), 2), dtype=np.uint16), list[tuple[_Words, _Words]]()
    for half, places in enumerate((slice(0, 4), slice(4, 8))):
        packed = pack_places(larger[places]) << 16 | pack_places(digits[places])
        _, first, numbers = np.unique(packed, return_index=True, return_inverse=True)
        halves[:, half] = numbers
        both.append((larger[places][:, first], digits[places][:, first]))
    larger, digits = (np.ascontiguousarray(np.concatenate(each)) for each in zip(*both, strict=True))
    return SpreadTables(small, np.ascontiguousarray(turned[:, 4:]), halves, larger, digits)


@jit
def _spread_small(upper: NDArray[np.uint8], small: _Masks, marks: NDArray[np.uint8]) -> None:
    """Turn over 2 to 5 of the orders in some bytes: all of the upper five pancakes in 15 bytes."""
    for begin in range(0, len(upper), 15):
        low = np.uint64(0)
        high = np.uint64(0)
        for place in range(15):
            byte = upper[begin + place]
            if byte != 0:
                low |= small[place, byte, 0]
                high |= small[place, byte, 1]
        for place in range(8):
            marks[begin + place] |= np.uint8(low >> np.uint64(8 * place) & np.uint64(255))
        for place in range(7):
            marks[begin + 8 + place] |= np.uint8(high >> np.uint64(8 * place) & np.uint64(255))


@jit
def _half(tables: SpreadTables, half: int, kind: int, exceed: _Words, worth: _Words) -> int:
    """Return what a half of the upper eight adds; `exceed` (`_sum_lower`) and `worth` are those of one k."""
    total = np.int64(0)
    for place in range(4 * half, 4 * half + 4):
        total += (exceed[tables.larger[place, kind]] - tables.digits[place, kind]) * worth[place]
    return int(total)


@jit
def _sum_lower(begin: int, worth: _Words, n: int, exceed: _Words, constant: _Words) -> None:
    """Set what all but the upper eight add for turning over each k > 8 in the block from `begin`; see `spread_plain`.

    `exceed` gets the number of the k that are larger than a pancake, by the number of the upper eight that are.
    """
    above = np.zeros(n, dtype=np.int64)
    own = np.int64(_BLOCK_ORDERS)
    rest = begin // own
    for place in range(8, n):
        above[place] = rest % (place + 1)
        rest //= place + 1
    for move in range(n - 8):
        k = move + 9
        own *= k
        constant[move] = begin // own * own
        for place in range(k):
            larger = above[place] if place >= 8 else np.int64(place)
            for later in range(max(place + 1, 8), k):
                larger += larger >= above[later]
            if place >= 8:
                constant[move] += (larger - above[place]) * worth[k, place]
            else:
                exceed[move, place] = larger


@jit
def _set_all(keys: _Words, marks: _Masks) -> None:
    for key in keys:
        marks[key >> 6] |= np.uint64(1) << np.uint64(key & 63)


@jit
def _spread_block(
    words: _Masks, begin: int, tables: SpreadTables, worth: _Words, n: int, filled: int, marks: _Masks, sums_flow: bool
) -> np.uint64:
    """Turn over more than five of the `filled` orders in a block; return the flow if it is summed."""
    flow = np.uint64(filled * (8 - n)) * mix(np.uint64(begin // _BLOCK_ORDERS + 1))
    exceed, constant = np.zeros((n - 8, 8), dtype=np.int64), np.zeros(n - 8, dtype=np.int64)
    _sum_lower(begin, worth, n, exceed, constant)
    is_tabled = filled >= _FEW
    sums = np.zeros((n - 8, 2, tables.larger.shape[1] * is_tabled), dtype=np.int64)
    for move in range(n - 8):
        for half in range(2):
            for kind in range(sums.shape[2]):
                sums[move, half, kind] = _half(tables, half, kind, exceed[move], worth[move + 9])
    waiting, count = np.empty(_WAITING + 64 * (n - 8), dtype=np.int64), np.int64(0)
    for index in range(len(words)):
        word = words[index]
        while word != np.uint64(0):
            order = np.int64(64 * index) + np.int64(lowest_bit(word))
            word &= word - np.uint64(1)
            for move in range(3):
                key = begin + tables.turned[order, move]
                marks[key >> 6] |= np.uint64(1) << np.uint64(key & 63)
            one, two = tables.halves[order, 0], tables.halves[order, 1]
            for move in range(n - 8):
                if is_tabled:
                    key = constant[move] + sums[move, 0, one] + sums[move, 1, two]
                else:
                    key = constant[move] + _half(tables, 0, int(one), exceed[move], worth[move + 9])
                    key += _half(tables, 1, int(two), exceed[move], worth[move + 9])
                prefetch(marks, key >> 6)
                waiting[count] = key
                count += 1
                if sums_flow:
                    flow += mix(np.uint64(key) // np.uint64(_BLOCK_ORDERS) + np.uint64(1))
        if count >= _WAITING:
            _set_all(waiting[:count], marks)
            count = np.int64(0)
    _set_all(waiting[:count], marks)
    return flow


@jit
def spread_plain(
    words: _Masks, base: int, tables: SpreadTables, worth: _Words, n: int, marks: _Masks, sums_flow: bool
) -> int:
    """Set the successors of the bits of `words`, blocks of 8! orders of which the first begins at `base`, in `marks`.

    Turning over k > 8 changes the number of the upper k. Each pancake adds to it what depends on how many of the k are
    larger, and how many of these are above it. Within a block that is a sum over the two halves of the upper eight.
    Return the flow (`BitKernel`) if it `sums_flow`; else the number has no meaning.
    """
    flow = np.uint64(0)
    size = _BLOCK_ORDERS // 64
    sources, targets = words.view(np.uint8), marks.view(np.uint8)
    for block in range(len(words) // size):
        some = words[block * size : (block + 1) * size]
        filled = np.uint64(0)
        for index in range(size):
            filled += popcount(some[index])
        if filled != np.uint64(0):
            begin = base + block * _BLOCK_ORDERS
            upper, found = sources[block * size * 8 :][: size * 8], targets[begin // 8 :][: size * 8]
            _spread_small(upper, tables.small, found)
            flow += _spread_block(some, begin, tables, worth, n, int(filled), marks, sums_flow)
    return int(flow)


class BurntPancakes(_Stacks):
    """Option `n`: the pancakes of the stack. A move turns over one or more, which show the other side."""

    name = "burnt-pancakes"
    summary = "a stack of pancakes, each burnt on one side, which must be down in the end"
    options = {"n": Number(5, 1, _MOST_BURNT)}
    least = 1

    def prepare(self, start: str | None) -> None:
        super().prepare(start)
        # Each `sides` after turning over 1, 2, ..., n.
        sides = np.arange(1 << self.n)
        self._sides = np.empty((1 << self.n, self.n), dtype=np.uint16)
        for k in range(1, self.n + 1):
            upper = sum((~sides >> place & 1) << (k - 1 - place) for place in range(k))
            self._sides[:, k - 1] = sides >> k << k | upper

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        expand_burnt(keys, self._tables, self._sides, self.n, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    @property
    def spread(self) -> BitKernel | None:
        """The kernel for bitmaps, where the sides of an order fill words."""
        if self.n < _LEAST_SIDES:
            return None
        tables, sides, n = self._tables, np.ascontiguousarray(self._sides.T), self.n
        return BitKernel(lambda words, base, marks: spread_burnt(words, base, tables, sides, n, marks), 1 << n)

    def unpack(self, key: Key) -> Stack:
        order = order_of(key >> self.n, range(self.n))
        return [-size - 1 if key >> place & 1 else size + 1 for place, size in enumerate(order)]

    def pack(self, stack: Stack) -> Key:
        sides = sum(1 << place for place, size in enumerate(stack) if size < 0)
        return number_of([abs(size) for size in stack]) << self.n | sides

    def _turned(self, upper: Stack) -> Stack:
        return [-size for size in reversed(upper)]


class PancakeTables(NamedTuple):
    """The tables of the kernels for stacks of n pancakes; m of them, at most eight, have tables.

    To turn over the upper k changes only the digits of the first k places. For k up to m the outcome stands in a table.
    For more: let u of the upper k be larger than the pancake at place i, and let e of these, its digit, stand above it.
    Then the pancake comes to place k-1-i with the digit u - e.

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
def tables_of(n: int) -> PancakeTables:
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
    return PancakeTables(turned, pack_places(larger), pack_places(digits), worth)


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
def expand_plain(keys: Keys, tables: PancakeTables, n: int, room: Keys) -> None:
    """Write the successors of all `keys` into `room`, n - 1 for each.

    Fastest where neighbours in the batch have the same lower pancakes.
    """
    turned, all_larger, all_digits, worth = tables
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
def expand_burnt(keys: Keys, tables: PancakeTables, sides: _Numbers, n: int, room: Keys) -> None:
    """Write the successors of all `keys` into `room`, n for each. Neighbours of the same order share the work."""
    orders = np.empty(_BLOCK, dtype=np.uint64)
    found = np.empty(_BLOCK * n, dtype=np.uint64)
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
        expand_plain(orders[:count], tables, n, found)
        last = np.int64(-1)
        for i in range(begin, end):
            key = np.int64(keys[i])
            if last < 0 or key >> n != np.int64(orders[last]):
                last += 1
            room[at] = key >> n << n | np.int64(sides[key & mask, 0])
            for move in range(1, n):
                room[at + move] = np.int64(found[last * (n - 1) + move - 1]) << n | np.int64(sides[key & mask, move])
            at += n


@jit
def spread_burnt(words: _Masks, base: int, tables: PancakeTables, sides: _Numbers, n: int, marks: _Masks) -> None:
    """Set the successors of the bits of `words`, of which the first is key `base`, in `marks`.

    The 2**n sides of an order are neighbours, and turning over k pancakes takes all of them to one other order. There
    `sides[k - 1]` tells the place of each.
    """
    size = np.int64(1) << n >> 6
    orders, found = np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK * n, dtype=np.uint64)
    places = np.empty(1 << n, dtype=np.uint16)
    first = np.int64(0)
    while first < len(words):
        count = 0
        while first < len(words) and count < _BLOCK:
            for word in range(first, first + size):
                if words[word] != np.uint64(0):
                    orders[count] = (base >> n) + first // size
                    count += 1
                    break
            first += size
        expand_plain(orders[:count], tables, n, found)
        for index in range(count):
            own = np.int64(orders[index])
            some = _list_places(words[own * size - (base >> 6) :][:size], places)
            # Fetch the marks of the next order's successors.
            for move in range(n - 1 if index + 1 < count else 0):
                following = np.int64(found[(index + 1) * (n - 1) + move]) * size
                for word in range(0, size, 8):
                    prefetch(marks, following + word)
            for move in range(n):
                target = (np.int64(found[index * (n - 1) + move - 1]) if move else own) * size
                for place in range(some):
                    side = np.int64(sides[move, places[place]])
                    marks[target + (side >> 6)] |= np.uint64(1) << np.uint64(side & 63)


@jit
def _list_places(words: _Masks, places: _Numbers) -> int:
    """Write the places of the bits of `words`; return their number."""
    count = 0
    for index in range(len(words)):
        word = words[index]
        while word != np.uint64(0):
            places[count] = 64 * index + np.int64(lowest_bit(word))
            word &= word - np.uint64(1)
            count += 1
    return count
