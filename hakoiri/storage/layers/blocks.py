"""A layer as coded blocks, the only form of keys in LMDB, in spill files and between processes; and its digest.

Each key is mixed to 64 bits in two independent ways; each lane is the sum of the mixed keys modulo 2**64. So the
digests of disjoint key ranges add up to the digest of the layer, and workers can compute them side by side. 128 bits
suffice against every fault of hardware or program; they are no defence against a forger.

Lane 0 is the finaliser of splitmix64 (Stafford's mix 13), lane 1 that of MurmurHash3, each on the key plus a
different odd constant, so that key 0 counts too. A wide key is mixed word by word, the most significant first: each
word is added to the result for the words before it.

    LMDB key    depth, four bytes, and the block's first configuration, both big-endian
    LMDB value  CRC-32 of the LMDB key and all that follows; the number of keys; four bytes each, big-endian;
                then the differences between the keys (`storage.layers.codec`)

so that one seek finds the block that may hold a configuration. The maker of a block computes its checksum; only its
reader decodes it. A block is broken if its CRC differs, or if its bytes are not exactly that number of strictly
increasing keys. Blocks that are spilled or sent may be coded as bits instead (`storage.layers.codec`): a flag in the
number of keys marks them.
"""

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, popcount
from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Key, Keys, Layout, ints, layout_of
from hakoiri.keys.splitmix import word_after, words_after
from hakoiri.storage.layers.codec import (
    MOST_WORD_BYTES,
    WORD_BITS,
    Bytes,
    Words,
    decode_block,
    encode_bits,
    encode_block,
    list_coded,
    list_words,
    longest_varint,
    set_coded,
)
from hakoiri.storage.names import block_key

#: Two lanes of 64 bits, e.g. ``(0x..., 0x...)``.
Lanes = tuple[int, int]
NOTHING: Lanes = (0, 0)

_LANE_1 = np.uint64(0xC2B2AE3D27D4EB4F)
_MURMUR_1, _MURMUR_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@jit
def _murmur(y: np.uint64) -> np.uint64:
    y = (y ^ (y >> np.uint64(33))) * _MURMUR_1
    y = (y ^ (y >> np.uint64(33))) * _MURMUR_2
    return y ^ (y >> np.uint64(33))


@jit
def _lanes(keys: Keys) -> tuple[np.uint64, np.uint64]:
    lane_0 = np.uint64(0)
    lane_1 = np.uint64(0)
    for index in range(len(keys)):
        if keys.ndim == 1:
            word = np.uint64(keys[index])
            lane_0 += word_after(word)
            lane_1 += _murmur(word + _LANE_1)
        else:
            x = np.uint64(0)
            y = np.uint64(0)
            for number in range(keys.shape[1]):
                x = word_after(x + keys[index, number])
                y = _murmur(y + keys[index, number] + _LANE_1)
            lane_0 += x
            lane_1 += y
    return lane_0, lane_1


def lanes_of(keys: Keys) -> Lanes:
    """Return the lanes of a batch of distinct keys."""
    lane_0, lane_1 = _lanes(keys)
    return int(lane_0), int(lane_1)


