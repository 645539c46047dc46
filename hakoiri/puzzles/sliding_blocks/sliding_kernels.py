"""Sliding blocks: successors, mirror images and goals of batches of keys."""

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.keys.layout import Counts, Keys, Mask
from hakoiri.puzzles.contract import OVERFLOW
from hakoiri.puzzles.sliding_blocks.boards import MOST_CELLS
from hakoiri.puzzles.sliding_blocks.numbering import (
    BoardTables,
    Words,
    entry,
    first_state,
    first_symbol,
    get_pair,
    is_below,
    make_walk,
    minus,
    plus,
    put_pair,
    recounted,
    walk_pieces,
)

METRICS = ("unit", "straight", "finger")
#: The value for a cell of a goal that may hold anything.
ANY = -1

_UNIT_METRIC, _STRAIGHT_METRIC = 0, 1
_UP, _RIGHT, _DOWN, _LEFT = range(4)

Numbers = NDArray[np.int64]


@jit
def _pushed(mask: np.uint64, direction: int, geometry: Words) -> np.uint64:
    """The cells one step on; what is at the edge is lost or comes in again at the other side."""
    one, columns = np.uint64(1), np.uint64(geometry[1])
    if direction == _UP:
        return mask >> columns
    if direction == _RIGHT:
        return mask << one
    if direction == _DOWN:
        return mask << columns
    return mask >> one


@jit
def _steps(own: np.uint64, free: np.uint64, geometry: Words, edges: Words, symbol: int, found: Words) -> int:
    """Write the cells that one step brings a piece to into `found`; return how many. `free` holds its own cells."""
    count = 0
    for direction in range(4):
        moved = _pushed(own, direction, geometry)
        # Always written, counted if legal: mispredicted branches cost more.
        found[count] = moved
        count += (own & edges[symbol, direction]) | (moved & ~free) == 0
    return count


@jit
def _slides(own: np.uint64, free: np.uint64, geometry: Words, edges: Words, symbol: int, found: Words) -> int:
    """As `_steps`, any length in one direction."""
    count = 0
    for direction in range(4):
        here, moved, edge = own, _pushed(own, direction, geometry), edges[symbol, direction]
        while (here & edge) | (moved & ~free) == 0:
            found[count] = moved
            count += 1
            here, moved = moved, _pushed(moved, direction, geometry)
    return count


@jit
def _ways(own: np.uint64, free: np.uint64, geometry: Words, edges: Words, symbol: int, found: Words) -> int:
    """As `_steps`, any number of them."""
    one = np.uint64(1)
    seen = own & (~own + one)
    here = own
    count = done = 0
    while True:
        for direction in range(4):
            moved = _pushed(here, direction, geometry)
            corner = moved & (~moved + one)
            if (here & edges[symbol, direction]) | (moved & ~free) | (corner & seen) == 0:
                seen |= corner
                found[count] = moved
                count += 1
        if done == count:
            return count
        here = found[done]
        done += 1


