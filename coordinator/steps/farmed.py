"""A layer step by workers, who hand each other what they make; this process keeps the books and sees no configuration.

    blocks of U(N) -> spread, by a worker -> a piece for each key range -> gather, by another -> blocks of U(N+1)

All of it lies in Redis under the names of `worker.transport.pieces`. An answer counts when it is taken in here, so that
late and doubled ones never mix. What is lost is made again: a piece by the chunk that it came from, blocks of a
layer from the store. Where pieces take too much of Redis, and at checkpoints, each range is merged into one batch of
blocks, which goes to its spill file as it is.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from coordinator.executors.lying import Answer
from coordinator.executors.remote import RemoteExecutor
from coordinator.session.session import Session
from coordinator.steps.pace import Pace, Worth
from coordinator.steps.shelf import Cut, Shelves
from coordinator.steps.step import LayerStep
from coordinator.steps.window import Layer
from puzzles.keys.layout import Key, ints
from storage.layers.coded import Block, Coded, code_packed, is_sound, join_coded
from storage.ledger.manifest import Depth
from worker.errors import TaskError
from worker.tasks import Arrays
from worker.transport.pieces import LENGTH, Lot, PieceName, join_lots

#: Configurations of a chunk. A job of RQ's costs all processes together some 10 ms.
_LEAST_CHUNK, _MOST_CHUNK = 1 << 15, 1 << 22
_MOST_SECONDS = 2.0
#: What is left is fetched by others, blocks of layers several times (measured: docs/measurements.md).
_TIMES_MOVED = 4
#: Bytes in Redis for each successor of a range, while it is merged, about; ranges are not cut smaller than the least.
_RANGE_BYTES, _LEAST_RANGE = 4, 1 << 16
#: Frames of a spill file put into one piece.
_FRAMES = 64

_What = TypeVar("_What")


class _Unit(NamedTuple):
    """The keys from `low` to `high`, which is not among them, of a range: what one task merges."""

    number: int
    low: Key
    high: Key


@dataclass(frozen=True)
class _Request(Generic[_What]):
    """What is asked for, the arrays that say so, and those of its blocks that are on disk, too."""

    what: _What
    arrays: Arrays
    borrowed: Lot


class FarmedStep(LayerStep):
    """The making of a layer by the workers of `executor`; `shelves` say where layers lie, from step to step."""

    _current: Layer

    def __init__(
        self, session: Session, depth: Depth, current: Layer, known: list[Layer], pace: Pace,
        executor: RemoteExecutor, shelves: Shelves, worth: Worth,
    ) -> None:  # fmt: skip
        super().__init__(session, depth, current, known, pace)
        self._executor, self._lying, self._shelves, self._worth = executor, executor.lying, shelves, worth
        self._left_before = executor.lying.left
        self._workers = self._least_ranges = executor.workers
        # What a worker sorts, and what lies in Redis of the ranges under way: pieces, known blocks and new ones.
        self._share = self._lying.share()
        fitting = max(_LEAST_RANGE, self._share // (_RANGE_BYTES * self._workers))
        self._range_keys = max(1, min(fitting, self._context.tuning.task_bytes // self._layout.bytes))
        #: By chunk of U(N) that is expanded and not spilled, and by range, the pieces.
        self._spread: dict[Cut, dict[int, Lot]] = {}
        #: The most that the pieces of a configuration take.
        self._bytes_each = 1.0
        #: By unit, what is merged and not yet taken in; and the blocks taken in.
        self._gathered: dict[_Unit, Answer] = {}
        self._taken: list[Lot] = []
        self._losses = 0

    def _begin(self) -> None:
        self._bounds = [self._partition.bounds(number, self._layout) for number in range(self._partition.ranges)]
        self._lying.retain(chain.from_iterable(self._shelves.of(layer).names() for layer in self._known))

    def _made(self) -> Layer:
        self._pieces = None
        layer = super()._made()
        if layer.size and layer.size == sum(int(lot.counts.sum()) for lot in self._taken):
            self._shelves.remember(layer, self._taken)
        moved = _TIMES_MOVED * (self._lying.left - self._left_before)
        self._worth.handed_out(self._current.size, moved, self._lying.pace)
        return layer

    # First half

    def _expand_some(self, begin: int) -> Iterator[int]:
        """Have chunks expanded from key number `begin` on, until Redis is full enough or a checkpoint is due."""

        def cuts() -> Iterator[Cut]:
            before, sent = len(self._spread), list[Cut]()
            for cut in self._shelves.of(self._current).cuts(begin, self._chunk_size()):
                yield cut
                sent.append(cut)
                under_way = sum(cut.size for cut in sent[len(self._spread) - before :]) + cut.size
                if self._checkpoint_is_due or self._lying.filled + under_way * self._bytes_each > self._share:
                    return

        yield from self._spread_all(cuts())

    def _chunk_size(self) -> int:
        if self._shares.chunk is not None:
            return self._shares.chunk
        room = self._share / (2 * self._workers * self._bytes_each)
        most = min(room, _MOST_CHUNK, self._range_keys / max(1.0, self._branching), _MOST_SECONDS / self._seconds_each)
        # As few rounds of all workers as possible, each with something to do for all of them.
        rounds = math.ceil(self._current.size / (max(1.0, most) * self._workers))
        return max(math.ceil(self._current.size / (rounds * self._workers)), min(int(most), _LEAST_CHUNK), 1)

    def _spread_all(self, cuts: Iterator[Cut]) -> Iterator[int]:
        """Have chunks expanded, again where an answer says that something was lost; the size of each."""
        while True:
            lost = []
            requests = (self._spread_request(cut) for cut in cuts)
            for cut, answer in self._asked("spread", requests, [self._partition.table]):
                if answer.lost:
                    lost.append(cut)
                    continue
                self._spread[cut] = dict(answer.lots)
                self._bytes_each = max(self._bytes_each, _bytes(answer.lots.values()) / cut.size)
                yield cut.size
            if not lost:
                return
            cuts = iter(lost)

    def _spread_request(self, cut: Cut) -> _Request[Cut]:
        shelf = self._shelves.of(self._current)
        nearby = [Lot.empty(self._layout)]
        if self._puzzle.undirected:
            nearby += [self._shelves.of(layer).between(*shelf.bounds(cut)) for layer in self._known[1:]]
        header = np.array([cut.skipped, cut.size, self._depth], dtype=np.int64)
        current, known = shelf.lot(cut.first, cut.end), join_lots(nearby)
        return _Request(cut, [header, *current, *known], join_lots([current, known]))

    def _spill_all(self) -> None:
        """Merge the pieces of each range, and put them away on disk."""
        left = {number for lots in self._spread.values() for number in lots}
        while left:
            units = [_Unit(number, *self._bounds[number]) for number in sorted(left)]
            for unit, answer in self._asked("gather", self._gather_requests(units, final=False)):
                if (coded := self._fetched(answer)) is not None:
                    self._spill.append(unit.number, coded)
                    self._lying.drop(self._names(answer.lots.values()))
                    self._drop_pieces(unit.number)
                    left.discard(unit.number)
                self._session.control.check()
            if left:
                self._recover(left)
        self._spread.clear()

    # Second half

    def _merge_all(self) -> None:
        """Have the ranges merged that are left, and take them in in increasing order."""
        units = {number: self._units(number) for number in range(self._partial.merged, self._partition.ranges)}
        while self._partial.merged < self._partition.ranges:
            waiting = [unit for unit in chain.from_iterable(units.values()) if unit not in self._gathered]
            for unit, answer in self._asked("gather", self._gather_requests(waiting, final=True)):
                if not answer.lost:
                    self._gathered[unit] = answer
                self._take_ranges(units)
                self._session.control.check()
            self._take_ranges(units)
            if units:
                self._recover(set(units))

    def _units(self, number: int) -> list[_Unit]:
        """A range in as many units as fit a worker: the sample may have misled, or older keys crowd there."""
        low, high = self._bounds[number]
        lots = self._pieces_in(number)
        keys = sum(int(lot.counts.sum()) for lot in lots) + self._spill.keys_in(number)
        pieces = self._pieces_of(keys, low, high)
        firsts = sorted(first for lot in lots for first in ints(lot.firsts))
        firsts += [first for packed in self._spill.read(number) for first in ints(packed.firsts)] if pieces > 1 else []
        step = max(1, len(firsts) // pieces)
        cuts = sorted({cut for cut in sorted(firsts)[step::step] if low < cut < high}) if pieces > 1 else []
        units = [_Unit(number, begin, end) for begin, end in pairwise([low, *cuts, high])]
        if not keys:
            self._gathered.update((unit, Answer(0, np.zeros(4, dtype=np.uint64), {})) for unit in units)
        return units

    def _gather_requests(self, units: Iterable[_Unit], final: bool) -> Iterator[_Request[_Unit]]:
        """Of those units whose pieces are not known to be lost."""
        for unit in units:
            lots = [Lot.empty(self._layout), *self._pieces_in(unit.number)]
            if all(self._lying.has(lot.places).all() for lot in lots):
                nearby, spilled = [Lot.empty(self._layout)], list[Lot]()
                if final:
                    spilled = self._spilled(unit.number)
                    nearby += [self._shelves.of(layer).between(unit.low, unit.high) for layer in self._known]
                header = np.array([self._depth, final], dtype=np.int64)
                bounds = self._layout.pack([unit.low, unit.high - 1])
                pieces = join_lots([_overlapping(lot, unit) for lot in (*lots, *spilled)])
                arrays = [header, bounds, *pieces, *join_lots(nearby)]
                yield _Request(unit, arrays, join_lots([*nearby, *spilled]))

    def _take_ranges(self, units: dict[int, list[_Unit]]) -> None:
        """Stage the next ranges as far as all their units are merged and lie there; a range is taken whole."""
        while units:
            number = self._partial.merged
            found = []
            for unit in units[number]:
                answer = self._gathered.get(unit)
                coded = self._fetched(answer) if answer else None
                if answer is None or coded is None:
                    self._gathered.pop(unit, None)
                    return
                found.append((answer, coded))
            for answer, coded in found:
                self._add(answer.numbers, self._store.stage_coded(self._depth, coded, self._partial.index))
                self._taken += answer.lots.values()
                if self._is_full:
                    self._drop(answer.lots.values())
            self._drop_pieces(number)
            del units[number]
            self._finish_range(number)

    # What lies in Redis

    def _asked(
        self, task: str, requests: Iterator[_Request[_What]], shared: Arrays = ()
    ) -> Iterator[tuple[_What, Answer]]:
        """What is asked for, and the answer."""
        asked: dict[int, _Request[_What]] = {}
        lost = False

        def arrays() -> Iterator[Arrays]:
            for number, request in enumerate(requests):
                asked[number] = request
                yield request.arrays

        for answer in self._executor.shuffle(task, self._depth, arrays(), shared):
            if answer.lost and not lost:
                # Once for all that was under way: one flush is one loss.
                self._note_loss()
            lost |= answer.lost
            request = asked.pop(answer.number)
            if self._is_full:
                used = set(self._names(other.borrowed for other in asked.values()))
                self._lying.drop(name for name in self._names([request.borrowed]) if name not in used)
            yield request.what, answer

    @property
    def _is_full(self) -> bool:
        """Whether blocks that are also on disk had better make room for pieces."""
        return self._lying.filled > self._share // 2

    def _fetched(self, answer: Answer) -> Coded | None:
        """The blocks that an answer tells of, if they lie there and are sound."""
        if answer.lost:
            return None
        if not answer.lots:
            return join_coded([], self._layout)
        (lot,) = answer.lots.values()
        (name,) = self._lying.names(lot)
        data = self._lying.get(name) or b""
        lengths = lot.places[:, LENGTH]
        coded = Coded(lot.firsts, lot.counts, lengths, memoryview(data))
        blocks = zip(ints(lot.firsts), lot.counts.tolist(), coded.values(), strict=True)
        if len(data) == lengths.sum() and all(is_sound(Block(self._depth, *block), self._layout) for block in blocks):
            self._losses = 0
            return coded
        self._lying.drop([name])
        self._note_loss()
        return None

    def _note_loss(self) -> None:
        self._losses += 1
        most = self._context.tuning.most_losses
        if self._losses >= most:
            raise TaskError(
                f"layer {self._depth}: workers did not find in Redis what others had left there, {most} times in turn; "
                "give Redis more memory, and no policy that evicts keys"
            )
        self._lying.look()

    def _recover(self, ranges: set[int]) -> None:
        """Have the chunks expanded again of which a piece of one of these ranges is lost."""
        self._lying.look()
        lost = [
            cut for cut, lots in self._spread.items()
            if any(number in ranges and not self._lying.has(lot.places).all() for number, lot in lots.items())
        ]  # fmt: skip
        for cut in lost:
            self._drop(self._spread.pop(cut).values())
        if lost:
            self._session.observer.note(f"chunks whose pieces were lost are expanded again: {len(lost)}")
        for _ in self._spread_all(iter(lost)):
            self._session.control.check()

    def _pieces_in(self, number: int) -> list[Lot]:
        return [lots[number] for lots in self._spread.values() if number in lots]

    def _spilled(self, number: int) -> list[Lot]:
        """The spilled blocks of a range, in Redis for this once."""
        frames, lots = self._spill.read(number), []
        while some := list(islice(frames, _FRAMES)):
            coded = join_coded([code_packed(self._depth, packed, self._layout) for packed in some], self._layout)
            lots.append(self._lying.put(self._depth, coded))
        return lots

    def _drop_pieces(self, number: int) -> None:
        self._drop([lots.pop(number) for lots in self._spread.values() if number in lots])

    def _drop(self, lots: Iterable[Lot]) -> None:
        self._lying.drop(self._names(lots))

    def _names(self, lots: Iterable[Lot]) -> Iterator[PieceName]:
        return chain.from_iterable(self._lying.names(lot) for lot in lots)


def _bytes(lots: Iterable[Lot]) -> int:
    return sum(int(lot.places[:, LENGTH].sum()) for lot in lots)


def _overlapping(lot: Lot, unit: _Unit) -> Lot:
    """The blocks that may hold keys of a unit: a block ends before the next one begins, if that is a greater one."""
    firsts = ints(lot.firsts)
    nexts = [*firsts[1:], 0][: len(firsts)]
    kept = [first < unit.high and not first < after <= unit.low for first, after in zip(firsts, nexts, strict=True)]
    return lot.take(np.array(kept, dtype=np.bool_))
