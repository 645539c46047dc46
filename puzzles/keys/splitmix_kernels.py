"""`puzzles.keys.splitmix` for kernels and whole arrays."""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.keys.splitmix import FIRST, SECOND, STEP

Words = NDArray[np.uint64]


@jit
def random_word(state: Words) -> np.uint64:
    """The next number; `state` (1,) is moved on."""
    state[0] += np.uint64(STEP)
    word = (state[0] ^ (state[0] >> np.uint64(30))) * np.uint64(FIRST)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(SECOND)
    return np.uint64(word ^ (word >> np.uint64(31)))


@jit
def random_below(state: Words, bound: int) -> np.int64:
    """The next number modulo `bound`. Signed: numba would make a float of a number without and one with a sign."""
    return np.int64(random_word(state) % np.uint64(bound))


def first_words(count: int) -> Words:
    """The first numbers from state 0."""
    states = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(STEP)
    words = (states ^ (states >> np.uint64(30))) * np.uint64(FIRST)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(SECOND)
    found: Words = words ^ (words >> np.uint64(31))
    return found
