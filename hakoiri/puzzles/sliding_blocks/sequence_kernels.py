"""Sliding blocks: from a key to the pieces on the board and back, by the tables of `puzzles.sliding_blocks.tables`.

When one piece moves, only the symbols from the first to the last cell that it leaves or enters change; the entries
before and after stay the same, which is what makes `recounted` fast.
"""

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit, lowest_bit
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.sliding_blocks.tables import BoardTables, Words

Symbols = NDArray[np.uint8]
_CELLS = 64
#: A number of 64 or 128 bits inside a kernel, as its low and its high word.
Pair = tuple[np.uint64, np.uint64]


@jit
def first_state(before: Words, strides: Words) -> np.uint64:
    """The state in which all symbols are left."""
    return np.uint64(before.shape[1] - len(strides) - 1)


@jit
def get_pair(keys: Keys, index: int) -> Pair:
    """A key as two words."""
    if keys.ndim == 1:
        return np.uint64(keys[index]), np.uint64(0)
    return np.uint64(keys[index, 1]), np.uint64(keys[index, 0])


@jit
def put_pair(keys: Keys, index: int, low: np.uint64, high: np.uint64) -> None:
    """Write a key of two words."""
    if keys.ndim == 1:
        keys[index] = low
    else:
        keys[index, 0] = high
        keys[index, 1] = low


@jit
def plus(keys: Keys, low: np.uint64, high: np.uint64, more_low: np.uint64, more_high: np.uint64) -> Pair:
    """A sum; the type of `keys` says whether the high words matter."""
    total = low + more_low
    if keys.ndim == 1:
        return total, high
    return total, high + more_high + np.uint64(total < low)


@jit
def minus(keys: Keys, low: np.uint64, high: np.uint64, less_low: np.uint64, less_high: np.uint64) -> Pair:
    """A difference; the type of `keys` says whether the high words matter."""
    if keys.ndim == 1:
        return low - less_low, high
    return low - less_low, high - less_high - np.uint64(low < less_low)


@jit
def is_below(keys: Keys, low: np.uint64, high: np.uint64, other_low: np.uint64, other_high: np.uint64) -> bool:
    """A comparison; the type of `keys` says whether the high words matter."""
    if keys.ndim == 1:
        return bool(low < other_low)
    return bool(high < other_high or (high == other_high and low < other_low))


@jit
def entry(keys: Keys, before: Words, place: np.uint64) -> Pair:
    """An entry of the table `before`."""
    if keys.ndim == 1:
        return before[0, place], np.uint64(0)
    return before[0, place], before[1, place]


@jit
def first_symbol(
    keys: Keys, before: Words, state: np.uint64, blank: np.uint64, low: np.uint64, high: np.uint64
) -> np.uint64:
    """The first symbol of the sequence with number (low, high) among those of `state`: without branches."""
    symbol = np.uint64(0)
    for place in range(state + np.uint64(1), state + blank + np.uint64(1)):
        if keys.ndim == 1:
            symbol += np.uint64(before[0, place] <= low)
        else:
            symbol += np.uint64(before[1, place] < high) | (
                np.uint64(before[1, place] == high) & np.uint64(before[0, place] <= low)
            )
    return symbol


@jit
def make_walk() -> Words:
    """Return the array that `walk_pieces` writes to."""
    return np.zeros((_CELLS + 1, 7), dtype=np.uint64)


@jit
def _first_changed(keys: Keys, index: int, walk: Words) -> np.uint64:
    """The first cell at which a key may have another symbol than the key before, whose walk is there; 64 for the first.

    Keys that increase share much of their walks.
    """
    end = np.uint64(_CELLS)
    if index == 0:
        return end
    low, high = get_pair(keys, index)
    before_low, before_high = get_pair(keys, index - 1)
    if is_below(keys, low, high, before_low, before_high):
        return end
    cell: np.uint64 = walk[end, 6]
    previous = walk[cell, 6]
    while previous != end and not is_below(keys, low, high, walk[previous, 4], walk[previous, 5]):
        cell, previous = previous, walk[previous, 6]
    return cell


