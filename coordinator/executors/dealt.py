"""The hosts of a run: the ranges and copies that each keeps, and the moves when one of them comes or goes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hakoiri.puzzles.errors import Step
from hakoiri.worker.errors import WorkerError

NOBODY = -1
#: Ranges move where the fullest host has more than so many times the mean.
_EVEN = 1.2


@dataclass(frozen=True)
class Dealt:
    """The hosts of a run, and the number of the host of each range of `partition`.

    `copies` has the number of the host with the copy of each range, or -1; it is empty where a run has no copies. The
    copies of ranges in `due` are not there yet. Unless it is `settled` some blocks are still where they were. The hosts
    in `left` keep no range any more, but were away when they were to drop what they had.
    """

    hosts: list[str]
    partition: bytes
    owners: list[int]
    copies: list[int] = field(default_factory=list)
    due: list[int] = field(default_factory=list)
    settled: bool = True
    left: list[str] = field(default_factory=list)

    def copy_of(self, number: int) -> int:
        """Return the host with the whole copy of a range, or -1."""
        return NOBODY if not self.copies or number in self.due else self.copies[number]

    def owned(self, host: str) -> list[int]:
        """Return the ranges of a host."""
        place = self.hosts.index(host)
        return [number for number, owner in enumerate(self.owners) if owner == place]

    def dispensable(self) -> set[str]:
        """Return the hosts of whose ranges there are copies at others."""
        needed = {owner for number, owner in enumerate(self.owners) if self.copy_of(number) == NOBODY}
        return {host for place, host in enumerate(self.hosts) if place not in needed}

    def joined_by(self, hosts: Sequence[str]) -> "Dealt":
        """The same with more hosts, which have no ranges yet."""
        return replace(self, hosts=[*self.hosts, *hosts], left=[host for host in self.left if host not in hosts])

    def from_host(self, host: str) -> list[int]:
        """Return for each range of `host` the number of the host that takes it over, for other ranges -1.

        A host with a copy takes over.
        """
        place = self.hosts.index(host)
        others = [number for number in range(len(self.hosts)) if number != place]
        if not others:
            raise WorkerError(f"host {host} is the only host of the run", Step("host", "DIR"))
        load, targets = Counter(self.owners), [NOBODY] * len(self.owners)
        for number in self.owned(host):
            target = self.copy_of(number)
            targets[number] = min(others, key=lambda other: load[other]) if target == NOBODY else target
            load[targets[number]] += 1
        return targets

    def to_hosts(self, hosts: Sequence[str]) -> list[int]:
        """Return for each range the number of the one of `hosts` that takes it over, or -1; then all have as many."""
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

    def evened(self, sizes: Sequence[int]) -> list[int]:
        """Return for each range the number of the host that takes it over, or -1, so that hosts have as many keys.

        `sizes` are those of the ranges. The fullest host gives to the emptiest until it has at most `_EVEN` times the
        mean, or no range is small enough to be of use there.
        """
        owners, hosts = list(self.owners), range(len(self.hosts))
        load = [sum(size for size, owner in zip(sizes, owners, strict=True) if owner == host) for host in hosts]
        while True:
            fullest, emptiest = max(hosts, key=load.__getitem__), min(hosts, key=load.__getitem__)
            apart = load[fullest] - load[emptiest]
            fitting = [n for n, owner in enumerate(owners) if owner == fullest and 0 < sizes[n] < apart]
            if load[fullest] * len(hosts) <= _EVEN * sum(load) or not fitting:
                break
            number = min(fitting, key=lambda n: abs(2 * sizes[n] - apart))
            owners[number] = emptiest
            load[fullest], load[emptiest] = load[fullest] - sizes[number], load[emptiest] + sizes[number]
        return [NOBODY if new == old else new for new, old in zip(owners, self.owners, strict=True)]

    def moved(self, targets: Sequence[int]) -> "Dealt":
        """The same when ranges have moved to `targets`; copies that are at their new owner are due elsewhere."""
        owners = [owner if target == NOBODY else target for owner, target in zip(self.owners, targets, strict=True)]
        return replace(self, owners=owners, settled=False)._copied()

    def without(self, host: str) -> "Dealt":
        """The same when a host has left that has no ranges; copies that it had are due elsewhere."""
        names = [name for name in self.hosts if name != host]
        numbers = {self.hosts.index(name): number for number, name in enumerate(names)}
        owners, copies = [numbers[owner] for owner in self.owners], [numbers.get(copy, NOBODY) for copy in self.copies]
        return replace(self, hosts=names, owners=owners, copies=copies, settled=False)._copied()

    def copied(self) -> "Dealt":
        """The same, of a run without copies, with copies of all ranges, which are due."""
        return replace(self, copies=[NOBODY] * len(self.owners))._copied()

    def _copied(self) -> "Dealt":
        """The same with copies at other hosts than the owners, as far as there are such; due where they are new."""
        if not self.copies:
            return self
        pairs = zip(self.owners, self.copies, strict=True)
        known = [NOBODY if copy == owner else copy for owner, copy in pairs]
        copies = copies_of(self.owners, len(self.hosts), known)
        due = {*self.due, *(number for number, copy in enumerate(known) if copy == NOBODY)}
        return replace(self, copies=copies, due=sorted(due) if len(self.hosts) > 1 else [])


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
