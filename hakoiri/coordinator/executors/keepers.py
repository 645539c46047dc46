"""The hosts that keep one run: requests to all of them, or to those that keep some keys."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import count, pairwise
from typing import Any

import numpy as np

from hakoiri.coordinator.executors.hosts import HostPool
from hakoiri.coordinator.executors.range_map import NOBODY, RangeMap
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Keys, layout_of
from hakoiri.puzzles.keys.order import lower_bounds
from hakoiri.storage.errors import ElsewhereError
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import HOSTS_KEY, META
from hakoiri.worker.errors import WorkerError
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.plain import Array, Arrays
from hakoiri.worker.spaces.ranges import even_slabs, slabs_in
from hakoiri.worker.transport.connection import HostBeat
from hakoiri.worker.transport.data_redis_pool import MAIN, data_redis_number


class Keepers:
    """The hosts that keep the run of `store`, with the ranges of `range_map`.

    Attribute `base`: the run whose configurations have goal distances, with the same ranges at the same hosts.
    """

    def __init__(self, store: RunStore, pool: HostPool, range_map: RangeMap, base: RunStore | None = None) -> None:
        self.pool, self.range_map, self.base, self._store = pool, range_map, base, store
        self._attempts = count(1)

    @classmethod
    def of(cls, store: RunStore, pool: HostPool, base: RunStore | None = None) -> "Keepers":
        """Return the hosts that the run names."""
        return cls(store, pool, replace(_range_map_of(store), redis=pool.address), base)

    @classmethod
    def asked_in(cls, session: Session, base: RunStore | None = None) -> "Keepers":
        """Return the hosts that keep the run of a session; `WorkerError` if the session is not to ask them."""
        store, pool = session.store, session.context.hosts
        if pool is not None:
            found = cls.of(store, pool, base)
            # Their Redis may be another one by now.
            store.stage_record(META, HOSTS_KEY, asdict(found.range_map))
            return found
        range_map, here = _range_map_of(store), session.context.redis is not None
        hint = Hint("give", "hosts", "all") if here else Hint("give", "redis", range_map.redis or "URL")
        raise WorkerError(f"run {store.directory.name} is kept by {', '.join(range_map.hosts)}", hint)

    def next_attempt(self) -> int:
        """Return the number of a new attempt at joint work."""
        return next(self._attempts)

    def ask(
        self, task: str, depth: Depth, fields: Mapping[str, Mapping[str, Any]] | None = None,
        keys: Callable[[str], Sequence[Keys]] = lambda host: (), waits: bool = True,
    ) -> dict[str, list[Array]]:  # fmt: skip
        """Send a request to all hosts, or to those in `fields` with these fields; return their answers by host.

        `keys` gives the arrays that go with each request. If it `waits`, it waits for a host that is away. Otherwise it
        leaves that host out if others have copies, else raises `ElsewhereError`. Raises as `HostPool.ask`.
        """
        range_map = self.range_map
        living = self.pool.await_all(range_map.hosts, range_map.dispensable()) if waits else self._require_living()
        if fields is not None and (away := fields.keys() - living.keys()):
            raise self.away(away)
        asked = fields if fields is not None else {host: {} for host in range_map.hosts if host in living}
        return self.pool.ask(task, self._requests(depth, asked, keys, living), living)

    def tell(self, task: str, depth: Depth) -> None:
        """Send all hosts a request that concerns no other host, and whose answer is not wanted."""
        self.pool.tell(task, self._requests(depth, {host: {} for host in self.range_map.hosts}, lambda host: (), {}))

    def _requests(
        self, depth: Depth, asked: Mapping[str, Mapping[str, Any]], keys: Callable[[str], Sequence[Keys]],
        living: Mapping[str, HostBeat],
    ) -> dict[str, Arrays]:  # fmt: skip
        """Return the request to each of the hosts in `asked`, with these fields and the arrays of `keys`."""
        range_map = self.range_map
        manifest, base = (_manifest_at_hosts(store) for store in (self._store, self.base))
        data_redis = [data_redis_number(living[host].url) if host in living else MAIN for host in range_map.hosts]
        request = HostRequest(
            manifest, range_map.hosts, 0, data_redis, range_map.partition, range_map.owners, depth,
            memory=self.pool.memory, copies=range_map.copies, base=base,
        )  # fmt: skip
        return {
            host: replace(request, me=range_map.hosts.index(host), **more).arrays(*keys(host))
            for host, more in asked.items()
        }

    def places_by_host(self, keys: Keys, living: Collection[str]) -> dict[str, np.ndarray]:
        """Return by host the places of those of some increasing `keys` that are in its ranges.

        If the host of a range is not among the `living`, the host with its copy counts.
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
        """Return by host those of some slabs of the labels of a whole space that it has."""
        range_map, size, found = self.range_map, self._store.layer_record(0).size, dict[str, list[int]]()
        each = even_slabs(size, len(range_map.owners))
        for slab in range(slabs.start, min(slabs.stop, slabs_in(size))):
            found.setdefault(range_map.hosts[range_map.owners[slab // each]], []).append(slab)
        return found

    def let_go(self, hosts: Collection[str], waits: bool = True) -> None:
        """Have living hosts drop what they have of the run, also those with no range of it; `waits` as for `ask`."""
        others = [host for host in hosts if host not in self.range_map.hosts]
        everybody = Keepers(self._store, self.pool, replace(self.range_map, hosts=[*self.range_map.hosts, *others]))
        everybody.ask("host-leave", 0, {host: {} for host in hosts}, waits=waits)

    def _require_living(self) -> dict[str, HostBeat]:
        """Return the living hosts; `ElsewhereError` unless they have every range, or a copy of it."""
        living = self.pool.living()
        missing = {*self.range_map.hosts} - living.keys()
        if self.range_map.lost_with(missing):
            raise self.away(missing)
        return living

    def away(self, hosts: Collection[str]) -> ElsewhereError:
        """Return the error that these hosts do not answer, with what to do."""
        run = self._store.directory.name
        drained = [Hint("drain", host) for host in sorted(hosts)]
        lost = [Hint("begin anew", run)] if self.range_map.lost_with(hosts) else drained
        text = f"{', '.join(sorted(hosts))} do not answer, and keep layers of run {run}"
        return ElsewhereError(text, Hint("host", "DIR"), *lost)


def _range_map_of(store: RunStore) -> RangeMap:
    return store.read_as(RangeMap, META, HOSTS_KEY, "record of its hosts")


def _manifest_at_hosts(store: RunStore | None) -> dict[str, Any]:
    """Return the manifest that identifies a run at hosts; an empty one without a run."""
    return {} if store is None else {**store.manifest.as_dict(), "settings": {}}
