"""Layers made by hosts: ranges dealt out, each layer expanded in rounds, then merged.

    begin   the last layers made by this process -> each host its ranges of them
    layer   all hosts expand at once, in rounds, then merge; only figures come back

A round is recorded here once all hosts have kept it, so a loss costs at most one round. Hosts that have merged a short
layer expand the first round of the next one in the same request.
"""

import math
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from hakoiri.coordinator.hosts.hosts import HostGoneError, HostLostError, HostPool, TooFewHostsError, goes_on
from hakoiri.coordinator.hosts.moving import HostBalancer, RangeMover
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap, copies_of
from hakoiri.coordinator.hosts.run_hosts import RunHosts
from hakoiri.coordinator.layers.makers import LayerMaker, Made, Next
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, WorkerError, counted
from hakoiri.keys.layout import Keys
from hakoiri.keys.order import sort_keys
from hakoiri.storage.layers.blocks import digest_text, lanes_in, sum_lanes
from hakoiri.storage.layers.store import Layer, RunStore, all_keys
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.storage.names import HOSTS_KEY, META, ROUND_KEY
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged
from hakoiri.worker.layers.kernels import total_flow
from hakoiri.worker.layers.part import PartLayers
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.transport.payload import Array, unpacked


class MovedError(Exception):
    """Ranges of the base run have moved; `range_map` says to which hosts."""

    def __init__(self, range_map: RangeMap) -> None:
        super().__init__("ranges of the base run have moved")
        self.range_map = range_map


def require_base(run_hosts: RunHosts, base: RunStore, parts: Iterable[str]) -> None:
    """Check that the parts of the run `base` at hosts, with these digests, make up the whole run.

    Raises `MovedError` if ranges are at other hosts, `HostLostError` if ranges are moving, or lost.
    """
    whole = sum_lanes(lanes_in(record.digest) for record in base.layer_records())
    if sum_lanes(map(lanes_in, parts)) == whole:
        return
    there, here = RunHosts.of(base, run_hosts.pool).range_map, run_hosts.range_map
    if [there.hosts[owner] for owner in there.owners] != [here.hosts[owner] for owner in here.owners]:
        raise MovedError(there)
    raise HostLostError(f"some layers of run {base.directory.name} are at no host")


#: A layer is short if it is expanded in less time, and the layer before it was merged in less. A loss then also costs
#: the work on the next layer.
AHEAD_SECONDS = 1.0


@dataclass(frozen=True)
class LastRound:
    """The last round of layer `depth` that all hosts have kept, of one `beginning` of that layer."""

    depth: Depth
    round: int
    beginning: str = ""


#: The sample size of a puzzle that numbers its configurations: evenly spaced numbers.
_EVENLY = 1 << 14


