"""The table and the picture of docs/explanation/limits.md: seconds by the number of configurations.

    python -m benchmarks.limits --page              # from the results files of others
    python -m benchmarks.limits --page --measure    # the graphs of plain Python anew

Rows of compiled rules are from the results of `benchmarks.measure` and of `campaigns.tables`. Those of spaces past this
machine have the processor time and the bytes of a configuration of the largest measured one, divided by the speed-up
that `benchmarks.scaling` predicts. Needs matplotlib for the picture, `docs/explanation/limits.svg`.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.baselines import spent
from benchmarks.pages import ROOT, Table, record, tables_of

PICTURE = ROOT / "docs" / "explanation" / "limits.svg"
COLUMNS = {"configurations": ",", "example": "", "CPU s": ",.10g", "peak MB": "", "disk": "", "way": ""}
#: The rows of `measure` by the names of its jobs.
MEASURED = {
    "explore from the start": "Hakoiri-musume", "tiles 5x2": "tiles 5x2", "pancakes 11": "pancakes, n = 11",
    "tiles 3x4": "tiles 3x4", "Hanoi, 4 pegs, 15 discs": "towers of Hanoi, 4 pegs, 15 discs",
}  # fmt: skip
#: Stacks of so many pancakes, and the script that makes their graph.
STACKS = (8, 9)
_SCRIPT = """
import json, sys, hakoiri
def moves(stack):
    for count in range(2, len(stack) + 1):
        yield stack[:count][::-1] + stack[count:]
run = hakoiri.explore_graph(tuple(range(int(sys.argv[1]))), moves, data=sys.argv[2])
print(json.dumps({"configurations": sum(run.layer_sizes)}))
"""


class Past(NamedTuple):
    """A space beyond this machine, its hosts, and the number of cores they are worth (docs/reports/scaling.md)."""

    name: str
    size: int
    hosts: int = 0
    worth: float = 1.0
    memory: str = "by `--memory`"


PAST = (
    Past("tiles 3x5, computed", 653_837_184_000),
    Past("tiles 3x5, predicted, 32 hosts of 8 cores at 10 Gbit/s", 653_837_184_000, 32, 148, "4,000 each"),
    Past("tiles 4x4, predicted, 64 hosts of 8 cores at 10 Gbit/s", 10_461_394_944_000, 64, 249, "16,000 each"),
)


def in_words(size: float) -> str:
    """Return a number of bytes in words."""
    unit, name = next(((unit, name) for unit, name in ((1e12, "TB"), (1e9, "GB")) if size >= unit), (1e6, "MB"))
    number = size / unit
    return f"{number:.1f} {name}" if number < 10 else f"{number:,.0f} {name}"


def _rounded(seconds: float) -> float:
    """Round to three digits."""
    return float(f"{seconds:.3g}")


def rows(plain: list[list[Any]]) -> Iterator[list[Any]]:
    """Yield the rows of the table, those of plain Python first."""
    yield from plain
    jobs = tables_of("measurements")[0]
    figures = {name: jobs.column(name) for name in ("configurations", "CPU s", "peak MB", "disk MB")}
    for job, name in MEASURED.items():
        size, cpu, peak, disk = (column[job] for column in figures.values())
        yield [int(size), name, _rounded(cpu), f"{peak:,.0f}", in_words(1e6 * disk), "compiled rules"]
    results = json.loads((ROOT / "campaigns/tables/results.json").read_text(encoding="utf-8"))
    found = results["parts"]["tiles"]["2x7 single"]
    (cost,), size = found["costs"], found["configurations"]
    each, stored = cost["cpu_seconds"] / size, cost["disk_bytes"] / size
    peak = f"{cost['peak_bytes'] / 1e6:,.0f}"
    yield [size, "tiles 2x7", _rounded(cost["cpu_seconds"]), peak, in_words(cost["disk_bytes"]), "compiled rules"]
    for space in PAST:
        disk = in_words(space.size * stored / max(1, space.hosts)) + (" each" if space.hosts else "")
        way = "hosts" if space.hosts else "compiled rules"
        yield [space.size, space.name, _rounded(space.size * each / space.worth), space.memory, disk, way]


def measured() -> Iterator[list[Any]]:
    """Yield the rows of graphs that a function of plain Python gives."""
    for stack in STACKS:
        with tempfile.TemporaryDirectory() as data:
            script = Path(data) / "stacks.py"
            script.write_text(_SCRIPT, encoding="utf-8")
            used = spent([sys.executable, str(script), str(stack), data])
            disk = sum(file.stat().st_blocks for file in Path(data).rglob("*.mdb")) * 512
        name = f"`explore_graph`, stacks of {stack} pancakes"
        yield [used.found, name, _rounded(used.cpu), f"{used.memory * 1.048576:,.0f}", in_words(disk), "plain Python"]


def draw(table: Table) -> None:
    """Write the picture: one line for each way."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    ways: dict[str, list[tuple[float, float]]] = {}
    for size, _, seconds, *_, way in table.rows:
        ways.setdefault(way, []).append((size, seconds))
    matplotlib.rcParams["svg.hashsalt"] = "hakoiri"
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for (way, line), mark in zip(ways.items(), "osD^v", strict=False):
        axes.loglog(*zip(*sorted(line), strict=True), marker=mark, label=way)
    for seconds, name in ((1, "1 s"), (60, "1 min"), (3_600, "1 h"), (86_400, "1 day"), (2_592_000, "1 month")):
        axes.axhline(seconds, color="#cccccc", linewidth=0.8, zorder=0)
        axes.annotate(name, (1.2e4, seconds), va="bottom", fontsize=8, color="#666666")
    axes.set(xlabel="configurations", ylabel="seconds", xlim=(1e4, 2e13), ylim=(0.1, 5e6))
    axes.legend(loc="upper left", bbox_to_anchor=(0.1, 1))
    figure.tight_layout()
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    """Print the table; write it and the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="measure the graphs of plain Python")
    parser.add_argument("--page", action="store_true", help="write docs/explanation/limits.md and the picture")
    given = parser.parse_args()
    known = [] if given.measure else [row for row in tables_of("limits")[0].rows if row[-1] == "plain Python"]
    table = Table(COLUMNS, [*rows([*measured()] if given.measure else known)])
    print(table)
    if given.page:
        record("limits", [table], "Rows of other results files are of their machine and day.")
        draw(table)


if __name__ == "__main__":
    main()
