"""The file `table` of a run whose table of all numbers does not fit in memory: what is known, and the frontier.

A *block* has the numbers of `TableShape.units` blocks of `storage.layers.depths`, of 2**18 numbers each. A *slot* of
the file holds one block that some layer has touched: a page of 4,096 bytes with a header, then the bitmaps of each
unit, one after another. Words have 64 bits and are little-endian; the least number has the lowest bit.

The three bitmaps of a run that keeps depths are low, high and recent. A number has the code 1 + depth % 3 in low and
high, 0 if it is not known. Recent has the last two layers of the block. With two bitmaps, the code is 0 if a number is
not known, 1 if it is, and 2 or 3 if it is of the last two layers: 2 where the depth is even.

The header is a CRC-32 of all else in it, big-endian, and the fields of `HEADER`, little-endian: the number of the
block, the `layer` applied last, and the number of configurations `known`. Then the sums of that layer in the block: its
`size`, goals, represented configurations and lanes of the digest. Then the size of the layer `before`, and the checksum
of each unit (`checksum`: a CRC-32 would take as long as all else that is done to a block). A header that is broken is
no block. A block counts as damaged if the checksum of a unit differs.

A block is never written in place, but to a free slot. The slot that it had is free once the file is synced; so a write
that is cut off damages nothing. Among the slots of a block the one with the latest layer counts. IMPORTANT: a layer is
committed to the ledger after the sync of all its blocks, and before a block has the next layer. So each block has, at
most, one layer more than the ledger; and that layer with all before it can be told from the bitmaps. Entering numbers
in a layer again changes nothing. After a kill the layer is expanded again, and what blocks have of it stays.

The driver may hold some blocks in memory through several small layers, and write them all before these are committed.
IMPORTANT: no sync frees the slots that they had before all are written, and nothing else is written before the commit.
A block with a later layer than the next one is of a commit that never was, and does not count.
"""

import errno
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import DamagedError, Hint
from hakoiri.memory import require_memory
from hakoiri.puzzles.contract import Ranking
from hakoiri.storage.engine.environment import require_free, translated
from hakoiri.storage.engine.files import Given, allocate
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import require_held
from hakoiri.storage.ledger.manifest import Depth, seal, unseal
from hakoiri.storage.names import META, TABLE_FILE, TABLE_KEY

#: The words of a bitmap of a unit: 2**18 bits.
UNIT_WORDS: Final = 1 << 12
_PAGE, _SUMS = 4096, 16
#: The units of a block of a new file.
MOST_UNITS = 4
_WORD = np.dtype("<u8")
HEADER = np.dtype(
    [
        ("block", "<u4"), ("layer", "<i4"), ("known", "<u8"), ("size", "<u8"), ("before", "<u8"), ("goals", "<u8"),
        ("represented", "<u8"), ("lane_0", "<u8"), ("lane_1", "<u8"), ("sums", "<u8", (_SUMS,)),
    ]
)  # fmt: skip
#: What a block takes in memory while the blocks are found.
_BYTES_OF_HEAD = 3 * HEADER.itemsize
#: Slots that are written between two syncs: at least, and one in so many blocks.
_LEAST_SPARE, _SPARE = 4, 64
#: The most bytes of blocks that are held.
HELD_BYTES = 32 << 20
#: How often a reader looks for the blocks of a file that another process writes.
_LOOKS = 5
#: [unit, bitmap, word].
Bitmaps = NDArray[np.uint64]


