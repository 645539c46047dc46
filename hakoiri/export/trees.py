"""The stored solutions of a tree, as CSV or numpy arrays."""

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from hakoiri.opened import OpenRun
from hakoiri.puzzles.keys.layout import ints


def solutions_to_csv(run: OpenRun, target: Path, images: bool) -> int:
    """Write orbit, key and text of each solution; return their number."""
    width, count = run.puzzle.layout.digits, 0
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["orbit", "key", "solution"])
        for orbit, key in solutions(run, images):
            writer.writerow([orbit, f"{key:#0{width}x}", run.puzzle.render(key)])
            count += 1
    return count


def solutions_to_npz(run: OpenRun, target: Path, images: bool) -> int:
    """Write `orbits`, `keys`, and `numbers` by point, shape (solutions, points); return the number."""
    found = list(solutions(run, images))
    keys = run.puzzle.keys([key for _, key in found])
    orbits = np.array([orbit for orbit, _ in found], dtype=np.uint32)
    with target.open("wb") as file:
        np.savez_compressed(file, orbits=orbits, keys=keys, numbers=run.tree.placings(keys))
    return len(found)


def solutions(run: OpenRun, images: bool) -> Iterator[tuple[int, int]]:
    """Yield the number of the orbit and the key of each solution."""
    found = (key for batch in run.solutions() for key in ints(batch))
    for orbit, key in enumerate(found):
        yield from ((orbit, image) for image in (run.tree.images(key) if images else [key]))
