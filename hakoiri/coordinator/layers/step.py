"""One layer made by threads and workers: planned, resumed from its last checkpoint, committed range by range.

    keys -> expanded, and grouped by key range, on disk beyond the budget
         -> each range merged, less the known keys -> blocks -> LMDB

Workers, if it pays, and threads take pieces of U(N) from the same list. Task `expand` answers with coded blocks.

The memory taken does not depend on the size of the layer. Merged ranges are committed every few seconds, and a long
expansion is made durable by spilling all of it. A kill costs the work since then (`Tuning.checkpoint`).

`Pace` estimates the time left. The time for the rest of an expansion, or of a merge, follows from the part done; the
time for merging, during an expansion, from the layer before. The number of layers to come is unknown, so there is an
estimate for the run only if the number of all configurations is known. It is an upper bound at the pace of the last
layers, because some configurations may be out of reach.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from dataclasses import asdict, replace
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import NamedTuple, cast

import numpy as np

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.farm import Plan
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.resources import Cost
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import TaskError
from hakoiri.keys.layout import Keys, key_at
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import Layer, Source
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.storage.names import BLOCKS, META, PARTIAL_KEY, number_key
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import is_dense
from hakoiri.worker.layers.part import PartStep
from hakoiri.worker.layers.partition import Partition, partition_by
from hakoiri.worker.layers.ranges import ExpandedChunk, ExpandedRange, RangeSource, chunk_plan
from hakoiri.worker.layers.step import KNOWN_WEIGHT, Partial, RangeStep, SourceSample
from hakoiri.worker.pool import CallingThread, guarded
from hakoiri.worker.transport.payload import Arrays

#: The number of last layers; the slowest of them gives the pace.
_LAYERS = 3


class Pace:
    """The pace of one session, estimated from `least` seconds on. `most` is the greatest number of configurations."""

    def __init__(self, most: int | None, least: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._least, self._clock = most, least, clock
        self._began, self._done_before = clock(), 0
        self._expanding: float | None = None
        #: Seconds of merging per second of expanding, in the layer before; seconds per configuration, in the last ones.
        self._merging: float | None = None
        self._each = deque[float](maxlen=_LAYERS)

    def expand(self, done: int) -> None:
        """Begin a layer of which `done` configurations were expanded before."""
        self._began, self._done_before, self._expanding = self._clock(), done, None

    def merge(self, done: int) -> None:
        """Begin the merge of a layer of which `done` ranges were merged before."""
        now = self._clock()
        self._expanding = now - self._began if not (self._done_before or done) else None
        self._began, self._done_before = now, done

    def finish(self, size: int) -> None:
        """End a layer for which `size` configurations were expanded. A resumed layer gives no pace."""
        if self._expanding is not None and size:
            merging = self._clock() - self._began
            self._merging = merging / max(self._expanding, 1e-6)
            self._each.append((self._expanding + merging) / size)

    def expanding_left(self, done: int, total: int) -> float | None:
        """Return the seconds left for the layer, merging included, after `done` of `total` configurations."""
        left = self.merging_left(done, total)
        if left is None or self._merging is None:
            return None
        whole = (self._clock() - self._began + left) * total / (total - self._done_before)
        return left + whole * self._merging

    def merging_left(self, done: int, total: int) -> float | None:
        """Return the seconds left for the layer when `done` of `total` ranges are merged."""
        elapsed = self._clock() - self._began
        if elapsed < self._least or done <= self._done_before:
            return None
        return elapsed * (total - done) / (done - self._done_before)

    def run_left(self, layer_left: float | None, expanded: int) -> float | None:
        """Return the most seconds left for the run; after this layer `expanded` configurations are expanded."""
        if self._most is None or layer_left is None or not self._each:
            return None
        return layer_left + max(self._each) * max(0, self._most - expanded)


#: The seconds between two looks at whether the run is to stop, while threads finish their pieces.
_LOOK_SECONDS = 0.2
#: The same while a child process starts, and between two looks at whether it can work.
_START_SECONDS = 0.02
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


def _queued(found: SimpleQueue[tuple[int, int | None]]) -> Iterator[tuple[int, int | None]]:
    """Yield the items that are in a queue now."""
    while not found.empty():
        yield found.get()


#: The most seconds to expand a sample; a sample of at most the second number of keys may take longer.
_SAMPLE_SECONDS, _LEAST_SAMPLED = 0.005, 256


class Rules(NamedTuple):
    """Rules other than those of a session's puzzle, for goal distances (`worker.layers.rules`).

    `task` is that of workers for them, empty without one, whose chunks share the arrays `shared`. If `within` is given,
    the layer has only keys of this source.
    """

    puzzle: Puzzle
    task: str
    shared: Arrays = ()
    within: Source | None = None


class LayerStep:
    """The step that makes layer `depth`: the successors of `source` by `rules`, less `known`.

    Without `rules` they are those of the session's puzzle. When it begins, the store may have staged only entries
    that `commit_before` commits. That is called once, before anything of this layer is staged, and if possible
    while threads are busy.
    """

    def __init__(
        self, session: Session, depth: Depth, source: Source, known: list[Layer], pace: Pace,
        commit_before: Callable[[], None] | None = None, rules: Rules | None = None,
    ) -> None:  # fmt: skip
        self._session, self._store, self._context = session, session.store, session.context
        self._inspects, self._rules = rules is None, rules or Rules(session.puzzle, "expand")
        self._puzzle, self._layout = self._rules.puzzle, session.puzzle.layout
        self._depth, self._source, self._known, self._pace = depth, source, known, pace
        self._commit_later = commit_before
        self._shares = self._context.shares
        self._spill = Spill(self._store.directory, self._layout, depth)
        self._durable_at = time.monotonic()

    def run(self) -> tuple[LayerRecord, list[Keys] | None]:
        """Return the record, staged but not committed, and the keys if they fit in memory. Raises as `explore` does.

        The next session continues with the work that was durable before an error.
        """
        self._begin(self._taken_up())
        try:
            self._pace.expand(self._mark.expanded)
            self._expand_all()
            # IMPORTANT: before the merge, so that this commit contains nothing of this layer.
            self._commit_before()
            self._pace.merge(self._mark.merged)
            self._merge_all()
            self._pace.finish(self._source.size)
        except StopRun:
            self._save()
            raise
        except BaseException:
            self._commit_before()
            # IMPORTANT: without their partial record the next session might cut these blocks differently.
            self._store.discard_staged()
            raise
        record = self._mark.record(self._depth, self._store.state.session, self._mark.net_flow)
        record = replace(record, work=self._session.work_log.take_layer())
        self._store.erase(META, PARTIAL_KEY)
        if record.size:
            self._store.stage_layer(record)
        return record, self._step.held

    @property
    def _mark(self) -> Partial:
        return self._step.mark

    @property
    def has_files(self) -> bool:
        """Return whether spill files are still needed because the layer is not committed."""
        return bool(self._spill.stored_bytes)

    def finish(self) -> None:
        """Remove the spill files, which are not needed once the layer is committed."""
        self._spill.clear()

    def _commit_before(self) -> None:
        """Commit the entries that were staged when the step began, once."""
        commit, self._commit_later = self._commit_later, None
        if commit is not None:
            commit()

    def _taken_up(self) -> Partial:
        """Return the progress of the layer by an earlier session, or that of a layer that is only planned."""
        found = self._store.read_partial(Partial)
        self._look()
        # Earlier versions compared keys with one part of the others at a time.
        fits = found is not None and found.depth == self._depth and not found.part
        if found is not None and fits and not self._spill.are_left_out(found.spilled):
            self._partition = Partition.unpack(found.partition, self._layout)
            self._spill.restore(found.spilled)
            return found
        if self._store.has_partial:
            # The partial layer is an older one, was cut differently by an earlier version, or has lost its files.
            self._store.erase(META, PARTIAL_KEY)
            self._store.erase(BLOCKS, number_key(self._depth))
            self._commit_before()
            self._session.commit_staged(self._store.state)
        # IMPORTANT: after the commit, which no longer names the files.
        self._spill.clear()
        self._partition = self._cut()
        # The flow of all moves shows if workers or hosts leave something out.
        sums = self._inspects and self._context.sums_flow(self._source.size, self.cost)
        return Partial(self._depth, self._partition.packed, net_flow=0 if sums else None)

    def _look(self) -> None:
        """Time and inspect a sample, and sort its successors. The sample of slow rules is smaller."""
        keys = self._source.sample()
        self.cost = self._session.compute(partial(Cost.of, self._successors, keys))
        most = max(_LEAST_SAMPLED, int(_SAMPLE_SECONDS / self.cost.seconds))
        keys = np.ascontiguousarray(keys[:: -(-len(keys) // most)])
        if self._inspects:
            inspect = partial(inspected_expansion, self._puzzle, keys, self._depth)
            successors = self._session.compute(inspect)[0].successors
        else:
            successors = self._session.compute(partial(self._successors, keys))
        self._sampled = SourceSample(keys, sort_keys(successors.copy()), self.cost.seconds)

    def _successors(self, keys: Keys) -> Keys:
        """Return the successors of some keys of the source."""
        return guarded("expand", lambda: self._puzzle.expand(keys).successors)

    @property
    def _expected(self) -> int:
        """The estimated number of successors, duplicates counted."""
        return int(self._sampled.branching * self._source.size)

    def _cut(self) -> Partition:
        """Return ranges with about as many keys and successors together: the thread that merges a range expands it.

        Threads share the ranges evenly, and each range fits a thread's share of the memory.
        """
        keys, successors, _ = self._sampled
        if not len(successors):
            return partition_by(self._layout.pack([0]), 1)
        ranges, room = -(-self._source.size // self._range_size), self._shares.bucket_bytes
        span = int(successors[-1]) - int(successors[0]) if self._layout.words == 1 else None
        if span is None or not is_dense(span, self._expected):
            # The memory that merging all ranges takes, in successors.
            load = self._expected + sum(layer.size for layer in self._known) // KNOWN_WEIGHT
            ranges = max(ranges, -(-load // self._shares.range_keys))
        elif span // 8 > room:
            # The spilled keys of two ranges for each thread are in memory, too, about a byte for each successor.
            needed = 2 * self._context.local.workers * max(span // 8, self._expected)
            ranges = max(ranges, -(-needed // room))
        return partition_by(sort_keys(np.concatenate([keys, successors])), ranges)

    @property
    def _range_size(self) -> int:
        """The number of source keys that a range, or a piece of one, should have."""
        return self._shares.range_size(self._source.size, self._sampled.seconds_each)

    def _begin(self, mark: Partial) -> None:
        exchange = Exchange(self._partition, self._depth, self._spill, self._shares.bucket_bytes // 2)
        self._ranges = RangeStep(
            self._puzzle, exchange, self._source, self._known, self._sampled, self._range_size, self._shares,
            self._context.local,
        )  # fmt: skip
        self._ranges.plan_bitmaps(marks=mark.net_flow is None)
        self._step = PartStep(self._store, mark, self._ranges, self._spill, self._shares.layer_bytes)
        if mark.at:
            self._ranges.begin_at(int(mark.at, 16))
        elif mark.expanded:
            # An earlier version has expanded so many keys, in order.
            self._ranges.begin_at(key_at(next(cast(Layer, self._source).chunks(mark.expanded, 1)), 0))

    def _expansion(self) -> Iterator[tuple[int, int | None]]:
        """Expand by threads, and by workers if that pays, until a checkpoint is due; yield keys and flow of pieces."""

        def is_due() -> bool:
            return time.monotonic() - self._durable_at > self._context.tuning.checkpoint

        plan = self._context.farm.plan(self._source.size, self.cost, beside=True)
        if plan.is_sent and self._rules.task:
            yield from self._farmed(plan, is_due)
            return
        yield from self._ranges.expand(is_due, self._mark.net_flow is not None, self._commit_before)

    def _farmed(self, plan: Plan, is_due: Callable[[], bool]) -> Iterator[tuple[int, int | None]]:
        """Expand by helpers as planned, and by the threads of this process that the plan has.

        Yield as `RangeStep.expand` does. No piece is begun after the last worker has gone, or after an error.
        """
        context, ranges = self._context, self._ranges
        # For any thread or worker: none has a range's bitmap to itself.
        pieces = SharedPieces(
            RangeSource(number, self._source.between(low, high), None, True, ())
            for number, low, high in ranges.pieces(is_due, plan.chunk)
        )
        work, lock, found = ranges.expansion(True), Lock(), SimpleQueue[tuple[int, int | None]]()

        def land(made: ExpandedRange) -> None:
            with lock:
                # In this thread: the others of the pool are busy.
                ranges.take(made.keys, made.ends, _HERE)
                context.farm.work_log.add_expanded("", made.size, made.seconds)
            found.put((made.size, made.flow))

        # Otherwise this thread would wait 5 ms for rules in plain Python after each send or receive.
        sys.setswitchinterval(_SWITCH_SECONDS)
        futures = context.local.draw("expand", work, pieces, land, plan.threads)
        for future in futures:
            future.add_done_callback(pieces.end_after_error)
        try:
            # Pieces that wait for a child to start would wait longer.
            while futures and context.farm.is_starting and wait(futures, _START_SECONDS).not_done:
                yield from _queued(found)
                context.control.check()
            for made in self._sent(pieces, plan):
                yield made
                yield from _queued(found)
            while wait(futures, _LOOK_SECONDS).not_done:
                yield from _queued(found)
                context.control.check()
            yield from _queued(found)
            for future in futures:
                future.result()
        finally:
            pieces.ended = True
            if wait(futures, 0).not_done:
                context.control.break_off()
                wait(futures)

    def _sent(self, pieces: SharedPieces, plan: Plan) -> Iterator[tuple[int, int | None]]:
        """Have helpers expand pieces, and put the blocks that they find into the exchange."""
        sizes, nothing = list[int](), self._layout.empty(0)

        def chunks() -> Iterator[list[Keys]]:
            for piece in pieces:
                if len(keys := np.concatenate([nothing, *piece.batches])):
                    sizes.append(len(keys))
                    yield [keys]

        farm, sampled = self._context.farm, self._sampled
        bitmaps = chunk_plan(self._depth, sampled.successors, int(plan.chunk * sampled.branching))
        shared = [self._partition.cut_keys, bitmaps, *self._rules.shared]
        for place, result in farm.map(plan, self._rules.task, chunks(), shared):
            # The workers are busy now.
            with pieces.lock:
                self._commit_before()
            made = ExpandedChunk(*result)
            size, flow, _ = map(int, made.figures)
            if size != sizes[place]:
                raise TaskError(f"a worker expanded {size:,} configurations of a chunk of {sizes[place]:,}")
            for number, coded in made.by_range():
                self._ranges.put(number, coded)
            pieces.ended |= not farm.still_takes
            yield size, flow

    def _expand_all(self) -> None:
        size = self._source.size
        while self._mark.expanded < size:
            for _ in self._step.expand(self._expansion()):
                done = self._mark.expanded
                self._tell("expanded", done, size, self._pace.expanding_left(done, size))
                self._session.control.check()
            if self._mark.expanded < size:
                self._step.keep(at=hex(self._ranges.end))
                self._save()

    def _save(self) -> None:
        """Commit staged entries together with the progress of the layer; then remove the files of merged ranges."""
        # IMPORTANT: what earlier layers have staged goes with their own state.
        self._commit_before()
        self._store.stage_record(META, PARTIAL_KEY, asdict(self._step.resumable))
        self._session.commit(self._store.state)
        self._spill.forget_below(self._mark.merged)
        self._durable_at = time.monotonic()

    def _merge_all(self) -> None:
        for _ in self._step.merge(self._rules.within):
            late = time.monotonic() - self._durable_at > self._context.tuning.range_commit
            if late or self._store.staged_bytes > self._shares.staged_bytes:
                self._save()
            merged, ranges = self._mark.merged, self._partition.ranges
            self._tell("merged ranges", merged, ranges, self._pace.merging_left(merged, ranges))
            self._session.control.check()

    def _tell(self, what: str, done: int, total: int, left: float | None) -> None:
        disk = self._store.state.stored_bytes + self._mark.stored + self._spill.stored_bytes
        stored = self._store.state.configurations
        headline = f"layer {self._depth}: {what} {done:,} of {total:,}"
        most_left = self._pace.run_left(left, stored)
        self._session.tell(
            Progress(stored + self._mark.size, headline=headline, step_left=left, most_left=most_left, disk=disk)
        )
