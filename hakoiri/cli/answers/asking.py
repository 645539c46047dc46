"""The commands ``layers``, ``solutions`` and ``export``.

Both read the store alone, of a finished or an interrupted run.
"""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.driving import QueryOptions, answering, opened
from hakoiri.cli.options import command_line, flag, option
from hakoiri.errors import counted
from hakoiri.render.tables import print_json, stderr, stdout

if TYPE_CHECKING:
    pass

#: The least columns of the terminal for the longest bar before digests are shortened.
_LEAST_BAR = 10
_USUALLY_SHOWN = 3
#: The default number of boards shown of a layer, which may have millions.
_BOARDS = 12


@command_line("solutions last --first 5 --svg star.svg")
def solutions(
    name: shared.RunArgument,
    first: Annotated[int, option("--first -n", "N", "Draw the first N in increasing order.", min=1)] = _USUALLY_SHOWN,
    svg: Annotated[Path | None, option("--svg", "FILE", "Write a picture of the first one: .svg or .png.")] = None,
    puzzle: shared.OwnFileOption = None,
    data: shared.DataOption = None,
    json: shared.JsonOption = False,
) -> None:
    """Draw the stored solutions of a tree, such as a magic star.

    One per symmetry class: the least of its images.
    """
    from hakoiri.keys.layout import ints

    with opened(name, data, puzzle=puzzle) as run:
        tree, orbits = run.tree, run.store.state.figures.get("orbits") or 0
        keys = list(islice((key for batch in run.solutions() for key in ints(batch)), first))
        texts, drawings = [tree.render(key) for key in keys], [tree.drawing(key) for key in keys]
        if svg is not None and keys:
            from hakoiri.render.films import write_picture

            write_picture(tree.picture(keys[0]), f"{tree.name}: {texts[0]}", svg)
            stderr().print(Text(f"written to {svg}"))
    if json:
        print_json({"run": run.name, "orbits": orbits, "symmetries": tree.symmetries, "solutions": texts})
        return
    for text, drawing in zip(texts, drawings, strict=True):
        stdout().print(Text(text, "bold"))
        stdout().print(Text(drawing))
        stdout().print()
    stdout().print(f"{len(texts):,} of {orbits:,} orbits, each of {tree.symmetries} images")


@command_line("export last --to klotski.graphml --moves")
def export(
    name: shared.RunArgument,
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
    query: QueryOptions,
) -> None:  # fmt: skip
    """Write a run to files: tables, graphs, a page to play, a PDF.

    A search and a census have configurations and moves, a tree has solutions, a study has rows. A .pdf has the boards
    of `generate sliding` and `study boards --hardest`, or the hardest positions of a search, and their solutions.
    """
    from hakoiri.coordinator.runs.certificate import SUFFIX
    from hakoiri.coordinator.session.job import Job
    from hakoiri.export.files import export_edges
    from hakoiri.export.tables import export_play
    from hakoiri.puzzles.capabilities import Placements
    from hakoiri.render.player import write_run
    from hakoiri.render.print_sheet import ENDING as PDF

    if target is None and edges is None and play is None:
        raise typer.BadParameter("no target is given; use --to FILE, --edges FILE for the moves, --play FILE for play")
    row: dict[str, Any] = {}
    left = ": the file that was being written is left as it was before"
    with query.open(name) as run, answering(left) as (control, progress):
        how: dict[str, Any] = {"moves": moves, "layers": layers, "control": control, "observer": progress}
        if target is not None:
            kept = "rows" if run.kind.rows is not Job.rows else "configurations"
            what = "solutions" if isinstance(run.puzzle, Placements) else kept
            what = "boards" if target.suffix == PDF else what
            count = write_run(run, target, images=images, per_page=per_page, **how)
            row |= {"file": str(target), what: count}
        if edges is not None:
            count = export_edges(run, edges, **how)
            row |= {"edges_file": str(edges), "edges": count}
        if play is not None:
            row |= {"play_file": str(play), "played": export_play(run, play, control, progress)}
    if query.json:
        print_json({"run": run.name} | row)
        return
    if target is not None:
        certificate = "a certificate of " if target.suffix == SUFFIX else ""
        stdout().print(f"{certificate}{row[what]:,} {what} written to {target}")
    if edges is not None:
        stdout().print(f"{counted(row['edges'], 'moves')} written to {edges}")
    if play is not None:
        stdout().print(f"best moves of {counted(row['played'], 'configurations')} written to {play}")
