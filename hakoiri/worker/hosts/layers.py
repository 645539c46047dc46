"""The layers of one host's part of a run: read by a step, read for others, and checked.

The layers of goal distances lie within a finished run, whose ranges are at the same hosts, so each host reads its own
configurations only (`BaseConfigurations`). Layer 0 holds the goals among these, each further layer the
configurations that lead to the layer before it.

In the functions for others (`index`, `give`, `find`), `stores` begins with the store of the own ranges. The other one,
if any, has copies of ranges of other hosts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.audit import LayersAudit, LayerSums, Sample, described
from hakoiri.storage.layers.blocks import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import HeldLayer, LayerUnion, RunStore, Source, StoredLayer
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, block_key
from hakoiri.timing import clock
from hakoiri.worker.census.joining import JoinProgress
from hakoiri.worker.hosts.requests import HostChecked, HostRequest
from hakoiri.worker.hosts.wire import HostTuning, Link, compressed
from hakoiri.worker.layers.exchange import Exchange
from hakoiri.worker.layers.kernels import merge
from hakoiri.worker.layers.part import PartLayers
from hakoiri.worker.layers.partition import MERGED_AT_ONCE, Shares
from hakoiri.worker.layers.rules import goals_only, predecessors
from hakoiri.worker.layers.step import PARTS, RangeStep, RoundMark, SourceSample
from hakoiri.worker.pool import CallingThread, ThreadPool
from hakoiri.worker.transport.payload import Array, packed

#: Blocks of all layers read together: some millions of keys at most.
_TOGETHER = 64


class BaseConfigurations:
    """The configurations of a finished run in a host's ranges, in memory if they fit `most_bytes`.

    `stores` has the store of its part of the run, if any, and then the store of its copies, if any. Attributes: the
    `size` and `digest` of all these configurations.
    """

    def __init__(self, stores: Sequence[RunStore], request: HostRequest, most_bytes: int) -> None:
        self.stores, self.mine = stores, request.mine
        depths = range(stores[0].state.depth + 1 if stores else 0)
        blocks = [(store, depth, store.first_keys(depth)) for store in stores for depth in depths]
        self._firsts = sorted(first for *_, firsts in blocks for first in firsts)
        self._stored = LayerUnion([StoredLayer(store, depth, 0) for store, depth, firsts in blocks if firsts])
        self.size, lanes, pieces = 0, NOTHING, list[Keys]()
        for keys in self._pieces([request.cuts.bounds(number) for number in sorted(self.mine)]):
            self.size, lanes = self.size + len(keys), add_lanes(lanes, lanes_of(keys))
            most_bytes -= keys.nbytes
            if most_bytes < 0:
                pieces.clear()
            else:
                pieces.append(keys)
        self.digest = digest_text(lanes)
        self._held = HeldLayer(pieces) if most_bytes >= 0 else None

    def between(self, low: Key, high: Key) -> Iterable[Keys]:
        """Return the keys with low <= key < high, increasing within each batch."""
        return self._stored.between(low, high) if self._held is None else self._held.between(low, high)

    def sample(self) -> Keys:
        """Return some keys; each batch of them is sorted."""
        return self._stored.sample() if self._held is None else self._held.sample()

    def _pieces(self, bounds: list[tuple[Key, Key]]) -> Iterator[Keys]:
        """Yield each key within `bounds` once, increasing; a moved range may be stored both as own and as a copy."""
        cuts = {*self._firsts[_TOGETHER::_TOGETHER]}
        for low, high in bounds:
            for begin, end in pairwise([low, *sorted(cut for cut in cuts if low < cut < high), high]):
                if parts := list(self._stored.between(begin, end)):
                    yield merge(parts, [])


#: Keys of a layer expanded to plan the step, and keys sampled from a range for each piece into which it is cut.
SAMPLED = 2_048


class HostLayers(PartLayers):
    """The layers of the part at a host.

    Attributes: `link`, the link to other hosts as the last round has shown it; `within`, for goal distances, the
    configurations of the base run.
    """

    def __init__(
        self, store: RunStore, puzzle: Puzzle, threads: ThreadPool, shares: Shares, tuning: HostTuning
    ) -> None:
        super().__init__(store, puzzle.undirected, shares, MERGED_AT_ONCE, lambda: store.commit(store.state))
        self.tuning = tuning
        self._puzzle, self._threads = puzzle, threads
        self.link = Link()
        self.within: BaseConfigurations | None = None

    def source(self, depth: Depth) -> Source:
        """Return the own keys that are expanded for layer `depth`."""
        return self.layer(depth - 1) if depth or self.within is None else self.within

    def step_of(self, exchange: Exchange, depth: Depth) -> RangeStep:
        """Return the step that makes layer `depth` in the ranges of `exchange`; it expands a sample to plan."""
        puzzle, known = self._puzzle, self.known(depth)
        if self.within is not None:
            puzzle = predecessors(puzzle) if depth else goals_only(puzzle)
        source = self.source(depth)
        keys = source.sample() if source.size else self.store.layout.empty(0)
        wanted = min(SAMPLED, max(self.tuning.least_sampled, source.size // 64))
        # IMPORTANT: contiguous, or numba would compile the kernels of the puzzle once more.
        keys, began = np.ascontiguousarray(keys[:: max(1, len(keys) // wanted)]), clock()
        successors = sort_keys(puzzle.expand(keys).successors) if len(keys) else keys
        sample = SourceSample(keys, successors, max(clock() - began, 1e-9) / max(1, len(keys)))
        size = self.shares.range_size(source.size, sample.seconds_each) // (PARTS if self.link.in_parts else 1)
        spared = source.size * sample.seconds_each * (1 - 1 / self._threads.workers)
        threads = CallingThread(self._threads.spare) if spared < self.tuning.short else self._threads
        return RangeStep(puzzle, exchange, source, known, sample, size, self.shares, threads, True)

    def finish(self, made: RoundMark, keys: list[Keys] | None) -> None:
        """Commit the own part of the layer after the last one. Its `keys`, if given, stay in memory."""
        if not made.size:
            self.require_older()
        self.store.stage_layer(made.record(made.depth, 0))
        self.hold(made.depth, keys)
        self.store.commit(replace(self.store.state, depth=made.depth))


#: The most faults reported, of all layers together.
_MOST_FAULTS = 100


def require_depth(own: RunStore, request: HostRequest, depth: Depth) -> None:
    """Raise `TaskError` if this part of the run lacks layers up to `depth`: its directory is older than the run."""
    if own.state.depth < depth:
        raise request.missing(f"it has layers of the run up to {own.state.depth}, expected {depth}")


def index(stores: Sequence[RunStore], request: HostRequest) -> list[Array]:
    """Return the first keys of the blocks of a layer, own and copied; `DamagedError` if an own block is lost."""
    own, *copies = stores
    require_depth(own, request, request.depth)
    own.require_whole(request.depth)
    copied = [first for store in copies for first in store.first_keys(request.depth)]
    return [own.layout.pack(firsts) for firsts in (own.first_keys(request.depth), copied)]


def give(stores: Sequence[RunStore], request: HostRequest, firsts: Keys) -> list[Array]:
    """Return the lengths and bytes of the blocks of a layer that begin with `firsts`, own ones or copies."""
    layout = stores[0].layout
    return _joined([_value(stores, block_key(request.depth, first, layout.bytes)) for first in ints(firsts)])


def labels(store: RunStore, request: HostRequest, slabs: Array) -> list[Array]:
    """Return the lengths of the entries of some slabs of labels, and their bytes, compressed: most are alike."""
    joined = store.read_partial(JoinProgress)
    if joined and len(joined.numbered) < len(joined.trees):
        # IMPORTANT: until all ranges are numbered, labels are numbers of trees, not of components.
        raise request.missing("its configurations have no labels yet")
    lengths, data = _joined([store.slab(number) or b"" for number in slabs.tolist()])
    return [lengths, compressed(data)]


def find(stores: Sequence[RunStore], request: HostRequest, keys: Keys) -> list[Array]:
    """Return 1 per key in layer `request.depth`, own or copied, else 0; `keys` increase. Raises `DamagedError`."""
    require_depth(stores[0], request, request.depth)
    stores[0].require_whole(request.depth)
    return [np.any([store.members(request.depth, keys) for store in stores], axis=0).astype(np.uint8)]


def _joined(values: list[bytes]) -> list[Array]:
    return [np.array(list(map(len, values)), dtype=np.int64), np.frombuffer(b"".join(values), dtype=np.uint8)]


def _value(stores: Sequence[RunStore], name: bytes) -> bytes:
    found = next(filter(None, (store.read(BLOCKS, name) for store in stores)), None)
    if found is None:
        raise DamagedError("a block that a host has listed does not exist any more")
    return found


def check_part(
    store: RunStore, copies: RunStore | None, puzzle: Puzzle, request: HostRequest, others: Keys, together: int
) -> Iterator[list[Array]]:  # fmt: skip
    """Check the layers `request.first` to `request.depth` of `store` in short steps; only the last yields the answer.

    `others` are keys of the coordinator's own layers, increasing, which must not occur in these. About `together` keys
    are held at a time. `copies` has the copies of other hosts' ranges, if any. The answer is [`HostChecked`; size and
    lanes of the copies of each layer; a key in two layers, if any; `Audit.arrays`].
    """
    depths = list(range(request.first, request.depth + 1))
    audit = LayersAudit(store, depths, puzzle.is_goal, Sample(request.seed, request.sample), others)
    for bounds in audit.ranges(together):
        audit.check(bounds)
        yield []
    # Finish here, so that the faults name the host of this part.
    audit.finish()
    copied = [LayerSums(depth) for depth in depths]
    for sums, layer in zip(copied, audit.layers, strict=True):
        try:
            for keys in copies.blocks(sums.depth) if copies is not None else ():
                sums.add(keys)
                yield []
        except DamagedError as error:
            layer.fault(f"copies: {described(error, copies or store)}")
    broken = [layer.depth for layer in audit.layers if layer.faults]
    lanes = np.array([[sums.size, *sums.lanes] for sums in copied], dtype=np.uint64)
    checked = packed(HostChecked(True, audit.faults[:_MOST_FAULTS], broken))
    yield [*checked, lanes, audit.duplicate, *audit.arrays()]
