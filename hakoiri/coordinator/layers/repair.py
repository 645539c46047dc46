"""Recomputes damaged layers: a layer follows from the two before it, and its record proves the repair."""

from dataclasses import replace

import numpy as np

from hakoiri.coordinator.layers.search import SearchFigures, small_step
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.audit import check_layer
from hakoiri.storage.layers.readers import HeldLayer, StoredLayer
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, LAYERS, META, PARTIAL_KEY, number_key


def repair_layers(session: Session) -> None:
    """Repair every damaged layer of an exploration.

    Raises `DamagedError` if the digest of a recomputed layer differs from its record: then something else is wrong.
    """
    store, observer = session.store, session.observer
    _forget_partial(session)
    _forget_segments(store)
    damaged = {depth: faults for depth in range(store.state.depth + 1) if (faults := list(check_layer(store, depth)))}
    if not damaged:
        observer.note("no layer is damaged; nothing to repair")
    for depth, faults in damaged.items():
        observer.note(f"{faults[0]}; computing layer {depth} again")
        _replace_layer(store, depth, _derive(session, depth), session.puzzle)
    # A recomputed layer may be cut into other blocks.
    stored = sum(record.stored_bytes for record in store.layer_records())
    store.commit(replace(store.state, stored_bytes=stored))


def _forget_partial(session: Session) -> None:
    """Erase a partial layer, so that it is begun again."""
    store = session.store
    if store.names(META, PARTIAL_KEY):
        session.observer.note(f"restarting layer {store.state.depth + 1}")
        store.erase(META, PARTIAL_KEY)
        store.erase(BLOCKS, number_key(store.state.depth + 1))
        store.commit(store.state)
    Spill(store.directory, store.layout, store.state.depth + 1).clear()


def _forget_segments(store: RunStore) -> None:
    """Erase the segments of older keys of a directed search; they follow from its layers."""
    if store.names(META, CLOSED_KEY):
        store.erase(META, CLOSED_KEY)
        store.erase(CLOSED)
        store.commit(store.state)


def forget_layers(session: Session, first: Depth, figures: type[SearchFigures] = SearchFigures) -> None:
    """Erase all layers from `first` on. Durable on return."""
    store = session.store
    _forget_partial(session)
    _forget_segments(store)
    if first <= store.state.depth:
        for depth in range(first, store.state.depth + 1):
            store.erase(LAYERS, number_key(depth))
            store.erase(BLOCKS, number_key(depth))
        found, stored = figures(), 0
        for record in map(store.layer_record, range(first)):
            found, stored = found.with_layer(record), stored + record.stored_bytes
        session.commit(replace(store.state, depth=first - 1, stored_bytes=stored, figures=found.as_dict()))


def _derive(session: Session, depth: Depth) -> Keys:
    store, puzzle = session.store, session.puzzle
    if depth == 0:
        return puzzle.keys([puzzle.start])
    current = store.layer(depth - 1)
    # Layers older than the previous one matter only if moves cannot be taken back.
    first = max(0, depth - 2) if puzzle.undirected else 0
    older = [StoredLayer(store, each, store.layer_record(each).size) for each in range(first, depth - 1)]
    keys, *_ = small_step(session, current, [HeldLayer([current]), *older], depth)
    return keys


def _replace_layer(store: RunStore, depth: Depth, keys: Keys, puzzle: Puzzle) -> None:
    try:
        expected = store.layer_record(depth).digest
    except DamagedError:
        expected = None
    record = store.put_layer(depth, keys, int(np.count_nonzero(puzzle.is_goal(keys))))
    if expected not in (None, record.digest):
        store.discard_staged()
        raise DamagedError(
            f"run {store.directory.name}: recomputed layer {depth} has the digest {record.digest}, expected "
            f"{expected} as in its record; start a new run"
        )
    store.erase(BLOCKS, number_key(depth))
    store.commit(store.state)
