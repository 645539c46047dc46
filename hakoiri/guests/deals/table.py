"""Deals from texts and files, and the results of a study of deals, per deal and summed up."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np

from hakoiri.coordinator.session.job import Table
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Observer
from hakoiri.errors import ConfigurationError, Hint, OverBudgetError, PuzzleError, counted
from hakoiri.guests.deals.dealt import Convention, Dealt
from hakoiri.guests.deals.tasks import SOLVERS
from hakoiri.guests.study import fit_threads
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec, names_of

#: Begins a comment in a file of deals.
COMMENT = ";"


def has_sizes(kind: type[Puzzle]) -> bool:
    """Return whether a puzzle has deals of several sizes; otherwise the start determines their pieces."""
    return issubclass(kind, Dealt) and bool(kind.size_option)


def dealt(spec: PuzzleSpec) -> Dealt:
    """Return the puzzle; `PuzzleError` for one that has no deals."""
    puzzle = spec.build() if has_sizes(spec.kind()) else None
    if not isinstance(puzzle, Dealt):
        raise PuzzleError(f"{spec.name} has no deals; puzzles with deals: {names_of(has_sizes)}")
    if "goal" in puzzle.parameters and puzzle.solver != "layers":
        raise PuzzleError(
            f"{puzzle.name} is always solved to its own goal; a run can have another", Hint("run", puzzle.name)
        )
    return puzzle


def deals_of(puzzle: Dealt, text: str) -> Iterator[str]:
    """Yield the deals of a text: one per line, its rows joined by ``/``, or on as many lines as a deal has rows.

    A first line with their number is optional, as are blank lines and comments. `ConfigurationError` names the invalid
    deal, its row and its card.
    """
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith(COMMENT)]
    rows, announced = puzzle.rows_of_deal, None
    # A deal may itself consist of digits, too.
    if lines and re.fullmatch("[0-9]{1,9}", lines[0]) and (rows > 1 or int(lines[0]) == len(lines) - 1):
        announced = int(lines.pop(0))
    texts = lines
    if not any("/" in line for line in lines):
        if len(lines) % rows:
            raise ConfigurationError(f"deal {len(lines) // rows + 1} has {len(lines) % rows} rows, expected {rows}")
        texts = ["/".join(lines[begin : begin + rows]) for begin in range(0, len(lines), rows)]
    if announced is not None and announced != len(texts):
        raise ConfigurationError(f"the first line announces {counted(announced, 'deals')}, found {len(texts):,}")
    if not texts:
        raise ConfigurationError(f"no deal in {text[:40]!r}")
    for number, each in enumerate(texts, 1):
        try:
            yield puzzle.tidy_deal(each)
        except ConfigurationError as error:
            where = f"deal {number}: " if len(texts) > 1 else ""
            raise ConfigurationError(f"{where}{error}", *error.hints) from None


def limit_threads(puzzle: Dealt, cap: int, resources: Resources, observer: Observer) -> Resources:
    """Return `resources` with only as many threads as fit the memory if all searches reach the cap.

    Raises `OverBudgetError` if the given memory does not allow a single one.
    """
    memory, needed = resources.memory, SOLVERS[puzzle.solver].bytes_of_search(puzzle, cap)
    if resources.redis is None and memory is not None and needed > memory:
        raise OverBudgetError(
            f"a search of {cap:,} positions may need {needed >> 20:,} MB, above the limit of {memory >> 20:,} MB",
            Hint("lower", "cap"),
            Hint("give", "memory", f"{(needed >> 20) + 1}MB"),
        )
    less = Hint("lower", "cap"), Hint("raise", "memory")
    return fit_threads(resources, needed, f" for {cap:,} positions", observer, *less)


CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
Outcome = Literal["solvable", "unsolvable", "capped"]
#: The interval of a mean: percentiles of the means of this many resamples, drawn from this seed.
RESAMPLES, _RESAMPLING_SEED = 2_000, 0
_LOW, _HIGH = 2.5, 97.5
_TENTHS = np.arange(1, 10) / 10
#: Columns of the mean's standard error and interval.
_ERROR, _INTERVAL = "std error", "95 % interval"
_CAPPED = "capped: the cap ended the search first, so it is undecided; counted neither way. A larger cap settles more."


@dataclass(frozen=True)
class Solution:
    """A solution: its moves, the positions generated until it was found, and the moves of a shortest one.

    `left` is the number of moves left after each step of shortening (`guests.deals.shortening.STEPS`). Those in
    older rows have a field `shortened`, too, which is passed over.
    """

    moves: int
    positions: int
    left: Mapping[str, int] | None = None
    shortest: int | None = None

    @property
    def shortened(self) -> int | None:
        """The number of moves after the last step of shortening."""
        return list(self.left.values())[-1] if self.left else None


@dataclass(frozen=True)
class Deal:
    """The result of the search of deal `number` of the seed. `capped` means that the cap ended it undecided."""

    size: int
    number: int
    first: Solution | None
    fixed: Solution | None
    positions: int
    depth: int
    exhausted: bool
    capped: bool
    seconds: float

    def found(self, which: Convention) -> Solution | None:
        return self.first if which == "first" else self.fixed

    def outcome(self, which: Convention) -> Outcome:
        """Return whether the deal is solvable. If the cap ended the search without a goal, the outcome is unknown."""
        if self.found(which) is not None:
            return "solvable"
        return "unsolvable" if self.exhausted else "capped"


StudyResult = Mapping[int, Sequence[Deal]]


@dataclass(frozen=True)
class Spread:
    """A summary of numbers: least, mean with its 95 % bootstrap interval, median, deciles, greatest.

    `error` is the standard error of the mean. `deciles` are nine of the numbers: a tenth of all are at most the first,
    and so on.
    """

    least: int
    mean: float
    error: float
    low: float
    high: float
    median: float
    deciles: tuple[int, ...]
    most: int


@dataclass(frozen=True)
class Tally:
    """The deals of a size by one convention: the number with each outcome, and the moves of the solvable ones."""

    solvable: int
    unsolvable: int
    capped: int
    moves: Spread | None
    shortened: Spread | None
    shortest: Spread | None
    #: By step, the moves left, and the number of solutions that are then shortest.
    steps: Mapping[str, Spread]
    shortest_after: Mapping[str, int]

    @property
    def deals(self) -> int:
        return self.solvable + self.unsolvable + self.capped

    @property
    def shares(self) -> tuple[float, float]:
        """The least and the greatest share of solvable deals, depending on the capped ones."""
        return self.solvable / self.deals, (self.solvable + self.capped) / self.deals


def tally(deals: Sequence[Deal], which: Convention) -> Tally:
    """Return the tally of the deals of a size by a convention."""
    outcomes = [deal.outcome(which) for deal in deals]
    found = [solution for deal in deals if (solution := deal.found(which)) is not None]
    shortened = [(each.left, each.shortest) for each in found if each.left]
    steps = dict.fromkeys(shortened[0][0] if shortened else (), shortened)
    return Tally(
        outcomes.count("solvable"),
        outcomes.count("unsolvable"),
        outcomes.count("capped"),
        spread([solution.moves for solution in found]),
        spread([solution.shortened for solution in found if solution.shortened is not None]),
        spread([solution.shortest for solution in found if solution.shortest is not None]),
        {step: each for step in steps if (each := spread([left[step] for left, _ in steps[step]]))},
        {step: sum(left[step] == shortest for left, shortest in pairs) for step, pairs in steps.items()},
    )


def effort(deals: Sequence[Deal]) -> dict[str, Any] | None:
    """Return the work of the searches of a size, if there are any; with a cap, mean and most are lower bounds."""
    positions, depth = (spread([getattr(deal, what) for deal in deals]) for what in ("positions", "depth"))
    if positions is None or depth is None:
        return None
    counts = {"deals": len(deals), "capped": sum(deal.capped for deal in deals)}
    return counts | {"positions": asdict(positions), "depth": asdict(depth), "seconds": sum(d.seconds for d in deals)}


def spread(numbers: Sequence[int]) -> Spread | None:
    """Return a summary of numbers; ``None`` without numbers. Deterministic: equal input gives an equal interval."""
    if not numbers:
        return None
    values = np.array(numbers, dtype=np.float64)
    draw = np.random.default_rng(_RESAMPLING_SEED)
    means = [values[draw.integers(len(values), size=len(values))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [_LOW, _HIGH])
    deciles = np.quantile(values, _TENTHS, method="inverted_cdf").astype(int).tolist()
    error = float(values.std(ddof=1)) / len(values) ** 0.5 if len(values) > 1 else 0.0
    mean, median = float(values.mean()), float(np.median(values))
    return Spread(min(numbers), mean, error, float(low), float(high), median, tuple(deciles), max(numbers))


def size_report(puzzle: Dealt, size: int, deals: Sequence[Deal]) -> dict[str, Any]:
    """Return the statistics of the deals of a size, for JSON."""
    return {
        puzzle.size_option: size,
        "deals": len(deals),
        "goals": {which: asdict(tally(deals, which)) for which in puzzle.goal_names},
        "effort": effort(deals),
    }


def tables(puzzle: Dealt, found: StudyResult, shorten: bool) -> list[Table]:
    """Return a table of outcomes and moves for each convention of the goal, then one of the searches."""
    made, option = list[Table](), puzzle.size_option
    for which, name in puzzle.goal_names.items():
        tallies = {size: tally(deals, which) for size, deals in found.items()}
        rows = [{option: size, **_outcomes(one), **_moves(one.moves)} for size, one in tallies.items()]
        made.append(Table("moves", rows, f"{name}: moves of the deals that can be solved"))
        if shorten:
            rows = [row for size, one in tallies.items() for row in _shortened(option, size, one)]
            title = "of these solutions: as found, after each step of shortening, shortest; and how many are shortest"
            made.append(Table("shortened", rows, title))
    rows = [{option: size, **_effort(effort(deals))} for size, deals in found.items()]
    capped = _CAPPED if any(deal.capped for deals in found.values() for deal in deals) else ""
    made.append(Table("searches", rows, "the searches: positions generated, mean and greatest depth", capped))
    return made


def _outcomes(one: Tally) -> dict[str, Any]:
    counts = {"solvable": one.solvable, "unsolvable": one.unsolvable, "capped": one.capped}
    if not one.deals:
        return counts | {"share": None}
    least, most = (f"{100 * share:.1f}" for share in one.shares)
    return counts | {"share": f"{least}-{most} %" if one.capped else f"{least} %"}


def _moves(moves: Spread | None) -> dict[str, Any]:
    if moves is None:
        return dict.fromkeys(("min", "mean", _ERROR, _INTERVAL, "max"))
    interval = f"{moves.low:,.2f}-{moves.high:,.2f}"
    columns = {"min": moves.least, "mean": f"{moves.mean:,.2f}", _ERROR: f"{moves.error:,.2f}", _INTERVAL: interval}
    return columns | {"max": moves.most}


def _shortened(option: str, size: int, one: Tally) -> Iterator[dict[str, Any]]:
    for what, moves in {"found": one.moves, **one.steps, "shortest": one.shortest}.items():
        spread = _moves(moves)
        most, median = spread.pop("max"), None if moves is None else f"{moves.median:,.0f}"
        row = {option: size, "solution": what, **spread, "median": median, "max": most}
        yield row | {"shortest": one.shortest_after.get(what)}


def _effort(one: dict[str, Any] | None) -> dict[str, Any]:
    if one is None:
        return {"deals": 0, **dict.fromkeys(("capped", "median", "mean", "max", "depth", "deepest", "CPU s"))}
    # A capped search gives only a lower bound.
    bound, positions, depth = ">" if one["capped"] else "", one["positions"], one["depth"]
    return {
        "deals": one["deals"],
        "capped": one["capped"],
        "median": f"{positions['median']:,.0f}",
        "mean": f"{bound}{positions['mean']:,.0f}",
        "max": f"{bound}{positions['most']:,}",
        "depth": f"{bound}{depth['mean']:,.1f}",
        "deepest": f"{bound}{depth['most']:,}",
        "CPU s": f"{one['seconds']:,.2f}",
    }
