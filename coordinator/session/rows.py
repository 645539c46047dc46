"""The base of runs that make rows: one result after another, each durable, so that a stop at any time costs little."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar

from hakoiri.coordinator.session.job import Job, Table
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.puzzles.errors import Step, counted, require_seconds, require_within
from hakoiri.puzzles.keys.seeds import MOST_SEED
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results.rows import ResultRows, forget_damaged_rows
from hakoiri.worker.machine import usable_cores

#: A row may take minutes of a worker; one that dies is found out by its silence.
_DEADLINE_SECONDS = 900.0
#: The last rows that a table shows.
_SHOWN = 12


class RowsJob(Job):
    """A run that makes rows, up to its limits, and on from there with other limits."""

    named_by_plan = True
    #: What a repair does about a damaged row, which it forgets.
    remedy: ClassVar[str]
    #: The limit that may stand in the place of ``seconds``: how many of these to make.
    limit: ClassVar[str] = ""
    #: That of `work`.
    session: Session

    @abstractmethod
    def begin(self) -> None:
        """Read what is there."""

    @abstractmethod
    def make_rows(self) -> None:
        """Make the rows that are missing, and `keep` each; raise `StopRun` where the session is to stop."""

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

    def keep(self, table: str, number: int, row: Mapping[str, Any]) -> None:
        """Stage a row; it is durable with the next commit."""
        ResultRows(self.store, table).stage(number, row)

    def tell(self, progress: Progress, at_once: bool = False) -> None:
        """Say how far the work is; commit, unless the last commit was a moment ago and this one can wait."""
        self.session.tell(progress)
        if at_once or self.session.commit_is_due:
            self.commit()

    def commit(self, **life: Any) -> None:
        """Make what is staged durable, with its figures."""
        self.session.commit(replace(self.store.state, figures=self.found().as_dict(), **life))

    @cached_property
    def limits(self) -> dict[str, Any]:
        """Up to where to go, in the words of the kind."""
        return self.store.limits()

    @property
    def most(self) -> int | None:
        """How many to make; ``None`` where the time says so."""
        return self.limits.get(self.limit)

    @property
    def seconds_left(self) -> float:
        """How long to go on; infinite where the number is limited instead."""
        return inf if self.most is not None else float(self.limits["seconds"]) - self.session.seconds

    def repair(self, session: Session) -> None:
        forget_damaged_rows(self.store, session.observer.note, self.remedy)
        self.store.commit(self.store.state)


def limited(seconds: float, things: str, number: int | None) -> dict[str, Any]:
    """Return the limits of a run that goes on for so long, or up to so many `things` where a number is given."""
    if number is not None:
        require_within(things, number, 1, MOST_SEED)
        return {"seconds": None, things: number}
    require_seconds(seconds)
    return {"seconds": seconds, things: None}


def last_rows(name: str, rows: list[dict[str, Any]]) -> list[Table]:
    """Return a table of the last rows; none where there are no rows."""
    left = f"{counted(len(rows) - _SHOWN, name)} before" if len(rows) > _SHOWN else ""
    return [Table(name, rows[-_SHOWN:], rest=left)] if rows else []


def fit_threads(resources: Resources, needed: int, what: str, observer: Observer, *less: Step) -> Resources:
    """Return resources with no more threads than may hold `needed` bytes each, one at least.

    `what` follows the number in the note that some are left out; `less` may help. Workers have their own memory.
    """
    if resources.redis is not None:
        return replace(resources, deadline=resources.deadline or _DEADLINE_SECONDS)
    wanted = resources.workers or len(usable_cores())
    threads = max(1, min(wanted, resources.budget().memory // needed))
    if threads < wanted:
        observer.note(f"{threads} of {wanted} threads: each may need {needed >> 20:,} MB{what}", *less)
    return replace(resources, workers=threads)
