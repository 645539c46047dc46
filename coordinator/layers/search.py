"""The layered search: U(N+1) is what U(N) leads to, less the older layers that it may lead back to.

By the triangle inequality a move of an undirected puzzle leads from U(N) to U(N-1), U(N) or U(N+1), so nothing older
need be looked at (Goto, Kawai, Sasaki, "Hakoiri-musume and L6", section 3). A move of a directed one may lead to any
older layer; these are kept in sorted runs (`coordinator.layers.closed_set`). The result does not depend on how a layer
is cut up.
"""

from dataclasses import replace
from typing import Protocol

import numpy as np

from coordinator.layers.closed_set import ClosedSet
from coordinator.layers.inspection import inspected_expansion
from coordinator.layers.step import LayerStep
from coordinator.layers.window import HeldLayer, Layer, StoredLayer, all_keys
from coordinator.session.session import Session
from puzzles.contract import Puzzle
from puzzles.keys.layout import Keys
from storage.layers.digest import chain
from storage.layers.spill import Spill
from storage.ledger.manifest import Depth, LayerRecord
from worker.layers.kernels import merge


class Older(Protocol):
    """The layers before U(N) that U(N) may lead back to."""

    def layers(self) -> list[Layer]:
        """Their keys."""

    def add(self, depth: Depth, layer: Layer) -> None:
        """U(N) becomes older."""


class Previous:
    """U(N-1) alone: enough where every move can be taken back."""

    def __init__(self, layer: Layer | None) -> None:
        self._layer = layer

    def layers(self) -> list[Layer]:
        return [] if self._layer is None else [self._layer]

    def add(self, depth: Depth, layer: Layer) -> None:
        self._layer = layer


def small_step(puzzle: Puzzle, current: Keys, known: list[Layer], depth: Depth) -> Keys:
    """The layer `depth` after `current`, at once and here; `known` holds `current` too."""
    expansion = inspected_expansion(puzzle, current, depth)
    if not len(expansion.successors):
        return current[:0]
    keys = merge([expansion.successors], []).copy()
    for layer in known:
        keys = layer.exclude_from(keys)
    return keys


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
        current, older = self._window()
        try:
            while not self._finished(current):
                self._session.control.check()
                following = self._next(current, older)
                if following.size:
                    # IMPORTANT: not the last layer, or a resumed run, which begins with it, would add it once more.
                    older.add(self._state.depth - 1, current)
                current = following
        finally:
            self._state = self._session.commit_staged(self._state)
        digest = chain(record.digest for record in self._store.layer_records())
        self._session.commit(replace(self._state, status="complete", exhausted=not current.size, digest=digest))

    def _window(self) -> tuple[Layer, Older]:
        """U(N) and what is older, as they stand on disk, or the start and nothing."""
        depth = self._state.depth
        if self._store.read_partial() is None:
            Spill(self._store.directory, self._store.layout, depth + 1).clear()
        if depth < 0:
            start = self._session.puzzle.keys([self._session.puzzle.start])
            self._add_small(start)
            depth = 0
            current: Layer = HeldLayer([start])
        else:
            current = self._stored(depth)
        if not self._session.puzzle.undirected:
            return current, ClosedSet(self._session, depth, self._commit)
        return current, Previous(self._stored(depth - 1) if depth else None)

    def _stored(self, depth: Depth) -> Layer:
        self._store.require_whole(depth)
        size = self._store.layer_record(depth).size
        small = size * self._store.layout.bytes <= self._session.context.shares.layer_bytes
        return HeldLayer([self._store.layer(depth)]) if small else StoredLayer(self._store, depth, size)

    def _finished(self, current: Layer) -> bool:
        return not current.size or (self._store.manifest.until_goal and self._state.goal_depth is not None)

    def _next(self, current: Layer, older: Older) -> Layer:
        """The layer after `current`, stored; where it is empty only found to be so."""
        known = [current, *older.layers()]
        if not self._session.context.budget.distributes(current.size) and self._store.read_partial() is None:
            keys = small_step(self._session.puzzle, all_keys(current), known, self._state.depth + 1)
            if len(keys):
                self._add_small(keys)
            return HeldLayer([keys])
        self._state = self._session.commit_staged(self._state)
        step = LayerStep(self._session, self._state.depth + 1, current, known)
        record, layer = step.run()
        self._state = self._store.state
        if record.size:
            self._add(record)
        self._commit()
        step.finish()
        return layer

    def _commit(self) -> None:
        self._state = self._session.commit(self._state)

    def _add_small(self, keys: Keys) -> None:
        goals = int(np.count_nonzero(self._session.puzzle.is_goal(keys)))
        self._add(self._store.put_layer(self._state.depth + 1, keys, goals))
        if self._session.commit_is_due:
            self._commit()

    def _add(self, record: LayerRecord) -> None:
        depth, state = record.depth, self._state
        self._state = replace(
            state,
            depth=depth,
            configurations=state.configurations + record.size,
            goal_depth=depth if record.goals and state.goal_depth is None else state.goal_depth,
            stored_bytes=state.stored_bytes + record.stored_bytes,
        )
        self._session.observer.layer(depth, record.size, self._state.configurations)
