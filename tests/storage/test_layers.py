"""Layers of a run on disk, of every layout: whole, block by block, by ranges, and key by key."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hakoiri.keys.layout import LAYOUTS, Key, Keys, Layout, ints
from hakoiri.keys.order import is_increasing, members
from hakoiri.storage.layers.audit import check_layer, key_ranges
from hakoiri.storage.layers.blocks import code_keys, digest_text, lanes_of
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer, all_keys
from hakoiri.storage.ledger.ledger import create_run
from hakoiri.storage.ledger.manifest import LayerRecord, Manifest
from hakoiri.storage.names import BLOCKS, CLOSED, FORMAT_VERSION, number_key
from tests.support.keys import LAYOUT_CASES, every_layout
from tests.support.stores import SAMPLE, audited, commit_layers, entries_of, manifest, random_layers


@every_layout
def test_layers_outlive_the_store(tmp_path: Path, layout: Layout) -> None:
    directory = create_run(tmp_path, manifest(layout=layout.name), queued=False)
    layers = random_layers(layout, [1, 2, 3_000, 240_000 // layout.bytes, 40], seed=1)
    commit_layers(directory, layers)
    with RunStore(directory) as store:
        assert store.layout is layout
        for depth, layer in enumerate(layers):
            found, record = store.layer(depth), store.layer_record(depth)
            assert layout.holds(found)
            assert (found == layer).all()
            assert (record.depth, record.size, record.goals, record.session) == (depth, len(layer), depth, 0)
            assert record.digest == digest_text(lanes_of(layer))
            entries = entries_of(depth, layer)
            assert record.stored_bytes == sum(len(name) + len(value) for name, value in entries)
            assert store.names(BLOCKS, number_key(depth)) == [name for name, _ in entries]
            assert list(check_layer(store, depth)) == []
        assert [record.depth for record in store.layer_records()] == list(range(len(layers)))
        for together in (1, 1_000, 1 << 30):
            audit = audited(store, together)
            assert audit.faults == audit.duplicate.tolist() == []
            for depth, layer in enumerate(layers):
                tally, sample = audit.audited[depth]
                assert tally == (len(layer), 2 * len(layer))
                assert (sample == layer[members(sample, layer)]).all()
                assert len(sample) == min(len(layer), SAMPLE.wanted)


def test_layers_are_compared_in_ranges_of_about_as_many_keys_as_there_is_room_for() -> None:
    sizes, layout = [1_000, 3_000], LAYOUTS["u32"]
    store = SimpleNamespace(
        layout=layout, layer_record=lambda depth: SimpleNamespace(size=sizes[depth]),
        first_keys=lambda depth: list(range(depth, sizes[depth], 10)),
    )  # fmt: skip
    for together, ranges in ((400, 10), (4_000, 1), (1, 400)):
        bounds = key_ranges(store, [0, 1], together)  # type: ignore[arg-type]
        assert (bounds[0], bounds[-1]) == (0, layout.greatest + 1)
        assert abs(len(bounds) - 1 - ranges) <= 1


def test_no_block_is_decoded_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the keys lie that are looked for: before all, between two blocks, beyond the last."""
    layout, directory = LAYOUTS["u64"], create_run(tmp_path, manifest(layout="u64"), queued=False)
    clumps = [layout.pack([begin * 10**9 + 7 * place for place in range(200_000)]) for begin in (1, 2)]
    commit_layers(directory, [np.concatenate(clumps)])
    decoded = []
    decode = RunStore.decode
    monkeypatch.setattr(RunStore, "decode", lambda *given, **how: decoded.append(given[1]) or decode(*given, **how))
    with RunStore(directory) as store:
        asked = [place * 10**7 for place in range(400)]
        found = store.contains(0, layout.pack(asked))
        held = {key for clump in clumps for key in ints(clump)}
        assert found.tolist() == [key in held for key in asked]
        assert 0 < len(decoded) == len({*decoded}) <= len(store.names(BLOCKS, number_key(0)))


