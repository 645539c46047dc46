"""The commands ``diameter`` and ``hardest``: the configurations farthest from each other, or from a goal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hakoiri.cli import driving
from hakoiri.cli.driving import LayersHere, Work, named
from hakoiri.cli.options import ComponentOption, OwnFileOption, QueueOption, RunArgument, command_line, flag, option
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.catalogue import base_of, data_directory, find_run
from hakoiri.errors import counted
from hakoiri.hints import command
from hakoiri.render.tables import facts, print_json, stderr, stdout
from hakoiri.storage.ledger.ledger import Ledger

if TYPE_CHECKING:
    from hakoiri.api import Diameter, Hardest, Run
    from hakoiri.keys.layout import Keys

#: The most pairs in a picture.
_PAIRS = 4
#: The most pairs printed by default.
_PRINTED = 3


@command_line("diameter last --all --pairs pairs.csv")
def diameter(
    name: RunArgument,
    component: ComponentOption = None,
    every: Annotated[
        bool, flag("--all", "Compute every eccentricity, and so the radius, centre, periphery and all pairs.")
    ] = False,
    pairs: Annotated[
        Path | None, option("--pairs", "FILE", "With --all: write all pairs to FILE, .csv or .parquet.")
    ] = None,
    centre: Annotated[
        Path | None, option("--centre", "FILE", "With --all: write the whole centre to FILE, .csv or .parquet.")
    ] = None,
    periphery: Annotated[
        Path | None, option("--periphery", "FILE", "With --all: write the whole periphery to FILE, .csv or .parquet.")
    ] = None,
    limit: Annotated[int, option("--limit", "N", "Print at most N pairs.", min=0)] = _PRINTED,
    plot: Annotated[Path | None, option("--plot", "FILE", "Draw the pairs: .svg or .png.")] = None,
    queue: QueueOption = False,
    puzzle: OwnFileOption = None,
    *,
    work: Work,
) -> None:
    """Show the exact diameter of a component and its farthest pairs.

    A large component gets a run of its own, which RQ workers share and 'hakoiri status' shows. After Ctrl-C, run the
    same command again to continue.
    """
    from hakoiri.export.tables import check_ending as check_table
    from hakoiri.render.films import check_ending
    from hakoiri.rows.answers import diameter_row

    tables = {"--pairs": pairs, "--centre": centre, "--periphery": periphery}
    # Files that cannot be written are refused before the work for them.
    for flag_name, target in tables.items():
        if target is not None and not every:
            raise typer.BadParameter(f"{flag_name} needs --all")
        if target is not None:
            check_table(target)
    if plot is not None:
        check_ending(plot)
    driving.refuse_with_queue(queue, {**tables, "--plot": plot})
    base, own = _base_and_component(name, work.data)
    resources = work.resources
    with driving.opened(base, work.data, work.memory, puzzle) as run:
        number = run.component_asked(own if component is None else component)
        own_run = run.eccentricity_run(number)
        if queue:
            driving.report_queued(own_run.make(resources, queued=True, every=every), resources.redis, work.json)
            return
        if run.needs_run(number, every):
            driving.drive_to_end(own_run.make(resources, every=every), resources, work.data)
        again = f"; ask again: {command('diameter', named(run.store.directory))}"
        with driving.answering(again) as (control, progress):
            found = run.diameter(number, control, progress, every=every)
            if centre is not None or periphery is not None:
                keys, apart = run.eccentricities(number, control, progress)
        of_start = run.is_census and run.start_component == found.record.component
    if pairs is not None:
        _write_pairs(run, found, pairs)
    if centre is not None:
        _write_configurations(run, keys[apart == apart.min()], centre)
    if periphery is not None:
        _write_configurations(run, keys[apart == apart.max()], periphery)
    if plot is not None:
        _plot_pairs(run, found, plot)
    if work.json:
        print_json({"run": run.name} | diameter_row(run, found))
        return
    _print_diameter(run, found, of_start, limit)


def _print_diameter(run: "Run", found: "Diameter", of_start: bool, limit: int) -> None:
    """Print a component in a column, then the pairs; `of_start` if it is that of the puzzle's start."""
    from hakoiri.keys.layout import ints
    from hakoiri.render.images import print_side_by_side
    from hakoiri.rows.answers import component_row

    row, count = component_row(found.record, run.puzzle), found.record.pair_count
    row |= {name: "not measured; add --all" for name in ("radius", "centre", "periphery") if row[name] is None}
    if of_start:
        row["component"] = f"{row['component']}, with the usual start"
    row["diametral pairs"] = "not counted; add --all" if count is None else count
    if found.eccentricities is not None:
        row["eccentricities"] = _span(found.eccentricities)
    stdout().print(facts(row))
    away = f"{counted(found.diameter, 'moves')} away"
    for number, pair in enumerate(found.pairs[:limit], 1):
        texts, drawn = run.puzzle.render_path(ints(pair)), run.puzzle.pictures(ints(pair))
        stdout().print()
        print_side_by_side(stdout(), texts, [f"pair {number}", away], drawn)
    known, shown = len(found.pairs) if count is None else count, min(limit, len(found.pairs))
    if known > shown:
        how = ": --limit N" if len(found.pairs) > shown else ""
        least = "at least " if count is None else ""
        stdout().print(f"and {least}{counted(known - shown, 'pairs')} more{how}", style="dim")


