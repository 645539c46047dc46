"""The older layers that a new one is merged against, and the last one that is expanded: in memory, or on disk."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain
from typing import NamedTuple, Protocol

import numpy as np

from puzzles.keys.layout import Key, Keys, key_at, layout_of
from puzzles.keys.order import slice_between
from storage.layers.coded import Coded, code_keys
from storage.layers.store import RunStore
from storage.names import BLOCKS
from worker.layers.kernels import difference

#: From how many places a sample is taken, and how many keys from each.
_SAMPLE_PLACES, _SAMPLE_KEYS = 48, 192


class Blocks(NamedTuple):
    """A layer as coded blocks: the number of the layer that they are made for, their first keys, and their bytes."""

    number: int
    firsts: Keys
    #: From a block's number to another's.
    read: Callable[[int, int], Coded]

    @property
    def beyond(self) -> Key:
        """Greater than any key."""
        return layout_of(self.firsts).greatest + 1


class Source(Protocol):
    """Keys that a layer is made of."""

    @property
    def size(self) -> int:
        """How many keys."""

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        """The keys from the one numbered `begin` on, in increasing batches of `size` or a little less."""

    def sample(self) -> Keys:
        """Some thousand keys from all over, or all of them; each batch of them sorted."""


class Layer(Source, Protocol):
    """A finished strictly increasing set of keys, whose sample is sorted."""

    @property
    def held_bytes(self) -> int:
        """Its bytes in memory."""

    def between(self, low: Key, high: Key) -> list[Keys]:
        """The keys with low <= key < high, as batches in increasing order."""

    def at_most(self, low: Key, high: Key) -> int:
        """About how many keys `between` would give: never much fewer."""

    def exclude_from(self, keys: Keys) -> Keys:
        """Those of some strictly increasing keys that are not in the layer."""

    def blocks(self) -> Blocks:
        """The layer as blocks, coded already where it is on disk."""


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
        near = zip(self._pieces, self._bounds, strict=True)
        found = [slice_between(piece, low, high) for piece, (first, last) in near if first < high and last >= low]
        return [keys for keys in found if len(keys)]

    def at_most(self, low: Key, high: Key) -> int:
        return sum(len(keys) for keys in self.between(low, high))

    def exclude_from(self, keys: Keys) -> Keys:
        for piece in self._pieces:
            keys = difference(keys, piece)
        return keys

    def sample(self) -> Keys:
        step = max(1, self.size // (_SAMPLE_PLACES * _SAMPLE_KEYS))
        return np.concatenate([piece[::step] for piece in self._pieces])

    def blocks(self) -> Blocks:
        coded = code_keys(0, all_keys(self))
        return Blocks(0, coded.firsts, coded.between)


class StoredLayer:
    """A layer, or a segment of older keys, on disk, read as needed."""

    held_bytes = 0

    def __init__(self, store: RunStore, number: int, size: int, database: bytes = BLOCKS) -> None:
        self._store, self._number, self._database, self.size = store, number, database, size
        #: The block read last: key ranges are asked for in increasing order, and often end within a block.
        self._recent = store.layout.empty(0)

    def chunks(self, begin: int, size: int) -> Iterator[Keys]:
        waiting: list[Keys] = []
        count = 0
        for block in self._decoded(0):
            rest = block[begin:]
            begin = max(0, begin - len(block))
            while len(rest):
                taken = rest[: size - count]
                waiting.append(taken)
                count += len(taken)
                rest = rest[len(taken) :]
                if count == size:
                    yield np.concatenate(waiting)
                    waiting, count = [], 0
        if waiting:
            yield np.concatenate(waiting)

    def between(self, low: Key, high: Key) -> list[Keys]:
        found = []
        if len(self._recent) and key_at(self._recent, 0) <= low <= key_at(self._recent, -1):
            blocks = chain([self._recent], self._decoded(key_at(self._recent, -1) + 1, after=True))
        else:
            blocks = chain(self._decoded(low))
        for block in blocks:
            self._recent = block
            if key_at(block, 0) < high:
                found.append(slice_between(block, low, high))
            if key_at(block, -1) >= high - 1:
                break
        return [keys for keys in found if len(keys)]

    def at_most(self, low: Key, high: Key) -> int:
        firsts = self._firsts
        blocks = bisect_left(firsts, high) - max(0, bisect_right(firsts, low) - 1)
        return blocks * self.size // max(1, len(firsts))

    @cached_property
    def _firsts(self) -> list[Key]:
        return self._store.first_keys(self._number, self._database)

    def _decoded(self, begin: Key, after: bool = False) -> Iterator[Keys]:
        return self._store.blocks(self._number, begin, self._database, after)

    def exclude_from(self, keys: Keys) -> Keys:
        return keys[~self._store.members(self._number, keys, self._database)]

    def sample(self) -> Keys:
        chosen = self._firsts[:: max(1, len(self._firsts) // _SAMPLE_PLACES)]
        found = []
        for first in chosen:
            block = next(self._decoded(first))
            found.append(block[:: max(1, len(block) // _SAMPLE_KEYS)])
        return np.concatenate(found)

    def blocks(self) -> Blocks:
        layout, firsts = self._store.layout, self._firsts

        def read(begin: int, end: int) -> Coded:
            return self._store.coded(self._number, firsts[begin:end], self._database)

        return Blocks(self._number, layout.pack(firsts), read)


def all_keys(layer: Layer) -> Keys:
    """The whole layer in one batch."""
    chunks = list(layer.chunks(0, max(1, layer.size)))
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
