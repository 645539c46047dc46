"""SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the one random generator.

Deals, boards, walks and the order of chunks come from it, so that they are the same on every machine. Here in plain
Python; `puzzles.keys.splitmix_kernels` has it for kernels and whole arrays.
"""

from collections.abc import Iterator

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_WORD = (1 << 64) - 1


def random_words(state: int) -> Iterator[int]:
    """The numbers, 64 bits each, from a state on."""
    while True:
        state = (state + STEP) & _WORD
        word = ((state ^ state >> 30) * FIRST) & _WORD
        word = ((word ^ word >> 27) * SECOND) & _WORD
        yield word ^ word >> 31
