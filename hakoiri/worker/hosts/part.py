"""The part of one run at this host: layers of its own ranges in a store, and the layer in the making.

The store has the format of any run (`docs/reference/file-formats.md`), with the ranges of this host only. A
layer that the coordinator has not committed is dropped when the next one begins. A layer is expanded in rounds, each
durable if there are several, then merged.

    round: own keys from where the last one ended, for some seconds -> successors: in own ranges held, or spilled
                                                                    -> all others: outbox -> inbox of their host
    keep:  held and received keys -> spill files -> a mark in the store, committed
    merge: range after range -> blocks, committed every few seconds with the number of merged ranges

The coordinator records a round when all hosts have kept it. After a loss all go back to the round recorded last, which
may be the round before a host's own last one: so two marks are kept, and going back truncates the spill files.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np

from hakoiri.errors import DamagedError, PayloadError, TaskError
from hakoiri.keys.layout import Key, Keys
from hakoiri.keys.order import slice_between, sort_keys
from hakoiri.memory import available_memory
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import Coded, code_keys, lanes_of
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore, Source
from hakoiri.storage.ledger.ledger import CommitThread
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, LABELS, LAYERS, META, NUMBERS_KEY, PARTIAL_KEY, number_key
from hakoiri.timing import clock
from hakoiri.worker.hosts.census import HostCensus
from hakoiri.worker.hosts.copies import COPIES_FOLDER, Copies, OwnRanges, Transfer
from hakoiri.worker.hosts.layers import BaseConfigurations, check_part, require_depth
from hakoiri.worker.hosts.requests import HostChecked, HostExpanded, HostMerged, HostRequest
from hakoiri.worker.hosts.wire import PATIENCE_SECONDS, HostTuning, Inbox, Link, Mail, Outbox
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.part import PartLayers, PartStep
from hakoiri.worker.layers.partition import LEAST_BYTES, MERGED_AT_ONCE, partition_by, shares_within
from hakoiri.worker.layers.rules import goals_only, predecessors
from hakoiri.worker.layers.step import Partial, RangeStep, SourceSample
from hakoiri.worker.pool import CallingThread, ThreadPool
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, packed

#: Keys of a layer expanded to plan the step, and keys sampled from a range for each piece into which it is cut.
SAMPLED = 2_048


#: The most parts in which a layer is sent. Keys found in two parts are sent twice: with 4 parts, pancakes of 11 send
#: 1.10 times as many bytes by 8 hosts, the 3x4 tiles 1.02 times. On fast links there is one part: more cost pancakes
#: of 11 by 8 hosts a fifth of the processor time, and bring nothing.
PARTS = 4


@dataclass(frozen=True)
class RoundMark(Partial):
    """The progress of the layer after `round` rounds, which took `seconds`, with `sent` and `received` bytes.

    A mark of another `beginning` is ignored: a host may have
    been restored to a mark of an earlier one.

    `begun` maps each range to the key below which it is expanded; both are text, the key hexadecimal. `given` counts
    by range the keys in messages to other hosts, `taken` the keys in messages from them.
    """

    round: int = 0
    beginning: str = ""
    seconds: float = 0.0
    sent: int = 0
    received: int = 0
    begun: dict[str, str] = field(default_factory=dict)
    given: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)


class HostStep:
    """The making of the own part of layer `request.depth`, from `mark` on, in one attempt.

    Raises `DamagedError` if the spill files differ from the mark.
    """

    def __init__(self, part: "RunPart", data_pool: DataRedisPool, request: HostRequest, mark: RoundMark) -> None:
        self._part, self._store, self._request, self._first = part, part.store, request, mark
        self._kept: tuple[RoundMark, ...] = (mark,) if mark.round else ()
        self._spill = Spill(part.store.directory, part.store.layout, request.depth)
        self._spill.restore(mark.spilled)
        # IMPORTANT: nothing below refers to this step, or its bitmaps would stay until a cycle of references is found.
        mail, mine = Mail(data_pool, request), request.mine
        owner_of, compresses = request.owners.__getitem__, part.link.compresses
        self._outbox = Outbox(mail.send, owner_of, len(request.hosts), request.me, compresses, part.tuning)
        most, away = part.shares.bucket_bytes // 2, dict.fromkeys(request.others_in_turn)
        exchange = Exchange(request.cuts, request.depth, self._spill, most, away, self._outbox.put)
        self._ranges = part.step_of(exchange, request.depth)
        self._ranges.at = {int(number): int(key, 16) for number, key in mark.begun.items()}
        self._all = part.source(request.depth).size
        if self._all:
            self._ranges.plan_bitmaps()
        self._step = PartStep(part.store, mark, self._ranges, self._spill, part.shares.layer_bytes)

        def put(number: int, coded: Coded) -> None:
            if number not in mine:
                raise PayloadError(
                    f"a message of another host has blocks of range {number}, which this host does not keep"
                )
            exchange.put(number, coded)

        self._inbox, self._waited = Inbox(mail.receive, put), 0.0

    @property
    def mark(self) -> RoundMark:
        """The progress of the layer."""
        return self._step.mark

    def is_asked(self, request: HostRequest) -> bool:
        """Return whether a request continues this attempt, after as many rounds."""
        return (self._request.attempted, self.mark.round) == (request.attempted, request.round)

    def expand(self, seconds: float) -> HostExpanded:
        """Make another round: expand for so long, or to the end, and send keys in ranges of other hosts.

        If the last layer took long to send, parts are sent while the rest is expanded.
        """
        began, sent, busy = monotonic(), self._outbox.sent_bytes, self._outbox.busy
        while not self._ranges.is_finished:
            self._expand_part(began + seconds, seconds / PARTS)
            if monotonic() > began + seconds:
                break
        expanded, mark = monotonic(), self.mark
        self._outbox.flush()
        ended, took = monotonic(), mark.seconds + expanded - began
        sent, busy = self._outbox.sent_bytes - sent, self._outbox.busy - busy
        threads, tuning = self._part.shares.workers, self._part.tuning
        self._part.link = self._part.link.after(ended - began, ended - expanded, busy, sent, threads, tuning)
        begun = {str(number): hex(key) for number, key in self._ranges.at.items()}
        given = self._counted(self._first.given, self._outbox.given)
        self._step.mark = replace(
            mark, round=mark.round + 1, begun=begun, seconds=took, sent=mark.sent + sent, given=given
        )
        return self.figures()

    def _expand_part(self, until: float, seconds: float) -> None:
        """Expand to the end, or until that time, or until enough keys for others are found; then send these."""
        first, since = self.mark.expanded, monotonic()

        def is_due() -> bool:
            much = self.mark.expanded - first >= self._all / PARTS or monotonic() - since > seconds
            return monotonic() > until or (self._part.link.in_parts and much and self._outbox.is_idle)

        for _ in self._step.expand(self._ranges.expand(is_due, sums_flow=True)):
            pass
        self._ranges.send_away()

    def figures(self) -> HostExpanded:
        """Return the figures of all rounds so far."""
        mark = self.mark
        return HostExpanded(
            mark.expanded, mark.net_flow, mark.seconds, self._part.shares.workers, self._outbox.sent, mark.sent,
            self._ranges.is_finished, mark.round, mark.given,
            "" if self._part.within is None else self._part.within.digest,
        )  # fmt: skip

    def keep(self, expected: list[int]) -> None:
        """Make the round durable, with the messages of others; `expected` is their number by host."""
        self._await(expected)
        self._step.keep(received=self._received, taken=self._counted(self._first.taken, self._inbox.taken))
        self._stage(*self._kept[-1:], self.mark)
        self._store.commit(self._store.state)

    def merge(self, expected: list[int], seconds: float) -> tuple[HostMerged, list[Keys] | None]:
        """Merge all, with commits every so many seconds; return the figures of the own part, and its keys if they fit.

        Commits run beside the merge. The last ranges are staged at the end, not committed.
        """
        began = monotonic()
        self._await(expected)
        spilled, first, committed, sizes = self._spill.stored_bytes, self.mark.merged, monotonic(), list[int]()
        # Layer 0 of goal distances needs no filter.
        within = self._part.within if self.mark.depth else None
        with CommitThread(self._store) as commits:
            for size in self._step.merge(within):
                sizes.append(size)
                late = monotonic() - committed > seconds
                much = self._store.staged_bytes > self._part.shares.staged_bytes // 2
                if late or much or commits.is_worthwhile:
                    self._stage_merged()
                    commits.begin(partial(self._spill.forget_below, self.mark.merged))
                    committed = monotonic()
        self._stage_merged()
        record = self.mark.record(self.mark.depth, 0)
        taken = self._counted(self._first.taken, self._inbox.taken)
        figures = HostMerged(
            record.size, record.goals, record.digest, record.stored_bytes, spilled, self._received, self._waited,
            monotonic() - began, taken, [] if first else sizes, record.represented,
        )  # fmt: skip
        return figures, self._step.held

    def close(self, clear: bool = False) -> None:
        """Accept and send no more messages; with `clear`, remove the spill files, too."""
        self._inbox.close()
        self._outbox.give_up()
        if clear:
            self._spill.clear()

    @property
    def _received(self) -> int:
        """The bytes of all messages from other hosts, including kept rounds of earlier attempts."""
        return self._first.received + self._inbox.received_bytes

    def _counted(self, before: list[int], counts: Counter[int]) -> list[int]:
        """Return the keys in messages by range, including kept rounds `before` this attempt."""
        return [count + counts[number] for number, count in enumerate(before or [0] * self._request.cuts.ranges)]

    def _stage_merged(self) -> None:
        """Stage the number of merged ranges, if another attempt can continue from there."""
        if self._kept:
            # The coordinator has recorded the last round: no host goes back to an earlier one.
            self._stage(self._step.resumable)

    def _stage(self, *marks: RoundMark) -> None:
        self._kept = marks
        self._store.stage_record(META, PARTIAL_KEY, {"marks": [asdict(mark) for mark in marks]})

    def _await(self, expected: list[int]) -> None:
        began = monotonic()
        self._inbox.await_all(expected, PATIENCE_SECONDS)
        self._waited += monotonic() - began


class RunPart(PartLayers):
    """The part of a run below `directory`, open for writing and locked until `close`, which ends the threads, too.

    A step may take `memory` bytes; 0 allows half of the free memory. Attributes: `link`, the link to other hosts as the
    last round has shown it; `within`, for goal distances, the configurations of the base run.
    """

    def __init__(
        self, directory: Path, puzzle: Puzzle, threads: ThreadPool, memory: int, data_pool: DataRedisPool,
        tuning: HostTuning,
    ) -> None:  # fmt: skip
        self.puzzle, self._threads, self.memory, self.data_pool = puzzle, threads, memory, data_pool
        self.tuning, self.link = tuning, Link()
        self.within: BaseConfigurations | None = None
        allowed = memory or available_memory() // 2
        shares = shares_within(allowed, puzzle.layout.bytes, threads.workers, None, LEAST_BYTES)
        with ExitStack() as opened:
            opened.callback(threads.close)
            opened.enter_context(RunLock(directory))
            store = opened.enter_context(RunStore(directory, writable=True))
            if store.layout != puzzle.layout:
                raise TaskError("the manifest and the puzzle of the run have different key layouts")
            store.are_keys = puzzle.are_keys
            self._copies: Copies | None = None
            if (directory / COPIES_FOLDER).exists():
                self._copies = opened.enter_context(Copies(store, shares.staged_bytes))
            self._resources = opened.pop_all()
        super().__init__(store, puzzle.undirected, shares, MERGED_AT_ONCE, lambda: store.commit(store.state))
        self._step: HostStep | None = None
        self._transfer: Transfer | None = None
        #: The check in progress, by session, layers and attempt.
        self._check: tuple[tuple[int, str, int, int], Iterator[list[Array]]] | None = None
        self._census: HostCensus | None = None

    def close(self) -> None:
        """Close the store; committed layers stay."""
        self._abandon()
        self._resources.close()

    def source(self, depth: Depth) -> Source:
        """Return the own keys that are expanded for layer `depth`."""
        return self.layer(depth - 1) if depth or self.within is None else self.within

    def step_of(self, exchange: Exchange, depth: Depth) -> RangeStep:
        """Return the step that makes layer `depth` in the ranges of `exchange`; it expands a sample to plan."""
        puzzle, known = self.puzzle, self.known(depth)
        if self.within is not None:
            puzzle = predecessors(puzzle) if depth else goals_only(puzzle)
        source = self.source(depth)
        keys = source.sample() if source.size else self.store.layout.empty(0)
        wanted = min(SAMPLED, max(self.tuning.least_sampled, source.size // 64))
        # IMPORTANT: contiguous, or numba would compile the kernels of the puzzle once more.
        keys, began = np.ascontiguousarray(keys[:: max(1, len(keys) // wanted)]), clock()
        successors = sort_keys(puzzle.expand(keys).successors) if len(keys) else keys
        sample = SourceSample(keys, successors, max(clock() - began, 1e-9) / max(1, len(keys)))
        size = self.shares.range_size(source.size, sample.seconds_each) // (PARTS if self.link.in_parts else 1)
        spared = source.size * sample.seconds_each * (1 - 1 / self._threads.workers)
        threads = CallingThread(self._threads.spare) if spared < self.tuning.short else self._threads
        return RangeStep(puzzle, exchange, source, known, sample, size, self.shares, threads, True)

    def finish(self, made: RoundMark, keys: list[Keys] | None) -> None:
        """Commit the own part of the layer after the last one. Its `keys`, if given, stay in memory."""
        if not made.size:
            self.require_older()
        self.store.stage_layer(made.record(made.depth, 0))
        self.hold(made.depth, keys)
        self.store.commit(replace(self.store.state, depth=made.depth))

    def take(self, request: HostRequest, *layers: Keys) -> list[Array]:
        """Keep own keys, and copies, of the layers before `request.depth`, nearest last; they replace all layers."""
        self._drop_from(0)
        if self._copies is not None:
            self._copies.erase(BLOCKS)
            self._copies.finish()
        self.forget_older(erase=True)
        OwnRanges(request.own_digest, request.partition).stage(self.store)
        self.store.commit(replace(self.store.state, depth=-1))
        mine = [request.cuts.bounds(n) for n in sorted(request.mine)]
        copied = [request.cuts.bounds(n) for n in sorted(request.copied)]
        for depth, keys in enumerate(layers, request.depth - len(layers)):
            own = [slice_between(keys, low, high) for low, high in mine]
            made = RoundMark(depth, b"")
            for part in own:
                total = np.array([len(part), 0, 0, *lanes_of(part)], dtype=np.uint64)
                made = made.plus(total, *self.store.stage_blocks(depth, code_keys(depth, part), made.index))
            for low, high in copied:
                self.copies.take_in(depth, code_keys(depth, slice_between(keys, low, high)))
            self.finish(made, own if sum(part.nbytes for part in own) <= self.shares.layer_bytes else None)
        if copied:
            self.copies.finish()
        return packed({})

    def expand(self, request: HostRequest) -> list[Array]:
        """Expand own keys of the layer before `request.depth` for a round, and send the keys that other hosts keep."""
        if not request.round:
            self._require_ranges(request)
            self._drop_from(request.depth)
            require_depth(self.store, request, request.depth - 1)
            self._step = self._step_from(request)
        return packed(self._asked(request).expand(request.round_seconds))

    def keep(self, request: HostRequest) -> list[Array]:
        """Make the last expanded round durable."""
        self._asked(request).keep(request.expected)
        return packed({})

    def back(self, request: HostRequest) -> list[Array]:
        """Go back to the end of round `request.round` for another attempt; answer with round 0 if it was not kept."""
        self._abandon()
        self.store.discard_staged()
        self._require_ranges(request)
        wanted = request.depth, request.round, request.beginning
        marks = (self.store.read_partial(dict[str, list[RoundMark]]) or {}).get("marks", [])
        mark = next((mark for mark in marks if (mark.depth, mark.round, mark.beginning) == wanted), None)
        with suppress(DamagedError):
            self._step = self._step_from(request, mark) if mark else None
        if self._step is None:
            return packed(HostExpanded(0, 0, 0.0, 0, [0] * len(request.hosts), 0, False, 0, []))
        return packed(self._step.figures())

    def merge(self, request: HostRequest) -> list[Array]:
        """Merge the own ranges of layer `request.depth`, durable on return; return the figures.

        If `request.ahead`, also expand the first round of the next layer, and append its `HostExpanded`.
        """
        step = self._asked(request)
        try:
            figures, keys = step.merge(request.expected, request.commit_seconds)
        except DamagedError:
            # IMPORTANT: erase the mark, or every retry resumes from the unreadable spill file.
            self.store.discard_staged()
            self.store.erase(META, PARTIAL_KEY)
            self.store.commit(self.store.state)
            raise
        self.finish(step.mark, keys)
        step.close(clear=True)
        # IMPORTANT: nothing refers to the step from here on, because it holds older layers.
        self._step = None
        del step
        merged = packed(figures)
        if not request.ahead:
            return merged
        following = replace(request, depth=request.depth + 1, round=0)
        self._step = self._step_from(following)
        return merged + packed(self._asked(following).expand(following.round_seconds))

    def cut(self, request: HostRequest) -> list[Array]:
        """Return keys that cut own ranges into `request.pieces` of about equal size in layer `request.depth`."""
        require_depth(self.store, request, request.depth)
        layer, found = self.layer(request.depth), list[Key]()
        for number in sorted(request.mine):
            pieces, (low, high) = request.pieces[number], request.cuts.bounds(number)
            step = max(1, layer.at_most(low, high) // (SAMPLED * pieces))
            keys = [keys[::step] for keys in layer.between(low, high)] if pieces > 1 else []
            if keys:
                found += partition_by(np.concatenate(keys), pieces).cuts
        return [self.store.layout.pack(found)]

    def send(self, request: HostRequest) -> list[Array]:
        """Send own blocks to the hosts that are to keep them; accept blocks of other hosts from now on."""
        self._abandon()
        self.copies.split(self.store, request)
        self._transfer = Transfer(self.store, self.copies, self.data_pool, request, self.link.compresses)
        return packed(self._transfer.send())

    def receive(self, request: HostRequest) -> list[Array]:
        """Make the blocks that other hosts have sent durable."""
        if self._transfer is None or not self._transfer.is_asked(request):
            raise PayloadError("this host expects no blocks, because it was restarted")
        self._transfer.finish(request.expected)
        self._abandon()
        return packed({})

    def settle(self, request: HostRequest) -> list[Array]:
        """Move blocks to the store of own ranges or of copies; return the figures of `Copies.settle`.

        Unless the request is `dry`, kept rounds of a layer and joined trees of a whole space are dropped.
        """
        self._abandon()
        if request.dry:
            return self.copies.settle(self.store, request)
        for database, name in ((LABELS, b""), (META, PARTIAL_KEY), (META, NUMBERS_KEY)):
            self.store.erase(database, name)
        self.forget()
        self.forget_older(erase=True)
        return self.copies.settle(self.store, request)

    def check(self, request: HostRequest, *others: Keys) -> list[Array]:
        """Continue, for some seconds, to check the layers `request.first` to `request.depth` (`check_part`)."""
        asked = request.first, *request.attempted
        if not request.round:
            together = self.shares.layer_bytes // self.store.layout.bytes
            beside = others[0] if others else self.store.layout.empty(0)
            self._check = asked, check_part(self.store, self._copies, self.puzzle, request, beside, together)
        until = monotonic() + self.tuning.check
        for answer in self._check[1] if self._check is not None and self._check[0] == asked else ():
            if answer or monotonic() > until:
                return answer or packed(HostChecked(False, [], []))
        raise PayloadError("this host has no check in progress, because it was restarted")

    @property
    def stores(self) -> list[RunStore]:
        """The store of the own ranges, and that of the copies, if there are any."""
        return [self.store] if self._copies is None else [self.store, self._copies]

    def census(self, request: HostRequest) -> HostCensus:
        """The own ranges of a whole space."""
        if self._census is None:
            self._require_ranges(request)
            self._census = HostCensus(self.store, self.puzzle, self._threads, self.shares, request, self.data_pool)
        return self._census

    def look_within(self, base: "RunPart | None", request: HostRequest) -> None:
        """Filter the layers of goal distances by the own ranges of a finished run, whose part is `base`."""
        stores, known = [] if base is None else base.stores, self.within
        if known is None or (known.stores, known.mine) != (stores, request.mine):
            self.within = BaseConfigurations(stores, request, self.shares.layer_bytes)

    def forget_within(self, base: "RunPart") -> None:
        """Have the next step read the base run again, because its part `base` is about to change."""
        # Only the stores of own ranges are compared: the store of copies may be new.
        if self.within is not None and self.within.stores[:1] == base.stores[:1]:
            self.within = None

    @property
    def copies(self) -> Copies:
        """The copies of ranges of other hosts; their store is made when it is first needed."""
        if self._copies is None:
            self._copies = self._resources.enter_context(Copies(self.store, self.shares.staged_bytes))
        return self._copies

    def _require_ranges(self, request: HostRequest) -> None:
        """Raise `TaskError` if the layers here have other ranges than the coordinator's record."""
        known = OwnRanges.of(self.store)
        if known and known.digest != request.own_digest:
            raise request.missing("it keeps other ranges of the run than the coordinator's record says: one is older")

    def _drop_from(self, depth: Depth) -> None:
        """Drop layer `depth`, all layers after it, and the work in progress."""
        self._abandon()
        self.forget(depth)
        self.store.erase(META, PARTIAL_KEY)
        # The layer after the last may have blocks already.
        for each in range(depth, self.store.state.depth + 2):
            self.store.erase(BLOCKS, number_key(each))
            self.store.erase(LAYERS, number_key(each))
            if self._copies is not None:
                self._copies.erase(BLOCKS, number_key(each))
        if self.store.state.depth >= depth:
            # IMPORTANT: commit now, because reads see committed data only: keys found again must not count as known.
            if self._copies is not None:
                self._copies.finish()
            self.store.commit(replace(self.store.state, depth=depth - 1))

    def _step_from(self, request: HostRequest, mark: RoundMark | None = None) -> HostStep:
        """Return the step that makes a layer, from `mark` on or anew."""
        mark = mark or RoundMark(request.depth, b"", net_flow=0, beginning=request.beginning)
        return HostStep(self, self.data_pool, request, mark)

    def _asked(self, request: HostRequest) -> HostStep:
        """Return the step that a request continues."""
        if self._step is None or not self._step.is_asked(request):
            raise PayloadError(f"this host has not expanded for layer {request.depth}, because it was restarted")
        if request.base and self.within is None:
            raise PayloadError("the run that the goal distances belong to has moved")
        return self._step

    def _abandon(self) -> None:
        for under_way in (self._step, self._transfer, self._census):
            if under_way is not None:
                under_way.close()
        if self._census is not None:
            # Passes begin with nothing staged.
            self.store.discard_staged()
        self._step = self._transfer = self._check = self._census = None
