"""Kernels for bitmaps set what `expand` finds, and are left out where moves are others."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakoiri.api import Run, explore
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.keys.layout import U32, Key, Keys, Mask, ints
from hakoiri.puzzles.contract import BitKernel, Expansion, Puzzle, goal_of, spread_of
from hakoiri.puzzles.goals import any_of, avoiding
from hakoiri.puzzles.hanoi import Hanoi
from hakoiri.puzzles.permutation.pancakes import BurntPancakes, Pancakes
from hakoiri.puzzles.permutation.tiles import Tiles
from hakoiri.puzzles.permutation.topspin import TopSpin
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.spill import Spill
from hakoiri.worker.layers import step
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import flow_of, set_within
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.layers.ranges import RangeExpansion
from hakoiri.worker.layers.rules import goals_only
from tests.support.seeds import usual
from tests.support.toy_runs import spied

PUZZLES = [
    Hanoi({"discs": "3"}), Hanoi({"discs": "8"}), Pancakes({"n": "10"}), BurntPancakes({"n": "6"}),
    Pancakes({"n": "11"}), BurntPancakes({"n": "8"}), *(
        Tiles({"rows": str(rows), "columns": str(columns)})
        for rows, columns in [(2, 4), (3, 3), (2, 5), (5, 2), (2, 6), (3, 4), (4, 3)]
    ),
]  # fmt: skip
#: The most that the numbering bears.
LARGEST = [
    Pancakes({"n": "20"}), BurntPancakes({"n": "16"}), TopSpin({"n": "16"}), TopSpin({"n": "16", "k": "5"}),
    Hanoi({"discs": "26"}), Hanoi({"discs": "26", "pegs": "3"}), Hanoi({"discs": "20", "pegs": "8"}),
]  # fmt: skip


@pytest.mark.parametrize("puzzle", LARGEST, ids=lambda puzzle: f"{puzzle.name} {puzzle.parameters}")
def test_the_largest_spaces_have_the_moves_of_the_reference(puzzle: Puzzle) -> None:
    random, walk = Random(1), [puzzle.usual_start()]
    while len(walk) < 60:
        walk.append(random.choice(puzzle.successors(walk[-1])))
    keys = puzzle.keys(sorted({*walk}))
    found, end = puzzle.expand(keys), 0
    assert len(keys) > 9
    for key, count in zip(ints(keys), found.counts.tolist(), strict=True):
        assert sorted(ints(found.successors[end : end + count])) == sorted(puzzle.successors(key))
        assert puzzle.parse(puzzle.render(key)) == key
        end += count


@usual(2, "puzzle", PUZZLES, ids=lambda puzzle: f"{puzzle.name} {puzzle.total}")
@given(seed=st.integers(0, 1 << 32), share=st.sampled_from([0.0002, 0.01, 0.3, 0.9]), part=st.integers(0, 3))
def test_successors_are_set_that_are_expanded(puzzle: Puzzle, seed: int, share: float, part: int) -> None:
    spread, total = spread_of(puzzle), puzzle.total
    assert isinstance(spread, BitKernel)
    assert total is not None
    low = total * part // 4 // spread.block * spread.block
    high = min(total, low + 4 * spread.block)
    some = np.flatnonzero(np.random.default_rng(seed).random(high - low) < share) + low
    keys = some.astype(puzzle.layout.dtype)
    words, found, expected = (np.zeros(size // 64, dtype=np.uint64) for size in (high - low, total, total))
    set_within(words, keys, low)
    flow, expansion = spread.write(words, low, found), puzzle.expand(keys)
    set_within(expected, expansion.successors, 0)
    assert np.array_equal(found, expected)
    if spread.mark is not None:
        marked = np.zeros_like(found)
        spread.mark(words, low, marked)
        assert np.array_equal(marked, expected)
    assert flow == (flow_of(puzzle, keys, expansion) if spread.flows else None)


class _Lazy(Pancakes):
    """Pancakes of which only two are ever turned over."""

    def successors(self, key: Key) -> list[Key]:
        return super().successors(key)[:1]


class _Plain(Hanoi):
    """A tower that stands still."""

    expand: object = lambda self, keys: Expansion(keys, np.ones(len(keys), dtype=np.uint16))  # type: ignore[assignment]


def test_changed_moves_are_expanded() -> None:
    tower = PUZZLES[1]
    changed = [
        _Lazy({"n": "10"}), _Plain({"discs": "8"}), Hanoi({"discs": "2"}), Hanoi({"discs": "8", "pegs": "3"}),
        Tiles({"rows": "2", "columns": "3"}), Tiles({"rows": "4", "columns": "4"}),
        Tiles({"rows": "1", "columns": "9"}),
        Tiles({"rows": "3", "columns": "3", "metric": "multi"}), Pancakes({"n": "9"}),
        avoiding(tower, any_of(tower, [tower.render(5)])), goals_only(tower),
    ]  # fmt: skip
    assert [spread_of(puzzle) for puzzle in changed] == [None] * len(changed)
    # A goal of one's own changes no moves.
    assert spread_of(PuzzleSpec("hanoi", {"discs": "8", "goal": tower.render(5)}).build()) is not None


def test_a_goal_that_is_counted_by_its_number_is_that_of_the_puzzle() -> None:
    class Other(Hanoi):
        def is_goal(self, keys: Keys) -> Mask:
            return np.asarray(keys == 0)

    class Weighed(Pancakes):
        def tally(self, keys: Keys) -> tuple[int, int]:
            return super().tally(keys)[0], 2 * len(keys)

    own, mirrored = Pancakes({"n": "4"}), PuzzleSpec("tiles", merge_mirrors=True).build()
    own.is_goal = lambda keys: keys == 1  # type: ignore[method-assign]
    chosen = PuzzleSpec("tiles", {"goal": "1**/***/***"}).build()
    assert [goal_of(each) for each in (Other({}), Weighed({}), own, chosen, mirrored)] == [None] * 5
    for puzzle in (Pancakes({"n": "4"}), Hanoi({}), Tiles({}), PuzzleSpec("cube2").build()):
        goal = goal_of(puzzle)
        assert goal is not None and puzzle.is_goal(puzzle.keys([goal, goal + 1])).tolist() == [True, False]


def test_a_puzzle_that_does_not_know_its_size_has_no_bitmap_of_all(tmp_path: Path) -> None:
    exchange = Exchange(Partition(U32, ()), 1, Spill(tmp_path, U32, 1), 1)
    assert [exchange.plan_marks(total, 1e9, 1 << 20, 2, []) for total in (0, 64, 1 << 30)] == [False, True, False]


@pytest.mark.ci_slow
@usual(1, ("name", "options"), [("pancakes", {"n": "10"}), ("hanoi", {"discs": "10"})])
def test_runs_by_bitmaps_have_the_same_layers(
    name: str, options: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, runs = spied(monkeypatch, (RangeExpansion, "_mark")), list[Run]()
    ranges = Resources(tuning=Tuning(bitmaps_from=1 << 40))
    for number, words in enumerate((0.0, step.MARKED_WORDS)):
        monkeypatch.setattr(step, "MARKED_WORDS", words)
        runs.append(explore(name, options, data=tmp_path / str(number), resources=ranges))
        assert bool(calls["_mark"]) == bool(number)
    plain, marked = ([record.digest for record in run.layer_records()] for run in runs)
    assert plain == marked


@pytest.mark.ci_slow
@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=5)
def test_the_flow_of_all_is_0_and_that_of_all_but_one_is_not(seed: int) -> None:
    puzzle = PUZZLES[2]
    spread, total = spread_of(puzzle), puzzle.total
    assert spread and spread.flows and total
    words, found = np.full(total // 64, -1).view(np.uint64), np.zeros(total // 64, dtype=np.uint64)
    assert spread.write(words, 0, found) == 0
    hidden = int(np.random.default_rng(seed).integers(total))
    words[hidden // 64] ^= np.uint64(1 << hidden % 64)
    assert spread.write(words, 0, found) != 0
