"""The check of the own part of a finished run: whether it is sound, what it adds up to, and a sample of its keys.

Key range after key range of all layers together, so that each block is read once or twice and none is sent. Then the
copies of other hosts' ranges, layer after layer.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import chain, pairwise
from time import monotonic

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys
from hakoiri.puzzles.keys.order import equal_neighbours, is_increasing, slice_between, sort_keys
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.audit import LayerSums, key_ranges
from hakoiri.storage.layers.digest import mixed
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostChecked, HostRequest, as_array
from hakoiri.worker.tasks import Array

#: How long a request takes: others may wait.
_SECONDS = 5.0
_MOST_FAULTS = 100
#: So many times the keys that are wanted are expected below the bound of a sample: fewer than wanted are not seen.
_MARGIN = 4


class PartCheck:
    """The check of the layers `request.first` to `request.depth` of `store`, in one attempt of one session.

    In no layer of `store` may be the keys `others`, those of layers that the coordinator has. About `together` keys are
    held at a time. `copies` has the copies of other hosts' ranges, if there are any.
    """

    def __init__(
        self, store: RunStore, copies: RunStore | None, puzzle: Puzzle, request: HostRequest, session: str,
        others: Keys, together: int,
    ) -> None:  # fmt: skip
        if not store.layout.holds(others) or not is_increasing(others):
            raise PayloadError("a request is not readable: the keys beside the layers do not increase")
        self._store, self._copies, self._puzzle, self._others = store, copies, puzzle, others
        self._depths = range(request.first, request.depth + 1)
        self._asked = session, request.first, request.depth, request.attempt
        self._seed, self._sample = request.seed, request.sample
        self._sums, self._copied = ([LayerSums(depth) for depth in self._depths] for _ in range(2))
        self._goals, self._faults, self._twice = [0] * len(self._sums), list[str](), store.layout.empty(0)
        self._sampled: list[list[Keys]] = [[] for _ in self._depths]
        self._sizes = list[int]()
        #: What is left to be done.
        self._left: Iterator[Callable[[], None]] = iter(())
        try:
            for depth in self._depths:
                store.require_whole(depth)
            self._sizes = [store.layer_record(depth).size for depth in self._depths]
            bounds = pairwise(key_ranges(store, list(self._depths), together))
            own = (partial(self._look, low, high) for low, high in bounds)
            self._left = chain(own, (partial(self._look_at_copies, sums) for sums in self._copied))
        except DamagedError as error:
            self._faults.append(str(error))

    def is_asked(self, request: HostRequest, session: str) -> bool:
        """Whether a request goes on with this attempt."""
        return self._asked == (session, request.first, request.depth, request.attempt)

    def go_on(self) -> list[Array]:
        """Look at more for some seconds; return [`HostChecked`], and when all is looked at what was found.

        [`HostChecked`; for each layer size, two lanes and goals, uint64; size and two lanes of the copies; a key that
        stands twice, if there is one; how many keys of each layer are in the sample; these keys].
        """
        until, finished = monotonic() + _SECONDS, True
        for work in self._left:
            try:
                work()
            except DamagedError as error:
                self._faults.append(str(error))
            if len(self._faults) >= _MOST_FAULTS:
                break
            if monotonic() > until:
                finished = False
                break
        told = HostChecked(finished, self._faults[:_MOST_FAULTS])
        if not finished:
            return [as_array(asdict(told))]
        figures = [[sums.size, *sums.lanes, goals] for sums, goals in zip(self._sums, self._goals, strict=True)]
        copied = [[sums.size, *sums.lanes] for sums in self._copied]
        samples = [np.concatenate([self._store.layout.empty(0), *parts]) for parts in self._sampled]
        return [
            as_array(asdict(told)), np.array(figures, dtype=np.uint64), np.array(copied, dtype=np.uint64), self._twice,
            np.array([len(keys) for keys in samples], dtype=np.int64), np.concatenate(samples),
        ]  # fmt: skip

    def _look(self, low: Key, high: Key) -> None:
        """Look at the keys low <= key < high of all layers."""
        found = [self._store.slice(depth, low, high) for depth in self._depths]
        for number, keys in enumerate(found):
            if not is_increasing(keys):
                self._faults.append(f"layer {self._depths[number]}: its keys are not strictly increasing")
            self._sums[number].add(keys)
            self._goals[number] += int(np.count_nonzero(self._puzzle.is_goal(keys))) if len(keys) else 0
            self._sampled[number].append(sample_of(keys, self._seed, self._sample, self._sizes[number]))
        together = sort_keys(np.concatenate([*found, slice_between(self._others, low, high)]))
        if not len(self._twice):
            self._twice = equal_neighbours(together)[:1].copy()

    def _look_at_copies(self, sums: LayerSums) -> None:
        """Look at the copies of a layer."""
        for keys in self._copies.blocks(sums.depth) if self._copies is not None else ():
            sums.add(keys)


def sample_of(keys: Keys, seed: int, wanted: int, size: int) -> Keys:
    """Return the keys that belong to a sample of the `size` keys of a layer: those that a hash puts lowest.

    Whoever puts samples of parts together has at least the `wanted` lowest of all.
    """
    if size <= _MARGIN * wanted:
        return keys
    return keys[mixed(keys, seed) < np.uint64((_MARGIN * wanted << 64) // size)]
