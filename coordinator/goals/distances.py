"""The goal distances of a run: the run that holds them made, found, and asked."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.runs.belonging import plan_for
from hakoiri.coordinator.runs.create import make_run, name_of_plan
from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import DATA_FILE
from hakoiri.worker.layers.kernels import merge

MODE = "hardest"
#: The option of a puzzle that says what is one move.
METRIC = "metric"
#: In place of a distance: no goal can be reached, or the run has not found the configuration.
NOWHERE = -1


def make_distances(run: RunStore, resources: Resources, queued: bool = False, metric: str = "") -> Path:
    """The directory of the run that holds the goal distances of a finished `run`, made where it is not there yet.

    Moves are counted by `metric`, or as in the run. `RunHeldError` if somebody drives it, `PuzzleError` if its puzzle
    cannot be built, or knows no such metric.
    """
    return make_run(run.directory.parent, _spec(run, metric), MODE, plan_for(run), resources, queued)


def distances_directory(run: RunStore, puzzle: Puzzle, metric: str = "") -> Path:
    """Where the goal distances of a run lie, or would."""
    return run.directory.parent / name_of_plan(_spec(run, metric), puzzle, MODE, plan_for(run))


def _spec(run: RunStore, metric: str) -> PuzzleSpec:
    spec = PuzzleSpec.from_dict(run.manifest.puzzle)
    if metric:
        spec = replace(spec, options={**spec.options, METRIC: metric})
        # As a run of it pins them.
        spec = replace(spec, options=dict(spec.build().parameters))
    return spec


class GoalDistances:
    """The goal distances of a run, all of them known; `store` is the open run that holds them."""

    def __init__(self, store: RunStore, puzzle: Puzzle) -> None:
        self.store, self._puzzle = store, puzzle

    @classmethod
    def open(cls, run: RunStore, puzzle: Puzzle, metric: str = "") -> "GoalDistances | None":
        """Those of a run, if they are there and complete."""
        directory = distances_directory(run, puzzle, metric)
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
