"""The component of every configuration of a space, by passes over its blocks: threads take ranges at the same time.

    expanding moves   each range: its moves -> its trees (`worker.graphs.forests`); moves elsewhere by range
    joining           each range: the moves that lead there -> edges between trees, united in memory
    numbering         each range: the tree of each configuration -> the component of that tree

Each configuration is labelled with its tree, then with its component. The trees of a range are numbered from the place
of its first configuration on, so that each has a number of its own however many others have. No process ever holds more
moves than those of a chunk for each thread. Passes commit along the way: a kill costs seconds.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.coordinator.session.session import Session
from hakoiri.coordinator.spaces.faults import report_wrong_moves
from hakoiri.coordinator.spaces.growing import SlabRanges, grown_ranges, together
from hakoiri.coordinator.spaces.slabs import Slabs
from hakoiri.coordinator.spaces.tree_union import TreeNumbers, TreeUnion
from hakoiri.puzzles.errors import Hint
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.storage.layers.blocks import decode
from hakoiri.storage.layers.readers import StoredLayer
from hakoiri.storage.layers.spill import Spill, SpillFiles
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import META, NUMBERS_KEY, PARTIAL_KEY
from hakoiri.storage.results.census import SLAB, Labels, read_numbers, stage_labels, stage_numbers
from hakoiri.worker.exchange.exchange import Exchange
from hakoiri.worker.graphs.forests import PAIR_LAYOUTS
from hakoiri.worker.graphs.trees import Grown, TreeEdges, edges_to
from hakoiri.worker.layers.partition import Partition, scatter
from hakoiri.worker.layers.ranges import RangeInput

#: Bytes of a configuration of a range besides three copies of its key and its moves: trees and labels.
_BYTES_BESIDE_KEYS = 40
#: Ranges for each thread at least, and the least configurations of one: fewer have too many moves to others.
_RANGES_EACH, _LEAST_RANGE = 4, 1 << 20
#: Configurations of a range where rules in plain Python look at ten thousand in a second.
_RANGE_BY_RULES = 1 << 16
#: Places of configurations have 32 bits.
_MOST = int(np.iinfo(np.uint32).max)
#: The layer number in the spill files of pairs.
_STAGE = 1
#: The trees of a range whose moves are not looked at yet.
_UNKNOWN = 0


@dataclass(frozen=True)
class JoinProgress:
    """The progress of the passes, stored in the partial record.

    A range has `range_slabs` slabs, the last one perhaps fewer; `trees` has the number of trees of each, `numbered` the
    ranges that are. `components` is 0 until all trees are joined. `moves` and `balance` are sums over the ranges with
    trees (`worker.graphs.forests.balance`).
    """

    range_slabs: int
    trees: list[int] = field(default_factory=list)
    numbered: list[int] = field(default_factory=list)
    moves: int = 0
    balance: int = 0
    components: int = 0
    spilled: SpillFiles = field(default_factory=SpillFiles)


class _RangeWork(NamedTuple):
    """A range in a pass: its keys, the tree of each, numbered from 0 on, and the pairs that lead there."""

    number: int
    keys: Iterable[Keys]
    trees: NDArray[np.int64]
    pairs: RangeInput


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
        self._size = self._store.layer_record(0).size
        require_places(self._size)
        self.slabs = Slabs(self._store)
        self._spill = Spill(self._store.directory, PAIR_LAYOUTS[self._layout], _STAGE)
        self._durable_at = time.monotonic()
        self._take_up()
        self._ranges = SlabRanges(
            self.slabs, StoredLayer(self._store, 0, self._size), self._layout, self._done.range_slabs
        )
        cuts = tuple(first << self._layout.bits for first in self._ranges.firsts[1:])
        self._exchange = Exchange(Partition(self._spill.layout, cuts), _STAGE, self._spill, self._most_pairs)

    def run(self) -> int:
        """Return the number of components: label 0 is the largest one, ties go to the one with the least key.

        The caller commits the staged labels and the deletion of the partial record.
        """
        self._grow_all()
        if not self._done.components:
            self._join_all()
        count = self._number_all()
        for name in (PARTIAL_KEY, NUMBERS_KEY):
            self._store.erase(META, name)
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
        if fields is None or "components" not in fields or not (spilled := SpillFiles.from_record(fields["spilled"])):
            self._spill.clear()
            slabs = max(1, self._range_size // SLAB)
            self._done = JoinProgress(slabs, [_UNKNOWN] * -(-len(self.slabs) // slabs))
        else:
            self._done = JoinProgress(**fields | {"spilled": spilled})
            self._spill.restore(spilled)

    @property
    def _range_size(self) -> int:
        """The configurations of a range."""
        wanted = max(_LEAST_RANGE, self._size // (_RANGES_EACH * self._shares.workers))
        if not self._puzzle.has_kernel:
            wanted = _RANGE_BY_RULES
        # As many results wait as there are threads. At most half of the moves of an undirected puzzle are kept, twice.
        keys = 3 + 2 * self._puzzle.most_successors
        each = 2 * self._shares.workers * (keys * self._layout.bytes + _BYTES_BESIDE_KEYS)
        return min(self._context.tuning.most_range, self._shares.free // 2 // each, wanted)

    @property
    def _most_pairs(self) -> int:
        """Most bytes of pairs in memory as arrays, and as blocks."""
        return self._shares.bucket_bytes // 2

    def _save(self) -> None:
        """Commit what is staged together with the progress of the passes; pairs in memory are spilled first."""
        self._exchange.code_held(self._context.local, bits=False)
        self._exchange.spill()
        self._spill.sync()
        self._done = replace(self._done, spilled=self._spill.files)
        self._stage_progress()
        self._commit()

    def _stage_progress(self) -> None:
        self._store.stage_record(META, PARTIAL_KEY, asdict(self._done))

    def _commit(self) -> None:
        self._session.commit(self._store.state)

    @property
    def _much_is_staged(self) -> bool:
        return self._store.staged_bytes > self._shares.staged_bytes

    @property
    def _is_late(self) -> bool:
        return time.monotonic() - self._durable_at > self._context.tuning.checkpoint

    def _tell(self, headline: str, done: int) -> None:
        """Report `done` configurations."""
        disk = self._store.state.stored_bytes + self._spill.stored_bytes
        self._session.tell(Progress(done, self._size, headline=headline, disk=disk))
        self._session.control.check()

    # Ranges

    def _each_range(self, numbers: Iterable[int], pairs: bool) -> Iterator[_RangeWork]:
        """Yield ranges with their trees, and with keys and `pairs` if these are wanted."""
        nothing = RangeInput([], [], None)
        for number in numbers:
            keys, found = (self._ranges.keys(number), self._exchange.take(number)) if pairs else ([], nothing)
            yield _RangeWork(
                number, keys, self._numbers.within(number, self.slabs.labels(self._ranges.slabs_of(number))), found
            )

    @property
    def _numbers(self) -> TreeNumbers:
        return TreeNumbers(self._done.trees, list(map(self._ranges.first_place, range(len(self._done.trees)))))

    # Expanding moves

    def _grow_all(self) -> None:
        missing = [number for number, count in enumerate(self._done.trees) if count == _UNKNOWN]
        done = self._size - sum(map(self._ranges.size_of, missing))
        for number, grown in grown_ranges(self._context, self._ranges, missing):
            self._take_in(number, grown)
            done += self._ranges.size_of(number)
            if self._is_late:
                self._save()
                self._durable_at = time.monotonic()
            elif self._much_is_staged:
                # Labels of ranges without trees in the record are made again.
                self._commit()
            self._tell("expanding moves", done)
        # What is staged cannot be read.
        self._commit()
        if self._puzzle.undirected and self._done.balance:
            report_wrong_moves(self._session)

    def _take_in(self, number: int, grown: Grown) -> None:
        labels, count, pairs = grown.trees
        stage_labels(self._store, labels, self._ranges.slabs_of(number).start)
        for batch in pairs:
            self._exchange.add(*scatter(batch, self._exchange.partition.table))
        if self._exchange.held_bytes > self._most_pairs:
            self._exchange.code_held(self._context.local, bits=False)
        trees, balance = [*self._done.trees], (self._done.balance + grown.balance) % (1 << 64)
        trees[number] = count
        self._done = replace(self._done, trees=trees, moves=self._done.moves + grown.moves, balance=balance)

    # Joining

    def _join_all(self) -> None:
        """Stage the component of each tree, and commit. What is lost meanwhile is begun anew."""
        union, done = TreeUnion(self._numbers, self._store.directory, self._shares.free // 2), 0

        def edges(work: _RangeWork) -> TreeEdges | None:
            blocks = (decode(block, self._spill.layout) for block in work.pairs.blocks)
            with self._spill.decoding(work.number):
                return edges_to(together(work.keys), work.trees, chain(work.pairs.parts, blocks))

        items = self._each_range(range(len(self._done.trees)), pairs=True)
        for number, found in self._context.local.each("forest", edges, items):
            if found is None:
                report_wrong_moves(self._session)
            union.add(number, found)
            done += self._ranges.size_of(number)
            self._tell("joining configurations", done)
        components = 0
        for number, numbers in enumerate(union.components()):
            components = max(components, int(numbers.max()) + 1)
            stage_numbers(self._store, number, numbers)
            if self._much_is_staged:
                self._commit()
            self._session.control.check()
        self._done = replace(self._done, components=components, spilled=SpillFiles())
        self._stage_progress()
        self._commit()
        self._spill.clear()

    # Numbering

    def _number_all(self) -> int:
        missing = sorted({*range(len(self._done.trees))} - {*self._done.numbered})
        done = self._size - sum(map(self._ranges.size_of, missing))

        def labels(work: tuple[Labels, _RangeWork]) -> Labels:
            components, part = work
            found: Labels = components[part.trees]
            return found

        items = ((read_numbers(self._store, each.number), each) for each in self._each_range(missing, pairs=False))
        for place, found in self._context.local.each("forest", labels, items):
            number = missing[place]
            stage_labels(self._store, found, self._ranges.slabs_of(number).start)
            # IMPORTANT: with the labels, because an interruption commits what is staged.
            self._done = replace(self._done, numbered=[*self._done.numbered, number])
            self._stage_progress()
            if self._much_is_staged:
                self._commit()
            done += len(found)
            self._tell("numbering components", done)
        self._commit()
        return self._done.components
