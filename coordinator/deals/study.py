"""Studies: many random deals solved one by one on the workers, each finding durable, so that any stop costs little."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import psutil

from coordinator.deals.study_plan import Plan
from coordinator.deals.study_table import CONVENTIONS, Deal, Solution
from coordinator.errors import OverBudgetError, StopRun
from coordinator.executors.opening import cores, open_context
from coordinator.session.control import Control, Observer
from coordinator.session.resources import Resources
from puzzles.capabilities import Convention, Dealt, Move, SearchOrder
from puzzles.jit import prepare
from puzzles.keys.layout import Key
from storage.errors import StorageError
from storage.ledger.manifest import Progress
from storage.results.findings import Findings
from worker.deals.solving import Goal, Solved, answered, request
from worker.tasks import SOLVERS, Arrays
from worker.warm import PREPARING, load_solving_kernels

#: Findings are made durable, and counted, together where they come faster than this.
_KEEP_SECONDS = 0.2
#: A deal may take minutes; workers that die are found out by their silence.
_DEADLINE_SECONDS = 900.0


def kept(plan: Plan, data: Path) -> dict[int, list[Deal]]:
    """The deals that are finished, by size, in the order of their numbers."""
    with Findings(plan.file(data), plan.about()) as findings:
        return _kept(plan, findings)


def _kept(plan: Plan, findings: Findings) -> dict[int, list[Deal]]:
    try:
        return {
            size: [
                Deal.of(size, number, figures)
                for number, figures in findings.rows(plan.named(size)).items()
                if number < plan.deals
            ]
            for size in plan.sizes
        }
    except (KeyError, TypeError) as error:
        raise StorageError(f"{findings.path} is damaged: {error}; move it away and begin anew") from error


def study(plan: Plan, data: Path, resources: Resources, control: Control, observer: Observer) -> dict[int, list[Deal]]:
    """All deals of a plan by size: those that were there, and the others, searched now.

    Each deal is durable when the observer hears of it. Raises `StopRun` when `control` stops it; the same plan goes on.
    """
    with Findings(plan.file(data), plan.about()) as findings:
        there = {size: {deal.number for deal in deals} for size, deals in _kept(plan, findings).items()}
        missing = {size: [n for n in range(plan.deals) if n not in there[size]] for size in plan.sizes}
        done, total = 0, sum(map(len, missing.values()))
        if total and any(there.values()):
            observer.note(f"{sum(map(len, there.values())):,} deals were there before, {total:,} are left")
        puzzles = [plan.build(size) for size, numbers in missing.items() if numbers]
        if puzzles:
            resources = _fitted(plan, max(puzzles, key=lambda puzzle: puzzle.size), resources, observer)
        for size, numbers in missing.items():
            if numbers:
                for deals in _batches(_search(plan, size, numbers, resources, control, observer)):
                    findings.add_many(plan.named(size), {deal.number: deal.figures() for deal in deals})
                    done += len(deals)
                    observer.progress(Progress(done, total, "deals", f"{plan.puzzle} {plan.named(size)}"))
        return _kept(plan, findings)


def _batches(deals: Iterator[Deal]) -> Iterator[list[Deal]]:
    """Those that come within a moment together, for making them durable takes a moment; those before a stop too."""
    batch: list[Deal] = []
    kept_at = 0.0
    try:
        for deal in deals:
            batch.append(deal)
            if time.monotonic() - kept_at >= _KEEP_SECONDS:
                yield batch
                batch, kept_at = [], time.monotonic()
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _search(
    plan: Plan, size: int, numbers: Sequence[int], resources: Resources, control: Control, observer: Observer
) -> Iterator[Deal]:
    """Deals searched on the workers, in the order in which they are finished."""
    puzzle = plan.build(size)
    prepare(lambda: load_solving_kernels(puzzle), lambda: observer.note(PREPARING))
    orders = (_orders(plan, puzzle, number) for number in numbers)
    searches = 2 if plan.shorten else 1
    with open_context(puzzle, plan.spec(size), resources, control, observer) as context:
        answers: dict[int, dict[int, Solved]] = {}
        try:
            for order, result in context.executor.map("solve", chain.from_iterable(orders)):
                index, which = divmod(order, searches)
                answers.setdefault(index, {})[which] = answered(result)
                if len(answers[index]) == searches:
                    yield _deal(plan, puzzle, numbers[index], answers.pop(index))
        except StopRun:
            observer.note("stopping when the deals in hand are searched")
            raise
        except MemoryError as error:
            raise OverBudgetError("the searches ran out of memory: lower --cap or --workers") from error


def _orders(plan: Plan, puzzle: Dealt, number: int) -> list[Arrays]:
    """What is asked of the workers for one deal; where solutions are shortened, the shortest ones too."""
    start = puzzle.start_of_deal(plan.seed, number)
    orders: list[SearchOrder] = [plan.strategy, "bfs"] if plan.shorten else [plan.strategy]
    return [request(puzzle, start, order, puzzle.until, plan.cap) for order in orders]


def _deal(plan: Plan, puzzle: Dealt, number: int, answers: dict[int, Solved]) -> Deal:
    """What is kept of the searches of one deal."""
    solved, shortest, start = answers[0], answers.get(1), puzzle.start_of_deal(plan.seed, number)
    found: dict[Convention, Solution | None] = dict.fromkeys(CONVENTIONS)
    for which in plan.conventions:
        goal, nearest = _goal(solved, which), _goal(shortest, which)
        # Depth first, where all is to be seen, the fewest moves are known when it is, not before.
        if goal is not None and (solved.exhausted or plan.strategy == "bfs" or puzzle.until != "exhausted"):
            found[which] = Solution(
                len(goal.moves),
                goal.positions,
                _shortened(puzzle, start, goal.moves) if plan.shorten else None,
                None if nearest is None else len(nearest.moves),
            )
    settled = solved.exhausted or (puzzle.until != "exhausted" and all(found[which] for which in plan.conventions))
    seconds = sum(answer.seconds for answer in answers.values())
    return Deal(
        puzzle.size, number, found["first"], found["fixed"], solved.positions, solved.depth, solved.exhausted,
        not settled, round(seconds, 6),
    )  # fmt: skip


def _goal(solved: Solved | None, which: Convention) -> Goal | None:
    if solved is None:
        return None
    return solved.goal if which == "first" else solved.fixed


def _shortened(puzzle: Dealt, start: Key, moves: list[Move]) -> int:
    from worker.solitaires.shortening import shorten

    return len(shorten(puzzle, start, moves).moves)


def _fitted(plan: Plan, largest: Dealt, resources: Resources, observer: Observer) -> Resources:
    """`resources` with no more threads than memory allows, should all searches of the largest size reach the cap."""
    if resources.redis is not None:
        return replace(resources, deadline=resources.deadline or _DEADLINE_SECONDS)
    memory = resources.memory if resources.memory is not None else psutil.virtual_memory().available // 2
    wanted, needed = resources.workers or cores(), SOLVERS[largest.solver].bytes_of_search(largest, plan.cap)
    if resources.memory is not None and needed > memory:
        raise OverBudgetError(
            f"a search of {plan.cap:,} positions may take {needed >> 20:,} MB, --memory allows {memory >> 20:,} MB: "
            "lower --cap"
        )
    threads = max(1, min(wanted, memory // needed))
    if threads < wanted:
        observer.note(
            f"{threads} of {wanted} threads: each may need {needed >> 20:,} MB for {plan.cap:,} positions; "
            "lower --cap, or raise --memory"
        )
    return replace(resources, workers=threads)
