"""The ranges of one run that this host keeps: layers in a store of their own, and the layer under way.

The store has the format of any run's (`docs/storage-format.md`), with the ranges of this host only. What the
coordinator has not committed is dropped with the next layer that it begins. How a layer is made: `worker.hosts.step`.
"""

from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.puzzles.keys.order import is_increasing, slice_between, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.digest import lanes_of
from hakoiri.storage.layers.readers import HeldLayer, Layer, Source, StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, CLOSED, CLOSED_KEY, LAYERS, META, PARTIAL_KEY, number_key
from hakoiri.worker.errors import PayloadError, TaskError
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.exchange.pool import CallingThread, ThreadPool
from hakoiri.worker.exchange.shares import LEAST_BYTES, MERGED_AT_ONCE, shares_within
from hakoiri.worker.exchange.step import RangeStep, SourceSample
from hakoiri.worker.hosts.checking import PartCheck
from hakoiri.worker.hosts.copies import COPIES_FOLDER, Copies, Transfer
from hakoiri.worker.hosts.deriving import Rules
from hakoiri.worker.hosts.requests import HostExpanded, HostRequest, as_array
from hakoiri.worker.hosts.step import PARTS, HostStep, RoundMark, kept_mark
from hakoiri.worker.hosts.wire import Link
from hakoiri.worker.hosts.within import Within, moves_within
from hakoiri.worker.layers.partition import partition_by
from hakoiri.worker.machine import available_memory
from hakoiri.worker.tasks import Array, Arrays
from hakoiri.worker.transport.depots import Depots

#: Keys of a layer that are expanded to plan the step, and keys of a range for each piece in which it is cut.
_SAMPLED = 2_048
#: A layer whose own keys take so long to expand is made by one thread: to hand 16 ranges out takes two milliseconds.
_SHORT_SECONDS = 0.002


