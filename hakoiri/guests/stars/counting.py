"""The task of search trees: the subtrees below a chunk of roots, counted (`worker.tasks`)."""

import time

import numpy as np

from hakoiri.errors import TaskError
from hakoiri.guests.stars.placements import Placements
from hakoiri.keys.order import sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import lanes_of
from hakoiri.worker.transport.payload import Array, Arrays

#: Where the first array of an answer has the time that it took.
_SECONDS = 4


def subtrees(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[roots] -> [solutions, orbits, classes, nodes, microseconds; lanes; the solutions found, increasing].

    As in `SubtreeCounts`; the lanes are those of the digest of the solutions, which are left out themselves if the
    puzzle only counts. The microseconds of processor time are the only part that may differ between workers.
    """
    if not isinstance(puzzle, Placements):
        raise TaskError(f"{puzzle.name} has no subtrees")
    (roots,) = chunk
    began = time.thread_time()
    counted = puzzle.count_subtrees(roots)
    found = sort_keys(counted.found)
    tally = [counted.solutions, counted.orbits, counted.classes, counted.nodes, (time.thread_time() - began) * 1e6]
    lanes = np.array(lanes_of(found), dtype=np.uint64)
    return [np.array(tally, dtype=np.int64), lanes, found if puzzle.keeps else found[:0]]


def untimed(answer: Arrays) -> list[Array]:
    """Return an answer without the time that it took."""
    return [np.delete(answer[0], _SECONDS), *answer[1:]]
