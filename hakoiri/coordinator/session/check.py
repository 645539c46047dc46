"""Verification of a run: the report, and the base class of the verifications of all kinds.

Moves are derived again by the reference rules, in this process or by workers.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, TypeVar

import numpy as np

from hakoiri.coordinator.session.session import ComputeContext, Session
from hakoiri.errors import Hint
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.conformance.pool import disagreement
from hakoiri.storage.layers.audit import Audited
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.manifest import Depth, Progress, State
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.transport.payload import Array

#: The most faults of a run, and of one kind in a batch of configurations, that are reported.
MOST_FAULTS = 100
#: Seeds of samples are below this: short enough to be typed.
_SEEDS = 1 << 32
#: The cause of faults: the puzzle's own rules, files that a repair mends, or neither.
Cause = Literal["puzzle", "damage", "unknown"]
#: Keys, the distinct successors of each in turn, and their number per key.
Moves = tuple[Keys, Keys, Array]
#: Configurations whose successors are Python integers at the same time.
KEYS_AT_ONCE = 1 << 12
#: Memory of a move in a comparison: the number of its keys, and the additional bytes.
_KEYS_PER_MOVE, _BYTES_PER_MOVE = 4, 32
_Item = TypeVar("_Item")


@dataclass
class Report:
    """The result of a verification: counts of what was checked, and the faults found (the first hundred)."""

    checked: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    #: Hints for a run that cannot be opened.
    hints: tuple[Hint, ...] = ()
    #: The state of the run; ``None`` if it cannot be opened.
    state: State | None = None
    #: True if some checks of ``full`` were left out.
    sampled: bool = False
    #: The layers whose checksums and digests were reported by hosts and not recomputed here, in words.
    believed: str = ""
    #: Seed of the sample. IMPORTANT: random by default, else the maker of a run could hide faults outside the sample.
    seed: int = field(default_factory=lambda: secrets.randbelow(_SEEDS))
    _damaged: bool = False
    _mistaken: bool = False

    @property
    def ok(self) -> bool:
        return not self.faults

    @property
    def complete(self) -> bool:
        """Return whether the run is complete."""
        return self.state is not None and self.state.status == "complete"

    @property
    def cause(self) -> Cause | None:
        """The cause to mend first; ``None`` if there is no fault."""
        if self.ok:
            return None
        return "puzzle" if self._mistaken else "damage" if self._damaged else "unknown"

    def count(self, what: str, number: int = 1) -> None:
        """Add `number` to the count of checked items of this kind."""
        self.checked[what] = self.checked.get(what, 0) + number

    def fault(self, text: str) -> None:
        """Report a fault that no repair mends."""
        if len(self.faults) < MOST_FAULTS and text not in self.faults:
            self.faults.append(text)

    def damage(self, text: str) -> None:
        """Report damaged stored data, which ``Job.repair`` mends."""
        self._damaged = True
        self.fault(text)

    def mistake(self, text: str) -> None:
        """Report that the puzzle contradicts itself; computing again gives the same wrong result."""
        self._mistaken = True
        self.fault(text)


class Check(Session):
    """A verification in progress. With `full` it checks everything instead of a sample; faults go into `report`.

    `audited` holds all layers; the blocks of every layer are sound.
    """

    def __init__(
        self, store: RunStore, context: ComputeContext, full: bool, report: Report, audited: Mapping[Depth, Audited]
    ) -> None:
        super().__init__(store, context)
        self.full, self.report, self.audited = full, report, audited

    def check(self) -> None:
        """Report all faults of the run; every single layer is sound. May raise `DamagedError`."""
        raise NotImplementedError

    def sample(self, count: int, size: int, salt: int) -> Array:
        """Return increasing indices below `count`: all of them, or without `full` a random sample of `size`."""
        if self.full or count <= size:
            return np.arange(count)
        self.report.sampled = True
        return np.sort(np.random.default_rng([self.report.seed, salt]).choice(count, size, replace=False))

    def sampled(self, blocks: Iterable[Keys], count: int, size: int, salt: int) -> Iterator[Keys]:
        """Yield the keys to check, of `count` in increasing `blocks`: each block, or one increasing sample."""
        if self.full:
            yield from blocks
            return
        places, begin, found = self.sample(count, size, salt), 0, list[Keys]()
        for block in blocks:
            mine = slice(*np.searchsorted(places, [begin, begin + len(block)]))
            found.append(block[places[mine] - begin])
            begin += len(block)
        yield sort_keys(np.concatenate(found))

    def some(self, items: Sequence[_Item], size: int, done: str, salt: int = 0) -> Iterator[_Item]:
        """Yield the items, or without `full` a `sample` of them; after each, report the progress in `done`."""
        return self.each([items[place] for place in self.sample(len(items), size, salt)], done)

    def each(self, items: Sequence[_Item], done: str) -> Iterator[_Item]:
        """Yield the items; after each, report the progress in `done`. Raises `StopRun` if the run is to stop."""
        for number, item in enumerate(items, 1):
            yield item
            self.context.tell(Progress(number, len(items), done))

    def _successors_of(self, keys: Keys) -> list[set[Key]]:
        """Return the successors of each key by the reference rules; report those that the kernel contradicts."""
        found = [set(self.puzzle.successors(key)) for key in ints(keys)]
        if not self.puzzle.has_kernel:
            return found
        successors, counts = self.puzzle.expand(keys)
        end = 0
        for key, plain, count in zip(ints(keys), found, counts.tolist(), strict=True):
            begin, end = end, end + count
            if said := disagreement(self.puzzle, key, successors[begin:end], plain):
                self.report.mistake(said)
        return found

    def _in_batches(self, blocks: Iterable[Keys], count: int) -> Iterator[Moves]:
        """Yield keys, about `count` in all, with their distinct successors, in batches that fit the memory."""
        most = self.context.shares.free // (_KEYS_PER_MOVE * self.puzzle.layout.bytes + _BYTES_PER_MOVE)
        parts: list[Moves] = []
        moves = 0
        for part in self._derived_by_chunks(blocks, count):
            parts.append(part)
            moves += len(part[1])
            self.report.count("configurations", len(part[0]))
            self.report.count("successors", len(part[1]))
            if moves >= most:
                yield _joined(parts)
                parts, moves = [], 0
        if parts:
            yield _joined(parts)

    def _derived_by_chunks(self, blocks: Iterable[Keys], count: int) -> Iterator[Moves]:
        """Yield chunks in any order. Plain Python holds the GIL, so only other processes share the work."""
        sent: dict[int, Keys] = {}

        def chunks() -> Iterator[list[Keys]]:
            for number, keys in enumerate(chain.from_iterable(split(block, KEYS_AT_ONCE) for block in blocks)):
                self.control.check()
                sent[number] = keys
                yield [keys]

        # Rules in plain Python take a thousand times as long as a kernel: a chunk of them is worth a job.
        plan = self.context.farm.plan_of(count, least=KEYS_AT_ONCE + 1, by_threads=False)
        for number, (successors, counts, unlike) in self.context.farm.map(plan, "derive", chunks()):
            keys = sent.pop(number)
            if len(unlike):
                self._successors_of(keys[unlike])
            yield keys, successors, counts


def _joined(parts: list[Moves]) -> Moves:
    keys, successors, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return keys, successors, counts
