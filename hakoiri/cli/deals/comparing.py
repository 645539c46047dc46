"""The commands ``study magic-star`` and ``study nakuron``: search strategies from papers, side by side."""

import time
from typing import TYPE_CHECKING, Annotated, Any

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.options import JsonOption, parse_sizes
from hakoiri.render.tables import print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.puzzles.keys.layout import Key
    from hakoiri.puzzles.stars.magic_star import MagicStar

_FEWEST, _MOST = 5, 9
#: The settings of the contest's boards.
_SETTINGS = (1, 2, 3)
#: The most points for the first program, which takes hours for more.
_MOST_GENERATED = 6
#: Levels made before the subtrees are counted, so that Ctrl-C need not wait for all subtrees.
_LEVELS = 2


@command_line("study magic-star --points 5..7", words=2)
def magic_star(
    sizes: Annotated[str, option("--points", "SIZES", "Points of the star: 5..8, 6 or 5,6.")] = "5..8",
    generate: Annotated[
        bool, flag("--generate", "Also place all numbers before any check; 5 and 6 points only, takes minutes.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Count magic stars with every combination of the paper's ideas.

    Reports numbers placed and processor seconds. The ideas are symmetry, the order of the points, forced fourth
    numbers and looking ahead.
    """
    from hakoiri.puzzles.stars.ideas import COMBINED
    from hakoiri.puzzles.stars.magic_star import FASTEST, GENERATE, PRUNE

    rows = []
    for points in parse_sizes(sizes, _FEWEST, _MOST):
        for strategy in [*([GENERATE] if generate and points <= _MOST_GENERATED else []), PRUNE, *COMBINED, FASTEST]:
            stderr().print(f"{points} points, {strategy}", style="dim")
            rows += _rows(points, strategy)
    _show("magic-star", rows, json)


def _rows(points: int, strategy: str) -> list[dict[str, Any]]:
    """Return a count of all; for the first program also with 1 fixed on point 0, as the paper ran it."""
    from hakoiri.puzzles.stars.magic_star import GENERATE, MagicStar

    puzzle = MagicStar({"points": str(points), "strategy": strategy})
    rows = [_counted(puzzle, puzzle.start, strategy)]
    if strategy == GENERATE:
        (first,) = (key for key in puzzle.successors(puzzle.start) if puzzle.placings(puzzle.keys([key]))[0, 0] == 1)
        rows.append(_counted(puzzle, first, f"{strategy}, 1 on point 0"))
    return rows


def _counted(puzzle: "MagicStar", root: "Key", named: str) -> dict[str, Any]:
    from hakoiri.puzzles.keys.layout import ints

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


@command_line("study nakuron --size 40 --boards 3 --width 10", words=2)
def nakuron(
    size: Annotated[int, option("--size", "N", "Number of rows and columns.", min=1, max=256)] = 250,
    boards: Annotated[int, option("--boards", "K", "Number of boards per setting: seeds 1 to K.", min=1)] = 2,
    width: Annotated[int, option("--width", "W", "Width of the beams.", min=1)] = 30,
    prices: Annotated[
        str, option("--prices", "P,P", "Prices of a lost ball, joined by commas; ^ for rising ones.")
    ] = "0,0.3,0.4,0.5,0.6,0.5^",
    json: JsonOption = False,
) -> None:
    """Play boards with each strategy and with beams of each price.

    Each strategy plays one game. A beam runs on one thread until 100 layers have brought no gain. A rising price goes
    from 0.7 to 1.2 times its value.
    """
    rows = []
    for named in [*_games(), *(f"beam {width}, price {price}" for price in prices.split(","))]:
        for setting in _SETTINGS:
            stderr().print(f"setting {setting}, {named}", style="dim")
            rows.append(_mean(setting, named, [_play(size, setting, seed, named) for seed in range(1, boards + 1)]))
    _show("nakuron", rows, json)


def _games() -> tuple[str, ...]:
    from hakoiri.puzzles.nakuron.puzzle import Nakuron

    return Nakuron.games


def _mean(setting: int, named: str, plays: "list[tuple[int, int, float]]") -> dict[str, Any]:
    score, moves, seconds = (sum(each) / len(plays) for each in zip(*plays, strict=True))
    figures = {"mean score": round(score, 1), "least": min(plays)[0], "mean moves": round(moves, 1)}
    return {"setting": setting, "strategy": named, "boards": len(plays), **figures, "CPU s": round(seconds, 2)}


def _play(size: int, setting: int, seed: int, named: str) -> tuple[int, int, float]:
    """Return score, moves and CPU seconds of one play."""
    from hakoiri.coordinator.executors.opening import open_context
    from hakoiri.coordinator.plays.beam import Beam
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control, SilentObserver
    from hakoiri.puzzles.nakuron.board import random_board
    from hakoiri.puzzles.nakuron.kernels import field_of, ground_of
    from hakoiri.puzzles.nakuron.puzzle import Nakuron
    from hakoiri.puzzles.registry import PuzzleSpec
    from hakoiri.worker.nakuron.tilting import load_tilting_kernels, play_game

    load_tilting_kernels()
    board, began = random_board(size, setting, seed), time.process_time()
    if named in Nakuron.games:
        game = play_game(Nakuron.games.index(named), 1, 0, ground_of(board), field_of(board))
        return game.score, len(game.sequence), time.process_time() - began
    _, width, _, price = named.replace(",", "").split()
    puzzle, value = Nakuron(), (float(price.rstrip("^")), price.endswith("^"))
    with open_context(puzzle, PuzzleSpec("nakuron"), Resources(workers=1), Control(), SilentObserver()) as context:
        beam = Beam(context, puzzle, puzzle.arena(board.text()), 1, *value)
        while not beam.finished:
            beam.step(int(width))
    return beam.points, len(beam.sequence), time.process_time() - began


def _show(puzzle: str, rows: list[dict[str, Any]], json: bool) -> None:
    if json:
        print_json({"puzzle": puzzle, "rows": rows})
        return
    listed = table(*rows[0], numbers=tuple(rows[0]))
    for row in rows:
        listed.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()))
    stdout().print(listed)
