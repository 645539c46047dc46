"""Puzzles whose pieces change places and twist when a part is turned: their structure, moves and algorithms.

Such a puzzle is described by its stickers, numbered face by face: the places of its pieces, each with its stickers
clockwise, and the turns, each as what it does to the stickers. Everything else follows.

A key is ``order * twists + twist``. `order` is the number of the pieces in their places among all orders in
lexicographic order; the digits of `twist` are the twists of the places, without the one that follows from the others.
A turn changes each of them independently of the other, so two small tables make a move.

A text has the colours of the stickers, a row for each face; a colour has the name of the face that it covers at the
start. The rows may also stand without ``/``. Algorithms are read too, as they are made from the solved puzzle on. A
turn is clockwise; ``'`` is the other way round, and a number repeats a turn or a group: ``R U R' F2``, ``(R U)3``.
``[R, U]`` is the commutator ``R U R' U'``, ``[R: U]`` the conjugate ``R U R'``. Blanks may be left out
between brackets and turns with marks.
"""

import re
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import chain, combinations, permutations
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key, Keys, Mask
from hakoiri.puzzles.contract import Expansion, Matching, Symmetric
from hakoiri.puzzles.pictures import Picture
from hakoiri.puzzles.texts import marks_in, rows_in

#: The stickers of a piece's place, clockwise.
Place = tuple[int, ...]
#: For each sticker the one whose colour it takes.
Turn = tuple[int, ...]


@dataclass(frozen=True)
class Pieces:
    """The faces in the order of their rows, and the places by name, a noun first: ``"corner URF"``.

    The pieces of `exchanged` places go from one to another; those of `pivots` twist where they are; those of `still`
    places never move. `even`: only even permutations of the exchanged pieces can be reached.
    """

    faces: str
    exchanged: Mapping[str, Place]
    pivots: Mapping[str, Place] = field(default_factory=dict)
    still: Mapping[str, Place] = field(default_factory=dict)
    even: bool = False

    @property
    def moving(self) -> dict[str, Place]:
        return {**self.exchanged, **self.pivots}

    @property
    def row(self) -> int:
        return sum(map(len, chain(self.moving.values(), self.still.values()))) // len(self.faces)

    @property
    def dependent(self) -> int:
        """The moving place whose twist follows from the others: those of all exchanged places add up to full turns."""
        return len(self.exchanged) - 1

    @property
    def orders(self) -> list[tuple[int, ...]]:
        """Return every possible order of the pieces in the exchanged places, in lexicographic order."""
        found = list(permutations(range(len(self.exchanged))))
        passed = [sum(one > other for one, other in combinations(order, 2)) for order in found]
        return [order for order, count in zip(found, passed, strict=True) if not self.even or count % 2 == 0]


def turned_then(first: Turn, second: Turn) -> Turn:
    """The turn that is `first`, then `second`."""
    return tuple(first[sticker] for sticker in second)


