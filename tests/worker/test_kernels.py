"""Merging, scattering and graph kernels against plain Python sets and networkx."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from typing import Any, cast

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.graphs.building import build_graph
from hakoiri.coordinator.graphs.symmetry import images_of
from hakoiri.coordinator.session.farm import Farm
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import ComputeContext, Control, SilentObserver, ThreadExecutor
from hakoiri.errors import TaskError
from hakoiri.keys.layout import U32, U64, U128, U256, Key, Keys, Layout, ints
from hakoiri.keys.order import difference
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.graphs.bounds import Aim, Bounds, _around, least_alike, look_here
from hakoiri.worker.graphs.lanes import LANES, look_from, pairs_at
from hakoiri.worker.graphs.searches import (
    UNSEEN,
    Graph,
    both_ways,
    by_sides,
    distances_from,
    eccentricities_of,
    farthest_pairs,
    inner_graph,
    keeps_edges,
    label_components,
    one_way_edge,
    part_of,
    renumbered,
)
from hakoiri.worker.layers import kernels
from hakoiri.worker.layers.kernels import DENSE_SPAN, merge, simple_edges, split
from hakoiri.worker.tasks import TASKS, do_task
from tests.support.keys import any_keys, layouts
from tests.support.seeds import usual
from tests.support.toy_runs import spied

PUZZLE = Klotski()


@st.composite
def merges(draw: st.DrawFn) -> tuple[Layout, list[list[Key]], list[list[Key]]]:
    """A layout, batches in any order with duplicates, and sorted batches of known keys; crowded, or lying anywhere."""
    layout = draw(layouts)
    base = draw(st.sampled_from([0, 5, layout.greatest >> 1, layout.greatest - 90]))
    crowd = st.integers(base, base + 90)
    keys = draw(st.sampled_from([crowd, crowd, crowd | any_keys(layout)]))
    parts = draw(st.lists(st.lists(keys, max_size=40), min_size=1, max_size=4))
    known = draw(st.lists(st.lists(keys, max_size=40, unique=True).map(sorted), max_size=3))
    return layout, parts, known


@given(merges(), st.booleans())
@example((U64, [[2**64 - 1, 2**64 - 65, 2**64 - 2]], [[2**64 - 2]]), True)
@example((U32, [[0, 63, 64, 128]], []), True)
@example((U128, [[1 << 64, 1, 1 << 64]], [[1]]), False)
@example((U256, [[], []], [[7]]), True)
def test_merging_is_union_less_the_known(drawn: tuple[Layout, list[list[Key]], list[list[Key]]], dense: bool) -> None:
    layout, some, others = drawn
    parts, known = [layout.pack(part) for part in some], [layout.pack(batch) for batch in others]
    expected = sorted({key for part in some for key in part} - {key for batch in others for key in batch})
    for way in [DENSE_SPAN, 0] if dense else [DENSE_SPAN]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kernels, "DENSE_SPAN", way)
            found = merge(parts, known)
        assert ints(found) == expected
        assert layout.holds(found)
    # What was given is as it was.
    assert [ints(part) for part in parts] == some
    assert [ints(batch) for batch in known] == others


@pytest.mark.parametrize("layout", [U32, U64], ids=["u32", "u64"])
@pytest.mark.parametrize("where", ["low", "middle", "high"])
def test_crowded_keys_are_merged_in_a_bitmap_and_others_by_sorting(
    where: str, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    offsets = rng.integers(0, 40_000, 30_000)
    base = {"low": 0, "middle": layout.greatest // 3, "high": layout.greatest - 39_999}[where]
    keys = [base + int(offset) for offset in offsets]
    parts = [layout.pack(keys[begin::3]) for begin in range(3)]
    known = [layout.pack(sorted(set(keys[begin : begin + 9_000]))) for begin in (0, 10_000)]
    known.append(layout.pack([0, layout.greatest]))
    expected = sorted(set(keys) - set(keys[:9_000]) - set(keys[10_000:19_000]) - {0, layout.greatest})
    calls = spied(monkeypatch, (kernels, "sort_keys"))
    for sorts, span in enumerate((DENSE_SPAN, 1)):
        monkeypatch.setattr(kernels, "DENSE_SPAN", span)
        assert ints(merge(parts, known)) == expected
        assert calls["sort_keys"] == sorts


def test_a_bitmap_has_a_bit_for_each_key_of_the_span_and_few_more(monkeypatch: pytest.MonkeyPatch) -> None:
    words = list[int]()
    monkeypatch.setattr(kernels, "take_off", lambda window, _: words.append(len(window[1])))
    for least, most in ((0, 0), (5, 68), (5, 69), (1_000, 1_640)):
        merge([np.arange(least, most + 1, dtype=np.uint32)], [])
    assert words == [1, 1, 2, 11]


@given(st.lists(st.sampled_from([0, 1, 2**63, 2**64 - 1]), max_size=9))
def test_words_in_use_and_bits_are_counted(words: list[int]) -> None:
    found = kernels.fill_of(np.array(words, dtype=np.uint64))
    assert found == (sum(word != 0 for word in words), sum(word.bit_count() for word in words))


def test_vertices_around_some_are_no_more_than_there_is_room_for() -> None:
    graph, first, searched = compressed(nx.path_graph(9)), np.arange(9, dtype=np.int32), np.zeros(9, dtype=np.bool_)
    searched[[3, 4]] = True
    for room in range(1, 9):
        near, found = np.full(9, -1, dtype=np.int32), np.empty(9, dtype=np.int32)
        near[0] = 4
        count = _around(graph, first, searched, near[:room], 1, found)
        nearest = [4, 3, 5, 2, 6, 1, 7, 0, 8]
        assert near.tolist() == nearest[:room] + [-1] * (9 - room)
        assert found[:count].tolist() == [vertex for vertex in nearest[:room] if vertex not in (3, 4)]


@given(st.integers(0, 30), st.integers(1, 40))
def test_split(count: int, size: int) -> None:
    parts = split(np.arange(count, dtype=np.uint32), size)
    assert [key for part in parts for key in part.tolist()] == list(range(count))
    assert all(len(part) == size for part in parts[:-1])
    assert all(0 < len(part) <= size for part in parts)


def compressed(graph: nx.Graph) -> Graph:
    """A networkx graph on 0..n-1 in compressed sparse rows, each vertex's neighbours in increasing order."""
    rows = [sorted(graph[vertex]) for vertex in range(len(graph))]
    offsets = np.cumsum([0, *map(len, rows)])
    return Graph(offsets.astype(np.int64), np.array([there for row in rows for there in row], dtype=np.int32))


