"""The configurations of a whole space: slabs of labels, their listing by the puzzle, ranges with their trees."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import equal_rows, lower_bounds, order_of, slice_between
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import code_keys, lanes_of
from hakoiri.storage.layers.store import RunStore, StoredLayer
from hakoiri.storage.ledger.manifest import LayerRecord
from hakoiri.storage.names import META, PARTIAL_KEY
from hakoiri.storage.results import SLAB, Labels, read_slab
from hakoiri.worker.census.forests import Grown, grow
from hakoiri.worker.layers.partition import Partition, Shares
from hakoiri.worker.layers.step import Totals
from hakoiri.worker.pool import Threads, WorkGuard

#: The place of a key that is not a configuration.
NOWHERE = np.iinfo(np.int64).max
Places = NDArray[np.int64]
#: The number of configurations of each component.
Sizes = NDArray[np.int64]


class Slabs:
    """Layer 0 of a run, its keys numbered in order. Construction reads all its blocks once."""

    def __init__(self, store: RunStore) -> None:
        self._store, self._layout = store, store.layout
        self.size, self.firsts = 0, list[Key]()
        for block in store.blocks(0):
            self.firsts += [key_at(block, place) for place in range(-self.size % SLAB, len(block), SLAB)]
            self.size += len(block)

    def __len__(self) -> int:
        return len(self.firsts)

    def keys(self, slab: int) -> Keys:
        """Return the keys of a slab."""
        end = self.firsts[slab + 1] if slab + 1 < len(self) else self._layout.greatest + 1
        return self._store.slice(0, self.firsts[slab], end)

    def labels(self, slab: int) -> Labels:
        """Return the labels of a slab, uint32, in key order."""
        return read_slab(self._store, slab)

    def places_of(self, wanted: Keys) -> Places:
        """Return the place of each of `wanted` among all keys, or `NOWHERE`."""
        places = np.full(len(wanted), NOWHERE)
        order = order_of(wanted)
        increasing = wanted[order]
        for slab, begin, end in _parts(lower_bounds(increasing, self._layout.pack(self.firsts)), len(wanted)):
            keys = self.keys(slab)
            found = np.minimum(lower_bounds(keys, increasing[begin:end]), len(keys) - 1)
            found[~equal_rows(keys[found], increasing[begin:end])] = NOWHERE - slab * SLAB
            places[order[begin:end]] = slab * SLAB + found
        return places

    def keys_at(self, places: Places) -> Keys:
        """Return the keys at given places, in any order."""
        keys, order = self._layout.empty(len(places)), np.argsort(places)
        increasing = places[order]
        for slab, begin, end in _parts(np.searchsorted(increasing, np.arange(len(self)) * SLAB), len(places)):
            keys[order[begin:end]] = self.keys(slab)[increasing[begin:end] - slab * SLAB]
        return keys

    def members(self, components: Sequence[int], control: WorkGuard) -> tuple[Keys, Labels]:
        """Return the configurations of `components`, in order, and for each the index of its component in these."""
        parts = [(self._layout.empty(0), np.empty(0, dtype=np.uint32)), *self.parts(components, control)]
        keys, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
        return keys, labels

    def parts(self, components: Sequence[int], control: WorkGuard) -> Iterator[tuple[Keys, Labels]]:
        """Yield the result of `members` slab by slab."""
        numbers = np.full(max(components) + 2, len(components), dtype=np.uint32)
        numbers[np.asarray(components)] = np.arange(len(components), dtype=np.uint32)
        for slab in range(len(self)):
            control.check()
            found = numbers[np.minimum(self.labels(slab), len(numbers) - 1)]
            if (mine := found < len(components)).any():
                yield self.keys(slab)[mine], found[mine]

    def labels_at(self, places: Places) -> Labels:
        """Return the labels at given increasing places."""
        labels = np.empty(len(places), dtype=np.uint32)
        for slab, begin, end in _parts(np.searchsorted(places, np.arange(len(self)) * SLAB), len(places)):
            labels[begin:end] = self.labels(slab)[places[begin:end] - slab * SLAB]
        return labels


def _parts(begins: NDArray[np.int64], end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (slab, begin, end) for sorted items; `begins` is the index of the first item of each slab."""
    ends = np.append(begins[1:], end)
    for slab in np.flatnonzero(ends > begins).tolist():
        yield slab, int(begins[slab]), int(ends[slab])


def ranks_of(sizes: Sizes) -> Labels:
    """Return the rank of each component by size: the largest is 0, ties stay in order."""
    ranks = np.empty(len(sizes), dtype=np.uint32)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.uint32)
    return ranks


def component_sizes(slabs: Slabs) -> Sizes:
    """Return the number of configurations of each component, by the labels."""
    sizes: Sizes = np.zeros(0, dtype=np.int64)
    for slab in range(len(slabs)):
        counted: Sizes = np.bincount(slabs.labels(slab), minlength=len(sizes))
        counted[: len(sizes)] += sizes
        sizes = counted
    return sizes


def first_places(slabs: Slabs) -> Places:
    """Return the place of the least configuration of each component."""
    places = np.full(0, NOWHERE)
    for slab in range(len(slabs)):
        labels, firsts = np.unique(slabs.labels(slab), return_index=True)
        places = np.pad(places, (0, max(0, int(labels[-1]) + 1 - len(places))), constant_values=NOWHERE)
        places[labels] = np.minimum(places[labels], slab * SLAB + firsts)
    return places


#: Slabs of configurations coded together, so that blocks are full.
_TOGETHER = 8


