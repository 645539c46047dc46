"""The exact diameter of what a search reached, by the cheapest way that proves it.

* Where the puzzle knows symmetries of its moves (`Puzzle.orbits`), alike configurations have the same eccentricity: one
  search for each kind settles everything. The claim is checked on a sample first.
* A small component is measured in full: radius, centre, periphery, all pairs. Sources are chosen where a bound says
  most, until it is settled for every vertex whether it is in the periphery and in the centre. The 25,955
  configurations of Hakoiri-musume's start take some 130 searches instead of 25,955.
* A large one is bounded (Takes and Kosters, "Determining the diameter of small world networks", 2011) until the least
  upper and the greatest lower bound of the diameter meet; an interval is never passed off as the diameter.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.search import scratch_search
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.coordinator.steps.window import StoredLayer
from hakoiri.puzzles.checks import describe_key
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, ints, key_at
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import ComponentRecord, Progress
from hakoiri.worker.graphs.searches import Graph, distances_from
from hakoiri.worker.layers.kernels import merge

#: Components of this many configurations and more are bounded, not measured in full.
BOUNDED_FROM = 60_000
#: Pairs that are listed at most where there may be millions.
MOST_PAIRS = 16
#: With more kinds of configurations than this, searching from each costs more than bounding.
MOST_KINDS = 64
#: How many configurations around two that are said to be alike are compared.
_SURROUNDINGS = 3_000


@dataclass(frozen=True)
class Measured:
    """Exact distances of a component. `pairs` has shape (pairs, 2); `eccentricities` says how many have each.

    `central` are some of those in the centre.
    """

    diameter: int
    radius: int
    centre: int
    periphery: int
    pair_count: int
    pairs: Keys
    central: Keys
    eccentricities: dict[int, int] | None

    def record(self, component: int, size: int, least: Key) -> ComponentRecord:
        """What is kept of the component of this number, size and least key."""
        return ComponentRecord(
            component, size, self.diameter, self.radius, self.centre, self.periphery, self.pair_count, least
        )


def interval_progress(lower: int, upper: int) -> Progress:
    """That the diameter lies between these, both included."""
    return Progress(unit="", headline=f"the diameter is in [{lower:,}, {upper:,}]")


@dataclass
class Kind:
    """Configurations that are alike: how many, one of them, and one more to compare it with."""

    size: int
    first: Key
    other: Key


Kinds = dict[int, Kind]


def has_kinds_alone(puzzle: Puzzle) -> bool:
    """Whether a puzzle knows what is alike but no maps: they would give all diametral pairs from those of a few."""
    return not puzzle.symmetry_maps() and puzzle.orbits(puzzle.keys([puzzle.start])) is not None


def kinds_of(puzzle: Puzzle, store: RunStore) -> Kinds | None:
    """The kinds of configurations that a finished search reached; ``None`` where the puzzle knows none, or too many."""
    return kinds_among(puzzle, chain.from_iterable(map(store.blocks, range(store.state.depth + 1))))


def kinds_among(puzzle: Puzzle, blocks: Iterable[Keys]) -> Kinds | None:
    """The kinds of some configurations; ``None`` where the puzzle knows none, or too many."""
    kinds: Kinds = {}
    for block in blocks:
        orbits = puzzle.orbits(block)
        if orbits is None:
            return None
        numbers, firsts, sizes = np.unique(orbits, return_index=True, return_counts=True)
        for number, place, size in zip(numbers.tolist(), firsts.tolist(), sizes.tolist(), strict=True):
            key = key_at(block, place)
            kind = kinds.setdefault(number, Kind(0, key, key))
            # The last one met is likely to be far from the first.
            kind.size, kind.other = kind.size + size, key
        if len(kinds) > MOST_KINDS:
            return None
    # By number: which kind comes first does not depend on where a block ends.
    return dict(sorted(kinds.items()))


@dataclass(frozen=True)
class _Reach:
    """How far the `kind_size` configurations of a kind reach: their eccentricity, how many are that far from each.

    `examples` are some of those for the configuration `source`.
    """

    kind_size: int
    source: Key
    eccentricity: int
    farthest: int
    examples: Keys


def by_orbits(context: ComputeContext, store: RunStore, kinds: Kinds, from_start: bool = True) -> Measured:
    """The exact answer from one search for each kind of configuration; that of a run `from_start` is the run itself.

    Raises `ContradictionError` if configurations that are said to be alike are not.
    """
    puzzle = context.puzzle
    for kind in kinds.values():
        _check_alike(puzzle, kind)
    own = puzzle.orbits(puzzle.keys([puzzle.start])) if from_start else None
    found: list[_Reach] = []
    for number, kind in kinds.items():
        if own is not None and number == int(own[0]):
            found.append(_reach(store, puzzle.start, kind.size))
        else:
            part = context.part(f"from kind {len(found) + 1} of {len(kinds)}")
            with scratch_search(part, store, kind.first) as search:
                while search.current.size:
                    search.step()
                search.commit()
                found.append(_reach(search.store, kind.first, kind.size))
        context.tell(Progress(len(found), len(kinds), "kinds of configurations searched from"))
    return _measured(puzzle, found)


def kinds_in_graph(context: ComputeContext, kinds: Kinds, graph: Graph, members: Keys) -> Measured:
    """Return what `by_orbits` does of a component whose graph is in memory, by a search from one vertex of each kind.

    `members` are the keys of the vertices, in increasing order.
    """
    found: list[_Reach] = []
    for kind in kinds.values():
        context.control.check()
        distances = distances_from(graph, int(lower_bounds(members, context.puzzle.keys([kind.first]))[0]))
        farthest = np.flatnonzero(distances == distances.max())
        examples = members[farthest[:MOST_PAIRS]]
        found.append(_Reach(kind.size, kind.first, int(distances.max()), len(farthest), examples))
    return _measured(context.puzzle, found)


def _reach(store: RunStore, source: Key, kind_size: int) -> _Reach:
    depth = store.state.depth
    size = store.layer_record(depth).size
    return _Reach(kind_size, source, depth, size, next(StoredLayer(store, depth, size).chunks(0, MOST_PAIRS)))


def _measured(puzzle: Puzzle, found: list[_Reach]) -> Measured:
    diameter, radius = max(reach.eccentricity for reach in found), min(reach.eccentricity for reach in found)
    outer = [reach for reach in found if reach.eccentricity == diameter]
    inner = [reach for reach in found if reach.eccentricity == radius]
    source, examples = outer[0].source, outer[0].examples
    pairs = sorted((min(source, other), max(source, other)) for other in ints(examples))
    counts: dict[int, int] = {}
    for reach in sorted(found, key=attrgetter("eccentricity")):
        counts[reach.eccentricity] = counts.get(reach.eccentricity, 0) + reach.kind_size
    return Measured(
        diameter,
        radius,
        centre=sum(reach.kind_size for reach in inner),
        periphery=sum(reach.kind_size for reach in outer),
        pair_count=sum(reach.kind_size * reach.farthest for reach in outer) // 2,
        pairs=np.stack([puzzle.keys(list(side)) for side in zip(*pairs, strict=True)], axis=1),
        central=puzzle.keys([reach.source for reach in inner]),
        eccentricities=counts,
    )


def _surroundings(puzzle: Puzzle, source: Key) -> tuple[int, int]:
    """How far the nearest `_SURROUNDINGS` configurations or so around `source` reach, and how many are that far."""
    current = puzzle.keys([source])
    previous, depth, count = current[:0], 0, 1
    while count < _SURROUNDINGS:
        following = merge([puzzle.expand(current).successors], [previous, current])
        if not len(following):
            break
        previous, current, depth, count = current, following, depth + 1, count + len(following)
    return depth, len(current)


def _check_alike(puzzle: Puzzle, kind: Kind) -> None:
    """Compare the surroundings of two configurations of a kind: the number of layers and the size of the last."""
    (depth, near), (other_depth, other_near) = (_surroundings(puzzle, key) for key in (kind.first, kind.other))
    if (depth, near) != (other_depth, other_near):
        raise ContradictionError(
            f"{puzzle.name} says that {describe_key(puzzle, kind.first)} and {describe_key(puzzle, kind.other)} "
            f"are alike, but they have {near} and {other_near} others {depth} and {other_depth} moves away"
        )
