"""What a study tells: the papers' tables, or the same figures as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from coordinator.deals.study_plan import Study
from coordinator.deals.study_table import Deal, Effort, Spread, Tally, effort, tally
from coordinator.session.job import Table

StudyResult = Mapping[int, Sequence[Deal]]
#: Of the mean.
_INTERVAL = "95 % interval"
_CAPPED = "capped: the cap ended the search first, so nobody knows; counted neither way. A larger --cap settles more."


def report(study: Study, found: StudyResult) -> dict[str, Any]:
    """Everything, for JSON."""
    return {
        "seed": study.plan.seed,
        "deals": study.deals,
        "strategy": study.plan.strategy,
        "cap": study.plan.cap,
        "complete": all(len(found[size]) == study.deals for size in study.sizes),
        "sizes": [_size_report(study, size, found[size]) for size in study.sizes],
    }


def _size_report(study: Study, size: int, deals: Sequence[Deal]) -> dict[str, Any]:
    looked = effort(deals)
    return {
        study.puzzle.size_option: size,
        "deals": len(deals),
        "goals": {which: asdict(tally(deals, which)) for which in study.conventions},
        "effort": None if looked is None else asdict(looked),
    }


def tables(study: Study, found: StudyResult) -> list[Table]:
    """A table of outcomes and moves for each convention of the goal, then one of the searches."""
    made, option = list[Table](), study.puzzle.size_option
    for which, name in study.puzzle.goal_names.items():
        tallies = {size: tally(deals, which) for size, deals in found.items()}
        rows = [{option: size, **_outcomes(one), **_moves(one.moves)} for size, one in tallies.items()]
        made.append(Table("moves", rows, f"{name}: moves of the deals that can be solved"))
        if study.plan.shorten:
            rows = [row for size, one in tallies.items() for row in _shortened(option, size, one)]
            made.append(Table("shortened", rows, "of these solutions: as found, shortened, and the shortest there is"))
    rows = [{option: size, **_effort(effort(deals))} for size, deals in found.items()]
    capped = _CAPPED if any(deal.capped for deals in found.values() for deal in deals) else ""
    made.append(Table("searches", rows, "the searches: positions generated, mean and greatest depth", capped))
    return made


def _outcomes(one: Tally) -> dict[str, Any]:
    least, most = (f"{100 * share:.1f}" for share in one.shares) if one.deals else ("", "")
    share = f"{least} %" if not one.capped else f"{least}-{most} %"
    counts = {"solvable": one.solvable, "unsolvable": one.unsolvable, "capped": one.capped}
    return counts | {"share": share if one.deals else None}


def _moves(moves: Spread | None) -> dict[str, Any]:
    names = ("min", "mean", _INTERVAL, "max")
    if moves is None:
        return dict.fromkeys(names)
    interval = f"{moves.low:,.2f}-{moves.high:,.2f}"
    return dict(zip(names, (moves.least, f"{moves.mean:,.2f}", interval, moves.most), strict=True))


def _shortened(option: str, size: int, one: Tally) -> list[dict[str, Any]]:
    rows = []
    for what, moves in (("found", one.moves), ("shortened", one.shortened), ("shortest", one.shortest)):
        spread = _moves(moves)
        most = spread.pop("max")
        median = None if moves is None else f"{moves.median:,.0f}"
        rows.append({option: size, "solution": what, **spread, "median": median, "max": most})
    return rows


def _effort(one: Effort | None) -> dict[str, Any]:
    if one is None:
        return {"deals": 0}
    # Of a capped search more could have been seen.
    bound = ">" if one.capped else ""
    return {
        "deals": one.deals,
        "capped": one.capped,
        "median": f"{one.positions.median:,.0f}",
        "mean": f"{bound}{one.positions.mean:,.0f}",
        "max": f"{bound}{one.positions.most:,}",
        "depth": f"{bound}{one.depth.mean:,.1f}",
        "deepest": f"{bound}{one.depth.most:,}",
        "CPU s": f"{one.seconds:,.2f}",
    }
