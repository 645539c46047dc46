"""The rule by which chunks of configurations are sent to RQ workers.

A chunk is sent if the work on it takes longer than sending it: coding its keys, a job in Redis, and coding, sending and
taking in its successors. So rules in plain Python are sent from small layers on, and compiled rules hardly ever.
Measured: docs/explanation/scaling.md.
"""

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hakoiri.puzzles.keys.layout import Keys

#: Seconds of processor time that sending takes in all processes: per chunk, and per successor and byte of its key.
CHUNK_SECONDS, BYTE_SECONDS = 0.008, 2.5e-9
#: Chunks are sent if that takes less than this part of the time of the work: a cost is timed on a sample.
MARGIN = 0.5
#: The least seconds of work on a chunk, and where all chunks are sent, however little work they are.
LEAST_SECONDS, LEAST_SENT_SECONDS = 0.05, 0.004
#: A cost is timed on this many keys, and on all of a sample if these take no more seconds than this.
_TIMED, _TIMED_SECONDS = 256, 0.002


class Cost(NamedTuple):
    """The seconds of work on a configuration, and the number of keys that it leads to, duplicates counted."""

    seconds: float = 0.0
    successors: float = 0.0

    @classmethod
    def of(cls, work: Callable[[Keys], Keys], sample: Keys) -> "Cost":
        """Return the cost of `work`, which returns what some keys lead to; `sample` has at least one key."""
        few = np.ascontiguousarray(sample[:: -(-len(sample) // _TIMED)])
        cost = cls._timed(work, few)
        return cost if cost.seconds * len(sample) > _TIMED_SECONDS else cls._timed(work, sample)

    @classmethod
    def _timed(cls, work: Callable[[Keys], Keys], keys: Keys) -> "Cost":
        """Return the cost of the faster of two times: the first one may have to wait for memory."""
        costs = list[Cost]()
        while len(costs) < 2 and sum(cost.seconds for cost in costs) * len(keys) < _TIMED_SECONDS:
            began = time.perf_counter()
            found = work(keys)
            costs.append(cls((time.perf_counter() - began) / len(keys), len(found) / len(keys)))
        return min(costs)

    def times_as_long(self, size: int, chunks: int, key_bytes: int) -> float:
        """Return how many times as long as the work on `size` configurations it takes to send them in `chunks`."""
        sending = chunks * CHUNK_SECONDS + size * self.successors * key_bytes * BYTE_SECONDS
        return sending / max(1e-9, size * self.seconds)
