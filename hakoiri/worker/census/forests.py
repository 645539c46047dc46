"""Connected sets of the configurations of a range of keys, and their connections to other ranges.

A pair (key, lesser key) says that two configurations are connected. It is one number of twice the bits, the greater key
first, so pairs are sorted, coded and spilled like keys. A forest has the keys of a range. Moves within the range join
its sets, its *trees*, by union-find. A move that leaves the range is kept as a pair (its key, the number of the tree it
comes from), so each range is joined by itself. What is left then is a small graph of trees: of pancakes of 9
in 16 ranges 18 trees and 149 edges between them, of the 2x5 tiles 106,640 of 1.8 million configurations. With small
ranges and moves that lead far it is larger: the Pyraminx in 64 ranges has three trees for four configurations.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.keys.layout import U32, Counts, Keys, Layout, layout_of
from hakoiri.keys.order import KeyIndex, distinct, equal_rows, less, less_than, put
from hakoiri.keys.splitmix import word_after
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.graphs.searches import Vertices, find_roots, unite, unite_all
from hakoiri.worker.layers.kernels import merge, simple_edges, split
from hakoiri.worker.transport.payload import Arrays

#: The number of configurations of each tree.
Sizes = NDArray[np.uint32]
_WORD = np.uint64(32)


@jit
def add_to_roots(parents: Vertices, sizes: Sizes) -> None:
    """Add the size of each vertex to that of its parent, which is a root."""
    for vertex in range(len(parents)):
        if parents[vertex] != vertex:
            sizes[parents[vertex]] += sizes[vertex]


@jit
def _link(
    parents: Vertices, keys: Keys, first: int, targets: Keys, counts: Counts, places: Vertices, dense: bool,
    upwards: bool, members: Vertices,
) -> int:  # fmt: skip
    """Join the keys from `first` on to the targets of each; return the number of targets elsewhere.

    These are moved to the front of `targets`, and their sources written to `members`. With `upwards` targets below
    their source are left out. The place of a target in `keys` is its distance from the first if these are `dense`.
    """
    count = 0
    edge = 0
    for source in range(first, first + len(counts)):
        for _ in range(counts[source - first]):
            if not upwards or less(keys, source, targets, edge):
                place = -1
                if not dense:
                    place = int(places[edge])
                elif keys.ndim == 1:
                    # Keys below the first wrap around, and are also beyond the last.
                    offset = np.uint64(targets[edge]) - np.uint64(keys[0])
                    if offset < np.uint64(len(keys)):
                        place = int(np.int64(offset))
                if place >= 0:
                    unite(parents, source, place)
                else:
                    put(targets, count, targets, edge)
                    members[count] = source
                    count += 1
            edge += 1
    return count


@jit
def _mixed(one: Keys, index: int, other: Keys, place: int) -> np.uint64:
    mixed = np.uint64(0)
    if one.ndim == 1:
        mixed = word_after(np.uint64(one[index]))
        return word_after(mixed + np.uint64(other[place]))
    for word in range(one.shape[1]):
        mixed = word_after(mixed + one[index, word])
    for word in range(one.shape[1]):
        mixed = word_after(mixed + other[place, word])
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


def numbered_pairs(keys: Keys, numbers: NDArray[np.integer]) -> Keys:
    """Return the pairs of some keys and numbers, which have less than 32 bits or as many."""
    lesser = np.zeros_like(keys)
    _last_words(lesser)[:] = numbers
    return pairs_of(keys, lesser)


def split_numbered(pairs: Keys, layout: Layout) -> tuple[Keys, NDArray[np.int64]]:
    """Return the keys and the numbers of some pairs; `layout` is that of the keys."""
    keys, lesser = split_pairs(pairs, layout)
    return keys, _last_words(lesser).astype(np.int64)


def _last_words(keys: Keys) -> Keys:
    return keys if keys.ndim == 1 else keys[:, -1]


class Grown(NamedTuple):
    """The trees of a range, numbered by their least keys: the tree of each key, how many there are, pairs (key, tree).

    The pairs are of keys elsewhere, in batches; they are in no order, and may repeat. Then the number of moves of the
    keys, and their balance.
    """

    labels: NDArray[np.uint32]
    size: int
    pairs: list[Keys]
    moves: int
    balance: int


class PlaceIndex:
    """Finds the places of keys among some increasing keys. These need no index if they are `dense`, without gaps."""

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.dense = keys.ndim == 1 and int(keys[-1]) - int(keys[0]) + 1 == len(keys)
        self._index = KeyIndex.of(keys[:1] if self.dense else keys)

    def places(self, keys: Keys) -> Vertices:
        """Return the places of keys; -1 for a missing key."""
        if self.dense:
            offsets = keys - self.keys[0]
            return np.where(offsets < len(self.keys), offsets.astype(np.int64), -1).astype(np.int32)
        places = np.minimum(self._index.lower_bounds(keys), len(self.keys) - 1)
        places[~equal_rows(self.keys[places], keys)] = -1
        return places.astype(np.int32)


class Forest:
    """The trees of some increasing keys, joined by their moves.

    Memory: 4 to 8 bytes for each key besides it, and a key and 4 bytes for each pair of a key elsewhere and a tree.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys, self._layout = keys, layout_of(keys)
        self._parents = np.arange(len(keys), dtype=np.int32)
        self._index = PlaceIndex(keys)
        self._far = [(self._layout.empty(0), self._parents[:0])]
        self._count, self._most = 0, len(keys)
        #: The number of moves so far, and their balance.
        self.moves = self.balance = 0

    def link(self, first: int, targets: Keys, counts: Counts, undirected: bool) -> None:
        """Join the keys from number `first` on to the `targets` of each in turn. Overwrites `targets`.

        Moves of an undirected puzzle to lesser keys are left out: their counterparts connect the same keys.
        """
        self.moves, dense = self.moves + len(targets), self._index.dense
        self.balance += balance(self.keys[first : first + len(counts)], targets, counts)
        places = self._parents[:0] if dense else self._index.places(targets)
        members = np.empty(len(targets), dtype=np.int32)
        count = _link(self._parents, self.keys, first, targets, counts, places, dense, undirected, members)
        self._keep(targets[:count].copy(), members[:count].copy())

    def join(self, pairs: Keys, moves: int, balance: int) -> None:
        """Join the keys of pairs of which at least one is in the forest; they stand for `moves` of this `balance`."""
        self.moves, self.balance = self.moves + moves, self.balance + balance
        ones, others = split_pairs(pairs, self._layout)
        places, other_places = self._index.places(ones), self._index.places(others)
        inside, beyond = (places >= 0) & (other_places >= 0), places < 0
        unite_all(self._parents, places[inside], other_places[inside])
        self._keep(ones[beyond], other_places[beyond])
        beyond = other_places < 0
        self._keep(others[beyond], places[beyond])

    def _keep(self, targets: Keys, members: Vertices) -> None:
        self._far.append((targets, members))
        self._count += len(targets)
        if self._count > self._most:
            targets, numbers = split_numbered(merge(self._take_far(self.roots()), []), self._layout)
            self._far, self._count = [(targets, numbers.astype(np.int32))], len(targets)
            self._most = max(self._most, 2 * len(targets))

    def _take_far(self, numbers: NDArray[np.integer]) -> list[Keys]:
        """Return pairs of the keys elsewhere and the numbers of those that they are connected to, and forget them."""
        found = list[Keys]()
        while self._far:
            targets, members = self._far.pop()
            found.append(numbered_pairs(targets, numbers[members]))
        return found

    def roots(self) -> Vertices:
        """Return for each key the index of the least key of its tree."""
        find_roots(self._parents)
        return self._parents

    def pairs(self) -> Keys:
        """Return as few pairs as possible that connect the same configurations, increasing."""
        targets, members = (np.concatenate(column) for column in zip(*self._far, strict=True))
        roots = self.keys[self.roots()]
        lesser = roots[members]
        joined, upwards = less_than(roots, self.keys), less_than(lesser, targets)
        parts = [(self.keys[joined], roots[joined]), (targets[upwards], lesser[upwards])]
        parts.append((lesser[~upwards], targets[~upwards]))
        return merge([pairs_of(*each) for each in parts], [])

    def grown(self, first: int) -> Grown:
        """Return its trees, numbered from `first` on. The forest is used up."""
        is_root = self.roots() == np.arange(len(self.keys), dtype=np.int32)
        # The last one of a space has the greatest number at most.
        numbers = np.cumsum(is_root, dtype=np.uint32) - np.uint32(1) + np.uint32(first)
        labels = numbers[self._parents]
        return Grown(labels, int(np.count_nonzero(is_root)), self._take_far(labels), self.moves, self.balance)


