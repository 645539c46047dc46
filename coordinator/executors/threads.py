"""The embedded executor: threads in this process. Kernels release the GIL, so threads are enough."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

from hakoiri.coordinator.session.places import Places
from hakoiri.coordinator.session.session import Control
from hakoiri.puzzles.contract import Puzzle
from hakoiri.worker.tasks import TASKS, Array, Arrays, guarded

_LOOK_SECONDS = 0.2

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class ThreadExecutor:
    """`workers` threads, with twice as many chunks in flight."""

    name = "threads"

    def __init__(self, puzzle: Puzzle, workers: int, control: Control) -> None:
        self._puzzle = puzzle
        self.workers = workers
        self.places = Places()
        self._control = control
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="chunk")

    def map(self, task: str, chunks: Iterable[Arrays], shared: Arrays = ()) -> Iterator[tuple[int, list[Array]]]:
        return self.each(task, lambda chunk: list(TASKS[task](self._puzzle, chunk, shared)), chunks)

    def each(self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item]) -> Iterator[tuple[int, _Made]]:
        numbered, flying = enumerate(items), 0
        landed = SimpleQueue[tuple[int, Future[_Made]]]()

        def land(number: int, future: Future[_Made]) -> None:
            landed.put((number, future))

        while True:
            while flying < 2 * self.workers and (following := next(numbered, None)) is not None:
                number, item = following
                task = partial(guarded, name, work, item)
                self._pool.submit(self._control.compute, self._puzzle, task).add_done_callback(partial(land, number))
                flying += 1
            if not flying:
                return
            try:
                number, future = landed.get(timeout=_LOOK_SECONDS)
            except Empty:
                self._control.check()
                continue
            self._control.check()
            flying -= 1
            yield number, future.result()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._control.break_off()
        self._pool.shutdown()
