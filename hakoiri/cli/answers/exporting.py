"""The command ``export``: writes the results of a run to files for other programs."""

from pathlib import Path
from typing import Annotated, Any

import typer

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.driving import answering
from hakoiri.cli.groups import Asking
from hakoiri.cli.options import RunArgument
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import print_json, stdout


@command_line("export last --to klotski.graphml --moves")
def export(
    name: RunArgument,
    target: Annotated[
        Path | None,
        option("--to", "FILE",
               "Configurations: .csv, .parquet. With moves: .npz, .graphml, .dot. Certificate: .json. To play: .html. "
               "To print: .pdf."),
    ] = None,
    edges: Annotated[Path | None, option("--edges", "FILE", "Write only the moves: .csv or .parquet.")] = None,
    play: Annotated[
        Path | None, option("--play", "FILE", "Write the distance to the goal and a best move of each: .csv.")
    ] = None,
    moves: Annotated[bool, flag("--moves", "Include the name of each move.")] = False,
    images: Annotated[bool, flag("--images", "Write every solution of a tree, not one per symmetry class.")] = False,
    layers: Annotated[
        int | None, option("--layers", "N", "Write only layers 0 to N: configurations within N moves.", min=0)
    ] = None,
    per_page: Annotated[
        int | None, option("--per-page", "N", "With .pdf: boards on a page.", min=1, max=30, usual="6")
    ] = None,
    *,
    asking: Asking,
) -> None:  # fmt: skip
    """Write a run to files: tables, graphs, a page to play, a PDF.

    A search and a census have configurations and moves, a tree has solutions, a study has rows. A .pdf has the boards
    of `generate sliding` and `study boards --hardest`, or the hardest positions of a search, and their solutions.
    """
    from hakoiri.coordinator.deals.certificate import SUFFIX
    from hakoiri.coordinator.session.job import Job
    from hakoiri.export.files import export_edges
    from hakoiri.export.play import export_play
    from hakoiri.puzzles.capabilities import Placements
    from hakoiri.render.player import write_run
    from hakoiri.render.print_sheet import ENDING as PDF

    if target is None and edges is None and play is None:
        raise typer.BadParameter("no target is given; use --to FILE, --edges FILE for the moves, --play FILE for play")
    row: dict[str, Any] = {}
    left = ": the file that was being written is left as it was before"
    with asking.open(name) as run, answering(left) as (control, progress):
        kept = "rows" if run.kind.rows is not Job.rows else "configurations"
        what = "solutions" if isinstance(run.puzzle, Placements) else kept
        if target is not None and target.suffix == PDF:
            what = "boards"
        if target is not None:
            count = write_run(
                run,
                target,
                images=images,
                moves=moves,
                layers=layers,
                per_page=per_page,
                control=control,
                observer=progress,
            )
            row |= {"file": str(target), what: count}
        if edges is not None:
            count = export_edges(run, edges, moves=moves, layers=layers, control=control, observer=progress)
            row |= {"edges_file": str(edges), "edges": count}
        if play is not None:
            row |= {"play_file": str(play), "played": export_play(run, play, control, progress)}
    if asking.json:
        print_json({"run": run.name} | row)
        return
    if target is not None:
        certificate = "a certificate of " if target.suffix == SUFFIX else ""
        stdout().print(f"{certificate}{row[what]:,} {what} written to {target}")
    if edges is not None:
        stdout().print(f"{counted(row['edges'], 'moves')} written to {edges}")
    if play is not None:
        stdout().print(f"best moves of {counted(row['played'], 'configurations')} written to {play}")
