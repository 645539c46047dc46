"""Keys of positions that are too many for numbers without gaps: a digit for each place, packed into words.

Places that moves mix are one class. The value of a place is the label of its piece in the class, times the orientations
there, plus the twist. A class whose pieces others tell has twists alone. The last place of a class is left out where
the sum of twists never changes: it has what is left. The other values, in this order, are digits of mixed numbers, as
many in a word as fit, the first highest. So a move adds to words what it changes at some places.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import factorial, lcm, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import LAYOUTS, U32, Keys, Mask
from hakoiri.keys.order import equal_rows
from hakoiri.puzzles.definitions.coordinates import shown
from hakoiri.puzzles.definitions.definition import Definition, Move
from hakoiri.puzzles.definitions.numbering import PositionKeys, Table
from hakoiri.puzzles.definitions.stickers import classes_of, following

_Numbers = NDArray[np.int64]
_Words = NDArray[np.uint64]


class Digits(NamedTuple):
    """The digits of keys: those of word w begin at ``firsts[w]``. Places are numbered class by class.

    Digit d is the value of place ``places[d]``, below ``radices[d]``. A row of `left` is a place without a digit: the
    first place of its class, its own number, the numbers of labels and of orientations, and the sums of both.
    """

    firsts: _Numbers
    places: _Numbers
    radices: _Words
    left: _Numbers


class Changes(NamedTuple):
    """Changes of values by moves: those in word w by move m begin at ``firsts[m, w]``.

    A change is of a place: ``turned[row, value]`` of the value at its source. It counts `weight` in the word.
    """

    firsts: _Numbers
    places: _Numbers
    sources: _Numbers
    rows: _Numbers
    weights: _Words
    turned: _Numbers


@jit
def _read_values(words: _Words, digits: Digits, values: _Numbers) -> None:
    firsts, places, radices, left = digits
    for word in range(len(firsts) - 1):
        rest = words[word]
        for digit in range(firsts[word + 1] - 1, firsts[word] - 1, -1):
            above = rest // radices[digit]
            values[places[digit]] = np.int64(rest - above * radices[digit])
            rest = above
    for begin, last, labels, kinds, all_labels, all_twists in left:
        label, twist = all_labels, all_twists
        if kinds == 1:
            for place in range(begin, last):
                label -= values[place]
        else:
            for place in range(begin, last):
                label -= values[place] // kinds
                twist -= values[place] % kinds
        values[last] = label % labels * kinds + twist % kinds


@jit
def read_values(keys: _Words, digits: Digits, values: _Numbers) -> None:
    """Set the value at each place of keys, a row for each."""
    for index in range(len(keys)):
        _read_values(keys[index], digits, values[index])


@jit
def expand_packed(keys: _Words, digits: Digits, changes: Changes, places: int, room: _Words) -> None:
    """Write the successors of `keys` into `room`."""
    firsts, changed, sources, rows, weights, turned = changes
    values, at = np.empty(places, dtype=np.int64), 0
    for index in range(len(keys)):
        _read_values(keys[index], digits, values)
        for move in range(len(firsts)):
            for word in range(keys.shape[1]):
                total = keys[index, word]
                for change in range(firsts[move, word], firsts[move, word + 1]):
                    difference = turned[rows[change], values[sources[change]]] - values[changed[change]]
                    total += np.uint64(difference) * weights[change]
                room[at, word] = total
            at += 1


class _Class(NamedTuple):
    """Places that moves mix: their labels in the solved position, and the orientations of each label.

    `kinds` is a multiple of all of these, 1 where no move turns a piece. `kept` tells whether the sum of twists never
    changes.
    """

    places: list[int]
    pieces: list[int]
    most: list[int]
    kinds: int
    kept: bool


class Packed(PositionKeys):
    """Keys of some words of 64 bits. A key need not be a position that moves lead to."""

    version = 2

    def __init__(self, definition: Definition, moves: Sequence[Move]) -> None:
        self.definition, sources = definition, [move.source for move in moves]
        found = [self._class(places, moves) for places in classes_of(sources)]
        found = sorted((each for each in found if len(each.places) > 1 or each.kinds > 1), key=_largest_first)
        self.varying = (
            {place for each in found if len(each.places) > 1 for place in each.places},
            {place for each in found if each.kinds > 1 for place in each.places},
        )
        images, leaders = list[dict[int, int]](), list[list[int]]()
        for number, each in enumerate(found):
            if len(each.pieces) == len(each.places) > 1 and len({*each.most}) == 1:
                maps = (following(each.places, [[place] for place in leader], sources) for leader in leaders)
                if image := next(filter(None, maps), None):
                    images.append(image)
                    found[number] = each._replace(pieces=[], most=each.most[:1])
                else:
                    leaders.append(each.places)
        self.followers, self._classes = images, [each for each in found if each.pieces or each.kinds > 1]
        self._places = [place for each in self._classes for place in each.places]
        self.size = prod(map(self._size, self._classes))
        self._digits, self._weights = self._make_digits()
        self._changes = self._make_changes(moves)

    def _class(self, places: list[int], moves: Sequence[Move]) -> _Class:
        given = self.definition
        most_of = {given.pieces[place]: given.seen[place] for place in places}
        kinds = lcm(*most_of.values())
        is_turned = any(given.twists[place] or any(move.twist[place] % kinds for move in moves) for place in places)
        kinds = kinds if is_turned else 1
        kept = len({*most_of.values()}) == 1 and all(
            sum(move.twist[place] for place in places) % kinds == 0 for move in moves
        )
        return _Class(places, [*most_of], [min(most, kinds) for most in most_of.values()], kinds, kept or kinds == 1)

    def _size(self, each: _Class) -> int:
        """Return how many states a class has, by its pieces and twists alone."""
        row = [self.definition.pieces[place] for place in each.places] if each.pieces else []
        orders = factorial(len(row)) // prod(factorial(row.count(piece)) for piece in each.pieces)
        return int(orders * each.kinds ** (len(each.places) - each.kept))

    def _make_digits(self) -> tuple[Digits, _Words]:
        """Return the digits and what each counts in its word."""
        given, places, radices, left, begin = self.definition, list[int](), list[int](), list[list[int]](), 0
        for each in self._classes:
            last, labels = begin + len(each.places) - 1, max(1, len(each.pieces))
            if each.kept:
                row = [each.pieces.index(given.pieces[place]) for place in each.places] if each.pieces else []
                twists = [given.twists[place] for place in each.places]
                left.append([begin, last, labels, each.kinds, sum(row), sum(twists)])
            places += range(begin, last + (not each.kept))
            radices += [labels * each.kinds] * (last + (not each.kept) - begin)
            begin = last + 1
        firsts, product = [0], 1
        for digit, radix in enumerate(radices):
            product *= radix
            if product > 1 << 64:
                firsts.append(digit)
                product = radix
        firsts.append(len(radices))
        fitting = [layout for layout in LAYOUTS.values() if layout.words >= len(firsts) - 1 and layout is not U32]
        if not fitting:
            raise PuzzleError(
                f"{given.name} has up to {shown(self.size)} positions, so its keys take {64 * len(firsts) - 64:,} "
                f"bits, more than {max(layout.bits for layout in LAYOUTS.values()):,}"
            )
        self.layout = fitting[0]
        firsts = [0] * (self.layout.words + 1 - len(firsts)) + firsts
        weights = [prod(radices[digit + 1 : end]) for begin, end in pairwise(firsts) for digit in range(begin, end)]
        digits = Digits(
            np.array(firsts), np.array(places, dtype=np.int64), np.array(radices, dtype=np.uint64),
            np.array(left, dtype=np.int64).reshape(-1, 6),
        )  # fmt: skip
        return digits, np.array(weights, dtype=np.uint64)

    def _make_changes(self, moves: Sequence[Move]) -> Changes:
        kinds, count = self._kinds, len(self._places)
        index_of = np.zeros(len(self.definition.pieces), dtype=np.int64)
        index_of[self._places] = np.arange(count)
        sources = index_of[np.array([move.source for move in moves])[:, self._places]]
        twists = np.array([move.twist for move in moves])[:, self._places] % kinds
        places = self._digits.places
        changed = ((sources != np.arange(count)) | (twists != 0))[:, places]
        ends = np.concatenate([[0], np.cumsum(changed)])
        rows, first_rows = list[list[int]](), list[int]()
        for each in self._classes:
            first_rows += [len(rows)] * len(each.places)
            for by in range(each.kinds):
                turns = [[(turn + by) % most for turn in range(each.kinds)] for most in each.most]
                rows.append([label * each.kinds + turn for label, row in enumerate(turns) for turn in row])
        turned = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        for number, row in enumerate(rows):
            turned[number, : len(row)] = row
        made, digits = np.nonzero(changed)
        return Changes(
            ends[np.arange(len(moves))[:, None] * len(places) + self._digits.firsts], places[digits],
            sources[made, places[digits]], np.array(first_rows)[places[digits]] + twists[made, places[digits]],
            self._weights[digits], turned,
        )  # fmt: skip

    @property
    def _kinds(self) -> _Numbers:
        return np.array([each.kinds for each in self._classes for _ in each.places])

    def expand(self, keys: Keys) -> Keys:
        room = self.layout.empty(len(keys) * len(self._changes.firsts))
        words, successors = (each.reshape(len(each), self.layout.words) for each in (keys, room))
        expand_packed(words, self._digits, self._changes, len(self._places), successors)
        return room

    def _values(self, keys: Keys) -> tuple[_Numbers, _Numbers]:
        """Return the labels and the twists at each place."""
        values = np.empty((len(keys), len(self._places)), dtype=np.int64)
        read_values(keys.reshape(len(keys), self.layout.words), self._digits, values)
        labels, twists = np.divmod(values, self._kinds)
        return labels, twists

    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        found, given, at = self._values(keys), self.definition, 0
        pieces, twists = (np.tile(np.array(row), (len(keys), 1)) for row in (given.pieces, given.twists))
        for each in self._classes:
            end = at + len(each.places)
            if each.pieces:
                pieces[:, each.places] = np.array(each.pieces)[found[0][:, at:end]]
            twists[:, each.places] = found[1][:, at:end]
            at = end
        return self.follow(pieces), twists

    def pack(self, pieces: Table, twists: Table) -> Keys:
        self.check_followers(pieces)
        values, at = twists[:, self._places].copy(), 0
        for each in self._classes:
            end, row = at + len(each.places), np.array(each.pieces, dtype=np.int64)
            if each.pieces:
                solved = np.sort([self.definition.pieces[place] for place in each.places])
                if (np.sort(pieces[:, each.places], axis=1) != solved).any():
                    raise ConfigurationError(
                        f"this position cannot be reached: no moves bring its pieces to place {each.places[0] + 1}"
                    )
                order = np.argsort(row)
                values[:, at:end] += order[np.searchsorted(row[order], pieces[:, each.places])] * each.kinds
            at = end
        keys = self._packed(values)
        if (self.unpack(keys)[1] != twists).any():
            raise ConfigurationError("this position cannot be reached: the sum of its twists is another one")
        return keys

    def _packed(self, values: _Numbers) -> Keys:
        words = np.zeros((len(values), self.layout.words), dtype=np.uint64)
        digits = values[:, self._digits.places].astype(np.uint64) * self._weights
        for word, (begin, end) in enumerate(pairwise(self._digits.firsts.tolist())):
            words[:, word] = digits[:, begin:end].sum(axis=1)
        return words[:, 0] if self.layout.words == 1 else words

    def are_keys(self, keys: Keys) -> Mask:
        """Return for each key whether it has the pieces of the puzzle, each turned as often as it may be."""
        labels, twists = self._values(keys)
        found, at = equal_rows(self._packed(labels * self._kinds + twists), keys), 0
        for each in self._classes:
            end = at + len(each.places)
            found &= (twists[:, at:end] < np.array(each.most)[labels[:, at:end]]).all(axis=1)
            if each.pieces:
                solved = np.sort([each.pieces.index(self.definition.pieces[place]) for place in each.places])
                found &= (np.sort(labels[:, at:end], axis=1) == solved).all(axis=1)
            at = end
        return found


def _largest_first(each: _Class) -> tuple[int, list[int]]:
    return -len(each.places), each.places
