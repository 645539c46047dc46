"""The ranges of one run that this host keeps: layers in a store of their own, and the layer under way.

    expand: own keys of U(N) -> successors in own ranges: held, or spilled
                             -> all others: outbox -> the data Redis of their host -> its inbox
    merge:  what stayed and what came, less what is known here -> own keys of U(N+1), committed

The store has the format of any run's (`docs/storage-format.md`), with the ranges of this host only. What the
coordinator has not committed is dropped with the next request.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from time import monotonic, perf_counter, sleep

import numpy as np
import redis

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.puzzles.keys.order import is_increasing, slice_between, sort_keys
from hakoiri.storage.layers.blocks import Coded, code_keys
from hakoiri.storage.layers.digest import digest_text, lanes_of
from hakoiri.storage.layers.readers import HeldLayer, Layer, StoredLayer
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, LAYERS, META, number_key
from hakoiri.worker.errors import PayloadError, TaskError
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.exchange.pool import ThreadPool
from hakoiri.worker.exchange.shares import LEAST_BYTES, MERGED_AT_ONCE, shares_within
from hakoiri.worker.exchange.step import HeldKeys, RangeStep, Sample
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, HostRequest, as_array
from hakoiri.worker.hosts.wire import Inbox, Message, Outbox
from hakoiri.worker.layers.flow import total_flow
from hakoiri.worker.layers.ranges import Merged
from hakoiri.worker.machine import available_memory
from hakoiri.worker.tasks import Array
from hakoiri.worker.transport.connection import get_popped
from hakoiri.worker.transport.depots import Depots
from hakoiri.worker.transport.names import inbox_key

#: A message that finds a data Redis full waits, and one that is awaited comes, within so many seconds.
_PATIENCE_SECONDS, _PAUSE_SECONDS, _LOOK_SECONDS = 60.0, 0.05, 0.2
#: The most bytes of a message, which has a layer's blocks of several ranges.
_MOST_MESSAGE = 1 << 28
#: What Redis keeps of messages that nobody takes, in seconds.
_KEEP_SECONDS = 900


class Part:
    """The part of a run below `directory`, open for writing and locked until `close`, which ends the threads, too.

    A step may take `memory` bytes, half of what is free where it is 0.
    """

    def __init__(self, directory: Path, puzzle: Puzzle, threads: ThreadPool, memory: int, depots: Depots) -> None:
        self._puzzle, self._threads, self.memory, self._depots = puzzle, threads, memory, depots
        allowed = memory or available_memory() // 2
        self.shares = shares_within(allowed, puzzle.layout.bytes, threads.workers, None, LEAST_BYTES)
        with ExitStack() as opened:
            opened.callback(threads.close)
            opened.enter_context(RunLock(directory))
            self.store = opened.enter_context(RunStore(directory, writable=True))
            if self.store.layout != puzzle.layout:
                raise TaskError("the manifest of the run and its puzzle have keys of other kinds")
            self._resources = opened.pop_all()
        #: The layers of which all keys are in memory.
        self._held: dict[Depth, Layer] = {}
        self._step: _Step | None = None
        #: Of a directed puzzle: the own keys of all layers before `_older_depth`.
        self._older: ClosedSet | None = None
        self._older_depth = 0

    def close(self) -> None:
        """Leave what is committed."""
        self._abandon()
        self._resources.close()

    # What is asked

    def take(self, request: HostRequest, layers: list[Keys]) -> list[Array]:
        """Keep the own keys of the layers before `request.depth`, the nearest last, in place of all there is."""
        if not all(self.store.layout.holds(keys) and is_increasing(keys) for keys in layers):
            raise PayloadError("a request is not readable: its layers are no increasing keys")
        self._drop_from(0)
        self.store.erase(CLOSED)
        self.store.erase(META, CLOSED_KEY)
        self.store.commit(replace(self.store.state, depth=-1))
        self._older = None
        mine = [request.cuts.bounds(n, self.store.layout) for n in sorted(request.mine)]
        for depth, keys in enumerate(layers, request.depth - len(layers)):
            own = [slice_between(keys, low, high) for low, high in mine]
            totals = [np.array([len(part), 0, *lanes_of(part)], dtype=np.uint64) for part in own]
            pieces = [Merged(total, code_keys(depth, part), part) for part, total in zip(own, totals, strict=True)]
            self.keep(depth, pieces, HeldKeys(self.shares.layer_bytes))
        return [as_array({})]

    def expand(self, request: HostRequest, session: str) -> list[Array]:
        """Expand the own keys of the layer before `request.depth`, and send what other hosts keep."""
        self._drop_from(request.depth)
        if self.store.state.depth != request.depth - 1:
            there = self.store.state.depth
            raise TaskError(f"it has layers up to {there} of the run, not {request.depth - 1}: begin the run anew")
        self._step = step = _Step(self, request, session)
        return [as_array(asdict(step.expand()))]

    def merge(self, request: HostRequest) -> list[Array]:
        """Merge the own ranges of layer `request.depth`, durable on return; its figures."""
        step = self._step
        if step is None or (step.depth, step.attempt) != (request.depth, request.attempt):
            raise PayloadError(f"this host has not expanded for layer {request.depth}: it was started again")
        figures = step.merge(request.expected)
        self._abandon()
        return [as_array(asdict(figures))]

    def index(self, request: HostRequest) -> list[Array]:
        """The first keys of the own blocks of a layer; `DamagedError` if any of them is lost."""
        self.store.require_whole(request.depth)
        return [self.store.layout.pack(self.store.first_keys(request.depth))]

    def give(self, request: HostRequest, firsts: Keys) -> list[Array]:
        """The lengths and bytes of the own blocks of a layer that begin with `firsts`, which are neighbours here."""
        if not self.store.layout.holds(firsts):
            raise PayloadError("a request is not readable: its blocks begin with no keys")
        values = [block.value for block in self.store.coded(request.depth, ints(firsts))]
        return [np.array(list(map(len, values)), dtype=np.int64), np.frombuffer(b"".join(values), dtype=np.uint8)]

    # What a step needs

    def layer(self, depth: Depth) -> Layer:
        """The own keys of a layer."""
        return self._held.get(depth) or StoredLayer(self.store, depth, self.store.layer_record(depth).size)

    def known(self, depth: Depth) -> list[Layer]:
        """The own keys that layer `depth` must not have, those of the layer before it first."""
        if self._puzzle.undirected:
            return [self.layer(each) for each in range(depth - 1, max(0, depth - 2) - 1, -1)]
        store = self.store
        if self._older is None:
            self._older = ClosedSet(store, depth - 1, self.shares, MERGED_AT_ONCE, lambda: store.commit(store.state))
            self._older_depth = depth - 1
        for each in range(self._older_depth, depth - 1):
            self._older.add(each, self.layer(each))
        self._older_depth = depth - 1
        return [self.layer(depth - 1), *self._older.layers()]

    def step_of(self, exchange: Exchange, depth: Depth) -> RangeStep:
        """The step that makes layer `depth`, a sample of what it expands looked at."""
        known = self.known(depth)
        keys = known[0].sample() if known[0].size else self.store.layout.empty(0)
        began = perf_counter()
        successors = sort_keys(self._puzzle.expand(keys).successors) if len(keys) else keys
        sample = Sample(keys, successors, max(perf_counter() - began, 1e-9) / max(1, len(keys)))
        size = self.shares.range_size(known[0].size, sample.seconds_each)
        return RangeStep(self._puzzle, exchange, known[0], known, sample, size, self.shares, self._threads)

    def send(self, name: str, depot: int, message: bytes) -> None:
        """Leave a message in the data Redis of its receiver; waits while that is full."""
        until = monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with self._depots.reach(depot) as connection:
                    pipeline = connection.pipeline(transaction=False)
                    pipeline.rpush(name, message)
                    pipeline.expire(name, _KEEP_SECONDS)
                    pipeline.execute()
                    return
            except redis.exceptions.OutOfMemoryError as error:
                if monotonic() > until:
                    raise PayloadError("the data Redis of another host stays full") from error
                sleep(_PAUSE_SECONDS)

    def receive(self, name: str, depot: int) -> Message | None:
        """The next message in a data Redis, or ``None`` where there is none for a moment."""
        with self._depots.reach(depot, _MOST_MESSAGE) as connection:
            return get_popped(connection, name, _LOOK_SECONDS)

    def keep(self, depth: Depth, pieces: Iterable[Merged], held: HeldKeys) -> LayerRecord:
        """Commit the own part of layer `depth`, which is the last one then; its record."""
        total, stored, index = np.zeros(4, dtype=np.uint64), 0, 0
        for piece in pieces:
            total += piece.summary
            held.add(piece)
            more, index = self.store.stage_blocks(depth, piece.coded, index)
            stored += more
            if self.store.staged_bytes > self.shares.staged_bytes:
                self.store.commit(self.store.state)
        size, goals, *lanes = (int(value) for value in total)
        record = LayerRecord(depth, size, digest_text((lanes[0], lanes[1])), goals, stored, index, 0)
        self.store.stage_layer(record)
        self._held = {each: layer for each, layer in self._held.items() if each >= depth - 1}
        if held.pieces is not None:
            self._held[depth] = HeldLayer(held.pieces)
        self.store.commit(replace(self.store.state, depth=depth))
        return record

    def _drop_from(self, depth: Depth) -> None:
        """Drop layer `depth` and those after it, and what is under way."""
        self._abandon()
        self._held = {each: layer for each, layer in self._held.items() if each < depth}
        # Of one more there may be blocks already.
        for each in range(depth, self.store.state.depth + 2):
            self.store.erase(BLOCKS, number_key(each))
            self.store.erase(LAYERS, number_key(each))
        if self.store.state.depth >= depth:
            self.store.commit(replace(self.store.state, depth=depth - 1))

    def _abandon(self) -> None:
        if self._step is not None:
            self._step.close()
            self._step = None


class _Step:
    """The making of the own part of one layer, in one attempt."""

    def __init__(self, part: Part, request: HostRequest, session: str) -> None:
        self._part, self.depth, self.attempt = part, request.depth, request.attempt
        names = [inbox_key(session, host, request.depth, request.attempt) for host in request.hosts]

        def send(owner: int, message: bytes) -> None:
            part.send(names[owner], request.depots[owner], message)

        self._outbox = Outbox(send, request.owners, len(request.hosts), request.me)
        self._spill = Spill(part.store.directory, part.store.layout, request.depth)
        self._spill.clear()
        mine, most = request.mine, part.shares.bucket_bytes // 2
        away = frozenset(range(len(request.owners))) - mine
        exchange = Exchange(request.cuts, request.depth, self._spill, most, away, self._outbox.put)
        self._ranges = part.step_of(exchange, request.depth)

        def put(number: int, coded: Coded) -> None:
            if number not in mine:
                raise PayloadError(f"a message of another host has blocks of range {number}, which is not kept here")
            exchange.put(number, coded)

        self._inbox = Inbox(lambda: part.receive(names[request.me], request.depots[request.me]), put, part.store.layout)

    def expand(self) -> HostExpanded:
        """Expand all: how many keys, the flow of all moves, the seconds, the messages to each host and their bytes."""
        size, flow, began = 0, 0, monotonic()
        if self._part.layer(self.depth - 1).size:
            self._ranges.plan_bitmaps()
            for made in self._ranges.expand(lambda: False, sums_flow=True):
                size, flow = size + made.size, total_flow([flow, made.flow]) or 0
            self._ranges.send_away()
        seconds, threads = monotonic() - began, self._part.shares.workers
        sent = self._outbox.close()
        return HostExpanded(size, flow, seconds, threads, sent, self._outbox.sent_bytes)

    def merge(self, expected: list[int]) -> HostMerged:
        """Merge all once every message is in; the figures of the layer here."""
        began = monotonic()
        self._inbox.await_all(expected, _PATIENCE_SECONDS)
        waited, spilled = monotonic() - began, self._spill.stored_bytes
        held = HeldKeys(self._part.shares.layer_bytes)
        pieces = self._ranges.merge(0, lambda: held.pieces is not None)
        record = self._part.keep(self.depth, chain.from_iterable(pieces), held)
        self._spill.clear()
        return HostMerged(record.size, record.goals, record.digest, record.stored_bytes, spilled, waited)

    def close(self) -> None:
        """Take and send no messages any more."""
        self._inbox.close()
        self._outbox.give_up()
