"""Layers of a run that keeps depths, made in memory (`worker.layers.table`) and committed at checkpoints.

A checkpoint has the records of all layers since the last one, the blocks of the table that have changed, and the
frontier; in the midst of a layer also the marks so far. It is one commit, so the table never knows more than the
records say.
"""

import time
from dataclasses import asdict, replace

from hakoiri.coordinator.layers.table_maker import Marked, TableMaker
from hakoiri.coordinator.session.session import Session
from hakoiri.puzzles.contract import numbers_of
from hakoiri.storage.layers.depths import DepthTable, Kept
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.storage.names import BLOCKS, META, PARTIAL_KEY, number_key
from hakoiri.worker.layers.table import LayerTable, table_bytes


class MemoryMaker(TableMaker[LayerTable]):
    """Makes layers in a table in memory, if it `fits` the session."""

    @staticmethod
    def fits(session: Session) -> bool:
        """Return whether a session can make layers in a table: its puzzle has a kernel, and its memory the room."""
        puzzle, context = session.puzzle, session.context
        needed = table_bytes(numbers_of(puzzle), context.local.workers)
        return puzzle.has_kernel and context.budget.farm_from is None and needed <= context.shares.free

    def commit(self, now: bool) -> None:
        """Commit if that is due, or `now` for the last time."""
        began = time.monotonic()
        if now and self._store.has_partial:
            self._erase_marks(self._session.state.depth + 1)
        if now or began > self._due:
            self.stage()
            self._session.commit(self._session.state)
            self._set_due(began)

    def _begin(self) -> LayerTable:
        """Return the table; when it is first needed, read it, and take up or erase a layer that was begun."""
        if self._table is None:
            self._session.commit(self._session.state)
            store, depth = self._store, self._session.state.depth
            layers = ((each, store.blocks(each)) for each in range(store.kept.first, depth + 1))
            self._table = LayerTable(self._session.puzzle, self._session.context.local, DepthTable(store), layers)
            begun = store.read_partial(Marked)
            if begun is not None and begun.marked == depth + 1:
                self._table.take_up(store.blocks(depth + 1), begun.at)
            elif store.has_partial:
                # A session with less memory has begun it. IMPORTANT: committed before its spill files are removed.
                self._erase_marks(depth + 1)
                self._session.commit(self._session.state)
            Spill(store.directory, store.layout, depth + 1).clear()
            self._layers.forget()
            self._record = store.layer_record(depth)
        return self._table

    def _checkpoint(self, table: LayerTable, depth: Depth) -> None:
        """Make the expansion for layer `depth` durable so far."""
        began = time.monotonic()
        self.stage()
        self._erase_marks(depth)
        table.stage_marks(self._store, depth)
        self._store.stage_record(META, PARTIAL_KEY, asdict(Marked(depth, table.at)))
        self._session.commit(self._session.state)
        self._set_due(began)

    def _erase_marks(self, depth: Depth) -> None:
        self._store.erase(META, PARTIAL_KEY)
        self._store.erase(BLOCKS, number_key(depth))

    def stage(self) -> None:
        """Stage the table and its frontier, the only layer whose configurations are kept, if there are new layers."""
        table, store, state = self._table, self._store, self._session.state
        depth = state.depth
        if table is None or store.poisoned or not (store.staged or table.has_changed):
            return
        if table.depth != depth:
            # `merge` has failed half-way: the last commit stands.
            store.discard_staged()
            self._session.state = store.state
            return
        for each in range(store.kept.first, depth):
            store.erase(BLOCKS, number_key(each))
        self._erase_marks(depth)
        stored, index = table.stage(store)
        store.stage_layer(replace(self._record, stored_bytes=stored, index=index))
        Kept(depth, table=True).stage(store)
        stored += table.stored_bytes
        self._session.state = replace(state, stored_bytes=stored)
        headline = f"layer {depth}: {self._record.size:,} new"
        self._session.tell(Progress(state.configurations, headline=headline, disk=stored))
