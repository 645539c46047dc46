"""Runs of goal distances: made for another run, whose name and digest they pin, and found from it."""

from collections.abc import Mapping
from typing import Any

from hakoiri.coordinator.goals.search import GoalFigures, GoalSearch
from hakoiri.coordinator.goals.verify import DistancesVerifier
from hakoiri.coordinator.layers.ending import ExplorePlan, search_to_end
from hakoiri.coordinator.layers.job import layer_summary
from hakoiri.coordinator.layers.repair import forget_layers
from hakoiri.coordinator.runs.belonging import open_base, require_base
from hakoiri.coordinator.session.job import Job, Request
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import counted
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.audit import check_layer


class HardestJob(Job):
    """The distance of every configuration of a run to its nearest goal: layers by distance."""

    named_by_plan = True
    figures = GoalFigures
    check_class = DistancesVerifier

    @classmethod
    def by_hosts(cls, puzzle: Puzzle) -> bool:
        # Else its layers are filtered out of all that is left.
        return puzzle.undirected or isinstance(puzzle, Reversible)

    @classmethod
    def parse_request(cls, spec: PuzzleSpec, *, base: str, base_digest: str) -> Request:  # type: ignore[override]
        """`base` is the name of a finished run of this puzzle that has goals, `base_digest` its digest."""
        return Request(spec, {"base": base, "base_digest": base_digest}, {})

    @classmethod
    def validate(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        require_base(plan)
        return spec.build()

    def is_done(self) -> bool:
        return GoalFigures.of(self.store.state).exhausted

    def work(self, session: Session) -> None:
        before = self.store.state.digest
        with open_base(self.store, session.context.redis) as base:
            search_to_end(session, GoalSearch(session, base), ExplorePlan())
        if before not in ("", self.store.state.digest):
            raise self.store.damaged("its recomputed layers differ from the stored ones")

    def repair(self, session: Session) -> None:
        """Forget the first damaged layer and all after it, so that they are computed again."""
        store, last = session.store, session.store.state.depth
        damaged = (depth for depth in range(last + 1) if list(check_layer(store, depth)))
        first = next(damaged, last + 1)
        session.observer.note(f"computing the layers from {first} on again" if first <= last else "no layer is damaged")
        forget_layers(session, first, GoalFigures)

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = self.store.layer_records()
        last = records[-1] if records else None
        farthest = {"distance": last and last.depth, "count": last and last.size}
        return layer_summary(records) | farthest

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        distance, dead = summary["distance"], summary["dead"]
        return {
            "distances of": summary["base"],
            "goals": summary["goals"],
            "farthest": None if distance is None else f"{counted(distance, 'moves')} from a goal",
            "count": summary["count"],
            "no goal reachable": dead or None,
        }

    def questions(self) -> list[str]:
        return ["hardest"]
