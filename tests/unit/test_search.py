"""Searches against a plain one, against published numbers, and against themselves: cut up, interrupted, resumed."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from coordinator import reference
from coordinator.api import Run, census, explore, open_run
from coordinator.budget import Budget
from coordinator.control import Control, SilentObserver
from coordinator.drive import Ways, drive, make_run, require_same
from coordinator.errors import ContradictionError, MismatchError, OverBudgetError, UnanswerableError
from puzzles.contract import Expansion
from puzzles.errors import ConfigurationError, PuzzleError
from puzzles.keys import Key, Keys
from puzzles.klotski import Klotski
from puzzles.registry import PuzzleSpec
from storage.digest import digest_text, lanes_of
from storage.manifest import Depth, Mode, State
from storage.store import RunStore
from tests.unit.published import HAKOIRI
from worker.errors import TaskError

METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
LAST = HAKOIRI["eccentricity of the start"]

Successors = Callable[[Key], list[Key]]
SlowRules = Callable[[str, bool], Successors]


def reference_layers(successors: Successors, start: Key) -> list[list[Key]]:
    """The layers from `start`: every configuration in the first layer that leads to it."""
    seen, layers = {start}, [[start]]
    while layers[-1]:
        following = {successor for key in layers[-1] for successor in successors(key)} - seen
        seen |= following
        layers.append(sorted(following))
    return layers[:-1]


def reference_distances(successors: Successors, start: Key) -> dict[Key, int]:
    layers = reference_layers(successors, start)
    return {key: depth for depth, layer in enumerate(layers) for key in layer}


@pytest.fixture(scope="module")
def slow_rules(all_keys: Keys, slow_successors: Callable[[str], Successors]) -> SlowRules:
    """Plain successors by metric, and whether mirror images count as one."""
    class_of = dict(zip(all_keys.tolist(), Klotski().canonical(all_keys).tolist(), strict=True))

    def rules(metric: str, merge_mirrors: bool) -> Successors:
        successors = slow_successors(metric)
        return (lambda key: [class_of[image] for image in successors(key)]) if merge_mirrors else successors

    return rules


@pytest.fixture(scope="module")
def merged_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """The exploration from the usual start, mirror images merged, open."""
    with explore(merge_mirrors=True, data=tmp_path_factory.mktemp("merged")) as run:
        yield run


@pytest.mark.parametrize("merge_mirrors", [False, True], ids=["plain", "merged"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("size", [None, 248, 201, 118, 2])
def test_layers_are_those_of_the_plain_search(
    size: int | None,
    metric: str,
    merge_mirrors: bool,
    tmp_path: Path,
    small_starts: dict[int, str],
    slow_rules: SlowRules,
) -> None:
    start = small_starts[size] if size else None
    with explore(options={"metric": metric}, start=start, merge_mirrors=merge_mirrors, data=tmp_path) as run:
        expected = reference_layers(slow_rules(metric, merge_mirrors), run.puzzle.start)
        assert run.layer_sizes == [len(layer) for layer in expected]
        for depth, (layer, record) in enumerate(zip(expected, run.layer_records(), strict=True)):
            found = run.layer(depth)
            assert found.tolist() == layer
            assert record.digest == digest_text(lanes_of(found))
            assert record.goals == sum(key >> 28 == 10 for key in layer)
        keys, depths = run.configurations()
        assert dict(zip(keys.tolist(), depths.tolist(), strict=True)) == {
            key: depth for depth, layer in enumerate(expected) for key in layer
        }
        assert (keys[1:] > keys[:-1]).all()


def test_the_products_own_reference_is_plain_too(slow_rules: SlowRules, small_starts: dict[int, str]) -> None:
    for size in (248, 4, 2):
        start = Klotski().parse(small_starts[size])
        for metric in METRICS:
            successors = slow_rules(metric, False)
            assert reference.reference_layers(successors, start) == reference_layers(successors, start)
            assert reference.reference_distances(successors, start) == reference_distances(successors, start)


# Published numbers


def test_published_numbers_from_the_start(usual_run: Run) -> None:
    summary = usual_run.summary()
    assert summary["configurations"] == HAKOIRI["reachable"]
    assert summary["depth"] == LAST
    assert summary["layers"][: len(HAKOIRI["layers begin"])] == HAKOIRI["layers begin"]
    assert summary["layers"][-len(HAKOIRI["layers end"]) :] == HAKOIRI["layers end"]
    assert (summary["largest_window"], summary["largest_window_at"]) == HAKOIRI["largest window"]
    assert summary["status"] == "complete"
    assert summary["exhausted"]


@pytest.mark.parametrize("merge_mirrors", [False, True], ids=["plain", "merged"])
@pytest.mark.parametrize("metric", METRICS)
def test_published_solutions(metric: str, merge_mirrors: bool, tmp_path: Path) -> None:
    expected = HAKOIRI["solution by metric"][metric]
    with explore(
        options={"metric": metric}, merge_mirrors=merge_mirrors, until_goal=True, start=START, data=tmp_path
    ) as run:
        assert (run.store.state.goal_depth, run.store.state.depth, len(run.path())) == (expected,) * 3


def test_published_numbers_with_mirrors_merged(merged_run: Run) -> None:
    summary = merged_run.summary()
    assert summary["configurations"] == HAKOIRI["reachable, mirrors merged"]
    assert (summary["largest_window"], summary["largest_window_at"]) == HAKOIRI["largest window, mirrors merged"]
    assert summary["goal_depth"] == HAKOIRI["solution by metric"]["unit"]
    cumulative = np.cumsum(summary["layers"])
    expected = HAKOIRI["reachable within so many moves, mirrors merged"]
    assert {depth: cumulative[depth] for depth in expected} == expected


def test_published_numbers_of_the_whole_space(whole_run: Run) -> None:
    summary, records = whole_run.summary(), whole_run.components()
    assert summary["configurations"] == HAKOIRI["configurations"]
    assert summary["edges"] == HAKOIRI["moves"]
    assert summary["components"] == len(records) == HAKOIRI["components"]
    sizes = [record.size for record in records]
    assert sizes == sorted(sizes, reverse=True)
    assert sum(sizes) == HAKOIRI["configurations"]
    expected = HAKOIRI["component sizes, each with how often"]
    assert {size: Counter(sizes)[size] for size in expected} == expected
    assert [sizes[0], sizes[2], sizes[6], sizes[-1]] == [25_955, 248, 201, 2]
    for record in records:
        if record.size in HAKOIRI["diameter and radius by size"]:
            assert (record.diameter, record.radius) == HAKOIRI["diameter and radius by size"][record.size]
        if record.size == HAKOIRI["reachable"]:
            found = record.pair_count, record.centre, record.periphery
            assert found == HAKOIRI["largest components: pairs, centre, periphery"]


def test_published_numbers_of_the_whole_space_with_mirrors_merged(tmp_path: Path) -> None:
    with census(merge_mirrors=True, data=tmp_path) as run:
        assert run.summary()["configurations"] == HAKOIRI["configurations, mirrors merged"]
        assert run.summary()["components"] == HAKOIRI["components, mirrors merged"]
        assert HAKOIRI["reachable, mirrors merged"] in [record.size for record in run.components(limit=2)]


@pytest.mark.parametrize("metric", METRICS[1:])
def test_metrics_share_components(metric: str, whole_run: Run, tmp_path: Path) -> None:
    with census(options={"metric": metric}, data=tmp_path) as run:
        (keys, labels), (known_keys, known_labels) = run.configurations(), whole_run.configurations()
        assert (keys == known_keys).all()
        assert (labels == known_labels).all()
        for own, unit in zip(run.components(), whole_run.components(), strict=True):
            assert own.diameter <= unit.diameter
            assert own.radius <= unit.radius


# However it is cut up


def essence(run: Run) -> tuple[Any, ...]:
    """What must not depend on how a run was driven."""
    state = run.store.state
    records = [(record.size, record.digest, record.goals) for record in run.layer_records()]
    return state.digest, state.configurations, state.goal_depth, state.exhausted, records


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory, small_starts: dict[int, str]) -> Iterator[Run]:
    """The exploration of a component of 248 configurations, open."""
    with explore(start=small_starts[248], data=tmp_path_factory.mktemp("small")) as run:
        yield run


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("chunk", [1, 7, 1_000, None])
def test_a_small_search_does_not_depend_on_its_ways(
    chunk: int | None, workers: int, small_run: Run, tmp_path: Path
) -> None:
    ways = Ways(workers=workers, chunk=chunk, farm_from=1)
    with explore(start=small_run.spec.start, data=tmp_path, ways=ways) as run:
        assert essence(run) == essence(small_run)


@pytest.mark.parametrize(
    "ways",
    [
        Ways(workers=2, chunk=7),
        Ways(workers=5, chunk=100, farm_from=1),
        Ways(workers=1, chunk=1_000),
        Ways(workers=2, memory=300_000, farm_from=1),
        Ways(workers=5, memory=200_000, farm_from=300),
    ],
    ids=str,
)
@pytest.mark.parametrize("merge_mirrors", [False, True], ids=["plain", "merged"])
def test_a_search_does_not_depend_on_its_ways(
    ways: Ways, merge_mirrors: bool, usual_run: Run, merged_run: Run, tmp_path: Path
) -> None:
    with explore(data=tmp_path, merge_mirrors=merge_mirrors, ways=ways) as run:
        assert essence(run) == essence(merged_run if merge_mirrors else usual_run)


@pytest.mark.parametrize(
    "ways",
    [Ways(workers=1, chunk=500), Ways(workers=2, chunk=20_000), Ways(workers=5, farm_from=1), Ways(farm_from=1 << 30)],
    ids=str,
)
def test_a_census_does_not_depend_on_its_ways(ways: Ways, whole_run: Run, tmp_path: Path) -> None:
    with census(data=tmp_path, ways=ways) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()
        assert run.diameter().pairs.tolist() == whole_run.diameter().pairs.tolist()


@pytest.mark.parametrize("memory", [1, 10_000, 300_000, 1 << 24, 1 << 34])
@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("configurations", [1, 50_000, 10_000_000])
def test_chunks_in_flight_fit_the_memory(configurations: int, workers: int, memory: int) -> None:
    puzzle, budget = Klotski(), Budget(memory)
    chunk = budget.chunk_size(configurations, workers, puzzle)
    in_flight = 2 * workers * chunk * 2 * puzzle.most_successors * puzzle.dtype.itemsize
    assert chunk == 1 or in_flight <= memory // 2
    assert 1 <= chunk <= 1 << 20
    assert Budget(memory, chunk=123).chunk_size(configurations, workers, puzzle) == 123


@pytest.mark.parametrize(
    ("budget", "farmed", "kept"),
    [(Budget(1), 50_000, 49_999), (Budget(1, chunk=7), 8, 7), (Budget(1, chunk=7, farm_from=3), 3, 2)],
)
def test_small_layers_stay_here(budget: Budget, farmed: int, kept: int) -> None:
    assert budget.farms(farmed)
    assert not budget.farms(kept)


# Too little memory


def started(tmp_path: Path, mode: Mode = "explore", ways: Ways | None = None, **spec: Any) -> Path:
    return make_run(tmp_path, PuzzleSpec("klotski", **spec), mode, False, ways or Ways())


@pytest.mark.parametrize("mode", ["explore", "whole"])
@pytest.mark.parametrize(
    "ways", [Ways(memory=2_000), Ways(memory=2_000, farm_from=1), Ways(memory=2_000, chunk=50, workers=1)], ids=str
)
def test_too_little_memory_leaves_a_run_to_resume(
    mode: Mode, ways: Ways, usual_run: Run, whole_run: Run, tmp_path: Path
) -> None:
    directory = started(tmp_path, mode, ways)
    with pytest.raises(OverBudgetError, match=r"--memory allows 2,000; resume with --memory \d+MB"):
        drive(directory, Ways(), Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "interrupted"
        assert "--memory" in store.state.reason
        assert store.state.depth >= 0
    state = drive(directory, Ways(memory=1 << 30), Control(), SilentObserver())
    assert state.session == 2
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(usual_run if mode == "explore" else whole_run)


# Goals


def test_until_goal_stops_at_the_first_goal(usual_run: Run, tmp_path: Path) -> None:
    with explore(until_goal=True, data=tmp_path) as run:
        goal_depth = HAKOIRI["solution by metric"]["unit"]
        assert run.summary()["status"] == "complete"
        assert not run.summary()["exhausted"]
        assert [record.digest for record in run.layer_records()] == [
            record.digest for record in usual_run.layer_records()[: goal_depth + 1]
        ]
        assert run.path().keys == usual_run.path().keys
        for ask in (run.components, run.diameter):
            with pytest.raises(UnanswerableError, match=r"stopped at its first goal.*without --until-goal"):
                ask()
        far = run.puzzle.render(int(usual_run.layer(LAST)[0]))
        with pytest.raises(UnanswerableError, match=f"did not find {far} up to layer {goal_depth}"):
            run.path(far)


def test_a_start_that_is_a_goal(usual_run: Run, tmp_path: Path) -> None:
    goal = usual_run.path().configurations[-1]
    with explore(start=goal, until_goal=True, data=tmp_path) as run:
        assert (run.layer_sizes, run.store.state.goal_depth, len(run.path())) == ([1], 0, 0)


def test_a_component_without_goal(small_run: Run) -> None:
    assert small_run.store.state.goal_depth is None
    assert small_run.summary()["exhausted"]
    with pytest.raises(UnanswerableError, match="found no goal among all that its start can reach"):
        small_run.path()


# Paths


def assert_real(keys: list[Key], successors: Successors, source: Key) -> None:
    assert keys[0] == source
    for before, after in pairwise(keys):
        assert after in successors(before)


@pytest.mark.parametrize("metric", METRICS)
def test_paths_from_the_start_are_shortest(metric: str, tmp_path: Path, slow_rules: SlowRules) -> None:
    successors = slow_rules(metric, False)
    with explore(options={"metric": metric}, data=tmp_path) as run:
        distances = reference_distances(successors, run.puzzle.start)
        targets = np.random.default_rng(1).choice(sorted(distances), 25).tolist()
        for target in [run.puzzle.start, *run.layer(run.store.state.depth).tolist(), *targets]:
            found = run.path(run.puzzle.render(target))
            assert_real(found.keys, successors, run.puzzle.start)
            assert found.keys[-1] == target
            assert len(found) == distances[target] == run.distance(f"{target:#x}")
            assert found.configurations == [run.puzzle.render(key) for key in found.keys]
            assert found.moves == [run.puzzle.describe_move(*keys) for keys in pairwise(found.keys)]
        goal = run.path("goal")
        assert_real(goal.keys, successors, run.puzzle.start)
        assert len(goal) == min(depth for key, depth in distances.items() if key >> 28 == 10)
        assert goal.keys == run.path("goal").keys


def test_paths_between_any_two_are_shortest(usual_run: Run, whole_run: Run, slow_rules: SlowRules) -> None:
    successors = slow_rules("unit", False)
    keys, labels = whole_run.configurations()
    rng = np.random.default_rng(2)
    for component in (0, 1, 2, 7, 890):
        members = keys[labels == component]
        source = int(rng.choice(members))
        distances = reference_distances(successors, source)
        nearest_goal = min((depth for key, depth in distances.items() if key >> 28 == 10), default=None)
        for run in (whole_run, usual_run):
            for target in rng.choice(members, 3).tolist():
                found = run.path(f"{target:#x}", f"{source:#x}")
                assert_real(found.keys, successors, source)
                assert found.keys[-1] == target
                assert len(found) == distances[target] == run.distance(f"{target:#x}", f"{source:#x}")
            if nearest_goal is not None:
                found = run.path("goal", f"{source:#x}")
                assert_real(found.keys, successors, source)
                assert (len(found), found.keys[-1] >> 28) == (nearest_goal, 10)


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
    starts = base.canonical(np.append(rng.choice(members, 3), base.keys([base.start]))).tolist()
    for number, start in enumerate(starts):
        data = tmp_path / str(number)
        with explore(options={"metric": metric}, start=f"{start:#x}", merge_mirrors=True, data=data) as run:
            distances = reference_distances(slow_rules(metric, True), run.puzzle.start)
            for target in rng.choice(members, 6).tolist():
                found = run.path(base.render(target))
                assert_real(found.keys, real, start)
                assert run.puzzle.parse(found.configurations[-1]) == run.puzzle.parse(base.render(target))
                assert len(found) == distances[run.puzzle.parse(base.render(target))]
                assert found.moves == [base.describe_move(*keys) for keys in pairwise(found.keys)]
            found = run.path()
            assert_real(found.keys, real, start)
            assert found.keys[-1] >> 28 == 10
            assert len(found) == run.store.state.goal_depth


def test_merged_paths_set_out_from_the_start_that_was_named(tmp_path: Path, slow_rules: SlowRules) -> None:
    base = Klotski()
    images = [base.parse("ABBC/ABBC/DEEF/DGHF/.I.J"), base.parse("ABBC/ABBC/DEEF/DGHF/I.J.")]
    for start in images:
        with explore(start=base.render(start), merge_mirrors=True, data=tmp_path) as run:
            assert_real(run.path().keys, slow_rules("unit", False), start)


def test_merged_paths_between_any_two_are_real(merged_run: Run, usual_run: Run, slow_rules: SlowRules) -> None:
    members, _ = usual_run.configurations()
    rng = np.random.default_rng(4)
    for source, target in rng.choice(members, (6, 2)).tolist():
        found = merged_run.path(f"{target:#x}", f"{source:#x}")
        assert_real(found.keys, slow_rules("unit", False), source)
        assert merged_run.puzzle.parse(found.configurations[-1]) == merged_run.puzzle.parse(f"{target:#x}")
        distances = reference_distances(slow_rules("unit", True), merged_run.puzzle.parse(f"{source:#x}"))
        assert len(found) == distances[merged_run.puzzle.parse(f"{target:#x}")]


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
        with pytest.raises(UnanswerableError, match=f"no path leads from {elsewhere} to goal"):
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


@pytest.mark.parametrize("metric", METRICS)
def test_small_components_are_measured_exactly(metric: str, tmp_path: Path, slow_rules: SlowRules) -> None:
    with census(options={"metric": metric}, data=tmp_path) as run:
        keys, labels = run.configurations()
        successors = slow_rules(metric, False)
        for component in [2, 6, *np.random.default_rng(5).choice(np.arange(7, 898), 25, replace=False).tolist()]:
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


# Interrupted and resumed


class Recorder(SilentObserver):
    """Keeps the steps that it is told of, and interrupts after some of them."""

    def __init__(
        self, control: Control, interrupt_after: Callable[[str, int], bool] = lambda name, done: False
    ) -> None:
        self.steps: list[tuple[str, int]] = []
        self._control, self._interrupt_after = control, interrupt_after

    def layer(self, depth: Depth, size: int, configurations: int) -> None:
        """Kept as a step of the phase "layer"."""
        self.phase("layer", depth, 0)

    def phase(self, name: str, done: int, total: int) -> None:
        """Kept."""
        self.steps.append((name, done))
        if self._interrupt_after(name, done):
            self._control.interrupt("enough")


class ImpatientControl(Control):
    """Interrupts at the check of a given number."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._left = checks

    def check(self) -> None:
        """Count down."""
        self._left -= 1
        if not self._left:
            self.interrupt("enough")
        super().check()


