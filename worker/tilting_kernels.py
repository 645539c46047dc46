"""Many fields of Nakuron tilted at once, and whole games played: kernels that release the GIL."""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.nakuron_kernels import MOST_SIDE, PLANES, SIDES, STEP_BITS, WORDS, Words, drops, tilt

Bytes = NDArray[np.uint8]
#: Odd constants of a multiplicative hash, one for each of its two halves.
_ONE, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)


@jit
def digest(field: Words, out: Words) -> None:
    """Write a hash of a field into `out` (2,): 128 bits, so equal ones mean equal fields."""
    words = field.reshape(-1)
    one, other, third, fourth = _ONE, _OTHER, _OTHER, _ONE
    for place in range(0, len(words) - 1, 2):
        # Four chains of multiplications run side by side.
        one = (one ^ words[place]) * _ONE
        other = (other ^ words[place + 1]) * _OTHER
        third = (third + words[place]) * _OTHER
        fourth = (fourth + words[place + 1]) * _ONE
        one ^= one >> _HALF
        other ^= other >> _HALF
        third ^= third >> _HALF
        fourth ^= fourth >> _HALF
    out[0] = (one ^ one >> _HALF) * _OTHER + other
    out[1] = (third ^ third >> _HALF) * _ONE + fourth


@jit
def tilt_all(
    fields: Words, parents: NDArray[np.int64], sides: Bytes, walls: Words, exits: Words, holes: Words, bits: int,
    found: Words, digests: Words, right: NDArray[np.int32], total: NDArray[np.int32],
) -> None:  # fmt: skip
    """Tilt field ``parents[i]`` to ``sides[i]``: the field found, its digest, and what it would drop to each side."""
    turned = np.zeros((PLANES, MOST_SIDE, WORDS), dtype=np.uint64)
    steps = np.zeros((STEP_BITS, MOST_SIDE, WORDS), dtype=np.uint64)
    for index in range(len(parents)):
        side = sides[index]
        tilt(fields[parents[index]], side, walls[side], exits[side], bits, turned, steps, found[index])
        digest(found[index], digests[index])
        for other in range(SIDES):
            right[index, other], total[index, other] = drops(found[index], holes[other])
