"""The layered search: U(N+1) is what U(N) leads to, less the older layers that it may lead back to.

By the triangle inequality a move of an undirected puzzle leads from U(N) to U(N-1), U(N) or U(N+1), so nothing older
matters (Goto, Kawai, Sasaki, "Hakoiri-musume and L6", section 3). A move of a directed one may lead to any
older layer; these are kept in sorted segments (`worker.exchange.closed_set`). The result does not depend on how a
layer is cut up.
"""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self, cast

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.coordinator.session.work_log import Maker
from hakoiri.coordinator.steps.inspection import inspected_expansion
from hakoiri.coordinator.steps.pace import Pace
from hakoiri.coordinator.steps.step import LayerStep
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.storage.layers.readers import HeldLayer, Layer, StoredLayer, all_keys
from hakoiri.storage.layers.scratch import scratch_store
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Figures, LayerRecord, Progress
from hakoiri.storage.names import HOSTS_KEY, META
from hakoiri.worker.exchange.closed_set import ClosedSet
from hakoiri.worker.layers.flow import flow_of
from hakoiri.worker.layers.kernels import merge


@dataclass(frozen=True)
class Reached(Figures):
    """How many configurations a run has stored, and whether that is all there is."""

    configurations: int = 0
    exhausted: bool = False


@dataclass(frozen=True)
class Explored(Reached):
    """What a search from a start has found: the depths of its last layer and of the nearest goal, if there is one."""

    depth: Depth | None = None
    goal_depth: Depth | None = None

    def with_layer(self, record: LayerRecord) -> Self:
        """The figures with one layer more."""
        goal = record.depth if record.goals and self.goal_depth is None else self.goal_depth
        found = self.configurations + record.size
        return replace(self, configurations=found, depth=record.depth, goal_depth=goal)


@dataclass(frozen=True)
class HostedLayer:
    """A layer that hosts keep: nothing of it is here but how large it is."""

    size: int


class Older(Protocol):
    """The layers before U(N) that U(N) may lead back to."""

    def layers(self) -> list[Layer]:
        """Their keys."""

    def add(self, depth: Depth, layer: Layer) -> None:
        """U(N) becomes older."""


class Previous:
    """U(N-1) alone: enough if every move can be taken back."""

    def __init__(self, layer: Layer | None) -> None:
        self._layer = layer

    def layers(self) -> list[Layer]:
        return [] if self._layer is None else [self._layer]

    def add(self, depth: Depth, layer: Layer) -> None:
        self._layer = layer


def small_step(session: Session, current: Keys, known: list[Layer], depth: Depth) -> tuple[Keys, int | None]:
    """The layer `depth` after `current`, at once and here; `known` holds `current` too.

    And the flow of all moves, where hosts may take part in the run.
    """
    expansion = session.compute(lambda: inspected_expansion(session.puzzle, current, depth))
    flow = None if session.context.hosts is None else flow_of(session.puzzle, current, expansion)
    if not len(expansion.successors):
        return current[:0], flow
    keys = merge([expansion.successors], []).copy()
    for layer in known:
        keys = layer.exclude_from(keys)
    return keys, flow


