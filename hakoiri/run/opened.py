"""An open run of any kind: its configurations, by layers or all, and the graph of their moves.

Every answer comes from the run's store alone: no Redis, no worker, no other process is needed.
"""

from bisect import bisect_right
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from hakoiri.coordinator.census.census import CensusFigures
from hakoiri.coordinator.errors import NO_GOAL, UnanswerableError, further
from hakoiri.coordinator.goals.job import GoalDistances
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import DistancePolicy
from hakoiri.coordinator.layers.search import StoredFigures
from hakoiri.coordinator.runs.create import pinned_puzzle
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.runs.opening import open_context, redis_of_hosts
from hakoiri.coordinator.runs.summary import summarise
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.errors import ConfigurationError, Hint, PuzzleError, require_within
from hakoiri.keys.layout import Configuration, Key, Keys, ints, key_at
from hakoiri.keys.order import order_of
from hakoiri.keys.splitmix import random_words
from hakoiri.parameters import at_least, fitting
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.options import MOST_SEED
from hakoiri.storage.layers.blocks import ROOM_BYTES
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.results import Diameter, read_labels
from hakoiri.worker.graphs.searches import Graph

#: Bytes to sort a configuration, besides two copies of its key: its place in the order, and two copies of its depth.
_BYTES_BESIDE_KEY = 16


def _range_of(layers: Any) -> tuple[Depth, Depth]:
    """Return the first and the last of some layers; `PuzzleError` unless these are two numbers in order."""
    found = fitting("layers", layers, Sequence[int])
    if len(found) != 2 or found[0] > found[1]:
        raise PuzzleError(f"layers is {found}; expected the first and the last, such as (20, 30)")
    return found[0], found[1]


