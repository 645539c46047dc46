"""The own ranges of a whole space at a host: listed, joined among themselves and to foreign ranges, numbered.

    list     the puzzle's configurations -> keys in own ranges -> layer 0
    join     own moves -> trees -> united by the moves between own ranges -> roots; foreign moves wait in files
    hand     foreign moves, each with the root that it comes from -> outbox -> inbox of their host
    edges    received moves -> edges between own and foreign roots -> the coordinator, which unites them
    number   the component of each root, from the coordinator -> labels

Each request continues a pass for some seconds. Its progress is durable, so a restarted host continues where it was.
Only moves handed over are lost with any of the hosts; another attempt hands them over again.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any

from hakoiri.errors import PayloadError
from hakoiri.keys.layout import Key, Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import Coded
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import META, PARTIAL_KEY
from hakoiri.storage.results import Labels
from hakoiri.worker.census.joining import Joining, StrayMoveError
from hakoiri.worker.census.slabs import grown_by_threads, list_part, listed
from hakoiri.worker.hosts.requests import HostPassed, HostRequest
from hakoiri.worker.hosts.wire import PATIENCE_SECONDS, Inbox, Mail, Outbox
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, packed


class HostCensus:
    """The ranges of a space that the host of `request` keeps in `store`. They are neighbours."""

    def __init__(
        self, store: RunStore, puzzle: Puzzle, threads: ThreadPool, shares: Shares, request: HostRequest,
        data_pool: DataRedisPool,
    ) -> None:  # fmt: skip
        self._store, self._puzzle, self._threads, self._shares = store, puzzle, threads, shares
        self._cuts, self._slabs, self._mine = request.cuts, request.slabs, sorted(request.mine)
        self._seconds, self._data_pool = request.round_seconds, data_pool
        #: The pass under way, by its task.
        self._passes = dict[str, Iterator[int]]()
        self._made: Joining | None = None
        self._outbox: Outbox | None = None
        self._inbox: Inbox | None = None
        self._attempt, self._done = 0, 0

    def close(self) -> None:
        """End passes in progress; accept and send no more messages."""
        self._passes.clear()
        if self._inbox is not None and self._outbox is not None:
            self._inbox.close()
            self._outbox.give_up()

    # Requests; each answer begins with `HostPassed`

    def list_own(self, request: HostRequest) -> list[Array]:
        """List own configurations for some seconds."""
        return self._go_on("list", self._list(), request) if self._store.state.depth < 0 else self._answer(True)

    def join_own(self, request: HostRequest) -> list[Array]:
        """Join own configurations for some seconds."""
        return self._answer(True) if self._joining.done.roots else self._go_on("join", self._join(), request)

    def hand_over(self, request: HostRequest) -> list[Array]:
        """Send moves that lead to ranges of other hosts; accept their moves from now on."""
        self.close()
        self._store.discard_staged()
        # IMPORTANT: drop the moves received in an earlier attempt, because they are sent again.
        self._made, self._attempt = None, request.attempt
        if self._joining.done.numbered:
            # IMPORTANT: labels are already components, not trees, if the coordinator was restored to an earlier moment.
            self._store.erase(META, PARTIAL_KEY)
            self._commit()
            self._made = None
            raise PayloadError("this host has labelled its configurations, and joins them again")
        joining, layout = self._joining, self._joining.spill.layout
        mail = Mail(self._data_pool, request)
        outbox = self._outbox = Outbox(mail.send, request.owners.__getitem__, len(request.hosts), request.me)

        def put(number: int, coded: Coded) -> None:
            if number not in request.mine:
                raise PayloadError(f"a message of another host has pairs of range {number}, which this host lacks")
            joining.exchange.put(number, coded)

        self._inbox = Inbox(mail.receive, put)
        most = self._shares.bucket_bytes // (4 * self._threads.workers * layout.bytes)

        def send(number: int) -> None:
            for coded in joining.pairs_to(number, most):
                outbox.put(number, coded)

        for _ in self._threads.each("forest", send, request.others_in_turn):
            pass
        outbox.flush()
        return self._answer(True, sent=outbox.sent, bytes=outbox.sent_bytes)

    def edges(self, request: HostRequest) -> list[Array]:
        """Return also the edges between own and foreign roots, and the sizes of own roots (`TreeEdges`)."""
        if self._inbox is None or self._attempt != request.attempt:
            raise PayloadError("this host expects no moves of others, because it was restarted")
        self._inbox.await_all(request.expected, PATIENCE_SECONDS)
        try:
            found = self._joining.edges_of_roots()
        except StrayMoveError:
            return self._answer(True, stray=True)
        return [*self._answer(True, received=self._inbox.received_bytes), found.pairs, found.sizes]

    def number(self, request: HostRequest, components: Labels) -> list[Array]:
        """Label own configurations for some seconds; `components` has the component of each root."""
        done = self._joining.done
        if len(components) != done.roots or not done.roots:
            raise PayloadError("a request is not readable: its components do not match the roots of this host")
        return self._go_on("number", self._number(components), request)

    # Passes, which yield the number of configurations done

    def _list(self) -> Iterator[int]:
        (low, _), (_, high) = (self._cuts.bounds(self._mine[place]) for place in (0, -1))

        def own(following: Key, size: int) -> Iterator[Keys]:
            return listed(self._puzzle, max(low, following), high)

        for record in list_part(self._store, self._puzzle, self._shares.staged_bytes, own, self._commit):
            yield record.size
        self._store.stage_layer(record)
        self._store.commit(replace(self._store.state, depth=0))

    def _join(self) -> Iterator[int]:
        joining = self._joining
        yield from joining.grow(partial(grown_by_threads, self._threads, self._puzzle, self._shares, joining.ranges))
        joining.save()
        yield from joining.join()

    def _number(self, components: Labels) -> Iterator[int]:
        yield from self._joining.number(components)
        # The record of the passes stays: the answer may be lost.
        self._joining.forget()

    def _go_on(self, name: str, work: Iterator[int], request: HostRequest) -> list[Array]:
        """Continue a pass for some seconds, or begin it, which is to do `work`."""
        began, stray = monotonic(), False
        try:
            for done in self._passes.setdefault(name, work):
                self._done = done
                if monotonic() > began + request.round_seconds:
                    return self._answer(False, seconds=monotonic() - began)
        except StrayMoveError:
            stray = True
        del self._passes[name]
        return self._answer(True, seconds=monotonic() - began, stray=stray)

    def _answer(self, finished: bool, **figures: Any) -> list[Array]:
        store, passed = self._store, HostPassed(finished, self._done, self._threads.workers)
        if store.state.depth >= 0:
            record, done = store.layer_record(0), self._joining.done
            passed = replace(
                passed, size=record.size, digest=record.digest, goals=record.goals, stored=record.stored_bytes,
                represented=record.represented,
                moves=done.moves, balance=done.balance, spilled=self._joining.spill.stored_bytes,
                done=record.size if finished else self._done, beginning=done.beginning,
            )  # fmt: skip
        return packed(replace(passed, **figures))

    @property
    def _joining(self) -> Joining:
        if self._made is None:
            self._made = Joining(
                self._store, self._cuts, self._slabs, self._mine[0], self._threads, self._shares, self._commit,
                self._seconds,
            )  # fmt: skip
        return self._made

    def _commit(self) -> None:
        self._store.commit(self._store.state)
