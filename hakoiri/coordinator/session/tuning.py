"""The engine's time and size parameters: none of them changes a result, and only tests set them."""

from dataclasses import dataclass

from hakoiri.worker.exchange.shares import LEAST_BYTES, MERGED_AT_ONCE


@dataclass(frozen=True)
class Tuning:
    """Times are in seconds, memory in bytes."""

    #: The least memory of a layer step, however small the budget: with less it would be cut into too many pieces.
    least_bytes: int = LEAST_BYTES
    #: The expansion of a layer is made durable, and its finished ranges are committed, at least this often.
    checkpoint: float = 12.0
    range_commit: float = 2.0
    #: Keys merged at a time when segments of older keys are merged on disk.
    merged_at_once: int = MERGED_AT_ONCE
    #: Prefixes of a tree are enough when there are as many as this, or when half of the levels are made,
    enough_prefixes: int = 4_096
    #: and if no more numbers than this are placed below each (some tenths of a second), judged by a few of them.
    most_below: int = 10_000_000
    #: Finished chunks of a tree wait at most this long for a commit.
    chunk_commit: float = 0.5
    #: Components of this many configurations and more are bounded one by one; smaller ones are searched from every
    #: vertex, in batches whose searches touch about `batch_work` vertices: some 20 ms of work.
    searched_alone_from: int = 2_000
    batch_work: int = 1_000_000
    #: Strong components of this many configurations and more are searched by the coordinator, which can stop midway.
    searched_here_from: int = 50_000
    #: Most configurations of a whole space that a thread looks at before it takes others.
    most_range: int = 1 << 24
    #: A chunk whose worker has not answered for this long goes to another worker as well, then after twice as long.
    deadline: float = 60.0
    #: Data neither fetched nor renewed expires from Redis after this, so a dead coordinator leaves nothing for long.
    keep: int = 900
    #: Redis may be unreachable for this long before the run is interrupted.
    patience: float = 120.0
    #: A run with copies continues without a host that has been away for this long.
    away: float = 60.0
    #: A chunk lost this often seems to kill workers, and would kill this process too.
    most_losses: int = 25


DEFAULT = Tuning()