class RunPart:
    """The part of a run below `directory`, open for writing and locked until `close`, which ends the threads, too.

    A step may take `memory` bytes, half of what is free where it is 0.
    """

    def __init__(self, directory: Path, puzzle: Puzzle, threads: ThreadPool, memory: int, depots: Depots) -> None:
        self.puzzle, self._threads, self.memory, self.depots = puzzle, threads, memory, depots
        allowed = memory or available_memory() // 2
        self.shares = shares_within(allowed, puzzle.layout.bytes, threads.workers, None, LEAST_BYTES)
        with ExitStack() as opened:
            opened.callback(threads.close)
            opened.enter_context(RunLock(directory))
            self.store = opened.enter_context(RunStore(directory, writable=True))
            if self.store.layout != puzzle.layout:
                raise TaskError("the manifest of the run and its puzzle have keys of other kinds")
            self._copies: Copies | None = None
            if (directory / COPIES_FOLDER).exists():
                self._copies = opened.enter_context(Copies(directory, self.store.manifest, self.shares.staged_bytes))
            self._resources = opened.pop_all()
        #: The layers of which all keys are in memory.
        self._held: dict[Depth, Layer] = {}
        self._step: HostStep | None = None
        self.link = Link()
        self._transfer: Transfer | None = None
        self._check: PartCheck | None = None
        #: What layers are made again by.
        self._rules: Rules | None = None
        #: Of goal distances: the configurations among which these layers lie.
        self.within: Within | None = None
        #: Of a directed puzzle: the own keys of all layers before `_older_depth`.
        self._older: ClosedSet | None = None
        self._older_depth = 0

    def close(self) -> None:
        """Leave what is committed."""
        self._abandon()
        self.end_rules()
        self._resources.close()

    # What is asked

    def take(self, request: HostRequest, layers: list[Keys]) -> list[Array]:
        """Keep own keys, and copies, of the layers before `request.depth`, nearest last, in place of all there is."""
        if not all(self.store.layout.holds(keys) and is_increasing(keys) for keys in layers):
            raise PayloadError("a request is not readable: its layers are no increasing keys")
        self._drop_from(0)
        if self._copies is not None:
            self._copies.erase(BLOCKS)
            self._copies.finish()
        self._forget_older()
        self.store.commit(replace(self.store.state, depth=-1))
        mine = [request.cuts.bounds(n) for n in sorted(request.mine)]
        copied = [request.cuts.bounds(n) for n in sorted(request.copied)]
        for depth, keys in enumerate(layers, request.depth - len(layers)):
            own = [slice_between(keys, low, high) for low, high in mine]
            made = RoundMark(depth, b"")
            for part in own:
                total = np.array([len(part), 0, *lanes_of(part)], dtype=np.uint64)
                made = made.plus(total, *self.store.stage_blocks(depth, code_keys(depth, part), made.index))
            for low, high in copied:
                self.copies.take_in(depth, code_keys(depth, slice_between(keys, low, high)))
            self._finish(made, own if sum(part.nbytes for part in own) <= self.shares.layer_bytes else None)
        if copied:
            self.copies.finish()
        return [as_array({})]

    def expand(self, request: HostRequest, session: str) -> list[Array]:
        """Expand own keys of the layer before `request.depth` for a round, and send what other hosts keep."""
        if not request.round:
            self._drop_from(request.depth)
            if self.store.state.depth != request.depth - 1:
                there = self.store.state.depth
                raise TaskError(f"it has layers up to {there} of the run, not {request.depth - 1}: begin the run anew")
            self._step = HostStep(self, request, session, RoundMark(request.depth, b""))
        step = self._asked(request, session)
        step.expand(request.round_seconds)
        return [as_array(asdict(step.told()))]

    def keep(self, request: HostRequest, session: str) -> list[Array]:
        """Make the round that was expanded last durable."""
        self._asked(request, session).keep(request.expected)
        return [as_array({})]

    def back(self, request: HostRequest, session: str) -> list[Array]:
        """Go back to the end of round `request.round`, another attempt; without it the answer names round 0."""
        self._abandon()
        self.store.discard_staged()
        mark = kept_mark(self.store, request.depth, request.round)
        with suppress(DamagedError):
            self._step = HostStep(self, request, session, mark) if mark else None
        if self._step is None:
            return [as_array(asdict(HostExpanded(0, 0, 0.0, 0, [0] * len(request.hosts), 0, False, 0)))]
        return [as_array(asdict(self._step.told()))]

    def merge(self, request: HostRequest, session: str) -> list[Array]:
        """Merge the own ranges of layer `request.depth`, durable on return; its figures."""
        step = self._asked(request, session)
        try:
            figures, keys = step.merge(request.expected, request.commit_seconds)
        except DamagedError:
            # IMPORTANT: or each attempt would go back to what cannot be read.
            self.store.discard_staged()
            self.store.erase(META, PARTIAL_KEY)
            self.store.commit(self.store.state)
            raise
        self._finish(step.mark, keys)
        step.close(clear=True)
        self._step = None
        return [as_array(asdict(figures))]

    def cut(self, request: HostRequest) -> list[Array]:
        """The keys that cut own ranges in `request.pieces` with about as many keys of layer `request.depth` each."""
        layer, found = self.layer(request.depth), list[Key]()
        for number in sorted(request.mine):
            pieces, (low, high) = request.pieces[number], request.cuts.bounds(number)
            step = max(1, layer.at_most(low, high) // (_SAMPLED * pieces))
            keys = [keys[::step] for keys in layer.between(low, high)] if pieces > 1 else []
            if keys:
                found += partition_by(np.concatenate(keys), pieces).cuts
        return [self.store.layout.pack(found)]

    def send(self, request: HostRequest, session: str) -> list[Array]:
        """Send own blocks to the hosts that are to keep them, too; take in theirs from now on."""
        self._abandon()
        self._transfer = Transfer(self.store, self.copies, self.depots, request, session)
        return [as_array(asdict(self._transfer.send()))]

    def receive(self, request: HostRequest, session: str) -> list[Array]:
        """Make durable what other hosts have sent."""
        if self._transfer is None or not self._transfer.is_asked(request, session):
            raise PayloadError("this host awaits no blocks of others: it was started again")
        self._transfer.finish(request.expected)
        self._abandon()
        return [as_array({})]

    def settle(self, request: HostRequest) -> list[Array]:
        """Have what are own ranges now, and copies, where they belong; the figures of the own part of each layer."""
        self._abandon()
        self._held.clear()
        self._forget_older()
        return [self.copies.settle(self.store, request)]

    def check(self, request: HostRequest, session: str, others: Arrays) -> list[Array]:
        """Look at some more of the layers `request.first` to `request.depth`; see `PartCheck`."""
        if not request.round:
            together = self.shares.layer_bytes // self.store.layout.bytes
            beside = others[0] if others else self.store.layout.empty(0)
            self._check = PartCheck(self.store, self._copies, self.puzzle, request, session, beside, together)
        if self._check is None or not self._check.is_asked(request, session):
            raise PayloadError("this host has begun no check: it was started again")
        answer = self._check.go_on()
        if self._check.finished:
            self._check = None
        return answer

    def derive(self, request: HostRequest, session: str) -> list[Array]:
        """Expand for a round as `expand` does, by the reference rules: [`HostExpanded`, how many successors, `unlike`].

        For layers that are there: nothing of these is changed.
        """
        if not request.round:
            self._abandon()
            self._rules = self._rules or Rules(self.puzzle, request.manifest["puzzle"], self._threads.workers)
            self._step = HostStep(self, request, session, RoundMark(request.depth, b""), self._rules)
            self._rules.begin()
        step = self._asked(request, session)
        if self._rules is None:
            raise PayloadError("a request is not readable: nothing is derived for it")
        step.expand(request.round_seconds)
        return [as_array(asdict(step.told())), np.array([self._rules.found]), self._rules.unlike]

    def compare(self, request: HostRequest, session: str) -> list[Array]:
        """The figures of what was derived, less what is known, as of a layer that is merged; nothing is changed."""
        step = self._asked(request, session)
        figures = step.compare(request.expected)
        step.close(clear=True)
        self._step = None
        if request.last:
            self.end_rules()
        return [as_array(asdict(figures))]

    @property
    def stores(self) -> list[RunStore]:
        """Those of the own ranges, and of the copies, if there are any."""
        return [self.store] if self._copies is None else [self.store, self._copies]

    # The run that goal distances belong to

    def look_within(self, base: "RunPart | None", request: HostRequest) -> None:
        """Have `within` be what there is in the own ranges of a finished run, whose part is `base`."""
        stores = [] if base is None else base.stores
        if self.within is None or (self.within.stores, self.within.mine) != (stores, request.mine):
            self.within = Within(stores, request, self.shares.layer_bytes)

    def forget_within(self, base: "RunPart") -> None:
        """Have the next step read it anew: the part `base` of that run is to be changed."""
        if self.within is not None and self.within.stores == base.stores:
            self.within = None

    # What a step needs

    @property
    def copies(self) -> Copies:
        """The copies of ranges of other hosts, which are begun when they are first needed."""
        if self._copies is None:
            copies = Copies(self.store.directory, self.store.manifest, self.shares.staged_bytes)
            self._copies = self._resources.enter_context(copies)
        return self._copies

    def layer(self, depth: Depth) -> Layer:
        """The own keys of a layer."""
        return self._held.get(depth) or StoredLayer(self.store, depth, self.store.layer_record(depth).size)

    def source(self, depth: Depth) -> Source:
        """The own keys that are expanded for layer `depth`."""
        return self.layer(depth - 1) if depth or self.within is None else self.within

    def known(self, depth: Depth) -> list[Layer]:
        """The own keys that layer `depth` must not have, those of the layer before it first."""
        if not depth:
            return []
        if self.puzzle.undirected:
            return self._before(depth)
        store = self.store
        if self._older is None:
            self._older = ClosedSet(store, depth - 1, self.shares, MERGED_AT_ONCE, lambda: store.commit(store.state))
            self._older_depth = depth - 1
        for each in range(self._older_depth, depth - 1):
            self._older.add(each, self.layer(each))
        self._older_depth = depth - 1
        return [self.layer(depth - 1), *self._older.layers()]

    def step_of(self, exchange: Exchange, depth: Depth, rules: Puzzle | None) -> RangeStep:
        """The step that makes layer `depth`, or makes it again by `rules`, a sample of what it expands looked at."""
        puzzle = rules or (self.puzzle if self.within is None else moves_within(self.puzzle, depth))
        # The older keys of a directed puzzle are those of its last layer by now.
        known = self.known(depth) if rules is None else self._before(depth)
        source = self.source(depth)
        keys = source.sample() if source.size else self.store.layout.empty(0)
        keys, began = keys[:: max(1, len(keys) // _SAMPLED)], perf_counter()
        successors = sort_keys(puzzle.expand(keys).successors) if len(keys) else keys
        sample = SourceSample(keys, successors, max(perf_counter() - began, 1e-9) / max(1, len(keys)))
        size = self.shares.range_size(source.size, sample.seconds_each) // (PARTS if self.link.is_slow else 1)
        is_short = source.size * sample.seconds_each < _SHORT_SECONDS
        threads = CallingThread(self._threads.spare) if is_short else self._threads
        return RangeStep(puzzle, exchange, source, known, sample, size, self.shares, threads, True)

    def _before(self, depth: Depth) -> list[Layer]:
        """The layers that layer `depth` has none of, one by one, the one before it first."""
        first = max(0, depth - 2) if self.puzzle.undirected else 0
        return [self.layer(each) for each in range(depth - 1, first - 1, -1)]

    def _finish(self, made: RoundMark, keys: list[Keys] | None) -> None:
        """Commit the own part of a layer, which is the last one then; its keys, if they fit, stay in memory."""
        self.store.stage_layer(made.finished(0, None))
        self._held = {each: layer for each, layer in self._held.items() if each >= made.depth - 1}
        if keys is not None:
            self._held[made.depth] = HeldLayer(keys)
        self.store.commit(replace(self.store.state, depth=made.depth))

    def _drop_from(self, depth: Depth) -> None:
        """Drop layer `depth` and those after it, and what is under way."""
        self._abandon()
        self._held = {each: layer for each, layer in self._held.items() if each < depth}
        self.store.erase(META, PARTIAL_KEY)
        # Of one more there may be blocks already.
        for each in range(depth, self.store.state.depth + 2):
            self.store.erase(BLOCKS, number_key(each))
            self.store.erase(LAYERS, number_key(each))
            if self._copies is not None:
                self._copies.erase(BLOCKS, number_key(each))
        if self.store.state.depth >= depth:
            if self._copies is not None:
                self._copies.finish()
            self.store.commit(replace(self.store.state, depth=depth - 1))

    def _forget_older(self) -> None:
        self.store.erase(CLOSED)
        self.store.erase(META, CLOSED_KEY)
        self._older = None

    def _asked(self, request: HostRequest, session: str) -> HostStep:
        """The step that a request goes on with."""
        if self._step is None or not self._step.is_asked(request, session):
            raise PayloadError(f"this host has not expanded for layer {request.depth}: it was started again")
        if request.base and self.within is None:
            raise PayloadError("the run that the goal distances belong to has moved")
        return self._step

    def end_rules(self) -> None:
        """End the processes that follow the rules of the puzzle, if there are any."""
        if self._rules is not None:
            self._rules.close()
            self._rules = None

    def _abandon(self) -> None:
        for under_way in (self._step, self._transfer):
            if under_way is not None:
                under_way.close()
        self._step = self._transfer = self._check = None
