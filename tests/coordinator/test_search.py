"""Searches against a plain one, against published numbers, and against themselves cut up in other ways."""

from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from hakoiri.api import Run, explore
from hakoiri.coordinator.errors import OverBudgetError, UnanswerableError
from hakoiri.coordinator.layers import job
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import DEFAULT, Budget, Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.storage.layers.blocks import digest_text, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.layers.partition import BASE_BYTES
from tests.support.plain_search import SlowRules, reference_layers
from tests.support.published import HAKOIRI
from tests.support.refusals import refused
from tests.support.runs import essence, started

METRICS = ("unit", "straight", "finger")
START = HAKOIRI["start"]
LAST = HAKOIRI["eccentricity of the start"]


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


# Published numbers


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
    assert budget.distributes(farmed)
    assert not budget.distributes(kept)


# Too little memory


@pytest.mark.parametrize(
    "resources",
    [Resources(memory=2_000), Resources(memory=2_000, farm=1), Resources(memory=2_000, chunk=50, workers=1)],
    ids=str,
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
    notes: list[str] = []
    observer = SilentObserver()
    monkeypatch.setattr(observer, "note", lambda text, *_: notes.append(text))
    explore("tiles", {"rows": "2"}, data=tmp_path, until_goal=until_goal, observer=observer).close()
    expected = "all 360 configurations do not fit on this disk: they need at least 0 MiB, 0 MiB are free;"
    assert [note.startswith(expected) for note in notes] == [True] * (not until_goal)
