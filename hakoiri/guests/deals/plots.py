"""Plots of a study of deals: the distributions of its figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hakoiri.guests.deals.dealt import Convention
from hakoiri.guests.deals.table import Deal, tally
from hakoiri.render.plots import drawn_into, whole_numbers
from hakoiri.render.tables import ORDERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hakoiri.guests.deals.job import StudyDeals


StudyResult = Mapping[int, Sequence[Deal]]
_COLOURS: dict[Convention, str] = {"first": "#2b6cb0", "fixed": "#dd7f29"}
Side = Literal["both", "low", "high"]
_SIDES: dict[Convention, Side] = {"first": "low", "fixed": "high"}
_UNSOLVABLE, _CAPPED = "#d9d9d9", "#fbe3a1"
_GREY = "#6b7280"
#: If the mean is more than this many times the median, the axis is logarithmic.
_SKEWED = 3
#: Room for a legend above, as a part of the height.
_LEGEND = 0.2


def plot_study(study: "StudyDeals", target: Path) -> None:
    """Draw moves, positions and shares by size into `target` (PNG, SVG or PDF)."""
    with drawn_into(target, (13, 4.8)) as figure:
        moves, positions, shares = figure.subplots(1, 3)
        searched = {size: deals for size, deals in study.by_size().items() if deals}
        _draw_moves(moves, study, searched)
        for place, deals in enumerate(searched.values()):
            _violin(positions, place, [deal.positions for deal in deals], "#4a7c59", "both", logarithmic=True)
        if any(deal.capped for deals in searched.values() for deal in deals):
            positions.axhline(np.log10(study.plan.cap), color="tab:red", linestyle="--", linewidth=1, label="cap")
            positions.legend(frameon=False, loc="lower right")
        _log_ticks(positions)
        positions.set_title("positions generated for a deal", fontsize=11)
        positions.set_ylabel("positions, logarithmic")
        _draw_shares(shares, study, searched)
        _finish(figure, study, searched)


def _draw_moves(axes: "Axes", study: "StudyDeals", found: StudyResult) -> None:
    """Draw the moves of the solvable deals, both conventions back to back."""
    drawn = {
        (which, place): [solution.moves for deal in deals if (solution := deal.found(which)) is not None]
        for which in study.puzzle.goal_names
        for place, deals in enumerate(found.values())
    }
    logarithmic = any(np.mean(values) > _SKEWED * np.median(values) for values in drawn.values() if values)
    for (which, place), values in drawn.items():
        side = _SIDES[which] if len(study.puzzle.goal_names) > 1 else "both"
        _violin(axes, place, values, _COLOURS[which], side, logarithmic)
    if logarithmic:
        _log_ticks(axes)
    else:
        whole_numbers(axes.yaxis)
    axes.set_title("moves of a solution" if study.plan.strategy == "dfs" else "fewest moves", fontsize=11)
    axes.set_ylabel("moves" + (", logarithmic" if logarithmic else ""))
    if len(study.puzzle.goal_names) > 1:
        for which in study.puzzle.goal_names:
            axes.plot([], [], color=_COLOURS[which], linewidth=6, alpha=0.6, label=study.puzzle.goal_names[which])
        bottom, top = axes.get_ylim()
        axes.set_ylim(bottom, top + _LEGEND * (top - bottom))
        axes.legend(frameon=False, loc="upper left")


def _violin(axes: "Axes", place: int, values: Sequence[int], colour: str, side: Side, logarithmic: bool) -> None:
    """Draw the distribution of numbers, with a line at their mean and dots at the least and the greatest."""
    if not values:
        return
    heights = np.log10(np.maximum(values, 1)) if logarithmic else np.asarray(values, dtype=np.float64)
    mean = float(np.log10(np.mean(values)) if logarithmic else np.mean(values))
    left, right = place - 0.4 * (side != "high"), place + 0.4 * (side != "low")
    if np.ptp(heights) > 0:
        body = axes.violinplot(heights, [place], widths=0.8, showextrema=False, side=side)["bodies"]
        for part in body:  # type: ignore[attr-defined]
            part.set_facecolor(colour)
            part.set_alpha(0.55)
    axes.plot([left, right], [mean, mean], color=colour, linewidth=1.5)
    dots = place + (0.04 if side == "high" else -0.04 if side == "low" else 0.0)
    axes.plot([dots, dots], [heights.min(), heights.max()], ".", color=colour, markersize=4)


def _log_ticks(axes: "Axes") -> None:
    """Label an axis of logarithms with powers of ten."""
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    axes.yaxis.set_major_locator(MultipleLocator(1))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{10**value:,.0f}" if value >= 0 else ""))


def _draw_shares(axes: "Axes", study: "StudyDeals", found: StudyResult) -> None:
    """Draw bars of a hundred per cent: solvable, unsolvable and undecided deals."""
    width = 0.8 / len(study.puzzle.goal_names)
    for number, which in enumerate(study.puzzle.goal_names):
        for place, deals in enumerate(found.values()):
            one, middle, below = tally(deals, which), place - 0.4 + width * (number + 0.5), 0.0
            axes.text(
                middle, 100 * one.shares[0] + 1, f"{100 * one.shares[0]:.0f}", ha="center", fontsize=8, color="#333333"
            )  # fmt: skip
            for count, colour, alpha in (
                (one.solvable, _COLOURS[which], 0.75), (one.unsolvable, _UNSOLVABLE, 1), (one.capped, _CAPPED, 1),
            ):  # fmt: skip
                axes.bar(middle, 100 * count / one.deals, width * 0.94, bottom=below, color=colour, alpha=alpha)
                below += 100 * count / one.deals
    axes.set_title("solvable deals", fontsize=11)
    axes.set_ylabel("per cent of the deals")
    axes.set_ylim(0, 115)
    axes.set_yticks(range(0, 101, 20))
    axes.bar(0, 0, color=_UNSOLVABLE, label="unsolvable")
    if any(deal.capped for deals in found.values() for deal in deals):
        axes.bar(0, 0, color=_CAPPED, label="not settled (capped)")
    axes.legend(frameon=False, loc="upper center", ncols=2)


def _finish(figure: "Figure", study: "StudyDeals", found: StudyResult) -> None:
    """Set what all parts share."""
    for axes in figure.axes:
        axes.set_xticks(range(len(found)), [str(size) for size in found])
        axes.set_xlim(-0.6, len(found) - 0.4)
        axes.set_xlabel(study.puzzle.size_option)
        axes.grid(axis="y", color="#e5e7eb", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color(_GREY)
    options = {name: value for name, value in study.puzzle.parameters.items() if name != study.puzzle.size_option}
    named = ", ".join([study.puzzle.name, *(f"{name}={value}" for name, value in options.items())])
    what = f"{named}: {study.deals:,} deals of seed {study.plan.seed} for each size, {ORDERS[study.plan.strategy]}"
    figure.suptitle(f"{what}; lines are means, dots extremes")
