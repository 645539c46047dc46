"""The configurations and moves of a run, batch by batch, in the order of the keys: what all formats are written from.

However large the run is, little more than a batch is in memory, a number of 32 bits for each configuration of a whole
space, and of an unfinished run its keys.
"""

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hakoiri.api import Run
from hakoiri.coordinator.session.session import Control, Observer, SilentObserver
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
    """Some configurations, and for each its depth or, of a whole space, its component."""

    keys: Keys
    labels: Labels


class Edges(NamedTuple):
    """Some moves: `sources` and `targets` are keys, one for each."""

    sources: Keys
    targets: Keys


class Stream:
    """A run to be written; `label` is what it knows of each configuration. `control` may end it by `StopRun`."""

    def __init__(
        self, run: Run, control: Control | None = None, observer: Observer | None = None, layers: int | None = None
    ) -> None:  # fmt: skip
        """With `layers`, of layers 0 to `layers` alone, and the moves between them."""
        self.run, self._control, self._observer = run, control or Control(), observer or SilentObserver()
        run.require_components()
        last = run.store.state.depth
        self._layers = range(min(last, last if layers is None else layers) + 1)
        self._known: Keys | None = None
        if len(self._layers) <= last:
            self._known = sort_keys(np.concatenate([run.layer(depth) for depth in self._layers]))
        elif not run.exhausted:
            # A run of a kind without configurations says so.
            self._known = run.configurations()[0]
        self.count = sum(run.layer_sizes[: len(self._layers)])

    @property
    def puzzle(self) -> Puzzle:
        return self.run.puzzle

    @property
    def label(self) -> str:
        """What `Rows.labels` are."""
        return "component" if self.run.whole else "depth"

    def rows(self, doing: str = "writing configurations") -> Iterator[Rows]:
        """All configurations, strictly increasing."""
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
        """All moves between configurations, in the order of their sources, then of their targets.

        A move that can be taken back stands once, from the lesser key; of a directed puzzle every move does.
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
        """Return each configuration as text."""
        return list(map(self.puzzle.render, ints(keys)))

    def names(self, keys: Keys) -> list[str]:
        """The keys as ``0x...``."""
        return [self.name(key) for key in ints(keys)]

    def name(self, key: Key) -> str:
        """A key as ``0x...``."""
        return f"{key:#0{self.puzzle.layout.digits}x}"

    def moves(self, edges: Edges) -> list[str]:
        """Return the name of each move."""
        return list(map(self.puzzle.describe_move, ints(edges.sources), ints(edges.targets)))

    def _ranges(self) -> Iterator[Rows]:
        """The same, cut where blocks of any layer begin."""
        store = self.run.store
        layers = self._layers
        for depth in layers:
            store.require_whole(depth)
        firsts = sorted(key for depth in layers for key in store.first_keys(depth))
        components, done = read_labels(store, self.count) if self.run.whole else None, 0
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