@jit
def walk_pieces(
    keys: Keys, index: int, tables: BoardTables, symbols: Symbols, walk: Words
) -> tuple[np.uint64, np.uint64]:
    """Set `symbols` to the piece that begins at each cell, the blank elsewhere; return where pieces and blanks begin.

    ``walk[cell]``, where a symbol begins, becomes the state, the free cells and the part of the key before it. Next are
    the least key beyond those with the same symbols up to there, and the cell before. Row 64 is for no cell; it holds
    the whole key, all pieces and all blanks. `symbols` and `walk` must be those of key ``index - 1``, if it exists.
    """
    masks, before, strides, geometry = tables
    one, end = np.uint64(1), np.uint64(_CELLS)
    low, high = get_pair(keys, index)
    blank = np.uint64(len(strides) - 1)
    cell = _first_changed(keys, index, walk)
    state, rest, previous = first_state(before, strides), geometry[0], end
    begun_low, begun_high = np.uint64(0), np.uint64(0)
    pieces, blanks = np.uint64(0), np.uint64(0)
    if cell != end:
        state, rest, previous = walk[cell, 0], walk[cell, 1], walk[cell, 6]
        begun_low, begun_high = walk[cell, 2], walk[cell, 3]
        pieces, blanks = walk[end, 4] & ((one << cell) - one), walk[end, 5] & ((one << cell) - one)
    symbols[np.int64(lowest_bit(rest)) :] = blank
    walk[end, 2], walk[end, 3] = low, high
    low, high = minus(keys, low, high, begun_low, begun_high)
    while rest != 0:
        cell = lowest_bit(rest)
        symbol = first_symbol(keys, before, state, blank, low, high)
        symbols[cell] = symbol
        pieces |= np.uint64(symbol != blank) << cell
        blanks |= np.uint64(symbol == blank) << cell
        next_low, next_high = entry(keys, before, state + symbol + one)
        next_low, next_high = plus(keys, next_low, next_high, begun_low, begun_high)
        walk[cell, 0], walk[cell, 1], walk[cell, 2], walk[cell, 3] = state, rest, begun_low, begun_high
        walk[cell, 4], walk[cell, 5], walk[cell, 6] = next_low, next_high, previous
        less_low, less_high = entry(keys, before, state + symbol)
        low, high = minus(keys, low, high, less_low, less_high)
        begun_low, begun_high = plus(keys, begun_low, begun_high, less_low, less_high)
        state -= strides[symbol]
        rest &= ~masks[symbol, cell]
        previous = cell
    walk[end, 4], walk[end, 5], walk[end, 6] = pieces, blanks, previous
    return pieces, blanks


@jit
def recounted(keys: Keys, index: int, changed: np.uint64, tables: BoardTables, symbols: Symbols, walk: Words) -> Pair:
    """The key with the present `symbols` at and between the `changed` cells, by the walk through key `index`."""
    masks, before, strides, _ = tables
    cell = lowest_bit(changed)
    low, high = walk[cell, 2], walk[cell, 3]
    state, rest = walk[cell, 0], walk[cell, 1]
    # While the first free cell is not beyond the last changed one; nothing free gives the greatest number.
    while (rest & (~rest + np.uint64(1))) - np.uint64(1) < changed:
        cell = lowest_bit(rest)
        symbol = np.uint64(symbols[cell])
        more_low, more_high = entry(keys, before, state + symbol)
        low, high = plus(keys, low, high, more_low, more_high)
        state -= strides[symbol]
        rest &= ~masks[symbol, cell]
    cell = lowest_bit(rest)
    left_low, left_high = get_pair(keys, index)
    left_low, left_high = minus(keys, left_low, left_high, walk[cell, 2], walk[cell, 3])
    return plus(keys, low, high, left_low, left_high)
