"""Finished layers in memory and on disk: one suite for both, against a plain list of keys."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from hakoiri.keys.layout import LAYOUTS, Key, Keys, Layout, ints
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer, all_keys
from hakoiri.storage.ledger.ledger import create_run
from hakoiri.storage.ledger.manifest import Manifest
from hakoiri.storage.names import BLOCKS, CLOSED, FORMAT_VERSION

Maker = Callable[[list[Key]], Layer]


@pytest.fixture(params=[*LAYOUTS.values()], ids=[*LAYOUTS])
def layout(request: pytest.FixtureRequest) -> Layout:
    """Each layout in turn."""
    found: Layout = request.param
    return found


def pieces_of(layout: Layout, keys: list[Key], size: int) -> list[Keys]:
    """The keys as batches of unequal sizes."""
    rng, pieces = Random(len(keys)), []
    while keys:
        count = rng.randrange(1, size)
        pieces.append(layout.pack(keys[:count]))
        keys = keys[count:]
    return pieces


@pytest.fixture(params=["held", "held in pieces", "stored", "stored in pieces", "seen"])
def make(request: pytest.FixtureRequest, layout: Layout, tmp_path: Path) -> Iterator[Maker]:
    """Makes a layer of some keys; on disk it has neighbours before and after."""
    kind: str = request.param
    puzzle: dict[str, Any] = {"name": "toy", "options": {}, "start": None, "merge_mirrors": False}
    manifest = Manifest(FORMAT_VERSION, "a-run", "", puzzle, 1, layout.name, "explore")
    with RunStore(create_run(tmp_path, manifest, queued=False), writable=True) as store:

        def make_layer(keys: list[Key]) -> Layer:
            pieces = [layout.pack(keys)] if kind in ("held", "stored") else pieces_of(layout, keys, 90)
            if kind.startswith("held"):
                return HeldLayer([layout.empty(0), *pieces])
            database = CLOSED if kind == "seen" else BLOCKS
            depth, neighbour = store.state.depth, layout.pack([0, layout.greatest])
            for number, batches in ((depth + 1, [neighbour]), (depth + 2, pieces), (depth + 3, [neighbour])):
                for batch in batches:
                    store.stage_blocks(number, code_keys(number, batch), 0, database)
            store.commit(replace(store.state, depth=depth + 3))
            return StoredLayer(store, depth + 2, len(keys), database)

        yield make_layer


def some_keys(layout: Layout, count: int, seed: int = 1) -> list[Key]:
    """Keys from everywhere, some of them close together, the least and the greatest among them."""
    rng = Random(seed)
    found = {0, layout.greatest}
    while len(found) < count:
        found.add(rng.randrange(layout.greatest + 1))
        found.add(layout.greatest // 2 + rng.randrange(4 * count))
    return sorted(found)


def test_chunks_are_the_keys_in_order(make: Maker, layout: Layout) -> None:
    keys = some_keys(layout, 300)
    layer = make(keys)
    assert layer.size == len(keys)
    assert ints(all_keys(layer)) == keys
    for begin, size in product((0, 1, 63, 64, 65, 150, len(keys) - 1, len(keys)), (1, 7, 64, 100, 5_000)):
        chunks = [ints(chunk) for chunk in layer.chunks(begin, size)]
        assert [key for chunk in chunks for key in chunk] == keys[begin:]
        assert all(0 < len(chunk) <= size for chunk in chunks)


def test_ranges_in_any_order(make: Maker, layout: Layout) -> None:
    keys, rng = some_keys(layout, 700), Random(2)
    layer = make(keys)
    bounds = sorted({0, *(key + step for key in rng.sample(keys, 60) for step in (0, 1)), layout.greatest + 1})
    ranges = list(pairwise(bounds))
    for asked in (
        ranges,
        ranges[::-1],
        rng.sample(ranges, len(ranges)),
        [(0, layout.greatest + 1)] * 2,
        ranges[3:4] * 3,
    ):
        for low, high in asked:
            found = [*layer.between(low, high)]
            assert [key for part in found for key in ints(part)] == [key for key in keys if low <= key < high]
            assert all(len(part) for part in found)
            assert all(layout.holds(part) for part in found)
    assert [*layer.between(keys[5], keys[5])] == []


def test_ranges_that_end_where_blocks_do(make: Maker, layout: Layout) -> None:
    first = layout.greatest - 300
    layer = make(list(range(first, layout.greatest + 1)))
    for low, length in product(range(first, layout.greatest), (1, 2, 3)):
        high = min(low + length, layout.greatest + 1)
        assert [key for part in layer.between(low, high) for key in ints(part)] == list(range(low, high))


def test_the_whole_is_about_as_large_as_it_is(make: Maker, layout: Layout) -> None:
    keys = some_keys(layout, 700)
    layer = make(keys)
    assert layer.at_most(0, layout.greatest + 1) == len(keys)
    for low, high in pairwise(keys[::70]):
        assert 70 // 4 < layer.at_most(low, high) <= len(keys)


def test_what_a_layer_does_not_hold(make: Maker, layout: Layout) -> None:
    keys, rng = some_keys(layout, 500), Random(3)
    layer = make(keys)
    others = {rng.randrange(layout.greatest + 1) for _ in range(200)} | {key + 1 for key in keys[:-1]}
    for asked in (sorted(others | set(keys[::3])), sorted(others - set(keys)), keys, keys[-1:], []):
        expected = [key for key in asked if key not in set(keys)]
        assert ints(layer.exclude_from(layout.pack(asked))) == expected


def test_a_sample_is_from_all_over(layout: Layout, make: Maker) -> None:
    for count in (1, 2, 300, 30_000 if layout.words == 1 else 3_000):
        keys = list(range(5, 5 + 3 * count, 3))
        sample = ints(make(keys).sample())
        assert sample == sorted(set(sample))
        assert set(sample) <= set(keys)
        assert len(sample) >= min(count, 150)
        # No tenth of the layer goes without.
        tenths = np.searchsorted(keys, sample) * 10 // count
        assert set(tenths.tolist()) == set((np.arange(count) * 10 // count).tolist())
