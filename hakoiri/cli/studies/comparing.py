"""The commands ``study magic-star`` and ``study nakuron``, which compare published strategies, and ``contest``.

``contest`` follows the rules of the Supercomputing Contest of 2011.
"""

import time
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hakoiri.cli import options as shared
from hakoiri.cli.driving import answering
from hakoiri.cli.options import command_line, flag, option
from hakoiri.cli.studies.generating import GameArgument, require_large_boards
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.runs.catalogue import data_directory
from hakoiri.errors import PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.render.tables import print_json, rows_table, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.coordinator.plays.plan import Entered
    from hakoiri.coordinator.session.job import Request
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control
    from hakoiri.keys.layout import Key
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
    json: shared.JsonOption = False,
) -> None:
    """Count magic stars with every combination of the paper's ideas.

    Reports numbers placed and processor seconds. The ideas are symmetry, the order of the points, forced fourth
    numbers and looking ahead.
    """
    from hakoiri.puzzles.stars.magic_star import FASTEST, GENERATE, PRUNE, MagicStar
    from hakoiri.puzzles.stars.strategies import COMBINED

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
    _show("magic-star", rows, json)


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


@command_line("study nakuron --size 40 --boards 3 --width 10", words=2)
def nakuron(
    size: Annotated[int, option("--size", "N", "Number of rows and columns.", min=1, max=256)] = 250,
    boards: Annotated[int, option("--boards", "K", "Number of boards per setting: seeds 1 to K.", min=1)] = 2,
    width: Annotated[int, option("--width", "W", "Width of the beams.", min=1)] = 30,
    prices: Annotated[
        str, option("--prices", "P,P", "Prices of a lost ball, joined by commas; ^ for rising ones.")
    ] = "0,0.3,0.4,0.5,0.6,0.5^",
    json: shared.JsonOption = False,
) -> None:
    """Play boards with each strategy and with beams of each price.

    Each strategy plays one game. A beam runs on one thread until 100 layers have brought no gain. A rising price goes
    from 0.7 to 1.2 times its value.
    """
    from hakoiri.puzzles.nakuron.puzzle import Nakuron

    rows = []
    for named in [*Nakuron.games, *(f"beam {width}, price {price}" for price in prices.split(","))]:
        # A small board first, so that the times do not include compiling.
        _play(2, 1, 1, named)
        for setting in _SETTINGS:
            stderr().print(f"setting {setting}, {named}", style="dim")
            plays = [_play(size, setting, seed, named) for seed in range(1, boards + 1)]
            score, moves, seconds = (sum(each) / len(plays) for each in zip(*plays, strict=True))
            figures = {"mean score": round(score, 1), "least": min(plays)[0], "mean moves": round(moves, 1)}
            rows.append(
                {"setting": setting, "strategy": named, "boards": len(plays), **figures, "CPU s": round(seconds, 2)}
            )
    _show("nakuron", rows, json)


def _play(size: int, setting: int, seed: int, named: str) -> tuple[int, int, float]:
    """Return score, moves and CPU seconds of one play."""
    from hakoiri.coordinator.plays.beam import Beam
    from hakoiri.coordinator.runs.opening import open_context
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control, SilentObserver
    from hakoiri.puzzles.nakuron.board import random_board
    from hakoiri.puzzles.nakuron.kernels import field_of, ground_of
    from hakoiri.puzzles.nakuron.puzzle import Nakuron
    from hakoiri.worker.plays.tilting import play_game

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
    else:
        stdout().print(rows_table(rows))


_TEAMS = "cycle,random,greedy,sample,two-step,beam"