_WORD_BITS = 32


class TreeEdges(NamedTuple):
    """Edges to the trees of a range, and the size of each of these.

    Each of `pairs` has 32 bits for the number of such a tree, from 0 on, and 32 for that of a tree elsewhere.
    """

    pairs: NDArray[np.int64]
    sizes: NDArray[np.integer]


def grow(puzzle: Puzzle, keys: Keys, first: int, step: int) -> Grown:
    """Return the trees of a range, numbered from `first` on, by the moves of its keys, expanded `step` at a time."""
    forest = Forest(keys)
    for number, part in enumerate(split(keys, step)):
        forest.link(number * step, *simple_edges(part, *puzzle.expand(part)), puzzle.undirected)
    return forest.grown(first)


def edges_to(keys: Keys, labels: NDArray[np.int64], pairs: Iterable[Keys]) -> TreeEdges | None:
    """Return the edges to the trees of a range, `labels` from 0 on, by pairs (key, tree elsewhere).

    ``None`` if a key of the pairs is not among `keys`.
    """
    index, found, most = PlaceIndex(keys), [np.empty(0, dtype=np.int64)], len(keys)
    for batch in pairs:
        targets, others = split_numbered(batch, layout_of(keys))
        if ((places := index.places(targets)) < 0).any():
            return None
        found.append(distinct(labels[places] << _WORD_BITS | others))
        if sum(map(len, found)) > most:
            found = [distinct(np.concatenate(found))]
            most = max(most, 2 * len(found[0]))
    return TreeEdges(distinct(np.concatenate(found)), np.bincount(labels))


def forest(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [pairs that connect keys as their moves do (`worker.census.forests`); number of moves, the balance]."""
    (keys,) = chunk
    made = Forest(keys)
    made.link(0, *simple_edges(keys, *puzzle.expand(keys)), puzzle.undirected)
    return [made.pairs(), np.array([made.moves, made.balance], dtype=np.uint64)]
