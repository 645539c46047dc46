"""Layouts of graphs: what a round does, how good they are, and that known graphs look as they should."""

import networkx as nx
import numpy as np
import pytest

from hakoiri.api import Run
from hakoiri.worker.graphs import layout
from hakoiri.worker.graphs.layout import Places, along_axes, choose_pivots, pivot_places, refined, stress
from hakoiri.worker.graphs.searches import Graph, distances_from


def graph_of(plain: nx.Graph) -> Graph:
    """The same, its vertices in the order in which it names them."""
    rows = nx.to_scipy_sparse_array(plain, format="csr")
    return Graph(rows.indptr.astype(np.int64), rows.indices.astype(np.int32))


def laid_out(graph: Graph, axes: int, count: int = 0) -> Places:
    random = np.random.default_rng(1)
    pivots = choose_pivots(graph, random, count)
    places = pivot_places(pivots, axes)
    for _ in refined(graph, pivots, places, axes, random):
        pass
    return along_axes(places)


def all_distances(graph: Graph) -> np.ndarray:
    return np.array([distances_from(graph, vertex) for vertex in range(len(graph.offsets) - 1)])


def apart(places: Places) -> np.ndarray:
    """The distance of each two points."""
    found: np.ndarray = np.sqrt(((places[:, :, None] - places[:, None]) ** 2).sum(axis=0, dtype=np.float64))
    return found


def plain_stress(graph: Graph, places: Places) -> float:
    moves = all_distances(graph)
    two = moves > 0
    return float((((apart(places)[two] - moves[two]) / moves[two]) ** 2).mean())


def by_all_pairs(graph: Graph, places: Places, rounds: int) -> Places:
    """Stress majorised over all pairs, vertices moved at once: slow, and as near as a layout comes from there."""
    moves = all_distances(graph)
    weights = np.where(moves > 0, 1.0 / np.maximum(moves, 1) ** 2, 0.0)
    for _ in range(rounds):
        stretch = moves / np.maximum(apart(places), 1e-9)
        towards = places[:, None, :] + stretch * (places[:, :, None] - places[:, None, :])
        places = (weights * towards).sum(axis=2) / weights.sum(axis=1)
    return places


def test_a_round_moves_each_vertex_to_the_mean_of_where_it_is_wanted() -> None:
    graph = graph_of(nx.grid_2d_graph(4, 6))
    random = np.random.default_rng(3)
    pivots, places = choose_pivots(graph, random), np.zeros((3, 24), dtype=np.float32)
    places[:] = random.standard_normal((3, 24))
    weights = layout._weights(pivots.rows)
    before, expected = places.astype(np.float64), places.astype(np.float64)
    for vertex in range(24):
        pulls = [
            (weights[row, away], away, before[:, pivots.vertices[row]])
            for row, away in enumerate(pivots.rows[:, vertex])
        ]
        neighbours = graph.targets[graph.offsets[vertex] : graph.offsets[vertex + 1]]
        pulls += [(1.0, 1, expected[:, other].copy()) for other in neighbours]
        here = before[:, vertex]
        wanted = [
            weight * (there + away * (here - there) / max(1e-6, np.linalg.norm(here - there)))
            for weight, away, there in pulls
        ]
        expected[:, vertex] = np.sum(wanted, axis=0) / sum(weight for weight, _, _ in pulls)
    moved, size = layout._round(graph, pivots.vertices, pivots.rows, weights, places)
    assert np.abs(places - expected).max() < 1e-4
    assert moved == pytest.approx(((expected - before) ** 2).sum(), rel=1e-4)
    assert size == pytest.approx((expected**2).sum(), rel=1e-4)


@pytest.mark.ci_slow
def test_a_layout_is_nearly_as_good_as_all_pairs_make_it_and_better_than_pivots_alone(small_run: Run) -> None:
    """248 configurations of Hakoiri-musume by 40 pivots, though there would be as many pivots as configurations."""
    _, graph = small_run.graph()
    every = np.arange(248, dtype=np.int32)
    first = pivot_places(choose_pivots(graph, np.random.default_rng(1), 40), 3)
    places = laid_out(graph, 3, 40)
    found = stress(graph, places, every)
    assert found == pytest.approx(plain_stress(graph, places), rel=1e-4)
    assert found < 0.4 * stress(graph, first, every)
    assert found < 1.3 * plain_stress(graph, by_all_pairs(graph, first.astype(np.float64), 150))


@pytest.mark.parametrize("vertices", [1, 2, 3])
def test_tiny_graphs(vertices: int) -> None:
    graph = graph_of(nx.path_graph(vertices))
    places = laid_out(graph, 3)
    assert np.isfinite(places).all()
    assert stress(graph, places, np.arange(vertices, dtype=np.int32)) < 0.01


@pytest.mark.ci_slow
def test_a_cycle_is_a_circle_and_its_longest_axis_is_the_first() -> None:
    radii = np.linalg.norm(laid_out(graph_of(nx.cycle_graph(60)), 2), axis=0)
    assert radii.std() < 0.02 * radii.mean()
    extents = np.ptp(laid_out(graph_of(nx.grid_2d_graph(30, 5)), 3), axis=1)
    assert extents[0] > 3 * extents[1] > extents[2]
