"""The own part of one layer in the making: expanded in rounds, each durable if there are several, then merged.

    round: own keys from where the last one ended, for some seconds -> successors: in own ranges held, or spilled
                                                                    -> all others: outbox -> inbox of their host
    keep:  held and received keys -> spill files -> a mark in the store, committed
    merge: range after range -> blocks, committed every few seconds with the number of merged ranges

The coordinator records a round when all hosts have kept it. After a loss all go back to the round recorded last, which
may be the round before a host's own last one: so two marks are kept, and going back truncates the spill files.
"""

from dataclasses import asdict, replace
from functools import partial
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from hakoiri.errors import PayloadError
from hakoiri.keys.layout import Keys
from hakoiri.storage.layers.blocks import Coded
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import CommitThread
from hakoiri.storage.names import META, PARTIAL_KEY
from hakoiri.worker.hosts.requests import HostExpanded, HostMerged, HostRequest
from hakoiri.worker.hosts.wire import PATIENCE_SECONDS, Inbox, Mail, Outbox
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.part import PartStep
from hakoiri.worker.layers.ranges import Put
from hakoiri.worker.layers.step import PARTS, RoundMark
from hakoiri.worker.transport.data_redis import DataRedisPool

if TYPE_CHECKING:
    from hakoiri.worker.hosts.layers import HostLayers


def kept_mark(store: RunStore, request: HostRequest) -> RoundMark | None:
    """Return the mark of the round of a request; ``None`` if it was not kept."""
    wanted = request.depth, request.round, request.beginning
    marks = (store.read_partial(dict[str, list[RoundMark]]) or {}).get("marks", [])
    return next((mark for mark in marks if (mark.depth, mark.round, mark.beginning) == wanted), None)


class _KeyCounts:
    """The `counts` of keys in blocks by range, starting from the `known` counts."""

    def __init__(self, known: list[int], ranges: int) -> None:
        self.counts, self._lock = np.array(known or [0] * ranges), Lock()

    def counting(self, put: Put) -> Put:
        """Return `put` with its keys counted. Thread-safe."""
        counts, lock = self.counts, self._lock

        def counted(number: int, coded: Coded) -> None:
            put(number, coded)
            with lock:
                counts[number] += coded.counts.sum()

        return counted


class HostStep:
    """The making of the own part of layer `request.depth`, from `mark` on, in one attempt.

    Raises `DamagedError` if the spill files differ from the mark.
    """

    def __init__(self, part: "HostLayers", data_pool: DataRedisPool, request: HostRequest, mark: RoundMark) -> None:
        self._part, self._store, self._request = part, part.store, request
        self._kept: tuple[RoundMark, ...] = (mark,) if mark.round else ()
        self._spill = Spill(part.store.directory, part.store.layout, request.depth)
        self._spill.restore(mark.spilled)
        # IMPORTANT: nothing below refers to this step, or its bitmaps would stay until a cycle of references is found.
        mail, mine = Mail(data_pool, request), request.mine
        owner_of, compresses = request.owners.__getitem__, part.link.compresses
        self._outbox = Outbox(mail.send, owner_of, len(request.hosts), request.me, compresses, part.tuning)
        most, away = part.shares.bucket_bytes // 2, dict.fromkeys(request.others_in_turn)
        given = self._given = _KeyCounts(mark.given, request.cuts.ranges)
        taken = self._taken = _KeyCounts(mark.taken, request.cuts.ranges)
        exchange = Exchange(request.cuts, request.depth, self._spill, most, away, given.counting(self._outbox.put))
        self._ranges = part.step_of(exchange, request.depth)
        self._ranges.at = {int(number): int(key, 16) for number, key in mark.begun.items()}
        self._all = part.source(request.depth).size
        if self._all:
            self._ranges.plan_bitmaps()
        mark = replace(mark, flow=mark.flow or 0)
        self._step = PartStep(part.store, mark, self._ranges, self._spill, part.shares.layer_bytes)

        def put(number: int, coded: Coded) -> None:
            if number not in mine:
                raise PayloadError(
                    f"a message of another host has blocks of range {number}, which this host does not keep"
                )
            exchange.put(number, coded)

        self._inbox, self._waited = Inbox(mail.receive, taken.counting(put)), 0.0
        self._before = mark.received

    @property
    def mark(self) -> RoundMark:
        """The progress of the layer."""
        return self._step.mark

    def is_asked(self, request: HostRequest) -> bool:
        """Return whether a request continues this attempt, after as many rounds."""
        return (self._request.attempted, self.mark.round) == (request.attempted, request.round)

    def expand(self, seconds: float) -> None:
        """Make another round: expand for so long, or to the end, and send keys in ranges of other hosts.

        If the last layer took long to send, parts are sent while the rest is expanded.
        """
        began, sent, busy = monotonic(), self._outbox.sent_bytes, self._outbox.busy
        while not self._is_finished:
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
        given = self._given.counts.tolist()
        self._step.mark = replace(
            mark, round=mark.round + 1, attempt=self._request.attempt, begun=begun, seconds=took,
            sent=mark.sent + sent, given=given,
        )  # fmt: skip

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
            mark.expanded, mark.flow or 0, mark.seconds, self._part.shares.workers, self._outbox.sent, mark.sent,
            self._is_finished, mark.round, mark.given,
            "" if self._part.within is None else self._part.within.digest,
        )  # fmt: skip

    def keep(self, expected: list[int]) -> None:
        """Make the round durable, with the messages of others; `expected` is their number by host."""
        self._await(expected)
        self._step.keep(received=self._received, taken=self._taken.counts.tolist())
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
        made = record.size, record.goals, record.digest, record.stored_bytes
        took = monotonic() - began
        figures = HostMerged(
            *made, spilled, self._received, self._waited, took, self._taken.counts.tolist(), [] if first else sizes
        )
        return figures, self._step.held.pieces

    def close(self, clear: bool = False) -> None:
        """Accept and send no more messages; with `clear`, remove the spill files, too."""
        self._inbox.close()
        self._outbox.give_up()
        if clear:
            self._spill.clear()

    @property
    def _is_finished(self) -> bool:
        return not self._all or self._ranges.is_finished

    @property
    def _received(self) -> int:
        """The bytes of all messages from other hosts, including kept rounds of earlier attempts."""
        return self._before + self._inbox.received_bytes

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
