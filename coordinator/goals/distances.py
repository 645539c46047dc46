"""The goal distances of a run: the run that holds them made, found, and asked."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coordinator.runs.create import make_run, name_of_plan
from coordinator.session.resources import Resources
from puzzles.contract import Puzzle
from puzzles.errors import Step
from puzzles.keys.layout import Key, Keys, key_at
from puzzles.keys.order import lower_bounds
from puzzles.registry import PuzzleSpec
from storage.errors import DamagedError
from storage.layers.store import RunStore
from storage.names import DATA_FILE
from worker.layers.kernels import merge

MODE = "hardest"
#: In place of a distance: no goal can be reached, or the run has not found the configuration.
NOWHERE = -1


def make_distances(run: RunStore, resources: Resources, queued: bool = False) -> Path:
    """The directory of the run that holds the goal distances of a finished `run`, made where it is not there yet.

    `RunHeldError` if somebody drives it, `PuzzleError` if its puzzle cannot be built.
    """
    spec = PuzzleSpec.from_dict(run.manifest.puzzle)
    return make_run(run.directory.parent, spec, MODE, _plan(run), resources, queued)


def distances_directory(run: RunStore, puzzle: Puzzle) -> Path:
    """Where the goal distances of a run lie, or would."""
    spec = PuzzleSpec.from_dict(run.manifest.puzzle)
    return run.directory.parent / name_of_plan(spec, puzzle, MODE, _plan(run))


def _plan(run: RunStore) -> dict[str, Any]:
    return {"base": run.manifest.run, "base_digest": run.state.digest}


class GoalDistances:
    """The goal distances of a run, all of them known; `store` is the open run that holds them."""

    def __init__(self, store: RunStore, puzzle: Puzzle) -> None:
        self.store, self._puzzle = store, puzzle

    @classmethod
    def open(cls, run: RunStore, puzzle: Puzzle) -> "GoalDistances | None":
        """Those of a run, if they are there and complete."""
        directory = distances_directory(run, puzzle)
        if not (directory / DATA_FILE).exists():
            return None
        store = RunStore(directory)
        if store.state.status == "complete":
            return cls(store, puzzle)
        store.close()
        return None

    @property
    def run(self) -> str:
        """The name of the run that holds them."""
        return self.store.manifest.run

    def of(self, keys: Keys) -> NDArray[np.int64]:
        """The distance of each key in moves, or `NOWHERE`. Costs a block decoded per layer for a few keys."""
        distinct = merge([keys], [])
        found = np.full(len(distinct), NOWHERE)
        for depth in range(self.store.state.depth + 1):
            left = np.flatnonzero(found < 0)
            if not len(left):
                break
            found[left[self.store.contains(depth, distinct[left])]] = depth
        return found[lower_bounds(distinct, keys)]

    def path_from(self, key: Key) -> list[Key] | None:
        """A shortest path from a configuration to a goal, of several always the same; ``None`` if there is none."""
        path = [key]
        for depth in range(int(self.of(self._puzzle.keys([key]))[0]) - 1, -1, -1):
            successors = merge([self._puzzle.expand(self._puzzle.keys([path[-1]])).successors], [])
            nearer = successors[self.store.contains(depth, successors)]
            if not len(nearer):
                run = self.store.directory.name
                raise DamagedError(f"run {run}: {path[-1]:#x} leads to nothing in layer {depth}", Step("verify", run))
            path.append(key_at(nearer, 0))
        return path if self._puzzle.is_goal(self._puzzle.keys([path[-1]]))[0] else None
