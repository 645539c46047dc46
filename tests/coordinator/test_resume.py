"""Runs interrupted and resumed, refused, or failed: nothing is lost, computed twice, or taken for something else."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import cycle, zip_longest
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, census, explore, open_run
from hakoiri.coordinator.census import joining
from hakoiri.coordinator.errors import ContradictionError, MismatchError, UnanswerableError
from hakoiri.coordinator.layers import job
from hakoiri.coordinator.runs.create import make_run, require_puzzle, require_same
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import DEFAULT, Budget, Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, OverBudgetError, PuzzleError, TaskError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.registry import PUZZLES, PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Progress, State
from hakoiri.storage.results import read_labels, read_profile, recorded_components, stage_labels, stage_profile
from hakoiri.worker.layers.partition import BASE_BYTES
from tests.support import toy, toy_runs
from tests.support.plain_search import SlowRules, reference_layers
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.runs import Notes, StoppingAfter, essence, small_slabs, started, verified
from tests.support.seeds import first_usual, usual

METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
LAST = HAKOIRI["eccentricity of the start"]


# Interrupted and resumed


class Recorder(SilentObserver):
    """Keeps the steps that it is told of, and interrupts after some of them."""

    def __init__(
        self, control: Control, interrupt_after: Callable[[str, int], bool] = lambda name, done: False
    ) -> None:
        self.steps: list[tuple[str, int]] = []
        self._control, self._interrupt_after = control, interrupt_after

    def progress(self, progress: Progress) -> None:
        """Keep the layers by depth, the configurations whose moves are looked at, and whatever has another unit."""
        layer = re.fullmatch(r"layer (\d+)(: .* new)?.*", progress.headline)
        passing = progress.unit in ("", "configurations") and progress.headline != "expanding moves"
        if not layer[2] if layer else passing:
            return
        name, done = ("layer", int(layer[1])) if layer else (progress.unit, progress.done)
        self.steps.append((name, done))
        if self._interrupt_after(name, done):
            self._control.interrupt("enough")


def driven(
    directory: Path, resources: Resources, stop: Callable[[str, int], bool]
) -> tuple[State, list[tuple[str, int]]]:
    control = Control()
    recorder = Recorder(control, stop)
    return drive(directory, resources, control, recorder), recorder.steps


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("step", "resources"),
    first_usual(
        2, (("configurations", 20_000), Resources(workers=2, chunk=5_000)), (("components", 300), Resources()),
        (("components", 2), Resources(workers=2, chunk=5_000)),
    ),
    ids=str,
)  # fmt: skip
def test_an_interrupted_census_goes_on_where_it_stopped(
    step: tuple[str, int], resources: Resources, whole_run: Run, tmp_path: Path
) -> None:
    resources = replace(resources, tuning=Tuning(batch_work=50_000))
    directory = started(tmp_path, "census")
    state, steps = driven(directory, resources, lambda name, done: name == step[0] and done >= step[1])
    assert (state.status, state.figures["exhausted"]) == ("interrupted", False)
    measured = {done for name, done in steps if name == "components"}
    assert state.figures["components_done"] == len(measured) < HAKOIRI["components"]
    state, steps = driven(directory, resources, lambda name, done: False)
    assert state.status == "complete"
    assert len(steps) == len(set(steps))
    assert step[0] == "configurations" or "configurations" not in dict(steps)
    again = {done for name, done in steps if name == "components"}
    assert not again & measured
    assert len(again) + len(measured) == HAKOIRI["components"]
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()


def test_an_interrupted_run_answers_what_it_knows(usual_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path)
    driven(directory, Resources(), lambda _, done: done == 30)
    with closing(Run(RunStore(directory))) as run:
        near, far = (run.puzzle.render(int(usual_run.layer(depth)[0])) for depth in (30, 31))
        assert run.distance(near) == 30
        for target in (far, "goal"):
            with refused(UnanswerableError, "up to layer 30, ", Hint("resume", run.name)):
                run.path(target)
        for ask in (run.components, run.diameter):
            with refused(UnanswerableError, "not complete, ", Hint("resume", run.name)):
                ask()
        keys, graph = run.graph()
        assert len(keys) == sum(usual_run.layer_sizes[:31])
        assert len(graph.offsets) == len(keys) + 1


def test_a_run_without_layers_has_no_configurations(tmp_path: Path) -> None:
    with closing(Run(RunStore(started(tmp_path)))) as run:
        keys, depths = run.configurations()
        assert (len(keys), keys.dtype, len(depths)) == (0, np.dtype(np.uint32), 0)
        assert run.summary()["layers"] == []
        with refused(UnanswerableError, "did not find", Hint("resume", run.name)):
            run.path(START)


def test_a_complete_run_is_left_alone(tmp_path: Path, small_starts: dict[int, str]) -> None:
    with explore(start=small_starts[2], data=tmp_path) as run:
        directory, before = run.store.directory, run.store.state
    state, steps = driven(directory, Resources(), lambda *_: True)
    assert (state, steps) == (before, [])


# Something else than it was begun with


def test_another_version_of_the_puzzle_is_refused(
    usual_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(tmp_path)
    driven(directory, Resources(), lambda _, done: done == 30)
    with monkeypatch.context() as patch:
        patch.setattr(Klotski, "version", 2)
        with pytest.raises(MismatchError, match=f"{directory.name} .*version was 1, and is 2 here"):
            drive(directory, Resources(), Control(), SilentObserver())
    assert drive(directory, Resources(), Control(), SilentObserver()).status == "complete"
    with open_run("last", data=tmp_path) as run:
        assert essence(run) == essence(usual_run)
        assert {record.session for record in run.layer_records()} == {1, 2}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": Choice(METRICS), "colour": Choice(("red",))}, "the parameters was.*'colour': 'red'"),
        ({"metric": Choice(METRICS[1:])}, r"metric=unit: expected straight\|finger"),
    ],
)
def test_other_options_are_refused(
    options: dict[str, Choice], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(tmp_path)
    monkeypatch.setattr(Klotski, "options", MappingProxyType(options))
    with pytest.raises(MismatchError, match=message):
        drive(directory, Resources(), Control(), SilentObserver())


def test_a_resume_may_repeat_but_not_change_what_is_pinned(usual_run: Run) -> None:
    pinned = usual_run.store.manifest
    require_same(pinned, {}, None)
    require_same(pinned, {"metric": "unit"}, "zyyx/zyyx/wvvu/wtsu/r..q")
    require_puzzle(pinned, PuzzleSpec("klotski"))
    for options, start, words in (
        ({"metric": "finger"}, None, "metric unit, and cannot resume with finger"),
        ({}, "ABBC/ABBC/DEEF/DGHF/.IJ.", "cannot resume with ABBC/ABBC/DEEF/DGHF/.IJ."),
    ):
        with pytest.raises(MismatchError, match=words):
            require_same(pinned, options, start)
    with pytest.raises(MismatchError, match="puzzle klotski, and cannot resume with hanoi"):
        require_puzzle(pinned, PuzzleSpec("hanoi"))
    with pytest.raises(PuzzleError, match="klotski has no option 'colour'; its options: metric"):
        require_same(pinned, {"colour": "red"}, None)


def test_what_is_told_apart_and_the_goal_are_pinned(tmp_path: Path) -> None:
    """Without these options a run is what it was before there were any."""
    plain = make_run(tmp_path, PuzzleSpec("sliding", start="AB/C."), "explore", {}, Resources())
    apart = make_run(
        tmp_path, PuzzleSpec("sliding", {"distinct": "A", "goal": "A@2,2"}, "AB/C."), "explore", {}, Resources()
    )
    pins = []
    for directory in (plain, apart):
        with RunStore(directory) as store:
            pins.append(store.manifest)
    assert [pinned.puzzle["options"] for pinned in pins] == [
        {"metric": "unit", "goal": ""},
        {"metric": "unit", "goal": "**/*A", "distinct": "A"},
    ]
    # In other words, but the same.
    require_same(pins[1], {"goal": "A@2,2", "distinct": " A"}, "Ax/y.")
    for pinned, options, words in (
        (pins[0], {"distinct": "A"}, "distinct none, and cannot resume with A"),
        (pins[1], {"distinct": "all"}, "distinct A, and cannot resume with all"),
        (pins[1], {"goal": "A@2,1"}, r"goal \*\*/\*A, and cannot resume with \*\*/A\*"),
    ):
        with pytest.raises(MismatchError, match=words):
            require_same(pinned, options, None)


@pytest.mark.parametrize(("plan", "start", "what"), [({"until_goal": True}, None, "until_goal"), ({}, START, "start")])
def test_a_census_has_no_start_and_no_goal(plan: dict[str, Any], start: str | None, what: str, tmp_path: Path) -> None:
    with refused(PuzzleError, "a census counts every configuration", Hint("leave out", what)):
        make_run(tmp_path, PuzzleSpec("klotski", start=start), "census", plan, Resources())
    assert list(tmp_path.iterdir()) == []


# Puzzles that go wrong


@pytest.mark.parametrize("resources", [Resources(), Resources(chunk=1, workers=2)], ids=["here", "threads"])
def test_a_puzzle_that_raises_fails_the_run(
    resources: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = started(tmp_path)
    expand = Klotski.expand

    def faulty(self: Klotski, keys: Keys) -> Expansion:
        if len(self.successors(int(keys[0]))) > 4:
            raise ValueError("a slip in the rules")
        return expand(self, keys)

    monkeypatch.setattr(Klotski, "expand", faulty)
    with pytest.raises(TaskError, match="a slip in the rules"):
        drive(directory, resources, Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "failed"
        assert "a slip in the rules" in store.state.reason
        assert store.state.depth >= 0


def test_a_move_that_leaves_the_space_fails_the_census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = started(tmp_path, "census")
    listed = Klotski.configurations
    monkeypatch.setattr(Klotski, "configurations", lambda self: (block[:-1] for block in listed(self)))
    with pytest.raises(ContradictionError, match="is not among the 65,868 configurations"):
        drive(directory, Resources(), Control(), SilentObserver())
    with RunStore(directory) as store:
        assert store.state.status == "failed"


def test_a_disorderly_list_fails_the_census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Klotski.configurations
    monkeypatch.setattr(Klotski, "configurations", lambda self: reversed(list(listed(self))))
    with pytest.raises(ContradictionError, match="does not list its configurations in increasing order"):
        census(data=tmp_path)


def test_a_run_that_was_killed_is_advised_a_lower_limit_than_it_had(tmp_path: Path) -> None:
    spec = PuzzleSpec("tiles", {"rows": "2", "columns": "3"})
    directory = make_run(tmp_path, spec, "explore", {}, Resources(memory=300 << 20))
    with RunStore(directory, writable=True) as store:
        store.commit(store.state.become("running"))
    notes = Notes()
    assert drive(directory, Resources(), Control(), notes).status == "complete"
    assert (notes.texts[0], notes.hints[0]) == (
        "the last session of this run ended without a reason; if the system ran out of memory, set a limit",
        (Hint("give", "memory", "150MB"),),
    )


# Components found by searches, layer by layer: those found by joins, and each with its depth profile


BY_LAYERS = {"by": "layers"}
SPACES = {
    "tiles": PuzzleSpec("tiles", {"rows": "2", "columns": "3"}),
    "sliding": PuzzleSpec("sliding", {}, "AABC/DD.C/E.FF"),
    "mirrors merged": PuzzleSpec("sliding", {}, "AABC/DD.C/E.FF", merge_mirrors=True),
    "hanoi": PuzzleSpec("hanoi", {"pegs": "3", "discs": "4"}),
}


def counted(
    place: Path, spec: PuzzleSpec, plan: dict[str, Any] = BY_LAYERS, resources: Resources | None = None
) -> Path:
    """The directory of a finished census."""
    directory = make_run(place, spec, "census", plan, resources or Resources())
    assert drive(directory, resources or Resources(), Control(), SilentObserver()).status == "complete"
    return directory


def read(directory: Path) -> Run:
    """The finished census."""
    return open_run(directory.name, data=directory.parent)


@pytest.mark.ci_slow
@pytest.mark.parametrize("name", SPACES)
def test_both_ways_agree_and_profiles_are_those_of_plain_searches(name: str, tmp_path: Path) -> None:
    by_layers, by_joins = counted(tmp_path / "layers", SPACES[name]), counted(tmp_path / "joins", SPACES[name], {})
    with read(by_layers) as one, read(by_joins) as other:
        assert essence(one) == essence(other)
        assert one.store.state.digest == other.store.state.digest
        profiles = [one.profile(record.component) or [] for record in one.components()]
        assert one.summed_profile() == [sum(sizes) for sizes in zip_longest(*profiles, fillvalue=0)]
        assert (other.profile(0), other.summed_profile()) == (None, [])
    with RunStore(by_layers) as store, RunStore(by_joins) as joined:
        puzzle = SPACES[name].build()
        for number, record in recorded_components(store).items():
            layers = reference_layers(puzzle.successors, record.representative)
            assert read_profile(store, number) == [len(layer) for layer in layers]
            assert sum(map(len, layers)) == record.size
            assert read_profile(joined, number) is None
    assert verified(by_layers).ok
    assert verified(by_joins).ok


@pytest.mark.ci_slow
@pytest.mark.parametrize("small", [4, 1 << 14], ids=["by layers", "at once"])
def test_an_interrupted_count_goes_on_with_the_components_that_are_missing(
    small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of more than a few configurations are searched by layers, others at once, in a chunk each."""
    small_slabs(monkeypatch, 16)
    monkeypatch.setattr(joining, "_STARTS", 1)
    monkeypatch.setattr(joining, "_MOST_SMALL", small)
    spec, sessions = SPACES["sliding"], 0
    directory = make_run(tmp_path, spec, "census", BY_LAYERS, Resources())
    searched = list[Key]()

    class Stopping(SilentObserver):
        """Stops after each component."""

        def progress(self, progress: Progress) -> None:
            if progress.headline.startswith("component "):
                searched.append(int(progress.headline.split()[1].rstrip(",").replace(",", "")))
                control.interrupt("stopped by the test")

    while True:
        control, sessions = Control(), sessions + 1
        resources = replace(Resources(), tuning=Tuning(checkpoint=-1.0))
        if drive(directory, resources, control, Stopping()).status == "complete":
            break
    assert sessions > 3
    assert searched == [*range(1, len(searched) + 1)]
    with read(directory) as one, read(counted(tmp_path / "joins", spec, {})) as other:
        assert essence(one) == essence(other)