def shuffled(graph: nx.Graph, seed: int) -> nx.Graph:
    numbers = np.random.default_rng(seed).permutation(len(graph)).tolist()
    return nx.relabel_nodes(graph, dict(zip(graph, numbers, strict=True)))


def grown(vertices: int, extra: int, seed: int) -> nx.Graph:
    """A random tree with some more edges: connected, of moderate diameter."""
    graph = shuffled(nx.random_labeled_tree(vertices, seed=seed), seed)
    graph.add_edges_from((int(one), int(other)) for one, other in pairs_of(vertices, extra, seed) if one != other)
    return graph


def pairs_of(vertices: int, count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, vertices, (count, 2))


CONNECTED = {
    "single": nx.empty_graph(1),
    "edge": nx.path_graph(2),
    "path": shuffled(nx.path_graph(37), 1),
    "odd cycle": shuffled(nx.cycle_graph(31), 2),
    "even cycle": shuffled(nx.cycle_graph(32), 3),
    "star": shuffled(nx.star_graph(20), 4),
    "complete": nx.complete_graph(24),
    "grid": shuffled(nx.convert_node_labels_to_integers(nx.grid_2d_graph(9, 6)), 5),
    "lollipop": shuffled(nx.lollipop_graph(12, 25), 6),
    "hypercube": nx.convert_node_labels_to_integers(nx.hypercube_graph(6)),
} | {f"grown {seed}": grown(60 + 17 * seed, 5 * seed, seed) for seed in range(12)}

