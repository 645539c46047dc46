"""The moves of Gap and Superpuzz in kernels. Both fill a blank with the successor of the card to its left.

A field of four rows of `columns` cells; ``place[card]`` is the cell of a card, ``cells[cell]`` the card of a cell or
BLANK. Cards are numbered suit by suit: card % suit_size is the rank, `suit_size` = `columns` - 1. Only at the left end
do the games differ: in Superpuzz any first card of a suit may go there, in Gap that of the row's suit.
"""

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit, popcount
from hakoiri.keys.layout import Counts
from hakoiri.puzzles.contract import OVERFLOW

Places = NDArray[np.uint8]
Cells = NDArray[np.int8]
#: Keys as rows of 64-bit words, whatever their layout.
Words = NDArray[np.uint64]
Table = NDArray[np.int64]
SUITS = 4
BLANK = -1
#: A blank takes one card, at the left end of Superpuzz one of four.
MOST_MOVES = 16


@jit
def lay_out(place: Places, columns: int, cells: Cells) -> np.uint64:
    """Put all cards on `cells`; return the blanks as bits."""
    cells[: SUITS * columns] = BLANK
    blanks = (np.uint64(1) << np.uint64(SUITS * columns)) - np.uint64(1)
    for card in range(SUITS * (columns - 1)):
        cells[place[card]] = card
        blanks ^= np.uint64(1) << np.uint64(place[card])
    return blanks


@jit
def list_moves(cells: Cells, blanks: np.uint64, columns: int, any_ace: bool, moves: NDArray[np.uint8]) -> int:
    """Write (card, the blank that it goes to) of every move, blanks in reading order; return how many there are."""
    count = 0
    while blanks != np.uint64(0):
        count = list_moves_into(int(lowest_bit(blanks)), cells, columns, any_ace, moves, count)
        blanks &= blanks - np.uint64(1)
    return count


@jit
def list_moves_into(blank: int, cells: Cells, columns: int, any_ace: bool, moves: NDArray[np.uint8], count: int) -> int:
    """Write the moves into one blank behind the first `count`, aces by suit; return how many there are then."""
    suit_size = columns - 1
    row, column = divmod(blank, columns)
    if column == 0:
        for suit in range(SUITS):
            if any_ace or suit == row:
                moves[count, 0] = suit * suit_size
                moves[count, 1] = blank
                count += 1
        return count
    left = cells[blank - 1]
    if left != BLANK and left % suit_size != suit_size - 1:
        moves[count, 0] = left + 1
        moves[count, 1] = blank
        count += 1
    return count


@jit
def _list_moves_back(place: Places, blanks: np.uint64, columns: int, any_ace: bool, moves: NDArray[np.uint8]) -> int:
    """Write (card, the blank that it may have come from) of every move that may have been the last one."""
    suit_size = columns - 1
    count = 0
    for card in range(SUITS * suit_size):
        suit, rank = divmod(card, suit_size)
        row, column = divmod(int(place[card]), columns)
        if column == 0:
            stands = rank == 0 and (any_ace or suit == row)
        else:
            stands = rank != 0 and place[card - 1] + 1 == place[card]
        left = blanks
        while stands and left != np.uint64(0):
            moves[count, 0] = card
            moves[count, 1] = lowest_bit(left)
            left &= left - np.uint64(1)
            count += 1
    return count


@jit
def _nth_bit(bits: np.uint64, number: int) -> int:
    """The place of set bit `number`, counted from 0."""
    place = 0
    width = 32
    while width:
        low = bits >> np.uint64(place) & ((np.uint64(1) << np.uint64(width)) - np.uint64(1))
        here = int(popcount(low))
        if number >= here:
            number -= here
            place += width
        width >>= 1
    return place


@jit
def _unpack(key: Words, columns: int, words: Table, shifts: Table, masks: Words, place: Places, free: Words) -> None:
    """The cell of each card, and the cells that were left before it (`guests.deals.cards`)."""
    left = (np.uint64(1) << np.uint64(SUITS * columns)) - np.uint64(1)
    for card in range(SUITS * (columns - 1)):
        choice = key[words[card]] >> np.uint64(shifts[card]) & masks[card]
        free[card] = left
        place[card] = _nth_bit(left, int(choice))
        left ^= np.uint64(1) << np.uint64(place[card])


@jit
def _write_moved(
    key: Words, card: int, target: int, words: Table, shifts: Table, place: Places, free: Words, moved: Words
) -> None:
    """The key after a card has gone to a blank.

    Nothing changes for the cards before it. A later card's choice counts the cells left before it: there is one more
    below it where the card has left a lower cell, and one less where it has gone to one.
    """
    # Word by word: a slice would be compiled with the texts of all that can be wrong with it, 2.5 s.
    for word in range(len(key)):
        moved[word] = key[word]
    source = place[card]
    below = (np.uint64(1) << np.uint64(target)) - np.uint64(1)
    before = popcount(free[card] & ((np.uint64(1) << np.uint64(source)) - np.uint64(1)))
    moved[words[card]] += (popcount(free[card] & below) - before) << np.uint64(shifts[card])
    for later in range(card + 1, len(words)):
        # Without a branch: it would be mispredicted.
        more = np.int64(source < place[later]) - np.int64(target < place[later])
        moved[words[later]] += np.uint64(more << shifts[later])


@jit
def expand_fields(
    keys: Words, columns: int, any_ace: bool, back: bool, words: Table, shifts: Table, masks: Words, room: Words,
    counts: Counts,
) -> int:  # fmt: skip
    """Write the successors of all `keys` into `room`, or `back` their predecessors; how many each has into `counts`.

    Returns their total; `OVERFLOW` if they do not fit.
    """
    place = np.empty(SUITS * columns, dtype=np.uint8)
    free = np.empty(SUITS * columns, dtype=np.uint64)
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((SUITS * SUITS * columns, 2), dtype=np.uint8)
    total = 0
    for index in range(len(keys)):
        _unpack(keys[index], columns, words, shifts, masks, place, free)
        blanks = lay_out(place, columns, cells)
        if back:
            count = _list_moves_back(place, blanks, columns, any_ace, moves)
        else:
            count = list_moves(cells, blanks, columns, any_ace, moves)
        if total + count > len(room):
            return OVERFLOW
        for number in range(count):
            card, target = int(moves[number, 0]), int(moves[number, 1])
            _write_moved(keys[index], card, target, words, shifts, place, free, room[total])
            total += 1
        counts[index] = count
    return total
