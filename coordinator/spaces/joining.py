"""The component of every configuration of a space, by passes over its blocks.

    blocks -> chunks -> forest (executor) -> pairs by key range in the exchange                looking at the moves
    each range, from the highest to the lowest: its pairs folded, what is left handed down     joining
    each range, from the lowest to the highest: the number of each one's component             numbering
    each range again, where the components so numbered are not the largest first               sorting

The forest of a chunk is at most one pair for each configuration, and some that its moves leave. No process ever holds
the moves of more than a chunk (`worker.graphs.forests`). Joining labels each configuration with the place of a lesser
one of its component, or with its own place. So only the least one of a component has its own place, and numbering finds
the components of all others in the ranges below. Each pass commits along the way: a kill costs seconds.
"""

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.spaces.faults import report_wrong_moves
from hakoiri.coordinator.spaces.slabs import NOWHERE, Sizes, Slabs, added, component_sizes, numbered, ranks_of
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.keys.order import less_than
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.layers.spill import Spill, SpillFiles
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import META, PARTIAL_KEY, SIZES_KEY
from hakoiri.storage.results.census import SLAB, read_sizes, stage_labels, stage_sizes
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.graphs.forests import PAIR_LAYOUTS, Forest, split_pairs
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.layers.partition import Partition, scatter

#: Bytes of a configuration of a range besides three copies of its key: places and labels.
_BYTES_BESIDE_KEYS = 40
#: The memory of a move, in successors of a layer step: both its ends, their places, a pair.
_ARRAYS = 4
#: Places of configurations have 32 bits.
_MOST = int(np.iinfo(np.uint32).max)
#: The layer number in the spill files of pairs.
_STAGE = 1


@dataclass(frozen=True)
class JoinProgress:
    """The progress of the passes, stored in the partial record.

    A range has `range_slabs` slabs, the last one perhaps fewer. `expanded` counts configurations, the others ranges,
    `folded` from the highest on; `moves` and `balance` (`worker.graphs.forests.balance`) sum over what is expanded.
    """

    range_slabs: int
    expanded: int = 0
    moves: int = 0
    balance: int = 0
    folded: int = 0
    numbered: int = 0
    sorted: int = 0
    spilled: SpillFiles = field(default_factory=SpillFiles)


def require_places(size: int) -> None:
    """Raise `UnanswerableError` if there are more configurations than places."""
    if size > _MOST:
        raise UnanswerableError(
            f"the space has {size:,} configurations or more, above the limit of {_MOST:,} for components",
            Hint("leave out", "whole"),
        )


