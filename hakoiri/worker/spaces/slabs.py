"""The configurations of a whole space by the slabs that their labels are stored in, and the numbers of components."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import equal_rows, lower_bounds, order_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.results.census import SLAB, Labels, read_slab
from hakoiri.worker.exchange.pool import WorkGuard

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

    def keys(self, slabs: range) -> Keys:
        """Return the keys of neighbouring slabs."""
        firsts = [*self.firsts, self._layout.greatest + 1]
        return self._store.slice(0, firsts[slabs.start], firsts[slabs.stop])

    def labels(self, slabs: range) -> Labels:
        """Return the labels of neighbouring slabs, uint32, in key order."""
        return np.concatenate([read_slab(self._store, slab) for slab in slabs])

    def places_of(self, wanted: Keys) -> Places:
        """Return the place of each of `wanted` among all keys, or `NOWHERE`."""
        places = np.full(len(wanted), NOWHERE)
        order = order_of(wanted)
        increasing = wanted[order]
        for slab, begin, end in _parts(lower_bounds(increasing, self._layout.pack(self.firsts)), len(wanted)):
            keys = self.keys(range(slab, slab + 1))
            found = np.minimum(lower_bounds(keys, increasing[begin:end]), len(keys) - 1)
            found[~equal_rows(keys[found], increasing[begin:end])] = NOWHERE - slab * SLAB
            places[order[begin:end]] = slab * SLAB + found
        return places

    def keys_at(self, places: Places) -> Keys:
        """Return the keys at given places, in any order."""
        keys, order = self._layout.empty(len(places)), np.argsort(places)
        increasing = places[order]
        for slab, begin, end in _parts(np.searchsorted(increasing, np.arange(len(self)) * SLAB), len(places)):
            keys[order[begin:end]] = self.keys(range(slab, slab + 1))[increasing[begin:end] - slab * SLAB]
        return keys

    def members(self, components: Sequence[int], control: WorkGuard) -> tuple[Keys, Labels]:
        """Return the configurations of `components`, in order, and for each the index of its component in these."""
        parts = [(self._layout.empty(0), np.empty(0, dtype=np.uint32)), *self.parts(components, control)]
        keys, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
        return keys, labels

    def parts(self, components: Sequence[int], control: WorkGuard) -> Iterator[tuple[Keys, Labels]]:
        """Yield the same slab by slab."""
        numbers = np.full(max(components) + 2, len(components), dtype=np.uint32)
        numbers[np.asarray(components)] = np.arange(len(components), dtype=np.uint32)
        for slab in range(len(self)):
            control.check()
            part = range(slab, slab + 1)
            found = numbers[np.minimum(self.labels(part), len(numbers) - 1)]
            if (mine := found < len(components)).any():
                yield self.keys(part)[mine], found[mine]

    def labels_at(self, places: Places) -> Labels:
        """Return the labels at given increasing places."""
        labels = np.empty(len(places), dtype=np.uint32)
        for slab, begin, end in _parts(np.searchsorted(places, np.arange(len(self)) * SLAB), len(places)):
            labels[begin:end] = read_slab(self._store, slab)[places[begin:end] - slab * SLAB]
        return labels


def _parts(begins: NDArray[np.int64], end: int) -> Iterator[tuple[int, int, int]]:
    """Yield (slab, begin, end) for sorted items; `begins` is the index of the first item of each slab."""
    ends = np.append(begins[1:], end)
    for slab in np.flatnonzero(ends > begins).tolist():
        yield slab, int(begins[slab]), int(ends[slab])


def added(sizes: Sizes, labels: Labels) -> Sizes:
    """Return `sizes` with the configurations of `labels` added."""
    counted: Sizes = np.bincount(labels, minlength=len(sizes))
    counted[: len(sizes)] += sizes
    return counted


def ranks_of(sizes: Sizes) -> Labels:
    """Return the rank of each component by size: the largest is 0, ties stay in order."""
    ranks = np.empty(len(sizes), dtype=np.uint32)
    ranks[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes), dtype=np.uint32)
    return ranks


def component_sizes(slabs: Slabs) -> Sizes:
    """Return the number of configurations of each component, by the labels."""
    sizes: Sizes = np.zeros(0, dtype=np.int64)
    for slab in range(len(slabs)):
        sizes = added(sizes, slabs.labels(range(slab, slab + 1)))
    return sizes


def first_places(slabs: Slabs) -> Places:
    """Return the place of the least configuration of each component."""
    places = np.full(0, NOWHERE)
    for slab in range(len(slabs)):
        labels, firsts = np.unique(slabs.labels(range(slab, slab + 1)), return_index=True)
        places = np.pad(places, (0, max(0, int(labels[-1]) + 1 - len(places))), constant_values=NOWHERE)
        places[labels] = np.minimum(places[labels], slab * SLAB + firsts)
    return places
