"""``run``, ``enqueue`` and ``resume``: make a run and drive it."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    WorkersOption,
    parse_options,
    read_board,
    redis_url,
)
from hakoiri.cli.trees import print_strategies, print_tree
from hakoiri.render.tables import facts, print_json, stderr, stdout
from puzzles.errors import HakoiriError, PuzzleError
from puzzles.registry import PuzzleSpec, puzzle_class, with_own_file

if TYPE_CHECKING:
    from coordinator.session.resources import Resources

WholeOption = Annotated[
    bool, typer.Option("--whole", help="Count the whole space: every configuration, component and diameter.")
]
UntilGoalOption = Annotated[bool, typer.Option("--until-goal", help="Stop after the first layer that holds a goal.")]
MergeMirrorsOption = Annotated[bool, typer.Option("--merge-mirrors", help="Take mirror images as one configuration.")]
FromOption = Annotated[
    str | None,
    typer.Option(
        "--from", metavar="CONF|FILE", help="Start here: rows joined by '/', 0x..., or a text file. [default: usual]"
    ),
]
GoalOption = Annotated[
    str | None, typer.Option("--goal", metavar="GOAL|FILE", help="For puzzles with a goal of one's own: -o goal=GOAL.")
]
_LARGEST_SHOWN = 6


def run(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    until_goal: UntilGoalOption = False,
    merge_mirrors: MergeMirrorsOption = False,
    start: FromOption = None,
    goal: GoalOption = None,
    data: DataOption = None,
    redis: RedisOption = None,
    workers: WorkersOption = None,
    memory: MemoryOption = None,
    chunk: ChunkOption = None,
    farm_from: FarmFromOption = None,
    deadline: DeadlineOption = None,
    json: JsonOption = False,
) -> None:
    """Enumerate a puzzle here and now. Ctrl-C leaves a run that can be resumed."""
    from coordinator.session.resources import Resources

    spec = _spec(puzzle, options, start, goal, merge_mirrors)
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline)
    _drive_and_report(_make(spec, whole, until_goal, data, resources, queued=False), resources, json, data)


def enqueue(
    puzzle: PuzzleArgument,
    options: PuzzleOptions = None,
    whole: WholeOption = False,
    until_goal: UntilGoalOption = False,
    merge_mirrors: MergeMirrorsOption = False,
    start: FromOption = None,
    goal: GoalOption = None,
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
    resources = Resources(None, None, memory, chunk, farm_from, deadline)
    directory = _make(spec, whole, until_goal, data, resources, queued=True)
    if url := redis_url(redis):
        _wake_coordinator(url)
    if json:
        print_json({"run": directory.name, "status": "queued"})
    else:
        stdout().print(f"queued as {directory.name}; watch it with: hakoiri status {directory.name} --watch")


def resume(
    name: RunArgument,
    options: PuzzleOptions = None,
    puzzle: Annotated[str | None, typer.Option("--puzzle", help="Refuse unless the run is of this puzzle.")] = None,
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
    json: JsonOption = False,
) -> None:
    """Go on with a run from its last committed layer. With -o, --from, --puzzle: refuse if it is another one."""
    from coordinator.runs.catalogue import data_directory, find_run
    from coordinator.runs.create import require_same
    from coordinator.session.resources import Resources
    from storage.engine.probe import require_sound
    from storage.ledger.ledger import Ledger

    directory = find_run(data_directory(data), name)
    require_sound(directory)
    with Ledger(directory) as ledger:
        require_same(ledger.manifest, parse_options(options or []), puzzle, _board(start))
    resources = Resources(redis_url(redis), workers, memory, chunk, farm_from, deadline)
    _drive_and_report(directory, resources, json, data, repair)


def _spec(
    puzzle: str, options: list[str] | None, start: str | None, goal: str | None, merge_mirrors: bool
) -> PuzzleSpec:
    """What the user asks for, in one; the file of a puzzle of his own is run."""
    spec = with_own_file(PuzzleSpec(puzzle, parse_options(options or []), _board(start), merge_mirrors))
    if goal is None:
        return spec
    if "goal" not in puzzle_class(spec.name, spec.digest).options:
        raise PuzzleError(f"{spec.name} has its own goal, so leave out --goal")
    if "goal" in spec.options:
        raise PuzzleError("--goal and -o goal= say the same thing twice: leave one of them out")
    return replace(spec, options={**spec.options, "goal": read_board(goal)})


def _board(text: str | None) -> str | None:
    return None if text is None else read_board(text)


def _make(
    spec: PuzzleSpec, whole: bool, until_goal: bool, data: Path | None, resources: "Resources", queued: bool
) -> Path:
    from coordinator.runs.catalogue import data_directory
    from coordinator.runs.create import make_run

    if resources.redis is not None:
        # Before the run is made: a server that is not there should leave nothing behind.
        from worker.transport.connection import connect

        connect(resources.redis).close()
    plan = {"until_goal": True} if until_goal else {}
    return make_run(data_directory(data), spec, "whole" if whole else None, plan, resources, queued)


def _wake_coordinator(url: str) -> None:
    from coordinator.runs.service import wake
    from worker.errors import WorkerError
    from worker.transport.connection import connect

    try:
        wake(connect(url), url)
    except WorkerError as error:
        stderr().print(f"[dim]queued, but no coordinator could be woken: {error}[/dim]")


def _drive_and_report(
    directory: Path, resources: "Resources", json: bool, data: Path | None, repair: bool = False
) -> None:
    from coordinator.errors import ContradictionError
    from coordinator.runs.create import open_job
    from coordinator.runs.drive import drive
    from coordinator.runs.strategies import compared_strategies
    from coordinator.runs.summary import summarise
    from coordinator.session.control import Control
    from hakoiri.cli.signals import stopping_with
    from hakoiri.render.progress import shown_progress
    from storage.errors import DamagedError
    from storage.layers.store import RunStore
    from worker.errors import TaskError

    console, control = stderr(), Control()
    again = f"hakoiri resume {directory.name}" + (f" --data {data}" if data is not None else "")
    with stopping_with(control.interrupt) as received:
        with shown_progress(console) as progress:
            try:
                drive(directory, resources, control, progress, repair)
            except HakoiriError as error:
                # What is wrong with the puzzle itself goes wrong again.
                final = (ContradictionError, DamagedError, PuzzleError, TaskError)
                if "hakoiri resume" in str(error) or isinstance(error, final):
                    raise
                raise type(error)(f"{error}; then '{again}'") from error
        with RunStore(directory) as store:
            summary = summarise(open_job(store)) | _best_play(store, resources)
            tree = store.manifest.mode == "tree"
            if tree and not json:
                print_tree(store, summary)
            elif not json:
                _print_summary(store, summary)
        # When the run is closed: its file is looked at among the others.
        compared = compared_strategies(directory.parent, store.manifest) if tree else []
        if json:
            print_json(summary | ({"strategies": [asdict(each) for each in compared]} if tree else {}))
        elif len(compared) > 1:
            print_strategies(compared)
    if summary["status"] != "complete":
        console.print(f"{summary['status']}: {summary['reason']}; go on with: {again}")
        raise typer.Exit(received.exit_code)


def _best_play(store: Any, resources: "Resources") -> dict[str, Any]:
    """What a scored puzzle's finished run proves: its best play."""
    from coordinator.runs.create import pinned_puzzle
    from puzzles.capabilities import Scored

    puzzle, _ = pinned_puzzle(store)
    if not isinstance(puzzle, Scored) or not store.state.figures.get("exhausted"):
        return {}
    from coordinator.layers.best_play import best_play

    return best_play(store, puzzle, resources.over(store.manifest.settings).budget()).row()


