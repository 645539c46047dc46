"""Breadth-first and depth-first search of one deal in memory: a hash table of all positions met, in kernels.

This shares nothing but the moves with the layered search: no keys, no sorting, no layers on disk. A position is a row
of `places`, the cell of each card. Its hash is the exclusive or of one random word per card and cell (Zobrist, 1970),
so a move changes it by two words. Equal hashes are compared card by card: nothing is lost to a collision.
"""

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.guests.deals.kernels import MOST_MOVES, SUITS, Cells, Places, lay_out, list_moves, list_moves_into

#: Hashes by card and cell.
HashTable = NDArray[np.uint64]
Indices = NDArray[np.int32]
#: Both goals, in any order of suits and the fixed one: [index of the position, moves, positions by then].
Goals = NDArray[np.int64]
#: `to_goal` of a position from which the goal cannot be reached.
NEVER = 1 << 30
_NONE = -1
_FIRST_ROOM = 1 << 12
#: Bits of a cell number, which is less than 64.
_HOLE_BITS = 6


@jit
def goal_kind(place: Places, columns: int) -> int:
    """Return 0 for no goal, 1 for suits in order in any rows, 2 if each suit is in the row of its number."""
    suit_size = columns - 1
    kind = 2
    for suit in range(SUITS):
        first = int(place[suit * suit_size])
        if first % columns:
            return 0
        if first != suit * columns:
            kind = 1
        for rank in range(1, suit_size):
            if place[suit * suit_size + rank] != first + rank:
                return 0
    return kind


@jit
def _last_column(columns: int) -> np.uint64:
    """Return the cells that are blank in every goal."""
    cells = np.uint64(0)
    for row in range(1, SUITS + 1):
        cells |= np.uint64(1) << np.uint64(row * columns - 1)
    return cells


@jit
def _note_goal(place: Places, columns: int, any_order: bool, index: int, moves: int, count: int, goals: Goals) -> None:
    """Record a goal that is the first of its kind; without `any_order` only the fixed one is a goal at all."""
    kind = goal_kind(place, columns)
    for number in range(2):
        counts = kind == 2 or (kind == 1 and any_order and number == 0)
        if counts and goals[number, 0] == _NONE:
            goals[number, 0] = index
            goals[number, 1] = moves
            goals[number, 2] = count


@jit
def _same(places: Places, other: int, index: int, card: int, target: int) -> bool:
    """Return whether position `other` is `index` after `card` has moved to `target`."""
    for each in range(places.shape[1]):
        if places[other, each] != (target if each == card else places[index, each]):
            return False
    return True


@jit
def _slot_of(
    slots: Indices, hashes: NDArray[np.uint64], places: Places, value: np.uint64, index: int, card: int, target: int
) -> int:
    """Return the slot of the position after a move, or the slot where it belongs."""
    mask = np.uint64(len(slots) - 1)
    slot = value & mask
    while True:
        other = slots[slot]
        if other == _NONE or (hashes[other] == value and _same(places, other, index, card, target)):
            return int(slot)
        slot = (slot + np.uint64(1)) & mask


@jit
def _spread(hashes: NDArray[np.uint64], count: int, size: int) -> Indices:
    """Return a table of `size` slots for `count` positions."""
    slots = np.full(size, _NONE, dtype=np.int32)
    mask = np.uint64(size - 1)
    for index in range(count):
        slot = hashes[index] & mask
        while slots[slot] != _NONE:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = index
    return slots


@jit
def _longer(array: NDArray[np.int32], size: int) -> NDArray[np.int32]:
    longer = np.empty(size, dtype=array.dtype)
    longer[: len(array)] = array
    return longer


@jit
def _grown(
    places: Places, hashes: NDArray[np.uint64], parents: Indices, count: int
) -> tuple[Places, NDArray[np.uint64], Indices, Indices]:
    """Return arrays of twice the size, and a table for them."""
    size = 2 * len(hashes)
    more_places = np.empty((size, places.shape[1]), dtype=np.uint8)
    more_places[:count] = places
    more_hashes = np.empty(size, dtype=np.uint64)
    more_hashes[:count] = hashes
    return more_places, more_hashes, _longer(parents, size), _spread(more_hashes, count, 2 * size)


@jit
def _begun(start: Places, table: HashTable) -> tuple[Places, NDArray[np.uint64], Indices, Indices]:
    """Return arrays that hold the start, and their table: (places, hashes, parents, slots)."""
    places = np.empty((_FIRST_ROOM, len(start)), dtype=np.uint8)
    hashes = np.empty(_FIRST_ROOM, dtype=np.uint64)
    parents = np.empty(_FIRST_ROOM, dtype=np.int32)
    places[0] = start
    hashes[0] = 0
    for card in range(len(start)):
        hashes[0] ^= table[card, start[card]]
    parents[0] = _NONE
    return places, hashes, parents, _spread(hashes, 1, 2 * _FIRST_ROOM)


