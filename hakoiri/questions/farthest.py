"""The configurations farthest from each other, and from a goal. Both may need a run of its own."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import typer

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.errors import counted
from hakoiri.hints import command, named
from hakoiri.parameters import flag, parameter
from hakoiri.questions.components import component_row
from hakoiri.questions.question import COMPONENT, Cost, Long, Means, Question, Route, show_boards, written
from hakoiri.render.tables import facts, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.coordinator.runs.create import Derived
    from hakoiri.keys.layout import Keys
    from hakoiri.run.goals import Hardest
    from hakoiri.storage.ledger.manifest import Manifest
    from hakoiri.storage.results import Diameter
    from hakoiri.worker.graphs.searches import Distances

#: The most pairs in a picture.
_PAIRS = 4
#: The most pairs printed by default.
_PRINTED = 3
#: The default numbers of boards drawn and of configurations in JSON.
_DRAWN, _LISTED = 12, 1_000


@dataclass(frozen=True)
class FarthestPairs(Question):
    """Show the exact diameter of a component and its farthest pairs.

    A large component gets a run of its own, which RQ workers share and 'hakoiri status' shows. After Ctrl-C, run the
    same command again to continue.
    """

    example = "diameter last --all --pairs pairs.csv"
    route = Route(
        "/components/{component}/diameter", "diameter", "The exact diameter, and the pairs that attain it.",
        "A long question for a large run that is not a census, and with `all` for any large run.\n\n"
        "For `all` of a large component, POST queues a run of its own: 202, with its address in `Location`.",
        {
            "component": COMPONENT,
            "every": {"alias": "all", "default": False,
                      "description": "Compute the eccentricity of each configuration."},
        },
    )  # fmt: skip
    has_own_run = True
    work, stopped, again = "chunks", "; ask again: {}", "diameter"

    component: int | None = parameter(
        "--component", "K", "Number of the component.", "that of the puzzle's start", min=0
    )
    every: bool = flag("--all", "Compute every eccentricity, and so the radius, centre, periphery and all pairs.")
    pairs: Path | None = parameter("--pairs", "FILE", "With --all: write all pairs to FILE, .csv or .parquet.")
    centre: Path | None = parameter("--centre", "FILE", "With --all: write the whole centre to FILE, .csv or .parquet.")
    periphery: Path | None = parameter(
        "--periphery", "FILE", "With --all: write the whole periphery to FILE, .csv or .parquet."
    )
    limit: int = parameter("--limit", "N", "Print at most N pairs.", default=_PRINTED, min=0)
    plot: Path | None = parameter("--plot", "FILE", "Draw the pairs: .svg or .png.")

    def checked(self) -> Question:
        from hakoiri.export.tables import check_ending as check_table
        from hakoiri.render.films import check_ending

        for name in ("pairs", "centre", "periphery"):
            if (target := getattr(self, name)) is not None:
                if not self.every:
                    raise typer.BadParameter(f"--{name} needs --all")
                check_table(target)
        if self.plot is not None:
            check_ending(self.plot)
        return self

    def about_base(self, manifest: "Manifest") -> Self:
        own = manifest.plan.get("component")
        return replace(self, component=own if self.component is None else self.component)

    def cost(self, run: "Run") -> Cost:
        from hakoiri.coordinator.graphs.distances import RUN_FROM

        if run.cayley_diameter() is not None:
            return "now"
        number = run.component_asked(self.component)
        if run.known_diameter(number, self.every) is not None:
            return "now"
        if self.every and not run.policy.may_be_symmetry(run.policy.size(number)) and run.needs_run(number, True):
            return "own run"
        large = self.every and (self.is_long(run, small=True) or run.components(1)[0].size >= RUN_FROM)
        # Without `every`, the process that answers may begin a run of its own.
        long = large or self.is_long(run, not run.is_census)
        return Long("diameter", {"component": number, "all": self.every}) if long else "now"

    def own_run(self, run: "Run") -> "tuple[Derived, dict[str, Any]]":
        return run.eccentricity_run(run.component_asked(self.component)), {"every": self.every}

    def ask(self, run: "Run", means: Means) -> "tuple[Diameter, tuple[Keys, Distances] | None]":
        if not (self.centre or self.periphery) and run.cayley_diameter() is not None:
            return run.diameter(), None
        number, (control, observer, resources) = run.component_asked(self.component), means
        found = run.diameter(number, control, observer, every=self.every, resources=resources)
        every = self.centre is not None or self.periphery is not None
        return found, run.eccentricities(number, control, observer) if every else None

    def write(self, run: "Run", found: "tuple[Diameter, tuple[Keys, Distances] | None]") -> None:
        from hakoiri.export.tables import write_rows
        from hakoiri.keys.layout import ints

        one, every = found
        if self.pairs is not None:
            if one.record.pair_count != len(one.pairs):
                text = f"the {one.record.pair_count:,} pairs follow from symmetries and are not listed"
                raise UnanswerableError(text)
            rows = (dict(zip(("one", "other"), run.texts(pair), strict=True)) for pair in one.pairs)
            written(self.pairs, f"{counted(write_rows(rows, self.pairs), 'pairs')} ")
        if every is not None:
            keys, far = every
            for target, wanted in ((self.centre, far.min()), (self.periphery, far.max())):
                if target is not None:
                    texts = ({"configuration": run.puzzle.render(key)} for key in ints(keys[far == wanted]))
                    written(target, f"{counted(write_rows(texts, target), 'configurations')} ")
        if self.plot is not None:
            _plot_pairs(run, one, self.plot)
            written(self.plot)

    def row(self, run: "Run", found: "tuple[Diameter, tuple[Keys, Distances] | None]") -> dict[str, Any]:
        one = found[0]
        row = component_row(one.record, run.puzzle) | {"pair_count": one.record.pair_count}
        row["open"] = [name for name, value in row.items() if value is None]
        central = None if one.central is None else run.texts(one.central)
        pairs = [run.texts(pair) for pair in one.pairs]
        return row | {"pairs": pairs, "central": central, "eccentricities": one.eccentricities}

    def view(self, run: "Run", found: "tuple[Diameter, tuple[Keys, Distances] | None]") -> None:
        """Print a component in a column, then the pairs."""
        from hakoiri.keys.layout import ints
        from hakoiri.render.images import print_side_by_side

        one = found[0]
        row, count = component_row(one.record, run.puzzle), one.record.pair_count
        row |= {name: "not measured; add --all" for name in ("radius", "centre", "periphery") if row[name] is None}
        if run.is_census and run.start_component == one.record.component:
            row["component"] = f"{row['component']}, with the usual start"
        row["diametral pairs"] = "not counted; add --all" if count is None else count
        if one.eccentricities is not None:
            row["eccentricities"] = _span(one.eccentricities)
        stdout().print(facts(row))
        away = f"{counted(one.diameter, 'moves')} away"
        for number, pair in enumerate(one.pairs[: self.limit], 1):
            texts, drawn = run.puzzle.render_path(ints(pair)), run.puzzle.pictures(ints(pair))
            stdout().print()
            print_side_by_side(stdout(), texts, [f"pair {number}", away], drawn)
        known, shown = len(one.pairs) if count is None else count, min(self.limit, len(one.pairs))
        if known > shown:
            how = ": --limit N" if len(one.pairs) > shown else ""
            least = "at least " if count is None else ""
            stdout().print(f"and {least}{counted(known - shown, 'pairs')} more{how}", style="dim")


def _span(eccentricities: dict[int, int]) -> str:
    """Return the range of the eccentricities and the most frequent one."""
    most = max(eccentricities, key=lambda value: eccentricities[value])
    least, greatest = min(eccentricities), max(eccentricities)
    return f"{least:,} to {greatest:,}, most often {most:,} ({eccentricities[most]:,}); all with --json"


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


@dataclass(frozen=True)
class FarthestFromGoal(Question):
    """Show the configurations farthest from their nearest goal.

    The distances of all configurations are stored in a run of their own; later paths to a goal and hints use them.
    After Ctrl-C, run the same command again to continue.
    """

    example = "hardest last --metric finger"
    route = Route(
        "/hardest", "hardest", "The configurations farthest from their nearest goal.",
        "If goal distances are unknown, POST queues a run that finds them: 202, with its address in `Location`.",
        {"limit": {"default": 100, "ge": 1, "le": 1000}},
    )  # fmt: skip
    has_own_run = True
    work, stopped, again = "layers", "; ask again: {}", "hardest"

    limit: int | None = parameter("--limit", "K", "Show only the first K.", "12; --json: 1000", min=1)
    plot: Path | None = parameter(
        "--plot", "FILE", "Plot the number of configurations at each distance: .png, .svg or .pdf."
    )
    metric: str | None = parameter("--metric", "NAME", "Count moves by this metric of the puzzle.", "that of the run")

    def checked(self) -> Question:
        if self.plot is not None:
            from hakoiri.render.films import check_ending
            from hakoiri.render.plots import PLOTS

            check_ending(self.plot, PLOTS)
        return self

    def about_base(self, manifest: "Manifest") -> Self:
        from hakoiri.coordinator.goals.job import METRIC

        return replace(self, metric=self.metric or manifest.puzzle["options"].get(METRIC))

    def cost(self, run: "Run") -> Cost:
        run.require_goals()
        return "now" if run.known_distances(run.other_metric(self.metric)) is not None else "own run"

    def own_run(self, run: "Run") -> "tuple[Derived, dict[str, Any]]":
        from hakoiri.coordinator.goals.job import distances_run

        run.require_goals()
        return distances_run(run.store, run.puzzle, run.other_metric(self.metric)), {}

    def ask(self, run: "Run", means: Means) -> "Hardest":
        control, observer, resources = means
        return run.hardest(self.limit or _LISTED, control, observer, self.metric, resources)

    def write(self, run: "Run", found: "Hardest") -> None:
        if self.plot is not None:
            from hakoiri.render.plots import plot_distances

            plot_distances(run, found.layers, self.plot)
            written(self.plot)

    def row(self, run: "Run", found: "Hardest") -> dict[str, Any]:
        names = ("distances", "metric", "distance", "count", "configurations", "layers", "dead")
        return {name: getattr(found, name) for name in names} | {"configurations": run.texts(found.configurations)}

    def view(self, run: "Run", found: "Hardest") -> None:
        keys = found.configurations[: self.limit or _DRAWN]
        show_boards(run, keys, [str(number) for number in range(1, len(keys) + 1)])
        more = found.count - len(keys)
        shown = {
            "farthest": f"{counted(found.distance, 'moves')} from a goal",
            "metric": found.metric,
            "count": f"{found.count:,}{f', {more:,} more with --limit' if more else ''}",
            "no goal reachable": found.dead or None,
            "at each distance": command("layers", named(run.store.directory, found.distances)),
        }
        stdout().print(facts(shown))
