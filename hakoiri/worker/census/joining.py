"""The passes that find the component of every configuration of some ranges, and the union of all trees.

    growing     each range: its moves -> its trees (`worker.census.forests`); moves elsewhere by range
    joining     each range: the moves that lead there -> edges between trees, united in memory
    numbering   each range: the tree of each configuration -> its root, the least one joined to it -> its component

Each configuration is labelled with its tree, then with its component. The trees of a range are numbered from the place
of its first configuration on, so that each has a number of its own however many others have. No process ever holds more
moves than those of a chunk for each thread. Passes commit along the way: a kill costs seconds.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hakoiri.errors import DamagedError, Hint, WorkerError
from hakoiri.keys.layout import PAIR_LAYOUTS, Keys
from hakoiri.keys.order import distinct
from hakoiri.storage.layers.blocks import Coded, code_keys, decode
from hakoiri.storage.layers.spill import NO_FILES, Spill, SpillFiles
from hakoiri.storage.layers.store import RunStore, StoredLayer, file_array
from hakoiri.storage.names import META, NUMBERS_KEY, PARTIAL_KEY
from hakoiri.storage.results import SLAB, Labels, read_numbers, read_slab, stage_labels, stage_numbers
from hakoiri.worker.census import forests
from hakoiri.worker.census.forests import TreeEdges, add_to_roots, edges_to, numbered_pairs, split_numbered
from hakoiri.worker.census.slabs import Sizes, SlabRanges
from hakoiri.worker.graphs.searches import find_roots, unite_all
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.layers.partition import Partition, Shares, scatter
from hakoiri.worker.layers.ranges import RangeInput
from hakoiri.worker.pool import Threads

#: Bytes of a tree while trees are united.
TREE_BYTES = 8
#: Edges united at a time; each takes 50 bytes meanwhile.
_AT_ONCE = 1 << 16
#: The mask of the half of an edge that has the number of the foreign tree.
LOW = (1 << 32) - 1


class TreeNumbers:
    """The trees of some ranges: `trees` counts them in each range, `firsts` has the number of each range's first tree.

    Attributes: `count`, the number of all trees; `offsets`, the number of trees in the ranges before each. Both methods
    raise `DamagedError` for labels that name no tree.
    """

    def __init__(self, run: str, trees: Sequence[int], firsts: Sequence[int]) -> None:
        self._run, self._trees, self._firsts = run, trees, np.array(firsts)
        ends: NDArray[np.int64] = np.cumsum(trees)
        self.count, self.offsets = int(ends[-1]), ends - np.array(trees)

    def within(self, number: int, labels: Labels) -> NDArray[np.int64]:
        """Return the trees of a range, numbered from 0 on."""
        return self._checked(labels - self._firsts[number], self._trees[number])

    def among_all(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the trees of any ranges, numbered from 0 on among all."""
        ranges = np.searchsorted(self._firsts, labels, "right") - 1
        return self._checked(labels - (self._firsts - self.offsets)[ranges], self.count)

    def _checked(self, numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        if len(numbers) and not (int(numbers.min()) >= 0 and int(numbers.max()) < count):
            text = f"run {self._run}: its labels name a part of a component that does not exist"
            raise DamagedError(text, Hint("repair", self._run))
        return numbers


class TreeUnion:
    """The trees of all ranges, united by edges: in memory up to `most_bytes`, else in files of the run `directory`."""

    def __init__(self, numbers: TreeNumbers, directory: Path, most_bytes: int) -> None:
        self._numbers, count = numbers, numbers.count
        number_type: type[np.generic] = np.int64 if count >> 31 else np.int32
        if count * TREE_BYTES > most_bytes:
            self._parents, self._sizes = (file_array(directory, each, count) for each in (number_type, np.uint32))
        else:
            self._parents, self._sizes = np.empty(count, number_type), np.empty(count, np.uint32)
        for begin in range(0, count, _AT_ONCE):
            end = min(begin + _AT_ONCE, count)
            self._parents[begin:end] = np.arange(begin, end)

    def add(self, number: int, edges: TreeEdges) -> None:
        """Unite the trees of a range with others."""
        offset = int(self._numbers.offsets[number])
        self._sizes[offset : offset + len(edges.sizes)] = edges.sizes
        for begin in range(0, len(edges.pairs), _AT_ONCE):
            pairs = edges.pairs[begin : begin + _AT_ONCE]
            ends = (pairs >> 32) + offset, self._numbers.among_all(pairs & LOW)
            unite_all(self._parents, *(each.astype(self._parents.dtype) for each in ends))

    def sum_up(self) -> Sizes:
        """Return the sizes of the roots, ordered by their least configurations. Call it after the last `add`."""
        find_roots(self._parents)
        add_to_roots(self._parents, self._sizes)
        starts = range(0, len(self._parents), _AT_ONCE)
        parts = ((begin, self._parents[begin : begin + _AT_ONCE]) for begin in starts)
        roots = [begin + np.flatnonzero(some == np.arange(begin, begin + len(some))) for begin, some in parts]
        self._heads = np.concatenate(roots)
        sizes: Sizes = self._sizes[self._heads].astype(np.int64)
        return sizes

    def numbered(self, numbers: Labels) -> Iterator[Labels]:
        """Yield, range by range, the number of each tree's root, from `numbers`."""
        for begin, end in pairwise([*self._numbers.offsets.tolist(), len(self._parents)]):
            yield numbers[np.searchsorted(self._heads, self._parents[begin:end])]


#: The layer number in the spill files of pairs.
_STAGE = 1
#: The trees of a range whose moves are not looked at yet.
_UNKNOWN = 0


class StrayMoveError(WorkerError):
    """A move leads to no configuration."""


@dataclass(frozen=True)
class JoinProgress:
    """The progress of the passes, stored in the partial record.

    A range has `range_slabs` slabs, the last one of the space perhaps fewer. `trees` has the number of trees of each
    own range, `numbered` the own ranges with final labels; own ranges are counted from 0 on. `roots` is the number of
    trees left once they are joined, 0 before. `moves` and `balance` are sums over the ranges with trees
    (`worker.census.forests.balance`). `beginning` is a random text, another one for each joining.
    """

    range_slabs: int
    trees: list[int] = field(default_factory=list)
    numbered: list[int] = field(default_factory=list)
    moves: int = 0
    balance: int = 0
    roots: int = 0
    beginning: str = field(default_factory=partial(secrets.token_hex, 8))
    spilled: SpillFiles = NO_FILES


class _Joinable(NamedTuple):
    """A range to be joined: its number, its keys, the tree of each, from 0 on, and the pairs that lead there."""

    number: int
    keys: Iterable[Keys]
    trees: NDArray[np.int64]
    pairs: RangeInput


class Joining:
    """Makes the labels of the own ranges of a space, which are layer 0 of `store`; staged and committed.

    The ranges are those of `partition`, from number `first` on, with `range_slabs` slabs in each. Nothing may be staged
    in the store when it begins. It calls `commit` now and then, at least every `checkpoint` seconds. Each pass yields
    how many configurations are done so far. Attributes: `ranges`, the own ones; `done`.
    """

    def __init__(
        self, store: RunStore, partition: Partition, range_slabs: int, first: int, threads: Threads, shares: Shares,
        commit: Callable[[], object], checkpoint: float,
    ) -> None:  # fmt: skip
        self._store, self._threads, self._shares = store, threads, shares
        self._commit, self._checkpoint, self._durable_at = commit, checkpoint, time.monotonic()
        self._layout, layer = store.layout, StoredLayer(store, 0, store.layer_record(0).size)
        self.ranges = SlabRanges(layer, partition, range_slabs, first)
        self.spill = Spill(store.directory, PAIR_LAYOUTS[self._layout], _STAGE)
        done = store.read_partial(JoinProgress)
        if done is None:
            self.spill.clear()
        else:
            self.spill.restore(done.spilled)
        self.done = done or JoinProgress(range_slabs, [_UNKNOWN] * len(self.ranges.numbers))
        cuts = tuple(cut << self._layout.bits for cut in partition.cuts)
        self.exchange = Exchange(Partition(self.spill.layout, cuts), _STAGE, self.spill, self._most_pairs)

    @property
    def numbers(self) -> TreeNumbers:
        """The trees of the own ranges."""
        firsts = list(map(self.ranges.first_place, self.ranges.numbers))
        return TreeNumbers(self.spill.run, self.done.trees, firsts)

    # Growing

    def grow(self, grown_ranges: Callable[[list[int]], Iterator[tuple[int, forests.Grown]]]) -> Iterator[int]:
        """Make the trees of all ranges; `grown_ranges` yields those of some ranges."""
        missing = [self.ranges.numbers[place] for place, count in enumerate(self.done.trees) if count == _UNKNOWN]
        done = self.ranges.layer.size - sum(map(self.ranges.size_of, missing))
        for number, grown in grown_ranges(missing):
            stage_labels(self._store, grown.labels, self.ranges.first_slab(number))
            for batch in grown.pairs:
                self.exchange.add(*scatter(batch, self.exchange.partition.table))
            if self.exchange.held_bytes > self._most_pairs:
                self.exchange.code_held(self._threads, bits=False)
            trees, balance = [*self.done.trees], (self.done.balance + grown.balance) % (1 << 64)
            trees[number - self.ranges.numbers.start] = grown.size
            self.done = replace(self.done, trees=trees, moves=self.done.moves + grown.moves, balance=balance)
            done += self.ranges.size_of(number)
            if time.monotonic() - self._durable_at > self._checkpoint:
                self.save()
            elif self._much_is_staged:
                # Labels of ranges without trees in the record are made again.
                self._commit()
            yield done
        # Staged labels cannot be read.
        self._commit()

    def save(self) -> None:
        """Spill pairs in memory, then commit staged entries together with the progress of the passes."""
        self.exchange.code_held(self._threads, bits=False)
        self.exchange.spill()
        self.spill.sync()
        self.done = replace(self.done, spilled=self.spill.files)
        self._stage_progress()
        self._commit()
        self._durable_at = time.monotonic()

    @property
    def _most_pairs(self) -> int:
        """Most bytes of pairs in memory as arrays, and as blocks."""
        return self._shares.bucket_bytes // 2

    @property
    def _much_is_staged(self) -> bool:
        return self._store.staged_bytes > self._shares.staged_bytes

    def _stage_progress(self) -> None:
        self._store.stage_record(META, PARTIAL_KEY, asdict(self.done))

    # Joining

    def join(self) -> Iterator[int]:
        """Unite the trees of all ranges, and commit their roots at the end. Raises `StrayMoveError`."""
        done, union = 0, TreeUnion(self.numbers, self._store.directory, self._shares.free // 2)
        for place, edges in self._edges([*range(len(self.done.trees))], lambda place, trees: trees):
            union.add(place, edges)
            done += self.ranges.size_of(self.ranges.numbers[place])
            yield done
        # Commit the number of each tree's root, and the sizes of the roots.
        sizes = union.sum_up()
        numbers = union.numbered(np.arange(len(sizes), dtype=np.uint32))
        for place, each in enumerate(chain(numbers, [sizes.astype(np.uint32)])):
            stage_numbers(self._store, place, each)
            if self._much_is_staged:
                self._commit()
        # Pairs that lead to own ranges are not needed any more.
        kept = self.spill.files.outside(self.ranges.numbers)
        self.done = replace(self.done, roots=len(sizes), spilled=kept)
        self._stage_progress()
        self._commit()
        self.spill.keep(kept)

    def edges_of_roots(self) -> TreeEdges:
        """Return the edges to the roots of own trees by the pairs that other hosts have sent. Raises `StrayMoveError`.

        Roots are numbered from 0 on, those elsewhere as the pairs have them.
        """
        led_to = [place for place, number in enumerate(self.ranges.numbers) if self.exchange.keys_in(number)]
        found = np.empty(0, dtype=np.int64)
        for _, edges in self._edges(led_to, lambda place, trees: read_numbers(self._store, place)[trees]):
            found = distinct(np.concatenate([found, edges.pairs]))
        return TreeEdges(found, self.sizes)

    def _edges(
        self, places: list[int], numbered: Callable[[int, NDArray[np.int64]], NDArray[np.integer]]
    ) -> Iterator[tuple[int, TreeEdges]]:
        """Yield the edges to the trees of own ranges at `places` by the pairs that lead there, in any order.

        `numbered` gives the numbers of trees of a range, which are numbered from 0 on.
        """

        def edges(work: _Joinable) -> TreeEdges | None:
            blocks = (decode(block, self.spill.layout) for block in work.pairs.blocks)
            with self.spill.decoding(work.number):
                return edges_to(np.concatenate([*work.keys]), work.trees, chain(work.pairs.parts, blocks))

        def works() -> Iterator[_Joinable]:
            trees_of = self.numbers
            for place in places:
                number = self.ranges.numbers[place]
                trees = numbered(place, trees_of.within(place, self._labels_of(number))).astype(np.int64)
                yield _Joinable(number, self.ranges.keys(number), trees, self.exchange.take(number))

        for number, found in self._threads.each("forest", edges, works()):
            if found is None:
                raise StrayMoveError("a move leads to no configuration")
            yield places[number], found

    def _labels_of(self, number: int) -> Labels:
        """Return the labels of an own range."""
        first, slabs = self.ranges.first_slab(number), -(-self.ranges.size_of(number) // SLAB)
        return np.concatenate([read_slab(self._store, slab) for slab in range(first, first + slabs)])

    @property
    def sizes(self) -> Labels:
        """The number of own configurations of each root."""
        return read_numbers(self._store, len(self.done.trees))

    # Moves to ranges of others

    def pairs_to(self, number: int, most: int) -> Iterator[Coded]:
        """Yield the pairs of keys in a range elsewhere and the roots that lead there, increasing, about `most` at once.

        Roots are numbered from the first place of the own ranges on. The pairs stay in their spill file.
        """
        trees_of, first = self.numbers, self.ranges.first_place(self.ranges.numbers.start)
        roots = np.concatenate([read_numbers(self._store, place) for place in range(len(self.done.trees))])
        found, count = list[Keys](), 0
        for batch in self.exchange.drain(number):
            keys, trees = split_numbered(batch, self._layout)
            found.append(numbered_pairs(keys, roots[trees_of.among_all(trees)] + np.int64(first)))
            count += len(batch)
            if count > most:
                yield code_keys(_STAGE, merge(found, []))
                found, count = [], 0
        if found:
            yield code_keys(_STAGE, merge(found, []))

    # Numbering

    def number(self, components: Labels) -> Iterator[int]:
        """Label all configurations; `components` has the number for each root."""
        ranges, trees = self.ranges, self.numbers
        missing = sorted({*range(len(self.done.trees))} - {*self.done.numbered})
        done = self.ranges.layer.size - sum(ranges.size_of(ranges.numbers[place]) for place in missing)

        def labels(work: tuple[int, Labels, Labels]) -> Labels:
            place, roots, labels = work
            found: Labels = components[roots[trees.within(place, labels)]]
            return found

        items = ((n, read_numbers(self._store, n), self._labels_of(ranges.numbers[n])) for n in missing)
        for number, found in self._threads.each("forest", labels, items):
            place = missing[number]
            stage_labels(self._store, found, ranges.first_slab(ranges.numbers[place]))
            # IMPORTANT: with the labels, because an interruption commits what is staged.
            self.done = replace(self.done, numbered=[*self.done.numbered, place])
            self._stage_progress()
            if self._much_is_staged:
                self._commit()
            done += len(found)
            yield done
        self._commit()

    def forget(self) -> None:
        """Drop everything but the labels; durable on return."""
        self._store.erase(META, NUMBERS_KEY)
        self.done = replace(self.done, spilled=NO_FILES)
        self._stage_progress()
        self._commit()
        self.spill.clear()
