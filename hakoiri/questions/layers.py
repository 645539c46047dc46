"""The layers of a run, the configurations of one layer, and random ones of several."""

import re
import secrets
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.runs.summary import layer_row
from hakoiri.errors import PuzzleError, counted
from hakoiri.parameters import flag, parameter
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.questions.question import Means, Question, Route, show_boards, written
from hakoiri.render.progress import expanders_text
from hakoiri.render.tables import fitting_digest, rows_table, stdout, table

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.keys.layout import Key, Keys

#: The least columns of the terminal for the longest bar before digests are shortened.
_LEAST_BAR = 10
#: The default number of boards shown of a layer, which may have millions.
_BOARDS = 12
#: The default number of configurations of a random sample.
_DRAWN = 10


@dataclass(frozen=True)
class LayerSizes(Question):
    """Show the size and digest of each layer, or draw one layer.

    A census has no start and a single layer. If its components were found by layers, show how many configurations are
    at each distance from the least one of their component.
    """

    example = "layers last --depth 3"
    route = Route(
        "/layers", "layers", "Size and digest of each layer.", "A census has no start and a single layer.",
        begins=False,
    )  # fmt: skip

    plot: Path | None = parameter("--plot", "FILE", "Plot the layer sizes: .png, .svg or .pdf.")
    depth: int | None = parameter("--depth", "N", "Draw the configurations of layer N.", min=0)
    limit: int | None = parameter(
        "--limit", "K", "With --depth: draw only the first K.", min=1, usual="12; --json: all"
    )
    first: int | None = parameter("--layers", "N", "Show only layers 0 to N.", min=0, usual="all")
    wide: bool = flag("--wide", "Print digests in full on narrow terminals too.")

    def checked(self) -> Question:
        if self.depth is None and self.limit is not None:
            raise typer.BadParameter("--limit needs --depth")
        if self.depth is not None and self.plot is not None:
            raise typer.BadParameter("--plot and --depth cannot be combined")
        return self if self.depth is None else OneLayer(self.depth, self.limit)

    def ask(self, run: "Run", means: Means) -> list[dict[str, Any]]:
        rows = [layer_row(record) for record in run.layer_records()]
        return rows[: None if self.first is None else self.first + 1]

    def write(self, run: "Run", found: list[dict[str, Any]]) -> None:
        if not found:
            see, things = f"hakoiri status {run.name}", run.kind.row_noun
            if not things:
                text = f"run {run.name} has no layers yet; see how it stands with: {see}"
                raise UnanswerableError(text)
            kind = f"is of the kind {run.store.manifest.kind}: it has {things} and no layers"
            raise UnanswerableError(f"run {run.name} {kind}; see: {see}")
        if self.plot is not None:
            from hakoiri.render.plots import plot_layers

            plot_layers(run, self.plot)
            written(self.plot)

    def row(self, run: "Run", found: list[dict[str, Any]]) -> dict[str, Any]:
        return {"layers": found} | ({"by_distance": sizes} if (sizes := run.summed_profile()) else {})

    def view(self, run: "Run", found: list[dict[str, Any]]) -> None:
        """Print a line for each layer; for a census by layers, one for each distance within all components."""
        if sizes := run.summed_profile():
            rows = [{"distance": distance, "size": size} for distance, size in enumerate(sizes)]
            stdout().print(rows_table(rows))
            stdout().print(f"within its components: hakoiri components {run.name}", style="dim")
        else:
            self._view_layers(found)

    def _view_layers(self, found: list[dict[str, Any]]) -> None:
        """Print a line for each layer; the digest, then a bar, get the width that the figures leave."""
        columns: tuple[str, ...] = ("depth", "size", "goals")
        figures = [
            [str(row["depth"]), f"{row['size']:,}", f"{row['goals']:,}" if row["goals"] else ""] for row in found
        ]
        if any(row["represented"] for row in found):
            columns += ("represented",)
            for row, cells in zip(found, figures, strict=True):
                cells.append(f"{row['represented'] or 0:,}")
        if any(row["expanded_by"] for row in found):
            columns += ("made by",)
            for row, cells in zip(found, figures, strict=True):
                cells.append(expanders_text(row["expanded_by"]))
        room = stdout().width - sum(1 + max(map(len, cells)) for cells in zip(columns, *figures, strict=True))
        digests = [fitting_digest(row["digest"], room - 1 - _LEAST_BAR, self.wide) for row in found]
        bar = max(0, room - 1 - max(map(len, digests), default=0))
        widest = max((row["size"] for row in found), default=1)
        listed = table(*columns, "digest", "", numbers=columns[:3])
        for row, cells, digest in zip(found, figures, digests, strict=True):
            listed.add_row(*cells, digest, Text("█" * min(bar, max(1, round(bar * row["size"] / widest))), "blue"))
        stdout().print(listed)


@dataclass(frozen=True)
class OneLayer(Question):
    """Draw the configurations of layer `depth`, the `limit` least of them."""

    depth: int
    limit: int | None

    def ask(self, run: "Run", means: Means) -> "Keys":
        return run.layer(self.depth)

    def row(self, run: "Run", found: "Keys") -> dict[str, Any]:
        return {"depth": self.depth, "size": len(found), "configurations": run.texts(found[: self.limit])}

    def view(self, run: "Run", found: "Keys") -> None:
        shown = found[: self.limit or _BOARDS]
        goals = run.puzzle.is_goal(shown).tolist()
        titles = [f"{number}{' goal' if goal else ''}" for number, goal in enumerate(goals, 1)]
        show_boards(run, shown, titles)
        more = f", {len(found) - len(shown):,} more with --limit" if len(found) > len(shown) else ""
        stdout().print(f"layer {self.depth}: {counted(len(found), 'configurations')}{more}")


