"""Threads for work of any kind. Kernels release the GIL, so threads are enough."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Protocol, TypeVar

from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.bitmap import Words
from hakoiri.worker.tasks import guarded

_LOOK_SECONDS = 0.2

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class WorkGuard(Protocol):
    """Stops work: between its pieces, and within one where only plain Python is at work."""

    def check(self) -> None:
        """Return to go on; raise to leave."""

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Return what `work` makes of a puzzle; raise to leave."""

    def break_off(self) -> None:
        """Break off what `compute` does in other threads."""


class Threads(Protocol):
    """Threads for work of any kind."""

    #: Bitmaps without a bit that one layer step has left to the next.
    spare: list[Words]

    @property
    def workers(self) -> int:
        """The number of threads."""

    def each(
        self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, _Made]]:  # fmt: skip
        """(number of the item, what `work` called `name` makes of it) for each item once, in any order.

        `meanwhile` is called in this thread whenever the others have been given items.
        """


class CallingThread:
    """The thread that calls it, for work so short that to hand it out would take longer."""

    workers = 1

    def __init__(self, spare: list[Words]) -> None:
        self.spare = spare

    def each(
        self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, _Made]]:  # fmt: skip
        meanwhile()
        return ((number, guarded(name, work, item)) for number, item in enumerate(items))


class ThreadPool:
    """`workers` threads, with twice as many items in flight."""

    def __init__(self, puzzle: Puzzle, workers: int, control: WorkGuard) -> None:
        self._puzzle, self.workers, self._control = puzzle, workers, control
        self.spare = list[Words]()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="chunk")

    def each(
        self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, _Made]]:  # fmt: skip
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
            meanwhile()
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
        """Let go of the threads; what is in flight is forgotten."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._control.break_off()
        self._pool.shutdown()
