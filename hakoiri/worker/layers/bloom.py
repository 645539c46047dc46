"""A Bloom filter: a set of keys as bits; it reports most other keys as absent, and never one of its own.

Each key sets two bits, given by the halves of its hash. With four bits a key, some 15 of 100 other keys pass.
"""

import numpy as np

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import Keys, Mask
from hakoiri.storage.layers.bitmap import WORD_BITS, Words
from hakoiri.storage.layers.digest import stafford

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
#: The most bytes per key: with more, hardly any more keys would be rejected.
_BYTES_EACH = 2


@jit
def _places(keys: Keys, index: int, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the two bits of a key; `bits` < 2**32."""
    if keys.ndim == 1:
        mixed = stafford(np.uint64(keys[index]) + _ODD)
    else:
        mixed = np.uint64(0)
        for word in range(keys.shape[1]):
            mixed = stafford(mixed + keys[index, word] + _ODD)
    return (mixed >> _HALF) * bits >> _HALF, (mixed & _LOW) * bits >> _HALF


@jit
def add(words: Words, keys: Keys) -> None:
    """Add some keys to a filter."""
    bits = np.uint64(len(words)) << np.uint64(6)
    for index in range(len(keys)):
        one, other = _places(keys, index, bits)
        words[one >> np.uint64(6)] |= np.uint64(1) << (one & np.uint64(63))
        words[other >> np.uint64(6)] |= np.uint64(1) << (other & np.uint64(63))


@jit
def _look_up(words: Words, keys: Keys, found: Mask) -> None:
    bits = np.uint64(len(words)) << np.uint64(6)
    for index in range(len(keys)):
        one, other = _places(keys, index, bits)
        both = words[one >> np.uint64(6)] >> (one & np.uint64(63))
        both &= words[other >> np.uint64(6)] >> (other & np.uint64(63))
        found[index] = both & np.uint64(1) != 0


def empty_filter(keys: int, most_bytes: int) -> Words:
    """Return a filter for so many keys, within `most_bytes`."""
    size = min(keys * _BYTES_EACH, most_bytes, 1 << 29)
    return np.zeros(max(1, size * 8 // WORD_BITS - 1), dtype=np.uint64)


def may_hold(words: Words, keys: Keys) -> Mask:
    """Return a mask that is false only for keys that are not in the filter."""
    found = np.zeros(len(keys), dtype=np.bool_)
    if len(words):
        _look_up(words, keys, found)
    return found
