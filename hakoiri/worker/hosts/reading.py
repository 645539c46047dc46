"""Reads of a host's part of a run: blocks, keys and labels that others ask for, and the check of all of it.

`stores` begins with the store of the own ranges; the other one has copies of those of other hosts.
"""

from collections.abc import Iterator, Sequence
from time import monotonic

import numpy as np

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Keys, ints
from hakoiri.puzzles.keys.order import is_increasing
from hakoiri.storage.errors import DamagedError
from hakoiri.storage.layers.audit import LayersAudit, LayerSums, Sample, described
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import BLOCKS, block_key
from hakoiri.worker.errors import PayloadError
from hakoiri.worker.hosts.requests import HostChecked, HostRequest
from hakoiri.worker.hosts.wire import compressed
from hakoiri.worker.plain import Array, packed
from hakoiri.worker.spaces.joining import JoinProgress

#: The seconds of a request, because others may wait.
_SECONDS = 5.0
#: Faults reported of all layers.
_MOST_FAULTS = 100


def require_depth(own: RunStore, request: HostRequest, depth: Depth) -> None:
    """Raise `TaskError` if this part of the run lacks layers up to `depth`: its directory is older than the run."""
    if own.state.depth < depth:
        raise request.missing(f"it has layers of the run up to {own.state.depth}, expected {depth}")


def index(stores: Sequence[RunStore], request: HostRequest) -> list[Array]:
    """Return the first keys of the blocks of a layer, own ones and copies; `DamagedError` if an own one is lost."""
    own, *copies = stores
    require_depth(own, request, request.depth)
    own.require_whole(request.depth)
    copied = [first for store in copies for first in store.first_keys(request.depth)]
    return [own.layout.pack(firsts) for firsts in (own.first_keys(request.depth), copied)]


def give(stores: Sequence[RunStore], request: HostRequest, firsts: Keys) -> list[Array]:
    """Return the lengths and bytes of the blocks of a layer that begin with `firsts`, own ones or copies."""
    layout = stores[0].layout
    if not layout.holds(firsts):
        raise PayloadError("a request is not readable: the first keys of its blocks are malformed")
    return _joined([_value(stores, block_key(request.depth, first, layout.bytes)) for first in ints(firsts)])


def labels(store: RunStore, request: HostRequest, slabs: Array) -> list[Array]:
    """Return the lengths of the entries of some slabs of labels, and their bytes, compressed: most are alike."""
    joined = store.read_partial(JoinProgress)
    if joined and len(joined.numbered) < len(joined.trees):
        # IMPORTANT: until then they are numbers of trees.
        raise request.missing("its configurations have no labels yet")
    if slabs.dtype != np.int64 or slabs.ndim != 1 or (slabs < 0).any() or (slabs >> 32).any():
        raise PayloadError("a request is not readable: the numbers of its slabs are malformed")
    lengths, data = _joined([store.slab(number) or b"" for number in slabs.tolist()])
    return [lengths, compressed(data)]


def find(stores: Sequence[RunStore], request: HostRequest, keys: Keys) -> list[Array]:
    """Return 1 for each of some increasing keys that is in layer `request.depth`, own or copied; `DamagedError`."""
    if not stores[0].layout.holds(keys) or not is_increasing(keys):
        raise PayloadError("a request is not readable: the keys to look up do not increase")
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


class PartCheck:
    """The check of the layers `request.first` to `request.depth` of `store`, in one attempt of one session.

    `others` are keys of the coordinator's own layers, increasing, which must not occur in these. About `together` keys
    are held at a time. `copies` has the copies of other hosts' ranges, if there are any. `finished` is true at the
    end.
    """

    def __init__(
        self, store: RunStore, copies: RunStore | None, puzzle: Puzzle, request: HostRequest, session: str,
        others: Keys, together: int,
    ) -> None:  # fmt: skip
        if not store.layout.holds(others) or not is_increasing(others):
            raise PayloadError("a request is not readable: the keys beside the layers do not increase")
        self._layout, self._copies, self._together = store.layout, copies, together
        self._asked = session, request.first, request.depth, request.attempt
        depths = list(range(request.first, request.depth + 1))
        self._audit = LayersAudit(store, depths, puzzle.is_goal, Sample(request.seed, request.sample), others)
        self._copied = [LayerSums(depth) for depth in depths]
        self._steps, self.finished = self._check(), False

    def is_asked(self, request: HostRequest, session: str) -> bool:
        """Return whether a request continues this attempt."""
        return self._asked == (session, request.first, request.depth, request.attempt)

    def go_on(self) -> list[Array]:
        """Check for some seconds; return [`HostChecked`], or at the end all results.

        The results are [`HostChecked`; size, two digest lanes and goals of each layer, uint64; size and two lanes of
        its copies; a key in two layers, if any; sizes of samples; all samples].
        """
        until = monotonic() + _SECONDS
        for _ in self._steps:
            if monotonic() > until:
                return packed(HostChecked(False, [], []))
        self.finished = True
        layers = self._audit.layers
        broken = [layer.depth for layer in layers if layer.faults]
        own = [[layer.sums.size, *layer.sums.lanes, layer.goals] for layer in layers]
        copied = [[sums.size, *sums.lanes] for sums in self._copied]
        samples = [np.concatenate([self._layout.empty(0), *layer.candidates]) for layer in layers]
        checked = HostChecked(True, self._audit.faults[:_MOST_FAULTS], broken)
        return [
            *packed(checked), np.array(own, dtype=np.uint64),
            np.array(copied, dtype=np.uint64), self._audit.duplicate,
            np.array([len(keys) for keys in samples], dtype=np.int64), np.concatenate(samples),
        ]  # fmt: skip

    def _check(self) -> Iterator[None]:
        """Check everything, in steps that are short."""
        for bounds in self._audit.ranges(self._together):
            self._audit.check(bounds)
            yield
        # Here, so that the host is named whose part it is.
        self._audit.finish()
        if self._copies is not None:
            yield from self._check_copies(self._copies)

    def _check_copies(self, store: RunStore) -> Iterator[None]:
        for sums, layer in zip(self._copied, self._audit.layers, strict=True):
            try:
                for keys in store.blocks(sums.depth):
                    sums.add(keys)
                    yield
            except DamagedError as error:
                layer.fault(f"copies: {described(error, store)}")
