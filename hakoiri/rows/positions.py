"""Facts about a configuration of a run, its picture, and the moves from it, as plain values.

For a small run all of that is kept in memory and found by binary search. For a large one a lookup reads one block per
layer, and only the layers that a move can lead to.
"""

from collections.abc import Mapping
from dataclasses import asdict
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.errors import Hint
from hakoiri.guest_table import ANSWERS
from hakoiri.keys.layout import Key, Keys
from hakoiri.keys.order import equal_rows, lower_bounds, order_of
from hakoiri.loading import loaded
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.pictures import SURFACES, Part, Picture, Polygon, Rectangle
from hakoiri.run.opened import OpenRun
from hakoiri.worker.graphs.searches import distances_from, transposed


def picture_row(picture: Picture, kinds: Mapping[str, int] | None = None) -> dict[str, Any]:
    """Return a picture; its shapes have the fields of `puzzles.pictures`, and `shape` names their type.

    `kinds` gives alike parts the same number (`Puzzle.alike`). `surfaces` names the colours that change in the dark.
    """
    parts = [
        {
            "name": part.name,
            "x": part.x,
            "y": part.y,
            "shapes": [{"shape": type(shape).__name__.lower()} | shape._asdict() for shape in part.shapes],
        }
        for part in picture.parts
    ]
    return {
        "width": picture.width,
        "height": picture.height,
        "parts": parts,
        "kinds": dict(kinds or {}),
        "surfaces": SURFACES,
    }


def configuration_row(puzzle: Puzzle, key: Key) -> dict[str, Any]:
    """Return a configuration, its picture, and the goal in words."""
    return {
        "goal_text": puzzle.goal_text(),
        "configuration": puzzle.render(key),
        "key": puzzle.layout.text(key),
        "picture": picture_row(puzzle.picture(key), puzzle.alike(key)),
    }


def moves_row(puzzle: Puzzle, key: Key, merged: Puzzle | None = None) -> dict[str, Any]:
    """Return a configuration with its picture, and for each move its effect on the parts.

    If `merged` is given, keys are its keys, and `at` is a configuration as it is drawn.
    `moved` parts have another place, `changed` ones other shapes, `gone` ones are removed, `new` ones are added;
    `places` are the middles of all of these, before and after.
    """
    successors = list(dict.fromkeys(puzzle.successors(key)))
    moves = [
        {"key": puzzle.layout.text(after), "move": puzzle.describe_move(key, after)} | _change(puzzle, key, after)
        for after in successors
    ]
    if merged is None:
        return configuration_row(puzzle, key) | {"moves": moves}
    for move, after in zip(moves, successors, strict=True):
        move |= {"key": merged.layout.text(merged.parse(puzzle.render(after))), "at": puzzle.render(after)}
    return configuration_row(puzzle, key) | {"goal_text": merged.goal_text(), "at": puzzle.render(key), "moves": moves}


def _change(puzzle: Puzzle, key: Key, after: Key) -> dict[str, Any]:
    path = puzzle.lift([key, after], key) if isinstance(puzzle, Quotient) else [key, after]
    was, now = ({part.name: part for part in picture.parts} for picture in puzzle.pictures(path))
    both = [(was[name], part) for name, part in now.items() if name in was]
    touched = {each for pair in both if pair[0] != pair[1] for each in pair}
    touched |= {part for name, part in was.items() if name not in now}
    touched |= {part for name, part in now.items() if name not in was}
    return {
        "moved": [
            {"name": part.name, "x": part.x, "y": part.y} for before, part in both if before[2:] != part[2:]
        ],
        "changed": [part.name for before, part in both if before.shapes != part.shapes],
        "gone": [name for name in was if name not in now],
        "new": [name for name in now if name not in was],
        "places": sorted({_middle(part) for part in touched if part.name != "ground"}),
    }  # fmt: skip


def _middle(part: Part) -> tuple[float, float]:
    """Return the middle of the first shape of a part."""
    match part.shapes[0]:
        case Rectangle(x, y, width, height):
            return part.x + x + width / 2, part.y + y + height / 2
        case Polygon(points):
            return part.x + fmean(x for x, _ in points), part.y + fmean(y for _, y in points)
        case shape:
            return part.x + shape.x, part.y + shape.y


def statistics_row(run: OpenRun, configuration: str | None) -> dict[str, Any]:
    """Return a board, by default the start, with the figures for its designer."""
    found = loaded(ANSWERS["statistics"])(run, configuration)
    key = run.puzzle.start if configuration is None else run.puzzle.parse(configuration)
    return {"configuration": run.puzzle.render(key)} | asdict(found)


#: Runs up to this size are held in memory as a whole, with goal distances computed on first request.
SMALL = 200_000
#: The reasons for an unknown goal distance; the first is temporary.
UNKNOWN = "the goal distances of the run are not known; request its hardest"
_UNFINISHED = "the run is not complete"
_NO_GOAL = "no goal can be reached from it"