@pytest.mark.ci_slow
def test_components_that_are_labelled_without_profiles_are_searched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory runs out between their labels and their profiles."""
    monkeypatch.setattr(joining, "_STARTS", 60)
    monkeypatch.setattr(joining, "_MOST_SMALL", 64)
    stored, failures = RunStore.read_partial, [MemoryError()]

    class Profiles(list[Any]):
        """Raises when it is extended by several, once."""

        def __iadd__(self, more: Any) -> Any:  # type: ignore[misc]
            if self and len(more) > 1 and failures:
                raise failures.pop()
            return super().__iadd__(more)

    spec = PuzzleSpec("sliding", {}, "AABC/DD.C/E.FF")
    directory = make_run(tmp_path, spec, "census", BY_LAYERS, Resources())

    def read_failing(store: RunStore, kind: Any) -> Any:
        found = stored(store, kind)
        if kind != dict[str, list[list[int]]]:
            return found
        return {"profiles": Profiles((found or {}).get("profiles", []))}

    with monkeypatch.context() as patch, pytest.raises(MemoryError):
        patch.setattr(RunStore, "read_partial", read_failing)
        drive(directory, Resources(), Control(), SilentObserver())
    assert not failures
    drive(directory, Resources(), Control(), SilentObserver())
    with read(directory) as one, read(counted(tmp_path / "joins", spec, {})) as other:
        assert essence(one) == essence(other)


@pytest.mark.ci_slow
@pytest.mark.parametrize("manner", ["memory", "chunks"])
def test_searches_keep_to_memory_and_chunks(manner: str, tmp_path: Path) -> None:
    resources = Resources(memory=1 << 20, workers=2) if manner == "memory" else Resources(chunk=3, farm=1)
    with RunStore(counted(tmp_path / "here", SPACES["sliding"])) as store:
        expected = store.state.digest
    with RunStore(counted(tmp_path, SPACES["sliding"], BY_LAYERS, resources)) as store:
        assert store.state.digest == expected


@pytest.mark.ci_slow
def test_verify_finds_components_and_profiles_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = counted(tmp_path, SPACES["sliding"])
    with RunStore(directory, writable=True) as store:
        right = read_profile(store, 0)
        assert right is not None
        stage_profile(store, 0, [*right[:-1], right[-1] + 1])
        store.commit(store.state)
    assert [fault for fault in verified(directory).faults if "component 0: its layers are not those" in fault]
    assert verified(directory, full=False).ok
    with RunStore(directory, writable=True) as store:
        stage_profile(store, 0, right)
        labels = read_labels(store, store.layer_record(0).size)
        places = [int(np.flatnonzero(labels == number)[0]) for number in (0, 1)]
        labels[places] = labels[places[::-1]]
        stage_labels(store, labels)
        store.commit(store.state)
    assert [fault for fault in verified(directory).faults if "are not those that searches by layers find" in fault]


def test_moves_that_cannot_be_taken_back_contradict_the_puzzle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two configurations lead to one that leads back to neither."""

    class Trap(toy.Toy):
        def prepare(self, start: str | None) -> None:
            super().prepare(start)
            self.undirected = True

    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    monkeypatch.setattr(toy, "Toy", Trap)
    spec = PuzzleSpec("toy", {"layout": "u32", "directed": "yes"})
    directory = make_run(tmp_path, spec, "census", BY_LAYERS, Resources())
    with pytest.raises(ContradictionError):
        drive(directory, Resources(), Control(), SilentObserver())


