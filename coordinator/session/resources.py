"""What a run may use to get its work done: nothing of it changes the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hakoiri.coordinator.errors import OverBudgetError
from hakoiri.coordinator.session.tuning import DEFAULT, Tuning
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import PuzzleError, Step, require_seconds, require_within
from hakoiri.worker.exchange.shares import Shares, shares_within
from hakoiri.worker.machine import available_memory

_LASTING = ("memory", "chunk", "farm_from", "deadline", "audit", "hosts", "copies")
#: What the numbers are within; at most what a manifest has room for, and what one machine can be asked to start.
_MOST, MOST_WORKERS = (1 << 63) - 1, 1_024
_BOUNDS = {
    "workers": (1, MOST_WORKERS),
    "memory": (1, _MOST),
    "chunk": (1, _MOST),
    "farm_from": (0, _MOST),
    "hosts": (-1, MOST_WORKERS),
    "copies": (1, 2),
}
#: Below this many configurations a round trip to a worker costs more than the work (design measurement).
SEND_FROM = 50_000
#: Less than this cannot be kept: a layer step takes `Tuning.least_bytes` and more, whatever it is allowed.
LEAST_MEMORY = 100 << 20


@dataclass(frozen=True)
class Budget:
    """`memory` in bytes for the layers in hand; `chunk` and `farm_from` in configurations.

    ``chunk=None`` fits the chunks to layer, workers and memory. Layers smaller than `farm_from` are made at once, and
    here; giving a chunk size without it means that every layer larger than a chunk is cut up.
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

    def shares(self, puzzle: Puzzle, workers: int, resident: int | None = None) -> Shares:
        """The memory that each part of a layer step may take, `resident` being what this process takes already."""
        return shares_within(self.memory, puzzle.layout.bytes, workers, self.chunk, self.tuning.least_bytes, resident)

    def require(self, what: str, needed: int) -> None:
        """Raise `OverBudgetError` if `what` needs more bytes than allowed."""
        if needed > self.memory:
            raise OverBudgetError(
                f"{what} needs {needed:,} bytes of memory, {self.memory:,} are allowed",
                Step("give", "memory", f"{(needed * 5 // 4 >> 20) + 1}MB"),
            )


@dataclass(frozen=True)
class Resources:
    """How to drive a run: nothing of this changes its result.

    `redis` is a URL, or ``None`` for threads in this process. `workers` is the number of threads, by default one per
    core; with Redis, that of worker processes to start for this run, by default none. `memory` is in bytes, by default
    half of what the machine, and the control groups of this process, have free; `chunk` and `farm_from` in
    configurations (`coordinator.session.resources`); `deadline` in seconds, after which a chunk is given to another
    worker as well; `audit` the share of the workers' chunks, 0 to 1, that this process makes again to compare; `hosts`
    how many hosts keep the run, 0 for all that live, -1 for none. By default all that live do from the first large
    layer on at which they have at least twice as many threads together as this process; until then threads make the
    layers; `copies` how many of them have each layer's part of a new run, 1 or 2. `tuning` is what only tests set.

    Raises `PuzzleError` for numbers that no run could be kept to.
    """

    redis: str | None = None
    workers: int | None = None
    memory: int | None = None
    chunk: int | None = None
    farm_from: int | None = None
    deadline: float | None = None
    audit: float | None = None
    hosts: int | None = None
    copies: int | None = None
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
        workers = self.workers if self.redis is None else None
        return replace(self, redis=None, workers=workers, hosts=None, copies=None)

    def over(self, kept: Mapping[str, Any]) -> "Resources":
        """These resources, and where they say nothing, those that a manifest kept."""
        return replace(self, **{name: kept[name] for name in _LASTING if name in kept and getattr(self, name) is None})

    def budget(self) -> Budget:
        memory = self.memory if self.memory is not None else available_memory() // 2
        return Budget(memory, self.chunk, self.farm_from, self.tuning)
