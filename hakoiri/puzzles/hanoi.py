"""The towers of Hanoi with three to eight pegs and up to 26 discs; with five pegs and more, 20.

A key has as many bits per disc as a peg's number needs: two for three and four pegs, three above. The smallest disc is
in the lowest bits. With four or eight pegs every number below ``pegs ** discs`` is a configuration.

A text has one row per peg, each from the bottom disc to the top one, ``.`` for an empty peg; disc A is the smallest.
So three discs on the first of four pegs are ``CBA/././.``.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import pairwise, product
from math import comb, perm

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import Counts, Field, Fields, Key, Keys, Mask, narrowest
from hakoiri.puzzles.contract import OVERFLOW, BitKernel, Expansion, Orbits, Puzzle, Ranking
from hakoiri.puzzles.hanoi_numbers import HanoiNumbers
from hakoiri.puzzles.options import Number
from hakoiri.puzzles.pictures import EDGE, Label, Part, Picture, Rectangle, ink, scale
from hakoiri.puzzles.texts import marks_in, rows_in

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: The kernels have a bit above those of all discs.
_MOST_BITS = 62
#: The smallest discs, whose places are a word of 64 bits.
_WORD_DISCS = 3
Words = NDArray[np.uint64]
#: The most keys in a block of `configurations`.
_BLOCK = 1 << 20
#: Pixels of a picture: the height of a disc, the width of the smallest and what each larger one is wider.
_DISC, _NARROWEST, _WIDER = 20, 36, 12


class Hanoi(Puzzle):
    """All discs go from the first peg to the last; a disc never lies on a smaller one."""

    name = "hanoi"
    summary = "towers of Hanoi, several pegs: one disc at a time, never onto a smaller one"
    goal_summary = "all discs on the last peg"
    size_options = ("discs",)
    options = {"pegs": Number(4, 3, 8), "discs": Number(3, 1, 26)}
    undirected = paired = True
    notation = "pegs"

    def prepare(self, start: str | None) -> None:
        self.pegs, self.discs = self.parameters["pegs"], self.parameters["discs"]
        self.total = self.pegs**self.discs
        self.numbers = self.total if self.pegs in (4, 8) else None
        self._bits = (self.pegs - 1).bit_length()
        if (most := _MOST_BITS // self._bits) < self.discs:
            raise PuzzleError(f"{self.name} with pegs={self.pegs} has at most {most} discs, not discs={self.discs}")
        self._all = (1 << self._bits * self.discs) - 1
        # The lowest bit of each disc: times a peg, this is the key of all discs on that peg.
        self._ones = self._all // ((1 << self._bits) - 1)
        self.layout = narrowest(self._bits * self.discs)
        fields = (Field(self._bits * disc, self._bits, self.pegs) for disc in range(self.discs))
        self.fields = Fields.of(self.layout, fields)
        # For each pair of pegs, the one with the smaller top disc gives it to the other; two empty pegs have no move.
        empty = max(self.pegs - self.discs, 0)
        self.most_successors = comb(self.pegs, 2) - comb(empty, 2)

    def usual_start(self) -> Key:
        return 0

    @property
    def only_goal(self) -> Key:  # type: ignore[override]
        return int(self._ones * (self.pegs - 1))

    def is_goal(self, keys: Keys) -> Mask:
        """All discs stand on the last peg."""
        return np.asarray(keys == self.only_goal)

    def expand(self, keys: Keys) -> Expansion:
        write = partial(_expand_four, keys) if self.pegs == 4 else partial(_expand_any, keys, self.pegs)
        return self.expansion(keys, comb(self.pegs, 2), partial(write, self._ones, self._all + 1))

    @cached_property
    def ranking(self) -> Ranking | None:  # type: ignore[override]
        """Numbers without gaps; of four or eight pegs these are the keys."""
        return self._ranking(()) if self.numbers is None else None

    @cached_property
    def class_ranking(self) -> Ranking | None:  # type: ignore[override]
        """Numbers of the classes that `canonical` names."""
        return self._ranking(tuple(self._empty))

    def _ranking(self, names: tuple[int, ...]) -> Ranking:
        found = HanoiNumbers(self.pegs, self.discs, names, self.layout).ranking()
        kind, own = type(self), "expand" not in vars(self)
        own &= (kind.expand, kind.successors, kind.canonical) == (Hanoi.expand, Hanoi.successors, Hanoi.canonical)
        return found if own else found._replace(spread=None)

    @property
    def spread(self) -> BitKernel | None:
        """The kernel for bitmaps of four pegs: a word has the places of the three smallest discs."""
        if self.pegs != 4 or self.discs < _WORD_DISCS:
            return None
        ones = self._ones >> 2 * _WORD_DISCS

        def write(words: Words, base: Key, marks: Words) -> None:
            _spread_four(words, base >> 6, ones, 3 * ones + 1, *_word_masks(), _LOWER, marks)

        return BitKernel(write)

    def orbits(self, keys: Keys) -> Orbits:
        """Return the key after pegs are renumbered in the order of their top discs: all permutations are symmetries."""
        return self._renumbered(keys, range(self.pegs), 1)

    def symmetry_maps(self) -> Sequence[Callable[[Keys], Keys]]:
        """Return the exchanges of each peg with the next one."""
        return [partial(self._exchanged, *pegs) for pegs in pairwise(range(self.pegs))]

    def _exchanged(self, peg: int, other: int, keys: Keys) -> Keys:
        found, kind = keys.copy(), self.layout.dtype.type
        for disc in range(self.discs):
            here = (keys >> kind(self._bits * disc)) & kind((1 << self._bits) - 1)
            found[(here == peg) | (here == other)] ^= kind((peg ^ other) << self._bits * disc)
        return found

    @property
    def _empty(self) -> list[int]:
        """The pegs without discs at the start, the last one first: their permutations keep the start."""
        return [peg for peg in range(self.pegs - 1, -1, -1) if peg not in self._unpack(self.start)]

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """Return the exchanges of each empty peg of the start with the next empty one, which generate the others."""
        return [partial(self._exchanged, *pegs) for pegs in pairwise(self._empty)]

    def canonical(self, keys: Keys) -> Keys:
        """Return the key after the empty pegs of the start are renumbered from the last one on, by their largest discs.

        So keys lie close together, and all discs stand on the last peg if they stand on any of these.
        """
        return self._renumbered(keys, self._empty, -1).astype(self.layout.dtype)

    def orbit_sizes(self, keys: Keys) -> NDArray[np.int64]:
        count = len(self._empty)
        images = np.array([perm(count, used) for used in range(count + 1)])
        return np.asarray(images[_count_used(keys, np.array(self._empty), self._bits, self._ones)])

    def _renumbered(self, keys: Keys, names: Sequence[int], step: int) -> Orbits:
        """Return the keys after the pegs in `names` got these names in turn.

        In the order of their smallest discs (`step` 1) or their largest ones (-1).
        """
        numbers, discs = np.empty(len(keys), dtype=np.int64), np.arange(self.discs)[::step]
        _renumber_pegs(keys, self.pegs, discs, self._bits, np.array(names, dtype=np.int64), numbers)
        return numbers

    def configurations(self) -> Iterator[Keys]:
        """Blocks of at most 1,048,576 keys: those with the same pegs of the larger discs."""
        low = 1
        while low < self.discs and self.pegs ** (low + 1) <= _BLOCK:
            low += 1
        block = np.zeros(1, dtype=self.layout.dtype)
        for disc in range(low):
            pegs = np.arange(self.pegs, dtype=self.layout.dtype) << self.layout.dtype.type(self._bits * disc)
            block = (pegs[:, None] | block).ravel()
        for larger in product(range(self.pegs), repeat=self.discs - low):
            yield block | self.layout.dtype.type(self._pack([0] * low + list(larger[::-1])))

    def successors(self, key: Key) -> list[Key]:
        found = []
        for source in range(self.pegs):
            for target in range(self.pegs):
                pegs = self._towers(key)
                if source != target and pegs[source] and (not pegs[target] or pegs[source][-1] < pegs[target][-1]):
                    pegs[target].append(pegs[source].pop())
                    places = sorted((disc, peg) for peg, tower in enumerate(pegs) for disc in tower)
                    found.append(self._pack([peg for _, peg in places]))
        return found

    def check_key(self, key: Key) -> None:
        if not 0 <= key <= self._all:
            raise ConfigurationError(f"{key:#x} has more than the {self._bits * self.discs} bits of {self.discs} discs")
        for disc, peg in enumerate(self._unpack(key)):
            if peg >= self.pegs:
                raise ConfigurationError(f"{key:#x} puts disc {_LETTERS[disc]} on peg {peg + 1} of {self.pegs}")

    def parse_text(self, text: str) -> Key:
        letters, found = _LETTERS[: self.discs], dict[str, str]()
        towers = dict(rows_in(text, self.pegs, name="peg", form=", one for each peg"))
        for peg, row in towers.items():
            if not row:
                raise ConfigurationError(f"{peg} is blank; write an empty peg as '.'")
            towers[peg] = row if row != "." else ""
        for peg, _, letter in marks_in(towers.items(), letters, f"a disc; the discs are {letters}"):
            if letter in found:
                raise ConfigurationError(f"disc {letter} appears twice, on {found[letter]} and on {peg}")
            found[letter] = peg
        for peg, row in towers.items():
            for below, above in pairwise(row):
                if above > below:
                    raise ConfigurationError(f"{peg}: disc {above} lies on {below}, which is smaller")
        if missing := sorted({*letters} - {*found}):
            raise ConfigurationError(f"disc {missing[0]} is missing")
        return self._pack([[*towers].index(found[letter]) for letter in letters])

    def render(self, key: Key) -> str:
        return "/".join("".join(_LETTERS[disc] for disc in tower) or "." for tower in self._towers(key))

    def describe_move(self, before: Key, after: Key) -> str:
        """The disc and its pegs, e.g. ``"A from peg 1 to peg 3"``."""
        pegs = zip(self._unpack(before), self._unpack(after), strict=True)
        ((disc, source, target),) = [(disc, *both) for disc, both in enumerate(pegs) if both[0] != both[1]]
        return f"{_LETTERS[disc]} from peg {source + 1} to peg {target + 1}"

    def pictures(self, path: list[Key]) -> list[Picture]:
        """The pegs side by side, a disc's colour growing lighter with its size."""
        room, floor = _NARROWEST + _WIDER * (self.discs - 1) + 8, (self.discs + 1) * _DISC
        rods = [Rectangle((peg + 0.5) * room - 3, 0, 6, floor, "#c9bfae", 3) for peg in range(self.pegs)]
        pegs, found = Part("pegs", (*rods, Rectangle(0, floor, self.pegs * room, 8, EDGE, 3))), []
        for towers in map(self._towers, path):
            parts = [pegs]
            for peg, level, disc in ((peg, *each) for peg, tower in enumerate(towers) for each in enumerate(tower, 1)):
                width, fill = _NARROWEST + _WIDER * disc, scale(disc, self.discs)
                label = Label(width / 2, _DISC / 2, _LETTERS[disc], 12, ink(fill))
                shapes = (Rectangle(0, 1, width, _DISC - 2, fill, 7), label)
                parts.append(Part(_LETTERS[disc], shapes, (peg + 0.5) * room - width / 2, floor - level * _DISC))
            found.append(Picture(self.pegs * room, floor + 8, tuple(parts)))
        return found

    def _unpack(self, key: Key) -> list[int]:
        """The peg of each disc, the smallest first."""
        return [key >> self._bits * disc & ((1 << self._bits) - 1) for disc in range(self.discs)]

    def _pack(self, pegs: list[int]) -> Key:
        return sum(peg << self._bits * disc for disc, peg in enumerate(pegs))

    def _towers(self, key: Key) -> list[list[int]]:
        """The discs of each peg, the bottom one first."""
        towers: list[list[int]] = [[] for _ in range(self.pegs)]
        for disc, peg in reversed(list(enumerate(self._unpack(key)))):
            towers[peg].append(disc)
        return towers


