"""The cost of an answer: at once, long, or by a run of its own (`hakoiri.questions.question.Question.cost`)."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from hakoiri.run.opened import OpenRun

#: Runs up to this size are held in memory as a whole, with goal distances computed on first request.
SMALL = 200_000


class Long(NamedTuple):
    """A long answer: over HTTP a process gives it, by this command with these options."""

    command: str
    options: Mapping[str, str | int | None]


Cost = Literal["now", "own run"] | Long
NOW: Cost = "now"


def is_long(run: "OpenRun", searches: bool = True, most: int | None = None) -> bool:
    """Return whether a question that `searches` the whole run takes long: with more than `most` configurations."""
    from hakoiri.coordinator.graphs.distances import RUN_FROM

    size: int = run.store.state.figures.get("configurations", 0)
    return searches and size > (RUN_FROM if most is None else most)
