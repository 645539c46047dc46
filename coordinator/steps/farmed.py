"""A layer step by workers, who hand each other what they make; this process keeps the books and sees no configuration.

    blocks of U(N) -> spread, by a worker -> a piece for each key range -> gather, by another -> blocks of U(N+1)
                                                        ^---------------------'  pieces of U(N+2)

All of it lies in Redis under the names of `worker.transport.pieces`. Who gathers a range expands it, too, while there
is room in Redis and no checkpoint is due: then the next step finds its first chunks expanded (`Ahead`), and often all.
An answer counts when it is taken in here, so that late and doubled ones never mix. What is lost is made again: a piece
by the chunk that it came from, blocks of a layer from the store. Where pieces take too much of Redis, and at
checkpoints, each range is merged into one batch of blocks, which goes to its spill file as it is.
"""

import math
import time
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, pairwise

import numpy as np

from hakoiri.coordinator.executors.lying import Left, Pieces
from hakoiri.coordinator.executors.remote import RemoteExecutor
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.asking import Asking, Request, Unit, overlapping, reaches
from hakoiri.coordinator.steps.expanded import Ahead, Cut, Expanded
from hakoiri.coordinator.steps.pace import Pace, Worth
from hakoiri.coordinator.steps.shelf import Shelves
from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.blocks import Coded, join_blocks
from hakoiri.storage.layers.readers import Layer
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.exchange.step import pieces_of
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.partition import Partition, partition_by, weighed
from hakoiri.worker.layers.shuffle import fits_bitmap
from hakoiri.worker.tasks import Array
from hakoiri.worker.transport.lots import Lot, join_lots

#: Configurations of a chunk. A job costs all processes together some 4 ms.
_LEAST_CHUNK, _MOST_CHUNK = 1 << 15, 1 << 22
_MOST_SECONDS = 2.0
#: What is left is fetched once, about: by the coordinator, or by other workers (measured: docs/measurements.md).
_TIMES_MOVED = 2
#: Bytes in Redis for each successor of a range, while it is merged, about; ranges are not cut smaller than the least.
_RANGE_BYTES, _LEAST_RANGE = 4, 1 << 16
#: Frames of a spill file put into one piece.
_FRAMES = 64
#: So many keys that lie in U(N+1), or near it, are expanded to cut U(N+2), and about so many seconds of that at most.
_LOOKS, _LOOK_SECONDS = 1 << 12, 0.2
_NOWHERE = np.empty(0, dtype=np.int64)


