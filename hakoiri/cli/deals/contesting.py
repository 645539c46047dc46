"""The command ``contest``: strategies of Nakuron compete by the rules of the Supercomputing Contest of 2011."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from hakoiri.cli.commands import command_line, option
from hakoiri.cli.deals.optimising import GameArgument, require_large_boards
from hakoiri.cli.driving import answering
from hakoiri.cli.options import DataOption, JsonOption, MemoryOption, parse_time, seed_option
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.render.tables import print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.coordinator.plays.contest import Entered
    from hakoiri.coordinator.session.job import Request
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control

_TEAMS = "cycle,random,greedy,sample,two-step,beam"


@command_line("contest nakuron --boards 2 --size 40 --time 5s")
def contest(
    puzzle: GameArgument,
    boards: Annotated[int, option("--boards", "K", "Number of boards of each setting.", min=1)] = 1,
    size: Annotated[int, option("--size", "N", "Number of rows and columns.", min=1, max=256)] = 250,
    seed: Annotated[int, seed_option("the first board of each setting")] = 1,
    teams: Annotated[str, option("--teams", "NAMES", "Strategies, joined by commas; beam:W has width W.")] = _TEAMS,
    time: Annotated[
        float | None,
        option("--time", "TIME", "Time per play of setting 1; twice as much for setting 2, three times for setting 3.",
               parser=parse_time, usual="5m"),
    ] = None,
    data: DataOption = None,
    memory: MemoryOption = None,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Rank strategies by the rules of the Supercomputing Contest.

    Each team plays each board on one core. The best play of a board gets 11 points, the next 10, and so on down to 1.
    The winner of setting 2 gets 1 point more, that of setting 3 gets 2 more. If interrupted, run the same command again
    to continue.
    """
    from hakoiri.coordinator.plays.contest import MINUTES, standings
    from hakoiri.coordinator.session.resources import Resources

    require_large_boards(puzzle)
    resources, minute = Resources(workers=1, memory=memory), 60.0 if time is None else time / MINUTES[1]
    contests = [dict[int, dict[str, "Entered"]]() for _ in range(boards)]
    with answering("; run the same command again to continue") as (control, _):
        for number, problems in enumerate(contests, seed):
            for setting, minutes in MINUTES.items():
                problems[setting] = {}
                for team in teams.split(","):
                    asked = _asked(puzzle, (size, setting, number), team, minutes * minute)
                    play = problems[setting][team] = _played(asked, resources, data, control)
                    stderr().print(f"board {number}, setting {setting}, {team}: {play.score:,} in {play.moves:,} moves")
    rows = _rows(seed, contests)
    if json:
        print_json({"puzzle": puzzle, "size": size, "plays": rows, "teams": [asdict(t) for t in standings(contests)]})
        return
    for listed in (rows, [asdict(team) for team in standings(contests)]):
        shown = table(*listed[0], numbers=tuple(listed[0]))
        for row in listed:
            shown.add_row(*(f"{value:,}" if isinstance(value, int) else f"{value}" for value in row.values()))
        stdout().print(shown)


def _asked(puzzle: str, board: tuple[int, int, int], team: str, seconds: float) -> "Request":
    """Return the run of a team on a board of a size, setting and seed."""
    from hakoiri.coordinator.plays.job import Optimise
    from hakoiri.puzzles.nakuron.board import random_board
    from hakoiri.puzzles.registry import PuzzleSpec

    strategy, _, width = team.partition(":")
    if width and not width.isdigit():
        raise PuzzleError(f"the width of team {team!r} is not a number")
    spec = PuzzleSpec(puzzle, {}, random_board(*board).text())
    return Optimise.parse_request(spec, strategy=strategy, width=int(width) if width else None, seconds=seconds)


def _played(asked: "Request", resources: "Resources", data: Path | None, control: "Control") -> "Entered":
    """Return the best play of a run, which is created or resumed unless it is complete; raises `StopRun`."""
    from hakoiri.coordinator.errors import StopRun
    from hakoiri.coordinator.plays.contest import Entered
    from hakoiri.coordinator.plays.optimise import best_of
    from hakoiri.coordinator.runs.catalogue import data_directory
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


def _rows(seed: int, contests: "list[dict[int, dict[str, Entered]]]") -> list[dict[str, Any]]:
    from hakoiri.coordinator.plays.contest import points, ranks

    return [
        {"board": number, "setting": setting, "team": team, **asdict(play)}
        | {"rank": ranks(plays)[team], "points": points(setting, plays)[team]}
        for number, problems in enumerate(contests, seed)
        for setting, plays in problems.items()
        for team, play in plays.items()
    ]
