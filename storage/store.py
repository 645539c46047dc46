"""The store of one run: its books and its layers of keys. The format of a layer is in `storage.blocks`."""

import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from puzzles.keys import LAYOUTS, Key, Keys, Mask
from storage.blocks import decode_entry, encode_layer
from storage.digest import digest_text, lanes_of
from storage.errors import DamagedError
from storage.layout import BLOCKS, LAYERS, block_key, number_key, split_block_key
from storage.ledger import Ledger
from storage.manifest import Depth, LayerRecord


class RunStore(Ledger):
    """An open run. Open it `writable` only while holding its `storage.lock.RunLock`; `dtype` is that of its keys."""

    def __init__(self, directory: Path, writable: bool = False) -> None:
        super().__init__(directory, writable)
        self.dtype = LAYOUTS[self.manifest.layout]
        self._indexed: set[Depth] = set()

    def layer(self, depth: Depth) -> Keys:
        """The keys of a layer, strictly increasing. `DamagedError` if a block or their number is wrong."""
        size = self.layer_record(depth).size
        blocks = list(self.blocks(depth))
        keys = np.concatenate(blocks) if blocks else np.empty(0, dtype=self.dtype)
        if len(keys) != size:
            raise self._damaged(f"layer {depth} has {len(keys)} configurations on disk, its record says {size}")
        return keys

    def blocks(self, depth: Depth) -> Iterator[Keys]:
        """The keys of a layer block by block."""
        for name, value in self._entries(BLOCKS, number_key(depth)):
            yield self._decode(name, value)

    def contains(self, depth: Depth, keys: Keys) -> Mask:
        """One truth value per key: is it in the layer? Decodes at most one block per key."""
        found = np.zeros(len(keys), dtype=np.bool_)
        if not 0 <= depth <= self.state.depth:
            return found
        self._require_index(depth)
        for index, key in enumerate(keys.tolist()):
            block = self._block_around(depth, key)
            if block is not None:
                place = int(np.searchsorted(block, block.dtype.type(key)))
                found[index] = place < len(block) and block[place] == key
        return found

    def find(self, key: Key) -> Depth | None:
        """The depth of the layer that holds `key`, or ``None``. Decodes at most one block per layer."""
        wanted = np.array([key], dtype=self.dtype)
        return next((depth for depth in range(self.state.depth + 1) if self.contains(depth, wanted)[0]), None)

    def put_layer(self, depth: Depth, keys: Keys, goals: int) -> LayerRecord:
        """Stage a layer; it is on disk after the next `commit`. `keys` must be strictly increasing."""
        stored = index = 0
        for name, value in encode_layer(depth, keys):
            self.stage(BLOCKS, name, value)
            stored += len(name) + len(value)
            index = zlib.crc32(name, index)
        digest = digest_text(lanes_of(keys))
        record = LayerRecord(depth, len(keys), digest, goals, stored, index, self.state.session)
        self.stage_record(LAYERS, number_key(depth), record.as_dict())
        self._indexed.discard(depth)
        return record

    def _require_index(self, depth: Depth) -> None:
        """Once per layer: `DamagedError` unless its blocks are those of its record, none lost and none astray."""
        if depth in self._indexed:
            return
        index = 0
        for name in self.names(BLOCKS, number_key(depth)):
            index = zlib.crc32(name, index)
        if index != self.layer_record(depth).index:
            raise self._damaged(f"layer {depth} is damaged: its blocks are not those of its record")
        self._indexed.add(depth)

    def _block_around(self, depth: Depth, key: Key) -> Keys | None:
        """The block of layer `depth` with the greatest first key that is not above `key`."""
        wanted = block_key(depth, key, self.dtype.itemsize)
        with self._environment.transaction() as transaction:
            cursor = transaction.cursor(db=self._databases[BLOCKS])
            found = cursor.set_range(wanted)
            if not found or bytes(cursor.key()) != wanted:
                found = cursor.prev() if found else cursor.last()
            if not found or split_block_key(bytes(cursor.key()))[0] != depth:
                return None
            return self._decode(bytes(cursor.key()), bytes(cursor.value()))

    def _decode(self, name: bytes, value: bytes) -> Keys:
        try:
            return decode_entry(name, memoryview(value), self.dtype)
        except DamagedError as error:
            raise self._damaged(str(error)) from error