@jit
def expand_keys(keys: Keys, metric: int, edges: Words, tables: BoardTables, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` if they do not fit. Metric: 0 unit, 1 straight, 2 finger. `keys` must be configurations.
    """
    masks, _, strides, geometry = tables
    symbols = np.empty(64, dtype=np.uint8)
    walk = make_walk()
    found = np.empty(64, dtype=np.uint64)
    blank = len(strides) - 1
    total = 0
    for i in range(len(keys)):
        pieces, blanks = walk_pieces(keys, i, tables, symbols, walk)
        first = total
        while pieces != 0:
            anchor = lowest_bit(pieces)
            pieces &= pieces - np.uint64(1)
            symbol = symbols[anchor]
            own = masks[symbol, anchor]
            # IMPORTANT: chosen here, where the compiler keeps the three apart: one function for all takes half again.
            if metric == _UNIT_METRIC:
                count = _steps(own, blanks | own, geometry, edges, symbol, found)
            elif metric == _STRAIGHT_METRIC:
                count = _slides(own, blanks | own, geometry, edges, symbol, found)
            else:
                count = _ways(own, blanks | own, geometry, edges, symbol, found)
            if total + count > len(room):
                return OVERFLOW
            symbols[anchor] = blank
            for move in range(count):
                target = lowest_bit(found[move])
                symbols[target] = symbol
                low, high = recounted(keys, i, own | found[move], tables, symbols, walk)
                symbols[target] = blank
                put_pair(room, total, low, high)
                total += 1
            symbols[anchor] = symbol
        counts[i] = total - first
    return total


@jit
def write_images(keys: Keys, images: Words, tables: BoardTables, found: Keys) -> None:
    """Write the image of each key by a symmetry into `found`.

    ``images[symbol, cell]`` is 64 times the symbol of the piece's image, plus the first cell of that.
    """
    symbols, moved = np.empty(64, dtype=np.uint8), np.empty(64, dtype=np.uint8)
    walk = make_walk()
    one = np.uint64(1)
    for i in range(len(keys)):
        pieces, _ = walk_pieces(keys, i, tables, symbols, walk)
        moved[:] = len(tables.strides) - 1
        while pieces != 0:
            cell = lowest_bit(pieces)
            pieces &= pieces - one
            image = images[symbols[cell], cell]
            moved[image & np.uint64(63)] = image >> np.uint64(6)
        low, high = recounted(keys, i, tables.geometry[0], tables, moved, walk)
        put_pair(found, i, low, high)


@jit
def find_goals(keys: Keys, wanted: Numbers, wishes: int, tables: BoardTables, found: Mask) -> None:
    """Write whether each key has the `wanted` symbols, `wishes` in number, at their cells; `ANY` is for any."""
    masks, before, strides, geometry = tables
    blank = np.uint64(len(strides) - 1)
    for i in range(len(keys)):
        low, high = get_pair(keys, i)
        state, rest = first_state(before, strides), geometry[0]
        left = wishes
        while rest != 0 and left != 0:
            cell = lowest_bit(rest)
            symbol = first_symbol(keys, before, state, blank, low, high)
            if wanted[cell] != ANY:
                if wanted[cell] != np.int64(symbol):
                    break
                left -= 1
            less_low, less_high = entry(keys, before, state + symbol)
            low, high = minus(keys, low, high, less_low, less_high)
            state -= strides[symbol]
            rest &= ~masks[symbol, cell]
        found[i] = left == 0


@jit
def find_boards(keys: Keys, tables: BoardTables, found: Mask) -> None:
    """Write whether each key is that of a board: every piece fits into the cells that are free where it begins.

    Symbols are followed until no large piece is left: blanks and single cells always fit. Fast if keys increase, as one
    follows the symbols that the last one has not.
    """
    masks, before, strides, geometry = tables
    blank, one, zero, kinds = np.uint64(len(strides) - 1), np.uint64(1), np.uint64(0), _large_kinds(masks)
    small = strides[kinds - 1] if kinds else first_state(before, strides) + one
    # By depth: states and free cells; the least keys with these symbols, and the least beyond, low and high words.
    stack = np.zeros((6, MOST_CELLS + 1), dtype=np.uint64)
    states, rests, lows, highs, low_ends, high_ends = stack
    states[0], rests[0] = first_state(before, strides), geometry[0]
    low_ends[0], high_ends[0] = entry(keys, before, np.uint64(before.shape[1] - 1))
    depth = zero
    for i in range(len(keys)):
        low, high = get_pair(keys, i)
        while depth != zero and (
            not is_below(keys, low, high, low_ends[depth], high_ends[depth])
            or is_below(keys, low, high, lows[depth], highs[depth])
        ):
            depth -= one
        state, rest, least_low, least_high = states[depth], rests[depth], lows[depth], highs[depth]
        fits = is_below(keys, low, high, low_ends[depth], high_ends[depth])
        while fits and state >= small:
            symbol = first_symbol(keys, before, state, blank, *minus(keys, low, high, least_low, least_high))
            mask = masks[symbol, lowest_bit(rest)]
            fits = mask != zero and mask & ~rest == zero
            if fits:
                depth += one
                low_ends[depth], high_ends[depth] = plus(
                    keys, least_low, least_high, *entry(keys, before, state + symbol + one)
                )
                least_low, least_high = plus(keys, least_low, least_high, *entry(keys, before, state + symbol))
                state -= strides[symbol]
                rest &= ~mask
                states[depth], rests[depth], lows[depth], highs[depth] = state, rest, least_low, least_high
        found[i] = fits


def make_stack(tables: BoardTables) -> Words:
    """Return the first stack of `list_keys`: per depth of its walk the free cells, state, next symbol, and key so
    far.
    """
    stack = np.zeros((MOST_CELLS + 2, 5), dtype=np.uint64)
    stack[0, :2] = tables.geometry[0], first_state(tables.before, tables.strides)
    return stack


@jit
def _is_left(keys: Keys, before: Words, place: np.uint64) -> bool:
    """Return whether any sequence begins with the symbol of this entry."""
    low, high = entry(keys, before, place)
    more_low, more_high = entry(keys, before, place + np.uint64(1))
    left: bool = low != more_low or high != more_high
    return left


@jit
def _large_kinds(masks: Words) -> int:
    """Return the number of kinds with more than one cell; they come first."""
    large = 0
    for symbol in range(len(masks)):
        for cell in range(MOST_CELLS):
            if masks[symbol, cell] & (masks[symbol, cell] - np.uint64(1)) != 0:
                large = symbol + 1
    return large


@jit
def _can_be_filled(keys: Keys, rest: np.uint64, state: np.uint64, large: Words, before: Words) -> bool:
    """Return whether each kind of large pieces left has at least one place among the free cells."""
    for symbol in range(len(large)):
        free = rest * np.uint64(_is_left(keys, before, state + np.uint64(symbol)))
        while free != 0:
            mask = large[symbol, lowest_bit(free)]
            if mask != 0 and mask & ~rest == 0:
                break
            free &= free - np.uint64(1)
            if free == 0:
                return False
    return True


@jit
def list_keys(stack: Words, tables: BoardTables, room: Keys) -> int:
    """Continue listing all configurations in increasing order until `room` is full; return the number written.

    The stack of `make_stack` holds the state of the walk; its last row has the depth.
    """
    masks, before, strides, _ = tables
    one, large = np.uint64(1), masks[: _large_kinds(masks)]
    count = 0
    depth = np.int64(stack[-1, 0])
    while depth >= 0 and count < len(room):
        rest, state, symbol = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        cell, left = lowest_bit(rest), rest
        while symbol < len(strides) and left == rest:
            mask = masks[symbol, cell]
            fits = _is_left(room, before, state + symbol) and mask != 0 and mask & ~rest == 0
            if fits and _can_be_filled(room, rest & ~mask, state - strides[symbol], large, before):
                left = rest & ~mask
            symbol += one
        if left == rest:
            depth -= 1
            continue
        stack[depth, 2] = symbol
        symbol -= one
        more_low, more_high = entry(room, before, state + symbol)
        low, high = plus(room, stack[depth, 3], stack[depth, 4], more_low, more_high)
        if left & (left - one) == 0:
            # A cell that is left is for the piece that is left: of that there is one sequence, number 0.
            put_pair(room, count, low, high)
            count += 1
            continue
        depth += 1
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = left, state - strides[symbol], 0
        stack[depth, 3], stack[depth, 4] = low, high
    stack[-1, 0] = depth
    return count
