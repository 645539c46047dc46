"""A layout of a connected graph in space: distances in space approximate distances in moves.

Pivots give a first layout (Brandes and Pich, "Eigensolver methods for progressive multidimensional scaling of large
data", 2006). The sparse stress model improves it (Ortmann, Klimenta and Brandes, "A sparse stress model", 2016). Each
vertex is drawn to its neighbours, and to each pivot with the weight of the vertices that the pivot represents. A move
has the length 1. Places are float32 of shape (3, vertices); in a plane the third row is 0.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.worker.graphs.searches import UNSEEN, Distances, Graph, Vertices, distances_from, search

Places = NDArray[np.float32]
#: For each pivot, the weight with which it draws a vertex, by distance.
Weights = NDArray[np.float32]
_AXES = 3
#: The number of pivots, smaller for many vertices: for 25,955 configurations, 100 leave a stress of 0.046, 200 of
#: 0.036, 400 of 0.032.
_MOST_PIVOTS, _LEAST_PIVOTS, _ROWS = 400, 200, 10_000_000
#: Vertices moved together by the pivots: their data fit the first-level cache.
_BLOCK = 1024
#: The layout ends when a round moves its vertices by less than this part of its size, or after so many rounds, fewer
#: for many vertices.
_STILL, _MOST_ROUNDS, _LEAST_ROUNDS, _MOVED = 3e-4, 300, 40, 1_000_000
#: Random displacement that separates vertices in the same place.
_JITTER = 0.1
_NEAR = np.float32(1e-12)


class Pivots(NamedTuple):
    """Vertices far from each other, and the distances of all vertices from each: (pivots, vertices)."""

    vertices: Vertices
    rows: Distances


def pivot_count(vertices: int) -> int:
    """Return the number of pivots for a graph of so many vertices."""
    return min(vertices, max(_LEAST_PIVOTS, min(_MOST_PIVOTS, _ROWS // max(1, vertices))))


def round_count(vertices: int) -> int:
    """Return the most rounds of refinement for a graph of so many vertices."""
    return max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _MOVED // max(1, vertices)))


def choose_pivots(graph: Graph, random: np.random.Generator, count: int = 0) -> Pivots:
    """Choose `count` or `pivot_count` pivots: the first at random, each other one the farthest from those before it."""
    vertices = len(graph.offsets) - 1
    chosen = np.empty(count or pivot_count(vertices), dtype=np.int32)
    rows = np.empty((len(chosen), vertices), dtype=np.int32)
    nearest = np.full(vertices, np.iinfo(np.int32).max, dtype=np.int32)
    pivot = int(random.integers(vertices))
    for number in range(len(chosen)):
        chosen[number] = pivot
        rows[number] = distances_from(graph, pivot)
        np.minimum(nearest, rows[number], out=nearest)
        pivot = int(nearest.argmax())
    return Pivots(chosen, rows)


def pivot_places(pivots: Pivots, axes: int) -> Places:
    """Return the layout by pivots alone, on so many axes, the longest first."""
    count, vertices = pivots.rows.shape
    centred = np.square(pivots.rows, dtype=np.float32)
    centred -= centred.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    squares, vectors = np.linalg.eigh((centred @ centred.T).astype(np.float64) / 4)
    # Scaled from the squared distances between pivots and all vertices to those between all vertices.
    lengths = np.sqrt(np.maximum(squares[::-1][:axes], 1.0))
    shares = np.sqrt(np.sqrt(vertices / count) / lengths) / 2
    places = np.zeros((_AXES, vertices), dtype=np.float32)
    places[: min(axes, count)] = (shares * vectors[:, ::-1][:, :axes]).T.astype(np.float32) @ centred
    return places


def refined(graph: Graph, pivots: Pivots, places: Places, axes: int, random: np.random.Generator) -> Iterator[None]:
    """Move `places` by rounds of sparse stress until they rest, at most `round_count` times; yield after each round."""
    places[:axes] += _JITTER * random.standard_normal(places[:axes].shape, dtype=np.float32)
    weights = _weights(pivots.rows)
    for _ in range(round_count(places.shape[1])):
        moved, size = _round(graph, pivots.vertices, pivots.rows, weights, places)
        yield
        if moved <= _STILL**2 * size:
            break


def _weights(rows: Distances) -> Weights:
    """Return each pivot's weight by distance: its nearest vertices within half of it / distance**2; 0 at distance 1."""
    weights = np.zeros((len(rows), int(rows.max()) + 1), dtype=np.float32)
    regions = rows.argmin(axis=0)
    away = np.arange(2, weights.shape[1])
    for pivot, row in enumerate(rows):
        within = np.cumsum(np.bincount(row[regions == pivot], minlength=weights.shape[1]))
        weights[pivot, 2:] = within[away // 2] / away**2
    return weights


@jit
def _round(graph: Graph, pivots: Vertices, rows: Distances, weights: Weights, places: Places) -> tuple[float, float]:
    """Move each vertex to the weighted mean of its targets; return the squares of the total move and of the size."""
    moved = size = 0.0
    drawn = np.empty((4, _BLOCK), dtype=np.float32)
    for begin in range(0, places.shape[1], _BLOCK):
        count = min(_BLOCK, places.shape[1] - begin)
        _draw_to_pivots(pivots, rows, weights, places, begin, count, drawn)
        for number in range(count):
            vertex = begin + number
            _draw_to_neighbours(graph, places, vertex, drawn[:, number])
            if drawn[3, number] > 0:
                for axis in range(3):
                    to = drawn[axis, number] / drawn[3, number]
                    moved += (to - places[axis, vertex]) ** 2
                    size += to**2
                    places[axis, vertex] = to
    return moved, size


@jit
def _draw_to_pivots(
    pivots: Vertices, rows: Distances, weights: Weights, places: Places, begin: int, count: int, drawn: Places
) -> None:
    """Write the weighted target places of some vertices by the pivots; the sum of the weights is in the last row."""
    x, y, z = places[0, begin : begin + count], places[1, begin : begin + count], places[2, begin : begin + count]
    drawn[:] = 0
    to_x, to_y, to_z, sum_of = drawn[0], drawn[1], drawn[2], drawn[3]
    for pivot in range(len(pivots)):
        row, weight = rows[pivot, begin : begin + count], weights[pivot]
        at_x, at_y, at_z = places[0, pivots[pivot]], places[1, pivots[pivot]], places[2, pivots[pivot]]
        for number in range(count):
            away = row[number]
            share = weight[away]
            dx, dy, dz = x[number] - at_x, y[number] - at_y, z[number] - at_z
            stretch = np.float32(away) / np.sqrt(dx * dx + dy * dy + dz * dz + _NEAR)
            to_x[number] += share * (at_x + stretch * dx)
            to_y[number] += share * (at_y + stretch * dy)
            to_z[number] += share * (at_z + stretch * dz)
            sum_of[number] += share


@jit
def _draw_to_neighbours(graph: Graph, places: Places, vertex: int, drawn: Places) -> None:
    x, y, z = places[0, vertex], places[1, vertex], places[2, vertex]
    for edge in range(graph.offsets[vertex], graph.offsets[vertex + 1]):
        other = graph.targets[edge]
        at_x, at_y, at_z = places[0, other], places[1, other], places[2, other]
        dx, dy, dz = x - at_x, y - at_y, z - at_z
        stretch = np.float32(1) / np.sqrt(dx * dx + dy * dy + dz * dz + _NEAR)
        drawn[0] += at_x + stretch * dx
        drawn[1] += at_y + stretch * dy
        drawn[2] += at_z + stretch * dz
        drawn[3] += np.float32(1)


@jit
def stress(graph: Graph, places: Places, sources: Vertices) -> float:
    """Return the mean of ``((distance in space - moves) / moves) ** 2`` over pairs of a source and another vertex."""
    vertices = places.shape[1]
    distance = np.full(vertices, UNSEEN, dtype=np.int32)
    queue = np.empty(vertices, dtype=np.int32)
    total = 0.0
    for source in sources:
        search(graph, source, distance, queue)
        for vertex in range(vertices):
            if vertex != source:
                apart = 0.0
                for axis in range(3):
                    apart += (places[axis, vertex] - places[axis, source]) ** 2
                total += (np.sqrt(apart) / distance[vertex] - 1) ** 2
            distance[vertex] = UNSEEN
    mean: float = total / max(1, len(sources) * (vertices - 1))
    return mean


def along_axes(places: Places) -> Places:
    """Return the layout centred and turned: the longest extent along the first axis, vertex 0 low on each axis."""
    centred = places - places.mean(axis=1, keepdims=True)
    _, vectors = np.linalg.eigh((centred @ centred.T).astype(np.float64))
    turned: Places = vectors[:, ::-1].T.astype(np.float32) @ centred
    turned[turned[:, 0] > 0] *= -1
    return turned
