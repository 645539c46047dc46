"""Makes runs on disk without a search: their manifests, and layers of random keys."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from hakoiri.puzzles.keys.layout import Keys, Layout, layout_of
from hakoiri.storage.layers.audit import LayersAudit, Sample
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Manifest
from hakoiri.storage.names import FORMAT_VERSION, block_key

#: The sample that `audited` takes of each layer.
SAMPLE = Sample(seed=7, wanted=100)


def audited(store: RunStore, together: int) -> LayersAudit:
    """A finished audit of all layers of a run, in ranges of so many keys; all keys are goals."""
    depths = list(range(store.state.depth + 1))
    audit = LayersAudit(store, depths, lambda keys: np.ones(len(keys), dtype=np.bool_), SAMPLE)
    for bounds in reversed(audit.ranges(together)):
        audit.check(bounds)
    audit.finish()
    return audit


def manifest(run: str = "a-run", layout: str = "u32", version: int = FORMAT_VERSION) -> Manifest:
    puzzle = {"name": "klotski", "options": {"metric": "unit"}, "start": None, "merge_mirrors": False}
    return Manifest(version, run, "2026-11-21 10:00:00", puzzle, 1, layout, "explore")


def entries_of(depth: Depth, keys: Keys) -> list[tuple[bytes, bytes]]:
    """The names and values of a layer in LMDB."""
    blocks = code_keys(depth, keys).blocks(depth)
    return [(block_key(depth, block.first, layout_of(keys).bytes), bytes(block.value)) for block in blocks]


def commit_layers(directory: Path, layers: list[Keys]) -> None:
    with RunStore(directory, writable=True) as store:
        for depth, layer in enumerate(layers):
            store.put_layer(depth, layer, goals=depth)
        store.commit(replace(store.state, depth=len(layers) - 1, session=3))


def random_layers(layout: Layout, sizes: list[int], seed: int) -> list[Keys]:
    """Disjoint strictly increasing layers; the least and the greatest key are among them."""
    rng, count = np.random.default_rng(seed), sum(sizes)
    raw = rng.integers(0, 256, (count + count // 4 + 9, layout.bytes), dtype=np.uint8)
    # So many of them that many wide keys share their first word.
    raw[::4, : layout.bytes // 2] %= 2
    distinct = {0, layout.greatest, *(int.from_bytes(row, "big") for row in raw.tolist())} - {0, layout.greatest}
    chosen = rng.permutation(np.array(sorted(distinct), dtype=object))[: count - 2].tolist()
    keys = [0, layout.greatest, *chosen]
    ends = np.cumsum(sizes).tolist()
    return [layout.pack(sorted(keys[end - size : end])) for end, size in zip(ends, sizes, strict=True)]
