"""Finds the wrong move of a space whose sums contradict each other: slow, but it ends the run."""

from typing import NoReturn

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.graphs.building import stray_move
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.inspection import check_way_back
from hakoiri.puzzles.keys.layout import key_at
from hakoiri.puzzles.keys.order import members
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.worker.layers.kernels import merge, simple_edges

_AT_ONCE = 1 << 14


def report_wrong_moves(session: Session) -> NoReturn:
    """Raise `ContradictionError` for a move that leads to no configuration, or that cannot be taken back."""
    store, puzzle = session.store, session.puzzle
    size = store.layer_record(0).size
    for keys in StoredLayer(store, 0, size).chunks(0, _AT_ONCE):
        session.control.check()
        targets, counts = simple_edges(keys, *puzzle.expand(keys))
        sources = np.repeat(np.arange(len(keys)), counts)
        distinct = merge([targets], [])
        inside = members(distinct[store.members(0, distinct)], targets)
        if not inside.all():
            place = int(np.flatnonzero(~inside)[0])
            raise stray_move(puzzle, key_at(keys, sources[place]), key_at(targets, place), size)
        if puzzle.undirected:
            check_way_back(puzzle, keys[sources], targets)
    raise ContradictionError(f"{puzzle.name}: the same configuration had other moves before")
