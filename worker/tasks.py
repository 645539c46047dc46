"""What workers do, by name: this table is all that a message from Redis can ask for.

A task is a pure function of the puzzle, the arrays of one chunk, and arrays shared by all chunks of a stage. So it
may be done twice, late, or by anybody, with the same result.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from puzzles.contract import Puzzle
from puzzles.errors import HakoiriError
from worker.errors import TaskError
from worker.graphs import Graph, all_eccentricities, farthest_pairs, sweep
from worker.kernels import simple_edges, sort_unique

Array = NDArray[Any]
Arrays = Sequence[Array]
Task = Callable[[Puzzle, Arrays, Arrays], Arrays]


def expand(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [their distinct successors, sorted]."""
    (keys,) = chunk
    # A copy, so that the roomy buffer of the expansion does not live on behind a view.
    return [sort_unique(puzzle.expand(keys).successors).copy()]


def neighbours(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [successors of each key in turn, distinct, sorted, without the key itself; how many each has]."""
    (keys,) = chunk
    return simple_edges(keys, *puzzle.expand(keys))


def eccentricities(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[offsets, targets, first vertex of each] of some small components -> [eccentricities, all diametral pairs]."""
    offsets, targets, firsts = chunk
    graph = Graph(offsets, targets)
    found = all_eccentricities(graph)
    diameters = np.maximum.reduceat(found, firsts)
    sizes = np.diff(np.append(firsts, len(found)))
    periphery = np.flatnonzero(found == np.repeat(diameters, sizes)).astype(np.int32)
    return [found, farthest_pairs(graph, periphery)]


def bounds(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources] in the shared graph -> [their eccentricities, lower bounds of all vertices, upper bounds]."""
    (sources,) = chunk
    return sweep(Graph(*shared), sources)


def pairs(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources] in the shared graph -> [all pairs (source, vertex), source < vertex, at the source's eccentricity]."""
    (sources,) = chunk
    return [farthest_pairs(Graph(*shared), sources)]


TASKS: dict[str, Task] = {
    "bounds": bounds,
    "eccentricities": eccentricities,
    "expand": expand,
    "neighbours": neighbours,
    "pairs": pairs,
}


def do_task(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """The result of a task, done here. Whatever it raises that is none of our own errors becomes a `TaskError`."""
    try:
        return list(TASKS[name](puzzle, chunk, shared))
    except (HakoiriError, MemoryError):
        raise
    except Exception as error:
        raise TaskError(f"task {name} failed: {type(error).__name__}: {error}") from error
