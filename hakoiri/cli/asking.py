"""``layers``, ``diameter``, ``distance``, ``path``, ``show``, ``verify``, ``export``: the answers.

All of them work on the store alone, on a finished or an interrupted run.
"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.options import (
    DataOption,
    JsonOption,
    MemoryOption,
    PuzzleOptions,
    RunArgument,
    parse_options,
    read_board,
)
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from hakoiri.api import Run, ShortestPath
    from puzzles.contract import Puzzle
    from storage.ledger.manifest import ComponentRecord

#: Columns of the terminal for the other figures of a layer, and for its bar at least.
_BESIDE_BAR, _LEAST_BAR = 62, 10
ConfArgument = Annotated[
    str, typer.Argument(metavar="CONF", help="Board rows joined by '/', a key 0x..., or a text file.")
]
FromOption = Annotated[
    str | None, typer.Option("--from", metavar="CONF|FILE", help="Set out here. [default: the run's start]")
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
    from coordinator.runs.summary import layer_row

    with opened(name, data) as run:
        rows = [layer_row(record) for record in run.layer_records()]
        if plot is not None:
            from hakoiri.render.plots import plot_layers

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


def diameter(
    name: RunArgument,
    component: Annotated[
        int | None, typer.Option("--component", min=0, metavar="K", help="Its number. [default: 0, the largest]")
    ] = None,
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Give the exact diameter of a component and the pairs of configurations that attain it.

    Of a large component that may take long; the interval in which it lies is shown, and kept by Ctrl-C.
    """
    from coordinator.errors import StopRun
    from coordinator.session.control import Control
    from hakoiri.cli.signals import stopping_with
    from hakoiri.render.boards import print_side_by_side
    from hakoiri.render.progress import shown_progress
    from puzzles.keys.layout import ints

    control = Control()
    with opened(name, data, memory) as run, stopping_with(control.interrupt) as received:
        try:
            with shown_progress(stderr()) as progress:
                found = run.diameter(component, control, progress)
        except StopRun as stop:
            _print_interval(run, stop.reason, json)
            raise typer.Exit(received.exit_code) from None
        pairs = [[run.puzzle.render(key) for key in ints(pair)] for pair in found.pairs]
        row = component_row(found.record, run.puzzle)
    count = found.record.pair_count
    if json:
        print_json({"run": run.name} | row | {"pair_count": count, "pairs": pairs})
        return
    stdout().print(facts(row | {"diametral pairs": "not counted" if count is None else count}))
    for number, pair in enumerate(pairs, 1):
        stdout().print()
        print_side_by_side(stdout(), pair, [f"pair {number}", f"{found.diameter} moves away"])
    if count is not None and count > len(pairs):
        stdout().print(f"[dim]and {count - len(pairs):,} pairs more[/dim]")


def _print_interval(run: "Run", reason: str, json: bool) -> None:
    known = run.interval()
    bounds = {"lower": known.lower, "upper": known.upper} if known else {"lower": None, "upper": None}
    if json:
        print_json({"run": run.name, "diameter": None} | bounds)
    told = f"the diameter is in [{known.lower:,}, {known.upper:,}]" if known else "nothing is known of the diameter"
    stderr().print(Text(f"{reason}; {told}; ask again to go on: hakoiri diameter {run.name}"))


