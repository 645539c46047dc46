"""The commands ``generate nakuron``, ``study nakuron`` and ``contest``, and boards that are too large for a key.

``contest`` follows the rules of the Supercomputing Contest of 2011.
"""

import re
from dataclasses import asdict
from itertools import chain, product
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.driving import answering
from hakoiri.cli.options import command_line
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.runs.catalogue import data_directory
from hakoiri.errors import PuzzleError
from hakoiri.parameters import parameter
from hakoiri.puzzles.registry import PuzzleSpec, puzzle_class
from hakoiri.render.streams import print_line
from hakoiri.render.tables import facts, print_json, rows_table, stderr, stdout

if TYPE_CHECKING:
    from rich.console import Console

    from hakoiri.coordinator.session.job import Request
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control
    from hakoiri.guests.nakuron.board import Board
    from hakoiri.guests.nakuron.plan import Entered
    from hakoiri.render.progress import ProgressLine

#: The settings of the contest's boards.
_SETTINGS = (1, 2, 3)


@command_line("generate nakuron --size 250 --setting 3 --seed 7", words=2)
def generate_nakuron(
    size: int = parameter("--size", "N", "Number of rows and columns.", min=1, max=256, default=250),
    setting: int = parameter(
        "--setting", "1|2|3", "Share of walls: 1 is 10 %, 2 is 15 %, 3 is 20 %.", min=1, max=3, default=1
    ),
    seed: int = shared.seed_option("the board"),
    json: bool = shared.JSON,
) -> None:
    """Print a random board, the same on every machine.

    The Supercomputing Contest has three settings of boards.
    """
    from hakoiri.guests.nakuron.board import random_board

    board = random_board(size, setting, seed)
    if json:
        figures = {"size": size, "setting": setting, "seed": seed, "balls": board.balls}
        print_json({"puzzle": "nakuron"} | figures | {"board": board.text()})
    else:
        print_line("\n".join(board.lines()))


GAME = shared.puzzle_argument("Only nakuron.")


def draw_start(text: str, plot: Path | None, json: bool) -> bool:
    """Draw a whole board, and print its number of balls and the score of each tilt.

    Return whether the text is meant as a whole board with size and frame, not as a key or rows alone.
    """
    lines = text.split("/")
    if len(lines) == 1 or all(len(line) == len(lines) for line in lines):
        return False
    from hakoiri.guests.nakuron.board import COLOURS, SIDES, WALL, parse_board, tilt

    board = parse_board(text)
    tilts = [tilt(board.rows, board.frame, side) for side in range(len(SIDES))]
    row: dict[str, Any] = {
        "puzzle": "nakuron",
        "size": board.size,
        "balls": {colour: "".join(board.rows).count(colour) for colour in COLOURS},
        "walls": "".join(board.rows).count(WALL),
        "drops": {name: [tilted.score, len(tilted.dropped)] for name, tilted in zip(SIDES, tilts, strict=True)},
    }
    if plot is not None:
        from hakoiri.guests.nakuron.puzzle import draw_board
        from hakoiri.render.films import write_picture

        write_picture(draw_board(board), f"nakuron, {board.size} x {board.size}", plot)
        stderr().print(Text(f"written to {plot}"))
    if json:
        print_json(row | {"board": board.text()})
        return True
    if plot is None:
        _print_board(stdout(), board)
    row["drops"] = ", ".join(f"{name} {score:,} of {total:,}" for name, (score, total) in row["drops"].items())
    stdout().print(facts(row))
    return True


def _print_board(console: "Console", board: "Board") -> None:
    """Print a board with its frame: digits on colours if two characters per cell fit, else blocks.

    A block is two cells, one above the other.
    """
    from hakoiri.guests.nakuron.puzzle import COLOURS, draw_board, framed_rows
    from hakoiri.render.images import print_picture

    lines = framed_rows(board)
    if 2 * len(lines) <= max(console.width, 80):
        print_picture(console, board.text(), draw_board(board))
        return
    for upper, lower in zip(lines[::2], [*lines[1::2], ""], strict=False):
        text = Text(no_wrap=True)
        for above, below in zip(upper, lower.ljust(len(upper), " "), strict=True):
            ground = f" on {COLOURS[int(below)]}" if below != " " else ""
            text.append("▀", COLOURS[int(above)] + ground)
        console.print(text, soft_wrap=True)