def test_what_cannot_be_found_by_layers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    with pytest.raises(PuzzleError, match="toy is directed: a search does not find its components"):
        make_run(tmp_path, PuzzleSpec("toy", {"directed": "yes"}), "census", BY_LAYERS, Resources())
    with pytest.raises(PuzzleError, match="by 'paths' is not joins or layers"):
        make_run(tmp_path, PuzzleSpec("klotski", {}), "census", {"by": "paths"}, Resources())


# Searches against a plain one, against published numbers, and against themselves cut up in other ways


@usual(1, "merge_mirrors", [False, True], ids=["plain", "merged"])
@usual(1, "metric", METRICS)
@usual(1, "size", [None, 248, 201, 118, 2])
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


# However it is cut up


@pytest.mark.parametrize("memory", [1, 10_000, 300_000, 1 << 24, 1 << 34])
@pytest.mark.parametrize("workers", [1, 2, 64])
@pytest.mark.parametrize("configurations", [1, 50_000, 10_000_000])
def test_chunks_and_ranges_in_work_fit_the_memory(configurations: int, workers: int, memory: int) -> None:
    puzzle = Klotski()
    shares = Budget(memory).shares(puzzle, workers, resident=BASE_BYTES)
    assert shares.free == DEFAULT.least_bytes or DEFAULT.least_bytes < shares.free < memory
    for remote_workers in (0, 2, 100):
        chunk = shares.chunk_size(configurations, puzzle.most_successors, remote_workers)
        in_work = 2 * workers * chunk * shares.key_bytes * (2 + 3 * puzzle.most_successors)
        assert chunk == 1 or in_work <= shares.free // 4
        assert 1 <= chunk <= 1 << 21
    assert shares.range_keys == 1 or 3 * workers * shares.range_keys * 5 * shares.key_bytes <= shares.free // 4
    assert 3 * shares.layer_bytes + shares.bucket_bytes + shares.free // 2 <= shares.free * 9 // 8
    given = Budget(memory, chunk=123).shares(puzzle, workers, resident=BASE_BYTES)
    assert given.chunk_size(configurations, 4) == 123
    slow = shares.chunk_size(configurations, 4, pace=0.01)
    assert slow <= 200


