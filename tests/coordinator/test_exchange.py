"""The ranges of a layer in the making: what was put in comes out, from memory or from disk, whole or in pieces."""

from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest

from hakoiri.coordinator.steps.exchange import Exchange
from hakoiri.puzzles.keys.layout import LAYOUTS, U32, U128, Key, Keys, Layout, ints
from hakoiri.storage.layers.blocks import code_keys, decode
from hakoiri.storage.layers.spill import Spill
from hakoiri.worker.layers.kernels import list_bits, set_within
from hakoiri.worker.layers.partition import partition_by, scatter
from hakoiri.worker.layers.ranges import Found

DEPTH = 5


def found_in(found: Found, layout: Layout) -> list[Key]:
    """All keys that were found, in order, once each."""
    bits = (
        [list_bits(found.bitmap.words, found.bitmap.base, layout)]
        if found.bitmap and found.bitmap.words is not None
        else []
    )
    parts = [*found.parts, *(decode(block, layout) for block in found.blocks), *bits]
    return sorted({key for part in parts for key in ints(part)})


def filled(run: Path, layout: Layout, most_coded: int, bits: bool = False) -> tuple[Exchange, list[Key], Spill]:
    """Keys put in raw, coded and, if they are to be, in bitmaps; all of them; and the files."""
    rng, spill = Random(3), Spill(run, layout, DEPTH)
    keys = sorted({rng.randrange(min(layout.greatest, 1 << 16)) for _ in range(3_000)})
    partition = partition_by(layout.pack(keys), 9)
    exchange = Exchange(partition, DEPTH, spill, most_coded)
    if bits:
        assert exchange.plan_bitmaps(layout.pack(keys), len(keys), 1 << 20, 2)
        for bitmap in exchange.bitmaps[::2]:
            assert bitmap is not None
            set_within(bitmap.fill(), layout.pack(keys), bitmap.base)
    exchange.add(*scatter(layout.pack(rng.sample(keys, len(keys))), partition.table))
    for _ in range(3):
        some = layout.pack(sorted(rng.sample(keys, 900)))
        for number, (low, high) in enumerate(exchange.bounds):
            exchange.put(number, code_keys(DEPTH, layout.pack([key for key in ints(some) if low <= key < high])))
    return exchange, keys, spill


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("most_coded", [0, 500, 1 << 30])
def test_what_was_put_in_comes_out(most_coded: int, layout: Layout, tmp_path: Path) -> None:
    exchange, keys, spill = filled(tmp_path, layout, most_coded)
    assert (spill.stored_bytes > 0) == (most_coded < 1 << 30)
    for number, (low, high) in enumerate(exchange.bounds):
        mine = [key for key in keys if low <= key < high]
        assert exchange.keys_in(number) >= len(mine)
        cuts = exchange.cut_again(number, 3)
        assert cuts == sorted(set(cuts))
        assert all(low < cut < high for cut in cuts)
        for begin, end in pairwise([low, *cuts, high]):
            assert found_in(exchange.between(number, begin, end), layout) == [key for key in mine if begin <= key < end]
        assert found_in(exchange.take(number), layout) == mine
        assert exchange.keys_in(number) == spill.keys_in(number)
    assert exchange.held_bytes == 0


def test_bitmaps_are_part_of_their_ranges(tmp_path: Path) -> None:
    exchange, keys, _ = filled(tmp_path, U32, 1 << 30, bits=True)
    for number, (low, high) in enumerate(exchange.bounds):
        mine = [key for key in keys if low <= key < high]
        cuts = exchange.cut_again(number, 4)
        assert len(cuts) >= 3
        for begin, end in pairwise([low, *cuts, high]):
            piece = exchange.between(number, begin, end)
            assert [key for key in found_in(piece, U32) if begin <= key < end] == [
                key for key in mine if begin <= key < end
            ]
        assert [key for key in found_in(exchange.take(number), U32) if low <= key < high] == mine
        assert exchange.bitmaps[number] is None


def test_bitmaps_stay_where_all_of_them_fit(tmp_path: Path) -> None:
    keys = U32.pack(list(range(0, 1 << 16, 3)))
    exchange = Exchange(partition_by(keys, 8), DEPTH, Spill(tmp_path, U32, DEPTH), 0)
    for room, stay, some in ((1 << 20, True, True), (5_000, False, True), (500, True, False)):
        assert exchange.plan_bitmaps(keys, len(keys), room, 2) == stay
        assert any(exchange.bitmaps) == some
    assert exchange.plan_bitmaps(U32.empty(0), 0, 1, 1)
    assert Exchange(partition_by(U128.pack([1, 9]), 1), DEPTH, Spill(tmp_path, U128, DEPTH), 0).plan_bitmaps(
        U128.pack([1, 9]), 2, 1 << 20, 1
    )


def test_what_is_held_is_taken_once(tmp_path: Path) -> None:
    exchange, keys, _ = filled(tmp_path, U32, 1 << 30, bits=True)
    parts: dict[int, Keys] = {number: np.concatenate(found.parts) for number, found in exchange.take_held(False)}
    assert sorted(key for part in parts.values() for key in ints(part)) == keys
    assert exchange.held_bytes == 0
    assert {number for number, found in exchange.take_held(True) if found.bitmap} == {0, 2, 4, 6, 8}