def distance(
    name: RunArgument,
    target: ConfArgument,
    source: FromOption = None,
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Tell how many moves lie between the start (or --from) and a configuration."""
    with opened(name, data, memory) as run:
        found = run.path(_target(target), None if source is None else read_board(source))
    if json:
        print_json({"run": run.name} | _path_row(found))
    else:
        stdout().print(Text(f"{len(found)} moves from {found.configurations[0]} to {found.configurations[-1]}"))


def path(
    name: RunArgument,
    source: FromOption = None,
    target: Annotated[
        str, typer.Option("--to", metavar="CONF|FILE|goal", help="Where to. [default: the nearest goal]")
    ] = "goal",
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Draw a shortest path, board by board. A move's letters are those of the board before it."""
    from hakoiri.render.boards import print_side_by_side

    with opened(name, data, memory) as run:
        found = run.path(_target(target), None if source is None else read_board(source))
    if json:
        print_json({"run": run.name} | _path_row(found))
        return
    titles = ["0 start", *(f"{number} {move}" for number, move in enumerate(found.moves, 1))]
    print_side_by_side(stdout(), found.configurations, titles)
    stdout().print(f"{len(found)} moves")


def show(
    conf: ConfArgument,
    puzzle: Annotated[
        str, typer.Option("--puzzle", help="Which it belongs to; FILE.py:NAME for one's own.")
    ] = "klotski",
    options: PuzzleOptions = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw a board of nakuron into a .png, .svg or .pdf.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Draw a configuration and tell its key, its moves, and the canonical one of it and its mirror image.

    Of a board of nakuron, which may be of any size, tell its balls and what each tilt would drop.
    """
    from hakoiri.cli.optimising import is_whole, show_board
    from hakoiri.render.boards import framed
    from puzzles.errors import PuzzleError
    from puzzles.registry import PuzzleSpec, puzzle_class, with_own_file

    spec, text = with_own_file(PuzzleSpec(puzzle, parse_options(options or []))), read_board(conf)
    if spec.name == "nakuron" and is_whole(text):
        show_board(text, plot, json)
        return
    if plot is not None:
        raise PuzzleError("--plot draws whole boards of nakuron: give one, with --puzzle nakuron")
    if puzzle_class(spec.name, spec.digest).start_is_board:
        spec = replace(spec, start=text)
    rules = spec.build()
    row = _configuration_row(rules, rules.parse(text))
    if json:
        print_json(row)
        return
    from puzzles.capabilities import Placements

    drawn = rules.drawing(rules.parse(text)) if isinstance(rules, Placements) else framed(row["configuration"])
    stdout().print(Text(drawn))
    moves = row.pop("moves")
    stdout().print(facts(row | {"moves": ", ".join(moves) or "none"}))


def verify(
    name: Annotated[
        str, typer.Argument(metavar="RUN|FILE.json", help="A run, or the certificate of a deal (hakoiri hunt).")
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Every configuration, not a sample; a whole space takes a minute.")
    ] = False,
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Derive again what is stored or certified, by the reference rules; exit code 1 and a list of all faults."""
    from coordinator.deals.certificate import SUFFIX, verify_file
    from coordinator.errors import StopRun
    from coordinator.runs.catalogue import data_directory, find_run
    from coordinator.runs.verify import verify_directory
    from coordinator.session.control import Control
    from coordinator.session.resources import Resources
    from hakoiri.cli.signals import stopping_with
    from hakoiri.render.progress import shown_progress

    control, certified = Control(), name.endswith(SUFFIX)
    path = Path(name) if certified else find_run(data_directory(data), name)
    with stopping_with(control.interrupt) as received, shown_progress(stderr()) as progress:
        try:
            verify = verify_file if certified else verify_directory
            report = verify(path, full, Resources(memory=memory), control, progress)
        except StopRun as stop:
            stderr().print(f"verify {stop.reason}: nothing is proved")
            raise typer.Exit(received.exit_code) from None
    if json:
        named = {"certificate": name} if certified else {"run": path.name}
        print_json(named | {"ok": report.ok, "checked": report.checked, "faults": report.faults})
    else:
        counts = ", ".join(f"{number:,} {what}" for what, number in report.checked.items())
        stdout().print(
            f"{'sound' if report.ok else 'NOT SOUND'}: checked {counts or 'nothing, for it cannot be opened'}"
        )
        for fault in report.faults:
            stdout().print(Text(fault, style="red"), soft_wrap=True)
        if report.checked and not report.ok and not certified:
            stderr().print(f"mend damaged layers with: hakoiri resume {path.name} --repair")
    if not report.ok:
        raise typer.Exit(1)


def export(
    name: RunArgument,
    target: Annotated[Path, typer.Option("--to", metavar="FILE", help="Ends in .csv, .npz or .graphml.")],
    images: Annotated[
        bool, typer.Option("--images", help="Of a tree: every solution, not one for each orbit.")
    ] = False,
    memory: MemoryOption = None,
    data: DataOption = None,
    json: JsonOption = False,
) -> None:
    """Write the configurations and moves of a run, or the solutions of a tree, to a file for other programs."""
    from hakoiri.export import export_run

    with opened(name, data, memory) as run:
        count = export_run(run, target, images)
        what = "solutions" if run.store.manifest.mode == "tree" else "configurations"
    if json:
        print_json({"run": run.name, "file": str(target), what: count})
    else:
        stdout().print(f"{count:,} {what} written to {target}")


def _target(text: str) -> str:
    """Where a path leads: the word ``goal`` is never a file."""
    return text if text == "goal" else read_board(text)


def opened(name: str, data: Path | None, memory: int | None = None) -> "Run":
    """The run that a user names, to be asked within so much memory."""
    from coordinator.session.resources import Resources
    from hakoiri.api import open_run

    return open_run(name, data, Resources(memory=memory))


def component_row(record: "ComponentRecord", puzzle: "Puzzle") -> dict[str, Any]:
    """A component for ``--json``."""
    names = ("component", "size", "diameter", "radius", "centre", "periphery")
    return {name: getattr(record, name) for name in names} | {"representative": puzzle.render(record.representative)}


def _path_row(found: "ShortestPath") -> dict[str, Any]:
    return {"length": len(found), "configurations": found.configurations, "moves": found.moves}


def _configuration_row(rules: "Puzzle", key: int) -> dict[str, Any]:
    from puzzles.keys.layout import key_at

    keys = rules.keys([key])
    mirror = key_at(rules.canonical(keys), 0) if rules.has_mirrors else None
    return {
        "configuration": rules.render(key),
        "key": f"{key:#0{rules.layout.digits}x}",
        "puzzle": rules.name,
        "goal": bool(rules.is_goal(keys)[0]),
        "canonical": None if mirror is None else rules.render(mirror),
        "moves": [rules.describe_move(key, successor) for successor in rules.successors(key)],
    }


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(epilog="Example: hakoiri layers last --plot layers.png")(layers)
    app.command(epilog="Example: hakoiri diameter last --component 2")(diameter)
    app.command(epilog="Example: hakoiri distance last ABBC/ABBC/DEEF/DGHF/.IJ.")(distance)
    app.command(epilog="Example: hakoiri path last --to goal")(path)
    app.command(epilog="Example: hakoiri show ABBC/ABBC/DEEF/DGHF/I..J")(show)
    app.command(epilog="Example: hakoiri verify last --full")(verify)
    app.command(epilog="Example: hakoiri export last --to klotski.graphml")(export)
