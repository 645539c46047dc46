"""Probes (`coordinator.layers.probe`) as plain values, with what a run would need."""

import shutil
from pathlib import Path
from typing import Any

from hakoiri.coordinator.layers.probe import probe, probe_whole
from hakoiri.coordinator.session.resources import Resources
from hakoiri.puzzles.contract import Puzzle

#: A run that takes longer is not ended by most.
_MOST_SECONDS = 7 * 86_400


def probe_row(puzzle: Puzzle, resources: Resources, data: Path, whole: bool = False) -> dict[str, Any]:
    """Return the figures of a probe (`coordinator.layers.probe`), and what a run with runs in `data` would need.

    `fits` is false if the disk is too small or a week too short, ``None`` if the size of the space is unknown.
    """
    found = probe_whole(puzzle) if whole else probe(puzzle)
    there = next(folder for folder in (data.absolute(), *data.absolute().parents) if folder.exists())
    disk, free, seconds = found.stored_bytes, shutil.disk_usage(there).free, found.seconds
    return {
        "puzzle": puzzle.name,
        "start": puzzle.start_text(),
        "configurations": found.configurations,
        "exhausted": found.exhausted,
        "depth": found.depth,
        "goal": puzzle.goal_text() if puzzle.has_goal else None,
        "goal_depth": found.goal_depth,
        "expected": found.expected,
        "memory": resources.budget().memory,
        "disk": disk,
        "free": free,
        "seconds": seconds,
        "fits": None if disk is None or seconds is None else disk < free and seconds < _MOST_SECONDS,
    }
