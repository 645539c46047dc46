"""Shortest paths and exact diameters, each replayed or measured again by the reference rules."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest

from hakoiri.api import Run, census, explore
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import ConfigurationError, Hint, OverBudgetError
from hakoiri.keys.layout import Key, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.run.paths import ShortestPath
from hakoiri.storage.layers.store import RunStore
from tests.support.plain_search import SlowRules, Successors, reference_distances
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.seeds import first_usual, usual
from tests.support.toy import Toy, is_goal
from tests.support.toy_runs import MANNERS, driven, new_run

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


@pytest.mark.ci_slow
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


@pytest.mark.ci_slow
@pytest.mark.parametrize("metric", first_usual(2, *METRICS))
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


@pytest.mark.ci_slow
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
    for depth in (-LAST - 2, LAST + 1):
        with pytest.raises(UnanswerableError, match=f"layers 0 to {LAST}, not {depth}"):
            usual_run.layer(depth)


# Diameters


@pytest.mark.ci_slow
@usual(2, "component", [0, 1, 2, 3, 4, 5, 6])
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


# All shortest paths, counted and listed, and paths that avoid configurations, beside networkx and plain counting


TOYS = [
    ("u32", "clumped", "no", "Toy"), ("u128", "spread", "no", "Toy"), ("u64", "clumped", "yes", "Toy"),
    ("u256", "spread", "yes", "TwoWayToy"),
]  # fmt: skip


def manners() -> list[object]:
    """Each toy with memory that suffices or with memory that does not, and slowly with both."""
    return [
        pytest.param((manner, *toy), id="-".join((manner, *toy)), marks=() if place % 2 != low else pytest.mark.slow)
        for place, toy in enumerate(TOYS)
        for low, manner in enumerate(["default", "spilling"])
    ]


@pytest.fixture(params=manners())
def toy_run(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Run, nx.DiGraph]]:
    """The exploration of a toy, open, to be asked in memory that suffices or does not, and its moves."""
    manner, layout, keys, directed, kind = request.param
    monkeypatch.setitem(PUZZLES, "toy", f"tests.support.toy:{kind}")
    options = {"layout": layout, "keys": keys, "directed": directed, "size": "240"}
    directory = new_run(tmp_path, options)
    driven(directory, Resources())
    table = Toy(options).table
    graph = nx.DiGraph((key, after) for key, successors in table.items() for after in successors)
    resources = MANNERS[manner].take(monkeypatch, layout)
    if manner == "spilling":
        resources = replace(resources, tuning=replace(resources.tuning, paths_at_once=3))
    # Enough for answers, while the layers of a search have as little as the manner says.
    with Run(RunStore(directory), replace(resources, memory=resources.memory and 1 << 20)) as run:
        yield run, graph


def listed(run: Run, target: str, source: str | None = None, avoid: tuple[str, ...] = ()) -> list[list[Key]]:
    """The keys of all shortest paths, of which there are as many as are counted."""
    found = run.shortest_paths(target, source, avoid)
    paths = [one.keys for one in found]
    assert found.count == len(paths)
    assert {len(path) for path in paths} == {found.length + 1} == {run.distance(target, source, avoid) + 1}
    return paths


@pytest.mark.ci_slow
def test_they_are_those_of_networkx(toy_run: tuple[Run, nx.DiGraph]) -> None:
    run, graph = toy_run
    rng, start = Random(1), run.puzzle.start
    reached = sorted(nx.descendants(graph, start))
    for source in (start, *rng.sample(reached, 2)):
        ends = sorted(nx.descendants(graph, source))
        for target in rng.sample(ends, min(2, len(ends))):
            assert listed(run, f"{target:#x}", f"{source:#x}") == sorted(nx.all_shortest_paths(graph, source, target))
        distances = nx.single_source_shortest_path_length(graph, source)
        nearest = min((distance for key, distance in distances.items() if is_goal(key)), default=None)
        goals = [key for key, distance in distances.items() if is_goal(key) and distance == nearest]
        to_goals = sorted(path for goal in goals for path in nx.all_shortest_paths(graph, source, goal))
        if goals:
            assert listed(run, "goal", f"{source:#x}") == to_goals
        else:
            with pytest.raises(UnanswerableError, match="no path leads"):
                run.shortest_paths("goal", f"{source:#x}")
    farthest = listed(run, "farthest")
    assert farthest == sorted(nx.all_shortest_paths(graph, start, run.path("farthest").keys[-1]))
    # Once the goal distances are known they come without a search.
    run.hardest()
    begin = run.path("farthest").keys[len(farthest[0]) // 2]
    goals_near = {path[-1] for path in listed(run, "goal", f"{begin:#x}")}
    assert sorted(path for end in goals_near for path in nx.all_shortest_paths(graph, begin, end)) == listed(
        run, "goal", f"{begin:#x}"
    )


@pytest.mark.ci_slow
def test_they_avoid_what_is_named(toy_run: tuple[Run, nx.DiGraph]) -> None:
    run, graph = toy_run
    rng, start = Random(2), run.puzzle.start
    reached, detours = sorted(nx.descendants(graph, start) - {start}), 0
    for source, target in ((start, reached[0]), *(rng.sample(reached, 2) for _ in range(2))):
        if not nx.has_path(graph, source, target):
            continue
        passed = next(nx.all_shortest_paths(graph, source, target))[1:-1]
        avoided = rng.sample(passed, min(2, len(passed)))
        left = graph.subgraph(set(graph) - {*avoided})
        texts = tuple(f"{key:#x}" for key in avoided)
        if not nx.has_path(left, source, target):
            with pytest.raises(UnanswerableError, match="no path leads"):
                run.path(f"{target:#x}", f"{source:#x}", texts)
            continue
        assert listed(run, f"{target:#x}", f"{source:#x}", texts) == sorted(nx.all_shortest_paths(left, source, target))
        detours += bool(avoided)
    assert detours


def plain_counts(successors: Successors, source: Key) -> dict[Key, tuple[int, int]]:
    """For each configuration how far it is from `source`, and by how many shortest paths, layer by layer."""
    found, layer, depth = {source: (0, 1)}, {source: 1}, 0
    while layer:
        following: dict[Key, int] = {}
        depth += 1
        for key, ways in layer.items():
            for after in {after for after in successors(key) if after not in found}:
                following[after] = following.get(after, 0) + ways
        found |= {key: (depth, ways) for key, ways in following.items()}
        layer = following
    return found


@pytest.mark.ci_slow
def test_the_solutions_of_hakoiri_musume_are_counted(usual_run: Run, merged_run: Run, slow_rules: SlowRules) -> None:
    """With merged mirror images the real boards are counted: from the start both lead to as many."""
    counts = plain_counts(slow_rules("unit", False), usual_run.puzzle.start)
    shortest = min(depth for key, (depth, _) in counts.items() if key >> 28 == 10)
    ways = sum(ways for key, (depth, ways) in counts.items() if key >> 28 == 10 and depth == shortest)
    for run in (usual_run, merged_run):
        found = run.shortest_paths("goal")
        assert (found.length, found.count) == (shortest, ways) == (116, 4_112_640_000)
        for one in islice(found, 3):
            assert all(after in slow_rules("unit", False)(before) for before, after in pairwise(one.keys))
    for target in Random(3).sample(sorted(counts), 5):
        assert usual_run.shortest_paths(f"{target:#x}").count == counts[target][1]
        image = merged_run.shortest_paths(f"{target:#x}")
        assert image.length <= counts[target][0]


@pytest.mark.ci_slow
def test_patterns_are_avoided(small_run: Run, slow_rules: SlowRules) -> None:
    """As plain counting on what is left finds; alone, and two of them together."""
    keys, puzzle, rules = ints(small_run.configurations()[0]), small_run.puzzle, slow_rules("unit", False)
    target, patterns = small_run.path("farthest").keys[-1], ["****/..**/****/****/****", "****/****/****/****/.*.*"]
    counts = [small_run.shortest_paths(f"{target:#x}").count]
    for avoid in (patterns[:1], patterns[1:], patterns):
        fits = re.compile("|".join(avoid).replace(".", "[.]").replace("*", ".")).fullmatch
        left = {key for key in keys if not fits(puzzle.render(key))}
        ways = plain_counts(
            {key: [after for after in rules(key) if after in left] for key in keys}.__getitem__, puzzle.start
        )
        found = small_run.shortest_paths(f"{target:#x}", avoid=avoid)
        assert (found.length, found.count) == ways[target]
        assert small_run.distance(f"{target:#x}", avoid=avoid) == found.length
        counts.append(found.count)
    assert counts[0] > max(counts[1:3]) > min(counts[1:3]) > counts[3] > 0


def test_what_cannot_be_avoided(usual_run: Run, merged_run: Run) -> None:
    start = usual_run.puzzle.render(usual_run.puzzle.start)
    with refused(UnanswerableError, f"{start} is an end of the path, so it cannot be avoided"):
        usual_run.path(avoid=["****/****/****/****/*..*"])
    with refused(UnanswerableError, "mirror images merged", Hint("run without", "merge_mirrors")):
        merged_run.path(avoid=["****/****/****/****/.**."])
    with pytest.raises(ConfigurationError, match="5 rows"):
        usual_run.path(avoid=["AB"])


def test_the_memory_is_kept_to(usual_run: Run) -> None:
    store = RunStore(usual_run.store.directory)
    with Run(store, Resources(memory=1_000)) as run, pytest.raises(OverBudgetError, match="on all shortest"):
        run.shortest_paths("goal")


@pytest.mark.ci_slow
def test_merged_paths_between_any_two_are_real(merged_run: Run, usual_run: Run, slow_rules: SlowRules) -> None:
    members, _ = usual_run.configurations()
    rng = np.random.default_rng(4)
    for source, target in rng.choice(members, (6, 2)).tolist():
        found = merged_run.path(f"{target:#x}", f"{source:#x}")
        assert_real(found.keys, slow_rules("unit", False), source)
        assert merged_run.puzzle.parse(found.configurations[-1]) == merged_run.puzzle.parse(f"{target:#x}")
        distances = reference_distances(slow_rules("unit", True), merged_run.puzzle.parse(f"{source:#x}"))
        assert len(found) == distances[merged_run.puzzle.parse(f"{target:#x}")]


@pytest.mark.ci_slow
def test_an_exploration_and_a_census_measure_alike(usual_run: Run, small_run: Run, whole_run: Run) -> None:
    by_least_key = {record.representative: record for record in whole_run.components()}
    for run in (usual_run, small_run):
        found = run.diameter()
        keys, _ = run.configurations()
        expected = by_least_key[int(keys[0])]
        assert replace(found.record, component=expected.component) == expected
        assert found.pairs.tolist() == whole_run.diameter(expected.component).pairs.tolist()
        assert run.components() == [found.record]
    assert usual_run.diameter().diameter == 190


@pytest.mark.ci_slow
@pytest.mark.parametrize("metric", first_usual(2, *METRICS))
def test_small_components_are_measured_exactly(metric: str, tmp_path: Path, slow_rules: SlowRules) -> None:
    with census(options={"metric": metric}, data=tmp_path) as run:
        keys, labels = run.configurations()
        successors = slow_rules(metric, False)
        for component in [2, 6, *np.random.default_rng(5).choice(np.arange(7, 898), 10, replace=False).tolist()]:
            members = keys[labels == component].tolist()
            distances = {key: reference_distances(successors, key) for key in members}
            assert all(sorted(reached) == members for reached in distances.values())
            exact = [max(reached.values()) for reached in distances.values()]
            diameter, radius = max(exact), min(exact)
            pairs = [[one, other] for one in members for other in members if one < other]
            found = run.diameter(component)
            assert found.pairs.tolist() == [pair for pair in pairs if distances[pair[0]][pair[1]] == diameter]
            assert found.record.representative == members[0]
            assert found.record.size == len(members)
            assert (found.record.diameter, found.record.radius) == (diameter, radius)
            assert (found.record.periphery, found.record.centre) == (exact.count(diameter), exact.count(radius))
