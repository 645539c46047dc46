"""Checks the part of a finished run that a host keeps: whether it is sound, its sums, and a sample of its keys.

All layers together, one key range after the other, so that each block is read once or twice and none is sent. Then the
copies of other hosts' ranges, layer after layer.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from time import monotonic

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.puzzles.keys.order import equal_neighbours, is_increasing, slice_between, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.audit import LayerSums, key_ranges
from hakoiri.storage.layers.digest import mixed
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostChecked, HostRequest, as_array
from hakoiri.worker.tasks import Array

#: How long a request takes: others may wait.
_SECONDS = 5.0
#: Faults that are told of a layer, and of all.
_MOST_OF_LAYER, _MOST_FAULTS = 10, 100
#: The bound of a sample is set for so many times the wanted keys, so that it has too few of them once in 1e40 times.
_MARGIN = 4


@dataclass
class _Layer:
    """What is found of a layer; `record` is that of the own part, ``None`` where there is none."""

    depth: Depth
    sums: LayerSums
    copies: LayerSums
    record: LayerRecord | None = None
    goals: int = 0
    sample: list[Keys] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Note a fault."""
        if len(self.faults) < _MOST_OF_LAYER:
            self.faults.append(text)


class PartCheck:
    """The check of the layers `request.first` to `request.depth` of `store`, in one attempt of one session.

    `others` are keys of the coordinator's own layers, increasing, which must not occur in these. About `together` keys
    are held at a time. `copies` has the copies of other hosts' ranges, if there are any. `finished` says whether all
    has been looked at.
    """

    def __init__(
        self, store: RunStore, copies: RunStore | None, puzzle: Puzzle, request: HostRequest, session: str,
        others: Keys, together: int,
    ) -> None:  # fmt: skip
        if not store.layout.holds(others) or not is_increasing(others):
            raise PayloadError("a request is not readable: the keys beside the layers do not increase")
        self._store, self._copies, self._puzzle, self._others = store, copies, puzzle, others
        self._asked = session, request.first, request.depth, request.attempt
        self._seed, self._wanted, self._together = request.seed, request.sample, together
        depths = range(request.first, request.depth + 1)
        self._layers = [_Layer(depth, LayerSums(depth), LayerSums(depth)) for depth in depths]
        self._duplicate, self._steps, self.finished = store.layout.empty(0), self._check(), False

    def is_asked(self, request: HostRequest, session: str) -> bool:
        """Whether a request goes on with this attempt."""
        return self._asked == (session, request.first, request.depth, request.attempt)

    def go_on(self) -> list[Array]:
        """Check for some seconds; return [`HostChecked`], and when all is checked what was found.

        [`HostChecked`; for each layer size, two lanes of the digest and goals, uint64; size and two lanes of the
        copies; a key that occurs in two layers, if one does; the sizes of the samples of layers; all samples].
        """
        until = monotonic() + _SECONDS
        for _ in self._steps:
            if monotonic() > until:
                return [as_array(asdict(HostChecked(False, [], [])))]
        self.finished = True
        faults = [fault for layer in self._layers for fault in layer.faults]
        broken = [layer.depth for layer in self._layers if layer.faults]
        own = [[layer.sums.size, *layer.sums.lanes, layer.goals] for layer in self._layers]
        copied = [[layer.copies.size, *layer.copies.lanes] for layer in self._layers]
        samples = [np.concatenate([self._store.layout.empty(0), *layer.sample]) for layer in self._layers]
        return [
            as_array(asdict(HostChecked(True, faults[:_MOST_FAULTS], broken))), np.array(own, dtype=np.uint64),
            np.array(copied, dtype=np.uint64), self._duplicate,
            np.array([len(keys) for keys in samples], dtype=np.int64), np.concatenate(samples),
        ]  # fmt: skip

    def _check(self) -> Iterator[None]:
        """Check everything, in steps that are short."""
        for layer in self._layers:
            try:
                self._store.require_whole(layer.depth)
                layer.record = self._store.layer_record(layer.depth)
            except DamagedError as error:
                layer.fault(_said(error, self._store))
        there = [layer.depth for layer in self._layers if layer.record is not None]
        for low, high in pairwise(key_ranges(self._store, there, self._together)):
            self._check_range(low, high)
            yield
        for layer in self._layers:
            # Here, so that the host is named whose part it is.
            if layer.record is not None and not layer.faults:
                layer.faults += layer.sums.faults(layer.record)
        if self._copies is not None:
            yield from self._check_copies(self._copies)

    def _check_copies(self, store: RunStore) -> Iterator[None]:
        for layer in self._layers:
            try:
                for keys in store.blocks(layer.depth):
                    layer.copies.add(keys)
                    yield
            except DamagedError as error:
                layer.fault(f"copies: {_said(error, store)}")

    def _check_range(self, low: Key, high: Key) -> None:
        """Check the keys low <= key < high of all layers."""
        found = [slice_between(self._others, low, high)]
        for layer in self._layers:
            if layer.record is None:
                continue
            try:
                keys = self._store.slice(layer.depth, low, high)
            except DamagedError as error:
                layer.fault(_said(error, self._store))
                continue
            if not is_increasing(keys):
                layer.fault(f"layer {layer.depth}: its keys are not strictly increasing")
            layer.sums.add(keys)
            layer.goals += int(np.count_nonzero(self._puzzle.is_goal(keys))) if len(keys) else 0
            layer.sample.append(sample_of(keys, self._seed, self._wanted, layer.record.size))
            found.append(keys)
        if not len(self._duplicate):
            self._duplicate = equal_neighbours(sort_keys(np.concatenate(found)))[:1].copy()


def sample_of(keys: Keys, seed: int, wanted: int, size: int) -> Keys:
    """Return the keys that belong to a sample of the `size` keys of a layer: those that a hash puts lowest.

    The union over all parts of the layer has at least the `wanted` lowest.
    """
    if size <= _MARGIN * wanted:
        return keys
    return keys[mixed(keys, seed) < np.uint64((_MARGIN * wanted << 64) // size)]


def _said(error: DamagedError, store: RunStore) -> str:
    """Return what is damaged, without the name that the run has at this host."""
    return str(error).removeprefix(f"run {store.directory.name}: ")
