"""Balances the hosts of a run: cuts the ranges of a host that has too much, and moves some to hosts that have less."""

from collections.abc import Collection, Sequence

from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.range_map import NOBODY, RangeMap, spread
from hakoiri.coordinator.steps.moving import RangeMover
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged

#: Bytes of layers that a host sends or receives in a second: 121 MB took 1.7 s on one machine, and links and disks may
#: be slower.
_MOVED_BYTES = 20_000_000
#: A move takes so long however little it is, and so much longer for each layer.
_MOVE_SECONDS, _LAYER_SECONDS = 0.03, 0.0001
#: What was not worth it is weighed again when the waiting is so many times as long.
_PATIENCE = 1.1
#: Where fewer ranges than this are left for each host, they are cut into twice as many for each.
_LEAST_RANGES = 8


class HostBalancer:
    """Cuts and moves ranges of the run of `store` as soon as the waiting has cost as long as the move is to take.

    So it costs at most twice what whoever knew all layers to come would pay.
    """

    def __init__(self, store: RunStore, keepers: Keepers, moving: RangeMover) -> None:
        self._store, self._keepers, self._moving = store, keepers, moving
        #: The size of each range of the last layer, where it is known, and of all layers together, about.
        self._sizes, self._stored = list[float](), list[float]()
        #: The seconds for which others waited for the fullest host since ranges moved last, and from which on a move is
        #: looked for again.
        self._behind, self._worth = 0.0, _MOVE_SECONDS

    def weigh(self, told: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> None:
        """Take down how even the hosts were in a layer."""
        range_map, places = self._keepers.range_map, {host: iter(merged[host].sizes) for host in merged}
        self._behind += _waited(told.values()) + _waited(merged.values())
        known = all(answer.sizes for answer in merged.values() if answer.size)
        self._sizes = [next(places[range_map.hosts[owner]], 0) for owner in range_map.owners] if known else []
        stored = self._stored_of(range_map)
        self._stored = [a + b for a, b in zip(stored, self._sizes, strict=True)] if known else stored

    def balance(self) -> None:
        """Move ranges where hosts are uneven and it pays; cut before what is too large for that."""
        range_map, sizes = self._keepers.range_map, self._sizes
        # Where a host was lost while ranges were cut, nothing is known of them.
        if len(sizes) != len(range_map.owners) or self._behind < self._worth:
            return
        stored = self._stored_of(range_map)
        pieces, targets = [1] * len(sizes), range_map.balanced(sizes, stored)
        if range_map.moved(targets).is_uneven(sizes):
            pieces = range_map.pieces(sizes)
            planned, shares = range_map.cut(b"", pieces), _shares(stored, pieces)
            targets = planned.balanced(_shares(sizes, pieces), shares)
            seconds = self._seconds(planned, targets, shares)
        else:
            seconds = self._seconds(range_map, targets, stored)
        if all(target == NOBODY for target in targets) or self._behind < seconds:
            self._worth = max(seconds, _PATIENCE * self._behind)
            return
        self._cut(pieces)
        targets = self._keepers.range_map.balanced(self._sizes, self._stored)
        if any(target != NOBODY for target in targets):
            self._moving.balance(targets)
        self._sizes, self._behind, self._worth = [], 0.0, _MOVE_SECONDS

    def cut_for(self, hosts: int) -> None:
        """Cut ranges, if there are too few for so many hosts."""
        range_map = self._keepers.range_map
        if len(range_map.owners) < _LEAST_RANGES * hosts:
            parts = 2 * _LEAST_RANGES * hosts // len(range_map.hosts)
            known = len(self._sizes) == len(range_map.owners)
            self._cut(range_map.pieces(self._sizes if known else [1] * len(range_map.owners), parts))

    def _cut(self, pieces: Sequence[int]) -> None:
        """Have ranges cut in so many pieces."""
        if any(count > 1 for count in pieces):
            stored = self._stored_of(self._keepers.range_map)
            there = self._moving.cut(pieces, self._store.state.depth)
            self._stored = _shares(stored, there)
            self._sizes = _shares(self._sizes, there) if len(self._sizes) == len(there) else []

    def _stored_of(self, range_map: RangeMap) -> list[float]:
        """Return how many keys of all layers each range has; where nothing is known of them, as many as others."""
        ranges = len(range_map.owners)
        if len(self._stored) != ranges:
            self._stored = [self._store.state.figures["configurations"] / ranges] * ranges
        return self._stored

    def _seconds(self, range_map: RangeMap, targets: Sequence[int], stored: Sequence[float]) -> float:
        """Return how long ranges with so many keys take to move: hosts send and receive at the same time."""
        load = [0.0] * (2 * len(range_map.hosts))
        for number, target in enumerate(targets):
            if target != NOBODY:
                load[range_map.owners[number]] += stored[number]
                load[len(range_map.hosts) + target] += stored[number]
        state = self._store.state
        moved = max(load) * state.stored_bytes / max(1.0, sum(stored))
        return moved / _MOVED_BYTES + _MOVE_SECONDS + _LAYER_SECONDS * state.depth


def _shares(sizes: Sequence[float], pieces: Sequence[int]) -> list[float]:
    """Return the sizes of ranges that are cut in so many pieces of equal size."""
    return spread([size / count for size, count in zip(sizes, pieces, strict=True)], pieces)


def _waited(answers: Collection[HostExpanded | HostMerged]) -> float:
    """Return how much longer than the mean the host with most keys took.

    What disturbs a host by chance adds up to 0.
    """
    fullest = max(answers, key=lambda answer: answer.size)
    return fullest.seconds - sum(answer.seconds for answer in answers) / len(answers)