def require_large_boards(puzzle: str) -> None:
    """Raise `PuzzleError` for a puzzle without boards to play."""
    from hakoiri.guests.nakuron.scored import Scored

    kind = puzzle_class(puzzle)
    if not (issubclass(kind, Scored) and kind.large_boards):
        raise PuzzleError(f"{puzzle} has no scored moves; puzzles with scores: nakuron")


@command_line("study nakuron --size 40 --boards 3 --width 10", words=2)
def study_nakuron(
    size: int = parameter("--size", "N", "Number of rows and columns.", min=1, max=256, default=250),
    boards: int = parameter("--boards", "K", "Number of boards per setting: seeds 1 to K.", min=1, default=2),
    width: int = parameter("--width", "W", "Width of the beams.", min=1, default=30),
    prices: str = parameter(
        "--prices",
        "P,P",
        "Prices of a lost ball, joined by commas; ^ for rising ones.",
        default="0,0.3,0.4,0.5,0.6,0.5^",
    ),
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Play boards with each strategy and with beams of each price.

    Each strategy plays one game. A beam runs on one thread until 100 layers have brought no gain. A rising price goes
    from 0.7 to 1.2 times its value.
    """
    from hakoiri.guests.nakuron.puzzle import Nakuron

    rows, ways = [], list[str | BeamOf](Nakuron.games)
    ways += [BeamOf(width, float(price.rstrip("^")), price.endswith("^")) for price in prices.split(",")]
    for by in ways:
        # A small board first, so that the times do not include compiling.
        _play(2, 1, 1, by)
        for setting in _SETTINGS:
            stderr().print(f"setting {setting}, {by}", style="dim")
            plays = [_play(size, setting, seed, by) for seed in range(1, boards + 1)]
            score, moves, seconds = (sum(each) / len(plays) for each in zip(*plays, strict=True))
            figures = {"mean score": round(score, 1), "least": min(plays)[0], "mean moves": round(moves, 1)}
            rows.append(
                {"setting": setting, "strategy": str(by), "boards": len(plays), **figures, "CPU s": round(seconds, 2)}
            )
    if json:
        print_json({"puzzle": "nakuron", "rows": rows})
    else:
        stdout().print(rows_table(rows))


class BeamOf(NamedTuple):
    """A beam of a width, with a price that may rise."""

    width: int
    price: float
    rises: bool

    def __str__(self) -> str:
        return f"beam {self.width}, price {self.price:g}{'^' * self.rises}"


def _play(size: int, setting: int, seed: int, by: "str | BeamOf") -> tuple[int, int, float]:
    """Return score, moves and CPU seconds of one play."""
    from hakoiri.coordinator.runs.opening import open_context
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control, SilentObserver
    from hakoiri.guests.nakuron.beam import Beam
    from hakoiri.guests.nakuron.board import random_board
    from hakoiri.guests.nakuron.kernels import field_of, ground_of
    from hakoiri.guests.nakuron.puzzle import Nakuron
    from hakoiri.guests.nakuron.tilting import play_game

    board, began = random_board(size, setting, seed), process_time()
    if isinstance(by, str):
        game = play_game(Nakuron.games.index(by), 1, 0, ground_of(board), field_of(board))
        return game.score, len(game.sequence), process_time() - began
    puzzle = Nakuron()
    with open_context(puzzle, PuzzleSpec("nakuron"), Resources(workers=1), Control(), SilentObserver()) as context:
        beam = Beam(context, puzzle, puzzle.arena(board.text()), 1, by.price, by.rises)
        while not beam.finished:
            beam.step(by.width)
    return beam.points, len(beam.sequence), process_time() - began


_TEAMS = "cycle,random,greedy,sample,two-step,beam"


@command_line("contest nakuron --boards 2 --size 40 --time 5s")
def contest(
    puzzle: str = GAME,
    boards: int = parameter("--boards", "K", "Number of boards of each setting.", min=1, default=1),
    size: int = parameter("--size", "N", "Number of rows and columns.", min=1, max=256, default=250),
    seed: int = shared.seed_option("the first board of each setting"),
    teams: str = parameter("--teams", "NAMES", "Strategies, joined by commas; beam:W has width W.", default=_TEAMS),
    time: float | None = parameter(
        "--time", "TIME", "Time per play of setting 1; twice as much for setting 2, three times for setting 3.",
        "5m", parser=shared.parse_time,
    ),
    data: Path | None = shared.DATA,
    memory: int | None = shared.MEMORY,
    json: bool = shared.JSON,
) -> None:  # fmt: skip
    """Rank strategies by the rules of the Supercomputing Contest.

    Each team plays each board on one core. The best play of a board gets 11 points, the next 10, and so on down to 1.
    The winner of setting 2 gets 1 point more, that of setting 3 gets 2 more. If interrupted, run the same command again
    to continue.
    """
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.guests.nakuron.plan import MINUTES, points, ranking, ranks

    require_large_boards(puzzle)
    resources, minute = Resources(workers=1, memory=memory), 60.0 if time is None else time / MINUTES[1]
    contests = [dict[int, dict[str, "Entered"]]() for _ in range(boards)]
    with answering("; run the same command again to continue") as (control, progress):
        for number, problems in enumerate(contests, seed):
            for setting, team in product(MINUTES, teams.split(",")):
                asked = _asked(puzzle, (size, setting, number), team, MINUTES[setting] * minute)
                play = problems.setdefault(setting, {})[team] = _played(asked, resources, data, control, progress)
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
    from hakoiri.guests.nakuron.board import random_board
    from hakoiri.guests.nakuron.optimise import Optimise

    strategy, _, width = team.partition(":")
    if width and not re.fullmatch("[0-9]{1,9}", width):
        raise PuzzleError(f"the width of team {team!r} is not a number")
    spec = PuzzleSpec(puzzle, {}, random_board(*board).text())
    return Optimise.parse_request(spec, strategy=strategy, width=int(width) if width else None, seconds=seconds)


def _played(
    asked: "Request", resources: "Resources", data: Path | None, control: "Control", progress: "ProgressLine"
) -> "Entered":  # fmt: skip
    """Return the best play of a run, which is created or resumed unless it is complete; raises `StopRun`."""
    from hakoiri.coordinator.runs.create import make_planned, plan_run
    from hakoiri.coordinator.runs.drive import drive
    from hakoiri.guests.nakuron.optimise import best_of
    from hakoiri.guests.nakuron.plan import Entered
    from hakoiri.storage.layers.store import RunStore

    # Contests with other times are separate, because their plays are better or worse.
    where = data_directory(data) / f"contest-{asked.limits['seconds']:g}s"
    manifest = plan_run(where, asked.spec, "optimise", asked.plan, resources)
    directory = where / manifest.run
    if not directory.exists():
        where.mkdir(parents=True, exist_ok=True)
        make_planned(where, manifest, False, asked.limits)
    state = drive(directory, resources, control, progress)
    if state.status != "complete":
        raise StopRun(state.status, state.reason)
    with RunStore(directory) as store:
        best = best_of(store, asked.limits["seconds"])
    return Entered(best.score, best.moves, best.seconds)


def replay_play(start: str, sequence: str, steps: bool, film: Path | None, json: bool) -> None:
    """Show a play of a whole board, by the reference rules; `film` is the file for a film of it."""
    from hakoiri.guests.nakuron.board import SIDES, Board, parse_board, parse_sequence
    from hakoiri.guests.nakuron.board import replay as replayed

    board = parse_board(start)
    sides = parse_sequence(sequence)
    score, left, rows = 0, board.balls, []
    for number, (side, tilted) in enumerate(zip(sides, replayed(board, sides), strict=True), 1):
        score, left = score + tilted.score, left - len(tilted.dropped)
        figures = {"dropped": len(tilted.dropped), "scored": tilted.score, "score": score, "left": left}
        rows.append({"move": number, "side": SIDES[side]} | figures)
    result = {"score": score, "moves": len(sides), "balls": board.balls, "left": left}
    if film is not None:
        from hakoiri.guests.nakuron.puzzle import draw_boards
        from hakoiri.render.films import film_of, write_film

        boards = chain([board], (Board(tilted.rows, board.frame) for tilted in replayed(board, sides)))
        write_film(film_of("nakuron", lambda: draw_boards(boards), [SIDES[side] for side in sides]), film)
        stderr().print(Text(f"written to {film}"))
    if json:
        print_json(result | ({"steps": rows} if steps else {}))
        return
    if steps:
        stdout().print(rows_table(rows))
    stdout().print(facts(result))
