"""The kind ``tree``: the solutions of a search tree."""

from dataclasses import dataclass
from typing import Any

from hakoiri.coordinator.session.kind import ExploreKind
from hakoiri.parameters import given


@dataclass(frozen=True)
class TreeKind(ExploreKind):
    """Count the solutions of a search tree."""

    note = "a tree: its solutions are counted"
    misfit = "{} is not a tree whose solutions are counted; puzzles that are: {}"
    job = "hakoiri.guests.stars.job:Subtrees"
    until_goal: bool = given("Refused: all solutions are counted.", False, plan="changed")

    @classmethod
    def fits(cls, puzzle: type[Any]) -> bool:
        return not super().fits(puzzle)
