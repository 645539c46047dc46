"""What a run may use to get its work done: nothing of it changes the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psutil

from hakoiri.coordinator.errors import OverBudgetError
from hakoiri.coordinator.session.tuning import DEFAULT, Tuning
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError, Step, require_seconds, require_within
from hakoiri.worker.machine import available_memory

_LASTING = ("memory", "chunk", "farm_from", "deadline", "audit")
#: What the numbers are within; at most what a manifest has room for, and what one machine can be asked to start.
_MOST, MOST_WORKERS = (1 << 63) - 1, 1_024
_BOUNDS = {"workers": (1, MOST_WORKERS), "memory": (1, _MOST), "chunk": (1, _MOST), "farm_from": (0, _MOST)}
#: Below this many configurations a round trip to a worker costs more than the work (design measurement).
SEND_FROM = 50_000
#: What the process may take beyond its budget: the interpreter, its libraries and compiled kernels.
BASE_BYTES = 150_000_000
#: Less than this cannot be kept: a layer step takes `Tuning.least_bytes` and more, whatever it is allowed.
LEAST_MEMORY = 100 << 20
_LEAST_CHUNK, _LEAST_REMOTE_CHUNK, _LEAST_RANGE = 1_024, 1 << 17, 1 << 14
#: Larger chunks and ranges leave the second-level cache; smaller ones cost more to hand out.
_MOST_CHUNK, _MOST_REMOTE_CHUNK, _MOST_RANGE = 1 << 18, 1 << 21, 1 << 21
#: Chunks per worker in a layer: enough that one slow chunk does not hold up the layer. A job of RQ's costs some 5 ms of
#: processor time, so there are fewer of them.
_CHUNKS_PER_WORKER, _REMOTE_CHUNKS_PER_WORKER = 4, 2
#: How long a chunk takes at most, so that a user's wish to stop, or a lost worker, costs little.
_MOST_SECONDS = 2.0
#: Pages of the data file that reading maps, and the part that goes to what the allocator cannot give back.
_MAPPED_BYTES, _SLACK = 10_000_000, 3
#: How many bytes of finished blocks wait for the next commit at most.
_MOST_STAGED = 16_000_000


@dataclass(frozen=True)
class Budget:
    """`memory` in bytes for the layers in hand; `chunk` and `farm_from` in configurations.

    ``chunk=None`` fits the chunks to layer, workers and memory. Layers smaller than `farm_from` are expanded where the
    layers are; giving a chunk size without it means that every layer larger than a chunk is cut up and sent.
    """

    memory: int
    chunk: int | None = None
    farm_from: int | None = None
    tuning: Tuning = DEFAULT

    @property
    def is_given(self) -> bool:
        """Whether the user has said what is cut up and sent."""
        return self.farm_from is not None or self.chunk is not None

    def distributes(self, configurations: int) -> bool:
        if self.farm_from is not None:
            return configurations >= self.farm_from
        return configurations > self.chunk if self.chunk is not None else configurations >= SEND_FROM

    def shares(self, puzzle: Puzzle, workers: int, resident: int | None = None) -> "Shares":
        """The memory that each part of a layer step may take, `resident` being what this process takes already."""
        taken = psutil.Process().memory_info().rss if resident is None else resident
        free = self.memory - max(0, taken - BASE_BYTES) - _MAPPED_BYTES
        free = max(self.tuning.least_bytes, free - free // _SLACK)
        return Shares(free, workers, puzzle.layout.bytes, self.chunk)

    def require(self, what: str, needed: int) -> None:
        """Raise `OverBudgetError` if `what` needs more bytes than allowed."""
        if needed > self.memory:
            raise OverBudgetError(
                f"{what} needs {needed:,} bytes of memory, {self.memory:,} are allowed",
                Step("give", "memory", f"{(needed * 5 // 4 >> 20) + 1}MB"),
            )


@dataclass(frozen=True)
class Shares:
    """The memory of a layer step cut up: `free` bytes for `workers` side by side, keys of `key_bytes` bytes."""

    free: int
    workers: int
    key_bytes: int
    chunk: int | None = None

    @property
    def layer_bytes(self) -> int:
        """Layers up to this stay in memory; three of them are needed at once."""
        return self.free // 8

    @property
    def bucket_bytes(self) -> int:
        """Successors up to this stay in memory until they are merged; beyond it they are spilled."""
        return self.free // 4

    @property
    def in_flight_bytes(self) -> int:
        """The inputs that wait for workers elsewhere."""
        return self.free // 4

    @property
    def staged_bytes(self) -> int:
        """Finished blocks up to this wait for a commit; LMDB keeps a copy of them while it writes."""
        return min(_MOST_STAGED, self.free // 16)

    def chunk_size(self, configurations: int, successors: float, remote_workers: int = 0, pace: float = 0.0) -> int:
        """Configurations per chunk of a layer of `configurations`, each of which has `successors` on the average.

        `remote_workers` is how many workers elsewhere they go to, if any; `pace` the seconds that a configuration
        takes.
        """
        if self.chunk is not None:
            return self.chunk
        least, most = (_LEAST_REMOTE_CHUNK, _MOST_REMOTE_CHUNK) if remote_workers else (_LEAST_CHUNK, _MOST_CHUNK)
        chunks = remote_workers * _REMOTE_CHUNKS_PER_WORKER or self.workers * _CHUNKS_PER_WORKER
        wanted = max(least, -(-configurations // chunks))
        if pace:
            wanted = min(wanted, int(_MOST_SECONDS / pace))
        # A chunk being expanded holds itself and, twice, its successors; as many results wait to be taken in.
        fitting = self.free // 4 // (2 * self.workers * self.key_bytes * (2 + 3 * successors))
        return max(1, min(wanted, most, int(fitting)))

    def range_size(self, configurations: int, pace: float) -> int:
        """Configurations per key range of a layer, each of which takes `pace` seconds to expand."""
        if self.chunk is not None:
            return self.chunk
        wanted = max(_LEAST_RANGE, -(-configurations // (self.workers * _CHUNKS_PER_WORKER)))
        # The blocks of two ranges for each worker are read before they are expanded, about a quarter of the keys.
        fitting = self.free // 8 // (2 * self.workers * -(-self.key_bytes // 4))
        return max(1, min(wanted, int(_MOST_SECONDS / pace), fitting))

    @property
    def range_keys(self) -> int:
        """Successors per key range, duplicates counted, so that ranges being merged fit their part of the memory."""
        # A range being merged holds its successors, the same sorted, the known keys around them, result and code.
        return max(1, min(_MOST_RANGE, self.free // 4 // (3 * self.workers * 5 * self.key_bytes)))


@dataclass(frozen=True)
class Resources:
    """How to drive a run: nothing of this changes its result.

    `redis` is a URL, or ``None`` for threads in this process. `workers` is the number of threads, by default one per
    core; with Redis, that of worker processes to start for this run, by default none. `memory` is in bytes, by default
    half of what the machine, and the control groups of this process, have free; `chunk` and `farm_from` in
    configurations (`coordinator.session.resources`); `deadline` in seconds, after which a chunk is given to another
    worker as well; `audit` the share of the workers' chunks, 0 to 1, that this process makes again to compare. `tuning`
    is what only tests set.

    Raises `PuzzleError` for numbers that no run could be kept to.
    """

    redis: str | None = None
    workers: int | None = None
    memory: int | None = None
    chunk: int | None = None
    farm_from: int | None = None
    deadline: float | None = None
    audit: float | None = None
    tuning: Tuning = field(default=DEFAULT, repr=False)

    def __post_init__(self) -> None:
        for name, bounds in _BOUNDS.items():
            if (value := getattr(self, name)) is not None:
                require_within(name.replace("_", "-"), value, *bounds)
        if self.deadline is not None:
            require_seconds(self.deadline)
        if self.audit is not None and not 0 <= self.audit <= 1:
            raise PuzzleError(f"audit {self.audit} is not a share: from 0 to 1")

    def lasting(self) -> dict[str, Any]:
        """What a manifest keeps for whoever drives the run.

        Not the Redis URL, which may hold a password, nor the workers, which mean threads here and processes there.
        """
        return {name: getattr(self, name) for name in _LASTING if getattr(self, name) is not None}

    def here(self) -> "Resources":
        """The same in this process alone: threads, and as many as there are cores where `workers` meant processes."""
        return self if self.redis is None else replace(self, redis=None, workers=None)

    def over(self, kept: Mapping[str, Any]) -> "Resources":
        """These resources, and where they say nothing, those that a manifest kept."""
        return replace(self, **{name: kept[name] for name in _LASTING if name in kept and getattr(self, name) is None})

    def budget(self) -> Budget:
        memory = self.memory if self.memory is not None else available_memory() // 2
        return Budget(memory, self.chunk, self.farm_from, self.tuning)
