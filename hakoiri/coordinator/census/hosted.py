"""A whole space that hosts keep: each lists and joins its ranges (`worker.hosts.census`); here they are united.

The ranges of a host are neighbours, and have whole slabs of labels. So a host is one range to the others: what it has
joined by itself has numbers from its first place on, and only edges between these come here.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from hakoiri.coordinator.census.joining import listed_in_order, report_wrong_moves, require_places
from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.hosts.hosts import HostGoneError, HostPool
from hakoiri.coordinator.hosts.moving import RangeMover
from hakoiri.coordinator.hosts.range_map import RangeMap
from hakoiri.coordinator.hosts.run_hosts import HostedBlocks, RunHosts
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import PayloadError
from hakoiri.keys.layout import Key, key_at
from hakoiri.storage.layers.blocks import digest_text, lanes_in, sum_lanes
from hakoiri.storage.ledger.manifest import LayerRecord, Progress
from hakoiri.storage.names import META, NUMBERS_KEY
from hakoiri.storage.results import SLAB, read_numbers, stage_numbers
from hakoiri.worker.census.forests import TreeEdges
from hakoiri.worker.census.joining import LOW, TreeNumbers, TreeUnion
from hakoiri.worker.census.slabs import even_slabs, ranks_of, slabs_of_range
from hakoiri.worker.hosts.requests import HostPassed
from hakoiri.worker.layers.partition import LEAST_BYTES, Partition, shares_within
from hakoiri.worker.transport.payload import Array, unpacked

#: The figures of a host in the work log that add up.
_COUNTED = ("configurations", "stored", "spilled", "sent", "received", "waited")
#: Ranges at most: a host takes some time for each.
_MOST_RANGES = 1 << 12


class _LeavingError(Exception):
    """A living host is to leave, so the pass under way begins anew without it."""


class HostedSpace:
    """The space of `size` configurations that `run_hosts` keep, for the open store of `session`."""

    def __init__(self, session: Session, run_hosts: RunHosts, size: int) -> None:
        self._session, self._store, self._hosts, self.size = session, session.store, run_hosts, size
        self._slabs, self._rounds = even_slabs(size, len(run_hosts.range_map.owners)), 0
        self._moving = RangeMover(session.store, run_hosts, session.observer.note)
        #: The seconds of each host in the passes of this session, and its threads.
        self._seconds, self._threads = defaultdict[str, float](float), dict[str, int]()

    @classmethod
    def begin(cls, session: Session) -> "HostedSpace | None":
        """Count the configurations, and deal their ranges out, staged; return ``None`` if they are too few for that.

        A host that is lost meanwhile has nothing yet: those that live then are chosen anew.
        """
        pool: HostPool = session.context.hosts
        firsts, size = list[Key](), 0
        for keys in listed_in_order(session, 0, 0):
            firsts += [key_at(keys, place) for place in range(-size % SLAB, len(keys), SLAB)]
            size += len(keys)
            require_places(size)
        if not session.context.budget.is_large(size):
            return None
        run_hosts = RunHosts.dealt_out(session, partial(_planned, session, firsts, size))
        kept_by = ", ".join(run_hosts.range_map.hosts)
        alone = pool.copies > 1 and len(run_hosts.range_map.hosts) == 1
        session.observer.note(f"the space is kept by {kept_by}{', too small for copies' if alone else ''}")
        return cls(session, run_hosts, size)

    def follow(self, work: Callable[[], None]) -> None:
        """Do `work`, once more from the last commit on whenever hosts take over from one that is away or leaves."""
        if self._hosts.pool.copies > 1:
            self._moving.begin_copies()
        try:
            while True:
                try:
                    # Ranges and copies where they belong, none at hosts that are to leave.
                    self._moving.settle()
                    self._moving.renew_copies()
                    self._moving.let_leave()
                    # What was read before may have been that of other hosts.
                    self._store.elsewhere = cache(partial(HostedBlocks, self._hosts, self._store.layout, waits=True))
                    return work()
                except (HostGoneError, _LeavingError) as gone:
                    self._store.discard_staged()
                    if isinstance(gone, HostGoneError):
                        self._moving.take_over(gone.host)
                self._session.control.check()
        finally:
            # They stop what they have begun.
            self._hosts.tell("host-back", 1)

    def list_all(self) -> LayerRecord:
        """Have hosts list the space, and copy it to each other; return its record, which is to be committed then."""
        headline = "listing configurations"
        answers = self._hosts.pool.insist(headline, partial(self._pass, "host-list", headline), lambda: self._rounds)
        lanes = sum_lanes(lanes_in(answer.digest) for answer in answers.values())
        names = "goals", "stored", "represented"
        goals, stored, represented = (sum(getattr(answer, name) for answer in answers.values()) for name in names)
        if (size := sum(answer.size for answer in answers.values())) != self.size:
            raise ContradictionError(f"the space has {self.size:,} configurations, but {size:,} at its hosts")
        self._moving.copy_layer(0)
        for host, answer in answers.items():
            self._count(host, configurations=answer.size, stored=answer.stored)
        self._session.work_log.add_layer("hosts", size)
        session = self._store.state.session
        return LayerRecord(0, size, digest_text(lanes), goals, stored, 0, session, None, True, {}, represented)

    def label(self) -> tuple[int, int]:
        """Have hosts label the configurations; return the numbers of moves and components as `label_by_joins` does.

        The caller commits that the numbers of roots are not needed any more.
        """
        answers, components = self._hosts.pool.insist("labelling", self._labelled, lambda: self._rounds)
        seconds = {host: self._seconds[host] for host in answers}
        self._session.work_log.add_expansion(0, seconds)
        for host, answer in answers.items():
            self._count(host, spilled=answer.spilled, waited=max(seconds.values()) - seconds[host])
        self._store.erase(META, NUMBERS_KEY)
        return sum(answer.moves for answer in answers.values()), components

    def _labelled(self) -> tuple[dict[str, HostPassed], int]:
        """Have hosts join the configurations and label them; return their answers, and the number of components."""
        answers = self._pass("host-join", "joining configurations")
        if any(answer.stray for answer in answers.values()):
            report_wrong_moves(self._session)
        if self._session.puzzle.undirected and sum(answer.balance for answer in answers.values()) % (1 << 64):
            report_wrong_moves(self._session)
        begun = {host: answer.beginning for host, answer in answers.items()}
        # IMPORTANT: components are numbered for the roots of these joinings: a restored host has others.
        if self._store.read_if_any(dict[str, str], META, NUMBERS_KEY, "record of joinings") != begun:
            self._unite(begun)
        hosts = self._hosts.range_map.hosts
        numbers = {host: read_numbers(self._store, place) for place, host in enumerate(hosts)}
        self._pass("host-number", "numbering components", {host: [each] for host, each in numbers.items()})
        return answers, max(int(each.max()) for each in numbers.values()) + 1

    def _pass(
        self, task: str, headline: str, arrays: Mapping[str, Sequence[Array]] | None = None
    ) -> dict[str, HostPassed]:  # fmt: skip
        """Return the last answer of each host to a pass that all of them continue until they have finished."""
        answers, hosts = dict[str, HostPassed](), self._hosts.range_map.hosts
        while left := [host for host in hosts if host not in answers or not answers[host].finished]:
            fields = {host: self._fields() for host in left}
            for host, answer in self._hosts.ask(task, 0, fields, arrays).items():
                answers[host] = unpacked(answer, HostPassed)
                self._seconds[host] += answers[host].seconds
                self._threads[host] = answers[host].threads
            # A request that finds everything done is no progress.
            self._rounds += any(answers[host].seconds for host in left)
            done, disk = (sum(getattr(each, name) for each in answers.values()) for name in ("done", "stored"))
            self._session.tell(Progress(min(done, self.size), self.size, headline=headline, disk=disk))
            self._session.control.check()
            if len(hosts) > 1 and self._hosts.pool.draining() & {*hosts}:
                raise _LeavingError
        return answers

    def _fields(self) -> dict[str, Any]:
        return {"slabs": self._slabs, "round_seconds": self._session.context.tuning.checkpoint}

    def _unite(self, begun: dict[str, str]) -> None:
        """Have hosts exchange the moves between them; commit the component of each root of each joining in `begun`."""
        run_hosts, fields = self._hosts, self._fields() | {"attempt": self._hosts.next_attempt()}
        hosts = run_hosts.range_map.hosts
        answers = run_hosts.ask("host-hand", 0, dict.fromkeys(hosts, fields))
        handed = {host: unpacked(arrays, HostPassed) for host, arrays in answers.items()}
        if any(len(each.sent) != len(hosts) for each in handed.values()):
            raise PayloadError("the answer of a host is not readable: it names unknown hosts")
        sent = {host: each.sent for host, each in handed.items()}
        answers = run_hosts.ask("host-edges", 0, run_hosts.expecting(fields, sent))
        for host, arrays in answers.items():
            self._count(host, sent=handed[host].bytes, received=unpacked(arrays, HostPassed).received)
        self._store.erase(META, NUMBERS_KEY)
        self._store.stage_record(META, NUMBERS_KEY, begun)
        union = self._union([self._edges(host, answers[host]) for host in hosts])
        for place, components in enumerate(union.numbered(ranks_of(union.sum_up()))):
            stage_numbers(self._store, place, components)
        self._session.commit(self._store.state)

    def _edges(self, host: str, arrays: list[Array]) -> TreeEdges:
        """Read the answer of a host about its edges; `PayloadError` for anything else."""
        if unpacked(arrays, HostPassed).stray:
            report_wrong_moves(self._session)
        _, pairs, sizes = arrays if len(arrays) == 3 else (None, arrays[0], arrays[0])
        if pairs.dtype != np.int64 or sizes.dtype != np.uint32 or {pairs.ndim, sizes.ndim} != {1} or not len(sizes):
            raise PayloadError(f"the answer of host {host} is not readable: it has no edges")
        return TreeEdges(pairs, sizes)

    def _union(self, edges: list[TreeEdges]) -> TreeUnion:
        owners, counts = self._hosts.range_map.owners, [len(each.sizes) for each in edges]
        firsts = np.array([owners.index(place) * self._slabs * SLAB for place in range(len(edges))])
        numbers = TreeNumbers(self._store.directory.name, counts, firsts.tolist())
        union = TreeUnion(numbers, self._store.directory, self._session.context.shares.free // 2)
        for place, each in enumerate(edges):
            own, others = each.pairs >> 32, each.pairs & LOW
            there = np.searchsorted(firsts, others, "right") - 1
            if ((own < 0) | (own >= counts[place]) | (others - firsts[there] >= np.array(counts)[there])).any():
                raise PayloadError("the answer of a host is not readable: its edges lead to unknown roots")
            union.add(place, each)
        return union

    def _count(self, host: str, **figures: float) -> None:
        range_map, figures = self._hosts.range_map, dict.fromkeys(_COUNTED, 0) | figures
        ranges = range_map.owners.count(range_map.hosts.index(host))
        self._session.work_log.add_kept(host, ranges=ranges, threads=self._threads[host], **figures)


def _planned(session: Session, firsts: list[Key], size: int, hosts: list[str]) -> RangeMap:
    """Return ranges for these hosts, or for as many as there are slabs; `firsts` are the first keys of all slabs."""
    pool: HostPool = session.context.hosts
    puzzle, context, hosts, living = session.puzzle, session.context, hosts[: len(firsts)], pool.living()
    threads = [living[host].threads for host in hosts if host in living] or [1]
    shares = shares_within(
        pool.memory or context.budget.memory, puzzle.layout.bytes, max(threads), None, LEAST_BYTES, resident=0
    )
    fitting = slabs_of_range(puzzle, size, shares, sum(threads), context.tuning.most_range)
    wanted = min(_MOST_RANGES, -(-len(firsts) // (fitting * len(hosts))) * len(hosts))
    slabs = even_slabs(size, max(wanted, len(hosts)))
    partition = Partition(puzzle.layout, tuple(firsts[slabs::slabs]))
    hosts = hosts[: partition.ranges]
    owners = [number * len(hosts) // partition.ranges for number in range(partition.ranges)]
    return RangeMap(hosts, partition.packed, owners, neighbours=True)
