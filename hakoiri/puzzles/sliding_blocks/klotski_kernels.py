"""Hakoiri-musume's tables and compiled kernels: a batch of packed keys in, all their successors out.

A set of cells is a 20-bit mask. A shape is 0 daughter, 1 horizontal, 2 vertical, 3 unit square; its places are
numbered in reading order. Slots 0..5 are the six larger pieces in the order of the key's nibbles.
"""

from itertools import combinations

import numpy as np

from hakoiri.puzzles.contract import OVERFLOW
from hakoiri.puzzles.jit import jit, popcount
from hakoiri.puzzles.keys.layout import Counts, Keys, Mask

ROWS, COLUMNS = 5, 4
_CELLS = ROWS * COLUMNS
#: (height, width) of each shape.
SHAPES = ((2, 2), (1, 2), (2, 1), (1, 1))
SLOTS = (0, 1, 2, 2, 2, 2)
PLACES = [
    [(row, column) for row in range(ROWS - height + 1) for column in range(COLUMNS - width + 1)]
    for height, width in SHAPES
]
PAIRS = list(combinations(range(_CELLS), 2))

#: An integer inside a kernel.
Word = int | np.signedinteger

_UNIT_METRIC, _STRAIGHT_METRIC = 0, 1
_ALL_CELLS = np.uint32((1 << _CELLS) - 1)
_NOWHERE = -1
#: The cells of the larger pieces and the blanks.
_COVERED = sum(SHAPES[shape][0] * SHAPES[shape][1] for shape in SLOTS) + 2


def _mask_of_places() -> np.ndarray:
    masks = np.zeros((4, _CELLS), dtype=np.uint32)
    for shape, (height, width) in enumerate(SHAPES):
        for place, (row, column) in enumerate(PLACES[shape]):
            for i in range(height):
                for j in range(width):
                    masks[shape, place] |= np.uint32(1 << ((row + i) * COLUMNS + column + j))
    return masks


def _neighbours_of_places() -> np.ndarray:
    neighbours = np.full((4, _CELLS, 4), _NOWHERE, dtype=np.int64)
    for shape in range(4):
        number = {place: index for index, place in enumerate(PLACES[shape])}
        for (row, column), place in number.items():
            steps = [(row - 1, column), (row, column + 1), (row + 1, column), (row, column - 1)]
            neighbours[shape, place] = [number.get(step, _NOWHERE) for step in steps]
    return neighbours


def _mirror_of_places() -> np.ndarray:
    mirror = np.zeros((4, _CELLS), dtype=np.uint32)
    for shape, (_, width) in enumerate(SHAPES):
        for place, (row, column) in enumerate(PLACES[shape]):
            mirror[shape, place] = PLACES[shape].index((row, COLUMNS - width - column))
    return mirror


def _pair_numbers() -> np.ndarray:
    numbers = np.zeros((_CELLS, _CELLS), dtype=np.uint32)
    for number, (first, second) in enumerate(PAIRS):
        numbers[first, second] = numbers[second, first] = number
    return numbers


def _mirror_cell(cell: int) -> int:
    row, column = divmod(cell, COLUMNS)
    return row * COLUMNS + COLUMNS - 1 - column


_SHAPE_OF_SLOT = np.array(SLOTS, dtype=np.int64)
MASKS = _mask_of_places()
_NEIGHBOURS = _neighbours_of_places()
_MIRROR = _mirror_of_places()
_PAIR_NUMBER = _pair_numbers()
PAIR_MASKS = np.array([1 << first | 1 << second for first, second in PAIRS], dtype=np.uint32)
_PAIR_MIRROR = np.array([_PAIR_NUMBER[_mirror_cell(a), _mirror_cell(b)] for a, b in PAIRS], dtype=np.uint32)


@jit
def _targets(shape: Word, place: Word, free: Word, metric: int, found: np.ndarray) -> int:
    """Write the places that one move can reach into `found`; return how many. `free` holds the piece's own cells."""
    count = 0
    if metric <= _STRAIGHT_METRIC:
        for direction in range(4):
            target = _NEIGHBOURS[shape, place, direction]
            while target != _NOWHERE and MASKS[shape, target] & ~free == 0:
                found[count] = target
                count += 1
                if metric == _UNIT_METRIC:
                    break
                target = _NEIGHBOURS[shape, target, direction]
        return count
    seen = 1 << place
    done = -1
    here = place
    while True:
        for direction in range(4):
            target = _NEIGHBOURS[shape, here, direction]
            if target != _NOWHERE and seen >> target & 1 == 0 and MASKS[shape, target] & ~free == 0:
                seen |= 1 << target
                found[count] = target
                count += 1
        done += 1
        if done == count:
            return count
        here = found[done]


