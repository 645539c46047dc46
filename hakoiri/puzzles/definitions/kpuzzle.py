"""Reads definitions of KPuzzle, the format of cubing.js and twips (``.json``), also in its older forms.

There orbits are an object or have other names, the solved position is `startStateData` or `startPieces`, and moves have
an `orientation`, or are lists in the order of the orbits. An orbit that the solved position or a move leaves out, or
has ``null`` for, has its pieces in order there. Whatever else a file says is an error.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hakoiri.puzzles.definitions.definition import Definition, Orbit
from hakoiri.puzzles.definitions.drafts import Draft, Row
from hakoiri.puzzles.definitions.tokens import Tokens, shown

_TOKEN = re.compile(r'(?P<skip>\s+)|"(?:[^"\\\n]|\\.)*"|[-+.0-9a-zA-Z]+|[{}\[\]:,]')
_NUMBER = re.compile(r"-?\d{1,4}")
_LITERALS: dict[str, bool | None] = {"null": None, "true": True, "false": False}
_MOST_DEPTH = 20
_MISSING = object()


class _Object(dict[str, Any]):
    """An object of a file, each of whose members is taken once; `line` is where it begins, `at` where members do."""

    def __init__(self, tokens: Tokens) -> None:
        super().__init__()
        self.tokens, self.line, self.at = tokens, tokens.line, dict[str, int]()

    def take(self, kind: type | tuple[type, ...], *names: str, default: Any = _MISSING) -> Any:
        """Take the member that has one of these names; `PuzzleError` for a missing one, or another kind."""
        name = next((name for name in names if self.get(name) is not None), names[0])
        found = self.pop(name, None)
        if found is None and default is not _MISSING:
            return default
        if isinstance(found, bool | None) or not isinstance(found, kind):
            what = "is missing" if found is None else "has another kind of value than expected"
            raise self.tokens.wrong(f"{name} {what}", self.line)
        return found

    def finish(self) -> None:
        """Raise `PuzzleError` for a member that was not taken."""
        if left := [name for name, value in self.items() if value is not None]:
            raise self.tokens.wrong(f"{shown(left[0])} is not known there", self.line)


def _value(tokens: Tokens, depth: int = 0) -> Any:
    word = tokens.take()
    if depth > _MOST_DEPTH:
        raise tokens.wrong(f"more than {_MOST_DEPTH} brackets are open")
    if word == "{":
        found = _Object(tokens)
        while not tokens.accept("}"):
            if found and tokens.expect(",", "}") == "}":
                break
            name = _value(tokens, depth)
            if not isinstance(name, str) or name in found:
                raise tokens.wrong(f"{shown(str(name))} is not the name of a member, or is there twice")
            tokens.expect(":")
            found.at[name] = tokens.line
            found[name] = _value(tokens, depth + 1)
        return found
    if word == "[":
        line, values = tokens.line, list[Any]()
        while not tokens.accept("]"):
            if values and tokens.expect(",", "]") == "]":
                break
            values.append(_value(tokens, depth + 1))
        return Row(values, line) if values and all(type(value) is int for value in values) else values
    if _NUMBER.fullmatch(word):
        return int(word)
    if word in _LITERALS:
        return _LITERALS[word]
    try:
        if word.startswith('"'):
            return json.loads(word)
    except ValueError:
        pass
    raise tokens.wrong(f"{shown(word)} is not a text, or a whole number of at most 4 digits")


def _parts(tokens: Tokens, found: Any, names: Sequence[str]) -> Iterator[tuple[str, _Object]]:
    """Yield the objects of an object by name, or of a list, whose names are `names`; ``null`` is passed over."""
    members = found.items() if isinstance(found, _Object) else zip(names, found, strict=False)
    if not isinstance(found, _Object) and len(found) > len(names):
        raise tokens.wrong(f"a list has {len(found)} parts, expected one for each of {len(names)} orbits")
    for name, part in members:
        if part is not None and not isinstance(part, _Object):
            raise tokens.wrong(f"{shown(name)} has another kind of value than expected", getattr(found, "line", None))
        if part is not None:
            tokens.line = part.line
            yield name, part
            part.finish()


def _twists(part: _Object, orbit: Orbit, *names: str) -> Row:
    found: Row = part.take(Row, *names, default=Row([0] * orbit.places, part.line))
    return found


def read_kpuzzle(text: str, file: str, name: str) -> Definition:
    """Return the definition of a text; `PuzzleError` names the line."""
    tokens = Tokens(text, file, _TOKEN)
    found = _value(tokens)
    if not isinstance(found, _Object) or tokens.ahead:
        raise tokens.wrong(f"{shown(tokens.take())} where one object is expected, and nothing behind it")
    draft = Draft(tokens, found.take(str, "name", default=name))
    found.pop("$schema", None)
    orbits = found.take((_Object, list), "orbits")
    for called, orbit in _parts(tokens, orbits, [""] * len(orbits)):
        named = orbit.take(str, "orbitName", "name", default=called)
        draft.add_orbit(named, orbit.take(int, "numPieces"), orbit.take(int, "numOrientations", "orientations"))
    solved = found.take((_Object, list), "defaultPattern", "startStateData", "startPieces", default=[])
    for called, part in _parts(tokens, solved, [*draft.orbits]):
        where = draft.orbit(called)
        pieces = part.take(Row, "pieces", "permutation")
        draft.add_solved(where, pieces, _twists(part, where, "orientation"), _twists(part, where, "orientationMod"))
    moves = found.take(_Object, "moves")
    for move, parts in moves.items():
        tokens.line = moves.at[move]
        draft.begin_move(move)
        for called, part in _parts(tokens, [] if parts is None else parts, [*draft.orbits]):
            where, source = draft.orbit(called), part.take(Row, "permutation")
            draft.add_part(move, where, source, _twists(part, where, "orientationDelta", "orientation"), False)
    derived = found.take(_Object, "derivedMoves", "experimentalDerivedMoves", default=_Object(tokens))
    for move, algorithm in derived.items():
        tokens.line = derived.at[move]
        if not isinstance(algorithm, str):
            raise tokens.wrong(f"the derived move {shown(move)} is not an algorithm")
        draft.add_derived(move, algorithm)
    found.finish()
    return draft.definition(first=0)
