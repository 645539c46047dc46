"""The embedded executor: threads in this process."""

from collections.abc import Iterable, Iterator

from hakoiri.coordinator.session.session import Control
from hakoiri.coordinator.session.work_log import WorkLog
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport.payload import Array, Arrays


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