@jit
def _pair_of(mask: Word) -> int:
    """The number of the pair of cells in a mask of two bits."""
    first = 0
    while mask >> first & 1 == 0:
        first += 1
    second = first + 1
    while mask >> second & 1 == 0:
        second += 1
    return int(_PAIR_NUMBER[first, second])


@jit
def _place_vertical(key: Word, slot: int, target: Word) -> Word:
    """The key after the vertical in `slot` went to `target`: its nibble moves until the four are in order again."""
    shift = 28 - 4 * slot
    key = (key & ~(15 << shift)) | target << shift
    while shift < 20 and (key >> (shift + 4)) & 15 > target:
        other = (key >> (shift + 4)) & 15
        key = (key & ~(255 << shift)) | target << (shift + 4) | other << shift
        shift += 4
    while shift > 8 and (key >> (shift - 4)) & 15 < target:
        other = (key >> (shift - 4)) & 15
        key = (key & ~(255 << (shift - 4))) | other << shift | target << (shift - 4)
        shift -= 4
    return key


@jit
def expand_keys(keys: Keys, metric: int, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, how many each has into `counts`; return their total.

    `OVERFLOW` if they do not fit. Metric: 0 unit, 1 straight, 2 finger.
    """
    found = np.empty(_CELLS, dtype=np.int64)
    total = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        blanks = np.int64(PAIR_MASKS[key & 255])
        covered = blanks
        first = total
        for slot in range(6):
            shape = _SHAPE_OF_SLOT[slot]
            shift = 28 - 4 * slot
            place = key >> shift & 15
            own = np.int64(MASKS[shape, place])
            covered |= own
            count = _targets(shape, place, blanks | own, metric, found)
            if total + count > len(room):
                return OVERFLOW
            for j in range(count):
                target = found[j]
                pair = _pair_of((blanks | own) & ~np.int64(MASKS[shape, target]))
                moved = (key & ~(15 << shift)) | target << shift
                if shape == 2:
                    moved = _place_vertical(key, slot, target)
                room[total] = (moved & ~255) | pair
                total += 1
        for cell in range(_CELLS):
            if covered >> cell & 1 == 0:
                own = np.int64(1) << cell
                count = _targets(3, cell, blanks | own, metric, found)
                if total + count > len(room):
                    return OVERFLOW
                for j in range(count):
                    room[total] = (key & ~255) | _pair_of((blanks | own) & ~(np.int64(1) << found[j]))
                    total += 1
        counts[i] = total - first
    return total


@jit
def find_configurations(keys: Keys, found: Mask) -> None:
    """Write whether each key is a configuration: its pieces and blanks stand apart, the verticals in order."""
    for i in range(len(keys)):
        key = np.int64(keys[i])
        pair = key & 255
        right, before = pair < len(PAIR_MASKS), np.int64(-1)
        cells = PAIR_MASKS[pair if right else 0]
        for slot in range(6):
            place = key >> (28 - 4 * slot) & 15
            # Empty where there is no such place.
            cells |= MASKS[_SHAPE_OF_SLOT[slot], place]
            right &= slot < 3 or place > before
            before = place
        found[i] = right and popcount(np.uint64(cells)) == _COVERED


@jit
def mirror_keys(keys: Keys, mirrored: Keys) -> None:
    """Write the left-right mirror image of each key into `mirrored`."""
    for i in range(len(keys)):
        key = np.int64(keys[i])
        image = np.int64(0)
        for slot in range(2):
            shift = 28 - 4 * slot
            image |= np.int64(_MIRROR[slot, key >> shift & 15]) << shift
        # Slot 2 is the highest vertical nibble: insert the mirrored places one by one, in order.
        for slot in range(2, 6):
            target = np.int64(_MIRROR[2, key >> (28 - 4 * slot) & 15])
            shift = 28 - 4 * slot
            while shift < 20 and image >> (shift + 4) & 15 > target:
                image = (image & ~(np.int64(15) << shift)) | (image >> (shift + 4) & 15) << shift
                shift += 4
            image = (image & ~(np.int64(15) << shift)) | target << shift
        mirrored[i] = image | np.int64(_PAIR_MIRROR[key & 255])
