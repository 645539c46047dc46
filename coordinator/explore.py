"""The layered search: U(N+1) is what U(N) leads to, less U(N-1) and U(N). Only these three are in memory.

By the triangle inequality a move from U(N) leads to U(N-1), U(N) or U(N+1), so nothing older need be looked at
(Goto, Kawai, Sasaki, "Hakoiri-musume and L6", section 3). The result does not depend on how a layer is cut up.
"""

from dataclasses import replace

import numpy as np

from coordinator.budget import bytes_of
from coordinator.session import Session, Workshop
from puzzles.keys import Keys
from storage.digest import chain
from worker.kernels import sort_subtract
from worker.tasks import do_task


def next_layer(workshop: Workshop, previous: Keys, current: Keys) -> Keys:
    """U(N+1), from U(N-1) and U(N). `OverBudgetError` if it does not fit beside them."""
    what = f"the layer after {len(current):,} configurations"
    if not workshop.budget.farms(len(current)):
        room = len(current) * workshop.puzzle.most_successors * current.itemsize
        workshop.budget.require(what, bytes_of(previous, current) + room)
        (part,) = do_task("expand", workshop.puzzle, [current], ())
        return sort_subtract(part, previous, current).copy()
    parts: list[Keys] = []
    held = bytes_of(previous, current)
    for _, (part,) in workshop.executor.map("expand", ([chunk] for chunk in workshop.cut(current))):
        parts.append(part)
        held += part.nbytes
        # The parts, and once more when they are put together.
        workshop.budget.require(what, 2 * held)
    return sort_subtract(np.concatenate(parts), previous, current).copy()


class Exploration:
    """A search from the start, on an open run, from its last committed layer on."""

    def __init__(self, session: Session) -> None:
        self._session, self._store = session, session.store
        self._state = self._store.state

    def run(self) -> None:
        """Search until no layer is left, or the goal is found where the run asks for no more. Commits as it goes.

        Raises `StopRun` after committing every finished layer; storage, worker and budget errors likewise leave the
        last commit standing.
        """
        previous, current = self._window()
        try:
            while not self._finished(current):
                self._session.control.check()
                previous, current = current, next_layer(self._session.workshop, previous, current)
                if len(current):
                    self._add(current)
        finally:
            self._state = self._session.commit_staged(self._state)
        digest = chain(record.digest for record in self._store.layer_records())
        self._session.commit(replace(self._state, status="complete", exhausted=not len(current), digest=digest))

    def _window(self) -> tuple[Keys, Keys]:
        """U(N-1) and U(N) as they stand on disk, or nothing and the start."""
        depth = self._state.depth
        if depth < 0:
            start = self._session.puzzle.keys([self._session.puzzle.start])
            self._add(start)
            return start[:0], start
        current = self._store.layer(depth)
        return (self._store.layer(depth - 1) if depth else current[:0]), current

    def _finished(self, current: Keys) -> bool:
        return not len(current) or (self._store.manifest.until_goal and self._state.goal_depth is not None)

    def _add(self, layer: Keys) -> None:
        depth = self._state.depth + 1
        goals = int(np.count_nonzero(self._session.puzzle.is_goal(layer)))
        record = self._store.put_layer(depth, layer, goals)
        found = depth if goals and self._state.goal_depth is None else self._state.goal_depth
        configurations = self._state.configurations + record.size
        self._state = replace(self._state, depth=depth, configurations=configurations, goal_depth=found)
        self._session.observer.layer(depth, record.size, configurations)
        if self._session.commit_is_due:
            self._state = self._session.commit(self._state)
