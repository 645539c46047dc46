"""The commands ``optimise`` and ``generate``: good plays of boards too large to exhaust, and random boards."""

from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.driving import start_run
from hakoiri.cli.groups import Work
from hakoiri.render.tables import facts, print_json, stderr, stdout

GameArgument = Annotated[str, shared.puzzle_argument("Only nakuron.")]


@command_line("optimise nakuron --from board.txt --time 5m")
def optimise(
    puzzle: Annotated[str, shared.puzzle_argument("nakuron, or FILE.py:NAME for your own with moves that score.")],
    options: shared.PuzzleOptions = None,
    start: Annotated[str | None, option("--from", "FILE", "File of the board.", usual="the puzzle's")] = None,
    time: Annotated[
        float, option("--time", "TIME", "Time for this call: 5m, 90s or 1h.", parser=shared.parse_time)
    ] = "5m",  # type: ignore[assignment]
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
    from hakoiri.coordinator.plays.job import Optimise

    spec = shared.spec_of(puzzle, options, start)
    asked = Optimise.parse_request(
        spec, strategy=strategy, seed=seed, width=width, seconds=time, rounds=rounds, price=price, rising=rising
    )
    start_run(asked, "optimise", work, queue=queue)


def is_whole(text: str) -> bool:
    """Return whether a text is meant as a whole board with size and frame, not as a key or rows alone."""
    lines = text.split("/")
    return len(lines) > 1 and any(len(line) != len(lines) for line in lines)


def show_board(text: str, plot: Path | None, json: bool) -> None:
    """Draw a whole board, and print its number of balls and the score of each tilt."""
    from hakoiri.puzzles.nakuron.board import COLOURS, SIDES, WALL, parse_board, tilt
    from hakoiri.render.pictures.terminal import print_nakuron

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
        from hakoiri.puzzles.nakuron.drawing import draw_board
        from hakoiri.render.pictures.files import write_picture

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
    from hakoiri.puzzles.errors import PuzzleError
    from hakoiri.puzzles.registry import puzzle_class
    from hakoiri.puzzles.scored import Scored

    kind = puzzle_class(puzzle)
    if not (issubclass(kind, Scored) and kind.large_boards):
        raise PuzzleError(f"{puzzle} has no scored moves; puzzles with scores: nakuron")
