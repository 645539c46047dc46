"""Positions as mixed numbers of their coordinates, and as places in a list of these."""

from collections.abc import Iterator, Sequence
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import U128, Keys, Mask, narrowest
from hakoiri.keys.order import distinct, merge_sorted, subtract
from hakoiri.memory import claim
from hakoiri.puzzles.contract import Matching
from hakoiri.puzzles.definitions.coordinates import Ranked, Searched, TooLargeError, numbering_of, shown
from hakoiri.puzzles.definitions.definition import Definition, Move
from hakoiri.puzzles.definitions.kernels import (
    FREE,
    FREE_ORDERS,
    Outer,
    Ranks,
    expand_ranks,
    expand_tables,
    expand_wide,
)
from hakoiri.puzzles.definitions.numbering import PositionKeys, Table
from hakoiri.puzzles.permutation.orders import all_orders

#: Numbers from this on are keys of two words, the outer and the inner number.
WIDE = 1 << 63
#: The most positions of a `Listed` numbering.
_MOST_LISTED = 1 << 21


class Mixed(PositionKeys):
    """Coordinates as a mixed number. Where their `size` is more than the positions, keys are not `numbers`."""

    def __init__(self, definition: Definition, moves: Sequence[Move]) -> None:
        self.definition, self._coordinates = definition, numbering_of(definition, moves)
        self.parts = self._coordinates.parts
        *before, last = self.parts
        self._outer_size, self._inner_size = prod(each.size for each in before), last.size
        self.size = self._outer_size * self._inner_size
        self.layout = narrowest((self.size - 1).bit_length()) if self.size < WIDE else U128
        if self.layout is U128 and (isinstance(last, Searched) or self._outer_size >= WIDE):
            raise TooLargeError(f"{definition.name} has up to {shown(self.size)} positions, which is too many")
        # Only the last one may be ranked.
        tabled = [(number, each) for number, each in enumerate(before) if isinstance(each, Searched)]
        relations = len(self._coordinates.moduli)
        claim(
            "the table of all coordinates", sum(each.states * (len(moves) * 4 + relations * 16) for _, each in tabled)
        )
        no_rows = np.zeros((0, len(moves)), dtype=np.uint32), np.zeros((0, relations), dtype=np.int64)
        self._outer = Outer(
            np.array([each.size for each in before], dtype=np.int64),
            np.cumsum([0, *(each.states for each in before)], dtype=np.int64),
            np.concatenate([no_rows[0], *(each.after for _, each in tabled)]),
            np.concatenate([no_rows[1], *(self._coordinates.sums(number, each.classes) for number, each in tabled)]),
            np.array(self._coordinates.moduli, dtype=np.int64), np.array(self._coordinates.pivots, dtype=np.int64),
        )  # fmt: skip
        self._inner: Any = last.after if isinstance(last, Searched) else _rank_tables(last)
        self.moves = len(moves)
        self.followers, self.sizes = self._coordinates.followers, [each.size for each in self.parts]
        followers = {place for image in self.followers for place in image.values()}
        self.varying = (
            {place for each in self.parts if each.holds_pieces for place in each.places} | followers,
            {place for each in self.parts if each.holds_twists for place in each.places},
        )

    def expand(self, keys: Keys) -> Keys:
        room, last = self.layout.empty(len(keys) * self.moves), self.parts[-1]
        if isinstance(last, Searched):
            expand_tables(keys, last.size, self._outer, self._inner, room)
        else:
            expand = expand_wide if self.layout is U128 else expand_ranks
            expand(keys, last.size, self._outer, self._inner, last.halved, room)
        return room

    def are_keys(self, keys: Keys) -> Mask:
        if self.layout is not U128:
            return super().are_keys(keys)
        return np.asarray((keys[:, 0] < self._outer_size) & (keys[:, 1] < self._inner_size))

    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        pieces, twists = (
            np.tile(np.array(row), (len(keys), 1)) for row in (self.definition.pieces, self.definition.twists)
        )
        for coordinate, full in zip(self.parts, self._states(keys), strict=True):
            rows = coordinate.rows_of(full).astype(np.int64)
            if coordinate.holds_pieces:
                pieces[:, coordinate.places] = rows // coordinate.kinds
            if coordinate.holds_twists:
                twists[:, coordinate.places] = rows % coordinate.kinds
        return self.follow(pieces), twists

    def pack(self, pieces: Table, twists: Table) -> Keys:
        self.check_followers(pieces)
        totals = np.zeros((len(pieces), len(self._coordinates.moduli)), dtype=np.int64)
        outer, inner, size = np.zeros(len(pieces), dtype=np.int64), np.zeros(len(pieces), dtype=np.int64), 0
        for number, coordinate in enumerate(self.parts):
            rows = coordinate.holds_pieces * pieces * coordinate.kinds + coordinate.holds_twists * twists
            full = coordinate.full_of(rows[:, coordinate.places])
            outer, size = outer * size + inner, coordinate.size
            kind, inner = np.divmod(full, size)
            if (kind != self._coordinates.class_in(number, totals)).any():
                raise ConfigurationError(f"this position cannot be reached: {coordinate.what} does not fit the rest")
            if isinstance(coordinate, Searched):
                totals += self._coordinates.sums(number, coordinate.classes_of(full))
        if self.layout is U128:
            return np.stack([outer, inner], axis=1).astype(np.uint64)
        return (outer * size + inner).astype(self.layout.dtype)

    def _states(self, keys: Keys) -> Iterator[NDArray[np.int64]]:
        """Yield the full numbers of the states of each coordinate."""
        if self.layout is U128:
            outer, inner = keys.T.astype(np.int64)
        else:
            outer, inner = np.divmod(keys.astype(np.int64), self._inner_size)
        digits = [inner]
        for coordinate in reversed(self.parts[:-1]):
            outer, digit = np.divmod(outer, coordinate.size)
            digits.insert(0, digit)
        totals = np.zeros((len(keys), len(self._coordinates.moduli)), dtype=np.int64)
        for number, (coordinate, digit) in enumerate(zip(self.parts, digits, strict=True)):
            yield (full := self._coordinates.class_in(number, totals) * coordinate.size + digit)
            if isinstance(coordinate, Searched):
                totals += self._coordinates.sums(number, coordinate.classes_of(full))

    def match(self, pieces: Sequence[int | None], twists: Sequence[int | None]) -> Matching | None:
        """Coordinate by coordinate, where each of them has a table."""
        fits = list[Mask]()
        for coordinate in self.parts:
            if isinstance(coordinate, Ranked):
                return None
            if self.followers:
                return super().match(pieces, twists)
            fit = np.ones(coordinate.states, dtype=np.bool_)
            for index, place in enumerate(coordinate.places):
                label, turned = np.divmod(coordinate.rows[:, index], coordinate.kinds)
                if coordinate.holds_pieces and pieces[place] is not None:
                    fit &= label == pieces[place]
                if coordinate.holds_twists and twists[place] is not None:
                    fit &= turned == twists[place]
            fits.append(fit)

        def holds(keys: Keys) -> Mask:
            return np.asarray(np.logical_and.reduce([fit[f] for fit, f in zip(fits, self._states(keys), strict=True)]))

        return holds


