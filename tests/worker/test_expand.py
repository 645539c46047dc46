"""The task `expand`: a chunk of a frontier to its distinct successors, sorted, coded, and cut at the ranges."""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TypeVar

import numpy as np
import pytest

from hakoiri.keys.layout import LAYOUTS, U32, Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import code_keys, decode, has_bits
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import flow_of, merge, total_flow
from hakoiri.worker.layers.partition import Partition, partition_by, shares_within
from hakoiri.worker.layers.ranges import ExpandedChunk, ExpandedRange, RangeExpansion, RangeSource, chunk_plan
from hakoiri.worker.layers.step import RangeStep, SourceSample
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import pack_arrays, unpack_arrays
from tests.support.seeds import usual
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
@usual(4, "layout", LAYOUTS)
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


# The sum that shows whether a configuration or a move was left out


def reached(puzzle: Puzzle) -> Keys:
    """All that the start leads to."""
    found = fresh = puzzle.keys([puzzle.start])
    while len(fresh):
        fresh = merge([puzzle.expand(fresh).successors], [found])
        found = merge([found, fresh], [])
    return found


@pytest.mark.parametrize(
    ("name", "options", "start", "mirrors"),
    [
        ("pancakes", {"n": "6"}, None, False),
        ("burnt-pancakes", {"n": "4"}, None, False),
        ("topspin", {"n": "7", "k": "4"}, None, False),
        ("hanoi", {"pegs": "4", "discs": "5"}, None, False),
        ("tiles", {"rows": "2", "columns": "4"}, None, False),
        ("tiles", {"rows": "2", "columns": "4", "metric": "multi"}, None, False),
        ("sliding", {}, "AABB/CDEF/G...", False),
        ("sliding", {"metric": "straight"}, "AABB/CDEF/G...", False),
        ("sliding", {"metric": "finger"}, "AABB/CDEF/G...", False),
        ("klotski", {}, None, False),
        ("klotski", {}, None, True),
    ],
)
def test_all_of_an_undirected_space_balances_and_nothing_less_does(
    name: str, options: Mapping[str, str], start: str | None, mirrors: bool
) -> None:
    puzzle = PuzzleSpec(name, options, start, mirrors).build()
    keys = reached(puzzle)
    rng = np.random.default_rng(3)
    parts = [keys[:100], keys[100:101], keys[101:]]
    assert total_flow(flow_of(puzzle, part, puzzle.expand(part)) for part in parts) == 0
    for place in rng.integers(len(keys), size=5).tolist():
        rest = np.delete(keys, place, axis=0)
        assert flow_of(puzzle, rest, puzzle.expand(rest)) != 0, "a hidden configuration"
        successors, counts = puzzle.expand(keys)
        counts[place] -= 1
        left_out = int(counts[:place].sum())
        fewer = Expansion(np.delete(successors, left_out, axis=0), counts)
        # Two of the same name lead alike where mirror images are merged.
        alike = np.count_nonzero(puzzle.expand(keys[place : place + 1]).successors == successors[left_out]) > 1
        assert (flow_of(puzzle, keys, fewer) != 0) or alike, "a hidden move"


def test_a_directed_space_has_none() -> None:
    puzzle = PuzzleSpec("peg-solitaire", {}).build()
    keys = puzzle.keys([puzzle.start])
    assert flow_of(puzzle, keys, puzzle.expand(keys)) == 0


# A step of ranges, gone on with where an earlier session has merged some of them, or in the midst of its ranges


_Made = TypeVar("_Made")
#: Ranges without a part of a word, of the 181,440 numbers of the 3x3 tiles.
RANGES = Partition(U32, tuple(range(200 << 6, 2_800 << 6, 200 << 6)))