class FarmedStep(LayerStep):
    """The making of a layer by the workers of `executor`; `shelves` say where layers lie, from step to step."""

    _source: Layer

    def __init__(
        self, session: Session, depth: Depth, current: Layer, known: list[Layer], pace: Pace,
        executor: RemoteExecutor, shelves: Shelves, worth: Worth,
    ) -> None:  # fmt: skip
        super().__init__(session, depth, current, known, pace)
        self._lying, self._shelves, self._worth = executor.lying, shelves, worth
        self._asking = Asking(executor, self._layout, depth, self._context.tuning.most_losses)
        self._left_before = executor.lying.left
        self._workers = executor.workers
        # What a worker sorts, and what lies in Redis of the ranges under way: pieces, known blocks and new ones.
        fitting = max(_LEAST_RANGE, self._asking.share // (_RANGE_BYTES * self._workers))
        self._range_keys = max(1, min(fitting, self._context.tuning.task_bytes // self._layout.bytes))
        #: What is known of U(N), its chunks that are expanded and not spilled; and what is going to be of U(N+1).
        self._found = shelves.ahead_of(current)
        self._ahead = Ahead(Expanded(executor.lying, self._layout))
        self._expanded = Expanded(executor.lying, self._layout)
        #: By unit, what is merged and not yet taken in; and the blocks taken in.
        self._gathered: dict[Unit, Left] = {}
        self._taken: list[Lot] = []
        #: By unit the bytes that are yet to come of the new layer expanded.
        self._coming: dict[Unit, float] = {}
        self._goes_on, self._merging_since = False, 0.0

    def _begin(self) -> None:
        self._bounds = [self._partition.bounds(number, self._layout) for number in range(self._partition.ranges)]
        known = [self._shelves.of(layer).names() for layer in self._known]
        self._lying.retain(chain.from_iterable([*known, self._expanded.names]))

    def _sample(self) -> Keys:
        """Of those that workers told, where they made the layer: nothing is decoded here."""
        return super()._sample() if self._found is None else self._found.sample

    def _cut(self) -> Partition:
        """As it was cut when the first chunks were expanded, if any were."""
        if self._found is None or self._found.partition is None or not len(self._found.expanded):
            return super()._cut()
        self._expanded = self._found.expanded
        return self._found.partition

    @property
    def _wanted_ranges(self) -> int:
        wanted = super()._wanted_ranges
        return max(wanted, self._workers) if self._load > self._range_keys // 8 else wanted

    def _made(self) -> Layer:
        self._held.pieces = None
        layer = super()._made()
        if layer.size and layer.size == sum(int(lot.counts.sum()) for lot in self._taken):
            self._shelves.remember(layer, self._taken, self._ahead)
        moved = _TIMES_MOVED * (self._lying.left - self._left_before)
        self._worth.handed_out(self._source.size, moved, self._lying.pace)
        return layer

    # First half

    def _expand_some(self, begin: int) -> Iterator[int]:
        """Have chunks expanded from key number `begin` on, until Redis is full enough or a checkpoint is due."""
        if not begin and len(self._expanded):
            begin = self._expanded.configurations
            self._pace.expand(0, begin)
            yield begin

        def cuts() -> Iterator[Cut]:
            sent = self._expanded.configurations
            for cut in self._shelves.of(self._source).cuts(begin, self._chunk_size(self._source.size)):
                yield cut
                sent += cut.size
                coming = (sent - self._expanded.configurations + cut.size) * self._expanded.bytes_each
                if self._checkpoint_is_due or self._lying.filled + coming > self._asking.share:
                    return

        if begin < self._source.size:
            yield from self._spread_all(cuts())

    def _add_flows(self) -> None:
        """Count the moves of what is expanded, which is complete now."""
        self._flow = total_flow([self._flow, *self._expanded.flows.values()])

    def _chunk_size(self, configurations: int) -> int:
        """How many configurations one worker expands at a time, of some."""
        if self._shares.chunk is not None:
            return self._shares.chunk
        room = self._asking.share / (2 * self._workers * self._expanded.bytes_each)
        most = min(room, _MOST_CHUNK, _MOST_SECONDS / self._sampled.seconds_each)
        if not fits_bitmap(self._sampled.successors, int(most * self._sampled.branching)):
            most = min(most, self._range_keys / max(1.0, self._sampled.branching))
        # As few rounds of all workers as possible, each with something to do for all of them.
        rounds = math.ceil(configurations / (max(1.0, most) * self._workers))
        return max(math.ceil(configurations / (rounds * self._workers)), min(int(most), _LEAST_CHUNK), 1)

    def _spread_all(self, cuts: Iterator[Cut]) -> Iterator[int]:
        """Have chunks expanded, again where an answer says that something was lost; the size of each."""
        while True:
            lost = []
            requests = (self._spread_request(cut) for cut in cuts)
            for cut, left in self._asking.ask("spread", requests):
                if left is None:
                    lost.append(cut)
                    continue
                self._expanded.add(cut, left.pieces, int(left.numbers[-1]))
                yield cut.size
            if not lost:
                return
            cuts = iter(lost)

    def _spread_request(self, cut: Cut) -> Request[Cut]:
        shelf = self._shelves.of(self._source)
        nothing = Lot.empty(self._layout)
        nearby = [nothing]
        if self._puzzle.undirected:
            nearby += [self._shelves.of(layer).between(*shelf.bounds(cut)) for layer in self._known[1:]]
        header = np.array([cut.skipped, cut.size, self._depth], dtype=np.int64)
        current, known = shelf.lot(cut.first, cut.end), join_lots(nearby)
        return Request(cut, [header, self._partition.numbers, *current, *known, *nothing], join_lots([current, known]))

    def _spill_all(self) -> None:
        """Merge the pieces of each range, and put them away on disk."""
        waiting = {number: Unit(number, *self._bounds[number]) for number in sorted(self._expanded.ranges)}
        while waiting:
            for unit, left in self._asking.ask("gather", self._gather_requests([*waiting.values()], final=False)):
                if left is not None and (coded := self._asking.fetch(left.blocks)) is not None:
                    self._spill.append(unit.number, coded)
                    self._asking.drop([left.blocks])
                    del waiting[unit.number]
                self._session.control.check()
            if waiting:
                self._recover(waiting)
        self._add_flows()
        self._expanded.clear()

    # Second half

    def _merge_all(self) -> None:
        """Have the ranges merged that are left, and take them in in increasing order."""
        units = {number: self._units(number) for number in range(self._partial.merged, self._partition.ranges)}
        self._begin_ahead()
        while self._partial.merged < self._partition.ranges:
            waiting = [unit for unit in chain.from_iterable(units.values()) if unit not in self._gathered]
            for unit, left in self._asking.ask("gather", self._gather_requests(waiting, final=True)):
                self._coming.pop(unit, None)
                if left is None:
                    # There may have been too little room for both.
                    self._goes_on = False
                else:
                    self._gathered[unit] = left
                self._take_ranges(units)
                self._session.control.check()
            self._take_ranges(units)
            if units:
                self._recover(units)
        self._add_flows()

    def _units(self, number: int) -> list[Unit]:
        """A range in as many units as fit a worker: the sample may have misled, or older keys crowd there."""
        low, high = self._bounds[number]
        lot = self._expanded.within(number)
        keys = int(lot.counts.sum()) + self._spill.keys_in(number)
        pieces = pieces_of(keys, self._known, low, high, self._range_keys)
        cuts: list[Key] = []
        if pieces > 1:
            firsts = sorted([*ints(lot.firsts), *(block.first for block in self._spill.read(number))])
            cuts = sorted({cut for cut in firsts[:: max(1, len(firsts) // pieces)] if low < cut < high})
        units = [Unit(number, begin, end) for begin, end in pairwise([low, *cuts, high])]
        if not keys:
            nothing = Pieces(Lot.empty(self._layout), np.empty(0, dtype=np.int64))
            left = Left(np.zeros(6, dtype=np.uint64), self._layout.empty(0), nothing.lot, nothing)
            self._gathered.update((unit, left) for unit in units)
        return units

    def _gather_requests(self, units: Iterable[Unit], final: bool) -> Iterator[Request[Unit]]:
        """Of those units whose pieces are not known to be lost."""
        nothing = Lot.empty(self._layout)
        for unit in units:
            lot = self._expanded.within(unit.number)
            if self._lying.lacks(lot):
                continue
            spilled = self._spilled(unit) if final else []
            nearby = [self._shelves.of(layer).between(unit.low, unit.high) for layer in self._known if final]
            whole = not len(lot.counts) or (unit.low, unit.high) == self._bounds[unit.number]
            pieces = join_lots([lot if whole else overlapping(lot, unit), *spilled])
            further = self._further(unit, int(pieces.counts.sum())) if final else _NOWHERE
            # What is made of U(N+1) may lie in U(N) again, if moves can be taken back.
            back = int(final and self._puzzle.undirected)
            near, far = join_lots([nothing, *nearby[:back]]), join_lots([nothing, *nearby[back:]])
            header = np.array([self._depth, final], dtype=np.int64)
            bounds = self._layout.pack([unit.low, unit.high - 1])
            arrays = [header, bounds, further, *pieces, *near, *far]
            # Who has made most of it may have it yet.
            maker = self._lying.maker(join_lots([pieces, near, far]))
            yield Request(unit, arrays, join_lots([near, far, *spilled]), maker)

    def _take_ranges(self, units: dict[int, list[Unit]]) -> None:
        """Stage the next ranges as far as all their units are merged and lie there; a range is taken whole."""
        while units and all(unit in self._gathered for unit in units[self._partial.merged]):
            number = self._partial.merged
            found = []
            for unit in units[number]:
                coded = self._asking.fetch(self._gathered[unit].blocks)
                if coded is None:
                    del self._gathered[unit]
                    return
                found.append((self._gathered[unit], coded))
            for left, coded in found:
                self._take_in_coded(left, coded)
            del units[number]
            self._finish_range(number)

    def _take_in_coded(self, left: Left, coded: Coded) -> None:
        begin, first = self._partial.size, sum(len(lot.counts) for lot in self._taken)
        *summary, expanded, flow = left.numbers
        self._take_in(np.array(summary), coded)
        if not len(coded.firsts):
            return
        self._taken.append(left.blocks)
        self._ahead.samples.append((int(summary[0]), left.sample))
        if self._asking.is_full:
            self._asking.drop([left.blocks])
        if expanded:
            cut = Cut(begin, self._partial.size - begin, 0, first, first + len(coded.firsts))
            self._ahead.add(cut, left.pieces, int(flow))

    # The layer after this one

    def _begin_ahead(self) -> None:
        """Cut the layer after this one, if whoever merges this one is to expand it, too."""
        size, following = self._expected_sizes()
        # Of a directed puzzle a sample may lead nowhere.
        ends = not len(self._sampled.successors) or self._store.manifest.plan
        farms = size and self._context.budget.distributes(size) and not ends
        self._goes_on = bool(farms) and not self._partial.merged and not self._spill.stored_bytes
        if self._goes_on:
            looks = min(_LOOKS, _LOOK_SECONDS / self._sampled.seconds_each)
            # The pieces say how the new layer lies: the largest range has 1.18 times the mean of 8 then, and not 1.33.
            weights = self._expanded.counts(self._partition.ranges)
            nearby = weighed(self._sampled.successors, self._partition.table, weights, math.ceil(looks))
            successors = sort_keys(self._puzzle.expand(nearby).successors.copy())
            sample = successors if len(successors) else self._sampled.successors
            self._ahead.partition = partition_by(sample, -(-following // self._chunk_size(following)))
            self._merging_since = time.monotonic()

    def _expected_sizes(self) -> tuple[int, int]:
        """About how many configurations this layer has, and the one after it, if growth goes on changing as it did."""
        before, last, size = (self._store.layer_record(max(0, self._depth - back)).size for back in (3, 2, 1))
        growth, change = size / last, size / last / (last / before)
        expected = min(self._expanded.keys, math.ceil(size * growth * change))
        return expected, math.ceil(expected * min(growth * change**2, self._sampled.branching))

    def _further(self, unit: Unit, keys: int) -> Array:
        """The ranges of the layer after this one, if a unit of so many successors is to be expanded at once."""
        self._coming[unit] = keys * self._expanded.bytes_each
        room = self._asking.share // 2 - self._lying.filled - sum(self._coming.values())
        late = time.monotonic() - self._merging_since > self._context.tuning.checkpoint
        self._goes_on = self._goes_on and room > 0 and not late
        return self._ahead.partition.numbers if self._goes_on and self._ahead.partition else _NOWHERE

    # What lies in Redis

    def _recover(self, ranges: Collection[int]) -> None:
        """Have the chunks expanded again of which a piece of one of these ranges is lost."""
        self._lying.look()
        lost = self._expanded.take_lost(ranges)
        if lost:
            self._session.observer.note(f"chunks whose pieces were lost are expanded again: {len(lost)}")
        for _ in self._spread_all(iter(lost)):
            self._session.control.check()

    def _spilled(self, unit: Unit) -> list[Lot]:
        """The spilled blocks that hold keys of a unit, in Redis for this once."""
        blocks = (each for each in self._spill.read(unit.number) if reaches(each, unit.low, unit.high, self._layout))
        lots = []
        while some := list(islice(blocks, _FRAMES)):
            lots.append(self._lying.put(self._depth, join_blocks(some, self._layout)))
        return lots
