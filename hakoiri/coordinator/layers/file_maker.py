"""Layers of a run whose table does not fit in memory, made in its file (`worker.layers.filed_table`).

Each layer is committed once all its blocks are synced. Blocks of small layers are held in memory until a commit is due.
The midst of a layer is kept by entering what is marked so far:
the record of the layer under way says up to which block the frontier is expanded. The last layers are listed in LMDB
at the end of the search, as in other runs; if the run keeps no depths, the file goes then.
"""

import math
import time
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.layers.makers import Made, Next
from hakoiri.coordinator.layers.memory_maker import DepthsMaker
from hakoiri.coordinator.layers.step import Pace
from hakoiri.coordinator.layers.table_maker import Marked, TableMaker
from hakoiri.coordinator.session.resources import Budget
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, OverBudgetError
from hakoiri.puzzles.contract import Puzzle, numbers_of
from hakoiri.storage.engine.environment import translated
from hakoiri.storage.engine.files import Given
from hakoiri.storage.layers.depths import DepthTable, Kept
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.table_file import TableShape
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, CLOSED, META, PARTIAL_KEY, TABLE_FILE, TABLE_KEY, number_key
from hakoiri.worker.layers.filed_table import FiledLayer, FiledTable, held_within, least_memory, rows_within
from hakoiri.worker.layers.part import PartLayers
from hakoiri.worker.layers.step import Totals
from hakoiri.worker.layers.table import table_bytes

#: The bitmaps of a file with depths, and of one without.
_BITMAPS: Final[tuple[Literal[3], Literal[2]]] = 3, 2


class FileMaker(TableMaker[FiledTable]):
    """Makes all layers of a run that keeps `keep`, by threads, if it `fits` the session."""

    def __init__(self, session: Session, layers: PartLayers, pace: Pace, keep: str) -> None:
        super().__init__(session, layers, pace)
        self._keep = keep
        #: The time at which a pass was first to stop.
        self._stopped = math.inf

    @staticmethod
    def fits(session: Session) -> bool:
        """Return whether a session can make layers in a file: it has one, or a kernel and room for the marks."""
        puzzle, context = session.puzzle, session.context
        if TableShape.of(session.store) is not None:
            return True
        is_possible = numbers_of(puzzle) > 0 and puzzle.has_kernel and context.budget.farm_from is None
        return is_possible and rows_within(numbers_of(puzzle), 1, context.shares.free) > 0

    def commit(self, now: bool) -> None:
        """List the last layers, if the search ends `now`; others are committed when they are made, or held."""
        if now and (self._table is not None or TableShape.of(self._store) is not None):
            table = self._begin()
            self._release(table, full=True)
            self._list_last(table)

    def make(self, following: Next) -> Made:
        made = super().make(following)
        if made.record is None or self._table is None:
            return made
        layer = FiledLayer(self._table.file, self._table.numbers, following.depth)
        is_due = not self._table.file.is_holding or time.monotonic() > self._due
        return made._replace(at_once=is_due, layer=layer)

    def stage(self) -> None:
        """Stage that the file has all layers, if there are new ones, and write what is held."""
        table, store, state = self._table, self._store, self._session.state
        if table is not None and table.depth == state.depth > store.state.depth:
            began = time.monotonic()
            table.file.flush()
            self._set_due(began)
            store.erase(META, PARTIAL_KEY)
            Kept(state.depth + 1, self._keep == "depths").stage(store)
            self._session.state = replace(state, stored_bytes=table.file.stored_bytes)

    def _begin(self) -> FiledTable:
        if self._table is None:
            self._session.commit(self._session.state)
            store, depth, puzzle = self._store, self._session.state.depth, self._session.puzzle
            numbers, threads = numbers_of(puzzle), self._session.context.local
            free = self._session.context.shares.free
            if not (rows := rows_within(numbers, threads.workers, free)):
                needed = least_memory(numbers)
                raise OverBudgetError(
                    f"the marks of {numbers:,} numbers need {needed:,} bytes of memory, above the limit",
                    Hint("give", "memory", f"{(needed >> 20) + 1}MB"),
                )
            if (shape := TableShape.of(store)) is None:
                first = 0 if self._keep == "depths" else store.kept.first
                shape = TableShape.for_numbers(numbers, _BITMAPS[self._keep != "depths"], first)
                file = store.open_table(shape, writable=True, new=True)
                table = FiledTable(puzzle, threads, file, rows, depth, self._check_pass)
                self._move(table)
            else:
                file = store.open_table(shape, writable=True)
                table = FiledTable(puzzle, threads, file, rows, depth, self._check_pass)
                table.file.require_layers()
                if store.kept.first <= depth:
                    # The session before was killed at the end of the search. Its layers are in the file, too.
                    for each in range(store.kept.first, depth + 1):
                        store.erase(BLOCKS, number_key(each))
                    Kept(depth + 1, self._keep == "depths").stage(store)
            begun = store.read_partial(Marked)
            table.at = begun.at if begun is not None and begun.marked == depth + 1 else 0
            self._layers.forget()
            table.file.room = held_within(numbers, rows, free) // table.file.shape.slot_bytes
            self._table, self._record = table, store.layer_record(depth)
        return self._table

    def _merge(self, table: FiledTable, depth: Depth) -> Totals:
        self._release(table, full=False)
        return table.merge(depth)

    def _release(self, table: FiledTable, full: bool) -> None:
        """Commit the layers whose blocks are held, if there is no room for those of the next one, or memory is `full`.

        IMPORTANT: blocks that are written have at most one layer more than the ledger.
        """
        if table.file.is_holding and (full or not table.can_hold):
            self.stage()
            self._session.commit(self._session.state)

    def _check_pass(self) -> None:
        """Return to go on with a pass over the file; raise `StopRun` once the run is to stop for some time.

        Without the pass, what was expanded since the last checkpoint is expanded again.
        """
        try:
            self._session.control.check()
        except StopRun:
            now = time.monotonic()
            self._stopped = min(self._stopped, now)
            if now >= self._stopped + self._session.context.tuning.last_pass:
                raise

    def _move(self, table: FiledTable) -> None:
        """Move what the run has in LMDB to a new file.

        IMPORTANT: the file is synced, then it is committed that it counts, then spill files go.
        """
        store, depth = self._store, self._session.state.depth
        kept = range(store.kept.first, depth + 1)
        table.begin(DepthTable(store), [(each, partial(store.blocks, each)) for each in kept])
        # The name of the file, whose contents `begin` has synced.
        # IMPORTANT: before anything is staged, because the end of a session commits that.
        with translated(store.directory):
            Given(store.directory).flush("")
        for each in (*kept, depth + 1):
            store.erase(BLOCKS, number_key(each))
        store.erase(CLOSED)
        store.erase(META, PARTIAL_KEY)
        table.file.shape.stage(store)
        Kept(depth + 1, self._keep == "depths").stage(store)
        self._session.commit(replace(self._session.state, stored_bytes=table.file.stored_bytes))
        Spill(store.directory, store.layout, depth + 1).clear()

    def _checkpoint(self, table: FiledTable, depth: Depth) -> None:
        """Make the expansion for layer `depth` durable so far."""
        began = time.monotonic()
        self._release(table, full=True)
        table.enter(depth)
        self._store.stage_record(META, PARTIAL_KEY, asdict(Marked(depth, table.at)))
        self._session.commit(self._session.state)
        self._set_due(began)

    def _list_last(self, table: FiledTable) -> None:
        """List the last layer in LMDB, or the last two without depths; then the file goes."""
        store, depth, stored = self._store, self._session.state.depth, 0
        kept = range(max(0, depth - (self._keep != "depths")), depth + 1)
        for each in kept:
            store.erase(BLOCKS, number_key(each))
            record, size, index, found = store.layer_record(each), 0, 0, 0
            for window in FiledLayer(table.file, table.numbers, each).windows():
                self._session.control.check()
                more, index = store.stage_blocks(each, table.numbers.coded(each, window), index)
                size += more
                found += int(np.bitwise_count(window[1]).sum())
                if store.staged_bytes > self._session.context.shares.staged_bytes:
                    self._session.commit(self._session.state)
            # IMPORTANT: after the last commit nothing else has what is missed here.
            if found != record.size:
                raise table.file.damaged(f"layer {each} has {found:,} configurations, expected {record.size:,}")
            store.stage_layer(replace(record, stored_bytes=size, index=index))
            stored += size
        store.erase(META, PARTIAL_KEY)
        Kept(kept.start, self._keep == "depths").stage(store)
        if self._keep == "depths":
            stored += table.file.stored_bytes
        else:
            store.erase(META, TABLE_KEY)
        self._session.commit(replace(self._session.state, stored_bytes=stored))
        if self._keep != "depths":
            Given(store.directory).unlink(TABLE_FILE)
            self._table = None


