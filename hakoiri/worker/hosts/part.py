"""The part of one run at this host: layers of its own ranges in a store, and the layer in the making.

The store has the format of any run (`docs/reference/file-formats.md`), with the ranges of this host only. A
layer that the coordinator has not committed is dropped when the next one begins. `worker.hosts.step` makes layers.
"""

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic

import numpy as np

from hakoiri.errors import DamagedError, PayloadError, TaskError
from hakoiri.keys.layout import Key
from hakoiri.keys.order import slice_between
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import code_keys, lanes_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, LABELS, LAYERS, META, NUMBERS_KEY, PARTIAL_KEY, number_key
from hakoiri.worker.hosts.census import HostCensus
from hakoiri.worker.hosts.copies import COPIES_FOLDER, Copies, OwnRanges, Transfer
from hakoiri.worker.hosts.layers import SAMPLED, BaseConfigurations, HostLayers, check_part, require_depth
from hakoiri.worker.hosts.requests import HostChecked, HostExpanded, HostRequest
from hakoiri.worker.hosts.step import HostStep, kept_mark
from hakoiri.worker.hosts.wire import HostTuning
from hakoiri.worker.layers.partition import LEAST_BYTES, partition_by, shares_within
from hakoiri.worker.layers.step import RoundMark
from hakoiri.worker.machine import available_memory
from hakoiri.worker.pool import ThreadPool
from hakoiri.worker.transport.data_redis import DataRedisPool
from hakoiri.worker.transport.payload import Array, Arrays, packed


