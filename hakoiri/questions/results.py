"""The results of a run as a whole: its summary, and the run as files."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hakoiri.errors import counted
from hakoiri.parameters import flag, parameter
from hakoiri.questions.question import Means, Question, Route
from hakoiri.render.tables import stdout

if TYPE_CHECKING:
    from hakoiri.api import Run


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
class Cite(Question):
    """Print a run as an entry of BibTeX: what was found, its digest, and the command that makes it again."""

    example = "cite last"
    route = Route("/citation", "citation", "The run as an entry of BibTeX.", "", begins=False)

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        from hakoiri.rows.citation import citation

        return {"bibtex": citation(run)}

    def view(self, run: "Run", found: dict[str, Any]) -> None:
        stdout().print(found["bibtex"], soft_wrap=True, markup=False, highlight=False)


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
    moves: bool = flag("--moves", "With .npz, .graphml, .dot or --edges: include the name of each move.")
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
        from hakoiri.export.tables import export_play, require_play
        from hakoiri.render import files
        from hakoiri.storage.engine.files import require_place

        own = None if self.target is None else files.contents_of(run, self.target)
        given = {name: getattr(self, name) for name in ("images", "moves", "layers", "per_page")}
        others = ((self.edges, files.EDGES), (self.play, files.PLAY), (self.growth, files.GROWTH))
        # Before the first file is written.
        files.require_options(given, [*([own] if own else []), *(kind for path, kind in others if path is not None)])
        if self.edges is not None:
            files.require_edges(run, self.edges)
        if self.play is not None:
            require_play(self.play)
        for path in (self.target, self.edges, self.play, self.growth):
            if path is not None:
                require_place(path)
        row: dict[str, Any] = {}
        by: dict[str, Any] = {"control": means.control, "observer": means.observer}
        if self.target is not None and own is not None:
            count = files.export_run(run, self.target, **{name: given[name] for name in own.options}, **by)
            row |= {"file": str(self.target), self._things(run, self.target): count}
        if self.edges is not None:
            count = files.export_edges(run, self.edges, moves=self.moves, layers=self.layers, **by)
            row |= {"edges_file": str(self.edges), "edges": count}
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
        from hakoiri.render.files import PDF

        if target.suffix == PDF:
            return "boards"
        kept = "rows" if run.kind.rows is not Job.rows else "configurations"
        return "solutions" if run.puzzle.is_tree else kept

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
