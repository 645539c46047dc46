"""The own configurations of a finished run, and the moves by which its goal distances are made.

Layer 0 of goal distances holds the goals among these configurations. Each next layer holds those that lead to the last
one. Both runs have the same ranges at the same hosts, so each host reads only its own configurations.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import numpy as np

from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.goals import Backwards
from hakoiri.puzzles.keys.layout import Key, Keys, Mask
from hakoiri.storage.layers.digest import NOTHING, add_lanes, digest_text, lanes_of
from hakoiri.storage.layers.readers import HeldLayer, LayerUnion, StoredLayer
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.errors import TaskError
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.layers.kernels import merge

#: Blocks of all layers that are looked at together: some millions of keys at most.
_TOGETHER = 64


class BaseConfigurations:
    """The configurations of a finished run in a host's ranges, in memory if they fit `most_bytes`.

    `stores` are those of its part of the run and of its copies, which may be missing. Attributes: `size`; `digest` of
    all these configurations.
    """

    def __init__(self, stores: Sequence[RunStore], request: HostRequest, most_bytes: int) -> None:
        self.stores, self.mine = stores, request.mine
        depths = range(stores[0].state.depth + 1 if stores else 0)
        blocks = [(store, depth, store.first_keys(depth)) for store in stores for depth in depths]
        self._firsts = sorted(first for *_, firsts in blocks for first in firsts)
        self._stored = LayerUnion([StoredLayer(store, depth, 0) for store, depth, firsts in blocks if firsts])
        self.size, self.digest = 0, digest_text(NOTHING)
        self._held = self._read([request.cuts.bounds(number) for number in sorted(self.mine)], most_bytes)

    def between(self, low: Key, high: Key) -> Iterable[Keys]:
        """Return the keys with low <= key < high, increasing within each batch."""
        return self._stored.between(low, high) if self._held is None else self._held.between(low, high)

    def sample(self) -> Keys:
        """Return some keys; each batch of them is sorted."""
        return self._stored.sample() if self._held is None else self._held.sample()

    def _read(self, bounds: list[tuple[Key, Key]], most_bytes: int) -> HeldLayer | None:
        """Count and digest all keys; return them if they fit."""
        pieces, lanes = list[Keys](), NOTHING
        for keys in self._pieces(bounds):
            self.size, lanes = self.size + len(keys), add_lanes(lanes, lanes_of(keys))
            most_bytes -= keys.nbytes
            if most_bytes < 0:
                pieces.clear()
            else:
                pieces.append(keys)
        self.digest = digest_text(lanes)
        return HeldLayer(pieces) if most_bytes >= 0 else None

    def _pieces(self, bounds: list[tuple[Key, Key]]) -> Iterator[Keys]:
        """Yield all keys in these bounds, increasing; a range that was moved may be an own one and a copy at once."""
        cuts = {*self._firsts[_TOGETHER::_TOGETHER]}
        for low, high in bounds:
            for begin, end in pairwise([low, *sorted(cut for cut in cuts if low < cut < high), high]):
                if parts := list(self._stored.between(begin, end)):
                    yield merge(parts, [])


class _Goals(Backwards):
    """Moves from each goal to itself, and no others."""

    def expand(self, keys: Keys) -> Expansion:
        goals = self.is_goal(keys)
        return Expansion(keys[goals], goals.astype(np.uint16))

    def is_goal(self, keys: Keys) -> Mask:
        return self._base.is_goal(keys)


def moves_within(puzzle: Puzzle, depth: Depth) -> Puzzle:
    """Return the moves that make layer `depth` of goal distances; `TaskError` for a puzzle without moves backwards."""
    if not isinstance(puzzle, Reversible):
        raise TaskError(f"{puzzle.name} has no backward moves")
    return Backwards(puzzle) if depth else _Goals(puzzle)
