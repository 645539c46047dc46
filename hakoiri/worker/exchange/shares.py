"""The division of a layer step's memory: the greatest sizes of its chunks, ranges and pieces."""

from dataclasses import dataclass

import psutil

#: Memory of the process beyond its budget: the interpreter, its libraries and compiled kernels.
BASE_BYTES = 150_000_000
#: Pages of the data file that readers map; and one part in this many for memory that the allocator cannot return.
_MAPPED_BYTES, _SLACK = 10_000_000, 3
#: The least memory of a layer step, whatever the budget: with less it would be divided into too many pieces.
LEAST_BYTES = 24_000_000
#: Keys merged at a time when segments of older keys are merged on disk.
MERGED_AT_ONCE = 1 << 17
_LEAST_CHUNK, _LEAST_RANGE = 1_024, 1 << 14
#: Larger chunks and ranges leave the second-level cache; smaller ones cost more to distribute.
_MOST_CHUNK, _MOST_REMOTE_CHUNK, _MOST_RANGE = 1 << 18, 1 << 21, 1 << 21
#: Chunks per worker in a layer: enough that one slow chunk does not delay the layer.
_CHUNKS_PER_WORKER = 4
#: Most seconds per chunk, so that a stop, or the loss of a worker, costs little.
_MOST_SECONDS = 2.0
#: Most bytes of finished blocks that wait for the next commit.
_MOST_STAGED = 32_000_000


@dataclass(frozen=True)
class Shares:
    """The division of a layer step's memory: `free` bytes for `workers` threads, with keys of `key_bytes` bytes."""

    free: int
    workers: int
    key_bytes: int
    chunk: int | None = None

    @property
    def layer_bytes(self) -> int:
        """The largest layer that stays in memory; three layers are needed at once."""
        return self.free // 8

    @property
    def bucket_bytes(self) -> int:
        """Most bytes of successors that stay in memory until they are merged; more are spilled."""
        return self.free // 4

    @property
    def in_flight_bytes(self) -> int:
        """Most bytes of inputs that wait for workers elsewhere."""
        return self.free // 4

    @property
    def staged_bytes(self) -> int:
        """Most bytes of finished blocks that wait for a commit; LMDB keeps a copy of them while it writes."""
        return min(_MOST_STAGED, self.free // 16)

    def chunk_size(
        self, configurations: int, successors: float, pace: float = 0.0, remote_workers: int = 0,
        least: int = _LEAST_CHUNK,
    ) -> int:  # fmt: skip
        """Return the configurations per chunk of a layer of `configurations` with `successors` each on the average.

        `pace` is the number of seconds per configuration, 0 if unknown; `remote_workers` that of workers elsewhere. A
        chunk has `least` configurations if memory and time allow.
        """
        if self.chunk is not None:
            return self.chunk
        most, workers = (_MOST_REMOTE_CHUNK, remote_workers) if remote_workers else (_MOST_CHUNK, self.workers)
        wanted = max(least, -(-configurations // (workers * _CHUNKS_PER_WORKER)))
        if pace:
            wanted = min(wanted, int(_MOST_SECONDS / pace))
        # A chunk being expanded holds itself and, twice, its successors; as many results wait to be collected.
        fitting = self.free // 4 // (2 * self.workers * self.key_bytes * (2 + 3 * successors))
        return max(1, min(wanted, most, int(fitting)))

    def range_size(self, configurations: int, pace: float) -> int:
        """Return the configurations per key range of a layer, each of which takes `pace` seconds to expand."""
        if self.chunk is not None:
            return self.chunk
        wanted = max(_LEAST_RANGE, -(-configurations // (self.workers * _CHUNKS_PER_WORKER)))
        # The blocks of two ranges per worker are read ahead, about a quarter of the keys.
        fitting = self.free // 8 // (2 * self.workers * -(-self.key_bytes // 4))
        return max(1, min(wanted, int(_MOST_SECONDS / pace), fitting))

    @property
    def range_keys(self) -> int:
        """The most successors per key range, duplicates counted, for ranges being merged to fit their memory."""
        # A range being merged holds its successors, the same sorted, the known keys around them, result and code.
        return max(1, min(_MOST_RANGE, self.free // 4 // (3 * self.workers * 5 * self.key_bytes)))


def shares_within(
    memory: int, key_bytes: int, workers: int, chunk: int | None, least: int, resident: int | None = None
) -> Shares:
    """Return the shares of a process that may take `memory` bytes and takes `resident` (default: its present size).

    A layer step gets at least `least` bytes, even beyond `memory`.
    """
    taken = psutil.Process().memory_info().rss if resident is None else resident
    free = memory - max(0, taken - BASE_BYTES) - _MAPPED_BYTES
    return Shares(max(least, free - free // _SLACK), workers, key_bytes, chunk)
