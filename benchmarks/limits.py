"""Draw the table of docs/explanation/limits.md: seconds by the number of configurations, one line for each way.

    python benchmarks/limits.py

Needs matplotlib. Writes `docs/explanation/limits.svg`. The rows are those with a number of configurations and of
seconds.
"""

import re
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "limits.md"


def points() -> dict[str, list[tuple[float, float]]]:
    """Return configurations and seconds by the way of the table's last column."""
    found: dict[str, list[tuple[float, float]]] = {}
    pattern = r"(?m)^\| ([\d,]+) \|.*\| ([\d,.]+) \|[^|]*\|[^|]*\| ([^|]+) \|$"
    for row in re.findall(pattern, PAGE.read_text(encoding="utf-8")):
        size, seconds = (float(text.replace(",", "")) for text in row[:2])
        found.setdefault(row[2].strip(), []).append((size, seconds))
    return found


def main() -> None:
    """Write the picture."""
    matplotlib.rcParams["svg.hashsalt"] = "hakoiri"
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for (way, line), mark in zip(points().items(), "osD^v", strict=False):
        axes.loglog(*zip(*sorted(line), strict=True), marker=mark, label=way)
    for seconds, name in ((1, "1 s"), (60, "1 min"), (3_600, "1 h"), (86_400, "1 day"), (2_592_000, "1 month")):
        axes.axhline(seconds, color="#cccccc", linewidth=0.8, zorder=0)
        axes.annotate(name, (1.2e4, seconds), va="bottom", fontsize=8, color="#666666")
    axes.set(xlabel="configurations", ylabel="seconds", xlim=(1e4, 2e13), ylim=(0.1, 5e6))
    axes.legend(loc="upper left", bbox_to_anchor=(0.1, 1))
    figure.tight_layout()
    figure.savefig(PAGE.with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
