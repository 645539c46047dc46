"""The command ``hardest``: the configurations farthest from their nearest goal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.text import Text

from hakoiri.cli.commands import command_line, option
from hakoiri.cli.driving import drive_to_end, named, refuse_with_queue, report_queued
from hakoiri.cli.groups import LayersHere, opened
from hakoiri.cli.options import OwnFileOption, QueueOption, RunArgument
from hakoiri.hints import command
from hakoiri.puzzles.errors import counted
from hakoiri.render.tables import facts, print_json, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.api import Hardest, Run

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
    refuse_with_queue(queue, {"--plot": plot})
    if plot is not None:
        from hakoiri.render.pictures.files import check_ending
        from hakoiri.render.plots import PLOTS

        check_ending(plot, PLOTS)
    base, metric = _computed(name, metric, queue, puzzle, search)
    if queue:
        return
    with opened(base, search.data, search.memory, puzzle, search.redis) as run:
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
    from hakoiri.coordinator.goals.distances import METRIC
    from hakoiri.coordinator.runs.catalogue import base_of, data_directory, find_run
    from hakoiri.storage.ledger.ledger import Ledger

    directory, resources = find_run(data_directory(search.data), name), search.resources
    base = base_of(directory) or directory.name
    if base != directory.name and metric is None:
        with Ledger(directory) as ledger:
            metric = ledger.manifest.puzzle["options"].get(METRIC)
    with opened(base, search.data, puzzle=puzzle, redis=search.redis) as run:
        run.require_goals()
        other = run.other_metric(metric)
        known, derived = run.known_distances(other) is not None, run.distances_run(other)
    if queue or not known:
        distances = derived.make(resources, queue)
        if queue:
            report_queued(distances, resources.redis, search.json)
        else:
            drive_to_end(distances, resources, search.data)
    return base, metric


def _print_hardest(run: "Run", found: "Hardest") -> None:
    from hakoiri.puzzles.keys.layout import ints
    from hakoiri.render.pictures.terminal import print_side_by_side

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
