"""The commits of a session, where a write fails and where nothing waits to be written."""

import gc
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hakoiri.api import explore
from hakoiri.coordinator.errors import ContradictionError, StopRun
from hakoiri.coordinator.layers import search as ending
from hakoiri.coordinator.layers.step import LayerStep
from hakoiri.coordinator.runs.catalogue import prunable_runs
from hakoiri.coordinator.runs.create import make_run, open_job
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, Session, SilentObserver
from hakoiri.errors import StorageError
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.environment import Environment
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import State
from tests.support.toy import Toy

HANOI = PuzzleSpec("hanoi", {"discs": "5", "pegs": "3"})


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A new run of 243 configurations."""
    return make_run(tmp_path, HANOI, "explore", {}, Resources())


def test_a_write_that_fails_is_told_itself_and_nothing_is_written_after_it(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On its way out a search makes durable what is finished, but not on a store whose last write failed."""
    write, failure, written = Environment.write, StorageError("the disk is gone"), list[bool]()

    def failing(self: Environment, *entries: Any) -> None:
        # The first says that the run is running, the second has its first layer.
        written.append(True)
        if len(written) == 3:
            raise failure
        write(self, *entries)

    with monkeypatch.context() as patch:
        patch.setattr(Environment, "write", failing)
        with pytest.raises(StorageError) as caught:
            # So that it is a commit in the midst of the search that fails.
            drive(directory, Resources(workers=1, tuning=Tuning(commit=-1.0)), Control(), SilentObserver())
    assert caught.value is failure
    assert len(written) == 3
    state = drive(directory, Resources(workers=1), Control(), SilentObserver())
    assert (state.status, state.progress.done) == ("complete", 243)


def test_on_the_way_out_only_what_is_staged_is_committed(directory: Path) -> None:
    control, observer = Control(), SilentObserver()
    with RunStore(directory, writable=True) as store:
        job = open_job(store, Resources())
        with open_context(job.puzzle, HANOI, Resources(workers=1), control, observer) as context:
            opened, before = Session(store, context), store.read_state()
            assert opened.commit_staged(before) is before
            assert store.read_state() == before
            store.put_layer(0, job.puzzle.keys([job.puzzle.start]), goals=0)
            assert opened.commit_staged(before) == store.read_state() != before
            assert not store.staged


def test_a_session_is_idle_until_it_commits_work(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    idle, commit = list[bool](), Session.commit

    def committed(session: Session, state: State) -> State:
        idle.append(session.store.state.idle)
        return commit(session, state)

    monkeypatch.setattr(Session, "commit", committed)
    assert drive(directory, Resources(workers=1), Control(), SilentObserver()).status == "complete"
    assert idle[0]
    assert not any(idle[1:])


@pytest.mark.parametrize(
    ("total", "exhausted", "found", "wrong"),
    [(9, True, 9, False), (9, True, 8, True), (9, False, 8, False), (None, True, 8, False)],
)
def test_a_whole_space_has_the_size_that_the_puzzle_knows(
    total: int | None, exhausted: bool, found: int, wrong: bool
) -> None:
    outcome, puzzle = SimpleNamespace(exhausted=exhausted, configurations=found), SimpleNamespace(name="nine")
    search: Any = SimpleNamespace(total=total, outcome=lambda: outcome, puzzle=puzzle)
    with pytest.raises(ContradictionError, match=r"found 8 .* expected 9") if wrong else nullcontext():
        ending._require_total(search)


def test_of_like_runs_the_newest_complete_one_is_kept(directory: Path) -> None:
    later = make_run(directory.parent, HANOI, "explore", {}, Resources())
    other = make_run(directory.parent, PuzzleSpec("hanoi", {"discs": "4", "pegs": "3"}), "explore", {}, Resources())
    assert prunable_runs(directory.parent) == []
    for each in (directory, later, other):
        drive(each, Resources(workers=1), Control(), SilentObserver())
    stopped = make_run(directory.parent, HANOI, "explore", {}, Resources())
    with RunStore(stopped, writable=True) as store:
        store.commit(store.state.become("interrupted"))
    found = [(each.found.run, each.kept, each.belonging) for each in prunable_runs(directory.parent)]
    assert sorted(found) == sorted([(directory.name, later.name, []), (stopped.name, later.name, [])])


def test_a_stop_between_two_kernels_is_no_fault_of_the_puzzle() -> None:
    class Stopped(Toy):
        def expand(self, keys: Keys) -> Any:
            raise StopRun("interrupted", "asked for")

        def render(self, key: int) -> str:
            raise StopRun("interrupted", "asked for")

    puzzle = Stopped({"size": "200"})
    keys = puzzle.keys([puzzle.start])
    for work in (lambda: inspected_expansion(puzzle, keys, 1), lambda: Puzzle.check_key(puzzle, puzzle.start)):
        with pytest.raises(StopRun):
            work()


def test_steps_leave_attributes_where_rules_in_plain_python_read_them_fast(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`vars` of a puzzle makes a dictionary of its attributes: 54 microseconds a configuration instead of 39."""
    file, run = Path(__file__).resolve().parents[2] / "examples" / "ricochet_robots.py", LayerStep.run
    met = list[bool]()

    def inspected(step: LayerStep) -> Any:
        made, puzzle = run(step), step._session.puzzle
        met.append(any(type(held) is dict and "walls" in held for held in gc.get_referents(puzzle)))
        return made

    monkeypatch.setattr(LayerStep, "run", inspected)
    with explore(f"{file}:RicochetRobots", layers=9, data=tmp_path, resources=Resources(chunk=50, workers=1)) as found:
        assert sum(found.layer_sizes) > 1_000
        assert len(met) > 2
        assert not any(met)
        assert "walls" in vars(found.puzzle)
        assert any(type(held) is dict and "walls" in held for held in gc.get_referents(found.puzzle))
