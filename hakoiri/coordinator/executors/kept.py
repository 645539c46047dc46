"""Layers that hosts keep, read from here: their blocks as the entries of LMDB that they are at the hosts.

A layer's index, the first key of each block of each host, is fetched once; blocks as they are asked for, of all hosts
at once.
"""

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.puzzles.keys.layout import Key, Keys, Layout, Mask, ints
from hakoiri.storage.errors import ElsewhereError
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import LABELS, block_key, number_key, split_block_key
from hakoiri.worker.hosts.wire import decompressed
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.plain import Array

#: Bytes of blocks that are kept for whoever asks for them again, and how many are fetched at once of those that are
#: read one after the other: of 60 layers that are read side by side all stay until they are read.
_HELD_BYTES, _AHEAD = 1 << 25, 8


class _Index(NamedTuple):
    """The names of a layer's blocks, in order, and the host of each."""

    names: list[bytes]
    hosts: list[str]


class KeptBlocks:
    """The blocks that `keepers` have of the layers of a run with keys of a `layout`; may be asked from any thread.

    Unless it `waits`, a host that is away is an `ElsewhereError`.
    """

    def __init__(self, keepers: Keepers, layout: Layout, waits: bool = False) -> None:
        self._keepers, self._layout, self._waits = keepers, layout, waits
        self._indexes = dict[Depth, _Index]()
        self._values, self._held = OrderedDict[bytes, bytes](), 0
        self._lock = threading.RLock()

    def get(self, database: bytes, name: bytes) -> bytes | None:
        """The block of a name, or the labels of a slab."""
        if database == LABELS:
            return self._labels(name)
        found = self.entries(database, name, 1)
        return found[0][1] if found and found[0][0] == name else None

    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]:
        """The names of the blocks of a layer, whose number is `prefix`, in order."""
        return self._index(prefix).names

    def entries(self, database: bytes, begin: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """At most so many blocks of a layer with their names, from the name `begin` on."""
        with self._lock:
            try:
                return self._entries(begin, most)
            except ElsewhereError:
                # A host has left since it listed its blocks; others may have copies.
                self._indexes.pop(split_block_key(begin)[0], None)
                return self._entries(begin, most)

    def _entries(self, begin: bytes, most: int) -> list[tuple[bytes, bytes]]:
        index = self._index(begin)
        first = bisect_left(index.names, begin)
        in_turn = first > 0 and index.names[first - 1] in self._values
        self._fetch(index, first, first + most, _AHEAD if in_turn else 0)
        found = [(name, self._values[name]) for name in index.names[first : first + most]]
        self._make_room()
        return found

    def name_around(self, database: bytes, wanted: bytes, prefix: bytes) -> bytes | None:
        """Return the greatest name in a layer that is not above `wanted`; the least if all are above."""
        names = self._index(prefix).names
        return names[max(0, bisect_right(names, wanted) - 1)] if names else None

    def name_after(self, database: bytes, name: bytes, prefix: bytes) -> bytes | None:
        """Return the least name in a layer that is above `name`."""
        names = self._index(prefix).names
        return next(iter(names[bisect_right(names, name) :][:1]), None)

    def members(self, depth: Depth, keys: Keys) -> Mask:
        """Return for each key whether it is in the layer; `keys` increase. Asks the hosts of their ranges once."""
        found, keepers = np.zeros(len(keys), dtype=np.bool_), self._keepers
        asked = keepers.places_by_host(keys, keepers.range_map.hosts if self._waits else keepers.pool.living().keys())
        fields: dict[str, dict[str, int]] = {host: {} for host in asked}
        ask = partial(self._keepers.ask, "host-find", depth, fields, lambda host: [keys[asked[host]]], self._waits)
        with self._lock:
            answers = self._keepers.pool.insist("finding", ask) if asked else {}
        for host, arrays in answers.items():
            found[asked[host]] = arrays[0] == 1
        return found

    def _labels(self, name: bytes) -> bytes:
        """The labels of a slab; some more are fetched with them, of those that are read one after the other."""
        slab, _ = split_block_key(name)
        with self._lock:
            if name not in self._values:
                ahead = _AHEAD if slab and number_key(slab - 1) in self._values else 1
                slabs = self._keepers.slabs_by_host(range(slab, slab + ahead))
                names = {host: list(map(number_key, mine)) for host, mine in slabs.items()}
                numbers = {host: np.array(mine) for host, mine in slabs.items()}
                self._ask_for("host-labels", 0, names, numbers, decompressed)
            found = self._values[name]
            self._make_room()
        return found

    def _make_room(self) -> None:
        while self._held > _HELD_BYTES:
            self._held -= len(self._values.popitem(last=False)[1])

    def _index(self, name: bytes) -> _Index:
        depth = split_block_key(name)[0]
        with self._lock:
            if depth not in self._indexes:
                ask = partial(self._keepers.ask, "host-index", depth, waits=self._waits)
                told = self._keepers.pool.insist(f"the list of layer {depth}", ask)
                size = self._layout.bytes
                firsts = {host: self._firsts(host, arrays, told.keys()) for host, arrays in told.items()}
                found = sorted((block_key(depth, first, size), host) for host in firsts for first in firsts[host])
                self._indexes[depth] = _Index([each for each, _ in found], [host for _, host in found])
            return self._indexes[depth]

    def _firsts(self, host: str, arrays: list[Array], there: Collection[str]) -> list[Key]:
        """The first keys of the blocks to ask a host for: its own, and copies of those of hosts that are away.

        Blocks of ranges that move are already among the copies of their new host, and perhaps also at the old one.
        """
        range_map, (own, copied) = self._keepers.range_map, map(ints, arrays)
        if range_map.settled and {*range_map.hosts} <= {*there}:
            return own
        cuts, place = Partition.unpack(range_map.partition, self._layout), range_map.hosts.index(host)
        owners = enumerate(range_map.hosts[owner] for owner in range_map.owners)
        mine = {n for n, owner in owners if owner == host or (owner not in there and range_map.copy_of(n) == place)}
        return [first for first in {*own, *copied} if cuts.range_of(first) in mine]

    def _fetch(self, index: _Index, begin: int, end: int, ahead: int) -> None:
        """Have the blocks of these numbers among the last that were used; if one is missing, some more `ahead`."""
        wanted: dict[str, list[bytes]] = {}
        if any(name not in self._values for name in index.names[begin:end]):
            end = max(end, begin + ahead)
        for name, host in zip(index.names[begin:end], index.hosts[begin:end], strict=True):
            if name in self._values:
                self._values.move_to_end(name)
            else:
                wanted.setdefault(host, []).append(name)
        if not wanted:
            return
        depth = split_block_key(index.names[begin])[0]
        firsts = {host: self._layout.pack(split_block_key(name)[1] for name in names) for host, names in wanted.items()}
        self._ask_for("host-give", depth, wanted, firsts)

    def _ask_for(
        self, task: str, depth: Depth, wanted: Mapping[str, Sequence[bytes]], arrays_of: Mapping[str, Array],
        unpacked: Callable[[Array], Array] = lambda data: data,
    ) -> None:  # fmt: skip
        """Have entries of these names, which each host is asked for by an array, among the last that were used."""
        fields: dict[str, dict[str, int]] = {host: {} for host in wanted}
        ask = partial(self._keepers.ask, task, depth, fields, lambda host: [arrays_of[host]], self._waits)
        for host, (lengths, data) in self._keepers.pool.insist("reading", ask).items():
            values, cuts = unpacked(data), [0, *np.cumsum(lengths).tolist()]
            for name, (begin, end) in zip(wanted[host], pairwise(cuts), strict=True):
                self._values[name] = values[begin:end].tobytes()
                self._held += end - begin
