"""The trees of all ranges of a space, united to components."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.spaces.slabs import ranks_of
from hakoiri.storage.results.census import Labels
from hakoiri.worker.graphs.forests import find_roots, unite
from hakoiri.worker.graphs.trees import TreeEdges

#: Bytes of a tree while trees are united.
TREE_BYTES = 16
#: TreeEdges united at a time, which are 50 bytes each then.
_AT_ONCE = 1 << 16
_LOW = (1 << 32) - 1


class TreeNumbers:
    """The trees of ranges, of which `trees` has how many there are in each: numbered from the place in `firsts` on.

    Attributes: `count`, of all trees; `offsets`, how many there are in the ranges before each.
    """

    def __init__(self, trees: Sequence[int], firsts: Sequence[int]) -> None:
        self._firsts = np.array(firsts)
        ends: NDArray[np.int64] = np.cumsum(trees)
        self.count, self.offsets = int(ends[-1]), ends - np.array(trees)

    def within(self, number: int, labels: Labels) -> NDArray[np.int64]:
        """Return the trees of a range, numbered from 0 on."""
        found: NDArray[np.int64] = labels - self._firsts[number]
        return found

    def among_all(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trees of any ranges, numbered from 0 on among all."""
        ranges = np.searchsorted(self._firsts, labels, "right") - 1
        found: NDArray[np.int64] = labels - (self._firsts - self.offsets)[ranges]
        return found


class TreeUnion:
    """The trees of all ranges, united by edges; all in memory."""

    def __init__(self, numbers: TreeNumbers) -> None:
        self._numbers, self._sizes = numbers, np.zeros(numbers.count, dtype=np.int64)
        self._parents: NDArray[Any] = np.arange(numbers.count, dtype=np.int64 if numbers.count >> 31 else np.int32)

    def add(self, number: int, edges: TreeEdges) -> None:
        """Unite the trees of a range with others."""
        offset = int(self._numbers.offsets[number])
        self._sizes[offset : offset + len(edges.sizes)] = edges.sizes
        for begin in range(0, len(edges.pairs), _AT_ONCE):
            pairs = edges.pairs[begin : begin + _AT_ONCE]
            ends = (pairs >> 32) + offset, self._numbers.among_all(pairs & _LOW)
            unite(self._parents, *(each.astype(self._parents.dtype) for each in ends))

    def components(self) -> Labels:
        """Return the component of each tree: the largest is 0, ties go to the one with the least configuration."""
        find_roots(self._parents)
        heads = np.flatnonzero(self._parents == np.arange(len(self._parents)))
        sizes = np.bincount(self._parents, self._sizes).astype(np.int64)[heads]
        found = np.empty(len(self._parents), dtype=np.uint32)
        found[heads] = ranks_of(sizes)
        labels: Labels = found[self._parents]
        return labels
