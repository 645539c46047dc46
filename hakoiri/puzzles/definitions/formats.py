"""Reads definitions: twsearch and ksolve (``.tws``, ``.def``), KPuzzle (``.json``), GAP (``.g``, ``.gap``).

The formats are those of github.com/cubing/twsearch, of KPuzzleDefinition in cubing.js, and of the permutations that
PuzzleGeometry writes for GAP and CayleyPy reads. Errors name the line, or the part of a JSON file.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

import msgspec

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.definitions.definition import MOST_PLACES, Definition, Orbit, rows_of, with_derived
from hakoiri.puzzles.definitions.stickers import from_permutations

#: Turns of the whole puzzle, which are no moves unless the user names them.
_ROTATION = re.compile(r"[xyz]|.*v")


def _usual(names: Sequence[str]) -> list[str]:
    return [name for name in names if not _ROTATION.fullmatch(name)] or list(names)


class _Lines:
    """The lines of a file as words, with errors that name the line."""

    def __init__(self, text: str, file: str) -> None:
        self.file, self.number = file, 0
        lines = ((number, line.split("#")[0].split()) for number, line in enumerate(text.splitlines(), 1))
        self._lines = iter([(number, words) for number, words in lines if words])

    def __iter__(self) -> Iterator[list[str]]:
        for number, words in self._lines:
            self.number = number
            yield words

    def wrong(self, what: str) -> PuzzleError:
        return PuzzleError(f"{self.file}, line {self.number}: {what}")


_Part = tuple[list[int], list[int]]


def _read_tws(text: str, file: str) -> Definition:  # noqa: PLR0912
    lines = _Lines(text, file)
    name, orbits, solved = Path(file).stem, list[Orbit](), dict[str, _Part]()
    moves, derived, at = dict[str, dict[str, _Part]](), dict[str, str](), dict[str, int]()
    for first, *words in lines:
        match first, words:
            case "Name", [name]:
                pass
            case "Set", [orbit, places, orientations]:
                if orbit in (each.name for each in orbits):
                    raise lines.wrong(f"there is a set {orbit} already")
                try:
                    orbits.append(Orbit(orbit, _number(lines, places), _number(lines, orientations)).checked())
                except PuzzleError as error:
                    raise lines.wrong(str(error).removeprefix(f"{file}, line {lines.number}: ")) from None
            case (("Solved" | "StartState"), []):
                solved = _read_parts(lines, orbits, int(first == "Solved"), unknown=True)
            case (("Move" | "MoveTransformation"), [move]):
                if move in moves:
                    raise lines.wrong(f"there is a move {move} already")
                moves[move], at[move] = _read_parts(lines, orbits, int(first == "Move")), lines.number
            case (("MoveAlias" | "MoveSequence"), [alias, *rest]) if rest:
                derived[alias], at[alias] = " ".join(rest), lines.number
            case "SwizzleSet", _:
                pass
            case "Illegal", _:
                raise lines.wrong("Illegal, positions that are forbidden, is not supported")
            case _:
                raise lines.wrong(f"{' '.join([first, *words])!r}; expected Name, Set, Solved, Move or End")
    if not orbits or not moves:
        raise PuzzleError(f"{file} has {len(orbits)} sets and {len(moves)} moves; expected at least one of each")
    start = [solved.get(orbit.name, _unmoved(orbit)) for orbit in orbits]
    begins = list(accumulate((orbit.places for orbit in orbits[:-1]), initial=0))
    # In a row of a solved position -1 is an orientation that cannot be told.
    seen = [
        1 if twist < 0 else orbit.orientations
        for orbit, (_, twists) in zip(orbits, start, strict=True) for twist in twists
    ]  # fmt: skip
    made = Definition(
        name=name, orbits=orbits, pieces=[piece for pieces, _ in start for piece in pieces],
        twists=[max(twist, 0) for _, twists in start for twist in twists], seen=seen, usual=_usual(list(moves)),
        moves={name: rows_of([parts.get(orbit.name, _unmoved(orbit)) for orbit in orbits], begins)
               for name, parts in moves.items()},
    )  # fmt: skip
    return with_derived(made, derived, lambda name: f"{file}, line {at[name]}")


def _unmoved(orbit: Orbit) -> _Part:
    return list(range(orbit.places)), [0] * orbit.places


def _read_parts(lines: _Lines, orbits: Sequence[Orbit], first: int, unknown: bool = False) -> dict[str, _Part]:
    """Return the rows of each orbit up to ``End``; places are numbered from `first`.

    In a ``Move`` the orientation row tells how the piece *from* each place is turned, as twsearch reads it; where
    places are numbered from 0, how the piece that comes *to* it is. ``?`` is allowed where orientations are `unknown`.
    """
    by_name, found, name = {orbit.name: orbit for orbit in orbits}, dict[str, list[list[int]]](), ""
    for words in lines:
        if words == ["End"]:
            break
        if words[0] in by_name and len(words) == 1:
            name = words[0]
            found[name] = []
        elif not name or words[0].isalpha():
            raise lines.wrong(f"{words[0]!r} is not a set; expected {', '.join(by_name)} or End")
        else:
            orbit, rows = by_name[name], found[name]
            least, most = (-1 if unknown else 0, orbit.orientations) if rows else (0, orbit.places)
            row = [-1 if word == "?" and unknown else _number(lines, word) - (0 if rows else first) for word in words]
            if len(row) != orbit.places or len(rows) > 1:
                raise lines.wrong(
                    f"{name} has {len(row)} numbers in row {len(rows) + 1}, expected {orbit.places} in each of 2 rows"
                )
            if wrong := [value for value in row if not least <= value < most]:
                found_here, low = wrong[0] + (0 if rows else first), max(least, 0) + (0 if rows else first)
                raise lines.wrong(f"{found_here} in row {len(rows) + 1} of {name} is not {low} to {low + most - 1}")
            rows.append(row)
    else:
        raise lines.wrong("the file ends before End")
    parts = dict[str, _Part]()
    for name, (source, *rest) in ((name, rows or [[]]) for name, rows in found.items()):
        if not source:
            raise lines.wrong(f"{name} has no rows before this line")
        twist = rest[0] if rest else [0] * len(source)
        parts[name] = (source, twist if unknown or not first else [twist[place] for place in source])
    return parts


def _number(lines: _Lines, word: str) -> int:
    if not word.isdecimal() or len(word) > 4:
        raise lines.wrong(f"{word[:20]!r} is not a number")
    return int(word)


class _KOrbit(msgspec.Struct, rename="camel"):
    orbit_name: str
    num_pieces: int
    num_orientations: int


class _KPattern(msgspec.Struct, rename="camel"):
    pieces: list[int]
    orientation: list[int]
    orientation_mod: list[int] | None = None


class _KMove(msgspec.Struct, rename="camel"):
    permutation: list[int]
    orientation_delta: list[int]


class _KPuzzle(msgspec.Struct, rename="camel"):
    name: str
    orbits: list[_KOrbit]
    default_pattern: dict[str, _KPattern]
    moves: dict[str, dict[str, _KMove]]
    derived_moves: dict[str, str] | None = None


def _read_kpuzzle(text: str, file: str) -> Definition:
    try:
        json.loads(text)  # Its errors name the line.
        found = msgspec.json.decode(text, type=_KPuzzle)
    except (ValueError, RecursionError) as error:
        raise PuzzleError(f"{file} is not a KPuzzle definition: {error}") from None
    try:
        orbits = [Orbit(*vars_of).checked() for vars_of in map(msgspec.structs.astuple, found.orbits)]
    except PuzzleError as error:
        raise PuzzleError(f"{file}: {error}") from None
    _check_rows(found, orbits, file)
    begins = list(accumulate((orbit.places for orbit in orbits[:-1]), initial=0))
    pieces, twists, seen = list[int](), list[int](), list[int]()
    for orbit in orbits:
        pattern = found.default_pattern[orbit.name]
        # 0 stands for all orientations.
        mods = [mod or orbit.orientations for mod in pattern.orientation_mod or [0] * orbit.places]
        pieces, seen = pieces + pattern.pieces, seen + mods
        twists += [twist % mod for twist, mod in zip(pattern.orientation, mods, strict=False)]
    moves = {
        name: rows_of(
            [(parts[orbit.name].permutation, parts[orbit.name].orientation_delta)
             if orbit.name in parts else _unmoved(orbit) for orbit in orbits], begins,
        )
        for name, parts in found.moves.items()
    }  # fmt: skip
    derived = found.derived_moves or {}
    try:
        made = Definition(
            name=found.name, orbits=orbits, pieces=pieces, twists=twists, seen=seen, moves=moves, first=0,
            usual=_usual(list(found.moves)),
        ).checked()  # fmt: skip
    except PuzzleError as error:
        raise PuzzleError(f"{file}: {error}") from None
    made = with_derived(made, derived, lambda name: f"{file}: derivedMoves {name}")
    return msgspec.structs.replace(made, usual=_usual(list(made.moves)))


def _check_rows(found: _KPuzzle, orbits: Sequence[Orbit], file: str) -> None:
    """Raise `PuzzleError` for a pattern or move with another orbit, or too few or too many numbers."""
    names = {orbit.name for orbit in orbits}
    rows: dict[str, dict[str, list[list[int]]]] = {"defaultPattern": {
        name: [part.pieces, part.orientation, part.orientation_mod or part.pieces]
        for name, part in found.default_pattern.items()
    }}  # fmt: skip
    for move, moved in found.moves.items():
        rows[f"move {move}"] = {name: [part.permutation, part.orientation_delta] for name, part in moved.items()}
    for what, parts in rows.items():
        if wrong := ({*parts} - names) or (names - {*parts} if what == "defaultPattern" else set()):
            raise PuzzleError(f"{file}: {what} and orbits do not agree on {min(wrong)!r}")
        for orbit in orbits:
            if any(len(row) != orbit.places for row in parts.get(orbit.name, [])):
                raise PuzzleError(f"{file}: {what} has other than {orbit.places} numbers for {orbit.name}")


_CYCLES = re.compile(r"\s*(?:\(\s*(?:\d{1,4}\s*(?:,\s*\d{1,4}\s*)*)?\)\s*)+")


def _points(text: str) -> list[int]:
    return [int(point) for point in re.findall(r"\d{1,4}", text)]


def _read_gap(text: str, file: str) -> Definition:
    """Return the definition of ``name := (1,2,3)(4,5);``, the lists ``Gen`` of moves, and ``ip`` of identical pieces.

    Place i takes the piece of the place that follows it in its cycle: so does PuzzleGeometry, which writes such files.
    """
    cycles, chosen, alike, at = dict[str, list[list[int]]](), list[str](), list[list[int]](), 0
    text = "\n".join(line.split("#")[0] for line in text.split("\n"))
    for statement in text.split(";"):
        where = f"{file}, line {1 + text.count(chr(10), 0, at + len(statement) - len(statement.lstrip()))}"
        at += len(statement) + 1
        name, sign, value = (part.strip() for part in statement.partition(":="))
        name, lists = name.removeprefix("M_"), re.fullmatch(r"\[(.*)\]", value, re.DOTALL)
        if sign and _CYCLES.fullmatch(value):
            cycles[name] = [_points(cycle) for cycle in re.findall(r"\(([^)]+)\)", value)]
            points = [point for cycle in cycles[name] for point in cycle]
            if len(set(points)) < len(points) or min(points, default=1) < 1 or max(points, default=1) > MOST_PLACES:
                raise PuzzleError(f"{where}: the cycles of {name} are not a permutation of 1 to at most {MOST_PLACES}")
        elif sign and lists and name == "ip":
            alike = [_points(each) for each in re.findall(r"\[([^\]]*)\]", lists[1])]
        elif sign and lists:
            chosen = [each.strip().removeprefix("M_") for each in lists[1].split(",")]
        elif sign:
            raise PuzzleError(f"{where}: {name} is not a permutation in cycles, such as (1,2,3)(4,5), or a list")
    if not cycles:
        raise PuzzleError(f"{file} has no permutations; expected lines such as M_U:=(1,2,3)(4,5);")
    count = max((max(cycle) for found in cycles.values() for cycle in found), default=1)
    permutations = dict[str, list[int]]()
    for name, found in cycles.items():
        row = list(range(count))
        for cycle in found:
            for point, after in pairwise([*cycle, cycle[0]]):
                row[point - 1] = after - 1
        permutations[name] = row
    if wrong := [point for each in alike for point in each if not 1 <= point <= count]:
        raise PuzzleError(f"{file}: ip names place {wrong[0]}, expected 1 to {count}")
    identical = [[point - 1 for point in each] for each in alike]
    made = from_permutations(Path(file).stem, permutations, identical, 1, by_piece=True)
    return msgspec.structs.replace(made, usual=[name for name in chosen if name in cycles] or list(cycles))


_READERS: Mapping[str, Callable[[str, str], Definition]] = {
    ".tws": _read_tws, ".def": _read_tws, ".ksolve": _read_tws, ".json": _read_kpuzzle, ".g": _read_gap,
    ".gap": _read_gap,
}  # fmt: skip
_MOST_BYTES = 1_000_000


def read_definition(word: str) -> Definition:
    """Return the definition in a file; `PuzzleError` that names the line or part that is wrong."""
    path = Path(word)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise PuzzleError(f"{path} has more than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise PuzzleError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise PuzzleError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    found = _READERS[path.suffix.lower()](text, path.name)
    try:
        return found.checked()
    except PuzzleError as error:
        raise PuzzleError(f"{path.name}: {error}") from None
