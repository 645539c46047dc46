"""``study magic-star``: the ways of searching that a paper proposes, side by side."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakoiri.cli.options import JsonOption, parse_sizes
from hakoiri.render.tables import print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.puzzles.keys.layout import Key
    from hakoiri.puzzles.stars.magic_star import MagicStar

_FEWEST, _MOST = 5, 9
#: With more points the first program takes hours.
_MOST_GENERATED = 6
#: Levels that are made before the subtrees are counted, so that Ctrl-C need not wait for all of them.
_LEVELS = 2


def magic_star(
    sizes: Annotated[
        str, typer.Option("--points", metavar="SIZES", help="Points of the star: 5..8, 6 or 5,6.")
    ] = "5..8",
    generate: Annotated[
        bool, typer.Option("--generate", help="Also place all numbers before any check: 5 and 6 points, minutes.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Count magic stars by every set of the paper's ideas.

    For each: numbers placed and processor seconds. The ideas are symmetry, the order of the points, forced fourth
    numbers and looking ahead.
    """
    from hakoiri.puzzles.stars.ideas import COMBINED
    from hakoiri.puzzles.stars.magic_star import FASTEST, GENERATE, PRUNE

    rows = []
    for points in parse_sizes(sizes, _FEWEST, _MOST):
        for strategy in [*([GENERATE] if generate and points <= _MOST_GENERATED else []), PRUNE, *COMBINED, FASTEST]:
            stderr().print(f"{points} points, {strategy}", style="dim")
            rows += _rows(points, strategy)
    if json:
        print_json({"puzzle": "magic-star", "rows": rows})
        return
    listed = table(*rows[0], numbers=tuple(rows[0]))
    for row in rows:
        listed.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    stdout().print(listed)


def _rows(points: int, strategy: str) -> list[dict[str, Any]]:
    """A count of all; of the first program also with 1 fixed on point 0, as the paper ran it."""
    from hakoiri.puzzles.stars.magic_star import GENERATE, MagicStar

    puzzle = MagicStar({"points": str(points), "strategy": strategy})
    rows = [_counted(puzzle, puzzle.start, strategy)]
    if strategy == GENERATE:
        (first,) = (key for key in puzzle.successors(puzzle.start) if puzzle.placings(puzzle.keys([key]))[0, 0] == 1)
        rows.append(_counted(puzzle, first, f"{strategy}, 1 on point 0"))
    return rows


def _counted(puzzle: "MagicStar", root: "Key", named: str) -> dict[str, Any]:
    from hakoiri.puzzles.keys.layout import ints

    # Kernels that are not compiled yet are none of the time.
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


def register(studies: typer.Typer) -> None:
    """Add the command."""
    studies.command("magic-star", epilog="Example: hakoiri study magic-star --points 5..7")(magic_star)
