"""The digest of a set of configurations, which depends on neither its division into parts nor their order.

Each key is mixed to 64 bits in two independent ways; each lane is the sum of the mixed keys modulo 2**64. So the
digests of disjoint key ranges add up to the digest of the layer, and workers can compute them side by side. 128 bits
suffice against every fault of hardware or program; they are no defence against a forger.

Lane 0 is the finaliser of splitmix64 (Stafford's mix 13), lane 1 that of MurmurHash3, each on the key plus a
different odd constant, so that key 0 counts too. A wide key is mixed word by word, the most significant first: each
word is added to the result for the words before it.
"""

import hashlib
from collections.abc import Iterable, Iterator
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import Keys

#: Two lanes of 64 bits, e.g. ``(0x..., 0x...)``.
Lanes = tuple[int, int]
NOTHING: Lanes = (0, 0)

_LANE_0 = np.uint64(0x9E3779B97F4A7C15)
_LANE_1 = np.uint64(0xC2B2AE3D27D4EB4F)
_STAFFORD_1, _STAFFORD_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_MURMUR_1, _MURMUR_2 = np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53)


@jit
def stafford(x: np.uint64) -> np.uint64:
    """Mix 64 bits."""
    x = (x ^ (x >> np.uint64(30))) * _STAFFORD_1
    x = (x ^ (x >> np.uint64(27))) * _STAFFORD_2
    return x ^ (x >> np.uint64(31))


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
            lane_0 += stafford(word + _LANE_0)
            lane_1 += _murmur(word + _LANE_1)
        else:
            x = np.uint64(0)
            y = np.uint64(0)
            for number in range(keys.shape[1]):
                x = stafford(x + keys[index, number] + _LANE_0)
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
    found = np.full(len(keys), (seed + int(_LANE_0)) % (1 << 64), dtype=np.uint64)
    for word in keys.T if keys.ndim == 2 else [keys]:
        found += word
        for factor in (_STAFFORD_1, _STAFFORD_2):
            found ^= found >> np.uint64(31)
            found *= factor
        found ^= found >> np.uint64(31)
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
