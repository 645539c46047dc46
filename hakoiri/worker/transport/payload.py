"""Arrays as bytes for Redis: CRC-32, then msgpack of one ``[kind, dtype, shape, bytes]`` per array.

Kind ``k`` is a strictly increasing batch of keys, delta-coded as on disk (about a third of its raw size): `bytes` is
its first key, big-endian, and the differences. Kind ``r`` is any other array of numbers, raw, little-endian. Nothing
here can name or run code.
"""

from typing import Annotated, Any, Literal

import msgpack
import numpy as np
from msgspec import Meta

from hakoiri.puzzles.keys.layout import BATCHES, is_batch, layout_of
from hakoiri.puzzles.keys.order import is_increasing
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.codec import decode_block, encode_block, longest_varint
from hakoiri.storage.ledger.records import read_msgpack, seal, unseal
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.plain import Array, Arrays

#: Redis holds no longer value.
_MOST_BYTES = 1 << 29
_Shape = Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1, max_length=4)]
_Entries = Annotated[list[tuple[Literal["k", "r"], str, _Shape, memoryview]], Meta(max_length=1 << 16)]
#: The array types that tasks exchange.
_DTYPES = {name: np.dtype(name) for name in ("|u1", "<u2", "<u4", "<u8", "<i4", "<i8")}


def pack_arrays(arrays: Arrays) -> bytes:
    """Return the bytes of some arrays."""
    return seal(msgpack.packb([_pack(array) for array in arrays], use_bin_type=True))


def unpack_arrays(raw: bytes | memoryview) -> list[Array]:
    """Return the arrays, writable. Raises `PayloadError` for anything that `pack_arrays` did not write."""
    try:
        return [_unpack(*entry) for entry in read_msgpack(unseal(raw, "payload"), _Entries, _MOST_BYTES)]
    except (DamagedError, ValueError, LookupError, OverflowError) as error:
        raise PayloadError(f"a payload in Redis is not readable: {error}") from error


def _pack(array: Array) -> list[Any]:
    if len(array) and is_batch(array) and is_increasing(array):
        layout = layout_of(array)
        room = np.empty(len(array) * longest_varint(layout), dtype=np.uint8)
        *_, differences = encode_block(array, 0, room, layout)
        return ["k", layout.name, list(array.shape), layout.big_endian(array[:1]) + differences.tobytes()]
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return ["r", little.dtype.str, list(array.shape), little.tobytes()]


def _unpack(kind: str, dtype_name: str, shape: list[int], raw: memoryview) -> Array:
    if kind == "k":
        layout = BATCHES[dtype_name]
        first = int.from_bytes(raw[: layout.bytes], "big")
        keys = decode_block(raw[layout.bytes :], first, shape[0], layout)
        if keys is None:
            raise PayloadError("its keys are malformed")
        return keys
    little = np.frombuffer(raw, dtype=_DTYPES[dtype_name]).reshape(shape)
    # A copy, in the byte order of this machine: kernels accept no other.
    return little.astype(little.dtype.newbyteorder("="))
