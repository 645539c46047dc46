"""Loading of all kernels that a run needs, by calls, so that they are loaded or compiled before its clock starts."""

from collections.abc import Callable

import numpy as np

from hakoiri.keys.layout import Keys, layout_of
from hakoiri.keys.order import KeyIndex, is_increasing, lower_bounds, mask_between, merge_sorted
from hakoiri.puzzles.capabilities import Dealt, Family, Placements, Reversible, Scored
from hakoiri.puzzles.conformance.pool import check_expansion
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.storage.layers.blocks import code_bits, code_keys, decode, lanes_of, set_bits
from hakoiri.worker.census.forests import Forest, add_to_roots, balance, fold, pairs_of
from hakoiri.worker.graphs.bounds import widest
from hakoiri.worker.graphs.lanes import bound_each
from hakoiri.worker.graphs.layout import choose_pivots, pivot_places, refined, stress
from hakoiri.worker.graphs.searches import (
    Graph,
    cheapest_paths,
    distances_from,
    farthest_pairs,
    inner_graph,
    keeps_edges,
    label_components,
    one_way_edge,
)
from hakoiri.worker.graphs.strong import all_diameters, bounded_diameter, condensation, strong_labels
from hakoiri.worker.layers.closed_set import add, empty_filter, may_hold
from hakoiri.worker.layers.kernels import fill_of, flow_of, list_bits, merge, set_within, simple_edges, take_off
from hakoiri.worker.layers.partition import partition_by, scatter
from hakoiri.worker.plays.moving import SeenBoards, games_request
from hakoiri.worker.studies.deals import MOST_POSITIONS, Leg, request
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import packed

#: Loads kernels into this process, or compiles them.
Loader = Callable[[Puzzle], None]
#: Two vertices joined by an edge.
_EDGE = Graph(np.array([0, 1, 2], dtype=np.int64), np.array([1, 0], dtype=np.int32))


def compiling(puzzle: Puzzle) -> str:
    """Return the message shown while kernels that are not on disk are compiled."""
    return f"compiling the kernels of {puzzle.name}, once"


def load_all_kernels(puzzle: Puzzle) -> None:
    """Load the kernels of any run, study or optimisation of `puzzle` into this process, or compile them."""
    load_space_kernels(puzzle)
    load_distance_kernels(puzzle)
    load_unmove_kernels(puzzle)
    load_layout_kernels()
    load_solving_kernels(puzzle)
    load_walking_kernels(puzzle)
    load_moving_kernels(puzzle)
    load_family_kernels(puzzle)


def load_search_kernels(puzzle: Puzzle) -> None:
    """Load the kernels of a search by layers."""
    keys = puzzle.keys([puzzle.start])
    successors, _ = _expansion(puzzle, keys)
    if puzzle.has_mirrors:
        puzzle.canonical(keys)
    parts = [successors, keys] if len(successors) else [keys]
    table = partition_by(keys, 1).table
    scatter(parts[0], table)
    layer = merge(parts, [keys[:0]])
    for others in ([0, 1], [0, puzzle.layout.greatest]):
        # Close together and far apart: merged in a bitmap, and by sorting.
        merge([puzzle.keys(others)], [keys])
    is_increasing(layer)
    lower_bounds(layer, keys)
    mask_between(layer, 0, 1)
    if not puzzle.undirected:
        merge_sorted([layer, layer])
    _load_coding(layer)
    lanes_of(layer)
    if isinstance(puzzle, Placements):
        # No roots: a whole tree would take too long.
        puzzle.count_subtrees(keys[:0])


def load_host_kernels(puzzle: Puzzle) -> None:
    """Load the kernels of a search by layers in which workers or hosts take part, whose keys are checked."""
    load_search_kernels(puzzle)
    keys = puzzle.keys([puzzle.start])
    puzzle.are_keys(keys)
    flow_of(puzzle, keys, _expansion(puzzle, keys))
    if keys.ndim == 1:
        _load_bitmap_kernels(keys)


def _load_bitmap_kernels(layer: Keys) -> None:
    words = np.zeros(2, dtype=np.uint64)
    set_within(words, layer, 0)
    take_off((0, words), [layer])
    words[:] = 1
    layout = layout_of(layer)
    for block in code_bits(0, words, 0, fill_of(words)[0], layout).blocks(0):
        decode(block, layout)
        set_bits(block, words, 0, layout)
    list_bits(words, 0, layout)


def _load_coding(keys: Keys) -> None:
    for block in code_keys(0, keys).blocks(0):
        decode(block, layout_of(keys))


def load_graph_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for components and eccentricities."""
    load_edge_kernels(puzzle)
    load_distance_kernels(puzzle)


def load_edge_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for the moves between configurations."""
    keys = puzzle.keys([puzzle.start])
    puzzle.are_keys(keys)
    targets, counts = simple_edges(keys, *_expansion(puzzle, keys))
    balance(keys, targets, counts)
    pairs = pairs_of(keys, keys)
    _load_coding(pairs)
    scatter(pairs, partition_by(pairs, 1).table)
    fold(keys, targets, counts, puzzle.undirected)
    Forest(keys).join(pairs)
    KeyIndex.of(keys).lower_bounds(keys)
    for symmetry in puzzle.symmetry_maps():
        symmetry(keys)