@dataclass(frozen=True)
class LayerPage(Question):
    """Show a page of layer `depth`: `limit` configurations after the key `after`."""

    route = Route(
        "/layers/{depth}", "layer", "The configurations of a layer, in the order of their keys.",
        "Return one page; `next` is the `after` of the next page, or null.",
        {
            "depth": {},
            "after": {"default": "", "max_length": 100, "description": "The `next` of the previous page."},
            "limit": {"default": 100, "ge": 1, "le": 1000},
        },
        begins=False,
    )  # fmt: skip

    depth: int
    after: str
    limit: int

    def ask(self, run: "Run", means: Means) -> "list[Key]":
        from hakoiri.keys.layout import ints

        run.require_layer(self.depth)
        begin = run.puzzle.parse(self.after) + 1 if self.after else 0
        blocks = run.store.blocks(self.depth, begin)
        return list(islice((key for block in blocks for key in ints(block) if key >= begin), self.limit + 1))

    def row(self, run: "Run", found: "list[Key]") -> dict[str, Any]:
        keys = found[: self.limit]
        return {
            "depth": self.depth,
            "size": run.store.layer_record(self.depth).size,
            "configurations": [run.puzzle.render(key) for key in keys],
            "keys": [run.puzzle.layout.text(key) for key in keys],
            "goals": run.puzzle.is_goal(run.puzzle.keys(keys)).tolist(),
            "next": run.puzzle.layout.text(keys[-1]) if len(found) > self.limit else None,
        }


@dataclass(frozen=True)
class RandomSample(Question):
    """Draw random configurations, each as likely as any other.

    Draws are independent, so one may come twice. A census has no start, and all its configurations in layer 0.
    With --per-layer and --to, boards of each distance to the goal are written to a file as data, with solutions.
    """

    example = "sample last --depth 20..30 -n 5"
    stopped = ": the file that was being written is left as it was before"
    route = Route(
        "/sample", "sample", "Random configurations, each as likely as any other.",
        "`depth` is a layer, such as `25`, or a range of layers, such as `20..30`; the same `seed` draws the same.",
        {
            "depth": {"max_length": 100},
            "count": {"alias": "n", "default": _DRAWN, "ge": 1, "le": 1000},
            "seed": {"default": 0, "ge": 0, "le": MOST_SEED},
        },
        begins=False,
    )  # fmt: skip

    depth: str | None = parameter("--depth", "A..B", "Draw from these layers, such as 25 or 20..30.", "all")
    count: int | None = parameter("-n", "N", "Number of configurations.", str(_DRAWN), min=1)
    seed: int | None = parameter("--seed", "S", "Draw again what this seed drew.", "a random one", min=0, max=MOST_SEED)
    per_layer: int | None = parameter("--per-layer", "N", "With --to: levels of each distance to the goal.", min=1)
    target: Path | None = parameter("--to", "FILE", "With --per-layer: the file of levels to write, .jsonl.")

    def checked(self) -> Question:
        if (self.per_layer is None) != (self.target is None):
            raise typer.BadParameter("--per-layer N and --to FILE.jsonl go together")
        if self.per_layer is not None and self.count is not None:
            raise typer.BadParameter("-n and --per-layer cannot be combined; leave out -n")
        return self if self.seed is not None else replace(self, seed=secrets.randbelow(MOST_SEED))

    def ask(self, run: "Run", means: Means) -> "list[tuple[int, Key]] | int":
        layers = None
        if self.depth is not None:
            match = re.fullmatch(r"(\d{1,9})(?:\.\.(\d{1,9}))?", self.depth)
            if match is None or int(match[1]) > int(match[2] or match[1]):
                raise PuzzleError(f"depth {self.depth} is malformed; expected layers such as 25 or 20..30")
            layers = int(match[1]), int(match[2] or match[1])
        if self.target is None:
            return run.sample(self.count or _DRAWN, layers, self.seed or 0)
        from hakoiri.export.levels import to_levels

        return to_levels(run, self.target, self.per_layer or 1, layers, self.seed or 0, means.control, means.observer)

    def row(self, run: "Run", found: "list[tuple[int, Key]] | int") -> dict[str, Any]:
        if isinstance(found, int):
            return {"seed": self.seed, "file": str(self.target), "levels": found}
        return {
            "seed": self.seed,
            "configurations": [run.puzzle.render(key) for _, key in found],
            "keys": [run.puzzle.layout.text(key) for _, key in found],
            "depths": None if run.is_census else [depth for depth, _ in found],
        }

    def view(self, run: "Run", found: "list[tuple[int, Key]] | int") -> None:
        if isinstance(found, int):
            stdout().print(f"{counted(found, 'levels')} written to {self.target}")
            return
        titles = [
            str(number) if run.is_census else f"{number} depth {depth}" for number, (depth, _) in enumerate(found, 1)
        ]
        show_boards(run, run.puzzle.keys([key for _, key in found]), titles)
        stdout().print(f"the same again: --seed {self.seed}", style="dim")
