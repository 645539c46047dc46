"""The definition of a permutation puzzle: orbits of places, the solved pieces, and moves. It is data.

Every place belongs to an orbit and holds one piece, turned 0 to ``orientations - 1`` times. A move takes to place i the
piece of place ``source[i]`` and turns it ``twist[i]`` times. Pieces of one orbit with the same number are identical.
All places are numbered together, orbit by orbit. The convention is that of KPuzzle (cubing.js).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import Annotated, NamedTuple

import msgspec

from hakoiri.errors import ConfigurationError, PuzzleError, did_you_mean
from hakoiri.puzzles.twisty.base import Turn, read_algorithm, turned_then

_Small = Annotated[int, msgspec.Meta(ge=0, le=1023)]
_Rows = list[_Small]
#: The metrics: multiples of moves that are one move each.
METRICS = ("half", "quarter", "given")
MOST_PLACES, _MOST_ORIENTATIONS, _MOST_MOVES = 500, 127, 1000
#: A move in an algorithm: no blanks, and no marks of groups.
_NAME = re.compile(r"[^\s()\[\],:'/]{1,40}'?")


class Move(NamedTuple):
    """For each place the place that its piece comes from, and how often that piece is turned."""

    source: tuple[int, ...]
    twist: tuple[int, ...]


class Orbit(NamedTuple):
    """Places whose pieces moves exchange, and the number of orientations of a piece."""

    name: str
    places: int
    orientations: int

    def checked(self) -> "Orbit":
        """Return the orbit; `PuzzleError` for sizes that are not allowed."""
        if not (1 <= self.places <= MOST_PLACES and 1 <= self.orientations <= _MOST_ORIENTATIONS):
            raise PuzzleError(
                f"{self.name} has {self.places} places of {self.orientations} orientations; "
                f"expected 1 to {MOST_PLACES} of 1 to {_MOST_ORIENTATIONS}"
            )
        return self


class Definition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A puzzle as data. Rows have a number for each place; `text` and `read` are the form that a run pins.

    `seen` are the orientations by which the piece of a solved place can be told: 1 if its orientation does not matter,
    otherwise all, or a divisor. `usual` are the moves that are used unless the user names others. Pieces are numbered
    from `first` in texts.
    """

    name: str
    orbits: list[Orbit]
    pieces: _Rows
    twists: _Rows
    seen: _Rows
    moves: dict[str, tuple[_Rows, _Rows]]
    usual: list[str]
    first: int = 1

    def text(self) -> str:
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str) -> "Definition":
        """Return the definition of a `text`; `PuzzleError` for one that is not consistent."""
        try:
            found = msgspec.json.decode(text, type=cls)
        except msgspec.MsgspecError as error:
            raise PuzzleError(f"the definition of the puzzle is malformed: {error}") from None
        return found.checked()

    @property
    def orientations(self) -> list[int]:
        """The orientations of each place."""
        return [orbit.orientations for orbit in self.orbits for _ in range(orbit.places)]

    @property
    def begins(self) -> list[int]:
        """The first place of each orbit, and the number of places."""
        return list(accumulate((orbit.places for orbit in self.orbits), initial=0))

    def checked(self) -> "Definition":
        """Return the definition if its parts fit together; else raise `PuzzleError` that names the part."""
        for orbit in self.orbits:
            orbit.checked()
        places, begins = self.orientations, self.begins
        if not places or len(places) > MOST_PLACES or not len(self.usual) >= 1 or len(self.moves) > _MOST_MOVES:
            raise PuzzleError(
                f"{self.name} has {len(places)} places and {len(self.moves)} moves; expected 1 to {MOST_PLACES} "
                f"places and 1 to {_MOST_MOVES} moves"
            )
        rows = [("the solved pieces", self.pieces), ("their orientations", self.twists), ("seen", self.seen)]
        rows += [(f"move {name}", row) for name, move in self.moves.items() for row in move]
        for what, row in rows:
            if len(row) != len(places):
                raise PuzzleError(f"{self.name}: {what} has {len(row)} numbers, expected {len(places)}")
        self._check_moves()
        by_piece: dict[tuple[int, int], int] = {}
        for place, (piece, twist_here, seen, most) in enumerate(
            zip(self.pieces, self.twists, self.seen, places, strict=True)
        ):
            if not 1 <= seen <= most or most % seen or twist_here >= seen:
                raise PuzzleError(f"{self.name}: place {place + 1} has orientation {twist_here} of {seen} of {most}")
            orbit_number = sum(begin <= place for begin in begins)
            if by_piece.setdefault((orbit_number, piece), seen) != seen:
                raise PuzzleError(f"{self.name}: identical pieces differ in the orientations that can be told")
        if unknown := [name for name in self.usual if name not in self.moves]:
            raise PuzzleError(f"{self.name} has no move {unknown[0]!r}{did_you_mean(unknown[0], self.moves)}")
        return self

    def _check_moves(self) -> None:
        if wrong_names := [name for name in self.moves if not _NAME.fullmatch(name)]:
            raise PuzzleError(f"{self.name}: {wrong_names[0][:50]!r} cannot be the name of a move")
        for name, (source, twist) in self.moves.items():
            for orbit, (begin, end) in zip(self.orbits, pairwise(self.begins), strict=True):
                if sorted(source[begin:end]) != list(range(begin, end)):
                    raise PuzzleError(
                        f"{self.name}: move {name} does not permute the places of {orbit.name}: each must occur once"
                    )
                if wrong := [turn for turn in twist[begin:end] if not 0 <= turn < orbit.orientations]:
                    times = f"{wrong[0]} times, expected 0 to {orbit.orientations - 1}"
                    raise PuzzleError(f"{self.name}: move {name} turns a piece of {orbit.name} {times}")

    def turns(self) -> dict[str, Turn]:
        """Return what each move does to the stickers, of which a place has as many as orientations."""
        return {name: self.turn_of(Move(*map(tuple, move))) for name, move in self.moves.items()}

    def turn_of(self, move: Move) -> Turn:
        places = self.orientations
        begins = list(accumulate(places, initial=0))
        return tuple(
            begins[move.source[place]] + (sticker - move.twist[place]) % count
            for place, count in enumerate(places)
            for sticker in range(count)
        )

    def move_of(self, turn: Turn) -> Move:
        """Return the move that does this to the stickers."""
        places = self.orientations
        home = [(place, sticker) for place, count in enumerate(places) for sticker in range(count)]
        firsts = [home[turn[at]] for at, (_, sticker) in enumerate(home) if sticker == 0]
        return Move(
            tuple(place for place, _ in firsts),
            tuple(-sticker % count for (_, sticker), count in zip(firsts, places, strict=True)),
        )

    def inverse(self, move: Move) -> Move:
        """Return the move that takes another back."""
        source, twist = list(move.source), list(move.twist)
        for place, (there, turned, most) in enumerate(zip(*move, self.orientations, strict=True)):
            source[there], twist[there] = place, -turned % most
        return Move(tuple(source), tuple(twist))

    @property
    def unmoved(self) -> Move:
        """The move that does nothing."""
        places = range(len(self.pieces))
        return Move(tuple(places), (0,) * len(places))

    def after(self, first: Move, second: Move) -> Move:
        """Return the move that is `first`, then `second`."""
        return self.move_of(turned_then(self.turn_of(first), self.turn_of(second)))

    def multiples(self, names: Sequence[str], metric: str) -> dict[str, Move]:
        """Return the moves of a metric by name, each different, from the moves that are named.

        ``half``: all multiples of a move (``U``, ``U2``, ``U'``); ``quarter``: it and its inverse; ``given``: it alone.
        """
        found: dict[Turn, str] = {}
        turns, unmoved = self.turns(), tuple(range(sum(self.orientations)))
        for name in names:
            if name not in turns:
                known = ", ".join(turns)
                raise PuzzleError(f"{self.name} has no move {name!r}{did_you_mean(name, turns)}; its moves: {known}")
            powers = [turns[name]]
            while metric == "half" and (after := turned_then(powers[-1], turns[name])) != unmoved:
                powers.append(after)
                if len(powers) > _MOST_MOVES:
                    raise PuzzleError(f"{self.name}: {name} has more than {_MOST_MOVES} multiples; use metric=quarter")
            order = len(powers) + 1
            # In the order U, U', U2, U2', U3, ...
            for times in sorted(range(1, order), key=lambda times: (min(times, order - times), times)):
                fewest = min(times, order - times)
                called = _multiple(name, fewest, times > fewest)
                if turns.get(called, powers[times - 1]) != powers[times - 1]:
                    raise PuzzleError(f"{self.name}: {called} is a move of its own, and not {name} {times} times")
                found.setdefault(powers[times - 1], called)
            if metric == "quarter":
                back = self.turn_of(self.inverse(self.move_of(turns[name])))
                found.setdefault(back, _multiple(name, 1, True))
        found.pop(unmoved, None)
        if not found or len(found) > _MOST_MOVES:
            raise PuzzleError(f"{self.name} has {len(found)} moves that change anything, expected 1 to {_MOST_MOVES}")
        return {name: self.move_of(turn) for turn, name in found.items()}

    def algorithm(self, text: str, known: Mapping[str, Move]) -> Move:
        """Return what an algorithm does, of all moves and those `known` by other names, such as multiples.

        `ConfigurationError` names the move that is wrong.
        """
        turns = {name: self.turn_of(move) for name, move in known.items()} | self.turns()
        return self.move_of(read_algorithm(text, turns, self.name))


