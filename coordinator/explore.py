"""The layered search: U(N+1) is what U(N) leads to, less U(N-1) and U(N). Only these three are in memory.

By the triangle inequality a move from U(N) leads to U(N-1), U(N) or U(N+1), so nothing older need be looked at
(Goto, Kawai, Sasaki, "Hakoiri-musume and L6", section 3). The result does not depend on how a layer is cut up.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from coordinator.budget import Budget, bytes_of
from coordinator.control import Control, Observer
from coordinator.executor import Executor
from puzzles.contract import Puzzle
from puzzles.keys import Keys
from storage.digest import chain
from storage.manifest import State
from storage.store import RunStore
from worker.kernels import sort_subtract, split

#: Finished layers wait so long at most for the next commit, except while the next layer is computed.
_COMMIT_SECONDS = 0.1


def next_layer(puzzle: Puzzle, previous: Keys, current: Keys, executor: Executor, budget: Budget) -> Keys:
    """U(N+1), from U(N-1) and U(N)."""
    if not budget.farms(len(current)):
        return sort_subtract(puzzle.expand(current).successors, previous, current).copy()
    size = budget.chunk_size(len(current), executor.workers, puzzle)
    parts: list[Keys] = []
    held = bytes_of(previous, current)
    for _, (part,) in executor.map("expand", ([chunk] for chunk in split(current, size))):
        parts.append(part)
        held += part.nbytes
        # The parts, and once more when they are put together.
        budget.require(f"the layer after one of {len(current):,} configurations", 2 * held)
    return sort_subtract(np.concatenate(parts), previous, current).copy()


class Exploration:
    """One session of a search from the start, on an open store, from its last committed layer on."""

    def __init__(
        self, store: RunStore, puzzle: Puzzle, executor: Executor, budget: Budget, control: Control, observer: Observer
    ) -> None:
        self._store, self._puzzle, self._executor = store, puzzle, executor
        self._budget, self._control, self._observer = budget, control, observer
        self._state = store.state
        self._started = self._counted = self._committed = time.monotonic()

    def run(self) -> None:
        """Search until no layer is left, or the goal is found where the run asks for no more. Commits as it goes.

        Raises `StopRun` after committing every finished layer; storage, worker and budget errors likewise leave the
        last commit standing.
        """
        previous, current = self._window()
        try:
            while not self._finished(current):
                self._control.check()
                following = next_layer(self._puzzle, previous, current, self._executor, self._budget)
                previous, current = current, following
                if len(current):
                    self._add(current)
        finally:
            self._commit_if(lambda: not self._store.poisoned)
        exhausted = not len(current)
        digest = chain(record.digest for record in self._store.layer_records())
        self._store.commit(replace(self._timed(), status="complete", exhausted=exhausted, digest=digest))

    def _window(self) -> tuple[Keys, Keys]:
        """U(N-1) and U(N) as they stand on disk, or nothing and the start."""
        depth = self._state.depth
        if depth < 0:
            start = self._puzzle.keys([self._puzzle.start])
            self._add(start)
            return start[:0], start
        current = self._store.layer(depth)
        return (self._store.layer(depth - 1) if depth else current[:0]), current

    def _finished(self, current: Keys) -> bool:
        return not len(current) or (self._store.manifest.until_goal and self._state.goal_depth is not None)

    def _add(self, layer: Keys) -> None:
        depth = self._state.depth + 1
        goals = int(np.count_nonzero(self._puzzle.is_goal(layer)))
        record = self._store.put_layer(depth, layer, goals)
        found = depth if goals and self._state.goal_depth is None else self._state.goal_depth
        configurations = self._state.configurations + record.size
        self._state = replace(self._state, depth=depth, configurations=configurations, goal_depth=found)
        self._observer.layer(depth, record.size, configurations)
        self._commit_if(lambda: time.monotonic() - self._committed > _COMMIT_SECONDS)

    def _commit_if(self, wanted: Callable[[], bool]) -> None:
        if self._store.staged and wanted():
            self._state = self._timed()
            self._store.commit(self._state)
            self._committed = time.monotonic()

    def _timed(self) -> State:
        """The state with the time since it was last counted added."""
        now = time.monotonic()
        seconds, self._counted = self._state.seconds + now - self._counted, now
        return replace(self._state, seconds=seconds)
