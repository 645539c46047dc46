"""All older keys of a directed search, in sorted segments that are merged geometrically, each with a Bloom filter.

A move of a directed puzzle may lead to any older layer, so each new layer is compared with all keys older than U(N).
Reading every old layer would cost layers x configurations. Instead, a segment is merged with the one before it as soon
as that is less than twice as large, as in a log-structured merge tree. So there are about log2(N) segments, and each
key is merged about log2(N) times. Segments are in memory while they fit their share of the budget. Then they go to the
store's ``closed`` database, where they survive an interruption. A layer in no segment on disk is a segment itself.
In a filter each key sets two bits, given by the halves of its hash. With four bits a key, some 15 of 100 other keys
pass.

IMPORTANT: a key in a segment that is in no older layer would never be found, and the run would end too early. So each
segment has a digest, and segments that do not add up to the older layers are dropped and made again from these.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.compiling import jit
from hakoiri.errors import DamagedError, Hint
from hakoiri.keys.layout import Keys, Mask, key_at
from hakoiri.keys.order import merge_sorted
from hakoiri.keys.splitmix import word_after
from hakoiri.storage.layers.blocks import NOTHING, Lanes, add_lanes, code_keys, lanes_in, lanes_of, sum_lanes
from hakoiri.storage.layers.codec import WORD_BITS, Words
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer, all_keys
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import CLOSED, CLOSED_KEY, META, number_key
from hakoiri.worker.layers.partition import Shares

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
#: The most bytes per key: with more, hardly any more keys would be rejected.
_BYTES_EACH = 2


@jit
def _places(keys: Keys, index: int, bits: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the two bits of a key; `bits` < 2**32."""
    if keys.ndim == 1:
        mixed = word_after(np.uint64(keys[index]))
    else:
        mixed = np.uint64(0)
        for word in range(keys.shape[1]):
            mixed = word_after(mixed + keys[index, word])
    return (mixed >> _HALF) * bits >> _HALF, (mixed & _LOW) * bits >> _HALF


@jit
def add(words: Words, keys: Keys) -> None:
    """Add keys to the filter `words`."""
    bits = np.uint64(len(words)) << np.uint64(6)
    for index in range(len(keys)):
        one, other = _places(keys, index, bits)
        words[one >> np.uint64(6)] |= np.uint64(1) << (one & np.uint64(63))
        words[other >> np.uint64(6)] |= np.uint64(1) << (other & np.uint64(63))


@jit
def _look_up(words: Words, keys: Keys, found: Mask) -> None:
    bits = np.uint64(len(words)) << np.uint64(6)
    for index in range(len(keys)):
        one, other = _places(keys, index, bits)
        both = words[one >> np.uint64(6)] >> (one & np.uint64(63))
        both &= words[other >> np.uint64(6)] >> (other & np.uint64(63))
        found[index] = both & np.uint64(1) != 0


