"""Sorted keys as bytes: as differences, or as the bits of a bitmap.

Differences: each key's difference to the one before as a 7-bit varint, low bits first. A byte with its high bit set is
followed by another of the same number. Keys are strictly increasing, so a difference of 0, a byte too few, a byte left
over or a number beyond the layout means that the bytes are broken. 239,500,800 dense 32-bit keys of the 3x4 sliding
tiles take 1.02 bytes apiece this way; packed as nibbles into 48 bits they would take 2.67 (design measurement).

Bits, for dense keys: for each word with keys, a mask of its non-zero bytes (bit b: byte b), then these. A 0 and a
varint stand for that many words without keys. With five keys or more per word this takes fewer bytes than differences,
and less time, because no array of keys is made. Bit b of word w stands for the key ``base + 64 * w + b``; bases are
multiples of 64.
"""

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit, popcount
from hakoiri.keys.layout import Key, Keys, Layout
from hakoiri.keys.order import equal

Bytes = NDArray[np.uint8]
#: Bits in eight bytes of a varint, and the bits of each that tell that another follows.
_GROUPED, _MORE = 56, np.uint64(0x8080808080808080)


def longest_varint(layout: Layout) -> int:
    """Return the room that a difference takes while it is written: wide ones are, eight bytes at a time."""
    return -(-layout.bits // 7) if layout.words == 1 else 8 * -(-layout.bits // _GROUPED)


@jit
def _encode(keys: Keys, begin: int, room: Bytes, longest: int) -> tuple[int, int, int]:
    """Write differences of keys[begin+1:] until keys or room end; return the next key's index, bytes used, keys.

    A key equal to the one before is passed over, without a branch: dropping duplicates costs nothing here.
    """
    # Unsigned indices: for signed ones numba checks for negative values. 0.60 ns a key instead of 1.22.
    one = np.uint64(1)
    low = np.uint64(127)
    used = np.uint64(0)
    count = one
    index = np.uint64(begin) + one
    size = np.uint64(len(keys))
    last = len(room) - longest
    previous = np.uint64(keys[begin])
    while index < size and np.int64(used) <= last:
        key = np.uint64(keys[index])
        rest = key - previous
        previous = key
        while rest > low:
            room[used] = np.uint8((rest & low) | np.uint64(128))
            rest >>= np.uint64(7)
            used += one
        room[used] = np.uint8(rest)
        new = np.uint64(rest != np.uint64(0))
        used += new
        count += new
        index += one
    # A duplicate must not begin the next block.
    while index < size and np.uint64(keys[index]) == previous:
        index += one
    return int(index), int(used), int(count)


@jit
def _encode_wide(keys: Keys, begin: int, room: Bytes, longest: int) -> tuple[int, int, int]:
    """`_encode` for keys of several words."""
    used = 0
    count = 1
    index = begin + 1
    last = len(room) - longest
    words = keys.shape[1]
    # A word of zeros stands above the difference.
    difference = np.zeros(words + 1, dtype=np.uint64)
    while index < len(keys) and used <= last:
        bits = _difference(keys, index, difference)
        for at in range(0, bits, _GROUPED):
            word, shift = words - (at >> 6), np.uint64(at & 63)
            part = difference[word] >> shift | difference[word - 1] << (np.uint64(63) - shift) << np.uint64(1)
            grouped, place = _grouped(part) | _MORE, np.uint64(used + at // 7)
            for byte in range(8):
                room[place + np.uint64(byte)] = np.uint8(grouped >> np.uint64(8 * byte))
        if bits:
            used += (bits + 6) // 7
            room[used - 1] &= np.uint8(127)
            count += 1
        index += 1
    while index < len(keys) and equal(keys, index, keys, index - 1):
        index += 1
    return index, used, count


@jit
def _grouped(bits: np.uint64) -> np.uint64:
    """Return the lowest 56 bits, seven in each byte."""
    bits = bits & np.uint64(0xFFFFFFF) | (bits & np.uint64(0xFFFFFFF0000000)) << np.uint64(4)
    bits = bits & np.uint64(0x3FFF00003FFF) | (bits & np.uint64(0xFFFC0000FFFC000)) << np.uint64(2)
    return bits & np.uint64(0x7F007F007F007F) | (bits & np.uint64(0x3F803F803F803F80)) << np.uint64(1)


@jit
def _together(bits: np.uint64) -> np.uint64:
    """Return 56 bits that have seven in each byte: the inverse."""
    bits = bits & np.uint64(0x7F007F007F007F) | (bits & np.uint64(0x7F007F007F007F00)) >> np.uint64(1)
    bits = bits & np.uint64(0x3FFF00003FFF) | (bits & np.uint64(0x3FFF00003FFF0000)) >> np.uint64(2)
    return bits & np.uint64(0xFFFFFFF) | (bits & np.uint64(0xFFFFFFF00000000)) >> np.uint64(4)


@jit
def _difference(keys: Keys, index: int, difference: Keys) -> int:
    """Set the words of a difference but the first; return how many bits it has."""
    borrow, top, words = np.uint64(0), 0, keys.shape[1]
    for word in range(words - 1, -1, -1):
        upper, lower = keys[index, word], keys[index - 1, word]
        difference[word + 1] = upper - lower - borrow
        borrow = np.uint64(upper < lower or (upper == lower and borrow > np.uint64(0)))
        if difference[word + 1] != np.uint64(0):
            top = word + 1
    below = difference[top]
    for shift in (1, 2, 4, 8, 16, 32):
        below |= below >> np.uint64(shift)
    return 64 * (words - top) + int(popcount(below)) if top else 0


@jit
def _decode(data: Bytes, keys: Keys) -> bool:
    """Fill keys[1:] from the differences in `data`, given keys[0]; return whether the bytes were sound."""
    # Unsigned indices: 0.54 ns a key instead of 0.74.
    one = np.uint64(1)
    used = np.uint64(0)
    size = np.uint64(len(data))
    previous = np.uint64(keys[0])
    limit = ~np.uint64(0) >> np.uint64(64 - 8 * keys.itemsize)
    index = one
    while index < np.uint64(len(keys)):
        if used == size:
            return False
        difference = np.uint64(data[used])
        used += one
        if difference > np.uint64(127):
            difference &= np.uint64(127)
            shift = np.uint64(7)
            while True:
                if used == size or shift > np.uint64(63):
                    return False
                byte = np.uint64(data[used])
                used += one
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
        index += one
    return bool(used == size)


@jit
def _decode_wide(data: Bytes, keys: Keys) -> bool:
    """`_decode` for keys of several words."""
    used = 0
    longest = (64 * keys.shape[1] + 6) // 7
    for index in range(1, len(keys)):
        word = keys.shape[1] - 1
        keys[index, :] = np.uint64(0)
        held, shift, begin, last = np.uint64(0), 0, used, np.uint64(0)
        while last == np.uint64(0):
            taken, place = np.uint64(0), np.uint64(used)
            if used + 8 <= len(data):
                for byte in range(8):
                    taken |= np.uint64(data[place + np.uint64(byte)]) << np.uint64(8 * byte)
            else:
                for byte in range(len(data) - used):
                    taken |= np.uint64(data[used + byte]) << np.uint64(8 * byte)
            # The top bit of the last byte.
            last = ~taken & _MORE
            last &= ~last + np.uint64(1)
            used += 8 if last == np.uint64(0) else int(popcount(last - np.uint64(1)) + np.uint64(1)) // 8
            if used > len(data) or used - begin > longest:
                return False
            bits = _together(taken & (last + last - np.uint64(1)) & ~_MORE)
            held |= bits << np.uint64(shift)
            shift += _GROUPED
            if shift >= 64:
                keys[index, word] = held
                shift -= 64
                held = bits >> np.uint64(_GROUPED - shift)
                word -= 1
                if word < 0:
                    break
        if word >= 0:
            keys[index, word] = held
        elif held != np.uint64(0) or last == np.uint64(0):
            return False
        if not _add_row(keys, index):
            return False
    return used == len(data)


@jit
def _add_row(keys: Keys, index: int) -> bool:
    """Add the row before to the difference in row `index`; false if that is 0 or goes beyond the key."""
    carry = np.uint64(0)
    nothing = True
    for word in range(keys.shape[1] - 1, -1, -1):
        difference, previous = keys[index, word], keys[index - 1, word]
        if difference != np.uint64(0):
            nothing = False
        total = difference + previous
        above = total + carry
        carry = np.uint64(total < previous or above < total)
        keys[index, word] = above
    return not nothing and carry == np.uint64(0)


def encode_block(keys: Keys, begin: int, room: Bytes, layout: Layout) -> tuple[int, int, Bytes]:
    """Code the differences behind keys[begin], as many as fit into `room`; keys are sorted and may repeat.

    Return the index of the first key left, the number of distinct keys in the block, and a view of the bytes used.
    """
    encode = _encode if layout.words == 1 else _encode_wide
    index, used, count = encode(keys, begin, room, longest_varint(layout))
    return int(index), int(count), room[:used]


def decode_block(data: "memoryview | bytes | Bytes", first: Key, count: int, layout: Layout) -> Keys | None:
    """Return the `count` keys from `first` on, or ``None`` if the bytes are broken."""
    if not 0 < count <= len(data) + 1 or first > layout.greatest:
        return None
    keys = layout.empty(count)
    keys[:1] = layout.pack([first])
    raw = frozen(data)
    sound = (_decode if layout.words == 1 else _decode_wide)(raw, keys)
    return keys if sound else None


def frozen(data: "memoryview | bytes | Bytes") -> Bytes:
    """Return the bytes as a read-only array: numba compiles separately for writable arrays."""
    raw = np.frombuffer(data, dtype=np.uint8)
    raw.flags.writeable = False
    return raw


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
def list_words(words: Words, first: np.uint64, keys: Keys) -> None:
    """Fill `keys` with those of a bitmap, whose first bit is `first`."""
    # Unsigned indices: for signed ones numba checks for negative values. 0.66 ns a key instead of 0.98.
    one = np.uint64(1)
    four = np.uint64(4)
    count = np.uint64(0)
    size = np.uint64(len(keys))
    base = first
    for index in range(len(words)):
        word = words[index]
        if count + np.uint64(WORD_BITS) <= size:
            # Four at a time, perhaps too many in the last step: a branch for each bit would be mispredicted once a
            # word.
            end = count + popcount(word)
            while count < end:
                for place in range(4):
                    keys[count + np.uint64(place)] = base + lowest_bit(word)
                    word &= word - one
                count += four
            count = end
        while word != np.uint64(0):
            keys[count] = base + lowest_bit(word)
            word &= word - one
            count += one
        base += np.uint64(WORD_BITS)


@jit
def _encode_words(words: Words, begin: int, end: int, room: Bytes) -> tuple[int, int, int]:
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
    following, count, used = _encode_words(words, begin, end, room)
    return int(following), int(count), int(used)


def list_coded(data: "memoryview | bytes", base: int, keys: Keys) -> Keys | None:
    """Return `keys` filled with those of coded words, whose bit 0 is `base`, or ``None`` if the bytes are broken."""
    return keys if _list(frozen(data), np.uint64(base), keys) else None


def set_coded(data: "memoryview | bytes", words: Words) -> int:
    """Set the bits of coded words, whose first is that of `words`; return their number.

    Return -1 if the bytes are broken, or have a bit beyond `words`; then some bits may be set.
    """
    return int(_set(frozen(data), words))