def driven(directory: Path, ways: Ways, stop: Callable[[str, int], bool]) -> tuple[State, list[tuple[str, int]]]:
    control = Control()
    recorder = Recorder(control, stop)
    return drive(directory, ways, control, recorder), recorder.steps


@pytest.mark.parametrize("ways", [Ways(), Ways(workers=2, chunk=60)], ids=["here", "threads"])
@pytest.mark.parametrize("depth", [0, 1, 57, 116, LAST - 1, LAST])
def test_an_interrupted_search_goes_on_where_it_stopped(depth: int, ways: Ways, usual_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path)
    state, steps = driven(directory, ways, lambda _, done: done == depth)
    assert (state.status, state.reason, state.depth, state.exhausted) == ("interrupted", "enough", depth, False)
    assert steps == [("layer", done) for done in range(depth + 1)]
    with RunStore(directory) as store:
        assert [record.session for record in store.layer_records()] == [1] * (depth + 1)
    state, steps = driven(directory, ways, lambda _, done: False)
    assert (state.status, state.session) == ("complete", 2)
    assert steps == [("layer", done) for done in range(depth + 1, LAST + 1)]
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(usual_run)
        assert [record.session for record in run.layer_records()] == [1] * (depth + 1) + [2] * (LAST - depth)


def test_a_search_survives_any_number_of_interruptions(usual_run: Run, tmp_path: Path) -> None:
    directory, seconds, seen = started(tmp_path), 0.0, []
    checks = np.random.default_rng(6).integers(1, 60, 40).tolist()
    for session, ways_and_checks in enumerate(zip([Ways(), Ways(workers=2, chunk=100)] * 20, checks, strict=True), 1):
        ways, count = ways_and_checks
        control = ImpatientControl(count)
        recorder = Recorder(control)
        state = drive(directory, ways, control, recorder)
        seen += recorder.steps
        assert state.session == session
        assert state.seconds >= seconds
        seconds = state.seconds
        if state.status == "complete":
            break
        assert state.status == "interrupted"
    assert session > 5
    assert state.status == "complete"
    assert seen == [("layer", depth) for depth in range(LAST + 1)]
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(usual_run)
        sessions = [record.session for record in run.layer_records()]
        assert sessions == sorted(sessions)


