"""A layer as blocks. One block is one entry of LMDB:

    LMDB key    depth, four bytes, and the block's first configuration, both big-endian
    LMDB value  CRC-32 of the LMDB key and all that follows; the number of keys; four bytes each, big-endian;
                then the differences between the keys (`storage.codec`)

so that one seek finds the block that may hold a configuration. A block is broken if its CRC differs, or if its bytes
are not exactly so many strictly increasing keys.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from puzzles.keys import Keys
from storage.codec import decode_block, encode_block
from storage.errors import DamagedError
from storage.layout import block_key, split_block_key
from storage.manifest import Depth
from storage.records import seal, unseal

_COUNT_BYTES = 4
_HEADER_BYTES = 4 + _COUNT_BYTES
#: With its header, a full block fills sixteen pages of LMDB to the last byte (LMDB's own page header takes 16).
_ROOM_BYTES = 16 * 4096 - 16 - _HEADER_BYTES


def encode_layer(depth: Depth, keys: Keys) -> Iterator[tuple[bytes, bytes]]:
    """The LMDB entries of a layer, in order."""
    room = np.empty(_ROOM_BYTES, dtype=np.uint8)
    begin = 0
    while begin < len(keys):
        end, differences = encode_block(keys, begin, room)
        name = block_key(depth, int(keys[begin]), keys.dtype.itemsize)
        yield name, seal((end - begin).to_bytes(_COUNT_BYTES, "big") + differences, name)
        begin = end


def decode_entry(name: bytes, value: memoryview, dtype: np.dtype[Any]) -> Keys:
    """The keys of one entry; `DamagedError` names the layer and the block's first configuration."""
    depth, first = split_block_key(name)
    what = f"layer {depth}, block {first:#x}"
    payload = unseal(value, what, name)
    count = int.from_bytes(payload[:_COUNT_BYTES], "big")
    keys = decode_block(payload[_COUNT_BYTES:], first, count, dtype)
    if keys is None:
        raise DamagedError(f"{what} is damaged: its bytes are not {count} increasing keys")
    return keys
