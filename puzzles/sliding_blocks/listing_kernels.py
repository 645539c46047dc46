"""Sliding blocks: all configurations in increasing order, by a walk over the cells that may stop anywhere."""

import numpy as np

from puzzles.jit import jit
from puzzles.keys.bits import lowest_bit
from puzzles.keys.layout import Keys
from puzzles.sliding_blocks.boards import MOST_CELLS
from puzzles.sliding_blocks.sequence_kernels import entry, first_state, plus, put_pair
from puzzles.sliding_blocks.tables import Tables, Words


def make_stack(tables: Tables) -> Words:
    """Where `list_keys` begins: per depth of its walk the free cells, the state, the next symbol and the key so far."""
    stack = np.zeros((MOST_CELLS + 2, 5), dtype=np.uint64)
    stack[0, :2] = tables.geometry[0], first_state(tables.before, tables.strides)
    return stack


@jit
def _is_left(before: Words, place: np.uint64) -> bool:
    """Whether any sequence begins with the symbol of this entry."""
    found = False
    for word in range(len(before)):
        found |= before[word, place] != before[word, place + np.uint64(1)]
    return found


@jit
def _can_be_filled(rest: np.uint64, state: np.uint64, masks: Words, before: Words) -> bool:
    """Whether each kind of piece that is left has at least one place among the free cells."""
    for symbol in range(len(masks) - 1):
        if _is_left(before, state + np.uint64(symbol)):
            cell = 63
            while cell >= 0 and (masks[symbol, cell] == 0 or masks[symbol, cell] & ~rest != 0):
                cell -= 1
            if cell < 0:
                return False
    return True


@jit
def list_keys(stack: Words, masks: Words, before: Words, strides: Words, room: Keys) -> int:
    """Go on listing all configurations in increasing order until `room` is full; return how many were written.

    The stack of `make_stack` holds where the walk stands; its last row has the depth.
    """
    count = 0
    depth = np.int64(stack[-1, 0])
    while depth >= 0 and count < len(room):
        rest, state, symbol = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        low, high = stack[depth, 3], stack[depth, 4]
        if rest == 0:
            put_pair(room, count, low, high)
            count += 1
        if rest == 0 or symbol == len(strides):
            depth -= 1
            continue
        stack[depth, 2] = symbol + np.uint64(1)
        mask = masks[symbol, lowest_bit(rest)]
        if mask == 0 or mask & ~rest != 0 or not _is_left(before, state + symbol):
            continue
        rest &= ~mask
        if _can_be_filled(rest, state - strides[symbol], masks, before):
            more_low, more_high = entry(room, before, state + symbol)
            low, high = plus(room, low, high, more_low, more_high)
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = rest, state - strides[symbol], 0
            stack[depth, 3], stack[depth, 4] = low, high
    stack[-1, 0] = depth
    return count
