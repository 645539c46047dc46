"""What a search works with: the puzzle, the executors that expand it, and the open run that it writes to."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, TypeVar

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.interruptible import InterruptibleWork
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.tuning import Tuning
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import LayerRecord, Progress, State
from hakoiri.worker.exchange.pool import Threads
from hakoiri.worker.exchange.shares import Shares
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.tasks import Array, Arrays, do_task

_Made = TypeVar("_Made")

#: How long finished work waits for the next commit at most, except while the next piece is computed.
_COMMIT_SECONDS = 0.1
#: How often the store is asked whether another process wants the run cancelled.
_CANCEL_LOOK_SECONDS = 0.2


class Observer(Protocol):
    """Watches a run; both methods return at once."""

    def progress(self, progress: Progress) -> None:
        """How far the work is."""

    def note(self, text: str, *steps: Step) -> None:
        """Something that a user should know but need not act on, and what he may do."""


class SilentObserver:
    """Watches nothing."""

    def progress(self, progress: Progress) -> None:
        """Nothing."""

    def note(self, text: str, *steps: Step) -> None:
        """Nothing."""


@dataclass(frozen=True)
class PartObserver:
    """Passes on what part of some work tells, the name of the part before each headline."""

    observer: Observer
    part: str

    def progress(self, progress: Progress) -> None:
        """How far the part is."""
        self.observer.progress(replace(progress, headline=": ".join(filter(None, (self.part, progress.headline)))))

    def note(self, text: str, *steps: Step) -> None:
        """The same."""
        self.observer.note(text, *steps)


class Control:
    """Asked between steps whether to go on. `interrupt` may be called from a signal handler."""

    def __init__(self) -> None:
        self._reason = ""
        self._cancelled: list[Callable[[], bool]] = []
        self._unexpected: Callable[[LayerRecord], str] = lambda _: ""
        self._next_look = 0.0
        self._computing = InterruptibleWork()

    @contextmanager
    def watching(self, cancelled: Callable[[], bool]) -> Iterator[None]:
        """Also ask `cancelled` from time to time while the block runs."""
        self._cancelled.append(cancelled)
        try:
            yield
        finally:
            self._cancelled.remove(cancelled)

    def expect(self, unexpected: Callable[[LayerRecord], str]) -> None:
        """From now on also ask `unexpected` of each layer that is made: what it says stops the run."""
        self._unexpected = unexpected

    def made(self, record: LayerRecord) -> None:
        """Return to go on with the next layer; raise `StopRun` to leave."""
        if reason := self._unexpected(record):
            raise StopRun("interrupted", reason)

    def interrupt(self, reason: str) -> None:
        """Stop at the next check, resumable; what `compute` does is broken off."""
        self._reason = reason
        self.break_off()

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Return what `work` makes of a puzzle, which must have no other effect; `StopRun` if interrupted meanwhile.

        Kernels take no time to speak of: only what rules in plain Python do is broken off.
        """
        if puzzle.has_kernel:
            return work()

        def work_on() -> _Made:
            # Asked when it can be broken off already, so that no signal falls in between.
            self._raise_if_interrupted()
            return work()

        try:
            return self._computing.run(work_on)
        except BaseException:
            self._raise_if_interrupted()
            raise

    def _raise_if_interrupted(self) -> None:
        if self._reason:
            raise StopRun("interrupted", self._reason) from None

    def break_off(self) -> None:
        """Break off what `compute` does in other threads, for nobody waits for it any more."""
        self._computing.break_off()

    @property
    def interrupted(self) -> bool:
        return bool(self._reason)

    def check(self) -> None:
        """Return to go on; raise `StopRun` to leave."""
        self._raise_if_interrupted()
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + _CANCEL_LOOK_SECONDS
            if any(cancelled() for cancelled in self._cancelled):
                raise StopRun("cancelled", "cancelled on request")


class Executor(Protocol):
    """Maps a task over chunks.

    `name` is what users call it; `work_log` count who does what.
    """

    name: str
    work_log: WorkLog

    @property
    def workers(self) -> int:
        """How many chunks are computed at once; chunks are cut to fit."""

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        """(number of the chunk, its result) for each chunk once, in any order.

        `chunks` is consumed lazily, so that bytes in flight are bounded; `shared` is sent once. Raises `StopRun` when
        the run is to stop, `TaskError` when a task failed of itself.
        """

    def close(self) -> None:
        """Let go of threads and connections; chunks in flight are forgotten."""


