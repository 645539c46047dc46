"""Solvers of one deal of a solitaire in memory, by kernels, breadth first or depth first, as in the papers.

One of them searches Gap depth first without memory of positions, which Ishihata's paper calls infeasible; its size is
estimated.

A position is searched anew each time it is met, so the positions generated are the nodes of a tree. If a cap stops the
search, Knuth's method estimates the size of the tree ("Estimating the efficiency of backtrack programs", 1975). The sum
of the products of the numbers of moves along a random walk has the number of nodes as its mean.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit
from hakoiri.errors import TaskError
from hakoiri.guests.deals.dealt import Dealt, Move, SearchOrder, Until
from hakoiri.guests.deals.kernels import MOST_MOVES, SUITS, Places, lay_out, list_moves
from hakoiri.guests.deals.searching import Goal, SolveResult
from hakoiri.guests.deals.solitaire import Solitaire, moved
from hakoiri.guests.deals.solving_kernels import (
    HashTable,
    breadth_first,
    depth_first,
    depth_first_remembering,
    goal_kind,
)
from hakoiri.keys.layout import Key
from hakoiri.keys.splitmix import random_below, random_words

#: Walks per estimate.
_WALKS = 100_000
Steps = NDArray[np.int64]


def solve_tree(puzzle: Solitaire, start: NDArray[np.uint8], cap: int) -> SolveResult:
    """Search without memory until `cap` positions are generated; estimate the tree if the search is stopped."""
    steps = np.empty((SUITS * puzzle.columns**2, 3), dtype=np.int64)
    count, depth, best, best_at, finished = _search(start.copy(), puzzle.columns, cap, steps)
    goal = Goal([(card, cell) for card, cell, _ in steps[:best].tolist()], best_at) if best >= 0 else None
    if finished:
        return SolveResult(goal, goal, count, depth, True, [])
    state = np.array([next(random_words(0))], dtype=np.uint64)
    walks = _probe(start, puzzle.columns, _WALKS, state)
    error = float(walks.std(ddof=1)) / _WALKS**0.5
    return SolveResult(goal, goal, count, depth, False, [], tree=float(walks.mean()), tree_error=error)


@jit
def _search(place: Places, columns: int, cap: int, best_steps: Steps) -> tuple[int, int, int, int, bool]:
    """Return (positions generated, depth, moves of the shortest solution met or -1, positions by then, complete).

    The solution is written into `best_steps`. Gaps are tried in reading order.
    """
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((MOST_MOVES, 2), dtype=np.uint8)
    done = np.empty_like(best_steps)
    tried = np.zeros(len(best_steps), dtype=np.int64)
    count, level, deepest, best, best_at = 1, 0, 0, -1, 0
    if goal_kind(place, columns) == 2:
        best, best_at = 0, 1
    while level >= 0:
        blanks = lay_out(place, columns, cells)
        if tried[level] == list_moves(cells, blanks, columns, False, moves):
            level -= 1
            if level >= 0:
                place[done[level, 0]] = done[level, 2]
            continue
        if count == cap:
            return count, deepest, best, best_at, False
        card, target = int(moves[tried[level], 0]), int(moves[tried[level], 1])
        tried[level] += 1
        done[level, 0], done[level, 1], done[level, 2] = card, target, place[card]
        place[card] = target
        level += 1
        tried[level] = 0
        count += 1
        deepest = max(deepest, level)
        if (best < 0 or level < best) and goal_kind(place, columns) == 2:
            best, best_at = level, count
            best_steps[:level] = done[:level]
    return count, deepest, best, best_at, True


@jit
def _probe(start: Places, columns: int, walks: int, state: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return the estimates of some walks."""
    cells = np.empty(SUITS * columns, dtype=np.int8)
    moves = np.empty((MOST_MOVES, 2), dtype=np.uint8)
    found = np.empty(walks, dtype=np.float64)
    for walk in range(walks):
        place = start.copy()
        product = total = 1.0
        while True:
            count = list_moves(cells, lay_out(place, columns, cells), columns, False, moves)
            if count == 0:
                break
            product *= count
            total += product
            chosen = int(random_below(state, count))
            place[int(moves[chosen, 0])] = moves[chosen, 1]
        found[walk] = total
    return found


_UNTIL: tuple[Until, ...] = get_args(Until)


def as_solitaire(puzzle: Dealt) -> Solitaire:
    """Return a puzzle whose `solver` is ``cards``; `TaskError` if it is not a solitaire."""
    if not isinstance(puzzle, Solitaire):
        raise TaskError(f"{puzzle.name} is not a card solitaire")
    return puzzle


