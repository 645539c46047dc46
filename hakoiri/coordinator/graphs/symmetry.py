"""The symmetries that a puzzle declares, checked, and the distances that follow from them.

Alike configurations (`Puzzle.orbits`) have the same eccentricity: one search for each kind gives all eccentricities.
Maps (`Puzzle.symmetry_maps`) take a component to itself: facts about a configuration hold for its images.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.search import scratch_search
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.keys.layout import Key, Keys, ints, key_at
from hakoiri.keys.order import equal_rows, lower_bounds
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.conformance.pool import describe_key
from hakoiri.puzzles.contract import Orbits, Puzzle
from hakoiri.storage.layers.store import RunStore, StoredLayer
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.storage.results import Diameter
from hakoiri.worker.graphs.searches import Graph, Vertices, distances_from, keeps_edges
from hakoiri.worker.layers.kernels import layers_within

#: The most pairs listed if there may be millions.
MOST_PAIRS = 16
#: With more kinds of configurations than this, searching from each costs more than bounding.
MOST_KINDS = 64
#: The number of configurations compared around two that are declared alike.
_SURROUNDINGS = 3_000


@dataclass
class SymmetryClass:
    """Alike configurations: how many, one of them, one more to compare it with, and the least key."""

    size: int
    first: Key
    other: Key
    least: Key


Kinds = dict[int, SymmetryClass]
_Map = Callable[[Keys], Keys]


def kinds_among(puzzle: Puzzle, blocks: Iterable[Keys]) -> Kinds | None:
    """Return the kinds of the configurations in `blocks`; ``None`` if the puzzle declares none, or too many."""
    kinds: Kinds = {}
    for block in blocks:
        orbits = puzzle.orbits(block)
        if orbits is None:
            return None
        numbers, firsts, sizes = np.unique(orbits, return_index=True, return_counts=True)
        for number, place, size in zip(numbers.tolist(), firsts.tolist(), sizes.tolist(), strict=True):
            key = key_at(block, place)
            kind = kinds.setdefault(number, SymmetryClass(0, key, key, key))
            # The last one met is likely to be far from the first.
            kind.size, kind.other, kind.least = kind.size + size, key, min(key, kind.least)
        if len(kinds) > MOST_KINDS:
            return None
    # Sorted by number, so that the order of kinds does not depend on the division into blocks.
    return dict(sorted(kinds.items()))


class _Reach(NamedTuple):
    """The eccentricity of configurations of a kind, and the number of configurations that far from each.

    `examples` are some of those for the configuration `source`.
    """

    kind: SymmetryClass
    source: Key
    eccentricity: int
    farthest: int
    examples: Keys


def by_symmetry(context: ComputeContext, store: RunStore, component: int, kinds: Kinds) -> Diameter:
    """Return the distances of a component by one search for each kind; a run from a start serves for its kind.

    Raises `ContradictionError` if configurations declared alike are not.
    """
    puzzle, found = context.puzzle, list[_Reach]()
    for kind in kinds.values():
        around = (layers_within(puzzle, puzzle.keys([key]), _SURROUNDINGS)[0] for key in (kind.first, kind.other))
        (depth, near), (other_depth, other_near) = ((len(layers) - 1, len(layers[-1])) for layers in around)
        if (depth, near) != (other_depth, other_near):
            raise ContradictionError(
                f"{puzzle.name} declares {describe_key(puzzle, kind.first)} and {describe_key(puzzle, kind.other)} as "
                f"equivalent, but they have {near} and {other_near} others {depth} and {other_depth} moves away"
            )
    own = puzzle.orbits(puzzle.keys([puzzle.start])) if kind_of(store.manifest.kind).from_start else None
    for number, kind in kinds.items():
        if own is not None and number == int(own[0]):
            found.append(_reach(store, puzzle.start, kind))
        else:
            part = context.part(f"from kind {len(found) + 1} of {len(kinds)}")
            with scratch_search(part, store, puzzle.keys([kind.first])) as search:
                search.exhaust()
                found.append(_reach(search.store, kind.first, kind))
        context.tell(Progress(len(found), len(kinds), "symmetry classes searched"))
    return _distances(puzzle, component, found)


def _reach(store: RunStore, source: Key, kind: SymmetryClass) -> _Reach:
    last = store.layer_record(store.state.depth)
    examples = next(StoredLayer(store, last.depth, last.size).chunks(0, MOST_PAIRS))
    return _Reach(kind, source, last.depth, last.size, examples)


def by_symmetry_in_graph(
    context: ComputeContext, graph: Graph, members: Keys, component: int, kinds: Kinds
) -> Diameter:
    """Return the same for a component with its graph in memory; `members` are its vertices' increasing keys."""
    found, firsts = list[_Reach](), lower_bounds(members, context.puzzle.keys([kind.first for kind in kinds.values()]))
    for kind, first in zip(kinds.values(), firsts.tolist(), strict=True):
        context.control.check()
        distances = distances_from(graph, first)
        farthest = np.flatnonzero(distances == distances.max())
        found.append(_Reach(kind, kind.first, int(distances.max()), len(farthest), members[farthest[:MOST_PAIRS]]))
    return _distances(context.puzzle, component, found)


