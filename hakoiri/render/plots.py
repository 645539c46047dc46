"""Pictures of a run: the sizes of its layers, as a curve that people read faster than a table."""

from pathlib import Path
from typing import TYPE_CHECKING

from coordinator.errors import UnanswerableError
from hakoiri.api import Run
from storage.engine.files import replaced

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = (".png", ".svg", ".pdf")


def plot_layers(run: Run, target: Path) -> None:
    """Draw the layer sizes by depth into `target` (PNG, SVG or PDF), the goal and the widest window marked."""
    _require_ending(target)
    # matplotlib takes half a second to import; without a display only Agg is safe.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sizes, summary = run.layer_sizes, run.summary()
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.fill_between(range(len(sizes)), sizes, step="mid", alpha=0.35, color="tab:blue")
    axes.step(range(len(sizes)), sizes, where="mid", color="tab:blue")
    if (goal := summary["goal_depth"]) is not None:
        axes.axvline(goal, color="tab:red", linestyle="--", label=f"first goal, {goal} moves")
    if (widest := summary["largest_window_at"]) is not None:
        label = f"widest three layers, {summary['largest_window']:,} at {widest}"
        axes.axvspan(widest - 1.5, widest + 1.5, color="tab:orange", alpha=0.3, label=label)
    axes.set_xlabel("moves from the start")
    axes.set_ylabel("configurations")
    axes.set_title(f"{summary['puzzle']}: {summary['configurations']:,} configurations in {len(sizes)} layers")
    axes.set_xlim(-0.5, len(sizes) - 0.5)
    axes.set_ylim(0)
    if axes.get_legend_handles_labels()[0]:
        axes.legend()
    _save(figure, target)


def _require_ending(target: Path) -> None:
    if target.suffix not in _ENDINGS:
        raise UnanswerableError(f"cannot draw {target.name!r}: the name must end in {', '.join(_ENDINGS)}")


def _save(figure: "Figure", target: Path) -> None:
    with replaced(target) as part:
        figure.savefig(part, dpi=120)
