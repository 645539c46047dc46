"""A step of ranges, gone on with where an earlier session has merged some of them, or in the midst of its ranges."""

from collections.abc import Callable
from contextlib import closing
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest

from hakoiri.keys.layout import U32, Keys
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.worker.layers import exchange
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.partition import Partition, shares_within
from hakoiri.worker.layers.ranges import ExpandedRange, RangeExpansion, RangeSource
from hakoiri.worker.layers.step import RangeStep, SourceSample
from hakoiri.worker.pool import ThreadPool

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
            assert sum(made.size for made in step.expand(lambda: False, sums_flow=False)) == known[0].size
            begin = first if depth == 20 else 0
            found = [piece.keys for pieces in step.merge(begin, lambda: True) for piece in pieces]
            low = exchange.bounds[begin][0]
            assert np.array_equal(np.concatenate(found), layers[depth][layers[depth] >= low])
            assert not any(words.any() for words in threads.spare)


@pytest.mark.parametrize("room", [1 << 24, 76_000], ids=["stays", "coded"])
def test_ranges_with_bitmaps_are_expanded_in_many_pieces_in_turn(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_WHOLE_WORDS", 0.0)
    expand, busy, ranges = RangeExpansion._expand, set[int](), Partition(U32, (950 << 6, 1_900 << 6))

    def expand_alone(expansion: RangeExpansion, work: RangeSource) -> ExpandedRange:
        assert work.number not in busy
        busy.add(work.number)
        made = expand(expansion, work)
        busy.remove(work.number)
        return made

    monkeypatch.setattr(RangeExpansion, "_expand", expand_alone)
    (puzzle, layers), depth = tiles(), 22
    shares = shares_within(1, puzzle.layout.bytes, 2, None, room)
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
            sizes.append(sum(made.size for made in step.expand(partial(next, due), sums_flow=False)))
            step.spill()
            at = step.at
        found = [piece.keys for pieces in step.merge(0, lambda: True) for piece in pieces]
    assert len(sizes) > 5
    assert np.array_equal(np.concatenate(found), layers[depth])