def mixed(keys: Keys, seed: int) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each key that depends on `seed`."""
    found = np.full(len(keys), seed % (1 << 64), dtype=np.uint64)
    for word in keys.T if keys.ndim == 2 else [keys]:
        found = words_after(found + word)
    return found


def add_lanes(one: Lanes, other: Lanes) -> Lanes:
    """Return the lanes of the union of two disjoint sets."""
    return (one[0] + other[0]) % (1 << 64), (one[1] + other[1]) % (1 << 64)


def sum_lanes(parts: Iterable[Lanes]) -> Lanes:
    """Return the lanes of the union of disjoint sets."""
    return reduce(add_lanes, parts, NOTHING)


def digest_text(lanes: Lanes) -> str:
    """Return the 32 hexadecimal digits that users compare."""
    return f"{lanes[0]:016x}{lanes[1]:016x}"


def lanes_in(text: str) -> Lanes:
    """The inverse of `digest_text`."""
    return int(text[:16], 16), int(text[16:], 16)


def chain(parts: Iterable[bytes | str | Iterator[bytes]]) -> str:
    """Return the digest of a whole run from those of its parts, in order: SHA-256 over them, each ended by a newline.

    A part may come in pieces.
    """
    whole = hashlib.sha256()
    for part in parts:
        for piece in (part,) if isinstance(part, bytes | str) else part:
            whole.update(piece.encode() if isinstance(piece, str) else piece)
        whole.update(b"\n")
    return whole.hexdigest()


Buffer = bytes | bytearray | memoryview
_COUNT_BYTES = 4
HEADER_BYTES = 4 + _COUNT_BYTES
#: A full block with its header fills sixteen pages of LMDB to the last byte (LMDB's own page header takes 16).
ROOM_BYTES = 16 * 4096 - 16 - HEADER_BYTES
#: Added to the number of keys of a block whose keys are coded as bits. The store contains no such blocks.
_BITS = 1 << 31


class Coded(NamedTuple):
    """Blocks in increasing order: their first keys, their numbers of keys and of bytes (int64), and their values."""

    firsts: Keys
    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]
    data: memoryview

    @classmethod
    def empty(cls, layout: Layout) -> "Coded":
        """Return no blocks."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(layout.empty(0), nothing, nothing, memoryview(b""))

    def values(self) -> Iterator[memoryview]:
        """Yield the LMDB value of each block."""
        begin = 0
        for length in self.lengths.tolist():
            yield self.data[begin : begin + length]
            begin += length

    def blocks(self, number: int) -> Iterator["Block"]:
        """Yield each block, as one of layer `number`."""
        for first, count, value in zip(ints(self.firsts), self.counts.tolist(), self.values(), strict=True):
            yield Block(number, first, count, value)

    def between(self, begin: int, end: int) -> "Coded":
        """Return the blocks begin <= number < end."""
        low, high = int(self.lengths[:begin].sum()), int(self.lengths[:end].sum())
        chosen = slice(begin, end)
        return Coded(self.firsts[chosen], self.counts[chosen], self.lengths[chosen], self.data[low:high])


class Block(NamedTuple):
    """One coded block: the layer that it is made for, its first key, its number of keys (`size`), its LMDB value."""

    number: int
    first: Key
    size: int
    value: Buffer


def code_keys(number: int, keys: Keys) -> Coded:
    """Code the distinct keys of a sorted batch for layer `number`."""
    layout = layout_of(keys)

    def encode(begin: int, room: Bytes) -> tuple[int, int, int]:
        end, count, differences = encode_block(keys, begin, room, layout)
        return end, count, len(differences)

    begins, counts, lengths, data = _code(0, len(keys), len(keys), longest_varint(layout), encode)
    firsts = keys[np.array(begins, dtype=np.int64)]
    return _sealed(number, firsts, counts, lengths, data)


#: Words whose keys are listed at a time: these stay in the first-level cache.
_LINE = 128
#: Differences coded together if each is one byte: so no byte waits for the one before.
_TOGETHER = 32


@jit
def _code_line(
    keys: Keys, total: np.uint64, count: np.uint64, data: Bytes, columns: NDArray[np.int64], header: int, most: int,
    state: tuple[int, bool, np.uint64, np.uint64],
) -> tuple[int, bool, np.uint64, np.uint64]:  # fmt: skip
    """Code `total` keys after the first, `count` keys before them, as `_encode` does for all.

    Return the `state` after them: the number of full blocks, whether one is open, the bytes used, and up to where.
    """
    blocks, is_open, used, limit = state
    one, low = np.uint64(1), np.uint64(127)
    at = one
    while at <= total:
        if not is_open:
            columns[0, blocks], columns[1, blocks], columns[2, blocks] = keys[at], count + at - one, used
            used += np.uint64(header)
            limit, is_open = used + np.uint64(most), True
            at += one
            continue
        after = min(at + np.uint64(_TOGETHER), total + one)
        if used + (after - at) <= limit + one:
            widest = np.uint64(0)
            for place in range(np.int64(after - at)):
                index = at + np.uint64(place)
                difference = np.uint64(keys[index]) - np.uint64(keys[index - one])
                widest |= difference
                data[used + np.uint64(place)] = np.uint8(difference)
            if widest <= low:
                used, at = used + (after - at), after
                continue
        while at < after and used <= limit:
            difference = np.uint64(keys[at]) - np.uint64(keys[at - one])
            while difference > low:
                data[used] = np.uint8((difference & low) | np.uint64(128))
                difference >>= np.uint64(7)
                used += one
            data[used] = np.uint8(difference)
            used += one
            at += one
        if used > limit:
            blocks, is_open = blocks + 1, False
    return blocks, is_open, used, limit


