"""The tasks of workers, by name: a message from Redis can request nothing but these.

A task is a pure function of the puzzle, the arrays of one chunk, and arrays shared by all chunks of a stage. So it may
be repeated, late, or done by any worker, with the same result.
"""

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from hakoiri.errors import TaskError
from hakoiri.keys.order import members, sort_keys
from hakoiri.puzzles.capabilities import Dealt, Family, Placements, Reversible, Scored
from hakoiri.puzzles.contract import Puzzle
from hakoiri.storage.layers.blocks import lanes_of
from hakoiri.worker.arguments import Sizes, wrong_array
from hakoiri.worker.census.forests import balance, fold
from hakoiri.worker.graphs.lanes import look_from, narrowed, pairs_at
from hakoiri.worker.graphs.searches import Graph, component_distances, eccentricities_of
from hakoiri.worker.graphs.strong import all_diameters, bounded_diameter
from hakoiri.worker.layers.closed_set import may_hold
from hakoiri.worker.layers.kernels import derive, simple_edges
from hakoiri.worker.layers.partition import scatter, table_of
from hakoiri.worker.layers.ranges import expand_chunk
from hakoiri.worker.plays import moving, tilting
from hakoiri.worker.pool import guarded
from hakoiri.worker.solitaires import hunting as hunting_cards
from hakoiri.worker.solitaires import solving as solving_cards
from hakoiri.worker.studies import deals, designing, family
from hakoiri.worker.transport.payload import Array, Arrays, packed, unpacked

Task = Callable[[Puzzle, Arrays, Arrays], Arrays]
_Made = TypeVar("_Made")


def expand(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts of a partition, `chunk_plan`] -> `ExpandedChunk`: their distinct successors by range."""
    (keys,), (cuts, plan) = chunk, shared
    return expand_chunk(puzzle, keys, cuts, plan)


def filter_goals(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts of a partition] -> [the goals among them by key range, the end of each range]."""
    (keys,) = chunk
    (cuts,) = shared
    return scatter(keys[puzzle.is_goal(keys)] if len(keys) else keys, table_of(cuts))


def filter_leading(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts, increasing targets] -> those with a successor in the targets, as in `filter_goals`."""
    (keys,) = chunk
    cuts, targets = shared
    table = table_of(cuts)
    if not len(keys):
        return scatter(keys, table)
    successors, counts = puzzle.expand(keys)
    owners = np.repeat(np.arange(len(keys)), counts)
    leading = np.bincount(owners[members(targets, successors)], minlength=len(keys)) > 0
    return scatter(keys[leading], table)


def filter_before(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the cuts, a filter] -> their predecessors that pass it, as in `filter_goals`."""
    if not isinstance(puzzle, Reversible):
        raise TaskError(f"{puzzle.name} has no backward moves")
    (keys,) = chunk
    cuts, words = shared
    before = puzzle.unmove(keys).successors
    return scatter(before[may_hold(words, before)], table_of(cuts))


