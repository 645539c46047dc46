"""The trees of the ranges of a space, by threads that take a range each, or by workers that take chunks of ranges."""

from collections.abc import Iterable, Iterator
from itertools import count

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.coordinator.spaces.slabs import Slabs
from hakoiri.puzzles.keys.layout import Keys, Layout
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.results.census import SLAB
from hakoiri.worker.graphs.forests import Forest
from hakoiri.worker.graphs.trees import Grown, grow
from hakoiri.worker.layers.kernels import split

#: The memory of a move, in successors of a layer step: both its ends, their places, a pair.
_ARRAYS = 4
#: Most successors of a batch, so that they stay in the second-level cache.
_BATCH = 1 << 17


class SlabRanges:
    """The ranges of a space: each has `range_slabs` slabs, the last one perhaps fewer.

    Attributes: `size`, the number of all configurations; `firsts`, the first key of each range.
    """

    def __init__(self, slabs: Slabs, layer: StoredLayer, layout: Layout, range_slabs: int) -> None:
        self._slabs, self._layer, self._range_slabs, self.size = len(slabs), layer, range_slabs, slabs.size
        self.firsts = slabs.firsts[::range_slabs]
        self._ends = [*self.firsts[1:], layout.greatest + 1]

    def slabs_of(self, number: int) -> range:
        """Return the slabs of a range."""
        begin = number * self._range_slabs
        return range(begin, min(begin + self._range_slabs, self._slabs))

    def first_place(self, number: int) -> int:
        """Return the place of the first configuration of a range."""
        return number * self._range_slabs * SLAB

    def size_of(self, number: int) -> int:
        """Return the number of configurations of a range."""
        return min(self.first_place(number + 1), self.size) - self.first_place(number)

    def keys(self, number: int) -> Iterable[Keys]:
        """Return the keys of a range, in batches that any thread may decode."""
        return self._layer.between(self.firsts[number], self._ends[number])


def together(batches: Iterable[Keys]) -> Keys:
    """Return batches as one."""
    return np.concatenate(list(batches))


def grown_ranges(context: ComputeContext, ranges: SlabRanges, missing: list[int]) -> Iterator[tuple[int, Grown]]:
    """Yield the trees of some ranges with the number of the range, in any order."""
    puzzle, remote = context.puzzle, context.remote_workers if context.budget.distributes(ranges.size) else 0
    size = context.shares.chunk_size(ranges.size, _ARRAYS * puzzle.most_successors, remote)
    if remote:
        yield from _grown_by_workers(context, ranges, missing, size)
        return
    step = max(1, min(size, _BATCH // puzzle.most_successors))

    def work(item: tuple[int, Iterable[Keys]]) -> Grown:
        number, keys = item
        return grow(puzzle, together(keys), ranges.first_place(number), step)

    items = ((number, ranges.keys(number)) for number in missing)
    for place, grown in context.local.each("forest", work, items):
        yield missing[place], grown


class _Open:
    """A range of which workers look at `left` chunks."""

    def __init__(self, number: int, keys: Keys, left: int) -> None:
        self.number, self.forest, self.left = number, Forest(keys), left
        self.moves = self.balance = 0


def _grown_by_workers(
    context: ComputeContext, ranges: SlabRanges, missing: list[int], size: int
) -> Iterator[tuple[int, Grown]]:
    open_ones, made = dict[int, _Open](), count()

    def chunks() -> Iterator[list[Keys]]:
        for number in missing:
            keys = together(ranges.keys(number))
            parts = split(keys, size)
            under_way = _Open(number, keys, len(parts))
            for part in parts:
                open_ones[next(made)] = under_way
                yield [part]

    for place, (pairs, figures) in context.executor.map("forest", chunks()):
        under_way = open_ones.pop(place)
        under_way.forest.join(pairs)
        under_way.moves, under_way.balance = under_way.moves + int(figures[0]), under_way.balance + int(figures[1])
        under_way.left -= 1
        if not under_way.left:
            trees = under_way.forest.trees(ranges.first_place(under_way.number))
            yield under_way.number, Grown(trees, under_way.moves, under_way.balance)
