"""The resources of a run: memory, threads, workers, hosts, and the engine's sizes and times. None changes the result.

A chunk is sent if the work on it takes longer than sending it: coding its keys, a job in Redis, and coding, sending and
taking in its successors. So rules in plain Python are sent from small layers on, and compiled rules hardly ever.
Measured: docs/explanation/scaling.md.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from hakoiri.errors import PuzzleError, require_seconds, require_within
from hakoiri.keys.layout import Keys
from hakoiri.memory import available_memory, require_memory
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.ledger.manifest import typed
from hakoiri.timing import clock
from hakoiri.worker.layers.partition import LEAST_BYTES, MERGED_AT_ONCE, Shares, shares_within


@dataclass(frozen=True)
class Tuning:
    """Times are in seconds, memory in bytes."""

    #: The least memory of a layer step, however small the budget: with less it would be cut into too many pieces.
    least_bytes: int = LEAST_BYTES
    #: The expansion of a layer is made durable, and its finished ranges are committed, at least this often.
    checkpoint: float = 12.0
    range_commit: float = 2.0
    #: Other finished work waits at most this long, except while the next piece is computed.
    commit: float = 0.1
    #: The layers of a run that keeps them are made in bitmaps from a layer on that has so many configurations, and at
    #: least one for so many numbers: about one for each 20 words of a bitmap.
    bitmaps_from: int = 50_000
    bitmaps_within: int = 1_280
    #: A pace is estimated from this many seconds of expanding, or of merging, on.
    paced_from: float = 1.0
    #: Keys merged at a time when segments of older keys are merged on disk.
    merged_at_once: int = MERGED_AT_ONCE
    #: Layers that are not kept are dropped once they take this many bytes, and half as many as all that stays: this
    #: takes some commits, and rewrites much of the table of depths.
    least_dropped: int = 1 << 22
    #: A commit of a table of depths is followed by so many times as long without one.
    table_rest: float = 10.0
    #: Prefixes of a tree are enough when there are as many as this, or when half of the levels are made,
    enough_prefixes: int = 4_096
    #: and if no more numbers than this are placed below each (some tenths of a second), judged by a few of them.
    most_below: int = 10_000_000
    #: A pass over the file of a table is given up after so long if the run is to stop: a coordinator kills after 30 s.
    last_pass: float = 15.0
    #: Finished chunks of a tree wait at most this long for a commit.
    chunk_commit: float = 0.5
    #: Components of this many configurations and more are bounded one by one; smaller ones are searched from every
    #: vertex, in batches whose searches touch about `batch_work` vertices: some 20 ms of work.
    searched_alone_from: int = 2_000
    batch_work: int = 1_000_000
    #: Strong components of this many configurations and more are searched by the coordinator, which can stop midway.
    searched_here_from: int = 50_000
    #: Ends of diametral pairs times configurations: up to this all pairs are listed, in seconds; beyond it only some.
    most_steps: int = 2_500_000_000
    #: Limits of verification: configurations whose moves are derived in some seconds, and steps that take two hours.
    most_derived: int = 50_000
    most_steps_verified: int = 10**12
    #: Steps along moves in the searches of one chunk of a verification: about a second.
    steps_at_once: int = 100_000_000
    #: Eccentricities are committed at this interval, unless commits take more than this part of the time; and the most
    #: open intervals of eccentricities in a state.
    bounds_commit: float = 15.0
    bounds_commit_part: float = 0.1
    most_intervals: int = 1_000
    #: When a sample of a tree is verified: the configurations of each layer and solutions, the chunks, and the numbers
    #: placed by the reference rules, some ten thousand a second.
    sampled: int = 64
    sampled_chunks: int = 16
    plain_nodes: int = 10_000
    #: Configurations of a level of paths expanded at a time.
    paths_at_once: int = 1 << 16
    #: Blocks of some 16,000 to 65,000 configurations that an export reads at once, and configurations that it writes.
    written_blocks: int = 16
    written_rows: int = 1 << 15
    #: Most configurations of a whole space that a thread looks at before it takes others.
    most_range: int = 1 << 24
    #: A chunk whose worker has not answered for this long goes to another worker as well, then after twice as long; a
    #: child of this process is ended.
    deadline: float = 60.0
    #: Data neither fetched nor renewed expires from Redis after this, so a dead coordinator leaves nothing for long.
    keep: int = 900
    #: About the bytes of an array in one value of Redis, which has 512 MB at most.
    piece_bytes: int = 1 << 25
    #: Child processes are started once a session has worked for so long, or has so much work before it. A start takes
    #: 0.3 s of another core, and no time that can be measured in this process. From 0.3 s, 740,784 configurations of
    #: 16 us take 7.3 s in place of 11.9 by threads; from 1 s they take 8.5.
    processes_from: float = 0.3
    #: A child is replaced if its start, or a message, takes this long, however busy the machine is.
    stands_still: float = 60.0
    #: The coordinator works itself after this time without workers. A worker is declared dead sooner.
    alone: float = 2.0
    #: If no worker begins a waiting chunk or sends an event for twice the life of a heartbeat, that no longer counts.
    #: By then a chunk that one has taken, and not begun, was sent again to the others.
    silence: float = 10.0
    #: Redis may be unreachable for this long before the run is interrupted.
    patience: float = 120.0
    #: A run with copies continues without a host that has been away for this long.
    away: float = 60.0
    #: A run of a coordinator waits for a host for this long while other runs are queued.
    place: float = 10.0
    #: Between two looks for hosts that come or go, and until an idle host that takes no request counts as away.
    host_look: float = 1.0
    host_taken: float = 10.0
    #: The pause before another attempt, which doubles with each further one.
    host_pause: float = 0.5
    #: Ranges for each host. By layer the fullest of 2 hosts has 1.022 times the mean of the 3x4 tiles, with 16 1.021.
    #: Fewer are sent sooner; with 4 it is 1.065.
    host_ranges: int = 8
    #: A host joins a run only if layers take this long, because it is sent its share of all layers.
    host_joins: float = 5.0
    #: A move of ranges takes this long, besides the time for their layers; if this is not a number, each move pays.
    host_move: float = 0.03
    #: Ranges move if the fullest host has more than the first number times the mean, until it has at most the second.
    host_uneven: tuple[float, float] = 1.1, 1.05
    #: Blocks that are fetched at a time from hosts, and bytes that wait for a commit: some megabytes.
    host_blocks: int = 128
    host_staged: int = 32_000_000
    #: A chunk lost this often seems to kill workers, and would kill this process too.
    most_losses: int = 25


DEFAULT = Tuning()


#: Seconds of processor time that sending takes in all processes: per chunk, and per successor and byte of its key.
CHUNK_SECONDS, BYTE_SECONDS = 0.005, 2.5e-9
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
            began = clock()
            found = work(keys)
            costs.append(cls((clock() - began) / len(keys), len(found) / len(keys)))
        return min(costs)

    def times_as_long(self, size: int, chunks: int, key_bytes: int, each: float = CHUNK_SECONDS) -> float:
        """Return the time of sending `size` configurations in `chunks`, divided by the time of the work on them.

        Sending a chunk takes `each` seconds, besides those for its bytes.
        """
        sending = chunks * each + size * self.successors * key_bytes * BYTE_SECONDS
        return sending / max(1e-9, size * self.seconds)


_LASTING = ("memory", "chunk", "farm", "deadline", "audit", "hosts", "copies", "priority")
#: The values of `Resources.farm` besides numbers.
AUTO, ALWAYS, NEVER = "auto", "always", "never"
#: Bounds of the numbers: what a manifest can store, and what one machine can start.
_MOST, MOST_WORKERS = (1 << 63) - 1, 1_024
_BOUNDS = {
    "workers": (1, MOST_WORKERS),
    "memory": (1, _MOST),
    "chunk": (1, _MOST),
    "hosts": (-1, MOST_WORKERS),
    "copies": (1, 2),
    "priority": (-1_000, 1_000),
}
#: Below this many configurations a round trip to a worker costs more than the work (design measurement).
SEND_FROM = 50_000
#: A smaller limit cannot be kept: a layer step takes at least `Tuning.least_bytes`, whatever its limit.
LEAST_MEMORY = 100 << 20


@dataclass(frozen=True)
class Budget:
    """Limits of one session: `memory` for the layers in hand, in bytes; `chunk` and `farm` as in `Resources`.

    ``chunk=None`` fits the chunks to layer, workers and memory. If only a chunk size is given, every layer larger than
    a chunk is cut up.
    """

    memory: int
    chunk: int | None = None
    farm: str | int = AUTO
    tuning: Tuning = DEFAULT

    @property
    def farm_from(self) -> int | None:
        """The least configurations of a layer that is cut up and sent whatever it costs, if the user has set that."""
        return 0 if self.farm == ALWAYS else self.farm if isinstance(self.farm, int) else None

    @property
    def is_given(self) -> bool:
        """Return whether the user has set which layers are cut into chunks."""
        return self.farm_from is not None or self.chunk is not None

    def is_large(self, configurations: int) -> bool:
        """Return whether a layer of so many configurations is cut into chunks."""
        if (least := self.farm_from) is not None:
            return configurations >= least
        return configurations > self.chunk if self.chunk is not None else configurations >= SEND_FROM

    def shares(self, puzzle: Puzzle, workers: int, resident: int | None = None) -> Shares:
        """Return the memory for each part of a layer step; `resident` is what this process takes already."""
        return shares_within(self.memory, puzzle.layout.bytes, workers, self.chunk, self.tuning.least_bytes, resident)

    def require(self, what: str, needed: int) -> None:
        """Raise `OverBudgetError` if `what` needs more bytes than allowed."""
        require_memory(what, needed, self.memory)


@dataclass(frozen=True)
class Resources:
    """The resources to drive a run with; none of them changes its result.

    `redis` is a URL, or ``None`` for threads in this process. `workers` is the number of threads, by default one per
    core; with Redis, the number of worker processes to start for this run, by default 0. `memory` is in bytes, by
    default half of the free memory of the machine and of the control groups of this process. `chunk` is in
    configurations (see `Budget`). `farm` says which chunks are sent to other processes. ``auto`` sends those that take
    longer to work on than to send (`session.farm`), ``always`` all, ``never`` none, a number N those of layers of N or
    more configurations. The other processes are workers, or without Redis children of this one if the rules are plain
    Python. A chunk that takes a worker more than `deadline` seconds is sent to a second one as well; a child that takes
    so long is replaced. `audit` is the share of the chunks of other processes, 0 to 1, that this process computes again
    to compare. `hosts` is the number of hosts that keep the run, 0 for all live ones, -1 for none. By default all live
    hosts take over at the first large layer at which they have at least twice as many threads together as this process;
    until then threads make the layers. `copies` is the number of hosts that store each layer's part of a new run, 1 or
    2. The coordinator begins queued runs of a higher `priority` first. `tuning` is set only by tests.

    Raises `PuzzleError` for numbers out of range.
    """

    redis: str | None = None
    workers: int | None = None
    memory: int | None = None
    chunk: int | None = None
    farm: str | int | None = None
    deadline: float | None = None
    audit: float | None = None
    hosts: int | None = None
    copies: int | None = None
    priority: int | None = None
    tuning: Tuning = field(default=DEFAULT, repr=False)

    def __post_init__(self) -> None:
        for name, bounds in _BOUNDS.items():
            if (value := getattr(self, name)) is not None:
                require_within(name.replace("_", "-"), value, *bounds)
        if isinstance(self.farm, int):
            require_within("farm", self.farm, 0, _MOST)
        elif self.farm not in (None, AUTO, ALWAYS, NEVER):
            raise PuzzleError(f"farm {self.farm!r} is not {AUTO}, {ALWAYS}, {NEVER} or a number of configurations")
        if self.deadline is not None:
            require_seconds(self.deadline)
        if self.audit is not None and not 0 <= self.audit <= 1:
            raise PuzzleError(f"audit {self.audit} is not a share from 0 to 1")

    def lasting(self) -> dict[str, Any]:
        """Return the settings that the manifest stores for later sessions.

        The Redis URL is left out because it may hold a password, and `workers` because it means threads or processes.
        """
        return {name: getattr(self, name) for name in _LASTING if getattr(self, name) is not None}

    def here(self) -> "Resources":
        """Return the same for this process alone; one thread per core if `workers` meant processes."""
        workers = self.workers if self.redis is None else None
        return replace(self, redis=None, workers=workers, hosts=None, copies=None)

    def over(self, kept: Mapping[str, Any]) -> "Resources":
        """Return these resources, with unset ones taken from those in a manifest; `PuzzleError` for malformed ones.

        The memory in a manifest, which others may have written, counts up to what is available.
        """
        # Before `farm`, the number alone.
        kept = {"farm": kept["farm_from"], **kept} if "farm_from" in kept else kept
        try:
            found = typed({name: kept[name] for name in _LASTING if name in kept}, Resources)
        except ValueError as error:
            raise PuzzleError(f"the settings of the run are malformed: {error}") from error
        if found.memory is not None and self.memory is None:
            found = replace(found, memory=min(found.memory, available_memory()))
        return replace(self, **{name: value for name, value in found.lasting().items() if getattr(self, name) is None})

    def budget(self) -> Budget:
        memory = self.memory if self.memory is not None else available_memory() // 2
        tuning = self.tuning if self.deadline is None else replace(self.tuning, deadline=self.deadline)
        return Budget(memory, self.chunk, AUTO if self.farm is None else self.farm, tuning)
