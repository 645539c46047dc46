"""Connected sets of configurations, one range of keys at a time: pairs are kept instead of edges.

A pair (key, lesser key) says that two configurations are connected. It is one number of twice the bits, the greater key
first, so pairs are sorted, coded and spilled like keys. A forest has the keys of a range. It replaces their edges to
keys below the range by at most one lesser key per set, and by pairs of keys that are both below the range. So folding
the ranges from the highest to the lowest leaves, for each configuration, at most one lesser configuration of its
component (as in Sibeyn, "External connected components", 2004: vertices are removed one by one, and their edges handed
down).
"""

import numpy as np

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import U32, U64, U128, U256, U512, Counts, Keys, Layout, layout_of
from hakoiri.puzzles.keys.order import equal_rows, less, less_than, lower_bounds, put
from hakoiri.storage.layers.digest import stafford
from hakoiri.worker.graphs.components import root_of
from hakoiri.worker.graphs.searches import Vertices
from hakoiri.worker.layers.kernels import merge

#: The layout of pairs, by that of the keys.
PAIR_LAYOUTS: dict[Layout, Layout] = {U32: U64, U64: U128, U128: U256, U256: U512}
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WORD = np.uint64(32)


@jit
def _join(
    keys: Keys, parents: Vertices, outer: Keys, members: Vertices, others: Keys, places: Vertices,
    greater: Keys, lesser: Keys,
) -> int:  # fmt: skip
    """Join each of `members` to the other key in its place; write the remaining pairs, and return their number."""
    count = 0
    for number in range(len(members)):
        one = root_of(parents, members[number])
        if places[number] >= 0:
            other = root_of(parents, places[number])
            if one == other:
                continue
            one, other = min(one, other), max(one, other)
            parents[other] = one
            if not less(outer, other, keys, 0):
                continue
            found, place = outer, other
        else:
            found, place = others, number
        if not less(outer, one, keys, 0):
            put(outer, one, found, place)
        elif less(found, place, outer, one):
            put(greater, count, outer, one)
            put(lesser, count, found, place)
            put(outer, one, found, place)
            count += 1
        elif less(outer, one, found, place):
            put(greater, count, found, place)
            put(lesser, count, outer, one)
            count += 1
    return count


@jit
def _find_roots(parents: Vertices) -> None:
    for vertex in range(len(parents)):
        parents[vertex] = root_of(parents, vertex)


@jit
def _mixed(one: Keys, index: int, other: Keys, place: int) -> np.uint64:
    mixed = np.uint64(0)
    if one.ndim == 1:
        mixed = stafford(np.uint64(one[index]) + _ODD)
        return stafford(mixed + np.uint64(other[place]) + _ODD)
    for word in range(one.shape[1]):
        mixed = stafford(mixed + one[index, word] + _ODD)
    for word in range(one.shape[1]):
        mixed = stafford(mixed + other[place, word] + _ODD)
    return mixed


@jit
def _balance(keys: Keys, targets: Keys, counts: Counts) -> np.uint64:
    total = np.uint64(0)
    edge = 0
    for source in range(len(keys)):
        for _ in range(counts[source]):
            if less(keys, source, targets, edge):
                total += _mixed(keys, source, targets, edge)
            else:
                total -= _mixed(targets, edge, keys, source)
            edge += 1
    return total


def balance(keys: Keys, targets: Keys, counts: Counts) -> int:
    """Return a sum that is 0 modulo 2**64 over a whole space if each move has a counterpart, and hardly ever else."""
    return int(_balance(keys, targets, counts))


def pairs_of(greater: Keys, lesser: Keys) -> Keys:
    """Return the pairs of two batches of keys."""
    if greater.ndim == 1 and greater.dtype == U32.dtype:
        found: Keys = greater.astype(np.uint64) << _WORD | lesser
        return found
    return np.column_stack([greater, lesser])


def split_pairs(pairs: Keys, layout: Layout) -> tuple[Keys, Keys]:
    """Return the greater and the lesser keys of some pairs; `layout` is that of the keys."""
    if layout == U32:
        return (pairs >> _WORD).astype(np.uint32), pairs.astype(np.uint32)
    words = layout.words
    halves = np.ascontiguousarray(pairs[:, :words]), np.ascontiguousarray(pairs[:, words:])
    return halves if words > 1 else (halves[0][:, 0].copy(), halves[1][:, 0].copy())


class Forest:
    """The sets of some increasing keys; each set is joined to at most one lesser key, below all of them.

    Memory: the keys twice, and four bytes for each key; while pairs are joined, some twenty bytes for each pair.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self._parents = np.arange(len(keys), dtype=np.int32)
        self._outer = keys.copy()
        span = int(keys[-1]) - int(keys[0]) + 1 if keys.ndim == 1 else 0
        self._base = keys[0] if span == len(keys) else None

    def places(self, keys: Keys) -> Vertices:
        """Return the indices of keys in the forest; -1 for those that are not in it."""
        if self._base is not None:
            # Keys below the base wrap around, and are also beyond the last.
            offsets = keys - self._base
            return np.where(offsets < len(self.keys), offsets.astype(np.int64), -1).astype(np.int32)
        places = np.minimum(lower_bounds(self.keys, keys), len(self.keys) - 1)
        places[~equal_rows(self.keys[places], keys)] = -1
        return places.astype(np.int32)

    def join(self, members: Vertices, others: Keys) -> Keys:
        """Join each of `members`, by index, to a key of the forest or below it; return the remaining pairs below it.

        They are in no order, and may repeat.
        """
        layout = layout_of(self.keys)
        greater, lesser = layout.empty(len(members)), layout.empty(len(members))
        places = self.places(others)
        count = _join(self.keys, self._parents, self._outer, members, others, places, greater, lesser)
        return pairs_of(greater[:count], lesser[:count])

    def roots(self) -> tuple[Vertices, Keys]:
        """Return for each key the index of its set's least key; and, by that index, the lesser key or itself."""
        _find_roots(self._parents)
        return self._parents, self._outer

    def pairs(self) -> Keys:
        """Return a pair for each key that is joined to a lesser one, increasing."""
        parents, outer = self.roots()
        lesser = outer[parents]
        joined = less_than(lesser, self.keys)
        return pairs_of(self.keys[joined], lesser[joined])


def fold(keys: Keys, targets: Keys, counts: Counts, undirected: bool) -> Keys:
    """Return increasing pairs, as few as possible, that connect the same configurations as the moves of `keys`.

    `keys` increase; `targets` holds the moves of each in turn. Moves of an undirected puzzle to greater keys are left
    out: their counterparts connect the same keys.
    """
    forest = Forest(keys)
    sources = np.repeat(np.arange(len(keys), dtype=np.int32), counts)
    upwards = less_than(keys[sources], targets)
    parts = [forest.join(sources[~upwards], targets[~upwards])]
    if not undirected and upwards.any():
        ends, starts = targets[upwards], sources[upwards]
        within = forest.places(ends)
        inside = within >= 0
        parts.append(forest.join(within[inside], keys[starts[inside]]))
        parts.append(pairs_of(ends[~inside], keys[starts[~inside]]))
    return merge([forest.pairs(), *parts], [])
