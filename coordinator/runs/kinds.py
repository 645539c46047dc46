"""The kinds of run by name. A new kind is a class of its own (`coordinator.session.job.Job`) and a row here."""

from importlib import import_module
from typing import TYPE_CHECKING

from coordinator.errors import UnknownRunError

if TYPE_CHECKING:
    from coordinator.session.job import Job
    from puzzles.contract import Puzzle

#: The mode of a manifest -> module and class. Imported only when asked for: lists of runs need neither numpy nor numba.
KINDS: dict[str, tuple[str, str]] = {
    "explore": ("coordinator.layers.job", "Explore"),
    "whole": ("coordinator.graphs.job", "Whole"),
    "tree": ("coordinator.trees.job", "Subtrees"),
    "study": ("coordinator.deals.study", "StudyDeals"),
    "hardest": ("coordinator.goals.job", "Hardest"),
    "eccentricities": ("coordinator.graphs.bounding", "Bounding"),
    "sizes": ("coordinator.families.sizes", "StudySizes"),
    "boards": ("coordinator.families.boards", "StudyBoards"),
    "hunt": ("coordinator.deals.hunt", "HuntDeals"),
    "optimise": ("coordinator.plays.job", "Optimise"),
}


def kind_of(mode: str) -> "type[Job]":
    """The class of a kind of run; `UnknownRunError` for one that this program does not know."""
    if mode not in KINDS:
        raise UnknownRunError(f"there is no kind of run {mode!r}; known kinds: {', '.join(KINDS)}")
    module, name = KINDS[mode]
    found: type[Job] = getattr(import_module(module), name)
    return found


def usual_kind(puzzle: "type[Puzzle]") -> str:
    """How a puzzle is enumerated where the user names no kind: by subtrees where its configurations are placements."""
    from puzzles.capabilities import Placements

    return "tree" if issubclass(puzzle, Placements) else "explore"
