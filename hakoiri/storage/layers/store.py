"""The store of one run: its ledger and its layers of keys. The format of a layer is in `storage.layers.blocks`."""

import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import LAYOUTS, Key, Keys, Mask, ints, key_at
from hakoiri.puzzles.keys.order import lower_bounds, members, slice_between
from hakoiri.storage.errors import DamagedError, ElsewhereError
from hakoiri.storage.layers.blocks import Block, Coded, code_keys, count_of, decode
from hakoiri.storage.layers.digest import digest_text, lanes_of
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import BLOCKS, LABELS, LAYERS, block_key, number_key, split_block_key

#: Most blocks read in one transaction: a long transaction keeps old pages from being used again.
_BATCH = 8


class Entries(Protocol):
    """Sorted entries: those of LMDB (`storage.engine.environment.Environment`), or the blocks of layers at hosts."""

    def get(self, database: bytes, name: bytes) -> bytes | None: ...
    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]: ...
    def entries(self, database: bytes, begin: bytes, most: int) -> list[tuple[bytes, bytes]]: ...
    def name_around(self, database: bytes, wanted: bytes, prefix: bytes) -> bytes | None: ...
    def name_after(self, database: bytes, name: bytes, prefix: bytes) -> bytes | None: ...


class HostedEntries(Entries, Protocol):
    """The blocks of layers at hosts."""

    def members(self, depth: Depth, keys: Keys) -> Mask: ...