def _rank_tables(coordinate: Ranked) -> Ranks:
    sources, targets = coordinate.sources, np.argsort(coordinate.sources, axis=1)
    places = sources.shape[1] if coordinate.distinct else 0
    worth = np.array([factorial(place) for place in range(places)], dtype=np.int64)
    things = np.array(coordinate.base)
    larger, digits = all_orders(FREE)
    kinds = np.ascontiguousarray((larger[::2] * FREE + larger[1::2]).T.astype(np.uint8))
    parities = digits.sum(axis=0) % 2
    if not coordinate.distinct:
        none = np.zeros((0, 0), dtype=np.uint64)
        return Ranks(sources, targets, things, coordinate.states, worth, none, kinds, parities)
    free = np.zeros((len(sources), FREE_ORDERS), dtype=np.int64)
    for move, target in enumerate(targets):
        for one in range(FREE):
            for two in range(FREE):
                # The thing of `one` comes before that of `two`, and fewer of the eight exceed it.
                if target[one] < target[two]:
                    free[move] += (larger[one] < larger[two]) * worth[target[two]]
    rows: Keys = np.ascontiguousarray(free.T, dtype=np.uint32 if coordinate.states < 1 << 32 else np.uint64)
    return Ranks(sources, targets, things, coordinate.states, worth, rows, kinds, parities)


class Listed(PositionKeys):
    """The places of numbers of another numbering in the list of those that moves lead to."""

    version = 2

    def __init__(self, base: Mixed, start: Keys) -> None:
        self._base, self.varying = base, base.varying
        layer, runs = start, [start]
        while len(layer):
            layer = distinct(base.expand(layer))
            for run in runs:
                layer = subtract(layer, run)
            claim("the list of all positions", len(layer) * (4 + base.moves) * layer.itemsize)
            runs.append(layer)
            # Each run is longer than all after it together, so a number is merged a few times.
            while len(runs) > 1 and len(runs[-2]) <= 2 * len(runs[-1]):
                runs.append(merge_sorted([runs.pop(), runs.pop()]))
            if sum(map(len, runs)) > _MOST_LISTED:
                raise TooLargeError(f"{base.definition.name} has more than {_MOST_LISTED:,} positions, with gaps")
        self._found = found = merge_sorted(runs)
        self.size = self.numbers = self.total = len(found)
        self.layout = narrowest((len(found) - 1).bit_length())

    def expand(self, keys: Keys) -> Keys:
        return self._numbers(self._base.expand(self._found[keys]))

    def _numbers(self, found: Keys) -> Keys:
        return np.searchsorted(self._found, found).astype(self.layout.dtype)

    def unpack(self, keys: Keys) -> tuple[Table, Table]:
        return self._base.unpack(self._found[keys])

    def pack(self, pieces: Table, twists: Table) -> Keys:
        packed = self._base.pack(pieces, twists)
        keys = np.minimum(np.searchsorted(self._found, packed), len(self._found) - 1)
        if (self._found[keys] != packed).any():
            raise ConfigurationError("this position cannot be reached: no moves lead to it")
        return keys.astype(self.layout.dtype)

    def match(self, pieces: Sequence[int | None], twists: Sequence[int | None]) -> Matching | None:
        holds = self._base.match(pieces, twists)
        return None if holds is None else lambda keys: holds(self._found[keys])
