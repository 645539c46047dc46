"""Small records in LMDB: a CRC-32 of four bytes, big-endian, then a msgpack map.

The CRC covers the record's place (the names of its database and entry) and the map. A record is broken if it differs.
"""

import zlib
from typing import Any

import msgpack

from hakoiri.storage.errors import DamagedError

_CRC_BYTES = 4


def pack_record(fields: dict[str, Any], place: bytes = b"") -> bytes:
    """Return the bytes of a record, sealed for its `place`, so that no other record can pass for it."""
    return seal(msgpack.packb(fields, use_bin_type=True), place)


def unpack_record(raw: bytes, what: str, place: bytes = b"") -> dict[str, Any]:
    """Return the fields of a record; a `DamagedError` names `what` if the bytes or the place differ."""
    try:
        fields = msgpack.unpackb(unseal(raw, what, place), raw=False, strict_map_key=False)
    except (ValueError, TypeError) as error:
        raise DamagedError(f"{what} is damaged: {error}") from error
    if not isinstance(fields, dict):
        raise DamagedError(f"{what} is not a record")
    return fields


def seal(payload: bytes, context: bytes = b"") -> bytes:
    """Return `payload` behind the CRC of `context` and itself; the context binds the bytes to their place."""
    return zlib.crc32(payload, zlib.crc32(context)).to_bytes(_CRC_BYTES, "big") + payload


def unseal(raw: bytes | memoryview, what: str, context: bytes = b"") -> memoryview:
    """Return the payload behind a CRC; a `DamagedError` names `what` if the CRC differs."""
    view = memoryview(raw)
    payload = view[_CRC_BYTES:]
    expected, found = int.from_bytes(view[:_CRC_BYTES], "big"), zlib.crc32(payload, zlib.crc32(context))
    if len(view) < _CRC_BYTES or expected != found:
        raise DamagedError(f"{what} is damaged: expected checksum {expected:08x}, found {found:08x}")
    return payload
