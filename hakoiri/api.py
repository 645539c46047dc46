"""Hakoiri from Python: create a run, open one and query it (`hakoiri` has an example).

Every answer comes from the run's store alone: no Redis, no worker, no other process is needed. Only layers that hosts
keep are read from these, over the Redis of `resources`, else of HAKOIRI_REDIS.
"""

import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hakoiri.admission import admit
from hakoiri.coordinator.errors import RunError, UnanswerableError
from hakoiri.coordinator.executors.opening import open_store
from hakoiri.coordinator.runs.catalogue import data_directory, find_run
from hakoiri.coordinator.runs.catalogue import delete_run as delete_directory
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.runs.summary import summarise
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.job import Job, Play
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.coordinator.trees.job import found_solutions
from hakoiri.goals import Hardest
from hakoiri.hints import noted
from hakoiri.maps import Map, MapAnswers
from hakoiri.paths import ShortestPath, ShortestPaths
from hakoiri.puzzles.capabilities import Placements
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Configuration, Keys, as_text
from hakoiri.puzzles.registry import PuzzleSpec, with_own_file
from hakoiri.storage.results.census import Diameter

__all__ = [
    "Diameter", "Hardest", "Map", "Play", "Run", "ShortestPath", "ShortestPaths", "census", "delete_run", "explore",
    "open_run", "resume_run", "verify_run",
]  # fmt: skip


class Run(MapAnswers):
    """An open run; close it, or use it in a ``with``. `puzzle` is the run's, `store` its data.

    `resources` are the threads and memory of this process for questions.
    """

    def __repr__(self) -> str:
        state, kind = self.store.state, self.store.manifest.kind
        puzzle = " ".join([self.puzzle.name, *(f"{name}={value}" for name, value in self.puzzle.parameters.items())])
        found = f"{state.progress.done:,} {state.progress.unit}"
        return f"<Run {self.name} of {puzzle}: {kind}, {state.status}, {found}>"

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def tree(self) -> Placements:
        """The puzzle of a run of a tree; `UnanswerableError` for any other."""
        if isinstance(self.puzzle, Placements):
            return self.puzzle
        raise UnanswerableError(f"run {self.name} is not a tree, so it has no solutions to list")

    def solutions(self) -> Iterator[Keys]:
        """Yield the solutions of a tree in batches: the least image of one solution of each orbit.

        In increasing order if the run is complete, else those found so far. `UnanswerableError` if the run keeps none.
        """
        return found_solutions(self.store, self.tree)

    def summary(self) -> dict[str, Any]:
        """Return everything known about the run, as plain values."""
        return summarise(self.kind(self.store, self.puzzle), self.resources.budget())

    def best_play(self) -> Play:
        """Return the best play, if moves score: the highest score, then the fewest moves; for a finished run proved.

        For an optimisation it is the best one so far. Raises `UnanswerableError` for other runs, `OverBudgetError` if
        the memory is too small.
        """
        return self.kind(self.store, self.puzzle).best_play(self.resources.budget())


for _name, _method in inspect.getmembers(Run, inspect.isfunction):
    if not _name.startswith("_"):
        setattr(Run, _name, noted()(_method))


@noted()
def open_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    puzzle: str | None = None,
) -> Run:  # fmt: skip
    """Open a run by its name, a unique prefix, or ``last``; `data` as on the command line, `resources` as for `Run`.

    `puzzle` (FILE.py:NAME) names the file of a user puzzle of which this user has not created runs. Raises
    `UnknownRunError`, `MismatchError` for another puzzle, and `DamagedError` if its file cannot be read.
    """
    return _opened(_admitted(name, data, puzzle), resources)


@noted()
def resume_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    observer: Observer | None = None, repair: bool = False, puzzle: str | None = None,
) -> Run:  # fmt: skip
    """Resume a run from its last commit to its end, in this process; `repair` first computes damaged data again."""
    return _drive_to_end(_admitted(name, data, puzzle), resources, observer, repair)


@noted()
def verify_run(
    name: str = "last", data: str | os.PathLike[str] | None = None, full: bool = False, seed: int | None = None,
    puzzle: str | None = None,
) -> Report:  # fmt: skip
    """Derive a run again by the reference rules and report the faults, in a sample or, with `full`, in all of it.

    The sample is that of `seed`, by default a random one; the report contains it.
    """
    directory = _admitted(name, data, puzzle)
    return verify_directory(directory, full, Resources(), Control(), SilentObserver(), seed)


@noted()
def delete_run(name: str, data: str | os.PathLike[str] | None = None) -> None:
    """Delete a run, all its data and its goal distances; `RunHeldError` while a process drives one of them."""
    delete_directory(find_run(data_directory(data), name))


@noted()
def explore(
    puzzle: str = "klotski", options: Mapping[str, str] | None = None, *, start: Configuration | None = None,
    merge_mirrors: bool = False, until_goal: bool = False, layers: int | None = None,
    data: str | os.PathLike[str] | None = None, resources: Resources | None = None, observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Create a run and drive it to its end in this process: all that `start` reaches, by layers, or `layers` of it."""
    spec = _spec(puzzle, options, start, merge_mirrors)
    plan = Job.parse_request(spec, until_goal=until_goal, layers=layers).plan
    return _run_to_end(spec, None, plan, data, resources, observer)


@noted()
def census(
    puzzle: str = "klotski", options: Mapping[str, str] | None = None, *, start: Configuration | None = None,
    merge_mirrors: bool = False, diameters: str = "all", data: str | os.PathLike[str] | None = None,
    resources: Resources | None = None, observer: Observer | None = None,
) -> Run:  # fmt: skip
    """Create a run and drive it to its end in this process: all configurations, components and exact diameters.

    `start` is the board, only for puzzles that need one (``sliding``). With `diameters` ``largest=K`` or ``below=N``
    distances are measured only in the K largest components, or in those of fewer than N configurations; with ``none``
    the configurations are listed without components.
    """
    spec, plan = _spec(puzzle, options, start, merge_mirrors), {} if diameters == "all" else {"diameters": diameters}
    return _run_to_end(spec, "census", plan, data, resources, observer)


def _spec(
    puzzle: str, options: Mapping[str, str] | None, start: Configuration | None, merge_mirrors: bool
) -> PuzzleSpec:
    return with_own_file(
        PuzzleSpec(puzzle, dict(options or {}), None if start is None else as_text(start), merge_mirrors)
    )


def _admitted(name: str, data: str | os.PathLike[str] | None, puzzle: str | None) -> Path:
    directory = find_run(data_directory(data), name)
    admit(directory, puzzle)
    return directory


def _run_to_end(
    spec: PuzzleSpec, kind: str | None, plan: Mapping[str, Any], data: str | os.PathLike[str] | None,
    resources: Resources | None, observer: Observer | None,
) -> Run:  # fmt: skip
    directory = make_run(data_directory(data), spec, kind, plan, resources or Resources())
    return _drive_to_end(directory, resources, observer)


def _drive_to_end(directory: Path, resources: Resources | None, observer: Observer | None, repair: bool = False) -> Run:
    state = drive(directory, resources or Resources(), Control(), observer or SilentObserver(), repair)
    if state.status != "complete":
        hint = Hint("resume", directory.name, str(directory.parent))
        raise RunError(f"run {directory.name} is {state.status}: {state.reason}", hint)
    return _opened(directory, resources)


def _opened(directory: Path, resources: Resources | None) -> Run:
    return Run(open_store(directory, resources.redis if resources else None), resources)
