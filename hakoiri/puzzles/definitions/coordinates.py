"""Coordinates: what moves change independently of all else, each numbered by itself, so that a key is a mixed number.

Places that moves mix belong together. Which piece is where is one coordinate of theirs, and how the pieces are turned
another: so parity, the sum of twists and identical pieces need no thought. A coordinate of up to 2^22 states is
searched breadth first and has a table of moves; one larger, the order of the pieces of one orbit, is ranked.

Coordinates may be coupled: an order is even where another is. A functional of a coordinate gives each state a number
modulo 2, 3, 5 or 7 to which a move adds the same, whatever the state. Where such sums over several coordinates stay 0,
the last of these is numbered within its class, so that the numbers have no gap.
"""

from collections.abc import Iterator, Sequence
from math import log10, prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError, PuzzleError, remark
from hakoiri.keys.order import distinct
from hakoiri.memory import claim
from hakoiri.puzzles.definitions.chain import Chain
from hakoiri.puzzles.definitions.definition import Definition, Move
from hakoiri.puzzles.definitions.stickers import classes_of, following
from hakoiri.puzzles.permutation.orders import arrangements, digits_of, number_of, order_of

_Numbers = NDArray[np.int64]
Row = list[int]

#: The most states of a table, and the most entries: the moves of all states.
MOST_STATES, _MOST_ENTRIES = 1 << 22, 100_000_000
#: Orders of at least so many different pieces are ranked: tables would be larger than caches.
_LEAST_RANKED = 9
_PRIMES = (2, 3, 5, 7)
#: States that are looked at together, and first.
_BLOCK, _SOME = 1 << 14, 1 << 8
#: Values of all states after all moves that take some seconds.
_LONG = 20_000_000
#: Bytes of a state in codes, orders and numbers of 64 bits while a table is made.
_BESIDE = 64
#: Places whose twists are looked at by a chain: more would take minutes.
_MOST_CHAINED = 100


class TooLargeError(PuzzleError):
    """Tables or numbers of a definition would be too large."""


def shown(number: int) -> str:
    """Return a number as an error shows it: a power of ten if it is long."""
    return f"{number:,}" if number < 1 << 80 else f"10^{int(number.bit_length() * log10(2))}"


class Coordinate:
    """A row of values at some places, changed by each move alone: value ``label * kinds + orientation``.

    A state has a full number, its class first, then its place among the `size` states of the class. Those of class 0
    begin with the solved one.
    """

    def __init__(
        self, what: str, places: Row, row: Row, seen: dict[int, int], moves: Sequence[Move], holds: tuple[bool, bool]
    ) -> None:  # fmt: skip
        """`row` has the solved values, `seen` the orientations that can be told of each label.

        `holds` tells whether the values have the pieces, and whether they have orientations.
        """
        self.what, self.places, self.row, self.seen = what, places, row, seen
        self.holds_pieces, self.holds_twists = holds
        self.kinds = max(seen.values())
        at = {place: index for index, place in enumerate(places)}
        self.sources = np.array([[at[move.source[place]] for place in places] for move in moves])
        self.twists = np.array([[move.twist[place] for place in places] for move in moves])
        #: Moduli and numbers that a move adds, one row for each functional; and for all states.
        self.moduli: list[int] = []
        self.increments: list[Row] = []

    def moved(self, rows: NDArray[Any], sources: Any, twists: Any) -> NDArray[Any]:
        """Return rows after a move, for each of the places its source among them and the twist."""
        rows = rows[..., sources]
        if self.kinds == 1:
            return rows
        label, turn = np.divmod(rows, self.kinds)
        most = np.array([self.seen.get(label, 1) for label in range(max(self.seen) + 1)])
        return np.asarray(label * self.kinds + (turn + twists) % most[label])


