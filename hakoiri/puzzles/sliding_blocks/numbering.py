"""The numbering of all sequences of pieces: tables for kernels, and the kernels.

A configuration is a sequence of symbols. Go through the cells in reading order, skip walls and what a piece before
covers, and write down what begins at the cell, a blank or a kind of piece. The sequence says where everything stands,
and pieces of equal shape are one symbol, so it is unique. Its key is its number among all sequences of the same symbols
in lexicographic order; most of them are no configurations, because a piece would not fit.

`BoardTables.before` gives the number directly: ``before[0, state + s]`` counts the sequences of the symbols that are
left whose first symbol is less than s, so a key is a sum of one entry per symbol. A state stands for how many symbols
of each kind are left, read as a number of mixed radix: taking symbol s lowers it by ``strides[s]``.

A set of cells is a mask of 64 bits. Every table is an argument, so one compiled kernel serves all boards.

When one piece moves, only the symbols from the first to the last cell that it leaves or enters change; the entries
before and after stay the same, which is what makes `recounted` fast.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Keys
from hakoiri.memory import claim
from hakoiri.puzzles.sliding_blocks.boards import MOST_CELLS, Cell, Cells
from hakoiri.puzzles.sliding_blocks.shapes import ALONG, DIRECTIONS, count_sequences

#: The most numbers of 64 bits in a table: 128 MiB.
_MOST_ENTRIES = 1 << 24
_WORD = (1 << 64) - 1

Words = NDArray[np.uint64]


class BoardTables(NamedTuple):
    """The tables of a board for the kernels. The last symbol is the blank."""

    #: (symbols, 64): the cells of a piece by its first cell; 0 where it does not fit on the board.
    masks: Words
    #: (words of a key, states): the low word first. A state has an entry per symbol and one for all its sequences.
    before: Words
    #: (symbols,)
    strides: Words
    #: All cells that are no walls, and the distance from a row to the next.
    geometry: Words


def number_cells(free: Cells, columns: int) -> tuple[dict[Cell, int], int]:
    """Return the numbers of free cells in kernels, in reading order, and the distance from a row to the next.

    Rows and columns that are all wall get no numbers, and rows are as close together as their free cells let them.
    """
    cells = sorted(free)
    rows = sorted({cell // columns for cell in cells})
    across = {column: place for place, column in enumerate(sorted({cell % columns for cell in cells}))}
    lines = [[across[cell % columns] for cell in cells if cell // columns == row] for row in rows]
    stride = max([1, *(line[-1] - after[0] + 1 for line, after in pairwise(lines))])
    numbers = [place * stride + column - lines[0][0] for place, line in enumerate(lines) for column in line]
    return dict(zip(cells, numbers, strict=True)), stride


def make_edges(axes: Sequence[str], numbers: Mapping[Cell, int], columns: int) -> Words:
    """Return (symbols, 4): cells from which no piece goes up, right, down, left: at an end, or all off its axis."""
    places = {divmod(cell, columns): number for cell, number in numbers.items()}
    ends = [
        {number for (row, column), number in places.items() if (row + down, column + right) not in places}
        for down, right in DIRECTIONS
    ]
    return np.array(
        [[mask_of(end) if direction in ALONG[axis] else _WORD for direction, end in enumerate(ends)] for axis in axes],
        dtype=np.uint64,
    )


def make_tables(places: Sequence[Sequence[Cells]], counts: Sequence[int], free: Cells, stride: int) -> BoardTables:
    """Tables of a board where symbol s has the `places[s]` and stands there `counts[s]` times.

    `PuzzleError` if the pieces have too many shapes for tables of reasonable size.
    """
    masks = np.zeros((len(places), MOST_CELLS), dtype=np.uint64)
    for symbol, standing in enumerate(places):
        for cells in standing:
            masks[symbol, min(cells)] = mask_of(cells)
    strides = [prod(count + 1 for count in counts[symbol + 1 :]) for symbol in range(len(counts))]
    before = _count_sequences(counts, strides)
    scaled = np.array(strides, dtype=np.uint64) * np.uint64(len(counts) + 1)
    return BoardTables(masks, before, scaled, np.array([mask_of(free), stride], dtype=np.uint64))


def mask_of(cells: Sequence[Cell] | Cells | set[Cell]) -> int:
    """A set of cells as a number."""
    return sum(1 << cell for cell in cells)


def _count_sequences(counts: Sequence[int], strides: Sequence[int]) -> Words:
    entries = prod(count + 1 for count in counts) * (len(counts) + 1) * 2
    if entries > _MOST_ENTRIES:
        megabytes = entries * 8 >> 20
        raise PuzzleError(
            f"the kinds of pieces need tables of {megabytes:,} MiB, above the limit of "
            f"{_MOST_ENTRIES * 8 >> 20} MiB; use "
            "fewer kinds of pieces, or make fewer of them distinct"
        )
    # Twice, in two orders, and the sequences, which may be numbers of Python.
    claim("the table of the kinds of pieces", entries * 8 * 2 + entries // (len(counts) + 1) * 32)
    ways = _ways(counts)
    words = ways.shape[1]
    numbers = np.arange(len(ways))
    found = np.zeros((len(ways), len(counts) + 1, words), dtype=np.uint64)
    for symbol, (count, stride) in enumerate(zip(counts, strides, strict=True)):
        there = numbers // stride % (count + 1) > 0
        before, found[:, symbol + 1] = found[there, symbol], found[:, symbol]
        after = before + ways[numbers[there] - stride]
        if words > 1:
            after[:, 1] += after[:, 0] < before[:, 0]
        found[there, symbol + 1] = after
    return np.ascontiguousarray(found.reshape(-1, words).T)


def _ways(counts: Sequence[int]) -> Words:
    """(states, words of a key): the sequences of each state; the low word first."""
    words = 1 if count_sequences(tuple(counts)) <= _WORD else 2
    lengths, ways = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.uint64 if words == 1 else object)
    # Symbol after symbol, choose the places of its pieces among the symbols so far.
    for count in counts:
        choices = [[comb(length, chosen) for chosen in range(count + 1)] for length in range(sum(counts) + 1)]
        longer = lengths[:, None] + np.arange(count + 1)
        ways = (ways[:, None] * np.array(choices, dtype=ways.dtype)[longer, np.arange(count + 1)]).ravel()
        lengths = longer.ravel()
    return np.stack([(ways >> 64 * word & _WORD).astype(np.uint64) for word in range(words)], axis=1)


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
