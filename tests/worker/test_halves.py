"""The halves of a layer step by threads, and the bitmaps that they mark successors in, against sets."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from random import Random

import numpy as np
import pytest

from hakoiri.puzzles.keys.layout import U32, U64, U128, Key, Keys, Layout, ints
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import pack_blocks
from hakoiri.storage.layers.coded import Coded
from hakoiri.worker.layers.flow import flow_of
from hakoiri.worker.layers.halves import Found, Work, code_range, expand_chunk, merge_range
from hakoiri.worker.layers.marks import Marks, marks_for
from hakoiri.worker.layers.partition import partition_by
from tests.support.plain import lanes_by_the_book
from tests.worker.test_shuffle import Steps, blocks_of, keys_of

PUZZLE = Klotski()
DEPTH = 9


def marked_in(marks: Marks, low: Key, high: Key) -> list[Key]:
    """The marked keys of a range, one by one."""
    base, words = marks.between(low, high)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little")
    return [base + place for place in np.flatnonzero(bits).tolist()]


def keys_of_coded(coded: Coded, layout: Layout) -> list[Key]:
    return keys_of(blocks_of(DEPTH, coded), layout)


@pytest.mark.parametrize(("layout", "base"), [(U32, 0), (U32, U32.greatest - 999), (U64, 5), (U64, U64.greatest - 999)])
def test_marks_are_the_keys_that_they_have_room_for(layout: Layout, base: Key) -> None:
    rng = Random(base)
    marks = Marks(base, 10, 3)
    keys = [rng.randrange(max(0, base - 200), min(base + 900, layout.greatest + 1)) for _ in range(400)]
    within = {key for key in keys if base <= key < base + 640}
    with ThreadPoolExecutor(3) as pool:
        left = pool.map(marks.mark, [layout.pack(keys[begin : begin + 50]) for begin in range(0, 400, 50)])
        assert sorted(key for part in left for key in ints(part)) == sorted(
            set_aside for set_aside in keys if set_aside not in within
        )
    assert marks.bytes == 3 * 80
    given = layout.pack(keys)
    marks.mark(given)
    assert ints(given) == keys, "a puzzle may have given what is its own"
    bounds = sorted({0, layout.greatest + 1, *(rng.randrange(max(0, base - 90), base + 700) for _ in range(40))})
    for low, high in [*pairwise(bounds), (0, layout.greatest + 1), (base + 64, base + 64), (base + 70, base + 75)]:
        assert marked_in(marks, low, high) == sorted(key for key in within if low <= key < high)
    marks.clear()
    assert marked_in(marks, 0, layout.greatest + 1) == []


def test_how_many_are_marked_and_where_is_known_about() -> None:
    marks = Marks(1_000, 1 << 14, 2)
    crowd = np.arange(200_000, 400_000, dtype=np.uint32)
    for keys in (crowd[::2], np.arange(1_000, 1_000_000, 100, dtype=np.uint32)):
        assert not len(marks.mark(keys.copy()))
    assert marks.about(0, U32.greatest) == pytest.approx(110_000, rel=0.05)
    assert marks.about(200_000, 300_000) == pytest.approx(51_000, rel=0.05)
    assert marks.about(0, 900) == 0
    sample = marks.sample(0, U32.greatest, 1_000)
    assert sample == sorted(sample)
    assert len(sample) == pytest.approx(110, rel=0.3)
    assert sum(200_000 <= key < 400_000 for key in sample) > 0.8 * len(sample)


def test_marks_of_a_part_move_on() -> None:
    marks = Marks(1_000, 10, 1, part=True)
    assert (marks.end, marks.covers(0, 1_000), marks.covers(0, 1_001)) == (1_640, False, True)
    assert (marks.covers(1_639, 5_000), marks.covers(1_640, 5_000)) == (True, False)
    keys = U32.pack([1_100, 1_700])
    assert ints(marks.mark(keys)) == [1_700]
    marks.clear()
    marks.move(1_700)
    assert ints(marks.mark(keys)) == [1_100]
    assert marked_in(marks, 0, 1 << 32) == [1_700]


def test_marks_are_made_where_keys_are_dense() -> None:
    dense, sparse = U32.pack(list(range(10_000, 90_000, 50))), U32.pack(list(range(0, 1 << 30, 1 << 20)))
    one = marks_for(dense, 20_000, 1 << 20, 1)
    assert one is not None
    assert one.bytes == pytest.approx(80_000 * 17 / 16 / 8, rel=0.01)
    for room, threads, count in ((99, 2, 1), (99, 3, 2), (99, 7, 4), (99, 1_000, 16), (3, 7, 3), (1, 7, 1)):
        marks = marks_for(dense, 20_000, room * one.bytes, threads)
        assert marks is not None
        assert marks.bytes == count * one.bytes
    assert not one.part
    for room, threads, parts, count in ((0.6, 2, 2, 1), (0.6, 4, 4, 2), (0.1, 1, 10, 1)):
        marks = marks_for(dense, 20_000, int(room * one.bytes), threads)
        assert marks is not None
        assert marks.part
        assert marks.bytes == pytest.approx(count * one.bytes / parts, rel=0.02)
    assert marks_for(dense, 20_000, one.bytes // 100, 4) is None, "hardly any room"
    assert marks_for(dense, 1_000, 1 << 20, 4) is None, "too few for the span"
    assert marks_for(sparse, 20_000, 1 << 30, 4) is None
    assert marks_for(U32.empty(0), 0, 1 << 20, 4) is None
    assert marks_for(U128.pack([1, 2, 3]), 20_000, 1 << 20, 4) is None


@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("marks", [None, Marks(5_000, 40, 2), Marks(0, 200, 1)], ids=["none", "some", "all"])
def test_an_expanded_chunk_is_marked_or_lies_in_its_ranges(marks: Marks | None, summed: bool) -> None:
    offsets = (2, 64, 901)
    puzzle, keys = Steps(U32, offsets), list(range(0, 11_000, 7))
    partition = partition_by(U32.pack(keys), 7)
    batches = [U32.pack(keys[:900]), U32.pack(keys[900:])]
    scattered, ends, flow = expand_chunk(puzzle, marks, partition.table, summed, batches)
    assert flow == (flow_of(puzzle, U32.pack(keys), puzzle.expand(U32.pack(keys))) if summed else 0)
    for number, (begin, end) in enumerate(pairwise([0, *ends.tolist()])):
        low, high = partition.bounds(number, U32)
        assert all(low <= key < high for key in scattered[begin:end].tolist())
    marked = marked_in(marks, 0, 1 << 32) if marks else []
    assert set(marked) | set(scattered.tolist()) == {key + offset for key in keys for offset in offsets}
    assert not set(marked) & set(scattered.tolist())


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("span", [0, 1 << 8, 1 << 30])
def test_a_range_is_merged_of_whatever_was_found(keep: bool, span: int, all_keys: Keys) -> None:
    rng = np.random.default_rng(8)
    crowd = all_keys[20_000:40_000]
    raw = [rng.choice(crowd, 800) for _ in range(2)]
    packed = [np.unique(rng.choice(crowd, 700)) for _ in range(3)]
    known = [np.unique(rng.choice(all_keys, 9_000)) for _ in range(2)]
    marks = Marks(int(crowd[10_000]), 1 + span // 64, 2) if span else None
    dots = rng.choice(crowd, 600)
    left = marks.mark(dots.copy()) if marks else dots.copy()
    low, high = int(crowd[1_000]), int(crowd[-1_000])
    found = Found(
        [part[(part >= low) & (part < high)] for part in (*raw, left)],
        [pack_blocks(keys[(keys >= low) & (keys < high)]) for keys in packed],
        partial(marks.between, low, high) if marks else None,
    )
    everything = set(np.concatenate([*raw, *packed, dots]).tolist())
    expected = sorted(key for key in everything - set(np.concatenate(known).tolist()) if low <= key < high)
    summary, coded, keys = merge_range(PUZZLE, DEPTH, Work(found, known, keep))
    assert keys_of_coded(coded, U32) == expected
    goals = sum(key >> 28 == 10 for key in expected)
    assert summary.tolist() == [len(expected), goals, *lanes_by_the_book(expected, PUZZLE.layout)]
    assert keys.tolist() == (expected if keep else [])
    assert keys.dtype == np.uint32
    whole = code_range(U32, DEPTH, Work(Found([dots.copy()], [], None), known[:1], False))
    assert keys_of_coded(whole, U32) == sorted(set(dots.tolist()) - set(known[0].tolist()))


def test_a_range_in_which_nothing_was_found_is_empty() -> None:
    for found in (Found([], [], None), Found([], [], partial(Marks(100, 5, 1).between, 0, 90))):
        summary, coded, keys = merge_range(PUZZLE, DEPTH, Work(found, [], True))
        assert (summary.tolist(), len(coded.firsts), len(keys)) == ([0, 0, 0, 0], 0, 0)
