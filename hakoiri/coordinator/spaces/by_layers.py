"""The components of a space by searches: layer by layer from the least configuration that no component has yet.

This is the other way to find what `coordinator.spaces.joining` finds: what joins configurations there is not used here.
A component that is interrupted is searched again. Each component comes with its depth profile: how many configurations
are 0, 1, 2, ... moves from its least one.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from hakoiri.coordinator.errors import ContradictionError
from hakoiri.coordinator.layers.search import LayeredSearch
from hakoiri.coordinator.session.session import ComputeContext, Observer, Session, SilentObserver
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.storage.layers.scratch import scratch_store
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Progress, State
from hakoiri.storage.names import META, PARTIAL_KEY
from hakoiri.storage.results.census import Labels, Profile, read_labels, stage_labels, stage_profile
from hakoiri.worker.layers.kernels import simple_edges
from hakoiri.worker.layers.ranges import expanded
from hakoiri.worker.spaces.slabs import NOWHERE, Places, Slabs, ranks_of

#: The label of a configuration that no component has yet.
_NONE = np.iinfo(np.uint32).max
#: Bytes of a label in memory: it, and when it is stored, its copies.
LABEL_BYTES = 12
#: Keys looked up together.
_TOGETHER = 1 << 20
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
    quiet, place = replace(context, observer=_Notes(context.observer), hosts=None), 0
    with scratch_store(run) as scratch:
        while (left := np.flatnonzero(labels[place : place + _TOGETHER] == _NONE)).size or place < len(labels):
            if not left.size:
                place += _TOGETHER
                continue
            place += int(left[0])
            (start,) = ints(slabs.keys_at(np.array([place])))
            profile = _search(quiet, scratch, start)
            for places in _places(scratch, slabs, len(profile)):
                if (places == NOWHERE).any() or (labels[places] != _NONE).any():
                    raise ContradictionError(f"a search from {start:#x} leads out of its component of the space")
                labels[places] = len(profiles)
            profiles.append(profile)
            yield sum(profile)


def _search(context: ComputeContext, scratch: RunStore, start: Key) -> Profile:
    """Search from `start` until nothing is left, in an emptied store; return the sizes of the layers."""
    scratch.erase_results()
    Spill(scratch.directory, scratch.layout, 0).clear()
    scratch.commit(State())
    LayeredSearch(Session(scratch, context), start).exhaust()
    return [record.size for record in scratch.layer_records()]


def _places(scratch: RunStore, slabs: Slabs, layers: int) -> Iterator[Places]:
    """Yield the places of all configurations of a search, many at a time."""
    waiting: list[Keys] = []
    for keys in chain.from_iterable(scratch.blocks(depth) for depth in range(layers)):
        waiting.append(keys)
        if sum(map(len, waiting)) >= _TOGETHER:
            yield slabs.places_of(np.concatenate(waiting))
            waiting = []
    if waiting:
        yield slabs.places_of(np.concatenate(waiting))


def ranked(labels: Labels, profiles: list[Profile]) -> tuple[Labels, list[Profile]]:
    """Return labels and profiles with the components numbered by size, the largest first, ties by least key."""
    ranks = ranks_of(np.array([sum(profile) for profile in profiles], dtype=np.int64))
    return ranks[labels], [profiles[place] for place in np.argsort(ranks).tolist()]


class LayeredJoining:
    """Makes the labels of layer 0 and the profiles, as `HomeJoining` makes the labels."""

    def __init__(self, session: Session, slabs: Slabs) -> None:
        self._session, self._store, self._slabs = session, session.store, slabs
        self._profiles = (self._store.read_partial(dict[str, list[Profile]]) or {}).get(_PROFILES, [])
        self._labels = unlabelled(session.context, slabs.size)
        if self._profiles:
            self._labels = read_labels(self._store, slabs.size)

    def label(self) -> tuple[int, int]:
        """Return twice the number of moves, and the number of components; labels and profiles are committed."""
        session, store, checkpoint = self._session, self._store, self._session.context.tuning.checkpoint
        done, kept_at = sum(map(sum, self._profiles)), time.monotonic()
        try:
            for size in components_by_layers(session.context, store, self._slabs, self._labels, self._profiles):
                done += size
                headline = f"component {len(self._profiles):,}, layer by layer"
                session.tell(Progress(done, self._slabs.size, headline=headline))
                if time.monotonic() - kept_at > checkpoint:
                    self._keep()
                    kept_at = time.monotonic()
                session.control.check()
        except BaseException:
            if not store.poisoned:
                self._keep()
            raise
        labels, profiles = ranked(self._labels, self._profiles)
        stage_labels(store, labels)
        for number, profile in enumerate(profiles):
            stage_profile(store, number, profile)
        store.erase(META, PARTIAL_KEY)
        session.commit(store.state)
        return self._moves(), len(profiles)

    def _keep(self) -> None:
        """Make the components found so far durable."""
        # One may have been labelled in part.
        self._labels[self._labels == len(self._profiles)] = _NONE
        stage_labels(self._store, self._labels)
        self._store.stage_record(META, PARTIAL_KEY, {_PROFILES: self._profiles})
        self._session.commit(self._store.state)

    def _moves(self) -> int:
        """Return the number of moves, counted from either end."""
        total = 0
        for slab in range(len(self._slabs)):
            for keys, expansion in expanded(self._session.puzzle, [self._slabs.keys(range(slab, slab + 1))]):
                total += len(simple_edges(keys, *expansion)[0])
            self._session.control.check()
        return total
