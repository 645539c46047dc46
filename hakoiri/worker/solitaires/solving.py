"""Solvers of one deal of a solitaire in memory, by kernels, breadth first or depth first, as in the papers."""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.capabilities import Dealt, Move, SearchOrder, Until
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.keys.splitmix import random_words
from hakoiri.puzzles.solitaires.solitaire import Solitaire
from hakoiri.worker.deals.solving import Goal, SolveResult
from hakoiri.worker.errors import TaskError
from hakoiri.worker.solitaires.solving_kernels import HashTable, breadth_first, depth_first, depth_first_remembering
from hakoiri.worker.solitaires.trees import solve_tree

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
    position (`worker.solitaires.trees`).
    """
    began, game = time.thread_time(), as_solitaire(puzzle)
    places = np.array(game.placing.unpack(start), dtype=np.uint8)
    if order == "bfs":
        solved = _breadth_first(game, places, _UNTIL.index(until), cap)
    elif order == "tree":
        solved = solve_tree(game, places, cap)
    elif game.any_ace:
        solved = _depth_first(game, places, _UNTIL.index(until), cap)
    else:
        solved = _depth_first_remembering(game, places, cap, longest=order == "longest")
    return replace(solved, seconds=time.thread_time() - began)


def _breadth_first(puzzle: Solitaire, start: NDArray[np.uint8], wanted: int, cap: int) -> SolveResult:
    held, parents, count, ends, goals, exhausted = breadth_first(
        start, puzzle.columns, puzzle.any_ace, _hash_table(puzzle), wanted, cap
    )
    layers: list[int] = np.diff(ends, prepend=0).tolist()
    goal, fixed = _goals(held, parents, goals)
    return SolveResult(goal, fixed, count, len(layers) - 1, exhausted, layers)


def first_positions(
    puzzle: Solitaire, start: tuple[int, ...], cap: int
) -> tuple[list[tuple[int, ...]], list[int], Callable[[int], list[Move]]]:
    """Return the first `cap` positions from `start`, breadth first, their depths, and a function from index to
    moves.
    """
    held, parents, count, ends, _, _ = breadth_first(
        np.array(start, dtype=np.uint8), puzzle.columns, puzzle.any_ace, _hash_table(puzzle), 0, cap
    )
    depths = np.searchsorted(ends, np.arange(count), side="right").tolist()
    return list(map(tuple, held[:count].tolist())), depths, lambda place: _path(held, parents, place)


def _depth_first(puzzle: Solitaire, start: NDArray[np.uint8], wanted: int, cap: int) -> SolveResult:
    held, parents, count, depth, goals, exhausted = depth_first(start, puzzle.columns, _hash_table(puzzle), wanted, cap)
    goal, fixed = _goals(held, parents, goals)
    return SolveResult(goal, fixed, count, depth, exhausted, [])


def _depth_first_remembering(puzzle: Solitaire, start: NDArray[np.uint8], cap: int, longest: bool) -> SolveResult:
    held, parents, count, depth, goals, exhausted, to_goal = depth_first_remembering(
        start, puzzle.columns, _hash_table(puzzle), cap, -1 if longest else 1
    )
    goal, _ = _goals(held, parents, goals)
    if goal is not None and exhausted:
        goal = replace(goal, moves=_along(puzzle, held[:count], abs(to_goal)))
    return SolveResult(goal, goal, count, depth, exhausted, [])


def _goals(places: NDArray[np.uint8], parents: NDArray[np.int32], goals: NDArray[np.int64]) -> list[Goal | None]:
    """Return both goals with the moves by which the search reached them."""
    return [None if index < 0 else Goal(_path(places, parents, index), found) for index, _, found in goals.tolist()]


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
    by_left: dict[int, set[bytes]] = {}
    for moves in range(left):
        by_left[moves] = {row.tobytes() for row in places[np.flatnonzero(to_goal[: len(places)] == moves)]}
    here, path = [int(cell) for cell in places[0]], list[Move]()
    while left:
        left -= 1
        for card, cell in puzzle.moves(here):
            after = [*here[:card], cell, *here[card + 1 :]]
            if bytes(after) in by_left[left]:
                path.append((card, cell))
                here = after
                break
    return path


def _hash_table(puzzle: Solitaire) -> HashTable:
    """Return a random word for each card and cell, always the same."""
    return _random_table(puzzle.placing.cards, puzzle.placing.cells)


@cache
def _random_table(cards: int, cells: int) -> HashTable:
    words = list(islice(random_words(0), cards * cells))
    return np.array(words, dtype=np.uint64).reshape(cards, cells)


def bytes_of_search(puzzle: Dealt, cap: int) -> int:
    """Return the most memory that `solve` takes: its arrays, and half as much again while they grow."""
    cards, room = as_solitaire(puzzle).placing.cards, 1 << max(12, (cap - 1).bit_length())
    hash_parent_and_order, slots = 24, 8
    return cap * (cards + hash_parent_and_order) + room * slots + room // 2 * (cards + 24)