def test_what_this_process_takes_beyond_its_usual_size_is_not_free() -> None:
    budget, puzzle = Budget(1 << 30), Klotski()
    usual = budget.shares(puzzle, 2, resident=BASE_BYTES).free
    assert budget.shares(puzzle, 2, resident=0).free == usual
    assert (1 << 30) * 3 // 5 < usual < (1 << 30) * 2 // 3
    assert usual - budget.shares(puzzle, 2, resident=BASE_BYTES + 300_000_000).free == pytest.approx(2e8, abs=2)


@pytest.mark.parametrize(
    ("budget", "farmed", "kept"),
    [(Budget(1), 50_000, 49_999), (Budget(1, chunk=7), 8, 7), (Budget(1, chunk=7, farm=3), 3, 2)],
)
def test_small_layers_stay_here(budget: Budget, farmed: int, kept: int) -> None:
    assert budget.is_large(farmed)
    assert not budget.is_large(kept)


# Too little memory


@pytest.mark.slow
@pytest.mark.parametrize(
    "resources", first_usual(1, Resources(memory=2_000), Resources(memory=2_000, chunk=50, workers=1)), ids=str
)
def test_too_little_memory_leaves_a_census_to_resume(resources: Resources, whole_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path, "census", resources)
    with pytest.raises(OverBudgetError, match="above the limit of 2,000") as caught:
        drive(directory, Resources(), Control(), SilentObserver())
    (hint,) = caught.value.hints
    assert (hint.do, hint.what, hint.value[-2:]) == ("give", "memory", "MB")
    with RunStore(directory) as store:
        assert store.state.status == "interrupted"
        assert (store.state.reason, store.state.hints) == (str(caught.value), (hint,))
        assert store.state.depth >= 0
    state = drive(directory, Resources(memory=1 << 30), Control(), SilentObserver())
    assert state.session == 2
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(whole_run)


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
            with refused(UnanswerableError, "stopped at its first goal", Hint("run without", "until_goal")):
                ask()
        far = run.puzzle.render(int(usual_run.layer(LAST)[0]))
        with pytest.raises(
            UnanswerableError, match=f"{far} up to layer {goal_depth}, .* {goal_depth + 1} or more moves"
        ):
            run.path(far)


