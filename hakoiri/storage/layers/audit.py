"""The part of `verify` that needs no rules of a puzzle but its goals: checksums, digests, order, disjointness.

All layers are read together, one key range after the other, so that each block is read once or twice.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import equal_neighbours, is_increasing, slice_between, sort_keys
from hakoiri.storage.layers.blocks import NOTHING, Lanes, add_lanes, digest_text, lanes_of, mixed
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord

#: Most keys compared at once, by all threads together. 3x4 tiles: 5.0 s of processor time and 274 MB; with four times
#: as many keys 5.7 s and 556 MB, with all 10.0 s and 1.9 GB.
_MOST_TOGETHER = 1 << 23
#: Most faults reported for a layer.
_MOST_FAULTS = 10
#: The hash bound admits this many times the wanted keys on average: a sample is short once in 1e40 times.
_MARGIN = 4


@dataclass
class LayerSums:
    """The size and the digest of some keys of a layer."""

    depth: Depth
    size: int = 0
    lanes: Lanes = NOTHING

    def add(self, keys: Keys) -> None:
        """Count more keys."""
        self.plus(len(keys), lanes_of(keys))

    def plus(self, size: int, lanes: Lanes) -> None:
        """Count `size` keys with these lanes."""
        self.size, self.lanes = self.size + size, add_lanes(self.lanes, lanes)

    def differences(self, record: LayerRecord) -> Iterator[str]:
        """Yield the differences between these sums and the record of the layer."""
        if self.size != record.size:
            yield f"layer {self.depth}: {self.size} configurations on disk, {record.size} in its record"
        if (digest := digest_text(self.lanes)) != record.digest:
            yield f"layer {self.depth}: its keys have the digest {digest}, but {record.digest} in its record"


class Sample(NamedTuple):
    """A sample of each layer: its `wanted` keys with the least hashes under `seed`, or all of a smaller layer."""

    seed: int
    wanted: int

    def candidates(self, keys: Keys, size: int) -> Keys:
        """Return the keys that may belong to the sample of their layer, which has `size` keys."""
        if size <= _MARGIN * self.wanted:
            return keys
        return keys[mixed(keys, self.seed) < np.uint64((_MARGIN * self.wanted << 64) // size)]

    def of(self, candidates: Keys) -> Keys:
        """Return the sample, increasing, given the candidates of all parts of a layer in any order."""
        lowest = np.argsort(mixed(candidates, self.seed), kind="stable")[: self.wanted]
        return sort_keys(candidates[lowest])


class Audited(NamedTuple):
    """A sound layer: its tally (`Puzzle.tally`), and a sample of its keys, increasing."""

    tally: tuple[int, int]
    sample: Keys


@dataclass
class LayerAudit(LayerSums):
    """The result for one layer; `record` is ``None`` if damaged, `candidates` are keys that may be in the sample."""

    record: LayerRecord | None = None
    goals: int = 0
    represented: int = 0
    candidates: list[Keys] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Add a fault."""
        if len(self.faults) < _MOST_FAULTS and text not in self.faults:
            self.faults.append(text)


class Audit:
    """The results for the layers `depths` of a store, or of some of its parts: `layers`, as the `sample` has them."""

    def __init__(self, store: RunStore, depths: list[Depth], sample: Sample) -> None:
        self._store, self._sample = store, sample
        self.layers = [LayerAudit(depth) for depth in depths]

    def arrays(self) -> list[NDArray[Any]]:
        """Return the size, the two lanes and the tally of each layer, the number of its candidates, and all of them."""
        sums = [[layer.size, *layer.lanes, layer.goals, layer.represented] for layer in self.layers]
        keys = [key for layer in self.layers for key in layer.candidates]
        counts = [sum(map(len, layer.candidates)) for layer in self.layers]
        empty = self._store.layout.empty(0)
        return [np.array(sums, dtype=np.uint64), np.array(counts, dtype=np.int64), np.concatenate([empty, *keys])]

    def add(self, sums: NDArray[Any], counts: NDArray[Any], keys: Keys) -> None:
        """Add the `arrays` of the same layers in another part."""
        parts = np.split(keys, np.cumsum(counts)[:-1])
        for layer, (size, *lanes, goals, represented), candidates in zip(
            self.layers, sums.tolist(), parts, strict=True
        ):
            layer.plus(size, (lanes[0], lanes[1]))
            layer.goals, layer.represented = layer.goals + goals, layer.represented + represented
            layer.candidates.append(candidates)

    @property
    def audited(self) -> dict[Depth, Audited]:
        """The tally and the sample of each layer; all layers must be sound."""
        empty = self._store.layout.empty(0)
        samples = ((each, np.concatenate([empty, *each.candidates])) for each in self.layers)
        return {each.depth: Audited((each.goals, each.represented), self._sample.of(keys)) for each, keys in samples}


