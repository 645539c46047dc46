"""Trees: every solution of a puzzle of placements counted, subtree by subtree."""

from collections.abc import Callable, Mapping
from typing import Any

from coordinator.layers.job import layer_summary
from coordinator.session.job import Check, Job, Table
from coordinator.session.resources import Budget
from coordinator.session.session import Session
from coordinator.trees.repair import forget_damaged_subtrees
from coordinator.trees.search import Grown, TreeSearch
from coordinator.trees.solutions import KEEPING, STRATEGY
from coordinator.trees.verify import TreeVerifier
from puzzles.capabilities import Placements
from puzzles.contract import Puzzle
from puzzles.errors import PuzzleError, Step
from puzzles.registry import PuzzleSpec
from storage.ledger.manifest import Manifest, State


class Subtrees(Job):
    """A count of all solutions, from the empty figure."""

    figures = Grown
    puzzle: Placements

    @classmethod
    def admit(cls, spec: PuzzleSpec, plan: Mapping[str, Any]) -> Puzzle:
        asked = {"until_goal": bool(plan), "start": spec.start is not None}
        for option in (name for name, given in asked.items() if given):
            raise PuzzleError(f"{spec.name} counts every solution, from the empty figure", Step("leave out", option))
        return spec.build()

    def work(self, session: Session) -> None:
        TreeSearch(session).run()

    def repair(self, session: Session) -> None:
        forget_damaged_subtrees(session, self.puzzle)

    def verify(self, check: Check) -> None:
        TreeVerifier(self.store, self.puzzle, check).check()

    def summary(self, budget: Budget) -> dict[str, Any]:
        return layer_summary(self.store.layer_records())

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        counts = {"solutions": summary["solutions"], "numbers placed": summary["nodes"]}
        if summary["chunks"] is None:
            return counts
        return counts | {
            "orbits": f"{summary['orbits']:,} by the {self.puzzle.symmetries} symmetries of the figure",
            "classes": f"{summary['classes']:,} by the {self.puzzle.automorphisms} automorphisms of its lines",
            "chunks": f"{summary['chunks_done']:,} of {summary['chunks']:,}",
            "processor": f"{summary['processor_seconds']:.3f} s for the chunks",
        }

    def questions(self) -> list[str]:
        return ["solutions"] if self.puzzle.keeps and Grown.of(self.store.state).orbits else []

    @classmethod
    def compare(cls, manifest: Manifest, others: Callable[[], list[tuple[Manifest, State]]]) -> Table:
        """The latest complete run of each strategy for the same figure, the one with most nodes first."""
        latest = {
            other.puzzle["options"][STRATEGY]: (other.run, state, Grown.of(state))
            for other, state in others()
            if _figure(other) == _figure(manifest) and state.status == "complete"
        }
        slowest_first = sorted(latest.items(), key=lambda entry: -entry[1][2].nodes)
        fastest = slowest_first[-1][1][2] if latest else Grown()
        rows = [
            {
                "strategy": strategy,
                "nodes": found.nodes,
                "times_nodes": round(found.nodes / max(fastest.nodes, 1), 1),
                "processor": found.processor_seconds,
                "times_processor": round(found.processor_seconds / max(fastest.processor_seconds, 1e-6), 1),
                "seconds": round(state.seconds, 3),
                "run": run,
            }
            for strategy, (run, state, found) in slowest_first
        ]
        return Table("strategies", rows)


def _figure(manifest: Manifest) -> tuple[str, dict[str, str]]:
    """Which tree it is, whatever way it is searched."""
    options = manifest.puzzle["options"]
    return manifest.puzzle["name"], {name: options[name] for name in options if name not in (STRATEGY, KEEPING)}
