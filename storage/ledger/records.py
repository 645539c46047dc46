"""Small records in LMDB: a CRC-32 of four bytes, big-endian, then a msgpack map.

The CRC is over the record's place (the names of its database and entry) and the map. A record is broken if it differs.
"""

import zlib
from typing import Any

import msgpack

from hakoiri.storage.errors import DamagedError

_CRC_BYTES = 4


def pack_record(fields: dict[str, Any], place: bytes = b"") -> bytes:
    """The bytes of a record for its `place`, so that no other record can pass for it."""
    return seal(msgpack.packb(fields, use_bin_type=True), place)


def unpack_record(raw: bytes, what: str, place: bytes = b"") -> dict[str, Any]:
    """The fields of a record; `DamagedError` that names `what` if a byte or its place differs."""
    try:
        fields = msgpack.unpackb(unseal(raw, what, place), raw=False, strict_map_key=False)
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{what} is damaged: {error}") from error
    if not isinstance(fields, dict):
        raise DamagedError(f"{what} is not a record")
    return fields


def seal(payload: bytes, context: bytes = b"") -> bytes:
    """`payload` behind the CRC of `context` and itself; the context is where the bytes belong, so none can move."""
    return zlib.crc32(payload, zlib.crc32(context)).to_bytes(_CRC_BYTES, "big") + payload


def unseal(raw: bytes | memoryview, what: str, context: bytes = b"") -> memoryview:
    """The payload behind a CRC; `DamagedError` that names `what` if it does not fit."""
    view = memoryview(raw)
    payload = view[_CRC_BYTES:]
    expected, found = int.from_bytes(view[:_CRC_BYTES], "big"), zlib.crc32(payload, zlib.crc32(context))
    if len(view) < _CRC_BYTES or expected != found:
        raise DamagedError(f"{what} is damaged: checksum {expected:08x} expected, {found:08x} found")
    return payload
