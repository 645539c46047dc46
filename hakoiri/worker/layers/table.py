"""Layers made in memory, in bitmaps of all numbers: for runs that keep depths, and for runs that keep layers.

    frontier -> successors -> marks: a bitmap for each thread      (`Puzzle.spread`, else `expand`, key by key)
    marks without what is known -> new frontier                    in one pass
    new frontier -> goals, digest, blocks                          the keys are listed once

`DepthsTable` knows the depths of all numbers. With two threads it takes five bits a number. Nothing is coded: `stage`
stores what has changed, and the frontier. `LayersTable` knows the frontier and the layer before it, which is enough for
undirected puzzles, and takes four bits. Each layer is coded.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import U64, Keys
from hakoiri.puzzles.contract import Puzzle, goal_of, numbers_of, spread_of
from hakoiri.storage.layers.blocks import NOTHING, Coded, code_keys, lanes_of, sum_words
from hakoiri.storage.layers.codec import WORD_BITS, Words
from hakoiri.storage.layers.depths import BLOCK_KEYS, BLOCK_WORDS, DepthTable, code_of, enter_keys, require_below
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import Window, list_bits, set_within
from hakoiri.worker.layers.ranges import code_window, expanded
from hakoiri.worker.layers.step import Totals
from hakoiri.worker.pool import ThreadPool

#: Configurations expanded or listed at a time, approximately: they stay in the second-level cache.
_PIECE = 1 << 18
#: The least blocks that a thread takes at a time, which stay in the second-level cache until they are summed.
_LEAST_BLOCKS = 16
#: The least blocks without bits that a piece leaves out.
_GAP = 16
#: A frontier of at most one in so many numbers is expanded key by key, which tells the blocks that have marks: to look
#: for marks in all takes longer. So Hanoi of 15 discs takes 0.92 of the time, tiles and pancakes as much as before.
SPARSE = 1 << 12
#: Keys in a sample.
SAMPLED = 256
#: The words whose expansion is timed for a forecast, and at how many places. Each successor may take a page of memory:
#: for burnt pancakes of 11, 16 words take 217 MB in all, and 256 took 545.
_TIMED_WORDS, _TIMED_PLACES = 16, 8
#: What a number takes besides its expansion: it is listed, entered, digested and stored (`benchmarks.kernels`).
_REST_SECONDS = 1e-8
#: A piece of a frontier: its begin, its end, and its number of configurations, 0 if that is not known yet.
Piece = tuple[int, int, int]
_Lent = TypeVar("_Lent")


def table_bytes(numbers: int, threads: int) -> int:
    """Return the memory of a table, with the blocks that wait for a commit, and LMDB's copy of them."""
    return (3 + threads + 2 * 3) * (numbers + BLOCK_KEYS) // 8


