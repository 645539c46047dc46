"""The session of a search: the puzzle, the executors that expand it, and the open run that it writes."""

import ctypes
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session import resources
from hakoiri.coordinator.session.resources import AUTO, LEAST_SECONDS, LEAST_SENT_SECONDS, MARGIN, Budget, Cost, Tuning
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord, Progress, State
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.tasks import TASKS, do_task
from hakoiri.worker.transport.payload import Array, Arrays

_Made = TypeVar("_Made")


class Interrupted(BaseException):
    """Raised in a thread while it computes. Not an ``Exception``, because a puzzle may catch those."""


#: If sending takes this many times as long as the work, sending does not pay in other layers either.
_NEVER_SENT = 1.5
#: Most chunks of a layer for each thread and worker.
_ROUNDS = 8
#: The interval at which the store is polled for a request to cancel the run.
_CANCEL_LOOK_SECONDS = 0.2


class Observer(Protocol):
    """Watches a run; both methods return at once."""

    def progress(self, progress: Progress) -> None:
        """Receive the progress of the work."""

    def note(self, text: str, *hints: Hint) -> None:
        """Receive a note that needs no action, with hints."""


class SilentObserver:
    """Ignores everything."""

    def progress(self, progress: Progress) -> None:
        """Do nothing."""

    def note(self, text: str, *hints: Hint) -> None:
        """Do nothing."""


@dataclass(frozen=True)
class PartObserver:
    """Passes on the reports of a part of the work, with the part's name before each headline."""

    observer: Observer
    part: str

    def progress(self, progress: Progress) -> None:
        """Pass on the progress, with the part's name."""
        self.observer.progress(replace(progress, headline=": ".join(filter(None, (self.part, progress.headline)))))

    def note(self, text: str, *hints: Hint) -> None:
        """Pass on the note."""
        self.observer.note(text, *hints)


