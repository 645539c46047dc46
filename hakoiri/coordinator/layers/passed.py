"""The layers that a full verification of a directed run has passed, in a scratch store."""

from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import members
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.readers import Layer, StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.layers.kernels import merge


class _GatheredKeys:
    """Keys in sorted batches: up to `share` bytes in memory, the others in a scratch store."""

    def __init__(self, store: RunStore, share: int) -> None:
        self.store, self._share = store, share
        self._held, self._stored = store.layout.empty(0), list[StoredLayer]()

    def add(self, keys: Keys) -> None:
        self._held = merge([self._held, keys], [])
        if self._held.nbytes > self._share:
            number = len(self._stored)
            self.store.stage_blocks(number, code_keys(number, self._held))
            self.store.commit(self.store.state)
            self._stored.append(StoredLayer(self.store, number, len(self._held)))
            self._held = self.store.layout.empty(0)

    def exclude_from(self, keys: Keys) -> Keys:
        keys = keys[~members(self._held, keys)]
        for layer in self._stored:
            keys = layer.exclude_from(keys)
        return keys

    def clear(self) -> None:
        if self._stored:
            self.store.erase(BLOCKS)
            self.store.commit(self.store.state)
        self._held, self._stored = self.store.layout.empty(0), []


class PassedLayers:
    """The checked layers of a directed run.

    `older` are all before the present one; `reached` are keys of the next one that have a predecessor in it.
    """

    def __init__(self, session: Session) -> None:
        scratch = session.store
        shares, once = session.context.shares, session.context.tuning.merged_at_once
        self.older = ClosedSet(scratch, 0, shares, once, lambda: scratch.commit(scratch.state))
        self.reached = _GatheredKeys(scratch, session.context.shares.layer_bytes)

    def add(self, depth: Depth, layer: Layer) -> None:
        self.reached.clear()
        self.older.add(depth, layer)


def common(keys: Keys, layer: Layer) -> Keys:
    """Return those of some increasing keys that are in a layer."""
    return keys[~members(layer.exclude_from(keys), keys)]
