"""Shortest paths: their length, one, all of them, and a board's statistics along them."""

from dataclasses import dataclass, replace
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hakoiri.errors import Hint, PuzzleError, counted
from hakoiri.parameters import flag, parameter
from hakoiri.questions.question import CONFIGURATION, Cost, Long, Means, Question, Route, written
from hakoiri.reading import read_board
from hakoiri.render.tables import facts, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.run.paths import ShortestPath, ShortestPaths

_ENDS = ("goal", "farthest")
#: The most moves of a path that is printed in colours.
_COLOURED = 10_000
_USUALLY_LISTED = 100
#: Shares of good moves, in eighths.
_BARS = "▁▂▃▄▅▆▇█"
_FROM = ("--from", "CONF|FILE", "Start of the path.", "the run's start")
_AVOID = ("--avoid", "CONF|FILE", "Avoid configurations like this, '*' for anything. Repeatable.")
_MOST_LETTERS = {"max_length": 10_000}
_SOURCE = {"source": {"alias": "from"} | _MOST_LETTERS}
_QUERY = {"target": {"alias": "to", "default": "goal"} | _MOST_LETTERS} | _SOURCE


class _Ends(Question):
    """The base of questions about a shortest path."""

    target: str
    source: str | None
    avoid: list[str] | None

    def read(self) -> tuple[str, str | None, list[str]]:
        """Return target, source and what to avoid as texts. Only the command line reads files."""
        # The words `goal` and `farthest` are never files.
        end = self.target if self.target in _ENDS else read_board(self.target)
        source = None if self.source is None else read_board(self.source)
        return end, source, [read_board(text) for text in self.avoid or []]

    def cost(self, run: "Run") -> Cost:
        begin = None if self.source is None else run.puzzle.parse(self.source)
        # A path from the start of a search is read from the layers.
        at_start = not run.is_census if begin is None else run.is_from_start(begin)
        if not self.is_long(run, not at_start, True):
            return "now"
        end = self.target if self.target in _ENDS else run.puzzle.layout.text(run.puzzle.parse(self.target))
        return Long("path", {"to": end, "from": None if begin is None else run.puzzle.layout.text(begin)})

    def ask(self, run: "Run", means: Means) -> "ShortestPath":
        return run.path(self.target, self.source, self.avoid or [])

    def row(self, run: "Run", found: "ShortestPath") -> dict[str, Any]:
        keys = [run.puzzle.layout.text(run.puzzle.parse(key)) for key in found.keys]
        return {"length": len(found), "configurations": found.configurations, "moves": found.moves, "keys": keys}


@dataclass(frozen=True)
class Distance(_Ends):
    """Show how many moves a configuration is from the start."""

    example = "distance last ABBC/ABBC/DEEF/DGHF/.IJ."
    route = Route(
        "/distance", "distance", "The number of moves between two configurations.",
        "`to` may be `goal` or `farthest`; `from` is by default the start of the run.", _QUERY,
    )  # fmt: skip

    target: str = parameter(*CONFIGURATION)
    source: str | None = parameter(*_FROM)
    avoid: list[str] | None = parameter(*_AVOID)

    def checked(self) -> Question:
        return Distance(*self.read())

    def view(self, run: "Run", found: "ShortestPath") -> None:
        ends = f"from {found.configurations[0]} to {run.puzzle.render(found.keys[-1])}"
        stdout().print(Text(f"{counted(len(found), 'moves')} {ends}"))


