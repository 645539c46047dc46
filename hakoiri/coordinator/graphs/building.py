"""A set of configurations as a graph in memory; its moves are found by distributed expansion."""

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.keys.key_index import KeyIndex
from hakoiri.puzzles.keys.layout import Key, Keys, key_at
from hakoiri.puzzles.keys.order import equal_rows, sort_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.graphs.claims import one_way_edge
from hakoiri.worker.graphs.searches import Graph
from hakoiri.worker.plain import Array

#: Vertices are numbered by signed integers of 32 bits.
MOST_VERTICES = int(np.iinfo(np.int32).max)
#: The memory of sorting a list of keys, in copies of the list.
_COPIES = 3


def run_keys(context: ComputeContext, run: RunStore) -> Keys:
    """Return all configurations of a finished run, in order."""
    count = sum(record.size for record in run.layer_records())
    context.budget.require(f"a list of {count:,} configurations", _COPIES * count * run.layout.bytes)
    return sort_keys(np.concatenate([run.layout.empty(0), *map(run.layer, range(run.state.depth + 1))]))


def build_graph(context: ComputeContext, keys: Keys, closed: bool = True) -> Graph:
    """Return the simple graph of the moves between `keys`, which must be sorted; vertex v is ``keys[v]``.

    An edge has the direction of its move; in an undirected puzzle each has its counterpart. Targets are sorted. Loops
    are left out and duplicate moves count once. Moves that leave `keys` are left out, unless `closed` promises that no
    move does. Raises `ContradictionError` if one does, or if a move of an undirected puzzle cannot be taken back;
    `OverBudgetError` if the graph is too large; `StopRun` if the context requests it.
    """
    if len(keys) > MOST_VERTICES:
        raise UnanswerableError(f"{len(keys):,} configurations exceed the limit of {MOST_VERTICES:,} for a graph")
    puzzle, chunks = context.puzzle, context.cut(keys)
    targets: list[Array] = [np.empty(0, dtype=np.int32)] * len(chunks)
    counts: list[Array] = [np.empty(0, dtype=np.uint16)] * len(chunks)
    looked_up = KeyIndex.of(keys)
    held = keys.nbytes + looked_up.table.nbytes
    arrays = ([chunk] for chunk in chunks)
    for number, (successors, degrees) in context.map_chunks("neighbours", arrays, len(keys)):
        context.control.check()
        places = np.minimum(looked_up.lower_bounds(successors), len(keys) - 1)
        inside = equal_rows(keys[places], successors)
        sources = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees)
        if closed and not inside.all():
            raise stray_move(
                puzzle, key_at(chunks[number], sources[~inside][0]), key_at(successors[~inside], 0), len(keys)
            )
        targets[number] = places[inside].astype(np.int32)
        counts[number] = np.bincount(sources[inside], minlength=len(degrees)).astype(np.uint16)
        held += targets[number].nbytes + counts[number].nbytes
        # Graph and parts exist side by side for a moment, then the graph and its copy in component order.
        context.budget.require(f"the graph of {len(keys):,} configurations", 2 * held + 8 * len(keys))
    offsets = np.zeros(len(keys) + 1, dtype=np.int64)
    np.cumsum(np.concatenate(counts), out=offsets[1:])
    graph = Graph(offsets, np.concatenate(targets))
    if puzzle.undirected:
        _require_counterparts(puzzle, keys, graph)
    return graph


def _require_counterparts(puzzle: Puzzle, keys: Keys, graph: Graph) -> None:
    if edge := one_way_edge(graph):
        here, there = (key_at(keys, vertex) for vertex in edge)
        raise ContradictionError(
            f"{puzzle.name} is declared undirected, but {here:#x} ({puzzle.render(here)}) leads to "
            f"{there:#x} ({puzzle.render(there)}) and not back"
        )


def stray_move(puzzle: Puzzle, here: Key, there: Key, configurations: int) -> ContradictionError:
    """Return the error for a move that does not lead to a configuration."""
    return ContradictionError(
        f"{puzzle.name}: {here:#x} ({puzzle.render(here)}) leads to {there:#x}, which is not among the "
        f"{configurations:,} configurations"
    )
