"""Sorted keys as bytes: each key's difference to the one before as a 7-bit varint, low bits first.

A byte with its high bit set is followed by another of the same number. Keys are strictly increasing, so a difference
of 0, a byte too few, a byte left over or a number beyond the dtype means that the bytes are broken.
240 million 48-bit keys of the 3x4 sliding tiles take 2.67 bytes apiece this way (design measurement).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.keys import Key, Keys

Bytes = NDArray[np.uint8]

#: A varint of 64 bits takes at most ten bytes.
LONGEST_VARINT = 10


@jit
def _encode(keys: Keys, begin: int, room: Bytes) -> tuple[int, int]:
    """Write differences of keys[begin+1:] until keys or room end; return the next key's index and the bytes used."""
    used = 0
    index = begin + 1
    previous = np.uint64(keys[begin])
    low = np.uint64(127)
    seven = np.uint64(7)
    while index < len(keys) and used + LONGEST_VARINT <= len(room):
        rest = np.uint64(keys[index]) - previous
        previous = np.uint64(keys[index])
        while rest > low:
            room[used] = np.uint8((rest & low) | np.uint64(128))
            rest >>= seven
            used += 1
        room[used] = np.uint8(rest)
        used += 1
        index += 1
    return index, used


@jit
def _decode(data: Bytes, keys: Keys, greatest: int) -> bool:
    """Fill keys[1:] from the differences in `data`, keys[0] being given; tell whether the bytes were sound."""
    used = 0
    previous = np.uint64(keys[0])
    limit = np.uint64(greatest)
    for index in range(1, len(keys)):
        difference = np.uint64(0)
        shift = np.uint64(0)
        while True:
            if used == len(data) or shift > np.uint64(63):
                return False
            byte = np.uint64(data[used])
            used += 1
            if shift == np.uint64(63) and byte > np.uint64(1):
                return False
            difference |= (byte & np.uint64(127)) << shift
            if byte < np.uint64(128):
                break
            shift += np.uint64(7)
        if difference == np.uint64(0) or difference > limit - previous:
            return False
        previous += difference
        keys[index] = previous
    return used == len(data)


def encode_block(keys: Keys, begin: int, room: Bytes) -> tuple[int, bytes]:
    """The differences behind keys[begin], as many as fit into `room`: the index of the first key left, the bytes."""
    index, used = _encode(keys, begin, room)
    return int(index), room[:used].tobytes()


def decode_block(data: memoryview | bytes, first: Key, count: int, dtype: np.dtype[Any]) -> Keys | None:
    """The `count` keys from `first` on, or ``None`` if the bytes are broken."""
    if not 0 < count <= len(data) + 1:
        return None
    keys = np.empty(count, dtype=dtype)
    keys[0] = first
    sound = _decode(np.frombuffer(data, dtype=np.uint8), keys, int(np.iinfo(dtype).max))
    return keys if sound else None