@dataclass(frozen=True)
class OnePath(_Ends):
    """Draw a shortest path, board by board.

    A piece keeps its letter and its colour from the first board to the last. --count and --all cover all shortest
    paths, to every nearest goal.
    """

    example = "path last --to goal"
    route = Route(
        "/path", "path", "A shortest path between two configurations.",
        "`to` may be `goal` or `farthest`. A long question for a large run if `from` is not its start.", _QUERY,
    )  # fmt: skip

    source: str | None = parameter(*_FROM)
    target: str = parameter(
        "--to", "CONF|FILE|goal|farthest", "End of the path.", "the nearest goal", "goal", words=_ENDS
    )
    avoid: list[str] | None = parameter(*_AVOID)
    count: bool = flag("--count", "Count the shortest paths without listing them.")
    every: bool = flag("--all", "List the moves of all shortest paths.")
    limit: int | None = parameter("--limit", "N", "With --all: list at most N paths.", str(_USUALLY_LISTED), min=1)
    film: Path | None = parameter("--film", "FILE", "Write a film: .gif, .svg, or .html to step through.")
    statistics: bool = flag(
        "--statistics", "Show a designer's figures instead of the path: solutions, forced moves, dead ends."
    )

    def checked(self) -> Question:
        if self.limit is not None and not self.every:
            raise typer.BadParameter("--limit needs --all")
        if self.film is not None:
            from hakoiri.render.films import FILMS, check_ending

            check_ending(self.film, FILMS)
            if self.count or self.every:
                raise PuzzleError("--film cannot be combined with --count or --all")
        if self.statistics and (self.count or self.every or self.film or self.avoid or self.target != "goal"):
            raise PuzzleError("--statistics cannot be combined with --count, --all, --film, --avoid or --to")
        if self.count and self.every:
            raise PuzzleError("--count and --all cannot be combined", Hint("leave out", "all"))
        end, source, avoid = self.read()
        if self.statistics:
            return BoardStatistics(source)
        if self.count or self.every:
            return EveryPath(end, source, avoid, (self.limit or _USUALLY_LISTED) if self.every else 0)
        return replace(self, target=end, source=source, avoid=avoid)

    def write(self, run: "Run", found: "ShortestPath") -> None:
        if self.film is not None:
            from hakoiri.render.films import film_of, write_film
            from hakoiri.render.images import titled

            write_film(film_of(titled(run.puzzle), lambda: run.puzzle.pictures(found.keys), found.moves), self.film)
            written(self.film)

    def view(self, run: "Run", found: "ShortestPath") -> None:
        if self.film is None:
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


@dataclass(frozen=True)
class EveryPath(Question):
    """Show the number of shortest paths, and the moves of the first `limit`."""

    target: str
    source: str | None
    avoid: list[str] | None
    limit: int

    def ask(self, run: "Run", means: Means) -> "ShortestPaths":
        return run.shortest_paths(self.target, self.source, self.avoid or [])

    def row(self, run: "Run", found: "ShortestPaths") -> dict[str, Any]:
        listed = [{"configurations": one.configurations, "moves": one.moves} for one in islice(found, self.limit)]
        return {"length": found.length, "count": found.count} | ({"paths": listed} if self.limit else {})

    def view(self, run: "Run", found: "ShortestPaths") -> None:
        for number, one in enumerate(islice(found, self.limit), 1):
            stdout().print(Text(f"{number}: {', '.join(one.moves)}"), soft_wrap=True)
        more = found.count - self.limit
        rest = f", {more:,} more with --limit" if self.limit and more > 0 else ""
        stdout().print(f"{counted(found.count, 'shortest paths')} of {counted(found.length, 'moves')}{rest}")


@dataclass(frozen=True)
class BoardStatistics(Question):
    """Show the figures of a board for its designer, by default of the start."""

    route = Route(
        "/statistics", "statistics",
        "The statistics of a board: its shortest solutions, forced moves, idle pieces.",
        "`from` is by default the start of the run. A long question for a large run.", _SOURCE,
    )  # fmt: skip

    source: str | None = None

    def cost(self, run: "Run") -> Cost:
        if not self.is_long(run, small=True):
            return "now"
        begin = None if self.source is None else run.puzzle.layout.text(run.puzzle.parse(self.source))
        return Long("path", {"statistics": True, "from": begin})

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        from hakoiri.rows.positions import statistics_row

        return statistics_row(run, self.source)

    def view(self, run: "Run", found: dict[str, Any]) -> None:
        """Print the figures, and a bar for each step of the first shortest solution."""
        shares, idle = found.pop("good"), found.pop("idle")
        shown = {name.replace("_", " "): value for name, value in found.items()}
        shown |= {"idle": idle if idle is None else " ".join(idle) or "none"}
        bars = "".join(_BARS[ceil(share * 8) - 1] for share in shares)
        stdout().print(facts(shown | {"good moves": bars or None}))
