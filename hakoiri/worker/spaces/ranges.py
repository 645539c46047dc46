"""The ranges of a whole space, each of as many slabs, and the trees of each by threads."""

from collections.abc import Iterable, Iterator

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.results.census import SLAB
from hakoiri.worker.exchange.pool import Threads
from hakoiri.worker.exchange.shares import Shares
from hakoiri.worker.graphs.trees import Grown, grow
from hakoiri.worker.layers.partition import Partition

#: The memory of a move, in successors of a layer step: both its ends, their places, a pair.
MOVE_ARRAYS = 4
#: Most successors of a batch, so that they stay in the second-level cache.
_BATCH = 1 << 17
#: Bytes of a configuration of a range besides three copies of its key and its moves: trees and labels.
_BYTES_BESIDE_KEYS = 40
#: Ranges for each thread at least, and the least configurations of one: fewer have too many moves to others.
_RANGES_EACH, _LEAST_RANGE = 4, 1 << 20
#: Configurations of a range where rules in plain Python look at ten thousand in a second.
_RANGE_BY_RULES = 1 << 16


def slabs_of_range(puzzle: Puzzle, size: int, shares: Shares, threads: int, most: int) -> int:
    """Return the slabs of each range of a space of `size` configurations, in all of which `threads` take part.

    `shares` are those of each process, `most` the most configurations of a range.
    """
    wanted = max(_LEAST_RANGE, size // (_RANGES_EACH * threads)) if puzzle.has_kernel else _RANGE_BY_RULES
    # As many results wait as there are threads. At most half of the moves of an undirected puzzle are kept, twice.
    keys = 3 + 2 * puzzle.most_successors
    each = 2 * shares.workers * (keys * puzzle.layout.bytes + _BYTES_BESIDE_KEYS)
    return max(1, min(most, shares.free // 2 // each, wanted) // SLAB)


def even_slabs(size: int, ranges: int) -> int:
    """Return the slabs of each range but the last if a space of `size` configurations has so many ranges, or fewer."""
    return -(-slabs_in(size) // ranges)


def slabs_in(size: int) -> int:
    """Return the number of slabs of so many configurations."""
    return -(-size // SLAB)


class SlabRanges:
    """The ranges of `partition` from number `first` on whose configurations `layer` has, `range_slabs` slabs in each.

    The last range of the space may have fewer. Attributes: `numbers`, those of these ranges; `size`, the number of
    their configurations.
    """

    def __init__(self, layer: StoredLayer, partition: Partition, range_slabs: int, first: int) -> None:
        self._layer, self._partition, self._range_slabs = layer, partition, range_slabs
        self.size = layer.size
        self._end = first * range_slabs * SLAB + layer.size
        self.numbers = range(first, -(-self._end // (range_slabs * SLAB)))

    def sample(self) -> Keys:
        """Return some keys of all ranges."""
        return self._layer.sample()

    def first_slab(self, number: int) -> int:
        """Return the number of the first slab of a range, among all of the space."""
        return number * self._range_slabs

    def first_place(self, number: int) -> int:
        """Return the place of the first configuration of a range, among all of the space."""
        return number * self._range_slabs * SLAB

    def size_of(self, number: int) -> int:
        """Return the number of configurations of a range."""
        return min(self.first_place(number + 1), self._end) - self.first_place(number)

    def keys(self, number: int) -> Iterable[Keys]:
        """Return the keys of a range, in batches that any thread may decode."""
        return self._layer.between(*self._partition.bounds(number))


def together(batches: Iterable[Keys]) -> Keys:
    """Return batches as one."""
    return np.concatenate(list(batches))


def grown_by_threads(
    threads: Threads, puzzle: Puzzle, shares: Shares, ranges: SlabRanges, missing: list[int]
) -> Iterator[tuple[int, Grown]]:
    """Yield the trees of some ranges with the number of the range, in any order."""
    chunk = shares.chunk_size(ranges.size, MOVE_ARRAYS * puzzle.most_successors)
    step = max(1, min(chunk, _BATCH // puzzle.most_successors))

    def work(item: tuple[int, Iterable[Keys]]) -> Grown:
        number, keys = item
        return grow(puzzle, together(keys), ranges.first_place(number), step)

    items = ((number, ranges.keys(number)) for number in missing)
    for place, grown in threads.each("forest", work, items):
        yield missing[place], grown
