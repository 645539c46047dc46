"""``optimise``, ``generate`` and ``replay``: good plays of boards too large to exhaust, random boards, plays scored."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.options import (
    MOST_SEED,
    DataOption,
    JsonOption,
    MemoryOption,
    RedisOption,
    WorkersOption,
    parse_time,
    read_board,
    read_text,
    redis_url,
)
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from coordinator.nakuron.optimise_plan import Limits, Outcome, Plan
    from coordinator.session.resources import Resources

GameArgument = Annotated[str, typer.Argument(metavar="PUZZLE", help="nakuron.")]


def optimise(
    puzzle: GameArgument,
    start: Annotated[str, typer.Option("--from", metavar="FILE", help="The board.")],
    time: Annotated[
        float, typer.Option("--time", parser=parse_time, metavar="TIME", help="Of this call: 5m, 90s or 1h.")
    ] = "5m",  # type: ignore[assignment]
    width: Annotated[
        int | None,
        typer.Option("--width", min=1, metavar="W", help="Boards in a layer of a beam. [default: fitted to the time]"),
    ] = None,
    strategy: Annotated[
        str, typer.Option("--strategy", metavar="cycle|random|greedy|two-step|beam", help="How to look for plays.")
    ] = "beam",
    seed: Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, metavar="S", help="Which search.")] = 1,
    rounds: Annotated[
        int | None,
        typer.Option(
            "--rounds", min=1, metavar="N", help="Stop after N beams or games, not by the clock: reproducible."
        ),
    ] = None,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    json: JsonOption = False,
) -> None:
    """Look for the play with the highest score. The best one is on disk at any moment; the same command goes on."""
    from coordinator.nakuron.optimise_plan import Limits, Plan
    from coordinator.session.resources import Resources
    from puzzles.nakuron.board import parse_board

    _require_nakuron(puzzle)
    plan = Plan(parse_board(read_board(start)), strategy, seed, width)
    plan.check()
    limits = Limits(None if rounds is not None else time, rounds)
    _optimise_and_report(plan, limits, Resources(redis_url(redis), workers, memory), start, data, json)


def _optimise_and_report(
    plan: "Plan", limits: "Limits", resources: "Resources", start: str, data: Path | None, json: bool
) -> None:
    from coordinator.errors import StopRun
    from coordinator.nakuron.optimise import kept, optimise
    from coordinator.runs.catalogue import data_directory
    from coordinator.session.control import Control
    from hakoiri.cli.signals import stopping_with
    from hakoiri.render.progress import shown_progress

    control, directory, reason = Control(), data_directory(data), ""
    with stopping_with(control.interrupt) as received:
        try:
            with shown_progress(stderr()) as progress:
                found = optimise(plan, directory, resources, limits, control, progress)
        except StopRun as stop:
            reason, found = stop.reason, kept(plan, directory)
    row = _row(plan, found)
    if json:
        print_json(row)
    else:
        stdout().print(facts(row), soft_wrap=True)
    if reason:
        again = _command(plan, start, data)
        stderr().print(Text(f"interrupted: {reason}; the best play is kept; go on with: {again}"))
        raise typer.Exit(received.exit_code)


def _row(plan: "Plan", found: "Outcome") -> dict[str, Any]:
    return {
        "puzzle": "nakuron",
        "strategy": plan.strategy,
        "seed": plan.seed,
        "score": found.best.score,
        "moves": len(found.best.sequence),
        "sequence": found.best.sequence,
        "configurations": found.tilts,
        "rounds": found.rounds,
        "seconds": found.seconds,
    }


def _command(plan: "Plan", start: str, data: Path | None) -> str:
    """What goes on, for the usual time. Without the Redis URL, which may hold a password."""
    words = ["hakoiri", "optimise", "nakuron", "--from", start, "--strategy", plan.strategy, "--seed", str(plan.seed)]
    words += ["--width", str(plan.width)] if plan.width is not None else []
    return shlex.join([*words, *(["--data", str(data)] if data is not None else [])])


def generate(
    puzzle: GameArgument,
    size: Annotated[int, typer.Option("--size", min=1, max=256, metavar="N", help="Rows and columns.")] = 250,
    setting: Annotated[
        int, typer.Option("--setting", min=1, max=3, metavar="1|2|3", help="Walls: a tenth, 3/20 or a fifth.")
    ] = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, metavar="S", help="Which board.")] = 1,
    json: JsonOption = False,
) -> None:
    """Print a random board of a contest's setting, the same on every machine."""
    from puzzles.nakuron.board import random_board

    _require_nakuron(puzzle)
    board = random_board(size, setting, seed)
    if json:
        figures = {"size": size, "setting": setting, "seed": seed, "balls": board.balls}
        print_json({"puzzle": puzzle} | figures | {"board": board.text()})
    else:
        print("\n".join(board.lines()))


