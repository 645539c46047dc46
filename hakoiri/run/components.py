"""Answers from an open run about its components: their sizes, distances and exact diameters."""

from dataclasses import replace
from functools import cached_property

from hakoiri.coordinator.census.census import CensusFigures
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.graphs.bounding import KIND, known_of
from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.graphs.distances import DistancePolicy, component_keys
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver
from hakoiri.coordinator.graphs.strong import StrongComponents, of_undirected, strong_components
from hakoiri.coordinator.runs.create import Derived
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.errors import Hint
from hakoiri.keys.layout import Configuration, Keys
from hakoiri.run.paths import PathAnswers
from hakoiri.storage.ledger.manifest import ComponentRecord
from hakoiri.storage.results import Diameter, read_arrays, read_component, read_diameter
from hakoiri.worker.census.slabs import NOWHERE, Slabs
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.searches import Distances, Graph

#: The most diametral pairs that are written as texts.
_WRITTEN = 12


class ComponentAnswers(PathAnswers):
    """An open run that answers questions about its components."""

    def components(self, limit: int | None = None) -> list[ComponentRecord]:
        """Return the components, largest first, ties by least key; a search from a start has only one.

        The components of a directed puzzle have no distances: use `weak_components` and `strong_components`.
        """
        found = self.weak_components(limit) if self.is_census else [self.diameter().record]
        self._require_undirected()
        return found

    def component_of(self, configuration: Configuration) -> int:
        """Return the number of a configuration's component, in a directed puzzle of its weak one."""
        self._require_complete()
        self.require_components()
        key = self.puzzle.parse(configuration)
        if not self.is_census:
            self._depth_of(key)
            return 0
        slabs = Slabs(self.store)
        places = slabs.places_of(self.puzzle.keys([key]))
        if places[0] == NOWHERE:
            raise self.not_found(f"did not find {self.puzzle.render(key)}")
        return int(slabs.labels_at(places)[0])

    def weak_components(self, limit: int | None = None) -> list[ComponentRecord]:
        """Return the components connected by moves of any direction, largest first, ties by least key.

        A search from a start is one of them. Only components measured by a census have distances.
        """
        self._require_complete()
        self.require_components()
        if self.is_census:
            count = self._components
            return [read_component(self.store, number) for number in range(min(count, limit or count))]
        least = min(self.store.first_keys(depth)[0] for depth in range(self.store.state.depth + 1))
        return [ComponentRecord(0, self._reached.configurations, None, None, None, None, None, least)]

    def strong_components(
        self, control: Control | None = None, observer: Observer | None = None, resources: Resources | None = None
    ) -> StrongComponents:
        """Return the components whose configurations all reach each other, with exact diameters.

        The moves are held in memory: raises `OverBudgetError` if it is too small. `control` may end it (`StopRun`). RQ
        workers find them and measure components of less than 50,000 configurations, if `resources` name them.
        """
        self._require_complete()
        self.require_components()
        if not self.puzzle.undirected:
            weak = self._components if self.is_census else 1
            with self._context(control, observer, workers=resources) as context:
                return strong_components(context, run_keys(context, self.store), weak)
        count = self._components if self.is_census else 1
        found = (self.diameter(number, control, observer) for number in range(count))
        return of_undirected(found)

    def diameter(
        self,
        component: int | None = None,
        control: Control | None = None,
        observer: Observer | None = None,
        *,
        every: bool = False,
        resources: Resources | None = None,
    ) -> Diameter:
        """Return the exact diameter of a component, by default that of the puzzle's start.

        For a large component without `every`, its radius, centre and periphery stay unknown. With `every` the
        eccentricity of each configuration is found, and so all these, the number of each and all diametral pairs. A
        large component is measured by a run of its own (`coordinator.graphs.bounding`), which belongs to this one: by
        RQ workers, if `resources` name them; it is resumed if interrupted, and kept. Raises `RunError` if `control`
        ends that run, `StopRun` if it ends other work, and `OverBudgetError` if the memory is too small.
        """
        number = self.component_asked(component)
        if self.needs_run(number, every):
            resources = resources or self.resources
            directory = self.eccentricity_run(number).make(resources, every=every)
            drive_to_end(directory, resources, control or Control(), observer or SilentObserver())
        if (known := self.known_diameter(number, every)) is not None:
            return self._drawn(known)
        with self._context(control, observer) as context:
            found = self._policy.measure(context, number, every)
        self._measured[number, every] = found = self._drawn(found)
        return found

    def _drawn(self, found: Diameter) -> Diameter:
        """Return distances with the boards of some pairs."""
        if found.texts:
            return found
        return replace(found, texts=tuple("  ".join(self.texts(pair)) for pair in found.pairs[:_WRITTEN]))

    def eccentricities(
        self, component: int | None = None, control: Control | None = None, observer: Observer | None = None
    ) -> tuple[Keys, Distances]:
        """Return all keys of a component in increasing order, and the eccentricity of each, in moves.

        The centre has the least, the periphery the greatest. What `diameter` found with `every` is used. Raises
        `OverBudgetError` if the memory is too small, `StopRun` by `control`.
        """
        number = self.component_asked(component)
        with self._context(control, observer) as context:
            keys = component_keys(context, self.store, number)
            return keys, self._eccentricities(context, number, keys, build_graph(context, keys))

    def _eccentricities(self, context: ComputeContext, component: int, keys: Keys, graph: Graph) -> Distances:
        """Return the eccentricity of each key of a component, in the order of the keys."""
        solver = EccentricitySolver(context, keys, graph)
        with self.eccentricity_run(component).opened() as store:
            solver.go_on(read_arrays(store) if store else {})
        solver.settle(Aim.ALL)
        return solver.bounds()[0]

    def eccentricity_run(self, component: int) -> Derived:
        """Return the run that finds the eccentricities of a component; its limit `every` requests all of them."""
        return Derived(self.store, self.puzzle, KIND, component=component)

    def needs_run(self, component: int, every: bool) -> bool:
        """Return whether eccentricities, `every` one or the greatest, still need a run of their own."""
        if self.known_diameter(component, every) is not None:
            return False
        return (every or not self.is_census) and self._policy.needs_run(component)

    def component_asked(self, component: int | None) -> int:
        """Return a component that has distances, by default that of the puzzle's start; `UnanswerableError`."""
        self._require_complete()
        self.require_components()
        self._require_undirected()
        return self.number_of(component)

    def number_of(self, component: int | None) -> int:
        """Return the number of an existing component, by default that of the puzzle's start."""
        count = self._components if self.is_census else 1
        number = self.start_component if component is None else component
        if not 0 <= number < count:
            raise UnanswerableError(f"run {self.name} has the components 0 to {count - 1}, not {number}")
        return number

    @property
    def start_component(self) -> int:
        """The component of the puzzle's start; a search from a start has only one."""
        known = CensusFigures.of(self.store.state).start_component if self.is_census else 0
        return self.component_of(self.puzzle.start) if known is None else known

    def may_be_symmetry(self, component: int) -> bool:
        """Return whether a component may have few kinds; only reading all of it tells."""
        return self._policy.may_be_symmetry(self._policy.size(component))

    @cached_property
    def _policy(self) -> DistancePolicy:
        moves = CensusFigures.of(self.store.state).moves if self.is_census else None
        return DistancePolicy(self.store, self.puzzle, self.resources.budget(), moves)

    def known_diameter(self, component: int, every: bool) -> Diameter | None:
        """Return the known distances of a component: from its run, a census, or this process."""
        if (known := known_of(self.eccentricity_run(component), component, every)) is not None:
            return known
        if (
            self.is_census
            and not every
            and (stored := read_diameter(self.store, component)).record.diameter is not None
        ):
            return stored
        return self._measured.get((component, every))

    @cached_property
    def _measured(self) -> dict[tuple[int, bool], Diameter]:
        """Distances measured by this process and not stored: by component, and whether `every` was given."""
        return {}

    @property
    def _components(self) -> int:
        return CensusFigures.of(self.store.state).components or 0

    def _require_undirected(self) -> None:
        if not self.puzzle.undirected:
            raise UnanswerableError(
                f"{self.puzzle.name} is directed, so its components have no distances; its strong components have",
                Hint("ask", self.name, "strong components"),
            )
