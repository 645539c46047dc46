"""What a search works with: the puzzle, the executors that expand it, and the open run that it writes to."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from coordinator.session.budget import Budget, Shares
from coordinator.session.control import Control, Observer
from coordinator.session.executor import Executor
from coordinator.session.tuning import Tuning
from puzzles.contract import Puzzle
from puzzles.keys.layout import Keys
from storage.layers.store import RunStore
from storage.ledger.manifest import Progress, State
from worker.layers.kernels import split
from worker.tasks import Array, Arrays, do_task

#: How long finished work waits for the next commit at most, except while the next piece is computed.
_COMMIT_SECONDS = 0.1


@dataclass(frozen=True)
class ComputeContext:
    """A puzzle, an executor for its chunks, threads of this process for the rest, and the memory that they may use.

    `executor` is `local` where there are no workers elsewhere. `shares` is the budget cut up for the layer step.
    """

    puzzle: Puzzle
    executor: Executor
    local: Executor
    budget: Budget
    shares: Shares

    @property
    def tuning(self) -> Tuning:
        """The times and sizes to steer by."""
        return self.budget.tuning

    @property
    def remote_workers(self) -> int:
        """How many workers live elsewhere; 0 where this run sends its chunks to none."""
        return 0 if self.executor is self.local else self.executor.workers

    @property
    def merger(self) -> Executor:
        """Where key ranges are merged: elsewhere where more workers live there than this process has threads."""
        return self.executor if self.executor.workers > self.local.workers else self.local

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
    """One process's time with an open run: what it computes with, what may stop it, who watches, and its commits."""

    def __init__(self, store: RunStore, context: ComputeContext, control: Control, observer: Observer) -> None:
        self.store, self.context, self.puzzle = store, context, context.puzzle
        self.control, self.observer = control, observer
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

    def commit(self, state: State) -> State:
        """Make what is staged durable with `state`, the progress and the time since the last commit; return it."""
        now = time.monotonic()
        self.store.commit(replace(state, seconds=state.seconds + now - self._counted, progress=self._progress))
        self._counted, self._committed = now, time.monotonic()
        return self.store.state

    def commit_staged(self, state: State) -> State:
        """On the way out: make durable what is finished, if it still can be."""
        return self.commit(state) if self.store.staged and not self.store.poisoned else state