class Searched(Coordinate):
    """A coordinate with a table: `rows` of all states, by full number, and `after[full, move]`, within the class."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        radix = max(self.row) + 1 if self.kinds == 1 else (max(self.seen) + 1) * self.kinds
        if radix ** len(self.row) >= 1 << 63:
            raise TooLargeError(f"{self.what} has more than 2^63 conceivable states, which is too many")
        self._weights = np.array([radix**place for place in range(len(self.row))], dtype=np.int64)
        dtype = np.uint8 if radix <= 256 else np.uint16
        layer, moves = np.array([self.row], dtype=dtype), len(self.sources)
        layers, known, most = [layer], self._codes(layer), min(MOST_STATES, _MOST_ENTRIES // moves)
        # Rows three times, codes and orders, and two tables of moves; of a few states at a time also rows of 64 bits.
        each = len(self.row) * 3 * dtype().itemsize + _BESIDE + moves * 12
        claim(f"the table of {self.what}", min(_BLOCK, radix ** len(self.row)) * len(self.row) * 40)
        steps, is_long = moves * len(self.row), False
        while len(layer):
            new = known[:0]
            for part in _parts(layer, max(_BLOCK // moves, len(layer) // moves) + 1):
                # As codes, which are short, so that what moves lead to takes little memory.
                codes = self._codes_after(part, self.sources, self.twists).ravel()
                codes = codes[known[np.searchsorted(known, codes).clip(max=len(known) - 1)] != codes]
                new = distinct(np.concatenate([new, codes]))
                if len(known) + len(new) > most:
                    raise TooLargeError(f"{self.what} has more than {most:,} states, which is too many for a table")
            claim(f"the table of {self.what}", len(new) * each)
            if not is_long and (is_long := len(known) * steps > _LONG):
                remark(f"{self.what} has over {len(known):,} states: its table may take minutes")
            layer, known = (new[:, None] // self._weights % radix).astype(dtype), distinct(np.concatenate([known, new]))
            layers.append(layer)
        self.rows = np.concatenate(layers)
        self._order()
        self.after = np.empty((len(self.rows), moves), dtype=np.uint32)
        for row, part in zip(_parts(self.after, _BLOCK), _parts(self.rows, _BLOCK), strict=True):
            row[:] = self._after(part, self.sources, self.twists)
        self.states = self.size = len(self.rows)
        self.classes = np.zeros((len(self.rows), 0), dtype=np.int64)
        self._rounds = [self._round(move) for move in range(moves)]
        for prime in _PRIMES:
            self._find_functionals(prime)

    def _codes(self, rows: NDArray[Any]) -> _Numbers:
        return np.asarray(rows.astype(np.int64) @ self._weights)

    def _order(self) -> None:
        codes = self._codes(self.rows)
        self._by_code = np.argsort(codes)
        self._sorted = codes[self._by_code]

    def _codes_after(self, rows: NDArray[Any], sources: Any, twists: Any) -> _Numbers:
        """Return the codes of rows after one move, or in columns after each: of a few at a time as rows of 64 bits."""
        parts = _parts(rows, max(1, _BLOCK * len(self.row) // np.size(sources)))
        return np.concatenate([self._codes(self.moved(part, sources, twists)) for part in parts])

    def _after(self, rows: NDArray[Any], sources: Any, twists: Any) -> _Numbers:
        return np.asarray(self._by_code[np.searchsorted(self._sorted, self._codes_after(rows, sources, twists))])

    def after_element(self, sources: Any, twists: Any) -> _Numbers:
        """Return the full number of each state after a move."""
        return self._after(self.rows, sources, twists)

    def _round(self, move: int) -> int:
        """Return how often a move is made until one of the first states comes round; 0 if that takes long."""
        first = np.arange(min(self.states, _SOME))
        here = self.after[first, move]
        for times in range(1, _SOME):
            if (here == first).any():
                return times
            here = self.after[here, move]
        return 0

    def _find_functionals(self, prime: int) -> None:
        """Add the functionals modulo a prime: combinations of numbers of moves that every cycle sums up to 0."""
        moves = self.after.shape[1]
        # A move adds 0 unless the prime divides how often it is made until a state comes round.
        functionals = np.eye(moves, dtype=np.int64)[[times % prime == 0 for times in self._rounds]]
        if not len(functionals):
            return
        # How often each move is made on a way to each state; by layers, as states are numbered.
        ways = np.full((self.states, moves), -1, dtype=np.int8)
        ways[0] = 0
        layer, by = np.array([0]), np.empty(self.states, dtype=np.int64)
        while len(layer):
            after = self.after[layer].T.ravel()
            new = np.flatnonzero(ways[after, 0] < 0)
            # By one of the moves that lead to each.
            by[after[new]] = new
            new = new[by[after[new]] == new]
            found, (made, before) = after[new], np.divmod(new, len(layer))
            ways[found] = ways[layer[before]]
            ways[found, made] = (ways[found, made] + 1) % prime
            layer = found
        # The functionals that are 0 on the cycles met so far: a cycle for each move of each state, of some first.
        after = self.after
        for move in range(moves):
            sums = ways[:_SOME].astype(np.int64) - ways[after[:_SOME, move]]
            sums[:, move] += 1
            while (values := sums @ functionals.T % prime).any():
                functionals = _orthogonal(values, prime) @ functionals % prime
        # The classes of all states, with those after a move, and what differs.
        claim(f"the classes of {self.what}", self.states * 8 * 4 * len(functionals))
        classes = _classes(ways, functionals, prime)
        for move in range(moves):
            while (values := (classes + functionals[:, move] - classes[after[:, move]]) % prime).any():
                kept = _orthogonal(values, prime)
                functionals, classes = kept @ functionals % prime, classes @ kept.T % prime
        functionals = reduced(functionals, prime)
        self.moduli += [prime] * len(functionals)
        self.increments += functionals.tolist()
        self.classes = np.column_stack([self.classes, _classes(ways, functionals, prime)])

    def number_within(self, chosen: _Numbers, moduli: Sequence[int]) -> None:
        """Number states within their classes: `chosen` has the class of each state, a column for each modulus."""
        code = np.ravel_multi_index(tuple(chosen.T), tuple(moduli)) if moduli else np.zeros(self.states, dtype=np.int64)
        order = np.argsort(code, kind="stable")
        self.size = self.states // prod(moduli)
        within = np.empty(self.states, dtype=np.int64)
        within[order] = np.arange(self.states) % self.size
        self.rows, self.classes = self.rows[order], self.classes[order]
        # Move by move, as all numbers of 64 bits are twice the table.
        for move in range(self.after.shape[1]):
            self.after[:, move] = within[self.after[order, move]]
        self._order()

    def full_of(self, rows: _Numbers) -> _Numbers:
        """Return the full number of states; `ConfigurationError` if no moves lead to one."""
        full = self._by_code[np.searchsorted(self._sorted, self._codes(rows)).clip(max=self.states - 1)]
        if not np.array_equal(self.rows[full], rows):
            raise ConfigurationError(f"this position cannot be reached: {self.what}")
        return np.asarray(full)

    def rows_of(self, full: _Numbers) -> NDArray[Any]:
        return self.rows[full]

    def classes_of(self, full: _Numbers) -> _Numbers:
        return self.classes[full]


class Ranked(Coordinate):
    """An order of the pieces of one orbit, numbered as by `puzzles.permutation.orders`; equal pieces are allowed.

    The functional of different pieces is the parity, 0 for even orders. With it in a relation, a state is numbered by
    half its rank.
    """

    halved = False

    def __init__(self, what: str, places: Row, row: Row, *given: Any) -> None:
        # Equal pieces are neighbours, so that the solved order has rank 0.
        self._labels = sorted(set(row), key=row.index)
        pairs = sorted(zip(map(self._labels.index, row), places, row, strict=True))
        super().__init__(what, [place for _, place, _ in pairs], [value for *_, value in pairs], *given)
        self.states = self.size = arrangements(self.row)
        if self.states * len(self.row) >= 1 << 63:
            raise TooLargeError(f"{self.what} has {shown(self.states)} states, which is too many")
        self.base = [label for label, *_ in pairs]
        self.distinct = len(self._labels) == len(self.row)
        if self.distinct:
            self.moduli, self.increments = [2], [[_parity(source) for source in self.sources.tolist()]]

    def number_within(self, chosen: _Numbers, moduli: Sequence[int]) -> None:
        self.halved = bool(moduli)
        self.size = self.states // (1 + self.halved)

    def full_of(self, rows: _Numbers) -> _Numbers:
        if (np.sort(rows, axis=1) != np.sort(self.row)).any():
            raise ConfigurationError(f"this position cannot be reached: {self.what}")
        orders = [[self._labels.index(value) for value in row] for row in rows.tolist()]
        full = [_parity(order) * self.size * self.halved + (number_of(order) >> self.halved) for order in orders]
        return np.array(full, dtype=np.int64)

    def rows_of(self, full: _Numbers) -> NDArray[Any]:
        return np.array([self._row_of(each) for each in full.tolist()], dtype=np.int64).reshape(-1, len(self.row))

    def _row_of(self, full: int) -> Row:
        parity, number = divmod(full, self.size)
        ranks = [2 * number, 2 * number + 1] if self.halved else [number]
        orders = [order_of(rank, self.base) for rank in ranks]
        (order,) = [order for order in orders if not self.halved or _parity(order) == parity]
        return [self._labels[label] for label in order]


def _parts(rows: NDArray[Any], size: int) -> Iterator[NDArray[Any]]:
    return (rows[begin : begin + size] for begin in range(0, len(rows), size))


def _parity(order: Sequence[int]) -> int:
    return sum(digits_of(order)) % 2


def reduced(rows: _Numbers, prime: int) -> _Numbers:
    """Return the reduced row echelon form modulo a prime, without rows of zeros."""
    rows, rank = rows % prime, 0
    for column in range(rows.shape[1]):
        if rank == len(rows) or not (pivots := np.flatnonzero(rows[rank:, column])).size:
            continue
        rows[[rank, rank + pivots[0]]] = rows[[rank + pivots[0], rank]]
        rows[rank] = rows[rank] * pow(int(rows[rank, column]), -1, prime) % prime
        others = np.flatnonzero(rows[:, column])
        others = others[others != rank]
        rows[others] = (rows[others] - rows[others, column][:, None] * rows[rank]) % prime
        rank += 1
    return rows[:rank]


def _orthogonal(values: _Numbers, prime: int) -> _Numbers:
    """Return combinations of columns, as rows, that are 0 in some of the rows that are not 0."""
    return null_space(values[values.any(axis=1)][: values.shape[1]].T, prime)


def _classes(ways: NDArray[np.int8], functionals: _Numbers, prime: int) -> _Numbers:
    return np.concatenate([part.astype(np.int64) @ functionals.T % prime for part in _parts(ways, _BLOCK)])


def null_space(matrix: _Numbers, prime: int) -> _Numbers:
    """Return a basis, as rows, of the vectors v modulo a prime with ``v @ matrix == 0``."""
    rows, width = matrix.shape
    found = reduced(np.concatenate([matrix % prime, np.eye(rows, dtype=np.int64)], axis=1), prime)
    return found[~found[:, :width].any(axis=1), width:]


class Coordinates(NamedTuple):
    """The coordinates of a definition, the outermost first, and the relations between them.

    `moduli[r]` is that of relation r, `pivots[r]` the coordinate numbered within its classes. `factors[r][c]` has for
    each functional of coordinate c how often it counts in the relation. `followers` map places to places whose pieces
    move alike, so that they are told by those.
    """

    parts: list[Searched | Ranked]
    moduli: list[int]
    pivots: list[int]
    factors: list[list[Row]]
    followers: list[dict[int, int]]

    def sums(self, number: int, classes: Any) -> Any:
        """Return what states of a coordinate, given by their classes, add to each relation, in the last axis."""
        parts = [np.asarray(classes, dtype=np.int64) @ np.array(each[number], dtype=np.int64) for each in self.factors]
        shape = np.shape(classes)[:-1]
        return np.stack(parts, axis=-1) % np.array(self.moduli) if parts else np.zeros((*shape, 0), dtype=np.int64)

    def class_in(self, number: int, totals: _Numbers) -> _Numbers:
        """Return the class of a coordinate that the sums of those before it leave, a row of sums for each position."""
        code = np.zeros(len(totals), dtype=np.int64)
        for relation, (modulus, pivot) in enumerate(zip(self.moduli, self.pivots, strict=True)):
            if pivot == number:
                code = code * modulus + -totals[:, relation] % modulus
        return code


def numbering_of(definition: Definition, moves: Sequence[Move]) -> Coordinates:
    """Return the coordinates of a definition under some moves, solved states first.

    Raises `TooLargeError` where tables or numbers would be too large, as far as possible before they are made.
    """
    drafts, leaders, followers = list[tuple[type[Searched | Ranked], Any]](), list[Row](), list[dict[int, int]]()
    sources = [move.source for move in moves]
    for places in sorted(classes_of(sources), key=lambda places: (-len(places), places)):
        pieces, seen = [definition.pieces[place] for place in places], [definition.seen[place] for place in places]
        twists = [definition.twists[place] for place in places]
        ends = zip(definition.orbits, definition.begins[1:], strict=True)
        orbit = next(each.name for each, end in ends if places[0] < end)
        if len(set(seen)) > 1:
            row = [piece * max(seen) + twist for piece, twist in zip(pieces, twists, strict=True)]
            by_label = dict(zip(pieces, seen, strict=True))
            drafts.append((Searched, (f"pieces and twists of {orbit}", places, row, by_label, moves, (True, True))))
            continue
        if seen[0] > 1:
            drafts.append((Searched, (f"the twists of {orbit}", places, twists, {0: seen[0]}, moves, (False, True))))
        if len(set(pieces)) == len(pieces):
            images = (following(places, [[place] for place in leader], sources) for leader in leaders)
            if len(places) > 1 and (image := next(filter(None, images), None)):
                followers.append(image)
                continue
            leaders.append(places)
        if len(set(pieces)) > 1:
            kind = Ranked if arrangements(pieces) > MOST_STATES or len(set(pieces)) >= _LEAST_RANKED else Searched
            by_label = dict.fromkeys(pieces, 1)
            drafts.append((kind, (f"the order of {orbit}", places, pieces, by_label, moves, (True, False))))
    if sum(kind is Ranked for kind, _ in drafts) > 1:
        raise TooLargeError(f"{definition.name} has two orbits of more than {MOST_STATES:,} orders, which is too many")
    for _, (what, places, _, by_label, _, holds) in drafts:
        if holds == (False, True):
            _require_small(what, places, by_label[0], moves)
    found = [each for each in (kind(*given) for kind, given in drafts) if each.states > 1]
    if not found:
        raise PuzzleError(f"no move of {definition.name} changes anything")
    # Innermost the ranked one, or the largest table that stays in the cache; the rest by size.
    found.sort(key=lambda each: (isinstance(each, Ranked), _fits(each, len(moves)), each.states))
    return _related(found, followers)


def _require_small(what: str, places: Row, kinds: int, moves: Sequence[Move]) -> None:
    """Raise `TooLargeError` if elements that only twist show that there are too many states for a table."""
    most, at = min(MOST_STATES, _MOST_ENTRIES // len(moves)), {place: index for index, place in enumerate(places)}
    count, rows = len(places), list[Row]()
    if kinds**count <= most:
        return
    if count > _MOST_CHAINED:
        raise TooLargeError(f"{what} are of {count} places, which is too many for a table")
    for move in moves:
        row = [0] * (count * (1 + kinds))
        for place in places:
            row[at[move.source[place]]] = at[place]
            for turn in range(kinds):
                after = (turn + move.twist[place]) % kinds
                row[count + kinds * at[move.source[place]] + turn] = count + kinds * at[place] + after
        rows.append(row)
    chain = Chain(rows, range(count * (1 + kinds)))
    if (least := prod(len(level.members) for level in chain.levels if level.point >= count)) > most:
        raise TooLargeError(f"{what} has at least {shown(least)} states, which is too many for a table")


def _fits(coordinate: Searched | Ranked, moves: int) -> bool:
    return coordinate.states * moves * 4 <= 256_000


def _related(found: list[Searched | Ranked], followers: list[dict[int, int]]) -> Coordinates:
    """Return the numbering of coordinates, each within the classes that those before it leave."""
    moduli, pivots, factors = list[int](), list[int](), list[list[Row]]()
    for prime in _PRIMES:
        owners = [
            (number, place) for number, each in enumerate(found)
            for place, modulus in enumerate(each.moduli) if modulus == prime
        ]  # fmt: skip
        if not owners:
            continue
        matrix = np.array([found[number].increments[place] for number, place in owners])
        # The innermost first, so that the leading one of each relation is the last coordinate in it.
        for relation in reduced(null_space(matrix, prime)[:, ::-1], prime)[:, ::-1]:
            parts = [[0] * len(each.moduli) for each in found]
            for (number, place), factor in zip(owners, relation.tolist(), strict=True):
                parts[number][place] = factor
            moduli.append(prime)
            factors.append(parts)
            pivots.append(max(number for number, part in enumerate(parts) if any(part)))
    made = Coordinates(found, moduli, pivots, factors, followers)
    for number, each in enumerate(found):
        own = [relation for relation, pivot in enumerate(pivots) if pivot == number]
        own_moduli = [moduli[relation] for relation in own]
        chosen = np.zeros((0, 0), dtype=np.int64)
        if isinstance(each, Searched) and own:
            chosen = np.column_stack(
                [each.classes @ np.array(factors[relation][number]) % moduli[relation] for relation in own]
            )
        each.number_within(chosen, own_moduli)
    return made
