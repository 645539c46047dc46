"""Layers made in a table that does not fit in memory: in memory the marks of the next layer, all else in a file.

    file -> frontier -> successors -> marks: a bitmap for each thread, or fewer if that does not fit
    marks without what the file knows -> new frontier, file        in one pass, block by block

Each pass reads the blocks of the file that it needs once, and writes those that have changed. What is in a block is
said in `storage.layers.table_file`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import wait
from contextlib import AbstractContextManager
from queue import SimpleQueue
from threading import Event

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import lanes_of
from hakoiri.storage.layers.codec import WORD_BITS, Words
from hakoiri.storage.layers.depths import BLOCK_KEYS, DepthTable
from hakoiri.storage.layers.table_file import HEADER, HELD_BYTES, UNIT_WORDS, Bitmaps, TableFile
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import Window, split
from hakoiri.worker.layers.partition import SLACK
from hakoiri.worker.layers.ranges import expanded
from hakoiri.worker.layers.step import Totals
from hakoiri.worker.layers.table import SAMPLED, MarkedTable, Piece, TableNumbers, lent
from hakoiri.worker.pool import ThreadPool

#: Memory for what threads read and write, beside the marks.
_BESIDE = 32 << 20
#: Memory of the process itself, counted in its budget.
_OWN = 96 << 20
#: The interval of looks whether a pass is to be given up.
_LOOK_SECONDS = 0.2
#: The fields of a header that sum up a layer in a block.
_FIGURES = ("size", "goals", "represented", "lane_0", "lane_1")


def rows_within(numbers: int, threads: int, free: int) -> int:
    """Return how many bitmaps of marks fit in `free` bytes of memory (`Shares`), at most one for each thread.

    They are allocated once, so they may take what is left of the memory for others' spare room.
    """
    free = free * SLACK // (SLACK - 1)
    return max(0, min(threads, (free - min(_BESIDE, free // 2)) // ((numbers + BLOCK_KEYS) // 8)))


def held_within(numbers: int, rows: int, free: int) -> int:
    """Return the bytes of blocks that may be held beside so many bitmaps of marks: half of what is left."""
    free = free * SLACK // (SLACK - 1)
    left = free - min(_BESIDE, free // 2) - rows * ((numbers + BLOCK_KEYS) // 8)
    return max(0, min(HELD_BYTES, left // 2))


def least_memory(numbers: int) -> int:
    """Return the memory that a session needs to make layers in a file, with what the process takes itself."""
    return (numbers + BLOCK_KEYS) // 8 + _BESIDE + _OWN


class FiledTable(MarkedTable):
    """The table of a run in its file, with the layer `depth`, the frontier; `at` is the number of a block.

    `check` is called during passes over the file, which end with what it raises.
    """

    def __init__(
        self, puzzle: Puzzle, threads: ThreadPool, file: TableFile, rows: int, depth: Depth, check: Callable[[], None]
    ) -> None:
        self._puzzle, self._threads, self.numbers, self.file = puzzle, threads, TableNumbers(puzzle), file
        self._spread = self.numbers.spread
        self.depth, self.end, self._check = depth, len(file.heads), check
        self._block, numbers = file.shape.words, self.numbers.count
        self._step = (self._spread.block if self._spread else WORD_BITS) // WORD_BITS
        #: The words of all numbers, a whole number of the kernel's blocks.
        self._words = -(-numbers // (self._step * WORD_BITS)) * self._step
        self._marks = np.zeros((rows, max(len(file.heads) * self._block, self._words)), dtype=np.uint64)
        #: Room for the bitmaps of a block, for each thread: memory that is touched first takes longer.
        self._room = SimpleQueue[Bitmaps]()
        for _ in range(threads.workers):
            self._room.put(file.empty())
        self._touched = np.zeros(len(file.heads), dtype=np.bool_)

    def sample(self) -> Keys:
        """Return some keys of the frontier."""
        return FiledLayer(self.file, self.numbers, self.depth).sample()

    def _size(self) -> int:
        return self.file.size_of(self.depth)

    def _free_rows(self) -> Iterable[Words]:
        return self._marks

    def _left(self) -> Iterator[Piece]:
        return ((block, block + 1, 0) for block in self.file.with_layer(self.depth))

    def _mark(self, piece: Piece, marks: Callable[[], AbstractContextManager[Words]], is_sparse: bool) -> int:
        block, *_ = piece
        begin, done = block * self._block, 0
        with lent(self._room) as room:
            frontier = frontier_words(self.file, block, self.depth, room)
        self.numbers.require_none(frontier, begin, self.depth)
        with marks() as words:
            if self._spread is not None and not is_sparse:
                low, high = begin // self._step * self._step, -(-(begin + self._block) // self._step) * self._step
                window = np.zeros(high - low, dtype=np.uint64)
                window[begin - low : begin - low + self._block] = frontier
                (self._spread.mark or self._spread.write)(window[: self._words - low], low * WORD_BITS, words)
                return int(_count(frontier))
            for place in range(0, self._block, UNIT_WORDS):
                keys = self.numbers.listed(frontier[place : place + UNIT_WORDS], (begin + place) * WORD_BITS)
                done += len(keys)
                if not self._puzzle.are_keys(keys).all():
                    raise self.file.damaged(f"block {block} has numbers that are no configurations")
                for _, expansion in expanded(self._puzzle, [keys]):
                    found = self.numbers.set_in(words, expansion.successors, self.depth + 1)
                    if is_sparse:
                        self._touched[found // (self._block * WORD_BITS)] = True
        return done

    @property
    def can_hold(self) -> bool:
        """Return whether the blocks that may have marks can be held in memory."""
        return self.file.can_hold(np.flatnonzero(self._touched).tolist())

    def enter(self, depth: Depth, held: bool = False) -> None:
        """Enter what is marked in the file as configurations of layer `depth`; durable on return, unless it is `held`.

        What is known already stays as it is, so this may be done several times for a layer, and again after a kill.
        """
        last = self.numbers.count // WORD_BITS
        self.numbers.require_none(np.bitwise_or.reduce(self._marks[:, last:]), last, depth)
        # IMPORTANT: after an error some marks may be lost, so all blocks are expanded again.
        done, self.at = self.at, 0
        blocks, given_up = iter(np.flatnonzero(self._touched).tolist()), Event()

        def enter(block: int) -> None:
            if not given_up.is_set():
                self._enter(depth, block, held)

        ends = self._threads.draw("merge", enter, blocks, lambda _: None, self._threads.workers)
        try:
            while wait(ends, _LOOK_SECONDS).not_done:
                self._check()
        finally:
            # IMPORTANT: no thread writes to the file of a session that has ended.
            given_up.set()
            wait(ends)
        for end in ends:
            end.result()
        if not held:
            self.file.sync()
        self._touched[:] = False
        self.at = done

    def merge(self, depth: Depth) -> Totals:
        """Enter layer `depth`, which becomes the frontier; return its totals. If it has none, nothing changes.

        Its blocks are held if they can be.
        """
        self.enter(depth, self.can_hold)
        heads, totals = self.file.heads[self.file.heads["layer"] == depth], Totals()
        for head in heads:
            totals = totals.plus((head[name] for name in _FIGURES), 0, 0)
        if totals.size:
            self.depth, self.at = depth, 0
        return totals

    def begin(self, known: DepthTable, layers: Sequence[tuple[Depth, Callable[[], Iterable[Keys]]]]) -> None:
        """Enter what is `known`, and then the `layers` from some depth on, with keys in batches, in a new file."""
        units, marks = self.file.shape.units, self._marks[0]
        for depth, batches in layers:
            for keys in batches():
                self.numbers.set_in(marks, keys, depth)
        for block in sorted({number // units for number in known.numbers()}):
            self._check()
            head, bitmaps = np.zeros(1, dtype=HEADER)[0], self.file.empty()
            bitmaps[:] = 0
            for unit in range(units):
                # The table may have the layers, too.
                first = block * self._block + unit * UNIT_WORDS
                bitmaps[unit, :2] = known.planes(block * units + unit) & ~marks[first : first + UNIT_WORDS]
            if self.file.shape.bitmaps == 2:
                bitmaps[:, 0] |= bitmaps[:, 1]
                bitmaps[:, 1] = 0
            head["block"], head["layer"] = block, max(0, layers[0][0] - 2)
            head["known"] = _count((bitmaps[:, 0] | bitmaps[:, 1]).ravel())
            self.file.write(head, bitmaps)
        marks[:] = 0
        for depth, batches in layers:
            self._touched[:] = True
            for keys in batches():
                self.numbers.set_in(marks, keys, depth)
            self.enter(depth)

    def _enter(self, depth: Depth, block: int, held: bool) -> None:
        marks = self._marks[:, block * self._block : (block + 1) * self._block]
        if _any(marks):
            with lent(self._room) as room:
                bitmaps = self.file.read(block, room)
                self._enter_marks(depth, block, marks, bitmaps.copy() if held and bitmaps is room else bitmaps, held)

    def _enter_marks(
        self, depth: Depth, block: int, marks: NDArray[np.uint64], bitmaps: Bitmaps, held: bool
    ) -> None:  # fmt: skip
        head, fresh = self.file.heads[block].copy(), np.empty(self._block, dtype=np.uint64)
        if not (size := int(_fresh(marks, bitmaps, fresh))):
            return
        layer, enter = int(head["layer"]), _enter_three if self.file.shape.bitmaps == 3 else _enter_two
        if layer < depth:
            for name in _FIGURES:
                head[name] = 0
        totals = Totals(**{name: int(head[name]) for name in _FIGURES})
        for place in range(0, self._block, UNIT_WORDS):
            first = (block * self._block + place) * WORD_BITS
            keys = self.numbers.listed(fresh[place : place + UNIT_WORDS], first)
            if len(keys):
                totals = totals.plus([len(keys), *self._puzzle.tally(keys), *lanes_of(keys)], 0, 0)
        for name in _FIGURES:
            head[name] = getattr(totals, name)
        head["known"] += np.uint64(size)
        # IMPORTANT: nothing may fail between these if the bitmaps are held.
        before = int(enter(bitmaps, fresh, depth, layer))
        if layer < depth:
            head["block"], head["layer"], head["before"] = block, depth, before
        (self.file.hold if held else self.file.write)(head, bitmaps)


class FiledLayer:
    """Layer `depth` in the file of a table: one of its last two, or what has been entered of the one under way."""

    def __init__(self, file: TableFile, numbers: TableNumbers, depth: Depth) -> None:
        self._file, self._numbers, self._depth, self.size = file, numbers, depth, file.size_of(depth)

    def windows(self) -> Iterator[Window]:
        """Yield the bitmaps of the layer with their first numbers."""
        room = self._file.empty()
        for block in self._file.with_layer(self._depth):
            words = frontier_words(self._file, block, self._depth, room)
            for place in range(0, len(words), UNIT_WORDS):
                yield (block * len(words) + place) * WORD_BITS, words[place : place + UNIT_WORDS]

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        for first, words in self.windows():
            yield from split(self._numbers.listed(words, first)[begin:], size)
            begin = max(0, begin - int(_count(words)))

    def sample(self) -> Keys:
        return next(self.chunks(0, SAMPLED))

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        raise NotImplementedError("a layer of a table is only listed")

    def at_most(self, low: Key, high: Key) -> int:
        raise NotImplementedError("a layer of a table is only listed")

    def exclude_from(self, keys: Keys) -> Keys:
        raise NotImplementedError("a layer of a table is only listed")


def frontier_words(file: TableFile, block: int, depth: Depth, room: Bitmaps) -> Words:
    """Return the bitmap of a block's configurations of layer `depth`, one of the last two of the file."""
    words = np.empty(file.shape.words, dtype=np.uint64)
    _frontier(file.read(block, room), depth, words)
    return words


