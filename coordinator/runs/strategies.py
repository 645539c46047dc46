"""How the strategies of a tree compare: its finished runs beside each other."""

from dataclasses import dataclass
from pathlib import Path

from coordinator.runs.catalogue import list_runs
from coordinator.trees.search import Grown
from coordinator.trees.solutions import KEEPING, STRATEGY
from puzzles.registry import PuzzleSpec
from storage.ledger.manifest import Manifest


@dataclass(frozen=True)
class StrategyCost:
    """What one strategy needed: `processor` are the seconds of all chunks together, `seconds` those of the clock."""

    strategy: str
    run: str
    nodes: int
    processor: float
    seconds: float


def compared_strategies(data: Path, manifest: Manifest) -> list[StrategyCost]:
    """The latest complete run of each strategy for the same figure in `data`, the one with most nodes first."""
    latest: dict[str, StrategyCost] = {}
    for found in list_runs(data, PuzzleSpec.from_dict(manifest.puzzle).name):
        state = found.state
        if found.manifest and _figure(found.manifest) == _figure(manifest) and state.status == "complete":
            name = PuzzleSpec.from_dict(found.manifest.puzzle).options[STRATEGY]
            counts = Grown.of(state)
            latest[name] = StrategyCost(name, found.run, counts.nodes, counts.processor_seconds, state.seconds)
    return sorted(latest.values(), key=lambda each: -each.nodes)


def _figure(manifest: Manifest) -> tuple[str, dict[str, str]]:
    """Which tree it is, whatever way it is searched."""
    spec = PuzzleSpec.from_dict(manifest.puzzle)
    return spec.name, {name: value for name, value in spec.options.items() if name not in (STRATEGY, KEEPING)}
