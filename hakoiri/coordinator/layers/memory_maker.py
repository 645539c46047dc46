"""Layers made in memory (`worker.layers.table`): of a run that keeps depths, or of one that keeps layers.

The table of depths is committed at checkpoints. A checkpoint has the records of all layers since the last one, the
blocks of the table that have changed, and the frontier; in the midst of a layer also the marks so far. It is one
commit, so the table never knows more than the records say.

A run that keeps layers commits them as others do, while threads expand the next one. A checkpoint is needed only in the
midst of an expansion.
"""

import time
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import TypeVar

from hakoiri.coordinator.layers.makers import Made, Next
from hakoiri.coordinator.layers.table_maker import Marked, TableMaker
from hakoiri.coordinator.session.session import Session
from hakoiri.keys.layout import Keys
from hakoiri.memory import keep_memory
from hakoiri.puzzles.contract import numbers_of
from hakoiri.storage.layers.blocks import Coded
from hakoiri.storage.layers.depths import DepthTable, Kept
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.storage.names import BLOCKS, META, PARTIAL_KEY, number_key
from hakoiri.worker.layers.step import Partial, Totals
from hakoiri.worker.layers.table import DepthsTable, LayersTable, LayerTable, table_bytes

_Table = TypeVar("_Table", bound=LayerTable)


class MemoryMaker(TableMaker[_Table]):
    """Makes layers in a table in memory."""

    def _begin(self) -> _Table:
        """Return the table; when it is first needed, read it, and take up or erase a layer that was begun."""
        if self._table is None:
            self._session.commit(self._session.state)
            store, depth = self._store, self._session.state.depth
            self._table = self._read(depth)
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

    def _read(self, depth: Depth) -> _Table:
        """Return a table whose frontier is the stored layer `depth`."""
        raise NotImplementedError

    def _stored(self, first: Depth, depth: Depth) -> Iterable[tuple[Depth, Iterable[Keys]]]:
        """Yield the depth and the keys of each stored layer from `first` to `depth`."""
        return ((each, self._store.blocks(each)) for each in range(first, depth + 1))

    def _checkpoint(self, table: _Table, depth: Depth) -> None:
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


class DepthsMaker(MemoryMaker[DepthsTable]):
    """Makes layers in a table of depths, if it `fits` the session."""

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

    def _read(self, depth: Depth) -> DepthsTable:
        puzzle, threads, store = self._session.puzzle, self._session.context.local, self._store
        return DepthsTable(puzzle, threads, DepthTable(store), self._stored(store.kept.first, depth))

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


class LayersMaker(MemoryMaker[LayersTable]):
    """Makes the layers of a run that keeps them, in bitmaps, if it `fits` the session, from a large one on."""

    @staticmethod
    def fits(session: Session) -> bool:
        """Return whether a session can make layers in bitmaps: its puzzle has a kernel, and its memory the room."""
        puzzle, context = session.puzzle, session.context
        if (
            puzzle.ranking is not None
            or not (puzzle.numbers and puzzle.undirected and puzzle.has_kernel)
            or context.budget.is_given
        ):
            return False
        needed = LayersTable.bytes_for(puzzle.numbers, context.local.workers)
        return needed <= context.shares.free

    def takes(self, following: Next) -> bool:
        """Return whether the table is begun, or is to be: with a layer that has enough configurations for its words."""
        size, tuning = following.current.size, self._session.context.tuning
        is_large = size >= tuning.bitmaps_from and (self._session.puzzle.numbers or 0) <= size * tuning.bitmaps_within
        if self._table is not None:
            return True
        return is_large and self._store.read_partial(Partial) is None and not self._others_may_expand(following)

    def make(self, following: Next) -> Made:
        # By the cost of the layer before, the search notes why workers idle.
        return super().make(following)._replace(cost=following.cost)

    def _others_may_expand(self, following: Next) -> bool:
        """Return whether workers or hosts may expand this layer or a later one, as far as its cost is known."""
        context, cost = self._session.context, following.cost
        return context.redis is not None and (not cost.seconds or context.sums_flow(following.current.size, cost))

    def stage(self) -> None:
        """Each layer is staged when it is made."""

    def _meanwhile(self) -> None:
        """Commit finished layers while threads expand the next one, if that is due."""
        staged = self._store.staged_bytes > self._session.context.shares.staged_bytes
        if self._store.staged and (staged or self._session.commit_is_due):
            self._session.commit(self._session.state)

    def _merge(self, table: LayersTable, depth: Depth) -> Totals:
        """Make the layer; commit what is finished of it when it becomes too much.

        A session that takes up such a layer expands all of it again: its blocks are marks then.
        """
        session, store, totals, stored = self._session, self._store, Totals(), Totals()
        session.commit_staged(session.state)
        if was_begun := store.has_partial:
            self._erase_marks(depth)

        def put(coded: Coded) -> None:
            nonlocal stored
            size, index = store.stage_blocks(depth, coded, stored.index)
            stored = replace(stored, stored=stored.stored + size, index=index)
            # A layer that was begun has marks, which hold until all of it is committed.
            if not was_begun and store.staged_bytes > session.context.shares.staged_bytes:
                store.stage_record(META, PARTIAL_KEY, asdict(Marked(depth, 0)))
                session.commit(session.state)

        try:
            totals = table.merge(depth, put)
        except BaseException:
            # IMPORTANT: without the record of the layer its blocks must not be committed.
            store.discard_staged()
            raise
        store.erase(META, PARTIAL_KEY)
        return replace(totals, stored=stored.stored, index=stored.index)

    def _read(self, depth: Depth) -> LayersTable:
        keep_memory()
        puzzle, threads = self._session.puzzle, self._session.context.local
        return LayersTable(puzzle, threads, self._stored(max(0, depth - 1), depth))
