"""Counts of a deal's positions in Gap by their hashes alone: of all depth first, of the first layers breadth first.

A deal is a `field`: for each cell its card (numbered as in `puzzles.solitaires.kernels`) or BLANK. The aces are left
out, because it makes no difference which of them was where. Places are in rows one cell wider, for the aces.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit, lowest_bit
from hakoiri.puzzles.solitaires.kernels import BLANK, SUITS, Table
from hakoiri.worker.solitaires.solving_kernels import HashTable

Field = NDArray[np.int8]
#: The place of each card; the caller chooses the integer type.
Places = NDArray[Any]
#: The number of positions up to each depth.
Profile = NDArray[np.int64]
_FIRST_ROOM = 1 << 12


@jit
def _lay_follows(place: Places, columns: int, follows: Table) -> np.uint64:
    """Write for each cell the card that fits a gap to its right, or BLANK; return the gaps as bits."""
    suit_size, width = columns - 1, columns + 1
    follows[:] = BLANK
    gaps = (np.uint64(1) << np.uint64(SUITS * width)) - np.uint64(1)
    for row in range(SUITS):
        follows[row * width] = row * suit_size
        gaps ^= np.uint64(1) << np.uint64(row * width)
    for card in range(len(place)):
        if card % suit_size != suit_size - 1:
            follows[place[card]] = card + 1
        gaps ^= np.uint64(1) << np.uint64(place[card])
    return gaps


@jit
def _lay_out(field: Field, columns: int, place: Places, follows: Table) -> np.uint64:
    """Write the place of each card, and fill `follows` as `_lay_follows` does; return the gaps."""
    for cell in range(SUITS * columns):
        if field[cell] != BLANK:
            place[field[cell]] = cell // columns * (columns + 1) + cell % columns + 1
    return _lay_follows(place, columns, follows)


@jit
def _slot_of(hashes: NDArray[np.uint64], value: np.uint64) -> int:
    """Return the slot of a hash in a table, or the slot where it belongs."""
    mask = np.uint64(len(hashes) - 1)
    slot = value & mask
    while hashes[slot] != np.uint64(0) and hashes[slot] != value:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@jit
def _spread(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a table of twice the size with the same hashes; 0 is an empty slot."""
    spread = np.zeros(2 * len(hashes), dtype=np.uint64)
    for value in hashes:
        if value != np.uint64(0):
            spread[_slot_of(spread, value)] = value
    return spread


@jit
def _places_of(left: np.uint64) -> Table:
    """Return the gaps, given as bits, as a table."""
    gaps = np.empty(SUITS, dtype=np.int64)
    for number in range(SUITS):
        gaps[number] = lowest_bit(left)
        left &= left - np.uint64(1)
    return gaps


@jit
def _begun(place: Places, table: HashTable) -> tuple[np.uint64, NDArray[np.uint64]]:
    """Return the hash of a first position, and a table of hashes that contains it."""
    value = np.uint64(1)
    for card in range(len(place)):
        value ^= table[card, place[card]]
    hashes = np.zeros(_FIRST_ROOM, dtype=np.uint64)
    hashes[_slot_of(hashes, value)] = value
    return value, hashes


@jit
def _shift(card: int, gap: int, source: int, target: int, place: Places, gaps: Table, follows: Table) -> None:
    """Move a card from its place into a gap, which moves the other way."""
    place[card], gaps[gap] = target, source
    follows[target], follows[source] = follows[source], BLANK


@jit
def count_positions(field: Field, columns: int, table: HashTable, cap: int) -> int:
    """Return the number of positions reachable from a field, at most `cap`: depth first, on one board with undo.

    Only hashes are kept, which makes this three times as fast as a search that compares positions. The probability of
    two equal hashes in ten million positions is 1 in 400,000; records are counted exactly.
    """
    place = np.empty(SUITS * (columns - 1), dtype=np.int64)
    follows = np.empty(SUITS * (columns + 1), dtype=np.int64)
    gaps = _places_of(_lay_out(field, columns, place, follows))
    value, hashes = _begun(place, table)
    # The potential of Gap grows with every move, up to at most this.
    done = np.empty((SUITS * columns * columns // 2, 3), dtype=np.int64)
    count, level, gap = 1, 0, 0
    while count < cap:
        if gap == SUITS:
            if level == 0:
                break
            level -= 1
            card, source, gap = done[level]
            target = place[card]
            value ^= table[card, source] ^ table[card, target]
            _shift(card, gap, target, source, place, gaps, follows)
            gap += 1
            continue
        target = gaps[gap]
        card = follows[target - 1]
        if card == BLANK:
            gap += 1
            continue
        source = place[card]
        after = value ^ table[card, source] ^ table[card, target]
        slot = _slot_of(hashes, after)
        if hashes[slot] == after:
            gap += 1
            continue
        hashes[slot] = value = after
        count += 1
        if 2 * count > len(hashes):
            hashes = _spread(hashes)
        done[level, 0], done[level, 1], done[level, 2] = card, source, gap
        level += 1
        _shift(card, gap, source, target, place, gaps, follows)
        gap = 0
    return count


@jit
def early_layers(
    field: Field, columns: int, table: HashTable, expected: Profile, least: float, most: int
) -> tuple[Profile, bool]:
    """Return the profile of a field up to `most` positions, breadth first, and whether it reached them or the end.

    It stops at a depth with less than `least` times the number `expected` there, if that is not 0.
    """
    room, cards = 2 * most, SUITS * (columns - 1)
    follows = np.empty(SUITS * (columns + 1), dtype=np.int64)
    places, values = np.empty((room, cards), dtype=np.uint8), np.empty(room, dtype=np.uint64)
    _lay_out(field, columns, places[0], follows)
    values[0], hashes = _begun(places[0], table)
    profile = np.empty(SUITS * columns * columns // 2, dtype=np.int64)
    index, count, depth = 0, 1, 0
    while True:
        profile[depth] = count
        if depth < len(expected) and count < least * expected[depth]:
            return profile[: depth + 1], False
        if count >= most or index == count:
            return profile[: depth + 1], True
        for each in range(index, count):
            left = _lay_follows(places[each], columns, follows)
            while left != np.uint64(0):
                target = np.int64(lowest_bit(left))
                left &= left - np.uint64(1)
                card = follows[target - 1]
                if card == BLANK:
                    continue
                value = values[each] ^ table[card, places[each, card]] ^ table[card, target]
                slot = _slot_of(hashes, value)
                if hashes[slot] == value or count == room:
                    continue
                hashes[slot] = values[count] = value
                places[count] = places[each]
                places[count, card] = target
                count += 1
                if 2 * count > len(hashes):
                    hashes = _spread(hashes)
            index += 1
        depth += 1