class Joining:
    """Makes the labels of layer 0, staged and committed. Nothing may be staged in the store when it begins."""

    def __init__(self, session: Session) -> None:
        self._session, self._store, self._context = session, session.store, session.context
        self._puzzle, self._layout, self._shares = session.puzzle, session.puzzle.layout, session.context.shares
        require_places(self._store.layer_record(0).size)
        self.slabs = Slabs(self._store)
        self._size = self.slabs.size
        self._spill = Spill(self._store.directory, PAIR_LAYOUTS[self._layout], _STAGE)
        self._durable_at = time.monotonic()
        self._take_up()
        begins = [first << self._layout.bits for first in self.slabs.firsts[:: self._done.range_slabs]]
        partition = Partition(self._spill.layout, tuple(begins[1:]))
        self._ranges = partition.ranges
        self._exchange = Exchange(partition, _STAGE, self._spill, self._shares.bucket_bytes // 2)

    def run(self) -> int:
        """Return the number of components: label 0 is the largest one, ties go to the one with the least key.

        The caller commits the staged labels and the deletion of the partial record.
        """
        self._expand_all()
        for number in reversed(range(self._left_to_fold)):
            self._fold(number)
        count = self._number_all()
        self._store.erase(META, PARTIAL_KEY)
        return count

    @property
    def moves(self) -> int:
        """The number of moves; in an undirected puzzle each counts twice."""
        return self._done.moves

    def finish(self) -> None:
        """Remove the spill files, which are not needed once the labels are committed."""
        self._spill.clear()

    # Progress

    def _take_up(self) -> None:
        fields = self._store.read_partial()
        # The partial record may still be that of the listing, or of another version.
        if fields is None or "range_slabs" not in fields or not (spilled := SpillFiles.from_record(fields["spilled"])):
            self._spill.clear()
            fitting = self._shares.free // 2 // (3 * self._layout.bytes + _BYTES_BESIDE_KEYS)
            self._done = JoinProgress(max(1, min(self._context.tuning.most_range, fitting) // SLAB))
        else:
            self._done = JoinProgress(**fields | {"spilled": spilled})
            self._spill.restore(spilled)

    def _save(self, **done: Any) -> None:
        """Commit what is staged together with the progress of the passes; pairs in memory are spilled first."""
        self._exchange.code_held(self._context.local, bits=False)
        self._exchange.spill()
        self._spill.sync()
        self._done = replace(self._done, **done)
        self._done = replace(self._done, spilled=self._spill.files.beyond(0, self._left_to_fold))
        self._store.stage_record(META, PARTIAL_KEY, asdict(self._done))
        self._session.commit(self._store.state)
        self._spill.keep(self._done.spilled)
        self._durable_at = time.monotonic()

    def _tell(self, headline: str, done: int) -> None:
        """Report `done` configurations; the last slab may be partly filled."""
        disk = self._store.state.stored_bytes + self._spill.stored_bytes
        self._session.tell(Progress(min(done, self._size), self._size, headline=headline, disk=disk))
        self._session.control.check()

    # Ranges

    @property
    def _left_to_fold(self) -> int:
        return self._ranges - self._done.folded

    def _range(self, number: int) -> range:
        begin = number * self._done.range_slabs
        return range(begin, min(begin + self._done.range_slabs, len(self.slabs)))

    # Looking at the moves

    def _expand_all(self) -> None:
        layer = StoredLayer(self._store, 0, self._size)
        while self._done.expanded < self._size:
            expanded, moves, balance = self._done.expanded, self._done.moves, self._done.balance
            sizes: list[int] = []
            chunks = self._chunks(layer, expanded, sizes)
            for number, (pairs, figures) in self._context.map_chunks("forest", chunks, self._size):
                expanded, moves = expanded + sizes[number], moves + int(figures[0])
                balance = (balance + int(figures[1])) % (1 << 64)
                self._add(pairs)
                self._tell("expanding moves", expanded)
            self._save(expanded=expanded, moves=moves, balance=balance)
        if self._puzzle.undirected and self._done.balance:
            report_wrong_moves(self._session)

    def _chunks(self, layer: StoredLayer, begin: int, sizes: list[int]) -> Iterator[list[Keys]]:
        """Yield chunks from configuration `begin` on, until a checkpoint is due; append their sizes to `sizes`."""
        moves = _ARRAYS * self._puzzle.most_successors
        size = self._shares.chunk_size(self._size, moves, self._context.remote_workers)
        for keys in layer.chunks(begin, size):
            sizes.append(len(keys))
            yield [keys]
            if time.monotonic() - self._durable_at > self._context.tuning.checkpoint:
                return

    def _add(self, pairs: Keys) -> None:
        self._exchange.add(*scatter(pairs, self._exchange.partition.table))
        if self._exchange.held_bytes > self._shares.bucket_bytes // 2:
            self._exchange.code_held(self._context.local, bits=False)

    # Joining

    def _fold(self, number: int) -> None:
        """Label each configuration of a range with a place below or its own; hand the pairs left to lower ranges."""
        slabs = self._range(number)
        keys = self.slabs.keys(slabs)
        forest = Forest(keys)
        for pairs in self._exchange.drain(number):
            greater, lesser = split_pairs(pairs, self._layout)
            members = forest.places(greater)
            if (members < 0).any():
                report_wrong_moves(self._session)
            if len(left := forest.join(members, lesser)):
                self._add(merge([left], []))
        roots, outer = forest.roots()
        own = np.arange(len(keys))
        places = own + slabs.start * SLAB
        heads = np.flatnonzero((roots == own) & less_than(outer, keys))
        places[heads] = self.slabs.places_of(outer[heads])
        if (places == NOWHERE).any():
            report_wrong_moves(self._session)
        stage_labels(self._store, places[roots].astype(np.uint32), slabs.start)
        self._save(folded=self._ranges - number)
        self._tell("joining configurations", self._size - slabs.start * SLAB)

    # Numbering and sorting

    def _number_all(self) -> int:
        if self._done.numbered < self._ranges:
            sizes = component_sizes(self.slabs, self._range(self._done.numbered).start)
            for number in range(self._done.numbered, self._ranges):
                sizes = self._number(number, sizes)
        sizes = read_sizes(self._store)
        ranks = ranks_of(sizes)
        if (ranks[1:] <= ranks[:-1]).any():
            for number in range(self._done.sorted, self._ranges):
                part = self._range(number)
                stage_labels(self._store, ranks[self.slabs.labels(part)], part.start)
                self._save(sorted=number + 1)
                self._tell("sorting components", part.stop * SLAB)
        self._store.erase(META, SIZES_KEY)
        return len(sizes)

    def _number(self, number: int, sizes: Sizes) -> Sizes:
        part = self._range(number)
        labels = numbered(self.slabs, part, len(sizes))
        sizes = added(sizes, labels)
        stage_labels(self._store, labels, part.start)
        if number + 1 == self._ranges:
            stage_sizes(self._store, sizes)
        self._save(numbered=number + 1)
        self._tell("numbering components", part.stop * SLAB)
        return sizes
