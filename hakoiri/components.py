"""What an open run says of its components: their sizes, distances and exact diameters."""

from dataclasses import dataclass
from typing import cast

from coordinator.errors import UnanswerableError
from coordinator.graphs.census import Counted
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
from coordinator.graphs.measuring import bound_component, measure_component
from coordinator.graphs.strong import StrongComponents, WeakComponent, of_undirected, strong_components
from coordinator.session.session import Control, Observer, SilentObserver
from coordinator.spaces.slabs import NOWHERE, Slabs
from coordinator.spaces.wanted import DIAMETERS
from hakoiri.paths import PathAnswers
from puzzles.errors import Step
from puzzles.keys.layout import Configuration, Key, Keys
from storage.errors import StorageError
from storage.layers.store import RunStore
from storage.ledger.lock import RunLock
from storage.ledger.manifest import ComponentRecord
from storage.results.census import read_component, read_pairs


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
        return cast(int, self.record.diameter)


class ComponentAnswers(PathAnswers):
    """An open run that may be asked for its components."""

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

    def component_of(self, configuration: Configuration) -> int:
        """The number of the component, of a directed puzzle the weak one, that a configuration lies in."""
        self._require_complete()
        key = self.puzzle.parse(configuration)
        if not self.whole:
            self._depth_of(key)
            return 0
        slabs = Slabs(self.store)
        places = slabs.places_of(self.puzzle.keys([key]))
        if places[0] == NOWHERE:
            raise self.not_found(f"did not find {self.puzzle.render(key)}")
        return int(slabs.labels_at(places)[0])

    def weak_components(self) -> list[WeakComponent]:
        """The components that hang together whichever way moves lead, largest first, ties by least key.

        What a start reaches is one of them.
        """
        self._require_complete()
        if self.whole:
            records = (read_component(self.store, number) for number in range(self._components))
            return [WeakComponent(record.component, record.size, record.representative) for record in records]
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
        """The exact diameter of a component, by default that of the puzzle's start.

        Of a large component that takes long: `observer` hears of the interval in which it lies, which is kept when
        `control` ends it (`StopRun`), and so is the answer. Raises `OverBudgetError` where memory is too little.
        """
        self._require_complete()
        self._require_undirected()
        count = self._components if self.whole else 1
        number = self.start_component if component is None else component
        if not 0 <= number < count:
            raise UnanswerableError(f"run {self.name} has the components 0 to {count - 1}, not {number}")
        if self.whole:
            record = read_component(self.store, number)
            if record.diameter is None:
                wanted = self.store.manifest.plan[DIAMETERS]
                raise UnanswerableError(
                    f"component {number} of run {self.name} was not measured: the run was made for diameters {wanted}",
                    Step("run without", DIAMETERS),
                )
            return Diameter(record, read_pairs(self.store, number))
        return self._measure(control or Control(), observer or SilentObserver())

    @property
    def start_component(self) -> int:
        """The component of the puzzle's start; of a search from a start its only one."""
        known = Counted.of(self.store.state).start_component if self.whole else 0
        return self.component_of(self.puzzle.start) if known is None else known

    def interval(self) -> Interval | None:
        """What an earlier `diameter` of this run, finished or interrupted, proved of it."""
        return read_interval(self.store)

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

    @property
    def _components(self) -> int:
        return Counted.of(self.store.state).components or 0

    def _least_key(self) -> Key:
        return min(self.store.first_keys(depth)[0] for depth in range(self.store.state.depth + 1))

    def _require_undirected(self) -> None:
        if not self.puzzle.undirected:
            raise UnanswerableError(
                f"{self.puzzle.name} is directed: its configurations need not all lead to each other, only those "
                "of its strong components do",
                Step("ask", self.name, "strong components"),
            )
