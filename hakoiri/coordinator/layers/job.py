"""Explorations: all configurations that a start can reach, layer by layer."""

import shutil
from collections.abc import Mapping
from typing import Any

from hakoiri.coordinator.errors import ContradictionError, nearest_goal
from hakoiri.coordinator.layers.best_play import best_play
from hakoiri.coordinator.layers.ending import ExplorePlan, search_to_end
from hakoiri.coordinator.layers.repair import repair_layers
from hakoiri.coordinator.layers.search import LayeredSearch, SearchFigures
from hakoiri.coordinator.layers.verify import LayersVerifier
from hakoiri.coordinator.session.check import Check
from hakoiri.coordinator.session.job import Job, Play
from hakoiri.coordinator.session.resources import Budget, Resources
from hakoiri.coordinator.session.session import Observer, Session
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.scored import Scored
from hakoiri.storage.ledger.manifest import Depth, LayerRecord

#: The least bytes of a configuration on disk, reached by dense keys.
_LEAST_BYTES = 1


class Explore(Job):
    """A search from the start; its plan is an `ExplorePlan`."""

    from_start = has_graph = True
    figures = SearchFigures
    check_class = LayersVerifier

    @classmethod
    def by_hosts(cls, puzzle: Puzzle) -> bool:
        return True

    def limit_resources(self, resources: Resources, observer: Observer) -> Resources:
        """Change nothing; note if the disk cannot hold the puzzle's known number of configurations."""
        found, total = SearchFigures.of(self.store.state), self.puzzle.total or 0
        needed, free = (total - found.configurations) * _LEAST_BYTES, shutil.disk_usage(self.store.directory).free
        if needed > free and not self.store.manifest.plan:
            observer.note(
                f"all {total:,} configurations do not fit on this disk: they need at least {needed >> 20:,} MiB, "
                f"{free >> 20:,} MiB are free; the run stops, resumable, when the disk is full"
            )
        return resources

    def work(self, session: Session) -> None:
        search = LayeredSearch(session, self.puzzle.start)
        search_to_end(session, search, self.store.plan(ExplorePlan))

    def repair(self, session: Session) -> None:
        repair_layers(session)

    def verify(self, check: Check) -> None:
        check.check()
        if self._scored:
            try:
                check.report.count("moves of the best play", self.best_play(check.context.budget).moves)
            except ContradictionError as error:
                check.report.fault(str(error))

    @property
    def _scored(self) -> bool:
        return isinstance(self.puzzle, Scored) and SearchFigures.of(self.store.state).exhausted

    def best_play(self, budget: Budget) -> Play:
        return best_play(self.store, self.puzzle, budget)

    def summary(self, budget: Budget) -> dict[str, Any]:
        records = self.store.layer_records()
        size, depth = largest_window([record.size for record in records])
        play = self.best_play(budget).row() if self._scored else {}
        return layer_summary(records) | {"largest_window": size, "largest_window_at": depth} | play

    def facts(self, summary: Mapping[str, Any]) -> dict[str, Any]:
        widest, at = summary["largest_window"], summary["largest_window_at"]
        return {
            "configurations": summary["configurations"],
            "depth": summary["depth"],
            "goal": self.puzzle.goal_text() or None,
            "nearest goal": nearest_goal(summary, self.puzzle.has_goal),
            "widest three layers": None if widest is None else f"{widest:,} around layer {at}",
            "best score": summary.get("score"),
            "in moves": summary.get("moves"),
            "sequence": summary.get("sequence"),
        }

    def questions(self) -> list[str]:
        found = SearchFigures.of(self.store.state)
        # If the start is the goal, there is no path to show.
        path = {None: [], 0: ["farthest"]}.get(found.goal_depth, ["path"])
        # Distances between configurations.
        apart = "diameter" if self.puzzle.undirected else "strong components"
        return [*path, *([apart] if found.exhausted else [])]


def layer_summary(records: list[LayerRecord]) -> dict[str, Any]:
    """Return a summary of stored layers for any kind of run; ``None`` for what only other kinds have."""
    layers = {"goals": sum(record.goals for record in records), "layers": [record.size for record in records]}
    return layers | dict.fromkeys(("largest_window", "largest_window_at"))


def largest_window(sizes: list[int]) -> tuple[int | None, Depth | None]:
    """Return the largest |U(N-1)| + |U(N)| + |U(N+1)| and its least N: the most that a search holds in memory."""
    if not sizes:
        return None, None
    windows = [sum(sizes[max(0, depth - 1) : depth + 2]) for depth in range(len(sizes))]
    return max(windows), windows.index(max(windows))
