"""The part of `verify` that needs no rules of a puzzle: checksums, digests, order, disjointness."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import equal_neighbours, is_increasing, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth


def check_layer(store: RunStore, depth: Depth) -> Iterator[str]:
    """The faults of one stored layer: broken blocks, keys out of order, a size or digest unlike its record."""
    size, lanes, last, in_order = 0, NOTHING, -1, True
    try:
        record = store.layer_record(depth)
        for block in store.blocks(depth):
            in_order = in_order and key_at(block, 0) > last and is_increasing(block)
            size, lanes, last = size + len(block), add_lanes(lanes, lanes_of(block)), key_at(block, -1)
    except DamagedError as error:
        yield str(error)
        return
    if not in_order:
        yield f"layer {depth}: its keys are not strictly increasing"
    if size != record.size:
        yield f"layer {depth}: {size} configurations on disk, {record.size} in its record"
    if (digest := digest_text(lanes)) != record.digest:
        yield f"layer {depth}: its keys have the digest {digest}, its record says {record.digest}"


def check_disjoint(store: RunStore, depths: list[Depth], together: int) -> Iterator[str]:
    """A fault for the least configuration that stands in two of the layers `depths`, which must be sound.

    Looks at all layers together, one key range after the other, each of about `together` keys.
    """
    for low, high in pairwise(_bounds(store, depths, together)):
        keys: Keys = np.concatenate([store.slice(depth, low, high) for depth in depths])
        twice = equal_neighbours(sort_keys(keys))
        if len(twice):
            where = [depth for depth in depths if store.contains(depth, twice[:1])[0]]
            yield f"configuration {key_at(twice, 0):#x} stands in layers {', '.join(map(str, where))}"
            return


def _bounds(store: RunStore, depths: list[Depth], together: int) -> list[Key]:
    """Key ranges of about `together` keys, cut where blocks begin."""
    keys = sum(store.layer_record(depth).size for depth in depths)
    firsts = sorted(first for depth in depths for first in store.first_keys(depth))
    step = max(1, len(firsts) * together // max(1, keys))
    return sorted({0, *firsts[step::step], store.layout.greatest + 1}) if firsts else []
