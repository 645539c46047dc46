"""The registry of kinds of run. A new kind is a class (`coordinator.session.kind.RunKind`) and a row.

The rows of guests are in `hakoiri.guest_table`.
"""

from typing import TYPE_CHECKING

from hakoiri import guest_table
from hakoiri.errors import PuzzleError
from hakoiri.loading import loaded

if TYPE_CHECKING:
    from hakoiri.coordinator.session.job import Job
    from hakoiri.coordinator.session.kind import RunKind
    from hakoiri.puzzles.contract import Puzzle

#: The kind of run in a manifest -> its class. Imported on demand: lists of runs need neither numpy nor numba.
KINDS: dict[str, str] = {
    "explore": "hakoiri.coordinator.session.kind:ExploreKind",
    "census": "hakoiri.coordinator.session.kind:CensusKind",
    "hardest": "hakoiri.coordinator.session.kind:HardestKind",
    "eccentricities": "hakoiri.coordinator.session.kind:EccentricitiesKind",
    **guest_table.KINDS,
}


def kind_class(name: str) -> "type[RunKind]":
    """Return a kind of run; `PuzzleError` for an unknown one."""
    if name not in KINDS:
        raise PuzzleError(f"there is no kind of run {name!r}; known kinds: {', '.join(KINDS)}")
    found: type[RunKind] = loaded(KINDS[name])
    return found


def kind_of(name: str) -> "type[Job]":
    """Return the class of the runs of a kind; `PuzzleError` for an unknown one."""
    found: type[Job] = loaded(kind_class(name).job)
    return found


def kinds_for(puzzle: "type[Puzzle]") -> list[str]:
    """Return the kinds of run that puzzles of a class can have, without those that belong to another run."""
    return [name for name in KINDS if kind_class(name).fits(puzzle)]
