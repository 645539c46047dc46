"""Runs of any kind, made and driven in this process, and what stops or watches them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import Run
from hakoiri.coordinator.census import census, hosted, job
from hakoiri.coordinator.layers.search import SearchFigures
from hakoiri.coordinator.runs.create import make_run, open_job
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.opening import open_context
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.errors import Hint
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage import results
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.census import joining, slabs
from hakoiri.worker.census import slabs as ranges

SILENT = SilentObserver()


class Notes(SilentObserver):
    """Keeps the notes, and the hints of each."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.hints: list[tuple[Hint, ...]] = []

    def note(self, text: str, *hints: Hint) -> None:
        """Kept."""
        self.texts.append(text)
        self.hints.append(hints)


def driven(
    data: Path, spec: PuzzleSpec, kind: str, plan: Mapping[str, Any], limits: Mapping[str, Any],
    control: Control | None = None, observer: Observer = SILENT, **resources: Any,
) -> Path:  # fmt: skip
    """The directory of a run that was made, or gone on with, and driven until it ended or was stopped."""
    resources = {"workers": 2} | resources
    directory = make_run(data, spec, kind, plan, Resources(**resources), limits=limits)
    drive(directory, Resources(**resources), control or Control(), observer)
    return directory


@contextmanager
def opened(directory: Path) -> Iterator[Any]:
    """The job of a run."""
    with RunStore(directory) as store:
        yield open_job(store, Resources())


def repaired(directory: Path) -> None:
    """Mend a run, and drive it to its end."""
    drive(directory, Resources(workers=2), Control(), SILENT, repair=True)


def verified(directory: Path, full: bool = True) -> Report:
    """Return the report of a verification."""
    return verify_directory(directory, full, Resources(), Control(), SILENT)


class StoppingAfter(Control):
    """Stops at the n-th time that it is asked."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._left = checks

    def check(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.interrupt("enough")
        super().check()


class Countdown:
    """Calls `act` instead of the call of a given number, and lets all others go through."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.left, self._act = number, act

    def __call__(self, *_: Any) -> None:
        """Count down."""
        self.left -= 1
        if not self.left:
            self._act()


def local_context(
    puzzle: Puzzle, resources: Resources | None = None, control: Control | None = None
) -> AbstractContextManager[ComputeContext]:
    """Threads of this process."""
    spec, control = PuzzleSpec(puzzle.name), control or Control()
    return open_context(puzzle, spec, resources or Resources(), control, SilentObserver())


def essence(run: Run) -> tuple[Any, ...]:
    """Return what must not depend on the way a run was driven."""
    state, found = run.store.state, SearchFigures.of(run.store.state)
    records = [(record.size, record.digest, record.goals) for record in run.layer_records()]
    return state.digest, found.configurations, found.goal_depth, found.exhausted, records


def started(tmp_path: Path, kind: str = "explore", resources: Resources | None = None, **spec: Any) -> Path:
    """The directory of a new run that has not been driven."""
    return make_run(tmp_path, PuzzleSpec("klotski", **spec), kind, {}, resources or Resources())


def small_slabs(patch: pytest.MonkeyPatch, size: int) -> None:
    """From now on a slab has so many configurations."""
    for module in (census, hosted, joining, ranges, results, slabs, job):
        patch.setattr(module, "SLAB", size)
