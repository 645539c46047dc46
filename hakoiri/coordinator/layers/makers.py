"""Makers of layers. A search has a list of them: the first that takes a layer makes it, and the search records it.

hosts    once that pays, and then all that follow (`coordinator.hosts.layers.HostMaker`)
table    all layers of a run that keeps depths, if the memory holds it (`coordinator.layers.table_maker`)
bitmaps  all layers of a run that keeps them from a long one on, if bitmaps fit and sending does not pay
         (`coordinator.layers.memory_maker`)
steps    long layers: threads, and workers if that pays (`coordinator.layers.step`)
short    any layer, at once
"""

from collections.abc import Callable
from typing import NamedTuple

from hakoiri.coordinator.layers.step import LayerStep, Pace
from hakoiri.coordinator.session.inspection import inspected_expansion
from hakoiri.coordinator.session.resources import Cost
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.session.work_log import Maker
from hakoiri.keys.layout import Keys
from hakoiri.storage.layers.store import Layer, all_keys, outside
from hakoiri.storage.ledger.manifest import Depth, LayerRecord
from hakoiri.worker.layers.kernels import flow_of, merge
from hakoiri.worker.layers.part import PartLayers


class Next(NamedTuple):
    """The layer to make: at `depth`, after the layer `current`; if it `is_last`, no layer after it is wanted.

    `seconds` is the time that the layer before took, `cost` what expanding a configuration took.
    """

    depth: Depth
    current: Layer
    seconds: float = 0.0
    cost: Cost = Cost()
    is_last: bool = False


class Made(NamedTuple):
    """A layer that is made: its record, staged, or ``None`` if the layer is empty; who made it; its keys if in memory.

    `flow` is the sum over the moves of the layer before (`worker.layers.kernels`), ``None`` if it is not summed; `cost`
    is what expanding took, if this process has expanded. `layer` is the layer if it is not stored as others are. If
    `at_once`, the layer is to be committed before the next
    one. `finish` is called after that.
    """

    record: LayerRecord | None
    maker: Maker
    keys: list[Keys] | None = None
    flow: int | None = None
    cost: Cost | None = None
    at_once: bool = False
    finish: Callable[[], None] = lambda: None
    layer: Layer | None = None


class LayerMaker:
    """Makes some of the layers of a search."""

    def takes(self, following: Next) -> bool:
        """Return whether this maker makes a layer."""
        raise NotImplementedError

    def make(self, following: Next) -> Made:
        """Make a layer that it takes. Raises `StopRun`, and storage, worker and budget errors."""
        raise NotImplementedError

    def end(self) -> None:
        """Discard what is begun: no further layer is wanted."""


class StepMaker(LayerMaker):
    """Makes long layers, and layers that were begun, by threads and workers."""

    def __init__(self, session: Session, layers: PartLayers, pace: Pace, commit_before: Callable[[], None]) -> None:
        self._session, self._layers, self._pace, self._commit_before = session, layers, pace, commit_before

    def takes(self, following: Next) -> bool:
        context, size = self._session.context, following.current.size
        large = context.budget.is_large(size) or context.farm.plan(size, following.cost, beside=True).is_sent
        return bool(large) or self._session.store.has_partial

    def make(self, following: Next) -> Made:
        known, current = self._layers.known(following.depth), following.current
        step = LayerStep(self._session, following.depth, current, known, self._pace, self._commit_before)
        return made_by(step, self._session)._replace(cost=step.cost)


class ShortMaker(LayerMaker):
    """Makes any layer at once."""

    def __init__(self, session: Session, layers: PartLayers) -> None:
        self._session, self._layers = session, layers

    def takes(self, following: Next) -> bool:
        return True

    def make(self, following: Next) -> Made:
        known, current = self._layers.known(following.depth), all_keys(following.current)
        return short_layer(self._session, following.depth, *small_step(self._session, current, known, following.depth))


def small_step(session: Session, current: Keys, known: list[Layer], depth: Depth) -> tuple[Keys, int | None, Cost]:
    """Return layer `depth`, which follows `current`, computed at once in this process; `known` includes `current`.

    Also return the flow of all moves, ``None`` if it is not summed, and the cost of expanding.
    """
    expansion, seconds = session.compute(lambda: inspected_expansion(session.puzzle, current, depth))
    # A layer that others have forged may be empty.
    size = max(1, len(current))
    cost = Cost(seconds / size, len(expansion.successors) / size)
    remote = session.context.hosts is not None or session.context.farm.others_code
    flow = flow_of(session.puzzle, current, expansion) if remote else None
    if not len(expansion.successors):
        return current[:0], flow, cost
    return outside(merge([expansion.successors], []).copy(), known), flow, cost


def short_layer(session: Session, depth: Depth, keys: Keys, flow: int | None = None, cost: Cost | None = None) -> Made:
    """Return layer `depth`, which has these keys, staged unless it is empty."""
    if not len(keys):
        return Made(None, "small", [], flow, cost)
    goals, represented = session.puzzle.tally(keys)
    record = session.store.put_layer(depth, keys, goals, flow, represented)
    return Made(record, "small", [keys], flow, cost, session.commit_is_due)


def made_by(step: LayerStep, session: Session) -> Made:
    """Return the layer that `step` makes: to be committed at once if the next step reads it from disk.

    With rules in plain Python it is also committed at once, because the next step takes long.
    """
    record, keys = step.run()
    at_once = step.has_files or keys is None or not session.puzzle.has_kernel
    maker: Maker = session.context.farm.maker if any(record.work) else "threads"
    return Made(record if record.size else None, maker, keys, record.net_flow, None, at_once, step.finish)
