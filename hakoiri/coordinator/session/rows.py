"""The base of runs that make rows: one result after another, each committed, so that an interruption costs little."""

from abc import abstractmethod
from dataclasses import asdict, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar

from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.puzzles.errors import Hint, counted, require_seconds, require_within
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results.rows import ResultRows, forget_damaged_rows
from hakoiri.worker.machine import usable_cores

#: A row may take a worker minutes, so only a long silence shows that the worker has died.
_DEADLINE_SECONDS = 900.0
#: The number of last rows that a table shows.
_SHOWN = 12


class RowsJob(Job):
    """A run that makes rows up to its limits; new limits resume it."""

    named_by_plan = True
    #: The remedy for an erased damaged row, as the repair's note states it.
    remedy: ClassVar[str]
    #: The limit that may replace ``seconds``: the number of rows to make.
    limit: ClassVar[str] = ""
    #: The session passed to `work`.
    session: Session

    @abstractmethod
    def begin(self) -> None:
        """Read the stored rows."""

    @abstractmethod
    def make_rows(self) -> None:
        """Make the missing rows and `keep` each; raise `StopRun` if the session is to stop."""

    @abstractmethod
    def found(self) -> Figures:
        """Return the figures of all rows."""

    def work(self, session: Session) -> None:
        self.session = session
        self.begin()
        try:
            self.make_rows()
        finally:
            if not self.store.poisoned:
                self.commit()
        self.commit(status="complete")

    def keep(self, table: str, number: int, row: Any, *without: str) -> None:
        """Stage a row, as `ResultRows.stage` does; it is durable with the next commit."""
        ResultRows(self.store, table).stage(number, row, *without)

    def tell(self, progress: Progress, at_once: bool = False) -> None:
        """Report progress; commit if `at_once` or if a commit is due."""
        self.session.tell(progress)
        if at_once or self.session.commit_is_due:
            self.commit()

    def commit(self, **life: Any) -> None:
        """Make the staged rows durable, with the figures."""
        self.session.commit(replace(self.store.state, figures=self.found().as_dict(), **life))

    @cached_property
    def limits(self) -> dict[str, Any]:
        """The limits of the run, in the terms of its kind."""
        return self.store.limits()

    @property
    def most(self) -> int | None:
        """The number of rows to make; ``None`` if time limits the run."""
        return self.limits.get(self.limit)

    @property
    def seconds_left(self) -> float:
        """The seconds left; infinite if the number of rows limits the run."""
        return inf if self.most is not None else float(self.limits["seconds"]) - self.session.seconds

    def repair(self, session: Session) -> None:
        forget_damaged_rows(self.store, session.observer.note, self.remedy)
        self.store.commit(self.store.state)


def stored_plan(plan: Any, later: str) -> dict[str, Any]:
    """Return a plan as stored: without the field that came `later` if that is unset, so older plans are the same."""
    return {name: value for name, value in asdict(plan).items() if value or name != later}


def limited(seconds: float, things: str, number: int | None) -> dict[str, Any]:
    """Return the limits of a run of `seconds`, or of up to `number` `things` if a number is given."""
    if number is not None:
        require_within(things, number, 1, MOST_SEED)
        return {"seconds": None, things: number}
    require_seconds(seconds)
    return {"seconds": seconds, things: None}


def last_rows(name: str, rows: list[dict[str, Any]]) -> list[Table]:
    """Return a table of the last rows; no table if there are no rows."""
    left = f"{counted(len(rows) - _SHOWN, name)} before" if len(rows) > _SHOWN else ""
    return [Table(name, rows[-_SHOWN:], rest=left)] if rows else []


def fit_threads(resources: Resources, needed: int, what: str, observer: Observer, *less: Hint) -> Resources:
    """Return `resources` with only as many threads as may hold `needed` bytes each, at least one.

    If threads are left out, the observer gets a note, with `what` after the number of bytes and `less` as hints.
    Workers are not limited, because they have their own memory.
    """
    if resources.redis is not None:
        return replace(resources, deadline=resources.deadline or _DEADLINE_SECONDS)
    wanted = resources.workers or len(usable_cores())
    threads = max(1, min(wanted, resources.budget().memory // needed))
    if threads < wanted:
        observer.note(f"using {threads} of {wanted} threads, because each may need {needed >> 20:,} MB{what}", *less)
    return replace(resources, workers=threads)
