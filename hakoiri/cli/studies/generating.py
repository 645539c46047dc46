"""The commands ``generate`` and ``optimise``: boards of a given difficulty, and good plays of large ones."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.driving import Work
from hakoiri.cli.options import command_line, flag, option
from hakoiri.cli.studies.studying import start_study
from hakoiri.errors import PuzzleError
from hakoiri.puzzles.registry import PuzzleSpec, puzzle_class
from hakoiri.reading import parse_options
from hakoiri.render.streams import print_line
from hakoiri.render.tables import facts, print_json, stderr, stdout

GROUPS = {
    "generate": typer.Typer(
        help="Make boards of a given difficulty, or random ones.",
        epilog='Example: hakoiri generate sliding --size 4x5 --pieces "2x2:1 2x1:1 1x2:4 1x1:4" --goal 2x2@4,2',
        no_args_is_help=True,
    )
}


@command_line('generate sliding --size 6x6 --pieces "2x2:5 2x1:3 1x2:3 1x1:1" --goal 2x2@5,5 --moves 25..30', words=2)
def sliding(
    size: Annotated[str, option("--size", "CxR", "Columns x rows: 6x6; or rows with walls: ....#/...../.....")],
    pieces: Annotated[
        str, option("--pieces", "PIECES", 'WIDTHxHEIGHT:COUNT or a drawing of each: "2x2:1 2x1:1..3 xx/x.:*".')
    ],
    goal: Annotated[
        str,
        option("--goal", "PIECE@R,C", "Goal of every board: 2x2@5,5.",
               usual="the first piece at the lower edge, with -o axis at the right one"),
    ] = "",
    moves: Annotated[str, option("--moves", "N", "Fewest moves to the goal: 25..30, 25.. or 25.")] = "1..",
    empty: Annotated[str, option("--empty", "N", "Number of empty cells: 2, 2.. or 2..4.")] = "1..",
    unique: Annotated[bool, flag("--unique", "Only boards with a single shortest solution.")] = False,
    no_idle: Annotated[bool, flag("--no-idle", "Only boards all of whose pieces have to move.")] = False,
    each: Annotated[int, option("--each", "N", "Most boards of one space.", min=1, max=64)] = 1,
    hunt: Annotated[int, option("--hunt", "N", "Vary each board found N times, in search of a harder one.", min=0)] = 0,
    boards: Annotated[int, option("--boards", "N", "Number of boards in total.", min=1)] = 20,
    time: shared.TimeOption = "10m",  # type: ignore[assignment]
    cap: Annotated[int, shared.cap_option("Skip spaces with more positions: 20k.")] = "20k",  # type: ignore[assignment]
    seed: Annotated[int, shared.seed_option("the random boards")] = 1,
    options: shared.PuzzleOptions = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:  # fmt: skip
    """Find boards of a given difficulty.

    Searches the spaces of random boards for the boards farthest from the goal within --moves. The result depends on
    nothing but the options. Run the same command again to continue, or with more --boards.
    """
    bounds = re.fullmatch(r"(\d{1,4})(\.\.(\d{1,4})?)?", moves)
    if not bounds or (bounds[3] and int(bounds[3]) < int(bounds[1])):
        raise PuzzleError(f"--moves {moves} is malformed; expected a number or range such as 25, 25.. or 25..30")
    most = {} if bounds[2] and not bounds[3] else {"most": int(bounds[3] or bounds[1])}
    asked = {"size": size, "pieces": pieces, "empty": empty, "goal": goal, "least": int(bounds[1]), **most}
    asked |= {"unique": unique, "no_idle": no_idle, "each": each, "cap": cap, "seed": seed, "hunt": hunt}
    spec = PuzzleSpec("sliding", parse_options(options or []))
    start_study("generate", spec, asked | {"boards": boards, "seconds": time}, work, queue)


@command_line("generate nakuron --size 250 --setting 3 --seed 7", words=2)
def nakuron(
    size: Annotated[int, option("--size", "N", "Number of rows and columns.", min=1, max=256)] = 250,
    setting: Annotated[
        int, option("--setting", "1|2|3", "Share of walls: 1 is 10 %, 2 is 15 %, 3 is 20 %.", min=1, max=3)
    ] = 1,
    seed: Annotated[int, shared.seed_option("the board")] = 1,
    json: shared.JsonOption = False,
) -> None:
    """Print a random board, the same on every machine.

    The Supercomputing Contest has three settings of boards.
    """
    from hakoiri.puzzles.nakuron.board import random_board

    board = random_board(size, setting, seed)
    if json:
        figures = {"size": size, "setting": setting, "seed": seed, "balls": board.balls}
        print_json({"puzzle": "nakuron"} | figures | {"board": board.text()})
    else:
        print_line("\n".join(board.lines()))


GameArgument = Annotated[str, shared.puzzle_argument("Only nakuron.")]


@command_line("optimise nakuron --from board.txt --time 5m")
def optimise(
    puzzle: Annotated[str, shared.puzzle_argument("nakuron, or FILE.py:NAME for your own with moves that score.")],
    options: shared.PuzzleOptions = None,
    start: Annotated[str | None, option("--from", "FILE", "File of the board.", usual="the puzzle's")] = None,
    time: shared.TimeOption = "5m",  # type: ignore[assignment]
    width: Annotated[
        int | None,
        option("--width", "W", "Width of the beam: boards kept per layer.", min=1, usual="fitted to the time"),
    ] = None,
    strategy: Annotated[
        str, option("--strategy", "NAME", "One of cycle, random, greedy, two-step, sample, beam.")
    ] = "beam",
    seed: Annotated[int, shared.seed_option("the search")] = 1,
    price: Annotated[float, option("--price", "P", "Points that a beam deducts for each lost ball.", min=0.0)] = 0.5,
    rising: Annotated[bool, flag("--rising", "Raise the price from 0.7 P to 1.2 P as the box empties.")] = False,
    rounds: Annotated[
        int | None, option("--rounds", "N", "Stop after N beams or games, not by time. Reproducible.", min=1)
    ] = None,
    queue: shared.QueueOption = False,
    *,
    work: Work,
) -> None:
    """Look for the play with the highest score.

    The best play so far is always on disk. Run the same command again to continue.
    """
    asked = {"strategy": strategy, "seed": seed, "width": width, "seconds": time, "rounds": rounds, "price": price}
    start_study("optimise", shared.spec_of(puzzle, options, start), asked | {"rising": rising}, work, queue)


def is_whole(text: str) -> bool:
    """Return whether a text is meant as a whole board with size and frame, not as a key or rows alone."""
    lines = text.split("/")
    return len(lines) > 1 and any(len(line) != len(lines) for line in lines)


def show_board(text: str, plot: Path | None, json: bool) -> None:
    """Draw a whole board, and print its number of balls and the score of each tilt."""
    from hakoiri.puzzles.nakuron.board import COLOURS, SIDES, WALL, parse_board, tilt
    from hakoiri.render.images import print_nakuron

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
        from hakoiri.puzzles.nakuron.puzzle import draw_board
        from hakoiri.render.films import write_picture

        write_picture(draw_board(board), f"nakuron, {board.size} x {board.size}", plot)
        stderr().print(Text(f"written to {plot}"))
    if json:
        print_json(row | {"board": board.text()})
        return
    if plot is None:
        print_nakuron(stdout(), board)
    row["drops"] = ", ".join(f"{name} {score:,} of {total:,}" for name, (score, total) in row["drops"].items())
    stdout().print(facts(row))


def require_large_boards(puzzle: str) -> None:
    """Raise `PuzzleError` for a puzzle without boards to play."""
    from hakoiri.puzzles.capabilities import Scored

    kind = puzzle_class(puzzle)
    if not (issubclass(kind, Scored) and kind.large_boards):
        raise PuzzleError(f"{puzzle} has no scored moves; puzzles with scores: nakuron")
