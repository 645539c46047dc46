"""The commands ``distance`` and ``path``: shortest paths, one or all of them."""

from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from hakoiri.cli.completing import ends_beginning
from hakoiri.cli.driving import QueryOptions
from hakoiri.cli.options import ConfArgument, RunArgument, command_line, flag, option
from hakoiri.errors import PuzzleError, counted
from hakoiri.reading import read_board
from hakoiri.render.tables import facts, print_json, stderr, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run, ShortestPath, ShortestPaths

#: The most moves of a path that is printed in colours.
_COLOURED = 10_000
_USUALLY_LISTED = 100
#: Shares of good moves, in eighths.
_BARS = "▁▂▃▄▅▆▇█"
FromOption = Annotated[str | None, option("--from", "CONF|FILE", "Start of the path.", usual="the run's start")]
AvoidOption = Annotated[
    list[str] | None, option("--avoid", "CONF|FILE", "Avoid configurations like this, '*' for anything. Repeatable.")
]


@command_line("distance last ABBC/ABBC/DEEF/DGHF/.IJ.")
def distance(
    name: RunArgument,
    target: ConfArgument,
    source: FromOption = None,
    avoid: AvoidOption = None,
    *,
    query: QueryOptions,
) -> None:
    """Show how many moves a configuration is from the start."""
    from hakoiri.rows.answers import path_row

    with query.open(name) as run:
        found = run.path(*_ends(target, source), _patterns(avoid))
    if query.json:
        print_json({"run": run.name} | path_row(found))
    else:
        stdout().print(
            Text(
                f"{counted(len(found), 'moves')} from {found.configurations[0]} to {run.puzzle.render(found.keys[-1])}"
            )
        )


@command_line("path last --to goal")
def path(
    name: RunArgument,
    source: FromOption = None,
    target: Annotated[
        str,
        option("--to", "CONF|FILE|goal|farthest", "End of the path.", autocompletion=ends_beginning,
               usual="the nearest goal"),
    ] = "goal",
    avoid: AvoidOption = None,
    count: Annotated[bool, flag("--count", "Count the shortest paths without listing them.")] = False,
    every: Annotated[bool, flag("--all", "List the moves of all shortest paths.")] = False,
    limit: Annotated[
        int | None, option("--limit", "N", "With --all: list at most N paths.", min=1, usual=str(_USUALLY_LISTED))
    ] = None,
    film: Annotated[
        Path | None, option("--film", "FILE", "Write a film: .gif, .svg, or .html to step through.")
    ] = None,
    statistics: Annotated[
        bool, flag("--statistics", "Show a designer's figures instead of the path: solutions, forced moves, dead ends.")
    ] = False,
    *,
    query: QueryOptions,
) -> None:  # fmt: skip
    """Draw a shortest path, board by board.

    A piece keeps its letter and its colour from the first board to the last. --count and --all cover all shortest
    paths, to every nearest goal.
    """
    from hakoiri.rows.answers import path_row

    if limit is not None and not every:
        raise typer.BadParameter("--limit needs --all")
    if film is not None:
        from hakoiri.render.films import FILMS, check_ending

        check_ending(film, FILMS)
        if count or every:
            raise PuzzleError("--film cannot be combined with --count or --all")
    if statistics and (count or every or film or avoid or target != "goal"):
        raise PuzzleError("--statistics cannot be combined with --count, --all, --film, --avoid or --to")
    with query.open(name) as run:
        if statistics:
            _show_statistics(run, None if source is None else read_board(source), query.json)
            return
        if count or every:
            listed = (limit or _USUALLY_LISTED) if every else 0
            _show_all(run, run.shortest_paths(*_ends(target, source), _patterns(avoid)), listed, query.json)
            return
        found = run.path(*_ends(target, source), _patterns(avoid))
    if film is not None:
        _write_film(run, found, film)
    if query.json:
        print_json({"run": run.name} | path_row(found))
        return
    if film is None:
        from hakoiri.puzzles.pictures import Picture
        from hakoiri.render.images import print_side_by_side

        titles = ["0 start", *(f"{number} {move}" for number, move in enumerate(found.moves, 1))]
        # The pictures of a very long path would take gigabytes.
        coloured = len(found) <= _COLOURED
        pictures = run.puzzle.pictures(found.keys) if coloured else [Picture(0, 0, ())] * len(found.keys)
        print_side_by_side(stdout(), found.configurations, titles, pictures)
    # Moves without spaces, such as turns of a cube, can be typed in again.
    turns = "" if any(" " in move for move in found.moves) else f": {' '.join(found.moves)}"
    stdout().print(Text(f"{counted(len(found), 'moves')}{turns if found.moves else ''}"))


def _show_all(run: "Run", found: "ShortestPaths", limit: int, json: bool) -> None:
    """Print the number of shortest paths, and the moves of the first `limit`."""
    from hakoiri.rows.answers import paths_row

    if json:
        print_json({"run": run.name} | paths_row(found, limit))
        return
    for number, one in enumerate(islice(found, limit), 1):
        stdout().print(Text(f"{number}: {', '.join(one.moves)}"), soft_wrap=True)
    more = found.count - limit
    rest = f", {more:,} more with --limit" if limit and more > 0 else ""
    stdout().print(f"{counted(found.count, 'shortest paths')} of {counted(found.length, 'moves')}{rest}")


def _show_statistics(run: "Run", source: str | None, json: bool) -> None:
    """Print the figures of a board, and a bar for each step of its first shortest solution."""
    from hakoiri.rows.answers import statistics_row

    row = statistics_row(run, source)
    if json:
        print_json({"run": run.name} | row)
        return
    shares, idle = row.pop("good"), row.pop("idle")
    shown = {name.replace("_", " "): value for name, value in row.items()}
    shown |= {"idle": idle if idle is None else " ".join(idle) or "none"}
    stdout().print(facts(shown | {"good moves": "".join(_BARS[ceil(share * 8) - 1] for share in shares) or None}))


def _write_film(run: "Run", found: "ShortestPath", target: Path) -> None:
    from hakoiri.render.films import film_of, write_film
    from hakoiri.render.images import titled

    write_film(film_of(titled(run.puzzle), lambda: run.puzzle.pictures(found.keys), found.moves), target)
    stderr().print(Text(f"written to {target}"))


def _ends(target: str, source: str | None) -> tuple[str, str | None]:
    """Return target and source; the words ``goal`` and ``farthest`` are never files."""
    end = target if target in ("goal", "farthest") else read_board(target)
    return end, None if source is None else read_board(source)


def _patterns(avoid: list[str] | None) -> list[str]:
    return [read_board(text) for text in avoid or []]
