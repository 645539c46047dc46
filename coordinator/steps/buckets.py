"""The successors of a layer, distributed over key ranges: in memory, and beyond the budget on disk."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from puzzles.keys.layout import Key, Keys, Layout, ints
from puzzles.keys.order import mask_between, sort_keys
from storage.layers.blocks import Packed
from storage.layers.spill import Spill
from worker.layers.partition import Partition
from worker.tasks import Array, Arrays

#: Keys sampled for each piece of a range that is cut again.
_SAMPLE_PER_PIECE = 64
#: What an array takes besides its keys.
_PART_BYTES = 150


@dataclass
class _Bucket:
    parts: list[Keys] = field(default_factory=list)
    keys: int = 0


class Buckets:
    """One bucket per range of `partition`. Ranges below `first` are merged already: their keys are dropped."""

    def __init__(self, partition: Partition, layout: Layout, spill: Spill, first: int = 0) -> None:
        self._layout, self._spill = layout, spill
        self._buckets = [_Bucket() for _ in range(partition.ranges)]
        self._first = first
        self.bounds = [partition.bounds(number, layout) for number in range(partition.ranges)]
        #: Bytes of the keys in memory and of the arrays around them.
        self.held_bytes = 0

    def add_scattered(self, keys: Keys, ends: Array) -> None:
        """What the task ``scatter`` gave."""
        begin = 0
        for number, end in enumerate(ends.tolist()):
            if end > begin and number >= self._first:
                bucket = self._buckets[number]
                bucket.parts.append(keys[begin:end])
                bucket.keys += end - begin
                self.held_bytes += (end - begin) * self._layout.bytes + _PART_BYTES
            begin = end

    def keys_in(self, number: int) -> int:
        """How many keys, duplicates counted, a range has."""
        return self._buckets[number].keys + self._spill.keys_in(number)

    def take(self, number: int) -> list[Keys]:
        """The keys of a range that are in memory; removes them."""
        bucket = self._buckets[number]
        self.held_bytes -= bucket.keys * self._layout.bytes + len(bucket.parts) * _PART_BYTES
        self._buckets[number] = _Bucket()
        return bucket.parts

    def spilled(self, number: int) -> list[Packed]:
        """The keys of a range that are on disk."""
        return list(self._spill.read(number))

    def between(self, number: int, low: Key, high: Key) -> list[Keys]:
        """The keys of a range with low <= key < high, of those in memory and on disk; they stay."""
        held = [part[mask_between(part, low, high)] for part in self._buckets[number].parts]
        return [keys for keys in (*held, *self._spill.read_between(number, low, high)) if len(keys)]

    def cut_again(self, number: int, pieces: int) -> list[Key]:
        """Keys that cut a range into about `pieces` pieces of equal size, as far as that is possible."""
        step = max(1, self.keys_in(number) // (_SAMPLE_PER_PIECE * pieces))
        held = [part[::step] for part in self._buckets[number].parts]
        sample = sort_keys(np.concatenate([*held, *(packed.firsts for packed in self._spill.read(number))]))
        low, high = self.bounds[number]
        return sorted({cut for cut in ints(sample[:: max(1, len(sample) // pieces)]) if low < cut < high})

    def held(self) -> list[int]:
        """The ranges that have keys in memory."""
        return [number for number, bucket in enumerate(self._buckets) if bucket.parts]

    def chunks_to_spill(self, numbers: Iterable[int]) -> Iterator[Arrays]:
        """For each range the task ``merge`` that makes one sorted batch of its keys in memory; removes them."""
        for number in numbers:
            parts = self.take(number)
            yield merge_chunk(parts, [], [], keep=False)


def merge_chunk(raw: list[Keys], packed: list[Packed], known: list[Keys], keep: bool) -> Arrays:
    """The arrays that the task ``merge`` takes."""
    header = np.array([len(raw), len(packed), len(known), keep], dtype=np.int64)
    return [header, *raw, *(array for batch in packed for array in batch), *known]
