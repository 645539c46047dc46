"""The layout of a component's graph in two or three dimensions, and the configurations to show."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.graphs import layout
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.layers.kernels import merge

#: Bytes of a vertex for its coordinates and moves, besides three copies of its row of distances from the pivots.
_BYTES_BESIDE_ROWS = 400
#: The stress is that of all pairs with this many vertices, chosen at random if there are more.
_STRESS_SOURCES = 500


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


def nearest_layers(context: ComputeContext, origin: Key, most: int) -> list[Keys]:
    """Return the whole layers around `origin` that have at most `most` configurations together."""
    puzzle = context.puzzle
    layers, count = [puzzle.keys([origin])], 1
    while True:
        context.control.check()
        after = merge([puzzle.expand(layers[-1]).successors], layers)
        count += len(after)
        if not len(after) or count > most:
            return layers
        layers.append(after)
