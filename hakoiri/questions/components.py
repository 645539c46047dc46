"""The components of a run: all, one, the strong ones, that of a configuration, and a map of one."""

from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.text import Text

from hakoiri.errors import counted
from hakoiri.parameters import flag, parameter
from hakoiri.questions.question import COMPONENT, CONFIGURATION, Cost, Long, Means, Question, Route
from hakoiri.reading import read_board
from hakoiri.render.tables import facts, rows_table, stdout, table

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.coordinator.graphs.strong import StrongComponents
    from hakoiri.puzzles.contract import Puzzle
    from hakoiri.run.maps import Map
    from hakoiri.storage.ledger.manifest import ComponentRecord

#: The most rows of a table of strong components, of which there may be millions, and of a table of their kinds.
_ROWS = 20
_LIMIT = {"limit": {"default": 100, "ge": 1, "le": 10_000}}


def component_row(record: "ComponentRecord", puzzle: "Puzzle") -> dict[str, Any]:
    """Return one component as plain values."""
    names = ("component", "size", "diameter", "radius", "centre", "periphery")
    return {name: getattr(record, name) for name in names} | {"representative": puzzle.render(record.representative)}


def _row_with_layers(record: "ComponentRecord", run: "Run") -> dict[str, Any]:
    """Return one component as plain values, with the sizes of its layers if it was found layer by layer."""
    layers = run.profile(record.component) if run.is_census else None
    return component_row(record, run.puzzle) | ({} if layers is None else {"layers": layers})


def is_unmeasured(run: "Run") -> bool:
    """Return whether the only component of a search from a start is unmeasured, and takes long to measure."""
    searches = run.puzzle.undirected and not run.is_census
    return Question.is_long(run, searches) and run.known_diameter(0, False) is None


@dataclass(frozen=True)
class ListComponents(Question):
    """List the components, largest first, with exact diameters.

    A directed puzzle has weak components, which have no diameter. Its strong components (--strong) have one; RQ workers
    help to find them.
    """

    example = "components last --limit 10"
    route = Route(
        "/components", "components", "The components, the largest first, with their exact distances.",
        "Components of a directed puzzle have no distances. A long question if a large run must be measured first.",
        _LIMIT,
    )  # fmt: skip
    work = "redis"

    strong: bool = flag(
        "--strong", "List strong components (directed puzzles): in one, every configuration reaches every other."
    )
    limit: int | None = parameter("--limit", "N", "List only the N largest.", min=1)

    def checked(self) -> Question:
        return ListStrong(self.limit) if self.strong else self

    def cost(self, run: "Run") -> Cost:
        return Long("components", {}) if is_unmeasured(run) else "now"

    def ask(self, run: "Run", means: Means) -> "list[ComponentRecord]":
        return run.components(self.limit) if run.puzzle.undirected else run.weak_components(self.limit)

    def row(self, run: "Run", found: "list[ComponentRecord]") -> dict[str, Any]:
        return {"directed": not run.puzzle.undirected, "components": [_row_with_layers(each, run) for each in found]}

    def view(self, run: "Run", found: "list[ComponentRecord]") -> None:
        from hakoiri.storage.results import component_figures

        if run.puzzle.undirected:
            rows = [component_figures(record) for record in found]
            for row, record in zip(rows, found, strict=True):
                if (layers := run.profile(record.component)) is not None:
                    row |= {"layers": len(layers), "widest": max(layers)}
            stdout().print(rows_table(rows))
            return
        stdout().print(rows_table([{"component": weak.component, "size": weak.size} for weak in found]))
        why = "" if run.is_census else "; a search from a start has one weak component"
        stdout().print(f"weakly connected{why}", style="dim")
        stdout().print(f"strong components: hakoiri components {run.name} --strong", style="dim")


