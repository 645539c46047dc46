"""The layers of one host's part of a run: read by a step, read for others, and checked.

The layers of goal distances lie within a finished run, whose ranges are at the same hosts, so each host reads its own
configurations only (`BaseConfigurations`). Layer 0 holds the goals among these, each further layer the
configurations that lead to the layer before it.

In the functions for others (`index`, `give`, `find`), `stores` begins with the store of the own ranges. The other one,
if any, has copies of ranges of other hosts.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.audit import LayersAudit, LayerSums, Sample, described
from hakoiri.storage.layers.blocks import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.store import HeldLayer, LayerUnion, RunStore, Source, StoredLayer
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, block_key
from hakoiri.worker.census.joining import JoinProgress
from hakoiri.worker.hosts.requests import HostChecked, HostRequest
from hakoiri.worker.hosts.wire import compressed
from hakoiri.worker.layers.kernels import merge
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
        self._source: Source = HeldLayer(pieces) if most_bytes >= 0 else self._stored

    def between(self, low: Key, high: Key) -> Iterable[Keys]:
        """Return the keys with low <= key < high, increasing within each batch."""
        return self._source.between(low, high)

    def sample(self) -> Keys:
        """Return some keys; each batch of them is sorted."""
        return self._source.sample()

    def _pieces(self, bounds: list[tuple[Key, Key]]) -> Iterator[Keys]:
        """Yield each key within `bounds` once, increasing; a moved range may be stored both as own and as a copy."""
        cuts = {*self._firsts[_TOGETHER::_TOGETHER]}
        for low, high in bounds:
            for begin, end in pairwise([low, *sorted(cut for cut in cuts if low < cut < high), high]):
                if parts := list(self._stored.between(begin, end)):
                    yield merge(parts, [])


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
    names = (block_key(request.depth, first, stores[0].layout.bytes) for first in ints(firsts))
    found = [next(filter(None, (store.read(BLOCKS, name) for store in stores)), b"") for name in names]
    if not all(found):
        raise DamagedError("a block that a host has listed does not exist any more")
    return _joined(found)


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


def check_part(
    store: RunStore, copies: RunStore | None, puzzle: Puzzle, request: HostRequest, others: Keys, together: int
) -> Iterator[list[Array]]:  # fmt: skip
    """Check the layers `request.first` to `request.depth` of `store` in short steps; only the last yields the answer.

    `others` are keys of the coordinator's own layers, increasing, which must not occur in these. About `together` keys
    are held at a time. `copies` has the copies of other hosts' ranges, if any. The answer is [`HostChecked`; size and
    lanes of the copies of each layer; a key in two layers, if any; `Audit.arrays`].
    """
    depths = list(range(request.first, request.depth + 1))
    audit = LayersAudit(store, depths, puzzle.tally, Sample(request.seed, request.sample), others)
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
