"""Puzzles from definitions: permutations and orientations of pieces, in files of other programs or given from Python.

A text has a row for each orbit, joined by ``/``: the pieces by place, with a plus and a number where one is turned:
``1 3+1 2+2``. Identical pieces have the same number. Algorithms are read too: with the names of the definition's moves,
multiples such as ``U2``, inverses ``U'``, and groups as `puzzles.twisty.base` reads them.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from math import factorial, prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.keys.layout import U128, Key, Keys, Mask, key_at
from hakoiri.puzzles.contract import Expansion, Matching, Numbered, Puzzle
from hakoiri.puzzles.definitions.coordinates import Coordinates, Ranked, Searched, numbering_of
from hakoiri.puzzles.definitions.definition import METRICS, Definition, Move
from hakoiri.puzzles.definitions.kernels import (
    FREE,
    FREE_ORDERS,
    Outer,
    Ranks,
    expand_ranks,
    expand_tables,
    expand_wide,
)
from hakoiri.puzzles.options import Choice, Text
from hakoiri.puzzles.permutation.orders import all_orders
from hakoiri.puzzles.twisty.base import PRIMES

#: Numbers from this on are keys of two words, the outer and the inner number.
_WIDE = 1 << 63
#: A piece in a text, and how often it is turned.
_PIECE = re.compile(r"(?P<piece>\d{1,4}|\?)(?:\+(?P<twist>\d{1,3}|\?))?")
#: A column for each place.
_Table = NDArray[np.int64]
#: Turns of the whole puzzle: a dodecahedron has 60. If there are more, none is used.
_MOST_TURNS = 60
#: For each place a piece, and how often it is turned; ``None`` for any.
_Pattern = tuple[list[int | None], list[int | None]]


class Defined(Numbered):
    """The puzzle of a definition. Not every number need be a position, where coordinates are coupled in unusual ways.

    Option `moves` has the names of the moves used, separated by blanks or commas: by default all but turns of the whole
    puzzle. By `metric` ``half`` every multiple of one is a move, by ``quarter`` it and its inverse, by ``given`` it
    alone.
    """

    name = "definition"
    summary = "a puzzle of a file: twsearch (.tws), KPuzzle (.json) or GAP permutations (.g, .gap)"
    goal_summary = "the solved position"
    undirected = True
    options = {"metric": Choice(METRICS), "moves": Text(what="names of moves")}
    definition: ClassVar[Definition]

    def prepare(self, start: str | None) -> None:
        given = self.definition
        named = self.parameters["moves"].replace(",", " ").split()
        self._moves = given.multiples(named or given.usual, self.parameters["metric"])
        self.most_successors = len(self._moves)
        self.undirected = self.paired = {given.inverse(move) for move in self._moves.values()} <= {
            *self._moves.values()
        }
        self._tables = _tables(given.text(), tuple(self._moves.values()))
        self._numbering, self._outer_size, self._inner_size = self._tables[:3]
        coordinates = self._numbering.parts
        self.number(self._outer_size * self._inner_size)
        if self.size >= _WIDE:
            self.layout, self.numbers = U128, None
            if isinstance(coordinates[-1], Searched) or self._outer_size >= _WIDE:
                raise PuzzleError(f"{self.name} has up to {self.size:,} positions, which is too many")
        if len(coordinates) > 1 or isinstance(coordinates[0], Ranked):
            self.total = None
        self._solved = np.array(given.pieces), np.array(given.twists)
        followers = {place for image in self._numbering.followers for place in image.values()}
        moving = [{p for each in coordinates if each.holds_pieces for p in each.places} | followers,
                  {p for each in coordinates if each.holds_twists for p in each.places}]  # fmt: skip
        #: Places whose piece, and whose orientation, no move changes.
        self._still = [[place for place in range(len(given.pieces)) if place not in each] for each in moving]
        pieces = self._rows(given.pieces)
        self.vertex_transitive = given.seen == given.orientations and all(len({*row}) == len(row) for row in pieces)
        self._seen = {
            (orbit, piece): most
            for orbit, row in enumerate(zip(pieces, self._rows(given.seen), strict=True))
            for piece, most in zip(*row, strict=True)
        }

    def _rows(self, row: list[int]) -> list[list[int]]:
        """Return the part of each orbit."""
        return [row[begin:end] for begin, end in pairwise(self.definition.begins)]

    def expand(self, keys: Keys) -> Expansion:
        room = self.layout.empty(len(keys) * self.most_successors)
        _, _, size, outer, inner = self._tables
        last = self._numbering.parts[-1]
        if isinstance(last, Searched):
            expand_tables(keys, size, outer, inner, room)
        else:
            (expand_wide if self.layout is U128 else expand_ranks)(keys, size, outer, inner, last.halved, room)
        return Expansion(room, np.full(len(keys), self.most_successors, dtype=np.uint16))

    def coset_sizes(self) -> list[int]:
        """The sizes of the sets of positions in which some of the outermost coordinates are the same."""
        sizes = [each.size for each in self._numbering.parts]
        return [prod(sizes[outer:]) for outer in range(1, len(sizes))]

    def are_keys(self, keys: Keys) -> Mask:
        if self.layout is not U128:
            return super().are_keys(keys)
        return np.asarray((keys[:, 0] < self._outer_size) & (keys[:, 1] < self._inner_size))

    def is_goal(self, keys: Keys) -> Mask:
        return super().is_goal(keys) if self.layout is not U128 else np.asarray((keys == 0).all(axis=1))

    def check_key(self, key: Key) -> None:
        if not 0 <= key <= self.layout.greatest or not self.are_keys(self.keys([key]))[0]:
            raise ConfigurationError(f"{key:#x} is not a key of {self.name}")

    def configurations(self) -> Iterator[Keys]:
        return Puzzle.configurations(self) if self.layout is U128 else super().configurations()

    def successors(self, key: Key) -> list[Key]:
        pieces, twists = (rows[0].tolist() for rows in self.unpack(self.keys([key])))
        return [self._key_after(move, pieces, twists) for move in self._moves.values()]

    def _key_after(self, move: Move, pieces: Sequence[int], twists: Sequence[int]) -> Key:
        after = [pieces[place] for place in move.source]
        turned = [twists[place] + twist for place, twist in zip(move.source, move.twist, strict=True)]
        seen = (self._seen[orbit, piece] for orbit, row in enumerate(self._rows(after)) for piece in row)
        return self._pack_one(after, [twist % most for twist, most in zip(turned, seen, strict=True)])

    def _pack_one(self, pieces: Sequence[int], twists: Sequence[int]) -> Key:
        return key_at(self.pack(np.array([pieces]), np.array([twists])), 0)

    def unpack(self, keys: Keys) -> tuple[_Table, _Table]:
        """Return for each key and place the piece there, and how often it is turned."""
        pieces, twists = (
            np.tile(np.array(row), (len(keys), 1)) for row in (self.definition.pieces, self.definition.twists)
        )
        for coordinate, full in zip(self._numbering.parts, self._states(keys), strict=True):
            rows = coordinate.rows_of(full).astype(np.int64)
            if coordinate.holds_pieces:
                pieces[:, coordinate.places] = rows // coordinate.kinds
            if coordinate.holds_twists:
                twists[:, coordinate.places] = rows % coordinate.kinds
        for place, row in self._following(pieces):
            pieces[:, place] = row
        return pieces, twists

    def pack(self, pieces: _Table, twists: _Table) -> Keys:
        """Return the keys of positions; `ConfigurationError` if no moves lead to one."""
        if any((pieces[:, place] != row).any() for place, row in self._following(pieces)):
            raise ConfigurationError("this position cannot be reached: pieces that move together are apart")
        for rows, solved, places in zip((pieces, twists), self._solved, self._still, strict=True):
            if (wrong := (rows[:, places] != solved[places]).any(axis=0)).any():
                place = places[int(wrong.argmax())] + 1
                raise ConfigurationError(f"this position cannot be reached: no move changes place {place}")
        totals = np.zeros((len(pieces), len(self._numbering.moduli)), dtype=np.int64)
        outer, inner, size = np.zeros(len(pieces), dtype=np.int64), np.zeros(len(pieces), dtype=np.int64), 0
        for number, coordinate in enumerate(self._numbering.parts):
            rows = coordinate.holds_pieces * pieces * coordinate.kinds + coordinate.holds_twists * twists
            full = coordinate.full_of(rows[:, coordinate.places])
            outer, size = outer * size + inner, coordinate.size
            kind, inner = np.divmod(full, size)
            if (kind != self._numbering.class_in(number, totals)).any():
                raise ConfigurationError(f"this position cannot be reached: {coordinate.what} does not fit the rest")
            if isinstance(coordinate, Searched):
                totals += self._numbering.sums(number, coordinate.classes_of(full))
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
        for coordinate in reversed(self._numbering.parts[:-1]):
            outer, digit = np.divmod(outer, coordinate.size)
            digits.insert(0, digit)
        totals = np.zeros((len(keys), len(self._numbering.moduli)), dtype=np.int64)
        for number, (coordinate, digit) in enumerate(zip(self._numbering.parts, digits, strict=True)):
            yield (full := self._numbering.class_in(number, totals) * coordinate.size + digit)
            if isinstance(coordinate, Searched):
                totals += self._numbering.sums(number, coordinate.classes_of(full))

    def _following(self, pieces: _Table) -> Iterator[tuple[int, _Table]]:
        """Yield places whose pieces are told by others, and these pieces."""
        for image in self._numbering.followers:
            told = np.zeros(max(self.definition.pieces) + 1, dtype=np.int64)
            for leader, place in image.items():
                told[self.definition.pieces[leader]] = self.definition.pieces[place]
            for leader, place in image.items():
                yield place, told[pieces[:, leader]]

    def mirrors(self) -> Sequence[Callable[[Keys], Keys]]:
        """Images by turns of the whole puzzle, given besides its usual moves, if they keep those moves."""
        return self._mirrors

    @cached_property
    def _mirrors(self) -> list[Callable[[Keys], Keys]]:
        given, moves = self.definition, {*self._moves.values()}
        if not self.vertex_transitive or any(given.twists):
            return []
        others = [given.move_of(turn) for name, turn in given.turns().items() if name not in given.usual]
        usual = {*given.multiples(given.usual, self.parameters["metric"]).values()}
        turns, found = [turn for turn in others if self._keeps(turn, usual)], [given.unmoved]
        for turn in found:
            found += {given.after(turn, each) for each in turns} - {*found}
            if len(found) > _MOST_TURNS:
                return []
        start = self.keys([self.start])
        images = [partial(self._turned, turn) for turn in found[1:] if self._keeps(turn, moves)]
        return [image for image in images if np.array_equal(image(start), start)]

    def _keeps(self, turn: Move, moves: set[Move]) -> bool:
        """Return whether a turn of the whole puzzle takes moves to moves."""
        return {self._conjugate(turn, move) for move in moves} == moves

    def _conjugate(self, turn: Move, move: Move) -> Move:
        return self.definition.after(self.definition.after(self.definition.inverse(turn), move), turn)

    def _turned(self, turn: Move, keys: Keys) -> Keys:
        """Return the keys after the whole puzzle was turned and its pieces renamed: the solved one stays solved."""
        pieces, twists = self.unpack(keys)
        most, back = np.array(self.definition.orientations), self.definition.inverse(turn)
        # A position is what the moves to it do: to each place comes the piece of a home, turned.
        source = self._homes[np.arange(pieces.shape[1]), pieces]
        twists = np.array(back.twist)[source] + twists
        source, places = np.array(back.source)[source], list(turn.source)
        twists = (twists[:, places] + np.array(turn.twist)) % most
        return self.pack(np.array(self.definition.pieces)[source[:, places]], twists)

    @cached_property
    def _homes(self) -> _Table:
        """For each place and each piece of its orbit the place that the piece has in the solved position."""
        homes = np.zeros((len(self.definition.pieces), max(self.definition.pieces) + 1), dtype=np.int64)
        for begin, end in pairwise(self.definition.begins):
            homes[begin:end, self.definition.pieces[begin:end]] = np.arange(begin, end)
        return homes

    def render(self, key: Key) -> str:
        first = self.definition.first
        rows = zip(*(self._rows(row[0].tolist()) for row in self.unpack(self.keys([key]))), strict=True)
        return "/".join(
            " ".join(f"{piece + first}" + f"+{twist}" * bool(twist) for piece, twist in zip(*row, strict=True))
            for row in rows
        )

    def parse_text(self, text: str) -> Key:
        """Return the key of the pieces of each orbit, or of an algorithm made from the solved position on."""
        words = text.replace("/", " ").translate(PRIMES).split()
        if words and (words[0] in self._moves or not _PIECE.fullmatch(words[0].rstrip(","))):
            move = self.definition.algorithm(" ".join(words), self._moves)
            return self._key_after(move, self.definition.pieces, self.definition.twists)
        pieces, twists = self._read(text)
        return self._pack_one([piece or 0 for piece in pieces], [twist or 0 for twist in twists])

    def match(self, pattern: str) -> Matching | None:
        """Coordinate by coordinate, where each of them has a table."""
        pieces, twists = self._read(pattern, "?")
        asked = zip((pieces, twists), self._solved, self._still, strict=True)
        if any(row[place] not in (None, solved[place]) for row, solved, places in asked for place in places):
            return lambda keys: np.zeros(len(keys), dtype=np.bool_)
        fits = list[Mask]()
        for coordinate in self._numbering.parts:
            if isinstance(coordinate, Ranked) or self._numbering.followers:
                return None
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

    def _read(self, text: str, anything: str = "") -> _Pattern:
        """Return what a text has; ``None`` for `anything`. `ConfigurationError` names the orbit and the place."""
        rows, given = text.split("/"), self.definition
        if len(rows) != len(given.orbits):
            names = ", ".join(orbit.name for orbit in given.orbits)
            raise ConfigurationError(f"expected {len(given.orbits)} rows joined by '/' ({names}), or moves; {text!r}")
        pieces, twists = list[int | None](), list[int | None]()
        for number, (orbit, row, solved) in enumerate(zip(given.orbits, rows, self._rows(given.pieces), strict=True)):
            words = row.replace(",", " ").split()
            if len(words) != orbit.places:
                raise ConfigurationError(
                    f"{orbit.name} {row.strip()!r} has {len(words)} pieces, expected {orbit.places}"
                )
            there = list[int | None]()
            for place, word in enumerate(words, 1):
                match = _PIECE.fullmatch(word)
                if not match or ("?" in word and not anything):
                    raise ConfigurationError(f"{orbit.name}, place {place}: {word!r} is not a piece such as 2 or 2+1")
                piece = None if match["piece"] == "?" else int(match["piece"]) - given.first
                twist = None if (match["twist"] or ("?" if piece is None else "0")) == "?" else int(match["twist"] or 0)
                if piece is not None and solved.count(piece) <= there.count(piece):
                    there_are = f"only {solved.count(piece)} of piece" if piece in solved else "no piece"
                    raise ConfigurationError(f"{orbit.name}, place {place}: there is {there_are} {match['piece']}")
                most = orbit.orientations if piece is None else self._seen[number, piece]
                if twist is not None and twist >= most:
                    raise ConfigurationError(f"{orbit.name}, place {place}: {word!r} is turned 0 to {most - 1} times")
                there.append(piece)
                twists.append(twist)
            pieces += there
        return pieces, twists

    def describe_move(self, before: Key, after: Key) -> str:
        """Return the name of the move, as the definition and its metric have it."""
        return next(name for name, key in zip(self._moves, self.successors(before), strict=True) if key == after)


@lru_cache(maxsize=2)
def _tables(text: str, moves: tuple[Move, ...]) -> tuple[Coordinates, int, int, Outer, Any]:
    """Return the numbering of a definition, its outer and inner size, and the tables of the kernels."""
    numbering = numbering_of(Definition.read(text), moves)
    *before, last = numbering.parts
    # Only the last one may be ranked.
    tabled = [(number, each) for number, each in enumerate(before) if isinstance(each, Searched)]
    no_rows = np.zeros((0, len(moves)), dtype=np.uint32), np.zeros((0, len(numbering.moduli)), dtype=np.int64)
    outer = Outer(
        np.array([each.size for each in before], dtype=np.int64),
        np.cumsum([0, *(each.states for each in before)], dtype=np.int64),
        np.concatenate([no_rows[0], *(each.after for _, each in tabled)]),
        np.concatenate([no_rows[1], *(numbering.sums(number, each.classes) for number, each in tabled)]),
        np.array(numbering.moduli, dtype=np.int64), np.array(numbering.pivots, dtype=np.int64),
    )  # fmt: skip
    inner = last.after if isinstance(last, Searched) else _rank_tables(last)
    return numbering, prod(each.size for each in before), last.size, outer, inner


def _rank_tables(coordinate: Ranked) -> Ranks:
    sources, targets = coordinate.sources, np.argsort(coordinate.sources, axis=1)
    worth = np.array([factorial(place) for place in range(sources.shape[1])], dtype=np.int64)
    things = np.array(coordinate.base)
    larger, digits = all_orders(FREE)
    kinds = np.ascontiguousarray((larger[::2] * FREE + larger[1::2]).T.astype(np.uint8))
    parities = digits.sum(axis=0) % 2
    if not coordinate.distinct:
        none = np.zeros((0, 0), dtype=np.uint64)
        return Ranks(sources, targets, things, coordinate.states, worth[:0], none, kinds, parities)
    free = np.zeros((len(sources), FREE_ORDERS), dtype=np.int64)
    for move, target in enumerate(targets):
        for one in range(FREE):
            for two in range(FREE):
                # The thing of `one` comes before that of `two`, and fewer of the eight exceed it.
                if target[one] < target[two]:
                    free[move] += (larger[one] < larger[two]) * worth[target[two]]
    rows: Keys = np.ascontiguousarray(free.T, dtype=np.uint32 if coordinate.states < 1 << 32 else np.uint64)
    return Ranks(sources, targets, things, coordinate.states, worth, rows, kinds, parities)


@lru_cache(maxsize=8)
def definition_class(file: str, text: str) -> type[Defined]:
    """Return the class of the puzzle of a definition, given as its `Definition.text`, from a file of this name."""
    name = re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-")[:40] or Defined.name
    about = {"name": name, "definition": Definition.read(text), "__doc__": Defined.__doc__}
    return type("Defined", (Defined,), about)