SCATTERED = {
    "nothing": nx.empty_graph(0),
    "isolated": nx.empty_graph(7),
    "equal sizes": shuffled(nx.disjoint_union_all([nx.path_graph(3), nx.cycle_graph(3), nx.star_graph(2)]), 1),
} | {f"sparse {seed}": nx.gnp_random_graph(90, 0.008 * (seed + 1), seed=seed) for seed in range(6)}

connected = pytest.mark.parametrize("graph", CONNECTED.values(), ids=CONNECTED)
scattered = usual(20, "graph", (SCATTERED | CONNECTED).values(), ids=SCATTERED | CONNECTED)


def components_by_size(graph: nx.Graph) -> list[list[int]]:
    return sorted(map(sorted, nx.connected_components(graph)), key=lambda vertices: (-len(vertices), vertices[0]))


@scattered
def test_components_are_labelled_by_size_then_least_vertex(graph: nx.Graph) -> None:
    labels = label_components(compressed(graph))
    expected = components_by_size(graph)
    assert [np.flatnonzero(labels == number).tolist() for number in range(len(expected))] == expected


@scattered
def test_graph_in_component_order_and_its_parts(graph: nx.Graph) -> None:
    flat = compressed(graph)
    expected = components_by_size(graph)
    order = [vertex for component in expected for vertex in component]
    ordered = inner_graph(flat, label_components(flat), np.array(order, dtype=np.int32))
    begin = 0
    for component in expected:
        part = part_of(ordered, begin, begin + len(component))
        local = nx.relabel_nodes(graph.subgraph(component), {vertex: i for i, vertex in enumerate(component)})
        assert edges_of(part) == {(one, other) for edge in local.edges for one, other in (edge, edge[::-1])}
        begin += len(component)


def edges_of(graph: Graph) -> set[tuple[int, int]]:
    sources = np.repeat(np.arange(len(graph.offsets) - 1), np.diff(graph.offsets))
    return set(zip(sources.tolist(), graph.targets.tolist(), strict=True))


def test_a_ring_of_more_vertices_than_an_int32_has_squares_of() -> None:
    """70,000 squared has 33 bits."""
    vertices = 70_000
    following = (np.arange(vertices, dtype=np.int32) + 1) % vertices
    ring = both_ways(Graph(np.arange(vertices + 1, dtype=np.int64), following.astype(np.int32)))
    assert ring.offsets.tolist() == [*range(0, 2 * vertices + 1, 2)]
    assert distances_from(ring, 0).max() == vertices // 2


@scattered
def test_one_way_edges_are_found(graph: nx.Graph) -> None:
    assert one_way_edge(compressed(graph)) is None
    for one, other in list(graph.edges)[::5]:
        for edge in ((one, other), (other, one)):
            planted: nx.DiGraph = nx.DiGraph(graph)
            planted.remove_edge(*edge[::-1])
            assert one_way_edge(compressed(planted)) == edge


@scattered
def test_distances(graph: nx.Graph) -> None:
    for source in list(graph)[:5]:
        expected = nx.single_source_shortest_path_length(graph, source)
        found = distances_from(compressed(graph), source)
        assert found.tolist() == [expected.get(vertex, UNSEEN) for vertex in range(len(graph))]


@cache
def eccentricities_by_networkx(graph: nx.Graph) -> list[int]:
    within = {
        vertex: eccentricity
        for component in nx.connected_components(graph)
        for vertex, eccentricity in cast("dict[int, int]", nx.eccentricity(graph.subgraph(component))).items()
    }
    return [within[vertex] for vertex in range(len(graph))]


@scattered
def test_all_eccentricities(graph: nx.Graph) -> None:
    assert eccentricities_of(compressed(graph))[0].tolist() == eccentricities_by_networkx(graph)


