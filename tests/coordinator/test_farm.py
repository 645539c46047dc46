"""Chunks of a frontier by workers and threads from one list, and the rule by which they are sent."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import CHUNK_SECONDS, Cost, Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, SilentObserver
from hakoiri.errors import PuzzleError, TaskError
from hakoiri.keys.layout import U32, Keys, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.storage.layers.store import RunStore
from tests.support.runs import Notes
from tests.support.toy import Toy
from tests.support.toy_runs import MANNERS, Elsewhere, Manner, assert_as_expected, driven, new_run

OPTIONS = {"layout": "u32", "keys": "spread", "directed": "no", "size": "400"}
#: Threads and workers together: the size of a chunk is set by the tests.
SHARING = Manner(Resources(workers=2), 4_000, elsewhere=2)


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy is among the puzzles."""
    monkeypatch.setitem(PUZZLES, "toy", ("tests.support.toy", "Toy"))


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Resources:
    """The resources of runs whose layers are cut into chunks of five keys, for two threads and two workers."""
    monkeypatch.setattr(ComputeContext, "farmed_chunk", lambda *_: 5)
    return SHARING.take(monkeypatch, "u32")


@contextmanager
def context_of(
    resources: Resources, workers: int, puzzle: Puzzle | None = None, threads: int = 2
) -> Iterator[ComputeContext]:
    """Yield a context with so many workers elsewhere."""
    puzzle, control = puzzle or Toy(OPTIONS), Control()
    budget, local = resources.budget(), ThreadExecutor(puzzle, threads, control)
    executor = Elsewhere(puzzle, workers, control) if workers else local
    yield ComputeContext(
        puzzle, executor, local, budget, budget.shares(puzzle, threads, 0), control, Notes(), redis="redis://nowhere"
    )
    local.close()


# One list


@pytest.mark.parametrize("directed", ["no", "yes"])
@pytest.mark.parametrize("keys", ["low", "clumped", "spread"])
def test_threads_and_workers_take_chunks_from_one_list(
    keys: str, directed: str, shared: Resources, tmp_path: Path
) -> None:
    options = OPTIONS | {"keys": keys, "directed": directed}
    directory = new_run(tmp_path, options)
    driven(directory, shared)
    assert_as_expected(directory, options)


def test_every_configuration_is_expanded_once(
    shared: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whom differs from run to run."""
    seen, lock, expand = list[int](), threading.Lock(), Toy.expand

    def counted(self: Toy, keys: Keys) -> Any:
        with lock:
            seen.extend(ints(keys))
        return expand(self, keys)

    # Samples are expanded besides.
    monkeypatch.setattr(LayerStep, "_look", quiet(LayerStep._look, monkeypatch, expand, counted))
    monkeypatch.setattr(Toy, "expand", counted)
    directory = new_run(tmp_path, OPTIONS)
    driven(directory, shared)
    with RunStore(directory) as store:
        keys = np.concatenate([store.layer(depth) for depth in range(store.state.depth + 1)])
    # The kernels are loaded by the start.
    seen.remove(Toy(OPTIONS).start)
    assert sorted(seen) == sorted(ints(keys))


def quiet(look: Callable[..., None], patch: pytest.MonkeyPatch, plain: Any, counted: Any) -> Callable[..., None]:
    """Return `look`, in which nothing is counted."""

    def looks(step: LayerStep) -> None:
        patch.setattr(Toy, "expand", plain)
        look(step)
        patch.setattr(Toy, "expand", counted)

    return looks


def test_an_error_in_a_thread_ends_the_run_and_no_piece_is_begun_after_it(
    shared: Resources, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expand = Toy.expand

    def failing(self: Toy, keys: Keys) -> Any:
        if threading.current_thread().name.startswith("chunk"):
            raise ValueError("no rules today")
        return expand(self, keys)

    monkeypatch.setattr(Toy, "expand", failing)
    directory = new_run(tmp_path, OPTIONS)
    with pytest.raises(TaskError, match="task expand failed: ValueError: no rules today"):
        drive(directory, shared, Control(), SilentObserver())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("chunk")]
    monkeypatch.setattr(Toy, "expand", expand)


def test_a_layer_begun_by_threads_is_finished_by_workers_and_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session is stopped within a layer, after every checkpoint."""
    options = OPTIONS | {"size": "900"}
    directory, number = new_run(tmp_path, options), 0
    save = LayerStep._save

    def stopping(step: LayerStep) -> None:
        save(step)
        step._session.control.interrupt("stopped by the test")

    while True:
        number += 1
        with monkeypatch.context() as patch:
            manner = MANNERS["durable" if number % 2 else "farmed"]
            resources = Manner(manner.common, 30_000, durable=True, elsewhere=manner.elsewhere).take(patch, "u32")
            patch.setattr(LayerStep, "_save", stopping)
            state = drive(directory, resources, Control(), SilentObserver())
        if state.status == "complete":
            break
        assert state.status == "interrupted"
    assert number > 4
    assert_as_expected(directory, options)


# The rule

SLOW, FAST = Cost(50e-6, 3.0), Cost(2e-9, 3.0)


@pytest.mark.parametrize(
    ("farm", "workers", "size", "cost", "sent"),
    [
        (None, 2, 100_000, SLOW, True),
        (None, 2, 2_100, SLOW, True),
        (None, 2, 1_900, SLOW, False),  # less than two chunks
        (None, 2, 100_000_000, FAST, False),
        (None, 0, 100_000, SLOW, False),
        ("auto", 2, 100_000, SLOW, True),
        ("always", 2, 1, FAST, True),
        ("always", 0, 1, FAST, False),
        (500, 2, 499, FAST, False),
        (500, 2, 500, FAST, True),
    ],
)
def test_what_is_sent(farm: str | int | None, workers: int, size: int, cost: Cost, sent: bool) -> None:
    with context_of(Resources(memory=1 << 30, farm=farm), workers) as context:
        assert bool(context.farmed_chunk(size, cost)) == sent


def test_rules_that_take_as_long_as_sending_are_not_sent() -> None:
    """Ten million configurations in chunks of the least length: sending costs 8 ms each."""
    even = CHUNK_SECONDS + 4 * 3.0 * 2.5e-9
    assert Cost(even, 3.0).times_as_long(1, 1, U32.bytes) == pytest.approx(1)
    assert Cost(2 * even, 3.0).times_as_long(1, 1, U32.bytes) == pytest.approx(0.5)


def test_why_layers_are_expanded_here_is_noted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    resources, notes = Manner(Resources(), elsewhere=2).take(monkeypatch, "u32"), Notes()
    drive(new_run(tmp_path, OPTIONS), resources, Control(), notes)
    assert sum("layers are expanded here: sending would take" in text for text in notes.texts) == 1


@pytest.mark.parametrize("farm", ["sometimes", "-1", -1, 1 << 63, ""])
def test_other_values_are_refused(farm: str | int) -> None:
    with pytest.raises(PuzzleError, match="farm"):
        Resources(farm=farm)


def test_the_number_in_the_manifest_of_an_earlier_version_is_kept() -> None:
    assert Resources().over({"farm_from": 500}).farm == 500
    assert Resources(farm="never").over({"farm_from": 500}).farm == "never"
    assert Resources().over({"farm": "always"}).farm == "always"
