"""Codec of bitmaps of dense keys: for each word with keys, a mask of its non-zero bytes (bit b: byte b), then these.

A 0 and a varint stand for that many words without keys. With five keys or more per word this takes fewer bytes than
`storage.layers.codec`, and less time, because no array of keys is made. Bit b of word w stands for the key
``base + 64 * w + b``; bases are multiples of 64.
"""

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit, lowest_bit, popcount
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.codec import Bytes, frozen

Words = NDArray[np.uint64]
WORD_BITS = 64
#: The most bytes that a word takes, together with the number of words before it.
MOST_WORD_BYTES = 20
_ONE, _BYTE, _BYTES = np.uint64(1), np.uint64(255), 8
#: Shift from a bit number to its word, and mask for the bit within the word.
_WORD, _WITHIN = np.uint64(6), np.uint64(63)
#: The greatest shift of a varint: the number of words of all 64-bit keys needs no longer one.
_LONGEST = np.uint64(63)


@jit
def _encode(words: Words, begin: int, end: int, room: Bytes) -> tuple[int, int, int]:
    used = np.uint64(0)
    count = np.uint64(0)
    number = np.uint64(begin) >> _WORD
    last = np.uint64(end - 1) >> _WORD
    coded = number
    full = len(room) - MOST_WORD_BYTES
    word = words[number] & (~np.uint64(0) << (np.uint64(begin) & _WITHIN))
    while True:
        if number == last:
            word &= ~np.uint64(0) >> (_WITHIN - (np.uint64(end - 1) & _WITHIN))
        if word != np.uint64(0):
            if np.int64(used) > full:
                return int(number << _WORD) + int(lowest_bit(word)), int(count), int(used)
            gap = number - coded
            if gap != np.uint64(0):
                room[used] = np.uint8(0)
                used += _ONE
                while gap > np.uint64(127):
                    room[used] = np.uint8(gap & np.uint64(127) | np.uint64(128))
                    used += _ONE
                    gap >>= np.uint64(7)
                room[used] = np.uint8(gap)
                used += _ONE
            count += popcount(word)
            place = used
            used += _ONE
            mask = np.uint64(0)
            for byte in range(_BYTES):
                value = word & _BYTE
                word >>= np.uint64(8)
                # Branch-free: the next byte overwrites this one if it is 0.
                room[used] = np.uint8(value)
                some = np.uint64(value != np.uint64(0))
                used += some
                mask |= some << np.uint64(byte)
            room[place] = np.uint8(mask)
            coded = number + _ONE
        if number == last:
            return end, int(count), int(used)
        number += _ONE
        word = words[number]


@jit
def _next(data: Bytes, used: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the number of empty words before the next word, that word, and the bytes used; word 0 if `data` is broken.

    `data` must have at least one byte left.
    """
    size = np.uint64(len(data))
    gap = np.uint64(0)
    mask = np.uint64(data[used])
    used += _ONE
    if mask == np.uint64(0):
        shift = np.uint64(0)
        byte = np.uint64(128)
        while byte > np.uint64(127):
            if used + _ONE >= size or shift == _LONGEST:
                return gap, np.uint64(0), used
            byte = np.uint64(data[used])
            used += _ONE
            gap |= (byte & np.uint64(127)) << shift
            shift += np.uint64(7)
        mask = np.uint64(data[used])
        used += _ONE
    word = np.uint64(0)
    for number in range(_BYTES):
        taken = (mask >> np.uint64(number)) & _ONE
        word |= (np.uint64(data[min(used, size - _ONE)]) * taken) << np.uint64(8 * number)
        used += taken
    return gap, word if used <= size else np.uint64(0), used


@jit
def _list(data: Bytes, base: np.uint64, keys: Keys) -> bool:
    used = np.uint64(0)
    count = 0
    while used < np.uint64(len(data)):
        gap, word, used = _next(data, used)
        if word == np.uint64(0) or count + np.int64(popcount(word)) > len(keys):
            return False
        base += gap << _WORD
        while word != np.uint64(0):
            keys[count] = base + lowest_bit(word)
            word &= word - _ONE
            count += 1
        base += np.uint64(64)
    return count == len(keys)


@jit
def _set(data: Bytes, words: Words) -> int:
    used = np.uint64(0)
    place = np.uint64(0)
    count = np.uint64(0)
    while used < np.uint64(len(data)):
        gap, word, used = _next(data, used)
        place += gap
        if word == np.uint64(0) or place >= np.uint64(len(words)):
            return -1
        words[place] |= word
        count += popcount(word)
        place += _ONE
    return int(count)


def encode_bits(words: Words, begin: int, end: int, room: Bytes) -> tuple[int, int, int]:
    """Encode the bits begin <= bit < end of `words`, as far as `room` lasts.

    Return the first bit of the next block, or `end`; the number of bits coded; and the number of bytes used.
    """
    following, count, used = _encode(words, begin, end, room)
    return int(following), int(count), int(used)


def list_coded(data: "memoryview | bytes", base: int, keys: Keys) -> Keys | None:
    """Return `keys` filled with those of coded words, whose bit 0 is `base`, or ``None`` if the bytes are broken."""
    return keys if _list(frozen(data), np.uint64(base), keys) else None


def set_coded(data: "memoryview | bytes", words: Words) -> int:
    """Set the bits of coded words, whose first is that of `words`; return their number.

    Return -1 if the bytes are broken, or have a bit beyond `words`; then some bits may be set.
    """
    return int(_set(frozen(data), words))
