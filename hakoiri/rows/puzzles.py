"""The puzzles, and single configurations, as plain values.

Probes (`coordinator.layers.job`) as plain values, with what a run would need.
"""

import inspect
import shutil
from pathlib import Path
from typing import Any

from hakoiri.coordinator.layers.job import probe, probe_whole
from hakoiri.coordinator.session.resources import Resources
from hakoiri.keys.layout import key_at
from hakoiri.puzzles.capabilities import Dealt, Family, Placements, Scored, Sized
from hakoiri.puzzles.classics import CLASSICS
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, puzzle_class


def puzzle_rows() -> list[dict[str, Any]]:
    """Return the built-in puzzles."""
    return [puzzle_row(known, puzzle_class(known)) for known in PUZZLES]


def classic_rows() -> list[dict[str, Any]]:
    """Return the classics: the boards that may be named instead of drawn."""
    return [{"name": name} | classic._asdict() for name, classic in CLASSICS.items()]


def puzzle_row(name: str, kind: type[Puzzle]) -> dict[str, Any]:
    """Return a puzzle for a list."""
    options = [
        {"name": option, "default": what.default, "allowed": what.describe()} for option, what in kind.options.items()
    ]
    sizes = kind.size_options if issubclass(kind, Sized) else (kind.size_option,) if issubclass(kind, Dealt) else ()
    return {"name": name, "summary": kind.summary, "options": options, "size_options": [*sizes], "notes": _notes(kind)}


def full_puzzle_row(spec: PuzzleSpec) -> dict[str, Any]:
    """Return everything about a puzzle: also its rules in words and its usual start."""
    kind = spec.kind()
    # The class of a user puzzle may have no docstring, and must not inherit that of its base.
    text = inspect.cleandoc(kind.__doc__ or "").replace("`", "")
    row = puzzle_row(spec.name, kind) | {
        # Its paragraphs on one line each.
        "description": "\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n")),
        "goal": kind.goal_summary,
        "layout": None,
        "start": None,
        "key": None,
    }
    if kind.start_is_board:
        return row
    puzzle = spec.build()
    start = {"start": puzzle.render(puzzle.start), "key": puzzle.layout.text(puzzle.start)}
    return row | {"goal": puzzle.goal_text(), "layout": puzzle.layout.name} | start


def configuration_row(rules: Puzzle, key: int) -> dict[str, Any]:
    """Return a configuration, independent of any run."""
    keys = rules.keys([key])
    mirror = key_at(rules.canonical(keys), 0) if rules.has_mirrors else None
    return {
        "configuration": rules.render(key),
        "key": rules.layout.text(key),
        "puzzle": rules.name,
        "goal": bool(rules.is_goal(keys)[0]),
        "canonical": None if mirror is None else rules.render(mirror),
        "moves": [rules.describe_move(key, successor) for successor in rules.successors(key)],
        **({"faults": rules.faults(key)} if isinstance(rules, Placements) else {}),
    }


def _notes(kind: type[Puzzle]) -> list[str]:
    """Return notes for users on the puzzle's kind, options and capabilities."""
    tree = issubclass(kind, Placements)
    noted = {
        # Only some options of a puzzle may decide these; then its class says nothing.
        "moves cannot be taken back": not getattr(kind, "undirected", True) and not tree,
        "a tree: its solutions are counted": tree,
        "needs --from BOARD": kind.start_is_board,
        "--from DEAL": issubclass(kind, Dealt) and not kind.start_is_board,
        "--from BOARD": issubclass(kind, Scored) and kind.large_boards,
        "moves score": issubclass(kind, Scored),
        "study deals": issubclass(kind, Dealt) and bool(kind.size_option),
        "study sizes": issubclass(kind, Sized),
        "study boards": issubclass(kind, Family),
        "--whole": kind.configurations is not Puzzle.configurations,
        "--merge-mirrors": kind.canonical is not Puzzle.canonical or kind.mirrors is not Puzzle.mirrors,
        "--goal": not tree,
        "all configurations are alike": kind.vertex_transitive,
    }
    return [note for note, holds in noted.items() if holds]


#: A run that takes longer is not ended by most.
_MOST_SECONDS = 7 * 86_400


def probe_row(puzzle: Puzzle, resources: Resources, data: Path, whole: bool = False) -> dict[str, Any]:
    """Return the figures of a probe (`coordinator.layers.job`), and what a run with runs in `data` would need.

    `disk_of_depths` is the bytes of a table of all depths, ``None`` if the puzzle has none. `fits` is false if the disk
    is too small or a week too short, ``None`` if the size of the space is unknown.
    """
    found = probe_whole(puzzle) if whole else probe(puzzle)
    there = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
    table = None if puzzle.numbers is None or not puzzle.undirected or whole else puzzle.numbers // 4
    disk, free, seconds = found.stored_bytes, shutil.disk_usage(there).free, found.seconds
    return {
        "puzzle": puzzle.name,
        "start": puzzle.start_text(),
        "configurations": found.configurations,
        "exhausted": found.exhausted,
        "depth": found.depth,
        "goal": puzzle.goal_text() if puzzle.has_goal else None,
        "goal_depth": found.goal_depth,
        "expected": found.expected,
        "memory": resources.budget().memory,
        "disk": disk,
        "disk_of_depths": table,
        "free": free,
        "seconds": seconds,
        "fits": None if disk is None or seconds is None else disk < free and seconds < _MOST_SECONDS,
    }
