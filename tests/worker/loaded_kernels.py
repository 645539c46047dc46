"""Prints the kernels that tasks on graphs, runs by threads and runs by hosts load; each in a process of its own.

The line of a task, in JSON, has the kernels that the task calls and its loader does not load. The line of a puzzle of
`RUNS` has two lists: the kernels that its run loads before its clock starts, and those it loads while it works. The two
lines of a puzzle of `HOSTED` have the kernels that hosts call and have not loaded, for its layers and for its space.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri import compiling
from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.hosts import layers
from hakoiri.worker.hosts.host import Host
from hakoiri.worker.tasks import TASKS
from hakoiri.worker.transport.payload import Arrays
from hakoiri.worker.warm import kernels_of
from tests.support.near_hosts import near_hosts

#: Puzzles whose runs are looked at.
RUNS = ("klotski", "gap")
#: Puzzles whose runs by hosts are looked at, with their options.
HOSTED = {"tiles": {"rows": "2", "columns": "3"}, "topspin": {"n": "7", "k": "4"}, "klotski": {}}
PUZZLE = PuzzleSpec("tiles", {"rows": "2", "columns": "2"}).build()
#: Two rings of three vertices, and the first of them.
RINGS: list[np.ndarray] = [np.arange(7, dtype=np.int64), np.array([1, 2, 0, 4, 5, 3], dtype=np.int32)]
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
    """Tasks, each with its chunk and the shared arrays."""
    vertex, searched = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.uint8)
    first, zero, both = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), [*RINGS, np.array([0, 3, 6])]
    return [
        ("neighbours", [keys], []), ("forest", [keys], []), ("eccentricities", [keys, first], []),
        ("diameters", both, []), ("diameters", [*RING, first], []), ("searches", [vertex], RING),
        ("look", [vertex, searched, np.array([3])], RING), ("pairs", [vertex, zero + 1], RING),
    ]  # fmt: skip


def noted(found: list[list[str]]) -> None:
    """Append the name of each kernel that is loaded from now on to the last list of `found`."""
    load = compiling._Kept.load_overload

    def note(kept: Any, *types: Any) -> Any:
        found[-1].append(kept._function.__qualname__)
        return load(kept, *types)

    compiling._Kept.load_overload = note  # type: ignore[assignment, method-assign]


def called_besides(task: str, chunk: Arrays, shared: Arrays) -> list[str]:
    """The kernels that a task calls and its loader does not load."""
    found: list[list[str]] = [[]]
    kernels_of(task)(PUZZLE)
    noted(found)
    TASKS[task](PUZZLE, chunk, shared)
    return found[0]


def loaded_by_run(puzzle: str) -> tuple[list[str], list[str]]:
    """The kernels that a run by threads loads before its clock starts, and while it works."""
    found: list[list[str]] = [[]]
    load_kernels = Job.load_kernels

    def then_work(job: Job, by_hosts: bool) -> None:
        load_kernels(job, by_hosts)
        found.append([])

    noted(found)
    Job.load_kernels = then_work  # type: ignore[assignment, method-assign]
    # Layers both small and cut into chunks.
    resources = Resources(farm=100, chunk=100)
    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), PuzzleSpec(puzzle, {}), "explore", {}, Resources())
        drive(run, resources, Control(), SilentObserver())
    return found[0], found[-1]


def called_by_hosts(puzzle: str, kind: str) -> list[str]:
    """The kernels that hosts call in a run of a kind and have not loaded for what is asked."""
    called, others = list[str](), list[str]()
    found, perform = [others], Host.perform

    def loaded_first(host: Host, task: str, rules: Puzzle, *more: Any) -> list[np.ndarray]:
        kernels_of(task)(rules)
        found.append(called)
        try:
            return perform(host, task, rules, *more)
        finally:
            found.append(others)

    noted(found)
    Host.perform = loaded_first  # type: ignore[assignment, method-assign]
    # The coordinator of another process has kernels of its own.
    Job.load_kernels = lambda *_: None  # type: ignore[method-assign]
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patched,
        near_hosts(Path(folder, "hosts"), patched),
    ):
        # Less than a layer is expanded before it, as a sample.
        patched.setattr(layers, "_LEAST_SAMPLED", 16)
        run = make_run(Path(folder), PuzzleSpec(puzzle, HOSTED[puzzle]), kind, {}, Resources())
        drive(run, Resources(farm=1), Control(), SilentObserver())
    return called


def say(name: str, kernels: Callable[..., Any], *arguments: Any) -> None:
    """Print in a process of its own what `kernels` returns."""
    sys.stdout.flush()
    if not (child := os.fork()):
        print(json.dumps([name, kernels(*arguments)]), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


if __name__ == "__main__":
    for task, chunk, shared in asked(configurations()):
        say(task, called_besides, task, chunk, shared)
    for puzzle in RUNS:
        say(puzzle, loaded_by_run, puzzle)
    for puzzle in HOSTED:
        for kind in ("explore", "census"):
            say(f"{puzzle} by hosts", called_by_hosts, puzzle, kind)
