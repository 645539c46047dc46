"""Plots of a run: the sizes of its layers or components as a curve, and the distributions of a study."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from hakoiri.coordinator.studies.table import Deal, tally
from hakoiri.errors import counted
from hakoiri.puzzles.capabilities import Convention, Placements
from hakoiri.render.films import check_ending
from hakoiri.render.images import titled
from hakoiri.render.tables import ORDERS
from hakoiri.run.components import weak_components
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

    from hakoiri.coordinator.studies.deals import StudyDeals

PLOTS = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 120
_BLUE, _RED, _ORANGE = "#0072b2", "#d55e00", "#e69f00"
#: The axis is logarithmic if more than this part of the bars would be lower than this part of the highest one.
_MANY, _LOW = 1 / 3, 1 / 200
#: The most components drawn one by one; for more, both axes are logarithmic.
_FEW = 12


def plot_layers(run: OpenRun, target: Path) -> None:
    """Draw the sizes of the layers by depth into `target` (PNG, SVG or PDF), with the goal and the widest window.

    A whole space, which has no layers, is drawn by its components, a tree by the levels made as layers, and a run of
    goal distances by these.
    """
    if not run.kind.has_graph and not isinstance(run.puzzle, Placements):
        plot_distances(run, run.layer_sizes, target)
        return
    with drawn_into(target, (9, 4.5)) as figure:
        axes = figure.add_subplot()
        if run.is_census and not isinstance(run.puzzle, Placements):
            _draw_components(axes, run)
        else:
            _draw_layers(axes, run)
        if axes.get_legend_handles_labels()[0]:
            axes.legend()


def plot_distances(run: OpenRun, sizes: Sequence[int], target: Path) -> None:
    """Draw the number of configurations at each distance from the nearest goal into `target`."""
    with drawn_into(target, (9, 4.5)) as figure:
        axes = figure.add_subplot()
        _draw_bars(axes, sizes)
        farthest = f"the farthest {counted(len(sizes) - 1, 'moves')} from it"
        title = f"{counted(sum(sizes), 'configurations')} lead to a goal, {farthest}"
        _name(axes, run, "moves to the nearest goal", "configurations", title)


@contextmanager
def drawn_into(target: Path, inches: tuple[float, float]) -> "Iterator[Figure]":
    """Yield an empty figure, which is written to `target` at the end of the block; its bytes are deterministic."""
    check_ending(target, PLOTS)
    # matplotlib takes half a second to import; without a display only Agg is safe.
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=inches, layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1))
    FigureCanvasAgg(figure)
    yield figure
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(target.suffix)
    with replaced(target) as part, mpl.rc_context({"svg.hashsalt": "hakoiri"}):
        figure.savefig(part, dpi=_DOTS_PER_INCH, metadata={dated: None} if dated else {})


def whole_numbers(axis: "Axis") -> None:
    """Label an axis with full numbers, without decimals and powers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(10))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(integer=True))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _draw_layers(axes: "Axes", run: OpenRun) -> None:
    sizes, summary = run.layer_sizes, run.summary()
    _draw_bars(axes, sizes)
    if (goal := summary["goal_depth"]) is not None:
        axes.axvline(goal, color=_RED, linestyle="--", label=f"first goal, {counted(goal, 'moves')}")
    if (widest := summary["largest_window_at"]) is not None:
        label = f"widest three layers, {summary['largest_window']:,} around {widest}"
        axes.axvspan(widest - 1.5, widest + 1.5, color=_ORANGE, alpha=0.3, label=label)
    if isinstance(run.puzzle, Placements):
        title = f"{counted(summary['solutions'], 'solutions')}; the first levels of the tree"
        _name(axes, run, "steps, each of which places one or two numbers", "placings that can be continued", title)
    else:
        title = f"{counted(summary['configurations'], 'configurations')} in {counted(len(sizes), 'layers')}"
        _name(axes, run, "depth, in moves from the start", "configurations", title)


def _draw_components(axes: "Axes", run: OpenRun) -> None:
    sizes = [record.size for record in weak_components(run)]
    if len(sizes) <= _FEW:
        _draw_bars(axes, sizes)
    else:
        axes.plot(range(1, len(sizes) + 1), sizes, color=_BLUE, marker=".", drawstyle="steps-mid")
        axes.set_xscale("log")
        axes.set_yscale("log")
        whole_numbers(axes.xaxis)
        whole_numbers(axes.yaxis)
    rank = "component" if len(sizes) <= _FEW else "components by size, the largest is the first"
    title = f"the whole space: {counted(sum(sizes), 'configurations')} in {counted(len(sizes), 'components')}"
    _name(axes, run, rank, "configurations", title)


def _draw_bars(axes: "Axes", sizes: Sequence[int]) -> None:
    """Draw a bar for each size, all of the same width."""
    low = sum(size < _LOW * max(sizes) for size in sizes)
    logarithmic = low > _MANY * len(sizes)
    edges = [number - 0.5 for number in range(len(sizes) + 1)]
    floor = 0.5 if logarithmic else 0
    axes.stairs(sizes, edges, baseline=floor, fill=True, color=_BLUE, alpha=0.35)
    axes.stairs(sizes, edges, baseline=floor, color=_BLUE)
    axes.set_xlim(edges[0], edges[-1])
    if logarithmic:
        axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    whole_numbers(axes.xaxis)
    whole_numbers(axes.yaxis)


def _name(axes: "Axes", run: OpenRun, across: str, up: str, title: str) -> None:
    axes.figure.suptitle(titled(run.puzzle), fontsize=12)
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(across)
    axes.set_ylabel(up + (", logarithmic" if axes.get_yscale() == "log" else ""))


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