class Free:
    """Stops nothing."""

    def check(self) -> None:
        """Go on."""

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Do it."""
        return work()

    def break_off(self) -> None:
        """Nothing."""


@cache
def tiles() -> tuple[Puzzle, list[Keys]]:
    """The 3x3 tiles, and all layers from the start."""
    puzzle = PuzzleSpec("tiles", {"rows": "3", "columns": "3"}).build()
    layers, known = [puzzle.keys([puzzle.start])], puzzle.keys([puzzle.start])
    while len(layers[-1]):
        layers.append(np.setdiff1d(puzzle.expand(layers[-1]).successors, known))
        known = np.union1d(known, layers[-1])
    return puzzle, layers[:-1]


@pytest.mark.ci_slow
@pytest.mark.parametrize("first", [0, 5])
def test_no_bits_are_left_for_the_next_layer(first: int, tmp_path: Path) -> None:
    puzzle, layers = tiles()
    shares = shares_within(1 << 30, puzzle.layout.bytes, 2, None, 1 << 24)
    with closing(ThreadPool(puzzle, 2, Free())) as threads:
        for depth in range(20, 24):
            known: list[Layer] = [HeldLayer([layers[depth - 1]]), HeldLayer([layers[depth - 2]])]
            successors = sort_keys(puzzle.expand(layers[depth - 1]).successors)
            exchange = Exchange(RANGES, depth, Spill(tmp_path, puzzle.layout, depth), 1 << 20)
            sample = SourceSample(layers[depth - 1], successors, 1e-6)
            step = RangeStep(puzzle, exchange, known[0], known, sample, 1_000, shares, threads)
            step.plan_bitmaps()
            assert exchange.whole
            # What an earlier session has merged is expanded again, if it was not spilled by then.
            assert sum(size for size, _ in step.expand(lambda: False, sums_flow=False)) == known[0].size
            begin = first if depth == 20 else 0
            found = [piece.keys for pieces in step.merge(begin, lambda: True) for piece in pieces]
            low = exchange.bounds[begin][0]
            assert np.array_equal(np.concatenate(found), layers[depth][layers[depth] >= low])
            assert not any(words.any() for words in threads.spare)


@pytest.mark.ci_slow
@pytest.mark.parametrize("room", [1 << 24, 76_000], ids=["stays", "coded"])
def test_ranges_with_bitmaps_are_expanded_in_many_pieces_in_turn(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expand, busy, ranges = RangeExpansion._expand, set[int](), Partition(U32, (950 << 6, 1_900 << 6))

    def expand_alone(expansion: RangeExpansion, work: RangeSource) -> ExpandedRange:
        assert work.number not in busy
        busy.add(work.number)
        made = expand(expansion, work)
        busy.remove(work.number)
        return made

    monkeypatch.setattr(RangeExpansion, "_expand", expand_alone)
    (puzzle, layers), depth = tiles(), 22
    shares = replace(shares_within(1, puzzle.layout.bytes, 2, None, room), whole_words=0.0)
    known: list[Layer] = [HeldLayer([layers[depth - 1]]), HeldLayer([layers[depth - 2]])]
    sample = SourceSample(layers[depth - 1], sort_keys(puzzle.expand(layers[depth - 1]).successors), 1e-6)
    at, sizes, spill = dict[int, int](), list[int](), Spill(tmp_path, puzzle.layout, depth)
    due = cycle([False, False, False, True])
    with RunLock(tmp_path), closing(ThreadPool(puzzle, 2, Free())) as threads:
        while sum(sizes) < len(layers[depth - 1]):
            # Each time by a step that knows no more than what was spilled, and up to which key.
            parts = Exchange(ranges, depth, spill, 1 << 20)
            step = RangeStep(puzzle, parts, known[0], known, sample, 200, shares, threads, in_turn=True)
            step.plan_bitmaps()
            assert (all(parts.bitmaps), parts.whole, step._stay) == (True, [], room > 1 << 20)
            step.at = at
            sizes.append(sum(size for size, _ in step.expand(partial(next, due), sums_flow=False)))
            step.spill()
            at = step.at
        found = [piece.keys for pieces in step.merge(0, lambda: True) for piece in pieces]
    assert len(sizes) > 5
    assert np.array_equal(np.concatenate(found), layers[depth])


class _Ring(Puzzle):
    """Each number leads to both beside it; 0 to its neighbour, twice."""

    name, undirected, most_successors = "ring", True, 3

    def __init__(self, layout: str) -> None:
        self.layout = LAYOUTS[layout]
        super().__init__({})

    def usual_start(self) -> int:
        return 0

    def successors(self, key: int) -> list[int]:
        ends = self.layout.greatest
        return [1, 1, ends] if key == 0 else [(key - 1) % (ends + 1), (key + 1) % (ends + 1)]


@usual(4, "layout", LAYOUTS)
def test_it_is_the_sum_of_what_each_leads_to_less_itself_in_every_layout(layout: str) -> None:
    """By numbers of Python."""
    puzzle = _Ring(layout)
    keys = puzzle.keys([0, 5, puzzle.layout.greatest])
    bits, odd = (1 << 64) - 1, 0x9E3779B97F4A7C15

    def mixed(key: int) -> int:
        found = 0
        for shift in reversed(range(0, puzzle.layout.bits, 64)):
            found = (found + (key >> shift & bits)) * odd & bits
        return found ^ found >> 32

    expected = 0
    for key in ints(keys):
        for successor in set(puzzle.successors(key)):
            expected += mixed(successor) - mixed(key)
    assert flow_of(puzzle, keys, puzzle.expand(keys)) == expected % (1 << 64)
