"""The commands ``layers`` and ``solutions``.

Both read the store alone, of a finished or an interrupted run.
"""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.commands import command_line, option
from hakoiri.cli.groups import opened
from hakoiri.cli.options import DataOption, JsonOption, OwnFileOption, RunArgument, WideOption
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import fitting_digest, print_json, stderr, stdout, table
from hakoiri.render.work_log import expanders_text

if TYPE_CHECKING:
    from hakoiri.api import Run

#: The least columns of the terminal for the longest bar before digests are shortened.
_LEAST_BAR = 10
_USUALLY_SHOWN = 3
#: The default number of boards shown of a layer, which may have millions.
_BOARDS = 12


@command_line("layers last --depth 3")
def layers(
    name: RunArgument,
    plot: Annotated[Path | None, option("--plot", "FILE", "Plot the layer sizes: .png, .svg or .pdf.")] = None,
    depth: Annotated[int | None, option("--depth", "N", "Draw the configurations of layer N.", min=0)] = None,
    limit: Annotated[
        int | None, option("--limit", "K", "With --depth: draw only the first K.", min=1, usual="12; --json: all")
    ] = None,
    first: Annotated[int | None, option("--layers", "N", "Show only layers 0 to N.", min=0, usual="all")] = None,
    wide: WideOption = False,
    puzzle: OwnFileOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Show the size and digest of each layer, or draw one layer.

    A census has no start and a single layer.
    """
    from hakoiri.rows.answers import layer_rows

    if depth is not None:
        if plot is not None:
            raise typer.BadParameter("--plot and --depth cannot be combined")
        _show_layer(name, depth, limit, data, puzzle, json)
        return
    if limit is not None:
        raise typer.BadParameter("--limit needs --depth")

    with opened(name, data, puzzle=puzzle) as run:
        rows = layer_rows(run)[: None if first is None else first + 1]
        if not rows:
            raise _without_layers(run)
        if plot is not None:
            from hakoiri.render.plots import plot_layers

            plot_layers(run, plot)
            stderr().print(f"written to {plot}")
    if json:
        print_json({"run": run.name, "layers": rows})
        return
    _print_layers(rows, wide)


def _print_layers(rows: list[dict[str, Any]], wide: bool) -> None:
    """Print a line for each layer; the digest, then a bar, get the width that the figures leave."""
    columns: tuple[str, ...] = ("depth", "size", "goals")
    figures = [[str(row["depth"]), f"{row['size']:,}", f"{row['goals']:,}" if row["goals"] else ""] for row in rows]
    if any(row["expanded_by"] for row in rows):
        columns += ("made by",)
        for row, cells in zip(rows, figures, strict=True):
            cells.append(expanders_text(row["expanded_by"]))
    beside = sum(1 + max(map(len, cells)) for cells in zip(columns, *figures, strict=True))
    room = stdout().width - beside
    digests = [fitting_digest(row["digest"], room - 1 - _LEAST_BAR, wide) for row in rows]
    bar = max(0, room - 1 - max(map(len, digests), default=0))
    widest = max((row["size"] for row in rows), default=1)
    listed = table(*columns, "digest", "", numbers=columns[:3])
    for row, cells, digest in zip(rows, figures, digests, strict=True):
        listed.add_row(*cells, digest, Text("█" * min(bar, max(1, round(bar * row["size"] / widest))), "blue"))
    stdout().print(listed)


def _without_layers(run: "Run") -> Exception:
    """Return the error for a run that has no layers yet, or never will."""
    from hakoiri.coordinator.errors import UnanswerableError

    kind = run.store.manifest.kind
    if not run.kind.row_noun:
        return UnanswerableError(f"run {run.name} has no layers yet; see how it stands with: hakoiri status {run.name}")
    return UnanswerableError(
        f"run {run.name} is of the kind {kind}: it has {run.kind.row_noun} and no layers; "
        f"see: hakoiri status {run.name}"
    )


def _show_layer(name: str, depth: int, limit: int | None, data: Path | None, puzzle: str | None, json: bool) -> None:
    from hakoiri.puzzles.keys.layout import ints
    from hakoiri.render.pictures.terminal import print_side_by_side

    with opened(name, data, puzzle=puzzle) as run:
        keys = run.layer(depth)
        shown = keys[: limit or (len(keys) if json else _BOARDS)]
        texts, goals = [run.puzzle.render(key) for key in ints(shown)], run.puzzle.is_goal(shown).tolist()
    if json:
        print_json({"run": run.name, "depth": depth, "size": len(keys), "configurations": texts})
        return
    titles = [f"{number}{' goal' if goal else ''}" for number, goal in enumerate(goals, 1)]
    print_side_by_side(stdout(), texts, titles, [run.puzzle.picture(key) for key in ints(shown)])
    more = len(keys) - len(texts)
    stdout().print(
        f"layer {depth}: {counted(len(keys), 'configurations')}{f', {more:,} more with --limit' if more else ''}"
    )


@command_line("solutions last --first 5 --svg star.svg")
def solutions(
    name: RunArgument,
    first: Annotated[int, option("--first -n", "N", "Draw the first N in increasing order.", min=1)] = _USUALLY_SHOWN,
    svg: Annotated[Path | None, option("--svg", "FILE", "Write a picture of the first one: .svg or .png.")] = None,
    puzzle: OwnFileOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Draw the stored solutions of a tree, such as a magic star.

    One per symmetry class: the least of its images.
    """
    from hakoiri.puzzles.keys.layout import ints

    with opened(name, data, puzzle=puzzle) as run:
        tree, orbits = run.tree, run.store.state.figures.get("orbits") or 0
        keys = list(islice((key for batch in run.solutions() for key in ints(batch)), first))
        texts, drawings = [tree.render(key) for key in keys], [tree.drawing(key) for key in keys]
        if svg is not None and keys:
            from hakoiri.render.pictures.files import write_picture

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
