"""Hakoiri from Python: make a run, open one, and ask it.

    from hakoiri.api import explore, open_run

    with explore("klotski", data="runs") as run:
        print(run.layer_sizes[:5], len(run.layer(57)))
        print(run.diameter().diameter, run.path("goal").moves)
    with open_run("last", data="runs") as run:
        print(run.distance("BAAC/BAAC/DEEF/DGHF/I..J"))

Every answer comes from the run's store alone: no Redis, no worker, no other process is needed.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from coordinator.errors import RunError, UnanswerableError
from coordinator.executors.opening import open_context
from coordinator.graphs.building import build_graph
from coordinator.graphs.census import Counted, bound_component, measure_component
from coordinator.graphs.diameter import (
    BOUNDED_FROM,
    Interval,
    Measured,
    by_orbits,
    interval_progress,
    keep_interval,
    kinds_of,
    read_interval,
)
from coordinator.graphs.strong import StrongComponents, WeakComponent, of_undirected, strong_components, weak_components
from coordinator.layers.best_play import Play, best_play
from coordinator.layers.paths import least_goal, path_from_start, real_path, require_path, search_path
from coordinator.layers.search import Explored, Reached
from coordinator.runs.catalogue import data_directory, find_run
from coordinator.runs.create import make_run, pinned_puzzle
from coordinator.runs.drive import drive
from coordinator.runs.kinds import kind_of
from coordinator.runs.summary import summarise
from coordinator.session.control import Control, Observer, SilentObserver
from coordinator.session.resources import Resources
from coordinator.session.session import ComputeContext
from coordinator.trees.solutions import found_solutions
from puzzles.capabilities import Placements, Quotient
from puzzles.keys.layout import Key, Keys
from puzzles.keys.order import order_of
from puzzles.registry import PuzzleSpec
from storage.engine.probe import require_sound
from storage.errors import StorageError
from storage.layers.store import RunStore
from storage.ledger.lock import RunLock
from storage.ledger.manifest import ComponentRecord, Depth, LayerRecord
from storage.results.census import read_component, read_labels, read_pairs
from worker.graphs.searches import Graph

GOAL = "goal"
#: What sorting a configuration takes besides two copies of its key: its place in the order, and its depth, twice.
_BYTES_BESIDE_KEY = 16


@dataclass(frozen=True)
class Diameter:
    """The exact distances of one component, and unordered pairs that attain the diameter, as keys (pairs, 2).

    All pairs where `record.pair_count` is their number; else as many as were found on the way.
    """

    record: ComponentRecord
    pairs: Keys

    @property
    def diameter(self) -> int:
        """The greatest distance between two configurations, in moves."""
        return self.record.diameter


@dataclass(frozen=True)
class ShortestPath:
    """A shortest path: its keys from source to target, their texts, and one description per move."""

    keys: list[Key]
    configurations: list[str]
    moves: list[str]

    def __len__(self) -> int:
        """The number of moves."""
        return len(self.moves)


class Run:
    """An open run; close it, or use it in a ``with``. `puzzle` is the run's, `store` its data.

    `resources` are those of this process that questions may take: threads and memory.
    """

    def __init__(self, store: RunStore, resources: Resources | None = None) -> None:
        """Takes `store` over, and closes it if the run's puzzle is not the one of this program.

        Where `resources` say nothing, what the run was made with counts.
        """
        self.store = store
        self.resources = (resources or Resources()).here().over(store.manifest.settings)
        try:
            self.puzzle, self.spec = pinned_puzzle(store)
        except BaseException:
            store.close()
            raise

    def close(self) -> None:
        """Close the store."""
        self.store.close()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """The run's full name."""
        return self.store.manifest.run

    @property
    def whole(self) -> bool:
        """Whether this is a census of the whole space, not a search from a start."""
        return self.store.manifest.mode == "whole"

    @property
    def tree(self) -> Placements:
        """The puzzle of a run of a tree; `UnanswerableError` for any other."""
        if isinstance(self.puzzle, Placements):
            return self.puzzle
        raise UnanswerableError(f"run {self.name} is no tree: it has no solutions to list")

    def solutions(self) -> Iterator[Keys]:
        """Of a tree: the least image of one solution of each orbit, batch by batch.

        In increasing order when the run is complete, else what was found up to now. `UnanswerableError` if the run
        keeps none.
        """
        return found_solutions(self.store)

    @property
    def _reached(self) -> Reached:
        return Reached.of(self.store.state)

    @property
    def _components(self) -> int:
        return Counted.of(self.store.state).components or 0

    def summary(self) -> dict[str, Any]:
        """What ``hakoiri run --json`` prints."""
        return summarise(kind_of(self.store.manifest.mode)(self.store, self.puzzle), self.resources.budget())

    @property
    def layer_sizes(self) -> list[int]:
        """The number of configurations in each layer; of a whole space, which has no distances, the one number."""
        return [record.size for record in self.layer_records()]

    def layer_records(self) -> list[LayerRecord]:
        """Size, digest and goals of each layer."""
        return self.store.layer_records()

    def layer(self, depth: Depth) -> Keys:
        """The keys of layer `depth`, strictly increasing, in the puzzle's layout."""
        if not 0 <= depth <= self.store.state.depth:
            raise UnanswerableError(f"run {self.name} has layers 0 to {self.store.state.depth}, not {depth}")
        return self.store.layer(depth)

    def configurations(self) -> tuple[Keys, np.ndarray]:
        """All keys of the run in increasing order, and for each its depth or, of a whole space, its component."""
        self._require_graph()
        if self.store.state.depth < 0:
            return self.puzzle.keys([]), np.empty(0, dtype=np.uint32)
        self._require_memory_for_all()
        if self.whole:
            keys = self.store.layer(0)
            return keys, read_labels(self.store, len(keys))
        layers = [self.store.layer(depth) for depth in range(self.store.state.depth + 1)]
        depths = np.repeat(np.arange(len(layers), dtype=np.uint32), [len(layer) for layer in layers])
        keys = np.concatenate(layers)
        order = order_of(keys)
        return keys[order], depths[order]

    def graph(self) -> tuple[Keys, Graph]:
        """All keys in increasing order and the graph of the moves between them (`worker.graphs.searches.Graph`)."""
        keys, _ = self.configurations()
        with self._context() as context:
            return keys, build_graph(context, keys, closed=self._reached.exhausted)

    def components(self, limit: int | None = None) -> list[ComponentRecord]:
        """The components, largest first, ties by least key; of a search from a start, its own only.

        Of a directed puzzle these have no distances: `weak_components` and `strong_components` tell what there is.
        """
        self._require_complete()
        self._require_undirected()
        if not self.whole:
            return [self.diameter().record]
        count = self._components
        return [read_component(self.store, number) for number in range(min(count, limit or count))]

    def weak_components(self) -> list[WeakComponent]:
        """The components that hang together whichever way moves lead, largest first, ties by least key.

        What a start reaches is one of them.
        """
        self._require_complete()
        if self.whole:
            return weak_components(*self.configurations())
        return [WeakComponent(0, self._reached.configurations, self._least_key())]

    def strong_components(self, control: Control | None = None, observer: Observer | None = None) -> StrongComponents:
        """The components whose configurations all lead to each other, each with its exact diameter.

        The moves are held in memory: raises `OverBudgetError` where it is too little. `control` may end it (`StopRun`).
        """
        self._require_complete()
        control, observer = control or Control(), observer or SilentObserver()
        if not self.puzzle.undirected:
            weak, (keys, _) = len(self.weak_components()), self.configurations()
            with self._context(control) as context:
                return strong_components(context, keys, weak, control, observer)
        count = self._components if self.whole else 1
        found = (self.diameter(number, control, observer) for number in range(count))
        return of_undirected((one.record, one.pairs) for one in found)

    def diameter(
        self, component: int | None = None, control: Control | None = None, observer: Observer | None = None
    ) -> Diameter:
        """The exact diameter of a component, by default the largest, of a search from a start its own.

        Of a large component that takes long: `observer` hears of the interval in which it lies, which is kept when
        `control` ends it (`StopRun`), and so is the answer. Raises `OverBudgetError` where memory is too little.
        """
        self._require_complete()
        self._require_undirected()
        count = self._components if self.whole else 1
        number = component or 0
        if not 0 <= number < count:
            raise UnanswerableError(f"run {self.name} has the components 0 to {count - 1}, not {number}")
        if self.whole:
            return Diameter(read_component(self.store, number), read_pairs(self.store, number))
        return self._measure(control or Control(), observer or SilentObserver())

    def best_play(self, resources: Resources | None = None) -> Play:
        """Of a finished run whose moves score: the play with the highest score, and of these one of fewest moves.

        Raises `OverBudgetError` where memory is too little.
        """
        return best_play(
            self.store, self.puzzle, (resources or Resources()).over(self.store.manifest.settings).budget()
        )

    def interval(self) -> Interval | None:
        """What an earlier `diameter` of this run, finished or interrupted, proved of it."""
        return read_interval(self.store)

    def distance(self, target: str, source: str | None = None) -> int:
        """The exact distance in moves from the start, or from `source`, to `target` (texts or ``0x`` keys)."""
        return len(self.path(target, source))

    def path(self, target: str = GOAL, source: str | None = None) -> ShortestPath:
        """A shortest path to `target`, a configuration or ``"goal"``, from the start or from `source`.

        Raises `UnanswerableError` if there is none, `ConfigurationError` for a text that is no configuration.
        """
        self._require_graph()
        origin = self.puzzle.start if source is None else self.puzzle.parse(source)
        path = self._path_of_keys(origin, target)
        return self._spell_out(real_path(self.puzzle, path, self._real_start(source)))

    def _path_of_keys(self, origin: Key, target: str) -> list[Key]:
        key = None if target == GOAL else self.puzzle.parse(target)
        if not self.whole and origin == self.puzzle.start:
            return self._path_to_goal() if key is None else self._path_within_layers(key)
        with self._context() as context:
            path = search_path(context, self.store, origin, key, Control())
        return require_path(path, self.puzzle.render(origin), target)

    def _path_to_goal(self) -> list[Key]:
        depth = Explored.of(self.store.state).goal_depth
        if depth is None:
            raise UnanswerableError(f"run {self.name} found no goal {self._where_it_looked()}")
        goal = least_goal(self.puzzle, self.store.blocks(depth))
        return path_from_start(self.store, self.puzzle, goal, depth)

    def _path_within_layers(self, key: Key) -> list[Key]:
        depth = self.store.find(key)
        if depth is None:
            raise UnanswerableError(f"run {self.name} did not find {self.puzzle.render(key)} {self._where_it_looked()}")
        return path_from_start(self.store, self.puzzle, key, depth)

    def _where_it_looked(self) -> str:
        if self._reached.exhausted:
            return "among all that its start can reach"
        return f"up to layer {self.store.state.depth}, as far as it went; {self._how_to_go_on()}"

    def _how_to_go_on(self) -> str:
        if self.store.state.status == "complete":
            return "run the puzzle again without --until-goal"
        return f"go on with 'hakoiri resume {self.name}'"

    def _real_start(self, source: str | None) -> Key:
        """The configuration that the user named, where merged mirrors would know only its class."""
        base = self.puzzle.base if isinstance(self.puzzle, Quotient) else self.puzzle
        return base.start if source is None else base.parse(source)

    def _spell_out(self, keys: list[Key]) -> ShortestPath:
        return ShortestPath(keys, [self.puzzle.render(key) for key in keys], self.puzzle.describe_moves(keys))

    def _measure(self, control: Control, observer: Observer) -> Diameter:
        size = self._reached.configurations
        kinds = kinds_of(self.puzzle, self.store)
        if kinds is None and size >= BOUNDED_FROM:
            return self._bound(control, observer)
        if kinds is not None:
            with self._context(control) as context:
                found = by_orbits(context, self.store, kinds, control, observer)
        else:
            keys, graph = self.graph()
            with self._context(control) as context:
                exact = measure_component(context, graph)
            found = Measured(
                exact.diameter, exact.radius, len(exact.centre), len(exact.periphery), len(exact.pairs),
                keys[exact.pairs],
            )  # fmt: skip
        record = ComponentRecord(
            0, size, found.diameter, found.radius, found.centre, found.periphery, found.pair_count, self._least_key()
        )
        return Diameter(record, found.pairs)

    def _bound(self, control: Control, observer: Observer) -> Diameter:
        known = self.interval()
        if known is None or not known.exact:
            keys, graph = self.graph()

            def report(interval: Interval) -> None:
                nonlocal known
                known = interval
                observer.progress(interval_progress(interval.lower, interval.upper))
                control.check()

            try:
                with self._context(control) as context:
                    known = bound_component(context, graph, keys, known, report)
            finally:
                if known is not None:
                    self._remember(known)
        size = self._reached.configurations
        record = ComponentRecord(0, size, known.lower, None, None, None, None, self._least_key())
        return Diameter(record, self.puzzle.keys(list(known.pair)).reshape(1, 2, *self.puzzle.keys([0]).shape[1:]))

    def _context(self, control: Control | None = None) -> AbstractContextManager[ComputeContext]:
        """Threads of this process, for questions that need some computing."""
        return open_context(self.puzzle, self.spec, self.resources, control or Control(), SilentObserver())

    def _require_memory_for_all(self) -> None:
        """`OverBudgetError` where all configurations do not fit the memory: twice, with their depths and an order."""
        count = self._reached.configurations
        needed = count * (2 * self.store.layout.bytes + _BYTES_BESIDE_KEY)
        self.resources.budget().require(f"a list of all {count:,} configurations of run {self.name}", needed)

    def _least_key(self) -> Key:
        return min(self.store.first_keys(depth)[0] for depth in range(self.store.state.depth + 1))

    def _remember(self, interval: Interval) -> None:
        """Write an interval into the run, unless somebody else is writing or nothing can be written."""
        directory = self.store.directory
        self.store.close()
        try:
            with RunLock(directory), RunStore(directory, writable=True) as store:
                keep_interval(store, interval)
        except StorageError:
            pass
        finally:
            self.store = RunStore(directory)

    def _require_graph(self) -> None:
        if isinstance(self.puzzle, Placements):
            raise UnanswerableError(
                f"run {self.name} is a tree of placings and no graph of moves: it has no paths, distances or "
                f"components; ask 'hakoiri solutions {self.name}'"
            )

    def _require_complete(self) -> None:
        self._require_graph()
        if not self._reached.exhausted:
            why = "stopped at its first goal" if self.store.state.status == "complete" else "is not finished"
            raise UnanswerableError(f"run {self.name} {why}, so its components are not known; {self._how_to_go_on()}")

    def _require_undirected(self) -> None:
        if not self.puzzle.undirected:
            raise UnanswerableError(
                f"{self.puzzle.name} is directed: its configurations need not all lead to each other; for the "
                f"diameters of those that do ask 'hakoiri components {self.name} --strong'"
            )


