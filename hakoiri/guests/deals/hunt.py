"""Hunts for hard deals: legs of annealing computed by the workers; the result of each is durable at once.

In each *generation* a leg of annealing begins at each deal of the pool (`guests.deals.searching`). A *cycle* of
generations begins with random deals two sizes smaller, whose positions are counted a hundred times as fast. After a
quarter of the cycle each deal is *grown* by one size, and again after another quarter. Each of these stages is cooled
from hot to cold. Halfway through the last one the best deal of all cycles returns to the pool. Each of the first cycles
has twice as many generations as the one before, and longer legs, so that hunts of any length end well cooled. A hunt
for a given deal begins each cycle with it, without the smaller sizes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.runs.certificate import certify
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import Hint, PuzzleError, require_within
from hakoiri.guests.deals import kind as kinds
from hakoiri.guests.deals.dealt import Dealt
from hakoiri.guests.deals.searching import MOST_POSITIONS, OBJECTIVES, Leg, Objective, WalkResult
from hakoiri.guests.deals.table import limit_threads
from hakoiri.guests.study import Study, last_rows
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress, local_time
from hakoiri.storage.results import DealFigures, ResultRows

#: Generations of the first cycle, a multiple of 4, and of the longest: another cycle is better than a longer one.
FIRST_CYCLE, _LONGEST_CYCLE = 8, 32
#: The size of each stage, in sizes below the requested one; all but the last take a quarter of the cycle each.
_SIZES_LESS = (2, 1, 0)
#: After this many generations of a stage the best deal replaces the worst: more often makes all deals alike.
_SELECT_EVERY = 8
#: Temperatures at the start of a cycle, after a deal has grown, and at the end of each stage, in the score's units.
#: Positions count by logarithm. A grown deal is a good one, which heat would spoil (measured: docs/how-to/hunt.md).
_TEMPERATURES: Mapping[Objective, tuple[float, float, float]] = {
    "positions": (0.08, 0.05, 0.02), "moves": (1.0, 0.6, 0.2), "depth": (0.7, 0.4, 0.15),
}  # fmt: skip
#: From this size on a leg generates `_WORK` positions: a second or two. Each smaller size halves it.
_FULL_SIZE = 7
#: The first cycle with legs of full length; each one before has legs half as long.
_FULL_CYCLE = 3
_WORK: Mapping[Objective, int] = {"positions": 10_000_000, "moves": 4_000_000, "depth": 4_000_000}


class Moment(NamedTuple):
    """The position of a generation: its cycle, its size, whether it is grown, and its step of `length` in its stage."""

    cycle: int
    size: int
    grown: bool
    step: int
    length: int


@dataclass(frozen=True)
class LegEnd:
    """The end of a leg: its last deal, the best deal that it met, the scores of both, and its work.

    `seconds` are those of all sessions, `tried` and `generated` the leg's own. The best deal's `figures` are known if
    it is better than all deals of earlier generations.
    """

    leg: int
    deal: str
    score: int
    best: str
    best_score: int
    tried: int
    generated: int
    seconds: float = 0.0
    when: str = ""
    figures: DealFigures | None = None


@dataclass(frozen=True)
class Record:
    """A deal better than those of all legs before, with all its figures, and the time when it was found."""

    score: int
    deal: str
    figures: DealFigures
    leg: int
    seconds: float
    when: str


def records_among(standings: Mapping[int, LegEnd]) -> list[Record]:
    """Return the records in the order of their legs, whatever their order of arrival."""
    records: list[Record] = []
    for number, leg in sorted(standings.items()):
        if leg.figures is not None and (not records or leg.best_score > records[-1].score):
            records.append(Record(leg.best_score, leg.best, leg.figures, number, leg.seconds, leg.when))
    return records


@dataclass(frozen=True)
class HuntPlan(kinds.HuntKind):
    """The parameters. A leg ends when `work` positions are generated.

    If `near`, cycles begin with the start also if deals do not grow.
    """

    work: int = 0

    @classmethod
    def made(cls, puzzle: Puzzle, asked: kinds.HuntKind) -> "HuntPlan":
        """Return the plan of a new hunt; `PuzzleError` if the objective does not fit the puzzle."""
        less = max(0, _FULL_SIZE - puzzle.size) if isinstance(puzzle, Dealt) and puzzle.size_option else 0
        plan = cls(**vars(asked), work=_WORK.get(asked.objective, 0) >> less)
        plan.check(puzzle)
        return plan

    def check(self, puzzle: Puzzle) -> None:
        require_within("cap", self.cap, 1, MOST_POSITIONS)
        if self.objective not in OBJECTIVES:
            raise PuzzleError(f"unknown objective {self.objective!r}", Hint("give", "maximise", "|".join(OBJECTIVES)))
        if self.objective == "moves" and puzzle.parameters.get("goal") == "":
            raise PuzzleError(
                f"this {puzzle.name} has no goal, so no number of moves to maximise", Hint("give", "goal", "CONF")
            )


@dataclass(frozen=True)
class DealPool:
    """The deals that a hunt follows, generation by generation."""

    plan: HuntPlan
    puzzle: Dealt
    #: Cycles begin with this deal, or with the best one once that is better, instead of smaller ones that grow.
    start: str | None = None

    @classmethod
    def of(cls, plan: HuntPlan, puzzle: Dealt, start: str | None) -> "DealPool":
        """Return the pool of a hunt; `ConfigurationError` for an invalid start.

        If deals cannot grow, `start` is not used here, unless the plan is `near` it: it only names the pieces.
        """
        return cls(plan, puzzle, puzzle.tidy_deal(start) if start and (puzzle.grows or plan.near) else None)

    def moment(self, generation: int) -> Moment:
        """Return the cycle and stage of a generation, counted from 0."""
        if self.start is None:
            return moment_of(generation, stages_of(self.puzzle))
        return moment_of(generation, [self.puzzle.size])._replace(grown=True)

    def leg(self, number: int, deals: Sequence[str], above: int) -> Leg:
        """Return leg `number`, counted from 0 over all generations; `deals` are the first deals of its generation."""
        generation, member = divmod(number, self.plan.pool)
        moment = self.moment(generation)
        # In millionths, as in all hunts before.
        heat = round(temperature(self.plan.objective, moment) * 1e6) / 1e6
        work = self.plan.work >> max(0, _FULL_CYCLE - moment.cycle)
        seed = next(random_words((self.plan.seed << 32) + number))
        return Leg(deals[member], self.plan.objective, seed, heat, work, self.plan.cap, above)

    def deals(self, generation: int, before: Sequence[LegEnd], best: LegEnd | None = None) -> list[str]:
        """Return the deals that a generation begins with; `before` are the ends of the previous one, by member.

        `best` is the leg with the best deal of all before this generation.
        """
        puzzle, moment = self.puzzle, self.moment(generation)
        if self.start is not None and not moment.step:
            return [best.best if best else self.start] * self.plan.pool
        if not moment.step and not moment.grown:
            numbers = range(moment.cycle * self.plan.pool, (moment.cycle + 1) * self.plan.pool)
            return [puzzle.sized(moment.size).random_deal(self.plan.seed, number) for number in numbers]
        standings = list(before)
        if not moment.step:
            # The better half twice, each copy grown differently.
            standings.sort(key=lambda standing: -standing.score)
            standings = [standings[member // 2] for member in range(self.plan.pool)]
        elif moment.step % _SELECT_EVERY == 0:
            scores = [standing.score for standing in standings]
            winner = standings[scores.index(max(scores))]
            if best is not None and moment.size == puzzle.size and 2 * moment.step == moment.length:
                winner = replace(best, deal=best.best)
            standings[scores.index(min(scores))] = winner
        deals = [standing.deal for standing in standings]
        if moment.step:
            return deals
        smaller, first = puzzle.sized(moment.size - 1), generation * self.plan.pool
        return [
            smaller.grown(deal, next(random_words((self.plan.seed << 32) + ~(first + member))))
            for member, deal in enumerate(deals)
        ]


def stages_of(puzzle: Dealt) -> list[int]:
    """Return the sizes of a cycle's stages, the puzzle's own last."""
    least = puzzle.sizes().least if puzzle.grows else puzzle.size
    return [puzzle.size - less for less in _SIZES_LESS if puzzle.size - less >= least]


def moment_of(generation: int, stages: Sequence[int]) -> Moment:
    """Return the position of a generation in cycles with these sizes."""
    cycle, length = 0, FIRST_CYCLE
    while True:
        for place, stage in enumerate(stages, 1):
            part = length // 4 if place < len(stages) else length - length // 4 * (len(stages) - 1)
            if generation < part:
                return Moment(cycle, stage, place > 1, generation, part)
            generation -= part
        cycle, length = cycle + 1, min(2 * length, _LONGEST_CYCLE)


def temperature(objective: Objective, moment: Moment) -> float:
    """Return the temperature, which falls geometrically from the first generation of a stage to its last."""
    hot, warm, cold = _TEMPERATURES[objective]
    begun = warm if moment.grown else hot
    return begun * math.exp(math.log(cold / begun) * moment.step / (moment.length - 1))


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


class HuntDeals(Study[HuntPlan, LegEnd]):
    """A search for the hardest deal, limited by total seconds or legs."""

    plan_class, row_class, figures, table, numbered = HuntPlan, LegEnd, HuntFigures, LEG, "leg"
    row_noun = "legs and records"
    remedy = "walking the leg again"
    facts = (
        "most {objective}: {best[score]:,}", "deal: {best[deal]:rows}", "deals tried: deals",
        "positions generated: positions",
    )  # fmt: skip
    limit = "legs"
    parameters = kinds.HuntKind
    puzzle: Dealt

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.HuntKind) -> Request:
        cls.puzzle_kind(spec)
        if asked.near and spec.start is None:
            raise PuzzleError("near needs a start", Hint("give", "start", "CONF"))
        return super().request(spec, HuntPlan.made(spec.build(), asked))

    @property
    def best(self) -> Record | None:
        return next(reversed(self.records()), None)

    def records(self) -> list[Record]:
        """Return the records, each better than the one before. `DamagedError` as for `stored`."""
        return records_among(self.stored())

    def deal_spec(self, record: Record) -> PuzzleSpec:
        return replace(PuzzleSpec.from_dict(self.store.manifest.puzzle), start=record.deal)

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        return limit_threads(self.puzzle, self.plan.cap, resources, observer)

    def is_done(self) -> bool:
        return self.most is not None and set(range(self.most)) <= set(ResultRows(self.store, LEG).numbers())

    def begin(self) -> None:
        super().begin()
        self._pool = DealPool.of(self.plan, self.puzzle, self.store.manifest.puzzle["start"])
        self._best: LegEnd | None = None

    def make_rows(self) -> None:
        """Walk generation after generation, up to the limits. Legs in progress at a `StopRun` are lost."""
        generation = 0
        while self._goes_on(generation * self.plan.pool):
            self._follow(generation)
            self._remember_best(generation)
            generation += 1

    def tally(self, rows: Mapping[int, LegEnd]) -> HuntFigures:
        legs = rows.values()
        best = max((leg.best_score for leg in legs if leg.figures is not None), default=None)
        return HuntFigures(best, len(legs), sum(leg.tried for leg in legs), sum(leg.generated for leg in legs))

    def _goes_on(self, leg: int) -> bool:
        """Return whether to walk a leg; time counts only after a record, or a first cycle without one."""
        if self.most is not None:
            return leg < self.most
        begun = self._score == self._nothing and leg < FIRST_CYCLE * self.plan.pool
        return begun or leg in self.known or self.seconds_left > 0

    def _follow(self, generation: int) -> None:
        """Walk the missing legs of a generation."""
        numbers = range(generation * self.plan.pool, (generation + 1) * self.plan.pool)
        missing = [number for number in numbers if number not in self.known]
        if not missing:
            return
        before = [self.known[number - self.plan.pool] for number in numbers] if generation else []
        deals = self._pool.deals(generation, before, self._best)
        above = self._best_before(numbers[0])
        legs = ((number, self._pool.leg(number, deals, above)) for number in takewhile(self._goes_on, missing))
        for number, walked in self.answers("hunt", WalkResult, legs):
            self._land(number, walked)

    def _remember_best(self, generation: int) -> None:
        """Keep the leg with the best deal of the full size; ties go to the first, whatever the order of arrival."""
        pool = self.plan.pool
        if self._pool.moment(generation).size == self.puzzle.size:
            for number in range(generation * pool, (generation + 1) * pool):
                leg = self.known.get(number)
                if leg is not None and (self._best is None or leg.best_score > self._best.best_score):
                    self._best = leg

    @property
    def _nothing(self) -> int:
        return _NOTHING[self.plan.objective]

    @property
    def _score(self) -> int:
        return self._best_before(None)

    def _best_before(self, leg: int | None) -> int:
        """Return the best score of the legs before one, or of all, whatever their order of arrival."""
        known = (each for each in self.known.values() if leg is None or each.leg < leg)
        return max((each.best_score for each in known if each.figures is not None), default=self._nothing)

    def _land(self, leg: int, walked: WalkResult) -> None:
        seconds = round(self.session.seconds, 3)
        before = self._score
        self.keep(leg, LegEnd(leg=leg, **vars(walked), seconds=seconds, when=local_time()))
        better, found = self._score > before, self._score != self._nothing
        best = f"best {self._score:,} {self.plan.objective}" if found else "nothing found yet"
        left = None if self.most is not None else (max(0.0, self.seconds_left),) * 2
        self.tell(Progress(self.tally(self.known).deals, None, "deals tried", best, left), at_once=better)
        if better:
            self.session.observer.note(f"record: {walked.best_score:,} {self.plan.objective}: {walked.best}")

    def verify(self, check: Check) -> None:
        """Derive the best record again by a search by layers; with `full` every record."""
        legs = self.stored()
        records = records_among(legs)
        check.report.count("legs", len(legs))
        chosen, resources = records if check.full else records[-1:], Resources(memory=check.context.budget.memory)
        check.report.sampled = len(chosen) < len(records)
        for record in check.each(chosen, "records derived again"):
            try:
                certify(self.deal_spec(record), record.figures, resources, check.control, check.observer)
            except ContradictionError as error:
                check.report.fault(str(error))
            check.report.count("records")
        self.check_sums(check, legs)

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = [asdict(record) for record in self.records()]
        return {"best": records[-1] if records else None, "records": records}

    def tables(self) -> list[Table]:
        records = self.records()
        # Legs end in any order: a record stands when it and all records before it are known.
        known = accumulate(((record.seconds, record.when) for record in records), max)
        rows = [
            {"after": f"{seconds:,.0f} s", "deal": number, **asdict(record.figures), "when": when}
            for number, (record, (seconds, when)) in enumerate(zip(records, known, strict=True), 1)
        ]
        return last_rows("records", rows)