def gathered(blocks: Iterable[Keys], least: int) -> Iterator[Keys]:
    """Yield the keys of blocks, at least so many at a time but for the last."""
    waiting = list[Keys]()
    for block in filter(len, blocks):
        waiting.append(block)
        if sum(map(len, waiting)) >= least:
            yield np.concatenate(waiting)
            waiting.clear()
    if waiting:
        yield np.concatenate(waiting)


def listed(puzzle: Puzzle, low: Key, high: Key) -> Iterator[Keys]:
    """Yield the configurations with low <= key < high, some at a time: a puzzle may list small blocks."""
    blocks = takewhile(lambda block: key_at(block, 0) < high, filter(len, puzzle.configurations()))
    cut = (
        each if low <= key_at(each, 0) <= key_at(each, -1) < high else slice_between(each, low, high) for each in blocks
    )
    return gathered(cut, _TOGETHER * SLAB)


@dataclass(frozen=True)
class _ListProgress(Totals):
    """The progress of the list on disk, stored in the partial record; `last` is the greatest key, in hexadecimal."""

    last: str


def list_part(
    store: RunStore, puzzle: Puzzle, most_staged: int, batches: Callable[[Key, int], Iterable[Keys]],
    commit: Callable[[], object],
) -> Iterator[LayerRecord]:  # fmt: skip
    """Make layer 0 of `store`; yield, at first and after each batch, the record of what is listed, for `stage_layer`.

    `batches` gives the configurations from a key on, before which there are so many. It calls `commit` whenever
    `most_staged` bytes are staged. Its partial record stays until the configurations are labelled.
    """
    listed = store.read_partial(_ListProgress) or _ListProgress("-0x1")
    yield listed.record(0, store.state.session)
    for keys in batches(int(listed.last, 16) + 1, listed.size):
        summary = len(keys), *puzzle.tally(keys), *lanes_of(keys)
        staged = store.stage_blocks(0, code_keys(0, keys), listed.index)
        listed = replace(listed.plus(summary, *staged), last=hex(key_at(keys, -1)))
        # IMPORTANT: with each batch, because an interruption commits what is staged.
        store.stage_record(META, PARTIAL_KEY, vars(listed))
        if store.staged_bytes > most_staged:
            commit()
        yield listed.record(0, store.state.session)


#: The memory of a move, in successors of a layer step: both its ends, their places, a pair.
MOVE_ARRAYS = 4
#: Most successors of a batch, so that they stay in the second-level cache.
_BATCH = 1 << 17
#: Bytes of a configuration of a range besides three copies of its key and its moves: trees and labels.
_BYTES_BESIDE_KEYS = 40
#: Ranges for each thread at least, and the least configurations of one: fewer have too many moves to others.
_RANGES_EACH, _LEAST_RANGE = 4, 1 << 20
#: Configurations of a range where rules in plain Python look at ten thousand in a second.
_RANGE_BY_RULES = 1 << 16


def slabs_of_range(puzzle: Puzzle, size: int, shares: Shares, threads: int, most: int) -> int:
    """Return the slabs of each range of a space of `size` configurations, in all of which `threads` take part.

    `shares` are those of each process, `most` the most configurations of a range.
    """
    wanted = max(_LEAST_RANGE, size // (_RANGES_EACH * threads)) if puzzle.has_kernel else _RANGE_BY_RULES
    # As many results wait as there are threads. At most half of the moves of an undirected puzzle are kept, twice.
    keys = 3 + 2 * puzzle.most_successors
    each = 2 * shares.workers * (keys * puzzle.layout.bytes + _BYTES_BESIDE_KEYS)
    return max(1, min(most, shares.free // 2 // each, wanted) // SLAB)


def even_slabs(size: int, ranges: int) -> int:
    """Return the slabs of each range but the last, to divide `size` configurations into at most so many ranges."""
    return -(-slabs_in(size) // ranges)


def slabs_in(size: int) -> int:
    """Return the number of slabs of so many configurations."""
    return -(-size // SLAB)


class SlabRanges:
    """The ranges of `partition` from number `first` on whose configurations `layer` has, `range_slabs` slabs in each.

    The last range of the space may have fewer. Attributes: `layer`; `numbers`, those of these ranges.
    """

    def __init__(self, layer: StoredLayer, partition: Partition, range_slabs: int, first: int) -> None:
        self.layer, self._partition, self._range_slabs = layer, partition, range_slabs
        self._end = first * range_slabs * SLAB + layer.size
        self.numbers = range(first, -(-self._end // (range_slabs * SLAB)))

    def first_slab(self, number: int) -> int:
        """Return the number of the first slab of a range, among all of the space."""
        return number * self._range_slabs

    def first_place(self, number: int) -> int:
        """Return the place of the first configuration of a range, among all of the space."""
        return number * self._range_slabs * SLAB

    def size_of(self, number: int) -> int:
        """Return the number of configurations of a range."""
        return min(self.first_place(number + 1), self._end) - self.first_place(number)

    def keys(self, number: int) -> Iterable[Keys]:
        """Return the keys of a range, in batches that any thread may decode."""
        return self.layer.between(*self._partition.bounds(number))


def grown_by_threads(
    threads: Threads, puzzle: Puzzle, shares: Shares, ranges: SlabRanges, missing: list[int]
) -> Iterator[tuple[int, Grown]]:
    """Yield the trees of some ranges with the number of the range, in any order."""
    chunk = shares.chunk_size(ranges.layer.size, MOVE_ARRAYS * puzzle.most_successors)
    step = max(1, min(chunk, _BATCH // max(1, puzzle.most_successors)))

    def work(item: tuple[int, Iterable[Keys]]) -> Grown:
        number, keys = item
        return grow(puzzle, np.concatenate([*keys]), ranges.first_place(number), step)

    items = ((number, ranges.keys(number)) for number in missing)
    for place, grown in threads.each("forest", work, items):
        yield missing[place], grown
