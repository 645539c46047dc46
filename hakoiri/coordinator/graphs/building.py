"""Graphs of configurations in memory: the moves of a set of configurations, found by distributed expansion."""

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError
from hakoiri.coordinator.session.session import ComputeContext
from hakoiri.keys.layout import Key, Keys, key_at
from hakoiri.keys.order import KeyIndex, equal_rows, sort_keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.graphs.searches import MOST_VERTICES, Graph, one_way_edge
from hakoiri.worker.transport.payload import Array

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
    puzzle, plan = context.puzzle, context.farm.plan_of(len(keys))
    chunks = context.farm.cut(plan, keys)
    targets: list[Array] = [np.empty(0, dtype=np.int32)] * len(chunks)
    counts: list[Array] = [np.empty(0, dtype=np.uint16)] * len(chunks)
    looked_up = KeyIndex.of(keys)
    held = keys.nbytes + looked_up.table.nbytes
    arrays = ([chunk] for chunk in chunks)
    for number, (successors, degrees) in context.farm.map(plan, "neighbours", arrays):
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
    del targets, counts
    if puzzle.undirected and (edge := one_way_edge(graph)):
        here, there = (key_at(keys, vertex) for vertex in edge)
        raise ContradictionError(
            f"{puzzle.name} is declared undirected, but {here:#x} ({puzzle.render(here)}) leads to "
            f"{there:#x} ({puzzle.render(there)}) and not back"
        )
    return graph


def stray_move(puzzle: Puzzle, here: Key, there: Key, configurations: int) -> ContradictionError:
    """Return the error for a move that does not lead to a configuration."""
    return ContradictionError(
        f"{puzzle.name}: {here:#x} ({puzzle.render(here)}) leads to {there:#x}, which is not among the "
        f"{configurations:,} configurations"
    )
