"""What a run may use to get its work done: nothing of it changes the result."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import psutil

from coordinator.session.budget import Budget
from coordinator.session.tuning import DEFAULT, Tuning

_LASTING = ("memory", "chunk", "farm_from", "deadline")


@dataclass(frozen=True)
class Resources:
    """How to drive a run: nothing of this changes its result.

    `redis` is a URL, or ``None`` for threads in this process. `workers` is the number of threads, by default one per
    core; with Redis, that of worker processes to start for this run, by default none. `memory` is in bytes, by default
    half of what is free; `chunk` and `farm_from` in configurations (`coordinator.session.budget`); `deadline` in
    seconds, after which a chunk is given to another worker as well. `tuning` is what only tests set.
    """

    redis: str | None = None
    workers: int | None = None
    memory: int | None = None
    chunk: int | None = None
    farm_from: int | None = None
    deadline: float | None = None
    tuning: Tuning = field(default=DEFAULT, repr=False)

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
        """Memory and chunks."""
        memory = self.memory if self.memory is not None else psutil.virtual_memory().available // 2
        return Budget(memory, self.chunk, self.farm_from, self.tuning)
