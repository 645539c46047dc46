"""The table of a run that keeps depths: the depth of each configuration modulo 3, in two bits.

A move of an undirected puzzle changes the depth by at most one. So the depth modulo 3 tells which neighbours are nearer
to the start (Cooperman, Finkelstein, "New methods for using Cayley graphs in interconnection networks", 1992).

The *code* of a key is 1 + depth % 3, or 0 if the table lacks it. If the puzzle has a `Ranking`, the numbers of keys
take the place of keys in what follows. Entry number N (`storage.names.number_key`) of the
database CLOSED has the codes of the keys from N * 2**18 on. It is a CRC-32 (`storage.ledger.manifest.seal`) and two
bitmaps: the low bits of the codes, and the high bits. Their words have 64 bits and are little-endian; the least key has
the lowest bit. Entries without keys are missing. A table that does not fit in memory is in a file
(`storage.layers.table_file`), and read by the same numbers.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import DamagedError, PuzzleError
from hakoiri.keys.layout import Key, Keys, Layout, key_at
from hakoiri.keys.order import slice_between
from hakoiri.storage.layers.table_file import TableLedger
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Depth, seal, unseal
from hakoiri.storage.names import CLOSED, KEPT_KEY, META, number_key

_BLOCK_BITS = 18
#: The keys of a block, and the words of one of its bitmaps.
BLOCK_KEYS, BLOCK_WORDS = 1 << _BLOCK_BITS, 1 << _BLOCK_BITS - 6
#: The most numbers of a table: the number of a block has 32 bits.
MOST_NUMBERS = 1 << _BLOCK_BITS + 32
#: Blocks entered together: 1 MiB, and up to four million keys of each layer.
_TOGETHER = 16
_WORD = np.dtype("<u8")
Codes = NDArray[np.uint8]
#: The low and the high bits of the codes of a block.
Planes = NDArray[np.uint64]


@dataclass(frozen=True)
class Kept:
    """The layers whose keys a run keeps: all from `first` on. With a `table`, the depths of all others are known."""

    first: Depth = 0
    table: bool = False
    #: The table is by the numbers of a `Ranking`.
    ranked: bool = False

    @classmethod
    def of(cls, ledger: Ledger) -> "Kept":
        """Return the record of a run; most runs have none, and keep all layers."""
        found = ledger.read_if_any(cls, META, KEPT_KEY, "record of the kept layers") or cls()
        if found.first < 0:
            raise ledger.damaged(f"it keeps the layers from {found.first} on")
        return found

    def require_in(self, ledger: TableLedger, numbers: int) -> None:
        """Raise `DamagedError` unless layers and table are those of a run, whose puzzle has so many numbers, or 0."""
        if self.table and self.ranked != (ledger.ranking is not None):
            raise ledger.damaged("its table of depths is by other numbers; use the Hakoiri that made it")
        # Read after this record: another process may have made layers since.
        depth, blocks = ledger.read_state().depth, ledger.names(CLOSED) if self.table else []
        if self.first > depth + 1 or (self.table and not numbers):
            raise ledger.damaged(f"it keeps the layers from {self.first} on, but has {depth + 1} layers")
        if wrong := [name for name in blocks if len(name) != 4 or DepthTable.first_key(name) >= numbers]:
            raise ledger.damaged(
                f"its table of depths has a block {wrong[0].hex()}, but the puzzle {numbers:,} numbers"
            )

    def stage(self, ledger: TableLedger) -> None:
        """Stage the record."""
        ranked = {"ranked": True} if self.table and ledger.ranking is not None else {}
        ledger.stage_record(META, KEPT_KEY, {"first": self.first, "table": self.table} | ranked)


def code_of(depth: Depth) -> int:
    """Return the code of the keys of a layer."""
    return 1 + depth % 3


class DepthTable:
    """The table in the store of a run."""

    def __init__(self, store: TableLedger) -> None:
        self._store = store

    def codes(self, keys: Keys) -> Codes:
        """Return the code of each key. Reads a block of 64 KiB for each run of keys that lie in the same one."""
        codes = np.zeros(len(keys), dtype=np.uint8)
        if (ranking := self._store.ranking) is not None:
            ranks = ranking.of(keys)
            known = ranks < ranking.size
            codes[known] = self._codes(ranks[known])
            return codes
        return self._codes(keys)

    def _codes(self, keys: Keys) -> Codes:
        codes, numbers = np.zeros(len(keys), dtype=np.uint8), keys >> keys.dtype.type(_BLOCK_BITS)
        ends = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(keys)]
        for begin, end in pairwise(ends) if len(keys) else ():
            number = int(numbers[begin])
            codes[begin:end] = _codes(self.planes(number), keys[begin:end], np.uint64(number << _BLOCK_BITS))
        return codes

    def enter(
        self, layers: Iterable[tuple[Depth, Callable[[Key, Key], Iterable[Keys]]]], numbers: int
    ) -> Iterator[None]:
        """Stage the depths of the keys of some layers, all below `numbers`; yield often, for commits of what is staged.

        For each layer there is a function that returns its keys between two keys.
        """
        layers, step = list(layers), _TOGETHER * BLOCK_KEYS
        for depth, between in layers:
            for keys in between(numbers, 1 << 64):
                require_below(keys, depth, numbers)
        for low in range(0, numbers, step):
            parts = [(depth, keys) for depth, between in layers for keys in between(low, min(low + step, numbers))]
            planes = np.zeros((_TOGETHER, 2, BLOCK_WORDS), dtype=_WORD)
            touched = np.zeros(_TOGETHER, dtype=np.bool_)
            for depth, keys in parts:
                enter_keys(planes, touched, keys, np.uint64(low), code_of(depth))
            for place in np.flatnonzero(touched).tolist():
                number = (low >> _BLOCK_BITS) + place
                self.stage(number, planes[place] | self.planes(number))
            yield

    def stage(self, number: int, planes: Planes) -> None:
        """Stage a block."""
        name = number_key(number)
        self._store.stage(CLOSED, name, seal(planes.astype(_WORD, copy=False).data, CLOSED + name))

    @staticmethod
    def first_key(name: bytes) -> Key:
        """Return the first key of a block by its name."""
        return int.from_bytes(name, "big") << _BLOCK_BITS

    def numbers(self) -> list[int]:
        """Return the numbers of all blocks."""
        if (file := self._store.table_file) is not None:
            return file.units()
        return [int.from_bytes(name, "big") for name in self._store.names(CLOSED)]

    def block(self, number: int) -> Codes:
        """Return the codes of all keys of a block, in order; `DamagedError` if it is damaged."""
        return _codes(self.planes(number), np.arange(BLOCK_KEYS, dtype=np.uint32), np.uint64(0))

    @property
    def stored_bytes(self) -> int:
        """The bytes of the table on disk."""
        if (file := self._store.table_file) is not None:
            return file.stored_bytes
        return len(self._store.names(CLOSED)) * BLOCK_KEYS // 4

    def planes(self, number: int) -> Planes:
        """Return a block, of zeroes if it is missing; `DamagedError` if it is damaged."""
        name = number_key(number)
        if (raw := self._store.read(CLOSED, name)) is None:
            # Otherwise it may have been moved to the file meanwhile.
            return self._filed(number)
        try:
            payload = unseal(raw, f"block {number} of its depths", CLOSED + name)
            return np.frombuffer(payload, dtype=_WORD).reshape(2, BLOCK_WORDS)
        except (DamagedError, ValueError) as error:
            raise self._store.damaged(str(error)) from error

    def _filed(self, number: int) -> Planes:
        """Return a block of the table's file, without the layer that is not committed yet."""
        if (file := self._store.table_file) is None or number >= file.shape.blocks * file.shape.units:
            return np.zeros((2, BLOCK_WORDS), dtype=_WORD)
        bitmaps, layer = file.read_unit(number)
        planes = bitmaps[:2].copy()
        if layer > file.committed:
            code = code_of(layer)
            low, high = (planes[0] if code & 1 else ~planes[0]), (planes[1] if code >> 1 else ~planes[1])
            planes &= ~(bitmaps[2] & low & high)
        return planes


