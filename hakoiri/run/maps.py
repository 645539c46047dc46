"""Maps of the components of an open run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.distances import component_keys
from hakoiri.coordinator.session.session import ComputeContext, Control, Observer
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import lower_bounds, order_of
from hakoiri.run import components
from hakoiri.run.opened import OpenRun
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results import read_component
from hakoiri.worker.graphs import layout
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

#: Components of up to this many configurations are shown completely; larger ones only by the layers nearest to the
#: origin with up to this many together.
MOST_SHOWN, MOST_OF_LARGER = 100_000, 20_000
#: Bytes of a vertex for its coordinates and moves, besides three copies of its row of distances from the pivots.
_BYTES_BESIDE_ROWS = 400
#: The stress is that of all pairs with this many vertices, chosen at random if there are more.
_STRESS_SOURCES = 500


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


def map_of(
    run: OpenRun, component: int | None = None, axes: int = 3, control: Control | None = None,
    observer: Observer | None = None,
) -> Map:  # fmt: skip
    """Return the layout of a component in space (or in a plane: `axes` 2), by default that of the puzzle's start.

    The same run gives the same map. Raises `OverBudgetError` if the memory is too small, `StopRun` by `control`.
    """
    number = mapped_component(run, component)
    with run.context(control, observer) as context:
        size, origin, keys = _shown(run, number, context)
        whole = len(keys) == size
        graph = build_graph(context, keys, whole)
        eccentricities = None
        if whole and run.puzzle.undirected:
            eccentricities = components.eccentricities_among(run, context, number, keys, graph)
        order = search_order(
            graph if run.puzzle.undirected else both_ways(graph), int(lower_bounds(keys, run.puzzle.keys([origin]))[0])
        )
        graph = inner_graph(graph, np.zeros(len(order), dtype=np.int32), order)
        seed = int(run.store.state.digest[:16] or "0", 16)
        laid = lay_out(context, graph if run.puzzle.undirected else both_ways(graph), axes, seed)
    keys, depths = keys[order], distances_from(graph, 0)
    sources = np.repeat(np.arange(len(graph.offsets) - 1, dtype=np.uint32), np.diff(graph.offsets))
    moves = np.stack([sources, graph.targets.astype(np.uint32)], axis=1)
    return Map(
        number, size, whole, keys, laid.places,
        moves[moves[:, 0] < moves[:, 1]] if run.puzzle.undirected else moves, depths,
        _goals(run, keys, graph, depths, whole), None if eccentricities is None else eccentricities[order],
        laid.stress,
    )  # fmt: skip


@dataclass(frozen=True)
class GraphLayout:
    """The coordinates of each vertex, (vertices, axes), and the stress: the error of the distances shown."""

    places: NDArray[np.float32]
    stress: float


def lay_out(context: ComputeContext, graph: Graph, axes: int, seed: int) -> GraphLayout:
    """Return the layout of a connected, undirected graph on 2 or 3 axes; deterministic for each seed.

    Fastest if the vertices are in the order of a search from the first. Raises `OverBudgetError` if the memory is too
    small, and `StopRun`.
    """
    vertices = len(graph.offsets) - 1
    needed = vertices * (12 * layout.pivot_count(vertices) + _BYTES_BESIDE_ROWS)
    context.budget.require(f"a map of {vertices:,} configurations", needed)
    random = np.random.default_rng(seed)
    pivots = layout.choose_pivots(graph, random)
    context.control.check()
    places = layout.pivot_places(pivots, axes)
    headline = f"laying out {vertices:,} configurations"
    for number, _ in enumerate(layout.refined(graph, pivots, places, axes, random), 1):
        context.tell(Progress(number, layout.round_count(vertices), "rounds at most", headline))
    found = layout.along_axes(places)
    sources = random.choice(vertices, min(vertices, _STRESS_SOURCES), replace=False).astype(np.int32)
    return GraphLayout(np.ascontiguousarray(found[:axes].T), layout.stress(graph, found, sources))


def mapped_component(run: OpenRun, component: int | None = None) -> int:
    """Return the component that `map` shows; `UnanswerableError` without one."""
    run.require_stored()
    if run.is_census or run.puzzle.several_starts is not None:
        components.require_known(run)
    run.require_layer(0)
    return components.number_of(run, component)


def _shown(run: OpenRun, number: int, context: ComputeContext) -> tuple[int | None, Key, Keys]:
    """Return the size of a component, the origin, and the configurations to show in increasing order.

    A large component is shown by layers: from the start of a search, in a census from its start or least configuration.
    """
    if not run.is_census:
        sizes = run.layer_sizes
        most = MOST_SHOWN if sum(sizes) <= MOST_SHOWN else MOST_OF_LARGER
        layers = [run.layer(depth) for depth in range(max(1, int(np.searchsorted(np.cumsum(sizes), most, "right"))))]
        size, origin = sum(sizes) if run.exhausted else None, key_at(layers[0], 0)
    else:
        record = read_component(run.store, number)
        size = record.size
        origin = run.puzzle.start if number == components.start_component(run) else record.representative
        if record.size > MOST_SHOWN:
            layers, whole = layers_within(run.puzzle, run.puzzle.keys([origin]), MOST_OF_LARGER + 1)
            layers = layers if whole else layers[:-1]
        else:
            layers = [component_keys(context, run.store, number)]
    keys = np.concatenate(layers)
    return size, origin, keys[order_of(keys)]


def _goals(run: OpenRun, keys: Keys, graph: Graph, depths: Distances, whole: bool) -> Distances | None:
    """Return the distance of each configuration to its nearest goal, as far as known."""
    if not whole:
        known = run.known_distances()
        return depths if run.start_is_the_goal() else None if known is None else known.of(keys).astype(np.int32)
    goals = np.flatnonzero(run.puzzle.is_goal(keys)).astype(np.int32)
    return distances_from(graph if run.puzzle.undirected else transposed(graph), goals) if len(goals) else None
