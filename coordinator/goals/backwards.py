"""The layers of goal distances by moves backwards: all moves of a run are looked at once, and held in memory."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.graphs.searches import distances_from
from hakoiri.worker.graphs.strong import transposed

#: For each configuration its distance, its place by distance, and what sorting takes; for a move, what turning takes.
_BYTES, _MOVE_BYTES = 24, 14


def layers_backwards(session: Session, base: RunStore, goals: Keys) -> Iterator[Keys]:
    """The configurations of the run `base` that are 1, 2, ... moves from the nearest of the `goals`, in key order.

    All of the work is done before the first. Raises `OverBudgetError` where the moves do not fit the memory,
    `ContradictionError` where one leads out of the run, `StopRun`.
    """
    context, count = session.context, sum(record.size for record in base.layer_records())
    keys = run_keys(context, base)
    moves = build_graph(context, keys)
    held = keys.nbytes + moves.offsets.nbytes
    turning = held + _BYTES * count + _MOVE_BYTES * len(moves.targets)
    context.budget.require(f"the moves of {count:,} configurations backwards", turning)
    distance = distances_from(transposed(moves), lower_bounds(keys, goals).astype(np.int32))
    del moves
    order = np.argsort(distance, kind="stable").astype(np.int32)
    # What leads to no goal comes first, then the goals.
    ends = np.cumsum(np.bincount(distance + 1))[1:]
    return (keys[order[begin:end]] for begin, end in pairwise(ends))