def replay(
    start: Annotated[str, typer.Argument(metavar="FILE", help="The board.")],
    sequence: Annotated[str, typer.Argument(metavar="SEQUENCE|FILE", help="The sides: 0 up, 1 right, 2 down, 3 left.")],
    steps: Annotated[bool, typer.Option("--steps", help="Tell each move.")] = False,
    json: JsonOption = False,
) -> None:
    """Score a play of nakuron by the plain rules, apart from any search; with --steps move by move."""
    from puzzles.nakuron.board import SIDES, parse_board, parse_sequence
    from puzzles.nakuron.board import replay as replayed

    board = parse_board(read_board(start))
    sides = parse_sequence(read_text(sequence))
    score, left, rows = 0, board.balls, []
    for number, (side, tilted) in enumerate(zip(sides, replayed(board, sides), strict=True), 1):
        score, left = score + tilted.score, left - len(tilted.dropped)
        figures = {"dropped": len(tilted.dropped), "scored": tilted.score, "score": score, "left": left}
        rows.append({"move": number, "side": SIDES[side]} | figures)
    result = {"score": score, "moves": len(sides), "balls": board.balls, "left": left}
    if json:
        print_json(result | ({"steps": rows} if steps else {}))
        return
    if steps:
        columns = ("move", "side", "dropped", "scored", "score", "left")
        listed = table(*columns, numbers=columns)
        for row in rows:
            listed.add_row(*(value if isinstance(value, str) else f"{value:,}" for value in row.values()))
        stdout().print(listed)
    stdout().print(facts(result))


def is_whole(text: str) -> bool:
    """Whether a text is a whole board with its size and frame, or means to be one: not a key, nor the rows alone."""
    lines = text.split("/")
    return len(lines) > 1 and any(len(line) != len(lines) for line in lines)


def show_board(text: str, plot: Path | None, json: bool) -> None:
    """Draw a whole board, and tell how many balls it has and what each tilt would drop."""
    from hakoiri.render.boards import print_nakuron
    from puzzles.nakuron.board import COLOURS, SIDES, WALL, parse_board, tilt

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
        from hakoiri.render.plots import plot_nakuron

        plot_nakuron(board, plot)
        stderr().print(f"drawn into {plot}")
    if json:
        print_json(row | {"board": board.text()})
        return
    if plot is None:
        print_nakuron(stdout(), board)
    row["drops"] = ", ".join(f"{name} {score:,} of {total:,}" for name, (score, total) in row["drops"].items())
    stdout().print(facts(row))


def _require_nakuron(puzzle: str) -> None:
    from puzzles.errors import PuzzleError

    if puzzle != "nakuron":
        raise PuzzleError(f"{puzzle} has no plays to score; nakuron has")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri optimise nakuron --from board.txt --time 5m")(optimise)
    app.command(epilog="Example: hakoiri generate nakuron --size 250 --setting 3 --seed 7")(generate)
    app.command(epilog="Example: hakoiri replay board.txt 0123012 --steps")(replay)
