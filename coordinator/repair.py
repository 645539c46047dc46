"""Damaged layers, computed again: a layer follows from the two before it, and its record proves the repair."""

from dataclasses import replace

import numpy as np

from coordinator.budget import Budget
from coordinator.control import Observer
from coordinator.executor import Executor
from coordinator.explore import next_layer
from puzzles.contract import Puzzle
from puzzles.keys import Keys
from storage.check import check_layer
from storage.errors import DamagedError
from storage.layout import BLOCKS, COMPONENTS, LABELS, PAIRS, number_key
from storage.manifest import Depth
from storage.store import RunStore


def repair_run(store: RunStore, puzzle: Puzzle, executor: Executor, budget: Budget, observer: Observer) -> None:
    """Mend every damaged layer of an exploration; of a whole space, throw away what follows from the damage.

    `DamagedError` if a layer comes out unlike the digest in its record: then something else is wrong.
    """
    if store.manifest.mode == "whole":
        _forget_census(store, observer)
        return
    for depth in range(store.state.depth + 1):
        if faults := list(check_layer(store, depth)):
            observer.note(f"{faults[0]}; computing layer {depth} again")
            _replace_layer(store, depth, _derive(store, puzzle, depth, executor, budget), puzzle)


def _derive(store: RunStore, puzzle: Puzzle, depth: Depth, executor: Executor, budget: Budget) -> Keys:
    if depth == 0:
        return puzzle.keys([puzzle.start])
    current = store.layer(depth - 1)
    previous = store.layer(depth - 2) if depth > 1 else current[:0]
    return next_layer(puzzle, previous, current, executor, budget)


def _replace_layer(store: RunStore, depth: Depth, keys: Keys, puzzle: Puzzle) -> None:
    try:
        expected = store.layer_record(depth).digest
    except DamagedError:
        expected = None
    store.erase(BLOCKS, number_key(depth))
    record = store.put_layer(depth, keys, int(np.count_nonzero(puzzle.is_goal(keys))))
    if expected not in (None, record.digest):
        store.discard_staged()
        raise DamagedError(
            f"run {store.directory.name}: layer {depth} computed again has the digest {record.digest}, "
            f"its record says {expected}; start a new run"
        )
    store.commit(store.state)


def _forget_census(store: RunStore, observer: Observer) -> None:
    """A census is quickly counted again from its configurations, or from nothing."""
    sound = store.state.depth >= 0 and not list(check_layer(store, 0))
    observer.note("counting the components again" if sound else "counting everything again")
    for database in (LABELS, COMPONENTS, PAIRS) if sound else (BLOCKS, LABELS, COMPONENTS, PAIRS):
        store.erase(database)
    state = replace(store.state, edges=None, components=None, components_done=0, exhausted=False, digest="")
    store.commit(state if sound else replace(state, depth=-1, configurations=0))