# In the kernels `ones` has the lowest bit of each disc, and `none` is the bit above all discs: the top of an empty peg
# is a disc larger than all, and of two pegs the lesser top is the disc that can move to the other. A disc goes from
# peg a to b or back by `key ^ (a ^ b) * top`.


@jit
def _tops(key: int, ones: int, none: int) -> tuple[int, int, int, int]:
    """Return the top disc of each of four pegs."""
    high = key >> 1
    on_0 = ~(key | high) & ones | none
    on_1 = key & ~high & ones | none
    on_2 = high & ~key & ones | none
    on_3 = key & high & ones | none
    return on_0 & -on_0, on_1 & -on_1, on_2 & -on_2, on_3 & -on_3


@jit
def _expand_four(keys: Keys, ones: int, none: int, room: Keys, counts: Counts) -> int:
    """Write the successors of all `keys` into `room`, the number of each into `counts`; return the total.

    `OVERFLOW` unless `room` holds six for every key, however few they are.
    """
    if len(room) < 6 * len(keys):
        return OVERFLOW
    total = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        top_0, top_1, top_2, top_3 = _tops(int(key), ones, none)
        first = total
        top = min(top_0, top_1)
        room[total] = key ^ top
        total += top != none
        top = min(top_0, top_2)
        room[total] = key ^ top * 2
        total += top != none
        top = min(top_0, top_3)
        room[total] = key ^ top * 3
        total += top != none
        top = min(top_1, top_2)
        room[total] = key ^ top * 3
        total += top != none
        top = min(top_1, top_3)
        room[total] = key ^ top * 2
        total += top != none
        top = min(top_2, top_3)
        room[total] = key ^ top
        total += top != none
        counts[i] = total - first
    return total


