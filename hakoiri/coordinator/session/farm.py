"""The takers of the chunks of a session, and the one rule that says which work they are given.

Threads of this process take chunks of compiled rules. Helpers are other processes: RQ workers, or, where rules in plain
Python hold the interpreter's lock, child processes of this one (`coordinator.executors`).
"""

import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

from hakoiri.coordinator.session.resources import (
    ALWAYS,
    AUTO,
    LEAST_SECONDS,
    LEAST_SENT_SECONDS,
    MARGIN,
    SEND_FROM,
    Budget,
    Cost,
)
from hakoiri.coordinator.session.work_log import Maker, WorkLog
from hakoiri.errors import Hint
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import Array, Arrays

#: If sending takes this many times as long as the work, sending does not pay in other layers either.
_NEVER_SENT = 1.5
#: The least configurations of a chunk where all chunks are sent and there are more workers than that would keep busy.
_LEAST_SENT = 64
#: Why workers idle although everything is sent.
_LATE = "no worker was there when they began"


class Executor(Protocol):
    """Maps a task over chunks.

    `name` is its name for users; `work_log` counts the chunks of each worker.
    """

    name: str
    work_log: WorkLog

    @property
    def workers(self) -> int:
        """The number of chunks computed at once; chunks are cut to fit."""

    def map(
        self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False
    ) -> Iterator[tuple[int, list[Array]]]:
        """Yield (number of the chunk, its result) once for each chunk, in any order.

        `chunks` is consumed lazily, so that bytes in flight are bounded; if they are `scarce`, because others take them
        too, few wait for a worker. `shared` is sent once. Raises `StopRun` when the run is to stop, `TaskError` when a
        task itself fails.
        """

    def close(self) -> None:
        """Release threads and connections; chunks in flight are dropped."""


class Helpers(Executor, Protocol):
    """An executor of other processes.

    `own` says whether these are children of this process: they have its code, and take only work on rules.
    `chunk_seconds` is the processor time that sending a chunk takes in all processes.
    """

    own: bool
    chunk_seconds: float

    @property
    def living(self) -> int:
        """The number of workers in other processes, those that are being started included."""

    @property
    def is_starting(self) -> bool:
        """Return whether children of this process are being started, and none of them can work yet."""

    def expect_work(self, seconds: float, beside: int = 0) -> None:
        """Note that this process has so many seconds of work before it, and `beside` threads of its own for it.

        `living` may depend on that.
        """


class Plan(NamedTuple):
    """The way to do some work: `by` an executor, ``None`` for this thread at once; `chunk` configurations at a time.

    `takers` is the number of chunks that are worked on at once, `threads` how many threads of this process are among
    them while helpers take the others.
    """

    by: Executor | None
    chunk: int
    takers: int = 1
    threads: int = 0
    is_sent: bool = False