@pytest.mark.ci_slow
@every_layout
def test_find_and_contains_agree_with_a_dictionary(tmp_path: Path, layout: Layout) -> None:
    directory = create_run(tmp_path, manifest(layout=layout.name), queued=False)
    long = 240_000 // layout.bytes
    layers = random_layers(layout, [1, 5, long, 1, 700, long // 2, 40], seed=2)
    commit_layers(directory, layers)
    depth_of = {key: depth for depth, layer in enumerate(layers) for key in ints(layer)}
    rng = np.random.default_rng(3)
    every = sorted(depth_of)
    asked = [every[place] for place in rng.integers(0, len(every), 60)]
    asked += [key for layer in layers for key in ints(layer[[0, -1]])]
    asked = sorted({near for key in asked for near in (key - 1, key, key + 1) if 0 <= near <= layout.greatest})
    with RunStore(directory) as store:
        assert {key: store.find(key) for key in asked} == {key: depth_of.get(key) for key in asked}
        for depth in range(len(layers) + 1):
            expected = [depth_of.get(key) == depth for key in asked]
            assert store.contains(depth, layout.pack(asked)).tolist() == expected
            assert store.contains(depth, layout.empty(0)).tolist() == []


@pytest.fixture(scope="module", params=LAYOUT_CASES)
def many_blocks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunStore]:
    """A store whose layer 1, and run 1 of older keys, have many small blocks, among layers that have one."""
    layout, data = request.param, tmp_path_factory.mktemp("blocks")
    directory = create_run(data, manifest(layout=layout.name), queued=False)
    layers = random_layers(layout, [9, 1_500, 7], seed=11)
    with RunStore(directory, writable=True) as store:
        for depth in (0, 2):
            store.put_layer(depth, layers[depth], goals=0)
        for database in (BLOCKS, CLOSED):
            index = stored = 0
            for part in np.array_split(layers[1], 60):
                size, index = store.stage_blocks(1, code_keys(1, part), index, database)
                stored += size
        digest = digest_text(lanes_of(layers[1]))
        store.stage_layer(LayerRecord(1, len(layers[1]), digest, 0, stored, index, 0))
        store.commit(replace(store.state, depth=2))
        yield store


def some_bounds(keys: list[Key], layout: Layout, seed: int) -> list[Key]:
    """The ends of the key space, and keys there are and those beside them."""
    chosen = [keys[place] for place in np.random.default_rng(seed).integers(0, len(keys), 25)]
    near = {key + step for key in [keys[0], keys[-1], *chosen] for step in (-1, 0, 1)}
    return sorted(key for key in near | {0, layout.greatest} if 0 <= key <= layout.greatest)


def test_a_layer_may_have_been_staged_in_pieces(many_blocks: RunStore) -> None:
    keys = many_blocks.layer(1)
    assert list(check_layer(many_blocks, 1)) == []
    assert len(many_blocks.names(BLOCKS, number_key(1))) == 60
    assert [ints(block)[0] for block in many_blocks.blocks(1)] == many_blocks.first_keys(1)
    assert many_blocks.first_keys(1) == many_blocks.first_keys(1, CLOSED)
    assert is_increasing(keys)
    assert many_blocks.contains(1, keys).all()


@pytest.mark.parametrize("database", [BLOCKS, CLOSED])
def test_blocks_begin_where_a_key_may_be(database: bytes, many_blocks: RunStore) -> None:
    layout, firsts = many_blocks.layout, many_blocks.first_keys(1)
    every = ints(many_blocks.layer(1))
    for key in some_bounds(every, layout, 1):
        blocks = [ints(block) for block in many_blocks.blocks(1, key, database)]
        begin = max([first for first in firsts if first <= key], default=firsts[0])
        assert blocks[0][0] == begin
        assert [one for block in blocks for one in block] == [one for one in every if one >= begin]
    assert list(many_blocks.blocks(7, 0, database)) == []


@pytest.mark.parametrize("database", [BLOCKS, CLOSED])
def test_slices_hold_the_keys_between_their_bounds(database: bytes, many_blocks: RunStore) -> None:
    layout, every = many_blocks.layout, ints(many_blocks.layer(1))
    bounds = [*some_bounds(every, layout, 2), layout.greatest + 1]
    rng = np.random.default_rng(4)
    for one, other in [*rng.integers(0, len(bounds), (60, 2)).tolist(), (0, len(bounds) - 1), (len(bounds) - 2, -1)]:
        low, high = sorted((bounds[one], bounds[other]))
        if low > layout.greatest:
            continue
        found = many_blocks.slice(1, low, high, database)
        assert layout.holds(found)
        assert ints(found) == [key for key in every if low <= key < high]
    assert len(many_blocks.slice(7, 0, layout.greatest + 1, database)) == 0


# Finished layers in memory and on disk: one suite for both, against a plain list of keys


Maker = Callable[[list[Key]], Layer]


@pytest.fixture(params=LAYOUT_CASES)
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


@pytest.mark.parametrize("database", [BLOCKS, CLOSED])
def test_members_agree_with_a_set(database: bytes, many_blocks: RunStore) -> None:
    layout, every = many_blocks.layout, ints(many_blocks.layer(1))
    known = set(every)
    for asked in (some_bounds(every, layout, 5), every[::7], every[:1], every[-1:], [0], [layout.greatest], []):
        found = many_blocks.members(1, layout.pack(asked), database)
        assert found.tolist() == [key in known for key in asked]
    assert not many_blocks.members(7, layout.pack(every[:3]), database).any()