@connected
@pytest.mark.parametrize("few", [True, False])
def test_searches_from_many_are_those_from_each(graph: nx.Graph, few: bool) -> None:
    order, evens = by_sides(compressed(graph), np.arange(len(graph), dtype=np.int32)[::-1])
    assert evens < len(graph) or len(graph) == 1 or not nx.is_bipartite(graph)
    numbers = {int(old): new for new, old in enumerate(order)}
    graph = nx.relabel_nodes(graph, numbers)
    assert evens == len(graph) or all((one < evens) != (other < evens) for one, other in graph.edges)
    sources = np.arange(0, len(graph), 2 if few else 1, dtype=np.int32)[:LANES]
    searched = np.isin(np.arange(len(graph)), sources)
    searched[1:2] = True
    found = look_from(compressed(graph), evens, sources, searched)
    distances = np.array([[away[vertex] for vertex in range(len(graph))] for _, away in all_distances(graph, sources)])
    assert found.eccentricities.tolist() == distances.max(axis=1).tolist()
    assert found.away.tolist() == distances.max(axis=0).tolist()
    others = np.where(searched, -1, distances)
    assert found.beyond.tolist() == np.maximum(0, others.max(axis=1)).tolist()
    for lane, end in enumerate(found.ends.tolist()):
        assert end == -1 if others[lane].max() < 1 else others[lane, end] == found.beyond[lane]
    outermost = sources[found.eccentricities == found.eccentricities.max()]
    pairs = pairs_at(compressed(graph), outermost, int(found.eccentricities.max()))
    assert {*map(tuple, pairs.tolist())} == {
        (source, vertex)
        for source, away in all_distances(graph, outermost)
        for vertex in away
        if away[vertex] == max(away.values())
    }


def all_distances(graph: nx.Graph, sources: np.ndarray) -> list[tuple[int, dict[int, int]]]:
    return [(source, nx.single_source_shortest_path_length(graph, source)) for source in sources.tolist()]


@connected
def test_farthest_pairs(graph: nx.Graph) -> None:
    exact = eccentricities_by_networkx(graph)
    sources = list(range(0, len(graph), 2))
    found = farthest_pairs(compressed(graph), np.array(sources, dtype=np.int32))
    expected = {
        (source, vertex)
        for source in sources
        for vertex, distance in nx.single_source_shortest_path_length(graph, source).items()
        if vertex > source and distance == exact[source]
    }
    assert len(found) == len(expected)
    assert set(map(tuple, found.tolist())) == expected


def exact_by_networkx(graph: nx.Graph) -> dict[str, Any]:
    exact = eccentricities_by_networkx(graph)
    distances = dict(nx.all_pairs_shortest_path_length(graph))
    diameter, radius = max(exact), min(exact)
    return {
        "diameter": diameter,
        "radius": radius,
        "centre": [vertex for vertex, eccentricity in enumerate(exact) if eccentricity == radius],
        "periphery": [vertex for vertex, eccentricity in enumerate(exact) if eccentricity == diameter],
        "pairs": [
            [one, other]
            for one in range(len(graph))
            for other in range(one + 1, len(graph))
            if distances[one][other] == diameter
        ],
    }


@cache
def mirrored(graph: nx.Graph) -> tuple[nx.Graph, np.ndarray]:
    """The graph beside its image, joined by an edge, and where each vertex has its image."""
    vertices = len(graph)
    both = nx.union(graph, nx.relabel_nodes(graph, {here: here + vertices for here in graph}))
    both.add_edge(0, vertices)
    return both, np.roll(np.arange(2 * vertices, dtype=np.int32), vertices)


