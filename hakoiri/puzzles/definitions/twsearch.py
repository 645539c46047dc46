"""Reads definitions of twsearch and ksolve: ``.tws``, ``.def`` and ``.ksolve``.

The format is that of the documentation of github.com/cubing/twsearch and of ksolve+. A line is a command, or belongs to
the block of one that ends with ``End``. ``#`` begins a comment, at the start of a line or after a blank.
"""

import re

from hakoiri.puzzles.definitions.definition import Definition, Orbit
from hakoiri.puzzles.definitions.drafts import Draft, Row
from hakoiri.puzzles.definitions.tokens import Tokens, shown

_TOKEN = re.compile(r"(?P<skip>[^\S\n]+|#[^\n]*)|\n|\S+")
#: Letters of a name that are kept.
_MOST_LETTERS = 80
_COMMANDS = "Name, Set, Solved, Move, MoveSequence, MoveAlias, Illegal or End"
#: Blocks that change neither positions nor moves: what scrambles may ignore, and two that ksolve+ itself passes over.
_WITHOUT_EFFECT = ("Ignore", "Multiplicators", "ParallelMoves")
_UNSUPPORTED = {
    "Block": "pieces that are joined", "ForbiddenPairs": "moves that may not follow each other",
    "ForbiddenGroups": "moves that may not follow each other", "MoveLimits": "moves that may not be made often",
}  # fmt: skip


def read_twsearch(text: str, file: str, name: str) -> Definition:  # noqa: PLR0912
    """Return the definition of a text; `PuzzleError` names the line."""
    tokens = Tokens(text, file, _TOKEN)
    draft = Draft(tokens, name)
    while words := tokens.row():
        match words:
            case ["Name", *rest]:
                draft.name = " ".join(rest)[:_MOST_LETTERS] or name
            case ["SwizzleSet", *_]:
                pass
            case ["Set", orbit, places, orientations]:
                draft.add_orbit(orbit, tokens.number(places), tokens.number(orientations))
            case ["Solved" | "StartState" as command]:
                for where, rows in _blocks(draft, int(command == "Solved")):
                    draft.add_solved(where, *rows)
            case ["Move" | "MoveTransformation" as command, move]:
                draft.begin_move(move)
                for where, rows in _blocks(draft, int(command == "Move")):
                    draft.add_part(move, where, *rows, by_source=command == "Move")
            case ["MoveAlias", alias, move]:
                draft.add_derived(alias, move, alias=True)
            case ["MoveSequence", move, *algorithm] if algorithm:
                draft.add_derived(move, " ".join(algorithm))
            case ["Illegal", orbit, place, *pieces] if pieces:
                for piece in pieces:
                    draft.forbid(draft.orbit(orbit), tokens.number(place) - 1, tokens.number(piece) - 1)
            case [command] if command in _WITHOUT_EFFECT:
                _pass_over(tokens, command)
            case [command, *_] if command in _UNSUPPORTED:
                raise tokens.wrong(f"{command}, {_UNSUPPORTED[command]}, is not supported")
            case _:
                raise tokens.wrong(f"{shown(' '.join(words))}; expected {_COMMANDS}")
    return draft.definition(first=1)


def _blocks(draft: Draft, first: int) -> list[tuple[Orbit, tuple[Row, Row]]]:
    """Return the two rows of each orbit up to ``End``; places and pieces are numbered from `first`.

    Without a second row no piece is turned. The orientation of a solved piece may be ``?``, which is -1.
    """
    tokens, found, rows = draft.tokens, dict[str, list[Row]](), list[Row]()
    while (words := tokens.row()) and words != ["End"]:
        if len(words) == 1 and words[0] in draft.orbits:
            if words[0] in found:
                raise tokens.wrong(f"{words[0]} has rows already in this block")
            rows = found[words[0]] = []
        elif not (words[0].isdecimal() or words[0] == "?"):
            draft.orbit(" ".join(words))
        elif not found or len(rows) > 1:
            raise tokens.wrong(f"{shown(' '.join(words))} is a row too many; expected a set or End")
        else:
            less = 0 if rows else first
            numbers = [-1 if word == "?" and rows else tokens.number(word) - less for word in words]
            rows.append(Row(numbers, tokens.line, less))
    if not words:
        raise tokens.wrong("the file ends before End")
    parts = list[tuple[Orbit, tuple[Row, Row]]]()
    for name, (pieces, *twists) in ((name, rows or [Row([], tokens.line)]) for name, rows in found.items()):
        orbit = draft.orbit(name)
        # ksolve counts orientations by their remainder: where there is one, any number is 0.
        turned = [0] * len(twists[0].numbers) if twists and orbit.orientations == 1 else None
        row = Row(turned, twists[0].line) if turned is not None else twists[0] if twists else None
        parts.append((orbit, (pieces, row or Row([0] * orbit.places, pieces.line))))
    return parts


def _pass_over(tokens: Tokens, command: str) -> None:
    line = tokens.line
    while (words := tokens.row()) and words != ["End"]:
        pass
    if not words:
        raise tokens.wrong(f"the file ends before the End of {command}", line)
