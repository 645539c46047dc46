"""The hosts of a run: the ranges and copies that each keeps, and the moves when one comes or goes, or has too much."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hakoiri.errors import Hint, WorkerError

NOBODY = -1
#: The mean load of a host is this many parts. A range of two or more parts is cut into parts.
_PARTS = 8
#: The most ranges of each host, and of all hosts: each takes some time in every layer.
_MOST_EACH, _MOST = 64, 1 << 12
_Value = TypeVar("_Value", int, float)


@dataclass(frozen=True)
class RangeMap:
    """The hosts of a run, and the number of the host of each range of `partition`.

    `copies` has the number of the host with the copy of each range, or -1; it is empty if the run has no copies. The
    copies of ranges in `due` are still to be made. Unless the map is `settled`, some blocks are still at former hosts.
    The hosts in `left` keep no ranges, but have not dropped their parts yet. With `neighbours`, each host's ranges come
    after the ranges of the host before it. The next host has its copies and takes over; for the last host, the one
    before it does.
    Hosts are reached over the Redis at `redis`, a URL without its password.
    """

    hosts: list[str]
    partition: bytes
    owners: list[int]
    copies: list[int] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    settled: bool = True
    left: list[str] = field(default_factory=list)
    neighbours: bool = False
    redis: str = ""

    def copy_of(self, number: int) -> int:
        """Return the host with the whole copy of a range, or -1."""
        return NOBODY if not self.copies or number in self.due else self.copies[number]

    def owned(self, host: str) -> list[int]:
        place = self.hosts.index(host)
        return [number for number, owner in enumerate(self.owners) if owner == place]

    def dispensable(self) -> set[str]:
        """Return the hosts whose ranges all have copies at other hosts."""
        needed = {owner for number, owner in enumerate(self.owners) if self.copy_of(number) == NOBODY}
        return {host for place, host in enumerate(self.hosts) if place not in needed}

    def lost_with(self, hosts: Collection[str]) -> bool:
        """Return whether some range is only at these hosts."""
        gone = {NOBODY, *(place for place, host in enumerate(self.hosts) if host in hosts)}
        return any({owner, self.copy_of(number)} <= gone for number, owner in enumerate(self.owners))

    def joined_by(self, hosts: Sequence[str]) -> "RangeMap":
        """Return the map with more hosts, which have no ranges yet."""
        return replace(self, hosts=[*self.hosts, *hosts], left=[host for host in self.left if host not in hosts])

    def from_host(self, host: str) -> list[int]:
        """Return for each range of `host` the number of the host that takes it over, for other ranges -1.

        A host with a copy takes over.
        """
        place = self.hosts.index(host)
        others = [number for number in range(len(self.hosts)) if number != place]
        if not others:
            raise WorkerError(
                f"host {host} is the only host of the run, so its ranges cannot move", Hint("host", "DIR")
            )
        if self.neighbours:
            others = [self._next_to(place)]
        load, targets = Counter(self.owners), [NOBODY] * len(self.owners)
        for number in self.owned(host):
            target = self.copy_of(number)
            targets[number] = min(others, key=lambda other: load[other]) if target == NOBODY else target
            load[targets[number]] += 1
        return targets

    def to_hosts(self, hosts: Sequence[str]) -> list[int]:
        """Return for each range which of `hosts` takes it over, by number, or -1, so that all have equally many."""
        load, targets = Counter(self.owners), [NOBODY] * len(self.owners)
        for step in range(len(self.owners)):
            target = self.hosts.index(hosts[step % len(hosts)])
            fullest = max(range(len(self.hosts)), key=lambda host: load[host])
            if load[fullest] <= load[target] + 1:
                break
            number = next(n for n, owner in enumerate(self.owners) if owner == fullest and targets[n] == NOBODY)
            targets[number] = target
            load[fullest], load[target] = load[fullest] - 1, load[target] + 1
        return targets

    def pieces(self, sizes: Sequence[float], parts: int = 0) -> list[int]:
        """Return the number of pieces for each range of these sizes, so that the mean host has about `parts` ranges.

        Without `parts`, the pieces are small enough to balance the hosts. All are 1 if there would be too many ranges.
        """
        part = max(1.0, sum(sizes) / ((parts or _PARTS) * len(self.hosts)))
        pieces = [round(size / part) if size >= 2 * part else 1 for size in sizes]
        return pieces if sum(pieces) <= min(_MOST, _MOST_EACH * len(self.hosts)) else [1] * len(sizes)

    def cut(self, partition: bytes, pieces: Sequence[int]) -> "RangeMap":
        """Return the map with each range cut into so many pieces, as in `partition`."""
        due = spread([number in self.due for number in range(len(pieces))], pieces)
        return replace(
            self, partition=partition, owners=spread(self.owners, pieces), settled=False,
            copies=spread(self.copies, pieces) if self.copies else [],
            due=[number for number, is_due in enumerate(due) if is_due],
        )  # fmt: skip

    def is_uneven(self, sizes: Sequence[float], most: float) -> bool:
        """Return whether the fullest host has more than `most` times the mean if the ranges have these sizes."""
        return max(self._loads(sizes)) * len(self.hosts) > most * sum(sizes)

    def balanced(self, sizes: Sequence[float], stored: Sequence[float], uneven: tuple[float, float]) -> list[int]:
        """Return for each range the number of the host that takes it over, or -1, so that hosts have equally many keys.

        `sizes` counts the keys of each range in the last layer, `stored` in all layers, which move with it. While the
        fullest host has too much, it gives the emptiest host the range that evens them most for the keys moved, if one
        is small enough. The square prefers few moves: in the towers of Hanoi, empty ranges grow later.
        """
        targets, load = [NOBODY] * len(self.owners), self._loads(sizes)
        if not self.is_uneven(sizes, uneven[0]):
            return targets
        mean = sum(load) / len(load)
        while True:
            fullest, emptiest = load.index(max(load)), load.index(min(load))
            gap = load[fullest] - load[emptiest]
            mine = (n for n, owner in enumerate(self.owners) if owner == fullest and targets[n] == NOBODY)
            fitting = [n for n in mine if 0 < sizes[n] < gap]
            if load[fullest] <= uneven[1] * mean or not fitting:
                return targets
            number = max(fitting, key=lambda n: min(sizes[n], gap - sizes[n]) ** 2 / (stored[n] + 1))
            targets[number] = emptiest
            load[fullest], load[emptiest] = load[fullest] - sizes[number], load[emptiest] + sizes[number]

    def _loads(self, sizes: Sequence[float]) -> list[float]:
        """Return the total size of each host's ranges."""
        load = [0.0] * len(self.hosts)
        for owner, size in zip(self.owners, sizes, strict=True):
            load[owner] += size
        return load

    def moved(self, targets: Sequence[int]) -> "RangeMap":
        """Return the map after ranges have moved to `targets`; copies at a new owner are due elsewhere."""
        owners = [owner if target == NOBODY else target for owner, target in zip(self.owners, targets, strict=True)]
        return replace(self, owners=owners, settled=False)._copied()

    def without(self, host: str) -> "RangeMap":
        """Return the map without a host that has no ranges any more; its copies are due elsewhere."""
        names = [name for name in self.hosts if name != host]
        numbers = {self.hosts.index(name): number for number, name in enumerate(names)}
        owners, copies = [numbers[owner] for owner in self.owners], [numbers.get(copy, NOBODY) for copy in self.copies]
        left = [*self.left, host]
        return replace(self, hosts=names, owners=owners, copies=copies, settled=False, left=left)._copied()

    def taken_over(self, host: str) -> "RangeMap":
        """Return the map after other hosts have taken over from a host and it has left."""
        return self.moved(self.from_host(host)).without(host)

    def copied(self) -> "RangeMap":
        """Return the map with a copy of every range due, for a run without copies."""
        return replace(self, copies=[NOBODY] * len(self.owners))._copied()

    def _copied(self) -> "RangeMap":
        """Return the map with copies at other hosts than the owners, if there are others; new copies are due."""
        if not self.copies:
            return self
        pairs = zip(self.owners, self.copies, strict=True)
        known = [NOBODY if copy == owner else copy for owner, copy in pairs]
        if self.neighbours:
            copies = [self._next_to(owner) for owner in self.owners]
        else:
            copies = copies_of(self.owners, len(self.hosts), known)
        due = {*self.due, *(number for number, copy in enumerate(copies) if copy != known[number])}
        return replace(self, copies=copies, due=sorted(due) if len(self.hosts) > 1 else [])

    def _next_to(self, place: int) -> int:
        """Return the neighbour that takes over from the host at `place`, or -1 if there is no other host."""
        return place + 1 if place + 1 < len(self.hosts) else place - 1


def spread(values: Sequence[_Value], pieces: Sequence[int]) -> list[_Value]:
    """Return each value as often as its range has pieces."""
    return [value for value, count in zip(values, pieces, strict=True) for _ in range(count)]


def copies_of(owners: Sequence[int], hosts: int, known: Sequence[int] = ()) -> list[int]:
    """Return the host for the copy of each range: not its owner, and -1 where there is only one host.

    Copies that are `known` stay. The others are spread so that all other hosts take over from a host that leaves.
    """
    copies = [*known] or [NOBODY] * len(owners)
    load, pairs = Counter(copies), Counter(zip(owners, copies, strict=True))
    for number, owner in enumerate(owners):
        others = [(owner + step) % hosts for step in range(1, hosts)]
        if copies[number] == NOBODY and others:
            copy = min(others, key=lambda host: (pairs[owner, host], load[host]))
            copies[number] = copy
            load[copy] += 1
            pairs[owner, copy] += 1
    return copies