class RunPart:
    """The part of a run below `directory`, open for writing and locked until `close`, which ends the threads, too.

    A step may take `memory` bytes; 0 allows half of the free memory.
    """

    def __init__(
        self, directory: Path, puzzle: Puzzle, threads: ThreadPool, memory: int, data_pool: DataRedisPool,
        tuning: HostTuning,
    ) -> None:  # fmt: skip
        self.puzzle, self._threads, self.memory, self.data_pool = puzzle, threads, memory, data_pool
        allowed = memory or available_memory() // 2
        self._shares = shares_within(allowed, puzzle.layout.bytes, threads.workers, None, LEAST_BYTES)
        with ExitStack() as opened:
            opened.callback(threads.close)
            opened.enter_context(RunLock(directory))
            self.store = opened.enter_context(RunStore(directory, writable=True))
            if self.store.layout != puzzle.layout:
                raise TaskError("the manifest and the puzzle of the run have different key layouts")
            self.store.are_keys = puzzle.are_keys
            self._copies: Copies | None = None
            if (directory / COPIES_FOLDER).exists():
                self._copies = opened.enter_context(Copies(self.store, self._shares.staged_bytes))
            self._resources = opened.pop_all()
        self._layers = HostLayers(self.store, puzzle, threads, self._shares, tuning)
        self._step: HostStep | None = None
        self._transfer: Transfer | None = None
        #: The check in progress, by session, layers and attempt.
        self._check: tuple[tuple[int, str, int, int], Iterator[list[Array]]] | None = None
        self._census: HostCensus | None = None

    def close(self) -> None:
        """Close the store; committed layers stay."""
        self._abandon()
        self._resources.close()

    def take(self, request: HostRequest, layers: Arrays) -> list[Array]:
        """Keep own keys, and copies, of the layers before `request.depth`, nearest last; they replace all layers."""
        self._drop_from(0)
        if self._copies is not None:
            self._copies.erase(BLOCKS)
            self._copies.finish()
        self._layers.forget_older(erase=True)
        OwnRanges(request.own_digest, request.partition).stage(self.store)
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
            self._layers.finish(made, own if sum(part.nbytes for part in own) <= self._shares.layer_bytes else None)
        if copied:
            self.copies.finish()
        return packed({})

    def expand(self, request: HostRequest) -> list[Array]:
        """Expand own keys of the layer before `request.depth` for a round, and send the keys that other hosts keep."""
        if not request.round:
            self._require_ranges(request)
            self._drop_from(request.depth)
            require_depth(self.store, request, request.depth - 1)
            self._step = self._step_from(_first_mark(request), request)
        return self._expand(request)

    def keep(self, request: HostRequest) -> list[Array]:
        """Make the last expanded round durable."""
        self._asked(request).keep(request.expected)
        return packed({})

    def back(self, request: HostRequest) -> list[Array]:
        """Go back to the end of round `request.round` for another attempt; answer with round 0 if it was not kept."""
        self._abandon()
        self.store.discard_staged()
        self._require_ranges(request)
        mark = kept_mark(self.store, request)
        with suppress(DamagedError):
            self._step = self._step_from(mark, request) if mark else None
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
        self._layers.finish(step.mark, keys)
        step.close(clear=True)
        # IMPORTANT: nothing refers to the step from here on, because it holds older layers.
        self._step = None
        del step
        merged = packed(figures)
        if not request.ahead:
            return merged
        following = replace(request, depth=request.depth + 1, round=0)
        self._step = self._step_from(_first_mark(following), following)
        return merged + self._expand(following)

    def cut(self, request: HostRequest) -> list[Array]:
        """Return keys that cut own ranges into `request.pieces` of about equal size in layer `request.depth`."""
        require_depth(self.store, request, request.depth)
        layer, found = self._layers.layer(request.depth), list[Key]()
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
        self._transfer = Transfer(self.store, self.copies, self.data_pool, request, self._layers.link.compresses)
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
        self._layers.forget()
        self._layers.forget_older(erase=True)
        return self.copies.settle(self.store, request)

    def check(self, request: HostRequest, others: Arrays) -> list[Array]:
        """Continue, for some seconds, to check the layers `request.first` to `request.depth` (`check_part`)."""
        asked = request.first, *request.attempted
        if not request.round:
            together = self._shares.layer_bytes // self.store.layout.bytes
            beside = others[0] if others else self.store.layout.empty(0)
            self._check = asked, check_part(self.store, self._copies, self.puzzle, request, beside, together)
        until = monotonic() + self._layers.tuning.check
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
            self._census = HostCensus(self.store, self.puzzle, self._threads, self._shares, request, self.data_pool)
        return self._census

    def look_within(self, base: "RunPart | None", request: HostRequest) -> None:
        """Filter the layers of goal distances by the own ranges of a finished run, whose part is `base`."""
        stores, known = [] if base is None else base.stores, self._layers.within
        if known is None or (known.stores, known.mine) != (stores, request.mine):
            self._layers.within = BaseConfigurations(stores, request, self._shares.layer_bytes)

    def forget_within(self, base: "RunPart") -> None:
        """Have the next step read the base run again, because its part `base` is about to change."""
        # Only the stores of own ranges are compared: the store of copies may be new.
        if self._layers.within is not None and self._layers.within.stores[:1] == base.stores[:1]:
            self._layers.within = None

    @property
    def copies(self) -> Copies:
        """The copies of ranges of other hosts; their store is made when it is first needed."""
        if self._copies is None:
            self._copies = self._resources.enter_context(Copies(self.store, self._shares.staged_bytes))
        return self._copies

    def _require_ranges(self, request: HostRequest) -> None:
        """Raise `TaskError` if the layers here have other ranges than the coordinator's record."""
        known = OwnRanges.of(self.store)
        if known and known.digest != request.own_digest:
            raise request.missing("it keeps other ranges of the run than the coordinator's record says: one is older")

    def _drop_from(self, depth: Depth) -> None:
        """Drop layer `depth`, all layers after it, and the work in progress."""
        self._abandon()
        self._layers.forget(depth)
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

    def _expand(self, request: HostRequest) -> list[Array]:
        """Expand one round of the layer in progress; return its `HostExpanded`."""
        step = self._asked(request)
        step.expand(request.round_seconds)
        return packed(step.figures())

    def _step_from(self, mark: RoundMark, request: HostRequest) -> HostStep:
        return HostStep(self._layers, self.data_pool, request, mark)

    def _asked(self, request: HostRequest) -> HostStep:
        """Return the step that a request continues."""
        if self._step is None or not self._step.is_asked(request):
            raise PayloadError(f"this host has not expanded for layer {request.depth}, because it was restarted")
        if request.base and self._layers.within is None:
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


def _first_mark(request: HostRequest) -> RoundMark:
    """Return the mark of a layer of which nothing is expanded yet."""
    return RoundMark(request.depth, b"", beginning=request.beginning)