def _span(eccentricities: dict[int, int]) -> str:
    """Return the range of the eccentricities and the most frequent one."""
    most = max(eccentricities, key=lambda value: eccentricities[value])
    least, greatest = min(eccentricities), max(eccentricities)
    return f"{least:,} to {greatest:,}, most often {most:,} ({eccentricities[most]:,}); all with --json"


def _write_pairs(run: "Run", found: "Diameter", target: Path) -> None:
    from hakoiri.export.tables import write_rows
    from hakoiri.keys.layout import ints

    if found.record.pair_count != len(found.pairs):
        raise UnanswerableError(f"the {found.record.pair_count:,} pairs follow from symmetries and are not listed")
    rows = ({"one": one, "other": other} for one, other in (map(run.puzzle.render, ints(pair)) for pair in found.pairs))
    count = write_rows(rows, target)
    stderr().print(Text(f"{counted(count, 'pairs')} written to {target}"))


def _write_configurations(run: "Run", keys: "Keys", target: Path) -> None:
    from hakoiri.export.tables import write_rows
    from hakoiri.keys.layout import ints

    count = write_rows(({"configuration": run.puzzle.render(key)} for key in ints(keys)), target)
    stderr().print(Text(f"{counted(count, 'configurations')} written to {target}"))


def _base_and_component(name: str, data: Path | None) -> tuple[str, int | None]:
    """Return the run to query; for a run of eccentricities its base run and its component."""
    directory = find_run(data_directory(data), name)
    if not (base := base_of(directory)):
        return directory.name, None
    with Ledger(directory) as ledger:
        return base, ledger.manifest.plan.get("component")


def _plot_pairs(run: "Run", found: "Diameter", target: Path) -> None:
    """Draw the first pairs into one picture, each side by side; two pairs in a row if there are more."""
    from hakoiri.keys.layout import ints
    from hakoiri.render.films import write_picture
    from hakoiri.render.images import captioned, sheet, titled

    puzzle, away = run.puzzle, f"{counted(found.diameter, 'moves')} away"
    boards = [
        captioned(*drawn)
        for number, pair in enumerate(found.pairs[:_PAIRS], 1)
        for drawn in zip(puzzle.pictures(ints(pair)), (f"pair {number}", away), strict=True)
    ]
    across, shown, count = 4 if len(boards) > 4 else 2, len(boards) // 2, found.record.pair_count
    rows = [boards[begin : begin + across] for begin in range(0, len(boards), across)]
    more = f", {shown} of {'some' if count is None else f'{count:,}'} pairs" if count != shown else ""
    heading = [titled(puzzle), f"{found.record.size:,} configurations, diameter {found.diameter:,}{more}"]
    write_picture(sheet(rows, heading), ": ".join(heading), target)
    stderr().print(Text(f"written to {target}"))


