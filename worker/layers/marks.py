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
#: With more parts too many keys lie in another part than what leads to them.
_MOST_PARTS = 64


class Marks:
    """Some bitmaps of one stretch of the key space, from `base` on. Each is lent to one thread at a time.

    Where there is no room for all of the key space, they are of a `part` of it, and move on with the keys expanded.
    """

    def __init__(self, base: Key, words: int, count: int, part: bool = False) -> None:
        self._base, self.part = base, part
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

    @property
    def end(self) -> Key:
        """The first key beyond."""
        return self._base + len(self._maps[0]) * WORD_BITS

    def move(self, base: Key) -> None:
        """Begin at another key, or a little before it. Nothing may be marked."""
        self._base = base // WORD_BITS * WORD_BITS

    def covers(self, low: Key, high: Key) -> bool:
        """Whether any key with low <= key < high can be marked."""
        return low < self.end and high > self._base

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

    ``None`` if some `expected` ones are too few for the span of the sample, or there is hardly any room.
    """
    if sample.ndim > 1 or not len(sample):
        return None
    least, last = int(sample[0]), int(sample[-1])
    margin = (last - least) // _MARGIN + WORD_BITS
    base = max(0, least - margin)
    words, wanted = -(-(last + margin - base) // WORD_BITS), min(-(-threads // _SHARED_BY), _MOST)
    if words * WORD_BITS >= DENSE_SPAN * expected:
        return None
    if 8 * words <= most_bytes:
        return Marks(base, words, min(most_bytes // (8 * words), wanted))
    parts = -(-8 * words * wanted // max(1, most_bytes))
    return Marks(base, -(-words // parts), wanted, part=True) if parts <= _MOST_PARTS else None
