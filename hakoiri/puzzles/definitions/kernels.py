"""The kernels of definitions: one for all, driven by tables, so that a definition compiles nothing.

A key is ``outer * size + inner``: the innermost coordinate, within its class, and the mixed number of the others. For
each `outer` met in a batch, what the moves make of it is computed once; so batches in increasing order are fastest.

The innermost coordinate has a table, or is the rank of an order. In a block of 8! ranks the things at all but the first
eight places are fixed. The rank after a move is a sum over pairs of places (`puzzles.permutation.orders`). Two fixed
ones add a constant. One of each adds numbers from four tables of the block, each for two of the eight places. Two free
ones add a number from a table by the order of the eight. Numbers of all moves are neighbours, so they are added as
vectors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import Keys

_Words = NDArray[np.int64]
#: Places whose orders have tables, and their orders.
FREE, FREE_ORDERS = 8, 40_320
#: Keys of a block from which on tables for it pay.
_FEW = 32


class Outer(NamedTuple):
    """The tables of all coordinates but the innermost, the outermost first.

    Coordinate c has `sizes[c]` states in a class; its rows in `after` and `sums` begin at `firsts[c]`: the state within
    its class after each move, and what a state adds to each relation. `moduli` and `pivots` are those of `Coordinates`.
    """

    sizes: _Words
    firsts: _Words
    after: NDArray[np.uint32]
    sums: _Words
    moduli: _Words
    pivots: _Words


class Ranks(NamedTuple):
    """The tables of a ranked coordinate of n places under some moves.

    `sources` has for each move and place where its thing comes from, `targets` the inverse. `things` are the labels in
    increasing order, and `states` the number of their orders. `worth[i]` is i!. The rest is for different things.
    `free[q, move]` is the sum over pairs of free places in order q, and `parities[q]` whether q is odd.
    `kinds[q, pair]` tells how many of the eight are larger at two places each: eight times that of the first, and that
    of the second.
    """

    sources: _Words
    targets: _Words
    things: _Words
    states: int
    worth: _Words
    free: Keys
    kinds: NDArray[np.uint8]
    parities: _Words


class Levels(NamedTuple):
    """The tables of a chain of stabilisers (`chain.Level`): a row of `place` for each level, the others by member.

    The members of level i are those from `firsts[i]` on. `moves` has for each move where it leads each point.
    """

    points: _Words
    sizes: _Words
    firsts: _Words
    place: NDArray[np.int32]
    there: NDArray[np.int32]
    back: NDArray[np.int32]
    moves: NDArray[np.int32]


@jit
def expand_levels(keys: Keys, tables: Levels, room: Keys) -> None:
    """Write the successors of `keys` into `room`: only the images of the points of the levels are computed."""
    points, sizes, firsts, place, there, back, moves = tables
    count, at = len(points), 0
    images, digits, after = (
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
        np.empty(count, dtype=np.int64),
    )
    for index in range(len(keys)):
        number = np.int64(keys[index])
        for level in range(count - 1, -1, -1):
            digits[level] = number % sizes[level]
            number //= sizes[level]
        for level in range(count):
            image = np.int64(there[firsts[level] + digits[level], points[level]])
            for before in range(level - 1, -1, -1):
                if digits[before]:
                    image = np.int64(there[firsts[before] + digits[before], image])
            images[level] = image
        for move in range(len(moves)):
            for level in range(count):
                after[level] = moves[move, images[level]]
            number = np.int64(0)
            for level in range(count):
                digit = np.int64(place[level, after[level]])
                number = number * sizes[level] + digit
                if digit:
                    row = firsts[level] + digit
                    for later in range(level + 1, count):
                        after[later] = back[row, after[later]]
            room[at] = number
            at += 1


@jit
def _move_outer(outer: int | np.int64, tables: Outer, after: _Words) -> int:
    """Set the outer number `after` each move; return the class of the innermost coordinate."""
    sizes, firsts, table, sums, moduli, pivots = tables
    count = len(sizes)
    digits = np.empty(count, dtype=np.int64)
    for number in range(count - 1, -1, -1):
        digits[number] = outer % sizes[number]
        outer //= sizes[number]
    total = np.zeros(len(moduli), dtype=np.int64)
    after[:] = 0
    for number in range(count + 1):
        code = np.int64(0)
        for relation in range(len(moduli)):
            if pivots[relation] == number:
                code = code * moduli[relation] + (-total[relation]) % moduli[relation]
        if number == count:
            return int(code)
        row = firsts[number] + code * sizes[number] + digits[number]
        for relation in range(len(moduli)):
            total[relation] += sums[row, relation]
        for move in range(len(after)):
            after[move] = after[move] * sizes[number] + np.int64(table[row, move])
    return 0


@jit
def expand_tables(keys: Keys, size: int, tables: Outer, inner: NDArray[np.uint32], room: Keys) -> None:
    """Write the successors of `keys` into `room`; the innermost coordinate has the table `inner`."""
    moves = inner.shape[1]
    base, begin = np.empty(moves, dtype=np.int64), np.int64(-1)
    first = np.int64(0)
    for index in range(len(keys)):
        key = np.int64(keys[index])
        if begin < 0 or not 0 <= key - begin < size:
            outer = key // size
            begin = outer * size
            first = np.int64(_move_outer(outer, tables, base)) * size
            base *= size
        row = first + key - begin
        at = index * moves
        for move in range(moves):
            room[at + move] = base[move] + np.int64(inner[row, move])


@jit
def expand_wide(keys: NDArray[np.uint64], size: int, tables: Outer, ranks: Ranks, halved: bool, room: Keys) -> None:
    """As `expand_ranks` for keys of two words, the outer and the inner number."""
    moves = len(ranks.sources)
    base, known = np.empty(moves, dtype=np.int64), np.int64(-1)
    kind = np.int64(0)
    found, order = np.empty(moves, dtype=np.int64), np.empty(ranks.sources.shape[1], dtype=np.int64)
    for index in range(len(keys)):
        outer = np.int64(keys[index, 0])
        if outer != known:
            kind = np.int64(_move_outer(outer, tables, base))
            known = outer
        _expand_one(np.int64(keys[index, 1]), kind, halved, ranks, order, found)
        for move in range(moves):
            room[index * moves + move, 0] = base[move]
            room[index * moves + move, 1] = found[move]


@jit
def expand_ranks(keys: Keys, size: int, tables: Outer, ranks: Ranks, halved: bool, room: Keys) -> None:
    """Write the successors of `keys` into `room`; the innermost coordinate is a rank, or half of it if `halved`."""
    moves, places = ranks.sources.shape
    base, known = np.empty(moves, dtype=np.int64), np.int64(-1)
    kind = np.int64(0)
    found, order = np.empty(moves, dtype=np.int64), np.empty(places, dtype=np.int64)
    per_block = FREE_ORDERS // 2 if halved else FREE_ORDERS
    has_tables = len(ranks.free) > 0
    index = 0
    while index < len(keys):
        key = np.int64(keys[index])
        outer = key // size
        if outer != known:
            kind = np.int64(_move_outer(outer, tables, base))
            base *= size
            known = outer
        inner = key - outer * size
        # The keys of one block that follow each other.
        begin = key - inner % per_block
        end = min(begin + per_block, (outer + 1) * size)
        after = index + 1
        while has_tables and after < len(keys) and begin <= np.int64(keys[after]) < end:
            after += 1
        if after - index >= _FEW:
            block = begin - outer * size
            _expand_block(keys[index:after], begin, block, kind, halved, base, ranks, room[index * moves :])
        else:
            for at in range(index, after):
                _expand_one(np.int64(keys[at]) - outer * size, kind, halved, ranks, order, found)
                for move in range(moves):
                    room[at * moves + move] = base[move] + found[move]
        index = after


@jit
def _read_order(rank: int | np.int64, things: _Words, states: int | np.int64, order: _Words) -> int:
    """Write the order of a rank; return its parity, which means something for different things alone."""
    count = len(things)
    left = things.copy()
    parity = np.int64(0)
    for place in range(count - 1, -1, -1):
        above = rank * (place + 1) // states
        at = place - above
        thing = left[at]
        first, last = at, at
        while first > 0 and left[first - 1] == thing:
            first -= 1
        while last < place and left[last + 1] == thing:
            last += 1
        rank -= states * (place - last) // (place + 1)
        parity += place - last
        states = states * (last - first + 1) // (place + 1)
        order[place] = thing
        for later in range(at, place):
            left[later] = left[later + 1]
    return int(parity & 1)


@jit
def _expand_one(
    number: int | np.int64, kind: int | np.int64, halved: bool, ranks: Ranks, order: _Words, found: _Words
) -> None:
    """Set the number after each move of one order; `kind` is its class, its parity if `halved`."""
    sources, _, things, states, worth, _, _, _ = ranks
    moves, places = sources.shape
    if halved:
        if _read_order(2 * number, things, states, order) != kind:
            _read_order(2 * number + 1, things, states, order)
    else:
        _read_order(number, things, states, order)
    distinct = len(worth) > 0
    for move in range(moves):
        rank = np.int64(0)
        if distinct:
            seen = np.uint64(0)
            for place in range(places):
                thing = np.uint64(order[sources[move, place]])
                rank += np.int64(popcount(seen >> thing)) * worth[place]
                seen |= np.uint64(1) << thing
        else:
            left, number_left = np.zeros(things[-1] + 1, dtype=np.int64), np.int64(states)
            for thing in things:
                left[thing] += 1
            for place in range(places - 1, -1, -1):
                thing = order[sources[move, place]]
                rank += number_left * left[thing + 1 :].sum() // (place + 1)
                number_left = number_left * left[thing] // (place + 1)
                left[thing] -= 1
        found[move] = rank >> 1 if halved else rank


@jit
def _sum_pairs(order: _Words, target: _Words, worth: _Words, above: _Words, worths: Keys) -> int:
    """Return what pairs of fixed places add to the rank after a move; set what pairs with a free one add.

    `above` has how many of the eight are larger than the thing at a fixed place. `worths` is by place and by how many
    of the eight are larger than the thing there.
    """
    places, constant = len(order), np.int64(0)
    for one in range(FREE, places):
        for two in range(FREE, places):
            if target[one] < target[two]:
                constant += (order[one] > order[two]) * worth[target[two]]
    for place in range(FREE):
        for fixed in range(FREE, places):
            before = target[place] < target[fixed]
            begin, end = (0, above[fixed]) if before else (above[fixed], FREE)
            for count in range(begin, end):
                worths[place, count] += worth[target[fixed] if before else target[place]]
    return int(constant)


@jit
def _expand_block(
    keys: Keys, begin: int | np.int64, block: int | np.int64, kind: int | np.int64, halved: bool, base: _Words,
    ranks: Ranks, room: Keys,
) -> None:  # fmt: skip
    """Write the successors of keys of one block, whose first key is `begin` and whose first number is `block`."""
    moves, places = ranks.sources.shape
    free, kinds = ranks.free, ranks.kinds
    order = np.empty(places, dtype=np.int64)
    odd = np.int64(_read_order(2 * block if halved else block, ranks.things, ranks.states, order)) ^ kind
    above = np.zeros(places, dtype=np.int64)
    for fixed in range(FREE, places):
        above[fixed] = (order[:FREE] > order[fixed]).sum()
    worths, starts = np.zeros((FREE, FREE, moves), dtype=free.dtype), base.astype(room.dtype)
    for move in range(moves):
        worths[0, :, move] += free.dtype.type(
            _sum_pairs(order, ranks.targets[move], ranks.worth, above, worths[:, :, move])
        )
    pairs = np.empty((FREE // 2, FREE * FREE, moves), dtype=free.dtype)
    for pair in range(FREE // 2):
        for each in range(FREE * FREE):
            one, two, total = worths[2 * pair, each // FREE], worths[2 * pair + 1, each % FREE], pairs[pair, each]
            for move in range(moves):
                total[move] = one[move] + two[move]
    shift = free.dtype.type(halved)
    for index in range(len(keys)):
        number = np.int64(keys[index]) - begin
        if halved:
            number = 2 * number + (ranks.parities[2 * number] ^ odd)
        here, one, two = free[number], pairs[0, kinds[number, 0]], pairs[1, kinds[number, 1]]
        three, four = pairs[2, kinds[number, 2]], pairs[3, kinds[number, 3]]
        at = index * moves
        for move in range(moves):
            rank = here[move] + one[move] + two[move] + three[move] + four[move]
            room[at + move] = starts[move] + (rank >> shift)
