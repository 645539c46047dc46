"""The moves of a definition as permutations of points, and what their group says about the number of positions.

The point of a place is its number; then, for each place, follow as many points as orientations can be told. An element
leads the piece of a place, turned by no more than its point says, to where the moves bring it.
"""

from collections.abc import Sequence
from itertools import accumulate
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.definitions.chain import Chain, Level
from hakoiri.puzzles.definitions.coordinates import Ranked, Searched
from hakoiri.puzzles.definitions.definition import Definition, Move
from hakoiri.puzzles.definitions.stickers import classes_of
from hakoiri.puzzles.permutation.orders import digits_of

_Table = NDArray[np.int64]
#: Random elements of a stabiliser, and attempts to find some of them that exchange identical pieces.
_ELEMENTS, _ATTEMPTS = 8, 60


class Action:
    """Permutations of points: `rows`, one for each move. `points` has those whose images tell an element.

    `largest` is the most places that moves mix. In a `distinct` definition each position belongs to one element.
    """

    def __init__(self, definition: Definition, moves: Sequence[Move]) -> None:
        self.definition, places = definition, len(definition.pieces)
        self.distinct, self.turns, self._classes = True, definition.orientations, classes_of([m.source for m in moves])
        for each in self._classes:
            seen, pieces = {definition.seen[place] for place in each}, {definition.pieces[place] for place in each}
            self.distinct &= len(seen) == 1 and len(pieces) == len(each)
            for place in each if len(seen) == 1 else ():
                self.turns[place] = definition.seen[place]
        self.largest = max(map(len, self._classes))
        self.firsts = list(accumulate(self.turns, initial=places))
        self.degree = self.firsts[-1]
        self.rows = np.array([self._row(move) for move in moves], dtype=np.int32)
        largest_first = sorted(self._classes, key=len, reverse=True)
        self.points = [point for each in largest_first for place in each for point in self.stickers(place)]
        moved = (self.rows != np.arange(self.degree)).any(axis=0)
        self.varying = (
            {place for place in range(places) if moved[place]},
            {place for place in range(places) if self.turns[place] > 1 and moved[self.stickers(place)].any()},
        )

    def stickers(self, place: int) -> range:
        return range(self.firsts[place], self.firsts[place + 1])

    def _row(self, move: Move) -> list[int]:
        row = list(range(self.degree))
        for place, (source, twist) in enumerate(zip(*move, strict=True)):
            row[source] = place
            for turn in range(self.turns[place]):
                row[self.firsts[source] + turn] = self.firsts[place] + (turn + twist) % self.turns[place]
        return row

    def move_of(self, element: NDArray[np.int32]) -> tuple[_Table, _Table]:
        """Return for each place its source, and how often the piece from there is turned."""
        source = np.argsort(element[: len(self.turns)])
        firsts = np.array(self.firsts)
        return source, element[firsts[source]] - firsts[:-1]

    def position(self, elements: NDArray[np.int32]) -> tuple[_Table, _Table]:
        """Return the pieces and twists after elements, which are applied to the solved position."""
        firsts, solved, places = np.array(self.firsts), self.definition, len(self.turns)
        source = np.argsort(elements[:, :places], axis=1)
        turned = np.take_along_axis(elements, firsts[source], axis=1) - firsts[:-1]
        twists = (np.array(solved.twists)[source] + turned) % np.array(self.turns)
        return np.array(solved.pieces)[source], twists

    def elements(self, pieces: _Table, twists: _Table) -> NDArray[np.int32]:
        """Return the elements of positions of distinct pieces, which need not be products of moves.

        `ConfigurationError` if a piece is where no move brings it.
        """
        solved, elements = self.definition, np.empty((len(pieces), self.degree), dtype=np.int32)
        rows = np.arange(len(pieces))
        for each in self._classes:
            home_of = np.full(max(solved.pieces) + 1, -1)
            home_of[[solved.pieces[place] for place in each]] = each
            for place in each:
                source = home_of[pieces[:, place]]
                if (source < 0).any():
                    raise ConfigurationError(
                        f"this position cannot be reached: no move brings this to place {place + 1}"
                    )
                turned = twists[:, place] - np.array(solved.twists)[source]
                elements[rows, source] = place
                for turn in range(self.turns[place]):
                    after = self.firsts[place] + (turn + turned) % self.turns[place]
                    elements[rows, np.array(self.firsts)[source] + turn] = after
        return elements

    def labels(self) -> NDArray[np.int64]:
        """Return equal numbers for points that look alike in the solved position."""
        given, found = self.definition, list(self.definition.pieces)
        for place, (piece, twist, seen) in enumerate(zip(given.pieces, given.twists, given.seen, strict=True)):
            found += [piece << 10 | (turn - twist) % seen for turn in range(self.turns[place])]
        return np.array(found)