def empty_filter(keys: int, most_bytes: int) -> Words:
    """Return a filter for so many keys, within `most_bytes`."""
    size = min(keys * _BYTES_EACH, most_bytes, 1 << 29)
    return np.zeros(max(1, size * 8 // WORD_BITS - 1), dtype=np.uint64)


def may_hold(words: Words, keys: Keys) -> Mask:
    """Return a mask that is false only for keys that are not in the filter."""
    found = np.zeros(len(keys), dtype=np.bool_)
    if len(words):
        _look_up(words, keys, found)
    return found


class _Segment(NamedTuple):
    """A segment on disk: its number in the database, its number of keys, the CRC-32 of the names of its blocks.

    The lanes are those of the digest of its keys (`storage.layers.blocks`); segments of earlier versions have no lanes.
    """

    number: int
    size: int
    crc: int
    lane_0: int = 0
    lane_1: int = 0


@dataclass(frozen=True)
class _Segments:
    """The segments on disk: the layers before depth `covered` are in them; `next` is the next number."""

    covered: Depth = 0
    next: int = 0
    segments: list[_Segment] = field(default_factory=list)


class ClosedSet:
    """The keys of the layers 0 .. `depth` - 1 of an open run, as a search at layer `depth` needs them.

    Attribute `depth` is that of the first layer that is not included; `add` raises it.
    """

    def __init__(
        self, store: RunStore, depth: Depth, shares: Shares, merged_at_once: int, commit: Callable[[], None]
    ) -> None:
        """`commit` makes everything staged durable, with the state that belongs to it, or raises if work is to stop.

        `merged_at_once` keys are merged at a time on disk.
        """
        self._store, self._commit = store, commit
        # Merging two segments takes twice their memory for a moment.
        self._share, self._most_staged = shares.layer_bytes // 2, shares.staged_bytes
        self._merged_at_once = merged_at_once
        self._held: list[Keys] = []
        found = self._store.read_if_any(_Segments, META, CLOSED_KEY, "record of older segments") or _Segments()
        self.depth = self._covered = found.covered
        self._next, self._segments = found.next, [*found.segments]
        # They may have layer `depth`, too, which the next one must not have either.
        if self._covered > depth + 1 or not self._adds_up():
            self._drop()
        # Erase segments that are not in the record: remains of a kill during a merge.
        known = {segment.number for segment in self._segments}
        stray = {int.from_bytes(name[:4], "big") for name in self._store.names(CLOSED)} - known
        for number in stray:
            self._store.erase(CLOSED, number_key(number))
        if stray:
            self._commit()
        for segment in self._segments:
            self._store.require_names(segment.number, segment.crc, "a segment of older keys", CLOSED)
        self.depth = self._covered
        for older in range(self._covered, depth):
            self._store.require_whole(older)
            self.add(older, StoredLayer(self._store, older, self._store.layer_record(older).size))

    def require_layers(self) -> None:
        """Raise `DamagedError` unless these are the keys of the older layers; then they are made again next time."""
        if not self._adds_up():
            self._drop()
            self._store.commit(self._store.state)
            run = self._store.directory.name
            raise DamagedError(f"run {run}: its older keys are not those of its layers", Hint("resume", run))

    def layers(self) -> list[Layer]:
        return [*map(self._stored, self._segments), *(HeldLayer([keys]) for keys in self._held)]

    def add(self, depth: Depth, layer: Layer) -> None:
        """Add layer `depth`, which is in the store, to the older ones."""
        self.depth = depth + 1
        if not layer.size:
            return
        if layer.size * self._store.layout.bytes > self._share:
            self._put_away(depth, [layer])
            return
        self._held.append(all_keys(layer))
        while len(self._held) > 1 and len(self._held[-2]) < 2 * len(self._held[-1]):
            self._held[-2:] = [merge_sorted(self._held[-2:])]
        if sum(keys.nbytes for keys in self._held) > self._share:
            self._put_away(depth, [])

    def _put_away(self, depth: Depth, more: list[Layer]) -> None:
        """Merge the segments in memory, `more`, and the stored segments less than twice as large into one on disk."""
        merged = [*(HeldLayer([keys]) for keys in self._held), *more]
        size, doomed = sum(layer.size for layer in merged), list[_Segment]()
        while self._segments and self._segments[-1].size < 2 * size:
            doomed.append(self._segments.pop())
            size += doomed[-1].size
        number, self._next = self._next, self._next + 1
        index, lanes = self._write(number, [*merged, *map(self._stored, doomed)])
        for segment in doomed:
            self._store.erase(CLOSED, number_key(segment.number))
        self._segments.append(_Segment(number, size, index, *lanes))
        self._held, self._covered = [], depth + 1
        self._stage_record()
        self._commit()

    def _stored(self, segment: _Segment) -> Layer:
        return StoredLayer(self._store, segment.number, segment.size, CLOSED)

    def _write(self, number: int, sources: list[Layer]) -> tuple[int, Lanes]:
        """Merge `sources` into a segment on disk, a key range at a time; return the index of its blocks, and lanes."""
        largest = max(sources, key=lambda layer: layer.size)
        share = max(1, self._merged_at_once * largest.size // sum(layer.size for layer in sources))
        cuts = (key_at(chunk, -1) + 1 for chunk in largest.chunks(0, share))
        index, lanes = 0, NOTHING
        for low, high in pairwise(chain([0], cuts, [self._store.layout.greatest + 1])):
            if parts := [part for layer in sources for part in layer.between(low, high)]:
                keys = merge_sorted(parts)
                lanes = add_lanes(lanes, lanes_of(keys))
                _, index = self._store.stage_blocks(number, code_keys(number, keys), index, CLOSED)
            if self._store.staged_bytes > self._most_staged:
                self._commit()
        return index, lanes

    def _adds_up(self) -> bool:
        """Return whether these keys have the size and the digest of the layers before `depth`."""
        records = [self._store.layer_record(depth) for depth in range(self.depth)]
        size = sum(segment.size for segment in self._segments) + sum(map(len, self._held))
        stored = ((segment.lane_0, segment.lane_1) for segment in self._segments)
        found = sum_lanes([*stored, *map(lanes_of, self._held)])
        expected = sum_lanes(lanes_in(record.digest) for record in records)
        return (size, found) == (sum(record.size for record in records), expected)

    def _drop(self) -> None:
        """Stage that there are no segments."""
        self._covered, self._segments = 0, []
        self._stage_record()

    def _stage_record(self) -> None:
        self._store.stage_record(META, CLOSED_KEY, asdict(_Segments(self._covered, self._next, self._segments)))
