"""Levels as data: boards at each exact distance from the goal, drawn at random, one JSON object a line.

Whoever trains or tests a learner gets true distances with it, where shuffles give only upper bounds. A line has

- ``board`` and ``key``: the configuration;
- ``distance``: the least number of moves to the nearest goal;
- ``solution``: the moves of a shortest solution, and ``solutions``: the number of all shortest ones;
- ``branching``: the number of moves of the board;
- ``of``: the number of configurations at this distance, and ``seed``: that of the draw.

Draws of one distance are without repetition: a small layer is there as a whole.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.layers.paths import AllPaths, levels_on
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.contract import Puzzle
from hakoiri.run.goals import known_distances, require_goals
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.layers.kernels import split

SUFFIX = ".jsonl"
#: Levels whose solutions are found together: their ways meet. 1,010 of Hakoiri-musume take 3 CPU s so, 20 one by one.
_TOGETHER = 1_000


def require_levels(target: Path) -> None:
    """Raise `PuzzleError` unless the name of a file ends as levels do."""
    if target.suffix != SUFFIX:
        raise PuzzleError(f"levels are written to a file *{SUFFIX}, not to {target.name}")


def to_levels(
    run: OpenRun, target: Path, each: int, distances: tuple[int, int] | None, seed: int,
    control: Control | None = None, observer: Observer | None = None,
) -> int:  # fmt: skip
    """Write `each` levels of each distance, by default of all; return their number.

    Raises `UnanswerableError` for a run whose distances to the goal are not known, and for greater ones.
    """
    require_levels(target)
    store, count = _distances(run), 0
    deepest = store.state.depth
    first, last = distances or (0, deepest)
    if last > deepest:
        raise UnanswerableError(f"the greatest distance of run {run.name} is {deepest}, not {last}")
    with (
        run.context(control, observer) as context,
        replaced(target) as draft,
        draft.open("w", encoding="utf-8") as file,
    ):
        for distance in range(first, last + 1):
            context.tell(Progress(distance - first, last - first + 1, "distances"))
            size = store.layer_record(distance).size
            for keys in split(_drawn(store, distance, each, seed), _TOGETHER):
                # In the layers of a run from its goal moves lead back, too: its puzzle is undirected.
                levels = levels_on(context, store, keys, distance)
                paths, ways = AllPaths(run.puzzle, levels, [], context.tuning.paths_at_once).of_each()
                for path, solutions in zip(paths, ways, strict=True):
                    level = _level(run.puzzle, path, solutions) | {"of": size, "seed": seed}
                    json.dump(level, file, ensure_ascii=False)
                    file.write("\n")
                    context.control.check()
                count += len(keys)
    return count


def _distances(run: OpenRun) -> RunStore:
    """Return the store whose layers are the distances to the nearest goal."""
    if isinstance(run.puzzle, Quotient):
        # Its nearest goal may be an image of the goal, which is not as far from the board as the goal itself.
        hint = Hint("run without", "merge_mirrors")
        raise UnanswerableError(f"run {run.name} has mirror images merged, so it has classes and no boards", hint)
    require_goals(run)
    return run.store if run.start_is_the_goal() else known_distances(run).store


def _drawn(store: RunStore, distance: int, each: int, seed: int) -> Keys:
    """Return the keys of the levels of one distance, in increasing order."""
    size = store.layer_record(distance).size
    chance = np.random.default_rng([seed, distance])
    wanted = np.sort(chance.choice(size, min(each, size), replace=False))
    begin, drawn = 0, list[Keys]()
    for keys in store.blocks(distance):
        here = wanted[(begin <= wanted) & (wanted < begin + len(keys))]
        drawn.append(keys[here - begin])
        begin += len(keys)
        if begin > wanted[-1]:
            break
    return np.concatenate(drawn)


def _level(puzzle: Puzzle, path: list[Key], solutions: int) -> dict[str, Any]:
    return {
        "board": puzzle.render(path[0]),
        "key": puzzle.layout.text(path[0]),
        "distance": len(path) - 1,
        "solution": puzzle.describe_moves(path),
        "solutions": solutions,
        "branching": len({*puzzle.successors(path[0])}),
    }
