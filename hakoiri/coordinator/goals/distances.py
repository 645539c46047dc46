"""The goal distances of a run: the run that holds them made, found, and asked."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.executors.opening import open_store
from hakoiri.coordinator.runs.belonging import Derived
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import DATA_FILE
from hakoiri.worker.layers.kernels import merge

KIND = "hardest"
#: The option of a puzzle that says what is one move.
METRIC = "metric"
#: In place of a distance: no goal can be reached, or the run has not found the configuration.
NOWHERE = -1


def distances_run(run: RunStore, puzzle: Puzzle, metric: str = "") -> Derived:
    """The run that holds the goal distances of a finished `run`; moves are counted by `metric`, or as in the run.

    `PuzzleError` if the puzzle knows no such metric.
    """
    spec = PuzzleSpec.from_dict(run.manifest.puzzle)
    if metric:
        spec = replace(spec, options={**spec.options, METRIC: metric})
        # As a run of it pins them.
        spec = replace(spec, options=spec.build().option_texts())
    return Derived(run, puzzle, KIND, spec)


class GoalDistances:
    """The goal distances of a run, all of them known; `store` is the open run that holds them."""

    def __init__(self, store: RunStore) -> None:
        self.store = store

    @classmethod
    def open(cls, run: RunStore, puzzle: Puzzle, metric: str, redis: str | None) -> "GoalDistances | None":
        """Return those of a run, if they are there and complete; `redis` is as for `open_store`."""
        directory = distances_run(run, puzzle, metric).directory
        if not (directory / DATA_FILE).exists():
            return None
        store = open_store(directory, redis)
        if store.state.status == "complete":
            return cls(store)
        store.close()
        return None

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
