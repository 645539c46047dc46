"""The task `expand`: a chunk of a frontier to its distinct successors, sorted, coded, and cut at the ranges."""

from random import Random

import numpy as np
import pytest

from hakoiri.keys.layout import LAYOUTS, U32, Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import code_keys, decode, has_bits
from hakoiri.worker.layers.kernels import flow_of
from hakoiri.worker.layers.partition import Partition, partition_by
from hakoiri.worker.layers.ranges import ExpandedChunk, chunk_plan
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays
from tests.support.toy import Steps, Toy

DEPTH = 9


def expanded(puzzle: Toy | Steps | Klotski, keys: Keys, partition: Partition, plan: np.ndarray) -> ExpandedChunk:
    """Return the answer of a worker, as it comes out of Redis."""
    shared = [partition.layout.pack(partition.cuts), plan]
    sent, common = (unpack_arrays(pack_arrays(arrays)) for arrays in ([keys], shared))
    return ExpandedChunk(*unpack_arrays(pack_arrays(do_task("expand", puzzle, sent, common))))


def assert_right(puzzle: Toy | Steps | Klotski, keys: Keys, partition: Partition, plan: np.ndarray) -> None:
    """Compare an answer with the successors of each key in plain Python."""
    layout, answer = partition.layout, expanded(puzzle, keys, partition, plan)
    # `Steps` has no plain rules: it adds numbers.
    if isinstance(puzzle, Steps):
        wanted = sorted({*ints(puzzle.expand(keys).successors)})
    else:
        wanted = sorted({successor for key in ints(keys) for successor in puzzle.successors(key)})
    found = dict(answer.by_range())
    for number in range(partition.ranges):
        low, high = partition.bounds(number)
        mine = (
            [key for block in found[number].blocks(DEPTH) for key in ints(decode(block, layout))]
            if (number in found)
            else []
        )
        assert mine == [key for key in wanted if low <= key < high]
    size, flow, _ = answer.figures.tolist()
    assert (size, flow) == (len(keys), flow_of(puzzle, keys, puzzle.expand(keys)))


@pytest.mark.parametrize("directed", ["no", "yes"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("spread", ["low", "clumped", "spread", "high"])
def test_the_successors_are_those_of_the_plain_rules(layout: str, spread: str, directed: str) -> None:
    puzzle = Toy({"layout": layout, "keys": spread, "directed": directed, "size": "400"})
    keys, met = [puzzle.start], {puzzle.start}
    for key in keys:
        new = [successor for successor in dict.fromkeys(puzzle.successors(key)) if successor not in met]
        keys += new
        met |= {*new}
    chunk = sort_keys(puzzle.keys(Random(layout).sample(keys, len(keys) // 2)))
    sample = sort_keys(puzzle.expand(chunk).successors.copy())
    for ranges in (1, 5, 40):
        partition = partition_by(sample, ranges)
        for plan in (chunk_plan(DEPTH, sample, len(sample)), np.array([DEPTH, 0, 0], dtype=np.uint64)):
            assert_right(puzzle, chunk, partition, plan)


def test_a_bitmap_does_not_keep_the_keys_of_the_chunk_before() -> None:
    puzzle, partition = Steps(U32, (1, 3)), Partition(U32, (500, 900))
    plan = np.array([DEPTH, 0, 40], dtype=np.uint64)
    for keys in ([*range(0, 2_000, 7)], [700, 2_100], [*range(5, 1_000, 11)]):
        assert_right(puzzle, U32.pack(keys), partition, plan)


def test_crowded_keys_come_as_bits() -> None:
    puzzle, keys = Steps(U32, (1, 2)), U32.pack([*range(64_000)])
    sample = sort_keys(puzzle.expand(keys).successors.copy())
    answer = expanded(puzzle, keys, partition_by(sample, 3), chunk_plan(DEPTH, sample, len(sample)))
    assert all(has_bits(block.value) for _, coded in answer.by_range() for block in coded.blocks(DEPTH))
    assert answer.data.nbytes < len(code_keys(DEPTH, keys).data) // 4


def test_no_bitmap_is_planned_where_keys_are_sparse_or_wide() -> None:
    sparse = U32.pack([*range(0, 1 << 30, 1 << 20)])
    assert chunk_plan(DEPTH, sparse, len(sparse)).tolist() == [DEPTH, 0, 0]
    wide = LAYOUTS["u128"].pack([*range(1_000)])
    assert chunk_plan(DEPTH, wide, 1_000).tolist() == [DEPTH, 0, 0]
    assert chunk_plan(DEPTH, U32.empty(0), 0).tolist() == [DEPTH, 0, 0]
