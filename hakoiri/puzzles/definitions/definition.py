"""The definition of a permutation puzzle: orbits of places, the solved pieces, and moves. It is data.

Every place belongs to an orbit and holds one piece, turned 0 to ``orientations - 1`` times. A move takes to place i the
piece of place ``source[i]`` and turns it ``twist[i]`` times. Pieces of one orbit with the same number are identical.
All places are numbered together, orbit by orbit. The convention is that of KPuzzle (cubing.js).
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from math import lcm
from typing import Annotated, NamedTuple

import msgspec

from hakoiri.errors import ConfigurationError, PuzzleError, did_you_mean
from hakoiri.puzzles.definitions.algorithms import Turn, read_algorithm, turned_then

#: One more than the largest number of a piece or place.
MOST_LABEL = 10_000
_Small = Annotated[int, msgspec.Meta(ge=0, lt=MOST_LABEL)]
_Rows = list[_Small]
#: The metrics: multiples of moves that are one move each.
METRICS = ("half", "quarter", "given")
MOST_PLACES, _MOST_ORIENTATIONS, MOST_MOVES = 2500, 127, 1000
#: The most stickers of all moves together, and of all turns in algorithms of derived moves: memory, and seconds.
MOST_STICKERS, _MOST_TURNED = 1_500_000, 10_000_000
#: A move in an algorithm: no blanks, and no marks of groups.
_NAME = re.compile(r"[^\s()\[\],:'/]{1,40}'?")
#: Turns of the whole puzzle, as twsearch tells them from moves: no moves unless the user names them.
_ROTATION = re.compile(r"[xyz][2']?|[A-Z_]+v")
#: Names in one line.
_MOST_LISTED = 20
#: Stickers whose turning takes as long as reading a sign of an algorithm.
_LEAST_STICKERS = 20
#: How many derived moves may be derived from each other.
_MOST_DERIVED = 100


def is_name(name: str) -> bool:
    """Return whether a move may have this name."""
    return bool(_NAME.fullmatch(name))


def usual_of(names: Sequence[str]) -> list[str]:
    """Return the names without those of turns of the whole puzzle, unless all are."""
    return [name for name in names if not _ROTATION.fullmatch(name)] or list(names)


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
    from `first` in texts. No move may lead to a position with a piece at a place that are together in `illegal`.
    `alike` are the solved pieces where those are identical that the file names so, if the user asks for that.
    """

    name: str
    orbits: list[Orbit]
    pieces: _Rows
    twists: _Rows
    seen: _Rows
    moves: dict[str, tuple[_Rows, _Rows]]
    usual: list[str]
    first: int = 1
    illegal: list[tuple[_Small, _Small]] = []
    alike: _Rows = []

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

    def summary(self) -> str:
        """Return in one line what was read: moves, turns of the whole puzzle, orbits, pieces and what is illegal."""
        others = [name for name in self.moves if name not in self.usual]
        turns = [name for name in others if _ROTATION.fullmatch(name)]
        idle = [name for name in others if name not in turns]
        named = {"moves": self.usual, "turns of the whole": turns, "not used": idle}
        parts = [f"{what} {_listed(names)}" for what, names in named.items() if names]
        if others:
            parts[0] += f", of {len(self.moves)} in the file"
        for orbit in self.orbits:
            turning = f" of {orbit.orientations} orientations" if orbit.orientations > 1 else ""
            parts.append(f"{orbit.name} {orbit.places} places{turning}")
        untold = sum(seen < most for seen, most in zip(self.seen, self.orientations, strict=True))
        counts = {"pieces like another": self._like_another(self.pieces),
                  "pieces that ip says are alike, distinct unless pieces is identical": self._like_another(self.alike),
                  "pieces whose turns are not all told": untold,
                  "illegal pieces at places": len(self.illegal)}  # fmt: skip
        return "; ".join([*parts, *(f"{what}: {count}" for what, count in counts.items() if count)])

    def _like_another(self, pieces: Sequence[int]) -> int:
        rows = [pieces[begin:end] for begin, end in pairwise(self.begins)]
        return sum(len(row) - len({*row}) for row in rows)

    def identical(self) -> "Definition":
        """Return the definition with the pieces `alike`."""
        return msgspec.structs.replace(self, pieces=self.alike, alike=[]).checked()

    def using(self, names: list[str]) -> "Definition":
        """Return the definition with other usual moves."""
        return msgspec.structs.replace(self, usual=names)

    def checked(self) -> "Definition":
        """Return the definition if its parts fit together; else raise `PuzzleError` that names the part."""
        for orbit in self.orbits:
            orbit.checked()
        begins = self.begins
        if not 1 <= begins[-1] <= MOST_PLACES or not self.usual or len(self.moves) > MOST_MOVES:
            raise PuzzleError(
                f"{self.name} has {begins[-1]} places and {len(self.moves)} moves; expected 1 to {MOST_PLACES} "
                f"places and 1 to {MOST_MOVES} moves"
            )
        places = self.orientations
        self._afford(len(self.moves))
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
        for place, piece in self.illegal:
            if place >= len(places) or self.pieces[place] == piece:
                raise PuzzleError(f"{self.name}: the solved position has piece {piece + self.first}, which is illegal")
        return self

    def _afford(self, moves: int) -> None:
        """Raise `PuzzleError` if so many moves have too many stickers together: before they are made."""
        stickers = sum(orbit.places * orbit.orientations for orbit in self.orbits)
        if moves * stickers > MOST_STICKERS:
            raise PuzzleError(
                f"{self.name} has {stickers:,} stickers and {moves:,} moves, which is too many; together at most "
                f"{MOST_STICKERS:,}; choose some by moves=, or metric=given"
            )

    def _check_moves(self) -> None:
        if wrong_names := [name for name in self.moves if not is_name(name)]:
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
        orders = {name: _order_of(turns[name]) if metric == "half" else 2 for name in names}
        for name, order in orders.items():
            if order > MOST_MOVES:
                raise PuzzleError(f"{self.name}: {name} has {order - 1:,} multiples; use metric=quarter")
        self._afford(sum(orders.values()))
        for name, order in orders.items():
            powers = [turns[name]]
            while len(powers) < order - 1:
                powers.append(turned_then(powers[-1], turns[name]))
            # In the order U, U', U2, U2', U3, ...
            for times in sorted(range(1, order), key=lambda times: (min(times, order - times), times)):
                fewest = min(times, order - times)
                called = _multiple(name, fewest, times > fewest)
                if turns.get(called, powers[times - 1]) != powers[times - 1]:
                    said = f"{called} is a move of its own, and not {name} {times} times"
                    raise PuzzleError(f"{self.name}: {said}; rename one of them, or use metric=given")
                found.setdefault(powers[times - 1], called)
            if metric == "quarter":
                back = self.turn_of(self.inverse(self.move_of(turns[name])))
                found.setdefault(back, _multiple(name, 1, True))
        found.pop(unmoved, None)
        if not found or len(found) > MOST_MOVES:
            raise PuzzleError(f"{self.name} has {len(found)} moves that change anything, expected 1 to {MOST_MOVES}")
        return {name: self.move_of(turn) for turn, name in found.items()}

    def algorithm(self, text: str, known: Mapping[str, Move]) -> Move:
        """Return what an algorithm does, of all moves and those `known` by other names, such as multiples.

        `ConfigurationError` names the move that is wrong.
        """
        turns = {name: self.turn_of(move) for name, move in known.items()} | self.turns()
        return self.move_of(read_algorithm(text, turns, self.name))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def _multiple(name: str, times: int, inverse: bool) -> str:
    """Return the name of a multiple, as twsearch writes it: ``U2'``; ``g1^2'`` after a digit."""
    number = "" if times == 1 else f"^{times}" if name[-1].isdecimal() else f"{times}"
    return f"{name}{number}" + "'" * inverse