def require_below(keys: Keys, depth: Depth, numbers: int) -> None:
    """Raise `PuzzleError` if the last of increasing keys is not below `numbers`."""
    if len(keys) and (last := key_at(keys, -1)) >= numbers:
        raise PuzzleError(f"layer {depth} has the configuration {last:#x}, but the puzzle has {numbers:,} numbers")


@jit
def enter_keys(planes: NDArray[np.uint64], touched: NDArray[np.bool_], keys: Keys, first: np.uint64, code: int) -> None:
    """Enter keys in the planes of the blocks from the key `first` on; mark the blocks that it has `touched`."""
    for index in range(len(keys)):
        offset = np.uint64(keys[index]) - first
        block, word = offset >> np.uint64(18), (offset >> np.uint64(6)) & np.uint64(4095)
        bit = np.uint64(1) << (offset & np.uint64(63))
        touched[block] = True
        planes[block, 0, word] |= bit * np.uint64(code & 1)
        planes[block, 1, word] |= bit * np.uint64(code >> 1)


class TableLayer:
    """All configurations in the table of a run: they are subtracted in place of a layer that is not kept."""

    def __init__(self, store: TableLedger, layout: Layout) -> None:
        self._table, self._layout = DepthTable(store), layout
        self._numbers = self._table.numbers()
        self.size = len(self._numbers) * BLOCK_KEYS

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        raise NotImplementedError("a table is only subtracted")

    def sample(self) -> Keys:
        raise NotImplementedError("a table is only subtracted")

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        begin, end = (
            bisect_left(self._numbers, low >> _BLOCK_BITS),
            bisect_right(self._numbers, high - 1 >> _BLOCK_BITS),
        )
        for number in self._numbers[begin:end]:
            low_bits, high_bits = self._table.planes(number)
            bits = np.unpackbits((low_bits | high_bits).view(np.uint8), bitorder="little")
            keys = np.flatnonzero(bits) + number * BLOCK_KEYS
            yield slice_between(keys.astype(self._layout.dtype), low, high)

    def at_most(self, low: Key, high: Key) -> int:
        return min(self.size, high - low)

    def exclude_from(self, keys: Keys) -> Keys:
        others: Keys = keys[self._table.codes(keys) == 0]
        return others


@jit
def _codes(planes: Planes, keys: Keys, first: np.uint64) -> Codes:
    codes = np.empty(len(keys), dtype=np.uint8)
    for index in range(len(keys)):
        offset = np.uint64(keys[index]) - first
        word, shift = offset >> np.uint64(6), offset & np.uint64(63)
        low, high = planes[0, word] >> shift & np.uint64(1), planes[1, word] >> shift & np.uint64(1)
        codes[index] = low + (high << np.uint64(1))
    return codes
