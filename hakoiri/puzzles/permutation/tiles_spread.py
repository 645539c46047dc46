"""Sliding tiles: a kernel that sets the successors of boards in a bitmap, without their keys.

A slide along a line moves the blank by one cell, and the key by one: bits move by one place, many at a time. A slide
across lines adds to the key what depends on the digits of a window of tiles (`puzzles.permutation.tiles_kernels`).

The orders of the last `_LOW` tiles make a *part*. For windows of these tiles alone a table has the goal of each place
of a part. A window that begins before them has one change for a *run* of orders. In a block with many bits, runs are
moved as a whole, under a mask of one cell; so are the places of the last window, which has few changes. Of the 5.4 ns
that a configuration of the 3x4 tiles takes in large layers, listing places takes 2.1, runs 1.8, single moves 1.4.
"""

from functools import lru_cache
from math import factorial, lcm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit, popcount
from hakoiri.puzzles.permutation.tiles_kernels import DIGIT_BITS, digit_words, window_changes

_Words = NDArray[np.uint64]
_Numbers = NDArray[np.int64]
#: The last tiles, whose orders make a part.
_LOW = 7
#: The least bits a word of a block in which runs are moved as a whole.
_LEAST_EACH = 0.5
#: The most changes of a window whose places are moved together.
_MOST_CHANGES = 3


class TileSpreadTables(NamedTuple):
    """The tables of a board. A *way* is 0 for a blank that moves back, 1 for one that moves ahead.

    `along` masks the bits that move along a line, by way and word. `near` masks the bits that move across lines in a
    window of the last tiles, and `far` those that move in another window. `fewer` is `near` without the places that are
    moved together. `goals[way, parity, place]` is the goal of a place of a part, from the begin of the part on.

    Each row of `runs` has a way, a cell, the number of orders, where the window begins in the word of digits, in bits,
    and where its changes begin in `contents`. `run_of[way, cell]` is the number of the row. `singles` has the bits of
    its cell, word by word. `lows` has the digits of each order of the last tiles.

    Each row of `moved` has the way, the parity and the change of places that are moved together. `together` has the
    bits of these places in a block, word by word.
    """

    along: _Words
    near: _Words
    far: _Words
    fewer: _Words
    goals: NDArray[np.int32]
    runs: _Numbers
    run_of: _Numbers
    singles: _Words
    lows: _Words
    contents: _Numbers
    moved: _Numbers
    together: _Words