#: The default numbers of boards drawn and of configurations in JSON.
_DRAWN, _LISTED = 12, 1_000


@command_line("hardest last --metric finger")
def hardest(
    name: RunArgument,
    limit: Annotated[
        int | None, option("--limit", "K", "Show only the first K.", min=1, usual="12; --json: 1000")
    ] = None,
    plot: Annotated[
        Path | None, option("--plot", "FILE", "Plot the number of configurations at each distance: .png, .svg or .pdf.")
    ] = None,
    metric: Annotated[
        str | None, option("--metric", "NAME", "Count moves by this metric of the puzzle.", usual="that of the run")
    ] = None,
    queue: QueueOption = False,
    puzzle: OwnFileOption = None,
    *,
    search: LayersHere,
) -> None:
    """Show the configurations farthest from their nearest goal.

    The distances of all configurations are stored in a run of their own; later paths to a goal and hints use them.
    After Ctrl-C, run the same command again to continue.
    """
    driving.refuse_with_queue(queue, {"--plot": plot})
    if plot is not None:
        from hakoiri.render.films import check_ending
        from hakoiri.render.plots import PLOTS

        check_ending(plot, PLOTS)
    base, metric = _computed(name, metric, queue, puzzle, search)
    if queue:
        return
    with driving.opened(base, search.data, search.memory, puzzle, search.redis) as run:
        found = run.hardest(limit or (_LISTED if search.json else _DRAWN), metric=metric)
        if plot is not None:
            from hakoiri.render.plots import plot_distances

            plot_distances(run, found.layers, plot)
            stderr().print(Text(f"written to {plot}"))
        if search.json:
            from hakoiri.rows.answers import hardest_row

            print_json({"run": run.name} | hardest_row(run, found))
        else:
            _print_hardest(run, found)


def _computed(
    name: str, metric: str | None, queue: bool, puzzle: str | None, search: LayersHere
) -> tuple[str, str | None]:
    """Compute or queue the goal distances of a run unless they are known; return its name, and the metric.

    If `name` is a run of goal distances, it stands for its base run, and for its own metric.
    """
    from hakoiri.coordinator.goals.job import METRIC

    directory, resources = find_run(data_directory(search.data), name), search.resources
    base = base_of(directory) or directory.name
    if base != directory.name and metric is None:
        with Ledger(directory) as ledger:
            metric = ledger.manifest.puzzle["options"].get(METRIC)
    with driving.opened(base, search.data, puzzle=puzzle, redis=search.redis) as run:
        run.require_goals()
        other = run.other_metric(metric)
        known, derived = run.known_distances(other) is not None, run.distances_run(other)
    if queue or not known:
        distances = derived.make(resources, queue)
        if queue:
            driving.report_queued(distances, resources.redis, search.json)
        else:
            driving.drive_to_end(distances, resources, search.data)
    return base, metric


def _print_hardest(run: "Run", found: "Hardest") -> None:
    from hakoiri.keys.layout import ints
    from hakoiri.render.images import print_side_by_side

    keys = ints(found.configurations)
    titles = [str(number) for number in range(1, len(keys) + 1)]
    texts, pictures = [run.puzzle.render(key) for key in keys], [run.puzzle.picture(key) for key in keys]
    print_side_by_side(stdout(), texts, titles, pictures)
    more = found.count - len(keys)
    shown = {
        "farthest": f"{counted(found.distance, 'moves')} from a goal",
        "metric": found.metric,
        "count": f"{found.count:,}{f', {more:,} more with --limit' if more else ''}",
        "no goal reachable": found.dead or None,
        "at each distance": command("layers", named(run.store.directory, found.distances)),
    }
    stdout().print(facts(shown))
