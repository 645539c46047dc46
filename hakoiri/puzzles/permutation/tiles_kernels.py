"""Sliding tiles: the tables of a board, and a compiled kernel: a batch of keys in, all their successors out.

Keys, lines and the digits d[i] are those of `puzzles.permutation.tiles`. The digits lie in a word, four bits each, d[0]
lowest. A slide across lines by the i-th tile changes the digits of as many tiles as a line has cells, a window of the
word. A table holds the change of the key.
"""

from functools import lru_cache
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.keys.layout import Counts, Keys, Mask
from hakoiri.puzzles.contract import OVERFLOW

_Words = NDArray[np.uint64]
_Numbers = NDArray[np.int64]

#: Tiles whose digits come from each of the three tables of a `TileTables`, the last tiles first.
_TABLE_TILES = (8, 4, 3)
DIGIT_BITS = 4
#: The most ways that a tile can move.
_WAYS = 4


class TileTables(NamedTuple):
    """The tables of a board for the kernel.

    `low`, `middle`, `high` have the words of the digits of the last eight tiles, of the four before and of the others.
    `cells` has for each cell of the blank whether it can move back or ahead in its line, back or ahead by a line (four
    times 0 or 1). For the latter two, it has where their windows begin in the word, in bits, and where their changes
    begin in `changes`. Last comes what the parity of the line adds to the word. Changes downward wrap around.
    """

    low: _Words
    middle: _Words
    high: _Words
    cells: _Words
    changes: _Words


