"""A run as a self-contained page to play: its board as the service shows it, and rules or a table in its place.

Sliding blocks are handed on as their pieces and goal: the page finds their configurations itself. Pages of
other puzzles have all configurations with their pictures, distances and moves.
"""

import gzip
import json
import re
import warnings
from base64 import b64encode
from contextlib import suppress
from os.path import normpath
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from hakoiri.coordinator.errors import RunError, UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.keys.layout import ints
from hakoiri.keys.order import lower_bounds
from hakoiri.puzzles.classics import CLASSICS, Classic
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.pieces import Blocks
from hakoiri.render.films import page, script
from hakoiri.render.images import text
from hakoiri.rows.positions import SMALL, PositionTable, configuration_row, moves_row, statistics_row, table_of
from hakoiri.run.components import start_component
from hakoiri.run.goals import require_goals
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.ledger.manifest import Progress

ENDING = ".html"
_STATIC = Path(__file__).parents[1] / "web" / "static"
_STYLES = ("tokens", "page", "parts", "board")
#: The module that shows the board of a run, and the one that takes the place of requests to the service.
_PAGE, _API, _HANDED = "pages/play.js", "lib/api.js", "play/handed.js"
_IMPORT = re.compile(r'(?:from |import\()"(\.[^"]+)"')
#: Configurations between two looks at the control.
_BATCH = 500


def save_player(run: OpenRun, target: Path, control: Control | None = None, observer: Observer | None = None) -> int:
    """Write the page of a finished run of up to 200,000 configurations; return the number of those in it.

    It holds the component of the start if the run is a census. Raises `UnanswerableError` for other runs, `StopRun`
    by `control`; `target` is then unchanged.
    """
    table = _known(run)
    puzzle, statistics = run.puzzle.unmerged or run.puzzle, None
    with suppress(RunError):  # Not all boards have any.
        statistics = statistics_row(run, None)
    held: dict[str, Any] = {"run": _described(run, table), "statistics": statistics, "goal": puzzle.goal_text()}
    if isinstance(puzzle, Blocks) and not puzzle.several_starts:
        held |= {"picture": configuration_row(puzzle, puzzle.start)["picture"], "sliding": _rules(puzzle)}
    else:
        held |= _listed(run.puzzle, table, control or Control(), observer or SilentObserver())
    packed = gzip.compress(json.dumps(held, separators=(",", ":")).encode(), mtime=0)
    filled = {
        "TITLE": text(_title(run.puzzle)), "TABLE": b64encode(packed).decode("ascii"),
        "RUN": text(quote(run.name)), "MODULES": script({"imports": modules()}),
        "STYLE": "\n".join((_STATIC / "style" / f"{name}.css").read_text("utf-8") for name in _STYLES),
    }  # fmt: skip
    with replaced(target) as part:
        part.write_text(page("handed", filled), "utf-8")
    return len(table.keys)