@command_line("contest nakuron --boards 2 --size 40 --time 5s")
def contest(
    puzzle: GameArgument,
    boards: Annotated[int, option("--boards", "K", "Number of boards of each setting.", min=1)] = 1,
    size: Annotated[int, option("--size", "N", "Number of rows and columns.", min=1, max=256)] = 250,
    seed: Annotated[int, shared.seed_option("the first board of each setting")] = 1,
    teams: Annotated[str, option("--teams", "NAMES", "Strategies, joined by commas; beam:W has width W.")] = _TEAMS,
    time: Annotated[
        float | None,
        option("--time", "TIME", "Time per play of setting 1; twice as much for setting 2, three times for setting 3.",
               parser=shared.parse_time, usual="5m"),
    ] = None,
    data: shared.DataOption = None,
    memory: shared.MemoryOption = None,
    json: shared.JsonOption = False,
) -> None:  # fmt: skip
    """Rank strategies by the rules of the Supercomputing Contest.

    Each team plays each board on one core. The best play of a board gets 11 points, the next 10, and so on down to 1.
    The winner of setting 2 gets 1 point more, that of setting 3 gets 2 more. If interrupted, run the same command again
    to continue.
    """
    from hakoiri.coordinator.plays.plan import MINUTES, points, ranking, ranks
    from hakoiri.coordinator.session.resources import Resources

    require_large_boards(puzzle)
    resources, minute = Resources(workers=1, memory=memory), 60.0 if time is None else time / MINUTES[1]
    contests = [dict[int, dict[str, "Entered"]]() for _ in range(boards)]
    with answering("; run the same command again to continue") as (control, _):
        for number, problems in enumerate(contests, seed):
            for setting, team in product(MINUTES, teams.split(",")):
                asked = _asked(puzzle, (size, setting, number), team, MINUTES[setting] * minute)
                play = problems.setdefault(setting, {})[team] = _played(asked, resources, data, control)
                stderr().print(f"board {number}, setting {setting}, {team}: {play.score:,} in {play.moves:,} moves")
    rows = [
        {"board": number, "setting": setting, "team": team, **asdict(play)}
        | {"rank": ranks(plays)[team], "points": points(setting, plays)[team]}
        for number, problems in enumerate(contests, seed)
        for setting, plays in problems.items()
        for team, play in plays.items()
    ]
    if json:
        print_json({"puzzle": puzzle, "size": size, "plays": rows, "teams": [asdict(t) for t in ranking(contests)]})
        return
    stdout().print(rows_table(rows))
    stdout().print(rows_table([asdict(team) for team in ranking(contests)]))


def _asked(puzzle: str, board: tuple[int, int, int], team: str, seconds: float) -> "Request":
    """Return the run of a team on a board of a size, setting and seed."""
    from hakoiri.coordinator.plays.optimise import Optimise
    from hakoiri.puzzles.nakuron.board import random_board

    strategy, _, width = team.partition(":")
    if width and not width.isdigit():
        raise PuzzleError(f"the width of team {team!r} is not a number")
    spec = PuzzleSpec(puzzle, {}, random_board(*board).text())
    return Optimise.parse_request(spec, strategy=strategy, width=int(width) if width else None, seconds=seconds)


def _played(asked: "Request", resources: "Resources", data: Path | None, control: "Control") -> "Entered":
    """Return the best play of a run, which is created or resumed unless it is complete; raises `StopRun`."""
    from hakoiri.coordinator.plays.optimise import best_of
    from hakoiri.coordinator.plays.plan import Entered
    from hakoiri.coordinator.runs.create import make_planned, plan_run
    from hakoiri.coordinator.runs.drive import drive
    from hakoiri.coordinator.session.session import SilentObserver
    from hakoiri.storage.layers.store import RunStore

    # Contests with other times are separate, because their plays are better or worse.
    where = data_directory(data) / f"contest-{asked.limits['seconds']:g}s"
    manifest = plan_run(where, asked.spec, "optimise", asked.plan, resources)
    directory = where / manifest.run
    if not directory.exists():
        where.mkdir(parents=True, exist_ok=True)
        make_planned(where, manifest, False, asked.limits)
    state = drive(directory, resources, control, SilentObserver())
    if state.status != "complete":
        raise StopRun(state.status, state.reason)
    with RunStore(directory) as store:
        best = best_of(store, asked.limits["seconds"])
    return Entered(best.score, best.moves, best.seconds)