def load_space_kernels(puzzle: Puzzle) -> None:
    """Load the kernels by which hosts join the configurations of a whole space."""
    load_host_kernels(puzzle)
    load_edge_kernels(puzzle)
    keys = puzzle.keys([puzzle.start])
    pairs = pairs_of(keys, keys)
    is_increasing(pairs)
    layout = layout_of(pairs)
    merge([layout.pack([0, layout.greatest])], [])
    vertices = np.zeros(1, dtype=np.int32)
    add_to_roots(vertices, np.ones(1, dtype=np.uint32))


def load_distance_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for distances in graphs: directed ones if `puzzle` is directed."""
    graph = _EDGE
    sources = np.zeros(1, dtype=np.int32)
    one_way_edge(graph)
    label_components(graph)
    farthest_pairs(graph, sources)
    keeps_edges(graph, graph.targets)
    widest(graph, [graph.targets], pairs=True)
    if not puzzle.undirected:
        load_strong_kernels(puzzle)


def load_strong_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for strong components of any puzzle."""
    inner = inner_graph(_EDGE, np.zeros(2, dtype=np.int32), np.arange(2, dtype=np.int32))
    all_diameters(inner, np.array([0, 2], dtype=np.int64))
    condensation(inner, strong_labels(inner, lambda: None), 2, lambda: None)
    bounded_diameter(inner)


def load_unmove_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for moves backwards, if a directed puzzle supports them."""
    if isinstance(puzzle, Reversible):
        keys = puzzle.keys([puzzle.start])
        puzzle.are_keys(keys)
        is_increasing(keys)
        scatter(keys, partition_by(keys, 1).table)
        words = empty_filter(1, 8)
        add(words, keys)
        may_hold(words, puzzle.unmove(keys).successors)


def load_layout_kernels() -> None:
    """Load the kernels for maps of components of any puzzle."""
    graph = _EDGE
    random = np.random.default_rng(0)
    pivots = choose_pivots(graph, random)
    places = pivot_places(pivots, 3)
    next(refined(graph, pivots, places, 3, random))
    stress(graph, places, pivots.vertices)
    distances_from(graph, pivots.vertices)


def load_solving_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for deals, if `puzzle` has any."""
    if isinstance(puzzle, Dealt):
        for order in puzzle.orders:
            do_task("solve", puzzle, request(puzzle, puzzle.start, order, "goal", 1), [])


def load_walking_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for hunts, if there are any."""
    if isinstance(puzzle, Dealt) and puzzle.hunted:
        leg = Leg(puzzle.random_deal(1, 0), "positions", 1, 1.0, 1, 2, MOST_POSITIONS)
        do_task("hunt", puzzle, packed(leg), [])


def load_family_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for families."""
    if isinstance(puzzle, Family):
        load_graph_kernels(puzzle)
        puzzle.images(puzzle.keys([puzzle.start]))
        both, nothing = np.array([0, 2], dtype=np.int32), np.zeros(2, dtype=np.int32)
        bound_each(_EDGE, both, both[:1], True, nothing, nothing.reshape(1, 2), nothing)
        distances_from(_EDGE, both[:1])


def load_moving_kernels(puzzle: Puzzle) -> None:
    """Load the kernels for optimisations, if moves score."""
    if isinstance(puzzle, Scored):
        arena = puzzle.arena()
        puzzle.bound()
        boards, digests, _, takes = do_task("move", puzzle, [arena.first], arena.shared)
        nothing = np.zeros(1, dtype=np.int64)
        SeenBoards(0).fresh(digests, nothing, nothing)
        cheapest_paths(Graph(nothing[[0, 0]], nothing[:0].astype(np.int32)), nothing[:0], 0)
        moves = np.flatnonzero(takes[0] >= 0)[:1]
        do_task("move", puzzle, [boards, np.zeros(len(moves), dtype=np.int64), moves], arena.shared)
        if puzzle.games:
            do_task("play", puzzle, games_request(0, 0, 0, 1), [*arena.shared, arena.first[0]])


def kernels_of(task: str) -> Loader:
    """Return the loader of a task's kernels: all take a third of a second, those of a search by layers a twentieth."""
    return _LOADERS.get(task, load_host_kernels)


#: The tasks that call other kernels than a search by layers.
_LOADERS: dict[str, Loader] = {
    "before": load_unmove_kernels,
    "diameters": load_strong_kernels,
    "eccentricities": load_graph_kernels,
    "forest": load_edge_kernels,
    "host-edges": load_space_kernels,
    "host-hand": load_space_kernels,
    "host-join": load_space_kernels,
    "hunt": load_walking_kernels,
    "look": load_distance_kernels,
    "member": load_family_kernels,
    "move": load_moving_kernels,
    "neighbours": load_edge_kernels,
    "pairs": load_distance_kernels,
    "play": load_moving_kernels,
    "searches": load_distance_kernels,
    "solve": load_solving_kernels,
}


def _expansion(puzzle: Puzzle, keys: Keys) -> Expansion:
    """Return the expansion of `keys`; empty for a puzzle that fails, because the search reports that in more detail."""
    try:
        expansion = puzzle.expand(keys)
        check_expansion(puzzle, keys, expansion)
    except Exception:
        return Expansion(keys[:0], np.zeros(len(keys), dtype=np.uint16))
    return expansion
