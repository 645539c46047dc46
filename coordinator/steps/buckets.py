"""The successors of a layer, distributed over key ranges: in memory, and beyond the budget on disk."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, Layout, ints
from hakoiri.puzzles.keys.order import mask_between, sort_keys
from hakoiri.storage.layers.spill import Spill
from hakoiri.worker.layers.halves import Found
from hakoiri.worker.layers.kernels import Window
from hakoiri.worker.layers.marks import Marks
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.tasks import Array

#: Keys sampled for each piece of a range that is cut again.
_SAMPLE_PER_PIECE = 64
#: What an array takes besides its keys.
_PART_BYTES = 150


@dataclass
class _Bucket:
    parts: list[Keys] = field(default_factory=list)
    keys: int = 0


class Buckets:
    """One bucket per range of `partition`. Ranges below `first` are merged already: their keys are dropped.

    `marks`, if any, have the successors that lie close together.
    """

    def __init__(
        self, partition: Partition, layout: Layout, spill: Spill, first: int = 0, marks: Marks | None = None
    ) -> None:
        self._layout, self._spill, self._marks = layout, spill, marks
        self._buckets = [_Bucket() for _ in range(partition.ranges)]
        self._first = first
        self.bounds = [partition.bounds(number, layout) for number in range(partition.ranges)]
        #: Bytes of the keys in memory and of the arrays around them, and of the marks.
        self.held_bytes = marks.bytes if marks else 0

    def add_scattered(self, keys: Keys, ends: Array) -> None:
        """What `expand_chunk` gave."""
        begin = 0
        for number, end in enumerate(ends.tolist()):
            if end > begin and number >= self._first:
                bucket = self._buckets[number]
                bucket.parts.append(keys[begin:end])
                bucket.keys += end - begin
                self.held_bytes += (end - begin) * self._layout.bytes + _PART_BYTES
            begin = end

    def keys_in(self, number: int) -> int:
        """How many keys, duplicates counted, a range has; about, as far as they are marked."""
        marked = self._marks.about(*self.bounds[number]) if self._marks else 0
        return self._buckets[number].keys + self._spill.keys_in(number) + marked

    def take(self, number: int) -> Found:
        """The keys of a range; removes those that are in memory."""
        return Found(self._take_parts(number), list(self._spill.read(number)), self._marked(*self.bounds[number]))

    def _take_parts(self, number: int) -> list[Keys]:
        bucket = self._buckets[number]
        self.held_bytes -= bucket.keys * self._layout.bytes + len(bucket.parts) * _PART_BYTES
        self._buckets[number] = _Bucket()
        return bucket.parts

    def _marked(self, low: Key, high: Key) -> Callable[[], Window] | None:
        marks = self._marks
        return partial(marks.between, low, high) if marks and marks.covers(low, high) else None

    def between(self, number: int, low: Key, high: Key) -> Found:
        """The keys of a range with low <= key < high; they stay."""
        held = [part[mask_between(part, low, high)] for part in self._buckets[number].parts]
        parts = [keys for keys in (*held, *self._spill.read_between(number, low, high)) if len(keys)]
        return Found(parts, [], self._marked(low, high))

    def cut_again(self, number: int, pieces: int) -> list[Key]:
        """Keys that cut a range into about `pieces` pieces of equal size, as far as that is possible."""
        low, high = self.bounds[number]
        step = max(1, self.keys_in(number) // (_SAMPLE_PER_PIECE * pieces))
        held = [part[::step] for part in self._buckets[number].parts]
        marked = self._layout.pack(self._marks.sample(low, high, step) if self._marks else [])
        sample = sort_keys(np.concatenate([*held, marked, *(packed.firsts for packed in self._spill.read(number))]))
        return sorted({cut for cut in ints(sample[:: max(1, len(sample) // pieces)]) if low < cut < high})

    def held(self) -> list[int]:
        """The ranges that have keys in memory besides those that are marked."""
        return [number for number, bucket in enumerate(self._buckets) if bucket.parts]

    def marked(self) -> list[int]:
        """The ranges that can have keys that are marked."""
        marks = self._marks
        return [number for number, bounds in enumerate(self.bounds) if marks and marks.covers(*bounds)]

    def take_held(self, numbers: list[int], marked: bool) -> Iterator[Found]:
        """The keys in memory of some ranges; removes them, but those that are marked."""
        for number in numbers:
            window = self._marked(*self.bounds[number]) if marked else None
            yield Found(self._take_parts(number), [], window)

    def clear_marks(self) -> None:
        """Remove the keys that are marked."""
        if self._marks:
            self._marks.clear()
