"""Numbers without gaps for towers of Hanoi with any number of pegs, also where some pegs may change places.

The pegs in `names` are interchangeable: they get these names in the order of their largest discs. So the largest disc
stands on a peg that is not in `names`, or on the first one in it; each disc after it may stand on the next one, too.
The number of a position is that of all such positions with lesser keys. It is a sum over the discs, of what a table has
for a disc, its peg, and the number of names that larger discs use.
"""

from functools import cache, partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import Key, Keys, Layout
from hakoiri.puzzles.contract import BitKernel, Ranking

Words = NDArray[np.uint64]
Table = NDArray[np.int64]
#: The most positions of the smallest discs, the *low* ones, on given larger ones: their successors are two words.
_MOST_LOW = 128


class HanoiNumbers:
    """The numbers of the positions of so many discs, and the tables of the kernels.

    `offsets` has for a disc, the number of names used by larger discs, and a peg how many positions have a lesser peg
    for this disc; -1 where the disc cannot stand there.
    """

    def __init__(self, pegs: int, discs: int, names: tuple[int, ...], layout: Layout) -> None:
        self._low = partial(_low, pegs, min(discs, _low_discs(pegs)), names)
        self._bits, self._layout, self._names = (pegs - 1).bit_length(), layout, np.array(names, dtype=np.int64)
        self._places = _places(pegs, names)
        self.offsets, counts = _offsets(pegs, discs, names)
        self.count = int(counts[discs, 0])

    def ranking(self) -> Ranking:
        """Return the numbers as tables take them."""
        return Ranking(self.count, self.of, self.keys, BitKernel(self.write))

    def of(self, keys: Keys) -> Words:
        """Return the number of each key; all ones if it is no position whose pegs are named in order."""
        found = np.empty(len(keys), dtype=np.uint64)
        _rank(keys, self._bits, self.offsets, self._places, found)
        return found

    def keys(self, numbers: Words) -> Keys:
        """Return the key of each number below `count`. Takes less time for numbers in order."""
        low = self._low()
        keys = self._layout.empty(len(numbers))
        _unrank(numbers, self._bits, self.offsets, self._places, low.discs, low.sizes, low.keys, keys)
        return keys

    def write(self, words: Words, base: Key, marks: Words) -> None:
        """Set the successors of the bits of `words` (`BitKernel`)."""
        low = self._low()
        _spread(
            words, base, self._bits, self.offsets, self._places, self._names, low.discs, low.sizes, low.keys, low.near,
            low.apart, marks,
        )  # fmt: skip


def _places(pegs: int, names: tuple[int, ...]) -> Table:
    """Return for each peg its place in `names`, -1 if it is not in it."""
    return np.array([names.index(peg) if peg in names else -1 for peg in range(pegs)], dtype=np.int64)


def _low_discs(pegs: int) -> int:
    """Return how many discs are low."""
    return max(discs for discs in range(1, 8) if pegs**discs <= _MOST_LOW)


def _offsets(pegs: int, discs: int, names: tuple[int, ...]) -> tuple[Table, Table]:
    """Return the offsets, and the number of positions of so many smallest discs if so many names are used."""
    counts = np.ones((discs + 1, len(names) + 1), dtype=np.int64)
    offsets = np.full((discs, len(names) + 1, pegs), -1, dtype=np.int64)
    for disc, used in product(range(discs), range(len(names), -1, -1)):
        total = 0
        for peg, place in enumerate(_places(pegs, names).tolist()):
            if place <= used:
                offsets[disc, used, peg] = total
                total += int(counts[disc, used + (place == used)])
        counts[disc + 1, used] = total
    return offsets, counts