def test_a_start_that_is_a_goal(usual_run: Run, tmp_path: Path) -> None:
    goal = usual_run.path().configurations[-1]
    with explore(start=goal, until_goal=True, data=tmp_path) as run:
        assert (run.layer_sizes, run.store.state.figures["goal_depth"], len(run.path())) == ([1], 0, 0)


def test_a_component_without_goal(small_run: Run) -> None:
    assert small_run.store.state.figures["goal_depth"] is None
    assert small_run.summary()["exhausted"]
    with pytest.raises(UnanswerableError, match="found no goal among all that its start can reach"):
        small_run.path()


@pytest.mark.parametrize("until_goal", [False, True])
def test_what_will_not_fit_on_the_disk_is_said(
    until_goal: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "shutil", SimpleNamespace(disk_usage=lambda _: SimpleNamespace(free=300)))
    notes: list[tuple[str, tuple[Hint, ...]]] = []
    observer = SilentObserver()
    monkeypatch.setattr(observer, "note", lambda text, *hints: notes.append((text, hints)))
    explore("tiles", {"rows": "2"}, data=tmp_path, until_goal=until_goal, observer=observer).close()
    expected = "all 360 configurations do not fit on this disk: they need at least 0 MiB, 0 MiB are free;"
    for text, hints in notes:
        assert text.startswith(expected)
        # The table of depths takes 90 bytes.
        assert hints == (Hint("give", "keep", "depths"),)
    assert len(notes) == (not until_goal)


