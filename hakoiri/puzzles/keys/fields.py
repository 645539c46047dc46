"""Keys that are packed from fields of bits, each a number below a limit: which keys have all fields below theirs.

Fields are compared all at once. To each field is added what takes its limit to the next power of two; a field that
reaches its limit carries a bit out of its place (Warren, "Hacker's Delight", on detecting overflow).
"""

from collections.abc import Iterable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.layout import Keys, Layout, Mask

_WORD_BITS = 64
_Words = NDArray[np.uint64]


class Field(NamedTuple):
    """Bits `shift` to ``shift + width - 1`` of a key, within one of its words; they hold a number below `limit`."""

    shift: int
    width: int
    limit: int


class Fields(NamedTuple):
    """For each word of a key, the most significant first: bits in no field, what is added, the top bit of each field.

    A field without a number that is too large has nothing added.
    """

    others: _Words
    added: _Words
    tops: _Words

    @classmethod
    def of(cls, layout: Layout, fields: Iterable[Field]) -> Self:
        words = [[(1 << _WORD_BITS) - 1, 0, 0] for _ in range(layout.words)]
        for shift, width, limit in fields:
            word, place = words[layout.words - 1 - shift // _WORD_BITS], shift % _WORD_BITS
            word[0] ^= (1 << width) - 1 << place
            word[1] |= (1 << width) - limit << place
            word[2] |= 1 << place + width - 1
        return cls(*np.array(words, dtype=np.uint64).T.copy())

    def hold(self, keys: Keys) -> Mask:
        """Return for each key whether every field is below its limit, and no other bit is set."""
        found = np.empty(len(keys), dtype=np.bool_)
        _hold(keys, *self, found)
        return found


@jit
def _wrong(key: np.uint64, others: np.uint64, added: np.uint64, tops: np.uint64) -> np.uint64:
    """Return a word with bits set if one of a key has a field that is too large; the lowest such field sets its top."""
    carried = key & added | (key | added) & ~(key + added)
    return np.uint64(key & others | carried & tops)


@jit
def _hold(keys: Keys, others: _Words, added: _Words, tops: _Words, found: Mask) -> None:
    if keys.ndim == 1:
        # Out of the loop, so that it is vectorised.
        first, second, third = others[0], added[0], tops[0]
        for index in range(len(keys)):
            found[index] = _wrong(np.uint64(keys[index]), first, second, third) == np.uint64(0)
        return
    for index in range(len(keys)):
        wrong = np.uint64(0)
        for word in range(keys.shape[1]):
            wrong |= _wrong(keys[index, word], others[word], added[word], tops[word])
        found[index] = wrong == np.uint64(0)
