"""The kind `cosets`: the positions of a group that is too large to list."""

from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import RunKind
from hakoiri.guests.parameters import seed_of
from hakoiri.parameters import given, parameter


@dataclass(frozen=True)
class CosetsKind(RunKind):
    """Count the positions of a group that is too large to list.

    Positions that agree in some coordinates, such as the twists of corners, are a coset. Each is filled by itself.
    Reports positions by depth of the cosets done, and proven bounds of God's number. Run the same command again to
    continue, with more --cosets to add to the study.
    """

    job = "hakoiri.guests.cosets.job:StudyCosets"
    in_form = False
    example = "study cosets examples/definitions/corners.gap --cosets 12"
    puzzle = "FILE of a definition: .tws, .json, .gap."
    misfit = "{} has no cosets; expected the file of a definition"
    cosets: int | None = parameter("--cosets", "K", "Fill K cosets in total, not all.", min=1, limit=True)
    to_depth: int = parameter(
        "--depth", "D", "Count up to depth D, and bound what is deeper. 0: as far as is quick.", default=0, min=0
    )
    size: int = given("Number of positions of a coset; 0 fits it.", 0)
    seed: int = seed_of("the order of the cosets")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        from hakoiri.puzzles.contract import Numbered

        return issubclass(puzzle, Numbered)
