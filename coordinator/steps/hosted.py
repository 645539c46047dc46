"""A run that hosts keep: which host has which ranges, the making of layers there, and the way home.

seed: the last layers that were made here -> each host its ranges of them
each layer: expand at all hosts at once, then merge at all hosts; only figures come back
collect: the blocks of each layer, range by range, into the run's own store
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from heapq import merge
from typing import Any, TypeVar, cast

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.executors.hosts import HostLostError, HostPool
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.steps.inspection import inspected_expansion
from hakoiri.puzzles.errors import Step
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import sort_keys
from hakoiri.storage.layers.blocks import Coded, decode
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_in, lanes_of
from hakoiri.storage.layers.readers import Layer, all_keys
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress, all_fields
from hakoiri.storage.names import BLOCKS, HOSTS_KEY, META, number_key
from hakoiri.worker.errors import PayloadError, WorkerError
from hakoiri.worker.hosts.requests import HostExpanded, HostGiven, HostMerged, HostRequest, read_answer
from hakoiri.worker.hosts.wire import split_ranges
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.tasks import Array
from hakoiri.worker.transport.depots import depot_number

#: Ranges of each host: with 16 the fullest of 8 hosts has 1.08 times the mean of the 3x4 tiles, with 4 1.2 times.
_RANGES = 16
#: Bytes of blocks that a host gives at a time.
_GIVEN_BYTES = 1 << 24
#: Keys by which a space of numbers is cut.
_EVENLY = 1 << 14
#: Before another attempt at a layer; twice as long before each further one.
_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 8.0
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Dealt:
    """The hosts of a run, and the number of the host of each range of `partition`."""

    hosts: list[str]
    partition: list[int]
    owners: list[int]


class Hosting:
    """The part of a search that hosts do, as `dealt`, on the open store of `session`."""

    def __init__(self, session: Session, pool: HostPool, dealt: Dealt) -> None:
        self._session, self._store, self._pool, self._dealt = session, session.store, pool, dealt
        self._attempt = 0

    @classmethod
    def begun(cls, session: Session) -> "Hosting":
        """Return the hosting of a run whose layers hosts keep already."""
        fields = session.store.read_record(META, HOSTS_KEY, "record of its hosts")
        dealt = Dealt(**all_fields(Dealt, fields))
        if session.context.hosts is None:
            raise WorkerError(
                f"run {session.store.directory.name} is kept by {', '.join(dealt.hosts)}", Step("give", "hosts", "all")
            )
        return cls(session, session.context.hosts, dealt)

    @classmethod
    def begin(cls, session: Session, depth: Depth, known: list[Layer]) -> "Hosting":
        """Deal out what layer `depth` is made of and compared with, the layer before it first; staged.

        A host that is lost meanwhile has nothing yet: those that live then are chosen anew.
        """
        hosting = _insist(session, "dealing out", lambda: cls._given_out(session, depth, known))
        session.store.stage_record(META, HOSTS_KEY, asdict(hosting._dealt))
        session.observer.note(f"layers from {depth} on are kept by {', '.join(hosting._dealt.hosts)}")
        return hosting

    @classmethod
    def _given_out(cls, session: Session, depth: Depth, known: list[Layer]) -> "Hosting":
        pool, layout = cast(HostPool, session.context.hosts), session.puzzle.layout
        hosts = pool.choose()
        partition = partition_by(_spread_as_the_space(session, depth, known[0].sample()), _RANGES * len(hosts))
        owners = [number % len(hosts) for number in range(partition.ranges)]
        hosting = cls(session, pool, Dealt(hosts, partition.numbers.tolist(), owners))
        layers = [all_keys(layer) if layer.size else layout.empty(0) for layer in reversed(known)]
        hosting._ask("host-take", depth, keys=layers)
        return hosting

    def _ask(
        self, task: str, depth: Depth, fields: Mapping[str, Mapping[str, Any]] | None = None, keys: Sequence[Keys] = ()
    ) -> dict[str, list[Array]]:
        """Send a request to all hosts, or to those in `fields` with these fields; return their answers by host."""
        dealt = self._dealt
        living = self._pool.await_all(dealt.hosts)
        manifest = {**self._store.manifest.as_dict(), "settings": {}}
        request = HostRequest(
            manifest, dealt.hosts, 0, [depot_number(living[host].url) for host in dealt.hosts], dealt.partition,
            dealt.owners, depth, self._attempt, self._pool.memory,
        )  # fmt: skip
        asked = fields if fields is not None else {host: {} for host in dealt.hosts}
        return self._pool.ask(
            task,
            {host: replace(request, me=dealt.hosts.index(host), **more).arrays(*keys) for host, more in asked.items()},
            living,
        )

    # A layer

    def make(self, depth: Depth, expanded: int) -> LayerRecord:
        """The record of layer `depth`, for which `expanded` keys are expanded; staged, not committed."""
        record = _insist(self._session, f"layer {depth}", lambda: self._made(depth, expanded))
        if record.size:
            self._store.stage_layer(record)
        return record

    def _made(self, depth: Depth, expanded: int) -> LayerRecord:
        self._attempt += 1
        hosts = self._dealt.hosts
        asked = self._ask("host-expand", depth)
        told = {host: read_answer(HostExpanded, arrays[0]) for host, arrays in asked.items()}
        if any(len(answer.sent) != len(hosts) for answer in told.values()):
            raise PayloadError("the answer of a host is not readable: it knows other hosts")
        if (found := sum(answer.size for answer in told.values())) != expanded:
            raise ContradictionError(f"layer {depth - 1} has {expanded:,} configurations, its hosts have {found:,}")
        fields = {host: {"expected": [told[other].sent[n] for other in hosts]} for n, host in enumerate(hosts)}
        answers = self._ask("host-merge", depth, fields)
        merged = {host: read_answer(HostMerged, arrays[0]) for host, arrays in answers.items()}
        self._note(told, merged)
        lanes, parts = NOTHING, list(merged.values())
        for part in parts:
            lanes = add_lanes(lanes, lanes_in(part.digest))
        return LayerRecord(
            depth, sum(part.size for part in parts), digest_text(lanes), sum(part.goals for part in parts),
            sum(part.stored for part in parts), 0, self._store.state.session,
            total_flow(answer.flow for answer in told.values()), hosted=True,
        )  # fmt: skip

    def _note(self, told: dict[str, HostExpanded], merged: dict[str, HostMerged]) -> None:
        """Count what each host has done for a layer."""
        places, seconds = self._session.places, [answer.seconds for answer in told.values()]
        places.slowest += max(seconds)
        places.mean += sum(seconds) / len(seconds)
        for number, host in enumerate(self._dealt.hosts):
            expanded, made = told[host], merged[host]
            places.add_kept(
                host, ranges=self._dealt.owners.count(number), threads=expanded.threads, configurations=made.size,
                stored=made.stored, spilled=made.spilled, sent=expanded.bytes, waited=made.waited,
            )  # fmt: skip

    # The way home

    def collect(self) -> None:
        """Bring all layers home, each checked by its digest and committed; afterwards no host is needed."""
        for record in self._store.layer_records():
            if record.hosted:
                self._session.control.check()
                self._session.tell(Progress(unit="", headline=f"layer {record.depth}: brought home from its hosts"))
                self._collect_layer(record)
        # IMPORTANT: before it is forgotten who they are, or what they keep would stay there for ever.
        _insist(self._session, "taking leave", lambda: self._ask("host-leave", 0))
        self._store.erase(META, HOSTS_KEY)
        self._session.commit(self._store.state)

    def _collect_layer(self, record: LayerRecord) -> None:
        store, layout, depth = self._store, self._store.layout, record.depth
        # Of an attempt that was broken off.
        store.erase(BLOCKS, number_key(depth))
        stored, index, lanes = 0, 0, NOTHING
        for _, coded in merge(*(self._given(depth, host) for host in self._dealt.hosts), key=lambda part: part[0]):
            for block in coded.blocks(depth):
                lanes = add_lanes(lanes, lanes_of(decode(block, layout)))
            more, index = store.stage_blocks(depth, coded, index)
            stored += more
            if store.staged_bytes > self._session.context.shares.staged_bytes:
                self._session.commit(store.state)
        if digest_text(lanes) != record.digest:
            raise ContradictionError(f"layer {depth}: what its hosts give has another digest than what they made")
        store.stage_layer(replace(record, stored_bytes=stored, index=index, hosted=False))
        self._session.commit(store.state)

    def _given(self, depth: Depth, host: str) -> Iterator[tuple[int, Coded]]:
        """The blocks of each range of a host, in order."""
        first, layout = 0, self._store.layout
        while first < len(self._dealt.owners):
            fields = {host: {"first": first, "most": _GIVEN_BYTES}}
            answer = _insist(self._session, "giving", partial(self._ask, "host-give", depth, fields))[host]
            head, ranges, firsts, counts, lengths, data = answer
            following = read_answer(HostGiven, head).following
            if following <= first:
                raise PayloadError(f"the answer of host {host} is not readable: it gives nothing")
            first = following
            yield from split_ranges(ranges, firsts, counts, lengths, data, layout)


def _insist(session: Session, what: str, work: Callable[[], _Value]) -> _Value:
    """Return what `work` gives; call it again, after longer and longer pauses, while hosts are lost in its midst."""
    pause = _PAUSE_SECONDS
    while True:
        try:
            return work()
        except HostLostError as lost:
            session.observer.note(f"{lost}; {what} is begun anew")
            session.control.check()
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _spread_as_the_space(session: Session, depth: Depth, sample: Keys) -> Keys:
    """Sorted keys that lie about where all configurations do: the space of numbers, or what is known of it so far."""
    puzzle = session.puzzle
    successors = session.compute(lambda: inspected_expansion(puzzle, sample, depth)).successors
    keys = sort_keys(np.concatenate([sample, successors]))
    if puzzle.layout.words == 1 and puzzle.total is not None and int(keys[-1]) < puzzle.total:
        # It numbers its configurations: early layers say little of where the later ones lie (fullest of 2 hosts, 3x4
        # tiles: 1.46 times the mean by the first layer of 50,000).
        return np.linspace(0, puzzle.total - 1, _EVENLY).astype(puzzle.layout.dtype)
    return keys
