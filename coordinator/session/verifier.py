"""What the verifiers of all kinds of run share: the run and its puzzle, where faults go, which places are looked at."""

import numpy as np

from coordinator.session.report import Check
from puzzles.contract import Puzzle
from storage.layers.store import RunStore

_SEED = 20_261_121


class Verifier:
    """One run, its puzzle, and where the findings go."""

    def __init__(self, store: RunStore, puzzle: Puzzle, check: Check) -> None:
        self._store, self._puzzle = store, puzzle
        self._full, self._report = check.full, check.report
        self._context, self._control, self._observer = check.context, check.control, check.observer


def sample_places(count: int, size: int, salt: int) -> np.ndarray:
    """The places of the things that are looked at, in order: `size` of `count`, or all, drawn with a fixed seed."""
    if count <= size:
        return np.arange(count)
    return np.sort(np.random.default_rng([_SEED, salt]).choice(count, size, replace=False))
