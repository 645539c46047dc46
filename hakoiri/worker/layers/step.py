"""Expansion and merge of a layer's key ranges by threads, and the record from which another session continues."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, pairwise, zip_longest
from threading import Lock
from typing import NamedTuple, Self, cast

from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import slice_between, sort_keys
from hakoiri.puzzles.contract import BitKernel, Puzzle, spread_of
from hakoiri.storage.layers.blocks import NOTHING, Coded, add_lanes, digest_text
from hakoiri.storage.layers.spill import NO_FILES, SpillFiles
from hakoiri.storage.layers.store import Layer, Source
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.layers.ranges import MergedRange, MergeInput, RangeExpansion, RangeInput, RangeSource, merge_range
from hakoiri.worker.pool import Threads
from hakoiri.worker.transport.payload import Array


@dataclass(frozen=True, kw_only=True)
class Totals:
    """The size, goals, digest lanes and stored bytes of the finished part of a layer, and the index of its blocks.

    `represented` counts the configurations that its keys stand for (`Puzzle.tally`).
    """

    size: int = 0
    goals: int = 0
    represented: int = 0
    lane_0: int = NOTHING[0]
    lane_1: int = NOTHING[1]
    stored: int = 0
    index: int = 0

    def plus(self, summary: Iterable[int], stored: int, index: int) -> Self:
        """Return this with a piece added: its size, tally and digest lanes, its bytes, and the new index."""
        size, goals, represented, *lanes = map(int, summary)
        lane_0, lane_1 = add_lanes((self.lane_0, self.lane_1), (lanes[0], lanes[1]))
        return replace(
            self, size=self.size + size, goals=self.goals + goals, represented=self.represented + represented,
            lane_0=lane_0, lane_1=lane_1, stored=self.stored + stored, index=index,
        )  # fmt: skip

    def record(self, depth: Depth, session: int, flow: int | None = None) -> LayerRecord:
        """Return the record of layer `depth` with these totals."""
        digest = digest_text((self.lane_0, self.lane_1))
        figures = self.goals, self.stored, self.index, session, flow
        return LayerRecord(depth, self.size, digest, *figures, represented=self.represented)


@dataclass(frozen=True)
class Partial(Totals):
    """The finished part of a layer that is cut into ranges by `partition` (`Partition.packed`).

    `expanded` counts the keys of U(N), in order, whose successors are durable in the spill files. `at` is the next key
    to expand, as hexadecimal text, if known. `merged` counts the merged ranges of U(N+1).

    `part` is not 0 if an earlier version has compared keys with so many others at a time; such a layer begins anew.
    `net_flow` is the flow of the moves of all expanded keys, if it is summed.
    """

    depth: Depth
    partition: bytes
    expanded: int = 0
    at: str = ""
    merged: int = 0
    spilled: SpillFiles = NO_FILES
    part: int = 0
    net_flow: int | None = None


#: The memory of a successor, which is also sorted, coded and kept, in units of the memory of a known key.
KNOWN_WEIGHT = 5


#: The most words of a bitmap for each successor where a kernel sets them without their keys: with 2, pancakes of 11
#: take 1.3 times the processor time.
MARKED_WORDS = 20.0


class SourceSample(NamedTuple):
    """Some keys of a source, their successors, sorted, and the seconds per key."""

    keys: Keys
    successors: Keys
    seconds_each: float

    @property
    def branching(self) -> float:
        """The mean number of successors of a key, duplicates counted."""
        return len(self.successors) / len(self.keys)


class RangeStep:
    """The step from `source` to the layer whose ranges are in `exchange`; `known` holds older keys, `source` first.

    A range with dense keys is expanded in pieces of `range_size` keys of the source, and one with a bitmap only if
    `in_turn`; then ranges take turns, piece by piece. Attribute `at`: the keys of a range below this one are expanded.
    """

    def __init__(
        self, puzzle: Puzzle, exchange: Exchange, source: Source, known: list[Layer], sample: SourceSample,
        range_size: int, shares: Shares, threads: Threads, in_turn: bool = False,
    ) -> None:  # fmt: skip
        self._puzzle, self._exchange, self._source, self._known = puzzle, exchange, source, known
        self._sample, self._range_size = sample, range_size
        self._shares, self._threads, self._in_turn = shares, threads, in_turn
        self._stay, self._spread = True, cast(BitKernel | None, None)
        self.at: dict[int, Key] = {}
        self._locks: dict[int, Lock] = {}

    def begin_at(self, key: Key) -> None:
        """Mark the keys below `key` as expanded."""
        self.at = {number: min(key, high) for number, (low, high) in enumerate(self._exchange.bounds) if low < key}

    @property
    def end(self) -> Key:
        """All keys below this one are expanded, unless ranges take turns."""
        return max(self.at.values(), default=0)

    @property
    def own(self) -> list[int]:
        """The numbers of the ranges that are not at other hosts."""
        return [number for number in range(len(self._exchange.bounds)) if number not in self._exchange.away]

    @property
    def is_finished(self) -> bool:
        """Return whether all keys in own ranges are expanded."""
        bounds = ((number, *self._exchange.bounds[number]) for number in self.own)
        return not self._source.size or all(self.at.get(number, low) >= high for number, low, high in bounds)

    def plan_bitmaps(self, marks: bool = False) -> None:
        """Use bitmaps where successors are dense. Bitmaps that do not all fit in memory are coded one by one.

        Expand by the puzzle's kernel for bitmaps, if it has one; with `marks`, even by one that sums no flow.
        """
        expected = int(self._sample.branching * self._source.size)
        room, threads, spare = self._shares.bucket_bytes, self._threads.workers, self._threads.spare
        spread, words, numbers = spread_of(self._puzzle), MARKED_WORDS * expected, self._puzzle.numbers or 0
        is_apt = spread and (marks or spread.flows)
        if is_apt and self._exchange.plan_marks(numbers, words, room, threads, spare):
            self._spread = spread
        else:
            sample, most = self._sample.successors, self._shares.whole_words
            self._stay = self._exchange.plan_bitmaps(sample, expected, room, threads, most, spare)
        spare.clear()

    def expand(
        self, is_due: Callable[[], bool], sums_flow: bool, meanwhile: Callable[[], None] = lambda: None
    ) -> Iterator[tuple[int, int | None]]:
        """Expand from `at` on by threads, until the end or until `is_due`; yield keys and flow of each range.

        Pieces in progress are finished first. For `meanwhile` see `Threads.each`.
        """
        for _, made in self._threads.each("expand", self.expansion(sums_flow), self._frontiers(is_due), meanwhile):
            self.take(made.keys, made.ends)
            yield made.size, made.flow

    def expansion(self, sums_flow: bool) -> RangeExpansion:
        """Return the expansion of ranges, or of pieces of them, by threads."""
        exchange, most_bytes = self._exchange, self._shares.bucket_bytes // (4 * self._threads.workers)
        table = exchange.partition.table
        return RangeExpansion(
            self._puzzle, exchange.depth, table, exchange.put, exchange.whole, most_bytes, sums_flow, self._spread
        )

    def put(self, number: int, coded: Coded) -> None:
        """Add blocks that a worker has found for a range. Thread-safe."""
        self._exchange.by_others = True
        self._exchange.put(number, coded)

    def _frontiers(self, is_due: Callable[[], bool]) -> Iterator[RangeSource]:
        """Yield the next ranges to be expanded, until a checkpoint is due."""
        for number, low, high in self.pieces(is_due):
            # Moves lead back into the range: known keys are removed before it is written.
            known = self._known[1:] if self._puzzle.undirected and not self._stay else []
            bitmap = self._exchange.bitmaps[number]
            alone = nullcontext() if bitmap is None else self._locks.setdefault(number, Lock())
            batches = self._source.between(low, high)
            yield RangeSource(number, batches, bitmap, self._stay, between(known, low, high), alone)

    def pieces(self, is_due: Callable[[], bool], size: int | None = None) -> Iterator[tuple[int, Key, Key]]:
        """Yield the remaining pieces of ranges, until `is_due`; if `size` is given, of so many keys in any range."""
        each, sample = self._source.size / len(self._sample.keys), sort_keys(self._sample.keys.copy())
        step = max(1, int((size or self._range_size) / each))
        left = [self._left_of(number, sample, step, size) for number in self.own]
        # Otherwise threads would wait for each other's bitmap.
        in_turn = self._in_turn and any(self._exchange.bitmaps)
        for piece in filter(None, chain.from_iterable(zip_longest(*left) if in_turn else left)):
            self.at[piece[0]] = piece[2]
            yield piece
            if is_due():
                return

    def _left_of(self, number: int, sample: Keys, step: int, size: int | None) -> Iterator[tuple[int, Key, Key]]:
        """Yield the remaining pieces of a range, `step` keys of a `sample` of the source in each.

        If a `size` is given, pieces are about even, else a range with a bitmap is one piece, unless all are in turn.
        """
        low, high = self._exchange.bounds[number]
        begin, mine = self.at.get(number, low), slice_between(sample, low, high)
        if size is not None:
            # A small rest takes nearly as long to send as a large piece.
            step = max(1, -(-len(mine) // max(1, round(len(mine) / step))))
        one = size is None and not self._in_turn and self._exchange.has_bitmap(number)
        cuts = [] if one else [cut for cut in ints(mine[step::step]) if begin < cut < high]
        if begin < high:
            yield from ((number, first, end) for first, end in pairwise([begin, *cuts, high]))

    def take(self, keys: Keys, ends: Array, threads: Threads | None = None) -> None:
        """Add keys, grouped by range, to those in memory; code these, by `threads`, if they become too many."""
        self._exchange.add(keys, ends)
        if self._exchange.held_bytes > self._shares.bucket_bytes // 2:
            # IMPORTANT: bitmaps stay, because threads are still using them.
            self._exchange.code_held(threads or self._threads, bits=False)

    def spill(self) -> None:
        """Spill all keys found, except those for other hosts."""
        self._exchange.code_held(self._threads, bits=True)
        self._exchange.spill()

    def send_away(self) -> None:
        """Send the keys found for ranges of other hosts."""
        self._exchange.code_held(self._threads, bits=True, away=True)

    def merge(self, first: int, keeps: Callable[[], bool], within: Source | None = None) -> Iterator[list[MergedRange]]:
        """Yield the merged pieces of each range from number `first` on, in order, with their keys while `keeps`.

        If `within` is given, intersect with it.
        """
        waiting: dict[int, MergedRange] = {}
        pieces: list[MergedRange] = []
        ends: list[bool] = []
        following = 0
        merge = partial(merge_range, self._puzzle, self._exchange.depth)
        for number, result in self._threads.each("merge", merge, self._works(first, ends, keeps, within)):
            waiting[number] = result
            while following in waiting:
                pieces.append(waiting.pop(following))
                # IMPORTANT: a range is yielded whole or not at all, because its pieces may be cut differently next
                # time.
                if ends[following]:
                    yield pieces
                    pieces = []
                following += 1
        if not first:
            # IMPORTANT: the bits of ranges that an earlier session has merged are still set.
            self._threads.spare.extend(self._exchange.emptied())

    def _works(
        self, first: int, ends: list[bool], keeps: Callable[[], bool], within: Source | None
    ) -> Iterator[MergeInput]:
        """Yield the work for each piece of a range; append to `ends` whether it is the last piece of its range."""
        exchange = self._exchange

        def work(found: RangeInput, low: Key, high: Key, keep: bool) -> MergeInput:
            among, run = within.between(low, high) if within else None, exchange.run if exchange.by_others else ""
            return MergeInput(found, between(self._known, low, high), keep, among, run)

        for number in self.own:
            if number < first:
                continue
            low, high = exchange.bounds[number]
            # Keys in a bitmap are listed some at a time, however many there are.
            keys = exchange.keys_in(number)
            pieces = (
                1 if exchange.has_bitmap(number) else pieces_of(keys, self._known, low, high, self._shares.range_keys)
            )
            if pieces == 1:
                ends.append(True)
                yield work(exchange.take(number), low, high, keeps())
                continue
            # Too large: the sample misled, or older keys are dense here. Merge in smaller pieces.
            for begin, end in pairwise([low, *exchange.cut_again(number, pieces), high]):
                ends.append(end == high)
                yield work(exchange.between(number, begin, end), begin, end, keep=False)
            exchange.take(number)


def between(layers: list[Layer], low: Key, high: Key) -> Iterable[Keys]:
    """Return the keys of some layers with low <= key < high, increasing within each batch."""
    return chain.from_iterable([layer.between(low, high) for layer in layers])


def pieces_of(keys: int, known: list[Layer], low: Key, high: Key, range_keys: int) -> int:
    """Return the number of pieces in which to merge a range of `keys` successors, each of at most 1.5 `range_keys`."""
    load = keys + sum(layer.at_most(low, high) for layer in known) // KNOWN_WEIGHT
    return 1 if load <= 3 * range_keys // 2 else -(-load // range_keys)