class LocalExecutor(Executor, Threads, Protocol):
    """The executor of this process, which does any work."""


@dataclass(frozen=True)
class ComputeContext:
    """All that computing needs: a puzzle, an executor for its chunks, memory, what may stop it, and who watches.

    `local` are threads of this process, and `executor` is `local` where there are no workers elsewhere. `shares` is the
    budget cut up for the layer step.
    """

    puzzle: Puzzle
    executor: Executor
    local: LocalExecutor
    budget: Budget
    shares: Shares
    control: Control
    observer: Observer
    #: A `coordinator.executors.hosts.HostPool`, where hosts are to keep the run.
    hosts: Any = None
    #: The URL of the Redis of workers and hosts.
    redis: str | None = None

    def part(self, name: str) -> Self:
        """The same for a part of the work, whose name is before each headline."""
        return replace(self, observer=PartObserver(self.observer, name))

    def tell(self, progress: Progress) -> None:
        """Say how far the work is; raise `StopRun` if it is to stop."""
        self.observer.progress(progress)
        self.control.check()

    @property
    def tuning(self) -> Tuning:
        return self.budget.tuning

    @property
    def remote_workers(self) -> int:
        """How many workers live elsewhere; 0 where this run sends its chunks to none."""
        return 0 if self.executor is self.local else self.executor.workers

    def cut(self, keys: Keys) -> list[Keys]:
        """`keys` in chunks for the executor, or in one piece where they are too few to be worth sending."""
        if not self.budget.distributes(len(keys)):
            return [keys]
        return split(keys, self.shares.chunk_size(len(keys), self.puzzle.most_successors, self.remote_workers))

    def map_chunks(
        self, task: str, chunks: Iterable[Arrays], configurations: int, shared: Arrays = ()
    ) -> Iterator[tuple[int, list[Array]]]:
        """`Executor.map`, or the same done here where there are too few configurations to be worth sending."""
        if self.budget.distributes(configurations):
            yield from self.executor.map(task, chunks, shared)
        else:
            for number, chunk in enumerate(chunks):
                yield number, do_task(task, self.puzzle, chunk, shared)


class Session:
    """One process's time with an open run: what it computes with, and its commits."""

    def __init__(self, store: RunStore, context: ComputeContext) -> None:
        self.store, self.context, self.puzzle = store, context, context.puzzle
        self.control, self.observer = context.control, context.observer
        self.work_log = context.executor.work_log
        self.work_log.go_on(store.state.places)
        self._progress = store.state.progress
        self._counted = self._committed = time.monotonic()

    @property
    def commit_is_due(self) -> bool:
        """Whether the last commit is long enough ago that finished work should not wait."""
        return time.monotonic() - self._committed > _COMMIT_SECONDS

    @property
    def seconds(self) -> float:
        """The time of all sessions together, up to now."""
        return self.store.state.seconds + time.monotonic() - self._counted

    def tell(self, progress: Progress) -> None:
        """Say how far the work is; the next commit makes it durable, for whoever asks from elsewhere."""
        self._progress = progress
        self.observer.progress(progress)

    def compute(self, work: Callable[[], _Made]) -> _Made:
        """Return what `work` makes of the puzzle, which must have no other effect; `StopRun` if the run is to stop.

        Rules in plain Python may never end: another thread follows them, and this one asks whether the run is to stop.
        """
        if self.puzzle.has_kernel:
            return work()
        ((_, made),) = self.context.local.each("expand", lambda _: work(), [None])
        return made

    def commit(self, state: State) -> State:
        """Make what is staged durable with `state`, the progress and the time since the last commit; return it."""
        now = time.monotonic()
        seconds, places = state.seconds + now - self._counted, self.work_log.as_dict()
        self.store.commit(replace(state, seconds=seconds, progress=self._progress, places=places, lost_sessions=0))
        self._counted, self._committed = now, time.monotonic()
        return self.store.state

    def commit_staged(self, state: State) -> State:
        """On the way out: make durable what is finished, if it still can be."""
        return self.commit(state) if self.store.staged and not self.store.poisoned else state
