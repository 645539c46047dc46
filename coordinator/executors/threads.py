"""The embedded executor: threads in this process. Kernels release the GIL, so threads are enough."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from coordinator.session.session import Control
from puzzles.contract import Puzzle
from worker.tasks import TASKS, Array, Arrays, guarded

_LOOK_SECONDS = 0.2

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class ThreadExecutor:
    """`workers` threads, with twice as many chunks in flight."""

    name = "threads"

    def __init__(self, puzzle: Puzzle, workers: int, control: Control) -> None:
        self._puzzle = puzzle
        self.workers = workers
        self._control = control
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="chunk")

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        return self.each(task, lambda chunk: list(TASKS[task](self._puzzle, chunk, shared)), chunks)

    def each(self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item]) -> Iterator[tuple[int, _Made]]:
        numbered = enumerate(items)
        flying: dict[Future[_Made], int] = {}
        while True:
            while len(flying) < 2 * self.workers and (following := next(numbered, None)) is not None:
                number, item = following
                flying[self._pool.submit(guarded, name, work, item)] = number
            if not flying:
                return
            landed, _ = wait(flying, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
            self._control.check()
            for future in landed:
                yield flying.pop(future), future.result()

    def close(self) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)
