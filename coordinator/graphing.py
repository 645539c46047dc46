"""A set of configurations as a graph in memory, its moves found by distributed expansion."""

from collections.abc import Iterable, Iterator

import numpy as np

from coordinator.budget import Budget, bytes_of
from coordinator.errors import ContradictionError
from coordinator.executor import Executor
from puzzles.contract import Puzzle
from puzzles.keys import Keys
from worker.components import one_way_edge
from worker.graphs import Graph
from worker.kernels import split
from worker.tasks import TASKS, Array, Arrays


def build_graph(puzzle: Puzzle, keys: Keys, executor: Executor, budget: Budget) -> Graph:
    """The simple undirected graph of the moves between `keys`, which must be sorted; vertex v is ``keys[v]``.

    Moves that change nothing and doubled moves count once or not at all. Raises `ContradictionError` if a move leaves
    `keys`, or cannot be taken back although the puzzle says so; `OverBudgetError` if the graph is too large.
    """
    size = budget.chunk_size(len(keys), executor.workers, puzzle) if budget.farms(len(keys)) else max(1, len(keys))
    chunks = split(keys, size)
    targets: list[Array] = [np.empty(0, dtype=np.int32)] * len(chunks)
    counts: list[Array] = [np.empty(0, dtype=np.uint16)] * len(chunks)
    held = bytes_of(keys)
    for number, (successors, degrees) in spread("neighbours", puzzle, ([chunk] for chunk in chunks), executor, budget, len(keys)):
        targets[number], counts[number] = _vertices(puzzle, keys, chunks[number], successors, degrees), degrees
        held += targets[number].nbytes + degrees.nbytes
        # Graph and parts exist side by side for a moment, then the graph and its copy in component order.
        budget.require(f"the graph of {len(keys):,} configurations", 2 * held + 8 * len(keys))
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    graph = Graph(offsets, np.concatenate(targets))
    if puzzle.undirected and (edge := one_way_edge(graph)):
        here, there = (int(keys[vertex]) for vertex in edge)
        raise ContradictionError(
            f"{puzzle.name} says that every move can be taken back, but {here:#x} ({puzzle.render(here)}) leads to "
            f"{there:#x} ({puzzle.render(there)}) and not back"
        )
    return graph


def spread(
    task: str, puzzle: Puzzle, chunks: Iterable[Arrays], executor: Executor, budget: Budget, configurations: int,
    shared: Arrays = (),
) -> Iterator[tuple[int, list[Array]]]:  # fmt: skip
    """`executor.map`, or the same work done here where so few configurations are not worth sending."""
    if budget.farms(configurations):
        yield from executor.map(task, chunks, shared)
    else:
        for number, chunk in enumerate(chunks):
            yield number, list(TASKS[task](puzzle, chunk, shared))


def _vertices(puzzle: Puzzle, keys: Keys, chunk: Keys, successors: Keys, degrees: Array) -> Array:
    places = np.searchsorted(keys, successors)
    places[places == len(keys)] = 0
    stray = np.flatnonzero(keys[places] != successors)
    if len(stray):
        here = int(np.repeat(chunk, degrees)[stray[0]])
        there = int(successors[stray[0]])
        raise ContradictionError(
            f"{puzzle.name}: {here:#x} ({puzzle.render(here)}) leads to {there:#x}, which is not among the "
            f"{len(keys):,} configurations"
        )
    return places.astype(np.int32)
