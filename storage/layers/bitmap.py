"""Bitmaps of dense keys, coded as `storage.layers.codec` codes sorted keys: no array of keys between.

Bit b of word w stands for the key ``base + 64 * w + b``.
"""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit, lowest_bit
from storage.layers.codec import Bytes

Words = NDArray[np.uint64]


@jit
def _encode_bits(words: Words, begin: int, end: int, room: Bytes, longest: int) -> tuple[int, int, int]:
    used = 0
    count = 1
    previous = begin
    last = len(room) - longest
    low = np.uint64(127)
    number = (begin + 1) >> 6
    last_number = (end - 1) >> 6
    if number > last_number:
        return end, count, used
    word = words[number] & (~np.uint64(0) << np.uint64((begin + 1) & 63))
    while True:
        while word == np.uint64(0):
            number += 1
            if number > last_number:
                return end, count, used
            word = words[number]
        place = (number << 6) + int(lowest_bit(word))
        if place >= end:
            return end, count, used
        if used > last:
            return place, count, used
        rest = np.uint64(place - previous)
        while rest > low:
            room[used] = np.uint8((rest & low) | np.uint64(128))
            rest >>= np.uint64(7)
            used += 1
        room[used] = np.uint8(rest)
        used += 1
        count += 1
        previous = place
        word &= word - np.uint64(1)


def encode_bits(words: Words, begin: int, end: int, room: Bytes, longest: int) -> tuple[int, int, int]:
    """The differences, of up to `longest` bytes, of the bits behind bit `begin` and before `end`, while `room` lasts.

    Gives the bit that begins the next block, or `end`; the number of bits coded, `begin` among them; and bytes used.
    """
    following, count, used = _encode_bits(words, begin, end, room, longest)
    return int(following), int(count), int(used)
