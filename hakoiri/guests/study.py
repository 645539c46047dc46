"""The base of studies: runs that make rows, one result after another, each committed, so an interruption costs little.

A new kind of study says what its members are, which task of the workers measures one, and how a row is derived again.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, Generic, TypeVar

from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Job, Request, Table
from hakoiri.coordinator.session.kind import require_bounds
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.errors import Hint, PuzzleError, counted, require_seconds
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress, State
from hakoiri.storage.results import ResultRows, forget_damaged_rows
from hakoiri.worker.machine import usable_cores
from hakoiri.worker.transport.payload import Arrays, packed, unpacked

#: A row may take a worker minutes, so only a long silence shows that the worker has died.
_DEADLINE_SECONDS = 900.0
#: The number of last rows that a table shows.
_SHOWN = 12
_Plan = TypeVar("_Plan")
_Row = TypeVar("_Row")
_Name = TypeVar("_Name")
_Answer = TypeVar("_Answer")


class Study(Job, Generic[_Plan, _Row]):
    """A run that makes rows, up to its limits; new limits resume it."""

    named_by_plan, kernels = True, 4
    #: The types of its plan, whose `check` raises `PuzzleError` if it does not fit a puzzle, and of its rows.
    plan_class: type[Any]
    row_class: type[_Row]
    #: The name of the table of its rows, and the field of a row that is its number and is not stored, if any.
    table: ClassVar[str]
    numbered: ClassVar[str] = ""
    #: The remedy for an erased damaged row, as the repair's note states it.
    remedy: ClassVar[str]
    #: The limit that may replace ``seconds``: the number of rows to make.
    limit: ClassVar[str] = ""
    #: The options of a puzzle that its members have of their own, which are not part of the identity of a study.
    own_options: ClassVar[Callable[..., Collection[str]]] = staticmethod(lambda puzzle: ())
    #: The session passed to `work`.
    session: Session
    #: The rows, by number or another name; `begin` reads them.
    known: dict[Any, _Row]

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: Any) -> Request:
        found = super().request(spec, asked)
        if cls.limit and found.limits[cls.limit] is not None:
            return found._replace(limits={**found.limits, "seconds": None})
        if "seconds" in found.limits:
            require_seconds(found.limits["seconds"])
        return found

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        if spec.merge_mirrors:
            raise PuzzleError("mirror images are not merged in a study", Hint("leave out", "merge_mirrors"))
        puzzle = spec.build()
        if plan:
            made = cls.plan_class(**plan)
            require_bounds(made)
            made.check(puzzle)
        return puzzle

    @classmethod
    def identity(cls, puzzle: Puzzle) -> dict[str, str]:
        own = cls.own_options(puzzle)
        return {name: value for name, value in puzzle.option_texts().items() if name not in own}

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        found = super().merge_limits(limits, state, waiting)
        # A queued study keeps other limits besides new ones: all of a list, the greater of two numbers.
        for name in waiting.keys() - {"seconds", cls.limit}:
            new, old = found[name], waiting[name]
            found[name] = sorted({*new, *old}) if isinstance(new, list) else max(new, old)
        return found

    @cached_property
    def plan(self) -> _Plan:
        plan: _Plan = self.store.plan(self.plan_class)
        with self.store.fitting("plan"):
            require_bounds(plan)
        return plan

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

    def stored(self) -> dict[Any, _Row]:
        """Return the stored rows, by number or another name. `DamagedError` names one that cannot be read."""
        return ResultRows(self.store, self.table).all(self.row_class, self.numbered)

    @abstractmethod
    def tally(self, rows: Mapping[Any, _Row]) -> Figures:
        """Return the figures of rows."""

    @abstractmethod
    def make_rows(self) -> None:
        """Make the missing rows and `keep` each; raise `StopRun` if the session is to stop."""

    def begin(self) -> None:
        """Read the stored rows."""
        self.known = self.stored()

    def work(self, session: Session) -> None:
        self.session = session
        self.begin()
        with session.committing(self._commit_if_sound):
            self.make_rows()
        self.commit(status="complete")

    def _commit_if_sound(self) -> None:
        if not self.store.poisoned:
            self.commit()

    def answers(
        self, task: str, kind: type[_Answer], asked: Iterable[tuple[_Name, Any]], shared: Arrays = ()
    ) -> Iterator[tuple[_Name, _Answer]]:
        """Yield the workers' answer, a `kind`, to each request of a task, with the name that the request came with.

        They come in any order. Raises as `Executor.map` does.
        """
        names, farm = list[_Name](), self.session.context.farm

        def chunks() -> Iterator[Arrays]:
            for name, request in asked:
                names.append(name)
                yield packed(request)

        for place, answer in farm.map(farm.plan_of(None), task, chunks(), shared):
            yield names[place], unpacked(answer, kind)

    def keep(self, number: int, row: _Row) -> None:
        """Stage a row; it is known now, and durable with the next commit."""
        ResultRows(self.store, self.table).stage(number, row, self.numbered)
        self.known[number] = row

    def tell(self, progress: Progress, at_once: bool = False) -> None:
        """Report progress; commit if `at_once` or if a commit is due."""
        self.session.tell(progress)
        if at_once or self.session.commit_is_due:
            self.commit()

    def commit(self, **life: Any) -> None:
        """Make the staged rows durable, with the figures."""
        self.session.commit(replace(self.store.state, figures=self.tally(self.known).as_dict(), **life))

    def repair(self, session: Session) -> None:
        forget_damaged_rows(self.store, session.observer.note, self.remedy)
        self.store.commit(self.store.state)

    def check_rows(self, check: Check, done: int, wanted: int, things: str, measured: str) -> None:
        """Report a complete run of which only `done` of the `wanted` things are measured."""
        if self.store.state.status == "complete" and done != wanted:
            check.report.fault(f"{done:,} of {counted(wanted, things)} are {measured}")

    def check_sums(self, check: Check, rows: Mapping[Any, _Row]) -> None:
        """Report figures of the run that are not those of its rows."""
        if self.tally(rows).as_dict() != self.figures.of(self.store.state).as_dict():
            check.report.fault("the figures of the run are not the sums of its rows")


def require_version(version: int, studies: str, *known: int) -> None:
    """Raise `PuzzleError` for a plan of a version of `studies` that is not one of the `known` ones."""
    if version not in known:
        raise PuzzleError(f"the run was made by version {version} of {studies}, expected {known[-1]}")


def first_rows(name: str, rows: Sequence[dict[str, Any]], shown: int, rest: str) -> list[Table]:
    """Return a table of the first rows, with `rest` after the number of the others; no table if there are no rows."""
    left = f"{counted(len(rows) - shown, name)} more; {rest}" if len(rows) > shown else ""
    return [Table(name, [*rows[:shown]], rest=left)] if rows else []


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