class HostedStep:
    """The steps of a search that hosts make, on the open store of `session`."""

    def __init__(self, session: Session, run_hosts: RunHosts) -> None:
        self._session, self._store, self._hosts = session, session.store, run_hosts
        self._moving = RangeMover(session.store, run_hosts, session.observer.note)
        self._balancing = HostBalancer(session.store, run_hosts, self._moving)
        #: The number of the attempt at a layer, and the rounds in which that layer has been expanded so far.
        self._attempt = self._round = 0
        self._beginning = ""
        #: The first round of a layer, expanded with the merge of the layer before: the depth of that layer, the map at
        #: that time, and the figures of each host.
        self._ahead: tuple[Depth, RangeMap, dict[str, HostExpanded]] | None = None
        #: The seconds that the slowest host took to merge the last layer; unknown at first.
        self._merged = math.inf
        #: The seconds that the last layer took, and the time of the last look for hosts that come or go.
        self._seconds, self._looked = 0.0, 0.0

    @classmethod
    def begun(cls, session: Session, base: RunStore | None) -> "HostedStep":
        """Return the hosting of a run whose layers hosts keep already; for `base` see `begin_within`."""
        hosting = cls(session, RunHosts.asked_in(session, base))
        if session.context.hosts.copies > 1 and base is None:
            hosting._moving.begin_copies()
        return hosting

    @classmethod
    def begin(cls, session: Session, depth: Depth, known: list[Layer]) -> "HostedStep":
        """Deal out the layers that make layer `depth`, the layer before it first; the record of hosts is staged.

        Raises as `RunHosts.dealt_out`.
        """
        pool: HostPool = session.context.hosts
        sample, layout = _spread_sample(session, depth, known[0].sample()), session.puzzle.layout

        def planned(hosts: list[str]) -> RangeMap:
            partition = partition_by(sample, pool.tuning.host_ranges * len(hosts))
            owners = [number % len(hosts) for number in range(partition.ranges)]
            return RangeMap(hosts, partition.packed, owners, copies_of(owners, len(hosts)) if pool.copies > 1 else [])

        layers = [all_keys(layer) if layer.size else layout.empty(0) for layer in reversed(known)]
        run_hosts = RunHosts.dealt_out(session, planned, depth, layers)
        session.observer.note(f"layers from {depth} on are kept by {', '.join(run_hosts.range_map.hosts)}")
        return cls(session, run_hosts)

    @classmethod
    def begin_within(cls, session: Session, base: RunStore) -> "HostedStep":
        """Begin a run within the finished run `base`, at its hosts and with its ranges; the record of hosts is staged.

        Layer 0 is still to be made, from all configurations of the base run.
        """
        pool: HostPool = session.context.hosts
        range_map = RunHosts.of(base, pool).range_map
        # A host needs a copy of a range only if it has a copy of the same range of the base run.
        copies = range_map.copies if pool.copies > 1 and not range_map.due else []
        hosting = cls(session, RunHosts(session.store, pool, replace(range_map, copies=copies, due=[], left=[]), base))
        try:
            pool.insist("the beginning", partial(hosting._hosts.ask, "host-take", 0))
        except HostGoneError as gone:
            raise WorkerError(str(gone), Hint("drain", gone.host)) from gone
        session.store.stage_record(META, HOSTS_KEY, asdict(hosting._hosts.range_map))
        session.observer.note(f"the hosts of run {base.directory.name} make its goal distances")
        return hosting

    def make(self, depth: Depth, expanded: int, is_last: bool) -> LayerRecord:
        """Return the record of layer `depth`, for which `expanded` keys are expanded; staged, not committed.

        If it `is_last`, no layer after it is wanted.
        """
        while True:
            try:
                return self._made_and_copied(depth, expanded, is_last)
            except HostGoneError as gone:
                # Hosts have abandoned the round that they expanded ahead.
                self._ahead = None
                self._moving.take_over(gone.host)
            except MovedError as moved:
                self._moving.follow(moved.range_map)

    def end(self) -> None:
        """Have hosts discard the layer that they have begun; rounds that they have kept stay."""
        self._ahead = None
        self._hosts.tell("host-back", self._store.state.depth + 1)

    def _made_and_copied(self, depth: Depth, expanded: int, is_last: bool) -> LayerRecord:
        """Make a layer, and copies of it, after hosts have come or gone; return its record, staged."""
        self._moving.settle()
        self._moving.renew_copies()
        if self._hosts.base is None:
            tuning = self._hosts.pool.tuning
            if monotonic() > self._looked + tuning.host_look:
                copies, joining = self._hosts.range_map.copies, self._moving.let_leave()
                wanted = self._seconds > tuning.host_joins or NOBODY in copies
                if wanted and (joining := self._moving.begun_at(joining)):
                    self._balancing.cut_for(len(self._hosts.range_map.hosts) + len(joining))
                    self._moving.admit(joining)
                self._looked = monotonic()
            self._balancing.balance()
        work, began = partial(self._made, depth, expanded, is_last), monotonic()
        made = self._hosts.pool.insist(f"layer {depth}", work, lambda: self._kept(depth).round)
        record, figures, merged = made
        self._seconds = monotonic() - began
        if record.size:
            self._moving.copy_layer(depth)
        self._note(depth, figures, merged)
        if record.size:
            self._store.stage_layer(replace(record, work=self._session.work_log.take_layer()))
        self._balancing.weigh(figures, merged)
        return record

    def _made(
        self, depth: Depth, expanded: int, is_last: bool
    ) -> tuple[LayerRecord, dict[str, HostExpanded], dict[str, HostMerged]]:  # fmt: skip
        """Return the record of a layer, and the figures of each host about expanding and merging."""
        figures = self._expand(depth, expanded)
        if (found := sum(answer.size for answer in figures.values())) != expanded:
            text = f"layer {depth - 1} has {expanded:,} configurations, but its hosts have {found:,}"
            raise WorkerError(text, Hint("host", "DIR"), Hint("begin anew", self._store.directory.name))
        merged = self._merge(depth, figures, is_last)
        parts = merged.values()
        digest = digest_text(sum_lanes(lanes_in(part.digest) for part in parts))
        record = LayerRecord(
            depth, sum(part.size for part in parts), digest, sum(part.goals for part in parts),
            sum(part.stored for part in parts), 0, self._store.state.session,
            total_flow(answer.flow for answer in figures.values()), hosted=True,
            represented=sum(part.represented for part in parts),
        )  # fmt: skip
        return record, figures, merged

    def _note(self, depth: Depth, figures: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> None:
        """Add the work of each host for a layer to the work log."""
        work_log, seconds = self._session.work_log, {host: answer.seconds for host, answer in figures.items()}
        work_log.add_expansion(depth, seconds)
        range_map, slowest = self._hosts.range_map, max(seconds.values())
        for number, host in enumerate(range_map.hosts):
            expanded, made = figures[host], merged[host]
            work_log.add_expanded(host, expanded.size, expanded.seconds, expanded.bytes, made.received)
            work_log.add_kept(
                host, ranges=range_map.owners.count(number), threads=expanded.threads, configurations=made.size,
                stored=made.stored, spilled=made.spilled, sent=expanded.bytes, received=made.received,
                waited=slowest - seconds[host] + made.waited,
            )  # fmt: skip

    # The rounds of a layer

    def _expand(self, depth: Depth, expanded: int) -> dict[str, HostExpanded]:
        """Have hosts expand all keys not yet expanded for a layer; return the figures of each host."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == depth and ahead[1] is self._hosts.range_map:
            self._round, figures = 0, ahead[2]
            self._end_round(depth, figures, expanded)
        else:
            first, self._attempt = not self._attempt, self._hosts.next_attempt()
            figures = self._go_back(depth, first)
        while not figures or not all(answer.finished for answer in figures.values()):
            figures = _figures_of(self._ask("host-expand", depth, {}))
            self._end_round(depth, figures, expanded)
        return figures

    def _merge(self, depth: Depth, figures: dict[str, HostExpanded], is_last: bool) -> dict[str, HostMerged]:
        """Have hosts merge a layer; `figures` come from `_expand`. Return the figures of each host."""
        range_map, seconds = self._hosts.range_map, max(answer.seconds for answer in figures.values())
        is_short = max(seconds, self._merged) < AHEAD_SECONDS and self._round == 1
        # Sending copies of this layer would discard the work on the next one.
        ahead = is_short and not is_last and not range_map.copies
        answers = self._ask("host-merge", depth, figures, ahead=ahead)
        self._ahead = (depth + 1, range_map, _figures_of(answers)) if ahead else None
        merged = {host: unpacked(arrays, HostMerged) for host, arrays in answers.items()}
        self._merged = max(answer.seconds for answer in merged.values())
        if fault := _lost_keys(figures, merged):
            # IMPORTANT: restart the layer, because a kept round may lack the lost keys.
            self._store.erase(META, ROUND_KEY)
            self._session.commit(self._store.state)
            raise HostLostError(fault)
        return merged

    def _end_round(self, depth: Depth, figures: dict[str, HostExpanded], expanded: int) -> None:
        """Count a round, and have hosts keep it unless it is the only one of its layer."""
        if self._hosts.base is not None:
            require_base(self._hosts, self._hosts.base, [answer.within for answer in figures.values()])
        self._round += 1
        if self._round > 1 or not all(answer.finished for answer in figures.values()):
            self._ask("host-keep", depth, figures)
            self._store.stage_record(META, ROUND_KEY, asdict(LastRound(depth, self._round, self._beginning)))
            found, state = sum(answer.size for answer in figures.values()), self._store.state
            headline = f"layer {depth}: expanded {found:,} of {expanded:,}, {counted(self._round, 'rounds')}"
            self._session.tell(Progress(state.configurations, headline=headline, disk=state.stored_bytes))
            self._session.commit(state)

    def _go_back(self, depth: Depth, first: bool) -> dict[str, HostExpanded]:
        """Have hosts go back to the last round that all have kept; return their figures, or nothing to begin anew.

        The `first` attempt of a session notes that the layer continues.
        """
        kept = self._kept(depth)
        if not kept.round:
            # Random, so that a restored coordinator draws a different text.
            self._round, self._beginning = 0, secrets.token_hex(8)
            return {}
        self._round, self._beginning = kept.round, kept.beginning
        figures = _figures_of(self._ask("host-back", depth, {}))
        if lost := [host for host, answer in figures.items() if answer.round != self._round]:
            self._session.observer.note(f"{', '.join(lost)} cannot go back to its last round; layer {depth} restarts")
            # A new attempt, because hosts that went back already accept messages of this one.
            self._attempt, self._round, figures = self._hosts.next_attempt(), 0, {}
            self._beginning = secrets.token_hex(8)
        elif first:
            self._session.observer.note(f"layer {depth} {goes_on(self._round)}")
        return figures

    def _kept(self, depth: Depth) -> LastRound:
        """Return the last round of a layer that all hosts have kept, else round 0."""
        kept = self._store.read_if_any(LastRound, META, ROUND_KEY, "record of its last round")
        return kept if kept and kept.depth == depth else LastRound(depth, 0)

    def _ask(self, task: str, depth: Depth, figures: dict[str, HostExpanded], **more: Any) -> dict[str, list[Array]]:
        """Return the answers of all hosts to a request; `figures` gives the messages that each is to expect."""
        tuning = self._session.context.tuning
        common = {
            "attempt": self._attempt, "beginning": self._beginning, "round": self._round,
            "round_seconds": tuning.checkpoint, "commit_seconds": tuning.range_commit, **more,
        }  # fmt: skip
        sent = {host: answer.sent for host, answer in figures.items()}
        return self._hosts.ask(task, depth, self._hosts.expecting(common, sent))


def _lost_keys(figures: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> str:
    """Return in words the first range whose host lacks keys that other hosts have sent; else an empty text."""
    given, taken = (
        np.array([getattr(answer, name) for answer in answers.values()]).sum(axis=0)
        for answers, name in ((figures, "given"), (merged, "taken"))
    )
    if np.array_equal(given, taken):
        return ""
    lost = int(np.argmax(given != taken))
    return f"of {given[lost]:,} keys sent to range {lost} its host has {taken[lost]:,}"


def _figures_of(answers: dict[str, list[Array]]) -> dict[str, HostExpanded]:
    """Return the figures of hosts about expanding, which come last in their answers."""
    return {host: unpacked(arrays[-1:], HostExpanded) for host, arrays in answers.items()}


def _spread_sample(session: Session, depth: Depth, sample: Keys) -> Keys:
    """Return sorted keys distributed about like all configurations: over all numbers, or like the known ones."""
    puzzle = session.puzzle
    expansion, _ = session.compute(lambda: inspected_expansion(puzzle, sample, depth))
    keys = sort_keys(np.concatenate([sample, expansion.successors]))
    if puzzle.layout.words == 1 and puzzle.total is not None and int(keys[-1]) < puzzle.total:
        # It numbers its configurations: early layers say little of where the later ones lie (fullest of 2 hosts, 3x4
        # tiles: 1.46 times the mean by the first layer of 50,000).
        return np.linspace(0, puzzle.total - 1, _EVENLY).astype(puzzle.layout.dtype)
    return keys


class HostMaker(LayerMaker):
    """Has hosts make layers, once that pays or if they keep the run already; then they make all that follow.

    If `within` is given, a finished run at hosts, they make layer 0, too, from all its configurations.
    """

    def __init__(self, session: Session, layers: PartLayers, within: RunStore | None) -> None:
        self._session, self._store, self._layers, self._within = session, session.store, layers, within
        self._hosting: HostedStep | None = None
        if self._store.read(META, HOSTS_KEY) is not None:
            self._hosting = HostedStep.begun(session, within)

    def takes(self, following: Next) -> bool:
        # Hosts that refuse to begin are excluded, and the others may not pay.
        while self._hosting is None and self._pays(following):
            self._hosting = self._begun(following.depth)
        return self._hosting is not None

    def _pays(self, following: Next) -> bool:
        context = self._session.context
        seconds = math.inf if context.budget.is_given else following.seconds
        if not (context.budget.is_large(following.current.size) and context.hosts.pays(context.local.workers, seconds)):
            return False
        self._session.commit_staged(self._session.state)
        # Threads finish a layer that they have begun.
        return not self._store.has_partial

    def make(self, following: Next) -> Made:
        # Layer 0 within another run is made unasked.
        hosting = self._hosting = self._hosting or self._begun(following.depth)
        if hosting is None:
            raise AssertionError("no layer is made that is not taken")
        record = hosting.make(following.depth, following.current.size, following.is_last)
        return Made(record if record.size else None, "hosts", None, record.net_flow, at_once=True)

    def end(self) -> None:
        if self._hosting is not None:
            self._hosting.end()

    def _begun(self, depth: Depth) -> HostedStep | None:
        """Return the hosting of a run that begins; ``None`` if hosts cannot begin, and the user has asked for none."""
        if self._within is not None:
            return HostedStep.begin_within(self._session, self._within)
        first = max(0, depth - 2) if self._session.puzzle.undirected else 0
        known = [self._layers.layer(each) for each in range(depth - 1, first - 1, -1)]
        try:
            hosting = HostedStep.begin(self._session, depth, known)
        except TooFewHostsError:
            if self._session.context.hosts.is_requested:
                raise
            return None
        self._layers.forget()
        self._layers.forget_older()
        return hosting
