"""The session of a search: the puzzle, the executors that expand it, and the open run that it writes."""

import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from hakoiri.compiling import take_compiled
from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.farm import Farm
from hakoiri.coordinator.session.resources import Budget, Cost, Tuning
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.errors import Hint
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord, Progress, State
from hakoiri.timing import clock
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.tasks import task_of
from hakoiri.worker.transport.payload import Array, Arrays

_Made = TypeVar("_Made")


class Interrupted(BaseException):
    """Raised in a thread while it computes. Not an ``Exception``, because a puzzle may catch those."""


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
        self._outgrown: Callable[[int], str] = lambda _: ""
        self._next_look = 0.0
        #: Returns whether other runs wait for the place of this one.
        self.others_wait: Callable[[], bool] = lambda: False
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

    def expect(self, unexpected: Callable[[LayerRecord], str], outgrown: Callable[[int], str] = lambda _: "") -> None:
        """Call `unexpected` with each layer made from now on, and `outgrown` with the starts found so far.

        A reason that they return stops the run.
        """
        self._unexpected, self._outgrown = unexpected, outgrown

    def grown(self, count: int) -> None:
        """Return to list more starts, after `count` keys of which none comes more than twice; or raise `StopRun`."""
        self.check()
        if reason := self._outgrown(count):
            raise StopRun("interrupted", reason)

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
            # A copy: the handler of another signal may clear it meanwhile.
            for thread in [*self._computing]:
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


@dataclass(frozen=True)
class ComputeContext:
    """Everything a computation needs: puzzle, takers of chunks, memory, control and observer.

    `local` are threads of this process, which `farm` has too. `shares` is the budget divided for the layer step.
    """

    puzzle: Puzzle
    farm: Farm
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
    def counts_layers(self) -> bool:
        """Return whether others may make layers, so that the log of the work says who did."""
        return self.redis is not None or self.farm.helpers is not None

    @property
    def tuning(self) -> Tuning:
        return self.budget.tuning

    def sums_flow(self, size: int, cost: Cost) -> bool:
        """Return whether others may expand a run of such layers, so that the flow of all moves is summed."""
        if self.hosts is not None and (self.hosts.is_requested or self.hosts.living()):
            return True
        return self.farm.may_leave_out(size, cost)


class Session:
    """One process's session with an open run: its context and its commits."""

    def __init__(self, store: RunStore, context: ComputeContext) -> None:
        self.store, self.context, self.puzzle = store, context, context.puzzle
        self.control, self.observer = context.control, context.observer
        self.work_log = context.farm.work_log
        self.work_log.go_on(store.state.work_log)
        self._finished: State | None = None
        self._progress = store.state.progress
        self._counted, self._committed = clock(), time.monotonic()

    @property
    def state(self) -> State:
        """The state of the run with all finished work, committed or not."""
        return self._finished or self.store.state

    @state.setter
    def state(self, state: State) -> None:
        self._finished = state

    @property
    def commit_is_due(self) -> bool:
        """Return whether the last commit is so long ago that finished work should not wait."""
        return time.monotonic() - self._committed > self.context.tuning.commit

    @property
    def seconds(self) -> float:
        """The seconds of all sessions together, up to now, without those of compiling."""
        return self.store.state.seconds + clock() - self._counted

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
        """Make staged data durable with `state`, the progress and the time since the last commit; return the state.

        A session is idle until it commits something.
        """
        now, compiling = clock(), state.compiling + take_compiled()
        seconds, work_log = state.seconds + now - self._counted, self.work_log.as_dict()
        idle = state == self.store.state and not self.store.staged and state.idle
        state = replace(
            state, seconds=seconds, compiling=compiling, progress=self._progress, work_log=work_log, idle=idle
        )
        self.store.commit(state)
        self._counted, self._committed, self._finished = now, time.monotonic(), None
        return self.store.state

    @contextmanager
    def committing(self, commit: Callable[[], object]) -> Iterator[None]:
        """When the block ends, `commit` finished work; drop it after an error that may be raised at any instruction."""
        try:
            yield
        except (KeyboardInterrupt, MemoryError):
            self.store.discard_staged()
            raise
        except BaseException:
            commit()
            raise
        commit()

    def commit_staged(self, state: State) -> State:
        """Make finished work durable at the end of a session, unless the store is poisoned."""
        return self.commit(state) if self.store.staged and not self.store.poisoned else state


class ThreadExecutor(ThreadPool):
    """`workers` threads, with twice as many chunks in flight."""

    name = "threads"

    def __init__(self, puzzle: Puzzle, workers: int, control: Control) -> None:
        super().__init__(puzzle, workers, control)
        self.work_log = WorkLog()

    def map(
        self, task: str, chunks: Iterable[Arrays], shared: Arrays = (), scarce: bool = False
    ) -> Iterator[tuple[int, list[Array]]]:
        work = task_of(task, self._puzzle).work
        return self.each(task, lambda chunk: list(work(self._puzzle, chunk, shared)), chunks)
