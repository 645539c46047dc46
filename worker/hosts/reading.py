"""Reads of a host's layers: its own blocks, and copies of those of others. `stores` begins with its own store."""

from collections.abc import Sequence

import numpy as np

from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.puzzles.keys.order import is_increasing
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import BLOCKS, block_key
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.tasks import Array


def index(stores: Sequence[RunStore], request: HostRequest) -> list[Array]:
    """Return the first keys of the blocks of a layer, own ones and copies; `DamagedError` if an own one is lost."""
    own, *copies = stores
    own.require_whole(request.depth)
    copied = [first for store in copies for first in store.first_keys(request.depth)]
    return [own.layout.pack(firsts) for firsts in (own.first_keys(request.depth), copied)]


def give(stores: Sequence[RunStore], request: HostRequest, firsts: Keys) -> list[Array]:
    """Return the lengths and bytes of the blocks of a layer that begin with `firsts`, own ones or copies."""
    layout = stores[0].layout
    if not layout.holds(firsts):
        raise PayloadError("a request is not readable: the first keys of its blocks are malformed")
    values = [_value(stores, block_key(request.depth, first, layout.bytes)) for first in ints(firsts)]
    return [np.array(list(map(len, values)), dtype=np.int64), np.frombuffer(b"".join(values), dtype=np.uint8)]


def find(stores: Sequence[RunStore], request: HostRequest, keys: Keys) -> list[Array]:
    """Return 1 for each of some increasing keys that is in layer `request.depth`, own or copied; `DamagedError`."""
    if not stores[0].layout.holds(keys) or not is_increasing(keys):
        raise PayloadError("a request is not readable: the keys to look up do not increase")
    stores[0].require_whole(request.depth)
    return [np.any([store.members(request.depth, keys) for store in stores], axis=0).astype(np.uint8)]


def _value(stores: Sequence[RunStore], name: bytes) -> bytes:
    found = next(filter(None, (store.read(BLOCKS, name) for store in stores)), None)
    if found is None:
        raise DamagedError("a block that a host has listed does not exist any more")
    return found