class RunStore(Ledger):
    """An open run. Open it `writable` only while holding its lock; `layout` is that of its keys.

    `database` in some methods is BLOCKS, the layers by depth, or CLOSED, the segments of a directed search by number.
    `elsewhere` returns the blocks of layers that hosts keep; it is called when such a layer is read. Callers that can
    reach the hosts set it; without it such a layer is an `ElsewhereError`. `are_keys` is that of the run's puzzle, and
    set by callers that give keys to its kernels. Layers up to `checked_to` are checked when they are read; others were
    made, and checked, by this process.
    """

    def __init__(self, directory: Path, writable: bool = False, durable: bool = True) -> None:
        super().__init__(directory, writable, durable)
        if self.manifest.layout not in LAYOUTS:
            self.close()
            raise self.damaged(f"its manifest is malformed: unknown layout {self.manifest.layout!r}")
        self.layout = LAYOUTS[self.manifest.layout]
        self._indexed: set[Depth] = set()
        self._away: dict[Depth, bool] = {}
        self.elsewhere: Callable[[], HostedEntries] | None = None
        self.are_keys: Callable[[Keys], Mask] | None = None
        self.checked_to = self.state.depth + 1 if writable else sys.maxsize

    def close(self) -> None:
        """Close, and drop everything staged and not committed."""
        # It may refer to this store.
        self.elsewhere = None
        super().close()

    def layer(self, depth: Depth) -> Keys:
        """Return the keys of a layer, strictly increasing. `DamagedError` if a block or the number of keys is wrong."""
        size = self.layer_record(depth).size
        blocks = list(self.blocks(depth))
        keys = np.concatenate(blocks) if blocks else self.layout.empty(0)
        if len(keys) != size:
            raise self.damaged(
                f"layer {depth} has {len(keys)} configurations on disk, expected {size} as in its record"
            )
        return keys

    def blocks(
        self, number: Depth, begin: Key = 0, database: bytes = BLOCKS, after: bool = False, raw: bool = False
    ) -> Iterator[Keys]:
        """Yield the keys of a layer block by block, from the block that may hold `begin` on.

        With `after`, from the first block that begins with `begin` or later. Those that are `raw` are not checked: the
        caller does so for several layers together, which is faster, or only compares them.
        """
        if begin > self.layout.greatest:
            return
        prefix = number_key(number)
        name = block_key(number, begin, self.layout.bytes) if after else self._name_around(database, number, begin)
        most = 1
        while name is not None:
            entries = self._entries(database, number).entries(database, name, most)
            mine = [(found, value) for found, value in entries if found.startswith(prefix)]
            # The least name that is greater.
            name = mine[-1][0] + b"\0" if len(mine) == most else None
            most = min(2 * most, _BATCH)
            for found, value in mine:
                yield self.decode(_block(found, value), raw)

    def coded(self, number: Depth, firsts: Sequence[Key], database: bytes = BLOCKS) -> list[Block]:
        """Return the blocks of a layer that begin with `firsts`, which are neighbours; any thread may `decode` them."""
        names = [block_key(number, first, self.layout.bytes) for first in firsts]
        entries = self._entries(database, number).entries(database, names[0], len(names)) if names else []
        if [name for name, _ in entries] != names:
            raise self.damaged(f"layer {number} changed while it was read")
        return [_block(*entry) for entry in entries]

    def decode(self, block: Block, raw: bool = False) -> Keys:
        """Return the keys of a block; `DamagedError` if it is damaged, or a key is not a configuration."""
        try:
            keys = decode(block, self.layout)
        except DamagedError as error:
            raise self.damaged(str(error)) from error
        is_given = block.number <= self.checked_to or self._away.get(block.number)
        return self.checked(keys, f"layer {block.number}") if is_given and not raw else keys

    def checked(self, keys: Keys, where: str) -> Keys:
        """Return some keys; `DamagedError`, naming `where` they are, if kernels may not take one (`are_keys`)."""
        if self.are_keys is not None and not (right := self.are_keys(keys)).all():
            wrong, puzzle = key_at(keys, int(right.argmin())), self.manifest.puzzle.get("name")
            raise self.damaged(f"{where} has {wrong:#x}, which is not a configuration of {puzzle}")
        return keys

    def slice(self, number: Depth, low: Key, high: Key, database: bytes = BLOCKS, raw: bool = False) -> Keys:
        """Return the keys of a layer with low <= key < high. Decodes the blocks that may hold them; see `blocks`."""
        found = []
        for block in self.blocks(number, low, database, raw=raw):
            found.append(slice_between(block, low, high))
            if key_at(block, -1) >= high - 1:
                break
        return np.concatenate(found) if found else self.layout.empty(0)

    def first_keys(self, number: Depth, database: bytes = BLOCKS) -> list[Key]:
        """Return the first key of each block of a layer."""
        names = self._entries(database, number).names(database, number_key(number))
        return [split_block_key(name)[1] for name in names]

    def contains(self, depth: Depth, keys: Keys) -> Mask:
        """Return for each of `keys`, which increase, whether the layer contains it. Decodes each block at most once."""
        if not 0 <= depth <= self.state.depth:
            return np.zeros(len(keys), dtype=np.bool_)
        self.require_whole(depth)
        return self.members(depth, keys)

    def members(self, number: Depth, keys: Keys, database: bytes = BLOCKS) -> Mask:
        """Return `contains` for a layer or segment that is known to be whole."""
        away = database == BLOCKS and self._is_away(number)
        # If sending the keys takes less than fetching the blocks.
        if away and self.elsewhere is not None and keys.nbytes <= self.layer_record(number).stored_bytes:
            return self.elsewhere().members(number, keys)
        found, entries = np.zeros(len(keys), dtype=np.bool_), self._entries(database, number)
        begin = 0
        while begin < len(keys):
            name = self._name_around(database, number, key_at(keys, begin))
            value = None if name is None else entries.get(database, name)
            if name is None or value is None:
                return found
            block, end = self.decode(_block(name, value), raw=True), len(keys)
            # This block decides all keys before the next block, also those beyond its own last key.
            if key_at(keys, -1) > key_at(block, -1):
                following = entries.name_after(database, name, number_key(number))
                if following is not None:
                    first = self.layout.pack([split_block_key(following)[1]])
                    end = begin + max(1, int(lower_bounds(keys[begin:], first)[0]))
            found[begin:end] = members(block, keys[begin:end])
            begin = end
        return found

    def slab(self, number: int) -> bytes | None:
        """Return the entry of a slab of labels (`storage.results.census`)."""
        name = number_key(number)
        return self.read(LABELS, name) or self._entries(LABELS, 0).get(LABELS, name)

    def find(self, key: Key) -> Depth | None:
        """Return the depth of the layer that holds `key`, or ``None``. Decodes at most one block per layer."""
        wanted = self.layout.pack([key])
        return next((depth for depth in range(self.state.depth + 1) if self.contains(depth, wanted)[0]), None)

    def put_layer(self, depth: Depth, keys: Keys, goals: int, flow: int | None = None) -> LayerRecord:
        """Stage a layer; it is on disk after the next `commit`. `keys` must be strictly increasing."""
        stored, index = self.stage_blocks(depth, code_keys(depth, keys))
        digest, session = digest_text(lanes_of(keys)), self.state.session
        record = LayerRecord(depth, len(keys), digest, goals, stored, index, session, flow)
        self.stage_layer(record)
        return record

    def stage_blocks(self, number: Depth, coded: Coded, index: int = 0, database: bytes = BLOCKS) -> tuple[int, int]:
        """Stage some blocks of a layer, in increasing order; return their bytes, and `index` with their names added."""
        stored, key_bytes = 0, self.layout.bytes
        for first, value in zip(ints(coded.firsts), coded.values(), strict=True):
            name = block_key(number, first, key_bytes)
            self.stage(database, name, bytes(value))
            stored += len(name) + len(value)
            index = zlib.crc32(name, index)
        return stored, index

    def stage_layer(self, record: LayerRecord) -> None:
        """Stage the record of a layer whose blocks are staged or committed."""
        self.stage_record(LAYERS, number_key(record.depth), record.as_dict())
        self._indexed.discard(record.depth)
        self._away.pop(record.depth, None)

    def require_whole(self, depth: Depth) -> None:
        """Raise `DamagedError` unless the blocks of a layer are exactly those of its record. Checked once per layer.

        Each host checks its own part of a layer that hosts keep.
        """
        if depth not in self._indexed:
            if not self._is_away(depth):
                self.require_names(depth, self.layer_record(depth).index, f"layer {depth}")
            self._indexed.add(depth)

    def require_home(self) -> None:
        """Raise `ElsewhereError` if hosts keep layers of the run."""
        if hosts := self.keepers():
            run = self.directory.name
            text = f"layers of run {run} are kept by {', '.join(hosts)}: set HAKOIRI_REDIS to ask them"
            raise ElsewhereError(text, Hint("collect", run))

    def _entries(self, database: bytes, number: Depth) -> Entries:
        """Return the entries that hold a layer, or labels of it: of LMDB, or of hosts."""
        if database not in (BLOCKS, LABELS) or not self._is_away(number):
            return self._environment
        if self.elsewhere is None:
            self.require_home()
            # The layers were collected meanwhile.
            return self._environment
        return self.elsewhere()

    def _is_away(self, depth: Depth) -> bool:
        """Return whether hosts keep a layer."""
        if depth not in self._away and self.read(LAYERS, number_key(depth)) is not None:
            self._away[depth] = self.layer_record(depth).hosted
        return self._away.get(depth, False)

    def require_names(self, number: Depth, index: int, what: str, database: bytes = BLOCKS) -> None:
        """Raise `DamagedError`, naming `what`, unless the CRC-32 of the names of its blocks is `index`."""
        found = 0
        for name in self.names(database, number_key(number)):
            found = zlib.crc32(name, found)
        if found != index:
            raise self.damaged(f"{what} is damaged: its blocks do not match its record")

    def _name_around(self, database: bytes, number: Depth, key: Key) -> bytes | None:
        """Return the name of a layer's block with the greatest first key not above `key`, else of its first block."""
        wanted = block_key(number, key, self.layout.bytes)
        return self._entries(database, number).name_around(database, wanted, number_key(number))


def _block(name: bytes, value: bytes) -> Block:
    """Return an entry of LMDB as a block."""
    return Block(*split_block_key(name), count_of(value), value)