class Farm:
    """Threads of this process, and helpers if it has any; `note` tells the user something."""

    def __init__(
        self, puzzle: Puzzle, local: Executor, helpers: Helpers | None, budget: Budget, shares: Shares,
        note: Callable[..., None],
    ) -> None:  # fmt: skip
        self._puzzle, self._local, self.helpers = puzzle, local, helpers
        self._budget, self._shares, self._note = budget, shares, note
        self.work_log = (helpers or local).work_log

    @property
    def others_code(self) -> bool:
        """Return whether helpers may have other code than this process, so that it must notice what they leave out."""
        return self.helpers is not None and not self.helpers.own

    @property
    def maker(self) -> Maker:
        """The name of the helpers in the log of the work."""
        return "processes" if self.helpers is not None and self.helpers.own else "workers"

    @property
    def is_starting(self) -> bool:
        """Return whether helpers are children of which none can work yet."""
        return self.helpers is not None and self.helpers.is_starting

    @property
    def still_takes(self) -> bool:
        """Return whether helpers live, or are still to come."""
        return self.helpers is not None and bool(self.helpers.living)

    def of_threads(self, puzzle: Puzzle, local: Executor) -> "Farm":
        """Return the farm of threads with another puzzle."""
        return Farm(puzzle, local, None, self._budget, self._shares, self._note)

    def helped_by(self, helpers: Helpers) -> "Farm":
        """Return the farm of the same threads and some helpers."""
        return Farm(self._puzzle, self._local, helpers, self._budget, self._shares, self._note)

    @property
    def _threads(self) -> int:
        """The number of threads that expand at the same time: rules in plain Python hold the interpreter's lock."""
        return self._local.workers if self._puzzle.has_kernel else 1

    def plan(self, size: int, cost: Cost, beside: bool = False) -> Plan:
        """Return how to work on `size` configurations of a frontier, or of a whole space, whose cost was timed.

        With `beside`, threads of this process take chunks beside helpers.

        IMPORTANT: the one place that decides which of them are sent. If none are, threads do the work.
        """
        helpers, here = self.helpers, Plan(self._local, 0, self._local.workers)
        if helpers is None:
            return here
        always, seconds = self._budget.farm_from is not None, size * cost.seconds
        beside = beside and not always
        # Of two cores a thread has one: taking in what a single child finds is little work, and a start takes long.
        helpers.expect_work(seconds, int(beside and self._local.workers == 2))
        is_wanted = self._budget.is_large(size) if always else seconds >= 2 * LEAST_SECONDS
        workers = helpers.living if is_wanted else 0
        if not workers:
            if always and is_wanted and not helpers.own:
                self.work_log.here = self.work_log.here or _LATE
            return here
        if not always and seconds < self._budget.tuning.processes_from and helpers.is_starting:
            # Done before a child can work.
            return here
        threads = self._threads if beside else 0
        if helpers.own:
            threads = min(threads, max(0, self._local.workers - workers))
        takers = workers + threads
        least = math.ceil((LEAST_SENT_SECONDS if always else LEAST_SECONDS) / max(cost.seconds, 1e-9))
        if always:
            # However little work it is, no worker idles while another has all of the layer.
            least = min(least, max(_LEAST_SENT, -(-size // workers)))
        if seconds > takers * LEAST_SECONDS:
            # As many chunks for one as for another.
            rounds = int(seconds / (takers * LEAST_SECONDS))
            least = max(least, math.ceil(size / (takers * rounds)))
        chunk = self._shares.chunk_size(size, cost.successors, cost.seconds, takers, least)
        times = self._times_as_long(size, cost, -(-size // chunk))
        if not always and (size <= chunk or times >= MARGIN):
            return here
        return Plan(helpers, chunk, takers, threads, is_sent=True)

    def plan_of(self, size: int | None, least: int = SEND_FROM, rules: bool = True, by_threads: bool = True) -> Plan:
        """Return how to do work that was not timed, on so many configurations; ``None`` for work of any size.

        Unless the user has set what is sent, less than `least` is done at once. Children do no work without `rules`.
        """
        helpers = None if self.helpers is not None and self.helpers.own and not rules else self.helpers
        large = size is None or (self._budget.is_large(size) if self._budget.is_given else size >= least)
        by = (helpers or (self._local if by_threads else None)) if large else None
        if helpers is not None and by is helpers:
            helpers.expect_work(0.0)
        is_sent, takers = by is not None and by is helpers, by.workers if by is not None else 1
        remote = takers if is_sent else 0
        chunk = self._shares.chunk_size(size or 0, self._puzzle.most_successors, 0.0, remote)
        return Plan(by, chunk, takers, is_sent=is_sent)

    def map(
        self, plan: Plan, task: str, chunks: Iterable[Arrays], shared: Arrays = ()
    ) -> Iterator[tuple[int, list[Array]]]:
        """Do a task as planned; yield as `Executor.map`."""
        if plan.by is not None:
            yield from plan.by.map(task, chunks, shared, scarce=plan.threads > 0)
            return
        for number, chunk in enumerate(chunks):
            yield number, do_task(task, self._puzzle, chunk, shared)

    def cut(self, plan: Plan, keys: Keys) -> list[Keys]:
        """Return `keys` in the chunks of a plan."""
        return [keys] if plan.by is None else split(keys, plan.chunk)

    def may_leave_out(self, size: int, cost: Cost) -> bool:
        """Return whether workers of others may expand a run of such layers, so that the flow of all moves is summed.

        The sum takes a twentieth of the time of the 3x4 tiles, which are never worth sending.
        """
        return self.others_code and not (self._budget.farm == AUTO and self._times_as_long(size, cost, 1) > _NEVER_SENT)

    def note_why_not(self, what: str, size: int, cost: Cost) -> bool:
        """Note why no part of some work is sent to the living helpers; return whether there was a reason to note.

        `what` names the parts, in the plural; the largest has `size` configurations.
        """
        helpers = self.helpers
        if not size or helpers is None or helpers.own or self.work_log.here or not helpers.living:
            return False
        times = self._times_as_long(size, cost, 1)
        if self._budget.farm == AUTO:
            why = f"sending would take {times:.1f} times as long as expanding"
            if times < MARGIN:
                why = f"the largest layer takes {size * cost.seconds:.2f} s, too little to share"
        else:
            why = f"the largest has {size:,} configurations, fewer than farm {self._budget.farm_from:,}"
        self.work_log.here = f"{why}; farm {ALWAYS} sends all"
        self._note(f"{what} are expanded here: {why}", Hint("give", "farm", ALWAYS))
        return True

    def _times_as_long(self, size: int, cost: Cost, chunks: int) -> float:
        """Return the time of sending work in so many chunks, divided by the time of the work."""
        each = self.helpers.chunk_seconds if self.helpers is not None else 0.0
        return cost.times_as_long(size, chunks, self._shares.key_bytes, each)
