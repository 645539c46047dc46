"""A question to a run: its parameters, its answer, the answer as JSON and for people, its cost, and its routes.

A new question is a class of its own and a row of `QUESTIONS`.

A question is a frozen dataclass. Its docstring is the help of its command, its fields are the options, and each of its
routes names the fields that clients may set. `hakoiri.cli.asking` makes the command, `hakoiri.web.routes.answers` the
routes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from rich.text import Text

from hakoiri import guest_table
from hakoiri.loading import loaded
from hakoiri.render.tables import stderr, stdout

if TYPE_CHECKING:
    from hakoiri.api import Run
    from hakoiri.coordinator.runs.create import Derived
    from hakoiri.coordinator.session.resources import Resources
    from hakoiri.coordinator.session.session import Control, Observer
    from hakoiri.keys.layout import Keys
    from hakoiri.storage.ledger.manifest import Manifest


#: The argument of a configuration, and the query of a component: at most as many as a graph in memory has vertices.
CONFIGURATION = ("", "CONF", "Board rows joined by '/', a key 0x..., a text file, or - for stdin.")
COMPONENT = {"ge": 0, "le": (1 << 31) - 1}


class Means(NamedTuple):
    """The means to answer: `control` may stop the work, `observer` sees it, and `resources` name workers."""

    control: "Control | None" = None
    observer: "Observer | None" = None
    resources: "Resources | None" = None


class Long(NamedTuple):
    """A long answer: over HTTP a process gives it, by this command with these options."""

    command: str
    options: Mapping[str, str | int | None]


Cost = Literal["now", "own run"] | Long


class Route(NamedTuple):
    """A route below that of the run: `query` has the arguments of `fastapi.Query` by field; `name` is its operation.

    POST may begin a computation if `begins`.
    """

    path: str
    name: str
    summary: str
    text: str
    query: Mapping[str, Mapping[str, Any]] = {}
    begins: bool = True


@dataclass(frozen=True)
class Question:
    """The base of all questions."""

    #: An example of the command, which begins with its name; empty if the question has none.
    example: ClassVar[str] = ""
    route: ClassVar[Route | None] = None
    #: Whether a run of its own may find the answer; asking that one means asking its base run.
    has_own_run: ClassVar[bool] = False
    #: The options of the command for the work: none, RQ workers, or those of a run of its own.
    work: ClassVar[Literal["", "redis", "chunks", "layers"]] = ""
    #: The words after the reason if the user stops the command, with the command for `again`; empty if no step
    #: looks for that.
    stopped: ClassVar[str] = ""
    again: ClassVar[str] = ""

    def checked(self) -> "Question":
        """Return the question that the options ask; raise `BadParameter` or `PuzzleError` for wrong ones."""
        return self

    def about_base(self, manifest: "Manifest") -> Self:
        """Return the question to the base run of a derived run that was asked, which has this manifest."""
        return self

    def cost(self, run: "Run") -> Cost:
        """Return the cost of the answer, without computing it: only this decides what is long."""
        return "now"

    @staticmethod
    def is_long(run: "Run", searches: bool = True, small: bool = False) -> bool:
        """Return whether a question that `searches` the whole run takes long: `small` runs are held in memory."""
        from hakoiri.coordinator.graphs.distances import RUN_FROM
        from hakoiri.rows.positions import SMALL

        size: int = run.store.state.figures.get("configurations", 0)
        return searches and size > (SMALL if small else RUN_FROM)

    def own_run(self, run: "Run") -> "tuple[Derived, dict[str, Any]]":
        """Return the run that computes the answer, and its limits."""
        raise NotImplementedError

    def ask(self, run: "Run", means: Means) -> Any:
        """Return the answer; raises what the run raises."""
        raise NotImplementedError

    def write(self, run: "Run", found: Any) -> None:
        """Write the files that the options name."""

    def row(self, run: "Run", found: Any) -> dict[str, Any]:
        """Return the answer as plain values; by default they are the answer."""
        row: dict[str, Any] = found
        return row

    def view(self, run: "Run", found: Any) -> None:
        """Print the answer for people."""
        raise NotImplementedError


def show_boards(run: "Run", keys: "Keys", titles: list[str]) -> None:
    """Print configurations side by side."""
    from hakoiri.keys.layout import ints
    from hakoiri.render.images import print_side_by_side

    pictures = [run.puzzle.picture(key) for key in ints(keys)]
    print_side_by_side(stdout(), run.texts(keys), titles, pictures)


def written(target: Path, what: str = "") -> None:
    """Print that a file is written."""
    stderr().print(Text(f"{what}written to {target}"))


#: The questions: module and class, imported on demand. A name that begins with a slash is no
#: command, only a route. Routes are matched in this order.
QUESTIONS: dict[str, str] = {
    "layers": "hakoiri.questions.layers:LayerSizes",
    "/layer": "hakoiri.questions.layers:LayerPage",
    "components": "hakoiri.questions.components:ListComponents",
    "/strong": "hakoiri.questions.components:ListStrong",
    "/component": "hakoiri.questions.components:OneComponent",
    "component-of": "hakoiri.questions.components:ComponentOf",
    "diameter": "hakoiri.questions.farthest:FarthestPairs",
    "distance": "hakoiri.questions.paths:Distance",
    "path": "hakoiri.questions.paths:OnePath",
    "/statistics": "hakoiri.questions.paths:BoardStatistics",
    "hardest": "hakoiri.questions.farthest:FarthestFromGoal",
    "/summary": "hakoiri.questions.results:Summary",
    **guest_table.QUESTIONS,
    "export": "hakoiri.questions.results:Export",
    "cite": "hakoiri.questions.results:Cite",
    "map": "hakoiri.questions.components:DrawMap",
    "sample": "hakoiri.questions.layers:RandomSample",
}
#: The commands that ask a run.
COMMANDS = [name for name in QUESTIONS if not name.startswith("/")]


def question_class(name: str) -> type[Question]:
    """Return the class of a question."""
    found: type[Question] = loaded(QUESTIONS[name])
    return found
