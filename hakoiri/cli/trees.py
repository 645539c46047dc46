"""``solutions``: those of a tree that were kept, drawn."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from hakoiri.cli.options import DataOption, JsonOption, RunArgument
from hakoiri.render.tables import print_json, stderr, stdout

_USUALLY_SHOWN = 3


def solutions(
    name: RunArgument,
    first: Annotated[
        int, typer.Option("--first", "-n", min=1, metavar="N", help="So many of them, the least first.")
    ] = _USUALLY_SHOWN,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw the first into an SVG file.")] = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Draw solutions of a tree that were kept, one for each orbit: the least of its images."""
    from hakoiri.api import open_run
    from puzzles.keys.layout import ints

    with open_run(name, data) as run:
        tree, orbits = run.tree, run.store.state.figures.get("orbits") or 0
        keys = list(islice((key for batch in run.solutions() for key in ints(batch)), first))
        texts, drawings = [tree.render(key) for key in keys], [tree.drawing(key) for key in keys]
        if svg is not None and keys:
            from storage.engine.files import write_file

            write_file(svg, tree.svg(keys[0]))
            stderr().print(Text(f"drawn into {svg}"))
    if json:
        print_json({"run": run.name, "orbits": orbits, "symmetries": tree.symmetries, "solutions": texts})
        return
    for text, drawing in zip(texts, drawings, strict=True):
        stdout().print(Text(text, "bold"))
        stdout().print(Text(drawing))
        stdout().print()
    stdout().print(f"{len(texts):,} of {orbits:,} orbits, each of {tree.symmetries} images")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: hakoiri solutions last --first 5 --svg star.svg")(solutions)
