"""Studies: many random deals solved one by one on the workers; each is committed, so an interruption costs little."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

from hakoiri.coordinator.errors import OverBudgetError, StopRun
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Request, RowsJob, Table
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.coordinator.studies.table import (
    CAP,
    CONVENTIONS,
    DEALS,
    Deal,
    Solution,
    Study,
    StudyPlan,
    dealt_class,
    limit_threads,
    report,
    tables,
)
from hakoiri.errors import Hint, PuzzleError, require_within
from hakoiri.keys.layout import Key
from hakoiri.puzzles.capabilities import Convention, Dealt, Move, SearchOrder
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Figures, Progress, State
from hakoiri.storage.results import ResultRows
from hakoiri.worker.studies.deals import Goal, SolveResult, request
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import Arrays, unpacked

#: Deals of each size that are searched again without ``--full``.
_SAMPLE = 16


@dataclass(frozen=True)
class StudyFigures(Figures):
    """The number of solved deals among those within the limits, and the positions generated."""

    deals_done: int = 0
    positions: int = field(default=0, metadata={"formerly": "configurations"})


def kept_deals(study: Study, ledger: Ledger) -> dict[int, list[Deal]]:
    """Return the finished deals within the limits, by size, in the order of their numbers."""
    found = {size: ResultRows(ledger, study.named(size)).all(Deal, "number", size=size) for size in study.sizes}
    return {size: [deal for number, deal in deals.items() if number < study.deals] for size, deals in found.items()}


def missing_deals(study: Study, ledger: Ledger) -> dict[int, list[int]]:
    """Return the numbers of the missing deals, by size."""
    there = {size: set(ResultRows(ledger, study.named(size)).numbers()) for size in study.sizes}
    return {size: [number for number in range(study.deals) if number not in there[size]] for size in study.sizes}


def deal_requests(study: Study, puzzle: Dealt, number: int) -> list[Arrays]:
    """Return the tasks of one deal; if solutions are shortened, also the one for the shortest solutions."""
    plan, start = study.plan, puzzle.start_of_deal(study.plan.seed, number)
    orders: list[SearchOrder] = [plan.strategy, "bfs"] if plan.shorten else [plan.strategy]
    return [request(puzzle, start, order, puzzle.until, plan.cap) for order in orders]


def deal_of(study: Study, puzzle: Dealt, number: int, answers: dict[int, SolveResult]) -> Deal:
    """Return the result of the searches of one deal."""
    plan, solved, shortest = study.plan, answers[0], answers.get(1)
    start = puzzle.start_of_deal(plan.seed, number)
    found: dict[Convention, Solution | None] = dict.fromkeys(CONVENTIONS)
    for which in study.conventions:
        goal, nearest = _goal(solved, which), _goal(shortest, which)
        # In a depth-first search the fewest moves are known only after an exhaustive search, if one is wanted.
        if goal is not None and (solved.exhausted or plan.strategy == "bfs" or puzzle.until != "exhausted"):
            found[which] = Solution(
                len(goal.moves),
                goal.positions,
                _shortened(puzzle, start, goal.moves) if plan.shorten else None,
                None if nearest is None else len(nearest.moves),
            )
    settled = solved.exhausted or (puzzle.until != "exhausted" and all(found[which] for which in study.conventions))
    seconds = sum(answer.seconds for answer in answers.values())
    return Deal(
        puzzle.size, number, found["first"], found["fixed"], solved.positions, solved.depth, solved.exhausted,
        not settled, round(seconds, 6),
    )  # fmt: skip


def _goal(solved: SolveResult | None, which: Convention) -> Goal | None:
    if solved is None:
        return None
    return solved.goal if which == "first" else solved.fixed


def _shortened(puzzle: Dealt, start: Key, moves: list[Move]) -> dict[str, int]:
    from hakoiri.worker.solitaires.shortening import REACH, shorten

    return {str(step): left for step, left in shorten(puzzle, start, moves, REACH).left.items()}


class StudyDeals(RowsJob):
    """Solves the first deals of a seed, for each of several sizes."""

    figures = StudyFigures
    row_noun = "deals"
    remedy = "searching the deal again"
    puzzle: Dealt

    @classmethod
    def parse_request(  # type: ignore[override]
        cls, spec: PuzzleSpec, *, sizes: Sequence[int] = (), deals: int = DEALS, seed: int = 1,
        strategy: SearchOrder = "bfs", cap: int = CAP, shorten: bool = False,
    ) -> Request:  # fmt: skip
        kind = dealt_class(spec.name, spec.digest)
        allowed, plan = kind.sizes(), StudyPlan(seed, strategy, cap, shorten)
        plan.check(kind)
        require_within("deals", deals, 1, MOST_SEED)
        if kind.size_option in spec.options:
            raise PuzzleError(f"the sizes of the study already set {kind.size_option}", Hint("leave out", "option"))
        if not sizes:
            raise PuzzleError(f"no sizes are given; expected some of {allowed.describe()} for {kind.name}")
        for size in sizes:
            require_within(kind.size_option, size, allowed.least, allowed.most)
        return Request(spec, asdict(plan), {"sizes": sorted({*sizes}), "deals": deals})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        StudyPlan(**plan).check(dealt_class(spec.name, spec.digest))
        return spec.build()

    @classmethod
    def identity(cls, puzzle: Puzzle) -> dict[str, str]:
        """Return all options but the size, because a study has several sizes."""
        size = puzzle.size_option if isinstance(puzzle, Dealt) else ""
        return {name: value for name, value in puzzle.option_texts().items() if name != size}

    @classmethod
    def merge_limits(cls, limits: Mapping[str, Any], state: State, waiting: Mapping[str, Any]) -> dict[str, Any]:
        """Return the limits; a queued study keeps its sizes besides the new ones, and the most deals."""
        sizes = {*limits["sizes"], *waiting.get("sizes", ())}
        return {"sizes": sorted(sizes), "deals": max(limits["deals"], waiting.get("deals", 0))}

    @cached_property
    def study(self) -> Study:
        return Study.of(self.store, self.puzzle)

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        largest = self.puzzle.sized(max(self.study.sizes))
        return limit_threads(largest, self.study.plan.cap, resources, observer)

    def is_done(self) -> bool:
        return not any(missing_deals(self.study, self.store).values())

    def begin(self) -> None:
        self._puzzles = {size: self.puzzle.sized(size) for size in self.study.sizes}
        kept = list(chain.from_iterable(kept_deals(self.study, self.store).values()))
        self._found = StudyFigures(len(kept), sum(deal.positions for deal in kept))
        missing = missing_deals(self.study, self.store)
        self._missing = [(size, number) for size, numbers in missing.items() for number in numbers]
        if kept and self._missing:
            self.session.observer.note(f"{len(kept):,} deals are done, {len(self._missing):,} are left")

    def make_rows(self) -> None:
        try:
            self._solve()
        except StopRun:
            self.session.observer.note("stopping after the current deals")
            raise
        except MemoryError as error:
            hints = Hint("lower", "cap"), Hint("lower", "workers")
            raise OverBudgetError("the searches ran out of memory", *hints) from error

    def found(self) -> StudyFigures:
        return self._found

    def _solve(self) -> None:
        asked = (deal_requests(self.study, self._puzzles[size], number) for size, number in self._missing)
        searches = 2 if self.study.plan.shorten else 1
        answers: dict[int, dict[int, SolveResult]] = {}
        for order, result in self.session.context.executor.map("solve", chain.from_iterable(asked)):
            index, which = divmod(order, searches)
            answers.setdefault(index, {})[which] = unpacked(result, SolveResult)
            if len(answers[index]) == searches:
                self._keep_deal(*self._missing[index], answers.pop(index))

    def _keep_deal(self, size: int, number: int, answers: dict[int, SolveResult]) -> None:
        deal, table = deal_of(self.study, self._puzzles[size], number, answers), self.study.named(size)
        self.keep(table, number, deal, "number", "size")
        self._found = StudyFigures(self._found.deals_done + 1, self._found.positions + deal.positions)
        total = len(self.study.sizes) * self.study.deals
        self.tell(Progress(self._found.deals_done, total, "deals", table))

    def verify(self, check: Check) -> None:
        """Search a sample of the deals of each size again."""
        study, found = self.study, kept_deals(self.study, self.store)
        for size, deals in found.items():
            chosen = [deals[place] for place in check.sample(len(deals), _SAMPLE, size)]
            for deal in check.each(chosen, f"deals of {study.named(size)} searched again"):
                self._derive(study, deal, check)
        done = sum(map(len, found.values()))
        if self.store.state.status == "complete" and done != len(study.sizes) * study.deals:
            check.report.fault(f"{done:,} of {len(study.sizes) * study.deals:,} deals are stored")

    def _derive(self, study: Study, deal: Deal, check: Check) -> None:
        puzzle = self.puzzle.sized(deal.size)
        asked = deal_requests(study, puzzle, deal.number)
        answers = {place: unpacked(do_task("solve", puzzle, each, []), SolveResult) for place, each in enumerate(asked)}
        derived = deal_of(study, puzzle, deal.number, answers)
        check.report.count("deals")
        if replace(derived, seconds=deal.seconds) != deal:
            check.report.fault(f"deal {deal.number} of {study.named(deal.size)} is {derived}, but {deal} in the run")

    def summary(self, budget: Budget) -> dict[str, Any]:
        return report(self.study, kept_deals(self.study, self.store))

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "deals": f"{self.study.deals:,} of seed {summary['seed']} for each size",
            "searched": {"bfs": "breadth first", "dfs": "depth first"}[summary["strategy"]],
            "at most": f"{summary['cap']:,} positions",
        }

    def tables(self) -> list[Table]:
        return tables(self.study, kept_deals(self.study, self.store))
