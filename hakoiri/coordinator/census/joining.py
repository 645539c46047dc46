"""The components of a whole space, found by this process and its workers in one of two ways.

Trees grow range by range and are united (`worker.census.joining`), or searches go layer by layer from the least
configuration that has no component yet. A full verification does the latter, because such searches use nothing of what
joins configurations. A component that is interrupted is searched again. Each comes with its depth
profile: how many configurations are 0, 1, 2, ... moves from its least one.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.coordinator.graphs.building import stray_move
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.farm import Plan
from hakoiri.coordinator.session.inspection import check_way_back
from hakoiri.coordinator.session.resources import Cost
from hakoiri.coordinator.session.session import ComputeContext, Observer, Session, SilentObserver
from hakoiri.errors import Hint
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import is_increasing, lower_bounds, members
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore, StoredLayer, scratch_store
from hakoiri.storage.ledger.manifest import Progress, State
from hakoiri.storage.names import META, NUMBERS_KEY, PARTIAL_KEY
from hakoiri.storage.results import Labels, Profile, read_labels, stage_labels, stage_profile
from hakoiri.worker.census.forests import Forest, Grown, forest
from hakoiri.worker.census.joining import Joining, JoinProgress, StrayMoveError
from hakoiri.worker.census.slabs import (
    MOVE_ARRAYS,
    NOWHERE,
    SlabRanges,
    Slabs,
    gathered,
    grown_by_threads,
    listed,
    ranks_of,
    slabs_of_range,
)
from hakoiri.worker.layers.kernels import merge, simple_edges, split
from hakoiri.worker.layers.partition import Partition
from hakoiri.worker.layers.ranges import expanded
from hakoiri.worker.transport.payload import Array


def listed_in_order(session: Session, low: Key, size: int) -> Iterator[Keys]:
    """Yield the configurations from `low` on, before which there are `size`, and report how many these are.

    Raises `ContradictionError` for a list that is empty or not in increasing order, and `StopRun`.
    """
    puzzle, last = session.puzzle, low - 1
    for keys in listed(puzzle, low, puzzle.layout.greatest + 1):
        session.control.check()
        if not is_increasing(keys) or key_at(keys, 0) <= last:
            raise ContradictionError(f"{puzzle.name} does not list its configurations in increasing order")
        last, size = key_at(keys, -1), size + len(keys)
        yield keys
        session.tell(Progress(size, headline="listing configurations"))
    if not size:
        raise ContradictionError(f"{puzzle.name} lists no configurations")


def grown_ranges(context: ComputeContext, ranges: SlabRanges, missing: list[int]) -> Iterator[tuple[int, Grown]]:
    """Yield the trees of some ranges with the number of the range, in any order."""
    puzzle, cost = context.puzzle, Cost()
    if context.farm.helpers is not None:
        sample = ranges.layer.sample()
        cost = context.control.compute(puzzle, lambda: Cost.of(lambda keys: forest(puzzle, [keys], [])[0], sample))
    plan = context.farm.plan(ranges.layer.size, cost._replace(successors=MOVE_ARRAYS * puzzle.most_successors))
    if plan.is_sent:
        yield from _grown_by_helpers(context, ranges, missing, plan)
    else:
        context.farm.note_why_not("configurations", ranges.layer.size, cost)
        yield from grown_by_threads(context.local, puzzle, context.shares, ranges, missing)


def _grown_by_helpers(
    context: ComputeContext, ranges: SlabRanges, missing: list[int], plan: Plan
) -> Iterator[tuple[int, Grown]]:
    #: The range of each chunk; of each range its trees, and the number of its chunks in work.
    numbers, forests, left = list[int](), dict[int, Forest](), Counter[int]()

    def chunks() -> Iterator[list[Keys]]:
        for number in missing:
            keys = np.concatenate([*ranges.keys(number)])
            parts = split(keys, plan.chunk)
            forests[number], left[number] = Forest(keys), len(parts)
            for part in parts:
                numbers.append(number)
                yield [part]

    for place, (pairs, figures) in context.farm.map(plan, "forest", chunks()):
        number = numbers[place]
        forests[number].join(pairs, *figures.tolist())
        left[number] -= 1
        if not left[number]:
            yield number, forests.pop(number).grown(ranges.first_place(number))


_AT_ONCE = 1 << 14


def report_wrong_moves(session: Session) -> NoReturn:
    """Raise `ContradictionError` for a move that leads to no configuration, or that cannot be taken back."""
    store, puzzle = session.store, session.puzzle
    size = store.layer_record(0).size
    for keys in StoredLayer(store, 0, size).chunks(0, _AT_ONCE):
        session.control.check()
        targets, counts = simple_edges(keys, *puzzle.expand(keys))
        sources = np.repeat(np.arange(len(keys)), counts)
        distinct = merge([targets], [])
        inside = members(distinct[store.members(0, distinct)], targets)
        if not inside.all():
            place = int(np.flatnonzero(~inside)[0])
            raise stray_move(puzzle, key_at(keys, sources[place]), key_at(targets, place), size)
        if puzzle.undirected:
            check_way_back(puzzle, keys[sources], targets)
    raise ContradictionError(f"{puzzle.name}: the same configuration had other moves before")


#: Places of configurations have 32 bits.
_MOST = (1 << 32) - 1


def require_places(size: int) -> None:
    """Raise `UnanswerableError` if there are more configurations than places."""
    if size > _MOST:
        raise UnanswerableError(
            f"the space has {size:,} configurations or more, above the limit of {_MOST:,} for components",
            Hint("leave out", "whole"),
        )


def label_by_joins(session: Session, slabs: Slabs) -> tuple[int, int]:
    """Label layer 0; return the numbers of moves, which in an undirected puzzle count twice, and of components.

    Label 0 is the largest component, ties go to the one with the least key. Nothing may be staged in the store when it
    begins. The caller commits the staged labels and the deletion of the partial record, and removes the spill files.
    """
    context, puzzle, store = session.context, session.puzzle, session.store
    require_places(slabs.size)
    done, threads = store.read_partial(JoinProgress), context.shares.workers
    span = slabs_of_range(puzzle, slabs.size, context.shares, threads, context.tuning.most_range)
    span = span if done is None else done.range_slabs
    joining = Joining(
        store, Partition(puzzle.layout, tuple(slabs.firsts[span::span])), span, 0, context.local, context.shares,
        lambda: session.commit(store.state), context.tuning.checkpoint,
    )  # fmt: skip

    def follow(headline: str, work: Iterable[int]) -> None:
        """Do the work of a pass, and report the configurations that are done."""
        for number in work:
            disk = store.state.stored_bytes + joining.spill.stored_bytes
            session.tell(Progress(number, slabs.size, headline=headline, disk=disk))
            session.control.check()

    follow("expanding moves", joining.grow(partial(grown_ranges, context, joining.ranges)))
    if puzzle.undirected and joining.done.balance:
        report_wrong_moves(session)
    if not joining.done.roots:
        try:
            follow("joining configurations", joining.join())
        except StrayMoveError:
            report_wrong_moves(session)
    # A root is all that its component has here.
    follow("numbering components", joining.number(ranks_of(joining.sizes.astype(np.int64))))
    for name in (PARTIAL_KEY, NUMBERS_KEY):
        store.erase(META, name)
    return joining.done.moves, joining.done.roots


#: The label of a configuration that no component has yet.
_NONE = np.iinfo(np.uint32).max
#: Bytes of a label in memory: it, and when it is stored, its copies.
LABEL_BYTES = 12
#: Keys looked up together.
_TOGETHER = 1 << 20
#: Keys whose components one chunk has, if workers take none, and the most configurations of the components of a chunk,
#: fewer where these would take longer than the seconds: larger ones are searched layer by layer in chunks of frontiers.
_STARTS, _MOST_SMALL, _SMALL_SECONDS = 256, 1 << 14, 1.0
#: The field of the partial record.
_PROFILES = "profiles"


@dataclass(frozen=True)
class _Notes(SilentObserver):
    """Passes on the notes of a search, and not its progress, which is that of one component."""

    observer: Observer

    def note(self, text: str, *hints: Hint) -> None:
        self.observer.note(text, *hints)


def unlabelled(context: ComputeContext, size: int) -> Labels:
    """Return the labels of `size` configurations of which none has a component yet; raises `OverBudgetError`."""
    context.budget.require("labels of the space, by layers,", LABEL_BYTES * size - context.tuning.least_bytes)
    return np.full(size, _NONE, dtype=np.uint32)


def components_by_layers(
    context: ComputeContext, run: RunStore, slabs: Slabs, labels: Labels, profiles: list[Profile]
) -> Iterator[int]:
    """Find the components that are missing in `profiles`, in the order of their least keys; yield the size of each.

    Label its configurations by its number, and append its profile. Raises `ContradictionError` if a move leads out of
    the space or into another component.
    """
    quiet = replace(context, observer=_Notes(context.observer), hosts=None)

    def label(start: Keys, keys: Keys, numbers: Labels) -> None:
        places = slabs.places_of(keys)
        if (places == NOWHERE).any() or (numbers == _NONE).any() or (labels[places] != _NONE).any():
            begin = key_at(start, 0)
            raise ContradictionError(f"a search from {begin:#x} leads out of its component of the space")
        labels[places] = numbers

    with scratch_store(run) as scratch:
        while (first := next(_left(labels, 1), None)) is not None:
            found = len(profiles)
            for these, keys in _small_components(quiet, slabs, labels):
                numbers = np.arange(len(profiles), len(profiles) + len(these), dtype=np.uint32)
                distinct = merge([keys], [])
                of_each = np.full(len(distinct), _NONE, dtype=np.uint32)
                if len(distinct) == len(keys):
                    of_each[lower_bounds(distinct, keys)] = np.repeat(numbers, [sum(each) for each in these])
                label(keys[:1], distinct, of_each)
                profiles += these
                yield from map(sum, these)
            if len(profiles) > found:
                continue
            start = slabs.keys_at(first)
            scratch.erase_results()
            scratch.commit(State())
            Spill(scratch.directory, scratch.layout, 0).clear()
            LayeredSearch(Session(scratch, quiet), start).exhaust()
            profile = [record.size for record in scratch.layer_records()]
            blocks = chain.from_iterable(map(scratch.blocks, range(len(profile))))
            for keys in gathered(blocks, _TOGETHER):
                label(start, keys, np.full(len(keys), len(profiles), dtype=np.uint32))
            profiles.append(profile)
            yield sum(profile)


def _left(labels: Labels, size: int) -> Iterator[NDArray[np.int64]]:
    """Yield the places of configurations that no component has yet, up to `size` at a time, in increasing order."""
    at = 0
    while at < len(labels):
        left = np.flatnonzero(labels[at : at + _TOGETHER] == _NONE)[:size] + at
        at = int(left[-1]) + 1 if left.size else at + _TOGETHER
        if left.size:
            yield left


def _small_components(context: ComputeContext, slabs: Slabs, labels: Labels) -> Iterator[tuple[list[Profile], Keys]]:
    """Yield components in the order of their least keys, until one is not small: the profiles of some, and their keys.

    The caller labels these before it takes the next ones. Keys without a component go to workers if that pays.
    """
    puzzle, left = context.puzzle, int(np.count_nonzero(labels == _NONE))
    sample = slabs.keys_at(next(_left(labels, _STARTS)))
    cost = context.control.compute(puzzle, lambda: Cost.of(lambda keys: puzzle.expand(keys).successors, sample))
    if not (plan := context.farm.plan(left, cost)).is_sent:
        context.farm.note_why_not("configurations", left, cost)
    ends = list[int]()
    most = np.array([max(_STARTS, min(_MOST_SMALL, int(_SMALL_SECONDS / max(cost.seconds, 1e-9))))], dtype=np.int64)
    waiting, is_over = dict[int, list[Array]](), False

    def chunks() -> Iterator[list[Keys]]:
        for places in _left(labels, plan.chunk or _STARTS):
            if is_over:
                return
            ends.append(len(places))
            yield [slabs.keys_at(places)]

    following = 0
    for number, result in context.farm.map(plan, "components", chunks(), [most]):
        waiting[number] = result
        # IMPORTANT: in order, and none after a chunk that was not finished: components are numbered by least keys.
        while not is_over and following in waiting:
            (done,), lengths, sizes, keys = waiting.pop(following)
            if len(lengths):
                yield [each.tolist() for each in np.split(sizes, np.cumsum(lengths)[:-1])], keys
            is_over = done < ends[following]
            following += 1


def ranked(labels: Labels, profiles: list[Profile]) -> tuple[Labels, list[Profile]]:
    """Return labels and profiles with the components numbered by size, the largest first, ties by least key."""
    ranks = ranks_of(np.array([sum(profile) for profile in profiles], dtype=np.int64))
    return ranks[labels], [profiles[place] for place in np.argsort(ranks).tolist()]


def label_by_layers(session: Session, slabs: Slabs) -> tuple[int, int]:
    """Label layer 0 as `label_by_joins` does, and store the profiles; everything is committed."""
    store, checkpoint = session.store, session.context.tuning.checkpoint
    profiles = (store.read_partial(dict[str, list[Profile]]) or {}).get(_PROFILES, [])
    labels = unlabelled(session.context, slabs.size)
    if profiles:
        labels = read_labels(store, slabs.size)

    def keep() -> None:
        """Make the components found so far durable."""
        # One may have been labelled in part, and some that are searched together without their profiles.
        labels[labels >= len(profiles)] = _NONE
        stage_labels(store, labels)
        store.stage_record(META, PARTIAL_KEY, {_PROFILES: profiles})
        session.commit(store.state)

    done, kept_at = sum(map(sum, profiles)), time.monotonic()
    try:
        for size in components_by_layers(session.context, store, slabs, labels, profiles):
            done += size
            session.tell(Progress(done, slabs.size, headline=f"component {len(profiles):,}, layer by layer"))
            if time.monotonic() - kept_at > checkpoint:
                keep()
                kept_at = time.monotonic()
            session.control.check()
    except BaseException:
        if not store.poisoned:
            keep()
        raise
    found, profiles = ranked(labels, profiles)
    stage_labels(store, found)
    for number, profile in enumerate(profiles):
        stage_profile(store, number, profile)
    store.erase(META, PARTIAL_KEY)
    session.commit(store.state)
    moves = 0
    for slab in range(len(slabs)):
        for keys, expansion in expanded(session.puzzle, [slabs.keys(slab)]):
            moves += len(simple_edges(keys, *expansion)[0])
        session.control.check()
    return moves, len(profiles)