def _print_summary(store: Any, summary: dict[str, Any]) -> None:
    whole = summary["mode"] == "whole"
    widest, at, goal = summary["largest_window"], summary["largest_window_at"], summary["goal_depth"]
    console = stdout()
    console.print(
        facts(
            {
                "run": summary["run"],
                "puzzle": summary["puzzle"],
                "parameters": summary["parameters"],
                "start": summary["start"],
                "status": summary["status"],
                "configurations": summary["configurations"],
                "moves between them": summary["edges"],
                "components": summary["components"],
                "depth": summary["depth"],
                "nearest goal": None if whole else "none" if goal is None else f"{goal} moves",
                "widest three layers": None if widest is None else f"{widest:,} around layer {at}",
                "best score": summary.get("score"),
                "in moves": summary.get("moves"),
                "sequence": summary.get("sequence"),
                "digest": summary["digest"] or None,
                "computing": f"{summary['seconds']:.3f} s",
            }
        )
    )
    if whole and summary["status"] == "complete":
        _print_largest(store, summary["components"])
    if summary["status"] == "complete":
        console.print(f"[dim]now ask: {', '.join(_questions(store, summary))}[/dim]")


def _questions(store: Any, summary: dict[str, Any]) -> list[str]:
    """Commands that a finished run can answer."""
    from coordinator.runs.create import pinned_puzzle

    undirected = pinned_puzzle(store)[0].undirected
    path = ["hakoiri path last"] if summary["goal_depth"] is not None else []
    apart = "hakoiri diameter last" if undirected else "hakoiri components last --strong"
    return [*path, *([apart] if summary["exhausted"] else []), "hakoiri verify last"]


def _print_largest(store: Any, components: int) -> None:
    from hakoiri.cli.asking import component_table
    from storage.results.census import read_component

    shown = min(components, _LARGEST_SHOWN)
    stdout().print()
    stdout().print(component_table([read_component(store, number) for number in range(shown)]))
    if components > shown:
        stdout().print(f"[dim]and {components - shown:,} smaller ones: hakoiri components last[/dim]")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri run klotski --whole")(run)
    app.command(epilog="Example: hakoiri enqueue klotski -o metric=finger --redis redis://127.0.0.1:6379/0")(enqueue)
    app.command(epilog="Example: hakoiri resume last")(resume)
