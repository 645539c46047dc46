"""One layer step of any size: U(N) expanded in chunks, its successors merged key range by key range.

    U(N) -> chunks -> expand -> buckets by key range, beyond the budget spilled to disk
         -> for each range: merge, less the known keys -> blocks -> LMDB

by threads of this process; `coordinator.steps.farmed` has workers do both halves. Nothing of it depends on how large
the layer is. Finished ranges are committed every few seconds, and a long expansion is made durable by spilling all of
it; a kill costs what was done since then (`Tuning.checkpoint`).
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, count, pairwise

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.buckets import Buckets
from hakoiri.coordinator.steps.inspection import inspected_expansion
from hakoiri.coordinator.steps.pace import Pace
from hakoiri.coordinator.steps.partial import Partial
from hakoiri.coordinator.steps.window import HeldLayer, Layer, Source, StoredLayer, Unread
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.storage.names import META, PARTIAL_KEY
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.halves import Found, Merged, Work, code_range, expand_chunk, merge_range
from hakoiri.worker.layers.marks import marks_for
from hakoiri.worker.layers.partition import Partition, partition_by

#: How many times less memory a known key takes than a successor, which is also sorted, packed and kept.
_KNOWN_WEIGHT = 5


class LayerStep:
    """The making of layer `depth`: what `current` leads to, less `known`, which holds `current` too.

    Nothing may be staged in the store when it begins.
    """

    def __init__(self, session: Session, depth: Depth, current: Source, known: list[Layer], pace: Pace) -> None:
        self._session, self._store, self._context = session, session.store, session.context
        self._puzzle, self._layout = session.puzzle, session.puzzle.layout
        self._depth, self._current, self._known, self._pace = depth, current, known, pace
        self._shares = self._context.shares
        self._spill = Spill(self._store.directory, self._layout, depth)
        #: The new layer in memory; ``None`` when it is too large for that.
        self._pieces: list[Keys] | None = []
        self._piece_bytes = 0
        self._durable_at = time.monotonic()
        #: Successors per key range, duplicates counted, and how many ranges a long layer has at least.
        self._range_keys, self._least_ranges = self._shares.range_keys, 2 * self._context.local.workers

    def run(self) -> tuple[LayerRecord, Layer]:
        """The record, staged but not committed, and the keys of the new layer. Raises as `explore` does.

        What was finished before an error is kept for the next session.
        """
        self._take_up()
        self._flow = self._partial.flow
        self._begin()
        try:
            self._pace.expand(self._partial.expanded)
            self._expand_all()
            self._pace.merge(self._partial.merged)
            self._merge_all()
            self._pace.finish(self._current.size)
        except StopRun:
            self._save()
            raise
        except BaseException:
            # IMPORTANT: without their partial record the next session might cut these blocks differently.
            self._store.discard_staged()
            raise
        record = self._partial.finished(self._store.state.session, self._whole_flow)
        self._store.erase(META, PARTIAL_KEY)
        if record.size:
            self._store.stage_layer(record)
        return record, self._made()

    def _made(self) -> Layer:
        """The new layer."""
        stored = StoredLayer(self._store, self._depth, self._partial.size)
        return stored if self._pieces is None else HeldLayer(self._pieces)

    def _begin(self) -> None:
        """Get ready for what `_expand_some` gives."""
        expected, most = int(self._branching * self._current.size), self._shares.bucket_bytes * 3 // 4
        self._marks = marks_for(self._successors, expected, most, self._context.local.workers)
        self._buckets = Buckets(self._partition, self._layout, self._spill, self._partial.merged, self._marks)

    # Progress

    def finish(self) -> None:
        """Remove what is not needed once the layer is committed."""
        self._spill.clear()

    def _take_up(self) -> None:
        """Go on where an earlier session left this layer, or plan it."""
        fields = self._store.read_partial()
        self._look()
        if fields is not None and fields["depth"] == self._depth:
            self._partial = Partial.from_record(fields)
            self._partition = Partition.from_dict(self._partial.partition)
            self._spill.restore(self._partial.spilled)
            if self._partial.merged:
                self._pieces = None
            return
        self._spill.clear()
        self._partition = self._cut()
        self._partial = Partial(self._depth, self._partition.as_dict(), flow=0 if self._sums else None)

    @property
    def _sums(self) -> bool:
        """Whether the flow of all moves is summed: that workers leave nothing out."""
        return self._context.executor is not self._context.local

    def _with_flow(self, flows: Iterable[int]) -> int | None:
        """The flow of what is expanded, with that of some more."""
        return None if self._flow is None else total_flow([self._flow, *flows])

    @property
    def _whole_flow(self) -> int | None:
        """That of all moves, once all keys are expanded."""
        return self._flow

    def _look(self) -> None:
        """Inspect and time a sample, and sort what it leads to."""
        sample = self._sample()
        began = time.perf_counter()
        inspected = partial(inspected_expansion, self._puzzle, sample, self._depth)
        expansion = self._session.compute(inspected)
        self._seconds_each = (time.perf_counter() - began) / len(sample)
        self._branching = len(expansion.successors) / len(sample)
        self._successors = sort_keys(expansion.successors.copy())

    def _sample(self) -> Keys:
        return self._current.sample()

    def _cut(self) -> Partition:
        """Ranges of about equally many successors, judged by those of the sample."""
        if not len(self._successors):
            return partition_by(self._layout.pack([0]), 1)
        known = sum(layer.size for layer in self._known)
        expected = int(self._branching * self._current.size) + known // _KNOWN_WEIGHT
        least = self._least_ranges if expected > self._range_keys // 8 else 1
        return partition_by(self._successors, max(least, -(-expected // self._range_keys)))

    def _save(self) -> None:
        """Commit what is staged together with how far the layer is; then the files of its ranges may go."""
        kept = self._partial.spilled.beyond(self._partial.merged)
        self._partial = replace(self._partial, spilled=kept)
        self._store.stage_record(META, PARTIAL_KEY, asdict(self._partial))
        self._session.commit(self._store.state)
        self._spill.forget_below(self._partial.merged)
        self._durable_at = time.monotonic()

    # First half: expand

    def _expand_all(self) -> None:
        done = self._partial.expanded
        while done < self._current.size:
            for size in self._expand_some(done):
                done += size
                left = self._pace.expanding_left(done, self._current.size)
                self._tell("expanded", done, self._current.size, left)
                self._session.control.check()
            if done < self._current.size:
                self._spill_all()
                self._spill.sync()
                self._partial = replace(self._partial, expanded=done, spilled=self._spill.files, flow=self._flow)
                self._save()

    def _expand_some(self, begin: int) -> Iterator[int]:
        """Expand from key number `begin` until the layer ends or a checkpoint is due; the size of each chunk done."""
        size = self._shares.chunk_size(self._current.size, self._branching, pace=self._seconds_each)
        coming = _Coming(self._current.unread(begin, size))
        expand = partial(expand_chunk, self._puzzle, self._marks, self._partition.table, self._flow is not None)
        while coming.following is not None:
            if self._marks and self._marks.part:
                self._spill_held(self._buckets.marked())
                self._buckets.clear_marks()
                self._marks.move(coming.following.first)
            sizes: dict[int, int] = {}
            for number, (keys, ends, flow) in self._context.local.each("expand", expand, self._chunks(coming, sizes)):
                self._buckets.add_scattered(keys, ends)
                self._flow = self._with_flow([flow])
                if self._buckets.held_bytes > self._shares.bucket_bytes:
                    # IMPORTANT: what is marked stays, for threads go on marking.
                    self._spill_held(self._buckets.held(), marked=False)
                yield sizes.pop(number)
            if self._checkpoint_is_due:
                return

    def _chunks(self, coming: "_Coming", sizes: dict[int, int]) -> Iterator[Iterable[Keys]]:
        """Some keys at a time, until a checkpoint is due, or they leave the part that is marked."""
        end = self._marks.end if self._marks and self._marks.part else None
        number = count()
        while (unread := coming.following) is not None and (end is None or unread.first < end):
            sizes[next(number)] = unread.size
            coming.pass_over()
            yield unread.batches
            if self._checkpoint_is_due:
                return

    @property
    def _checkpoint_is_due(self) -> bool:
        return time.monotonic() - self._durable_at > self._context.tuning.checkpoint

    def _spill_all(self) -> None:
        self._spill_held(sorted({*self._buckets.held(), *self._buckets.marked()}))
        self._buckets.clear_marks()

    def _spill_held(self, numbers: list[int], marked: bool = True) -> None:
        """Put the keys in memory of some ranges on disk, those that are marked, too, or not."""
        code = partial(code_range, self._layout, self._depth)
        # Moves from a part that is marked lead back into it: what is known there goes before it is written.
        found = zip(numbers, self._buckets.take_held(numbers, marked), strict=True)
        known = self._known[1:] if self._puzzle.undirected else []
        works = (
            Work(each, _between(known if each.marked else [], *self._buckets.bounds[number]), keep=False)
            for number, each in found
        )
        for place, coded in self._context.local.each("merge", code, works):
            if len(coded.firsts):
                self._spill.append(numbers[place], coded)

    # Second half: merge

    def _merge_all(self) -> None:
        """Merge the ranges that are left, in increasing order."""
        waiting: dict[int, Merged] = {}
        pieces: list[Merged] = []
        completes: list[int | None] = []
        following = 0
        merge = partial(merge_range, self._puzzle, self._depth)
        for number, result in self._context.local.each("merge", merge, self._ranges_left(completes)):
            waiting[number] = result
            while following in waiting:
                pieces.append(waiting.pop(following))
                # IMPORTANT: a range is taken whole or not at all, because its pieces may be cut differently next time.
                if (finished := completes[following]) is not None:
                    for piece in pieces:
                        self._take_in(piece)
                    pieces.clear()
                    self._finish_range(finished)
                following += 1
            self._session.control.check()

    def _ranges_left(self, completes: list[int | None]) -> Iterator[Work]:
        """What to merge; `completes` says for each which range is finished with it."""
        buckets = self._buckets
        for number in range(self._partial.merged, self._partition.ranges):
            low, high = buckets.bounds[number]
            pieces = self._pieces_of(buckets.keys_in(number), low, high)
            if pieces == 1:
                completes.append(number)
                yield self._work(buckets.take(number), low, high, self._pieces is not None)
                continue
            # Too large: the sample misled, or older keys crowd here. It is merged in smaller pieces.
            cuts = [low, *buckets.cut_again(number, pieces), high]
            for begin, end in pairwise(cuts):
                completes.append(number if end == high else None)
                yield self._work(buckets.between(number, begin, end), begin, end, keep=False)
            buckets.take(number)

    def _pieces_of(self, keys: int, low: Key, high: Key) -> int:
        """In how many pieces to merge a range of `keys` successors to fit its share; half as much again will do."""
        known = sum(layer.at_most(low, high) for layer in self._known)
        load = keys + known // _KNOWN_WEIGHT
        return 1 if load <= 3 * self._range_keys // 2 else -(-load // self._range_keys)

    def _work(self, found: Found, low: Key, high: Key, keep: bool) -> Work:
        return Work(found, _between(self._known, low, high), keep)

    def _take_in(self, result: Merged) -> None:
        """Stage the blocks of a merged piece, and add it to the progress."""
        summary, coded, keys = result
        self._partial = self._partial.plus(summary, *self._store.stage_coded(self._depth, coded, self._partial.index))
        self._piece_bytes += keys.nbytes
        if len(keys) < int(summary[0]) or self._piece_bytes > self._shares.layer_bytes:
            self._pieces = None
        if self._pieces is not None:
            self._pieces.append(keys)

    def _finish_range(self, number: int) -> None:
        self._partial = replace(self._partial, merged=number + 1)
        late = time.monotonic() - self._durable_at > self._context.tuning.range_commit
        if late or self._store.staged_bytes > self._shares.staged_bytes:
            self._save()
        left = self._pace.merging_left(number + 1, self._partition.ranges)
        self._tell("merged ranges", number + 1, self._partition.ranges, left)

    def _tell(self, what: str, done: int, total: int, left: float | None) -> None:
        disk = self._store.state.stored_bytes + self._partial.stored + self._spill.stored_bytes
        stored = self._store.state.figures["configurations"]
        headline = f"layer {self._depth}: {what} {done:,} of {total:,}"
        most_left = self._pace.run_left(left, stored)
        self._session.tell(
            Progress(stored + self._partial.size, headline=headline, step_left=left, most_left=most_left, disk=disk)
        )


def _between(layers: list[Layer], low: Key, high: Key) -> Iterable[Keys]:
    return chain.from_iterable([layer.between(low, high) for layer in layers])


class _Coming:
    """Keys that are yet to be expanded; `following` are the next of them."""

    def __init__(self, unread: Iterator[Unread]) -> None:
        self._unread = unread
        self.following = next(unread, None)

    def pass_over(self) -> None:
        self.following = next(self._unread, None)
