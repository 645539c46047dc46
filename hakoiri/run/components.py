"""Answers from an open run about its components: their sizes, distances and exact diameters."""

from dataclasses import replace
from itertools import zip_longest

import numpy as np

from hakoiri.coordinator.census.census import CensusFigures
from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.graphs.bounding import KIND, known_of
from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.graphs.eccentricities import EccentricitySolver
from hakoiri.coordinator.graphs.strong import StrongComponents, of_undirected, strong_components
from hakoiri.coordinator.runs.create import Derived
from hakoiri.coordinator.runs.drive import drive_to_end
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer, SilentObserver
from hakoiri.errors import Hint
from hakoiri.keys.layout import Configuration, Keys, ints
from hakoiri.parameters import at_least, fitting
from hakoiri.run.opened import OpenRun
from hakoiri.storage.ledger.manifest import ComponentRecord
from hakoiri.storage.results import Diameter, read_arrays, read_component, read_diameter, read_profile
from hakoiri.worker.census.slabs import NOWHERE, Slabs
from hakoiri.worker.graphs.bounds import Aim
from hakoiri.worker.graphs.searches import Distances, Graph

#: The most diametral pairs that are written as texts.
_WRITTEN = 12


def components(run: OpenRun, limit: int | None = None) -> list[ComponentRecord]:
    """Return the components, largest first, ties by least key; a search from a start has only one.

    The components of a directed puzzle have no distances: use `weak_components` and `strong_components`. Raises
    `PuzzleError` for a limit below 1.
    """
    limit = None if limit is None else at_least(1, "limit", limit)
    found = weak_components(run, limit) if run.is_census else [diameter(run).record]
    _require_undirected(run)
    return found


def component_of(run: OpenRun, configuration: Configuration) -> int:
    """Return the number of a configuration's component, in a directed puzzle of its weak one."""
    require_known(run)
    key = run.puzzle.parse(configuration)
    if not run.is_census:
        run.depth_of(key)
        return 0
    slabs = Slabs(run.store)
    places = slabs.places_of(run.puzzle.keys([key]))
    if places[0] == NOWHERE:
        raise run.not_found(f"did not find {run.puzzle.render(key)}")
    return int(slabs.labels_at(places)[0])


def weak_components(run: OpenRun, limit: int | None = None) -> list[ComponentRecord]:
    """Return the components connected by moves of any direction, largest first, ties by least key.

    A search from a start is one of them. Only components measured by a census have distances.
    """
    most = _count(run) if limit is None else min(_count(run), at_least(1, "limit", limit))
    require_listed(run)
    if run.is_census:
        return [read_component(run.store, number) for number in range(most)]
    least = min(run.store.first_keys(depth)[0] for depth in range(run.store.state.depth + 1))
    return [ComponentRecord(0, run.reached.configurations, None, None, None, None, None, least)]


def strong(
    run: OpenRun, control: Control | None = None, observer: Observer | None = None, resources: Resources | None = None
) -> StrongComponents:
    """Return the components whose configurations all reach each other, with exact diameters.

    The moves are held in memory: raises `OverBudgetError` if it is too small. `control` may end it (`StopRun`). RQ
    workers find them and measure components of less than 50,000 configurations, if `resources` name them.
    """
    require_known(run)
    if run.puzzle.undirected:
        return of_undirected(diameter(run, number, control, observer) for number in range(_count(run)))
    with run.context(control, observer, workers=resources) as context:
        return strong_components(context, run_keys(context, run.store), _count(run))


def diameter(
    run: OpenRun, component: int | None = None, control: Control | None = None, observer: Observer | None = None, *,
    every: bool = False, resources: Resources | None = None,
) -> Diameter:  # fmt: skip
    """Return the exact diameter of a component, by default that of the puzzle's start.

    For a large component without `every`, its radius, centre and periphery stay unknown. With `every` the
    eccentricity of each configuration is found, and so all these, the number of each and all diametral pairs. A
    large component is measured by a run of its own (`coordinator.graphs.bounding`), which belongs to this one: by
    RQ workers, if `resources` name them; it is resumed if interrupted, and kept. Raises `RunError` if `control`
    ends that run, `StopRun` if it ends other work, and `OverBudgetError` if the memory is too small.
    """
    if (alike := cayley_diameter(run)) is not None:
        number_of(run, component)
        return _drawn(run, alike)
    number = component_asked(run, component)
    if needs_run(run, number, every):
        resources = resources or run.resources
        directory = eccentricity_run(run, number).make(resources, every=every)
        drive_to_end(directory, resources, control or Control(), observer or SilentObserver())
    if (known := known_diameter(run, number, every)) is not None:
        return _drawn(run, known)
    with run.context(control, observer) as context:
        found = run.policy.measure(context, number, every)
    run.measured[number, every] = found = _drawn(run, found)
    return found


