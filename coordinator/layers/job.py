"""Explorations: all that a start can reach, layer by layer."""

from typing import Any

from coordinator.layers.repair import repair_layers
from coordinator.layers.search import Exploration, Explored
from coordinator.layers.verify import LayersVerifier
from coordinator.session.job import Job
from coordinator.session.report import Check
from coordinator.session.session import Session
from storage.ledger.manifest import Depth, LayerRecord


class Explore(Job):
    """A search from the start; with ``until_goal`` in its plan only up to the first layer that holds a goal."""

    from_start = True
    figures = Explored

    def work(self, session: Session) -> None:
        Exploration(session).run()

    def repair(self, session: Session) -> None:
        repair_layers(session)

    def verify(self, check: Check) -> None:
        LayersVerifier(self.store, self.puzzle, check).check()

    def summary(self) -> dict[str, Any]:
        records = self.store.layer_records()
        size, depth = largest_window([record.size for record in records])
        return layer_summary(records) | {"largest_window": size, "largest_window_at": depth}


def layer_summary(records: list[LayerRecord]) -> dict[str, Any]:
    """What a summary says of stored layers, by whatever kind of run; what only others have is ``None``."""
    layers = {"goals": sum(record.goals for record in records), "layers": [record.size for record in records]}
    return layers | dict.fromkeys(("largest_window", "largest_window_at"))


def largest_window(sizes: list[int]) -> tuple[int | None, Depth | None]:
    """The largest |U(N-1)| + |U(N)| + |U(N+1)| and its (least) N; what a search holds in memory at most."""
    if not sizes:
        return None, None
    windows = [sum(sizes[max(0, depth - 1) : depth + 2]) for depth in range(len(sizes))]
    return max(windows), windows.index(max(windows))
