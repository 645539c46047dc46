"""Bitmaps of dense key ranges, and their keys as blocks."""

from dataclasses import dataclass

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, Layout
from hakoiri.storage.layers.bitmap import WORD_BITS, Words
from hakoiri.storage.layers.blocks import Coded, code_bits, code_keys
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.layers.kernels import Window, clip, fill_of, is_dense, list_bits

#: Keys per word from which on words are coded as they are (measured: docs/reports/measurements.md, dense keys).
_CROWDED = 5


@dataclass
class Bitmap:
    """The bitmap of a dense key range: `length` words from `base` on; `words` is ``None`` while it is empty.

    The range may also have keys beyond it.
    """

    base: Key
    length: int
    words: Words | None = None

    @property
    def nbytes(self) -> int:
        """Its memory when it is not empty."""
        return self.length * WORD_BITS // 8

    @property
    def end(self) -> Key:
        """The first key beyond it."""
        return self.base + self.length * WORD_BITS

    def fill(self) -> Words:
        """Return its words, which may be written."""
        if self.words is None:
            self.words = np.zeros(self.length, dtype=np.uint64)
        return self.words

    def between(self, low: Key, high: Key) -> "Bitmap":
        """Return its part with low <= key < high: a view, or a copy if the bounds divide a word."""
        base, words = _part_of((self.base, self.fill()), low, high)
        return Bitmap(base, len(words), words)


def bitmap_for(sample: Keys, count: int, low: Key, high: Key, margin: int) -> Bitmap | None:
    """Return a bitmap for about `count` keys distributed like a sorted sample; ``None`` unless they are dense.

    It reaches up to `margin` beyond the sample. No word of it has a key below `low`, or from `high` on.
    """
    if sample.ndim > 1 or not len(sample):
        return None
    begin = max(-(-low // WORD_BITS), (int(sample[0]) - margin) // WORD_BITS)
    length = min(high // WORD_BITS, (int(sample[-1]) + margin) // WORD_BITS + 1) - begin
    return Bitmap(begin * WORD_BITS, length) if length > 0 and is_dense(length * WORD_BITS, count) else None


def code_window(number: Depth, window: Window, layout: Layout) -> Coded:
    """Code the keys of a window for layer `number`."""
    base, words = window
    return as_bits(number, window, layout) or code_keys(number, list_bits(words, base, layout))


def as_bits(number: Depth, window: Window, layout: Layout) -> Coded | None:
    """Code the keys of a window as bits, if that takes less time and fewer bytes than their differences."""
    base, words = window
    filled, count = fill_of(words)
    return code_bits(number, words, base, filled, layout) if count and count >= _CROWDED * filled else None


def _part_of(window: Window, low: Key, high: Key) -> Window:
    """Return the keys low <= key < high of a window, as a window: a view, or a copy if the bounds divide a word."""
    base, words = window
    low, high = (min(max(bound, base), base + len(words) * WORD_BITS) for bound in (low, high))
    begin = (low - base) // WORD_BITS
    part = base + begin * WORD_BITS, words[begin : -((base - high) // WORD_BITS)]
    if low % WORD_BITS or high % WORD_BITS:
        part = part[0], part[1].copy()
        clip(part, low, high)
    return part