def neighbours(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [the distinct sorted successors of each key in turn, without the key itself; the number of each]."""
    (keys,) = chunk
    return simple_edges(keys, *puzzle.expand(keys))


def forest(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [pairs that connect keys as their moves do (`worker.census.forests`); number of moves, the balance]."""
    (keys,) = chunk
    targets, counts = simple_edges(keys, *puzzle.expand(keys))
    figures = np.array([len(targets), balance(keys, targets, counts)], dtype=np.uint64)
    return [fold(keys, targets, counts, puzzle.undirected), figures]


def eccentricities(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys, the index of the first of each] of some small components -> the result of `component_distances`."""
    return component_distances(puzzle, *chunk)


def diameters(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[offsets, targets, the first vertex of each and the end, or 0] of strong components, or of one -> `Diameters`."""
    offsets, targets, firsts = chunk
    graph = Graph(offsets, targets)
    return [all_diameters(graph, firsts) if len(firsts) > 1 else bounded_diameter(graph)]


def searches(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[vertices] of the shared graph -> [their eccentricities, by a search from each]."""
    return [eccentricities_of(Graph(*shared), chunk[0])[0]]


def look(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, packed bits of vertices searched, size of a side] in the shared graph -> `SearchResults`, narrowed."""
    sources, searched, evens = chunk
    graph = Graph(*shared)
    known = np.unpackbits(searched, count=len(graph.offsets) - 1).view(np.bool_)
    looked = look_from(graph, int(evens[0]), sources, known)
    return [*looked[:-1], narrowed(looked.away)]


def pairs(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, their eccentricity] in the shared graph -> [all pairs (source, vertex) at that distance]."""
    sources, distance = chunk
    return [pairs_at(Graph(*shared), sources, int(distance[0]))]


def solve_deal(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[a start, search options] -> the `SolveResult` (`worker.studies.deals.request`)."""
    if not isinstance(puzzle, Dealt):
        raise TaskError(f"{puzzle.name} has no deals to solve")
    return packed(SOLVERS[puzzle.solver].solve(*deals.read_request(puzzle, chunk)))


def hunt(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[`Leg`] -> the `WalkResult` (`worker.studies.deals`)."""
    if not isinstance(puzzle, Dealt):
        raise TaskError(f"{puzzle.name} does not support hunts")
    return packed(_WALKERS[puzzle.walker].walk(puzzle, unpacked(chunk, deals.Leg)))


def member(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[`MemberRequest`] -> the `Member` (`worker.studies.family`)."""
    if not isinstance(puzzle, Family):
        raise TaskError(f"{puzzle.name} is not a family of boards")
    return packed(family.measure(puzzle, unpacked(chunk, family.MemberRequest)))


def design(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[`DesignRequest`] -> the boards found (`worker.studies.designing`)."""
    if not isinstance(puzzle, Family):
        raise TaskError(f"{puzzle.name} is not a family of boards")
    return packed(designing.design(puzzle, unpacked(chunk, designing.DesignRequest)))


def start(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[`StartRequest`] -> the `StartFigures` (`worker.studies.deals`)."""
    return packed(deals.measure(puzzle, unpacked(chunk, deals.StartRequest)))


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


def move(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[boards, parents, moves], shared as for the puzzle -> the boards that they lead to (`worker.plays.moving`)."""
    moved: Arrays = _mover(puzzle).move(puzzle, chunk, shared)
    return moved


def play(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[a request for games], shared as for `move`, then the first board -> the best game (`worker.plays.moving`)."""
    played: Arrays = _mover(puzzle).play(puzzle, chunk, shared)
    return played


def _mover(puzzle: Puzzle) -> Any:
    if not isinstance(puzzle, Scored):
        raise TaskError(f"{puzzle.name} has no scored moves")
    return _MOVERS[puzzle.mover]


#: The values of `puzzles.capabilities.Dealt.solver`, `.walker` and `Scored.mover`.
SOLVERS = {"layers": deals, "cards": solving_cards}
_MOVERS = {"keys": moving, "planes": tilting}
_WALKERS = {"deals": deals, "cards": hunting_cards}

TASKS: dict[str, Task] = {
    # Searches by layers, and filters of them.
    "expand": expand, "derive": derive, "goals": filter_goals, "leading": filter_leading, "before": filter_before,
    # Graphs.
    "neighbours": neighbours, "forest": forest, "eccentricities": eccentricities, "diameters": diameters,
    "searches": searches, "look": look, "pairs": pairs,
    # Studies, trees and plays.
    "solve": solve_deal, "hunt": hunt, "member": member, "design": design, "start": start, "subtrees": subtrees,
    "move": move, "play": play,
}  # fmt: skip


def checked(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """Return the result of a task with arrays that others have made; `TaskError` for arrays that it does not take."""
    sizes = Sizes()
    wrong = wrong_array(name, "shared", puzzle, shared, sizes) or wrong_array(name, "chunk", puzzle, chunk, sizes)
    if wrong:
        raise TaskError(wrong)
    return TASKS[name](puzzle, chunk, shared)


def do_task(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """Return the result of a task, done in this process. Raises as `guarded` does."""
    return list(guarded(name, TASKS[name], puzzle, chunk, shared))
