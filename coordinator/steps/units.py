"""What of a key range one task merges, and which blocks of pieces, and of spilled batches, it needs for that."""

from typing import NamedTuple

import numpy as np

from puzzles.keys.layout import Key, ints, key_at
from storage.layers.blocks import Packed, unpack_blocks
from worker.transport.lots import BEGIN, Lot


class Unit(NamedTuple):
    """The keys from `low` to `high`, which is not among them, of a range: what one task merges."""

    number: int
    low: Key
    high: Key


def reaches(packed: Packed, low: Key, high: Key) -> bool:
    """Whether a spilled block may hold keys with low <= key < high.

    IMPORTANT: only its keys tell where it ends, for the block after it may be of another batch.
    """
    (first,) = ints(packed.firsts)
    return first < high and (first >= low or key_at(unpack_blocks(packed), -1) >= low)


def overlapping(lot: Lot, unit: Unit) -> Lot:
    """The blocks that may hold keys of a unit: a block ends before the next of its value begins, if that is greater."""
    firsts = ints(lot.firsts)
    together = [*(lot.places[1:, :BEGIN] == lot.places[:-1, :BEGIN]).all(axis=1).tolist(), False]
    follows = zip(firsts, [*firsts[1:], 0], together, strict=True)
    kept = [first < unit.high and not (same and first < after <= unit.low) for first, after, same in follows]
    return lot.take(np.array(kept, dtype=np.bool_))