@jit
def _sum_words(
    words: Words, first: np.uint64, keys: Keys, data: Bytes, columns: NDArray[np.int64], header: int, most: int
) -> tuple[int, np.uint64, np.uint64]:
    """Return the number of blocks of a bitmap, and the lanes of its keys. With room for no column, code none.

    A block's column gets its first key, how many keys are before it, and its first byte in `data`; the last one, ends.
    """
    nothing = np.uint64(0)
    lane_0, lane_1, count = nothing, nothing, nothing
    state = 0, False, nothing, nothing
    for line in range(0, len(words), _LINE):
        some, total = words[line : line + _LINE], nothing
        for word in range(len(some)):
            total += popcount(some[word])
        if total == nothing:
            continue
        # The first place has the last key of the line before.
        list_words(some, first + (np.uint64(line) << np.uint64(6)), keys[1:])
        lanes = _lanes(keys[1 : np.int64(total) + 1])
        lane_0, lane_1 = lane_0 + lanes[0], lane_1 + lanes[1]
        if columns.shape[1] > 0:
            state = _code_line(keys, total, count, data, columns, header, most, state)
        keys[0] = keys[total]
        count += total
    blocks, is_open, used, _ = state
    if columns.shape[1] > 0:
        columns[1, blocks + is_open], columns[2, blocks + is_open] = count, used
    return blocks + is_open, lane_0, lane_1


def sum_words(words: Words, base: Key, layout: Layout, number: int = 0, count: int = 0) -> tuple[Lanes, Coded | None]:
    """Return the lanes of the keys of a bitmap, whose first bit is `base`; and if so many are given, their blocks.

    These are for layer `number`. As `lanes_of` and `code_keys` of all keys, but these are never in memory together.
    """
    keys, longest = layout.empty((_LINE + 1) * WORD_BITS), longest_varint(layout)
    blocks = count * longest // (ROOM_BYTES - longest) + 1 if count else 0
    data = np.empty(count * longest + blocks * (HEADER_BYTES + longest), dtype=np.uint8)
    columns = np.empty((3, blocks + 1 if count else 0), dtype=np.int64)
    found, *lanes = _sum_words(words, np.uint64(base), keys, data, columns, HEADER_BYTES, ROOM_BYTES - longest)
    coded = None
    if count:
        firsts, (counts, lengths) = columns[0, :found].astype(layout.dtype), np.diff(columns[1:, : found + 1])
        # A copy, without the unused room.
        data = data[: columns[2, found]].copy()
        coded = _sealed(number, firsts, counts.tolist(), lengths.tolist(), data)
    return (int(lanes[0]), int(lanes[1])), coded


def code_bits(number: int, words: Words, base: Key, filled: int, layout: Layout) -> Coded:
    """Code the keys of a bitmap as bits; `filled` >= 1 of its words are not 0, and bit 0 stands for `base`."""
    end = len(words) * WORD_BITS

    def encode(begin: int, room: Bytes) -> tuple[int, int, int]:
        return encode_bits(words, begin, end, room)

    # With no room, the first set bit is returned: nothing fits.
    begin, *_ = encode(0, np.empty(0, dtype=np.uint8))
    begins, counts, lengths, data = _code(begin, end, filled, MOST_WORD_BYTES, encode)
    return _sealed(number, layout.pack([base + place for place in begins]), counts, lengths, data, _BITS)


def join_coded(parts: Sequence[Coded]) -> Coded:
    """Return the blocks of all parts, of which there is at least one, in turn."""
    if len(parts) == 1:
        return parts[0]
    *columns, data = zip(*parts, strict=True)
    firsts, counts, lengths = map(np.concatenate, columns)
    return Coded(firsts, counts, lengths, memoryview(b"".join(data)))


