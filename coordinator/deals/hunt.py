"""Hunts for hard deals: legs of annealing given to the workers, every leg and every record durable as it lands."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from coordinator.deals.hunt_plan import FIRST_CYCLE, Hunt, Record, Standing, record_of, standing_of
from coordinator.executors.opening import open_context
from coordinator.session.control import Control, Observer
from coordinator.session.resources import Resources
from coordinator.session.session import ComputeContext
from puzzles.jit import prepare
from storage.errors import StorageError
from storage.ledger.manifest import Progress
from storage.results.findings import Findings
from worker.deals.hunting import Walked, answered, request
from worker.tasks import Arrays
from worker.warm import PREPARING, load_walking_kernels

_LEG, _RECORD = "leg", "record"
#: Scores that are no record: one position, or no way to the goal.
_NOTHING: Mapping[str, int] = {"positions": 1, "moves": -1, "depth": 0}


@dataclass(frozen=True)
class Limits:
    """When to stop: after `seconds` of this call (a first cycle may take longer), or with so many `legs` in all."""

    seconds: float | None = None
    legs: int | None = None


@dataclass(frozen=True)
class HuntResult:
    """All that a hunt has found: its records, each better than the one before, and what it took in all calls."""

    records: list[Record]
    legs: int
    tried: int
    generated: int
    seconds: float

    @property
    def best(self) -> Record | None:
        """The last record."""
        return self.records[-1] if self.records else None


def kept(hunt: Hunt, data: Path) -> HuntResult:
    """What earlier calls have found."""
    with Findings(hunt.file(data), hunt.about()) as findings:
        return _Chase(hunt, findings).found()


def chase(
    hunt: Hunt, data: Path, resources: Resources, limits: Limits, control: Control, observer: Observer
) -> HuntResult:
    """Go on with a hunt, or begin it, until `limits`; a record is durable when the observer hears of it.

    Raises `StopRun` when `control` stops it: legs on their way are lost, nothing else is.
    """
    puzzle = hunt.build()
    with Findings(hunt.file(data), hunt.about()) as findings:
        prepare(lambda: load_walking_kernels(puzzle), lambda: observer.note(PREPARING))
        with open_context(puzzle, hunt.spec, resources, control, observer) as context:
            chased = _Chase(hunt, findings)
            chased.go_on(context, limits, observer)
            return chased.found()


class _Chase:
    """One call's time with the findings of a hunt."""

    def __init__(self, hunt: Hunt, findings: Findings) -> None:
        self._hunt, self._findings, self._puzzle = hunt, findings, hunt.build()
        try:
            self._standings = {number: standing_of(number, row) for number, row in findings.rows(_LEG).items()}
            records = [record_of(row) for row in findings.rows(_RECORD).values()]
        except (KeyError, TypeError) as error:
            raise StorageError(f"{findings.path} is damaged: {error}; move it away and begin anew") from error
        self._records = sorted(records, key=lambda record: record.score)
        self._tried = sum(standing.tried for standing in self._standings.values())
        self._before = max((standing.seconds for standing in self._standings.values()), default=0.0)
        self._began = time.monotonic()
        self._best: Standing | None = None

    def found(self) -> HuntResult:
        """Everything so far."""
        legs = self._standings.values()
        seconds = max((leg.seconds for leg in legs), default=0.0)
        return HuntResult(self._records, len(legs), self._tried, sum(leg.generated for leg in legs), seconds)

    def go_on(self, context: ComputeContext, limits: Limits, observer: Observer) -> None:
        """Generation after generation."""
        self._began, self._limits, self._observer = time.monotonic(), limits, observer
        self._best, generation = None, 0
        while self._goes_on(generation * self._hunt.pool):
            self._follow(generation, context)
            self._remember_best(generation)
            generation += 1

    def _goes_on(self, leg: int) -> bool:
        """Whether a leg is to be walked: whatever the time, until there is a record or the first cycle has none."""
        if self._limits.legs is not None and leg >= self._limits.legs:
            return False
        begun = not self._records and leg < FIRST_CYCLE * self._hunt.pool
        if self._limits.seconds is None or begun or leg in self._standings:
            return True
        return time.monotonic() - self._began < self._limits.seconds

    def _follow(self, generation: int, context: ComputeContext) -> None:
        """Walk the legs of a generation that are not there yet."""
        numbers = range(generation * self._hunt.pool, (generation + 1) * self._hunt.pool)
        missing = [number for number in numbers if number not in self._standings]
        if not missing:
            return
        before = [self._standings[number - self._hunt.pool] for number in numbers] if generation else []
        deals = self._hunt.deals(generation, before, self._best)
        above = self._score

        def chunks() -> Iterator[Arrays]:
            for number in missing:
                if not self._goes_on(number):
                    return
                yield request(self._hunt.leg(number, deals, above))

        for place, result in context.executor.map("hunt", chunks()):
            self._land(missing[place], answered(result))

    def _remember_best(self, generation: int) -> None:
        """Keep the leg that met the best deal of the full size: the first of several, in whatever order they landed."""
        pool = self._hunt.pool
        if self._hunt.moment(generation).size == self._puzzle.size:
            for number in range(generation * pool, (generation + 1) * pool):
                leg = self._standings.get(number)
                if leg is not None and (self._best is None or leg.best_score > self._best.best_score):
                    self._best = leg

    @property
    def _score(self) -> int:
        """What a record has to beat."""
        return self._records[-1].score if self._records else _NOTHING[self._hunt.objective]

    def _land(self, leg: int, walked: Walked) -> None:
        seconds = round(self._before + time.monotonic() - self._began, 3)
        # IMPORTANT: the record before its leg. A kill in between walks the leg again, and finds nothing new in it.
        if walked.best_score > self._score and walked.figures is not None:
            when = time.strftime("%Y-%m-%d %H:%M:%S")
            record = Record(walked.best_score, walked.best, walked.figures, leg, seconds, when)
            self._findings.add(_RECORD, leg, asdict(record))
            self._records.append(record)
            self._observer.note(f"record: {record.score:,} {self._hunt.objective}: {record.deal}")
        standing = Standing(
            leg, walked.deal, walked.score, walked.best, walked.best_score, walked.tried, walked.generated, seconds
        )
        self._findings.add(_LEG, leg, {name: value for name, value in asdict(standing).items() if name != "leg"})
        self._standings[leg] = standing
        self._tried += standing.tried
        self._report()

    def _report(self) -> None:
        best = f"best {self._score:,} {self._hunt.objective}" if self._records else "nothing found yet"
        if self._limits.seconds is not None:
            left = max(0, round(self._limits.seconds - (time.monotonic() - self._began)))
            best += f", {left // 60}:{left % 60:02d} left"
        self._observer.progress(Progress(self._tried, None, "deals tried", best))