def _multiple(name: str, times: int, inverse: bool) -> str:
    """Return the name of a multiple, as twsearch writes it: ``U2'``; ``g1^2'`` after a digit."""
    number = "" if times == 1 else f"^{times}" if name[-1].isdigit() else f"{times}"
    return f"{name}{number}" + "'" * inverse


def with_derived(definition: Definition, derived: Mapping[str, str], where: Callable[[str], str]) -> Definition:
    """Return the definition with moves that are algorithms of other moves; ``where(name)`` begins an error's line.

    They may be built on each other in any order.
    """
    moves, left = dict(definition.checked().moves), dict(derived)
    if len(moves) + len(left) > _MOST_MOVES:
        raise PuzzleError(f"{definition.name} has more than {_MOST_MOVES} moves")
    while left:
        made = msgspec.structs.replace(definition, moves=moves)
        reason, before = "", len(left)
        for name, text in list(left.items()):
            try:
                source, twist = made.algorithm(text, {})
            except ConfigurationError as error:
                reason = f"{where(name)}: {error}"
                continue
            moves = {**moves, name: (list(source), list(twist))}
            del left[name]
        if len(left) == before:
            raise PuzzleError(reason)
    return msgspec.structs.replace(definition, moves=moves)


def rows_of(parts: Sequence[tuple[Sequence[int], Sequence[int]]], begins: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return a move of all places from those of each orbit, whose places are numbered from 0."""
    sources = chain.from_iterable(
        [begin + place for place in source] for begin, (source, _) in zip(begins, parts, strict=True)
    )
    return list(sources), list(chain.from_iterable(twist for _, twist in parts))
