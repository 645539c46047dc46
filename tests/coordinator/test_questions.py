"""Questions that need a search of their own: within the memory, by all threads, and nothing is left of it."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest

from hakoiri.api import Run, census, explore, open_run
from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.graphs import distances
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import DistancePolicy, measure_graph
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver, histogram
from hakoiri.coordinator.graphs.symmetry import MOST_PAIRS
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.resources import Budget, Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import OverBudgetError
from hakoiri.keys.layout import U32, Key, Keys, ints
from hakoiri.puzzles.contract import Orbits, Puzzle
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.storage.layers.store import scratch_folder
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import SCRATCH_PREFIX
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.searches import eccentricities_of, farthest_pairs
from hakoiri.worker.layers.exchange import Exchange
from tests.support.plain_search import reference_distances
from tests.support.runs import StoppingAfter, local_context, opened
from tests.support.seeds import usual
from tests.support.toy import Toy, is_goal
from tests.support.toy_runs import MANNERS, spied


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")


@pytest.fixture(scope="module")
def tiles(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """All 181,440 configurations of the eight-puzzle; layers of 24,047 at most."""
    with explore("tiles", {"rows": "3", "columns": "3"}, data=tmp_path_factory.mktemp("tiles")) as run:
        yield run


@pytest.fixture
def starved(tiles: Run) -> Run:
    """The same, to be asked with hardly any memory."""
    tuning = Tuning(least_bytes=1_000_000)
    return Run(tiles.store, Resources(workers=2, memory=1, farm=2_000, tuning=tuning))


@pytest.mark.ci_slow
@usual(1, "directed", ["no", "yes"])
@usual(
    1,
    ("layout", "keys", "manner"),
    [("u32", "high", "spilling"), ("u64", "clumped", "default"), ("u256", "spread", "spilling")],
)
def test_paths_between_any_two_are_shortest(
    layout: str, keys: str, manner: str, directed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"layout": layout, "keys": keys, "directed": directed}
    resources = MANNERS[manner].take(monkeypatch, layout)
    with explore("toy", options, data=tmp_path, resources=resources) as run:
        assert isinstance(run.puzzle, Toy)
        reached = sorted(reference_distances(run.puzzle.successors, run.puzzle.start))
        calls = spied(monkeypatch, (LayerStep, "run"))
        for source in Random(layout + keys).choices(reached, k=3):
            distances = reference_distances(run.puzzle.successors, source)
            goals = [depth for key, depth in distances.items() if is_goal(key)]
            for target in Random(manner).choices(sorted(distances), k=3):
                found = run.path(f"{target:#x}", f"{source:#x}").keys
                assert (found[0], found[-1], len(found) - 1) == (source, target, distances[target])
                assert all(after in run.puzzle.successors(before) for before, after in pairwise(found))
            if goals:
                found = run.path("goal", f"{source:#x}").keys
                assert len(found) - 1 == min(goals)
                assert found[-1] == min(key for key in distances if is_goal(key) and distances[key] == min(goals))
        assert bool(calls["run"]) == (manner != "default")
        assert not list(run.store.directory.glob(f"{SCRATCH_PREFIX}*"))


def test_a_diameter_by_orbits_can_be_stopped(starved: Run) -> None:
    with pytest.raises(StopRun, match="enough"):
        starved.diameter(control=StoppingAfter(40))
    assert not list(starved.store.directory.glob(f"{SCRATCH_PREFIX}*"))


@pytest.mark.ci_slow
def test_questions_keep_to_the_memory_of_the_run_unless_they_name_their_own(tmp_path: Path) -> None:
    with explore(data=tmp_path, resources=Resources(memory=100_000)) as run:
        for ask in (run.diameter, run.graph, run.configurations):
            with pytest.raises(OverBudgetError, match="above the limit of 100,000") as refused:
                ask()
            assert re.fullmatch(r"give memory \d+MB", " ".join(refused.value.hints[0]))
    with open_run("last", tmp_path) as run, pytest.raises(OverBudgetError, match="above the limit of 100,000"):
        run.diameter()
    with open_run("last", tmp_path, Resources(memory=10_000_000)) as run:
        assert run.diameter().diameter == 190


def test_what_a_killed_question_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    run = tmp_path / "a-run"
    run.mkdir()
    old, held, young = (run / f"{SCRATCH_PREFIX}{name}" for name in ("old", "held", "young"))
    for folder in (old, held, young):
        folder.mkdir()
    with RunLock(held):
        for folder in (old, held):
            os.utime(folder, (0, 0))
        with scratch_folder(run) as own:
            assert {folder.name for folder in run.iterdir()} == {held.name, young.name, own.name}
    assert {folder.name for folder in run.iterdir()} == {held.name, young.name}


def test_every_eccentricity_is_that_of_a_search_from_each(small_run: Run) -> None:
    found, cheap = small_run.diameter(every=True), small_run.diameter()
    keys, graph = small_run.graph()
    exact = eccentricities_of(graph)[0]
    assert found.eccentricities == {value: count for value, count in enumerate(np.bincount(exact).tolist()) if count}
    assert found.central is not None
    assert ints(found.central) == ints(keys[exact == exact.min()][:MOST_PAIRS])
    assert small_run.diameter(every=True) is found, "it was measured again"
    assert (found.record, found.pairs.tolist()) == (cheap.record, cheap.pairs.tolist())
    assert small_run.diameter() is cheap, "it was measured again"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tiles", {"rows": "2"}),
        ("tiles", {"columns": "2", "metric": "multi"}),
        ("hanoi", {"discs": "4"}),
        ("pancakes", {"n": "6"}),
    ],
)
def test_what_is_known_of_alike_configurations_is_that_of_a_search_from_each(
    name: str, options: dict[str, str]
) -> None:
    """All pairs too, which follow from those of a few by the symmetry maps of tiles and towers."""
    spec = PuzzleSpec(name, options)
    puzzle = spec.build()
    with open_context(puzzle, spec, Resources(workers=1), Control(), SilentObserver()) as context:
        keys = np.sort(np.concatenate(list(puzzle.configurations())))
        graph = build_graph(context, keys)
        found = measure_graph(context, keys, every=True)
    exact = eccentricities_of(graph)[0]
    periphery = np.flatnonzero(exact == exact.max()).astype(np.int32)
    assert found.eccentricities == histogram(exact)
    assert (found.record.periphery, found.record.centre) == (len(periphery), (exact == exact.min()).sum())
    assert found.pairs.tolist() == keys[farthest_pairs(graph, periphery)].tolist()


class Frucht(Puzzle):
    """A graph all of whose vertices have three neighbours, and no symmetry: it says that all of them are alike."""

    name, layout, undirected, most_successors = "frucht", U32, True, 3
    graph = nx.frucht_graph()

    def usual_start(self) -> Key:
        return 0

    def successors(self, key: Key) -> list[Key]:
        return sorted(self.graph[key])

    def orbits(self, keys: Keys) -> Orbits:
        return np.zeros(len(keys), dtype=np.int64)


def test_configurations_that_only_seem_alike_are_told_apart() -> None:
    puzzle = Frucht()
    with local_context(puzzle, Resources(workers=1)) as context:
        keys = puzzle.keys([*range(12)])
        with pytest.raises(ContradictionError, match="frucht declares configurations as equivalent that are not"):
            measure_graph(context, keys)


@pytest.mark.parametrize(("name", "alone"), [("pancakes", True), ("hanoi", False), ("klotski", False)])
def test_kinds_alone_are_those_of_puzzles_without_maps(name: str, alone: bool, small_run: Run) -> None:
    """Every configuration of these may be an end, so that a large component is not measured by its graph."""
    policy = DistancePolicy(small_run.store, PuzzleSpec(name).build(), Budget(1 << 40), moves=4.0)
    assert policy.lists_all(50_000)
    assert policy.lists_all(50_001) != alone


def test_large_components_without_kinds_have_a_run_of_their_own(
    small_run: Run, tiles: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needs_run(run: Run) -> bool:
        return DistancePolicy(run.store, run.puzzle, Budget(1 << 40)).needs_run(0)

    monkeypatch.setattr(distances, "RUN_FROM", 248)
    assert small_run.components()[0].size == 248
    assert (needs_run(small_run), needs_run(tiles)) == (True, False)
    monkeypatch.setattr(distances, "RUN_FROM", 249)
    assert not needs_run(small_run)


def test_the_least_memory_for_eccentricities_is_enough() -> None:
    """To the byte: what is refused below is done with it."""
    spec = PuzzleSpec("hanoi", {"discs": "2"})
    puzzle = spec.build()
    keys = np.sort(np.concatenate(list(puzzle.configurations())))

    def fits(memory: int) -> bool:
        with local_context(puzzle, Resources(workers=1)) as context:
            graph = build_graph(context, keys)
            given = replace(context, budget=replace(context.budget, memory=memory))
            try:
                return EccentricitySolver(given, keys, graph).plan[0] == 1
            except OverBudgetError:
                return False

    below, enough = 0, 1 << 24
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if fits(middle) else (middle, enough)
    assert below > 0


class Watching(SilentObserver):
    """Remembers how much was done."""

    def __init__(self) -> None:
        self.done: list[int] = []

    def progress(self, progress: Progress) -> None:
        self.done.append(progress.done)


@pytest.mark.ci_slow
def test_eccentricities_go_on_from_where_they_were_stopped(tmp_path: Path) -> None:
    """Stopped, or killed: then what lies on the disk in the midst of it is all there is."""
    resources = Resources(tuning=Tuning(bounds_commit=0.0, bounds_commit_part=1e9, most_intervals=1_000_000))
    control, stopped, killed = StoppingAfter(6), tmp_path / "stopped", tmp_path / "killed"
    with explore(data=stopped) as run:
        size = run.store.state.figures["configurations"]
        directory = run.eccentricity_run(0).make(run.resources, every=True)

    class Copying(Watching):
        def progress(self, progress: Progress) -> None:
            super().progress(progress)
            if len(self.done) == 5:
                shutil.copytree(stopped, killed)

    told = Copying()
    assert drive(directory, resources, control, told).status == "interrupted"
    assert len(told.done) > 5
    for data, known in (stopped, told.done[-1]), (killed, told.done[3]):
        with Ledger(data / directory.name) as ledger:
            figures = ledger.state.figures
        assert (figures["configurations"], figures["settled"]) == (size, known)
        assert figures["diameter"][0] <= 190 <= figures["diameter"][1]
        assert figures["radius"][0] <= 114 <= figures["radius"][1]
        assert all(row["lower"] < row["upper"] for row in figures["open"])
        assert 0 < sum(row["count"] for row in figures["open"]) == size - known < size
        seen = Watching()
        state = drive(data / directory.name, resources, Control(), seen)
        assert (state.status, state.figures["open"], state.figures["settled"]) == ("complete", [], size)
        assert seen.done[1] > known
        with open_run("last", data) as run:
            found = run.diameter(every=True)
        assert (found.diameter, found.record.radius, found.record.pair_count) == (190, 114, 4)
        assert (found.record.centre, found.record.periphery) == (20, 6)
        report = verify_directory(data / directory.name, False, Resources(), Control(), SilentObserver())
        assert (report.faults, report.checked["eccentricities"]) == ([], 256)


@pytest.mark.ci_slow
def test_a_run_of_a_diameter_has_more_to_do_only_where_every_eccentricity_is_wanted(tmp_path: Path) -> None:
    with explore("tiles", data=tmp_path) as run:
        for every, settled_before in ((False, False), (False, True), (True, False), (True, True), (False, True)):
            directory = run.eccentricity_run(0).make(run.resources, every=every)
            with opened(directory) as job:
                assert job.is_done() == settled_before
            drive(directory, Resources(), Control(), SilentObserver())
            with opened(directory) as job:
                assert job.is_done()


@pytest.mark.ci_slow
def test_a_diameter_by_orbits_is_searched_in_pieces(tiles: Run, starved: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = tiles.diameter()
    calls = spied(monkeypatch, (LayerStep, "run"), (Exchange, "take"))
    found = starved.diameter()
    assert (found.record, found.pairs.tolist()) == (expected.record, expected.pairs.tolist())
    # The layers of more than 2,000 configurations, of both kinds that are not the start's.
    assert calls["run"] == 29
    assert calls["take"] > calls["run"]


def test_eccentricities_of_a_component_of_a_whole_space(whole_run: Run) -> None:
    found, known = whole_run.diameter(7, every=True), whole_run.diameter(7)
    assert (found.record, found.pairs.tolist()) == (known.record, known.pairs.tolist())
    assert found.eccentricities is not None
    assert sum(found.eccentricities.values()) == known.record.size
    assert known.diameter is not None
    assert known.record.radius is not None
    assert (found.eccentricities[known.diameter], found.eccentricities[known.record.radius]) == (
        known.record.periphery,
        known.record.centre,
    )


def test_eccentricities_by_orbits(tiles: Run) -> None:
    """Each configuration of the 3x3 tiles is of one of three kinds, of which the ends are known."""
    found = tiles.diameter(every=True)
    record, counts = found.record, found.eccentricities
    assert counts is not None
    assert record.radius is not None
    assert record.diameter is not None
    assert (min(counts), max(counts), sum(counts.values())) == (record.radius, record.diameter, record.size)
    assert (counts[record.radius], counts[record.diameter]) == (record.centre, record.periphery)


@pytest.mark.ci_slow
def test_a_census_of_many_that_are_alike_takes_one_search(tmp_path: Path) -> None:
    """Each of 362,880 stacks has 5,804 farthest ones: neither searches from all nor the list of pairs would end."""
    with census("pancakes", {"n": "9"}, data=tmp_path) as whole, explore("pancakes", {"n": "9"}, data=tmp_path) as run:
        found, known = whole.diameter(), run.diameter()
        assert (found.record, found.pairs.tolist()) == (known.record, known.pairs.tolist())
        assert (found.diameter, found.record.pair_count, len(found.pairs)) == (10, 362_880 * 5_804 // 2, MOST_PAIRS)
        every = whole.diameter(every=True)
        assert (every.record, every.eccentricities) == (found.record, {10: 362_880})


def test_a_list_of_pairs_is_within_the_memory() -> None:
    spec, refused = PuzzleSpec("pancakes", {"n": "6"}), list[str]()
    puzzle = spec.build()
    keys = np.concatenate(list(puzzle.configurations()))
    for memory in range(50_000, 400_000, 5_000):
        with open_context(puzzle, spec, Resources(workers=1, memory=memory), Control(), SilentObserver()) as context:
            try:
                found = measure_graph(context, keys)
            except OverBudgetError as error:
                refused.append(str(error))
            else:
                break
    assert found.record.pair_count == len(found.pairs) == 720
    assert re.match(r"a list of \d+ diametral pairs or more needs", refused[-1])


def test_more_may_be_alike_than_when_bounds_were_kept() -> None:
    """All of the configurations that are alike count as searched from, or none."""
    spec = PuzzleSpec("hanoi", {"discs": "3"})
    puzzle = spec.build()
    with open_context(puzzle, spec, Resources(workers=1), Control(), SilentObserver()) as context:
        keys = np.sort(np.concatenate(list(puzzle.configurations())))
        solver = EccentricitySolver(context, keys, build_graph(context, keys))
        bounds = np.zeros(len(keys), dtype=np.int32)
        images = [np.searchsorted(keys, image(keys)) for image in puzzle.symmetry_maps()]
        assert images
        for count in range(len(keys)):
            kept = np.packbits(np.arange(len(keys)) < count)
            solver.go_on({"lower": bounds, "upper": bounds, "searched": kept})
            searched = np.unpackbits(solver.arrays()["searched"], count=len(keys))
            assert all((searched[image] == searched).all() for image in images)


def test_eccentricities_are_searched_within_the_memory(small_run: Run) -> None:
    """From fewer configurations at a time where there is less memory; refused where there is too little for any."""
    (keys, graph), exact, plans = small_run.graph(), small_run.diameter(), list[tuple[int, int]]()
    for needed in range(100, 1_000, 10):
        resources = Resources(workers=2, memory=len(keys) * needed, farm=0)
        with open_context(small_run.puzzle, small_run.spec, resources, Control(), SilentObserver()) as context:
            try:
                solver = EccentricitySolver(context, keys, graph)
            except OverBudgetError as error:
                assert not plans
                assert re.fullmatch(r"give memory \d+MB", " ".join(error.hints[0]))
                continue
            if solver.plan not in plans:
                plans.append(solver.plan)
                solver.settle(Aim.ALL)
                assert solver.found(0, Aim.ALL).diameter == exact.diameter
    assert plans == [(1, 64), (2, 64), (2, 256)]
