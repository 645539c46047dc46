"""``solutions``, and what ``run`` tells of a tree."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from hakoiri.cli.options import DataOption, JsonOption, RunArgument
from hakoiri.render.progress import time_left
from hakoiri.render.tables import facts, print_json, stderr, stdout, table

if TYPE_CHECKING:
    from rich.table import Table

    from coordinator.runs.strategies import StrategyCost
    from storage.layers.store import RunStore

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
            _write(svg, tree.svg(keys[0]))
    if json:
        print_json({"run": run.name, "orbits": orbits, "symmetries": tree.symmetries, "solutions": texts})
        return
    for text, drawing in zip(texts, drawings, strict=True):
        stdout().print(Text(text, "bold"))
        stdout().print(Text(drawing))
        stdout().print()
    stdout().print(f"{len(texts):,} of {orbits:,} orbits, each of {tree.symmetries} images")


def _write(target: Path, text: str) -> None:
    from coordinator.errors import UnanswerableError

    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnanswerableError(f"cannot write {target}: {error.strerror or error}; name another file") from error
    stderr().print(Text(f"drawn into {target}"))


def _tree_facts(summary: dict[str, Any], symmetries: int, automorphisms: int) -> "Table":
    """The counts of a tree for people."""
    known = summary["orbits"] is not None
    left = summary["seconds_left"]
    return facts(
        {
            "run": summary["run"],
            "puzzle": summary["puzzle"],
            "parameters": summary["parameters"],
            "status": summary["status"],
            "solutions": summary["solutions"],
            "orbits": f"{summary['orbits']:,} by the {symmetries} symmetries of the figure" if known else None,
            "classes": f"{summary['classes']:,} by the {automorphisms} automorphisms of its lines" if known else None,
            "numbers placed": summary["nodes"],
            "chunks": f"{summary['chunks_done']:,} of {summary['chunks']:,}" if known else None,
            "time left": None if left is None else time_left((left[0], left[1])),
            "digest": summary["digest"] or None,
            "computing": f"{summary['seconds']:.3f} s, the chunks {summary['processor_seconds']:.3f} s of a processor",
        }
    )


def print_tree(store: "RunStore", summary: dict[str, Any]) -> None:
    """What a run has found."""
    from coordinator.runs.create import pinned_puzzle
    from puzzles.capabilities import Placements

    puzzle, _ = pinned_puzzle(store)
    if isinstance(puzzle, Placements):
        stdout().print(_tree_facts(summary, puzzle.symmetries, puzzle.automorphisms))
        if summary["status"] == "complete":
            asks = ["hakoiri solutions last"] if puzzle.keeps and summary["orbits"] else []
            stdout().print(f"[dim]now ask: {', '.join([*asks, 'hakoiri verify last'])}[/dim]")


def print_strategies(compared: "list[StrategyCost]") -> None:
    """Strategies beside each other, as multiples of the fastest."""
    stdout().print()
    stdout().print(_strategy_table(compared))


def _strategy_table(compared: "list[StrategyCost]") -> "Table":
    columns = ("numbers placed", "times", "processor", "times ")
    listed = table("strategy", *columns, "run", numbers=columns)
    fastest = compared[-1]
    for each in compared:
        slower = each.processor / fastest.processor if fastest.processor else 0.0
        listed.add_row(
            each.strategy, f"{each.nodes:,}", f"{each.nodes / max(fastest.nodes, 1):,.1f}",
            f"{each.processor:,.4f} s", f"{slower:,.1f}", each.run,
        )  # fmt: skip
    return listed


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: hakoiri solutions last --first 5 --svg star.svg")(solutions)