@lru_cache(maxsize=8)
def _token(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return what matches a bracket or a turn with its marks; the longest of the `names`."""
    known = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(rf"(?:([(\[,:])|({known}|[A-Za-z]w?|[)\]])([1-9][0-9]*)?('?))\s*")


_MARKS = frozenset("()[],:")
_MOST_DIGITS = 3
#: Signs of a wrong turn, and names of turns, in an error.
_SHOWN = 30
#: Characters that are written for ``'``: primes, accents, quotation marks.
PRIMES = str.maketrans(dict.fromkeys("\u2019\u2018\u2032\u00b4\u02b9\uff07`", "'"))
_CLOSING = {"(": ")", "[": "]"}
_GROUPS = "(R U)3, [R, U] or [R: U]"


@dataclass
class _Group:
    """An open bracket, and the turns `done` in it: with a comma or colon as `mark`, those after it; others `before`."""

    bracket: str
    done: Turn
    mark: str = ""
    before: Turn = ()


def read_algorithm(text: str, turns: Mapping[str, Turn], puzzle: str) -> Turn:
    """Return what an algorithm does; `turns` are the clockwise ones of the `puzzle` by name.

    `ConfigurationError` names the turn or bracket that is wrong.
    """
    unmoved = tuple(range(len(next(iter(turns.values())))))
    groups, number, at, text = [_Group("", unmoved)], 0, 0, text.strip()
    tokens, known_names = _token(tuple(turns)), {*turns, *_MARKS}
    while at < len(text):
        token = tokens.match(text, at)
        name = (token[1] or token[2]) if token else ""
        number += name not in _MARKS
        if not token or name not in known_names:
            word = (token[0].strip() if token else text[at:].split()[0])[:_SHOWN]
            known = ", ".join([*turns][:_SHOWN])
            raise ConfigurationError(
                f"turn {number}, {word!r}, is not a turn of {puzzle}; expected {known}, each alone or with 2 or '"
            )
        if len(token[3] or "") > _MOST_DIGITS:
            raise ConfigurationError(f"turn {number}, {token[0].strip()[:_SHOWN]!r}, is repeated more than 999 times")
        done = turns[name] if name in turns else _follow_bracket(name, groups, unmoved, number)
        turn, done, times = done, unmoved, int(token[3] or 1)
        # By squaring: groups of groups may repeat it millions of times.
        while times:
            done = turned_then(done, turn) if times % 2 else done
            turn, times = turned_then(turn, turn), times // 2
        groups[-1].done = turned_then(groups[-1].done, _undone(done) if token[4] else done)
        at = token.end()
    if len(groups) > 1:
        raise ConfigurationError(f"{groups[-1].bracket!r} is not closed; expected groups such as {_GROUPS}")
    return groups[0].done


def _follow_bracket(mark: str, groups: list[_Group], unmoved: Turn, number: int) -> Turn:
    """Open or close a group, or begin its second half; return what was done in a closed one."""
    inner = groups[-1]
    if mark in _CLOSING:
        groups.append(_Group(mark, unmoved))
    elif mark in ",:" and inner.bracket == "[" and not inner.mark:
        groups[-1] = _Group("[", unmoved, mark, inner.done)
    elif mark == _CLOSING.get(inner.bracket) and (mark == ")" or inner.mark):
        groups.pop()
        if mark == ")":
            return inner.done
        parts = [inner.before, inner.done, _undone(inner.before), _undone(inner.done)]
        return reduce(turned_then, parts if inner.mark == "," else parts[:3])
    else:
        where = f"after turn {number}" if number else "before the first turn"
        raise ConfigurationError(f"{mark!r} {where} does not fit; expected groups such as {_GROUPS}")
    return unmoved


def _undone(turn: Turn) -> Turn:
    return tuple(sorted(range(len(turn)), key=turn.__getitem__))


_Table = NDArray[np.uint32]
_Numbers = NDArray[np.int64]


class _Symmetries(NamedTuple):
    """Tables of the symmetries of the whole puzzle, which rename the pieces, and move the places so that they fit.

    If there is a still place, they are then moved on until its own piece is in it again. Which movement does that
    depends on the place and twist of the piece that gets its name: these decide.

    By symmetry: the place from which each place is taken; the sticker of a place to which the first one of each place
    goes; 1, or -1 for a reflection. By order and symmetry: the place that decides. By order, symmetry and its twist:
    the order after it, and the symmetry by which places are moved. `pieces` are those of the places by order, `twists`
    their twists by `twist`, then 0; `turning` has the number of twists of each place, `digits` the places with digits.
    """

    sources: _Numbers
    shifts: _Numbers
    signs: _Numbers
    deciding: _Numbers
    orders: NDArray[np.uint16]
    moves: NDArray[np.uint8]
    pieces: _Numbers
    twists: _Numbers
    turning: _Numbers
    digits: _Numbers


#: The most letters of a turn's name. A longer word of letters alone has the colours of stickers.
_TURN_LETTERS = 2
_EXAMPLE = "R U R'"


class Twisty(Symmetric):
    """The base class of twisty puzzles; a subclass defines `pieces` and `turns`."""

    undirected = paired = True
    notation = "turns"
    # Renaming the stickers makes any configuration the solved one.
    vertex_transitive = True
    pieces: Pieces

    @abstractmethod
    def net(self, faces: Mapping[str, str]) -> Picture:
        """Return the unfolded picture; `faces` has the colours of each face, as in its row of the text."""

    @abstractmethod
    def turns(self) -> dict[str, Turn]:
        """The moves by name, closed under inversion."""

    @abstractmethod
    def wholes(self) -> list[Turn]:
        """The symmetries of the whole puzzle, the identity first, each as the place to which a sticker goes."""

    @property
    def symmetries(self) -> int:
        return len(self.wholes())

    def least_images(self, keys: Keys, numbers: _Numbers) -> tuple[Keys, _Numbers]:
        least, counts = np.empty_like(keys), np.empty(len(keys), dtype=np.int64)
        _find_least(keys, numbers, self._symmetries, least, counts)
        return least, counts

    @cached_property
    def _symmetries(self) -> _Symmetries:
        wholes, places = self.wholes(), [*self._places, *self.pieces.still.values()]
        targets, shifts = np.empty((2, len(wholes), len(places)), dtype=np.int64)
        signs = np.ones(len(wholes), dtype=np.int64)
        for number, whole in enumerate(wholes):
            for here, place in enumerate(places):
                first, second = whole[place[0]], whole[place[1]]
                (there,) = [there for there, other in enumerate(places) if first in other]
                targets[number, here], shifts[number, here] = there, places[there].index(first)
                if places[there].index(second) != (shifts[number, here] + 1) % len(place):
                    signs[number] = -1
        sources, turning = np.argsort(targets, axis=1), np.array([len(place) for place in places])
        exchanged, still, size = len(self.pieces.exchanged), len(self.pieces.still), len(places)
        known = np.array(self._orders)
        pieces = np.hstack([known, np.tile(np.arange(exchanged, size), (len(known), 1))])
        weights = exchanged ** np.arange(exchanged)[::-1]
        ranks, place_of = known @ weights, np.argsort(pieces, axis=1)
        decided = turning[-1] if still else 1
        orders = np.empty((len(known), len(wholes), decided), dtype=np.uint16)
        moves = np.empty(orders.shape, dtype=np.uint8)
        deciding = place_of[:, sources[:, -1]] if still else np.full(orders.shape[:2], size)
        for number, twist in np.ndindex(len(wholes), decided):
            move = np.full(len(known), number)
            if still:
                # Movements of the same hand by which the piece that gets its name comes to the still place untwisted.
                shift = (shifts[number, sources[number, -1]] - signs[number] * twist) % decided
                right = (targets == size - 1) & (shifts == shift) & (signs == signs[number])[:, None]
                move = right.argmax(axis=0)[deciding[:, number]]
            after = targets[number][np.take_along_axis(pieces, sources[move, :exchanged], axis=1)]
            orders[:, number, twist] = np.searchsorted(ranks, after @ weights)
            moves[:, number, twist] = move
        twists = np.pad(self._all_twists(), ((0, 0), (0, 1)))
        digits = np.delete(np.arange(len(self._places)), self.pieces.dependent)
        return _Symmetries(sources, shifts, signs, deciding, orders, moves, pieces, twists, turning, digits)

    def prepare(self, start: str | None) -> None:
        pieces = self.pieces
        self._turns = self.turns()
        # The turns by which algorithms are read; an algorithm may double or invert each.
        self._clockwise = {name: turn for name, turn in self._turns.items() if name[-1] not in "2'"}
        self.most_successors = len(self._turns)
        self._places = list(pieces.moving.values())
        self._home = "".join(face * pieces.row for face in pieces.faces)
        self._orders = pieces.orders
        self._order_number = {order: number for number, order in enumerate(self._orders)}
        # The number of values of each digit of `twist`: the twists of its place. The dependent place has no digit.
        turning = [len(place) for place in self._places]
        self._digits = turning[: pieces.dependent] + turning[pieces.dependent + 1 :]
        self._twists = prod(self._digits)
        self.number(len(self._orders) * self._twists)
        self._order_table, self._twist_table = self._tables()

    def coset_sizes(self) -> list[int]:
        return [self._twists]

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        _expand_keys(keys, self._order_table, self._twist_table, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    def successors(self, key: Key) -> list[Key]:
        colours = self._colours(key)
        return [self._key_of("".join(colours[sticker] for sticker in turn)) for turn in self._turns.values()]

    def parse_text(self, text: str) -> Key:
        """The colours of the faces, or an algorithm made from the solved puzzle on, such as ``R U R' F2``."""
        turns = text.replace("/", " ").translate(PRIMES)
        words = turns.split()
        if words and not any(word.isalpha() and len(word) > _TURN_LETTERS for word in words):
            turned = read_algorithm(turns, self._clockwise, self.name)
            return self._key_of(self._upright("".join(self._home[sticker] for sticker in turned)))
        colours = self._read("".join(text.split()))
        for colour in self.pieces.faces:
            if (there := colours.count(colour)) != self.pieces.row:
                raise ConfigurationError(f"colour {colour} appears {there} times, expected {self.pieces.row}")
        return self._key_of(self._upright(colours))

    def _upright(self, colours: str) -> str:
        """Return the colours after the whole puzzle was turned until its still piece, if it has one, is in place."""
        return colours

    def _read(self, text: str, anything: str = "") -> str:
        """The colours of all stickers; a sticker may also be `anything`, unless that is empty."""
        faces, size = self.pieces.faces, self.pieces.row
        known, all_of_them = ", ".join(faces), f"{len(faces) * size} stickers without '/'"
        rows = rows_in(
            text, len(faces), size, names=[f"face {face}" for face in faces], unit="stickers", folded=True,
            form=f", the faces {known}, or their {all_of_them}, or turns such as {_EXAMPLE}",
        )  # fmt: skip
        return "".join(mark for *_, mark in marks_in(rows, faces + anything, f"a colour; expected {known}"))

    def match(self, pattern: str) -> Matching:
        """Place by place: a table says which pieces will do there, with which twists."""
        colours, exchanged = self._read(pattern, "?"), len(self.pieces.exchanged)
        for name, place in self.pieces.still.items():
            seen, own = _seen(colours, place), _seen(self._home, place)
            if not _like(seen, own):
                raise ConfigurationError(
                    f"{name} has the colours {seen}, expected {own}, because it never moves; turn the whole puzzle "
                    "until that piece is in its place"
                )
        orders, twists = np.array(self._orders), self._all_twists()
        tables = []
        for here, place in enumerate(self._places):
            pieces = self._places[:exchanged] if here < exchanged else [place]
            fits = [[_like(_seen(colours, place), _twisted(_seen(self._home, piece), twist))
                     for twist in range(len(place))] for piece in pieces]  # fmt: skip
            who = orders[:, here] if here < exchanged else np.zeros(len(orders), dtype=np.int64)
            tables.append((np.array(fits), who, twists[:, here]))

        def holds(keys: Keys) -> Mask:
            order, twist = np.divmod(keys, np.uint32(self._twists))
            found: Mask = np.logical_and.reduce([fits[who[order], turned[twist]] for fits, who, turned in tables])
            return found

        return holds

    def render(self, key: Key) -> str:
        colours, size = self._colours(key), self.pieces.row
        return "/".join(colours[begin : begin + size] for begin in range(0, len(colours), size))

    def pictures(self, path: list[Key]) -> list[Picture]:
        rows = (self.render(key).split("/") for key in path)
        return [self.net(dict(zip(self.pieces.faces, row, strict=True))) for row in rows]

    def describe_move(self, before: Key, after: Key) -> str:
        """The name of the turn, e.g. ``"U"``, or ``"U'"`` for the other way round."""
        (name,) = [name for name, key in zip(self._turns, self.successors(before), strict=True) if key == after]
        return name

    def _colours(self, key: Key) -> str:
        number, rest = divmod(key, self._twists)
        twists: list[int] = []
        for base in reversed(self._digits):
            rest, twist = divmod(rest, base)
            twists.insert(0, twist)
        exchanged, dependent = len(self.pieces.exchanged), self.pieces.dependent
        twists.insert(dependent, -sum(twists[:dependent]) % len(self._places[dependent]))
        colours = list(self._home)
        for here, place in enumerate(self._places):
            piece = self._places[self._orders[number][here]] if here < exchanged else place
            for index, sticker in enumerate(piece):
                colours[place[(index + twists[here]) % len(place)]] = self._home[sticker]
        return "".join(colours)

    def _key_of(self, colours: str) -> Key:
        """The key of the colours of all stickers; `ConfigurationError` if no turns lead there."""
        order, twists = self._pieces_in(colours)
        noun = next(iter(self.pieces.exchanged)).split()[0]
        exchanged, dependent = len(self.pieces.exchanged), self.pieces.dependent
        if sum(twists[:exchanged]) % len(self._places[dependent]):
            raise ConfigurationError(f"this position cannot be reached: one {noun} is twisted in its place")
        if order not in self._order_number:
            raise ConfigurationError(f"this position cannot be reached: two {noun}s are exchanged")
        key = self._order_number[order]
        for base, twist in zip(self._digits, twists[:dependent] + twists[dependent + 1 :], strict=True):
            key = key * base + twist
        return key

    def _pieces_in(self, colours: str) -> tuple[tuple[int, ...], list[int]]:
        """Return the piece in each exchanged place, and the twist of the piece in each moving place."""
        exchanged, names = len(self.pieces.exchanged), list(self.pieces.moving)
        order: list[int] = []
        twists = []
        for here, place in enumerate(self._places):
            seen = _seen(colours, place)
            possible = range(exchanged) if here < exchanged else [here]
            found = [
                (piece, twist)
                for piece in possible
                for twist in range(len(place))
                if seen == _twisted(_seen(self._home, self._places[piece]), twist)
            ]
            if not found:
                raise ConfigurationError(f"{names[here]} has the colours {seen}, clockwise; no piece has these")
            ((piece, twist),) = found
            if piece in order:
                raise ConfigurationError(f"{names[order.index(piece)]} and {names[here]} hold the same piece: {seen}")
            order.append(piece)
            twists.append(twist)
        return tuple(order[:exchanged]), twists

    def _tables(self) -> tuple[_Table, _Table]:
        """Return for each turn the order after each order, times the number of twists, and the twist after each."""
        orders: _Numbers = np.array(self._orders)
        twists = self._all_twists()
        exchanged, dependent = len(self.pieces.exchanged), self.pieces.dependent
        turning = np.array([len(place) for place in self._places])
        # Read as numbers, the orders are sorted, so the place of a number is the number of its order.
        weights = exchanged ** np.arange(exchanged)[::-1]
        order_columns, twist_columns = [], []
        for turn in self._turns.values():
            # The place from which the piece of each moving place comes, and its twist on the way.
            sources, added = list[int](), list[int]()
            for place in self._places:
                came_from = turn[place[0]]
                (source,) = [number for number, other in enumerate(self._places) if came_from in other]
                sources.append(source)
                added.append(-self._places[source].index(came_from) % len(place))
            order_columns.append(np.searchsorted(orders @ weights, orders[:, sources[:exchanged]] @ weights))
            turned = np.delete((twists[:, sources] + added) % turning, dependent, axis=1)
            twist_columns.append(np.ravel_multi_index(tuple(turned.T), self._digits))
        order_table, twist_table = np.stack(order_columns, axis=1), np.stack(twist_columns, axis=1)
        return (order_table * self._twists).astype(np.uint32), twist_table.astype(np.uint32)

    def _all_twists(self) -> _Numbers:
        """The twist of each moving place, for each `twist` of a key."""
        twists = np.stack(np.unravel_index(np.arange(self._twists), self._digits), axis=1)
        dependent = self.pieces.dependent
        last = -twists[:, :dependent].sum(axis=1) % len(self._places[dependent])
        return np.asarray(np.insert(twists, dependent, last, axis=1))


def _seen(colours: str, place: Place) -> str:
    """The colours of a place, clockwise."""
    return "".join(colours[sticker] for sticker in place)


def _like(colours: str, piece: str) -> bool:
    """Return whether colours, some of which may be ``?`` for anything, are those of a piece."""
    return all(colour in (own, "?") for colour, own in zip(colours, piece, strict=True))


def _twisted(colours: str, twist: int) -> str:
    return colours[len(colours) - twist :] + colours[: len(colours) - twist]


@jit
def _expand_keys(keys: Keys, orders: _Table, twists: _Table, room: Keys) -> None:
    """Write the successors of all `keys` into `room`: for each key one per column of the tables."""
    size, moves = twists.shape
    total = 0
    for i in range(len(keys)):
        order = keys[i] // np.uint32(size)
        twist = keys[i] - order * np.uint32(size)
        for move in range(moves):
            room[total] = orders[order, move] + twists[twist, move]
            total += 1


@jit
def _find_least(keys: Keys, numbers: _Numbers, tables: _Symmetries, least: Keys, counts: _Numbers) -> None:
    """Write the least image of each key by some symmetries, and how many of these lead to it."""
    sources, shifts, signs, deciding, orders, moves, pieces, twists, turning, digits = tables
    size = len(twists)
    for i in range(len(keys)):
        order = np.int64(keys[i]) // size
        twist = np.int64(keys[i]) - order * size
        least_order = np.int64(len(orders))
        least_twist = np.int64(0)
        count = 0
        for symmetry in numbers:
            decided = twists[twist, deciding[order, symmetry]]
            after = np.int64(orders[order, symmetry, decided])
            if after > least_order:
                continue
            move = moves[order, symmetry, decided]
            turned = np.int64(0)
            for place in digits:
                source = sources[move, place]
                moved = signs[move] * twists[twist, source] + shifts[move, source]
                turned = turned * turning[place] + (moved - shifts[symmetry, pieces[order, source]]) % turning[place]
            if after < least_order or turned < least_twist:
                least_order, least_twist, count = after, turned, 0
            count += turned == least_twist
        least[i] = least_order * size + least_twist
        counts[i] = count