class _Low:
    """Positions and moves of the low discs, by the number of names that larger discs use.

    `sizes` has how many positions there are, `keys` their keys, and `near` the words of the positions after a move of a
    low disc. `apart` has for two pegs the words of positions with no low disc on either; a peg after all others stands
    for one without any disc.
    """

    def __init__(self, pegs: int, discs: int, names: tuple[int, ...]) -> None:
        bits, places = (pegs - 1).bit_length(), _places(pegs, names)
        offsets, counts = _offsets(pegs, discs, names)
        self.discs, self.sizes = discs, counts[discs]
        most = int(self.sizes.max())
        self.keys = np.zeros((len(names) + 1, most), dtype=np.int64)
        self.near = np.zeros((len(names) + 1, most, 2), dtype=np.uint64)
        self.apart = np.zeros((len(names) + 1, pegs + 1, pegs + 1, 2), dtype=np.uint64)

        def rank(placed: list[int], used: int) -> int:
            """Return the number of a position, whose pegs may be named out of order."""
            total, named = 0, dict[int, int]()
            for disc in range(discs - 1, -1, -1):
                peg, now = placed[disc], used + len(named)
                if places[peg] >= used:
                    if peg not in named:
                        named[peg] = names[now]
                    peg = named[peg]
                total += int(offsets[disc, now, peg])
            return total

        for used in range(len(names) + 1):
            for number in range(int(self.sizes[used])):
                placed, left, now = [0] * discs, number, used
                for disc in range(discs - 1, -1, -1):
                    peg = max(peg for peg in range(pegs) if 0 <= offsets[disc, now, peg] <= left)
                    left -= int(offsets[disc, now, peg])
                    now += int(places[peg] == now)
                    placed[disc] = peg
                self.keys[used, number] = sum(peg << bits * disc for disc, peg in enumerate(placed))
                word, bit = divmod(number, 64)
                there = [peg for peg in range(pegs) if places[peg] < used and peg not in placed]
                there += [pegs] * (now < len(names))
                for one, two in product(there, repeat=2):
                    self.apart[used, one, two, word] |= np.uint64(1 << bit)
                for disc, peg in product(range(discs), range(pegs)):
                    if {placed[disc], peg}.isdisjoint(placed[:disc]) and peg != placed[disc]:
                        after, at = divmod(rank([*placed[:disc], peg, *placed[disc + 1 :]], used), 64)
                        self.near[used, number, after] |= np.uint64(1 << at)


_low = cache(_Low)


@jit
def _rank(keys: Keys, bits: int, offsets: Table, places: Table, found: Words) -> None:
    pegs = offsets.shape[2]
    for i in range(len(keys)):
        key, used, number = np.int64(keys[i]), 0, np.int64(0)
        for disc in range(len(offsets) - 1, -1, -1):
            peg = key >> bits * disc & ((1 << bits) - 1)
            if peg >= pegs or offsets[disc, used, peg] < 0:
                number = np.int64(-1)
                break
            number += offsets[disc, used, peg]
            used += places[peg] == used
        found[i] = np.uint64(number) if key >> bits * len(offsets) == 0 else np.uint64(0) - np.uint64(1)


@jit
def _larger(number: int, bits: int, offsets: Table, places: Table, low: int) -> tuple[int, int, int]:
    """Return the key of all discs but the low ones, the number of the first position with it, and the names used."""
    key, first, used = 0, 0, 0
    for disc in range(len(offsets) - 1, low - 1, -1):
        peg = offsets.shape[2] - 1
        while offsets[disc, used, peg] < 0 or first + offsets[disc, used, peg] > number:
            peg -= 1
        first += int(offsets[disc, used, peg])
        used += places[peg] == used
        key |= peg << bits * disc
    return key, first, used


@jit
def _unrank(
    numbers: Words, bits: int, offsets: Table, places: Table, low: int, sizes: Table, low_keys: Table, keys: Keys
) -> None:
    key, first, end, used = 0, 0, 0, 0
    for i in range(len(numbers)):
        number = int(np.int64(numbers[i]))
        if not first <= number < end:
            key, first, used = _larger(number, bits, offsets, places, low)
            end = first + int(sizes[used])
        keys[i] = key | low_keys[used, number - first]


@jit
def _set_at(marks: Words, place: int, one: np.uint64, two: np.uint64) -> None:
    """Set two words of bits from a place on."""
    word, shift = place >> 6, np.uint64(place & 63)
    marks[word] |= one << shift
    if shift != np.uint64(0):
        back = np.uint64(64) - shift
        if one >> back | two << shift != np.uint64(0):
            marks[word + 1] |= one >> back | two << shift
        if two >> back != np.uint64(0):
            marks[word + 2] |= two >> back
    elif two != np.uint64(0):
        marks[word + 1] |= two


