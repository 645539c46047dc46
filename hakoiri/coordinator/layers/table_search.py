"""A search that keeps depths and makes its layers in memory (`worker.layers.table`), committed at checkpoints.

A checkpoint has the records of all layers since the last one, the blocks of the table that have changed, and the
frontier; in the midst of a layer also the marks so far. It is one commit, so the table never knows more than the
records say.
"""

import time
from dataclasses import asdict, dataclass, replace

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.session import Session
from hakoiri.storage.layers.depths import DepthTable, Kept
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer, StoredLayer
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.storage.names import BLOCKS, META, PARTIAL_KEY, number_key
from hakoiri.worker.layers.table import LayerTable, table_bytes


@dataclass(frozen=True)
class _Marked:
    """Progress of layer `marked`: the words of the frontier before `at` are expanded."""

    marked: Depth
    at: int


class TableSearch(LayeredSearch):
    """A search that `fits` the session: threads with a kernel, and a table that fits in memory."""

    #: Begun with the first layer that is made.
    _table: LayerTable | None = None

    def __init__(self, session: Session) -> None:
        super().__init__(session, keep="depths")
        self._due = time.monotonic() + session.context.tuning.checkpoint

    @staticmethod
    def fits(session: Session) -> bool:
        """Return whether a session can make layers in a table."""
        puzzle, context = session.puzzle, session.context
        needed = table_bytes(puzzle.numbers or 0, context.local.workers)
        return puzzle.has_kernel and context.budget.farm_from is None and needed <= context.shares.free

    def commit(self) -> None:
        self._stage()
        super().commit()

    def commit_staged(self) -> None:
        self._stage()
        super().commit_staged()

    def drop(self, now: bool = False) -> None:
        """Commit if that is due, or `now` for the last time."""
        began = time.monotonic()
        if now and self.store.has_partial:
            self._erase_marks(self.state.depth + 1)
        if now or began > self._due:
            self.commit()
            self._set_due(began)

    def _next(self, current: Layer) -> Layer:
        table, depth, self._maker = self._begin(), self.state.depth + 1, "threads"
        inspected_expansion(self.puzzle, table.sample(), depth)
        done, began = 0, time.monotonic()
        self._pace.expand(0)
        try:
            while not table.is_expanded:
                for expanded in table.expand(lambda: time.monotonic() > self._due):
                    done += expanded
                    if time.monotonic() > began + self._session.context.tuning.paced_from:
                        self._tell_expanded(depth, done)
                if not table.is_expanded:
                    self._checkpoint(table, depth)
        except StopRun:
            self._checkpoint(table, depth)
            raise
        self._pace.merge(0)
        totals = table.merge(depth)
        self._pace.finish(done)
        if not totals.size:
            return HeldLayer([])
        self._record = totals.record(depth, self.store.state.session)
        self.store.stage_layer(self._record)
        self._add(self._record)
        return StoredLayer(self.store, depth, totals.size)

    def _begin(self) -> LayerTable:
        """Return the table; when it is first needed, read it, and take up or erase a layer that was begun."""
        if self._table is None:
            super().commit()
            store, depth = self.store, self.state.depth
            layers = ((each, store.blocks(each)) for each in range(store.kept.first, depth + 1))
            self._table = LayerTable(self.puzzle, self._session.context.local, DepthTable(store), layers)
            begun = store.read_partial(_Marked)
            if begun is not None and begun.marked == depth + 1:
                self._table.take_up(store.blocks(depth + 1), begun.at)
            elif store.has_partial:
                # A session with less memory has begun it.
                self._erase_marks(depth + 1)
            Spill(store.directory, store.layout, depth + 1).clear()
            self._layers.forget()
            self._record = store.layer_record(depth)
        return self._table

    def _tell_expanded(self, depth: Depth, done: int) -> None:
        size, found = self._record.size, self.found.configurations
        left, headline = self._pace.expanding_left(done, size), f"layer {depth}: expanded {done:,} of {size:,}"
        most_left = self._pace.run_left(left, found)
        self._session.tell(Progress(found, headline=headline, step_left=left, most_left=most_left))

    def _checkpoint(self, table: LayerTable, depth: Depth) -> None:
        """Make the expansion for layer `depth` durable so far."""
        began = time.monotonic()
        self._stage()
        self._erase_marks(depth)
        table.stage_marks(self.store, depth)
        self.store.stage_record(META, PARTIAL_KEY, asdict(_Marked(depth, table.at)))
        super().commit()
        self._set_due(began)

    def _erase_marks(self, depth: Depth) -> None:
        self.store.erase(META, PARTIAL_KEY)
        self.store.erase(BLOCKS, number_key(depth))

    def _set_due(self, began: float) -> None:
        """Set when the next commit is due, after one that `began` then."""
        now, tuning = time.monotonic(), self._session.context.tuning
        self._due = now + max(tuning.checkpoint, tuning.table_rest * (now - began))

    def _stage(self) -> None:
        """Stage the table and its frontier, the only layer whose configurations are kept, if there are new layers."""
        table, store, depth = self._table, self.store, self.state.depth
        if table is None or store.poisoned or not (store.staged or table.has_changed):
            return
        if table.depth != depth:
            # `merge` has failed half-way: the last commit stands.
            store.discard_staged()
            self.state = store.state
            return
        for each in range(store.kept.first, depth):
            store.erase(BLOCKS, number_key(each))
        self._erase_marks(depth)
        stored, index = table.stage(store)
        store.stage_layer(replace(self._record, stored_bytes=stored, index=index))
        Kept(depth, table=True).stage(store)
        stored += table.stored_bytes
        self.state = replace(self.state, stored_bytes=stored)
        headline = f"layer {depth}: {self._record.size:,} new"
        self._session.tell(Progress(self.found.configurations, headline=headline, disk=stored))
