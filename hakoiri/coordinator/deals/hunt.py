"""Hunts for hard deals: legs of annealing computed by the workers; the result of each is durable when it arrives."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from hakoiri.coordinator.deals import hunt_plan
from hakoiri.coordinator.deals.certificate import certify
from hakoiri.coordinator.deals.dealing import limit_threads
from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.rows import RowsJob, last_rows, limited
from hakoiri.coordinator.session.session import Observer
from hakoiri.puzzles.capabilities import Dealt
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Figures, Progress, local_time
from hakoiri.storage.results.rows import ResultRows
from hakoiri.worker.deals.hunting import Objective, WalkResult
from hakoiri.worker.plain import Arrays, packed, unpacked
from hakoiri.worker.warm import load_solving_kernels, load_walking_kernels

LEG = "leg"
#: Scores too low for a record: one position, or no path to the goal.
_NOTHING: Mapping[str, int] = {"positions": 1, "moves": -1, "depth": 0}


@dataclass(frozen=True)
class HuntFigures(Figures):
    """The best score (``None``: no record yet), and the totals of legs, deals tried and positions generated."""

    best_score: int | None = None
    legs: int = 0
    deals: int = 0
    positions: int = field(default=0, metadata={"formerly": "configurations"})


def legs_of(ledger: Ledger) -> dict[int, hunt_plan.LegEnd]:
    """Return how each leg ended, by number. `DamagedError` for an invalid row."""
    return ResultRows(ledger, LEG).all(hunt_plan.LegEnd, "leg")


def records_of(ledger: Ledger) -> list[hunt_plan.Record]:
    """Return the records, each better than the one before. `DamagedError` as for `legs_of`."""
    return hunt_plan.records_among(legs_of(ledger))


class HuntDeals(RowsJob):
    """A search for the hardest deal, limited by total seconds or legs."""

    kernels = (load_solving_kernels, load_walking_kernels)
    figures = HuntFigures
    row_noun = "legs and records"
    remedy = "walking the leg again"
    limit = "legs"
    puzzle: Dealt

    @classmethod
    def parse_request(  # type: ignore[override]
        cls, spec: PuzzleSpec, *, objective: Objective = "positions", seed: int = 1, cap: int = hunt_plan.CAP,
        pool: int = hunt_plan.POOL, seconds: float = hunt_plan.SECONDS, legs: int | None = None,
    ) -> Request:  # fmt: skip
        plan = hunt_plan.HuntPlan.made(hunt_plan.hunted(spec), objective, seed, cap, pool)
        return Request(spec, asdict(plan), limited(seconds, "legs", legs))

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        hunt_plan.HuntPlan(**plan)
        return hunt_plan.hunted(spec)

    @cached_property
    def plan(self) -> hunt_plan.HuntPlan:
        return self.store.plan(hunt_plan.HuntPlan)

    @property
    def best(self) -> hunt_plan.Record | None:
        return next(reversed(records_of(self.store)), None)

    def deal_spec(self, record: hunt_plan.Record) -> PuzzleSpec:
        return replace(PuzzleSpec.from_dict(self.store.manifest.puzzle), start=record.deal)

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        return limit_threads(self.puzzle, self.plan.cap, resources, observer)

    def is_done(self) -> bool:
        return self.most is not None and set(range(self.most)) <= set(ResultRows(self.store, LEG).numbers())

    def begin(self) -> None:
        self._pool = hunt_plan.DealPool.of(self.plan, self.puzzle, self.store.manifest.puzzle["start"])
        self._standings = legs_of(self.store)
        self._score = self._best_before(None)
        self._best: hunt_plan.LegEnd | None = None

    def make_rows(self) -> None:
        """Walk generation after generation, up to the limits. Legs in progress at a `StopRun` are lost."""
        generation = 0
        while self._goes_on(generation * self.plan.pool):
            self._follow(generation)
            self._remember_best(generation)
            generation += 1

    def found(self) -> HuntFigures:
        legs, best = self._standings.values(), None if self._score == self._nothing else self._score
        return HuntFigures(best, len(legs), sum(leg.tried for leg in legs), sum(leg.generated for leg in legs))

    def _goes_on(self, leg: int) -> bool:
        """Return whether to walk a leg; time counts only after a record, or a first cycle without one."""
        if self.most is not None:
            return leg < self.most
        begun = self._score == self._nothing and leg < hunt_plan.FIRST_CYCLE * self.plan.pool
        return begun or leg in self._standings or self.seconds_left > 0

    def _follow(self, generation: int) -> None:
        """Walk the missing legs of a generation."""
        numbers = range(generation * self.plan.pool, (generation + 1) * self.plan.pool)
        missing = [number for number in numbers if number not in self._standings]
        if not missing:
            return
        before = [self._standings[number - self.plan.pool] for number in numbers] if generation else []
        deals = self._pool.deals(generation, before, self._best)
        above = self._best_before(numbers[0])

        def chunks() -> Iterator[Arrays]:
            for number in missing:
                if not self._goes_on(number):
                    return
                yield packed(self._pool.leg(number, deals, above))

        for place, result in self.session.context.executor.map("hunt", chunks()):
            self._land(missing[place], unpacked(result, WalkResult))

    def _remember_best(self, generation: int) -> None:
        """Keep the leg with the best deal of the full size; ties go to the first, whatever the order of arrival."""
        pool = self.plan.pool
        if self._pool.moment(generation).size == self.puzzle.size:
            for number in range(generation * pool, (generation + 1) * pool):
                leg = self._standings.get(number)
                if leg is not None and (self._best is None or leg.best_score > self._best.best_score):
                    self._best = leg

    @property
    def _nothing(self) -> int:
        return _NOTHING[self.plan.objective]

    def _best_before(self, leg: int | None) -> int:
        """Return the best score of the legs before one, or of all, whatever their order of arrival."""
        known = (each for each in self._standings.values() if leg is None or each.leg < leg)
        return max((each.best_score for each in known if each.figures is not None), default=self._nothing)

    def _land(self, leg: int, walked: WalkResult) -> None:
        seconds = round(self.session.seconds, 3)
        standing = hunt_plan.LegEnd(leg=leg, **vars(walked), seconds=seconds, when=local_time())
        self.keep(LEG, leg, standing, "leg")
        self._standings[leg] = standing
        better = walked.figures is not None and walked.best_score > self._score
        self._score = walked.best_score if better else self._score
        found = self._score != self._nothing
        best = f"best {self._score:,} {self.plan.objective}" if found else "nothing found yet"
        left = None if self.most is not None else (max(0.0, self.seconds_left),) * 2
        self.tell(Progress(self.found().deals, None, "deals tried", best, left), at_once=better)
        if better:
            self.session.observer.note(f"record: {walked.best_score:,} {self.plan.objective}: {walked.best}")

    def verify(self, check: Check) -> None:
        """Derive the best record again by a search by layers; with `full` every record."""
        legs = legs_of(self.store)
        records = hunt_plan.records_among(legs)
        check.report.count("legs", len(legs))
        chosen, resources = records if check.full else records[-1:], Resources(memory=check.context.budget.memory)
        check.report.sampled = len(chosen) < len(records)
        for record in check.each(chosen, "records derived again"):
            try:
                certify(self.deal_spec(record), record.figures, resources, check.control, check.observer)
            except ContradictionError as error:
                check.report.fault(str(error))
            check.report.count("records")
        said, found = HuntFigures.of(self.store.state).best_score, records[-1].score if records else None
        if said != found:
            check.report.fault(f"the best in the state is {said}, but {found} in the records")

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = [asdict(record) for record in records_of(self.store)]
        return {"best": records[-1] if records else None, "records": records}

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        best = summary["best"]
        return {
            f"most {self.plan.objective}": None if best is None else best["score"],
            "deal": None if best is None else "\n".join(best["deal"].split("/")),
            "deals tried": summary["deals"],
            "positions generated": summary["positions"],
        }

    def tables(self) -> list[Table]:
        records = records_of(self.store)
        # Legs end in any order: a record stands when it and all records before it are known.
        known = accumulate(((record.seconds, record.when) for record in records), max)
        rows = [
            {"after": f"{seconds:,.0f} s", "deal": number, **asdict(record.figures), "when": when}
            for number, (record, (seconds, when)) in enumerate(zip(records, known, strict=True), 1)
        ]
        return last_rows("records", rows)