@jit
def _append(
    places: Places, hashes: NDArray[np.uint64], parents: Indices, count: int, index: int, card: int, target: int,
    value: np.uint64,
) -> None:  # fmt: skip
    """Write the position after a move of position `index` at index `count`."""
    places[count] = places[index]
    places[count, card] = target
    hashes[count] = value
    parents[count] = index


@jit
def _done(goals: Goals, wanted: int) -> bool:
    """Return whether the `wanted` goals are found: 0 never, 1 the first, 2 the fixed one, 3 both."""
    return wanted > 0 and not ((wanted & 1 and goals[0, 0] == _NONE) or (wanted & 2 and goals[1, 0] == _NONE))


@jit
def breadth_first(
    start: Places, columns: int, any_ace: bool, table: HashTable, wanted: int, cap: int
) -> tuple[Places, Indices, int, NDArray[np.int64], Goals, bool]:
    """Find all positions reachable from `start`, layer by layer, up to `cap` of them.

    Returns (places, parents, number of positions, end of each layer, goals, whether the search is complete).
    """
    places, hashes, parents, slots = _begun(start, table)
    goals = np.full((2, 3), _NONE, dtype=np.int64)
    _note_goal(places[0], columns, any_ace, 0, 0, 1, goals)
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((MOST_MOVES, 2), dtype=np.uint8)
    last_column = _last_column(columns)
    ends = [1]
    count, index = 1, 0
    while index < count and not _done(goals, wanted):
        if index == ends[-1]:
            ends.append(count)
        blanks = lay_out(places[index], columns, cells)
        for number in range(list_moves(cells, blanks, columns, any_ace, moves)):
            card, target = int(moves[number, 0]), int(moves[number, 1])
            source = places[index, card]
            value = hashes[index] ^ table[card, source] ^ table[card, target]
            slot = _slot_of(slots, hashes, places, value, index, card, target)
            if slots[slot] != _NONE:
                continue
            if count == cap:
                return places, parents, count, np.array(ends), goals, False
            if count == len(hashes):
                places, hashes, parents, slots = _grown(places, hashes, parents, count)
                slot = _slot_of(slots, hashes, places, value, index, card, target)
            slots[slot] = count
            _append(places, hashes, parents, count, index, card, target, value)
            count += 1
            after = blanks ^ (np.uint64(1) << np.uint64(source)) ^ (np.uint64(1) << np.uint64(target))
            if after == last_column:
                _note_goal(places[count - 1], columns, any_ace, count - 1, len(ends), count, goals)
        index += 1
    if ends[-1] < count:
        ends.append(count)
    return places, parents, count, np.array(ends), goals, index == count


@jit
def _packed_holes(blanks: np.uint64) -> int:
    """Return the cells of the holes, in reading order, in fields of `_HOLE_BITS` bits."""
    packed = 0
    for hole in range(SUITS):
        packed |= int(lowest_bit(blanks)) << (_HOLE_BITS * hole)
        blanks &= blanks - np.uint64(1)
    return packed


@jit
def _hole(packed: int, hole: int) -> int:
    return (packed >> (_HOLE_BITS * hole)) & ((1 << _HOLE_BITS) - 1)


@jit
def _moved_hole(packed: int, target: int, source: int) -> int:
    """Return the holes after a card has moved from `source` to the hole at `target`."""
    hole = 0
    while _hole(packed, hole) != target:
        hole += 1
    return packed ^ ((target ^ source) << (_HOLE_BITS * hole))


@jit
def _list_moves_by_holes(cells: Cells, packed: int, columns: int, moves: NDArray[np.uint8]) -> int:
    """List moves as `list_moves` does, with the holes in the order of `packed`."""
    count = 0
    for hole in range(SUITS):
        count = list_moves_into(_hole(packed, hole), cells, columns, True, moves, count)
    return count


