"""The configurations and moves of a run, batch by batch, in the order of the keys: the source of all formats.

Memory holds little more than a batch, plus 32 bits per configuration for a whole space, or all keys for an unfinished
run.
"""

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
from hakoiri.opened import OpenRun
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.puzzles.keys.order import less_than, members, order_of, sort_keys
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.results.census import Labels, read_labels
from hakoiri.worker.layers.kernels import simple_edges, split

#: Blocks of the store read at once: some 16,000 to 65,000 configurations each.
_BLOCKS = 16
_CONFIGURATIONS = 1 << 15


class Rows(NamedTuple):
    """A batch of configurations with each one's depth or, in a whole space, component."""

    keys: Keys
    labels: Labels


class Edges(NamedTuple):
    """A batch of moves: `sources` and `targets` are keys, one per move."""

    sources: Keys
    targets: Keys


class Stream:
    """A run to be written; `label` names the number of each configuration. `control` may end it by `StopRun`."""

    def __init__(
        self, run: OpenRun, control: Control | None = None, observer: Observer | None = None, layers: int | None = None
    ) -> None:  # fmt: skip
        """With `layers`, stream only layers 0 to `layers`, and the moves between them."""
        self.run, self._control, self._observer = run, control or Control(), observer or SilentObserver()
        run.require_components()
        last = run.store.state.depth
        self._layers = range(min(last, last if layers is None else layers) + 1)
        self._known: Keys | None = None
        if len(self._layers) <= last:
            self._known = sort_keys(np.concatenate([run.layer(depth) for depth in self._layers]))
        elif not run.exhausted:
            # Raises for a kind of run without configurations.
            self._known = run.configurations()[0]
        self.count = sum(run.layer_sizes[: len(self._layers)])

    @property
    def puzzle(self) -> Puzzle:
        return self.run.puzzle

    @property
    def label(self) -> str:
        """The meaning of `Rows.labels`."""
        return "component" if self.run.is_census else "depth"

    def rows(self, doing: str = "writing configurations") -> Iterator[Rows]:
        """Yield all configurations, strictly increasing."""
        done, started = 0, time.monotonic()
        for rows in self._ranges():
            for keys, labels in zip(
                split(rows.keys, _CONFIGURATIONS), split(rows.labels, _CONFIGURATIONS), strict=True
            ):
                self._control.check()
                yield Rows(keys, labels)
                done += len(keys)
                left = (time.monotonic() - started) / done * (self.count - done)
                self._observer.progress(Progress(done, self.count, headline=doing, step_left=left))

    def edges(self) -> Iterator[Edges]:
        """Yield all moves between configurations, in the order of their sources, then of their targets.

        In an undirected puzzle each move occurs once, from the lesser key; in a directed puzzle every move occurs.
        """
        for keys, _ in self.rows("writing moves"):
            targets, counts = simple_edges(keys, *self.puzzle.expand(keys))
            sources = np.repeat(keys, counts, axis=0)
            chosen = np.ones(len(sources), dtype=np.bool_)
            if self.puzzle.undirected:
                chosen &= less_than(sources, targets)
            if self._known is not None:
                chosen &= members(self._known, targets)
            yield Edges(sources[chosen], targets[chosen])

    def texts(self, keys: Keys) -> list[str]:
        return list(map(self.puzzle.render, ints(keys)))

    def names(self, keys: Keys) -> list[str]:
        """Return the keys as ``0x...``."""
        return [self.name(key) for key in ints(keys)]

    def name(self, key: Key) -> str:
        return f"{key:#0{self.puzzle.layout.digits}x}"

    def moves(self, edges: Edges) -> list[str]:
        return list(map(self.puzzle.describe_move, ints(edges.sources), ints(edges.targets)))

    def _ranges(self) -> Iterator[Rows]:
        """Yield the same in ranges that begin with a block of some layer."""
        store = self.run.store
        layers = self._layers
        for depth in layers:
            store.require_whole(depth)
        firsts = sorted(key for depth in layers for key in store.first_keys(depth))
        components, done = read_labels(store, self.count) if self.run.is_census else None, 0
        for low, high in pairwise([*firsts[::_BLOCKS], self.puzzle.layout.greatest + 1]):
            parts = [store.slice(depth, low, high) for depth in layers]
            keys = np.concatenate(parts)
            if components is None:
                depths = np.repeat(np.arange(len(parts), dtype=np.uint32), [len(part) for part in parts])
                order = order_of(keys)
                yield Rows(keys[order], depths[order])
            else:
                yield Rows(keys, components[done : done + len(keys)])
            done += len(keys)
