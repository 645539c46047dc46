"""Sliding blocks: the numbering of all sequences of pieces, and compiled kernels over batches of such numbers.

A configuration is a sequence of symbols: go through the cells in reading order, skip walls and what a piece before
covers, and write down what begins at the cell, a blank or a kind of piece. The sequence says where everything stands,
and pieces of equal shape are one symbol, so it is unique. Its key is its number among all sequences of the same
symbols in lexicographic order; most of them are no configurations, because a piece would not fit.

`before` tells the number at once: ``before[0, state + s]`` counts the sequences of the symbols that are left whose
first symbol is less than s, so a key is a sum of one entry per symbol. A state stands for how many symbols of each
kind are left, read as a number of mixed radix: taking symbol s lowers it by ``strides[s]``.

When one piece moves, only the symbols from the first to the last cell that it leaves or enters change; the entries
before and after stay the same, which is what makes `expand_keys` fast.

A set of cells is a mask of 64 bits. Every table is an argument, so one compiled kernel serves all boards.
"""

from collections.abc import Sequence
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from puzzles.errors import PuzzleError
from puzzles.jit import jit
from puzzles.keys.bits import lowest_bit
from puzzles.keys.layout import Counts, Keys, Mask
from puzzles.sliding_blocks.boards import MOST_CELLS, Cell, Cells

METRICS = ("unit", "straight", "finger")
#: What `expand_keys` returns where the room does not suffice.
OVERFLOW = -1
#: What is wanted at a cell of a goal that may hold anything.
ANY = -1

_UNIT_METRIC, _STRAIGHT_METRIC = 0, 1
_UP, _RIGHT, _DOWN, _LEFT = range(4)
#: No table has more numbers of 64 bits: 128 MiB.
_MOST_ENTRIES = 1 << 24
_WORD = (1 << 64) - 1

Words = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Symbols = NDArray[np.uint8]
#: A number of 64 or 128 bits inside a kernel, as its low and its high word.
Pair = tuple[np.uint64, np.uint64]


class Tables(NamedTuple):
    """What the kernels know of a board. The last symbol is the blank."""

    #: (symbols, 64): the cells of a piece by its first cell; 0 where it does not fit on the board.
    masks: Words
    #: (words of a key, states): the low word first. A state has an entry per symbol and one for all its sequences.
    before: Words
    #: (symbols,)
    strides: Words
    #: All cells that are no walls, the cells per row, and the cells at the upper, right, lower and left edge.
    geometry: Words


def make_tables(
    places: Sequence[Sequence[Cells]], counts: Sequence[int], walls: Cells, rows: int, columns: int
) -> Tables:
    """Tables of a board where symbol s has the `places[s]` and stands there `counts[s]` times.

    `PuzzleError` if the pieces have so many shapes that the tables would be out of all proportion.
    """
    masks = np.zeros((len(places), MOST_CELLS), dtype=np.uint64)
    for symbol, standing in enumerate(places):
        for cells in standing:
            masks[symbol, min(cells)] = mask_of(cells)
    board = range(rows * columns)
    edges = (
        [cell for cell in board if cell < columns],
        [cell for cell in board if cell % columns == columns - 1],
        [cell for cell in board if cell >= (rows - 1) * columns],
        [cell for cell in board if cell % columns == 0],
    )
    # Nobody steps out of a single row of 64, so how far that would be does not matter; a shift by 64 is undefined.
    geometry = [mask_of(set(board) - walls), columns % MOST_CELLS, *map(mask_of, edges)]
    strides = [prod(count + 1 for count in counts[symbol + 1 :]) for symbol in range(len(counts))]
    before = _count_sequences(counts, strides)
    scaled = np.array(strides, dtype=np.uint64) * np.uint64(len(counts) + 1)
    return Tables(masks, before, scaled, np.array(geometry, dtype=np.uint64))


def mask_of(cells: Sequence[Cell] | Cells | set[Cell]) -> int:
    """A set of cells as a number."""
    return sum(1 << cell for cell in cells)


