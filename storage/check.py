"""The part of `verify` that needs no rules of a puzzle: checksums, digests, order, disjointness."""

from collections.abc import Iterator

import numpy as np

from storage.digest import digest_text, lanes_of
from storage.errors import DamagedError
from storage.manifest import Depth
from storage.store import RunStore


def check_layer(store: RunStore, depth: Depth) -> Iterator[str]:
    """The faults of one stored layer: broken blocks, keys out of order, a size or digest unlike its record."""
    try:
        record = store.layer_record(depth)
        blocks = list(store.blocks(depth))
    except DamagedError as error:
        yield str(error)
        return
    keys = np.concatenate(blocks) if blocks else np.empty(0, dtype=store.dtype)
    if (keys[1:] <= keys[:-1]).any():
        yield f"layer {depth}: its keys are not strictly increasing"
    if len(keys) != record.size:
        yield f"layer {depth}: {len(keys)} configurations on disk, {record.size} in its record"
    if (digest := digest_text(lanes_of(keys))) != record.digest:
        yield f"layer {depth}: its keys have the digest {digest}, its record says {record.digest}"


def check_disjoint(store: RunStore, depths: list[Depth]) -> Iterator[str]:
    """A fault for the least configuration that stands in two of the layers `depths`, which must be sound."""
    keys = np.concatenate([store.layer(depth) for depth in depths]) if depths else np.empty(0, dtype=store.dtype)
    keys.sort()
    twice = keys[1:][keys[1:] == keys[:-1]]
    if len(twice):
        where = [depth for depth in depths if store.contains(depth, twice[:1])[0]]
        yield f"configuration {int(twice[0]):#x} stands in layers {', '.join(map(str, where))}"
