"""Searches of goal distances: the layers from all goals of a finished run, among its configurations.

In an undirected puzzle this is the usual search by layers with another first layer. In a directed puzzle U(N+1) is made
in one of three ways:

- by the puzzle's own moves backwards. They lead to many configurations that the run does not have. A Bloom filter drops
  most of these; the rest is compared with the run, one key range after the other;
- by all moves, looked up once and followed backwards in memory, if they fit (`layers_backwards`);
- by a filter: the configurations that are left are expanded once for each layer.

The first and the last are layer steps by other rules (`worker.layers.rules`).

The choice was measured in processor time. Moves backwards read the run once for each layer, which costs little for
keys of one word. Peg solitaire, 23 million in 31 layers, takes 3.5 s by them; an earlier version took 74 s by its moves
in memory. Superpuzz of 5 columns takes 1.4 s by them, 0.8 s in memory, and 7.2 s by the filter. For 6 columns, 13
million wide keys in 35 layers, an earlier version took 116 s by them and 26 s in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, islice, pairwise
from typing import Self, cast

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.layers.makers import Made, Next, made_by, short_layer
from hakoiri.coordinator.layers.search import LayeredSearch, SearchFigures
from hakoiri.coordinator.layers.step import LayerStep, Rules
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, OverBudgetError, PuzzleError, WorkerError
from hakoiri.keys.layout import Key, Keys
from hakoiri.keys.order import difference, lower_bounds
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.storage.layers.blocks import lanes_in, sum_lanes
from hakoiri.storage.layers.codec import Words
from hakoiri.storage.layers.store import Layer, LayerUnion, RunStore, StoredLayer, all_keys, inside, outside
from hakoiri.storage.ledger.manifest import LayerRecord, Progress
from hakoiri.worker.graphs.searches import distances_from, transposed
from hakoiri.worker.layers.closed_set import add, empty_filter
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.layers.rules import goals_only, leading, predecessors
from hakoiri.worker.layers.step import between

#: Keys put into a Bloom filter at a time.
_FILTERED = 1 << 16


def stored_run(store: RunStore, with_goals: bool = False) -> LayerUnion:
    """Return all configurations of a finished run, or those in layers with goals."""
    records = [record for record in store.layer_records() if (record.goals if with_goals else record.size)]
    return LayerUnion([StoredLayer(store, record.depth, record.size) for record in records])


class Remaining:
    """The keys of `run` that are in none of the `known` layers, which are parts of it."""

    def __init__(self, run: LayerUnion, known: list[Layer]) -> None:
        self._run, self._known = run, known
        self.size = run.size - sum(layer.size for layer in known)

    def between(self, low: Key, high: Key) -> Iterator[Keys]:
        """Yield the keys with low <= key < high, in one batch."""
        found = [keys for keys in self._run.between(low, high) if len(keys)]
        if found:
            yield reduce(difference, between(self._known, low, high), merge(found, []))

    def sample(self) -> Keys:
        """Return some keys of the run."""
        return self._run.sample()


#: Layers of a run that is read once for each: a pass took 8 ns a configuration of peg solitaire, to look up all moves
#: of one 3 us.
_MOST_PASSES = 100
#: For each configuration its distance, its place by distance, and what sorting takes; for a move, what turning takes.
_BYTES, _MOVE_BYTES = 24, 14


@dataclass(frozen=True)
class GoalFigures(SearchFigures):
    """Figures of a search from all goals; `dead` is the number of configurations that lead to no goal."""

    dead: int | None = None

    def with_layer(self, record: LayerRecord) -> Self:
        # Goals are layer 0.
        return replace(super().with_layer(record), goal_depth=None)


class GoalSearch(LayeredSearch):
    """A search from all goals of the open run `base`, among its configurations."""

    figures = GoalFigures

    def __init__(self, session: Session, base: RunStore) -> None:
        self._base, self._run = base, stored_run(base)
        follows = isinstance(session.puzzle, Reversible) and not session.puzzle.undirected
        begun, kept, run = session.store.keepers(), self._base.keepers(), self._base.directory.name
        if follows and begun and not kept:
            text = f"run {run} was collected, and hosts have the first of its goal distances"
            raise WorkerError(text, Hint("collect", session.store.directory.name))
        hosts = session.context.hosts
        if follows and not kept and hosts is not None and hosts.is_requested:
            session.observer.note(f"run {run} is not kept by hosts, so this process makes its goal distances")
        able = begun or (hosts is not None and session.store.state.depth < 0)
        self._within = self._base if follows and kept and able else None
        #: The layers to come, once they are known: where the moves fit in memory.
        self._backwards: Iterator[Keys] | None = None
        #: A Bloom filter of the run, once it is needed.
        self._bloom: Words | None = None
        self._fits = True
        super().__init__(session)

    @property
    def total(self) -> None:
        """The number of configurations that lead to a goal is unknown before the end."""
        return None

    def outcome(self) -> GoalFigures:
        """Return the figures of the run after the search has ended.

        Raises `ContradictionError` if the goals reach other configurations than those of the run. An undirected search
        from a start is connected, so its goals reach all of it. A whole space has nothing outside, and the search of a
        directed puzzle stays within the run.
        """
        found, runs = super().outcome(), (self.store, self._base)
        from_one = kind_of(self._base.manifest.kind).from_start and self.puzzle.several_starts is None
        if self.puzzle.undirected and found.exhausted and from_one:
            mine, theirs = (sum_lanes(lanes_in(each.digest) for each in run.layer_records()) for run in runs)
            if mine != theirs:
                raise ContradictionError(
                    f"the goals with {self.puzzle.parameters} reach {found.configurations:,} configurations, expected "
                    f"the {self._run.size:,} of run {self._base.directory.name}"
                )
        return GoalFigures(**found.as_dict() | {"dead": self._run.size - found.configurations})

    def _first(self) -> Made:
        goals = stored_run(self._base, with_goals=True)
        if not goals.size:
            raise PuzzleError(f"run {self._base.directory.name} has no goal among its configurations")
        if self._within is not None:
            return self._makers[0].make(Next(0, cast(Layer, self._run)))
        rules = Rules(goals_only(self.puzzle), "goals")
        return made_by(LayerStep(self._session, 0, goals, [], self._pace, rules=rules), self._session)

    def _make(self, following: Next) -> Made:
        if self.puzzle.undirected:
            return super()._make(following)
        self.commit_staged()
        if self.found.configurations == self._run.size:
            return Made(None, "small")
        if self._within is not None:
            return super()._make(following)
        depth, current = following.depth, following.current
        unmoves = isinstance(self.puzzle, Reversible)
        few_passes = self.store.layout.words == 1 and len(self._base.layer_records()) <= _MOST_PASSES
        if not (unmoves and few_passes) and (backwards := self._known_backwards()) is not None:
            return short_layer(self._session, depth, next(backwards, self.store.layout.empty(0)))
        known = self._layers.known(depth)
        if unmoves:
            return self._led_from(current, known)
        most = self._session.context.shares.layer_bytes // self.store.layout.bytes
        rules = leading(self.puzzle, lambda: current.chunks(0, max(1, most)))
        # Workers get all targets, if these fit in memory.
        sent = Rules(rules, "leading", [all_keys(current)]) if current.size <= most else Rules(rules, "")
        source = Remaining(self._run, known)
        return made_by(LayerStep(self._session, depth, source, [], self._pace, rules=sent), self._session)

    def _led_from(self, current: Layer, known: list[Layer]) -> Made:
        context, depth = self._session.context, self.state.depth + 1
        if self._bloom is None:
            # It drops most keys that are not in the run before they are sorted.
            self._bloom = empty_filter(self._run.size, context.shares.free // 4)
            for keys in chain.from_iterable(layer.chunks(0, _FILTERED) for layer in self._run.layers):
                add(self._bloom, keys)
        rules = Rules(predecessors(self.puzzle, self._bloom), "before", [self._bloom], self._run)
        most = current.size * rules.puzzle.most_successors * self.store.layout.bytes
        small = not context.budget.is_large(current.size) and most <= context.shares.bucket_bytes
        if small and not self.store.has_partial:
            found = merge([rules.puzzle.expand(all_keys(current)).successors], [])
            return short_layer(self._session, depth, inside(outside(found, known), self._run.layers))
        return made_by(LayerStep(self._session, depth, current, known, self._pace, rules=rules), self._session)

    def _known_backwards(self) -> Iterator[Keys] | None:
        """Return the layers to come by moves backwards; ``None`` if these do not fit, or a layer is under way."""
        if self._fits and self._backwards is None and not self.store.has_partial:
            self._session.tell(Progress(self.found.configurations, headline="expanding moves backwards"))
            try:
                found = layers_backwards(self._session, self._base, self.store.layer(0))
                self._backwards = islice(found, self.state.depth, None)
                # No older keys are subtracted from them.
                self._layers.forget_older()
            except (OverBudgetError, UnanswerableError) as error:
                self._fits = False
                unmoves = isinstance(self.puzzle, Reversible)
                others = "its own moves backwards are made" if unmoves else "all that is left is looked at"
                self._session.observer.note(f"{error}; so {others} for each distance", *error.hints)
        return self._backwards


def layers_backwards(session: Session, base: RunStore, goals: Keys) -> Iterator[Keys]:
    """The configurations of the run `base` that are 1, 2, ... moves from the nearest of the `goals`, in key order.

    All of the work is done before the first. Raises `OverBudgetError` where the moves do not fit the memory,
    `ContradictionError` where one leads out of the run, `StopRun`.
    """
    context, count = session.context, sum(record.size for record in base.layer_records())
    keys = run_keys(context, base)
    moves = build_graph(context, keys)
    held = keys.nbytes + moves.offsets.nbytes
    turning = held + _BYTES * count + _MOVE_BYTES * len(moves.targets)
    context.budget.require(f"the moves of {count:,} configurations backwards", turning)
    distance = distances_from(transposed(moves), lower_bounds(keys, goals).astype(np.int32))
    del moves
    order = np.argsort(distance, kind="stable").astype(np.int32)
    # What leads to no goal comes first, then the goals.
    ends = np.cumsum(np.bincount(distance + 1))[1:]
    return (keys[order[begin:end]] for begin, end in pairwise(ends))