def _count_sequences(counts: Sequence[int], strides: Sequence[int]) -> Words:
    entries = prod(count + 1 for count in counts) * (len(counts) + 1) * 2
    if entries > _MOST_ENTRIES:
        megabytes = entries * 8 >> 20
        raise PuzzleError(
            f"the pieces have too many different shapes: tables of up to {megabytes:,} MiB, allowed are "
            f"{_MOST_ENTRIES * 8 >> 20}; use fewer kinds of pieces"
        )
    # The sequences of each state: symbol after symbol, choose the places of its pieces among the symbols so far.
    states = [(0, 1)]
    for count in counts:
        states = [(n + more, ways * comb(n + more, more)) for n, ways in states for more in range(count + 1)]
    words = 1 if states[-1][1] <= _WORD + 1 else 2
    ways = np.array([[ways >> 64 * word & _WORD for word in range(words)] for _, ways in states], dtype=np.uint64)
    numbers = np.arange(len(states))
    found = np.zeros((len(states), len(counts) + 1, words), dtype=np.uint64)
    for symbol, (count, stride) in enumerate(zip(counts, strides, strict=True)):
        there = numbers // stride % (count + 1) > 0
        found[:, symbol + 1] = found[:, symbol]
        _add(found[:, symbol + 1], there, ways[numbers[there] - stride])
    return np.ascontiguousarray(found.reshape(-1, words).T)


def _add(sums: Words, chosen: Mask, more: Words) -> None:
    """Add `more` to the `chosen` rows of `sums`, word by word."""
    before = sums[chosen]
    after = before + more
    if after.shape[1] > 1:
        after[:, 1] += after[:, 0] < before[:, 0]
    sums[chosen] = after


def make_stack(tables: Tables) -> Words:
    """Where `list_keys` begins: per depth of its walk the free cells, the state, the next symbol and the key so far."""
    stack = np.zeros((MOST_CELLS + 2, 5), dtype=np.uint64)
    stack[0, :2] = tables.geometry[0], first_state(tables.before, tables.strides)
    return stack


@jit
def first_state(before: Words, strides: Words) -> np.uint64:
    """The state in which all symbols are left."""
    return np.uint64(before.shape[1] - len(strides) - 1)


@jit
def _get(keys: Keys, index: int) -> Pair:
    if keys.ndim == 1:
        return np.uint64(keys[index]), np.uint64(0)
    return np.uint64(keys[index, 1]), np.uint64(keys[index, 0])


@jit
def _put(keys: Keys, index: int, low: np.uint64, high: np.uint64) -> None:
    if keys.ndim == 1:
        keys[index] = low
    else:
        keys[index, 0] = high
        keys[index, 1] = low


@jit
def _plus(keys: Keys, low: np.uint64, high: np.uint64, more_low: np.uint64, more_high: np.uint64) -> Pair:
    """A sum; the type of `keys` says whether the high words matter."""
    total = low + more_low
    if keys.ndim == 1:
        return total, high
    return total, high + more_high + np.uint64(total < low)


@jit
def _minus(keys: Keys, low: np.uint64, high: np.uint64, less_low: np.uint64, less_high: np.uint64) -> Pair:
    """A difference; the type of `keys` says whether the high words matter."""
    if keys.ndim == 1:
        return low - less_low, high
    return low - less_low, high - less_high - np.uint64(low < less_low)


@jit
def _entry(keys: Keys, before: Words, place: np.uint64) -> Pair:
    if keys.ndim == 1:
        return before[0, place], np.uint64(0)
    return before[0, place], before[1, place]