@jit
def _count(words: Words) -> int:
    total = np.uint64(0)
    for word in words:
        total += popcount(word)
    return int(total)


@jit
def _any(marks: NDArray[np.uint64]) -> bool:
    for row in range(len(marks)):
        for word in range(0, marks.shape[1], 16):
            found = np.uint64(0)
            for place in range(16):
                found |= marks[row, word + place]
            if found != np.uint64(0):
                return True
    return False


@jit
def _fresh(marks: NDArray[np.uint64], bitmaps: Bitmaps, fresh: Words) -> int:
    """Set `fresh` to the marks that are not known, clear the marks, and return the number of what is fresh."""
    total = np.uint64(0)
    for unit in range(len(bitmaps)):
        for place in range(UNIT_WORDS):
            word = unit * UNIT_WORDS + place
            found = np.uint64(0)
            for row in range(len(marks)):
                found |= marks[row, word]
                marks[row, word] = np.uint64(0)
            fresh[word] = found & ~(bitmaps[unit, 0, place] | bitmaps[unit, 1, place])
            total += popcount(fresh[word])
    return int(total)


# In the kernels below, `low` and `high` are all ones where the code of a depth has that bit.


@jit
def _frontier(bitmaps: Bitmaps, depth: int, words: Words) -> None:
    is_three = bitmaps.shape[1] == 3
    code = 1 + depth % 3 if is_three else depth & 1
    low, high = np.uint64(0) - np.uint64(code & 1), np.uint64(0) - np.uint64(code >> 1)
    for unit in range(len(bitmaps)):
        for place in range(UNIT_WORDS):
            found = bitmaps[unit, bitmaps.shape[1] - 1, place] & ~(bitmaps[unit, 0, place] ^ low)
            if is_three:
                found &= ~(bitmaps[unit, 1, place] ^ high)
            words[unit * UNIT_WORDS + place] = found


