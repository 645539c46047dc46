"""Maps of components: how long the layout takes, and how good it is beside that by pivots alone.

    .venv/bin/python benchmarks/maps.py klotski hanoi:pegs=3,discs=10 pancakes:n=8

Prints one JSON object for each puzzle, with its options; `cpu_seconds` and `seconds` are those of all of `Run.map`.
"""

import argparse
import json
import tempfile
import time

import numpy as np

from hakoiri.api import Run, explore
from hakoiri.worker.graphs.layout import choose_pivots, pivot_places, stress

#: Searches for the stress of the layout by pivots alone.
SOURCES = 500


def by_pivots(run: Run, axes: int) -> float:
    """The stress of the layout that is not refined."""
    _, graph = run.graph()
    random = np.random.default_rng(1)
    sources = random.choice(len(graph.offsets) - 1, SOURCES).astype(np.int32)
    return stress(graph, pivot_places(choose_pivots(graph, random), axes), sources)


def measured(puzzle: str, options: dict[str, str], axes: int) -> dict[str, object]:
    """One map of all that the usual start reaches."""
    with tempfile.TemporaryDirectory() as data, explore(puzzle, options, data=data) as run:
        begun, cpu = time.perf_counter(), time.process_time()
        found = run.map(axes=axes)
        took = {"seconds": time.perf_counter() - begun, "cpu_seconds": time.process_time() - cpu}
        return {
            "puzzle": puzzle,
            "options": options,
            "axes": axes,
            "configurations": len(found.keys),
            "moves": len(found.moves),
            "stress": found.stress,
            "stress_by_pivots": by_pivots(run, axes),
        } | took


def main() -> None:
    """Measure each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("puzzles", nargs="+", metavar="PUZZLE[:OPTION=VALUE,...]")
    parser.add_argument("--dim", type=int, choices=(2, 3), default=3)
    wanted = parser.parse_args()
    # Compile the kernels first.
    measured("hanoi", {"discs": "3"}, wanted.dim)
    for text in wanted.puzzles:
        puzzle, _, options = text.partition(":")
        pairs = dict(option.split("=") for option in options.split(",") if option)
        print(json.dumps(measured(puzzle, pairs, wanted.dim)), flush=True)


if __name__ == "__main__":
    main()
