"""``python -m campaigns.papers.reach COLUMNS DEALS``: what shortcuts bring, by the positions that they look at.

Depth-first solutions of random deals of Superpuzz (seed 1, one goal) are shortened by all steps, with more and more
positions for shortcuts, and compared with shortest solutions. Prints JSON.
"""

import json
import sys
import time

from hakoiri.puzzles.solitaires.superpuzz import Superpuzz
from hakoiri.worker.solitaires.shortening import shorten
from hakoiri.worker.solitaires.solving import solve

REACHES, _CAP = (0, 100, 1_000, 10_000, 100_000), 10_000_000


def main(columns: str, deals: str) -> None:
    """Print a row for each reach."""
    puzzle = Superpuzz({"columns": columns, "goals": "1"})
    starts = [puzzle.start_of_deal(1, number) for number in range(int(deals))]
    solved = [(start, solve(puzzle, start, "dfs", "fixed", _CAP).fixed) for start in starts]
    solutions = [(start, goal.moves) for start, goal in solved if goal is not None]
    began = time.process_time()
    goals = [solve(puzzle, start, "bfs", "fixed", _CAP).fixed for start, _ in solutions]
    searched = time.process_time() - began
    shortest = [len(goal.moves) for goal in goals if goal is not None]
    rows = []
    for reach in REACHES:
        began = time.process_time()
        left = [len(shorten(puzzle, start, moves, reach).moves) for start, moves in solutions]
        reached = sum(one == other for one, other in zip(left, shortest, strict=True))
        rows.append(
            {
                "reach": reach,
                "solutions": len(left),
                "mean": sum(left) / len(left),
                "shortest": reached,
                "cpu_seconds": time.process_time() - began,
            }
        )
    print(json.dumps({"rows": rows, "shortest": sum(shortest) / len(shortest), "cpu_seconds": searched}))


if __name__ == "__main__":
    main(*sys.argv[1:])
