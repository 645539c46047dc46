"""A part of a run: the layers whose ranges it keeps, and the making of the next one.

A run by threads has one part, in the process of the coordinator, with all ranges. Hosts have one each
(`worker.hosts.part`).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Generic, TypeVar

from hakoiri.keys.layout import Keys
from hakoiri.storage.layers.depths import TableLayer
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.layers.store import HeldLayer, Layer, RunStore, Source, StoredLayer
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.storage.names import CLOSED, CLOSED_KEY, META
from hakoiri.worker.layers.closed_set import ClosedSet
from hakoiri.worker.layers.kernels import total_flow
from hakoiri.worker.layers.partition import Shares
from hakoiri.worker.layers.ranges import MergedRange
from hakoiri.worker.layers.step import Partial, RangeStep, Totals

Mark = TypeVar("Mark", bound=Partial)


class PartLayers:
    """The own keys of the layers in `store`, in memory where they fit, and what the next layer must not have.

    That is U(N) and U(N-1) if the puzzle is undirected, else all older layers in a closed set; for `merged_at_once` and
    `commit` see there.
    """

    def __init__(
        self, store: RunStore, undirected: bool, shares: Shares, merged_at_once: int, commit: Callable[[], None]
    ) -> None:
        self.store, self.shares, self._undirected = store, shares, undirected
        self._merged_at_once, self._commit = merged_at_once, commit
        #: The layers of which all keys are in memory.
        self._held: dict[Depth, Layer] = {}
        self._older: ClosedSet | None = None

    def layer(self, depth: Depth) -> Layer:
        """Return the own keys of a layer."""
        if depth in self._held:
            return self._held[depth]
        record, store = self.store.layer_record(depth), self.store
        if depth < store.kept.first:
            return TableLayer(store, store.layout)
        if not record.hosted:
            store.require_whole(depth)
            if record.size * store.layout.bytes <= self.shares.layer_bytes:
                self._held[depth] = HeldLayer([store.layer(depth)])
                return self._held[depth]
        return StoredLayer(store, depth, record.size)

    def hold(self, depth: Depth, keys: list[Keys] | None) -> None:
        """Hold the `keys` of the last layer, if given, and those of the layer before it."""
        self._held = {each: layer for each, layer in self._held.items() if depth - 1 <= each < depth}
        if keys is not None:
            self._held[depth] = HeldLayer(keys)

    def known(self, depth: Depth) -> list[Layer]:
        """Return the layers that layer `depth` must not have, first the layer before it."""
        if not depth:
            return []
        if self._undirected:
            return [self.layer(each) for each in range(depth - 1, max(0, depth - 2) - 1, -1)]
        # After a lost attempt the older keys may already contain layer `depth` - 1.
        if self._older is None or self._older.depth > depth:
            self._older = ClosedSet(self.store, depth - 1, self.shares, self._merged_at_once, self._commit)
        # IMPORTANT: without layer `depth` - 1: a resumed run begins with it and would add it again.
        for each in range(self._older.depth, depth - 1):
            self._older.add(each, self.layer(each))
        return [self.layer(depth - 1), *self._older.layers()]

    def require_older(self) -> None:
        """Raise `DamagedError` unless the older keys are those of the stored layers: an empty layer may end the run."""
        if self._older is not None:
            self._older.require_layers()

    def forget(self, depth: Depth = 0) -> None:
        """Drop from memory the keys of layer `depth` and of all layers after it."""
        self._held = {each: layer for each, layer in self._held.items() if each < depth}

    def forget_older(self, erase: bool = False) -> None:
        """Drop the older keys of a directed puzzle; also from the store if they are to be erased."""
        self._older = None
        if erase:
            self.store.erase(CLOSED)
            self.store.erase(META, CLOSED_KEY)


class PartStep(Generic[Mark]):
    """The making of the layer of `mark` in the own ranges of a part: all of them at home, or those of one host.

        expand: keys of U(N), by any expander -> bitmaps, arrays, blocks          nothing is durable
        keep:   all that is found             -> spill files, synced, and a mark  durable once that is committed
        merge:  each range, whole             -> blocks, staged, and a mark       durable once that is committed

    The owner stages the marks and commits. Attributes: `mark`, the progress; `kept`, the last mark of an expansion that
    is durable; `held`, the keys of the layer as long as they fit `held_bytes`, else ``None``.
    """

    def __init__(self, store: RunStore, mark: Mark, ranges: RangeStep, spill: Spill, held_bytes: int) -> None:
        self._store, self._ranges, self._spill = store, ranges, spill
        self.mark = self.kept = mark
        self.held: list[Keys] | None = None if mark.merged else []
        self._room = held_bytes

    def expand(self, expanded: Iterable[tuple[int, int | None]]) -> Iterator[int]:
        """Add what an expander yields, the keys and the flow of each piece; yield the keys."""
        for size, flow in expanded:
            summed = total_flow([self.mark.net_flow, flow])
            self.mark = replace(self.mark, expanded=self.mark.expanded + size, net_flow=summed)
            yield size

    def keep(self, **figures: Any) -> None:
        """Spill all that is found, synced, and mark it, with more `figures` of the mark."""
        self._ranges.spill()
        self._spill.sync()
        self.mark = self.kept = replace(self.mark, spilled=self._spill.files, **figures)

    def merge(self, within: Source | None = None) -> Iterator[int]:
        """Merge the own ranges that are left, stage the blocks of each, and yield its size."""
        numbers = [number for number in self._ranges.own if number >= self.mark.merged]
        merged = self._ranges.merge(self.mark.merged, lambda: self.held is not None, within)
        for number, pieces in zip(numbers, merged, strict=True):
            before, mark = self.mark.size, self.mark
            for piece in pieces:
                self._hold(piece)
                mark = mark.plus(piece.summary, *self._store.stage_blocks(mark.depth, piece.coded, mark.index))
            self.mark = replace(mark, merged=number + 1)
            yield self.mark.size - before

    @property
    def resumable(self) -> Mark:
        """The progress that another session or attempt can continue: what is kept and what is merged.

        IMPORTANT: keys found since the last `keep` are expanded again, though their ranges may be merged.
        """
        totals = {name: getattr(self.mark, name) for name in Totals.__dataclass_fields__}
        merged = self.mark.merged
        return replace(self.kept, **totals, merged=merged, spilled=self.kept.spilled.beyond(merged))

    def _hold(self, merged: MergedRange) -> None:
        """Hold the keys of the next piece, or none at all."""
        self._room -= merged.keys.nbytes
        if len(merged.keys) < int(merged.summary[0]) or self._room < 0:
            self.held = None
        if self.held is not None:
            self.held.append(merged.keys)
