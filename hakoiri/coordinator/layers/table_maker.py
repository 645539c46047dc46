"""Layers made in a table of all numbers: in memory (`coordinator.layers.memory_maker`), or in a file (`file_maker`)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from hakoiri.coordinator.errors import StopRun
from hakoiri.coordinator.layers.makers import LayerMaker, Made, Next
from hakoiri.coordinator.layers.step import Pace
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.session import Session
from hakoiri.keys.layout import Keys
from hakoiri.storage.ledger.manifest import Depth, Progress
from hakoiri.worker.layers.part import PartLayers
from hakoiri.worker.layers.step import Totals


class TableInHand(Protocol):
    """A table, and its last layer, the frontier; see `worker.layers.table.MarkedTable`."""

    at: int

    @property
    def is_expanded(self) -> bool: ...
    def sample(self) -> Keys: ...
    def expand(self, is_due: Callable[[], bool], meanwhile: Callable[[], None]) -> Iterator[int]: ...
    def merge(self, depth: Depth) -> Totals: ...


Table = TypeVar("Table", bound=TableInHand)


@dataclass(frozen=True)
class Marked:
    """Progress of layer `marked`: the words of the frontier before `at` are expanded; in a file, the blocks."""

    marked: Depth
    at: int


class TableMaker(LayerMaker, Generic[Table]):
    """Makes all layers of a run by threads in a table, which is begun with the first layer that is made."""

    _table: Table | None = None

    def __init__(self, session: Session, layers: PartLayers, pace: Pace) -> None:
        self._session, self._store, self._layers, self._pace = session, session.store, layers, pace
        self._due = time.monotonic() + session.context.tuning.checkpoint

    def takes(self, following: Next) -> bool:
        return True

    def make(self, following: Next) -> Made:
        table, depth = self._begin(), following.depth
        inspected_expansion(self._session.puzzle, table.sample(), depth)
        done, began = 0, time.monotonic()
        self._pace.expand(0)
        try:
            while not table.is_expanded:
                for expanded in table.expand(lambda: time.monotonic() > self._due, self._meanwhile):
                    done += expanded
                    if time.monotonic() > began + self._session.context.tuning.paced_from:
                        self._tell_expanded(depth, done)
                if not table.is_expanded:
                    self._checkpoint(table, depth)
        except StopRun:
            self._checkpoint(table, depth)
            raise
        self._pace.merge(0)
        totals = self._merge(table, depth)
        self._pace.finish(done)
        if not totals.size:
            return Made(None, "threads")
        self._record = totals.record(depth, self._store.state.session)
        self._store.stage_layer(self._record)
        return Made(self._record, "threads")

    def commit(self, now: bool) -> None:
        """Commit if that is due, or `now` for the last time."""
        raise NotImplementedError

    def stage(self) -> None:
        """Stage what the table has of new layers."""
        raise NotImplementedError

    def _begin(self) -> Table:
        """Return the table; when it is first needed, read it, and take up or erase a layer that was begun."""
        raise NotImplementedError

    def _meanwhile(self) -> None:
        """Do what can be done while threads expand."""

    def _merge(self, table: Table, depth: Depth) -> Totals:
        """Return the totals of layer `depth`, made of all that is marked."""
        return table.merge(depth)

    def _checkpoint(self, table: Table, depth: Depth) -> None:
        """Make the expansion for layer `depth` durable so far."""
        raise NotImplementedError

    def _tell_expanded(self, depth: Depth, done: int) -> None:
        size, found = self._record.size, self._session.state.configurations
        left, headline = self._pace.expanding_left(done, size), f"layer {depth}: expanded {done:,} of {size:,}"
        most_left = self._pace.run_left(left, found)
        self._session.tell(Progress(found, headline=headline, step_left=left, most_left=most_left))

    def _set_due(self, began: float) -> None:
        """Set when the next commit is due, after one that `began` then."""
        now, tuning = time.monotonic(), self._session.context.tuning
        self._due = now + max(tuning.checkpoint, tuning.table_rest * (now - began))
