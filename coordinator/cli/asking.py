"""``layers``, ``components``, ``diameter``, ``distance``, ``path``, ``show``, ``verify``, ``export``: the answers.

All of them work on the store alone, on a finished or an interrupted run.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from coordinator.cli.options import DataOption, JsonOption, PuzzleOptions, RunArgument, parse_options
from coordinator.cli.output import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from coordinator.api import Run, ShortestPath
    from puzzles.contract import Puzzle
    from storage.manifest import ComponentRecord

#: Columns of the terminal for the other figures of a layer, and for its bar at least.
_BESIDE_BAR, _LEAST_BAR = 62, 10
ConfArgument = Annotated[str, typer.Argument(metavar="CONF", help="Board rows joined by '/', or a key 0x...")]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="CONF", help="Set out here. [default: the run's start]")
]


def layers(
    name: RunArgument,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw the sizes into a .png, .svg or .pdf.")
    ] = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Show size and digest of each layer; of a whole space, which has no start, the one set."""
    from coordinator.summary import layer_row

    with _open(name, data) as run:
        rows = [layer_row(record) for record in run.layer_records()]
        if plot is not None:
            from coordinator.plots import plot_layers

            plot_layers(run, plot)
            stderr().print(f"drawn into {plot}")
    if json:
        print_json({"run": run.name, "layers": rows})
        return
    listed = table("depth", "size", "goals", "digest", "", numbers=("depth", "size", "goals"))
    widest = max((row["size"] for row in rows), default=1)
    room = max(_LEAST_BAR, stdout().width - _BESIDE_BAR)
    for row in rows:
        bar = "█" * max(1, round(room * row["size"] / widest))
        listed.add_row(
            str(row["depth"]), f"{row['size']:,}", f"{row['goals'] or ''}", row["digest"], f"[blue]{bar}[/blue]"
        )
    stdout().print(listed)


