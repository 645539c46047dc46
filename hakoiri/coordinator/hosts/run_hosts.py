"""The hosts of one run: requests to them, reads of their layers, and checks of these layers.

The index of a layer, the first key of each block at each host, is fetched once. Blocks are fetched on demand, from all
hosts at once.
"""

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import partial
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np

from hakoiri.coordinator.hosts.hosts import (
    HostGoneError,
    HostLostError,
    HostPool,
    HostRefusedError,
    TooFewHostsError,
)
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap
from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.errors import ElsewhereError, Hint, WorkerError
from hakoiri.keys.layout import Key, Keys, Layout, Mask, ints, layout_of
from hakoiri.keys.order import lower_bounds
from hakoiri.storage.layers.audit import Audit, Audited, Sample, duplicate_fault
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.storage.names import HOSTS_KEY, LABELS, LEAVING_KEY, META, block_key, number_key, split_block_key
from hakoiri.worker.census.slabs import even_slabs, slabs_in
from hakoiri.worker.hosts.requests import HostChecked, HostRequest
from hakoiri.worker.hosts.wire import expanded
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.data_redis import MAIN, data_redis_number
from hakoiri.worker.transport.payload import Array, Arrays, unpacked


class RunHosts:
    """The hosts that keep the run of `store`, with the ranges of `range_map`.

    Attribute `base`: the run whose configurations have goal distances, with the same ranges at the same hosts.
    """

    def __init__(self, store: RunStore, pool: HostPool, range_map: RangeMap, base: RunStore | None = None) -> None:
        self.pool, self.range_map, self.base, self._store = pool, range_map, base, store
        self._attempts = count(1)

    @classmethod
    def of(cls, store: RunStore, pool: HostPool, base: RunStore | None = None) -> "RunHosts":
        """Return the hosts in the record of the run."""
        return cls(store, pool, replace(_range_map_of(store), redis=pool.address), base)

    @classmethod
    def asked_in(cls, session: Session, base: RunStore | None = None) -> "RunHosts":
        """Return the hosts that keep the run of a session; `WorkerError` if the session is not to ask them."""
        store, pool = session.store, session.context.hosts
        if pool is not None:
            found = cls.of(store, pool, base)
            # The URL of their Redis may have changed.
            store.stage_record(META, HOSTS_KEY, asdict(found.range_map))
            return found
        range_map, here = _range_map_of(store), session.context.redis is not None
        hint = Hint("give", "hosts", "all") if here else Hint("give", "redis", range_map.redis or "URL")
        raise WorkerError(f"run {store.directory.name} is kept by {', '.join(range_map.hosts)}", hint)

    def expecting(self, fields: dict[str, Any], sent: Mapping[str, Sequence[int]]) -> dict[str, dict[str, Any]]:
        """Return by host `fields` and the messages to expect of each; `sent` counts those of a host to each, if any."""
        hosts = self.range_map.hosts
        return {
            host: {**fields, "expected": [sent[other][place] for other in hosts if sent]}
            for place, host in enumerate(hosts)
        }

    def under(self, range_map: RangeMap) -> "RunHosts":
        """Return the hosts of another map of the same run; attempts are counted together."""
        others = copy(self)
        others.range_map = range_map
        return others

    def next_attempt(self) -> int:
        """Return the number of a new attempt at joint work."""
        return next(self._attempts)

    @classmethod
    def dealt_out(
        cls, session: Session, planned: Callable[[list[str]], RangeMap], depth: Depth = 0, layers: Sequence[Keys] = ()
    ) -> "RunHosts":
        """Have living hosts take `layers` before `depth`, by the map `planned` for them; the record of it is staged.

        If a host is lost meanwhile, or refuses, hosts are chosen again. Raises `TooFewHostsError` if a host refuses
        and the user has asked for none: others may not pay.
        """
        pool: HostPool = session.context.hosts
        asked = list[str]()

        def deal_out() -> RunHosts:
            range_map = planned(pool.choose(again=bool(asked)))
            left = sorted({*asked} - {*range_map.hosts})
            asked.extend(range_map.hosts)
            run_hosts = cls(session.store, pool, replace(range_map, left=left, redis=pool.address))
            try:
                run_hosts.ask("host-take", depth, arrays=dict.fromkeys(range_map.hosts, layers))
            except HostGoneError as gone:
                raise HostLostError(str(gone)) from gone
            except HostRefusedError as refused:
                pool.exclude(refused)
                asked[:] = [host for host in asked if host != refused.host]
                # Others may have taken their parts, and may not be chosen again.
                run_hosts.tell("host-leave", depth)
                if pool.is_requested:
                    return deal_out()
                raise TooFewHostsError(str(refused), *refused.hints) from refused
            return run_hosts

        found = pool.insist("dealing out", deal_out)
        session.store.stage_record(META, HOSTS_KEY, asdict(found.range_map))
        return found

    def ask(
        self, task: str, depth: Depth, fields: Mapping[str, Mapping[str, Any]] | None = None,
        arrays: Mapping[str, Sequence[Array]] | None = None, waits: bool = True,
    ) -> dict[str, list[Array]]:  # fmt: skip
        """Send a request to all hosts, or only to hosts in `fields`, with these fields; return their answers by host.

        Some may get `arrays`, too; without `fields`, only these hosts are asked. If it `waits`, it waits for a host
        that is away. Otherwise it leaves that host out if others have copies, else raises `ElsewhereError`. Raises as
        `HostPool.ask`.
        """
        range_map = self.range_map
        if fields is None and arrays is not None:
            fields = {host: {} for host in arrays}
        if waits:
            living = self.pool.await_all(range_map.hosts, range_map.dispensable())
        elif range_map.lost_with(missing := {*range_map.hosts} - (living := self.pool.living()).keys()):
            raise self.away(missing)
        if fields is not None and (away := fields.keys() - living.keys()):
            raise self.away(away)
        asked = fields if fields is not None else {host: {} for host in range_map.hosts if host in living}
        return self.pool.ask(task, *self._requests(depth, asked, arrays or {}, living), living)

    def tell(self, task: str, depth: Depth) -> None:
        """Send all hosts a request without waiting for answers; no host needs another one for it."""
        self.pool.tell(task, *self._requests(depth, {host: {} for host in self.range_map.hosts}, {}, {}))

    def _requests(
        self, depth: Depth, asked: Mapping[str, Mapping[str, Any]], arrays: Mapping[str, Sequence[Array]],
        living: Mapping[str, HostBeat],
    ) -> tuple[Arrays, dict[str, Arrays]]:  # fmt: skip
        """Return what all hosts share, and the request to each in `asked`, with these fields and its `arrays`."""
        range_map = self.range_map
        # An empty manifest stands for no base run.
        manifest, base = (
            {} if store is None else {**store.manifest.as_dict(), "settings": {}} for store in (self._store, self.base)
        )
        data_redis = [data_redis_number(living[host].url) if host in living else MAIN for host in range_map.hosts]
        request = HostRequest(
            manifest, range_map.hosts, 0, data_redis, range_map.partition, range_map.owners, depth,
            memory=self.pool.memory, copies=range_map.copies, base=base,
        )  # fmt: skip
        return request.shared, {
            host: replace(request, me=range_map.hosts.index(host), **more).arrays(*arrays.get(host, ()))
            for host, more in asked.items()
        }

    def places_by_host(self, keys: Keys, living: Collection[str]) -> dict[str, np.ndarray]:
        """Return by host the places of the keys in its ranges; `keys` increase.

        If the host of a range is not among the `living`, the range counts for the host with its copy.
        """
        range_map, layout = self.range_map, layout_of(keys)
        cuts = Partition.unpack(range_map.partition, layout).cut_keys
        places = dict[str, list[np.ndarray]]()
        for number, (begin, end) in enumerate(pairwise([0, *lower_bounds(keys, cuts).tolist(), len(keys)])):
            owner, copy = range_map.hosts[range_map.owners[number]], range_map.copy_of(number)
            host = owner if owner in living or copy == NOBODY else range_map.hosts[copy]
            if begin < end:
                places.setdefault(host, []).append(np.arange(begin, end))
        return {host: np.concatenate(mine) for host, mine in places.items()}

    def slabs_by_host(self, slabs: range) -> dict[str, list[int]]:
        """Return the slabs of labels of a whole space, grouped by the host that has them."""
        range_map, size, found = self.range_map, self._store.layer_record(0).size, dict[str, list[int]]()
        each = even_slabs(size, len(range_map.owners))
        for slab in range(slabs.start, min(slabs.stop, slabs_in(size))):
            found.setdefault(range_map.hosts[range_map.owners[slab // each]], []).append(slab)
        return found

    def let_go(self, hosts: Collection[str], waits: bool = True) -> None:
        """Have living hosts drop their parts of the run, even if they have no range of it; `waits` as for `ask`."""
        others = [host for host in hosts if host not in self.range_map.hosts]
        everybody = RunHosts(self._store, self.pool, replace(self.range_map, hosts=[*self.range_map.hosts, *others]))
        everybody.ask("host-leave", 0, {host: {} for host in hosts}, waits=waits)

    def away(self, hosts: Collection[str]) -> ElsewhereError:
        """Return the error that these hosts do not answer, with the next step for the user."""
        run = self._store.directory.name
        drained = [Hint("drain", host) for host in sorted(hosts)]
        lost = [Hint("begin anew", run)] if self.range_map.lost_with(hosts) else drained
        text = f"{', '.join(sorted(hosts))} do not answer, and keep layers of run {run}"
        return ElsewhereError(text, Hint("host", "DIR"), *lost)


def _range_map_of(store: RunStore) -> RangeMap:
    kept = store.read(META, HOSTS_KEY) is not None
    return store.read_as(RangeMap, META, HOSTS_KEY if kept else LEAVING_KEY, "record of its hosts")


#: Size of the block cache in bytes, and blocks prefetched in a sequential scan. A merge of 60 layers evicts no block
#: before it is read.
_HELD_BYTES, _AHEAD = 1 << 25, 8


class _Index(NamedTuple):
    """The names of a layer's blocks, in order, and the host of each."""

    names: list[bytes]
    hosts: list[str]


class HostedBlocks:
    """The blocks of layers at the hosts of a run, with keys of a `layout`, behind a cache. Thread-safe.

    If a host is away, reads wait for it if `waits`, else raise `ElsewhereError`.
    """

    def __init__(self, run_hosts: RunHosts, layout: Layout, waits: bool = False) -> None:
        self._hosts, self._layout, self._waits = run_hosts, layout, waits
        self._indexes = dict[Depth, _Index]()
        self._values, self._held = OrderedDict[bytes, bytes](), 0
        self._lock = threading.RLock()

    def get(self, database: bytes, name: bytes) -> bytes | None:
        """Return the block of a name, or the labels of a slab."""
        if database == LABELS:
            return self._labels(name)
        found = self.entries(database, name, 1)
        return found[0][1] if found and found[0][0] == name else None

    def names(self, database: bytes, prefix: bytes = b"") -> list[bytes]:
        """Return the names of the blocks of the layer with the number `prefix`, in order."""
        return self._index(prefix).names

    def entries(self, database: bytes, begin: bytes, most: int) -> list[tuple[bytes, bytes]]:
        """Return at most `most` blocks of a layer with their names, from the name `begin` on."""
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
        found, run_hosts = np.zeros(len(keys), dtype=np.bool_), self._hosts
        asked = run_hosts.places_by_host(
            keys, run_hosts.range_map.hosts if self._waits else run_hosts.pool.living().keys()
        )
        arrays = {host: [keys[places]] for host, places in asked.items()}
        ask = partial(self._hosts.ask, "host-find", depth, arrays=arrays, waits=self._waits)
        with self._lock:
            answers = self._hosts.pool.insist("finding", ask) if asked else {}
        for host, (inside,) in answers.items():
            found[asked[host]] = inside == 1
        return found

    def _labels(self, name: bytes) -> bytes:
        """Return the labels of a slab; prefetch more if slabs are read in order."""
        slab, _ = split_block_key(name)
        with self._lock:
            if name not in self._values:
                ahead = _AHEAD if slab and number_key(slab - 1) in self._values else 1
                slabs = self._hosts.slabs_by_host(range(slab, slab + ahead))
                names = {host: list(map(number_key, mine)) for host, mine in slabs.items()}
                numbers = {host: [np.array(mine)] for host, mine in slabs.items()}
                self._ask_for("host-labels", 0, names, numbers, expanded)
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
                ask = partial(self._hosts.ask, "host-index", depth, waits=self._waits)
                answers = self._hosts.pool.insist(f"the list of layer {depth}", ask)
                size = self._layout.bytes
                firsts = {host: self._firsts(host, arrays, answers.keys()) for host, arrays in answers.items()}
                found = sorted((block_key(depth, first, size), host) for host in firsts for first in firsts[host])
                self._indexes[depth] = _Index([each for each, _ in found], [host for _, host in found])
            return self._indexes[depth]

    def _firsts(self, host: str, arrays: list[Array], there: Collection[str]) -> list[Key]:
        """Return the first keys of the blocks to fetch from a host: own blocks, and copies for hosts that are away.

        Blocks of moving ranges are already among the copies of their new host, and perhaps still at the old one.
        """
        range_map, (own, copied) = self._hosts.range_map, map(ints, arrays)
        if range_map.settled and {*range_map.hosts} <= {*there}:
            return own
        cuts, place = Partition.unpack(range_map.partition, self._layout), range_map.hosts.index(host)
        owners = enumerate(range_map.hosts[owner] for owner in range_map.owners)
        mine = {n for n, owner in owners if owner == host or (owner not in there and range_map.copy_of(n) == place)}
        return [first for first in {*own, *copied} if cuts.range_of(first) in mine]

    def _fetch(self, index: _Index, begin: int, end: int, ahead: int) -> None:
        """Fetch the blocks of these numbers into the cache; if one is missing, prefetch `ahead` more."""
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
        firsts = {host: [split_block_key(name)[1] for name in names] for host, names in wanted.items()}
        arrays = {host: [self._layout.pack(mine)] for host, mine in firsts.items()}
        self._ask_for("host-give", depth, wanted, arrays)

    def _ask_for(
        self, task: str, depth: Depth, wanted: Mapping[str, Sequence[bytes]], arrays: Mapping[str, Sequence[Array]],
        unpacked: Callable[[Array, Array], Array] = lambda data, _: data,
    ) -> None:  # fmt: skip
        """Fetch the entries of these names into the cache; `arrays` request them of each host."""
        ask = partial(self._hosts.ask, task, depth, arrays=arrays, waits=self._waits)
        for host, (lengths, data) in self._hosts.pool.insist("reading", ask).items():
            values, cuts = unpacked(data, lengths), [0, *np.cumsum(lengths).tolist()]
            for name, (begin, end) in zip(wanted[host], pairwise(cuts), strict=True):
                self._values[name] = values[begin:end].tobytes()
                self._held += end - begin


def check_hosted(
    store: RunStore, run_hosts: RunHosts, others: Keys, sample: Sample, context: ComputeContext
) -> tuple[list[str], dict[Depth, Audited]]:
    """Have all hosts of a run check their parts, in which none of the increasing keys `others` may occur.

    Return the faults of their layers, and the results to be compared with the rules. Raises as `HostPool.insist`, and
    `ElsewhereError` if a host is away.
    """
    records, faults, broken = [record for record in store.layer_records() if record.hosted], list[str](), set[Depth]()
    if not records:
        return [], {}
    common = {"first": records[0].depth, "seed": sample.seed, "sample": sample.wanted}
    ask = partial(_checked, run_hosts, records[-1].depth, common, others, context)
    audit, copied, duplicates = Audit(store, [record.depth for record in records], sample), list[Array](), list[Keys]()
    for host, (head, copies, duplicate, *arrays) in run_hosts.pool.insist("the check", ask).items():
        checked = unpacked([head], HostChecked)
        faults += [f"host {host}: {fault}" for fault in checked.faults]
        broken |= {*checked.broken}
        audit.add(*arrays)
        copied.append(copies)
        duplicates.append(duplicate)
    faults += [duplicate_fault(store, each) for each in duplicates if len(each)]
    range_map = run_hosts.range_map
    has_copies = range_map.copies and NOBODY not in range_map.copies and not range_map.due
    for record, layer, copies in zip(records, audit.layers, np.add.reduce(copied).tolist(), strict=True):
        # The sums of a damaged layer prove nothing.
        if record.depth not in broken:
            faults += layer.differences(record)
            if has_copies and copies != [layer.size, *layer.lanes]:
                faults.append(f"layer {record.depth}: its copies differ from the originals")
    return faults, audit.audited


def _checked(
    run_hosts: RunHosts, last: Depth, common: Mapping[str, Any], others: Keys, context: ComputeContext
) -> dict[str, list[Array]]:  # fmt: skip
    hosts, answers, number, attempt = run_hosts.range_map.hosts, dict[str, list[Array]](), 0, run_hosts.next_attempt()
    left, beside = {*hosts}, {host: [others[mine]] for host, mine in run_hosts.places_by_host(others, hosts).items()}
    while left:
        context.control.check()
        context.tell(Progress(len(answers), len(hosts), "hosts have checked what they keep"))
        asked = {host: {**common, "attempt": attempt, "round": number} for host in left}
        found = run_hosts.ask("host-check", last, asked, beside, waits=False)
        # Only the first request to a host carries the keys of the layers stored here.
        beside = {}
        answers |= {host: arrays for host, arrays in found.items() if unpacked(arrays, HostChecked).finished}
        left -= answers.keys()
        number += 1
    return answers
