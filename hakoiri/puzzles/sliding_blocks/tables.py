"""Sliding blocks: the numbering of all sequences of pieces, as tables for the kernels.

A configuration is a sequence of symbols. Go through the cells in reading order, skip walls and what a piece before
covers, and write down what begins at the cell, a blank or a kind of piece. The sequence says where everything stands,
and pieces of equal shape are one symbol, so it is unique. Its key is its number among all sequences of the same symbols
in lexicographic order; most of them are no configurations, because a piece would not fit.

`BoardTables.before` gives the number directly: ``before[0, state + s]`` counts the sequences of the symbols that are
left whose first symbol is less than s, so a key is a sum of one entry per symbol. A state stands for how many symbols
of each kind are left, read as a number of mixed radix: taking symbol s lowers it by ``strides[s]``.

A set of cells is a mask of 64 bits. Every table is an argument, so one compiled kernel serves all boards.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import comb, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.keys.layout import Mask
from hakoiri.puzzles.sliding_blocks.boards import MOST_CELLS, Cell, Cells
from hakoiri.puzzles.sliding_blocks.sequences import count_sequences
from hakoiri.puzzles.sliding_blocks.shapes import DIRECTIONS, directions_along

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
        [
            [mask_of(end) if direction in directions_along(axis) else _WORD for direction, end in enumerate(ends)]
            for axis in axes
        ],
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
    ways = _ways(counts)
    words = ways.shape[1]
    numbers = np.arange(len(ways))
    found = np.zeros((len(ways), len(counts) + 1, words), dtype=np.uint64)
    for symbol, (count, stride) in enumerate(zip(counts, strides, strict=True)):
        there = numbers // stride % (count + 1) > 0
        found[:, symbol + 1] = found[:, symbol]
        _add(found[:, symbol + 1], there, ways[numbers[there] - stride])
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


def _add(sums: Words, chosen: Mask, more: Words) -> None:
    """Add `more` to the `chosen` rows of `sums`, word by word."""
    before = sums[chosen]
    after = before + more
    if after.shape[1] > 1:
        after[:, 1] += after[:, 0] < before[:, 0]
    sums[chosen] = after
