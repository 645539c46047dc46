"""Searches of goal distances: the layers from all goals of a finished run, among its configurations.

In an undirected puzzle this is the usual search by layers with another first layer. In a directed puzzle U(N+1) is made
in one of three ways:

- by the puzzle's own moves backwards (`UnmoveStep`). They lead to many configurations that the run does not have. A
  Bloom filter drops most of these; the rest is compared with the run, one key range after the other;
- by all moves, looked up once and followed backwards in memory, if they fit (`layers_backwards`);
- by a filter (`FilterStep`): the configurations that are left are expanded once for each layer.

Keys that pass are handled like the successors of a layer step: by key range, beyond the budget on disk.

The choice was measured in processor time. Moves backwards read the run once for each layer, which costs little for
keys of one word. Peg solitaire, 23 million in 31 layers, takes 5.6 s by them, 74 s by its moves in memory. Superpuzz of
6 columns, 13 million wide keys in 35 layers, takes 116 s and 26 s, of 5 columns 1.8 s, 0.9 s, and 6.9 s by the filter.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice, pairwise
from typing import NamedTuple, Self, cast

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, OverBudgetError, UnanswerableError
from hakoiri.coordinator.graphs.building import build_graph, run_keys
from hakoiri.coordinator.layers.search import LayeredSearch, SearchFigures
from hakoiri.coordinator.layers.step import LayerStep, Pace
from hakoiri.coordinator.runs.kinds import kind_of
from hakoiri.coordinator.session.session import Session
from hakoiri.errors import Hint, PuzzleError, WorkerError
from hakoiri.keys.layout import Keys, Layout
from hakoiri.keys.order import difference, lower_bounds
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.storage.layers.blocks import lanes_in, sum_lanes
from hakoiri.storage.layers.codec import Words
from hakoiri.storage.layers.store import (
    HeldLayer,
    Layer,
    LayerUnion,
    RunStore,
    Source,
    StoredLayer,
    all_keys,
    inside,
    outside,
)
from hakoiri.storage.ledger.manifest import Depth, LayerRecord, Progress
from hakoiri.worker.graphs.searches import distances_from, transposed
from hakoiri.worker.layers.closed_set import add, empty_filter, may_hold
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.layers.step import Partial, between
from hakoiri.worker.tasks import do_task
from hakoiri.worker.transport.payload import Array, Arrays

#: Keys put into a Bloom filter at a time.
_FILTERED = 1 << 16


class Filter(NamedTuple):
    """A task that returns the keys that pass, grouped by range, and the `targets` to compare them with, if any.

    If the targets do not fit in memory, all keys are compared with one part of them after the other.
    """

    task: str
    targets: Layer | None = None


class StoredRun(LayerUnion):
    """The configurations of a finished run, in layers."""

    _bloom: Words | None = None

    def bloom_filter(self, most_bytes: int) -> Words:
        """Return a Bloom filter of the keys; it is made once."""
        if self._bloom is None:
            self._bloom = empty_filter(self.size, most_bytes)
            for layer in self.layers:
                for keys in layer.chunks(0, _FILTERED):
                    add(self._bloom, keys)
        return self._bloom

    def among(self, keys: Keys) -> Keys:
        """Return the keys that are in the run; `keys` increase."""
        return inside(keys, self.layers)


def stored_run(store: RunStore, with_goals: bool = False) -> StoredRun:
    """Return all configurations of a finished run, or those in layers with goals."""
    records = [record for record in store.layer_records() if (record.goals if with_goals else record.size)]
    return StoredRun([StoredLayer(store, record.depth, record.size) for record in records])


class FilterStep(LayerStep):
    """The step that makes layer `depth`: the keys of `source` that pass the `keys_filter`, less `known`."""

    _uses_bitmaps = False

    def __init__(
        self, session: Session, depth: Depth, source: Source, keys_filter: Filter, known: list[Layer], pace: Pace
    ) -> None:
        super().__init__(session, depth, source, known, pace)
        self._filter, self._part = keys_filter, max(1, self._shares.layer_bytes // self._layout.bytes)

    def _taken_up(self) -> Partial:
        found = super()._taken_up()
        # IMPORTANT: the work of an earlier session is counted by its parts, whatever the memory is now.
        self._part = found.part or self._part
        return replace(found, part=self._part)

    @property
    def _wanted_ranges(self) -> int:
        # Ranges are looked at in pieces.
        return -(-self._load // self._range_keys)

    def _begin(self, mark: Partial) -> None:
        # IMPORTANT: all keys of a piece are looked at together, unlike those of a range that is expanded.
        cost = self.cost._replace(successors=self._puzzle.most_successors + self.cost.successors)
        self._sent = self._context.farmed_chunk(self._source.size, cost)
        self._chunk = self._sent or self._shares.chunk_size(self._source.size, cost.successors, cost.seconds)
        super()._begin(mark)

    @property
    def _range_size(self) -> int:
        return self._chunk

    @property
    def _sums(self) -> bool:
        return False

    def _successors(self, keys: Keys) -> Keys:
        passed, _ = do_task(self._filter.task, self._puzzle, [keys], [self._layout.empty(0), *self._targets(0)])
        return passed

    _inspected = _successors

    @property
    def _work_size(self) -> int:
        targets = self._filter.targets
        return self._source.size * (1 if targets is None else -(-targets.size // self._part))

    def _targets(self, part: int) -> Arrays:
        """Return the `part`-th part of the keys to compare with."""
        if self._filter.targets is None:
            return []
        held, left = [self._layout.empty(0)], self._part
        for keys in self._filter.targets.chunks(part * self._part, self._part):
            held.append(keys[:left])
            left -= len(held[-1])
            if not left:
                break
        return [np.concatenate(held)]

    def _expansion(self) -> Iterator[tuple[int, int | None]]:
        """Compare the keys of the source with one part of the targets."""
        part, passed = divmod(self._mark.expanded, self._source.size)
        given = list[_Piece]()
        if not passed:
            self._ranges.begin_at(0)

        def keys() -> Iterator[_Piece]:
            for _, low, high in self._ranges.pieces(lambda: self._checkpoint_is_due):
                batches, unwanted = self._source.between(low, high), between(self._unwanted, low, high)
                given.append(_Piece(self._layout, batches, unwanted))
                yield given[-1]

        context, shared = self._context, [self._partition.cut_keys, *self._targets(part)]
        if self._sent:
            results = context.executor.map(self._filter.task, ([piece.keys()] for piece in keys()), shared)
        else:

            def look(piece: _Piece) -> list[Array]:
                return do_task(self._filter.task, self._puzzle, [piece.keys()], shared)

            results = context.local.each(self._filter.task, look, keys())
        for number, (found, ends) in results:
            self._ranges.take(found, ends)
            yield given[number].size, None

    @property
    def _unwanted(self) -> list[Layer]:
        """Return the layers whose keys cannot pass, because only keys of the source itself can."""
        return self._known


@dataclass
class _Piece:
    """Keys of the source, in batches that each increase, and the `unwanted` keys among them.

    `size` is the number of keys, unwanted ones included, once `keys` has returned.
    """

    layout: Layout
    batches: Iterable[Keys]
    unwanted: Iterable[Keys]
    size: int = 0

    def keys(self) -> Keys:
        """Return the wanted keys, in increasing order."""
        found = np.concatenate([self.layout.empty(0), *self.batches])
        self.size = len(found)
        return reduce(difference, self.unwanted, merge([found], [])) if len(found) else found


class UnmoveStep(FilterStep):
    """The step that makes layer `depth`: the keys of `run` that lead to layer `depth` - 1, less `known`."""

    def __init__(self, session: Session, depth: Depth, run: StoredRun, known: list[Layer], pace: Pace) -> None:
        size = session.store.layer_record(depth - 1).size
        super().__init__(session, depth, StoredLayer(session.store, depth - 1, size), Filter("before"), known, pace)
        self._run = self._within = run
        # No keys are compared with a part of others.
        self._part = 0

    def _targets(self, part: int) -> Arrays:
        return [run_filter(self._run, self._shares)]

    @property
    def _unwanted(self) -> list[Layer]:
        return []


def run_filter(run: StoredRun, shares: Shares) -> Words:
    """Return a Bloom filter of the run, which drops most keys that are not in it before they are sorted."""
    return run.bloom_filter(shares.free // 4)


def small_step_back(puzzle: Reversible, current: Layer, run: StoredRun, known: list[Layer], shares: Shares) -> Keys:
    """Return layer N+1 of the backward search, made in memory by this process; `current` is layer N."""
    before = puzzle.unmove(all_keys(current)).successors
    return run.among(outside(merge([before[may_hold(run_filter(run, shares), before)]], []), known))


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
        self._fits = True
        super().__init__(session, session.puzzle.start)

    @property
    def total(self) -> None:
        """The number of configurations that lead to a goal is unknown before the end."""
        return None

    def outcome(self) -> GoalFigures:
        """Return the figures of the run after the search has ended."""
        found = super().outcome()
        self._require_same_set(found)
        return GoalFigures(**found.as_dict() | {"dead": self._run.size - found.configurations})

    def _require_same_set(self, found: SearchFigures) -> None:
        """Raise `ContradictionError` if the goals reach other configurations than those of the run.

        An undirected search from a start is connected, so its goals reach all of it. A whole space has nothing outside,
        and the search of a directed puzzle stays within the run.
        """
        if not (self.puzzle.undirected and found.exhausted and kind_of(self._base.manifest.kind).from_start):
            return
        mine, theirs = (run.layer_records() for run in (self.store, self._base))
        if sum_lanes(lanes_in(each.digest) for each in mine) != sum_lanes(lanes_in(each.digest) for each in theirs):
            raise ContradictionError(
                f"the goals with {self.puzzle.parameters} reach {found.configurations:,} configurations, expected the "
                f"{self._run.size:,} of run {self._base.directory.name}"
            )

    def _first(self) -> Layer:
        goals = stored_run(self._base, with_goals=True)
        if not goals.size:
            raise PuzzleError(f"run {self._base.directory.name} has no goal among its configurations")
        if self._within is not None:
            from hakoiri.coordinator.hosts.layers import HostedStep

            self._hosting = HostedStep.begin_within(self._session, self._within)
            return self._made_by_hosts(self._run.size)
        return self._made_by(FilterStep(self._session, 0, goals, Filter("goals"), [], self._pace))

    def _next(self, current: Layer) -> Layer:
        if self.puzzle.undirected:
            return super()._next(current)
        self.state = self._session.commit_staged(self.state)
        if self.found.configurations == self._run.size:
            return HeldLayer([])
        if self._hosting is not None:
            return super()._next(current)
        unmoves = self._unmoves
        few_passes = self.store.layout.words == 1 and len(self._base.layer_records()) <= _MOST_PASSES
        if not (unmoves and few_passes) and (backwards := self._known_backwards()) is not None:
            keys = next(backwards, self.store.layout.empty(0))
            return self._add_small(keys)
        known = self._layers.known(self.state.depth + 1)
        if unmoves:
            return self._led_from(current, known)
        leading = Filter("leading", current)
        return self._made_by(FilterStep(self._session, self.state.depth + 1, self._run, leading, known, self._pace))

    @property
    def _unmoves(self) -> bool:
        """Return whether to use the puzzle's own moves backwards; not for the rest of a layer begun without them."""
        begun = self.store.read_partial(Partial)
        return isinstance(self.puzzle, Reversible) and not (begun and begun.part)

    def _led_from(self, current: Layer, known: list[Layer]) -> Layer:
        context = self._session.context
        puzzle = cast(Reversible, self.puzzle)
        most = current.size * puzzle.most_predecessors * puzzle.layout.bytes
        small = not context.budget.distributes(current.size) and most <= context.shares.bucket_bytes
        if not small or self.store.has_partial:
            return self._made_by(UnmoveStep(self._session, self.state.depth + 1, self._run, known, self._pace))
        return self._add_small(small_step_back(puzzle, current, self._run, known, context.shares))

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
                others = "its own moves backwards are made" if self._unmoves else "all that is left is looked at"
                said = f"{error}; so {others} for each distance"
                self._session.observer.note(said, *error.hints)
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