class OpenRun:
    """An open run of any kind. `name` is its name, `puzzle` its puzzle, `kind` its class.

    `resources` are the threads and memory of this process for questions; `redis` is the URL of the Redis of the hosts
    that keep the run, ``None`` if no hosts keep it.
    """

    #: The class of its paths, by default `hakoiri.run.paths.ShortestPath`.
    path_kind: ClassVar[Any] = None

    def __init__(self, store: RunStore, resources: Resources | None = None) -> None:
        """Take ownership of `store`; close it and raise if the run's puzzle differs from this program's.

        Resources not given default to those of the run's creation.
        """
        self.name, self._store, self._closed = store.manifest.run, store, False
        self._distances: dict[str, GoalDistances] = {}
        self._start_is_the_goal: bool | None = None
        #: Distances that this process measured: by component, and whether each eccentricity was requested.
        self.measured: dict[tuple[int, bool], Diameter] = {}
        #: The component whose statistics were requested last, by its number.
        self.solved: dict[int, Any] = {}
        resources = resources or Resources()
        self.resources = resources.over(store.manifest.settings).here()
        self.redis = redis_of_hosts(store, resources.redis)
        try:
            self.puzzle, self.spec = pinned_puzzle(store, resources)
            self.kind = kind_of(store.manifest.kind)
        except BaseException:
            store.close()
            raise

    @property
    def store(self) -> RunStore:
        """The data of the run; `UnanswerableError` if it is closed."""
        if self._closed:
            raise UnanswerableError(f"run {self.name} is closed; open_run({self.name!r}) opens it again")
        return self._store

    def close(self) -> None:
        """Close the run; it answers no more questions. A second call does nothing."""
        self._closed = True
        for store in {self._store, *(known.store for known in self._distances.values())}:
            store.close()

    @property
    def is_census(self) -> bool:
        """Return whether this is a census of the whole space, not a search from a start."""
        return not self.kind.from_start

    @property
    def exhausted(self) -> bool:
        """Return whether the run has its complete graph of moves: every move leads to a configuration of the run."""
        return self.kind.has_graph and self.reached.exhausted

    def __contains__(self, configuration: Configuration) -> bool:
        """Return whether the run has found a configuration."""
        try:
            return self.store.find(self.puzzle.parse(configuration)) is not None
        except ConfigurationError:
            return False

    @property
    def layer_sizes(self) -> list[int]:
        """The number of configurations in each layer; for a whole space, which has no distances, one number."""
        return [record.size for record in self.layer_records()]

    def layer_records(self) -> list[LayerRecord]:
        """Return size, digest and goals of each layer."""
        return self.store.layer_records()

    @property
    def depth(self) -> Depth:
        """The number of the last layer: for an exhausted run, the moves to what is farthest from the start."""
        return self.store.state.depth

    def layer(self, depth: Depth) -> Keys:
        """Return the keys of layer `depth`, strictly increasing, in the puzzle's layout; -1 is the last layer."""
        depth = fitting("depth", depth, int)
        found = depth + self.depth + 1 if -self.depth - 2 < depth < 0 else depth
        self.require_layer(found)
        return self.store.layer(found)

    def antipodes(self, limit: int | None = None) -> list[str]:
        """Return the configurations farthest from the start, up to `limit`, as texts; for an exhausted run."""
        limit = None if limit is None else at_least(0, "limit", limit)
        self.require_complete("its antipodes are")
        return self.texts(self.layer(-1)[:limit])

    def require_layer(self, depth: Depth) -> None:
        """Raise `UnanswerableError` unless there is a layer `depth`."""
        if not 0 <= depth <= self.store.state.depth:
            hints = () if self.exhausted else (further(self.store),)
            raise UnanswerableError(f"run {self.name} has layers 0 to {self.store.state.depth}, not {depth}", *hints)

    def sample(
        self, count: int = 1, layers: tuple[Depth, Depth] | None = None, seed: int = 0
    ) -> list[tuple[Depth, Key]]:
        """Draw configurations, each with its depth: all of layers `layers` (first, last) are equally likely.

        By default from all layers. The same seed draws the same; draws are independent, so one may come twice. Each
        reads a few blocks: one is chosen, and a place in it that is taken if the block is that long. Raises
        `PuzzleError` for a count below 1, a seed that is not in 0 to 2^32 - 1, or layers that are no range.
        """
        count, seed = at_least(1, "count", count), fitting("seed", seed, int)
        require_within("seed", seed, 0, MOST_SEED)
        if layers is None:
            self.require_stored()
        self.require_graph()
        first, last = _range_of(layers) if layers is not None else (0, self.store.state.depth)
        for depth in (first, last):
            self.require_layer(depth)
        bounds = list(accumulate(self.layer_sizes[first : last + 1]))
        words, firsts = random_words(seed << 32), cache(self.store.first_keys)

        def below(bound: int) -> int:
            even = (1 << 64) - (1 << 64) % bound
            return next(word for word in words if word < even) % bound

        def drawn(depth: Depth) -> Key:
            # A block has at most so many keys: each takes a byte or more, but for the first.
            most = min(self.store.layer_record(depth).size, ROOM_BYTES + 1)
            while True:
                place, index = below(len(firsts(depth))), below(most)
                (block,) = self.store.coded(depth, firsts(depth)[place : place + 1])
                if index < block.size:
                    return key_at(self.store.decode(block), index)

        depths = [first + bisect_right(bounds, below(bounds[-1])) for _ in range(count)]
        return [(depth, drawn(depth)) for depth in depths]

    def configurations(self) -> tuple[Keys, np.ndarray]:
        """Return all keys of the run in increasing order, and each one's depth or, in a census, component."""
        self.require_stored()
        if self.store.state.depth < 0:
            return self.puzzle.keys([]), np.empty(0, dtype=np.uint32)
        # Twice, with depths and order.
        count = self.reached.configurations
        needed = count * (2 * self.store.layout.bytes + _BYTES_BESIDE_KEY)
        self.resources.budget().require(f"a list of all {count:,} configurations of run {self.name}", needed)
        if self.is_census:
            self.require_components()
            keys = self.store.layer(0)
            return keys, read_labels(self.store, len(keys))
        layers = [self.store.layer(depth) for depth in range(self.store.state.depth + 1)]
        depths = np.repeat(np.arange(len(layers), dtype=np.uint32), [len(layer) for layer in layers])
        keys = np.concatenate(layers)
        order = order_of(keys)
        return keys[order], depths[order]

    def graph(self) -> tuple[Keys, Graph]:
        """Return all keys in increasing order and the graph of their moves (`worker.graphs.searches.Graph`)."""
        keys, _ = self.configurations()
        with self.context() as context:
            return keys, build_graph(context, keys, closed=self.exhausted)

    def known_distances(self, metric: str = "") -> GoalDistances | None:
        """Return the distances of the run's configurations to the nearest goal, if computed (`hardest`).

        A run that keeps depths knows them without that if the start is the only goal. If `metric` is given, the moves
        are counted by this one.
        """
        if metric not in self._distances and self.exhausted:
            found = GoalDistances.open(self.store, self.puzzle, metric, self.redis)
            if found is None and not metric and self.store.kept.first and self.start_is_the_goal():
                found = GoalDistances(self.store)
            if found is not None:
                self._distances[metric] = found
        return self._distances.get(metric)

    def is_from_start(self, origin: Key) -> bool:
        """Return whether the depths of the run are distances from `origin`."""
        return not self.is_census and self.puzzle.several_starts is None and origin == self.puzzle.start

    def start_is_the_goal(self) -> bool:
        """Return whether the starts are all goals of an exhausted run: then depths are goal distances."""
        if self._start_is_the_goal is None and self.exhausted:
            first, *others = self.layer_records()
            alone = first.goals == first.size and not any(record.goals for record in others)
            self._start_is_the_goal = self.puzzle.undirected and not self.is_census and alone
        return bool(self._start_is_the_goal)

    @cached_property
    def policy(self) -> DistancePolicy:
        """The ways to measure a component of a finished run."""
        moves = CensusFigures.of(self.store.state).moves if self.is_census else None
        return DistancePolicy(self.store, self.puzzle, self.resources.budget(), moves)

    def texts(self, keys: Keys) -> list[str]:
        """Return the texts of some configurations."""
        return [self.puzzle.render(key) for key in ints(keys)]

    def depth_of(self, key: Key) -> Depth:
        depth = self.store.find(key)
        if depth is None:
            raise self.not_found(f"did not find {self.puzzle.render(key)}")
        return depth

    def not_found(self, what: str) -> UnanswerableError:
        """Return the error for something that the run has not found, with a hint how to find more."""
        if self.exhausted:
            return UnanswerableError(f"run {self.name} {what} among all that its start can reach")
        depth = self.store.state.depth
        far = "" if self.is_census else f": it is {depth + 1:,} or more moves from the start, or not to be reached"
        where = f"up to layer {depth}, as far as it went{far}" if depth >= 0 else "yet"
        return UnanswerableError(f"run {self.name} {what} {where}", further(self.store))

    def context(
        self, control: Control | None = None, observer: Observer | None = None, puzzle: Puzzle | None = None,
        workers: Resources | None = None,
    ) -> AbstractContextManager[ComputeContext]:  # fmt: skip
        """Return threads of this process, or `workers`, for questions; by default with the run's puzzle."""
        resources = self.resources if workers is None else workers.over(self.store.manifest.settings)
        puzzle = puzzle or self.puzzle
        return open_context(puzzle, self.spec, resources, control or Control(), observer or SilentObserver())

    def require_goal(self) -> None:
        """Raise `UnanswerableError` if the puzzle has no goal."""
        if not self.puzzle.has_goal:
            hint = Hint("give", "goal", "CONF")
            raise UnanswerableError(f"{NO_GOAL} for run {self.name}; run the puzzle again", hint)

    @property
    def reached(self) -> StoredFigures:
        return StoredFigures.of(self.store.state)

    def require_complete(self, unknown: str = "its components are") -> None:
        self.require_graph()
        if not self.exhausted:
            limited = f"stopped at layer {self.store.state.depth}"
            limited = "stopped at its first goal" if self.store.manifest.plan.get("until_goal") else limited
            why = limited if self.store.state.status == "complete" else "is not complete"
            raise UnanswerableError(f"run {self.name} {why}, so {unknown} not known", further(self.store))

    @property
    def knows_components(self) -> bool:
        """Return whether the components are known: a census may have been created without them."""
        return not self.is_census or self.store.state.figures.get("components") is not None

    def require_components(self) -> None:
        """Raise `UnanswerableError` if the configurations were listed without their components."""
        if self.exhausted and not self.knows_components:
            raise UnanswerableError(
                f"run {self.name} listed its configurations without components; run it again with other "
                "diameters than none",
                Hint("ask", self.name, self.kind(self.store, self.puzzle).questions()[0]),
            )

    def require_stored(self) -> None:
        """Raise `UnanswerableError` or `NotKeptError` unless the run stores each configuration that it found."""
        self.require_graph()
        self.store.require_kept()

    def require_graph(self) -> None:
        if not self.kind.has_graph:
            asks = [*self.kind(self.store, self.puzzle).questions(), "status"]
            raise UnanswerableError(
                f"run {self.name} is of the kind {self.store.manifest.kind}, which has no graph of moves: no paths, "
                "distances or components",
                Hint("ask", self.name, asks[0]),
            )

    def summary(self) -> dict[str, Any]:
        """Return everything known about the run, as plain values."""
        return summarise(self.kind(self.store, self.puzzle), self.resources.budget())
