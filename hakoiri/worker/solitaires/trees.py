"""Depth-first search of Gap without memory of positions (infeasible by Ishihata's paper), and its estimated size.

A position is searched anew each time it is met, so the positions generated are the nodes of a tree. If a cap stops the
search, Knuth's method estimates the size of the tree ("Estimating the efficiency of backtrack programs", 1975). The sum
of the products of the numbers of moves along a random walk has the number of nodes as its mean.
"""

from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.capabilities import Move
from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.splitmix import random_below, random_words
from hakoiri.puzzles.solitaires.kernels import MOST_MOVES, SUITS, Places, lay_out, list_moves
from hakoiri.puzzles.solitaires.solitaire import Solitaire
from hakoiri.worker.deals.solving import Goal, SolveResult
from hakoiri.worker.solitaires.solving_kernels import goal_kind

#: Walks per estimate.
_WALKS = 100_000
Steps = NDArray[np.int64]


def solve_tree(puzzle: Solitaire, start: NDArray[np.uint8], cap: int) -> SolveResult:
    """Search without memory until `cap` positions are generated; estimate the tree if the search is stopped."""
    steps = np.empty((SUITS * puzzle.columns**2, 3), dtype=np.int64)
    count, depth, best, best_at, finished = _search(start.copy(), puzzle.columns, cap, steps)
    goal = None
    if best >= 0:
        moves: list[Move] = [(int(card), int(cell)) for card, cell, _ in steps[:best]]
        goal = Goal(moves, best_at)
    if finished:
        return SolveResult(goal, goal, count, depth, True, [])
    state = np.array(list(islice(random_words(0), 1)), dtype=np.uint64)
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
