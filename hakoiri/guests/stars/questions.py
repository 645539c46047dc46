"""Questions for the stored solutions of a tree; their modules are imported when they are asked."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from hakoiri.parameters import parameter
from hakoiri.questions.question import Means, Question, Route, written
from hakoiri.render.tables import stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.keys.layout import Key

_USUALLY_SHOWN = 3


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

            tree = run.tree
            write_picture(tree.picture(found[0]), f"{tree.name}: {tree.render(found[0])}", self.svg)
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