def positions_at_least(action: Action, parts: Sequence[Searched | Ranked]) -> int:
    """Return a number of positions that there are at least; with distinct pieces all that a chain finds.

    Coordinate by coordinate: positions in which those before are solved, by some elements that leave them so.
    """
    orders, twists = [each for each in parts if each.holds_pieces], [each for each in parts if not each.holds_pieces]
    sections = [(each, [*each.places, *_stickers(action, each)]) for each in orders]
    sections += [(each, _stickers(action, each)) for each in twists]
    points = list(dict.fromkeys([*(point for _, some in sections for point in some), *range(action.degree)]))
    chain = Chain(action.rows, points)
    if action.distinct:
        return chain.order
    levels, before, least, random = chain.levels, list[int](), 1, np.random.default_rng(1)
    for part, some in sections:
        fixing = {*some, *points[points.index(some[0]) :]}
        rest = [level for level in levels if level.point in fixing]
        alone = prod(len(level.members) for level in rest if level.point in {*some})
        least *= _orbit(
            part, alone, action, rest, [level for level in levels if level.point in {*before}], before, random
        )
        before += some
    return least


def _stickers(action: Action, part: Searched | Ranked) -> list[int]:
    return [point for place in part.places for point in action.stickers(place)] if part.holds_twists else []


def _orbit(
    part: Searched | Ranked, alone: int, action: Action, rest: list[Level], first: list[Level], before: list[int],
    random: np.random.Generator,
) -> int:  # fmt: skip
    """Return how many states of a coordinate some elements reach that keep the points `before` looking solved.

    `alone` is the number of states that those reach which leave these points where they are.
    """
    orders, distinct = part.holds_pieces and not part.holds_twists, len({*part.row}) == len(part.row)
    if part.size == alone and (distinct if orders else not part.holds_pieces):
        return alone
    elements = [_product(action, rest, random) for _ in range(_ELEMENTS)]
    labels = action.labels()
    for _ in range(_ATTEMPTS if first else 0):
        if (found := _alike(action, first, before, labels, random)) is not None:
            elements.append(found)
    places = factorial(len(part.places))
    if orders and 2 * alone >= places:
        # All even orders, so with two identical pieces all.
        if not distinct:
            return part.size
        rows = [np.argsort(part.places)[np.searchsorted(sorted(part.places), each[part.places])] for each in elements]
        is_odd = any(sum(digits_of(row.tolist())) % 2 for row in rows)
        return places if is_odd else alone
    if isinstance(part, Ranked):
        return 1
    reached = np.zeros(part.states, dtype=np.bool_)
    layer = np.array([0])
    reached[0] = True
    at = {place: index for index, place in enumerate(part.places)}
    moved = [(np.array([at[each] for each in source[part.places].tolist()]), twist[part.places])
             for source, twist in map(action.move_of, elements)]  # fmt: skip
    after = [part.after_element(*each) for each in moved]
    while len(layer):
        layer = np.unique(np.concatenate([each[layer] for each in after]))
        layer = layer[~reached[layer]]
        reached[layer] = True
    return int(reached.sum())


def _product(action: Action, levels: Sequence[Level], random: np.random.Generator) -> Any:
    """Return a random element, of those that fix the points of all levels before."""
    element = np.arange(action.degree, dtype=np.int32)
    for level in levels:
        element = element[level.there[random.integers(len(level.members))]]
    return element


def _alike(
    action: Action, levels: Sequence[Level], points: list[int], labels: NDArray[np.int64], random: np.random.Generator
) -> Any:
    """Return an element that takes each of some points to one that looks alike, or ``None`` if chance finds none."""
    element = np.arange(action.degree, dtype=np.int32)
    for level in levels:
        fitting = np.flatnonzero(labels[element[level.members]] == labels[level.point])
        if not len(fitting):
            return None
        element = element[level.there[random.choice(fitting)]]
    return element if np.array_equal(labels[element[points]], labels[points]) else None