@dataclass(frozen=True)
class ListStrong(Question):
    """List the components whose configurations all reach each other."""

    route = Route(
        "/components/strong", "strong",
        "The strong components: in one, every configuration reaches every other.",
        "Only for directed puzzles. A long question for a large run.", _LIMIT,
    )  # fmt: skip
    stopped, again = "; ask again: {}", "strong components"

    limit: int | None

    def cost(self, run: "Run") -> Cost:
        return Long("components", {"strong": True, "limit": self.limit}) if self.is_long(run) else "now"

    def ask(self, run: "Run", means: Means) -> "StrongComponents":
        return run.strong_components(*means)

    def row(self, run: "Run", found: "StrongComponents") -> dict[str, Any]:
        render = run.puzzle.render
        return {
            "configurations": found.configurations,
            "weak_components": found.weak,
            "strong_components": found.strong,
            "single": found.single,
            "condensation_edges": found.between,
            "sources": found.sources,
            "sinks": found.sinks,
            "components": [
                {"component": one.component, "size": one.size, "diameter": one.diameter, "from": render(one.pair[0]),
                 "to": render(one.pair[1]), "representative": render(one.representative)}
                for one in found.components[: self.limit]
            ],
            "histogram": [
                {"size": size, "diameter": diameter, "count": count} for size, diameter, count in found.histogram()
            ],
        }  # fmt: skip

    def view(self, run: "Run", found: "StrongComponents") -> None:
        figures = {
            "configurations": found.configurations, "weak components": found.weak, "strong components": found.strong,
            "with one configuration": found.single, "pairs joined by moves": found.between, "sources": found.sources,
            "sinks": found.sinks,
        }  # fmt: skip
        stdout().print(facts(figures))
        if not found.components:
            return
        # Often thousands of components are alike.
        histogram = found.histogram()
        kinds = [{"components": count, "size": size, "diameter": far} for size, far, count in histogram[:_ROWS]]
        stdout().print()
        stdout().print(rows_table(kinds))
        _print_more(len(histogram) - _ROWS, "rows", "--json")
        columns, shown = ("component", "size", "diameter"), found.components[: self.limit or _ROWS]
        listed = table(*columns, numbers=columns)
        for end in ("from", "to"):
            listed.add_column(end, overflow="fold")
        for one in shown:
            pair = [Text(run.puzzle.render(key)) for key in one.pair]
            listed.add_row(str(one.component), f"{one.size:,}", f"{one.diameter:,}", *pair)
        stdout().print()
        stdout().print(listed)
        _print_more(len(found.components) - len(shown), "components", "--limit N")


def _print_more(count: int, what: str, how: str) -> None:
    if count > 0:
        stdout().print(f"and {counted(count, what)} more: {how}", style="dim")


@dataclass(frozen=True)
class OneComponent(Question):
    """Show a component; in a directed puzzle the weak one, without distances."""

    route = Route(
        "/components/{component}", "component", "One component.", "Return a component as in the list of all.",
        {"component": COMPONENT},
    )  # fmt: skip

    component: int

    def cost(self, run: "Run") -> Cost:
        return Long("diameter", {"component": self.component}) if is_unmeasured(run) else "now"

    def ask(self, run: "Run", means: Means) -> "ComponentRecord":
        if run.puzzle.undirected:
            return run.diameter(self.component).record
        return run.weak_components(self.component + 1)[run.number_of(self.component)]

    def row(self, run: "Run", found: "ComponentRecord") -> dict[str, Any]:
        return _row_with_layers(found, run)


@dataclass(frozen=True)
class ComponentOf(Question):
    """Show the component that a configuration belongs to."""

    example = "component-of last ABBC/ABBC/DEEF/DGHF/.IJ."

    configuration: str = parameter(*CONFIGURATION)

    def ask(self, run: "Run", means: Means) -> "ComponentRecord":
        number = run.component_of(read_board(self.configuration))
        return run.weak_components(number + 1)[number]

    def row(self, run: "Run", found: "ComponentRecord") -> dict[str, Any]:
        row = component_row(found, run.puzzle)
        measured = run.is_census and run.puzzle.undirected
        return row if measured else {name: row[name] for name in ("component", "size", "representative")}

    def view(self, run: "Run", found: "ComponentRecord") -> None:
        stdout().print(facts(self.row(run, found)))


@dataclass(frozen=True)
class DrawMap(Question):
    """Write a map: a component laid out in space.

    Distances on the map approximate numbers of moves. 'hakoiri serve' shows the map.

    For a component of more than 100,000 configurations, the map has the layers nearest to its start, up to 20,000.
    """

    example = "map last --to klotski.html"
    stopped = ": nothing is written"

    target: Path = parameter(
        "--to", "FILE", "File to write: .png, .svg, .pdf, .html (a page to turn) or .hakomap.", default=MISSING
    )
    component: int | None = parameter(
        "--component", "K", "Number of the component.", "that of the puzzle's start", min=0
    )
    dim: Literal["2", "3"] = parameter("--dim", None, "Number of dimensions.", default="3")

    def checked(self) -> Question:
        from hakoiri.render.films import check_ending
        from hakoiri.render.maps import MAPS

        # Checked before the work, which may take minutes.
        check_ending(self.target, MAPS)
        return self

    def ask(self, run: "Run", means: Means) -> "Map":
        return run.map(self.component, int(self.dim), means.control, means.observer)

    def write(self, run: "Run", found: "Map") -> None:
        from hakoiri.render.maps import save_map

        save_map(run, found, self.target)

    def row(self, run: "Run", found: "Map") -> dict[str, Any]:
        from hakoiri.export.graphs import map_row

        return {"file": str(self.target)} | map_row(run, found)

    def view(self, run: "Run", found: "Map") -> None:
        row = self.row(run, found)
        part = "" if found.whole else f", the nearest to {row['origin']}"
        rows = {"configurations": f"{row['configurations']:,}{part}", "moves": f"{row['moves']:,}"}
        stdout().print(facts(rows | {"stress": row["stress"]}))
        stdout().print(f"{counted(len(found.keys), 'points')} written to {self.target}")
