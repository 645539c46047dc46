"""The layered search: U(N+1) is the successors of U(N) without the older layers that U(N) may lead back to.

By the triangle inequality a move of an undirected puzzle leads from U(N) to U(N-1), U(N) or U(N+1), so nothing older
matters (Goto, Kawai, Sasaki, "Hakoiri-musume and L6", section 3). A move of a directed puzzle may lead to any older
layer; these are kept in sorted segments (`worker.layers.closed_set`). The result does not depend on how a layer is
cut up. All of this holds for the distance to the nearest of several starts, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.makers import LayerMaker, Made, Next, ShortMaker, StepMaker, short_layer
from hakoiri.coordinator.layers.step import Pace
from hakoiri.coordinator.session.resources import Cost
from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.coordinator.session.work_log import Maker
from hakoiri.errors import PuzzleError
from hakoiri.keys.layout import Keys
from hakoiri.loading import loaded
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import chain
from hakoiri.storage.layers.depths import DepthTable, Kept
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, StoredLayer, scratch_store
from hakoiri.storage.ledger.manifest import Depth, Figures, LayerRecord, Progress, State
from hakoiri.storage.names import BLOCKS, HOSTS_KEY, META, number_key
from hakoiri.timing import clock
from hakoiri.worker.layers.kernels import merge, total_flow
from hakoiri.worker.layers.part import PartLayers

if TYPE_CHECKING:
    from hakoiri.coordinator.layers.table_maker import TableMaker

#: A layer that takes this long to expand is large enough to note at once that it is not sent to workers.
_NOTED_SECONDS = 0.1


@dataclass(frozen=True)
class StoredFigures(Figures):
    """The number of stored configurations of a run, and whether no others exist."""

    configurations: int = 0
    exhausted: bool = False


@dataclass(frozen=True)
class SearchFigures(StoredFigures):
    """The figures of a search from a start: depth of its last layer and of the nearest goal, if there is one.

    If its configurations are classes, they stand for `represented` ones.
    """

    depth: Depth | None = None
    goal_depth: Depth | None = None
    represented: int | None = None

    def with_layer(self, record: LayerRecord) -> Self:
        """Return the figures with one more layer."""
        goal = record.depth if record.goals and self.goal_depth is None else self.goal_depth
        found, represented = self.configurations + record.size, (self.represented or 0) + record.represented or None
        return replace(self, configurations=found, depth=record.depth, goal_depth=goal, represented=represented)


def first_layer(puzzle: Puzzle, context: ComputeContext | None = None) -> Keys:
    """Return layer 0 of a search, in key order: the start, or all starts, within the memory of `context`."""
    parts, count = list[Keys](), 0
    for keys in puzzle.several_starts.blocks() if puzzle.several_starts else [puzzle.keys([puzzle.start])]:
        parts, count = [*parts, keys] if len(keys) else parts, count + len(keys)
        if context is not None:
            context.control.grown(count)
            context.budget.require(f"{count:,} starts", 2 * count * puzzle.layout.bytes - context.tuning.least_bytes)
    if not count:
        raise PuzzleError(f"no configuration of {puzzle.name} is like the pattern of the starts")
    return merge(parts, [])


class LayeredSearch:
    """A search from `starts`, by default those of the puzzle, on the open store of `session`.

    It goes on from the last committed layer. The attribute `figures` is the type of the run's figures, `found` their
    values. `current` is the last layer made, empty when nothing is left to find.
    """

    figures: ClassVar[type[SearchFigures]] = SearchFigures
    #: The depth after which no layer is wanted, if any.
    last: Depth | None = None
    #: A run kept by hosts that contains all configurations of the layers, if any.
    _within: RunStore | None = None

    def __init__(self, session: Session, starts: Keys | None = None, keep: str = "layers") -> None:
        self._session, self._starts, self._keep = session, starts, keep
        self.store, self.puzzle = session.store, session.puzzle
        self.found = self.figures.of(self.state)
        self._pace = Pace(self.puzzle.total, session.context.tuning.paced_from)
        #: The seconds of the last layer, and the cost of expanding a configuration here.
        self._seconds, self._cost = 0.0, Cost()
        #: The size of the largest layer expanded here; whether others have expanded one, or a note says none has.
        self._widest, self._is_noted = 0, False
        #: The sum over the moves of the layer expanded last (`worker.layers.kernels`); ``None`` if it is not summed.
        self.last_flow: int | None = None
        depth = self.state.depth
        #: The bytes of the layers whose configurations are kept.
        self._stored = {each.depth: each.stored_bytes for each in self.store.layer_records()}
        if not self.store.has_partial:
            Spill(self.store.directory, self.store.layout, depth + 1).clear()
        shares, tuning = session.context.shares, session.context.tuning
        self._layers = PartLayers(self.store, self.puzzle.undirected, shares, tuning.merged_at_once, self._commit_older)
        self._table: TableMaker[Any] | None = None
        self._makers = self._chosen()
        self.current: Layer = HeldLayer([])
        if depth >= 0:
            # A directed search that keeps no older keys has no means to find again that its last layer is the end.
            ended = self.found.exhausted and not self.puzzle.undirected and self._keep != "layers"
            self.current = HeldLayer([]) if ended else self._layers.layer(depth)
        else:
            self._record(self._first())

    def _chosen(self) -> list[LayerMaker]:
        """Return the makers of this search's layers; the first that takes a layer makes it."""
        session, layers, pace = self._session, self._layers, self._pace
        if self._keep != "layers":
            from hakoiri.coordinator.layers.file_maker import table_maker

            if (table := table_maker(session, layers, pace, self._keep)) is not None:
                self._table = table
                return [table]
        makers: list[LayerMaker] = [StepMaker(session, layers, pace, self.commit_staged), ShortMaker(session, layers)]
        if self._starts is None and self.puzzle.numbers and self._keep == "layers":
            from hakoiri.coordinator.layers.memory_maker import LayersMaker

            if LayersMaker.fits(session):
                makers.insert(0, LayersMaker(session, layers, pace))
        if session.context.hosts is not None or self.store.read(META, HOSTS_KEY) is not None:
            # Loaded by name, so that a run without hosts loads nothing of theirs.
            host_maker = loaded("hakoiri.coordinator.hosts.layers:HostMaker")
            makers.insert(0, host_maker(session, layers, self._within))
        return makers

    @property
    def state(self) -> State:
        """The state of the run with all finished layers, committed or not."""
        return self._session.state

    def step(self) -> None:
        """Make the next layer. Commits when due; raises `StopRun`, and storage, worker and budget errors."""
        self._session.control.check()
        began, depth = clock(), self.state.depth + 1
        self._record(self._make(Next(depth, self.current, self._seconds, self._cost, depth == self.last)))
        self._seconds = clock() - began
        self.drop()

    def exhaust(self) -> None:
        """Make all remaining layers and commit them."""
        while self.current.size:
            self.step()
        self.commit()

    def end(self) -> None:
        """Have hosts discard what they have begun; note if no chunk was worth sending to the living workers."""
        for maker in self._makers:
            maker.end()
        self._note_expanded_here()

    def commit(self) -> None:
        self._stage()
        self._session.commit(self.state)

    def commit_staged(self) -> None:
        """Commit finished work at the end of a session, unless the store is poisoned."""
        self._stage()
        self._session.commit_staged(self.state)

    def _stage(self) -> None:
        if self._table is not None:
            self._table.stage()

    def drop(self, now: bool = False) -> None:
        """Drop layers that are not to be kept, if that is due or `now`, and commit; a table is only committed."""
        if self._table is not None:
            self._table.commit(now)
        elif self._keep != "layers":
            self._drop(now)

    def _drop(self, now: bool) -> None:
        """Drop the layers before the last two, if these are large or `now`; before that, enter them in the table.

        IMPORTANT: entering is repeatable, so a kill before the last commit costs time only.
        """
        depth, first, table = self.state.depth, self.store.kept.first, DepthTable(self.store)
        least = self._session.context.tuning.least_dropped
        sizes = [self._stored[each] for each in range(first, depth + 1)]
        stay = sum(sizes[-2:]) + (self.puzzle.numbers or 0) // 4 * (self._keep == "depths")
        if depth <= first or (not now and sum(sizes[:-2]) < max(least, stay // 2)):
            return
        self.commit()
        if self._keep == "depths":
            layers = [(each, StoredLayer(self.store, each, 0).between) for each in range(first, depth + 1)]
            for _ in table.enter(layers, self.puzzle.numbers or 0):
                # A commit frees the old blocks for those to come.
                if self.store.staged_bytes > least:
                    self.commit()
                self._session.control.check()
            self.commit()
        for each in range(first, depth - 1):
            self.store.erase(BLOCKS, number_key(each))
        Kept(max(0, depth - 1), self._keep == "depths").stage(self.store)
        self._session.state = replace(self.state, stored_bytes=sum(sizes[-2:]) + table.stored_bytes)
        self.commit()

    def _commit_older(self) -> None:
        self.commit()
        self._session.control.check()

    @property
    def total(self) -> int | None:
        """The number of configurations to find, if known."""
        return self.puzzle.total

    def require_older(self) -> None:
        """Raise `DamagedError` if nothing is left to find because the older layers had other keys than are stored."""
        if not self.current.size:
            self._layers.require_older()

    def outcome(self) -> SearchFigures:
        """Return the figures of the run after the search has ended."""
        return replace(self.found, exhausted=not self.current.size)

    def _first(self) -> Made:
        starts = first_layer(self.puzzle, self._session.context) if self._starts is None else self._starts
        # No moves lead to it: their sum is known, and that of a whole run with it.
        return short_layer(self._session, 0, starts, 0)

    def _make(self, following: Next) -> Made:
        """Return the next layer, made by the first maker that takes it."""
        return next(maker for maker in self._makers if maker.takes(following)).make(following)

    def _record(self, made: Made) -> None:
        """Enter a layer in the figures and the state, commit it if that is due, and let the next one follow it."""
        depth, record, self.last_flow = self.state.depth + 1, made.record, made.flow
        self._is_noted |= made.maker in ("hosts", "workers")
        if made.cost is not None:
            self._cost, self._widest = made.cost, max(self._widest, self.current.size)
            if made.maker == "threads" and made.cost.seconds * self._widest > _NOTED_SECONDS:
                self._note_expanded_here()
        if record is not None:
            self._add(record, made.maker)
        if made.at_once:
            self.commit()
        made.finish()
        if record is None:
            self.current = HeldLayer([])
        else:
            self._layers.hold(depth, made.keys)
            stored = made.layer or StoredLayer(self.store, depth, record.size)
            self.current = stored if made.keys is None else HeldLayer(made.keys)

    def _note_expanded_here(self) -> None:
        """Note once why layers are not sent to the living workers, if none was sent."""
        if not self._is_noted:
            self._is_noted = self._session.context.farm.note_why_not("layers", self._widest, self._cost)

    def _add(self, record: LayerRecord, maker: Maker) -> None:
        depth, state = record.depth, self.state
        self.found, self._stored[depth] = self.found.with_layer(record), record.stored_bytes
        stored = state.stored_bytes + record.stored_bytes
        self._session.state = replace(state, depth=depth, stored_bytes=stored, figures=self.found.as_dict())
        if self._session.context.counts_layers:
            self._session.work_log.add_layer(maker, record.size)
        headline = f"layer {depth}: {record.size:,} new"
        self._session.tell(Progress(self.found.configurations, headline=headline, disk=stored))
        self._session.control.made(record)


@contextmanager
def scratch_search(
    context: ComputeContext, run: RunStore, starts: Keys | None = None, keep: str = "layers"
) -> Iterator[LayeredSearch]:  # fmt: skip
    """Yield a temporary search, within the memory of `context`; its layers are stored beside the layers of `run`.

    Its layers are not made by hosts, because a temporary run cannot read layers that hosts keep.
    """
    with scratch_store(run) as store:
        yield LayeredSearch(Session(store, replace(context, hosts=None)), starts, keep)


@dataclass(frozen=True)
class ExplorePlan:
    """The end of a search: the first layer with a goal, depth `layers`, `most` configurations. Store `keep`."""

    until_goal: bool = False
    layers: int | None = None
    most: int | None = None
    keep: str = "layers"

    def is_met(self, found: SearchFigures) -> bool:
        """Return whether a search that has found these layers stops, even if more is left to find."""
        bounds = ((found.depth, self.layers), (found.configurations, self.most))
        return any(most is not None and (reached or 0) >= most for reached, most in bounds) or (
            self.until_goal and found.goal_depth is not None
        )


def search_to_end(session: Session, search: LayeredSearch, plan: ExplorePlan) -> None:
    """Search as far as `plan` says, from the last committed layer on; commits along the way.

    Raises `StopRun` after committing every finished layer; storage, worker and budget errors likewise leave the last
    commit in place.
    """
    search.last = plan.layers
    try:
        with session.committing(search.commit_staged):
            while search.current.size and not plan.is_met(search.found):
                search.step()
    finally:
        search.end()
    search.require_older()
    session.state = replace(search.state, figures=search.outcome().as_dict())
    search.drop(now=True)
    _require_total(search)
    records = session.store.layer_records()
    _require_balance(search, [record.net_flow for record in records])
    digest = chain(record.digest for record in records)
    session.commit(replace(search.state, status="complete", digest=digest))


def _require_total(search: LayeredSearch) -> None:
    """Raise `ContradictionError` if the size of the whole space differs from the puzzle's `total`."""
    total, found = search.total, search.outcome()
    if total is not None and found.exhausted and found.configurations != total:
        raise ContradictionError(
            f"this run found {found.configurations:,} configurations, expected {total:,} from any start of "
            f"{search.puzzle.name}; a worker or a host was wrong, or the puzzle is"
        )


def _require_balance(search: LayeredSearch, flows: list[int | None]) -> None:
    """Raise `ContradictionError` if moves of a whole undirected space are missing.

    `flows` has for each layer the sum over the moves of the layer before; ``None`` if it was not summed.
    """
    if search.current.size or not search.puzzle.undirected:
        return
    flows = [*flows, search.last_flow]
    if None not in flows and total_flow(filter(None, flows)):
        raise ContradictionError(
            f"some moves of this run are not reversed by another; a worker or a host omitted some, or "
            f"{search.puzzle.name} is not undirected"
        )
