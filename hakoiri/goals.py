"""Answers from an open run about its goals: distances to the nearest goal, and the farthest configurations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hakoiri.components import ComponentAnswers
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.goals.distances import METRIC, GoalDistances, distances_run
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.runs.belonging import Derived
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.puzzles.capabilities import Quotient
from hakoiri.puzzles.errors import Hint, PuzzleError, counted
from hakoiri.puzzles.keys.layout import Configuration, Key, Keys, ints, key_at
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.worker.graphs.designing import SolvedSpace, Statistics, statistics

#: The default number of farthest configurations returned.
_USUALLY_GIVEN = 1_000
#: The most configurations of an answer that are written as texts.
_WRITTEN = 12


@dataclass(frozen=True)
class Hardest:
    """The greatest `distance` to the nearest goal, and the number of configurations (`count`) at that distance.

    `configurations` are the least of them, and `texts` the boards of the first. `layers` are the numbers at each
    distance from 0 on, and `dead` is the number that lead to no goal. `distances` is the run that contains all
    distances; `metric` is the definition of one move, if the puzzle has a choice.
    """

    distance: int
    count: int
    configurations: Keys
    layers: list[int]
    dead: int
    distances: str
    metric: str | None
    texts: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{counted(self.distance, 'moves')} from the nearest goal: {counted(self.count, 'configurations')}"
        return "\n".join([head, *self.texts])


class GoalAnswers(ComponentAnswers):
    """An open run that answers questions about its goals."""

    def hardest(
        self,
        limit: int = _USUALLY_GIVEN,
        control: Control | None = None,
        observer: Observer | None = None,
        metric: str | None = None,
    ) -> Hardest:
        """Return the configurations farthest from their nearest goal, the `limit` least of them.

        With `metric` moves are counted by another metric than the run's; the configurations are checked to be the same.
        Unknown goal distances are computed in this process and kept, as a run of its own, which is resumed if
        interrupted. Raises `RunError` if `control` ends that run.
        """
        self.require_goals()
        other = self.other_metric(metric)
        if (known := self.known_distances(other)) is None:
            directory = self.distances_run(other).make(self.resources)
            resources = replace(self.resources, redis=self.redis)
            drive_to_end(directory, resources, control or Control(), observer or SilentObserver())
            known = cast(GoalDistances, self.known_distances(other))
        layers = [record.size for record in known.store.layer_records()]
        last = len(layers) - 1
        farthest = next(StoredLayer(known.store, last, layers[last]).chunks(0, limit))
        dead = self._reached.configurations - sum(layers)
        metric = self._metric_among(known.store.manifest.puzzle["options"])
        texts = tuple(map(self.puzzle.render, ints(farthest[:_WRITTEN])))
        return Hardest(last, layers[last], farthest, layers, dead, known.store.manifest.run, metric, texts)

    def distances_run(self, metric: str = "") -> Derived:
        """Return the run with the goal distances, by `metric` if it is given."""
        return distances_run(self.store, self.puzzle, metric)

    def other_metric(self, metric: str | None) -> str:
        """Return `metric` if it is not the run's own, else ``""``; `PuzzleError` if there is no choice."""
        if metric is not None and METRIC not in self.puzzle.options:
            raise PuzzleError(f"{self.puzzle.name} has no option {METRIC}")
        return "" if metric is None or metric == self._metric_among(self.puzzle.parameters) else metric

    def _metric_among(self, options: Mapping[str, str]) -> str | None:
        """Return the metric by these options of the puzzle; ``None`` if it has no choice."""
        option = self.puzzle.options.get(METRIC)
        return None if option is None else options.get(METRIC, option.default)

    def goal_distances(self, keys: Keys) -> NDArray[np.int64]:
        """Return the moves from each key to its nearest goal; -1 if it reaches none or is not in the run.

        Costs little for a few keys, such as the successors of one. `UnanswerableError` unless `hardest` was called
        before.
        """
        return self._known().of(keys)

    def at_goal_distance(self, distance: int, number: int) -> Key:
        """Return the configuration with this number, modulo their count, of those `distance` moves from a goal.

        `UnanswerableError` unless `hardest` was called before.
        """
        known = self._known()
        size = next(record.size for depth, record in enumerate(known.store.layer_records()) if depth == distance)
        return key_at(next(StoredLayer(known.store, distance, size).chunks(number % size, 1)), 0)

    def statistics(self, configuration: Configuration | None = None) -> Statistics:
        """Return the figures of a board for its designer, by default of the start: see `Statistics`.

        `positions` and `dead_ends` are those of its component, whose moves are held in memory until the run is closed:
        raises `OverBudgetError` if that is too small. `UnanswerableError` if moves cannot be taken back, if mirror
        images are merged, or without a way to a goal.
        """
        key = self.puzzle.start if configuration is None else self.puzzle.parse(configuration)
        space = self._solved_space(self._component_with_goals(key))
        return statistics(space, space.place(key), self.puzzle.render(key))

    def _component_with_goals(self, key: Key) -> int:
        """Return the component of a configuration; `UnanswerableError` if its boards have no statistics."""
        if not self.puzzle.undirected:
            text = f"the moves of {self.puzzle.name} cannot be taken back, so boards have no statistics"
            raise UnanswerableError(text)
        self.require_goals()
        if isinstance(self.puzzle, Quotient):
            hint = Hint("run without", "merge_mirrors")
            raise UnanswerableError(f"run {self.name} has mirror images merged, so boards have no statistics", hint)
        return self.component_of(key)

    def _solved_space(self, component: int) -> SolvedSpace:
        """Return a component with its moves and goal distances; the last one is kept."""
        if component not in self._solved:
            self._solved.clear()
            with self._context() as context:
                keys = component_keys(context, self.store, component)
                if not self.puzzle.is_goal(keys).any():
                    raise UnanswerableError(f"component {component} of run {self.name} has no goal")
                self._solved[component] = SolvedSpace.over(self.puzzle, keys, build_graph(context, keys))
        return self._solved[component]

    @cached_property
    def _solved(self) -> dict[int, SolvedSpace]:
        """The component whose statistics were last asked for, by its number."""
        return {}

    def _known(self) -> GoalDistances:
        if (known := self.known_distances()) is None:
            raise UnanswerableError(
                f"the goal distances of run {self.name} are not computed yet", Hint("ask", self.name, "hardest")
            )
        return known

    def require_goals(self) -> None:
        """Raise `UnanswerableError` if the run is not finished, or has no goal."""
        self.require_goal()
        self._require_complete("the distances to its goals are")
        if not any(record.goals for record in self.layer_records()):
            hint = Hint("give", "goal", "CONF")
            raise UnanswerableError(f"run {self.name} has no goal among its configurations; run the puzzle again", hint)
