"""The best play of a board of Nakuron: the highest score, then the fewest moves, proved on the graph of its boards.

A tilt that drops d balls, s of them through holes of their colour, costs M (d - s) + 1, where M is more than any
shortest play has moves. So no cost is negative, and of all ways to a board, each of which has dropped the same number
of balls, the cheapest is the one with the highest score, and of these the one with the fewest moves: one search by
Dijkstra settles all boards, cycles and all. The best board is the one with the highest score, then the fewest moves,
then the least key.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coordinator.errors import UnanswerableError
from coordinator.session.budget import Budget
from puzzles.contract import Puzzle
from puzzles.keys.layout import Key, Keys, ints, key_at
from puzzles.keys.order import lower_bounds, order_of
from puzzles.nakuron.puzzle import Nakuron
from storage.layers.store import RunStore

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Bytes that a board takes here: itself, at most four moves of it, and their copies in the search.
_BYTES_OF_BOARD = 400
_BLOCK = 1 << 16


class Play(NamedTuple):
    """A play: its score, the side of each move, and among how many boards it is the best."""

    score: int
    sequence: list[int]
    configurations: int

    def row(self) -> dict[str, object]:
        """For ``--json``."""
        return {"score": self.score, "moves": len(self.sequence), "sequence": "".join(map(str, self.sequence))}


def best_play(store: RunStore, puzzle: Puzzle, budget: Budget) -> Play:
    """The best play of a finished run of a scored puzzle.

    Raises `OverBudgetError` where the graph does not fit the memory, `UnanswerableError` for a run not finished.
    """
    if not isinstance(puzzle, Nakuron):
        raise UnanswerableError(f"the moves of {puzzle.name} do not score, so it has no best play")
    if not store.state.exhausted:
        raise UnanswerableError(f"run {store.directory.name} is not finished, so its best play is not known")
    budget.require(f"the best play among {store.state.configurations:,} boards", _needed(store))
    keys = np.concatenate([store.layer(depth) for depth in range(store.state.depth + 1)])
    keys = keys[order_of(keys)]
    return _best(puzzle, keys)


def _needed(store: RunStore) -> int:
    return store.state.configurations * (_BYTES_OF_BOARD + 4 * store.layout.bytes)


def _best(puzzle: Nakuron, keys: Keys) -> Play:
    # Here, because scipy takes a quarter of a second to import.
    from scipy.sparse.csgraph import dijkstra

    much, balls = len(keys) + 1, puzzle.balls(keys)
    start = int(lower_bounds(keys, puzzle.keys([puzzle.start]))[0])
    found, before = dijkstra(_graph(puzzle, keys, balls, much), indices=start, return_predecessors=True)
    # Whole numbers far below 2^53: a ball costs a million or so, and there are a hundred of them.
    costs = np.rint(found).astype(np.int64)
    scores, moves = balls[start] - balls - costs // much, costs % much
    best = int(np.lexsort((moves, -scores))[0])
    boards = [best]
    while boards[-1] != start:
        boards.append(int(before[boards[-1]]))
    sequence = [_side_between(puzzle, *pair) for pair in pairwise(key_at(keys, board) for board in reversed(boards))]
    return Play(int(scores[best]), sequence, len(keys))


def _graph(puzzle: Nakuron, keys: Keys, balls: NDArray[np.int64], much: int) -> "csr_array":
    """The cost of the cheapest move between each two boards."""
    from scipy.sparse import csr_array

    sources, targets, costs = [], [], []
    for begin in range(0, len(keys), _BLOCK):
        found = puzzle.scored(keys[begin : begin + _BLOCK])
        sources.append(np.repeat(np.arange(begin, begin + len(found.counts)), found.counts))
        targets.append(lower_bounds(keys, found.successors))
        lost = balls[sources[-1]] - balls[targets[-1]] - found.scores
        costs.append(much * lost + 1)
    every = np.concatenate(sources), np.concatenate(targets), np.concatenate(costs)
    # Two tilts may lead to one board, and a sparse array would add up what they cost.
    order = np.lexsort((every[2], every[1], every[0]))
    source, target, cost = (each[order] for each in every)
    first = np.append(True, (source[1:] != source[:-1]) | (target[1:] != target[:-1]))[: len(source)]
    entries = cost[first].astype(np.float64), (source[first], target[first])
    return csr_array(entries, shape=(len(keys), len(keys)))


def _side_between(puzzle: Nakuron, before: Key, after: Key) -> int:
    """The tilt that leads from one board to the next; of several the one that scores most."""
    found = puzzle.scored(puzzle.keys([before]))
    leading = [
        (-int(score), int(side))
        for key, side, score in zip(ints(found.successors), found.sides, found.scores, strict=True)
        if key == after
    ]
    return min(leading)[1]
