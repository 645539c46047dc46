"""What the chunks of a layer lead to, as far as it lies in Redis: asked for by key range, lost by chunk."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.executors.lying import Lying, Pieces
from hakoiri.puzzles.keys.layout import Keys, Layout
from hakoiri.storage.layers.readers import SAMPLED
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.transport.lots import LENGTH, NUMBER, Lot, ValueName, join_lots


class Cut(NamedTuple):
    """The keys of a layer from number `begin` on, `size` of them: those of some blocks less the first `skipped`."""

    begin: int
    size: int
    skipped: int
    first: int
    end: int


class Expanded:
    """The pieces of the chunks that are expanded.

    Attributes: `configurations`, how many have been since `clear`; `bytes_each`, the most bytes that the pieces of one
    took; `flows`, of the moves of each chunk (`worker.layers.flow`).
    """

    def __init__(self, lying: Lying, layout: Layout) -> None:
        self._lying, self._nothing = lying, Lot.empty(layout)
        self._chunks: dict[Cut, Pieces] = {}
        self.flows: dict[Cut, int] = {}
        #: Sorted by range, with where each begins, since the last chunk.
        self._sorted: tuple[Lot, list[int]] | None = None
        self.configurations, self.bytes_each = 0, 1.0

    def add(self, cut: Cut, pieces: Pieces, flow: int) -> None:
        """A chunk is expanded."""
        self._chunks[cut], self.flows[cut] = pieces, flow
        self._sorted = None
        self.configurations += cut.size
        self.bytes_each = max(self.bytes_each, int(pieces.lot.places[:, LENGTH].sum()) / cut.size)

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def names(self) -> list[ValueName]:
        """Where the pieces lie: one value for each chunk that leads anywhere."""
        return [name for pieces in self._chunks.values() for name in self._lying.names(pieces.lot)]

    def counts(self, ranges: int) -> NDArray[np.int64]:
        """How many successors lie in each of so many ranges, those of several chunks counted in each."""
        found = np.zeros(ranges, dtype=np.int64)
        for pieces in self._chunks.values():
            np.add.at(found, pieces.ranges, pieces.lot.counts)
        return found

    @property
    def keys(self) -> int:
        """How many successors there are, those of several chunks counted in each."""
        return sum(int(pieces.lot.counts.sum()) for pieces in self._chunks.values())

    @property
    def ranges(self) -> set[int]:
        """The ranges that they lie in."""
        return {number for pieces in self._chunks.values() for number in np.unique(pieces.ranges).tolist()}

    def within(self, number: int) -> Lot:
        """The pieces of a range."""
        if self._sorted is None:
            lot = join_lots([self._nothing, *(pieces.lot for pieces in self._chunks.values())])
            ranges = np.concatenate([np.empty(0, dtype=np.int64), *(each.ranges for each in self._chunks.values())])
            order = np.argsort(ranges, kind="stable")
            self._sorted = lot.take(order), np.cumsum(np.bincount(ranges, minlength=1)).tolist()
        lot, ends = self._sorted
        begin, end = (ends[min(place, len(ends) - 1)] if place >= 0 else 0 for place in (number - 1, number))
        return lot.take(slice(begin, end))

    def take_lost(self, ranges: Collection[int]) -> list[Cut]:
        """Forget the chunks of which anything in some ranges is lost: those are to be expanded again."""
        wanted = np.fromiter(ranges, dtype=np.int64)
        lost = [
            cut
            for cut, pieces in self._chunks.items()
            if np.isin(wanted, pieces.ranges).any() and self._lying.lacks(pieces.lot)
        ]
        for cut in lost:
            del self._chunks[cut], self.flows[cut]
            self.configurations -= cut.size
        self._sorted = None
        return lost

    def clear(self) -> None:
        """Take everything away."""
        self._lying.drop(self.names)
        self._chunks.clear()
        self.flows.clear()
        self._sorted, self.configurations = None, 0


@dataclass
class Ahead:
    """What workers made of a layer besides itself: some keys of it, and its first chunks expanded, if it is cut."""

    expanded: Expanded
    partition: Partition | None = None
    #: Of each part how many keys it has, and some of them.
    samples: list[tuple[int, Keys]] = field(default_factory=list)

    @property
    def sample(self) -> Keys:
        """Some of its keys, as many as of any layer, of each part in proportion."""
        strides = [size / len(keys) for size, keys in self.samples]
        wanted = max(*strides, sum(size for size, _ in self.samples) / SAMPLED)
        parts = zip(strides, self.samples, strict=True)
        return np.concatenate([keys[:: max(1, round(wanted / stride))] for stride, (_, keys) in parts])

    def add(self, cut: Cut, pieces: Pieces, flow: int) -> None:
        """What the keys of a chunk lead to; passed over if the chunk before is missing."""
        if cut.begin == self.expanded.configurations:
            pieces.lot.places[:, NUMBER] += 1
            self.expanded.add(cut, pieces, flow)
