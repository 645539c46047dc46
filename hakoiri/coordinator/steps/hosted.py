"""A run that hosts keep: which host has which ranges, and the making of layers there.

seed: the last layers that were made here -> each host its ranges of them
each layer: expand at all hosts at once, in rounds (`coordinator.steps.rounds`), then merge; only figures come back
"""

from dataclasses import asdict, replace
from functools import partial
from time import monotonic
from typing import cast

import numpy as np

from hakoiri.coordinator.executors.hosts import HostGoneError, HostLostError, HostPool
from hakoiri.coordinator.executors.keepers import Keepers
from hakoiri.coordinator.executors.range_map import NOBODY, RangeMap, copies_of
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.balancing import HostBalancer
from hakoiri.coordinator.steps.base import MovedError
from hakoiri.coordinator.steps.inspection import inspected_expansion
from hakoiri.coordinator.steps.moving import RangeMover
from hakoiri.coordinator.steps.rounds import HostRounds
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_in
from hakoiri.storage.layers.readers import Layer, all_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import HOSTS_KEY, META
from hakoiri.worker.errors import WorkerError
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.partition import partition_by

#: Ranges of each host: with 16 the fullest of 8 hosts has 1.08 times the mean of the 3x4 tiles, with 4 1.2 times.
_RANGES = 16
#: A host joins a run whose layers take so long: it is sent its share of all of them.
_LEAST_SECONDS = 5.0
#: Short layers do not ask Redis each time who has come or is to leave.
_LOOK_SECONDS = 1.0
#: Keys by which a space of numbers is cut.
_EVENLY = 1 << 14