@lru_cache(maxsize=4)
def tables_of(lines: int, length: int) -> TileTables:
    """The tables of a board: well under a megabyte, and 13 MB for 4 x 4."""
    cells = lines * length
    tiles = cells - 1
    parity_bit = DIGIT_BITS * max(tiles - 2, 0)
    radices = [1 if length == 1 or tile >= tiles - 2 else tiles - tile for tile in range(tiles)]
    words, end = [], tiles
    for count in _TABLE_TILES:
        begin = max(end - count, 0)
        words.append(digit_words(begin, radices[begin:end], parity_bit))
        end = begin
    worth = [cells * (factorial(tiles - 1 - tile) // 2) if tile < tiles - 2 else 0 for tile in range(tiles)]
    tables = *words, _blank_cells(lines, length, parity_bit), window_changes(length, worth)
    return TileTables(*(table.astype(np.uint64) for table in tables))


def _blank_cells(lines: int, length: int, parity_bit: int) -> _Numbers:
    """The rows of `TileTables.cells`. A window that does not exist is replaced by one that does; it is never used."""
    cells = lines * length
    window = DIGIT_BITS * length
    blanks = np.zeros((cells, 9), dtype=np.int64)
    for cell in range(cells):
        line, place = divmod(cell, length)
        before, after = max(cell - length, 0), min(cell, cells - 1 - length)
        blanks[cell, :4] = place > 0, place < length - 1, line > 0, line < lines - 1
        blanks[cell, 4:6] = DIGIT_BITS * before, DIGIT_BITS * after
        blanks[cell, 6:8] = before << window, (cells - length + after) << window
        blanks[cell, 8] = line % 2 << parity_bit if length % 2 == 0 else 0
    return blanks


def digit_words(begin: int, radices: list[int], parity_bit: int) -> _Numbers:
    """The words of all digits of some tiles, from tile `begin` on, the digits of the last one changing fastest.

    In each word the parity of the sum of its digits is at `parity_bit`, where the digit belongs that completes it.
    """
    words = np.zeros(1, dtype=np.int64)
    for tile, radix in enumerate(radices, begin):
        digit = np.arange(radix)
        words = (words[:, None] ^ (digit << DIGIT_BITS * tile) ^ (digit % 2 << parity_bit)).ravel()
    return words


def window_changes(length: int, worth: list[int]) -> _Numbers:
    """Return the change of a key by a slide across lines: first all slides of the blank back by a line, then all ahead.

    For either, the windows in the order of their first tiles, each with all contents. `worth[i]` is that of d[i].
    """
    contents = np.arange(1 << DIGIT_BITS * length)
    digits = [contents >> DIGIT_BITS * place & 15 for place in range(length)]
    back, ahead = digits.copy(), digits.copy()
    for place in range(length - 1):
        back[place : place + 2] = _exchanged(*back[place : place + 2])
    for place in reversed(range(length - 1)):
        ahead[place : place + 2] = _exchanged(*ahead[place : place + 2])
    changes = []
    for after, cells in ((back, -length), (ahead, length)):
        for first in range(len(worth) - length + 1):
            places = zip(digits, after, worth[first:], strict=False)
            changes.append(cells + sum((new - old) * value for old, new, value in places))
    return np.concatenate(changes)


def _exchanged(one: _Numbers, other: _Numbers) -> tuple[_Numbers, _Numbers]:
    """The digits of two neighbouring tiles after they changed places."""
    larger = one > other
    return np.where(larger, other, other + 1), np.where(larger, one - 1, one)


@jit
def expand_keys(keys: Keys, tables: TileTables, length: int, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` unless `room` has four places more. Fast where neighbours in the batch differ only in digits of `low`.
    """
    low, middle, high, cells, changes = tables
    # Unsigned numbers: numba checks signed indices for negative values. 3.2 ns a key instead of 5.7.
    one = np.uint64(1)
    number_of_cells = np.uint64(len(cells))
    # Exact for numbers below `span`, which has at most 19 bits: a division by multiplication.
    inverse = (one << np.uint64(40)) // number_of_cells + one
    span = number_of_cells * np.uint64(len(low))
    window, end = (one << np.uint64(4 * length)) - one, np.uint64(len(room) - _WAYS)
    begin = np.uint64(0) - span
    upper = np.uint64(0)
    total = np.uint64(0)
    for i in range(len(keys)):
        key = np.uint64(keys[i])
        if key - begin >= span:
            order = key // span
            begin = order * span
            upper = middle[order % np.uint64(len(middle))] ^ high[order // np.uint64(len(middle))]
        order = (key - begin) * inverse >> np.uint64(40)
        cell = key - begin - order * number_of_cells
        word = upper ^ low[order] ^ cells[cell, 8]
        if total > end:
            return OVERFLOW
        # Every successor is written, and kept only if there is such a move: branches would be mispredicted.
        first = total
        room[total] = key - one
        total += cells[cell, 0]
        room[total] = key + one
        total += cells[cell, 1]
        room[total] = key + changes[cells[cell, 6] + (word >> cells[cell, 4] & window)]
        total += cells[cell, 2]
        room[total] = key + changes[cells[cell, 7] + (word >> cells[cell, 5] & window)]
        total += cells[cell, 3]
        counts[i] = total - first
    return int(np.int64(total))


@jit
def _across(key: np.uint64, cell: np.uint64, ahead: int, tables: TileTables, length: int) -> np.uint64:
    """The key after the blank went from its cell by a line, back or `ahead`."""
    low, middle, high, cells, changes = tables
    order = key // np.uint64(len(cells))
    word = low[order % np.uint64(len(low))] ^ cells[cell, 8]
    order //= np.uint64(len(low))
    word ^= middle[order % np.uint64(len(middle))] ^ high[order // np.uint64(len(middle))]
    window = (np.uint64(1) << np.uint64(4 * length)) - np.uint64(1)
    return np.uint64(key + changes[cells[cell, 6 + ahead] + (word >> cells[cell, 4 + ahead] & window)])


@jit
def expand_lines(keys: Keys, tables: TileTables, length: int, room: Keys, counts: Counts) -> int:
    """As `expand_keys`, the blank going any way along its line, or across lines; `room` has one more for each cell."""
    total, cells = 0, len(tables.cells)
    for i in range(len(keys)):
        key, first = np.uint64(keys[i]), total
        cell = np.int64(key % np.uint64(cells))
        place = cell % length
        if total + cells > len(room):
            return OVERFLOW
        for other in range(length):
            if other != place:
                room[total] = key + np.uint64(other - place)
                total += 1
        for ahead in range(2):
            here, there, step = key, cell, 2 * ahead * length - length
            while 0 <= there + step < cells:
                here = _across(here, np.uint64(there), ahead, tables, length)
                there += step
                room[total] = here
                total += 1
        counts[i] = total - first
    return total


@jit
def _read_board(key: np.int64, worth: _Numbers, length: int, left: _Numbers, board: _Numbers) -> None:
    """Write the tile on each cell, the blank as 0; ``worth[i]`` is i!, and `left` is room for all tiles."""
    cells = np.int64(len(board))
    tiles, blank = cells - 1, key % cells
    number, parity = key // cells * 2, np.int64(0)
    left[:] = np.arange(1, cells)[::-1]
    # The tiles from the first cell on: the reverse of the order that the number is of.
    for place in range(tiles - 1, -1, -1):
        digit = number // worth[place]
        number -= digit * worth[place]
        parity += digit
        board[tiles - 1 - place] = left[place - digit]
        for j in range(place - digit, place):
            left[j] = left[j + 1]
    if tiles > 1 and (parity + (blank // length if length % 2 == 0 else 0)) % 2:
        board[tiles - 2], board[tiles - 1] = board[tiles - 1], board[tiles - 2]
    for cell in range(tiles, blank, -1):
        board[cell] = board[cell - 1]
    board[blank] = 0


@jit
def find_boards(keys: Keys, wanted: _Numbers, worth: _Numbers, length: int, found: Mask) -> None:
    """Write whether each key has the `wanted` tile, or the blank as 0, on each of its cells; negative is for any.

    Cells are numbered as for keys, tiles by their cells on the solved board; ``worth[i]`` is i!.
    """
    left, board = np.empty(len(wanted) - 1, dtype=np.int64), np.empty(len(wanted), dtype=np.int64)
    for i in range(len(keys)):
        _read_board(np.int64(keys[i]), worth, length, left, board)
        right = True
        for cell in range(len(wanted)):
            right &= (wanted[cell] < 0) | (wanted[cell] == board[cell])
        found[i] = right


@jit
def write_images(keys: Keys, places: _Numbers, names: _Numbers, worth: _Numbers, length: int, images: Keys) -> None:
    """Write the key of each board after what is on cell c went to ``places[c]`` and each tile t became ``names[t]``.

    Numbers are as in `find_boards`; ``names[0]`` is 0, and the images have the parity that boards have.
    """
    cells = len(places)
    left, (board, image) = np.empty(cells - 1, dtype=np.int64), np.empty((2, cells), dtype=np.int64)
    for i in range(len(keys)):
        _read_board(np.int64(keys[i]), worth, length, left, board)
        blank = number = np.int64(0)
        for cell in range(cells):
            image[places[cell]] = names[board[cell]]
        for cell in range(cells):
            following = less = np.int64(0)
            for later in range(cell + 1, cells):
                following += image[later] != 0
                less += 0 < image[later] < image[cell]
            if image[cell] == 0:
                blank = np.int64(cell)
            else:
                number += less * worth[following]
        images[i] = number // 2 * cells + blank
