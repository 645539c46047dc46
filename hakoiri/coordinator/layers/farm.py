"""RQ workers as expanders of a layer: they take chunks from the same list as the threads of this process.

pieces of U(N) -> a worker that is free: task `expand` -> coded blocks by range -> the exchange
               -> a thread that is free                -> bitmaps, keys         -> the exchange
"""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from queue import SimpleQueue
from threading import Lock

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.errors import TaskError
from hakoiri.keys.layout import Keys
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.layers.ranges import ExpandedChunk, ExpandedRange, RangeSource, chunk_plan
from hakoiri.worker.layers.step import RangeStep, SourceSample
from hakoiri.worker.pool import CallingThread
from hakoiri.worker.transport.payload import Arrays

#: The seconds between two looks at whether the run is to stop, while threads finish their pieces.
_LOOK_SECONDS = 0.2
_SWITCH_SECONDS = 0.0005
_HERE = CallingThread([])


class SharedPieces:
    """An iterator over pieces from which several threads may take until `ended` is set; taking one holds `lock`."""

    def __init__(self, pieces: Iterator[RangeSource]) -> None:
        self._pieces, self.lock = pieces, Lock()
        self.ended = False

    def __iter__(self) -> Iterator[RangeSource]:
        return self

    def __next__(self) -> RangeSource:
        with self.lock:
            if self.ended:
                raise StopIteration
            return next(self._pieces)

    def end_after_error(self, future: Future[None]) -> None:
        """End if a thread that took pieces has failed."""
        self.ended |= future.exception() is not None


class Farm:
    """Expands keys for layer `depth`, which `partition` cuts into ranges, `size` keys at a time; `sample` has some.

    Workers do `task`, whose chunks share `more` arrays. Threads of this process take part, too, unless everything is
    to be sent.
    """

    def __init__(
        self, context: ComputeContext, depth: Depth, partition: Partition, sample: SourceSample, size: int, task: str,
        more: Arrays,
    ) -> None:  # fmt: skip
        self._context, self._size, self._task, self._nothing = context, size, task, partition.layout.empty(0)
        plan = chunk_plan(depth, sample.successors, int(size * sample.branching))
        self._shared = [partition.cut_keys, plan, *more]
        self._threads = 0 if context.budget.farm_from is not None else context.threads

    def expand(
        self, ranges: RangeStep, is_due: Callable[[], bool], meanwhile: Callable[[], None]
    ) -> Iterator[tuple[int, int | None]]:
        """Expand as `RangeStep.expand` does; yield the number of keys of each piece, and their flow.

        No piece is begun after the last worker has gone, or after an error.
        """
        pieces, work, lock = SharedPieces(ranges.shared_pieces(is_due, self._size)), ranges.expansion(True), Lock()
        found = SimpleQueue[tuple[int, int | None]]()

        def land(made: ExpandedRange) -> None:
            with lock:
                # In this thread: the others of the pool are busy.
                ranges.take(made.keys, made.ends, _HERE)
                self._context.executor.work_log.add_expanded("", made.size, made.seconds)
            found.put((made.size, made.flow))

        # Otherwise this thread would wait 5 ms for rules in plain Python after each send or receive.
        sys.setswitchinterval(_SWITCH_SECONDS)
        futures = self._context.local.draw("expand", work, pieces, land, self._threads)
        for future in futures:
            future.add_done_callback(pieces.end_after_error)
        try:
            for made in self._sent(ranges, pieces, meanwhile):
                yield made
                yield from _queued(found)
            while wait(futures, _LOOK_SECONDS).not_done:
                yield from _queued(found)
                self._context.control.check()
            yield from _queued(found)
            for future in futures:
                future.result()
        finally:
            pieces.ended = True
            if wait(futures, 0).not_done:
                self._context.control.break_off()
                wait(futures)

    def _sent(
        self, ranges: RangeStep, pieces: SharedPieces, meanwhile: Callable[[], None]
    ) -> Iterator[tuple[int, int | None]]:
        """Have workers expand pieces, and put the blocks that they find into the exchange."""

        sizes = list[int]()

        def chunks() -> Iterator[list[Keys]]:
            for piece in pieces:
                if len(keys := np.concatenate([self._nothing, *piece.batches])):
                    sizes.append(len(keys))
                    yield [keys]
                # The workers are busy now.
                with pieces.lock:
                    meanwhile()

        executor = self._context.executor
        for place, result in executor.map(self._task, chunks(), self._shared, scarce=self._threads > 0):
            chunk = ExpandedChunk(*result)
            size, flow, _ = map(int, chunk.figures)
            if size != sizes[place]:
                raise TaskError(f"a worker expanded {size:,} configurations of a chunk of {sizes[place]:,}")
            for number, coded in chunk.by_range():
                ranges.put(number, coded)
            pieces.ended |= not executor.living
            yield size, flow


def _queued(found: SimpleQueue[tuple[int, int | None]]) -> Iterator[tuple[int, int | None]]:
    """Yield the items that are in a queue now."""
    while not found.empty():
        yield found.get()
