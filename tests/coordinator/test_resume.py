"""Runs interrupted and resumed, refused, or failed: nothing is lost, computed twice, or taken for something else."""

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from hakoiri.api import Run, census, explore, open_run
from hakoiri.coordinator.errors import ContradictionError, MismatchError, UnanswerableError
from hakoiri.coordinator.runs.create import make_run, require_puzzle, require_same
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, PuzzleError, TaskError
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Expansion
from hakoiri.puzzles.options import Choice
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress, State
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.runs import Notes, essence, started

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


HERE, THREADS = Resources(), Resources(workers=2, chunk=60)


@pytest.mark.parametrize(
    ("step", "resources"),
    [
        (("configurations", 20_000), Resources(workers=2, chunk=5_000)),
        (("components", 1), Resources()),
        (("components", 2), Resources(workers=2, chunk=5_000)),
        (("components", 300), Resources()),
    ],
    ids=str,
)
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