@pytest.mark.slow
def test_every_configuration_of_hakoiri_musume_is_in_one_of_its_components(tmp_path: Path) -> None:
    directory = counted(tmp_path, PuzzleSpec("klotski", {}), BY_LAYERS | {"diameters": "below=2"})
    with RunStore(directory) as store:
        labels = read_labels(store, store.layer_record(0).size)
        profiles = [read_profile(store, number) or [] for number in range(int(labels.max()) + 1)]
        figures = store.state.figures
    assert (len(labels), len(profiles)) == (HAKOIRI["configurations"], HAKOIRI["components"]) == (65_880, 898)
    assert (figures["components"], figures["edges"]) == (898, HAKOIRI["moves"])
    assert [sum(profile) for profile in profiles] == np.bincount(labels).tolist()
    assert [sum(profile) for profile in profiles[:6]] == [25_955, 25_955, 248, 248, 248, 248]
    assert {profile[0] for profile in profiles} == {1}


def test_a_search_survives_any_number_of_interruptions(usual_run: Run, tmp_path: Path) -> None:
    directory, seconds, seen, rng = started(tmp_path), 0.0, [], np.random.default_rng(6)
    for session, resources in enumerate(cycle([Resources(), Resources(workers=2, chunk=100)]), 1):
        # Whoever waits for threads looks the more often the busier the machine is: so later ones are more patient.
        control = StoppingAfter(int(rng.integers(1, 60 + max(0, session - 40))))
        recorder = Recorder(control)
        state = drive(directory, resources, control, recorder)
        seen += recorder.steps
        assert state.session == session
        assert state.seconds >= seconds
        seconds = state.seconds
        if state.status == "complete":
            break
        assert state.status == "interrupted"
    assert session > 5
    assert seen == [("layer", depth) for depth in range(LAST + 1)]
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(usual_run)
        sessions = [record.session for record in run.layer_records()]
        assert sessions == sorted(sessions)


