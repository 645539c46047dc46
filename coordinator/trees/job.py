"""Trees: every solution of a puzzle of placements counted, subtree by subtree."""

from collections.abc import Mapping
from typing import Any

from coordinator.layers.job import layer_summary
from coordinator.session.job import Job
from coordinator.session.report import Check
from coordinator.session.session import Session
from coordinator.trees.repair import forget_damaged_subtrees
from coordinator.trees.search import Grown, TreeSearch
from coordinator.trees.verify import TreeVerifier
from puzzles.capabilities import Placements
from puzzles.contract import Puzzle
from puzzles.errors import PuzzleError
from puzzles.registry import PuzzleSpec


class Subtrees(Job):
    """A count of all solutions, from the empty figure."""

    figures = Grown
    puzzle: Placements

    @classmethod
    def admit(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        asked = {"--until-goal": bool(plan), "--from": spec.start is not None}
        for option in (name for name, given in asked.items() if given):
            raise PuzzleError(f"{spec.name} counts every solution, from the empty figure: leave out {option}")
        return spec.build()

    def work(self, session: Session) -> None:
        TreeSearch(session).run()

    def repair(self, session: Session) -> None:
        forget_damaged_subtrees(session, self.puzzle)

    def verify(self, check: Check) -> None:
        TreeVerifier(self.store, self.puzzle, check).check()

    def summary(self) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())
