"""A layer made range by range, and the bitmaps of ranges, against sets."""

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from hakoiri.keys.layout import U32, U64, Key, Keys, Layout, ints
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import Coded, code_keys, decode
from hakoiri.worker.layers.kernels import flow_of, set_within
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.layers.ranges import (
    Bitmap,
    MergeInput,
    RangeExpansion,
    RangeInput,
    RangeSource,
    code_found,
    merge_range,
)
from tests.support.keys import lanes_by_the_book
from tests.support.toy import Steps

PUZZLE = Klotski()
DEPTH = 9


def keys_in(coded: Coded, number: int, layout: Layout) -> list[Key]:
    """The keys of blocks of layer `number`."""
    return [key for block in coded.blocks(number) for key in ints(decode(block, layout))]


def bits_of(bitmap: Bitmap) -> list[Key]:
    """The keys of a bitmap, one by one."""
    if bitmap.words is None:
        return []
    bits = np.unpackbits(bitmap.words.view(np.uint8), bitorder="little")
    return [bitmap.base + place for place in np.flatnonzero(bits).tolist()]


@pytest.mark.parametrize(
    ("layout", "base"), [(U32, 0), (U32, U32.greatest - 1023), (U64, 64), (U64, U64.greatest - 1023)]
)
def test_a_part_of_a_bitmap_has_the_keys_between_its_bounds(layout: Layout, base: Key) -> None:
    rng = Random(base)
    keys = [rng.randrange(base, base + 640) for _ in range(200)]
    bitmap = Bitmap(base, 10)
    assert not len(set_within(bitmap.fill(), layout.pack(keys), base))
    assert bitmap.nbytes == 80
    bounds = sorted({0, layout.greatest + 1, *(rng.randrange(max(0, base - 90), base + 700) for _ in range(40))})
    for low, high in [*pairwise(bounds), (0, layout.greatest + 1), (base + 64, base + 64), (base + 70, base + 75)]:
        assert bits_of(bitmap.between(low, high)) == sorted({key for key in keys if low <= key < high})
    assert bits_of(bitmap) == sorted(set(keys))


@pytest.mark.parametrize("sums_flow", [False, True])
@pytest.mark.parametrize("most_bytes", [0, 1 << 30])
@pytest.mark.parametrize("stays", [False, True])
@pytest.mark.parametrize("bitmap", [None, (5_056, 40), (0, 200)], ids=["none", "some", "all"])
def test_what_a_range_leads_to_is_in_its_bitmap_or_by_range(
    bitmap: tuple[Key, int] | None, stays: bool, most_bytes: int, sums_flow: bool
) -> None:
    offsets = (2, 64, 901)
    puzzle, keys = Steps(U32, offsets), list(range(0, 11_000, 7))
    partition = partition_by(U32.pack(keys), 7)
    batches, known = [U32.pack(keys[:900]), U32.pack(keys[900:])], list(range(5_100, 5_700, 3))
    put = list[tuple[int, Coded]]()
    expand = RangeExpansion(puzzle, DEPTH, partition.table, lambda *each: put.append(each), [], most_bytes, sums_flow)
    mine = bitmap and Bitmap(*bitmap)
    size, scattered, ends, flow, _ = expand(RangeSource(3, batches, mine, stays, [U32.pack(known)]))
    assert size == len(keys)
    assert flow == (flow_of(puzzle, U32.pack(keys), puzzle.expand(U32.pack(keys))) if sums_flow else None)
    for number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        low, high = partition.bounds(number)
        assert all(low <= key < high for key in scattered[begin:end].tolist())
    marked = set(bits_of(mine)) if mine else set()
    coded = dict[int, set[Key]]()
    for number, blocks in put:
        coded.setdefault(number, set()).update(keys_in(blocks, DEPTH, U32))
    expected = {key + offset for key in keys for offset in offsets}
    if mine and not stays:
        assert mine.words is None
        within = {key for key in expected if mine.base <= key < mine.base + 64 * mine.length} - set(known)
        assert within <= coded[3]
        assert keys_in(put[-1][1], DEPTH, U32) == sorted(within)
        marked, coded[3] = within, coded[3] - within
    if most_bytes:
        assert not any(coded.values())
    else:
        assert not len(scattered)
    for number, found in coded.items():
        low, high = partition.bounds(number)
        assert all(low <= key < high for key in found)
    others = set(scattered.tolist()).union(*coded.values())
    gone = set(known) if mine and not stays else set()
    assert marked | others | (gone & expected) == expected
    assert not marked & others


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("span", [0, 1 << 8, 1 << 30])
def test_a_range_is_merged_of_whatever_was_found(keep: bool, filled: bool, span: int, all_keys: Keys) -> None:
    rng = np.random.default_rng(8)
    crowd = all_keys[20_000:40_000]
    raw = [rng.choice(crowd, 800) for _ in range(2)]
    spilled = [np.unique(rng.choice(crowd, 700)) for _ in range(3)]
    known = [np.unique(rng.choice(all_keys, 9_000)) for _ in range(2)]
    within = np.unique(rng.choice(crowd, 900))
    dots, base = rng.choice(crowd, 600), int(crowd[10_000]) // 64 * 64

    def found() -> RangeInput:
        bitmap, left = Bitmap(base, 1 + span // 64) if span else None, dots.copy()
        if bitmap and filled:
            left = set_within(bitmap.fill(), left, bitmap.base)
        blocks = [block for keys in spilled for block in code_keys(DEPTH, keys).blocks(DEPTH)]
        return RangeInput([part.copy() for part in (*raw, left)], blocks, bitmap)

    everything = set(np.concatenate([*raw, *spilled, dots]).tolist())
    expected = sorted(everything - set(np.concatenate(known).tolist()))
    summary, coded, keys = merge_range(PUZZLE, DEPTH, MergeInput(found(), known, keep))
    assert keys_in(coded, DEPTH, U32) == expected
    goals = sum(key >> 28 == 10 for key in expected)
    assert summary.tolist() == [len(expected), goals, *lanes_by_the_book(expected, PUZZLE.layout)]
    assert keys.tolist() == (expected if keep else [])
    assert keys.dtype == np.uint32
    _, coded, _ = merge_range(PUZZLE, DEPTH, MergeInput(found(), known, keep, [within]))
    assert keys_in(coded, DEPTH, U32) == sorted(set(expected) & set(within.tolist()))
    held = found()._replace(blocks=[])
    whole = keys_in(code_found(U32, DEPTH, held), DEPTH, U32)
    assert whole == sorted(set(np.concatenate([*raw, dots]).tolist()))
    assert held.bitmap is None or held.bitmap.words is None


def test_a_range_in_which_nothing_was_found_is_empty() -> None:
    for found in (RangeInput([], [], None), RangeInput([], [], Bitmap(64, 5))):
        summary, coded, keys = merge_range(PUZZLE, DEPTH, MergeInput(found, [], True))
        assert (summary.tolist(), len(coded.firsts), len(keys)) == ([0, 0, 0, 0], 0, 0)
