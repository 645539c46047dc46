"""What workers do, by name: this table is all that a message from Redis can ask for.

A task is a pure function of the puzzle, the arrays of one chunk, and arrays shared by all chunks of a stage. So it
may be done twice, late, or by anybody, with the same result.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.capabilities import Dealt, Family, Placements, Reversible, Scored
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.errors import NO_FAULT
from hakoiri.puzzles.keys.order import members, sort_keys
from hakoiri.storage.layers.digest import lanes_of
from hakoiri.worker.deals import hunting, solving
from hakoiri.worker.errors import TaskError
from hakoiri.worker.graphs import family
from hakoiri.worker.graphs.closed import component_distances
from hakoiri.worker.graphs.forests import balance, fold
from hakoiri.worker.graphs.lanes import look_from, narrowed, pairs_at
from hakoiri.worker.graphs.searches import Graph, eccentricities_of
from hakoiri.worker.graphs.strong import all_diameters, bounded_diameter
from hakoiri.worker.layers.bloom import may_hold
from hakoiri.worker.layers.deriving import derive
from hakoiri.worker.layers.kernels import simple_edges
from hakoiri.worker.layers.partition import scatter
from hakoiri.worker.nakuron import tilting
from hakoiri.worker.plays import moving
from hakoiri.worker.solitaires import hunting as hunting_cards
from hakoiri.worker.solitaires import solving as solving_cards

Array = NDArray[Any]
Arrays = Sequence[Array]
Task = Callable[[Puzzle, Arrays, Arrays], Arrays]
_Made = TypeVar("_Made")


def sift_goals(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the table of a partition] -> [the goals among them by key range, where each range ends]."""
    (keys,) = chunk
    (table,) = shared
    return scatter(keys[puzzle.is_goal(keys)] if len(keys) else keys, table)


def sift_leading(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the table, increasing targets] -> those that lead to a target, as of `sift_goals`."""
    (keys,) = chunk
    table, targets = shared
    if not len(keys):
        return scatter(keys, table)
    successors, counts = puzzle.expand(keys)
    owners = np.repeat(np.arange(len(keys)), counts)
    leading = np.bincount(owners[members(targets, successors)], minlength=len(keys)) > 0
    return scatter(keys[leading], table)


def sift_before(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys], shared [the table of a partition, a filter] -> what leads to them and passes it, as of `sift_goals`."""
    if not isinstance(puzzle, Reversible):
        raise TaskError(f"{puzzle.name} knows no moves backwards")
    (keys,) = chunk
    table, words = shared
    before = puzzle.retract(keys).successors
    return scatter(before[may_hold(words, before)], table)


def neighbours(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [successors of each key in turn, distinct, sorted, without the key itself; how many each has]."""
    (keys,) = chunk
    return simple_edges(keys, *puzzle.expand(keys))


def forest(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys] -> [pairs that hang together as their moves do (`worker.graphs.forests`); how many moves, the balance]."""
    (keys,) = chunk
    targets, counts = simple_edges(keys, *puzzle.expand(keys))
    figures = np.array([len(targets), balance(keys, targets, counts)], dtype=np.uint64)
    return [fold(keys, targets, counts, puzzle.undirected), figures]


def eccentricities(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[keys, the place of the first of each] of some small components -> as `component_distances` has it."""
    return component_distances(puzzle, *chunk)


def diameters(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[offsets, targets, the first vertex of each and the end, or 0] of strong components, or of one -> `Diameters`."""
    offsets, targets, firsts = chunk
    graph = Graph(offsets, targets)
    return [all_diameters(graph, firsts) if len(firsts) > 1 else bounded_diameter(graph)]


def searches(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[vertices] of the shared graph -> [their eccentricities, by a search from each]."""
    return [eccentricities_of(Graph(*shared), chunk[0])]


def look(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, packed bits of who is searched from, size of a side] in the shared graph -> `Looked`, narrowed."""
    sources, searched, evens = chunk
    graph = Graph(*shared)
    known = np.unpackbits(searched, count=len(graph.offsets) - 1).view(np.bool_)
    looked = look_from(graph, int(evens[0]), sources, known)
    return [*looked[:-1], narrowed(looked.away)]


def pairs(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[sources, their eccentricity] in the shared graph -> [all pairs (source, vertex) that are so far apart]."""
    sources, distance = chunk
    return [pairs_at(Graph(*shared), sources, int(distance[0]))]


def solve_deal(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[a start, how to search] -> what was found (`worker.deals.solving.request`, `.answer`)."""
    if not isinstance(puzzle, Dealt):
        raise TaskError(f"{puzzle.name} has no deals to solve")
    return solving.answer(SOLVERS[puzzle.solver].solve(*solving.read_request(puzzle, chunk)))


def hunt(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[a deal, how to walk from it] -> where the walk ended, the best deal (`worker.deals.hunting`)."""
    if not isinstance(puzzle, Dealt):
        raise TaskError(f"{puzzle.name} has no deals to hunt for")
    return solving.answer(_WALKERS[puzzle.walker].walk(puzzle, hunting.read_request(chunk)))


def member(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[which member of the family, which of its components] -> what is known of these (`worker.graphs.family`)."""
    if not isinstance(puzzle, Family):
        raise TaskError(f"{puzzle.name} is no family")
    return family.answer(family.measure(puzzle, family.read_request(chunk)))


def subtrees(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[roots] -> [solutions, orbits, classes, nodes, microseconds; lanes; what was found, increasing].

    As in `SubtreeCounts`; the lanes are those of the digest of what was found, which itself is left out
    where the puzzle only counts. The microseconds of the processor are the one part that another worker may have
    otherwise.
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
    """[boards, parents, moves], shared as the puzzle has it -> the boards that they lead to (`worker.plays.moving`)."""
    moved: Arrays = _mover(puzzle).move(puzzle, chunk, shared)
    return moved


def play(puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> Arrays:
    """[which games], shared as for `move`, then the first board -> the best of them (`worker.plays.moving`)."""
    played: Arrays = _mover(puzzle).play(puzzle, chunk, shared)
    return played


def _mover(puzzle: Puzzle) -> Any:
    if not isinstance(puzzle, Scored):
        raise TaskError(f"{puzzle.name} has no moves that score")
    return _MOVERS[puzzle.mover]


#: What `puzzles.capabilities.Dealt` and `.Scored` name.
SOLVERS = {"layers": solving, "cards": solving_cards}
_MOVERS = {"keys": moving, "planes": tilting}
_WALKERS = {"deals": hunting, "cards": hunting_cards}

TASKS: dict[str, Task] = {
    "before": sift_before,
    "derive": derive,
    "diameters": diameters,
    "eccentricities": eccentricities,
    "forest": forest,
    "goals": sift_goals,
    "hunt": hunt,
    "leading": sift_leading,
    "look": look,
    "member": member,
    "move": move,
    "neighbours": neighbours,
    "pairs": pairs,
    "play": play,
    "searches": searches,
    "solve": solve_deal,
    "subtrees": subtrees,
}


def do_task(name: str, puzzle: Puzzle, chunk: Arrays, shared: Arrays) -> list[Array]:
    """The result of a task, done here. Raises as `guarded` does."""
    return list(guarded(name, TASKS[name], puzzle, chunk, shared))


def guarded(name: str, work: Callable[..., _Made], *given: Any) -> _Made:
    """What some work makes. Whatever it raises that is none of our own errors becomes a `TaskError`."""
    try:
        return work(*given)
    except NO_FAULT:
        raise
    except BaseException as error:
        raise TaskError(f"task {name} failed: {type(error).__name__}: {error}") from error
