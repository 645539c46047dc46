"""What ``study`` prints: the papers' tables, or the same figures as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from coordinator.deals.study_plan import Plan
from coordinator.deals.study_table import Deal, Effort, Spread, Tally, effort, tally
from hakoiri.render.tables import table

StudyResult = Mapping[int, Sequence[Deal]]
#: Of the mean.
_INTERVAL = "95 % interval"
_WORDS = {"bfs": "breadth first", "dfs": "depth first"}


def report(plan: Plan, found: StudyResult) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "puzzle": plan.puzzle,
        "seed": plan.seed,
        "deals": plan.deals,
        "strategy": plan.strategy,
        "cap": plan.cap,
        "complete": all(len(found[size]) == plan.deals for size in plan.sizes),
        "sizes": [_size_report(plan, size, found[size]) for size in plan.sizes],
    }


def _size_report(plan: Plan, size: int, deals: Sequence[Deal]) -> dict[str, Any]:
    looked = effort(deals)
    return {
        plan.size_option: size,
        "deals": len(deals),
        "goals": {which: asdict(tally(deals, which)) for which in plan.conventions},
        "effort": None if looked is None else asdict(looked),
    }


def tables(plan: Plan, found: StudyResult) -> Iterator[RenderableType]:
    """A table of outcomes and moves for each convention of the goal, then one of the searches."""
    yield Text(
        f"{plan.puzzle}, {plan.deals:,} deals of seed {plan.seed} for each size, {_WORDS[plan.strategy]}, "
        f"at most {plan.cap:,} positions",
        style="bold",
    )
    for which in plan.conventions:
        tallies = {size: tally(deals, which) for size, deals in found.items()}
        yield Text(f"{plan.kind.goal_names[which]}: moves of the deals that can be solved", style="bold")
        yield _moves(plan, tallies)
        if plan.shorten:
            yield Text("of these solutions: as found, shortened, and the shortest there is", style="bold")
            yield _shortened(plan, tallies)
    yield Text("the searches: positions generated, mean and greatest depth", style="bold")
    yield _efforts(plan, {size: effort(deals) for size, deals in found.items()})
    if any(deal.capped for deals in found.values() for deal in deals):
        yield Text(
            "capped: the cap ended the search first, so nobody knows; counted neither way. A larger --cap settles more."
        )


def _moves(plan: Plan, tallies: Mapping[int, Tally]) -> RenderableType:
    columns = (plan.size_option, "solvable", "unsolvable", "capped", "share", "min", "mean", _INTERVAL, "max")
    shown = table(*columns, numbers=columns)
    for size, one in tallies.items():
        counts = [f"{count:,}" for count in (one.solvable, one.unsolvable, one.capped)]
        shown.add_row(str(size), *counts, _share(one), *_spread(one.moves))
    return shown


def _share(one: Tally) -> str:
    if not one.deals:
        return ""
    least, most = (f"{100 * share:.1f}" for share in one.shares)
    return f"{least} %" if not one.capped else f"{least}-{most} %"


def _spread(moves: Spread | None) -> list[str]:
    if moves is None:
        return ["", "", "", ""]
    return [f"{moves.least:,}", f"{moves.mean:,.2f}", f"{moves.low:,.2f}-{moves.high:,.2f}", f"{moves.most:,}"]


def _shortened(plan: Plan, tallies: Mapping[int, Tally]) -> RenderableType:
    columns = (plan.size_option, "", "min", "mean", _INTERVAL, "median", "max")
    shown = table(*columns, numbers=(plan.size_option, *columns[2:]))
    for size, one in tallies.items():
        for what, moves in (("found", one.moves), ("shortened", one.shortened), ("shortest", one.shortest)):
            *front, most = _spread(moves)
            shown.add_row(str(size), what, *front, "" if moves is None else f"{moves.median:,.0f}", most)
    return shown


def _efforts(plan: Plan, efforts: Mapping[int, Effort | None]) -> RenderableType:
    columns = (plan.size_option, "deals", "capped", "median", "mean", "max", "depth", "deepest", "CPU s")
    shown = table(*columns, numbers=columns)
    for size, one in efforts.items():
        if one is None:
            shown.add_row(str(size), "0")
            continue
        # Of a capped search more could have been seen.
        bound = ">" if one.capped else ""
        shown.add_row(
            str(size), f"{one.deals:,}", f"{one.capped:,}", f"{one.positions.median:,.0f}",
            f"{bound}{one.positions.mean:,.0f}", f"{bound}{one.positions.most:,}", f"{bound}{one.depth.mean:,.1f}",
            f"{bound}{one.depth.most:,}", f"{one.seconds:,.2f}",
        )  # fmt: skip
    return shown