@jit
def depth_first(
    start: Places, columns: int, table: HashTable, wanted: int, cap: int
) -> tuple[Places, Indices, int, int, Goals, bool]:
    """Find the positions of Superpuzz reachable from `start`, up to `cap`, in the order of Shintani's paper.

    All new children of a position are generated and marked as met; then the search descends into them, one after
    another. Holes take cards in their order in `start`, wherever they are by then; a hole at the left end takes aces by
    suit. Returns (places, parents, number of positions, greatest depth, goals, whether the search is complete).
    """
    places, hashes, parents, slots = _begun(start, table)
    holes, depths = np.empty(_FIRST_ROOM, dtype=np.int32), np.zeros(_FIRST_ROOM, dtype=np.int32)
    stack = np.zeros(_FIRST_ROOM, dtype=np.int32)
    goals = np.full((2, 3), _NONE, dtype=np.int64)
    _note_goal(places[0], columns, True, 0, 0, 1, goals)
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((MOST_MOVES, 2), dtype=np.uint8)
    holes[0] = _packed_holes(lay_out(places[0], columns, cells))
    count, waiting, deepest = 1, 1, 0
    while waiting and not _done(goals, wanted):
        waiting -= 1
        index, first = stack[waiting], count
        lay_out(places[index], columns, cells)
        for number in range(_list_moves_by_holes(cells, holes[index], columns, moves)):
            card, target = int(moves[number, 0]), int(moves[number, 1])
            source = int(places[index, card])
            value = hashes[index] ^ table[card, source] ^ table[card, target]
            slot = _slot_of(slots, hashes, places, value, index, card, target)
            if slots[slot] != _NONE:
                continue
            if count == cap:
                return places, parents, count, deepest, goals, False
            if count == len(hashes):
                places, hashes, parents, slots = _grown(places, hashes, parents, count)
                holes, depths = _longer(holes, len(hashes)), _longer(depths, len(hashes))
                slot = _slot_of(slots, hashes, places, value, index, card, target)
            slots[slot] = count
            _append(places, hashes, parents, count, index, card, target, value)
            holes[count] = _moved_hole(holes[index], target, source)
            depths[count] = depths[index] + 1
            deepest = max(deepest, depths[count])
            count += 1
            _note_goal(places[count - 1], columns, True, count - 1, depths[count - 1], count, goals)
        while waiting + count - first > len(stack):
            stack = _longer(stack, 2 * len(stack))
        for child in range(count - 1, first - 1, -1):
            stack[waiting] = child
            waiting += 1
    return places, parents, count, deepest, goals, waiting == 0


@jit
def depth_first_remembering(
    start: Places, columns: int, table: HashTable, cap: int, step: int
) -> tuple[Places, Indices, int, int, Goals, bool, Indices]:
    """Find the positions of Gap reachable from `start`, each move followed to its end before the next; none twice.

    Each position stores its number of moves to the goal (Ishihata's second program), which is correct because no
    position recurs. A move counts `step`: 1, or -1 for the most moves, which are negative then. Returns (places,
    parents, number of positions, greatest depth, goals, whether the search is complete, moves to the goal from each
    position).
    """
    places, hashes, parents, slots = _begun(start, table)
    to_goal = np.empty(_FIRST_ROOM, dtype=np.int32)
    to_goal[0] = NEVER
    goals = np.full((2, 3), _NONE, dtype=np.int64)
    _note_goal(places[0], columns, False, 0, 0, 1, goals)
    if goals[0, 0] == 0:
        to_goal[0] = 0
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((MOST_MOVES, 2), dtype=np.uint8)
    # A card moves again only after the one before it in its suit has moved: the k-th at most k - 1 times. With r =
    # columns - 1 cards a suit, that is at most 2 * r * (r - 1) moves in all, which is less than this.
    stack = np.empty(SUITS * columns * columns // 2 + 1, dtype=np.int32)
    tried = np.empty(len(stack), dtype=np.int32)
    stack[0] = tried[0] = 0
    count, level, deepest = 1, 0, 0
    while level >= 0:
        index = stack[level]
        blanks = lay_out(places[index], columns, cells)
        if tried[level] == list_moves(cells, blanks, columns, False, moves):
            level -= 1
            if level >= 0:
                to_goal[stack[level]] = min(to_goal[stack[level]], to_goal[index] + step)
            continue
        card, target = int(moves[tried[level], 0]), int(moves[tried[level], 1])
        tried[level] += 1
        value = hashes[index] ^ table[card, places[index, card]] ^ table[card, target]
        slot = _slot_of(slots, hashes, places, value, index, card, target)
        if slots[slot] != _NONE:
            to_goal[index] = min(to_goal[index], to_goal[slots[slot]] + step)
            continue
        if count == cap:
            return places, parents, count, deepest, goals, False, to_goal
        if count == len(hashes):
            places, hashes, parents, slots = _grown(places, hashes, parents, count)
            slot = _slot_of(slots, hashes, places, value, index, card, target)
            to_goal = _longer(to_goal, len(hashes))
        slots[slot] = count
        _append(places, hashes, parents, count, index, card, target, value)
        level += 1
        stack[level], tried[level] = count, 0
        deepest = max(deepest, level)
        count += 1
        _note_goal(places[count - 1], columns, False, count - 1, level, count, goals)
        to_goal[count - 1] = 0 if goals[0, 0] == count - 1 else NEVER
    return places, parents, count, deepest, goals, level < 0, to_goal
