"""What a layer step asks of workers, and of which blocks; and whether what they say that they have left is there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from hakoiri.coordinator.executors.lying import Left
from hakoiri.coordinator.executors.remote import RemoteExecutor, Wanted
from hakoiri.puzzles.keys.layout import Key, Layout, ints, key_at
from hakoiri.storage.layers.blocks import Block, Coded, decode, has_bits, is_sound
from hakoiri.storage.ledger.manifest import Depth
from hakoiri.worker.errors import PayloadError, TaskError
from hakoiri.worker.tasks import Arrays
from hakoiri.worker.transport.lots import BEGIN, LENGTH, Lot, ValueName

#: How many numbers an answer has.
_NUMBERS = {"gather": 6, "spread": 2}

_What = TypeVar("_What")


@dataclass(frozen=True)
class Request(Generic[_What]):
    """What is asked for, the arrays that say so, those of its blocks that are on disk, too; who had better do it."""

    what: _What
    arrays: Arrays
    borrowed: Lot
    worker: str = ""


class Unit(NamedTuple):
    """The keys from `low` to `high`, which is not among them, of a range: what one task merges."""

    number: int
    low: Key
    high: Key


def reaches(block: Block, low: Key, high: Key, layout: Layout) -> bool:
    """Whether a spilled block may hold keys with low <= key < high.

    IMPORTANT: only its keys tell where it ends, for the block after it may be of another batch.
    """
    return block.first < high and (block.first >= low or key_at(decode(block, layout), -1) >= low)


def overlapping(lot: Lot, unit: Unit) -> Lot:
    """The blocks that may hold keys of a unit: a block ends before the next of its value begins, if that is greater."""
    firsts = ints(lot.firsts)
    together = [*(lot.places[1:, :BEGIN] == lot.places[:-1, :BEGIN]).all(axis=1).tolist(), False]
    follows = zip(firsts, [*firsts[1:], 0], together, strict=True)
    kept = [first < unit.high and not (same and first < after <= unit.low) for first, after, same in follows]
    return lot.take(np.array(kept, dtype=np.bool_))


class Asking:
    """The requests of the step that makes layer `depth`. So many losses in turn as `most_losses` end it."""

    def __init__(self, executor: RemoteExecutor, layout: Layout, depth: Depth, most_losses: int) -> None:
        self._executor, self._lying = executor, executor.lying
        self._layout, self._depth, self._most_losses = layout, depth, most_losses
        #: How many bytes may lie in Redis.
        self.share = self._lying.share()
        self._losses = 0

    @property
    def is_full(self) -> bool:
        """Whether blocks that are also on disk had better make room for pieces."""
        return self._lying.filled > self.share // 2

    def ask(self, task: str, requests: Iterator[Request[_What]]) -> Iterator[tuple[_What, Left | None]]:
        """What is asked for, and the answer, one after the other: ``None`` if something was lost."""
        asked: dict[int, Request[_What]] = {}
        lost = False

        def arrays() -> Iterator[Wanted]:
            for number, request in enumerate(requests):
                asked[number] = request
                yield request.arrays, request.worker

        for number, left in self._executor.shuffle(task, self._depth, arrays()):
            if left is None and not lost:
                # Once for all that was under way: one flush is one loss.
                self._note_loss()
            lost |= left is None
            if left is not None:
                self._check(task, left)
            request = asked.pop(number)
            if self.is_full:
                used = set(self._names(other.borrowed for other in asked.values()))
                self._lying.drop(name for name in self._names([request.borrowed]) if name not in used)
            yield request.what, left

    def _check(self, task: str, left: Left) -> None:
        """`PayloadError` for an answer of another shape, or one that tells other numbers than its blocks."""
        if len(left.numbers) != _NUMBERS[task]:
            raise PayloadError(f"layer {self._depth}: {len(left.numbers)} numbers are no answer to {task}")
        told, held = int(left.numbers[:1].sum()), int(left.blocks.counts.sum())
        if told != held:
            raise PayloadError(f"layer {self._depth}: a worker tells of {told:,} configurations, and left {held:,}")

    def fetch(self, lot: Lot) -> Coded | None:
        """Some blocks that a worker has left as one value, if they lie there and are sound."""
        if not len(lot.counts):
            return Coded.empty(self._layout)
        (name,) = self._lying.names(lot)
        data = memoryview(self._lying.get(name) or b"")
        coded = Coded(lot.firsts, lot.counts, lot.places[:, LENGTH], data)
        blocks = coded.blocks(self._depth)
        sound = (is_sound(block, self._layout) and not has_bits(block.value) for block in blocks)
        if len(data) == coded.lengths.sum() and all(sound):
            self._losses = 0
            return coded
        self.drop([lot])
        self._note_loss()
        return None

    def drop(self, lots: Iterable[Lot]) -> None:
        """Take away what some blocks lie in."""
        self._lying.drop(self._names(lots))

    def _names(self, lots: Iterable[Lot]) -> Iterator[ValueName]:
        return chain.from_iterable(self._lying.names(lot) for lot in lots)

    def _note_loss(self) -> None:
        self._losses += 1
        if self._losses >= self._most_losses:
            raise TaskError(
                f"layer {self._depth}: workers did not find in Redis what others had left there, {self._losses} times "
                "in turn; give Redis more memory, and no policy that evicts keys"
            )
        self._lying.look()
