"""SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the one random generator.

Deals, boards, walks and the order of chunks come from it, so that they are the same on every machine. It is here
in plain Python, for kernels, and for whole arrays.
"""

from collections.abc import Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1

Words = NDArray[np.uint64]
_Word = TypeVar("_Word", np.uint64, Words)


def random_words(state: int) -> Iterator[int]:
    """Yield the numbers, 64 bits each, from a state on."""
    while True:
        state = (state + STEP) & _WORD
        word = ((state ^ state >> 30) * FIRST) & _WORD
        word = ((word ^ word >> 27) * SECOND) & _WORD
        yield word ^ word >> 31


def words_after(state: _Word) -> _Word:
    """The number after a state, or after each of an array: a mix of 64 bits."""
    word = state + np.uint64(STEP)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(FIRST)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(SECOND)
    return word ^ (word >> np.uint64(31))


word_after = jit(words_after)


@jit
def mix(word: np.uint64) -> np.uint64:
    """A mix of 64 bits in a third of the time, enough for sums; 0 stays 0. The factor's multiples are spread evenly."""
    mixed = word * np.uint64(STEP)
    return np.uint64(mixed ^ (mixed >> np.uint64(32)))


@jit
def random_word(state: Words) -> np.uint64:
    """The next number; `state` (1,) is moved on."""
    word = word_after(state[0])
    state[0] += np.uint64(STEP)
    return np.uint64(word)


@jit
def random_below(state: Words, bound: int) -> np.int64:
    """The next number modulo `bound`. Signed: numba would make a float of a number without and one with a sign."""
    return np.int64(random_word(state) % np.uint64(bound))


def first_words(count: int) -> Words:
    """The first numbers from state 0."""
    return words_after(np.arange(count, dtype=np.uint64) * np.uint64(STEP))