def block_of(cells: int) -> int:
    """Return the configurations of a block: whole parts in whole words."""
    return lcm(64, factorial(min(_LOW, cells - 1)) // 2 * cells)


@lru_cache(maxsize=4)
def spread_tables(lines: int, length: int) -> TileSpreadTables:
    """Return the tables of a board of more than `_LOW` cells: 300 kB for 3 x 4."""
    tiles = (cells := lines * length) - 1
    first_low, windows, block = tiles - min(_LOW, tiles), tiles - length + 1, block_of(cells)
    parity_bit = DIGIT_BITS * (tiles - 2)
    radices = [1 if tile >= tiles - 2 else tiles - tile for tile in range(tiles)]
    lows = digit_words(first_low, radices[first_low:], parity_bit)
    worth = [cells * (factorial(tiles - 1 - tile) // 2) if tile < tiles - 2 else 0 for tile in range(tiles)]
    contents = window_changes(length, worth)
    period, part, size = lcm(64, cells) // 64, len(lows) * cells, 1 << DIGIT_BITS * length
    along, near, far = np.zeros((3, 2, 64 * period), dtype=bool)
    goals, run_of = np.zeros((2, 2, part), dtype=np.int64), np.full((2, cells), -1)
    runs, moved, together = list[tuple[int, ...]](), list[tuple[int, int, int]](), list[NDArray[np.bool_]]()
    for cell in range(cells):
        line, place = divmod(cell, length)
        along[0, cell::cells], along[1, cell::cells] = place > 0, place < length - 1
        for way, window in enumerate((cell - length, cell)):
            if not 0 <= window < windows:
                continue
            first = (way * windows + window) * size
            if window < first_low:
                far[way, cell::cells] = True
                step = int(np.prod(radices[window + length :]))
                run_of[way, cell] = len(runs)
                runs.append((way, cell, min(step, len(lows)), DIGIT_BITS * window, first))
                continue
            near[way, cell::cells] = True
            for parity in range(2):
                own = parity ^ (line % 2 if length % 2 == 0 else 0)
                held = (lows ^ (own << parity_bit)) >> DIGIT_BITS * window & size - 1
                changes = contents[first + held]
                goals[way, parity, cell::cells] = np.arange(len(lows)) * cells + cell + changes
                alike = _alike(changes, cell, cells, block) if window == windows - 1 else {}
                moved += [(way, parity, change) for change in alike]
                together += alike.values()
    fewer = near.copy()
    if moved:
        fewer[0, cells - 1 :: cells] = fewer[1, cells - 1 - length :: cells] = False
    return TileSpreadTables(
        np.tile(_packed(along), block // 64 // period), _packed(near), _packed(far), _packed(fewer),
        goals.astype(np.int32),
        np.array(runs, dtype=np.int64).reshape(-1, 5), run_of, _singles(runs, cells, period),
        lows.astype(np.uint64), contents,
        np.array(moved, dtype=np.int64).reshape(-1, 3), _packed(np.array(together, dtype=bool).reshape(-1, block)),
    )  # fmt: skip


def _alike(changes: _Numbers, cell: int, cells: int, block: int) -> dict[int, NDArray[np.bool_]]:
    """Return the bits in a block of the places of a cell, by their change; none for more than `_MOST_CHANGES`."""
    if len(each := np.unique(changes)) > _MOST_CHANGES:
        return {}
    found = dict[int, NDArray[np.bool_]]()
    for change in each.tolist():
        bits = np.zeros((len(changes), cells), dtype=bool)
        bits[:, cell] = changes == change
        found[change] = np.tile(bits.ravel(), block // bits.size)
    return found


def _singles(runs: list[tuple[int, ...]], cells: int, period: int) -> _Words:
    """Return `TileSpreadTables.singles`, with room for the longest run to begin at each word of a period."""
    words = max([step for _, _, step, *_ in runs], default=0) * cells // 64 + 2 + period
    singles = np.zeros((len(runs), words), dtype=np.uint64)
    for number, (_, cell, *_) in enumerate(runs):
        bits = np.zeros(64 * period, dtype=bool)
        bits[cell::cells] = True
        singles[number] = np.resize(_packed(bits), words)
    return singles


def _packed(bits: NDArray[np.bool_]) -> _Words:
    return np.ascontiguousarray(np.packbits(bits, axis=-1, bitorder="little")).view(np.uint64)


#: Words that are looked at together: in thin layers most are empty.
_GROUP = 8


@jit
def _list_places(words: _Words, masks: _Words, places: NDArray[np.uint32]) -> int:
    """List the places of the bits of some words under the masks of a period; `places` must have four to spare."""
    one, four = np.uint64(1), np.uint64(4)
    count = np.uint64(0)
    period = np.uint64(len(masks))
    at = np.uint64(0)
    for begin in range(0, len(words), _GROUP):
        end = min(begin + _GROUP, len(words))
        some = np.uint64(0)
        for index in range(begin, end):
            some |= words[index]
        if some == np.uint64(0):
            at = (at + np.uint64(_GROUP)) % period
            continue
        for index in range(begin, end):
            word = words[index] & masks[at]
            at += one
            if at == period:
                at = np.uint64(0)
            first = np.uint32(index << 6)
            # Without a branch for words without bits: it would be mispredicted.
            last = count + popcount(word)
            for place in range(4):
                places[count + np.uint64(place)] = first + np.uint32(lowest_bit(word))
                word &= word - one
            count += four
            while count < last:
                for place in range(4):
                    places[count + np.uint64(place)] = first + np.uint32(lowest_bit(word))
                    word &= word - one
                count += four
            count = last
    # A signed number: mixed with unsigned ones, numba would make it a float.
    return int(np.int64(count))


@jit
def _find(places: NDArray[np.uint32], count: int, begin: int, below: int) -> int:
    """Return the first index from `begin` on whose place is not below `below`."""
    low, high = begin, count
    while low < high:
        middle = (low + high) // 2
        if np.int64(places[middle]) < below:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def _spread_along(words: _Words, along: _Words, marks: _Words) -> None:
    """Move the bits of a block by one place, under masks for each of its words."""
    one, most, last = np.uint64(1), np.uint64(63), len(words) - 1
    back, ahead = along[0], along[1]
    for index in range(len(words)):
        word = words[index]
        marks[index] |= (word & back[index]) >> one | (word & ahead[index]) << one
    lows, highs = marks[:last], marks[1:]
    words_after, backs = words[1:], back[1:]
    for index in range(last):
        lows[index] |= (words_after[index] & backs[index]) << most
    for index in range(last):
        highs[index] |= (words[index] & ahead[index]) >> most


@jit
def _move_bits(
    words: _Words, first: int, bits: int, masks: _Words, entry: int, mask: int, goal: int, room: _Words, marks: _Words
) -> None:
    """Set in `marks`, from bit `goal` on, so many bits from `first` on, under a row of `masks` from word `mask` on.

    No slices: each would cost as much as moving ten words.
    """
    one, sixty_three, every = np.uint64(1), np.uint64(63), ~np.uint64(0)
    begin, end = np.uint64(first) >> np.uint64(6), np.uint64(first + bits - 1) >> np.uint64(6)
    count, row, phase = end - begin + one, np.uint64(entry), np.uint64(mask)
    for index in range(count):
        room[index + one] = words[begin + index] & masks[row, phase + index]
    room[one] &= every << (np.uint64(first) & sixty_three)
    room[count] &= every >> (sixty_three - (np.uint64(first + bits - 1) & sixty_three))
    start = goal - (first & 63)
    up = np.uint64(start & 63)
    down = sixty_three - up
    if start < 0 or (start >> 6) + np.int64(count) >= len(marks):
        # The words before and after all have no bits.
        for index in range(count + one):
            some = room[index] >> one >> down
            if index < count:
                some |= room[index + one] << up
            if some != np.uint64(0):
                marks[np.uint64(start >> 6) + index] |= some
        return
    target = np.uint64(start >> 6)
    for index in range(count):
        marks[target + index] |= room[index + one] << up | (room[index] >> one) >> down
    marks[target + count] |= room[count] >> one >> down


@jit
def spread_keys(
    words: _Words, base: int, tables: TileSpreadTables, cells: int, length: int, block: int, marks: _Words
) -> None:
    """Set the successors of the bits of `words`, blocks of which the first begins at `base`, in `marks`.

    The board has so many `cells`, in lines of `length`.
    """
    along, near, far, fewer, goals = tables.along, tables.near, tables.far, tables.fewer, tables.goals
    tiles, part, each = cells - 1, goals.shape[2], block // 64
    low, window = min(_LOW, tiles), (1 << DIGIT_BITS * length) - 1
    one, most = np.uint64(1), np.uint64(63)
    room = np.zeros(each + 4, dtype=np.uint64)
    places = np.empty(block + 4, dtype=np.uint32)
    for number in range(len(words) // each):
        some = words[number * each : (number + 1) * each]
        filled = np.uint64(0)
        for index in range(each):
            filled += popcount(some[index])
        if filled == np.uint64(0):
            continue
        begin, origin = base + number * block, number * block
        _spread_along(some, along, marks[begin >> 6 : (begin >> 6) + each])
        is_full = np.float64(filled) >= _LEAST_EACH * each
        for way in range(2):
            count = _list_places(some, fewer[way] if is_full else near[way], places)
            done = 0
            for first in range(0, block, part):
                last = _find(places, count, done, first + part)
                digits = _digits_of((begin + first) // part, tiles, low)
                goal = goals[way, _parity(digits)]
                offset = np.int64(begin + first)
                for index in range(done, last):
                    key = np.uint64(offset + goal[np.uint64(places[index]) - np.uint64(first)])
                    marks[key >> np.uint64(6)] |= one << (key & most)
                done = last
                if is_full:
                    _move_part(words, origin, begin, first, digits, way, tables, cells, window, room, marks)
            if not is_full:
                count = _list_places(some, far[way], places)
                _move_far(places, count, begin, block, way, tables, cells, window, marks)


@jit
def _move_part(
    words: _Words, origin: int, begin: int, first: int, digits: np.uint64, way: int, tables: TileSpreadTables,
    cells: int, window: int, room: _Words, marks: _Words,
) -> None:  # fmt: skip
    """Move what is moved as a whole in the part from place `first` on of a block, which is at bit `origin` of `words`.

    The tiles before the last ones have these `digits` in the whole part.
    """
    runs, moved, lows, contents = tables.runs, tables.moved, tables.lows, tables.contents
    # Not in a loop: each look-up counts references, which takes as long as moving ten words.
    together, singles = tables.together, tables.singles
    part, period, parity = tables.goals.shape[2], tables.near.shape[1], _parity(digits)
    for entry in range(len(moved)):
        if moved[entry, 0] == way and moved[entry, 1] == parity:
            goal = begin + first + moved[entry, 2]
            _move_bits(words, origin + first, part, together, entry, first >> 6, goal, room, marks)
    for entry in range(len(runs)):
        if runs[entry, 0] == way:
            step = runs[entry, 2]
            for order in range(0, part // cells, step):
                held = (digits | lows[order]) >> np.uint64(runs[entry, 3]) & np.uint64(window)
                source = first + order * cells
                goal = begin + source + contents[np.uint64(runs[entry, 4]) + held]
                phase = (source >> 6) % period
                _move_bits(words, origin + source, step * cells, singles, entry, phase, goal, room, marks)


@jit
def _move_far(
    places: NDArray[np.uint32], count: int, begin: int, block: int, way: int, tables: TileSpreadTables, cells: int,
    window: int, marks: _Words,
) -> None:  # fmt: skip
    """Move so many places of a block one by one, those whose windows begin before the last tiles."""
    runs, run_of, lows, contents = tables.runs, tables.run_of, tables.lows, tables.contents
    part, tiles = tables.goals.shape[2], cells - 1
    one, most, width = np.uint64(1), np.uint64(63), np.uint64(cells)
    # A product and a shift in place of a division: exact for the places of a part.
    inverse = (one << np.uint64(40)) // width + one
    done = 0
    for first in range(0, block, part):
        last = _find(places, count, done, first + part)
        if last == done:
            continue
        digits = _digits_of((begin + first) // part, tiles, min(_LOW, tiles))
        for index in range(done, last):
            place = np.uint64(places[index]) - np.uint64(first)
            order = place * inverse >> np.uint64(40)
            entry = run_of[way, place - order * width]
            held = (digits | lows[order]) >> np.uint64(runs[entry, 3]) & np.uint64(window)
            key = np.uint64(begin + np.int64(places[index]) + contents[np.uint64(runs[entry, 4]) + held])
            marks[key >> np.uint64(6)] |= one << (key & most)
        done = last


@jit
def _digits_of(rest: int, tiles: int, low: int) -> np.uint64:
    """Return the digits of the tiles before the last ones, by the number of a part."""
    digits = np.uint64(0)
    for tile in range(tiles - low - 1, -1, -1):
        digits |= np.uint64(rest % (tiles - tile)) << np.uint64(4 * tile)
        rest //= tiles - tile
    return digits


@jit
def _parity(digits: np.uint64) -> int:
    return int(np.int64(popcount(digits & np.uint64(0x1111111111111111)) & np.uint64(1)))