class FiledNeeds(NamedTuple):
    """The bytes that a table in a file needs: of memory at least, and of disk with depths and without."""

    memory: int
    depths: int
    frontier: int


def filed_needs(puzzle: Puzzle, budget: Budget) -> FiledNeeds | None:
    """Return what a table in a file needs; ``None`` if there would be none with this budget."""
    numbers, free = numbers_of(puzzle), budget.shares(puzzle, 1).free
    if not numbers or not puzzle.has_kernel or (puzzle.undirected and table_bytes(numbers, 1) <= free):
        return None
    depths, frontier = (TableShape.for_numbers(numbers, bitmaps).most_bytes for bitmaps in _BITMAPS)
    return FiledNeeds(least_memory(numbers), depths, frontier)


def table_maker(session: Session, layers: PartLayers, pace: Pace, keep: str) -> TableMaker[Any] | None:
    """Return the maker of all layers of a run that keeps less than all; ``None`` if a table is not possible.

    A table in memory if that has the room, else one in a file. A run whose table is in a file keeps it there. A
    directed puzzle has one in a file in any case, because nothing else has all older keys. So has one with a ranking
    whose run keeps no depths: steps take eight times as long.
    """
    store, puzzle = session.store, session.puzzle
    if TableShape.of(store) is None:
        # A session that began the file, or ended the search, was killed.
        Given(store.directory).unlink(TABLE_FILE)
        is_filed = not puzzle.undirected or (keep == "frontier" and puzzle.ranking is not None)
        if not is_filed and DepthsMaker.fits(session):
            return DepthsMaker(session, layers, pace) if keep == "depths" else None
    is_only_way = not puzzle.undirected or (keep == "depths" and puzzle.ranking is not None)
    return FileMaker(session, layers, pace, keep) if is_only_way or FileMaker.fits(session) else None
