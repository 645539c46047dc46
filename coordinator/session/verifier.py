"""What the verifiers of all kinds of run share: the run and its puzzle, where faults go, which places are looked at."""

import numpy as np

from coordinator.session.report import Check
from puzzles.checks import disagreement
from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, ints
from storage.layers.store import RunStore

_SEED = 20_261_121


class Verifier:
    """One run, its puzzle, and where the findings go."""

    def __init__(self, store: RunStore, puzzle: Puzzle, check: Check) -> None:
        self._store, self._puzzle = store, puzzle
        self._full, self._report = check.full, check.report
        self._context, self._control, self._observer = check.context, check.control, check.observer

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


def sample_places(count: int, size: int, salt: int) -> np.ndarray:
    """The places of the things that are looked at, in order: `size` of `count`, or all, drawn with a fixed seed."""
    if count <= size:
        return np.arange(count)
    return np.sort(np.random.default_rng([_SEED, salt]).choice(count, size, replace=False))
