"""The stored solutions of a tree: listed, and written to files."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from hakoiri.coordinator.errors import UnanswerableError
from hakoiri.export.tables import open_table
from hakoiri.guests.stars.job import found_solutions, require_solutions_of
from hakoiri.guests.stars.placements import Placements
from hakoiri.keys.layout import Key, Keys, ints
from hakoiri.run.opened import OpenRun

#: Rows that are written at once.
_GROUP = 10_000


def tree_of(run: OpenRun) -> Placements:
    """Return the puzzle of a run of a tree; `UnanswerableError` for any other."""
    if isinstance(run.puzzle, Placements):
        return run.puzzle
    raise UnanswerableError(f"run {run.name} is not a tree, so it has no solutions to list")


def solutions_of(run: OpenRun) -> Iterator[Keys]:
    """Yield the solutions of a tree in batches: the least image of one solution of each orbit.

    In increasing order if the run is complete, else those found so far. `UnanswerableError` if the run keeps none.
    """
    require_solutions(run)
    return found_solutions(run.store, tree_of(run))


def require_solutions(run: OpenRun) -> None:
    """Raise `UnanswerableError` for a run that keeps no solutions."""
    require_solutions_of(run.store, tree_of(run))


def each_solution(run: OpenRun, images: bool) -> Iterator[tuple[int, Key]]:
    """Yield the number of the orbit and the key of each solution, or with `images` of each of its images."""
    found = (key for batch in solutions_of(run) for key in ints(batch))
    for orbit, key in enumerate(found):
        yield from ((orbit, image) for image in (tree_of(run).images(key) if images else [key]))


def write_solutions(run: OpenRun, target: Path, ending: str, images: bool) -> int:
    """Write the solutions to a file in the format of an ending; return their number.

    ``.csv`` has orbit, key and text. ``.npz`` has `orbits`, `keys`, and `numbers` by point, shape (solutions, points).
    """
    if ending == ".npz":
        found = list(each_solution(run, images))
        keys = run.puzzle.keys([key for _, key in found])
        orbits = np.array([orbit for orbit, _ in found], dtype=np.uint32)
        with target.open("wb") as file:
            np.savez_compressed(file, orbits=orbits, keys=keys, numbers=tree_of(run).placings(keys))
        return len(found)
    rows, count = each_solution(run, images), 0
    with open_table(target, {"orbit": "integer", "key": "text", "solution": "text"}) as write:
        while group := list(islice(rows, _GROUP)):
            numbers, solutions = zip(*group, strict=True)
            write([numbers, map(run.puzzle.layout.text, solutions), map(run.puzzle.render, solutions)])
            count += len(group)
    return count