class Control:
    """Stops a run between steps. `interrupt` may be called from a signal handler."""

    def __init__(self) -> None:
        self._reason = ""
        self._cancelled: list[Callable[[], bool]] = []
        self._unexpected: Callable[[LayerRecord], str] = lambda _: ""
        self._next_look = 0.0
        # Reentrant: a signal handler may run in a thread that holds the lock.
        self._lock, self._computing = threading.RLock(), set[int]()

    @contextmanager
    def watching(self, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Also poll `cancelled` while the block runs."""
        self._cancelled.append(cancelled)
        try:
            yield
        finally:
            self._cancelled.remove(cancelled)

    def expect(self, unexpected: Callable[[LayerRecord], str]) -> None:
        """Call `unexpected` with each layer made from now on; a reason that it returns stops the run."""
        self._unexpected = unexpected

    def made(self, record: LayerRecord) -> None:
        """Return to continue with the next layer; raise `StopRun` to stop."""
        if reason := self._unexpected(record):
            raise StopRun("interrupted", reason)

    def interrupt(self, reason: str) -> None:
        """Stop at the next check, resumable; interrupt what `compute` does."""
        self._reason = reason
        self.break_off()

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Return the result of `work` on a puzzle, which must have no side effects; `StopRun` if interrupted meanwhile.

        Only rules in plain Python are interrupted; kernels take no noticeable time.
        """
        if puzzle.has_kernel:
            return work()

        thread = threading.get_ident()
        try:
            try:
                with self._lock:
                    self._computing.add(thread)
                # Checked when the work is already interruptible, so that no signal is lost in between.
                self._raise_if_interrupted()
                return work()
            finally:
                # IMPORTANT: under the lock, so that nothing is raised in this thread after it has left.
                with self._lock:
                    self._computing.discard(thread)
        except BaseException:
            self._raise_if_interrupted()
            raise

    def _raise_if_interrupted(self) -> None:
        if self._reason:
            raise StopRun("interrupted", self._reason) from None

    def break_off(self) -> None:
        """Raise `Interrupted` in all threads that `compute`: at their next Python instruction, not in a system call."""
        with self._lock:
            for thread in self._computing:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
            self._computing.clear()

    @property
    def interrupted(self) -> bool:
        return bool(self._reason)

    def check(self) -> None:
        """Return to continue; raise `StopRun` to stop."""
        self._raise_if_interrupted()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _CANCEL_LOOK_SECONDS
            if any(cancelled() for cancelled in self._cancelled):
                raise StopRun("cancelled", "cancelled on request")


class Executor(Protocol):
    """Maps a task over chunks.

    `name` is its name for users; `work_log` counts the chunks of each worker.
    """

    name: str
    work_log: WorkLog

    @property
    def workers(self) -> int:
        """The number of chunks computed at once; chunks are cut to fit."""

    @property
    def living(self) -> int:
        """The number of workers in other processes, those that are being started included."""

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


@dataclass(frozen=True)
class ComputeContext:
    """Everything a computation needs: puzzle, executor, memory, control and observer.

    `local` are threads of this process; `executor` is `local` if no workers are used. `shares` is the budget divided
    for the layer step.
    """

    puzzle: Puzzle
    executor: Executor
    local: "ThreadExecutor"
    budget: Budget
    shares: Shares
    control: Control
    observer: Observer
    #: A `coordinator.hosts.hosts.HostPool`, if hosts may keep the run.
    hosts: Any = None
    #: The URL of the Redis of workers and hosts.
    redis: str | None = None

    def part(self, name: str) -> Self:
        """Return the same context for a part of the work; its name precedes each headline."""
        return replace(self, observer=PartObserver(self.observer, name))

    def tell(self, progress: Progress) -> None:
        """Report progress; raise `StopRun` if the run is to stop."""
        self.observer.progress(progress)
        self.control.check()

    @property
    def tuning(self) -> Tuning:
        return self.budget.tuning

    def sums_flow(self, size: int, cost: Cost) -> bool:
        """Return whether workers or hosts may expand a run of such layers, so that the flow of all moves is summed.

        The sum takes a twentieth of the time of the 3x4 tiles, which are never worth sending.
        """
        if self.hosts is not None and (self.hosts.is_requested or self.hosts.living()):
            return True
        auto = self.budget.farm == AUTO and cost.times_as_long(size, 1, self.shares.key_bytes) > _NEVER_SENT
        return self.executor is not self.local and not auto

    @property
    def remote_workers(self) -> int:
        """The number of live remote workers; 0 if this run sends its chunks to none."""
        return 0 if self.executor is self.local else self.executor.workers

    def farmed_chunk(self, size: int, cost: Cost) -> int:
        """Return how many of `size` configurations to send to a worker at a time; 0 to work on them in this process.

        IMPORTANT: the one place that decides which frontiers are sent, and which moves of a whole space.
        """
        always = self.budget.farm_from is not None
        is_wanted = self.budget.distributes(size) if always else size * cost.seconds >= 2 * LEAST_SECONDS
        workers = self.executor.living if is_wanted else 0
        if not workers:
            return 0
        seconds, takers = size * cost.seconds, workers + (0 if always else self.threads)
        least = math.ceil((LEAST_SENT_SECONDS if always else LEAST_SECONDS) / max(cost.seconds, 1e-9))
        if seconds > takers * LEAST_SECONDS:
            # As many chunks for one as for another.
            rounds = min(_ROUNDS, int(seconds / (takers * LEAST_SECONDS)))
            least = max(least, math.ceil(size / (takers * rounds)))
        chunk = self.shares.chunk_size(size, cost.successors, cost.seconds, takers, least)
        if always:
            return chunk
        times = cost.times_as_long(size, -(-size // chunk), self.shares.key_bytes)
        return chunk if size > chunk and times < MARGIN else 0

    def note_expanded_here(self, what: str, size: int, cost: Cost) -> bool:
        """Note why the work on up to `size` configurations is not sent to the workers that live; return whether.

        `what` is expanded, in the plural.
        """
        if not size or self.executor is self.local or self.budget.farm != AUTO or not self.executor.living:
            return False
        times = cost.times_as_long(size, 1, self.shares.key_bytes)
        why = f"sending would take {times:.1f} times as long as expanding"
        if times < MARGIN:
            why = f"the largest layer takes {size * cost.seconds:.2f} s, too little to share"
        self.observer.note(f"{what} are expanded here: {why}", Hint("give", "farm", resources.ALWAYS))
        return True

    @property
    def threads(self) -> int:
        """The number of threads that expand at the same time: rules in plain Python hold the interpreter's lock."""
        return self.local.workers if self.puzzle.has_kernel else 1

    def cut(self, keys: Keys) -> list[Keys]:
        """Return `keys` in chunks for the executor, or in one piece if they are too few to be worth sending."""
        if not self.budget.distributes(len(keys)):
            return [keys]
        return split(keys, self.shares.chunk_size(len(keys), self.puzzle.most_successors, 0.0, self.remote_workers))

    def map_chunks(
        self, task: str, chunks: Iterable[Arrays], configurations: int, shared: Arrays = ()
    ) -> Iterator[tuple[int, list[Array]]]:
        """Do as `Executor.map`, but in this process if there are too few configurations to be worth sending."""
        if self.budget.distributes(configurations):
            yield from self.executor.map(task, chunks, shared)
        else:
            for number, chunk in enumerate(chunks):
                yield number, do_task(task, self.puzzle, chunk, shared)


class Session:
    """One process's session with an open run: its context and its commits."""

    def __init__(self, store: RunStore, context: ComputeContext) -> None:
        self.store, self.context, self.puzzle = store, context, context.puzzle
        self.control, self.observer = context.control, context.observer
        self.work_log = context.executor.work_log
        self.work_log.go_on(store.state.work_log)
        self._progress = store.state.progress
        self._counted = self._committed = time.monotonic()

    @property
    def commit_is_due(self) -> bool:
        """Return whether the last commit is so long ago that finished work should not wait."""
        return time.monotonic() - self._committed > self.context.tuning.commit

    @property
    def seconds(self) -> float:
        """The seconds of all sessions together, up to now."""
        return self.store.state.seconds + time.monotonic() - self._counted

    def tell(self, progress: Progress) -> None:
        """Report progress; the next commit makes it durable, for other processes to read."""
        self._progress = progress
        self.observer.progress(progress)

    def compute(self, work: Callable[[], _Made]) -> _Made:
        """Return the result of `work` on the puzzle, which must have no side effects; `StopRun` if the run is to stop.

        Rules in plain Python may never end: a second thread follows them while this one polls for a stop.
        """
        if self.puzzle.has_kernel:
            return work()
        ((_, made),) = self.context.local.each("expand", lambda _: work(), [None])
        return made

    def commit(self, state: State) -> State:
        """Make staged data durable with `state`, the progress and the time since the last commit; return the state."""
        now = time.monotonic()
        seconds, work_log = state.seconds + now - self._counted, self.work_log.as_dict()
        state = replace(state, seconds=seconds, progress=self._progress, work_log=work_log, idle=False)
        self.store.commit(state)
        self._counted, self._committed = now, time.monotonic()
        return self.store.state

    def commit_staged(self, state: State) -> State:
        """Make finished work durable at the end of a session, unless the store is poisoned."""
        return self.commit(state) if self.store.staged and not self.store.poisoned else state


class ThreadExecutor(ThreadPool):
    """`workers` threads, with twice as many chunks in flight."""

    name = "threads"
    living = 0

    def __init__(self, puzzle: Puzzle, workers: int, control: Control) -> None:
        super().__init__(puzzle, workers, control)
        self.work_log = WorkLog()

    def map(
        self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False
    ) -> Iterator[tuple[int, list[Array]]]:
        return self.each(task, lambda chunk: list(TASKS[task](self._puzzle, chunk, shared)), chunks)