@jit
def _symbol(
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
def _steps(own: np.uint64, free: np.uint64, geometry: Words, found: Words) -> int:
    """Write the cells that one step brings a piece to into `found`; return how many. `free` holds its own cells."""
    count = 0
    for direction in range(4):
        moved = _pushed(own, direction, geometry)
        # Written in any case and counted if right: branches that cannot be foreseen are dear.
        found[count] = moved
        count += (own & geometry[2 + direction]) | (moved & ~free) == 0
    return count


@jit
def _slides(own: np.uint64, free: np.uint64, geometry: Words, found: Words) -> int:
    """`_steps` of any length in one direction."""
    count = 0
    for direction in range(4):
        here, moved = own, _pushed(own, direction, geometry)
        while (here & geometry[2 + direction]) | (moved & ~free) == 0:
            found[count] = moved
            count += 1
            here, moved = moved, _pushed(moved, direction, geometry)
    return count


@jit
def _ways(own: np.uint64, free: np.uint64, geometry: Words, found: Words) -> int:
    """`_steps` one after another."""
    one = np.uint64(1)
    seen = own & (~own + one)
    here = own
    count = done = 0
    while True:
        for direction in range(4):
            moved = _pushed(here, direction, geometry)
            corner = moved & (~moved + one)
            if (here & geometry[2 + direction]) | (moved & ~free) | (corner & seen) == 0:
                seen |= corner
                found[count] = moved
                count += 1
        if done == count:
            return count
        here = found[done]
        done += 1


@jit
def _unpack(
    keys: Keys, index: int, masks: Words, before: Words, strides: Words, cells: np.uint64, symbols: Symbols, walk: Words
) -> tuple[np.uint64, np.uint64]:
    """Set `symbols` to the piece that begins at each cell, the blank elsewhere; return where pieces and blanks begin.

    ``walk[cell]``, where a symbol begins, becomes the state, the free cells and the rest of the key before it.
    """
    low, high = _get(keys, index)
    state, rest, blank = first_state(before, strides), cells, np.uint64(len(strides) - 1)
    pieces, blanks = np.uint64(0), np.uint64(0)
    symbols[:] = blank
    while rest != 0:
        cell = lowest_bit(rest)
        walk[cell, 0], walk[cell, 1], walk[cell, 2], walk[cell, 3] = state, rest, low, high
        symbol = _symbol(keys, before, state, blank, low, high)
        symbols[cell] = symbol
        pieces |= np.uint64(symbol != blank) << cell
        blanks |= np.uint64(symbol == blank) << cell
        less_low, less_high = _entry(keys, before, state + symbol)
        low, high = _minus(keys, low, high, less_low, less_high)
        state -= strides[symbol]
        rest &= ~masks[symbol, cell]
    return pieces, blanks


@jit
def _recount(
    keys: Keys,
    index: int,
    changed: np.uint64,
    masks: Words,
    before: Words,
    strides: Words,
    symbols: Symbols,
    walk: Words,
) -> Pair:
    """The key with the present `symbols` at and between the `changed` cells, by the walk through key `index`."""
    cell = lowest_bit(changed)
    low, high = _get(keys, index)
    low, high = _minus(keys, low, high, walk[cell, 2], walk[cell, 3])
    state, rest = walk[cell, 0], walk[cell, 1]
    # While the first free cell is not beyond the last changed one; nothing free gives the greatest number.
    while (rest & (~rest + np.uint64(1))) - np.uint64(1) < changed:
        cell = lowest_bit(rest)
        symbol = np.uint64(symbols[cell])
        more_low, more_high = _entry(keys, before, state + symbol)
        low, high = _plus(keys, low, high, more_low, more_high)
        state -= strides[symbol]
        rest &= ~masks[symbol, cell]
    # Row 64 is for no cell at all.
    cell = lowest_bit(rest)
    return _plus(keys, low, high, walk[cell, 2], walk[cell, 3])


@jit
def expand_keys(
    keys: Keys,
    metric: int,
    masks: Words,
    before: Words,
    strides: Words,
    geometry: Words,
    room: Keys,
    counts: Counts,
) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` if they do not fit. Metric: 0 unit, 1 straight, 2 finger. `keys` must be configurations.
    """
    symbols = np.empty(64, dtype=np.uint8)
    walk = np.zeros((65, 4), dtype=np.uint64)
    found = np.empty(64, dtype=np.uint64)
    blank = len(strides) - 1
    total = 0
    for i in range(len(keys)):
        pieces, blanks = _unpack(keys, i, masks, before, strides, geometry[0], symbols, walk)
        first = total
        while pieces != 0:
            anchor = lowest_bit(pieces)
            pieces &= pieces - np.uint64(1)
            symbol = symbols[anchor]
            own = masks[symbol, anchor]
            # IMPORTANT: chosen here, where the compiler keeps the three apart: in one function they take half again.
            if metric == _UNIT_METRIC:
                count = _steps(own, blanks | own, geometry, found)
            elif metric == _STRAIGHT_METRIC:
                count = _slides(own, blanks | own, geometry, found)
            else:
                count = _ways(own, blanks | own, geometry, found)
            if total + count > len(room):
                return OVERFLOW
            symbols[anchor] = blank
            for move in range(count):
                target = lowest_bit(found[move])
                symbols[target] = symbol
                low, high = _recount(keys, i, own | found[move], masks, before, strides, symbols, walk)
                symbols[target] = blank
                _put(room, total, low, high)
                total += 1
            symbols[anchor] = symbol
        counts[i] = total - first
    return total


@jit
def least_images(
    keys: Keys, images: Words, masks: Words, before: Words, strides: Words, geometry: Words, least: Keys
) -> None:
    """Write the lesser of each key and its mirror image into `least`.

    ``images[symbol, cell]`` is 64 times the symbol of the mirrored piece, plus its first cell.
    """
    symbols, mirrored = np.empty(64, dtype=np.uint8), np.empty(64, dtype=np.uint8)
    walk = np.zeros((65, 4), dtype=np.uint64)
    one = np.uint64(1)
    for i in range(len(keys)):
        pieces, _ = _unpack(keys, i, masks, before, strides, geometry[0], symbols, walk)
        mirrored[:] = len(strides) - 1
        while pieces != 0:
            cell = lowest_bit(pieces)
            pieces &= pieces - one
            image = images[symbols[cell], cell]
            mirrored[image & np.uint64(63)] = image >> np.uint64(6)
        low, high = _recount(keys, i, geometry[0], masks, before, strides, mirrored, walk)
        key_low, key_high = _get(keys, i)
        if high > key_high or (high == key_high and low > key_low):
            low, high = key_low, key_high
        _put(least, i, low, high)


@jit
def find_goals(
    keys: Keys,
    wanted: Numbers,
    wishes: int,
    masks: Words,
    before: Words,
    strides: Words,
    geometry: Words,
    found: Mask,
) -> None:
    """Write whether each key has the `wanted` symbols, `wishes` in number, at their cells; `ANY` is for any."""
    blank = np.uint64(len(strides) - 1)
    for i in range(len(keys)):
        low, high = _get(keys, i)
        state, rest = first_state(before, strides), geometry[0]
        left = wishes
        while rest != 0 and left != 0:
            cell = lowest_bit(rest)
            symbol = _symbol(keys, before, state, blank, low, high)
            if wanted[cell] != ANY:
                if wanted[cell] != np.int64(symbol):
                    break
                left -= 1
            less_low, less_high = _entry(keys, before, state + symbol)
            low, high = _minus(keys, low, high, less_low, less_high)
            state -= strides[symbol]
            rest &= ~masks[symbol, cell]
        found[i] = left == 0


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
            _put(room, count, low, high)
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
            more_low, more_high = _entry(room, before, state + symbol)
            low, high = _plus(room, low, high, more_low, more_high)
            depth += 1
            stack[depth, 0], stack[depth, 1], stack[depth, 2] = rest, state - strides[symbol], 0
            stack[depth, 3], stack[depth, 4] = low, high
    stack[-1, 0] = depth
    return count
