"""The command ``map``: the layout of a component in space, as a file for the page and for other programs."""

from pathlib import Path
from typing import Annotated, Literal

from hakoiri.cli.commands import command_line, flag, option
from hakoiri.cli.driving import answering
from hakoiri.cli.groups import Asking
from hakoiri.cli.options import ComponentOption, RunArgument
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import facts, print_json, stdout


@command_line("map last --to klotski.html")
def draw_map(
    name: RunArgument,
    target: Annotated[
        Path,
        option("--to", "FILE", "File to write: .png, .svg, .pdf, .html (a page to turn) or .hakomap."),
    ],
    component: ComponentOption = None,
    dim: Annotated[Literal["2", "3"], flag("--dim", "Number of dimensions.")] = "3",
    *,
    asking: Asking,
) -> None:
    """Write a map: a component laid out in space.

    Distances on the map approximate numbers of moves. 'hakoiri serve' shows the map.

    For a component of more than 100,000 configurations, the map has the layers nearest to its start, up to 20,000.
    """
    from hakoiri.render.maps import MAPS, save_map
    from hakoiri.render.pictures.files import check_ending
    from hakoiri.rows.answers import map_row

    # Checked before the work, which may take minutes.
    check_ending(target, MAPS)
    with asking.open(name) as run:
        with answering(": nothing is written") as (control, progress):
            found = run.map(component, int(dim), control, progress)
        save_map(run, found, target)
        row = map_row(run, found)
        if asking.json:
            print_json({"run": run.name, "file": str(target)} | row)
            return
    part = "" if found.whole else f", the nearest to {row['origin']}"
    rows = {"configurations": f"{row['configurations']:,}{part}", "moves": f"{row['moves']:,}", "stress": row["stress"]}
    stdout().print(facts(rows))
    stdout().print(f"{counted(len(found.keys), 'points')} written to {target}")
