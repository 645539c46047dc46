"""What an open run says of its components: their sizes, distances and exact diameters."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from hakoiri.coordinator.errors import RunError, UnanswerableError
from hakoiri.coordinator.graphs.bounding import known_of, make_bounding
from hakoiri.coordinator.graphs.census import Census, Counted
from hakoiri.coordinator.graphs.diameter import BOUNDED_FROM, Kinds, kinds_of
from hakoiri.coordinator.graphs.measuring import measured_component
from hakoiri.coordinator.graphs.strong import StrongComponents, WeakComponent, of_undirected, strong_components
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, Observer, Session, SilentObserver
from hakoiri.coordinator.spaces.slabs import NOWHERE, Slabs
from hakoiri.paths import PathAnswers
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Configuration, Key, Keys
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.results.census import read_component, read_pairs


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

    def components(self, limit: int | None = None) -> list[ComponentRecord]:
        """The components, largest first, ties by least key; of a search from a start, its own only.

        Of a directed puzzle these have no distances: `weak_components` and `strong_components` tell what there is.
        """
        self._require_complete()
        self.require_components()
        self._require_undirected()
        if not self.whole:
            return [self.diameter().record]
        count = self._components
        return [read_component(self.store, number) for number in range(min(count, limit or count))]

    def component_of(self, configuration: Configuration) -> int:
        """The number of the component, of a directed puzzle the weak one, that a configuration lies in."""
        self._require_complete()
        self.require_components()
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
        self.require_components()
        if self.whole:
            records = (read_component(self.store, number) for number in range(self._components))
            return [WeakComponent(record.component, record.size, record.representative) for record in records]
        return [WeakComponent(0, self._reached.configurations, self._least_key())]

    def strong_components(
        self, control: Control | None = None, observer: Observer | None = None, resources: Resources | None = None
    ) -> StrongComponents:
        """The components whose configurations all lead to each other, each with its exact diameter.

        The moves are held in memory: raises `OverBudgetError` where it is too little. `control` may end it (`StopRun`).
        RQ workers find them and measure components of less than 50,000 configurations, if `resources` name them.
        """
        self._require_complete()
        self.require_components()
        control, observer = control or Control(), observer or SilentObserver()
        if not self.puzzle.undirected:
            weak, keys = len(self.weak_components()), self._all_keys(control)
            with self._context(control, observer, workers=resources) as context:
                return strong_components(context, keys, weak)
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
        of each configuration is found, and so all these, the number of each and all diametral pairs. What a large
        component takes is done by a run of its own (`coordinator.graphs.bounding`), which belongs to this one: by RQ
        workers, if `resources` name them; it is resumed where it stopped, and kept. Raises `RunError` where `control`
        ends that, `StopRun` where it ends anything else, `OverBudgetError` where memory is too little.
        """
        number, control, observer = self.component_asked(component), control or Control(), observer or SilentObserver()
        if self.needs_bounding(number, every):
            resources = resources or self.resources
            self.driven(make_bounding(self.store, resources, number, every), resources, control, observer)
        if (known := self.known_diameter(number, every)) is not None:
            return known
        if self.whole and not every:
            record = read_component(self.store, number)
            if record.diameter is None:
                return self._measure_left_out(number, control, observer)
            return Diameter(record, read_pairs(self.store, number))
        return self._measure(number, every, control, observer)

    def needs_bounding(self, component: int, every: bool) -> bool:
        """Whether its eccentricities, `every` one or the greatest, must be found by a run of their own, and are not."""
        if self.whole:
            size = read_component(self.store, component).size if every else 0
        else:
            size = 0 if self._kinds else self._reached.configurations
        return size >= BOUNDED_FROM and self.known_diameter(component, every) is None

    def driven(self, directory: Path, resources: Resources, control: Control, observer: Observer) -> None:
        """Drive a run that belongs to this one to its end; `RunError` where it stops before."""
        state = drive(directory, resources, control, observer)
        if state.status != "complete":
            step = Step("resume", directory.name, str(directory.parent))
            raise RunError(f"run {directory.name} is {state.status}: {state.reason}", step)

    def component_asked(self, component: int | None) -> int:
        """A component whose distances can be asked for, by default that of the puzzle's start; `UnanswerableError`."""
        self._require_complete()
        self.require_components()
        self._require_undirected()
        return self._number_of(component)

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

    @property
    def by_symmetries(self) -> bool:
        """Whether kinds of configurations may settle the distances, which only a look at all of them tells."""
        return not self.whole and self.puzzle.orbits(self.puzzle.keys([self.puzzle.start])) is not None

    @cached_property
    def _kinds(self) -> Kinds | None:
        """The kinds of configurations by symmetries, if the puzzle knows them; of a whole space nobody asks."""
        return None if self.whole else kinds_of(self.puzzle, self.store)

    def known_diameter(self, component: int, every: bool) -> Diameter | None:
        """What a run of the component's eccentricities has found, if there is one."""
        known = known_of(self.store, self.puzzle, component, every)
        return None if known is None else Diameter(*known)

    @cached_property
    def _measured(self) -> dict[tuple[int, bool], Diameter]:
        """What was measured by this process and is kept nowhere: by component, and whether every one was asked for."""
        return {}

    def _measure(self, component: int, every: bool, control: Control, observer: Observer) -> Diameter:
        """A component that is small, or has few kinds of configurations."""
        if (component, every) not in self._measured:
            with self._context(control, observer) as context:
                found = measured_component(context, self.store, component, self._kinds, every)
            known = read_component(self.store, component) if self.whole else self.weak_components()[component]
            record = found.record(component, known.size, known.representative)
            self._measured[component, every] = Diameter(record, found.pairs, found.central, found.eccentricities)
        return self._measured[component, every]

    def _measure_left_out(self, number: int, control: Control, observer: Observer) -> Diameter:
        """A component that the census was not asked for; that is not kept, for the run is what it is."""
        observer.progress(Progress(headline=f"measuring component {number}"))
        with self._context(control, observer) as context:
            return Diameter(*Census(Session(self.store, context)).measured_alone(number))

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
