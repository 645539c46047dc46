"""``export``: what a run found, as files for other programs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hakoiri.cli.answers.asking import opened
from hakoiri.cli.driving import stopping_with
from hakoiri.cli.options import DataOption, JsonOption, MemoryOption, RunArgument
from hakoiri.render.tables import print_json, stderr, stdout
from puzzles.errors import counted


def export(
    name: RunArgument,
    target: Annotated[
        Path | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="Configurations: .csv, .parquet; moves too: .npz, .graphml, .dot; .json: a certificate.",
        ),
    ] = None,
    edges: Annotated[
        Path | None, typer.Option("--edges", metavar="FILE", help="The moves alone: ends in .csv or .parquet.")
    ] = None,
    moves: Annotated[bool, typer.Option("--moves", help="Say of each move what it is called.")] = False,
    images: Annotated[
        bool, typer.Option("--images", help="Of a tree: every solution, not one for each orbit.")
    ] = False,
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Write the configurations and moves of a run, or the solutions of a tree, to files for other programs."""
    from coordinator.errors import StopRun
    from coordinator.session.job import Job
    from coordinator.session.session import Control
    from hakoiri.export.files import export_edges, export_run
    from hakoiri.render.progress import shown_progress
    from puzzles.capabilities import Placements

    if target is None and edges is None:
        raise typer.BadParameter("say where to: --to FILE, or --edges FILE for the moves, or both")
    control = Control()
    row: dict[str, Any] = {}
    with opened(name, data, memory) as run, stopping_with(control.interrupt) as received:
        kept = "rows" if run.kind.rows is not Job.rows else "configurations"
        what = "solutions" if isinstance(run.puzzle, Placements) else kept
        try:
            with shown_progress(stderr()) as progress:
                if target is not None:
                    count = export_run(run, target, images=images, moves=moves, control=control, observer=progress)
                    row |= {"file": str(target), what: count}
                if edges is not None:
                    count = export_edges(run, edges, moves=moves, control=control, observer=progress)
                    row |= {"edges_file": str(edges), "edges": count}
        except StopRun as stop:
            stderr().print(f"{stop.reason}: the file that was being written is left as it was before")
            raise typer.Exit(received.exit_code) from None
    if json:
        print_json({"run": run.name} | row)
        return
    if target is not None:
        stdout().print(f"{row[what]:,} {what} written to {target}")
    if edges is not None:
        stdout().print(f"{counted(row['edges'], 'moves')} written to {edges}")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: hakoiri export last --to klotski.graphml --moves")(export)