@usual(
    1,
    "graph",
    [
        pytest.param(graph, id=name, marks=pytest.mark.slow if name.startswith("grown 1") else ())
        for name, graph in CONNECTED.items()
    ],
)
@usual(1, "aim", list(Aim))
@usual(1, "tasks", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_wanted_is_settled(graph: nx.Graph, aim: Aim, tasks: int) -> None:
    graph, image = mirrored(graph)
    order, evens = by_sides(compressed(graph), np.arange(len(graph), dtype=np.int32))
    flat, (image,) = renumbered(compressed(graph), [image], order)
    exact = np.array(eccentricities_by_networkx(graph))[order]
    assert keeps_edges(flat, image)
    for images in ([], [image]):
        bounds, told = Bounds(flat, least_alike(len(graph), images), evens), list[int]()

        def report(bounds: Bounds = bounds, told: list[int] = told) -> None:
            lower, upper = bounds.of_all()
            # Who is not looked for any more is no farther than the greatest distance that is known.
            most = np.maximum(upper, lower.max()) if aim is Aim.WIDEST else upper
            assert ((lower <= exact) & (exact <= most)).all()
            told.append(len(bounds.open(aim)))

        bounds.settle(aim, look_here(bounds), tasks, 3, report)
        lower, upper = bounds.of_all()
        wanted = {
            Aim.DIAMETER: exact < 0,
            Aim.WIDEST: exact < 0,
            Aim.ENDS: (exact == exact.max()) | (exact == exact.min()),
            Aim.ALL: exact >= 0,
        }[aim]
        assert (lower.max(), told[-1]) == (exact.max(), 0)
        assert (lower[wanted] == exact[wanted]).all()
        assert (upper[wanted] == exact[wanted]).all()


def test_symmetries_that_move_edges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, path = np.arange(4, dtype=np.uint32), compressed(nx.path_graph(4))
    monkeypatch.setattr(Klotski, "symmetry_maps", lambda puzzle: [lambda keys: np.uint32(3) - keys])
    assert [image.tolist() for image in images_of(PUZZLE, keys, path)] == [[3, 2, 1, 0]]
    monkeypatch.setattr(Klotski, "symmetry_maps", lambda puzzle: [lambda keys: (keys + np.uint32(1)) % np.uint32(4)])
    with pytest.raises(ContradictionError, match="has a symmetry that does not preserve moves"):
        images_of(PUZZLE, keys, path)


class Drawn(Puzzle):
    """A graph; vertex v has the key 5 v + 3, in any layout."""

    name, undirected, most_successors = "drawn", True, 200

    def __init__(self, graph: nx.Graph, layout: Layout) -> None:
        self.graph, self.layout = graph, layout
        super().__init__()

    def usual_start(self) -> Key:
        return 3

    def successors(self, key: Key) -> list[Key]:
        return [5 * there + 3 for there in sorted(self.graph[key // 5], reverse=True)]


@pytest.mark.parametrize("layout", [U32, U256])
@pytest.mark.parametrize("graph", list(SCATTERED.values())[1:], ids=list(SCATTERED)[1:])
def test_distances_in_a_batch_of_components(graph: nx.Graph, layout: Layout) -> None:
    components, puzzle = components_by_size(graph), Drawn(graph, layout)
    keys = puzzle.keys([5 * vertex + 3 for component in components for vertex in component])
    firsts = np.cumsum([0, *map(len, components[:-1])])
    figures, pairs = TASKS["eccentricities"].work(puzzle, [keys, firsts], ())
    expected: list[list[int]] = []
    for first, component, found in zip(firsts.tolist(), components, figures.tolist(), strict=True):
        exact = exact_by_networkx(nx.convert_node_labels_to_integers(graph.subgraph(component), ordering="sorted"))
        assert found == [exact["diameter"], exact["radius"], len(exact["centre"]), len(exact["periphery"])]
        expected += [[first + one, first + other] for one, other in exact["pairs"]]
    assert pairs.tolist() == expected
    with pytest.raises(TaskError, match="drawn: a move leaves a set"):
        TASKS["eccentricities"].work(Drawn(nx.path_graph(len(keys) + 1), layout), [keys, firsts], ())


def test_tasks_on_keys_do_what_their_names_say(all_keys: Keys) -> None:
    sample = np.sort(np.random.default_rng(7).choice(all_keys, 500, replace=False))
    rows = [sorted(set(PUZZLE.successors(key))) for key in sample.tolist()]
    successors, degrees = TASKS["neighbours"].work(PUZZLE, [sample], ())
    assert successors.tolist() == [key for row in rows for key in row]
    assert degrees.tolist() == [len(row) for row in rows]


def test_a_task_that_fails_says_of_what(all_keys: Keys) -> None:
    with pytest.raises(TaskError, match=r"task neighbours failed: ValueError: "):
        do_task("neighbours", PUZZLE, [], ())


class OneWay(Klotski):
    """Klotski less the moves that lead to the lesser configuration, which it denies."""

    def expand(self, keys: Keys) -> Expansion:
        successors, counts = super().expand(keys)
        kept = successors > np.repeat(keys, counts)
        ends = np.cumsum(counts)
        return Expansion(
            successors[kept],
            np.array([kept[end - count : end].sum() for end, count in zip(ends, counts, strict=True)], dtype=np.uint16),
        )


@contextmanager
def context(puzzle: Klotski, chunk: int | None) -> Iterator[ComputeContext]:
    with closing(ThreadExecutor(puzzle, 2, Control())) as executor:
        budget = Budget(1 << 30, chunk)
        shares, observer = budget.shares(puzzle, 2, 0), SilentObserver()
        farm = Farm(puzzle, executor, None, budget, shares, observer.note)
        yield ComputeContext(puzzle, farm, executor, budget, shares, Control(), observer)


@pytest.mark.ci_slow
@pytest.mark.parametrize("chunk", [None, 1_000])
def test_a_puzzle_that_breaks_its_promise_is_caught(all_keys: Keys, chunk: int | None) -> None:
    with (
        context(OneWay(), chunk) as one_way,
        pytest.raises(ContradictionError, match=r"is declared undirected, but 0x.* leads to 0x.* and not back"),
    ):
        build_graph(one_way, all_keys)
    with (
        context(PUZZLE, chunk) as whole,
        pytest.raises(ContradictionError, match="which is not among the 60,000 configurations"),
    ):
        build_graph(whole, all_keys[:60_000])


@pytest.mark.parametrize("chunk", [None, 777])
@pytest.mark.parametrize("part", [65_880, 30_000])
def test_a_graph_of_configurations_holds_the_moves_between_them(all_keys: Keys, part: int, chunk: int | None) -> None:
    keys = all_keys[:part]
    with context(PUZZLE, chunk) as whole:
        graph = build_graph(whole, keys, closed=part == len(all_keys))
    known = set(keys.tolist())
    for vertex in range(0, part, 97):
        neighbours = graph.targets[graph.offsets[vertex] : graph.offsets[vertex + 1]]
        assert keys[neighbours].tolist() == sorted(known.intersection(PUZZLE.successors(int(keys[vertex]))))
    assert graph.offsets[-1] == len(graph.targets)


@given(layouts, st.sets(st.integers(0, 90)), st.sets(st.integers(0, 90)))
@example(U32, {7}, set(range(90)))  # Looked up one by one.
@example(U128, {7, 90}, set(range(90)))
@example(U64, set(range(90)), {7})
def test_the_difference_of_two_batches(layout: Layout, some: set[Key], others: set[Key]) -> None:
    keys, known = layout.pack(sorted(some)), layout.pack(sorted(others))
    assert ints(difference(keys, known)) == sorted(some - others)
    assert ints(keys) == sorted(some)


@pytest.mark.ci_slow
@given(st.data())
def test_simple_edges(data: st.DataObject) -> None:
    layout = data.draw(layouts)
    few = data.draw(st.lists(any_keys(layout), min_size=1, max_size=6))
    keys = st.sampled_from(few)
    rows = data.draw(st.lists(st.tuples(keys, st.lists(keys, max_size=12)), max_size=12))
    sources = layout.pack([source for source, _ in rows])
    successors = layout.pack([successor for _, row in rows for successor in row])
    counts = np.array([len(row) for _, row in rows], dtype=np.uint16)
    found, degrees = simple_edges(sources, successors, counts)
    expected = [sorted(set(row) - {source}) for source, row in rows]
    assert degrees.tolist() == [len(row) for row in expected]
    assert ints(found) == [successor for row in expected for successor in row]


def test_a_permutation_that_moves_edges_is_found_out() -> None:
    path, cycle = compressed(nx.path_graph(4)), compressed(nx.cycle_graph(4))
    turn = np.array([1, 2, 3, 0], dtype=np.int32)
    assert (keeps_edges(path, turn), keeps_edges(path, turn[::-1].copy())) == (False, False)
    assert keeps_edges(path, np.array([3, 2, 1, 0], dtype=np.int32))
    assert keeps_edges(cycle, turn)
    assert not keeps_edges(cycle, np.zeros(4, dtype=np.int32))
