"""Messages between coordinator, workers and hosts: arrays as bytes, plain values in arrays, requests and events.

An array is [kind, dtype or layout, shape, bytes]. Kind ``k`` is a strictly increasing batch of keys, delta-coded as on
disk (about a third of its raw size): its first key, big-endian, and the differences. Kind ``r`` is any other array of
numbers, raw, little-endian. Nothing here can name or run code.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Annotated, Any, Literal, TypeVar

import msgpack
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from hakoiri.errors import DamagedError, Hint, PayloadError
from hakoiri.keys.layout import BATCHES, is_batch, layout_of
from hakoiri.keys.order import is_increasing
from hakoiri.storage.layers.codec import decode_block, encode_block, longest_varint
from hakoiri.storage.ledger.manifest import MOST_BYTES, MOST_UNTYPED, read_msgpack, seal, typed, unseal

Array = NDArray[Any]
Arrays = Sequence[Array]
_Read = TypeVar("_Read")


def packed(value: Any) -> list[Array]:
    """Return a dataclass or plain values as an array, in a list for more arrays."""
    # Not `asdict`, which copies 2,048 numbers one by one for 64 hosts: 1.3 ms for each request.
    raw = msgpack.packb(value, default=lambda made: {each.name: getattr(made, each.name) for each in fields(made)})
    return [np.frombuffer(raw, dtype=np.uint8)]


def unpacked(arrays: Sequence[Array], kind: type[_Read], most: int = MOST_BYTES) -> _Read:
    """The inverse of `packed`, for the first of some arrays; `PayloadError` unless it is a `kind` of `most` bytes."""
    try:
        return read_msgpack(arrays[0].tobytes(), kind, most)
    except (ValueError, LookupError) as error:
        raise PayloadError(f"a message is not readable: {error}") from error


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


#: The most bytes of a result that needs no round trip of its own; less than an event may have.
INLINE_BYTES = 1 << 18
EventKind = Literal["started", "done", "missing", "failed", "refused"]


@dataclass(frozen=True)
class TaskRequest:
    """One attempt at one chunk, which `token` names.

    `shared` names the arrays shared with other chunks, each of which comes in so many `pieces`. `keep` is the lifetime
    of the answer in Redis, in seconds, `puzzle` a `PuzzleSpec` as a map, `program` the digests of the code that must
    answer (`worker.program`).
    """

    session: str
    token: str
    attempt: int
    shared: int
    keep: int
    puzzle: dict[str, Any]
    program: dict[str, str]
    pieces: list[int] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        # Not `asdict`, which copies all that is in it: 0.2 ms for each job.
        return {**vars(self)}


@dataclass(frozen=True)
class Event:
    """The outcome of an attempt: `detail` says why it brought no result, `hints` what may help.

    A `result` of up to `INLINE_BYTES` comes with it, a larger one under a key of its own (`connection.result_key`).
    """

    kind: EventKind
    token: str
    attempt: int
    worker: str
    detail: str = ""
    hints: tuple[Hint, ...] = ()
    result: bytes | None = None

    def pack(self) -> bytes:
        return bytes(msgpack.packb(vars(self), use_bin_type=True))

    @classmethod
    def unpack(cls, raw: bytes) -> "Event":
        """The inverse of `pack`; `PayloadError` for anything else."""
        try:
            fields = read_msgpack(raw, dict[str, Any], MOST_UNTYPED)
            return typed(fields | {"hints": Hint.read(fields.get("hints", ()))}, cls)
        except (ValueError, TypeError) as error:
            raise PayloadError(f"a message in Redis is not readable: {error}") from error


class MsgpackSerializer:
    """RQ's serializer. IMPORTANT: pass it everywhere; RQ's default is pickle, which runs code from Redis."""

    dumps = staticmethod(partial(msgpack.packb, use_bin_type=True))
    loads: Any = staticmethod(partial(read_msgpack, kind=object, most=MOST_UNTYPED))
