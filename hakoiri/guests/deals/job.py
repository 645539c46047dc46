"""Studies: many random deals solved one by one on the workers; each is committed, so an interruption costs little."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import Hint, OverBudgetError, PuzzleError, require_within
from hakoiri.guests.deals import kind as kinds
from hakoiri.guests.deals.dealt import Convention, Dealt, Move, SearchOrder
from hakoiri.guests.deals.searching import MOST_POSITIONS, SolveRequest, SolveResult
from hakoiri.guests.deals.table import CONVENTIONS, Deal, Solution, limit_threads, size_report, tables
from hakoiri.guests.deals.tasks import solved
from hakoiri.guests.study import Study, require_version
from hakoiri.keys.layout import Key
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.manifest import Figures, Progress
from hakoiri.storage.results import ResultRows

#: Deals of each size that are searched again without ``--full``.
_SAMPLE = 16
#: Increase them when deals or searches, or shortening, give other figures than before.
_VERSION, _SHORTENING_VERSION = 2, 3


@dataclass(frozen=True)
class StudyPlan(kinds.DealsKind):
    """The parameters, and the version of what they lead to."""

    study_version: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "study_version", self.study_version or self._version)

    @property
    def _version(self) -> int:
        return _SHORTENING_VERSION if self.shorten else _VERSION

    def check(self, puzzle: Dealt | type[Dealt]) -> None:
        """Raise `PuzzleError` for an invalid study."""
        if self.strategy not in puzzle.orders:
            known = "|".join(puzzle.orders)
            raise PuzzleError(f"unknown strategy {self.strategy!r}", Hint("give", "strategy", known))
        if self.shorten and not (puzzle.shortens and self.strategy == "dfs"):
            text = "shortening applies to depth-first solutions of superpuzz only"
            raise PuzzleError(
                text, Hint("give", "strategy", "dfs") if puzzle.shortens else Hint("leave out", "shorten")
            )
        if not 0 < self.cap <= MOST_POSITIONS:
            raise PuzzleError(
                f"cap {self.cap} is not in 1..{MOST_POSITIONS}", Hint("give", "cap", f"1..{MOST_POSITIONS}")
            )
        require_version(self.study_version, "studies", self._version)


@dataclass(frozen=True)
class StudyFigures(Figures):
    """The number of solved deals among those within the limits, and the positions generated."""

    deals_done: int = 0
    positions: int = field(default=0, metadata={"formerly": "configurations"})


def _shortened(puzzle: Dealt, start: Key, moves: list[Move]) -> dict[str, int]:
    from hakoiri.guests.deals.shortening import REACH, shorten

    return {str(step): left for step, left in shorten(puzzle, start, moves, REACH).left.items()}


class StudyDeals(Study[StudyPlan, Deal]):
    """Solves the first deals of a seed, for each of several sizes."""

    plan_class, row_class, figures = StudyPlan, Deal, StudyFigures
    row_noun = "deals"
    remedy = "searching the deal again"
    facts = (
        "deals: {deals:,} of seed {seed} for each size", "searched: {strategy:order}", "at most: {cap:,} positions",
    )  # fmt: skip
    parameters, own_options = kinds.DealsKind, staticmethod(lambda puzzle: (puzzle.size_option,))
    puzzle: Dealt

    @classmethod
    def request(cls, spec: PuzzleSpec, asked: kinds.DealsKind) -> Request:
        kind = cls.puzzle_kind(spec)
        allowed, plan = kind.sizes(), StudyPlan(**vars(asked) | {"sizes": sorted({*asked.sizes})})
        plan.check(kind)
        if kind.size_option in spec.options:
            raise PuzzleError(f"the sizes of the study already set {kind.size_option}", Hint("leave out", "option"))
        if not asked.sizes:
            raise PuzzleError(f"no sizes are given; expected some of {allowed.describe()} for {kind.name}")
        for size in asked.sizes:
            require_within(kind.size_option, size, allowed.least, allowed.most)
        return super().request(spec, plan)

    @cached_property
    def puzzles(self) -> dict[int, Dealt]:
        """The puzzle of each size within the limits; `PuzzleError` for an invalid study."""
        self.plan.check(self.puzzle)
        for size in self.limits["sizes"]:
            self.puzzle.sizes().check(str(size))
        return {size: self.puzzle.sized(size) for size in self.limits["sizes"]}

    @property
    def deals(self) -> int:
        """The number of deals of each size."""
        return int(self.limits["deals"])

    def named(self, size: int) -> str:
        """Return the name of a size, ``columns=4``, which is also that of the table with its deals."""
        return f"{self.puzzle.size_option}={size}"

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        return limit_threads(self.puzzles[max(self.puzzles)], self.plan.cap, resources, observer)

    def by_size(self) -> dict[int, list[Deal]]:
        """Return the finished deals within the limits, by size, in the order of their numbers."""
        rows = {size: ResultRows(self.store, self.named(size)) for size in self.puzzles}
        found = {size: table.all(Deal, "number", size=size).values() for size, table in rows.items()}
        return {size: [deal for deal in deals if deal.number < self.deals] for size, deals in found.items()}

    def stored(self) -> dict[tuple[int, int], Deal]:
        return {(deal.size, deal.number): deal for deals in self.by_size().values() for deal in deals}

    def _missing(self) -> list[tuple[int, int]]:
        there = {size: {*ResultRows(self.store, self.named(size)).numbers()} for size in self.puzzles}
        return [(size, number) for size in there for number in range(self.deals) if number not in there[size]]

    def is_done(self) -> bool:
        return not self._missing()

    def make_rows(self) -> None:
        missing = self._missing()
        if self.known and missing:
            self.session.observer.note(f"{len(self.known):,} deals are done, {len(missing):,} are left")
        asked = (((deal, place), each) for deal in missing for place, each in enumerate(self._requests(*deal)))
        answers: dict[tuple[int, int], dict[int, SolveResult]] = {}
        try:
            for (deal, place), answer in self.answers("solve", SolveResult, asked):
                answers.setdefault(deal, {})[place] = answer
                if len(answers[deal]) == 1 + self.plan.shorten:
                    self._keep_deal(deal, answers.pop(deal))
        except StopRun:
            self.session.observer.note("stopping after the current deals")
            raise
        except MemoryError as error:
            hints = Hint("lower", "cap"), Hint("lower", "workers")
            raise OverBudgetError("the searches ran out of memory", *hints) from error

    def tally(self, rows: Mapping[tuple[int, int], Deal]) -> StudyFigures:
        return StudyFigures(len(rows), sum(deal.positions for deal in rows.values()))

    def _keep_deal(self, deal: tuple[int, int], answers: Mapping[int, SolveResult]) -> None:
        size, number = deal
        row = self._deal(size, number, answers)
        ResultRows(self.store, self.named(size)).stage(number, row, "number", "size")
        self.known[deal] = row
        self.tell(Progress(len(self.known), len(self.puzzles) * self.deals, "deals", self.named(size)))

    def _requests(self, size: int, number: int) -> list[SolveRequest]:
        """Return the searches of one deal; if solutions are shortened, also that for the shortest solutions."""
        plan, puzzle = self.plan, self.puzzles[size]
        start = puzzle.start_of_deal(plan.seed, number)
        orders: list[SearchOrder] = [plan.strategy, "bfs"] if plan.shorten else [plan.strategy]
        return [SolveRequest.made(puzzle, start, order, puzzle.until, plan.cap) for order in orders]

    def _deal(self, size: int, number: int, answers: Mapping[int, SolveResult]) -> Deal:
        """Return the result of the searches of one deal."""
        plan, puzzle, solved, shortest = self.plan, self.puzzles[size], answers[0], answers.get(1)
        start = puzzle.start_of_deal(plan.seed, number)
        known = solved.exhausted or puzzle.until != "exhausted"
        found: dict[Convention, Solution | None] = dict.fromkeys(CONVENTIONS)
        for which in puzzle.goal_names:
            goal, nearest = solved.reached(which), shortest.reached(which) if shortest else None
            # In a depth-first search the fewest moves are known only after an exhaustive search, if one is wanted.
            if goal is not None and (known or plan.strategy == "bfs"):
                left = _shortened(puzzle, start, goal.moves) if plan.shorten else None
                fewest = None if nearest is None else len(nearest.moves)
                found[which] = Solution(len(goal.moves), goal.positions, left, fewest)
        settled = solved.exhausted or (known and all(found[which] for which in puzzle.goal_names))
        searched = solved.positions, solved.depth, solved.exhausted, not settled
        seconds = round(sum(answer.seconds for answer in answers.values()), 6)
        return Deal(size, number, found["first"], found["fixed"], *searched, seconds)

    def verify(self, check: Check) -> None:
        """Search a sample of the deals of each size again."""
        found = self.by_size()
        for size, deals in found.items():
            for deal in check.some(deals, _SAMPLE, f"deals of {self.named(size)} searched again", size):
                answers = [solved(self.puzzles[size], each) for each in self._requests(size, deal.number)]
                derived = replace(self._deal(size, deal.number, dict(enumerate(answers))), seconds=deal.seconds)
                check.report.count("deals")
                if derived != deal:
                    name = f"deal {deal.number} of {self.named(size)}"
                    check.report.fault(f"{name} is {derived}, but {deal} in the run")
        self.check_rows(check, sum(map(len, found.values())), len(self.puzzles) * self.deals, "deals", "stored")

    def summary(self, budget: Budget) -> dict[str, Any]:
        found = self.by_size()
        return {
            "seed": self.plan.seed, "deals": self.deals, "strategy": self.plan.strategy, "cap": self.plan.cap,
            "complete": all(len(deals) == self.deals for deals in found.values()),
            "sizes": [size_report(self.puzzle, size, deals) for size, deals in found.items()],
        }  # fmt: skip

    def tables(self) -> list[Table]:
        return tables(self.puzzle, self.by_size(), self.plan.shorten)

    def rows(self) -> Iterator[dict[str, Any]]:
        for deal in self.stored().values():
            text = self.puzzles[deal.size].random_deal(self.plan.seed, deal.number)
            row: dict[str, Any] = {"size": deal.size, "number": deal.number, "deal": text}
            for which in self.puzzle.goal_names:
                found = deal.found(which)
                row[f"outcome_{which}"] = deal.outcome(which)
                for name in ("moves", "positions", "shortened", "shortest"):
                    row[f"{name}_{which}"] = None if found is None else getattr(found, name)
            row |= {"positions": deal.positions, "depth": deal.depth}
            row |= {"exhausted": int(deal.exhausted), "capped": int(deal.capped), "seconds": f"{deal.seconds:.6f}"}
            yield row
