"""Strong components of directed graphs and their diameters against networkx, in every way of measuring them."""

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakoiri.api import Run, explore
from hakoiri.coordinator.errors import StopRun, UnanswerableError
from hakoiri.coordinator.graphs import building as graphing
from hakoiri.coordinator.graphs import strong
from hakoiri.coordinator.graphs.strong import StrongComponents, strong_components
from hakoiri.coordinator.session.resources import Budget, Resources, Tuning
from hakoiri.coordinator.session.session import Control
from hakoiri.errors import Hint, OverBudgetError
from hakoiri.keys.layout import LAYOUTS, Key, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PUZZLES
from hakoiri.worker.graphs import strong as bounding
from hakoiri.worker.graphs.searches import Graph, distances_from
from tests.support.refusals import refused
from tests.support.runs import StoppingAfter, local_context

Edges = set[tuple[int, int]]
#: Small components one by one, small ones together, and all by bounds: as tasks, or where each search may be the last.
ALONE, TOGETHER, BOUNDED = Tuning(batch_work=1), Tuning(), Tuning(searched_alone_from=2)
HERE = Tuning(searched_here_from=2)
ways = pytest.mark.parametrize("tuning", [ALONE, TOGETHER, BOUNDED, HERE], ids=["alone", "together", "bounded", "here"])


class Drawn(Puzzle):
    """A directed graph; vertex v has the key 3 v + 1, in any layout."""

    name = "drawn"
    undirected = False

    def __init__(self, vertices: int, edges: Edges, layout: str = "u32") -> None:
        self.layout, self.vertices, self.edges = LAYOUTS[layout], vertices, edges
        self.most_successors = vertices
        super().__init__()

    def usual_start(self) -> Key:
        return 1

    def successors(self, key: Key) -> list[Key]:
        # A move that changes nothing and a doubled one count for nothing.
        return [key] + 2 * [
            3 * other + 1 for vertex, other in sorted(self.edges, reverse=True) if 3 * vertex + 1 == key
        ]

    def found(self, tuning: Tuning, control: Control | None = None) -> StrongComponents:
        """Its strong components."""
        with local_context(self, Resources(tuning=tuning), control) as context:
            keys = self.keys([3 * vertex + 1 for vertex in range(self.vertices)])
            return strong_components(context, keys, 1)


@st.composite
def drawn_graphs(draw: st.DrawFn) -> tuple[int, Edges]:
    vertices = draw(st.integers(1, 24))
    ends = st.integers(0, vertices - 1)
    edges = draw(st.sets(st.tuples(ends, ends), max_size=3 * vertices))
    for ring in draw(st.lists(st.lists(ends, min_size=1, max_size=8, unique=True), max_size=3)):
        edges |= {*pairwise([*ring, ring[0]])}
    return vertices, edges