@dataclass(frozen=True)
class TableShape:
    """The record of a run's file: its bitmaps, the units of a block, and the first layer that it has."""

    bitmaps: Literal[2, 3]
    blocks: int
    units: int = MOST_UNITS
    first: Depth = 0

    @classmethod
    def for_numbers(cls, numbers: int, bitmaps: Literal[2, 3], first: Depth = 0) -> "TableShape":
        """Return the shape of a new file."""
        return cls(bitmaps, -(-numbers // (64 * UNIT_WORDS * MOST_UNITS)), MOST_UNITS, first)

    @classmethod
    def of(cls, ledger: Ledger) -> "TableShape | None":
        """Return the record of a run; ``None`` if it has no such file."""
        found = ledger.read_if_any(cls, META, TABLE_KEY, "record of the table's file")
        if found is not None and not 0 < found.units <= _SUMS:
            raise ledger.damaged(f"a block of its table has {found.units} units")
        return found

    def require_in(self, ledger: Ledger, numbers: int, bitmaps: int, memory: int) -> None:
        """Raise `DamagedError` unless it has so many bitmaps, of a puzzle with so many numbers.

        `OverBudgetError` if the headers of its blocks take more bytes than `memory`.
        """
        if (self.bitmaps, self.blocks) != (bitmaps, -(-numbers // (64 * self.words))):
            raise ledger.damaged(
                f"its table has {self.bitmaps} bitmaps of {self.blocks:,} blocks, but the puzzle {numbers:,} numbers"
            )
        require_memory("the list of the blocks of its table", self.blocks * _BYTES_OF_HEAD, memory)

    def stage(self, ledger: Ledger) -> None:
        """Stage the record."""
        ledger.stage_record(META, TABLE_KEY, dict(vars(self)))

    @property
    def words(self) -> int:
        """The words of a bitmap of a block."""
        return self.units * UNIT_WORDS

    @property
    def slot_bytes(self) -> int:
        return _PAGE + 8 * self.bitmaps * self.words

    @property
    def most_bytes(self) -> int:
        """The most bytes of a file with all blocks."""
        held = min(self.blocks, HELD_BYTES // self.slot_bytes)
        return (self.blocks + held + 2 * max(_LEAST_SPARE, self.blocks // _SPARE)) * self.slot_bytes


class TableFile:
    """The file of a run, open for reading, or by its driver for writing.

    `heads` has the header of each block; a block that is in no slot has the layer -1. Threads may read and write
    different blocks at the same time.
    """

    def __init__(self, ledger: Ledger, shape: TableShape, writable: bool = False, new: bool = False) -> None:
        """Open the file, or begin it if it is `new`."""
        self._ledger, self._run, self.shape, self.writable = ledger, ledger.directory, shape, writable
        self.heads = np.zeros(shape.blocks, dtype=HEADER)
        self._lock, self._failed = threading.Lock(), cast(OSError | None, None)
        #: The number of blocks that may be held in memory, and those that are.
        self.room, self._held = 0, dict[int, Bitmaps]()
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if new else 0) if writable else os.O_RDONLY
        with translated(self._run):
            self._file = Given(self._run).descriptor(TABLE_FILE, flags)
        try:
            self.look()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file. What was written since the last `sync` may be lost."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    @property
    def stored_bytes(self) -> int:
        """The bytes of the file."""
        return self._count * self.shape.slot_bytes

    def look(self) -> None:
        """Find the blocks. If the file is `writable`, blocks that a kill has cut off are removed.

        Reads a page of each slot, and of a writable file the blocks of the layer under way. A reader looks again if a
        writer has moved blocks meanwhile.
        """
        for _ in range(_LOOKS):
            self._look()
            if self.writable or self._is_complete():
                break

    def _is_complete(self) -> bool:
        """Return whether the blocks that were found have all committed layers, as far as the counts tell."""
        try:
            self.require_layers()
        except DamagedError:
            return False
        return True

    def _look(self) -> None:
        #: The last committed layer when the blocks were found.
        self.depth = depth = self._ledger.read_state().depth
        ranks, ahead = [(False, -1, 0)] * len(self.heads), dict[int, tuple[int, np.void, int]]()
        self.heads[:], self._slots = np.zeros((), dtype=HEADER), np.full(len(self.heads), -1, dtype=np.int64)
        self.heads["layer"] = -1
        with translated(self._run):
            if self.writable:
                # IMPORTANT: or a block that a killed session wrote would count, and the one before be overwritten.
                # What a failed sync has lost may be in the page cache still.
                os.fsync(self._file)
                os.posix_fadvise(self._file, 0, 0, os.POSIX_FADV_DONTNEED)
            if (size := os.fstat(self._file).st_size) > 2 * self.shape.most_bytes:
                raise self.damaged(f"{size:,} bytes are too many for its blocks")
            self._count = size // self.shape.slot_bytes
            for slot in self._slots_with_data():
                head = self._head(slot)
                if head is None or not 0 <= head["block"] < len(self.heads):
                    continue
                block, is_ahead = int(head["block"]), bool(head["layer"] > depth)
                is_beyond = bool(head["layer"] > depth + 1)
                if is_beyond or (is_ahead and self.writable and not self._is_whole(slot, head)):
                    if self.writable:
                        # IMPORTANT: or it would count as soon as the layer is committed.
                        os.pwrite(self._file, bytes(_PAGE), slot * self.shape.slot_bytes)
                    continue
                if is_ahead and int(head["known"]) > ahead.get(block, (0,))[0]:
                    ahead[block] = int(head["known"]), head, slot
                # A reader takes what is not committed only where nothing else is left.
                rank = self.writable or not is_ahead, int(head["layer"]), int(head["known"])
                if rank > ranks[block]:
                    ranks[block], self.heads[block], self._slots[block] = rank, head, slot
        for block, (known, head, slot) in ahead.items():
            # The slot of the last committed layer is in use again; one of an older layer may be left.
            if not self.writable and int(self.heads[block]["known"]) < known - int(head["size"]):
                self.heads[block], self._slots[block] = head, slot
        used = {*self._slots.tolist()}
        self._free = [slot for slot in range(self._count - 1, -1, -1) if slot not in used]
        self._freed_by_sync = list[int]()

    def _slots_with_data(self) -> Iterator[int]:
        """Yield the slots whose header is no hole."""
        slot, size = 0, self.shape.slot_bytes
        while slot < self._count:
            try:
                begin = os.lseek(self._file, slot * size, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return
            if begin < slot * size + _PAGE:
                yield slot
            slot = max(slot + 1, begin // size)

    @property
    def committed(self) -> Depth:
        """The last committed layer, of a reader when it found the blocks."""
        return self._ledger.read_state().depth if self.writable else self.depth

    def follow(self) -> None:
        """Find the blocks again if another process has committed a layer."""
        if not self.writable and self.depth != self._ledger.read_state().depth:
            self.look()

    def require_layers(self) -> None:
        """Raise `DamagedError` unless the blocks have all layers that were committed when they were found."""
        depth = self.committed
        wanted = sum(self._ledger.layer_record(each).size for each in range(max(0, self.shape.first), depth + 1))
        ahead = self.heads["layer"] > depth
        known = int(self.heads["known"].sum()) - int(self.heads["size"][ahead].sum())
        if known != wanted or (self.heads["layer"] > depth + 1).any():
            raise self.damaged(f"it has {known:,} configurations, expected {wanted:,}")

    def empty(self) -> Bitmaps:
        """Return room for the bitmaps of a block."""
        return np.empty((self.shape.units, self.shape.bitmaps, UNIT_WORDS), dtype=_WORD)

    def read(self, block: int, found: Bitmaps) -> Bitmaps:
        """Return the bitmaps of a block, in `found` or those held; zeroes if it has none.

        `DamagedError` if a unit is damaged.
        """
        if (held := self._held.get(block)) is not None:
            return held
        shape, slot = self.shape, int(self._slots[block])
        if slot < 0:
            found[:] = 0
        else:
            with translated(self._run):
                size = os.preadv(self._file, [found.data], slot * shape.slot_bytes + _PAGE)
            if size < found.nbytes or not self._is_sound(found, self.heads[block]):
                raise self.damaged(f"block {block} has another checksum")
        return found

    def read_unit(self, unit: int) -> tuple[Bitmaps, Depth]:
        """Return the bitmaps of a unit and the layer applied last, -1 without a slot. Another process may write."""
        for _ in range(3):
            block, place = divmod(unit, self.shape.units)
            slot, head = int(self._slots[block]), self.heads[block]
            if slot < 0:
                break
            raw, begin = np.empty((self.shape.bitmaps, UNIT_WORDS), dtype=_WORD), slot * self.shape.slot_bytes + _PAGE
            with translated(self._run):
                size = os.preadv(self._file, [raw.data], begin + place * raw.nbytes)
            if size == raw.nbytes and checksum(raw) == head["sums"][place]:
                return raw, int(head["layer"])
            self.look()
        else:
            # A block that has nothing but a layer that a kill has cut off has nothing that is committed.
            if head["layer"] <= self.committed or head["known"] > head["size"]:
                raise self.damaged(f"block {block} has another checksum")
        return np.zeros((self.shape.bitmaps, UNIT_WORDS), dtype=_WORD), -1

    @property
    def is_holding(self) -> bool:
        """Return whether some blocks are held."""
        return bool(self._held)

    def can_hold(self, blocks: Iterable[int]) -> bool:
        """Return whether there is room for these blocks beside those held."""
        return len({*self._held, *blocks}) <= self.room

    def hold(self, head: np.void, bitmaps: Bitmaps) -> None:
        """Hold a block until the next `flush`; its bitmaps are not to be used for another."""
        self.heads[int(head["block"])], self._held[int(head["block"])] = head, bitmaps

    def flush(self) -> None:
        """Write the blocks held; durable on return. IMPORTANT: commit their layers before anything else is written."""
        for block, bitmaps in self._held.items():
            self.write(self.heads[block], bitmaps, grows=True)
        self._held = {}
        self.sync()

    def write(self, head: np.void, bitmaps: Bitmaps, grows: bool = False) -> None:
        """Write a block with its header, whose sums are made here. Durable after the next `sync`.

        If all slots are used the file `grows`, or is synced, which frees some. After a failed write or sync all others
        fail with the same error.
        """
        block = int(head["block"])
        require_held(self._run)
        head["sums"][: self.shape.units] = [checksum(unit) for unit in bitmaps]
        page = seal(head.tobytes()).ljust(_PAGE, b"\0")
        with translated(self._run):
            slot = self._free_slot(grows)
            with self._unless_failed():
                self._write(page, bitmaps, slot * self.shape.slot_bytes)
        with self._lock:
            if self._slots[block] >= 0:
                self._freed_by_sync.append(int(self._slots[block]))
            self.heads[block], self._slots[block] = head, slot

    def sync(self) -> None:
        """Make all that is written durable."""
        with translated(self._run), self._lock:
            self._sync()

    @contextmanager
    def _unless_failed(self) -> Iterator[None]:
        # IMPORTANT: the system reports a lost write once. Another sync would free the slots that have what was lost.
        if self._failed is not None:
            raise self._failed
        try:
            yield
        except OSError as error:
            self._failed = error
            raise

    def _sync(self) -> None:
        with self._unless_failed():
            os.fsync(self._file)
        self._free += reversed(self._freed_by_sync)
        self._freed_by_sync = []

    def _free_slot(self, grows: bool) -> int:
        """Return a free slot; if all are used, sync the file or make it longer."""
        with self._lock:
            spare = max(_LEAST_SPARE, len(self.heads) // _SPARE)
            if not self._free and not grows and len(self._freed_by_sync) >= spare:
                self._sync()
            if not self._free:
                more = max(1, self._count // _SPARE)
                require_free(self._run, more * self.shape.slot_bytes)
                allocate(self._file, (self._count + more) * self.shape.slot_bytes)
                self._free += range(self._count + more - 1, self._count - 1, -1)
                self._count += more
            return self._free.pop()

    def _write(self, page: bytes, bitmaps: Bitmaps, begin: int) -> None:
        size = len(page) + bitmaps.nbytes
        if (done := os.pwritev(self._file, [page, bitmaps.data], begin)) < size:
            # Where the disk is full, or a signal came.
            view = memoryview(page + bitmaps.tobytes())
            while done < size:
                done += os.pwrite(self._file, view[done:], begin + done)

    def _head(self, slot: int) -> np.void | None:
        raw = os.pread(self._file, 4 + HEADER.itemsize, slot * self.shape.slot_bytes)
        try:
            found: np.void = np.frombuffer(unseal(raw, "header"), dtype=HEADER)[0]
        except (DamagedError, ValueError):
            return None
        return found

    def _is_whole(self, slot: int, head: np.void) -> bool:
        raw = os.pread(self._file, self.shape.slot_bytes - _PAGE, slot * self.shape.slot_bytes + _PAGE)
        if len(raw) < self.shape.slot_bytes - _PAGE:
            return False
        return self._is_sound(np.frombuffer(raw, dtype=_WORD).reshape(self.shape.units, -1, UNIT_WORDS), head)

    def _is_sound(self, units: NDArray[np.uint64], head: np.void) -> bool:
        return all(checksum(unit) == wanted for unit, wanted in zip(units, head["sums"], strict=False))

    def units(self) -> list[int]:
        """Return the numbers of the units that are not zeroes."""
        some = self.heads["sums"][:, : self.shape.units] != checksum(
            np.zeros((self.shape.bitmaps, UNIT_WORDS), dtype=_WORD)
        )
        found: list[int] = np.flatnonzero(some & (self.heads["layer"] >= 0)[:, None]).tolist()
        return found

    def size_of(self, depth: Depth) -> int:
        """Return the number of configurations of layer `depth`, one of the last two of the file."""
        now, before = self.heads["layer"] == depth, self.heads["layer"] == depth + 1
        return int(self.heads["size"][now].sum() + self.heads["before"][before].sum())

    def damaged(self, what: str) -> DamagedError:
        """Return the error for a part of the file that is damaged."""
        run, step = self._run.name, "restore it from an archive, or make it again"
        return DamagedError(f"run {run}: its table is damaged: {what}; {step}", Hint("verify", run))

    def with_layer(self, depth: Depth) -> Iterator[int]:
        """Yield the blocks that have configurations of layer `depth`, one of the last two of the file."""
        of_it = (self.heads["layer"] == depth) & (self.heads["size"] > 0)
        before = (self.heads["layer"] == depth + 1) & (self.heads["before"] > 0)
        yield from np.flatnonzero(of_it | before).tolist()


@jit
def checksum(unit: NDArray[np.uint64]) -> int:
    """Return the checksum of the bitmaps of a unit, 64 bits: any one word that differs changes it.

    Eight lanes take every eighth word. A lane is combined with a word by xor, multiplied by an odd number, and combined
    with its own high half. The sum is made of the lanes in the same way.
    """
    factor, half = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
    lanes, total = np.ones(8, dtype=np.uint64), np.uint64(1)
    for bitmap in range(len(unit)):
        for word in range(0, unit.shape[1], 8):
            for lane in range(8):
                found = (lanes[lane] ^ unit[bitmap, word + lane]) * factor
                lanes[lane] = found ^ found >> half
    for lane in range(8):
        total = (total ^ lanes[lane]) * factor
        total ^= total >> half
    return int(total)


class TableLedger(Ledger):
    """A ledger of a run that may have its table in a file. Its owner sets the `ranking` of the puzzle, if any."""

    ranking: Ranking | None = None
    _table: TableFile | None = None

    @property
    def table_file(self) -> TableFile | None:
        """The file, opened once; ``None`` if the run has none. A reader finds the blocks of new layers."""
        if (shape := TableShape.of(self)) is None:
            # A writer begins the file before it counts.
            if self._table is not None and not self._table.writable:
                self._table.close()
                self._table = None
            return None
        if self._table is None:
            return self.open_table(shape)
        self._table.follow()
        return self._table

    def open_table(self, shape: TableShape, writable: bool = False, new: bool = False) -> TableFile:
        """Open the file, `new` or of the run, in place of the one that is open."""
        if self._table is not None:
            self._table.close()
        self._table = TableFile(self, shape, writable, new)
        return self._table

    def close(self) -> None:
        """Close, and drop everything staged and not committed."""
        if self._table is not None:
            self._table.close()
        super().close()
