"""Small records in LMDB: a CRC-32 of four bytes, big-endian, then a msgpack map.

The CRC covers the record's place (the names of its database and entry) and the map. A record is broken if it differs.
A right CRC proves nothing about who wrote the map: `read_msgpack` reads it, as it reads all msgpack of others.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any, TypeVar

import msgspec

from hakoiri.puzzles.errors import visible
from hakoiri.storage.errors import DamagedError, StorageError

_CRC_BYTES = 4
#: The most bytes of a value with a type, and without one: there an empty map takes one byte, and 72 in memory.
MOST_BYTES, MOST_UNTYPED = 1 << 24, 1 << 22
#: The most levels of maps and lists in a record without a type: what prints a record recurses.
_MOST_LEVELS = 12
#: The most letters of an error, which may quote what was read.
_MOST_SAID = 200
Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
#: The pattern of a digest of lanes as text (`storage.layers.digest`).
DIGEST = "[0-9a-f]{32}"
Digest = Annotated[str, msgspec.Meta(pattern=rf"\A{DIGEST}\Z")]
#: A finite number.
Real = Annotated[float, msgspec.Meta(gt=-(2.0**64), lt=2.0**64)]
_Read = TypeVar("_Read")
_decoder: Callable[[Any], msgspec.msgpack.Decoder[Any]] = cache(msgspec.msgpack.Decoder)


def read_msgpack(raw: bytes | memoryview, kind: type[_Read], most: int = MOST_BYTES) -> _Read:
    """Return the `kind` in msgpack of others, which may be anything; ``ValueError`` in one line unless it fits.

    Memory is taken only for what fits the type. Unknown fields of a dataclass are passed over.
    """
    if len(raw) > most:
        raise ValueError(f"{len(raw):,} bytes, above the limit of {most:,}")
    with _in_one_line():
        found: _Read = _decoder(kind).decode(raw)
        return found


def typed(fields: Mapping[str, Any], kind: type[_Read]) -> _Read:
    """Return the `kind` with these plain values for fields, as `read_msgpack` does."""
    with _in_one_line():
        return msgspec.convert(fields, kind)


@contextmanager
def _in_one_line() -> Iterator[None]:
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ValueError(visible(str(error)).partition("\n")[0][:_MOST_SAID]) from None


def pack_record(fields: dict[str, Any], place: bytes = b"") -> bytes:
    """Return the bytes of a record, sealed for its `place`, so that no other record can pass for it."""
    # Commands that only read do without it.
    import msgpack

    payload = msgpack.packb(fields, use_bin_type=True)
    if len(payload) > MOST_BYTES:
        raise StorageError(f"a record of {len(payload):,} bytes is above the limit of {MOST_BYTES:,}")
    return seal(payload, place)


def unpack_as(kind: type[_Read], raw: bytes, what: str, place: bytes = b"", most: int = MOST_BYTES) -> _Read:
    """Return a record as a `kind`; a `DamagedError` names `what` if the bytes or the place differ, or it is not one."""
    payload = unseal(raw, what, place)
    try:
        return read_msgpack(payload, kind, most)
    except ValueError as error:
        raise DamagedError(f"{what} is malformed: {error}") from error


def unpack_record(raw: bytes, what: str, place: bytes = b"") -> dict[str, Any]:
    """Return the fields of a record, which are of the kinds that JSON has; raises as `unpack_as` does."""
    fields = unpack_as(dict[str, Any], raw, what, place, MOST_UNTYPED)
    if not _is_plain(fields, _MOST_LEVELS):
        raise DamagedError(f"{what} is malformed: it has bytes, numbers as names, or over {_MOST_LEVELS} levels")
    return fields


def _is_plain(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return levels > 0 and all(isinstance(name, str) and _is_plain(part, levels - 1) for name, part in value.items())
    if isinstance(value, list):
        return levels > 0 and all(_is_plain(part, levels - 1) for part in value)
    return value is None or isinstance(value, bool | int | float | str)


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
