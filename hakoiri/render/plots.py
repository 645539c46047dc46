"""Plots of a run: the sizes of its layers or components as a curve."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hakoiri.errors import counted
from hakoiri.render.films import check_ending
from hakoiri.render.images import titled
from hakoiri.run.components import weak_components
from hakoiri.run.opened import OpenRun
from hakoiri.storage.engine.files import replaced

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure


PLOTS = (".png", ".svg", ".pdf")
_DOTS_PER_INCH = 120
BLUE, RED, ORANGE = "#0072b2", "#d55e00", "#e69f00"
#: The axis is logarithmic if more than this part of the bars would be lower than this part of the highest one.
_MANY, _LOW = 1 / 3, 1 / 200
#: The most components drawn one by one; for more, both axes are logarithmic.
_FEW = 12


def plot_layers(run: OpenRun, target: Path) -> None:
    """Draw the sizes of the layers by depth into `target` (PNG, SVG or PDF), with the goal and the widest window.

    A whole space, which has no layers, is drawn by its components, a tree by the levels made as layers, and a run of
    goal distances by these.
    """
    if not run.kind.has_graph and not run.puzzle.is_tree:
        plot_distances(run, run.layer_sizes, target)
        return
    with drawn_into(target, (9, 4.5)) as figure:
        axes = figure.add_subplot()
        if run.is_census and not run.puzzle.is_tree:
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
        axes.axvline(goal, color=RED, linestyle="--", label=f"first goal, {counted(goal, 'moves')}")
    if (widest := summary["largest_window_at"]) is not None:
        label = f"widest three layers, {summary['largest_window']:,} around {widest}"
        axes.axvspan(widest - 1.5, widest + 1.5, color=ORANGE, alpha=0.3, label=label)
    if run.puzzle.is_tree:
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
        axes.plot(range(1, len(sizes) + 1), sizes, color=BLUE, marker=".", drawstyle="steps-mid")
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
    axes.stairs(sizes, edges, baseline=floor, fill=True, color=BLUE, alpha=0.35)
    axes.stairs(sizes, edges, baseline=floor, color=BLUE)
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
