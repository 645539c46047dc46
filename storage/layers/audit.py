"""The part of `verify` that needs no rules of a puzzle: checksums, digests, order, disjointness."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import equal_neighbours, is_increasing, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.digest import NOTHING, Lanes, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord

#: Keys that are compared at once at most. For the 3x4 tiles: 5.0 s of processor time and 274 MB; with four times as
#: many 5.7 s and 556 MB, with all 10.0 s and 1.9 GB.
_MOST_TOGETHER = 1 << 23


@dataclass
class LayerSums:
    """The size and the digest of some keys of a layer."""

    depth: Depth
    size: int = 0
    lanes: Lanes = NOTHING

    def add(self, keys: Keys) -> None:
        """Count more keys."""
        self.size, self.lanes = self.size + len(keys), add_lanes(self.lanes, lanes_of(keys))

    def faults(self, record: LayerRecord) -> Iterator[str]:
        """Yield how these sums differ from the record of the layer."""
        if self.size != record.size:
            yield f"layer {self.depth}: {self.size} configurations on disk, {record.size} in its record"
        if (digest := digest_text(self.lanes)) != record.digest:
            yield f"layer {self.depth}: its keys have the digest {digest}, its record says {record.digest}"


def check_layer(store: RunStore, depth: Depth) -> Iterator[str]:
    """The faults of one stored layer: broken blocks, keys out of order, a size or digest unlike its record."""
    sums, last, in_order = LayerSums(depth), -1, True
    try:
        record = store.layer_record(depth)
        for block in store.blocks(depth):
            in_order = in_order and key_at(block, 0) > last and is_increasing(block)
            last = key_at(block, -1)
            sums.add(block)
    except DamagedError as error:
        yield str(error)
        return
    if not in_order:
        yield f"layer {depth}: its keys are not strictly increasing"
    yield from sums.faults(record)


def check_disjoint(store: RunStore, depths: list[Depth], together: int) -> Iterator[str]:
    """A fault for the least configuration that stands in two of the layers `depths`, which must be sound.

    Looks at all layers together, one key range after the other, each of about `together` keys.
    """
    for low, high in pairwise(key_ranges(store, depths, together)):
        keys: Keys = np.concatenate([store.slice(depth, low, high) for depth in depths])
        twice = equal_neighbours(sort_keys(keys))
        if len(twice):
            where = [depth for depth in depths if store.contains(depth, twice[:1])[0]]
            yield f"configuration {key_at(twice, 0):#x} stands in layers {', '.join(map(str, where))}"
            return


def key_ranges(store: RunStore, depths: list[Depth], together: int) -> list[Key]:
    """Return the bounds of key ranges of about `together` keys of all these layers, cut where blocks begin."""
    keys = sum(store.layer_record(depth).size for depth in depths)
    firsts = sorted(first for depth in depths for first in store.first_keys(depth))
    step = max(1, len(firsts) * min(together, _MOST_TOGETHER) // max(1, keys))
    return sorted({0, *firsts[step::step], store.layout.greatest + 1}) if firsts else []