@jit
def _spread(
    words: Words, base: int, bits: int, offsets: Table, places: Table, names: Table, low: int, sizes: Table,
    low_keys: Table, near: NDArray[np.uint64], apart: NDArray[np.uint64], marks: Words,
) -> None:  # fmt: skip
    key, first, end, used = 0, 0, 0, 0
    here, found = np.zeros(2, dtype=np.uint64), np.zeros(2, dtype=np.uint64)
    pegs = offsets.shape[2]
    # By peg: its least and its largest disc but the low ones; by disc: the names used by larger ones.
    tops, largest = np.zeros(pegs + 1, dtype=np.int64), np.zeros(pegs + 1, dtype=np.int64)
    before, named = np.zeros(len(offsets) + 1, dtype=np.int64), np.zeros(pegs + 1, dtype=np.int64)
    for index in range(len(words)):
        word = words[index]
        while word != np.uint64(0):
            lowest = word & (np.uint64(0) - word)
            number = base + 64 * index + int(np.int64(popcount(lowest - np.uint64(1))))
            word ^= lowest
            if number >= end:
                if end:
                    _finish(
                        key, first, used, here, found, bits, offsets, places, names, low, low_keys, apart, tops,
                        largest, before, named, marks,
                    )  # fmt: skip
                key, first, used = _larger(number, bits, offsets, places, low)
                end = first + int(sizes[used])
            at = number - first
            here[at >> 6] |= np.uint64(1) << np.uint64(at & 63)
            found[0] |= near[used, at, 0]
            found[1] |= near[used, at, 1]
    if end:
        _finish(
            key, first, used, here, found, bits, offsets, places, names, low, low_keys, apart, tops, largest, before,
            named, marks,
        )  # fmt: skip


@jit
def _finish(
    key: int, first: int, used: int, here: Words, found: Words, bits: int, offsets: Table, places: Table, names: Table,
    low: int, low_keys: Table, apart: NDArray[np.uint64], tops: Table, largest: Table, before: Table, named: Table,
    marks: Words,
) -> None:  # fmt: skip
    """Set what the positions `here` on the larger discs of `key` lead to, `found` by low discs; clear both."""
    pegs, discs = offsets.shape[2], len(offsets)
    _set_at(marks, first, found[0], found[1])
    tops[:], largest[:] = discs, -1
    now = 0
    for disc in range(discs - 1, low - 1, -1):
        peg = key >> bits * disc & ((1 << bits) - 1)
        before[disc] = now
        now += places[peg] == now
        tops[peg] = disc
        largest[peg] = max(largest[peg], disc)
    for one in range(pegs):
        for two in range(one + 1, pegs + 1):
            left, right = here[0] & apart[used, one, two, 0], here[1] & apart[used, one, two, 1]
            disc = min(tops[one], tops[two])
            if disc == discs or left | right == np.uint64(0):
                continue
            source, target = (one, two) if tops[one] == disc else (two, one)
            vacates = places[source] >= 0 and largest[source] == disc
            if target < pegs and not vacates:
                moved = offsets[disc, before[disc], target] - offsets[disc, before[disc], source]
                _set_at(marks, first + moved, left, right)
            elif target == pegs and vacates:
                _set_at(marks, first, left, right)
            else:
                _set_renamed(
                    key, disc, target, used, left, right, bits, offsets, places, names, low, low_keys, named, marks
                )
    here[:] = np.uint64(0)
    found[:] = np.uint64(0)


@jit
def _set_renamed(
    key: int, moved: int, target: int, used: int, left: np.uint64, right: np.uint64, bits: int, offsets: Table,
    places: Table, names: Table, low: int, low_keys: Table, named: Table, marks: Words,
) -> None:  # fmt: skip
    """Set the positions in two words after a disc has `moved` to a peg, by which other pegs get new names."""
    named[:] = -1
    first, now = np.int64(0), 0
    for disc in range(len(offsets) - 1, low - 1, -1):
        peg = target if disc == moved else key >> bits * disc & ((1 << bits) - 1)
        if peg < len(places) and places[peg] < 0:
            name = peg
        else:
            if named[peg] < 0:
                named[peg] = names[now]
            name = named[peg]
        first += offsets[disc, now, name]
        now += places[name] == now
    for half in range(2):
        word = left if half == 0 else right
        while word != np.uint64(0):
            lowest = word & (np.uint64(0) - word)
            low_key = low_keys[used, 64 * half + np.int64(popcount(lowest - np.uint64(1)))]
            word ^= lowest
            number, then = first, now
            for disc in range(low - 1, -1, -1):
                name = low_key >> bits * disc & ((1 << bits) - 1)
                if places[name] >= used:
                    name = names[places[name] - used + now]
                elif places[name] >= 0:
                    name = named[name]
                number += offsets[disc, then, name]
                then += places[name] == then
            marks[number >> 6] |= np.uint64(1) << np.uint64(number & 63)
