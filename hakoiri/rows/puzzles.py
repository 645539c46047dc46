"""The puzzles, and single configurations, as plain values.

Probes (`coordinator.layers.job`) as plain values, with what a run would need.
"""

import inspect
import shutil
from dataclasses import fields
from pathlib import Path
from typing import Any

from hakoiri.coordinator.layers.file_maker import filed_needs
from hakoiri.coordinator.layers.job import probe, probe_whole
from hakoiri.coordinator.runs.kinds import KINDS, kind_class, kinds_for
from hakoiri.coordinator.session.resources import Resources
from hakoiri.keys.layout import key_at
from hakoiri.loading import loaded
from hakoiri.puzzles.classics import CLASSICS
from hakoiri.puzzles.contract import Puzzle, numbers_of
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec, puzzle_class


def puzzle_rows() -> list[dict[str, Any]]:
    """Return the built-in puzzles."""
    return [puzzle_row(known, puzzle_class(known)) for known in PUZZLES]


def defined_row() -> dict[str, Any]:
    """Return what all puzzles of definitions have."""
    return puzzle_row("definition", loaded("hakoiri.puzzles.definitions.puzzle:Defined"))


def classic_rows() -> list[dict[str, Any]]:
    """Return the classics: the boards that may be named instead of drawn."""
    return [{"name": name} | classic._asdict() for name, classic in CLASSICS.items()]


def kind_rows() -> list[dict[str, Any]]:
    """Return the kinds of run in the form of a new run, each with its own fields and what they begin with."""
    rows = []
    for name in KINDS:
        kind = kind_class(name)
        if not kind.in_form:
            continue
        own = inspect.get_annotations(kind)
        shown = [(each.name, each.metadata) for each in fields(kind) if each.name in own and "form" in each.metadata]
        inputs = [
            # A number of seconds has no unit here.
            {"name": field, "help": "" if "amount" in told else told["help"], "form": told["form"],
             "lines": "lines" in told, "rare": "rare" in told, "values": [*told.get("words", ())],
             "least": told.get("min"), "most": told.get("max")}
            for field, told in shown
        ]  # fmt: skip
        summary = (kind.__doc__ or "").partition(".")[0]
        rows.append({"kind": name, "summary": summary, "without": [*kind.without], "fields": inputs})
    return rows


def puzzle_row(name: str, kind: type[Puzzle]) -> dict[str, Any]:
    """Return a puzzle for a list."""
    options = [
        {"name": option, "default": what.default, "allowed": what.describe()}
        | {field: getattr(what, field, None) for field in ("values", "least", "most")}
        for option, what in kind.options.items()
    ]
    # Those that set the size, by the puzzle's capability: none, one or several.
    sizes = getattr(kind, "size_options", [each for each in (getattr(kind, "size_option", None),) if each is not None])
    row = {"name": name, "summary": kind.summary, "options": options, "size_options": [*sizes]}
    return row | {"kinds": kinds_for(kind), "can": _abilities(kind), "notes": _notes(kind)}


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
        **({"faults": rules.faults(key)} if rules.is_tree else {}),
    }


def _abilities(kind: type[Puzzle]) -> list[str]:
    """Return what a puzzle can do besides its kinds of run, or needs, by names."""
    able = {
        "needs_start": kind.start_is_board,
        "merge_mirrors": kind.canonical is not Puzzle.canonical or kind.mirrors is not Puzzle.mirrors,
        "goal": not kind.is_tree,
    }
    return [name for name, holds in able.items() if holds]


def _notes(kind: type[Puzzle]) -> list[str]:
    """Return notes for users on the puzzle's kind, options and capabilities."""
    kinds = kinds_for(kind)
    noted = {
        # Only some options of a puzzle may decide these; then its class says nothing.
        "moves cannot be taken back": not getattr(kind, "undirected", True) and not kind.is_tree,
        "needs --from BOARD": kind.start_is_board,
        f"--from {kind.start_word}": kind.start_word and not kind.start_is_board,
        **{kind_class(each).note: True for each in kinds},
        "--whole": kind.configurations is not Puzzle.configurations,
        "--merge-mirrors": kind.canonical is not Puzzle.canonical or kind.mirrors is not Puzzle.mirrors,
        "--goal": not kind.is_tree,
        "all configurations are alike": kind.vertex_transitive,
    }
    return [note for note, holds in noted.items() if note and holds]


#: A run that takes longer is not ended by most.
_MOST_SECONDS = 7 * 86_400


def probe_row(puzzle: Puzzle, resources: Resources, data: Path, whole: bool = False) -> dict[str, Any]:
    """Return the figures of a probe (`coordinator.layers.job`), and what a run with runs in `data` would need.

    `disk_of_depths` is the bytes of a table of all depths, ``None`` if the puzzle has none. If a run that keeps depths
    or the frontier needs a table in a file, `disk_of_frontier` is the bytes of that without depths, and
    `memory_of_table` the least memory of either; else both are ``None``. `fits` is false if the disk is too small or a
    week too short, ``None`` if the size of the space is unknown.
    """
    found = probe_whole(puzzle) if whole else probe(puzzle)
    there = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
    filed = None if whole else filed_needs(puzzle, resources.budget())
    table = None if whole else numbers_of(puzzle) // 4 or None if filed is None else filed.depths
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
        "disk_of_depths": table if puzzle.undirected else None,
        "disk_of_frontier": None if filed is None else filed.frontier,
        "memory_of_table": None if filed is None else filed.memory,
        "free": free,
        "seconds": seconds,
        "fits": None if disk is None or seconds is None else disk < free and seconds < _MOST_SECONDS,
    }
