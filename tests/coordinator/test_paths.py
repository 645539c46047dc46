"""Shortest paths and exact diameters, each replayed or measured again by the reference rules."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hakoiri.api import Run, ShortestPath, explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.errors import ConfigurationError
from hakoiri.keys.layout import Key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from tests.support.plain_search import SlowRules, Successors, reference_distances
from tests.support.published import HAKOIRI

METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
LAST = HAKOIRI["eccentricity of the start"]


# Paths


def assert_real(keys: list[Key], successors: Successors, source: Key) -> None:
    assert keys[0] == source
    for before, after in pairwise(keys):
        assert after in successors(before)


def assert_spelt(found: ShortestPath, puzzle: Puzzle) -> None:
    """The texts are those of the keys, and each move names the letter that is elsewhere after it, and its way."""
    assert [puzzle.parse(text) for text in found.configurations] == found.keys
    ways = [puzzle.describe_move(*keys)[1:] for keys in pairwise(found.keys)]
    assert [move[1:] for move in found.moves] == ways
    for (text, later), move in zip(pairwise(found.configurations), found.moves, strict=True):
        changed = {letter for pair in zip(text, later, strict=True) if pair[0] != pair[1] for letter in pair}
        assert changed == {move[0], "."}


@pytest.mark.parametrize("metric", ["unit", *(pytest.param(each, marks=pytest.mark.slow) for each in METRICS[1:])])
def test_paths_from_the_start_are_shortest(metric: str, tmp_path: Path, slow_rules: SlowRules) -> None:
    successors = slow_rules(metric, False)
    with explore(options={"metric": metric}, data=tmp_path) as run:
        distances = reference_distances(successors, run.puzzle.start)
        targets = np.random.default_rng(1).choice(sorted(distances), 8).tolist()
        for target in [run.puzzle.start, *run.layer(run.store.state.depth).tolist(), *targets]:
            found = run.path(run.puzzle.render(target))
            assert_real(found.keys, successors, run.puzzle.start)
            assert found.keys[-1] == target
            assert len(found) == distances[target] == run.distance(f"{target:#x}")
            assert_spelt(found, run.puzzle)
        goal = run.path("goal")
        assert_real(goal.keys, successors, run.puzzle.start)
        assert len(goal) == min(depth for key, depth in distances.items() if key >> 28 == 10)
        assert goal.keys == run.path("goal").keys


def test_a_census_knows_paths_from_the_usual_start(whole_run: Run, usual_run: Run) -> None:
    assert len(whole_run.path()) == len(usual_run.path())
    assert whole_run.path().configurations[0] == START


@pytest.mark.parametrize("metric", METRICS)
def test_merged_paths_are_lifted_to_real_boards(
    metric: str, tmp_path: Path, usual_run: Run, slow_rules: SlowRules
) -> None:
    real, base = slow_rules(metric, False), Klotski({"metric": metric})
    rng = np.random.default_rng(3)
    members, _ = usual_run.configurations()
    starts = base.canonical(np.append(rng.choice(members, 1), base.keys([base.start]))).tolist()
    for number, start in enumerate(starts):
        data = tmp_path / str(number)
        with explore(options={"metric": metric}, start=f"{start:#x}", merge_mirrors=True, data=data) as run:
            distances = reference_distances(slow_rules(metric, True), run.puzzle.start)
            for target in rng.choice(members, 6).tolist():
                found = run.path(base.render(target))
                assert_real(found.keys, real, start)
                assert run.puzzle.parse(found.configurations[-1]) == run.puzzle.parse(base.render(target))
                assert len(found) == distances[run.puzzle.parse(base.render(target))]
                assert_spelt(found, base)
            found = run.path()
            assert_real(found.keys, real, start)
            assert found.keys[-1] >> 28 == 10
            assert len(found) == run.store.state.figures["goal_depth"]


def test_merged_paths_set_out_from_the_start_that_was_named(tmp_path: Path, slow_rules: SlowRules) -> None:
    base = Klotski()
    images = [base.parse("ABBC/ABBC/DEEF/DGHF/.I.J"), base.parse("ABBC/ABBC/DEEF/DGHF/I.J.")]
    for start in images:
        with explore(start=base.render(start), merge_mirrors=True, data=tmp_path) as run:
            assert_real(run.path().keys, slow_rules("unit", False), start)


def test_questions_without_an_answer(
    usual_run: Run, small_run: Run, whole_run: Run, small_starts: dict[int, str]
) -> None:
    elsewhere = small_starts[201]
    for run in (usual_run, small_run):
        with pytest.raises(UnanswerableError, match=f"{run.name} did not find {elsewhere} among all that its start"):
            run.path(elsewhere)
    with pytest.raises(UnanswerableError, match=rf"no path leads from {re.escape(START)} to {elsewhere}"):
        whole_run.path(elsewhere, START)
    for run in (usual_run, whole_run):
        with pytest.raises(UnanswerableError, match=f"no path leads from {elsewhere} to a goal"):
            run.path("goal", elsewhere)
        with pytest.raises(ConfigurationError, match="5 rows"):
            run.path("ABBC")
    for component in (-1, 898):
        with pytest.raises(UnanswerableError, match=f"components 0 to 897, not {component}"):
            whole_run.diameter(component)
    with pytest.raises(UnanswerableError, match="components 0 to 0, not 1"):
        usual_run.diameter(1)
    for depth in (-1, LAST + 1):
        with pytest.raises(UnanswerableError, match=f"layers 0 to {LAST}, not {depth}"):
            usual_run.layer(depth)


# Diameters


@pytest.mark.parametrize("component", [0, 1, 2, 3, 4, 5, 6])
def test_diameter_pairs_really_are_that_far_apart(component: int, whole_run: Run, slow_rules: SlowRules) -> None:
    found = whole_run.diameter(component)
    assert found.diameter == HAKOIRI["diameter and radius by size"][found.record.size][0]
    assert len(found.pairs) == found.record.pair_count
    assert found.pairs.tolist() == sorted(found.pairs.tolist())
    outermost = sorted({key for pair in found.pairs.tolist() for key in pair})
    assert len(outermost) == found.record.periphery
    pairs = set()
    for key in outermost:
        distances = reference_distances(slow_rules("unit", False), key)
        assert len(distances) == found.record.size
        assert max(distances.values()) == found.diameter
        pairs |= {(min(key, end), max(key, end)) for end, depth in distances.items() if depth == found.diameter}
    assert sorted(pairs) == [tuple(pair) for pair in found.pairs.tolist()]
