"""Runs of any kind, made and driven in this process."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hakoiri.coordinator.runs.create import make_run, open_job
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore

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
        yield open_job(store)


def repaired(directory: Path) -> None:
    """Mend a run, and drive it to its end."""
    drive(directory, Resources(workers=2), Control(), SILENT, repair=True)


def verified(directory: Path, full: bool = True) -> Report:
    """What a verification finds."""
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
