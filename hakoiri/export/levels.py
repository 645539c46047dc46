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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Control, Observer
from hakoiri.errors import Hint, PuzzleError
from hakoiri.keys.layout import Key, key_at
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.run.goals import known_distances, require_goals
from hakoiri.run.opened import OpenRun
from hakoiri.run.paths import GOAL, shortest_paths
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress

SUFFIX = ".jsonl"


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
            for level in _drawn(run, store, distance, each, seed):
                json.dump(level, file, ensure_ascii=False)
                file.write("\n")
                count += 1
                context.control.check()
    return count


def _distances(run: OpenRun) -> RunStore:
    """Return the store whose layers are the distances to the nearest goal."""
    if isinstance(run.puzzle, Quotient):
        # Its nearest goal may be an image of the goal, which is not as far from the board as the goal itself.
        hint = Hint("run without", "merge_mirrors")
        raise UnanswerableError(f"run {run.name} has mirror images merged, so it has classes and no boards", hint)
    require_goals(run)
    return run.store if run.start_is_the_goal() else known_distances(run).store


def _drawn(run: OpenRun, store: RunStore, distance: int, each: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the levels of one distance in the order of their keys."""
    size = store.layer_record(distance).size
    chance = np.random.default_rng([seed, distance])
    wanted = sorted(chance.choice(size, min(each, size), replace=False).tolist(), reverse=True)
    begin = 0
    for keys in store.blocks(distance):
        while wanted and wanted[-1] < begin + len(keys):
            yield _level(run, key_at(keys, wanted.pop() - begin), distance) | {"of": size, "seed": seed}
        if not wanted:
            return
        begin += len(keys)


def _level(run: OpenRun, key: Key, distance: int) -> dict[str, Any]:
    text = run.puzzle.layout.text(key)
    # From the start, layers lead to the board; the moves of an undirected puzzle lead back.
    back = run.start_is_the_goal()
    paths = shortest_paths(run, text) if back else shortest_paths(run, GOAL, text)
    keys = next(iter(paths)).keys
    keys = keys[::-1] if back else keys
    return {
        "board": run.puzzle.render(keys[0]),
        "key": run.puzzle.layout.text(keys[0]),
        "distance": distance,
        "solution": run.puzzle.describe_moves(keys),
        "solutions": paths.count,
        "branching": len({*run.puzzle.successors(keys[0])}),
    }
