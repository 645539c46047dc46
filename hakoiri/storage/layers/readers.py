"""The readers of a layer, in memory or on disk: keys by number, keys between bounds, a sample."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from typing import Protocol

import numpy as np

from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import difference, slice_between
from hakoiri.storage.layers.blocks import Block
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import BLOCKS

#: The number of positions at which a sample is taken, and the number of keys at each.
_SAMPLE_PLACES, _SAMPLE_KEYS = 48, 192
_SAMPLED = _SAMPLE_PLACES * _SAMPLE_KEYS
#: The most keys in the sample of several layers.
_MOST_SAMPLED = 1 << 14
#: Blocks read at a time.
_AT_ONCE = 8


class Source(Protocol):
    """The keys from which a layer is made."""

    @property
    def size(self) -> int:
        """The number of keys."""

    def between(self, low: Key, high: Key) -> Iterable[Keys]:
        """Return the keys with low <= key < high, once, in increasing batches that any thread may decode."""

    def sample(self) -> Keys:
        """Return some thousand keys from the whole range, or all of them; each batch of them is sorted."""


class Layer(Source, Protocol):
    """A finished strictly increasing set of keys; its sample is sorted, and `between` returns its keys in order."""

    @property
    def held_bytes(self) -> int:
        """Its size in memory, in bytes."""

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        """Yield the keys from number `begin` on, `size` at a time or a little less."""

    def at_most(self, low: Key, high: Key) -> int:
        """Return an estimate of the number of keys that `between` returns: never much too low."""

    def exclude_from(self, keys: Keys) -> Keys:
        """Return those of some strictly increasing keys that are not in the layer."""


class HeldLayer:
    """A layer in memory, in pieces of increasing keys."""

    def __init__(self, pieces: list[Keys]) -> None:
        self._pieces = [piece for piece in pieces if len(piece)]
        self._bounds = [(key_at(piece, 0), key_at(piece, -1)) for piece in self._pieces]
        self.size = sum(len(piece) for piece in self._pieces)
        self.held_bytes = sum(piece.nbytes for piece in self._pieces)

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        for piece in self._pieces:
            # Pieces are cut evenly, so that no chunk is much smaller than the others.
            rest = piece[begin:]
            begin = max(0, begin - len(piece))
            if len(rest):
                yield from np.array_split(rest, -(-len(rest) // size))

    def between(self, low: Key, high: Key) -> list[Keys]:
        found = list[Keys]()
        for piece, (first, last) in zip(self._pieces, self._bounds, strict=True):
            if low <= first and last < high:
                found.append(piece)
            elif first < high and last >= low and len(part := slice_between(piece, low, high)):
                found.append(part)
        return found

    def at_most(self, low: Key, high: Key) -> int:
        return sum(len(keys) for keys in self.between(low, high))

    def exclude_from(self, keys: Keys) -> Keys:
        for piece in self._pieces:
            keys = difference(keys, piece)
        return keys

    def sample(self) -> Keys:
        step = max(1, self.size // _SAMPLED)
        return np.concatenate([piece[::step] for piece in self._pieces])


class StoredLayer:
    """A layer, or a segment of older keys, on disk, read as needed."""

    held_bytes = 0

    def __init__(self, store: RunStore, number: int, size: int, database: bytes = BLOCKS) -> None:
        self._store, self._number, self._database, self.size = store, number, database, size
        # Segments of older keys are only subtracted.
        self._decode = partial(store.decode, raw=database != BLOCKS)
        #: The last block of a range, and a function that decodes it once: the next range often begins within it.
        self._recent: tuple[int, Callable[[], Keys]] = -1, partial(store.layout.empty, 0)

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        parts, count = list[Keys](), 0
        reads = (self._read(number, number + _AT_ONCE) for number in range(0, len(self._firsts), _AT_ONCE))
        for block in chain.from_iterable(reads):
            if begin >= block.size:
                begin -= block.size
                continue
            parts.append(self._decode(block)[begin:])
            begin, count = 0, count + len(parts[-1])
            if count >= size:
                together = np.concatenate(parts)
                for first in range(0, count - size + 1, size):
                    yield together[first : first + size]
                parts = [together[count - count % size :]]
                count %= size
        if count:
            yield np.concatenate(parts)

    def _read(self, begin: int, end: int) -> list[Block]:
        return self._store.coded(self._number, self._firsts[begin:end], self._database)

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        begin, end = self._places(low, high)
        number, last = self._recent
        reads = [last] if begin == number < end else []
        reads += [partial(self._decode, block) for block in self._read(begin + len(reads), end)]
        if begin < end and end - 1 != number:
            reads[-1] = cache(reads[-1])
            self._recent = end - 1, reads[-1]
        found = (slice_between(read(), low, high) for read in reads)
        return (keys for keys in found if len(keys))

    def at_most(self, low: Key, high: Key) -> int:
        begin, end = self._places(low, high)
        return (end - begin) * self.size // max(1, len(self._firsts))

    def _places(self, low: Key, high: Key) -> tuple[int, int]:
        """Return the numbers of the blocks that may hold keys with low <= key < high, as begin and end."""
        begin = max(0, bisect_right(self._firsts, low) - 1)
        return begin, bisect_left(self._firsts, high) if low < high else begin

    @cached_property
    def _firsts(self) -> list[Key]:
        return self._store.first_keys(self._number, self._database)

    def exclude_from(self, keys: Keys) -> Keys:
        return keys[~self._store.members(self._number, keys, self._database)]

    def sample(self) -> Keys:
        found = []
        for place in range(0, len(self._firsts), max(1, len(self._firsts) // _SAMPLE_PLACES)):
            (block,) = map(self._decode, self._read(place, place + 1))
            found.append(block[:: max(1, len(block) // _SAMPLE_KEYS)])
        return np.concatenate(found)


class LayerUnion:
    """The keys of several disjoint stored layers. Attribute `size`: their number."""

    def __init__(self, layers: Sequence[StoredLayer]) -> None:
        self.layers = layers
        self.size = sum(layer.size for layer in layers)

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        """Return the keys with low <= key < high, increasing within each batch.

        They are read layer by layer on demand, by the calling thread: there may be many layers, and none is written to.
        """
        return chain.from_iterable(layer.between(low, high) for layer in self.layers)

    def sample(self) -> Keys:
        """Return some keys of each layer."""
        return self._sample

    @cached_property
    def _sample(self) -> Keys:
        found = np.concatenate([layer.sample() for layer in self.layers])
        return np.ascontiguousarray(found[:: -(-len(found) // _MOST_SAMPLED)])


def all_keys(layer: Layer) -> Keys:
    """Return the whole layer in one batch."""
    chunks = list(layer.chunks(0, max(1, layer.size)))
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