class LayersAudit(Audit):
    """A check of the layers `depths` of a store against their records and each other.

    `others` are increasing keys of layers elsewhere, which must not occur in these. Call `check` for each of the
    ranges, then `finish`; the results are then complete: `layers`, and `duplicate`, which holds the least key that
    occurs in two layers, if there is one.
    """

    def __init__(
        self, store: RunStore, depths: list[Depth], tally: Callable[[Keys], tuple[int, int]], sample: Sample,
        others: Keys | None = None,
    ) -> None:  # fmt: skip
        super().__init__(store, depths, sample)
        self._tally, self._others = tally, store.layout.empty(0) if others is None else others
        self._lock = threading.Lock()
        self.duplicate = store.layout.empty(0)
        for layer in self.layers:
            with self._faults_of(layer):
                layer.record = store.layer_record(layer.depth)
                store.require_whole(layer.depth)

    def ranges(self, together: int, threads: int = 1) -> list[tuple[Key, Key]]:
        """Return key ranges, cut where blocks begin; `threads` of them have about `together` keys."""
        readable = [layer.depth for layer in self.layers if layer.record is not None]
        return list(pairwise(key_ranges(self._store, readable, min(together, _MOST_TOGETHER) // threads)))

    def check(self, bounds: tuple[Key, Key]) -> None:
        """Check the keys low <= key < high of all layers. Thread-safe."""
        found = list[tuple[LayerAudit, LayerRecord, Keys]]()
        for layer in self.layers:
            if layer.record is not None:
                with self._faults_of(layer):
                    found.append((layer, layer.record, self._store.slice(layer.depth, *bounds, raw=True)))
        together = sort_keys(np.concatenate([slice_between(self._others, *bounds), *(keys for *_, keys in found)]))
        # Checking neighbouring keys together takes less time.
        right = self._store.are_keys is None or self._store.are_keys(together).all()
        for layer, record, stored in found:
            with self._faults_of(layer):
                keys = stored if right else self._store.checked(stored, f"layer {layer.depth}")
                in_order, tally = is_increasing(keys), self._tally(keys) if len(keys) else (0, 0)
                candidates = self._sample.candidates(keys, record.size)
                with self._lock:
                    layer.add(keys)
                    layer.goals, layer.represented = layer.goals + tally[0], layer.represented + tally[1]
                    layer.candidates.append(candidates)
                    if not in_order:
                        layer.fault(f"the keys of layer {layer.depth} are not strictly increasing")
        with self._lock:
            self.duplicate = sort_keys(np.concatenate([self.duplicate, equal_neighbours(together)[:1]]))[:1]

    @contextmanager
    def _faults_of(self, layer: LayerAudit) -> Iterator[None]:
        """Add damage found within this to a layer's faults."""
        try:
            yield
        except DamagedError as error:
            layer.fault(described(error, self._store))

    def finish(self) -> None:
        """Compare the sums of each layer without other faults with its record."""
        for layer in self.layers:
            if layer.record is not None and not layer.faults:
                layer.faults += layer.differences(layer.record)

    @property
    def faults(self) -> list[str]:
        return [fault for layer in self.layers for fault in layer.faults]


def duplicate_fault(store: RunStore, key: Keys) -> str:
    """Return the text of the fault that a key occurs in several layers."""
    where = [depth for depth in range(store.state.depth + 1) if store.contains(depth, key)[0]]
    return f"configuration {key_at(key, 0):#x} stands in layers {', '.join(map(str, where))}"


def check_layer(store: RunStore, depth: Depth) -> Iterator[str]:
    """Yield the faults of one stored layer: damaged blocks, keys out of order, a size or digest unlike its record."""
    sums, last, in_order = LayerSums(depth), -1, True
    try:
        record = store.layer_record(depth)
        for block in store.blocks(depth):
            in_order = in_order and key_at(block, 0) > last and is_increasing(block)
            last = key_at(block, -1)
            sums.add(block)
    except DamagedError as error:
        yield str(error)
        return
    if not in_order:
        yield f"layer {depth}: its keys are not strictly increasing"
    yield from sums.differences(record)


def key_ranges(store: RunStore, depths: list[Depth], together: int) -> list[Key]:
    """Return the bounds of key ranges of about `together` keys of all these layers, cut where blocks begin."""
    keys = sum(store.layer_record(depth).size for depth in depths)
    firsts = sorted(first for depth in depths for first in store.first_keys(depth))
    step = max(1, len(firsts) * together // max(1, keys))
    return sorted({0, *firsts[step::step], store.layout.greatest + 1}) if firsts else []


def described(error: DamagedError, store: RunStore) -> str:
    """Return the text of an error without the name of the run."""
    return str(error).removeprefix(f"run {store.directory.name}: ")
