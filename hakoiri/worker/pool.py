"""Threads for work of any kind. Kernels release the GIL, so threads are enough."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Protocol, TypeVar

from hakoiri.errors import NO_FAULT, TaskError
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.codec import Words

_LOOK_SECONDS = 0.2

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class WorkGuard(Protocol):
    """Control over work: stops it between pieces, or within one while only plain Python runs."""

    def check(self) -> None:
        """Return to continue; raise to stop."""

    def compute(self, puzzle: Puzzle, work: Callable[[], _Made]) -> _Made:
        """Return the result of `work` for a puzzle; raise to stop."""

    def break_off(self) -> None:
        """Abort the calls of `compute` in other threads."""


class Threads(Protocol):
    """Threads for work of any kind."""

    #: Cleared bitmaps that one layer step leaves to the next.
    spare: list[Words]

    @property
    def workers(self) -> int:
        """The number of threads."""

    def each(
        self, name: str, work: Callable[[_Item], _Made], items: Iterable[_Item],
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[int, _Made]]:  # fmt: skip
        """Yield (number of the item, result of `work`) for each item once, in any order; `name` is that of the work.

        `meanwhile` is called in this thread whenever the others have been given items.
        """


class CallingThread:
    """The calling thread, for work so short that distributing it would take longer."""

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

    def draw(
        self, name: str, work: Callable[[_Item], _Made], items: Iterator[_Item], land: Callable[[_Made], None],
        threads: int,
    ) -> list[Future[None]]:  # fmt: skip
        """Have some threads take items until all are taken; `items` and `land`, which gets results, are thread-safe.

        Return the end of each thread's work.
        """

        def take() -> None:
            for item in items:
                land(self._control.compute(self._puzzle, partial(guarded, name, work, item)))

        return [self._pool.submit(take) for _ in range(threads)]

    def close(self) -> None:
        """End the threads; items in flight are dropped."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._control.break_off()
        self._pool.shutdown()


def guarded(name: str, work: Callable[..., _Made], *given: Any) -> _Made:
    """Return the result of `work`. Any error that is not one of Hakoiri's becomes a `TaskError`."""
    try:
        return work(*given)
    except NO_FAULT:
        raise
    except BaseException as error:
        raise TaskError(f"task {name} failed: {type(error).__name__}: {error}") from error