class LayeredSearch:
    """A search from `start`, on the open store of `session`, from its last committed layer on.

    Attributes: `figures`, what the run's are; `store` and `puzzle`; `current`, the last layer made, which is empty
    when nothing is left to find; `state`, that of the store with all finished layers, committed or not, and `found`,
    its figures.
    """

    figures: ClassVar[type[Explored]] = Explored
    #: A run at hosts among whose configurations the layers are made, if any.
    _within: RunStore | None = None

    def __init__(self, session: Session, start: Key) -> None:
        self._session, self._start = session, start
        self.store, self.puzzle = session.store, session.puzzle
        self.state = self.store.state
        self.found = self.figures.of(self.state)
        self._pace = Pace(self.puzzle.total)
        #: How long the last layer took that was made here.
        self._seconds = 0.0
        #: The sum over the moves of the layer expanded last (`worker.layers.flow`); ``None`` where it is not summed.
        self.last_flow: int | None = None
        #: Who makes the layer under way.
        self._maker: Maker = "small"
        #: Hosts that make the layers from some depth on (`coordinator.steps.hosted.Hosting`).
        self._hosting: Any = self._hosting_begun()
        self.current, self._older = self._window()

    def step(self) -> None:
        """Make the next layer. Commits when it is due; raises `StopRun`, and storage, worker and budget errors."""
        self._session.control.check()
        following = self._next(self.current)
        if following.size:
            # IMPORTANT: not the last layer, or a resumed run, which begins with it, would add it once more.
            self._older.add(self.state.depth - 1, self.current)
        self.current = following

    def exhaust(self) -> None:
        """Make all layers that are left, and commit them."""
        while self.current.size:
            self.step()
        self.commit()

    def commit(self) -> None:
        self.state = self._session.commit(self.state)

    @property
    def total(self) -> int | None:
        """How many configurations there are to find, where that is known."""
        return self.puzzle.total

    def outcome(self) -> Explored:
        """The figures of the run when the search has ended."""
        return replace(self.found, exhausted=not self.current.size)

    def _window(self) -> tuple[Layer, Older]:
        """U(N) and what is older, as they stand on disk, or the first layer and nothing."""
        depth = self.state.depth
        if self.store.read_partial() is None:
            Spill(self.store.directory, self.store.layout, depth + 1).clear()
        current = self._stored(depth) if depth >= 0 else self._first()
        depth = max(depth, 0)
        if self._hosting is not None:
            return current, Previous(None)
        if not self.puzzle.undirected:
            return current, self._closed_set(depth)
        return current, Previous(self._stored(depth - 1) if depth else None)

    def _closed_set(self, depth: Depth) -> ClosedSet:
        context = self._session.context

        def commit() -> None:
            self.commit()
            self._session.control.check()

        return ClosedSet(self.store, depth, context.shares, context.tuning.merged_at_once, commit)

    def _first(self) -> Layer:
        start = self.puzzle.keys([self._start])
        self._add_small(start, 0)
        return HeldLayer([start])

    def _stored(self, depth: Depth) -> Layer:
        size = self.store.layer_record(depth).size
        if self._hosting is not None:
            return cast(Layer, HostedLayer(size))
        self.store.require_whole(depth)
        small = size * self.store.layout.bytes <= self._session.context.shares.layer_bytes
        return HeldLayer([self.store.layer(depth)]) if small else StoredLayer(self.store, depth, size)

    def _next(self, current: Layer) -> Layer:
        """The layer after `current`, stored; if it is empty nothing is stored."""
        if (layer := self._hosted(current)) is not None:
            return layer
        began, made = time.monotonic(), self._made_here(current)
        self._seconds = time.monotonic() - began
        return made

    def _made_here(self, current: Layer) -> Layer:
        """The same, made at once or by threads."""
        depth, known = self.state.depth + 1, [current, *self._older.layers()]
        if not self._session.context.budget.distributes(current.size) and self.store.read_partial() is None:
            self._maker = "small"
            keys, self.last_flow = small_step(self._session, all_keys(current), known, depth)
            if len(keys):
                self._add_small(keys, self.last_flow)
            return HeldLayer([keys])
        self._maker = "threads"
        return self._made_by(LayerStep(self._session, depth, current, known, self._pace, self._commit_staged))

    def _hosting_begun(self) -> Any:
        """The hosts that keep this run, if any do."""
        if self.store.read(META, HOSTS_KEY) is None:
            return None
        from hakoiri.coordinator.steps.hosted import Hosting

        return Hosting.begun(self._session, self._within)

    def _hosted(self, current: Layer) -> Layer | None:
        """The layer after `current`, made by hosts; ``None`` if none take part, or not yet."""
        context, depth = self._session.context, self.state.depth + 1
        if self._hosting is None:
            # IMPORTANT: the one place that decides whether hosts make a run.
            large = context.hosts is not None and context.budget.distributes(current.size)
            seconds = math.inf if context.budget.is_given else self._seconds
            if not (large and context.hosts.pays(context.local.workers, seconds)):
                return None
            self._commit_staged()
            if self.store.read_partial() is not None:
                # Threads have begun this layer, and end it.
                return None
            from hakoiri.coordinator.steps.hosted import Hosting

            each = (StoredLayer(self.store, n, self.store.layer_record(n).size) for n in range(depth - 2, -1, -1))
            known = [current, *(self._older.layers() if self.puzzle.undirected else each)]
            self._hosting, self._older = Hosting.begin(self._session, depth, known), Previous(None)
        return self._made_by_hosts(current.size)

    def _made_by_hosts(self, expanded: int) -> Layer:
        """The next layer, for which hosts expand so many configurations."""
        self._maker = "hosts"
        record = self._hosting.make(self.state.depth + 1, expanded)
        self.state, self.last_flow = self.store.state, record.flow
        if record.size:
            self._add(record)
        self.commit()
        return cast(Layer, HostedLayer(record.size))

    def _made_by(self, step: LayerStep) -> Layer:
        """The layer that a step makes, staged if the next step can do without reading it, or else stored.

        To look at rules in plain Python takes long: what was made before them does not wait.
        """
        record, layer = step.run()
        self.state, self.last_flow = self.store.state, record.flow
        if record.size:
            self._add(record)
        if step.has_files or not (isinstance(layer, HeldLayer) and self.puzzle.has_kernel):
            self.commit()
        step.finish()
        return layer

    def _commit_staged(self) -> None:
        self.state = self._session.commit_staged(self.state)

    def _add_small(self, keys: Keys, flow: int | None = None) -> None:
        goals = int(np.count_nonzero(self.puzzle.is_goal(keys)))
        self._add(self.store.put_layer(self.state.depth + 1, keys, goals, flow))
        if self._session.commit_is_due:
            self.commit()

    def _add(self, record: LayerRecord) -> None:
        depth, state = record.depth, self.state
        self.found = self.found.with_layer(record)
        stored = state.stored_bytes + record.stored_bytes
        self.state = replace(state, depth=depth, stored_bytes=stored, figures=self.found.as_dict())
        if self._session.context.executor is not self._session.context.local:
            self._session.work_log.add_layer(self._maker, record.size)
        headline = f"layer {depth}: {record.size:,} new"
        self._session.tell(Progress(self.found.configurations, headline=headline, disk=stored))
        self._session.control.made(record)


@contextmanager
def scratch_search(context: ComputeContext, run: RunStore, start: Key) -> Iterator[LayeredSearch]:
    """A search that leaves nothing behind, within the memory of `context`; its layers lie beside those of `run`."""
    with scratch_store(run) as store:
        yield LayeredSearch(Session(store, context), start)
