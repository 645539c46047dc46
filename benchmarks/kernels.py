"""Measure layers in a table kernel by kernel: ns of one core for each configuration.

    python -m benchmarks.kernels --page

A space is searched twice in this process by one thread, the second time with clocks around the kernels of
`hakoiri.worker.layers.table`. Nothing is stored.
"""

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from benchmarks.pages import Table, load, record
from hakoiri.coordinator.session.session import Control, ThreadExecutor
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.layers import table
from hakoiri.worker.layers.table import DepthsTable

SPACES = {
    "tiles 3x4": ("tiles", {"rows": "3", "columns": "4"}),
    "pancakes 11": ("pancakes", {"n": "11"}),
    "Hanoi, 14 discs": ("hanoi", {"discs": "14"}),
    "cube 2x2x2": ("cube2", {}),
}
#: The function of the module, and what it does.
KERNELS = {
    "expanded": "expand", "set_within": "set", "_fresh": "subtract and enter", "sum_words": "list and digest",
}  # fmt: skip


class _Nothing:
    """A stored table without blocks."""

    def numbers(self) -> list[int]:
        return []


def searched(puzzle: Puzzle) -> tuple[int, float]:
    """Return the number of configurations, and the CPU seconds."""
    nothing: Any = _Nothing()
    found, depth, began = 1, 0, time.process_time()
    made = DepthsTable(puzzle, ThreadExecutor(puzzle, 1, Control()), nothing, [(0, [puzzle.keys([puzzle.start])])])
    while True:
        depth += 1
        for _ in made.expand(lambda: False):
            pass
        if not (size := made.merge(depth).size):
            return found, time.process_time() - began
        found += size


def timed(spent: Counter[str], name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel whose time is counted."""

    def run(*given: Any) -> Any:
        began = time.thread_time_ns()
        try:
            # `expanded` does its work as it is read.
            return list(kernel(*given)) if name == "expanded" else kernel(*given)
        finally:
            spent[name] += time.thread_time_ns() - began

    return run


def measured(puzzle: Puzzle) -> tuple[int, float, list[float]]:
    """Return the number of configurations, and the ns of each: of all, and of each of the `KERNELS`."""
    spent = Counter[str]()
    searched(puzzle)
    clocks: dict[str, Any] = {each: timed(spent, each, getattr(table, each)) for each in KERNELS}
    if (spread := puzzle.spread) is not None:
        kernel = spread.mark or spread.write
        write = timed(spent, "expanded", lambda *given: [kernel(*given)])
        clocks["spread_of"] = lambda _: spread._replace(write=write, mark=None)
    with patch.dict(vars(table), clocks):
        found, seconds = searched(puzzle)
    return found, seconds * 1e9 / found, [spent[kernel] / found for kernel in KERNELS]


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write docs/explanation/comparison.md")
    page = parser.parse_args().page
    figures = Table({"space": "", "configurations": ","} | dict.fromkeys(["all", *KERNELS.values(), "rest"], ".1f"))
    print(figures.head())
    for label, (name, options) in SPACES.items():
        found, whole, each = measured(PuzzleSpec(name, options).build())
        figures.rows.append([label, found, whole, *each, whole - sum(each)])
        print(figures.line(figures.rows[-1]), flush=True)
    if page:
        record("kernels", [figures], f"One thread; {load()}.")


if __name__ == "__main__":
    main()
