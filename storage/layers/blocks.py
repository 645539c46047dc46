"""A layer as blocks. One block is one entry of LMDB:

    LMDB key    depth, four bytes, and the block's first configuration, both big-endian
    LMDB value  CRC-32 of the LMDB key and all that follows; the number of keys; four bytes each, big-endian;
                then the differences between the keys (`storage.layers.codec`)

so that one seek finds the block that may hold a configuration. A block is broken if its CRC differs, or if its bytes
are not exactly that number of strictly increasing keys.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.keys.layout import Keys, Layout, ints, layout_of
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.codec import Bytes, decode_block, encode_block, longest_varint
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.ledger.records import seal, unseal
from hakoiri.storage.names import block_key, split_block_key

_COUNT_BYTES = 4
HEADER_BYTES = 4 + _COUNT_BYTES
#: With its header, a full block fills sixteen pages of LMDB to the last byte (LMDB's own page header takes 16).
ROOM_BYTES = 16 * 4096 - 16 - HEADER_BYTES


class Packed(NamedTuple):
    """A strictly increasing batch as coded blocks: what workers send, what is spilled, what the store takes.

    Block b has the keys from ``firsts[b]`` on, ``counts[b]`` of them, and the differences
    ``data[ends[b - 1]:ends[b]]``. `counts` and `ends` are int64.
    """

    firsts: Keys
    counts: NDArray[np.int64]
    ends: NDArray[np.int64]
    data: Bytes

    def parts(self) -> Iterator[tuple[int, int, Bytes]]:
        """(first key, how many keys, their differences) of each block."""
        begin = 0
        for first, count, end in zip(ints(self.firsts), self.counts.tolist(), self.ends.tolist(), strict=True):
            yield first, count, self.data[begin:end]
            begin = end


def pack_blocks(keys: Keys) -> Packed:
    """The distinct keys of a sorted batch, in blocks of the size that the store likes."""
    layout = layout_of(keys)
    room = np.empty(min(ROOM_BYTES, len(keys) * longest_varint(layout) + longest_varint(layout)), dtype=np.uint8)
    begins, counts, pieces = [], [], []
    begin = 0
    while begin < len(keys):
        end, count, differences = encode_block(keys, begin, room, layout)
        begins.append(begin)
        counts.append(count)
        pieces.append(differences.copy())
        begin = end
    data = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.uint8)
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    return Packed(keys[np.array(begins, dtype=np.int64)], np.array(counts, dtype=np.int64), ends, data)


def unpack_blocks(packed: Packed) -> Keys:
    """The keys again; `DamagedError` if the bytes of a block are not its keys."""
    layout = layout_of(packed.firsts)
    blocks = [decode_block(data, first, count, layout) for first, count, data in packed.parts()]
    sound = [block for block in blocks if block is not None]
    if len(sound) != len(blocks):
        raise DamagedError("packed keys are damaged")
    return np.concatenate(sound) if sound else layout.empty(0)


def encode_entries(depth: Depth, packed: Packed) -> Iterator[tuple[bytes, bytes]]:
    """The LMDB entries of some blocks of a layer, in order."""
    key_bytes = layout_of(packed.firsts).bytes
    for first, count, differences in packed.parts():
        name = block_key(depth, first, key_bytes)
        yield name, seal(count.to_bytes(_COUNT_BYTES, "big") + differences.tobytes(), name)


def decode_entry(name: bytes, value: memoryview, layout: Layout) -> Keys:
    """The keys of one entry; `DamagedError` names the layer and the block's first configuration."""
    depth, first = split_block_key(name)
    what = f"layer {depth}, block {first:#x}"
    payload = unseal(value, what, name)
    count = int.from_bytes(payload[:_COUNT_BYTES], "big")
    keys = decode_block(payload[_COUNT_BYTES:], first, count, layout)
    if keys is None:
        raise DamagedError(f"{what} is damaged: its bytes are not {count} increasing keys")
    return keys
