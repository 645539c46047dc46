"""The trees of all ranges of a space, united to components."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.errors import Hint
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.scratch import file_array
from hakoiri.storage.results.census import Labels
from hakoiri.worker.graphs.forests import add_to_roots, find_roots, unite
from hakoiri.worker.graphs.trees import TreeEdges
from hakoiri.worker.spaces.slabs import Sizes

#: Bytes of a tree while trees are united.
TREE_BYTES = 8
#: Edges united at a time, of 50 bytes each meanwhile.
_AT_ONCE = 1 << 16
#: The half of an edge that has the number of the tree elsewhere.
LOW = (1 << 32) - 1


class TreeNumbers:
    """The trees of ranges, of which `trees` has how many there are in each: numbered from the place in `firsts` on.

    Attributes: `count`, of all trees; `offsets`, how many there are in the ranges before each. Both methods raise
    `DamagedError` for labels of a run, or of others, that are no tree's.
    """

    def __init__(self, run: str, trees: Sequence[int], firsts: Sequence[int]) -> None:
        self._run, self._trees, self._firsts = run, trees, np.array(firsts)
        ends: NDArray[np.int64] = np.cumsum(trees)
        self.count, self.offsets = int(ends[-1]), ends - np.array(trees)

    def within(self, number: int, labels: Labels) -> NDArray[np.int64]:
        """Return the trees of a range, numbered from 0 on."""
        return self._checked(labels - self._firsts[number], self._trees[number])

    def among_all(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trees of any ranges, numbered from 0 on among all."""
        ranges = np.searchsorted(self._firsts, labels, "right") - 1
        return self._checked(labels - (self._firsts - self.offsets)[ranges], self.count)

    def _checked(self, numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < count):
            text = f"run {self._run}: its labels name a part of a component that does not exist"
            raise DamagedError(text, Hint("repair", self._run))
        return numbers


class TreeUnion:
    """The trees of all ranges, united by edges: in memory up to `most_bytes`, else in files of the run `directory`."""

    def __init__(self, numbers: TreeNumbers, directory: Path, most_bytes: int) -> None:
        self._numbers, count = numbers, numbers.count
        number_type: type[np.generic] = np.int64 if count >> 31 else np.int32
        if count * TREE_BYTES > most_bytes:
            self._parents, self._sizes = (file_array(directory, each, count) for each in (number_type, np.uint32))
        else:
            self._parents, self._sizes = np.empty(count, number_type), np.empty(count, np.uint32)
        for begin in range(0, count, _AT_ONCE):
            end = min(begin + _AT_ONCE, count)
            self._parents[begin:end] = np.arange(begin, end)

    def add(self, number: int, edges: TreeEdges) -> None:
        """Unite the trees of a range with others."""
        offset = int(self._numbers.offsets[number])
        self._sizes[offset : offset + len(edges.sizes)] = edges.sizes
        for begin in range(0, len(edges.pairs), _AT_ONCE):
            pairs = edges.pairs[begin : begin + _AT_ONCE]
            ends = (pairs >> 32) + offset, self._numbers.among_all(pairs & LOW)
            unite(self._parents, *(each.astype(self._parents.dtype) for each in ends))

    def sum_up(self) -> Sizes:
        """Return the number of configurations of each root, in the order of their least ones. Nothing is added then."""
        find_roots(self._parents)
        add_to_roots(self._parents, self._sizes)
        self._heads = np.concatenate([self._heads_from(at) for at in range(0, len(self._parents), _AT_ONCE)])
        sizes: Sizes = self._sizes[self._heads].astype(np.int64)
        return sizes

    def numbered(self, numbers: Labels) -> Iterator[Labels]:
        """Yield for each tree that one of `numbers` that its root has, range by range."""
        for begin, end in pairwise([*self._numbers.offsets.tolist(), len(self._parents)]):
            yield numbers[np.searchsorted(self._heads, self._parents[begin:end])]

    def _heads_from(self, begin: int) -> NDArray[np.int64]:
        """Return the roots among some trees."""
        parents = self._parents[begin : begin + _AT_ONCE]
        return begin + np.flatnonzero(parents == np.arange(begin, begin + len(parents)))