def _distances(puzzle: Puzzle, component: int, found: list[_Reach]) -> Diameter:
    diameter, radius = max(reach.eccentricity for reach in found), min(reach.eccentricity for reach in found)
    outer = [reach for reach in found if reach.eccentricity == diameter]
    inner = [reach for reach in found if reach.eccentricity == radius]
    source, examples = outer[0].source, outer[0].examples
    pairs = sorted((min(source, other), max(source, other)) for other in ints(examples))
    counts: dict[int, int] = {}
    for reach in sorted(found, key=attrgetter("eccentricity")):
        counts[reach.eccentricity] = counts.get(reach.eccentricity, 0) + reach.kind.size
    figures = sum(counts.values()), diameter, radius, counts[radius], counts[diameter]
    pair_count = sum(reach.kind.size * reach.farthest for reach in outer) // 2
    record = ComponentRecord(component, *figures, pair_count, min(reach.kind.least for reach in found))
    keys = np.stack([puzzle.keys(list(side)) for side in zip(*pairs, strict=True)], axis=1)
    return Diameter(record, keys, puzzle.keys([reach.source for reach in inner]), counts)


def first_alike(puzzle: Puzzle, graph: Graph, orbits: Orbits) -> Vertices:
    """Return the least vertex of each orbit; `ContradictionError` if an orbit's vertices have different neighbours."""
    _, firsts, numbers = np.unique(orbits, return_index=True, return_inverse=True)
    words = np.fromiter(random_words(0), dtype=np.uint64, count=len(firsts))
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(words[numbers[graph.targets]])])
    around = sums[graph.offsets[1:]] - sums[graph.offsets[:-1]]
    first = firsts[numbers].astype(np.int32)
    if not np.array_equal(around, around[first]):
        raise ContradictionError(f"{puzzle.name} declares configurations as equivalent whose moves are not")
    return first


def images_of(puzzle: Puzzle, keys: Keys, graph: Graph) -> list[Vertices]:
    """Return the symmetries that map a component to itself, as permutations of its vertices.

    Raises `ContradictionError` if a declared symmetry does not keep the moves.
    """
    known = list(puzzle.symmetry_maps())
    apart = [one for one in known if not _is_within(keys, one(keys[:1]))]
    # If there are only two components, two maps that lead into the other one lead back one after the other.
    both = [_after(other, one) for one, other in pairwise(apart)]
    found = []
    for symmetry in [*(one for one in known if one not in apart), *both]:
        if not _is_within(keys, symmetry(keys[:1])):
            continue
        images = symmetry(keys)
        image = np.minimum(lower_bounds(keys, images), len(keys) - 1).astype(np.int32)
        if not (equal_rows(keys[image], images).all() and keeps_edges(graph, image)):
            raise ContradictionError(f"{puzzle.name} has a symmetry that does not preserve moves")
        found.append(image)
    return found


def _after(second: _Map, first: _Map) -> _Map:
    return lambda keys: second(first(keys))


def _is_within(keys: Keys, one: Keys) -> bool:
    place = np.minimum(lower_bounds(keys, one), len(keys) - 1)
    return bool(equal_rows(keys[place], one)[0])
