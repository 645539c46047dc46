"""Prints which kernels a run by threads loads before its clock starts, and which while it works."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.drive import drive
from hakoiri.coordinator.session.job import Job
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.puzzles import jit
from hakoiri.puzzles.registry import PuzzleSpec

found: list[list[str]] = [[]]
load_overload, load_kernels = jit._Kept.load_overload, Job.load_kernels


def _noted(kept: Any, *types: Any) -> Any:
    found[-1].append(kept._function.__qualname__)
    return load_overload(kept, *types)


def _then_works(job: Job, by_hosts: bool) -> None:
    load_kernels(job, by_hosts)
    found.append([])


jit._Kept.load_overload = _noted  # type: ignore[method-assign]
Job.load_kernels = _then_works  # type: ignore[method-assign]
# Layers both small and cut into chunks.
resources = Resources(farm_from=100, chunk=100)
with tempfile.TemporaryDirectory() as folder:
    spec = PuzzleSpec(sys.argv[1], {})
    drive(make_run(Path(folder), spec, "explore", {}, Resources()), resources, Control(), SilentObserver())
print(json.dumps([found[0], found[-1]]))
