"""Prints which kernels tasks on graphs call that are not among those loaded for them; each task in a fresh process."""

import json
import os
import sys
from typing import Any

import numpy as np

from hakoiri.puzzles import jit
from hakoiri.puzzles.keys.layout import Keys
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.tasks import TASKS, Arrays
from hakoiri.worker.warm import kernels_of

PUZZLE = PuzzleSpec("tiles", {"rows": "2", "columns": "2"}).build()
#: Two rings of three vertices, and the first of them.
RINGS = [np.arange(7, dtype=np.int64), np.array([1, 2, 0, 4, 5, 3], dtype=np.int32)]
RING = [RINGS[0][:4], RINGS[1][:3]]


def configurations() -> Keys:
    """All that the start leads to."""
    found = {PUZZLE.start: None}
    for key in (waiting := [PUZZLE.start]):
        fresh = dict.fromkeys(each for each in PUZZLE.successors(key) if each not in found)
        found |= fresh
        waiting += fresh
    return PUZZLE.keys(sorted(found))


def asked(keys: Keys) -> list[tuple[str, Arrays, Arrays]]:
    """Tasks, each with its chunk and what is shared."""
    some, nobody = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint8)
    first, zero, both = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), [*RINGS, np.array([0, 3, 6])]
    return [
        ("neighbours", [keys], []), ("forest", [keys], []), ("eccentricities", [keys, first], []),
        ("diameters", both, []), ("diameters", [*RING, first], []), ("searches", [some], RING),
        ("look", [some, nobody, np.array([3])], RING), ("pairs", [some, zero + 1], RING),
    ]  # fmt: skip


def called_besides(task: str, chunk: Arrays, shared: Arrays) -> list[str]:
    """The kernels that a task calls and its loader does not."""
    kernels_of(task)(PUZZLE)
    found, load = list[str](), jit._Kept.load_overload

    def noted(kept: Any, *types: Any) -> Any:
        found.append(kept._function.__qualname__)
        return load(kept, *types)

    jit._Kept.load_overload = noted  # type: ignore[method-assign]
    TASKS[task](PUZZLE, chunk, shared)
    return found


for task, chunk, shared in asked(configurations()):
    sys.stdout.flush()
    if not (child := os.fork()):
        print(json.dumps([task, called_besides(task, chunk, shared)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