def join_blocks(blocks: Sequence[Block], layout: Layout) -> Coded:
    """Return some blocks of one layer as `Coded`."""
    numbers = np.array([[block.size, len(block.value)] for block in blocks], dtype=np.int64).reshape(-1, 2)
    data = memoryview(b"".join(block.value for block in blocks))
    return Coded(layout.pack([block.first for block in blocks]), numbers[:, 0], numbers[:, 1], data)


def count_of(value: Buffer) -> int:
    """Return the number of keys in the header of an LMDB value."""
    return int.from_bytes(value[4:HEADER_BYTES], "big") % _BITS


def has_bits(value: Buffer) -> bool:
    """Return whether the keys of a block are coded as bits."""
    return len(value) > 4 and value[4] & 0x80 != 0


def decode(block: Block, layout: Layout) -> Keys:
    """Return the keys of a block; `DamagedError` if a byte of it differs."""
    keys = None
    if is_sound(block, layout):
        data = memoryview(block.value)[HEADER_BYTES:]
        if not has_bits(block.value):
            keys = decode_block(data, block.first, block.size, layout)
        elif layout.words == 1:
            keys = list_coded(data, block.first // WORD_BITS * WORD_BITS, layout.empty(block.size))
    if keys is None:
        wrong = f"its bytes are not {block.size} increasing keys" if is_sound(block, layout) else "its checksum differs"
        raise DamagedError(f"layer {block.number}, block {block.first:#x} is damaged: {wrong}")
    return keys


def set_bits(block: Block, words: Words, base: Key, layout: Layout) -> bool:
    """Set the keys of a block in a bitmap whose bit 0 is `base`, a multiple of `WORD_BITS`; return whether it did.

    Some keys may be set if not. It does so for a sound block that is coded as bits and has no key beyond the bitmap.
    """
    first = block.first // WORD_BITS - base // WORD_BITS
    if first < 0 or not has_bits(block.value) or not is_sound(block, layout):
        return False
    return set_coded(memoryview(block.value)[HEADER_BYTES:], words[first:]) == block.size


def is_sound(block: Block, layout: Layout) -> bool:
    """Return whether the checksum of a block and its number of keys are right."""
    if block.first > layout.greatest:
        return False
    value, name = memoryview(block.value), block_key(block.number, block.first, layout.bytes)
    checksum = int.from_bytes(value[:4], "big")
    return count_of(value) == block.size and zlib.crc32(value[4:], zlib.crc32(name)) == checksum


def _code(
    begin: int, end: int, items: int, longest: int, encode: Callable[[int, Bytes], tuple[int, int, int]]
) -> tuple[list[int], list[int], list[int], Bytes]:
    """Return each block's beginning, number of keys, bytes with the header; and the bytes of all, headers unset.

    There are `items` items of at most `longest` bytes each.
    """
    # Every block but the last fills nearly all of its room.
    blocks = items * longest // (ROOM_BYTES - longest) + 1
    data = np.empty(items * longest + blocks * (HEADER_BYTES + longest), dtype=np.uint8)
    begins, counts, lengths, used = [], [], [], 0
    while begin < end:
        room = data[used + HEADER_BYTES :][:ROOM_BYTES]
        begins.append(begin)
        begin, keys, length = encode(begin, room)
        counts.append(keys)
        lengths.append(HEADER_BYTES + length)
        used += HEADER_BYTES + length
    return begins, counts, lengths, data[:used]


def _sealed(number: int, firsts: Keys, counts: list[int], lengths: list[int], data: Bytes, kind: int = 0) -> Coded:
    """Write the header of each block; `kind` is added to its number of keys."""
    view, used = data.data, 0
    key_bytes = layout_of(firsts).bytes
    for first, count, length in zip(ints(firsts), counts, lengths, strict=True):
        value = view[used : used + length]
        value[4:HEADER_BYTES] = (kind + count).to_bytes(_COUNT_BYTES, "big")
        value[:4] = zlib.crc32(value[4:], zlib.crc32(block_key(number, first, key_bytes))).to_bytes(4, "big")
        used += length
    numbers = np.array([counts, lengths], dtype=np.int64)
    return Coded(firsts, numbers[0], numbers[1], view)
