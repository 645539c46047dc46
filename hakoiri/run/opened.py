"""An open run of any kind with all its answers; here those about goals, and maps of its components."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.goals.job import METRIC, GoalDistances, distances_run
from hakoiri.coordinator.graphs.building import build_graph, lay_out
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.runs.create import Derived
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.runs.summary import summarise
from hakoiri.coordinator.session.job import Play
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.coordinator.trees.job import found_solutions
from hakoiri.errors import Hint, PuzzleError, counted
from hakoiri.keys.layout import Configuration, Key, Keys, key_at
from hakoiri.keys.order import lower_bounds, order_of
from hakoiri.puzzles.capabilities import Placements, Quotient
from hakoiri.run.components import ComponentAnswers
from hakoiri.storage.layers.store import StoredLayer
from hakoiri.storage.results import read_component
from hakoiri.worker.graphs.searches import (
    Distances,
    Graph,
    both_ways,
    distances_from,
    inner_graph,
    search_order,
    transposed,
)
from hakoiri.worker.layers.kernels import layers_within
from hakoiri.worker.studies.designing import SolvedSpace, Statistics, statistics

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
        resources: Resources | None = None,
    ) -> Hardest:
        """Return the configurations farthest from their nearest goal, the `limit` least of them.

        With `metric` moves are counted by another metric than the run's; the configurations are checked to be the same.
        Unknown goal distances are computed in this process and kept, as a run of its own, which is resumed if
        interrupted; `resources` are those of that run. Raises `RunError` if `control` ends it.
        """
        self.require_goals()
        other = self.other_metric(metric)
        if (known := self.known_distances(other)) is None:
            resources = resources or replace(self.resources, redis=self.redis)
            directory = self.distances_run(other).make(resources)
            drive_to_end(directory, resources, control or Control(), observer or SilentObserver())
            known = cast(GoalDistances, self.known_distances(other))
        layers = [record.size for record in known.store.layer_records()]
        last = len(layers) - 1
        farthest = next(StoredLayer(known.store, last, layers[last]).chunks(0, limit))
        dead = self._reached.configurations - sum(layers)
        metric = self._metric_among(known.store.manifest.puzzle["options"])
        texts = tuple(self.texts(farthest[:_WRITTEN]))
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


#: Components of up to this many configurations are shown completely; larger ones only by the layers nearest to the
#: origin with up to this many together.
MOST_SHOWN, MOST_OF_LARGER = 100_000, 20_000


@dataclass(frozen=True)
class Map:
    """The layout of a component, or of its layers nearest to the origin; `keys` are ordered by distance from `keys[0]`.

    `size` is that of the component, ``None`` if the run does not know; `whole` is whether the map contains all of it.
    `places` are (configurations, axes) in units of a move; `moves` are pairs of indices into `keys`, each once if the
    puzzle is undirected. `depths` are distances from the origin, `goals` those to the nearest goal, -1 if none is
    reached, ``None`` if unknown. `eccentricities` are those of a whole component of an undirected puzzle. `stress` is
    the mean square of the relative error of the distances in space.
    """

    component: int
    size: int | None
    whole: bool
    keys: Keys
    places: NDArray[np.float32]
    moves: NDArray[np.uint32]
    depths: Distances
    goals: Distances | None
    eccentricities: Distances | None
    stress: float


class MapAnswers(GoalAnswers):
    """An open run that answers with maps of its components."""

    def map(
        self,
        component: int | None = None,
        axes: int = 3,
        control: Control | None = None,
        observer: Observer | None = None,
    ) -> Map:
        """Return the layout of a component in space (or in a plane: `axes` 2), by default that of the puzzle's start.

        The same run gives the same map. Raises `OverBudgetError` if the memory is too small, `StopRun` by `control`.
        """
        number = self.mapped_component(component)
        with self._context(control, observer) as context:
            size, origin, keys = self._shown(number, context)
            whole = len(keys) == size
            graph = build_graph(context, keys, whole)
            eccentricities = None
            if whole and self.puzzle.undirected:
                eccentricities = self._eccentricities(context, number, keys, graph)
            order = search_order(self._both_ways(graph), int(lower_bounds(keys, self.puzzle.keys([origin]))[0]))
            graph = inner_graph(graph, np.zeros(len(order), dtype=np.int32), order)
            seed = int(self.store.state.digest[:16] or "0", 16)
            both = self._both_ways(graph)
            layout = lay_out(context, both, axes, seed)
        keys, depths = keys[order], distances_from(graph, 0)
        return Map(
            number, size, whole, keys, layout.places, _moves(graph, self.puzzle.undirected), depths,
            self._goals(keys, graph, depths, whole), None if eccentricities is None else eccentricities[order],
            layout.stress,
        )  # fmt: skip

    def mapped_component(self, component: int | None = None) -> int:
        """Return the component that `map` shows; `UnanswerableError` without one."""
        self._require_graph()
        if self.is_census:
            self._require_complete()
            self.require_components()
        self.require_layer(0)
        return self.number_of(component)

    def _shown(self, number: int, context: ComputeContext) -> tuple[int | None, Key, Keys]:
        """Return the size of a component, the origin, and the configurations to show in increasing order."""
        size, origin, layers = self._explored() if not self.is_census else self._counted(number, context)
        keys = np.concatenate(layers)
        return size, origin, keys[order_of(keys)]

    def _explored(self) -> tuple[int | None, Key, list[Keys]]:
        """Return the same for a search from a start: whole layers, all of them if they are not too many."""
        sizes = self.layer_sizes
        most = MOST_SHOWN if sum(sizes) <= MOST_SHOWN else MOST_OF_LARGER
        shown = max(1, int(np.searchsorted(np.cumsum(sizes), most, "right")))
        layers = [self.layer(depth) for depth in range(shown)]
        return sum(sizes) if self.exhausted else None, key_at(layers[0], 0), layers

    def _counted(self, number: int, context: ComputeContext) -> tuple[int, Key, list[Keys]]:
        """Return the same for a census: the component, or if large, layers around its start or least configuration."""
        record = read_component(self.store, number)
        origin = self.puzzle.start if number == self.start_component else record.representative
        if record.size > MOST_SHOWN:
            layers, whole = layers_within(self.puzzle, self.puzzle.keys([origin]), MOST_OF_LARGER + 1)
            return record.size, origin, layers if whole else layers[:-1]
        return record.size, origin, [component_keys(context, self.store, number)]

    def _both_ways(self, graph: Graph) -> Graph:
        return graph if self.puzzle.undirected else both_ways(graph)

    def _goals(self, keys: Keys, graph: Graph, depths: Distances, whole: bool) -> Distances | None:
        """Return the distance of each configuration to its nearest goal, as far as known."""
        if not whole:
            known = self.known_distances()
            return depths if self.start_is_the_goal() else None if known is None else known.of(keys).astype(np.int32)
        goals = np.flatnonzero(self.puzzle.is_goal(keys)).astype(np.int32)
        return distances_from(graph if self.puzzle.undirected else transposed(graph), goals) if len(goals) else None


def _moves(graph: Graph, undirected: bool) -> NDArray[np.uint32]:
    """Return the moves as pairs of vertices, each once in an undirected graph."""
    sources = np.repeat(np.arange(len(graph.offsets) - 1, dtype=np.uint32), np.diff(graph.offsets))
    moves = np.stack([sources, graph.targets.astype(np.uint32)], axis=1)
    return moves[moves[:, 0] < moves[:, 1]] if undirected else moves


class OpenRun(MapAnswers):
    """An open run of any kind. `puzzle` is the run's, `store` its data.

    `resources` are the threads and memory of this process for questions.
    """

    @property
    def tree(self) -> Placements:
        """The puzzle of a run of a tree; `UnanswerableError` for any other."""
        if isinstance(self.puzzle, Placements):
            return self.puzzle
        raise UnanswerableError(f"run {self.name} is not a tree, so it has no solutions to list")

    def solutions(self) -> Iterator[Keys]:
        """Yield the solutions of a tree in batches: the least image of one solution of each orbit.

        In increasing order if the run is complete, else those found so far. `UnanswerableError` if the run keeps none.
        """
        return found_solutions(self.store, self.tree)

    def summary(self) -> dict[str, Any]:
        """Return everything known about the run, as plain values."""
        return summarise(self.kind(self.store, self.puzzle), self.resources.budget())

    def best_play(self) -> Play:
        """Return the best play, if moves score: the highest score, then the fewest moves; for a finished run proved.

        For an optimisation it is the best one so far. Raises `UnanswerableError` for other runs, `OverBudgetError` if
        the memory is too small.
        """
        return self.kind(self.store, self.puzzle).best_play(self.resources.budget())
