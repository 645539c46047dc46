"""The successors of a layer as bits, where they lie close together: neither scattered nor sorted, and met only once."""

from queue import SimpleQueue

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.layers.bitmap import WORD_BITS, Words
from hakoiri.worker.layers.kernels import DENSE_SPAN, Window, clip, set_within

#: Keys of a sample may miss so much of the span of all at either end.
_MARGIN = 32
#: Words looked at to tell how many bits are set.
_LOOKS = 1 << 12
#: Threads for each bitmap, for a thread marks less than it expands, and the most bitmaps: all of them are put together.
_SHARED_BY, _MOST = 2, 16


class Marks:
    """Some bitmaps of one stretch of the key space, from `base` on. Each is lent to one thread at a time."""

    def __init__(self, base: Key, words: int, count: int) -> None:
        self._base = base
        self._maps = [np.zeros(words, dtype=np.uint64) for _ in range(count)]
        self._free = SimpleQueue[Words]()
        for each in self._maps:
            self._free.put(each)

    @property
    def bytes(self) -> int:
        """The memory that they take."""
        return sum(each.nbytes for each in self._maps)

    def mark(self, keys: Keys) -> Keys:
        """Mark some keys, in any order; gives those that lie beyond."""
        words = self._free.get()
        try:
            return set_within(words, keys, self._base)
        finally:
            self._free.put(words)

    def about(self, low: Key, high: Key) -> int:
        """About how many keys with low <= key < high are marked, those in several bitmaps counted in each."""
        begin, end = self._places(low, high)
        step = max(1, (end - begin) // _LOOKS)
        return sum(int(np.bitwise_count(each[begin:end:step]).sum()) * step for each in self._maps)

    def sample(self, low: Key, high: Key, step: int) -> list[Key]:
        """Numbers near every `step`-th marked key from `low` to `high`, about, in order."""
        begin, end = self._places(low, high)
        stride = max(1, min(step, (end - begin) // _LOOKS))
        counts = sum(np.bitwise_count(each[begin:end:stride]).astype(np.int64) for each in self._maps)
        places = np.repeat(np.arange(begin, end, stride), counts)[:: max(1, step // stride)]
        return [self._base + place * WORD_BITS for place in places.tolist()]

    def between(self, low: Key, high: Key) -> Window:
        """The marked keys with low <= key < high, as a bitmap of its own."""
        begin, end = self._places(low, high)
        words = np.zeros(end - begin, dtype=np.uint64)
        for each in self._maps:
            words |= each[begin:end]
        window = self._base + begin * WORD_BITS, words
        clip(window, low, high)
        return window

    def clear(self) -> None:
        """Forget all of them."""
        for each in self._maps:
            each.fill(0)

    def _places(self, low: Key, high: Key) -> tuple[int, int]:
        """The words that hold the bits from `low` to `high`."""
        most = len(self._maps[0])
        begin = min(max((low - self._base) // WORD_BITS, 0), most)
        return begin, max(begin, min(-(-(high - self._base) // WORD_BITS), most))


def marks_for(sample: Keys, expected: int, most_bytes: int, threads: int) -> Marks | None:
    """Marks for so many threads, in `most_bytes`, for successors that lie where those of a sorted sample do.

    ``None`` if there is no room, or some `expected` ones are too few for the span of the sample.
    """
    if sample.ndim > 1 or not len(sample):
        return None
    least, last = int(sample[0]), int(sample[-1])
    margin = (last - least) // _MARGIN + WORD_BITS
    base = max(0, least - margin)
    words = -(-(last + margin - base) // WORD_BITS)
    count = min(most_bytes // (8 * words), -(-threads // _SHARED_BY), _MOST)
    return Marks(base, words, count) if count and words * WORD_BITS < DENSE_SPAN * expected else None