def components(
    name: RunArgument,
    limit: Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Only the N largest.")] = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """List the components, largest first, with their exact distances."""
    with _open(name, data) as run:
        records = run.components(limit)
        rows = [_component_row(record, run.puzzle) for record in records]
    if json:
        print_json({"run": run.name, "components": rows})
    else:
        stdout().print(component_table(records))


def diameter(
    name: RunArgument,
    component: Annotated[
        int | None, typer.Option("--component", min=0, metavar="K", help="Its number. [default: 0, the largest]")
    ] = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Give the exact diameter of a component and every pair of configurations that attains it."""
    from coordinator.cli.drawing import print_side_by_side

    with _open(name, data) as run:
        found = run.diameter(component)
        pairs = [[run.puzzle.render(key) for key in pair] for pair in found.pairs.tolist()]
        row = _component_row(found.record, run.puzzle)
    if json:
        print_json({"run": run.name} | row | {"pair_count": len(pairs), "pairs": pairs})
        return
    stdout().print(facts(row | {"diametral pairs": len(pairs)}))
    for number, pair in enumerate(pairs, 1):
        stdout().print()
        print_side_by_side(stdout(), pair, [f"pair {number}", f"{found.diameter} moves away"])


def distance(
    name: RunArgument,
    target: ConfArgument,
    source: FromOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Tell how many moves lie between the start (or --from) and a configuration."""
    with _open(name, data) as run:
        found = run.path(target, source)
    if json:
        print_json({"run": run.name} | _path_row(found))
    else:
        stdout().print(f"{len(found)} moves from {found.configurations[0]} to {found.configurations[-1]}")


def path(
    name: RunArgument,
    source: FromOption = None,
    target: Annotated[
        str, typer.Option("--to", metavar="CONF|goal", help="Where to. [default: the nearest goal]")
    ] = "goal",
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Draw a shortest path, board by board. A move's letters are those of the board before it."""
    from coordinator.cli.drawing import print_side_by_side

    with _open(name, data) as run:
        found = run.path(target, source)
    if json:
        print_json({"run": run.name} | _path_row(found))
        return
    titles = ["0 start", *(f"{number} {move}" for number, move in enumerate(found.moves, 1))]
    print_side_by_side(stdout(), found.configurations, titles)
    stdout().print(f"{len(found)} moves")


def show(
    conf: ConfArgument,
    puzzle: Annotated[str, typer.Option("--puzzle", help="Which puzzle it belongs to.")] = "klotski",
    options: PuzzleOptions = None,
    json: JsonOption = False,
) -> None:
    """Draw a configuration and tell its key, its moves, and the canonical one of it and its mirror image."""
    from coordinator.cli.drawing import framed
    from puzzles.registry import PuzzleSpec

    rules = PuzzleSpec(puzzle, parse_options(options or [])).build()
    row = _configuration_row(rules, rules.parse(conf))
    if json:
        print_json(row)
        return
    stdout().print(framed(row["configuration"]))
    moves = row.pop("moves")
    stdout().print(facts(row | {"moves": ", ".join(moves) or "none"}))


def verify(
    name: RunArgument,
    full: Annotated[
        bool, typer.Option("--full", help="Every configuration, not a sample; a whole space takes a minute.")
    ] = False,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Derive again what the run has stored, by the plain rules; exit code 1 and a list where anything is wrong."""
    from coordinator.cli.progress import shown_progress
    from coordinator.cli.signals import stopping_with
    from coordinator.control import Control
    from coordinator.errors import StopRun
    from coordinator.runs import data_directory, find_run
    from coordinator.verify import verify_directory

    control, directory = Control(), find_run(data_directory(data), name)
    with stopping_with(control.interrupt) as received, shown_progress(stderr()) as progress:
        try:
            report = verify_directory(directory, full, control, progress)
        except StopRun as stop:
            stderr().print(f"verify {stop.reason}: nothing is proved")
            raise typer.Exit(received.exit_code) from None
    if json:
        print_json({"run": directory.name, "ok": report.ok, "checked": report.checked, "faults": report.faults})
    else:
        counts = ", ".join(f"{number:,} {what}" for what, number in report.checked.items())
        stdout().print(
            f"{'sound' if report.ok else 'NOT SOUND'}: checked {counts or 'nothing, for it cannot be opened'}"
        )
        for fault in report.faults:
            stdout().print(Text(fault, style="red"), soft_wrap=True)
        if report.checked and not report.ok:
            stderr().print(f"mend damaged layers with: hakoiri resume {directory.name} --repair")
    if not report.ok:
        raise typer.Exit(1)


def export(
    name: RunArgument,
    target: Annotated[Path, typer.Option("--to", metavar="FILE", help="Ends in .csv, .npz or .graphml.")],
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Write the configurations and moves of a run to a file for other programs."""
    from coordinator.export import export_run

    with _open(name, data) as run:
        count = export_run(run, target)
    if json:
        print_json({"run": run.name, "file": str(target), "configurations": count})
    else:
        stdout().print(f"{count:,} configurations written to {target}")


def component_table(records: list["ComponentRecord"]) -> Table:
    """Components as a table."""
    columns = ("component", "size", "diameter", "radius", "centre", "periphery", "pairs")
    listed = table(*columns, numbers=columns)
    for record in records:
        figures = (record.size, record.diameter, record.radius, record.centre, record.periphery, record.pair_count)
        listed.add_row(str(record.component), *(f"{figure:,}" for figure in figures))
    return listed


def _open(name: str, data: Path | None) -> "Run":
    from coordinator.api import open_run

    return open_run(name, data)


def _component_row(record: "ComponentRecord", puzzle: "Puzzle") -> dict[str, Any]:
    names = ("component", "size", "diameter", "radius", "centre", "periphery")
    return {name: getattr(record, name) for name in names} | {"representative": puzzle.render(record.representative)}


def _path_row(found: "ShortestPath") -> dict[str, Any]:
    return {"length": len(found), "configurations": found.configurations, "moves": found.moves}


def _configuration_row(rules: "Puzzle", key: int) -> dict[str, Any]:
    keys = rules.keys([key])
    mirror = int(rules.canonical(keys)[0]) if rules.has_mirrors else None
    return {
        "configuration": rules.render(key),
        "key": f"{key:#0{2 + 2 * rules.dtype.itemsize}x}",
        "puzzle": rules.name,
        "goal": bool(rules.is_goal(keys)[0]),
        "canonical": None if mirror is None else rules.render(mirror),
        "moves": [rules.describe_move(key, successor) for successor in rules.successors(key)],
    }


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri layers last --plot layers.png")(layers)
    app.command(epilog="Example: hakoiri components last --limit 10")(components)
    app.command(epilog="Example: hakoiri diameter last --component 2")(diameter)
    app.command(epilog="Example: hakoiri distance last ABBC/ABBC/DEEF/DGHF/.IJ.")(distance)
    app.command(epilog="Example: hakoiri path last --to goal")(path)
    app.command(epilog="Example: hakoiri show ABBC/ABBC/DEEF/DGHF/I..J")(show)
    app.command(epilog="Example: hakoiri verify last --full")(verify)
    app.command(epilog="Example: hakoiri export last --to klotski.graphml")(export)