def open_run(name: str = "last", data: str | os.PathLike[str] | None = None, resources: Resources | None = None) -> Run:
    """A run by its name, a unique prefix, or ``last``; `data` as for the command line, `resources` as for `Run`.

    Raises `UnknownRunError`, and `DamagedError` if its file cannot be read.
    """
    directory = find_run(data_directory(data), name)
    require_sound(directory)
    return Run(RunStore(directory), resources)


def explore(
    puzzle: str = "klotski", options: Mapping[str, str] | None = None, *, start: str | None = None,
    merge_mirrors: bool = False, until_goal: bool = False, data: str | os.PathLike[str] | None = None,
    resources: Resources | None = None, observer: Observer | None = None,
) -> Run:  # fmt: skip
    """A new run, driven to its end in this process: all that `start` reaches, layer by layer."""
    spec = PuzzleSpec(puzzle, dict(options or {}), start, merge_mirrors)
    return _run_to_end(spec, None, {"until_goal": True} if until_goal else {}, data, resources, observer)


def census(
    puzzle: str = "klotski", options: Mapping[str, str] | None = None, *, start: str | None = None,
    merge_mirrors: bool = False, data: str | os.PathLike[str] | None = None, resources: Resources | None = None,
    observer: Observer | None = None,
) -> Run:  # fmt: skip
    """A new run, driven to its end in this process: every configuration, component and exact diameter there is.

    `start` is for puzzles whose board it says (``sliding``), and for these alone.
    """
    spec = PuzzleSpec(puzzle, dict(options or {}), start, merge_mirrors)
    return _run_to_end(spec, "whole", {}, data, resources, observer)


def _run_to_end(
    spec: PuzzleSpec, mode: str | None, plan: Mapping[str, Any], data: str | os.PathLike[str] | None,
    resources: Resources | None, observer: Observer | None,
) -> Run:  # fmt: skip
    resources = resources or Resources()
    directory: Path = make_run(data_directory(data), spec, mode, plan, resources)
    state = drive(directory, resources, Control(), observer or SilentObserver())
    if state.status != "complete":
        raise RunError(f"run {directory.name} is {state.status}: {state.reason}")
    return Run(RunStore(directory), resources)
