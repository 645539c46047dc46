"""Ranges moved between hosts, or cut: for copies, for hosts that leave or are lost, and to balance the load."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np

from hakoiri.coordinator.hosts.hosts import HostGoneError, HostLostError, HostRefusedError
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap, spread
from hakoiri.coordinator.hosts.run_hosts import RunHosts
from hakoiri.errors import ElsewhereError, Hint, WorkerError, counted
from hakoiri.keys.layout import ints
from hakoiri.storage.layers.blocks import digest_text
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, State
from hakoiri.storage.names import HOSTS_KEY, META, NUMBERS_KEY, ROUND_KEY
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, HostSent
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.transport.payload import Array, unpacked

#: The most bytes of the layers in one request, the last one excepted, and the most layers.
_MOST_BYTES, _MOST_LAYERS = 1 << 28, 1 << 12


class RangeMover:
    """Moves ranges between the hosts of a run; its `store` is open for writing.

    All methods raise as `HostPool.insist` and `HostPool.ask`.
    """

    def __init__(self, store: RunStore, run_hosts: RunHosts, note: Callable[[str], None]) -> None:
        self._store, self._hosts, self._note = store, run_hosts, note
        #: The map that hosts were last found ready for, and whether copies were compared.
        self._ready: RangeMap | None = None
        self._compared = False

    def settle(self) -> None:
        """Carry out the recorded map: move ranges to their hosts, and make the copies that are due."""
        range_map = self._hosts.range_map
        if not range_map.settled:
            if self._store.state.depth < 0:
                # Hosts may have begun to list with other ranges.
                self._hosts.pool.insist("dealing out", partial(self._hosts.ask, "host-take", 0))
            if range_map is not self._ready:
                self._require(range_map)
            self._require(range_map, dry=False)
        if range_map.due:
            due = {*range_map.due}
            copies = [copy if number in due else NOBODY for number, copy in enumerate(range_map.copies)]
            self._send(self._hosts, copies, self._batches())
        if range_map.due or not range_map.settled:
            self._record(replace(range_map, due=[], settled=True))

    def renew_copies(self) -> None:
        """Renew the copies that differ from the ranges at their owners, once ranges are settled.

        Raises `WorkerError` if the ranges at their owners do not match the records of the layers.
        """
        range_map = self._hosts.range_map
        if self._compared or not range_map.copies or self._store.state.depth < 0:
            return
        fault, sums = self._placed(range_map)
        pairs = enumerate(zip(range_map.owners, range_map.copies, strict=True))
        stale = {n for n, (owner, copy) in pairs if copy != NOBODY and sums[owner][n, 0] != sums[copy][n, 1]}
        if fault:
            hosts = sorted(range_map.dispensable())
            wrong = [Hint("drain", host) for host in hosts if not self._placed(range_map.taken_over(host))[0]]
            anew = Hint("host", "DIR"), Hint("begin anew", self._store.directory.name)
            raise WorkerError(fault, *(wrong[:1] or anew))
        if stale:
            self._note(f"the copies of {counted(len(stale), 'ranges')} are of another moment, and are made again")
            self._record(replace(range_map, due=sorted(stale)))
            self.settle()
        self._compared = True

    def begin_copies(self) -> None:
        """Record that a run without copies is to have them; `settle` makes them."""
        if not self._hosts.range_map.copies:
            self._record(self._hosts.range_map.copied())

    def copy_layer(self, depth: Depth) -> None:
        """Have all hosts send their parts of a layer to the hosts with the copies."""
        self._send(self._hosts, self._hosts.range_map.copies, [(depth, depth)])

    def take_over(self, host: str) -> None:
        """Record that the hosts with copies take over from a host that is away; `settle` carries it out.

        Raises `WorkerError`, and records nothing, unless these copies are complete.
        """
        range_map = self._hosts.range_map
        # A host that was only about to join needs no takeover.
        while host in range_map.hosts:
            # A space that is being listed has no copies yet.
            copies = " from their copies" if self._store.state.depth >= 0 else ""
            owned = counted(len(range_map.owned(host)), "ranges")
            self._note(f"host {host} is away: others take over its {owned}{copies}")
            range_map = range_map.taken_over(host)
            try:
                self._require(range_map)
            except HostGoneError as gone:
                host = gone.host
            else:
                self._record(range_map)
                return

    def let_leave(self) -> list[str]:
        """Move ranges away from living hosts that are to leave; return the hosts that may join the run."""
        pool, range_map = self._hosts.pool, self._hosts.range_map
        if range_map.left and (back := sorted({*range_map.left} & pool.willing().keys())):
            self.let_go(back)
        leaving, joining = pool.changes(range_map.hosts)
        for host in sorted(leaving & {*range_map.hosts} & pool.living().keys()):
            if len(self._hosts.range_map.hosts) > 1 or (joining := self.begun_at(joining)):
                self.drain(host, joining)
        return [host for host in joining if host not in self._hosts.range_map.hosts]

    def begun_at(self, hosts: Sequence[str]) -> list[str]:
        """Have hosts begin their parts of the run, without ranges; return the hosts that do not refuse."""
        begun, range_map = list[str](), self._hosts.range_map
        for host in hosts:
            joined = self._hosts.under(range_map.joined_by([host]))
            try:
                self._hosts.pool.insist("the beginning of more hosts", partial(joined.ask, "host-take", 0, {host: {}}))
            except HostRefusedError as refused:
                self._hosts.pool.exclude(refused)
            else:
                begun.append(host)
        return begun

    def admit(self, hosts: Sequence[str]) -> None:
        """Add hosts to the run, and move ranges to them so that all hosts have equally many."""
        joined = self._hosts.range_map.joined_by(hosts)
        self.move(joined, joined.to_hosts(hosts), ", ".join(hosts))

    def cut(self, pieces: Sequence[int], depth: Depth) -> list[int]:
        """Cut ranges into pieces with as many keys of layer `depth` each; return how many pieces each range has now."""
        range_map, layout = self._hosts.range_map, self._store.layout
        ask = partial(self._hosts.ask, "host-cut", depth, {host: {"pieces": [*pieces]} for host in range_map.hosts})
        answers = [arrays for (arrays,) in self._hosts.pool.insist("the cutting of ranges", ask).values()]
        before = Partition.unpack(range_map.partition, layout).cuts
        after = Partition(layout, tuple(sorted({*before, *chain.from_iterable(map(ints, answers))})))
        found = [bisect_left(after.cuts, cut) + 1 for cut in before]
        there = [end - begin for begin, end in pairwise([0, *found, after.ranges])]
        if after.ranges > len(there):
            self._note(f"cutting {counted(sum(count > 1 for count in there), 'ranges')}, too large for a host")
            self._record(range_map.cut(after.packed, there))
            self.settle()
        return there

    def move(self, range_map: RangeMap, targets: list[int], whom: str) -> None:
        """Move each range to its target, a host of `range_map`; -1 leaves the range where it is."""
        if moved := [number for number, target in enumerate(targets) if target != NOBODY]:
            self._note(f"moving {counted(len(moved), 'ranges')} to {whom}")
            self._move(range_map, targets, range_map.moved(targets))

    def follow(self, other: RangeMap) -> None:
        """Move ranges, and copies, to where another run with the same ranges has them."""
        range_map = self._hosts.range_map
        self._note("moving ranges to the hosts of the run that this one belongs to")
        joined = range_map.joined_by([host for host in other.hosts if host not in range_map.hosts])
        at = [joined.hosts.index(host) for host in other.hosts]
        targets = [
            NOBODY if at[new] == old else at[new] for new, old in zip(other.owners, range_map.owners, strict=True)
        ]
        after, gone = joined.moved(targets), [host for host in range_map.hosts if host not in other.hosts]
        for host in gone:
            after = after.without(host)
        self._move(joined, targets, after)
        self.let_go(gone)

    def drain(self, host: str, others: Sequence[str]) -> None:
        """Move the ranges of a host to the other hosts of the run, or to `others` if it has none, and let it go."""
        range_map = self._hosts.range_map
        if range_map.hosts == [host]:
            others = self.begun_at(others)
            range_map = range_map.joined_by(others[:1] if range_map.neighbours else others)
        targets = range_map.from_host(host)
        self._note(f"moving {counted(len(range_map.owned(host)), 'ranges')} of host {host} to others")
        self._move(range_map, targets, range_map.taken_over(host))
        self.let_go([host])

    def let_go(self, hosts: Sequence[str]) -> None:
        """Have living hosts that have left the run drop their parts of it."""
        try:
            self._hosts.let_go(hosts, waits=False)
        except HostRefusedError as refused:
            self._hosts.pool.exclude(refused)
            return
        except (HostLostError, ElsewhereError):
            self._note(f"{', '.join(hosts)}: no answer; a part of the run stays there until it goes on or is collected")
            return
        range_map = self._hosts.range_map
        self._hosts.range_map = replace(range_map, left=[host for host in range_map.left if host not in hosts])
        # No restart, unlike `_record`: the layer in progress continues.
        self._store.stage_record(META, HOSTS_KEY, asdict(self._hosts.range_map))

    def _move(self, range_map: RangeMap, targets: list[int], after: RangeMap) -> None:
        """Send ranges between the hosts of `range_map`, which may include new hosts; then record and settle `after`.

        A range is not sent to a host with its copy. Raises `WorkerError`, and records nothing, unless all has arrived.
        """
        hosts, before = self._hosts.under(range_map), self._hosts.range_map.hosts
        if joining := {host: dict[str, Any]() for host in range_map.hosts if host not in before}:
            hosts.pool.insist("the beginning of more hosts", partial(hosts.ask, "host-take", 0, joining))
        targets = [NOBODY if range_map.copy_of(number) == target else target for number, target in enumerate(targets)]
        self._send(hosts, targets, self._batches())
        self._require(after)
        self._record(after)
        self.settle()

    def _record(self, range_map: RangeMap) -> None:
        """Record a map. The layer in progress restarts and, if ranges move, so do the labels of a whole space."""
        state = self._store.state
        self._store.stage_record(META, HOSTS_KEY, asdict(range_map))
        self._store.erase(META, ROUND_KEY)
        if not range_map.settled:
            # IMPORTANT: erase the numbers in the same commit, or they would be given to roots that hosts drop.
            self._store.erase(META, NUMBERS_KEY)
            state = _without_labels(state, self._store.directory.name)
        self._store.commit(state)
        self._hosts.range_map = range_map

    def _batches(self) -> Iterator[tuple[Depth, Depth]]:
        """Yield the first and the last layer of each request about all layers."""
        first = stored = 0
        for record in self._store.layer_records():
            stored += record.stored_bytes
            if stored > _MOST_BYTES or record.depth - first + 1 == _MOST_LAYERS:
                yield first, record.depth
                first, stored = record.depth + 1, 0
        if first <= self._store.state.depth:
            yield first, self._store.state.depth

    def _send(self, hosts: RunHosts, targets: list[int], batches: Iterable[tuple[Depth, Depth]]) -> None:
        """Have `hosts` send the layers of each batch, from the first to the last, of each range to its target."""

        def send(first: Depth, last: Depth) -> None:
            fields = {"first": first, "targets": targets, "attempt": hosts.next_attempt()}
            answers = hosts.ask("host-send", last, dict.fromkeys(hosts.range_map.hosts, fields))
            sent = {host: unpacked(arrays, HostSent).sent for host, arrays in answers.items()}
            hosts.ask("host-receive", last, hosts.expecting(fields, sent))

        if any(target != NOBODY for target in targets):
            for batch in batches:
                hosts.pool.insist(f"copying of {_named(*batch)}", partial(send, *batch))

    def _require(self, range_map: RangeMap, dry: bool = True) -> None:
        """Have hosts settle `range_map`, or only count if `dry`; `WorkerError` if they lack recorded configurations."""
        if fault := self._placed(range_map, dry)[0]:
            raise WorkerError(fault, Hint("host", "DIR"))
        self._ready = range_map

    def _placed(self, range_map: RangeMap, dry: bool = True) -> tuple[str, list[Array]]:
        """Have the hosts of `range_map` put layers where they belong, or, if `dry`, only count them.

        Return the fault of the first layer that is not as its record says, and the sums of `Copies.settle` by host.
        """
        fault, kind, home = "", np.dtype(np.uint64), [not record.hosted for record in self._store.layer_records()]
        # Layers made here are at hosts only if the first layer made by hosts was compared with them.
        given = max(0, sum(home) - 2) if self._hosts.pool.puzzle.undirected else 0
        sums = [np.zeros((len(range_map.owners), 2), dtype=kind) for _ in range_map.hosts]
        hosts = self._hosts.under(range_map)
        for first, last in self._batches():
            fields = {"first": first, "dry": dry, "settled": last == self._store.state.depth}
            ask = partial(hosts.ask, "host-settle", last, dict.fromkeys(range_map.hosts, fields))
            answers = hosts.pool.insist(f"{'counting' if dry else 'moving'} of {_named(first, last)}", ask)
            figures = np.zeros((last - first + 1, 3), dtype=kind)
            for place, host in enumerate(range_map.hosts):
                # Digest lanes add up modulo 2^64, as uint64 does.
                figures += answers[host][0]
                sums[place] += answers[host][1]
            for depth, (size, *lanes) in enumerate(figures.tolist(), first):
                record = self._store.layer_record(depth)
                if depth >= given and (record.size, record.digest) != (size, digest_text((lanes[0], lanes[1]))):
                    fault = fault or (
                        f"layer {depth} has {record.size:,} configurations, but its hosts have "
                        f"{size:,}{' others' if size == record.size else ''} in their ranges"
                    )
        return fault, sums


def _without_labels(state: State, run: str) -> State:
    """Return the state of a run whose labels are void, if it has labels; a complete run can then be resumed."""
    if state.figures.get("components") is None:
        return state
    void = replace(state, figures={**state.figures, "components": None, "exhausted": False}, digest="")
    if state.status != "complete":
        return void
    return void.become(
        "interrupted", "ranges have moved, so its components are to be found again", (Hint("resume", run),)
    )


def _named(first: Depth, last: Depth) -> str:
    return f"layer {first}" if first == last else f"layers {first} to {last}"


#: Bytes of layers that a host sends or receives in a second, 121 MB took 1.7 s on one machine, but links and disks may
#: be slower; and the seconds of a move for each layer.
_MOVED_BYTES, _LAYER_SECONDS = 20_000_000, 0.0001
#: A move that did not pay is considered again once the time lost has grown by this factor.
_PATIENCE = 1.1
#: If each host has fewer ranges than this, ranges are cut so that each has twice as many.
_LEAST_RANGES = 8


class HostBalancer:
    """Balances the hosts of the run of `store`: cuts and moves ranges of hosts that have too much.

    It does so once the time lost to waiting exceeds the estimated time of the move (ski rental: at most twice the
    optimum in hindsight).
    """

    def __init__(self, store: RunStore, run_hosts: RunHosts, moving: RangeMover) -> None:
        self._store, self._hosts, self._moving, self._tuning = store, run_hosts, moving, run_hosts.pool.tuning
        #: The size of each range in the last layer, if known, and its approximate size in all layers together.
        self._sizes, self._stored = list[float](), list[float]()
        #: The seconds for which hosts waited for the fullest one since the last move, and the seconds from which a move
        #: is considered.
        self._lost, self._worth = 0.0, self._tuning.host_move

    def weigh(self, figures: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> None:
        """Record the load of each host in a layer."""
        range_map, places = self._hosts.range_map, {host: iter(merged[host].sizes) for host in merged}
        self._lost += _waited(figures.values()) + _waited(merged.values())
        known = all(answer.sizes for answer in merged.values() if answer.size)
        self._sizes = [next(places[range_map.hosts[owner]], 0) for owner in range_map.owners] if known else []
        stored = self._stored_of(range_map)
        self._stored = [a + b for a, b in zip(stored, self._sizes, strict=True)] if known else stored

    def balance(self) -> None:
        """Move ranges if hosts are uneven and it pays; first cut ranges that are too large to move."""
        range_map, sizes = self._hosts.range_map, self._sizes
        # Sizes are unknown if a host was lost while ranges were cut.
        if len(sizes) != len(range_map.owners) or self._lost < self._worth:
            return
        stored = self._stored_of(range_map)
        uneven = self._tuning.host_uneven
        moved = range_map.moved(range_map.balanced(sizes, stored, uneven))
        pieces = range_map.pieces(sizes) if moved.is_uneven(sizes, uneven[0]) else [1] * len(sizes)
        planned, shares = range_map.cut(b"", pieces), _shares(stored, pieces)
        targets = planned.balanced(_shares(sizes, pieces), shares, uneven)
        seconds = self._seconds(planned, targets, shares)
        if all(target == NOBODY for target in targets) or self._lost < seconds:
            self._worth = max(seconds, _PATIENCE * self._lost)
            return
        self._cut(pieces)
        range_map = self._hosts.range_map
        targets = range_map.balanced(self._sizes, self._stored, uneven)
        self._moving.move(range_map, targets, "hosts that have less to do")
        self._sizes, self._lost, self._worth = [], 0.0, self._tuning.host_move

    def cut_for(self, hosts: int) -> None:
        """Cut ranges if there are too few for this number of hosts."""
        range_map = self._hosts.range_map
        if len(range_map.owners) < _LEAST_RANGES * hosts:
            parts = 2 * _LEAST_RANGES * hosts // len(range_map.hosts)
            known = len(self._sizes) == len(range_map.owners)
            self._cut(range_map.pieces(self._sizes if known else [1] * len(range_map.owners), parts))

    def _cut(self, pieces: Sequence[int]) -> None:
        """Cut each range into its number of `pieces`."""
        if any(count > 1 for count in pieces):
            stored = self._stored_of(self._hosts.range_map)
            there = self._moving.cut(pieces, self._store.state.depth)
            self._stored = _shares(stored, there)
            self._sizes = _shares(self._sizes, there) if len(self._sizes) == len(there) else []

    def _stored_of(self, range_map: RangeMap) -> list[float]:
        """Return the approximate number of keys of each range in all layers; if unknown, the mean."""
        ranges = len(range_map.owners)
        if len(self._stored) != ranges:
            self._stored = [self._store.state.configurations / ranges] * ranges
        return self._stored

    def _seconds(self, range_map: RangeMap, targets: Sequence[int], stored: Sequence[float]) -> float:
        """Return the seconds that a move takes; hosts send and receive at the same time."""
        load = [0.0] * (2 * len(range_map.hosts))
        for number, target in enumerate(targets):
            if target != NOBODY:
                load[range_map.owners[number]] += stored[number]
                load[len(range_map.hosts) + target] += stored[number]
        state = self._store.state
        moved = max(load) * state.stored_bytes / max(1.0, sum(stored))
        return moved / _MOVED_BYTES + self._tuning.host_move + _LAYER_SECONDS * state.depth


def _shares(sizes: Sequence[float], pieces: Sequence[int]) -> list[float]:
    """Return the sizes of ranges after each is cut into pieces of equal size."""
    return spread([size / count for size, count in zip(sizes, pieces, strict=True)], pieces)


def _waited(answers: Collection[HostExpanded | HostMerged]) -> float:
    """Return how much longer than the mean the host with most keys took; random disturbances average out."""
    fullest = max(answers, key=lambda answer: answer.size)
    return fullest.seconds - sum(answer.seconds for answer in answers) / len(answers)