def require_playable(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` for a run that has no page to play."""
    require_goals(run)
    run.require_stored()
    run.require_components()
    if (size := sum(run.layer_sizes)) > SMALL:
        raise UnanswerableError(f"run {run.name} has {size:,} configurations; a page to play holds at most {SMALL:,}")


def _known(run: OpenRun) -> PositionTable:
    """Return depths and goal distances of the configurations to be played."""
    require_playable(run)
    table = cast(PositionTable, table_of(run))
    if not run.is_census:
        return table
    mine = table.components == start_component(run)
    return PositionTable(*(column[mine] for column in table))


def modules() -> dict[str, str]:
    """Return the module of the page, and all that it imports, as addresses with the source in them, by name."""
    found: dict[str, str] = {}
    waiting = [_PAGE]
    while waiting:
        if (name := waiting.pop()) not in found:
            source = (_STATIC / "js" / (_HANDED if name == _API else name)).read_text("utf-8")
            used = {path: normpath(Path(name).parent / path) for path in _IMPORT.findall(source)}
            for path, module in used.items():
                source = source.replace(f'"{path}"', f'"{module}"')
            found[name] = f"data:text/javascript;base64,{b64encode(source.encode()).decode('ascii')}"
            waiting += used.values()
    return found


def _title(puzzle: Puzzle) -> str:
    """Return the title of the classic with that start, goal and metric, else what the puzzle is."""
    known = (each.title for each in CLASSICS.values() if _is_of(puzzle, each))
    return next(known, f"{puzzle.summary[:1].upper()}{puzzle.summary[1:]}")


def _is_of(puzzle: Puzzle, classic: Classic) -> bool:
    """Return whether a puzzle is a classic, in the metric of its source, whose last part begins with the moves."""
    if (classic.puzzle, classic.start) != (puzzle.name, puzzle.start_text()):
        return False
    counted = classic.source.rpartition(": ")[2].partition(",")[0]
    metric = next((name for name, moves in classic.moves.items() if str(moves) == counted and name != "moves"), None)
    options = dict(classic.options) | ({"metric": metric} if metric else {})
    with warnings.catch_warnings(action="ignore"):  # On the letters of its goal, as the user was told.
        known = PuzzleSpec(classic.puzzle, options, classic.start).build()
    return known.option_texts() == puzzle.option_texts()


def _described(run: OpenRun, table: PositionTable) -> dict[str, Any]:
    """Return what the page of a board reads of a run."""
    depth = int(table.depths.max())
    return {
        "run": run.name, "kind": "explore" if depth >= 0 else "census", "status": "complete", "depth": depth,
        "start": run.puzzle.render(run.puzzle.start), "puzzle": run.puzzle.name,
        "parameters": run.puzzle.option_texts(), "configurations": len(table.keys),
    }  # fmt: skip


def _rules(puzzle: Blocks) -> dict[str, Any]:
    """Return the board, its pieces in the order of their kinds, and the goal, as `play/sliding.js` reads them."""
    board = puzzle.pieces
    return {
        "rows": board.rows, "columns": board.columns, "walls": sorted(board.walls), "blank": board.blank,
        "metric": puzzle.parameters["metric"],
        "pieces": [
            {"letter": letter, "kind": number, "axis": kind.axis, "cells": kind.shape}
            for number, kind in enumerate(board.kinds[:-1]) for letter in kind.typed
        ],
        "wishes": [[wish.kind, wish.corner[0] * board.columns + wish.corner[1]] for wish in puzzle.wishes],
    }  # fmt: skip


def _listed(puzzle: Puzzle, table: PositionTable, control: Control, observer: Observer) -> dict[str, Any]:
    """Return rows of `play/handed.js`; parts, moves, and what else a picture has, are named by their numbers."""
    rows, parts, frames, moves = list[Any](), dict[str, int](), dict[str, int](), dict[str, int]()

    def number(known: dict[str, int], value: object) -> int:
        return known.setdefault(json.dumps(value, separators=(",", ":")), len(known))

    for place, key in enumerate(ints(table.keys)):
        if not place % _BATCH:
            control.check()
            observer.progress(Progress(place, len(table.keys), headline="drawing configurations"))
        row = moves_row(puzzle, key)
        picture, found = row["picture"], row["moves"]
        targets = [int(move.pop("key"), 16) for move in found]
        numbers = [number(parts, part) for part in picture.pop("parts")]
        ways = zip(found, lower_bounds(table.keys, puzzle.keys(targets)).tolist(), strict=True)
        rows.append([
            row["configuration"], int(table.depths[place]), int(table.goals[place]), number(frames, picture), numbers,
            [[number(moves, move), there] for move, there in ways],
        ])  # fmt: skip
    known = {"parts": parts, "frames": frames, "moves": moves}
    return {"rows": rows} | {name: [*map(json.loads, values)] for name, values in known.items()}