@jit
def _enter_three(bitmaps: Bitmaps, fresh: Words, depth: int, layer: int) -> int:
    """Enter `fresh` in layer `depth` in a block whose last one is `layer`; return the size of the layer before."""
    code, last, before = 1 + depth % 3, 1 + (depth + 2) % 3, np.uint64(0)
    low, high = np.uint64(0) - np.uint64(code & 1), np.uint64(0) - np.uint64(code >> 1)
    old_low, old_high = np.uint64(0) - np.uint64(last & 1), np.uint64(0) - np.uint64(last >> 1)
    for unit in range(len(bitmaps)):
        for place in range(UNIT_WORDS):
            stays = bitmaps[unit, 2, place]
            if layer < depth:
                stays &= ~((bitmaps[unit, 0, place] ^ old_low) | (bitmaps[unit, 1, place] ^ old_high))
                if layer < depth - 1:
                    stays = np.uint64(0)
                before += popcount(stays)
            word = fresh[unit * UNIT_WORDS + place]
            bitmaps[unit, 0, place] |= word & low
            bitmaps[unit, 1, place] |= word & high
            bitmaps[unit, 2, place] = stays | word
    return int(before)


@jit
def _enter_two(bitmaps: Bitmaps, fresh: Words, depth: int, layer: int) -> int:
    """Enter as `_enter_three` in blocks with two bitmaps."""
    odd, before = np.uint64(0) - np.uint64(depth & 1), np.uint64(0)
    for unit in range(len(bitmaps)):
        for place in range(UNIT_WORDS):
            low, stays = bitmaps[unit, 0, place], bitmaps[unit, 1, place]
            known = low | stays
            if layer < depth:
                # The layer before is even where this one is odd.
                stays &= low ^ odd
                if layer < depth - 1:
                    stays = np.uint64(0)
                before += popcount(stays)
            word = fresh[unit * UNIT_WORDS + place]
            bitmaps[unit, 0, place] = known & ~stays | low & stays | word & odd
            bitmaps[unit, 1, place] = stays | word
    return int(before)
