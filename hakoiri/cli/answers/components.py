"""The commands ``components``, ``component-of`` and ``map``, which writes the layout of a component in space."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.text import Text

from hakoiri.cli import options as shared
from hakoiri.cli.driving import QueryOptions, answering, named
from hakoiri.cli.options import command_line, flag, option
from hakoiri.errors import counted
from hakoiri.hints import command
from hakoiri.reading import read_board
from hakoiri.render.tables import facts, print_json, rows_table, stdout, table

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.coordinator.graphs.strong import StrongComponents

#: The most rows of a table of strong components, of which there may be millions, and of a table of their kinds.
_ROWS = 20


@command_line("components last --limit 10")
def components(
    name: shared.RunArgument,
    strong: Annotated[
        bool,
        flag("--strong", "List strong components (directed puzzles): in one, every configuration reaches every other."),
    ] = False,
    limit: Annotated[int | None, option("--limit", "N", "List only the N largest.", min=1)] = None,
    redis: shared.RedisOption = None,
    *,
    query: QueryOptions,
) -> None:
    """List the components, largest first, with exact diameters.

    A directed puzzle has weak components, which have no diameter. Its strong components (--strong) have one; RQ workers
    help to find them.
    """
    from hakoiri.coordinator.session.resources import Resources

    with query.open(name) as run:
        if strong:
            resources = Resources(shared.redis_url(redis), memory=query.memory)
            again = f"; ask again: {command('strong components', named(run.store.directory))}"
            with answering(again) as (control, progress):
                known = run.strong_components(control, progress, resources)
            if query.json:
                from hakoiri.rows.answers import strong_row

                print_json({"run": run.name} | strong_row(run, known, limit))
            else:
                _print_strong(run, known, limit or _ROWS)
        elif query.json:
            from hakoiri.rows.answers import components_row

            print_json({"run": run.name} | components_row(run, limit))
        elif not run.puzzle.undirected:
            found = run.weak_components(limit)
            stdout().print(rows_table([{"component": weak.component, "size": weak.size} for weak in found]))
            why = "" if run.is_census else "; a search from a start has one weak component"
            stdout().print(f"weakly connected{why}", style="dim")
            stdout().print(f"strong components: hakoiri components {run.name} --strong", style="dim")
        else:
            from hakoiri.storage.results import component_figures

            stdout().print(rows_table([component_figures(record) for record in run.components(limit)]))


@command_line("component-of last ABBC/ABBC/DEEF/DGHF/.IJ.")
def component_of(name: shared.RunArgument, conf: shared.ConfArgument, *, query: QueryOptions) -> None:
    """Show the component that a configuration belongs to."""
    from hakoiri.rows.answers import component_row

    with query.open(name) as run:
        number = run.component_of(read_board(conf))
        row = component_row(run.weak_components(number + 1)[number], run.puzzle)
        if not (run.is_census and run.puzzle.undirected):
            row = {name: row[name] for name in ("component", "size", "representative")}
    if query.json:
        print_json({"run": run.name} | row)
    else:
        stdout().print(facts(row))


def _print_strong(run: "Run", found: "StrongComponents", rows: int) -> None:
    console = stdout()
    console.print(
        facts(
            {
                "configurations": found.configurations,
                "weak components": found.weak,
                "strong components": found.strong,
                "with one configuration": found.single,
                "pairs joined by moves": found.between,
                "sources": found.sources,
                "sinks": found.sinks,
            }
        )
    )
    if not found.components:
        return
    # Often thousands of components are alike.
    histogram = found.histogram()
    stdout().print()
    stdout().print(
        rows_table([{"components": count, "size": size, "diameter": apart} for size, apart, count in histogram[:_ROWS]])
    )
    _print_more(len(histogram) - _ROWS, "rows", "--json")
    columns = ("component", "size", "diameter")
    listed = table(*columns, numbers=columns)
    for end in ("from", "to"):
        listed.add_column(end, overflow="fold")
    for one in found.components[:rows]:
        pair = [Text(run.puzzle.render(key)) for key in one.pair]
        listed.add_row(str(one.component), f"{one.size:,}", f"{one.diameter:,}", *pair)
    console.print()
    console.print(listed)
    _print_more(len(found.components) - rows, "components", "--limit N")


def _print_more(count: int, what: str, how: str) -> None:
    if count > 0:
        stdout().print(f"and {counted(count, what)} more: {how}", style="dim")


@command_line("map last --to klotski.html")
def draw_map(
    name: shared.RunArgument,
    target: Annotated[
        Path, option("--to", "FILE", "File to write: .png, .svg, .pdf, .html (a page to turn) or .hakomap.")
    ],
    component: shared.ComponentOption = None,
    dim: Annotated[Literal["2", "3"], flag("--dim", "Number of dimensions.")] = "3",
    *,
    query: QueryOptions,
) -> None:
    """Write a map: a component laid out in space.

    Distances on the map approximate numbers of moves. 'hakoiri serve' shows the map.

    For a component of more than 100,000 configurations, the map has the layers nearest to its start, up to 20,000.
    """
    from hakoiri.render.films import check_ending
    from hakoiri.render.maps import MAPS, save_map
    from hakoiri.rows.answers import map_row

    # Checked before the work, which may take minutes.
    check_ending(target, MAPS)
    with query.open(name) as run:
        with answering(": nothing is written") as (control, progress):
            found = run.map(component, int(dim), control, progress)
        save_map(run, found, target)
        row = map_row(run, found)
        if query.json:
            print_json({"run": run.name, "file": str(target)} | row)
            return
    part = "" if found.whole else f", the nearest to {row['origin']}"
    rows = {"configurations": f"{row['configurations']:,}{part}", "moves": f"{row['moves']:,}", "stress": row["stress"]}
    stdout().print(facts(rows))
    stdout().print(f"{counted(len(found.keys), 'points')} written to {target}")