@pytest.mark.parametrize("ways", [Ways(), Ways(workers=2, chunk=5_000)], ids=["default", "chunks"])
@pytest.mark.parametrize(
    "step", [("configurations", 20_000), ("components", 1), ("components", 2), ("components", 300)], ids=str
)
def test_an_interrupted_census_goes_on_where_it_stopped(
    step: tuple[str, int], ways: Ways, whole_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coordinator.census._BATCH_WORK", 50_000)
    directory = started(tmp_path, "whole")
    state, steps = driven(directory, ways, lambda name, done: name == step[0] and done >= step[1])
    assert (state.status, state.exhausted) == ("interrupted", False)
    measured = {done for name, done in steps if name == "components"}
    assert state.components_done == len(measured) < HAKOIRI["components"]
    state, steps = driven(directory, ways, lambda name, done: False)
    assert state.status == "complete"
    assert len(steps) == len(set(steps))
    assert step[0] == "configurations" or "configurations" not in dict(steps)
    again = {done for name, done in steps if name == "components"}
    assert not again & measured
    assert len(again) + len(measured) == HAKOIRI["components"]
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()


@pytest.mark.parametrize("checks", [1, 3, 12, 14, 17, 40])
def test_a_census_may_be_interrupted_at_any_check(checks: int, whole_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path, "whole")
    control = ImpatientControl(checks)
    state = drive(directory, Ways(workers=2, chunk=9_000), control, SilentObserver())
    assert state.status == ("interrupted" if control.interrupted else "complete")
    assert drive(directory, Ways(), Control(), SilentObserver()).status == "complete"
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(whole_run)


def test_an_interrupted_run_answers_what_it_knows(usual_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path)
    driven(directory, Ways(), lambda _, done: done == 30)
    with closing(Run(RunStore(directory))) as run:
        near, far = (run.puzzle.render(int(usual_run.layer(depth)[0])) for depth in (30, 31))
        assert run.distance(near) == 30
        for target in (far, "goal"):
            with pytest.raises(UnanswerableError, match=rf"up to layer 30, .*hakoiri resume {run.name}"):
                run.path(target)
        for ask in (run.components, run.diameter):
            with pytest.raises(UnanswerableError, match=rf"not finished, .*hakoiri resume {run.name}"):
                ask()
        keys, graph = run.graph()
        assert len(keys) == sum(usual_run.layer_sizes[:31])
        assert len(graph.offsets) == len(keys) + 1


def test_a_run_without_layers_has_no_configurations(tmp_path: Path) -> None:
    with closing(Run(RunStore(started(tmp_path)))) as run:
        keys, depths = run.configurations()
        assert (len(keys), keys.dtype, len(depths)) == (0, np.uint32, 0)
        assert run.summary()["layers"] == []
        with pytest.raises(UnanswerableError, match="hakoiri resume"):
            run.path(START)


def test_a_complete_run_is_left_alone(tmp_path: Path, small_starts: dict[int, str]) -> None:
    with explore(start=small_starts[2], data=tmp_path) as run:
        directory, before = run.store.directory, run.store.state
    state, steps = driven(directory, Ways(), lambda *_: True)
    assert (state, steps) == (before, [])


# Something else than it was begun with


def test_another_version_of_the_puzzle_is_refused(
    usual_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(tmp_path)
    driven(directory, Ways(), lambda _, done: done == 30)
    with monkeypatch.context() as patch:
        patch.setattr(Klotski, "version", 2)
        with pytest.raises(MismatchError, match=f"{directory.name} .*version was 1, here it is 2"):
            drive(directory, Ways(), Control(), SilentObserver())
    assert drive(directory, Ways(), Control(), SilentObserver()).status == "complete"
    with open_run("last", data=tmp_path) as run:
        assert essence(run) == essence(usual_run)
        assert {record.session for record in run.layer_records()} == {1, 2}


def test_a_refused_run_is_not_left_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(Klotski, "version", 2)
        with pytest.raises(MismatchError):
            open_run("last", data=tmp_path)
    with open_run("last", data=tmp_path) as run:
        assert run.store.state.status == "queued"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": METRICS, "colour": ("red",)}, "the parameters was.*'colour': 'red'"),
        ({"metric": METRICS[1:]}, "metric=unit: allowed are straight, finger"),
    ],
)
def test_other_options_are_refused(
    options: dict[str, tuple[str, ...]], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(tmp_path)
    monkeypatch.setattr(Klotski, "options", MappingProxyType(options))
    with pytest.raises(MismatchError, match=message):
        drive(directory, Ways(), Control(), SilentObserver())


def test_a_resume_may_repeat_but_not_change_what_is_pinned(usual_run: Run) -> None:
    pinned = usual_run.store.manifest
    require_same(pinned, {}, None, None)
    require_same(pinned, {"metric": "unit"}, "klotski", "zyyx/zyyx/wvvu/wtsu/r..q")
    for options, puzzle, start, words in (
        ({"metric": "finger"}, None, None, "metric unit, the resume names finger"),
        ({"colour": "red"}, None, None, "colour None, the resume names red"),
        ({}, "hanoi", None, "puzzle klotski, the resume names hanoi"),
        ({}, None, "ABBC/ABBC/DEEF/DGHF/.IJ.", "the resume names ABBC/ABBC/DEEF/DGHF/.IJ."),
    ):
        with pytest.raises(MismatchError, match=words):
            require_same(pinned, options, puzzle, start)


@pytest.mark.parametrize(("until_goal", "start"), [(True, None), (False, START)])
def test_a_census_has_no_start_and_no_goal(until_goal: bool, start: str | None, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="--whole"):
        make_run(tmp_path, PuzzleSpec("klotski", start=start), "whole", until_goal, Ways())
    assert list(tmp_path.iterdir()) == []


# Puzzles that go wrong


@pytest.mark.parametrize("ways", [Ways(), Ways(chunk=1, workers=2)], ids=["here", "threads"])
def test_a_puzzle_that_raises_fails_the_run(ways: Ways, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = started(tmp_path)
    expand = Klotski.expand

    def faulty(self: Klotski, keys: Keys) -> Expansion:
        if len(self.successors(int(keys[0]))) > 4:
            raise ValueError("a slip in the rules")
        return expand(self, keys)

    monkeypatch.setattr(Klotski, "expand", faulty)
    with pytest.raises(TaskError, match="a slip in the rules"):
        drive(directory, ways, Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "failed"
        assert "a slip in the rules" in store.state.reason
        assert store.state.depth >= 0


def test_a_move_that_leaves_the_space_fails_the_census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = started(tmp_path, "whole")
    listed = Klotski.configurations
    monkeypatch.setattr(Klotski, "configurations", lambda self: (block[:-1] for block in listed(self)))
    with pytest.raises(ContradictionError, match="is not among the 65,868 configurations"):
        drive(directory, Ways(), Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "failed"


def test_a_disorderly_list_fails_the_census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Klotski.configurations
    monkeypatch.setattr(Klotski, "configurations", lambda self: reversed(list(listed(self))))
    with pytest.raises(ContradictionError, match="does not list its configurations in increasing order"):
        census(data=tmp_path)
