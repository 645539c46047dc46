"""The registry of kinds of run. A new kind is a class of its own (`coordinator.session.job.Job`) and a row here."""

from importlib import import_module
from typing import TYPE_CHECKING

from hakoiri.coordinator.errors import UnknownRunError

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.puzzles.contract import Puzzle

#: The kind of run in a manifest -> module and class. Imported on demand: lists of runs need neither numpy nor numba.
KINDS: dict[str, tuple[str, str]] = {
    "explore": ("hakoiri.coordinator.layers.job", "Explore"),
    "census": ("hakoiri.coordinator.census.job", "CensusJob"),
    "tree": ("hakoiri.coordinator.trees.job", "Subtrees"),
    "study": ("hakoiri.coordinator.studies.deals", "StudyDeals"),
    "hardest": ("hakoiri.coordinator.goals.job", "HardestJob"),
    "eccentricities": ("hakoiri.coordinator.graphs.bounding", "EccentricityJob"),
    "sizes": ("hakoiri.coordinator.studies.sizes", "StudySizes"),
    "boards": ("hakoiri.coordinator.studies.boards", "StudyBoards"),
    "starts": ("hakoiri.coordinator.studies.starts", "StudyStarts"),
    "cosets": ("hakoiri.coordinator.studies.cosets", "StudyCosets"),
    "generate": ("hakoiri.coordinator.studies.generate", "GenerateBoards"),
    "hunt": ("hakoiri.coordinator.studies.hunt", "HuntDeals"),
    "optimise": ("hakoiri.coordinator.plays.optimise", "Optimise"),
}


def kind_of(name: str) -> "type[Job]":
    """Return the class of a kind of run; `UnknownRunError` for an unknown one."""
    if name not in KINDS:
        raise UnknownRunError(f"there is no kind of run {name!r}; known kinds: {', '.join(KINDS)}")
    module, job = KINDS[name]
    found: type[Job] = getattr(import_module(module), job)
    return found


def usual_kind(puzzle: "type[Puzzle]") -> str:
    """Return the kind for a puzzle if the user names none: ``tree`` for placements, else ``explore``."""
    from hakoiri.puzzles.capabilities import Placements

    return "tree" if issubclass(puzzle, Placements) else "explore"
