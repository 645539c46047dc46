"""``run``, ``enqueue`` and ``resume``: make a run and drive it."""

from dataclasses import replace
from typing import Annotated, Any

import typer

from hakoiri.cli.driving import drive_and_report, start_run
from hakoiri.cli.options import (
    ChunkOption,
    DataOption,
    DeadlineOption,
    FarmFromOption,
    JsonOption,
    MemoryOption,
    PuzzleArgument,
    PuzzleOptions,
    RedisOption,
    RunArgument,
    WideOption,
    WorkersOption,
    parse_options,
    read_board,
    redis_url,
)
from puzzles.errors import PuzzleError
from puzzles.registry import PuzzleSpec, with_own_file

WholeOption = Annotated[
    bool, typer.Option("--whole", help="Count the whole space: every configuration, component and diameter.")
]
UntilGoalOption = Annotated[bool, typer.Option("--until-goal", help="Stop after the first layer that holds a goal.")]
MergeMirrorsOption = Annotated[bool, typer.Option("--merge-mirrors", help="Take mirror images as one configuration.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="CONF|FILE",
        help="Start here: rows joined by '/', 0x..., a text file, or - for stdin.",
        show_default="usual",
    ),
]
NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="What to call the run.", show_default="six digits, the puzzle"),
]
ReuseOption = Annotated[bool, typer.Option("--reuse", help="Take a finished run of the same, if there is one.")]
GoalOption = Annotated[
    str | None,
    typer.Option(
        "--goal",
        metavar="CONF|FILE",
        help="Another goal than usual, '*' for anything; as -o goal=CONF. The run shows it as a board.",
    ),
]


def run(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    until_goal: UntilGoalOption = False,
    merge_mirrors: MergeMirrorsOption = False,
    start: FromOption = None,
    goal: GoalOption = None,
    name: NameOption = None,
    reuse: ReuseOption = False,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    chunk: ChunkOption = None,
    farm_from: FarmFromOption = None,
    deadline: DeadlineOption = None,
    wide: WideOption = False,
    json: JsonOption = False,
) -> None:
    """Enumerate a puzzle here and now. Ctrl-C leaves a run that can be resumed."""
    from coordinator.session.resources import Resources

    spec = _spec(puzzle, options, start, goal, merge_mirrors)
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline)
    start_run(spec, *_way(whole, until_goal), resources, data, json, name=name, reuse=reuse, wide=wide)


def enqueue(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    until_goal: UntilGoalOption = False,
    merge_mirrors: MergeMirrorsOption = False,
    start: FromOption = None,
    goal: GoalOption = None,
    name: NameOption = None,
    reuse: ReuseOption = False,
    data: DataOption = None,
    redis: RedisOption = None,
    memory: MemoryOption = None,
    chunk: ChunkOption = None,
    farm_from: FarmFromOption = None,
    deadline: DeadlineOption = None,
    json: JsonOption = False,
) -> None:
    """Queue a run for the service (hakoiri coordinator) and return at once."""
    from coordinator.session.resources import Resources

    spec = _spec(puzzle, options, start, goal, merge_mirrors)
    resources = Resources(redis_url(redis), None, memory, chunk, farm_from, deadline)
    start_run(spec, *_way(whole, until_goal), resources, data, json, queue=True, name=name, reuse=reuse)


def resume(
    name: RunArgument,
    options: PuzzleOptions = None,
    puzzle: Annotated[
        str | None, typer.Option("--puzzle", metavar="PUZZLE", help="Refuse unless the run is of this puzzle.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="CONF|FILE", help="Refuse unless the run began here.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged layers again, proved by digests.")] = False,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    chunk: ChunkOption = None,
    farm_from: FarmFromOption = None,
    deadline: DeadlineOption = None,
    wide: WideOption = False,
    json: JsonOption = False,
) -> None:
    """Go on with a run from its last commit. With -o, --from, --puzzle: refuse if it is another one."""
    from coordinator.runs.catalogue import data_directory, find_run
    from coordinator.runs.create import require_same
    from coordinator.session.resources import Resources
    from storage.ledger.ledger import Ledger

    directory = find_run(data_directory(data), name)
    with Ledger(directory) as ledger:
        require_same(ledger.manifest, parse_options(options or []), puzzle, _board(start))
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline)
    drive_and_report(directory, resources, json, data, repair, wide=wide)


def _spec(
    puzzle: str, options: list[str] | None, start: str | None, goal: str | None, merge_mirrors: bool
) -> PuzzleSpec:
    """What the user asks for, in one; the file of a puzzle of his own is run."""
    spec = with_own_file(PuzzleSpec(puzzle, parse_options(options or []), _board(start), merge_mirrors))
    if goal is None:
        return spec
    if "goal" in spec.options:
        raise PuzzleError("--goal and -o goal= say the same thing twice: leave one of them out")
    return replace(spec, options={**spec.options, "goal": read_board(goal)})


def _way(whole: bool, until_goal: bool) -> tuple[str | None, dict[str, Any]]:
    """The kind of run and its plan."""
    return "whole" if whole else None, {"until_goal": True} if until_goal else {}


def _board(text: str | None) -> str | None:
    return None if text is None else read_board(text)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri run klotski --whole")(run)
    app.command(epilog="Example: hakoiri enqueue klotski -o metric=finger --redis redis://127.0.0.1:6379/0")(enqueue)
    app.command(epilog="Example: hakoiri resume last")(resume)
