"""``run``, ``enqueue`` and ``resume``: make a run and drive it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hakoiri.cli.driving import drive_and_report, start_run
from hakoiri.cli.options import (
    AuditOption,
    ChunkOption,
    DataNetworksOption,
    DataOption,
    DeadlineOption,
    FarmFromOption,
    FromOption,
    GoalOption,
    JsonOption,
    MemoryOption,
    PuzzleArgument,
    PuzzleOptions,
    RedisOption,
    RunArgument,
    WideOption,
    WorkersOption,
    own_spec,
    parse_options,
    read_board,
    redis_url,
    spec_of,
)
from hakoiri.puzzles.errors import PuzzleError

if TYPE_CHECKING:
    from hakoiri.puzzles.registry import PuzzleSpec

WholeOption = Annotated[
    bool, typer.Option("--whole", help="Count the whole space: every configuration, component and diameter.")
]
DiametersOption = Annotated[
    str | None,
    typer.Option(
        "--diameters",
        metavar="largest=K|below=N|none",
        help="With --whole: measure the K largest components, those below N configurations, or none.",
        show_default="all",
    ),
]
UntilGoalOption = Annotated[bool, typer.Option("--until-goal", help="Stop after the first layer that holds a goal.")]
LayersOption = Annotated[
    int | None, typer.Option("--layers", min=0, metavar="N", help="Stop after layer N: the states within N moves.")
]
MergeMirrorsOption = Annotated[bool, typer.Option("--merge-mirrors", help="Count mirror images as one configuration.")]
NameOption = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="Name of the run.", show_default="six digits, the puzzle"),
]
ReuseOption = Annotated[bool, typer.Option("--reuse", help="Use a finished run of the same, if there is one.")]


def run(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    diameters: DiametersOption = None,
    until_goal: UntilGoalOption = False,
    layers: LayersOption = None,
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
    audit: AuditOption = None,
    data_networks: DataNetworksOption = None,
    wide: WideOption = False,
    json: JsonOption = False,
) -> None:
    """Enumerate a puzzle in this process.

    Press Ctrl-C to stop; 'hakoiri resume RUN' continues where it stopped.
    """
    from hakoiri.coordinator.session.resources import Resources

    spec = spec_of(puzzle, options, start, goal, merge_mirrors)
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline, audit)
    way = _way(spec, whole, until_goal, layers, diameters)
    start_run(spec, *way, resources, data, json, name=name, reuse=reuse, wide=wide)


def enqueue(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    diameters: DiametersOption = None,
    until_goal: UntilGoalOption = False,
    layers: LayersOption = None,
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
    audit: AuditOption = None,
    json: JsonOption = False,
) -> None:
    """Queue a run for the coordinator and return at once."""
    from hakoiri.coordinator.session.resources import Resources

    spec = spec_of(puzzle, options, start, goal, merge_mirrors)
    resources = Resources(redis_url(redis), None, memory, chunk, farm_from, deadline, audit)
    way = _way(spec, whole, until_goal, layers, diameters)
    start_run(spec, *way, resources, data, json, queue=True, name=name, reuse=reuse)


def resume(
    name: RunArgument,
    options: PuzzleOptions = None,
    puzzle: Annotated[
        str | None, typer.Option("--puzzle", metavar="PUZZLE", help="Refuse unless the run is of this puzzle.")
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="CONF|FILE", help="Refuse unless the run began here.")
    ] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Compute damaged layers again; digests prove them.")] = False,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    chunk: ChunkOption = None,
    farm_from: FarmFromOption = None,
    deadline: DeadlineOption = None,
    audit: AuditOption = None,
    data_networks: DataNetworksOption = None,
    wide: WideOption = False,
    json: JsonOption = False,
) -> None:
    """Continue a stopped run from its last commit.

    With -o, --from or --puzzle, refuse if the run was begun with anything else.
    """
    from hakoiri.admission import admit
    from hakoiri.coordinator.runs.catalogue import data_directory, find_run
    from hakoiri.coordinator.runs.create import require_puzzle, require_same
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.storage.ledger.ledger import Ledger

    directory = find_run(data_directory(data), name)
    with Ledger(directory) as ledger:
        manifest = ledger.manifest
    if puzzle is not None:
        require_puzzle(manifest, own_spec(puzzle))
    admit(directory)
    require_same(manifest, parse_options(options or []), None if start is None else read_board(start))
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline, audit)
    drive_and_report(directory, resources, json, data, repair, wide=wide)


def _way(
    spec: "PuzzleSpec", whole: bool, until_goal: bool, layers: int | None, diameters: str | None
) -> tuple[str | None, Mapping[str, Any]]:
    """The kind of run and its plan."""
    from hakoiri.coordinator.session.job import Job

    if whole:
        if layers is not None:
            raise PuzzleError("a whole space has no start and so no layers; leave out --layers")
        from hakoiri.coordinator.graphs.job import Whole

        return "whole", Whole.requested(spec, until_goal=until_goal, diameters=diameters or "all").plan
    if diameters is not None:
        raise PuzzleError("--diameters says which components of a whole space are measured: it goes with --whole")
    return None, Job.requested(spec, until_goal=until_goal, layers=layers).plan


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri run klotski --whole")(run)
    app.command(epilog="Example: hakoiri enqueue klotski -o metric=finger --redis redis://127.0.0.1:6379/0")(enqueue)
    app.command(epilog="Example: hakoiri resume last")(resume)
