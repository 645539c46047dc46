"""What the tests of searches share: a plain search, and what two runs must agree on."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from hakoiri.api import Run
from hakoiri.coordinator.executors.opening import open_context
from hakoiri.coordinator.layers.search import SearchFigures
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, SilentObserver
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.registry import PuzzleSpec

Successors = Callable[[Key], list[Key]]
SlowRules = Callable[[str, bool], Successors]


def reference_layers(successors: Successors, start: Key) -> list[list[Key]]:
    """The layers from `start`: every configuration in the first layer that leads to it."""
    seen, layers = {start}, [[start]]
    while layers[-1]:
        following = {successor for key in layers[-1] for successor in successors(key)} - seen
        seen |= following
        layers.append(sorted(following))
    return layers[:-1]


def reference_distances(successors: Successors, start: Key) -> dict[Key, int]:
    layers = reference_layers(successors, start)
    return {key: depth for depth, layer in enumerate(layers) for key in layer}


class ImpatientControl(Control):
    """Interrupts at the check of a given number."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._left = checks

    def check(self) -> None:
        """Count down."""
        self._left -= 1
        if not self._left:
            self.interrupt("enough")
        super().check()


class Countdown:
    """Calls `act` instead of the call of a given number, and lets all others go through."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.left, self._act = number, act

    def __call__(self, *_: Any) -> None:
        """Count down."""
        self.left -= 1
        if not self.left:
            self._act()


def local_context(
    puzzle: Puzzle, resources: Resources | None = None, control: Control | None = None
) -> AbstractContextManager[ComputeContext]:
    """Threads of this process."""
    spec, control = PuzzleSpec(puzzle.name), control or Control()
    return open_context(puzzle, spec, resources or Resources(), control, SilentObserver())


def essence(run: Run) -> tuple[Any, ...]:
    """What must not depend on how a run was driven."""
    state, found = run.store.state, SearchFigures.of(run.store.state)
    records = [(record.size, record.digest, record.goals) for record in run.layer_records()]
    return state.digest, found.configurations, found.goal_depth, found.exhausted, records


def started(tmp_path: Path, kind: str = "explore", resources: Resources | None = None, **spec: Any) -> Path:
    """The directory of a new run that nobody has driven yet."""
    return make_run(tmp_path, PuzzleSpec("klotski", **spec), kind, {}, resources or Resources())