@pytest.mark.ci_slow
@pytest.mark.parametrize("checks", first_usual(2, 1, 17, 12, 40, 3, 14))
def test_a_census_may_be_interrupted_at_any_check(checks: int, whole_run: Run, tmp_path: Path) -> None:
    directory = started(tmp_path, "census")
    control = StoppingAfter(checks)
    state = drive(directory, Resources(workers=2, chunk=9_000), control, SilentObserver())
    assert state.status == ("interrupted" if control.interrupted else "complete")
    assert drive(directory, Resources(), Control(), SilentObserver()).status == "complete"
    with closing(Run(RunStore(directory))) as run:
        assert essence(run) == essence(whole_run)


@pytest.mark.ci_slow
@pytest.mark.parametrize("metric", first_usual(1, *METRICS[1:]))
def test_metrics_share_components(metric: str, whole_run: Run, tmp_path: Path) -> None:
    with census(options={"metric": metric}, data=tmp_path) as run:
        (keys, labels), (known_keys, known_labels) = run.configurations(), whole_run.configurations()
        assert (keys == known_keys).all()
        assert (labels == known_labels).all()
        for own, unit in zip(run.components(), whole_run.components(), strict=True):
            assert None not in (own.diameter, own.radius, unit.diameter, unit.radius)
            assert (own.diameter or 0) <= (unit.diameter or 0)
            assert (own.radius or 0) <= (unit.radius or 0)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    "resources",
    first_usual(
        2, Resources(workers=1, chunk=500), Resources(workers=5, farm=1), Resources(workers=2, chunk=20_000),
        Resources(farm=1 << 30),
    ),
    ids=str,
)  # fmt: skip
def test_a_census_does_not_depend_on_its_ways(resources: Resources, whole_run: Run, tmp_path: Path) -> None:
    with census(data=tmp_path, resources=resources) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()
        assert run.diameter().pairs.tolist() == whole_run.diameter().pairs.tolist()


@pytest.mark.parametrize(
    "wrong", [Resources(redis="redis://127.0.0.1:1", hosts=2), Resources(hosts=-1, copies=2)], ids=["hosts", "copies"]
)
def test_a_wrong_request_to_resume_leaves_the_run_as_it_was(wrong: Resources, tmp_path: Path) -> None:
    """Nor does it fail, or it would be deleted with those that failed."""
    directory = make_run(tmp_path, PuzzleSpec("pancakes", {"n": "6"}), None, {"keep": "frontier"}, Resources())
    before = toy_runs.driven(directory, Resources(workers=1), StoppingAfter(3))
    with pytest.raises(PuzzleError, match="hosts"):
        toy_runs.driven(directory, wrong)
    with Ledger(directory) as ledger:
        assert ledger.state == before
    assert before.status == "interrupted"
    assert toy_runs.driven(directory, Resources(workers=1)).status == "complete"
