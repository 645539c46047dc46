"""The results of a run as a whole: its summary, solutions of a tree, the best play, and the run as files."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from hakoiri.errors import counted
from hakoiri.questions.question import Means, Question, Route, flag, parameter, written
from hakoiri.render.tables import stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.keys.layout import Key

_USUALLY_SHOWN = 3


@dataclass(frozen=True)
class Summary(Question):
    """Show all results of a run, and its tables."""

    route = Route(
        "/summary", "summary", "All results of a run: the JSON of `run`, and its tables.",
        "The tables of a study, a hunt or an optimisation grow while it is running.", begins=False,
    )  # fmt: skip

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        tables = [table._asdict() for table in run.kind(run.store, run.puzzle).tables()]
        return run.summary() | {"tables": tables}


@dataclass(frozen=True)
class Solutions(Question):
    """Draw the stored solutions of a tree, such as a magic star.

    One per symmetry class: the least of its images.
    """

    example = "solutions last --first 5 --svg star.svg"

    first: int = parameter("--first -n", "N", "Draw the first N in increasing order.", default=_USUALLY_SHOWN, min=1)
    svg: Path | None = parameter("--svg", "FILE", "Write a picture of the first one: .svg or .png.")

    def ask(self, run: "Run", means: Means) -> "list[Key]":
        from hakoiri.keys.layout import ints

        return list(islice((key for batch in run.solutions() for key in ints(batch)), self.first))

    def write(self, run: "Run", found: "list[Key]") -> None:
        if self.svg is not None and found:
            from hakoiri.render.films import write_picture

            write_picture(run.tree.picture(found[0]), f"{run.tree.name}: {run.tree.render(found[0])}", self.svg)
            written(self.svg)

    def row(self, run: "Run", found: "list[Key]") -> dict[str, Any]:
        orbits, texts = run.store.state.figures.get("orbits") or 0, [run.tree.render(key) for key in found]
        return {"orbits": orbits, "symmetries": run.tree.symmetries, "solutions": texts}

    def view(self, run: "Run", found: "list[Key]") -> None:
        row = self.row(run, found)
        for text, key in zip(row["solutions"], found, strict=True):
            stdout().print(Text(text, "bold"))
            stdout().print(Text(run.tree.drawing(key)))
            stdout().print()
        stdout().print(f"{len(found):,} of {row['orbits']:,} orbits, each of {row['symmetries']} images")


@dataclass(frozen=True)
class SolutionPictures(Solutions):
    """Show the stored solutions of a tree with their pictures."""

    example = ""
    route = Route(
        "/solutions", "solutions", "The stored solutions of a tree, one per orbit.",
        "Return solutions in increasing order, each with its picture.",
        {"first": {"alias": "limit", "default": 24, "ge": 1, "le": 200}}, begins=False,
    )  # fmt: skip

    def row(self, run: "Run", found: "list[Key]") -> dict[str, Any]:
        from hakoiri.rows.positions import picture_row

        orbits = run.store.state.figures.get("orbits")
        pictures = [picture_row(run.tree.picture(key)) for key in found]
        return super().row(run, found) | {"orbits": orbits, "pictures": pictures}


@dataclass(frozen=True)
class BestPlay(Question):
    """Show the best play of a run whose moves score, board by board."""

    route = Route(
        "/play", "play", "The best play of a run whose moves score, board by board.",
        "Return the first `limit` boards of a long play.",
        {"limit": {"default": 200, "ge": 1, "le": 500}}, begins=False,
    )  # fmt: skip

    limit: int

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        from hakoiri.rows.positions import play_row

        return play_row(run, self.limit)


@dataclass(frozen=True)
class Export(Question):
    """Write a run to files: tables, graphs, a page to play, a PDF.

    A search and a census have configurations and moves, a tree has solutions, a study has rows. A .pdf has the boards
    of `generate sliding` and `study boards --hardest`, or the hardest positions of a search, and their solutions.
    """

    example = "export last --to klotski.graphml --moves"
    stopped = ": the file that was being written is left as it was before"

    target: Path | None = parameter(
        "--to", "FILE",
        "Configurations: .csv, .parquet. With moves: .npz, .graphml, .dot. Distances by key: .pdb. Certificate: .json. "
        "To play: .html. To print: .pdf.",
    )  # fmt: skip
    edges: Path | None = parameter("--edges", "FILE", "Write only the moves: .csv or .parquet.")
    play: Path | None = parameter("--play", "FILE", "Write the distance to the goal and a best move of each: .csv.")
    growth: Path | None = parameter(
        "--growth", "FILE", "Add the sizes of the layers to a table of many runs, or replace them there: .csv."
    )
    moves: bool = flag("--moves", "Include the name of each move.")
    images: bool = flag("--images", "Write every solution of a tree, not one per symmetry class.")
    layers: int | None = parameter("--layers", "N", "Write only layers 0 to N: configurations within N moves.", min=0)
    per_page: int | None = parameter("--per-page", "N", "With .pdf: boards on a page.", "6", min=1, max=30)

    def checked(self) -> Question:
        if {self.target, self.edges, self.play, self.growth} == {None}:
            text = "no target is given; use --to FILE, --edges FILE for the moves, --play FILE for play, --growth FILE"
            raise typer.BadParameter(text)
        return self

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        """Write the files; the number of things in each is the answer."""
        from hakoiri.export.tables import export_play
        from hakoiri.render.files import export_edges, export_run

        row: dict[str, Any] = {}
        how: dict[str, Any] = {
            "moves": self.moves, "layers": self.layers, "control": means.control, "observer": means.observer
        }  # fmt: skip
        if self.target is not None:
            count = export_run(run, self.target, images=self.images, per_page=self.per_page, **how)
            row |= {"file": str(self.target), self._things(run, self.target): count}
        if self.edges is not None:
            row |= {"edges_file": str(self.edges), "edges": export_edges(run, self.edges, **how)}
        if self.play is not None:
            count = export_play(run, self.play, means.control, means.observer)
            row |= {"play_file": str(self.play), "played": count}
        if self.growth is not None:
            from hakoiri.coordinator.runs.certificate import certificate_of
            from hakoiri.export.growth import add_growth, growth_row

            found = growth_row(certificate_of(run.store, exhausted=False), run.exhausted)
            row |= {"growth_file": str(self.growth), "growth": add_growth(self.growth, found)}
        return row

    @staticmethod
    def _things(run: "Run", target: Path) -> str:
        """Return the name of what a file is full of."""
        from hakoiri.coordinator.session.job import Job
        from hakoiri.puzzles.capabilities import Placements
        from hakoiri.render.print_sheet import ENDING

        if target.suffix == ENDING:
            return "boards"
        kept = "rows" if run.kind.rows is not Job.rows else "configurations"
        return "solutions" if isinstance(run.puzzle, Placements) else kept

    def view(self, run: "Run", found: dict[str, Any]) -> None:
        from hakoiri.coordinator.runs.certificate import SUFFIX

        if self.target is not None:
            certificate = "a certificate of " if self.target.suffix == SUFFIX else ""
            what = self._things(run, self.target)
            stdout().print(f"{certificate}{found[what]:,} {what} written to {self.target}")
        if self.edges is not None:
            stdout().print(f"{counted(found['edges'], 'moves')} written to {self.edges}")
        if self.play is not None:
            stdout().print(f"best moves of {counted(found['played'], 'configurations')} written to {self.play}")
        if self.growth is not None:
            stdout().print(f"{self.growth} has the layers of {counted(found['growth'], 'runs')}")
