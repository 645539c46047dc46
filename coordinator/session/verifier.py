"""What verifications share: moves derived again by the reference rules, here or by workers elsewhere."""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from hakoiri.coordinator.session.job import Check
from hakoiri.puzzles.checks import disagreement
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.layout import Key, Keys, ints
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.layers.kernels import split
from hakoiri.worker.tasks import Array, do_task

#: Some keys, the distinct successors of each in turn, and how many each has.
Moves = tuple[Keys, Keys, Array]
#: Configurations whose successors are Python integers at the same time.
_KEYS_AT_ONCE = 1 << 12
#: Memory of a move in a comparison: keys, and bytes besides.
_KEYS_PER_MOVE, _BYTES_PER_MOVE = 4, 32


class Verifier:
    """One run, its puzzle, and where the findings go."""

    def __init__(self, store: RunStore, puzzle: Puzzle, check: Check) -> None:
        self._store, self._puzzle = store, puzzle
        self._full, self._report, self._places = check.full, check.report, check.places
        self._context, self._control, self._observer = check.context, check.context.control, check.context.observer

    def _successors_of(self, keys: Keys) -> list[set[Key]]:
        """The successors of each key by the reference rules; where the kernel gives others, that is reported."""
        found = [set(self._puzzle.successors(key)) for key in ints(keys)]
        if not self._puzzle.has_kernel:
            return found
        successors, counts = self._puzzle.expand(keys)
        end = 0
        for key, plain, count in zip(ints(keys), found, counts.tolist(), strict=True):
            begin, end = end, end + count
            if said := disagreement(self._puzzle, key, successors[begin:end], plain):
                self._report.mistake(said)
        return found

    def _in_batches(self, blocks: Iterable[Keys], count: int) -> Iterator[Moves]:
        """Some keys, `count` or so, with their distinct successors by those rules, in batches that fit the memory."""
        most = self._context.shares.free // (_KEYS_PER_MOVE * self._puzzle.layout.bytes + _BYTES_PER_MOVE)
        parts: list[Moves] = []
        moves = 0
        for part in self._derived_by_chunks(blocks, count):
            parts.append(part)
            moves += len(part[1])
            self._report.count("configurations", len(part[0]))
            self._report.count("successors", len(part[1]))
            if moves >= most:
                yield _joined(parts)
                parts, moves = [], 0
        if parts:
            yield _joined(parts)

    def _derived_by_chunks(self, blocks: Iterable[Keys], count: int) -> Iterator[Moves]:
        """Chunk by chunk, in any order. Plain Python keeps threads waiting, so only workers elsewhere share in it."""
        sent: dict[int, Keys] = {}

        def chunks() -> Iterator[list[Keys]]:
            for number, keys in enumerate(chain.from_iterable(split(block, _KEYS_AT_ONCE) for block in blocks)):
                self._control.check()
                sent[number] = keys
                yield [keys]

        here = ((number, do_task("derive", self._puzzle, chunk, ())) for number, chunk in enumerate(chunks()))
        budget = self._context.budget
        # Rules in plain Python take a thousand times as long as a kernel: a chunk of them is worth a job.
        farmed = self._context.remote_workers and (
            budget.distributes(count) if budget.is_given else count > _KEYS_AT_ONCE
        )
        for number, (successors, counts, unlike) in self._context.executor.map("derive", chunks()) if farmed else here:
            keys = sent.pop(number)
            if len(unlike):
                self._successors_of(keys[unlike])
            yield keys, successors, counts


def _joined(parts: list[Moves]) -> Moves:
    keys, successors, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return keys, successors, counts