def cayley_diameter(run: OpenRun) -> Diameter | None:
    """Return the distances in a finite directed graph whose configurations are all alike; ``None`` for other runs.

    Every eccentricity is the depth of the run then. A pair is one of the start and of the first of the last layer, and
    the pairs that are counted are ordered.
    """
    alike = run.puzzle.vertex_transitive and not (run.spec.merge_mirrors or run.is_census)
    if run.puzzle.undirected or not alike or run.puzzle.several_starts is not None or not run.exhausted:
        return None
    size, far, last = run.reached.configurations, run.depth, run.layer(-1)
    least = min(run.store.first_keys(depth)[0] for depth in range(far + 1))
    record = ComponentRecord(0, size, far, far, size, size, size * len(last), least)
    pair = run.puzzle.keys([run.puzzle.start, ints(last[:1])[0]])
    return Diameter(record, pair[np.newaxis], eccentricities={far: size})


def _drawn(run: OpenRun, found: Diameter) -> Diameter:
    """Return distances with the boards of some pairs."""
    if found.texts:
        return found
    return replace(found, texts=tuple("  ".join(run.texts(pair)) for pair in found.pairs[:_WRITTEN]))


def eccentricities(
    run: OpenRun, component: int | None = None, control: Control | None = None, observer: Observer | None = None
) -> tuple[Keys, Distances]:
    """Return all keys of a component in increasing order, and the eccentricity of each, in moves.

    The centre has the least, the periphery the greatest. What `diameter` found with `every` is used. Raises
    `OverBudgetError` if the memory is too small, `StopRun` by `control`.
    """
    number = component_asked(run, component)
    with run.context(control, observer) as context:
        keys = component_keys(context, run.store, number)
        return keys, eccentricities_among(run, context, number, keys, build_graph(context, keys))


def eccentricities_among(run: OpenRun, context: ComputeContext, component: int, keys: Keys, graph: Graph) -> Distances:
    """Return the eccentricity of each key of a component, in the order of the keys."""
    solver = EccentricitySolver(context, keys, graph)
    with eccentricity_run(run, component).opened() as store:
        solver.go_on(read_arrays(store) if store else {})
    solver.settle(Aim.ALL)
    return solver.bounds()[0]


def eccentricity_run(run: OpenRun, component: int) -> Derived:
    """Return the run that finds the eccentricities of a component; its limit `every` requests all of them."""
    return Derived(run.store, run.puzzle, KIND, component=component)


def needs_run(run: OpenRun, component: int, every: bool) -> bool:
    """Return whether eccentricities, `every` one or the greatest, still need a run of their own."""
    if known_diameter(run, component, every) is not None:
        return False
    return (every or not run.is_census) and run.policy.needs_run(component)


def component_asked(run: OpenRun, component: int | None) -> int:
    """Return a component that has distances, by default that of the puzzle's start; `UnanswerableError`."""
    require_listed(run)
    _require_undirected(run)
    return number_of(run, component)


def profile(run: OpenRun, component: int | None = None) -> list[int] | None:
    """Return the number of configurations at each distance from the least one of a component, by default the start's.

    ``None`` if the components were found by joining (`by` of a census).
    """
    return read_profile(run.store, number_of(run, component)) if run.is_census else None


def summed_profile(run: OpenRun) -> list[int]:
    """Return the sums of all profiles of a census; empty if its components were found by joining."""
    found = (read_profile(run.store, number) for number in range(_count(run))) if run.is_census else ()
    return [sum(sizes) for sizes in zip_longest(*(each for each in found if each), fillvalue=0)]


def number_of(run: OpenRun, component: int | None) -> int:
    """Return the number of an existing component, by default that of the puzzle's start."""
    count = _count(run)
    number: int = start_component(run) if component is None else fitting("component", component, int)
    if not 0 <= number < count:
        raise UnanswerableError(f"run {run.name} has the components 0 to {count - 1}, not {number}")
    return number


def require_listed(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` unless the components and all their configurations are known."""
    require_known(run)
    run.store.require_kept()


def require_known(run: OpenRun) -> None:
    """Raise `UnanswerableError` unless the components are known, which those of a run from several starts are not."""
    if run.puzzle.several_starts is not None:
        text = f"run {run.name} has several starts, so its components and their diameters are not known"
        raise UnanswerableError(text, Hint("run", run.puzzle.name))
    run.require_complete()
    run.require_components()


def start_component(run: OpenRun) -> int:
    """The component of the puzzle's start; a search from a start has only one."""
    known = CensusFigures.of(run.store.state).start_component if run.is_census else 0
    return component_of(run, run.puzzle.start) if known is None else known


def known_diameter(run: OpenRun, component: int, every: bool) -> Diameter | None:
    """Return the known distances of a component: from its run, a census, or this process."""
    if (known := known_of(eccentricity_run(run, component), component, every)) is not None:
        return known
    if run.is_census and not every and (stored := read_diameter(run.store, component)).record.diameter is not None:
        return stored
    return run.measured.get((component, every))


def _count(run: OpenRun) -> int:
    return (CensusFigures.of(run.store.state).components or 0) if run.is_census else 1


def _require_undirected(run: OpenRun) -> None:
    if not run.puzzle.undirected:
        raise UnanswerableError(
            f"{run.puzzle.name} is directed, so its components have no distances; its strong components have",
            Hint("ask", run.name, "strong components"),
        )
