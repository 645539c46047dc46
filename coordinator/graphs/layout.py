"""A component laid out, and what that needs: which configurations, and how eccentric they are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.worker.graphs import layout
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.layers.kernels import merge

#: A vertex takes, besides its row of distances from the pivots, which is held three times: its places, its moves.
_BYTES_BESIDE_ROWS = 400
#: The stress is that of all pairs with so many vertices, which are chosen by chance where there are more.
_STRESS_SOURCES = 500


@dataclass(frozen=True)
class GraphLayout:
    """Where each vertex lies, (vertices, axes), and how badly that shows the distances."""

    places: NDArray[np.float32]
    stress: float


def lay_out(context: ComputeContext, graph: Graph, axes: int, seed: int) -> GraphLayout:
    """A connected, undirected graph laid out on 2 or 3 axes: for the same seed always the same.

    Quickest where the vertices are in the order of a search from the first. Raises `OverBudgetError` where memory is
    too little, `StopRun`.
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
    """The layers around a configuration, whole ones, as many as have `most` configurations together."""
    puzzle = context.puzzle
    layers, count = [puzzle.keys([origin])], 1
    while True:
        context.control.check()
        after = merge([puzzle.expand(layers[-1]).successors], layers)
        count += len(after)
        if not len(after) or count > most:
            return layers
        layers.append(after)


def whole_layers(sizes: Sequence[int], most: int) -> int:
    """How many of the first layers have at most `most` configurations together; one at least."""
    return max(1, int(np.searchsorted(np.cumsum(sizes), most, "right")))