class Known(NamedTuple):
    """Depth, component, and distance to the nearest goal of a configuration; ``None`` if unknown or nonexistent."""

    depth: int | None
    component: int | None
    goal_distance: int | None


class PositionTable(NamedTuple):
    """All facts of a small run by the index of its increasing keys; -1 stands for an unknown one."""

    keys: Keys
    depths: NDArray[np.int64]
    components: NDArray[np.int64]
    goals: NDArray[np.int64]

    def know(self, keys: Keys) -> list[Known | None]:
        """Return the facts about each key, ``None`` for those that the run has not found."""
        places = np.minimum(lower_bounds(self.keys, keys), len(self.keys) - 1)
        inside = equal_rows(self.keys[places], keys)
        columns = (self.depths, self.components, self.goals)
        rows = zip(*(column[places].tolist() for column in columns), strict=True)
        return [
            Known(*(None if value < 0 else value for value in row)) if found else None
            for found, row in zip(inside.tolist(), rows, strict=True)
        ]


def table_of(run: OpenRun) -> PositionTable | None:
    """Return the table of a small complete run that keeps all layers; ``None`` for others."""
    size = run.store.state.figures.get("configurations", SMALL + 1)
    if run.store.kept.first or not (run.exhausted and run.knows_components) or size > SMALL:
        return None
    keys, labels = run.configurations()
    none, found = np.full(len(keys), -1, dtype=np.int64), labels.astype(np.int64)
    depths, components = (none, found) if run.is_census else (found, np.zeros(len(keys), dtype=np.int64))
    distances, goals = none, np.flatnonzero(run.puzzle.is_goal(keys)).astype(np.int32)
    if len(goals):
        _, graph = run.graph()
        distances = distances_from(graph if run.puzzle.undirected else transposed(graph), goals).astype(np.int64)
    return PositionTable(keys, depths, components, distances)


def require_positions(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` unless the run knows the depth of each configuration it found."""
    if run.puzzle.is_tree:
        hint = Hint("ask", run.name, "solutions")
        raise UnanswerableError(f"run {run.name} is a tree, so its configurations are not positions", hint)
    run.require_graph()
    if not run.store.kept.table:
        run.store.require_kept()


def position_row(run: OpenRun, table: PositionTable | None, configuration: str) -> dict[str, Any]:
    """Return a configuration and its moves, the best first: those that lead nearest to a goal."""
    require_positions(run)
    key = run.puzzle.parse(configuration)
    here = _know(run, table, run.puzzle.keys([key]), None)[0]
    if here is None:
        raise run.not_found(f"did not find {run.puzzle.render(key)}")
    moves = _moves(run, table, key, here.depth)
    reason = ""
    if here.goal_distance is None:
        known = table is not None or run.known_distances() is not None
        reason = _NO_GOAL if known else UNKNOWN if run.exhausted else _UNFINISHED
    return {
        "configuration": run.puzzle.render(key),
        "key": run.puzzle.layout.text(key),
        "depth": here.depth,
        "goal": bool(run.puzzle.is_goal(run.puzzle.keys([key]))[0]),
        "goal_distance": here.goal_distance,
        "goal_distance_unknown": reason,
        "lost": reason == _NO_GOAL,
        "component": here.component,
        "moves": moves,
    }


def _moves(run: OpenRun, table: PositionTable | None, key: Key, depth: int | None) -> list[dict[str, Any]]:
    puzzle = run.puzzle
    targets = list(dict.fromkeys(puzzle.successors(key)))
    batch = puzzle.keys(targets)
    goals = puzzle.is_goal(batch).tolist()
    rows = []
    for target, known, goal in zip(targets, _know(run, table, batch, depth), goals, strict=True):
        found = known or Known(None, None, None)
        rows.append(
            {
                "move": puzzle.describe_move(key, target),
                "configuration": puzzle.render(target),
                "key": puzzle.layout.text(target),
                "depth": found.depth,
                "goal": goal,
                "goal_distance": found.goal_distance,
            }
        )
    far = 1 << 62
    return sorted(rows, key=lambda row: far if row["goal_distance"] is None else row["goal_distance"])


def _know(run: OpenRun, table: PositionTable | None, keys: Keys, around: int | None) -> list[Known | None]:
    """Return the facts about each key; all are one move from a configuration of depth `around`."""
    if table is not None:
        return table.know(keys)
    if not len(keys):
        return []
    order = order_of(keys)
    depths = np.empty(len(keys), dtype=np.int64)
    depths[order] = run.store.depths_of(keys[order], None if around is None or not run.puzzle.undirected else around)
    if run.start_is_the_goal():
        goals = depths.tolist()
    else:
        distances = run.known_distances()
        goals = [-1] * len(keys) if distances is None else distances.of(keys).tolist()
    component = None if run.is_census or not run.exhausted else 0
    return [
        Known(None if run.is_census else depth, component, None if goal < 0 else goal) if depth >= 0 else None
        for depth, goal in zip(depths.tolist(), goals, strict=True)
    ]