def solve(puzzle: Dealt, start: Key, order: SearchOrder, until: Until, cap: int) -> SolveResult:
    """Search from `start` until `until` or until `cap` positions are generated; both goals are the same for Gap.

    Depth first, Gap visits all positions, as its paper says: the first goal need not be the nearest. If the cap stops
    it, its goal is the first one met. `longest` does the same for a solution of most moves; `tree` remembers no
    position.
    """
    began, game = time.thread_time(), as_solitaire(puzzle)
    places, wanted = np.array(game.placing.unpack(start), dtype=np.uint8), _UNTIL.index(until)
    columns, table = game.columns, _hash_table(game.columns)
    if order == "tree":
        solved = solve_tree(game, places, cap)
    elif order == "bfs":
        held, parents, count, ends, goals, exhausted = breadth_first(places, columns, game.any_ace, table, wanted, cap)
        layers: list[int] = np.diff(ends, prepend=0).tolist()
        solved = SolveResult(*_goals(held, parents, goals), count, len(layers) - 1, exhausted, layers)
    elif game.any_ace:
        held, parents, count, depth, goals, exhausted = depth_first(places, columns, table, wanted, cap)
        solved = SolveResult(*_goals(held, parents, goals), count, depth, exhausted, [])
    else:
        held, parents, count, depth, goals, exhausted, to_goal = depth_first_remembering(
            places, columns, table, cap, -1 if order == "longest" else 1
        )
        goal, _ = _goals(held, parents, goals)
        if goal is not None and exhausted:
            goal = replace(goal, moves=_along(game, held[:count], abs(to_goal)))
        solved = SolveResult(goal, goal, count, depth, exhausted, [])
    return replace(solved, seconds=time.thread_time() - began)


def first_positions(
    puzzle: Solitaire, start: tuple[int, ...], cap: int
) -> tuple[list[tuple[int, ...]], list[int], Callable[[int], list[Move]]]:
    """Return the first `cap` positions from `start`, breadth first, their depths, and a function from index to path."""
    places, columns = np.array(start, dtype=np.uint8), puzzle.columns
    held, parents, count, ends, _, _ = breadth_first(places, columns, puzzle.any_ace, _hash_table(columns), 0, cap)
    depths = np.searchsorted(ends, np.arange(count), side="right").tolist()
    return list(map(tuple, held[:count].tolist())), depths, lambda place: _path(held, parents, place)


def _goals(
    places: NDArray[np.uint8], parents: NDArray[np.int32], goals: NDArray[np.int64]
) -> tuple[Goal | None, Goal | None]:
    """Return both goals with the moves by which the search reached them."""
    reached = ((index, found) for index, _, found in goals.tolist())
    first, fixed = (None if index < 0 else Goal(_path(places, parents, index), found) for index, found in reached)
    return first, fixed


def _path(places: NDArray[np.uint8], parents: NDArray[np.int32], index: int) -> list[Move]:
    moves: list[Move] = []
    while (parent := int(parents[index])) >= 0:
        (card,) = np.flatnonzero(places[index] != places[parent])
        moves.append((int(card), int(places[index, card])))
        index = parent
    return moves[::-1]


def _along(puzzle: Solitaire, places: NDArray[np.uint8], to_goal: NDArray[np.int32]) -> list[Move]:
    """Return the moves of a path to the goal, by the reference rules, along decreasing numbers of moves left."""
    left = int(to_goal[0])
    here, path = places[0].tolist(), list[Move]()
    while left:
        left -= 1
        nearer = {row.tobytes() for row in places[np.flatnonzero(to_goal[: len(places)] == left)]}
        path.append(next(move for move in puzzle.moves(here) if bytes(moved(here, *move)) in nearer))
        here = moved(here, *path[-1])
    return path


@cache
def _hash_table(columns: int) -> HashTable:
    """Return a random word for each card and cell, always the same."""
    cards, cells = SUITS * (columns - 1), SUITS * columns
    return np.array(list(islice(random_words(0), cards * cells)), dtype=np.uint64).reshape(cards, cells)


def bytes_of_search(puzzle: Dealt, cap: int) -> int:
    """Return the most memory that `solve` takes: its arrays, and half as much again while they grow."""
    cards, room = as_solitaire(puzzle).placing.cards, 1 << max(12, (cap - 1).bit_length())
    hash_parent_and_order, slots = 24, 8
    return cap * (cards + hash_parent_and_order) + room * slots + room // 2 * (cards + 24)