def _order_of(turn: Turn) -> int:
    """Return how often a turn is made until nothing is changed: the least common multiple of its cycles' lengths."""
    met, lengths = set[int](), {1}
    for sticker in range(len(turn)):
        length, here = 0, sticker
        while here not in met:
            met.add(here)
            here, length = turn[here], length + 1
        lengths.add(length or 1)
    return lcm(*lengths)


class _Derived(Mapping[str, Turn]):
    """The turns of given moves, and of those `derived` from them by algorithms, each made when it is first used."""

    def __init__(self, given: dict[str, Turn], derived: Mapping[str, str], where: Callable[[str], str]) -> None:
        self._given, self._derived, self._where = given, derived, where
        self._names, self._open = [*given, *derived], list[str]()

    def __getitem__(self, name: str) -> Turn:
        if name not in self._given:
            if name in self._open or len(self._open) >= _MOST_DERIVED:
                what = "from itself" if name in self._open else f"through more than {_MOST_DERIVED} moves"
                raise PuzzleError(f"{self._where(name)}: {name} is derived {what}")
            self._open.append(name)
            try:
                self._given[name] = read_algorithm(self._derived[name], self, "the file")
            except ConfigurationError as error:
                raise PuzzleError(f"{self._where(self._open[-1])}: {error}") from None
            self._open.pop()
        return self._given[name]

    def __contains__(self, name: object) -> bool:
        return name in self._given or name in self._derived

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def with_derived(definition: Definition, derived: Mapping[str, str], where: Callable[[str], str]) -> Definition:
    """Return the definition with moves that are algorithms of other moves; ``where(name)`` begins an error's line.

    They may be built on each other in any order.
    """
    stickers, signs = sum(definition.orientations), sum(map(len, derived.values()))
    if (stickers + _LEAST_STICKERS) * signs > _MOST_TURNED:
        raise PuzzleError(f"{where(next(iter(derived)))}: {signs:,} signs for {stickers:,} stickers are too many")
    turns = _Derived(definition.turns(), derived, where)
    moves = {name: definition.move_of(turns[name]) for name in derived}
    every = {**definition.moves, **{name: (list(move.source), list(move.twist)) for name, move in moves.items()}}
    return msgspec.structs.replace(definition, moves=every).checked()


def rows_of(parts: Sequence[tuple[Sequence[int], Sequence[int]]], begins: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return a move of all places from those of each orbit, whose places are numbered from 0."""
    sources = chain.from_iterable(
        [begin + place for place in source] for begin, (source, _) in zip(begins, parts, strict=True)
    )
    return list(sources), list(chain.from_iterable(twist for _, twist in parts))
