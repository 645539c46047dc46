"""The command ``study magic-star``, which compares published strategies."""

import time
from typing import TYPE_CHECKING, Any

from hakoiri.cli import options as shared
from hakoiri.cli.options import command_line
from hakoiri.parameters import flag, parameter
from hakoiri.render.tables import print_json, rows_table, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.guests.stars.magic_star import MagicStar
    from hakoiri.keys.layout import Key

_FEWEST, _MOST = 5, 9
#: The most points for the first program, which takes hours for more.
_MOST_GENERATED = 6
#: Levels made before the subtrees are counted, so that Ctrl-C need not wait for all subtrees.
_LEVELS = 2


@command_line("study magic-star --points 5..7", words=2)
def magic_star(
    sizes: str = parameter("--points", "SIZES", "Points of the star: 5..8, 6 or 5,6.", default="5..8"),
    generate: bool = flag("--generate", "Also place all numbers before any check; 5 and 6 points only, takes minutes."),
    json: bool = shared.JSON,
) -> None:
    """Count magic stars with every combination of the paper's ideas.

    Reports numbers placed and processor seconds. The ideas are symmetry, the order of the points, forced fourth
    numbers and looking ahead.
    """
    from hakoiri.guests.stars.magic_star import FASTEST, GENERATE, PRUNE, MagicStar
    from hakoiri.guests.stars.strategies import COMBINED

    rows = []
    for points in shared.parse_sizes(sizes, _FEWEST, _MOST):
        for strategy in [*([GENERATE] if generate and points <= _MOST_GENERATED else []), PRUNE, *COMBINED, FASTEST]:
            stderr().print(f"{points} points, {strategy}", style="dim")
            puzzle = MagicStar({"points": str(points), "strategy": strategy})
            rows.append(_counted(puzzle, puzzle.start, strategy))
            if strategy == GENERATE:
                # As the paper ran it.
                first = next(key for key in puzzle.successors(puzzle.start) if puzzle.render(key).startswith("1/"))
                rows.append(_counted(puzzle, first, f"{strategy}, 1 on point 0"))
    if json:
        print_json({"puzzle": "magic-star", "rows": rows})
    else:
        stdout().print(rows_table(rows))


def _counted(puzzle: "MagicStar", root: "Key", named: str) -> dict[str, Any]:
    from hakoiri.keys.layout import ints

    # Compile the kernels first, so that the time does not include it.
    puzzle.exceeds(puzzle.keys([root]), 1)
    began, nodes, keys = time.process_time(), 0, [root]
    for _ in range(_LEVELS):
        found = ints(puzzle.expand(puzzle.keys(keys)).successors)
        placed = [int((row > 0).sum()) for keys in (keys[:1], found[:1]) for row in puzzle.placings(puzzle.keys(keys))]
        nodes, keys = nodes + len(found) * (placed[-1] - placed[0]), found
    counts = [puzzle.count_subtrees(puzzle.keys([key])) for key in keys]
    return {
        "points": puzzle.star.tips,
        "strategy": named,
        "solutions": sum(count.solutions for count in counts),
        "numbers placed": nodes + sum(count.nodes for count in counts),
        "CPU s": round(time.process_time() - began, 4),
    }
