"""The blocks of a layer as workers are given them: left in Redis by the merge that made them, or put there from disk.

Nothing is decoded here. A block that is not in Redis any more is put there again when it is next asked for.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

import numpy as np

from hakoiri.coordinator.executors.lying import Lying
from hakoiri.coordinator.steps.expanded import Ahead, Cut
from hakoiri.puzzles.keys.layout import Key, ints
from hakoiri.storage.layers.readers import Blocks, Layer
from hakoiri.worker.transport.lots import COLUMNS, Lot, ValueName, join_lots

#: Blocks put into one value: some megabytes.
_AT_ONCE = 64


class Shelf:
    """The blocks of a layer by number, and where they lie as far as they do: of those just made, `lots` says it."""

    def __init__(self, lying: Lying, blocks: Blocks, lots: Sequence[Lot] = ()) -> None:
        self._lying, self._blocks = lying, blocks
        self._firsts = ints(blocks.firsts)
        count = len(self._firsts)
        # No stage has the number -1.
        nowhere = Lot(np.full((count, COLUMNS), -1), blocks.firsts, np.full(count, -1))
        self._lot = join_lots(lots) if lots else nowhere

    def names(self) -> list[ValueName]:
        """The values in which its blocks lie, or have lain."""
        return self._lying.names(self._lot)

    def lot(self, begin: int, end: int) -> Lot:
        """The blocks from number `begin` to number `end`, in Redis now."""
        missing = np.flatnonzero(~self._lying.has(self._lot.places[begin:end])) + begin
        for stretch in np.split(missing, np.flatnonzero(np.diff(missing) > 1) + 1):
            for first in range(0, len(stretch), _AT_ONCE):
                self._put(stretch[first : first + _AT_ONCE])
        return self._lot.take(slice(begin, end))

    def between(self, low: Key, high: Key) -> Lot:
        """The blocks that may hold keys with low <= key < high."""
        return self.lot(max(0, bisect_right(self._firsts, low) - 1), bisect_left(self._firsts, high))

    def cuts(self, begin: int, size: int) -> Iterator[Cut]:
        """The keys from number `begin` on, cut into chunks of `size`; the last may be smaller."""
        before = first = 0
        while first < len(self._firsts):
            count = self._count(first)
            if begin >= before + count:
                before, first = before + count, first + 1
                continue
            end, held = first, before - begin
            while end < len(self._firsts) and held < size:
                held, end = held + self._count(end), end + 1
            yield Cut(begin, min(size, held), begin - before, first, end)
            begin += min(size, held)

    def bounds(self, cut: Cut) -> tuple[Key, Key]:
        """The least key of a chunk's blocks, and one beyond their greatest."""
        beyond = self._firsts[cut.end] if cut.end < len(self._firsts) else self._blocks.beyond
        return self._firsts[cut.first], beyond

    def _count(self, block: int) -> int:
        """How many keys a block has: it says so itself."""
        if self._lot.counts[block] < 0:
            self.lot(block, min(block + _AT_ONCE, len(self._firsts)))
        return int(self._lot.counts[block])

    def _put(self, numbers: np.ndarray) -> None:
        if len(numbers):
            chosen = slice(int(numbers[0]), int(numbers[-1]) + 1)
            lot = self._lying.put(self._blocks.number, self._blocks.read(chosen.start, chosen.stop))
            self._lot.places[chosen], self._lot.counts[chosen] = lot.places, lot.counts


class Shelves:
    """The shelves of the layers that a search has at hand."""

    def __init__(self, lying: Lying) -> None:
        self._lying = lying
        self._shelves: WeakKeyDictionary[Layer, Shelf] = WeakKeyDictionary()
        self._made: WeakKeyDictionary[Layer, list[Lot]] = WeakKeyDictionary()
        self._ahead: WeakKeyDictionary[Layer, Ahead] = WeakKeyDictionary()

    def of(self, layer: Layer) -> Shelf:
        """The shelf of a layer that is in the store or in memory."""
        if layer not in self._shelves:
            self._shelves[layer] = Shelf(self._lying, layer.blocks(), self._made.pop(layer, ()))
        return self._shelves[layer]

    def ahead_of(self, layer: Layer) -> Ahead | None:
        """What workers have made of a layer besides itself, for once."""
        return self._ahead.pop(layer, None)

    def remember(self, layer: Layer, lots: list[Lot], ahead: Ahead) -> None:
        """All blocks of a layer that is going to be in the store lie in Redis, or did; and what else was made of it."""
        self._made[layer], self._ahead[layer] = lots, ahead