class TableNumbers:
    """The numbers of a puzzle's configurations in tables: its keys, or those of its `Ranking`, to which `spread` is."""

    def __init__(self, puzzle: Puzzle) -> None:
        self._ranking, self._layout, self.count = puzzle.ranking, puzzle.layout, numbers_of(puzzle)
        self.spread = spread_of(puzzle) if self._ranking is None else self._ranking.spread

    def pace(self) -> float | None:
        """Return the processor seconds that a table takes for a number, about; ``None`` without a `spread` or memory.

        The kernel is timed on full words at some places, when the pages of the marks are there.
        """
        if self.spread is None:
            return None
        step = self.spread.block // WORD_BITS or 1
        steps = -(-self.count // (step * WORD_BITS))
        size = min(max(1, _TIMED_WORDS // step), steps) * step
        try:
            marks = np.zeros(steps * step, dtype=np.uint64)
        except MemoryError:
            return None
        words, spent = np.full(size, ~np.uint64(0), dtype=np.uint64), list[float]()
        for place in np.linspace(0, steps - size // step, _TIMED_PLACES).astype(int).tolist():
            for _ in range(2):
                began = time.thread_time()
                (self.spread.mark or self.spread.write)(words, place * step * WORD_BITS, marks)
            spent.append(time.thread_time() - began)
        return float(np.median(spent)) / (size * WORD_BITS) + _REST_SECONDS

    def listed(self, words: Words, first: int, size: int | None = None) -> Keys:
        """Return the keys of a bitmap whose first bit is the number `first`; so many if that is known."""
        if self._ranking is None:
            return list_bits(words, first, self._layout, size)
        return self._ranking.keys(list_bits(words, first, U64, size))

    def of(self, keys: Keys, depth: Depth) -> Keys:
        """Return the numbers of increasing keys of layer `depth`; `PuzzleError` if one has none."""
        numbers = keys if self._ranking is None else self._ranking.of(keys)
        # Keys without a number have the greatest, wherever they are.
        above = numbers[-1:] if self._ranking is None else numbers[numbers >= self.count][:1]
        require_below(above, depth, self.count)
        return numbers

    def set_in(self, words: Words, keys: Keys, depth: Depth) -> Keys:
        """Set the bits of keys of layer `depth`, in any order, in a bitmap of all numbers; return their numbers."""
        numbers = keys if self._ranking is None else self._ranking.of(keys)
        require_below(set_within(words, numbers, 0)[:1], depth, self.count)
        return numbers

    def require_none(self, words: Words, first: int, depth: Depth) -> None:
        """Raise `PuzzleError` if the bitmap from word `first` on has a number that the puzzle has not."""
        words = words[max(0, self.count // WORD_BITS - first) :]
        if words.any():
            numbers = list_bits(words, max(self.count // WORD_BITS, first) * WORD_BITS, U64)
            require_below(numbers, depth, self.count)

    def coded(self, depth: Depth, window: Window) -> Coded:
        """Code the keys of a window of numbers for layer `depth`."""
        if self._ranking is None:
            return code_window(depth, window, self._layout)
        return code_keys(depth, self.listed(window[1], window[0]))


class MarkedTable:
    """A table whose frontier is expanded in pieces of blocks, by threads which mark successors in bitmaps.

    The frontier before `at`, of `end`, is expanded.
    """

    at, end = 0, 0
    numbers: TableNumbers
    _puzzle: Puzzle
    _threads: ThreadPool
    #: Blocks that may have marks.
    _touched: NDArray[np.bool_]

    @property
    def is_expanded(self) -> bool:
        """Return whether the whole frontier is expanded."""
        return self.at >= self.end

    def expand(self, is_due: Callable[[], bool], meanwhile: Callable[[], None] = lambda: None) -> Iterator[int]:
        """Mark the successors of the frontier, by threads, to its end or until `is_due`; yield the size of each piece.

        Pieces in progress are finished first. If it is stopped, `at` is the begin of the first piece that is not. For
        `meanwhile` see `Threads.each`.
        """
        free, going = SimpleQueue[Words](), set[int]()
        is_sparse = self._size() * SPARSE <= self.numbers.count
        if not is_sparse:
            self._touched[:] = True
        for row in self._free_rows():
            free.put(row)

        def mark(piece: Piece) -> tuple[int, int]:
            return piece[0], self._mark(piece, partial(lent, free), is_sparse)

        def left() -> Iterator[Piece]:
            for piece in self._left():
                if piece[1] > self.at:
                    self.at = piece[1]
                    going.add(piece[0])
                    yield piece
                    if is_due():
                        return
            self.at = self.end

        try:
            for _, (begin, size) in self._threads.each("expand", mark, left(), meanwhile):
                going.remove(begin)
                yield size
        finally:
            self.at = min(going, default=self.at)

    def _size(self) -> int:
        """Return the size of the frontier."""
        raise NotImplementedError

    def _free_rows(self) -> Iterable[Words]:
        """Return the bitmaps for marks."""
        raise NotImplementedError

    def _left(self) -> Iterator[Piece]:
        """Yield the pieces of the frontier."""
        raise NotImplementedError

    def _mark(self, piece: Piece, marks: Callable[[], AbstractContextManager[Words]], is_sparse: bool) -> int:
        """Set the successors of a piece in a bitmap that `marks` lends; return the size of the piece."""
        raise NotImplementedError


@contextmanager
def lent(free: "SimpleQueue[_Lent]") -> Iterator[_Lent]:
    """Yield something from a queue, and put it back."""
    taken = free.get()
    try:
        yield taken
    finally:
        free.put(taken)


class LayerTable(MarkedTable):
    """A layer, the frontier, and what is known of older ones, in memory.

    `depth` is that of the frontier, ``None`` after an error in the midst of the end of a layer. `at` is the number of a
    word.
    """

    #: The bitmaps besides those for marks; whether new layers are coded.
    _rows, _codes = 1, False

    def __init__(self, puzzle: Puzzle, threads: ThreadPool, layers: Iterable[tuple[Depth, Iterable[Keys]]]) -> None:
        """Enter the last `layers`, with their keys in batches. The last one is the frontier."""
        self._puzzle, self._threads, self.numbers = puzzle, threads, TableNumbers(puzzle)
        spread, numbers = self.numbers.spread, self.numbers.count
        self._spread, self._step = (
            spread and (spread.mark or spread.write),
            (spread.block if spread else WORD_BITS) // WORD_BITS,
        )
        #: The goal, if it need not be found among keys.
        self._goal = goal_of(puzzle) if puzzle.ranking is None else None
        blocks = -(-numbers // BLOCK_KEYS)
        #: The words of all numbers, a whole number of the kernel's blocks.
        self.end = -(-numbers // (self._step * WORD_BITS)) * self._step
        words = max(blocks * BLOCK_WORDS, self.end)
        #: The frontier in row `_row`, and others.
        self._bits = np.zeros((self._rows + threads.workers, words), dtype=np.uint64)
        self._row, self._counts = 0, np.zeros(blocks, dtype=np.int64)
        self._touched = np.ones(blocks, dtype=np.bool_)
        self.depth: Depth | None = None
        for depth, batches in layers:
            self._begin()
            for keys in batches:
                found = self.numbers.of(keys, depth)
                self._know(found, depth)
                set_within(self._bits[self._row], found, 0)
            _count(self._bits[self._row], self._counts)
            self.depth = depth

    def sample(self) -> Keys:
        """Return some keys of the frontier."""
        begin, end, _ = next(self._pieces())
        return self._listed(self._row, begin, end)[:SAMPLED]

    def _size(self) -> int:
        return int(self._counts.sum())

    def _free_rows(self) -> Iterable[Words]:
        return (self._bits[row] for row in self._marked_rows)

    def _left(self) -> Iterator[Piece]:
        # A kernel for bitmaps lists no keys. At the end of a layer other threads wait for the last piece.
        most = min(4 * _PIECE, self._size() // (32 * self._threads.workers)) if self._spread is not None else 0
        return self._pieces(self._step, max(_PIECE, most))

    def _mark(self, piece: Piece, marks: Callable[[], AbstractContextManager[Words]], is_sparse: bool) -> int:
        begin, end, size = piece
        with marks() as words:
            if self._spread is not None and not is_sparse:
                self._spread(self._bits[self._row, begin:end], begin * WORD_BITS, words)
                return size
            keys = self._listed(self._row, begin, end)
            for _, expansion in expanded(self._puzzle, [keys]):
                found = self.numbers.set_in(words, expansion.successors, (self.depth or 0) + 1)
                if is_sparse:
                    self._touched[found // BLOCK_KEYS] = True
        return size

    def merge(self, depth: Depth, put: Callable[[Coded], None] = lambda _: None) -> Totals:
        """Return the totals of layer `depth`: the marked configurations that are not known yet.

        They are entered and become the frontier. If none are new, nothing changes. A table that codes layers gives the
        blocks to `put`, in order and in this thread, while others go on.
        """
        counts, last = np.zeros_like(self._counts), self.numbers.count // WORD_BITS
        self.numbers.require_none(self._marks(last, self._bits.shape[1]), last, depth)

        most = max(_LEAST_BLOCKS, len(counts) // (4 * self._threads.workers))
        cuts, totals = [*range(0, len(counts), most), len(counts)], Totals()
        landed, waiting, following = SimpleQueue[tuple[int, Totals, list[Coded]] | None](), dict[int, list[Coded]](), 0
        # IMPORTANT: nothing from here on may be half done and stored: `depth` says so. So it is not interrupted either.
        before, self.depth = self.depth, None
        parts = enumerate([*pairwise(cuts)])
        fresh = partial(self._fresh, depth, counts)
        ends = self._threads.draw("merge", fresh, parts, landed.put, self._threads.workers)
        for end in ends:
            end.add_done_callback(lambda _: landed.put(None))
        going = len(ends)
        while going:
            if (part := landed.get()) is None:
                going -= 1
                continue
            number, made, waiting[number] = part
            totals = totals.plus([made.size, made.goals, made.represented, made.lane_0, made.lane_1], 0, 0)
            while following in waiting:
                for coded in waiting.pop(following):
                    put(coded)
                following += 1
        for end in ends:
            end.result()
        if totals.size and (goal := self._goal) is not None:
            has_goal = int(self._bits[self._target, goal // WORD_BITS]) >> goal % WORD_BITS & 1
            totals = totals.plus([0, has_goal, 0, *NOTHING], 0, 0)
        if totals.size:
            self._advance(counts)
            self.at = 0
        self.depth = depth if totals.size else before
        return totals

    def _fresh(
        self, depth: Depth, counts: NDArray[np.int64], part: tuple[int, tuple[int, int]]
    ) -> tuple[int, Totals, list[Coded]]:
        """Enter a part of layer `depth`: its number, and its first block and end. Return the number, totals, blocks.

        The `counts` of its blocks are set.
        """
        number, (begin, last) = part
        totals, found, held = Totals(), list[Coded](), 0
        for block in range(begin, last, _LEAST_BLOCKS):
            end = min(block + _LEAST_BLOCKS, last)
            self._enter(depth, block, end, self._target, counts)
            held += int(counts[block:end].sum())
            if not held:
                begin = end
            elif held >= _PIECE or end == last:
                words = self._bits[self._target, begin * BLOCK_WORDS : end * BLOCK_WORDS]
                summary, coded = self._summed(depth, words, begin * BLOCK_KEYS, held)
                totals, begin, held = totals.plus(summary, 0, 0), end, 0
                found += [coded] if coded else []
        return number, totals, found

    def stage_marks(self, store: RunStore, depth: Depth) -> None:
        """Stage the marks as blocks of layer `depth`, for another session to continue from `at`."""
        for block in range(0, len(self._counts), _LEAST_BLOCKS):
            begin, end = block * BLOCK_WORDS, min(block + _LEAST_BLOCKS, len(self._counts)) * BLOCK_WORDS
            marks = self._marks(begin, end) & ~self._known(begin, end)
            if marks.any():
                store.stage_blocks(depth, self.numbers.coded(depth, (begin * WORD_BITS, marks)))

    def take_up(self, marked: Iterable[Keys], at: int) -> None:
        """Continue from word number `at`; keys are `marked` already."""
        for keys in marked:
            self.numbers.set_in(self._bits[self._marked_rows[0]], keys, (self.depth or 0) + 1)
        self.at = at

    @property
    def _marked_rows(self) -> list[int]:
        """The rows of marks."""
        raise NotImplementedError

    @property
    def _target(self) -> int:
        """The row of the layer to be made."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Begin to read a layer, which is to be the frontier."""
        raise NotImplementedError

    def _know(self, numbers: Keys, depth: Depth) -> None:
        """Enter the numbers of a layer that is read in what is known besides the bitmaps."""

    def _known(self, begin: int, end: int) -> Words:
        """Return the bits of some words that are known."""
        raise NotImplementedError

    def _enter(self, depth: Depth, first: int, last: int, row: int, counts: NDArray[np.int64]) -> None:
        """Set what is marked and not known, of the blocks from `first` to `last`, in a `row`, and its counts."""
        raise NotImplementedError

    def _summed(self, depth: Depth, words: Words, first: int, size: int) -> tuple[list[int], Coded | None]:
        """Return size, tally and lanes of a piece of a new layer, without `_goal`; and its blocks, if layers are coded.

        The piece has `size` bits, and the first bit of its words is the number `first`.
        """
        if self._goal is not None:
            lanes, coded = sum_words(words, first, self._puzzle.layout, depth, size * self._codes)
            return [size, 0, 0, *lanes], coded
        keys = self.numbers.listed(words, first, size)
        coded = code_keys(depth, keys) if self._codes else None
        # A copy, without the unused room of the coder.
        coded = coded and coded._replace(data=memoryview(bytes(coded.data)))
        return [size, *self._puzzle.tally(keys), *lanes_of(keys)], coded

    def _advance(self, counts: NDArray[np.int64]) -> None:
        """Make the new layer, whose blocks have so many bits, the frontier."""
        raise NotImplementedError

    def _marks(self, begin: int, end: int) -> Words:
        """Return the marks in some words, together."""
        marks: Words = np.bitwise_or.reduce(self._bits[self._marked_rows, begin:end])
        return marks

    def _pieces(self, step: int = 1, size: int = 0) -> Iterator[Piece]:
        """Yield the pieces of the frontier, of about `size` bits or `_PIECE`: first word, end, and number of bits.

        They begin and end at multiples of `step`; `_GAP` blocks without bits, or more, are left out.
        """
        begin, end, held = 0, 0, 0
        for block, following in pairwise([*np.flatnonzero(self._counts).tolist(), len(self._counts) + _GAP]):
            if not held:
                begin = max(end, block * BLOCK_WORDS // step * step)
            held += int(self._counts[block])
            if held >= (size or _PIECE) or following - block > _GAP:
                end = min(self.end, -(-(block + 1) * BLOCK_WORDS // step) * step)
                if begin < end:
                    yield begin, end, held
                held = 0

    def _listed(self, row: int, begin: int, end: int) -> Keys:
        return self.numbers.listed(self._bits[row, begin:end], begin * WORD_BITS)


class DepthsTable(LayerTable):
    """The depths of all configurations up to layer `depth`, and this layer. Some of the marks are known."""

    def __init__(
        self, puzzle: Puzzle, threads: ThreadPool, stored: DepthTable, layers: Iterable[tuple[Depth, Iterable[Keys]]]
    ) -> None:
        """Read the stored table; enter the last `layers`, with their keys in batches. The last one is the frontier."""
        blocks = -(-numbers_of(puzzle) // BLOCK_KEYS)
        self._planes = np.zeros((blocks, 2, BLOCK_WORDS), dtype=np.uint64)
        self._changed = np.zeros(blocks, dtype=np.bool_)
        for number in stored.numbers():
            self._planes[number] = stored.planes(number)
        super().__init__(puzzle, threads, layers)

    @property
    def stored_bytes(self) -> int:
        """The bytes of the table on disk, once all is stored."""
        return int(np.count_nonzero(self._planes.any(axis=(1, 2)))) * BLOCK_KEYS // 4

    @property
    def has_changed(self) -> bool:
        """Return whether there is something to `stage`."""
        return bool(self._changed.any())

    def stage(self, store: RunStore) -> tuple[int, int]:
        """Stage the blocks of the table that have changed, and those of the frontier; return their bytes and index."""
        table, stored, index = DepthTable(store), 0, 0
        for number in np.flatnonzero(self._changed).tolist():
            table.stage(number, self._planes[number])
        self._changed[:] = False
        for begin, end, _ in self._pieces():
            window = begin * WORD_BITS, self._bits[self._row, begin:end]
            size, index = store.stage_blocks(self.depth or 0, self.numbers.coded(self.depth or 0, window), index)
            stored += size
        return stored, index

    @property
    def _marked_rows(self) -> list[int]:
        return [row for row in range(len(self._bits)) if row != self._row]

    @property
    def _target(self) -> int:
        return (self._row + 1) % len(self._bits)

    def _begin(self) -> None:
        self._bits[0] = 0

    def _know(self, numbers: Keys, depth: Depth) -> None:
        enter_keys(self._planes, self._changed, numbers, np.uint64(0), code_of(depth))

    def _known(self, begin: int, end: int) -> Words:
        planes = self._planes[begin // BLOCK_WORDS : end // BLOCK_WORDS]
        known: Words = np.bitwise_or.reduce(planes, axis=1).ravel()
        return known

    def _enter(self, depth: Depth, first: int, last: int, row: int, counts: NDArray[np.int64]) -> None:
        code, changed, touched = code_of(depth), self._changed, self._touched
        _fresh(self._bits, self._row, row, self._planes, first, last, code, counts, changed, touched)

    def _advance(self, counts: NDArray[np.int64]) -> None:
        # The frontier before is not cleared.
        self._touched = self._counts > 0
        self._row, self._counts = self._target, counts


class LayersTable(LayerTable):
    """Layer `depth` of an undirected puzzle and the layer before it, in rows 0 and 1 in turn."""

    _rows, _codes = 2, True

    def __init__(self, puzzle: Puzzle, threads: ThreadPool, layers: Iterable[tuple[Depth, Iterable[Keys]]]) -> None:
        self._before = np.zeros(-(-numbers_of(puzzle) // BLOCK_KEYS), dtype=np.int64)
        super().__init__(puzzle, threads, layers)

    @staticmethod
    def bytes_for(numbers: int, threads: int) -> int:
        """Return the memory of a table, with blocks of a layer that wait for a commit, and LMDB's copy of them."""
        return (LayersTable._rows + threads + 4) * (numbers + BLOCK_KEYS) // 8

    @property
    def _marked_rows(self) -> list[int]:
        return [*range(self._rows, len(self._bits))]

    @property
    def _target(self) -> int:
        return 1 - self._row

    def _begin(self) -> None:
        self._row, self._counts, self._before = self._target, self._before, self._counts

    def _known(self, begin: int, end: int) -> Words:
        known: Words = np.bitwise_or.reduce(self._bits[: self._rows, begin:end])
        return known

    def _enter(self, depth: Depth, first: int, last: int, row: int, counts: NDArray[np.int64]) -> None:
        _following(self._bits, self._row, row, first, last, self._before, counts, self._touched)

    def _advance(self, counts: NDArray[np.int64]) -> None:
        self._begin()
        self._counts = counts
        self._touched[:] = False


@jit
def _count(bits: Words, counts: NDArray[np.int64]) -> None:
    for block in range(len(counts)):
        total = np.uint64(0)
        for word in range(block * BLOCK_WORDS, (block + 1) * BLOCK_WORDS):
            total += popcount(bits[word])
        counts[block] = total


@jit
def _fresh(
    bits: NDArray[np.uint64], frontier: int, target: int, planes: NDArray[np.uint64], first: int, last: int, code: int,
    counts: NDArray[np.int64], changed: NDArray[np.bool_], touched: NDArray[np.bool_],
) -> None:  # fmt: skip
    low, high = np.uint64(0) - np.uint64(code & 1), np.uint64(0) - np.uint64(code >> 1)
    for block in range(first, last):
        if not touched[block]:
            continue
        total = np.uint64(0)
        base = block * BLOCK_WORDS
        for line in range(0, BLOCK_WORDS, 16):
            # Most groups of 128 bytes have no marks in many layers.
            found = np.uint64(0)
            for row in range(len(bits)):
                if row != frontier:
                    for word in range(base + line, base + line + 16):
                        found |= bits[row, word]
            if found == np.uint64(0):
                continue
            for word in range(line, line + 16):
                found = np.uint64(0)
                for row in range(len(bits)):
                    if row != frontier:
                        found |= bits[row, base + word]
                        bits[row, base + word] = np.uint64(0)
                found &= ~(planes[block, 0, word] | planes[block, 1, word])
                bits[target, base + word] = found
                planes[block, 0, word] |= found & low
                planes[block, 1, word] |= found & high
                total += popcount(found)
        counts[block] = total
        changed[block] |= total != np.uint64(0)


@jit
def _following(
    bits: NDArray[np.uint64], frontier: int, target: int, first: int, last: int, before: NDArray[np.int64],
    counts: NDArray[np.int64], touched: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Set the marks, in the rows from 2 on, that are in neither layer in the row `target`, and clear them.

    `before` are the numbers of bits in the blocks of that row, the layer before the frontier.
    """
    for block in range(first, last):
        base = block * BLOCK_WORDS
        if not touched[block] and not before[block]:
            continue
        total = np.uint64(0)
        for line in range(base, base + BLOCK_WORDS, 16):
            found = np.uint64(0)
            if touched[block]:
                for row in range(2, len(bits)):
                    for word in range(line, line + 16):
                        found |= bits[row, word]
            if found == np.uint64(0):
                if before[block]:
                    for word in range(line, line + 16):
                        bits[target, word] = np.uint64(0)
                continue
            for word in range(line, line + 16):
                found = np.uint64(0)
                for row in range(2, len(bits)):
                    found |= bits[row, word]
                    bits[row, word] = np.uint64(0)
                found &= ~(bits[frontier, word] | bits[target, word])
                bits[target, word] = found
                total += popcount(found)
        counts[block] = total
