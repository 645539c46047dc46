"""Definitions in the making: what files of twsearch, ksolve and KPuzzle say in rows, each checked with its line."""

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import (
    MOST_LABEL,
    MOST_MOVES,
    MOST_PLACES,
    Definition,
    Orbit,
    is_name,
    rows_of,
    usual_of,
    with_derived,
)
from hakoiri.puzzles.definitions.tokens import Tokens, shown

#: Letters of the name of an orbit, and names in an error.
_MOST_LETTERS, _MOST_SHOWN = 40, 8
#: The pieces of an orbit or the places that they come from, and how they are turned; -1 cannot be told.
Part = tuple[list[int], list[int]]


class Row(NamedTuple):
    """Numbers of a file counted from 0, their line, and what the file counts them from."""

    numbers: list[int]
    line: int
    first: int = 0


class Draft:
    """The orbits, the solved position and the moves that were read so far; places are numbered from 0 in each orbit."""

    def __init__(self, tokens: Tokens, name: str) -> None:
        self.tokens, self.name = tokens, name
        self.orbits = dict[str, Orbit]()
        self._solved, self._seen = dict[str, Part](), dict[str, list[int]]()
        self._moves, self.derived = dict[str, dict[str, Part]](), dict[str, str]()
        self._aliases, self._at = set[str](), dict[str, int]()
        self._illegal = dict[tuple[str, int, int], int]()

    def add_orbit(self, name: str, places: int, orientations: int) -> None:
        if name in self.orbits:
            raise self.tokens.wrong(f"there is a set {shown(name)} already")
        if len(name) > _MOST_LETTERS:
            raise self.tokens.wrong(f"the name {shown(name)} has more than {_MOST_LETTERS} letters")
        if places + sum(orbit.places for orbit in self.orbits.values()) > MOST_PLACES:
            raise self.tokens.wrong(f"with {name} there are more than {MOST_PLACES} places")
        try:
            self.orbits[name] = Orbit(name, places, orientations).checked()
        except PuzzleError as error:
            raise self.tokens.wrong(str(error)) from None

    def orbit(self, name: str, line: int | None = None) -> Orbit:
        if name not in self.orbits:
            known = ", ".join([*self.orbits][:_MOST_SHOWN]) or "Set"
            raise self.tokens.wrong(f"{shown(name)} is not a set; expected {known}", line)
        return self.orbits[name]

    def add_solved(self, orbit: Orbit, pieces: Row, twists: Row, mods: Row | None = None) -> None:
        """Add the solved position of an orbit. `mods` are orientations that can be told, 0 for all."""
        if orbit.name in self._solved:
            raise self.tokens.wrong(f"{orbit.name} has a solved position already", pieces.line)
        self._check(orbit, "pieces", pieces, 0, MOST_LABEL)
        most = orbit.orientations
        self._check(orbit, "orientations", twists, -1, max(most, 2) if mods else most)
        seen = [1 if twist < 0 else most for twist in twists.numbers]
        if mods:
            self._check(orbit, "orientationMod", mods, 0, most + 1)
            seen = [mod or most for mod in mods.numbers]
            if wrong := [mod for mod in seen if most % mod]:
                raise self.tokens.wrong(
                    f"orientationMod {wrong[0]} does not divide the {most} of {orbit.name}", mods.line
                )
        by_piece = dict[int, int]()
        for piece, mod in zip(pieces.numbers, seen, strict=True):
            if by_piece.setdefault(piece, mod) != mod:
                what = "identical pieces differ in the orientations that can be told"
                raise self.tokens.wrong(f"{orbit.name}: {what}", (mods or twists).line)
        turned = [max(twist, 0) % mod for twist, mod in zip(twists.numbers, seen, strict=True)]
        self._solved[orbit.name], self._seen[orbit.name] = (pieces.numbers, turned), seen

    def begin_move(self, name: str) -> None:
        """Begin a move that changes nothing yet."""
        self._add_name(name)
        self._moves[name] = {}

    def _add_name(self, name: str) -> None:
        if name in self._at:
            raise self.tokens.wrong(f"there is a move {shown(name)} already, in line {self._at[name]}")
        if not is_name(name):
            word = shown(name) if name else "an empty text"
            raise self.tokens.wrong(
                f"{word} cannot be the name of a move; expected 1 to 40 signs but blanks and ()[],:'/"
            )
        if len(self._at) >= MOST_MOVES:
            raise self.tokens.wrong(f"there are more than {MOST_MOVES} moves")
        self._at[name] = self.tokens.line

    def add_part(self, move: str, orbit: Orbit, source: Row, twist: Row, by_source: bool) -> None:
        """Add what a move does in an orbit; `by_source` tells that twists are those of the piece *from* each place."""
        self._check(orbit, "places", source, 0, orbit.places)
        if len({*source.numbers}) < orbit.places:
            twice = next(place for place in source.numbers if source.numbers.count(place) > 1)
            what = f"move {move} does not permute the places of {orbit.name}: each must occur once, {twice + by_source}"
            raise self.tokens.wrong(f"{what} does not", source.line)
        self._check(orbit, "orientations", twist, 0, orbit.orientations)
        turned = [twist.numbers[place] for place in source.numbers] if by_source else twist.numbers
        self._moves[move][orbit.name] = source.numbers, turned

    def add_derived(self, name: str, algorithm: str, alias: bool = False) -> None:
        """Add a move that is an algorithm of others; an `alias` is another name alone."""
        self._add_name(name)
        self.derived[name] = algorithm
        if alias:
            self._aliases.add(name)

    def forbid(self, orbit: Orbit, place: int, piece: int) -> None:
        """Add a piece that may not be at a place, counted from 0."""
        if not 0 <= place < orbit.places:
            raise self.tokens.wrong(f"{orbit.name} has no place {place + 1}; expected 1 to {orbit.places}")
        if piece < 0:
            raise self.tokens.wrong(f"{orbit.name} has no piece {piece + 1}; the first one is 1")
        self._illegal[orbit.name, place, piece] = self.tokens.line

    def _check(self, orbit: Orbit, what: str, row: Row, low: int, end: int) -> None:
        if len(row.numbers) != orbit.places:
            found = f"{orbit.name} has {len(row.numbers)} numbers in its row of {what}, expected {orbit.places}"
            raise self.tokens.wrong(found, row.line)
        if wrong := [number for number in row.numbers if not low <= number < end]:
            found = f"{wrong[0] + row.first} in the {what} of {orbit.name} is not {max(low, 0) + row.first} to"
            found += f" {end - 1 + row.first}"
            raise self.tokens.wrong(found, row.line)

    def definition(self, first: int) -> Definition:
        """Return the definition, whose pieces are numbered from `first` in texts; `PuzzleError` for an unfit one."""
        file, orbits = self.tokens.file, list(self.orbits.values())
        if not orbits or not self._moves:
            found = f"{len(orbits)} sets and {len(self._moves)} moves"
            raise PuzzleError(f"{file} has {found}; expected at least one of each")
        begins = list(accumulate((orbit.places for orbit in orbits[:-1]), initial=0))
        start = [self._solved.get(orbit.name) or _unmoved(orbit) for orbit in orbits]
        moves = {
            name: rows_of([parts.get(orbit.name) or _unmoved(orbit) for orbit in orbits], begins)
            for name, parts in self._moves.items()
        }
        at = dict(zip(self.orbits, begins, strict=True))
        try:
            made = Definition(
                name=self.name, orbits=orbits, pieces=_joined(pieces for pieces, _ in start),
                twists=_joined(twists for _, twists in start), usual=usual_of(list(moves)), first=first, moves=moves,
                seen=_joined(self._seen.get(orbit.name, [orbit.orientations] * orbit.places) for orbit in orbits),
                illegal=[(at[name] + place, piece) for name, place, piece in self._illegal],
            ).checked()  # fmt: skip
        except PuzzleError as error:
            raise PuzzleError(f"{file}: {error}") from None
        made = with_derived(made, self.derived, lambda name: f"{file}, line {self._at[name]}")
        return made.using(usual_of([name for name in made.moves if name not in self._aliases]))


def _unmoved(orbit: Orbit) -> Part:
    return list(range(orbit.places)), [0] * orbit.places


def _joined(rows: Iterable[Sequence[int]]) -> list[int]:
    return [number for row in rows for number in row]