@cache
def _word_masks() -> tuple[Words, Words]:
    """Return masks of the bits of a word: [disc, a ^ b] where a disc moves from peg a to b; [a, b] where none is there.

    Bit ``16 * c + 4 * b + a`` of a word stands for the three smallest discs on pegs a, b, c.
    """
    moving, apart = np.zeros((_WORD_DISCS, 4), dtype=np.uint64), np.zeros((4, 4), dtype=np.uint64)
    for bit in range(64):
        pegs = [bit >> 2 * disc & 3 for disc in range(_WORD_DISCS)]
        for disc, peg in enumerate(pegs):
            for change in range(1, 4):
                free = not {peg, peg ^ change} & {*pegs[:disc]}
                moving[disc, change] |= np.uint64(free) << np.uint64(bit)
        for one, two in product(range(4), repeat=2):
            apart[one, two] |= np.uint64(not {one, two} & {*pegs}) << np.uint64(bit)
    return moving, apart


#: The lower ones of neighbouring groups of 1, 2, 4, 8, 16, 32 bits: changing a bit of a peg's number exchanges both.
_LOWER = np.array([0xFFFFFFFFFFFFFFFF // ((1 << (1 << k)) + 1) for k in range(6)], dtype=np.uint64)


@jit
def _exchange(word: np.uint64, level: int, lower: Words) -> np.uint64:
    shift = np.uint64(1) << np.uint64(level)
    return np.uint64((word & lower[level]) << shift | (word >> shift) & lower[level])


@jit
def _spread_four(
    words: Words, first: int, ones: int, none: int, moving: Words, apart: Words, lower: Words, marks: Words
) -> None:
    """Set the successors of the bits of `words`; `ones` and `none` are those of the discs above a word's."""
    for i in range(len(words)):
        word = words[i]
        if word == np.uint64(0):
            continue
        found = np.uint64(0)
        for disc in range(3):
            found |= _exchange(word & moving[disc, 1], 2 * disc, lower)
            found |= _exchange(word & moving[disc, 2], 2 * disc + 1, lower)
            both = _exchange(word & moving[disc, 3], 2 * disc, lower)
            found |= _exchange(both, 2 * disc + 1, lower)
        key = np.int64(first + i)
        marks[key] |= found
        tops = _tops(int(key), ones, none)
        for one in range(4):
            for two in range(one + 1, 4):
                top = min(tops[one], tops[two])
                if top != none:
                    marks[key ^ top * (one ^ two)] |= word & apart[one, two]


@jit
def _expand_any(keys: Keys, pegs: int, ones: int, none: int, room: Keys, counts: Counts) -> int:
    """Expand as `_expand_four`, for any number of pegs; `room` holds one successor of a key for each pair of pegs."""
    if len(room) < pegs * (pegs - 1) // 2 * len(keys):
        return OVERFLOW
    tops = np.empty(pegs, dtype=np.int64)
    third = 1 if pegs <= 4 else 2
    total = 0
    for i in range(len(keys)):
        key = np.int64(keys[i])
        for peg in range(pegs):
            other = key ^ ones * peg
            here = ~(other | other >> 1 | other >> third) & ones | none
            tops[peg] = here & -here
        first = total
        for one in range(pegs):
            for two in range(one + 1, pegs):
                top = min(tops[one], tops[two])
                room[total] = key ^ top * (one ^ two)
                total += top != none
        counts[i] = total - first
    return total


@jit
def _count_used(keys: Keys, pegs: Orbits, bits: int, ones: int) -> Orbits:
    """Return on how many of some pegs each key has discs."""
    used = np.zeros(len(keys), dtype=np.int64)
    for i in range(len(keys)):
        key = np.int64(keys[i])
        for peg in pegs:
            other = key ^ ones * peg
            apart = other | other >> 1
            if bits == 3:
                apart |= other >> 2
            used[i] += apart & ones != ones
    return used


@jit
def _renumber_pegs(keys: Keys, pegs: int, discs: Orbits, bits: int, named: Orbits, numbers: Orbits) -> None:
    """Write each key into `numbers` after some pegs are `named` in turn as they appear, `discs` after `discs`.

    Other pegs keep their names.
    """
    first = np.arange(pegs)
    first[named] = -1
    names = np.empty(pegs, dtype=np.int64)
    for i in range(len(keys)):
        key = np.int64(keys[i])
        names[:] = first
        known = np.int64(0)
        number = np.int64(0)
        for disc in discs:
            peg = key >> bits * disc & ((1 << bits) - 1)
            if names[peg] < 0:
                names[peg] = named[known]
                known += 1
            number |= names[peg] << bits * disc
        numbers[i] = number