class HostedStep:
    """The part of a search that `keepers` do, on the open store of `session`."""

    def __init__(self, session: Session, keepers: Keepers) -> None:
        self._session, self._store, self._keepers = session, session.store, keepers
        self._moving = RangeMover(session.store, keepers, session.observer.note)
        self._balancing = HostBalancer(session.store, keepers, self._moving)
        self._rounds = HostRounds(session, keepers)
        #: The seconds that the last layer took, and the time of the last look for hosts that come or go.
        self._seconds, self._looked = 0.0, 0.0

    @classmethod
    def begun(cls, session: Session, base: RunStore | None) -> "HostedStep":
        """Return the hosting of a run whose layers hosts keep already; for `base` see `begin_within`."""
        hosting = cls(session, Keepers.asked_in(session, base))
        if session.context.hosts.copies > 1 and base is None:
            hosting._moving.begin_copies()
        return hosting

    @classmethod
    def begin(cls, session: Session, depth: Depth, known: list[Layer]) -> "HostedStep":
        """Deal out what layer `depth` is made of and compared with, the layer before it first; staged.

        A host that is lost meanwhile has nothing yet: those that live then are chosen anew.
        """
        pool = cast(HostPool, session.context.hosts)
        asked = list[str]()
        hosting = pool.insist("dealing out", lambda: cls._given_out(session, pool, depth, known, asked))
        range_map = hosting._keepers.range_map
        session.store.stage_record(META, HOSTS_KEY, asdict(range_map))
        session.observer.note(f"layers from {depth} on are kept by {', '.join(range_map.hosts)}")
        return hosting

    @classmethod
    def begin_within(cls, session: Session, base: RunStore) -> "HostedStep":
        """Have the hosts of the finished run `base` begin one whose layers lie within it, with the same ranges; staged.

        Layer 0 is still to be made, of all that the base run has.
        """
        pool = cast(HostPool, session.context.hosts)
        range_map = Keepers.of(base, pool).range_map
        # A copy of a range is of use only to a host that has one of the same range of the base run.
        copies = range_map.copies if pool.copies > 1 and not range_map.due else []
        hosting = cls(session, Keepers(session.store, pool, replace(range_map, copies=copies, due=[], left=[]), base))
        try:
            pool.insist("the beginning", partial(hosting._keepers.ask, "host-take", 0))
        except HostGoneError as gone:
            raise WorkerError(str(gone), Hint("drain", gone.host)) from gone
        session.store.stage_record(META, HOSTS_KEY, asdict(hosting._keepers.range_map))
        session.observer.note(f"the hosts of run {base.directory.name} make its goal distances")
        return hosting

    @classmethod
    def _given_out(
        cls, session: Session, pool: HostPool, depth: Depth, known: list[Layer], asked: list[str]
    ) -> "HostedStep":  # fmt: skip
        """Deal out to hosts that live; `asked` are those of earlier attempts, and then of this one, too."""
        layout, hosts = session.puzzle.layout, pool.choose(bool(asked))
        left = sorted({*asked} - {*hosts})
        asked += hosts
        partition = partition_by(_spread_as_the_space(session, depth, known[0].sample()), _RANGES * len(hosts))
        owners = [number % len(hosts) for number in range(partition.ranges)]
        copies = copies_of(owners, len(hosts)) if pool.copies > 1 else []
        keepers = Keepers(
            session.store, pool, RangeMap(hosts, partition.packed, owners, copies, left=left, redis=pool.address)
        )
        layers = [all_keys(layer) if layer.size else layout.empty(0) for layer in reversed(known)]
        try:
            keepers.ask("host-take", depth, keys=lambda host: layers)
        except HostGoneError as gone:
            raise HostLostError(str(gone)) from gone
        return cls(session, keepers)

    def make(self, depth: Depth, expanded: int, is_last: bool) -> LayerRecord:
        """Return the record of layer `depth`, for which `expanded` keys are expanded; staged, not committed.

        If it `is_last`, no layer after it is wanted.
        """
        while True:
            try:
                return self._made_and_copied(depth, expanded, is_last)
            except HostGoneError as gone:
                self._rounds.forget()
                self._moving.take_over(gone.host)
            except MovedError as moved:
                self._moving.follow(moved.range_map)

    def end(self) -> None:
        """Have hosts discard what they have begun."""
        self._rounds.end()

    def _made_and_copied(self, depth: Depth, expanded: int, is_last: bool) -> LayerRecord:
        """Make a layer, and copies of it, after hosts have come or gone; return its record, staged."""
        self._moving.settle()
        self._moving.renew_copies()
        if self._keepers.base is None:
            if monotonic() > self._looked + _LOOK_SECONDS:
                self._let_come_and_go()
                self._looked = monotonic()
            self._balancing.balance()
        work, kept = partial(self._made, depth, expanded, is_last), partial(self._rounds.kept, depth)
        began = monotonic()
        record, told, merged = self._keepers.pool.insist(f"layer {depth}", work, kept)
        self._seconds = monotonic() - began
        if record.size:
            self._moving.copy_layer(depth)
        self._note(depth, told, merged)
        if record.size:
            self._store.stage_layer(replace(record, work=self._session.work_log.take_layer()))
        self._balancing.weigh(told, merged)
        return record

    def _let_come_and_go(self) -> None:
        """Move ranges away from hosts that are to leave, and to new ones where that pays, or copies are missing."""
        copies, joining = self._keepers.range_map.copies, self._moving.let_leave()
        if joining and (self._seconds > _LEAST_SECONDS or NOBODY in copies):
            self._balancing.cut_for(len(self._keepers.range_map.hosts) + len(joining))
            self._moving.admit(joining)

    def _made(
        self, depth: Depth, expanded: int, is_last: bool
    ) -> tuple[LayerRecord, dict[str, HostExpanded], dict[str, HostMerged]]:  # fmt: skip
        """Return the record of a layer, and the figures of each host about expanding and merging."""
        told = self._rounds.expand(depth, expanded)
        if (found := sum(answer.size for answer in told.values())) != expanded:
            text = f"layer {depth - 1} has {expanded:,} configurations, but its hosts have {found:,}"
            raise WorkerError(text, Hint("begin anew", self._store.directory.name))
        merged = self._rounds.merge(depth, told, is_last)
        lanes, parts = NOTHING, list(merged.values())
        for part in parts:
            lanes = add_lanes(lanes, lanes_in(part.digest))
        record = LayerRecord(
            depth, sum(part.size for part in parts), digest_text(lanes), sum(part.goals for part in parts),
            sum(part.stored for part in parts), 0, self._store.state.session,
            total_flow(answer.flow for answer in told.values()), hosted=True,
        )  # fmt: skip
        return record, told, merged

    def _note(self, depth: Depth, told: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> None:
        """Count what each host has done for a layer."""
        work_log, seconds = self._session.work_log, {host: answer.seconds for host, answer in told.items()}
        work_log.add_expansion(depth, seconds)
        range_map, slowest = self._keepers.range_map, max(seconds.values())
        for number, host in enumerate(range_map.hosts):
            expanded, made = told[host], merged[host]
            work_log.add_expanded(host, expanded.size, expanded.seconds, expanded.bytes, made.received)
            work_log.add_kept(
                host, ranges=range_map.owners.count(number), threads=expanded.threads, configurations=made.size,
                stored=made.stored, spilled=made.spilled, sent=expanded.bytes, received=made.received,
                waited=slowest - seconds[host] + made.waited,
            )  # fmt: skip


def _spread_as_the_space(session: Session, depth: Depth, sample: Keys) -> Keys:
    """Sorted keys that lie about where all configurations do: the space of numbers, or what is known of it so far."""
    puzzle = session.puzzle
    expansion, _ = session.compute(lambda: inspected_expansion(puzzle, sample, depth))
    keys = sort_keys(np.concatenate([sample, expansion.successors]))
    if puzzle.layout.words == 1 and puzzle.total is not None and int(keys[-1]) < puzzle.total:
        # It numbers its configurations: early layers say little of where the later ones lie (fullest of 2 hosts, 3x4
        # tiles: 1.46 times the mean by the first layer of 50,000).
        return np.linspace(0, puzzle.total - 1, _EVENLY).astype(puzzle.layout.dtype)
    return keys