def assert_right(found: StrongComponents, vertices: int, edges: Edges) -> None:
    """Compare with networkx, in the promised order."""
    graph = nx.DiGraph(list(edges))
    graph.add_nodes_from(range(vertices))
    components = sorted(map(sorted, nx.strongly_connected_components(graph)), key=lambda one: (-len(one), one))
    several = [one for one in components if len(one) > 1]
    condensed = nx.condensation(graph)
    ways_in, ways_out = (list(dict(degrees).values()) for degrees in (condensed.in_degree, condensed.out_degree))
    found_ends = found.between, found.sources, found.sinks
    assert found_ends == (condensed.number_of_edges(), ways_in.count(0), ways_out.count(0))
    assert (found.configurations, found.strong, found.single) == (
        vertices,
        len(components),
        len(components) - len(several),
    )
    assert [one.component for one in found.components] == list(range(len(several)))
    assert [one.representative for one in found.components] == [3 * one[0] + 1 for one in several]
    for ours, members in zip(found.components, several, strict=True):
        distances = dict(nx.all_pairs_shortest_path_length(graph.subgraph(members)))
        here, there = (key // 3 for key in ours.pair)
        assert ours.size == len(members)
        assert ours.diameter == distances[here][there] == max(max(row.values()) for row in distances.values())
    assert sum(size * count for size, _, count in found.histogram()) == vertices - found.single
    assert found.histogram() == sorted(found.histogram(), reverse=True)


@pytest.mark.ci_slow
@ways
@settings(max_examples=40)
@given(drawn_graphs(), st.sampled_from(list(LAYOUTS)))
def test_strong_components_are_those_of_networkx(tuning: Tuning, drawn: tuple[int, Edges], layout: str) -> None:
    assert_right(Drawn(*drawn, layout).found(tuning), *drawn)


@pytest.mark.ci_slow
def test_bounds_need_few_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring with a lot of chords: a search from every vertex would be hundreds."""
    rng, looks = Random(1), []
    edges = {(vertex, (vertex + 1) % 400) for vertex in range(400)}
    edges |= {(rng.randrange(400), rng.randrange(400)) for _ in range(60)}
    monkeypatch.setattr(
        bounding, "distances_from", lambda way, source: looks.append(source) or distances_from(way, source)
    )
    assert_right(Drawn(400, edges).found(BOUNDED), 400, edges)
    assert len(looks) < 200
    assert 2 * len(set(looks)) == len(looks)


@pytest.mark.slow
def test_an_undirected_run_has_the_components_of_its_census(whole_run: Run, small_run: Run) -> None:
    found = small_run.strong_components()
    exact = small_run.diameter()
    assert (found.configurations, found.strong, found.single, found.weak) == (248, 1, 0, 1)
    (only,) = found.components
    assert (only.size, only.diameter, only.representative) == (248, exact.diameter, exact.record.representative)
    assert list(only.pair) == ints(exact.pairs[0])
    with local_context(small_run.puzzle, Resources(tuning=BOUNDED)) as context:
        # The directed way finds the same.
        directed = strong_components(context, small_run.configurations()[0], 1)
    assert [(one.size, one.diameter) for one in directed.components] == [(248, exact.diameter)]
    census = whole_run.strong_components()
    assert (census.configurations, census.strong, census.single) == (65_880, 898, 0)
    assert [one.diameter for one in census.components] == [record.diameter for record in whole_run.components()]
    assert [weak.size for weak in whole_run.weak_components()] == [record.size for record in whole_run.components()]


def test_it_can_be_stopped() -> None:
    puzzle = Drawn(60, {(vertex, (vertex + 1) % 60) for vertex in range(60)})
    for checks in (1, 2, 5, 20):
        with pytest.raises(StopRun, match="enough"):
            puzzle.found(HERE, StoppingAfter(checks))


@pytest.mark.parametrize(
    ("memory", "what"),
    [
        (500, "the graph of 60 conf"),
        (3_000, "the strong components of 60 conf"),
        (5_000, "a strong component of 60 conf"),
        # Its keys, three times its graph, and the bounds: one byte less than that.
        (240 + 3 * (61 * 8 + 60 * 4) + 2 * 40 * 60 - 1, "a strong component of 60 conf"),
    ],
)
def test_too_little_memory_is_refused(memory: int, what: str) -> None:
    puzzle = Drawn(60, {(vertex, (vertex + 1) % 60) for vertex in range(60)})
    with local_context(puzzle) as usual, pytest.raises(OverBudgetError, match=what):
        poor = replace(usual, budget=Budget(memory, tuning=HERE))
        keys = puzzle.keys([3 * vertex + 1 for vertex in range(60)])
        strong_components(poor, keys, 1)


def test_moves_between_components_take_no_memory_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory taken is the memory planned, if nearly all moves lead from component to component."""
    vertices, moves = 20_000, 16
    puzzle = Drawn(vertices, set())
    targets = np.minimum(np.arange(vertices)[:, None] + np.arange(1, moves + 1) * 7, vertices - 1).astype(np.int32)
    graph = Graph(np.arange(vertices + 1, dtype=np.int64) * moves, targets.ravel())
    monkeypatch.setattr(strong, "build_graph", lambda *_, **__: graph)
    planned = list[int]()
    with local_context(puzzle) as context:
        monkeypatch.setattr(type(context.budget), "require", lambda _, what, size: planned.append(size))
        keys = puzzle.layout.pack(range(vertices))
        tracemalloc.start()
        try:
            found = strong_components(context, keys, 1)
            taken = tracemalloc.get_traced_memory()[1] + keys.nbytes + graph.offsets.nbytes + graph.targets.nbytes
        finally:
            tracemalloc.stop()
    assert (found.strong, found.sources) == (vertices, 7)
    assert planned
    assert taken <= planned[0] + 200_000


def test_what_32_bits_cannot_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ring = Drawn(60, {(vertex, (vertex + 1) % 60) for vertex in range(60)})
    monkeypatch.setattr(graphing, "MOST_VERTICES", 59)
    with pytest.raises(UnanswerableError, match="60 configurations exceed the limit"):
        ring.found(TOGETHER)


def test_a_directed_run_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PUZZLES, "toy", "tests.support.toy:Toy")
    with explore("toy", {"directed": "yes", "size": "200"}, data=tmp_path) as run:
        found, (weak,) = run.strong_components(), run.weak_components()
        keys = ints(run.configurations()[0])
        assert (weak.size, weak.representative, found.weak) == (len(keys), keys[0], 1)
        place = {key: number for number, key in enumerate(keys)}
        edges = {(place[key], place[other]) for key in keys for other in run.puzzle.successors(key)}
        assert found.strong == nx.number_strongly_connected_components(nx.DiGraph(list(edges)))
        assert any(one.size > 1 for one in found.components)
        for ask in (run.components, run.diameter):
            with refused(UnanswerableError, "is directed", Hint("ask", run.name, "strong components")):
                ask()


@pytest.mark.parametrize("tuning", [ALONE, BOUNDED], ids=["alone", "bounded"])
def test_larger_random_graphs(tuning: Tuning) -> None:
    for seed in range(4):
        rng, vertices = Random(seed), 150
        edges = {(rng.randrange(vertices), rng.randrange(vertices)) for _ in range(vertices * (seed + 3) // 3)}
        order = rng.sample(range(vertices), 40)
        edges |= {*pairwise([*order, order[0]])}
        assert_right(Drawn(vertices, edges).found(tuning), vertices, edges)
