"""What an open run says of its components: their sizes, distances and exact diameters."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from coordinator.errors import UnanswerableError
from coordinator.graphs.building import build_graph
from coordinator.graphs.census import Census, Counted
from coordinator.graphs.diameter import (
    BOUNDED_FROM,
    MOST_PAIRS,
    Interval,
    Measured,
    by_orbits,
    keep_interval,
    kinds_of,
    read_interval,
)
from coordinator.graphs.eccentricities import Eccentricities, Settling, open_intervals
from coordinator.graphs.measuring import measure_component
from coordinator.graphs.strong import StrongComponents, WeakComponent, of_undirected, strong_components
from coordinator.session.resources import Resources
from coordinator.session.session import Control, Observer, Session, SilentObserver
from coordinator.spaces.slabs import NOWHERE, Slabs
from hakoiri.paths import PathAnswers
from puzzles.errors import Step
from puzzles.keys.layout import Configuration, Key, Keys, key_at
from storage.errors import StorageError
from storage.layers.store import RunStore
from storage.ledger.lock import RunLock
from storage.ledger.manifest import ComponentRecord, Progress
from storage.results.census import read_component, read_pairs
from worker.graphs.bounds import Aim
from worker.graphs.searches import Graph

#: Bounds of eccentricities are made durable so often, and when a question ends.
_KEEP_SECONDS = 15.0


@dataclass(frozen=True)
class Diameter:
    """The exact distances of one component, and unordered pairs that attain the diameter, as keys (pairs, 2).

    All pairs where `record.pair_count` is their number; else as many as were found on the way. `central` are some
    configurations of the centre and `eccentricities` says how many have each, where it was asked for or came with the
    rest.
    """

    record: ComponentRecord
    pairs: Keys
    central: Keys | None = None
    eccentricities: dict[int, int] | None = None

    @property
    def diameter(self) -> int:
        """The greatest distance between two configurations, in moves."""
        return cast(int, self.record.diameter)


class ComponentAnswers(PathAnswers):
    """An open run that may be asked for its components."""

    #: The diameter of a search from a start, once it was measured.
    _exact: Diameter | None = None

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
        self,
        component: int | None = None,
        control: Control | None = None,
        observer: Observer | None = None,
        *,
        every: bool = False,
        resources: Resources | None = None,
    ) -> Diameter:
        """The exact diameter of a component, by default that of the puzzle's start.

        Of a large component without `every` its radius, centre and periphery stay open. With `every` the eccentricity
        of each configuration is found, and so all these, the number of each and all diametral pairs; by RQ workers, if
        `resources` name them. What takes long tells `observer` how far it is; what is proved is kept when `control`
        ends it (`StopRun`), and every few seconds. Raises `OverBudgetError` where memory is too little.
        """
        self._require_complete()
        self._require_undirected()
        number = self._number_of(component)
        if every:
            return self._measure_every(number, control or Control(), observer or SilentObserver(), resources)
        if self.whole:
            record = read_component(self.store, number)
            if record.diameter is None:
                return self._measure_left_out(number, control or Control(), observer or SilentObserver())
            return Diameter(record, read_pairs(self.store, number))
        return self._measure(control or Control(), observer or SilentObserver())

    def _number_of(self, component: int | None) -> int:
        """A component that there is, by default that of the puzzle's start."""
        count = self._components if self.whole else 1
        number = self.start_component if component is None else component
        if not 0 <= number < count:
            raise UnanswerableError(f"run {self.name} has the components 0 to {count - 1}, not {number}")
        return number

    @property
    def start_component(self) -> int:
        """The component of the puzzle's start; of a search from a start its only one."""
        known = Counted.of(self.store.state).start_component if self.whole else 0
        return self.component_of(self.puzzle.start) if known is None else known

    def open_eccentricities(self, component: int | None = None) -> dict[tuple[int, int], int]:
        """How many eccentricities lie between which numbers, and are not known better, where `diameter` was stopped.

        It was asked for every one; empty where all are known, or none was looked for.
        """
        return open_intervals(self.store, self.start_component if component is None else component)

    def interval(self) -> Interval | None:
        """What an earlier `diameter` of this run, finished or interrupted, proved of it."""
        return read_interval(self.store)

    def _measure(self, control: Control, observer: Observer) -> Diameter:
        if self._exact is not None:
            return self._exact
        found = self._by_kinds(control, observer)
        if found is None and self._reached.configurations >= BOUNDED_FROM:
            return self._bound(control, observer)
        if found is None:
            keys, graph = self.graph()
            with self._context(control) as context:
                exact = measure_component(context, keys, graph)
            found = _in_keys(exact, keys)
        self._exact = self._answer(0, self._reached.configurations, self._least_key(), found)
        return self._exact

    def _measure_left_out(self, number: int, control: Control, observer: Observer) -> Diameter:
        """A component that the census was not asked for; that is not kept, for the run is what it is."""
        observer.progress(Progress(headline=f"measuring component {number}"))
        with self._context(control) as context:
            return Diameter(*Census(Session(self.store, context, control, observer)).measured_alone(number))

    def _by_kinds(self, control: Control, observer: Observer) -> Measured | None:
        """What symmetries settle, if the puzzle knows them."""
        kinds = None if self.whole else kinds_of(self.puzzle, self.store)
        if kinds is None:
            return None
        with self._context(control) as context:
            return by_orbits(context, self.store, kinds, control, observer)

    def _measure_every(
        self, number: int, control: Control, observer: Observer, resources: Resources | None
    ) -> Diameter:
        found = self._by_kinds(control, observer)
        if found is not None:
            return self._answer(0, self._reached.configurations, self._least_key(), found)
        keys, graph = self._component_graph(number)
        with self._context(control, None, resources, observer) as context:
            settling = Settling(context, keys, graph)
            del graph
            self._settle(settling, number, Aim.ALL, control, observer)
            exact, (eccentricities, _) = settling.ends(), settling.bounds()
        values, counts = np.unique(eccentricities, return_counts=True)
        histogram = dict(zip(values.tolist(), counts.tolist(), strict=True))
        return self._answer(number, len(keys), key_at(keys, 0), _in_keys(exact, keys, histogram))

    def _settle(self, settling: Settling, number: int, aim: Aim, control: Control, observer: Observer) -> None:
        """Go on from what was kept of the component, and keep what is proved."""
        settling.go_on(self.store, number)
        if not settling.left(aim):
            return
        kept = time.monotonic()

        def report() -> None:
            nonlocal kept
            observer.progress(settling.progress(aim))
            if time.monotonic() - kept >= _KEEP_SECONDS:
                self._remember(lambda store: settling.keep(store, number))
                kept = time.monotonic()
            control.check()

        try:
            settling.settle(aim, report)
        finally:
            self._remember(lambda store: settling.keep(store, number))

    def _component_graph(self, number: int) -> tuple[Keys, Graph]:
        """The keys of a component in increasing order, and the graph of the moves between them."""
        if not self.whole:
            return self.graph()
        keys, _ = Slabs(self.store).members(range(number, number + 1), Control())
        with self._context() as context:
            return keys, build_graph(context, keys)

    def _answer(self, number: int, size: int, least: Key, found: Measured) -> Diameter:
        record = ComponentRecord(
            number, size, found.diameter, found.radius, found.centre, found.periphery, found.pair_count, least
        )
        return Diameter(record, found.pairs, found.central, found.eccentricities)

    def _bound(self, control: Control, observer: Observer) -> Diameter:
        known = self.interval()
        if known is None or not known.exact:
            keys, graph = self.graph()
            with self._context(control) as context:
                settling = Settling(context, keys, graph)
                del graph
                try:
                    self._settle(settling, 0, Aim.DIAMETER, control, observer)
                finally:
                    known = settling.interval()
                    self._remember(lambda store: keep_interval(store, known))
        size = self._reached.configurations
        record = ComponentRecord(0, size, known.lower, None, None, None, None, self._least_key())
        return Diameter(record, self.puzzle.keys(list(known.pair)).reshape(1, 2, *self.puzzle.keys([0]).shape[1:]))

    def _remember(self, keep: Callable[[RunStore], None]) -> None:
        """Write what was proved into the run, unless somebody else is writing or nothing can be written."""
        directory = self.store.directory
        self.store.close()
        try:
            with RunLock(directory), RunStore(directory, writable=True) as store:
                keep(store)
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


def _in_keys(exact: Eccentricities, keys: Keys, eccentricities: dict[int, int] | None = None) -> Measured:
    return Measured(
        exact.diameter, exact.radius, len(exact.centre), len(exact.periphery), len(exact.pairs), keys[exact.pairs],
        keys[exact.centre[:MOST_PAIRS]], eccentricities,
    )  # fmt: skip
