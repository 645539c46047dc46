"""The best play of a run: of an optimisation the best one found, of an exhausted search a proven one.

A move that scores s and lowers the reserve by d costs M (d - s) + 1. M is larger than the number of moves of any
shortest play, so no cost is negative. All paths to a configuration lower the reserve by the same amount, so the
cheapest one has the highest score, and then the fewest moves. One search by Dijkstra settles all configurations, cycles
included. The best one has the highest score, then the fewest moves, then the least key.
"""

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hakoiri.coordinator.errors import ContradictionError, UnanswerableError, further
from hakoiri.coordinator.layers.job import Explore
from hakoiri.coordinator.layers.search import StoredFigures
from hakoiri.coordinator.session.resources import Budget
from hakoiri.errors import PuzzleError
from hakoiri.guests.nakuron.optimise import Optimise
from hakoiri.guests.nakuron.scored import Scored, Scores
from hakoiri.keys.layout import Keys, key_at
from hakoiri.keys.order import lower_bounds, order_of
from hakoiri.puzzles.contract import Puzzle
from hakoiri.questions.question import Means, Question, Route
from hakoiri.rows.positions import picture_row
from hakoiri.run.answers import Play
from hakoiri.run.opened import OpenRun
from hakoiri.storage.layers.store import RunStore
from hakoiri.worker.graphs.searches import Costs, Graph, cheapest_paths

if TYPE_CHECKING:
    from hakoiri.api import Run

#: Bytes per move, with its copies and the search's heap.
_BYTES_OF_MOVE = 100
_BLOCK = 1 << 16
#: The bound of a cost, with room for the sum over a play.
_MOST_COST = 1 << 62


def best_play(store: RunStore, puzzle: Puzzle, budget: Budget) -> Play:
    """Return the best play of a finished search of a scored puzzle, replayed by the reference rules.

    Raises `OverBudgetError` if the graph does not fit the memory, `UnanswerableError` for an unfinished run, and
    `PuzzleError` if a move scores more than it lowers the reserve.
    """
    scored, reached = require_best_play(store, puzzle), StoredFigures.of(store.state)
    needed = reached.configurations * (_BYTES_OF_MOVE * scored.most_successors + 4 * store.layout.bytes)
    budget.require(f"the best play among {reached.configurations:,} configurations", needed)
    keys = np.concatenate([store.layer(depth) for depth in range(store.state.depth + 1)])
    play = _best(scored, keys[order_of(keys)])
    if (score := scored.replay(play.sequence)) != play.score:
        raise ContradictionError(f"the best play scores {play.score:,}, but {score:,} by the reference rules")
    return play


def require_best_play(store: RunStore, puzzle: Puzzle) -> Scored:
    """Return the puzzle of a finished search of a scored puzzle; `UnanswerableError` or `NotKeptError` for others."""
    if not isinstance(puzzle, Scored):
        raise UnanswerableError(f"{puzzle.name} has no scored moves, so it has no best play")
    if puzzle.several_starts is not None:
        raise UnanswerableError(f"run {store.directory.name} has several starts, so it has no best play")
    name = store.directory.name
    if not StoredFigures.of(store.state).exhausted:
        raise UnanswerableError(f"run {name} is not complete, so its best play is unknown", further(store))
    store.require_kept()
    return puzzle


def _best(puzzle: Scored, keys: Keys) -> Play:
    much, reserves = len(keys) + 1, puzzle.reserves(keys)
    start = int(lower_bounds(keys, puzzle.keys([puzzle.start]))[0])
    if much * int(reserves[start]) >= _MOST_COST:
        raise UnanswerableError(f"the scores of {puzzle.name} are too large for an exact best play")
    found, before = cheapest_paths(*_graph(puzzle, keys, reserves, much), start)
    scores, moves = reserves[start] - reserves - found // much, found % much
    best = int(np.lexsort((moves, -scores))[0])
    places = [best]
    while places[-1] != start:
        places.append(int(before[places[-1]]))
    path = [key_at(keys, place) for place in reversed(places)]
    return Play(int(scores[best]), len(path) - 1, puzzle.write_play(path), True, path)


def _graph(puzzle: Scored, keys: Keys, reserves: Scores, much: int) -> tuple[Graph, Costs]:
    """Return the moves between configurations, and the cost of each."""
    counts, targets, costs = [np.zeros(1, dtype=np.int64)], [], []
    for begin in range(0, len(keys), _BLOCK):
        found = puzzle.scored(keys[begin : begin + _BLOCK])
        sources = np.repeat(np.arange(begin, begin + len(found.counts)), found.counts)
        places = lower_bounds(keys, found.successors)
        taken = reserves[sources] - reserves[places]
        if (wrong := np.flatnonzero(taken < np.maximum(found.scores, 0))).size:
            before, after = (key_at(keys, int(ends[wrong[0]])) for ends in (sources, places))
            raise PuzzleError(
                f"{puzzle.name}: from {puzzle.render(before)} to {puzzle.render(after)} the reserve falls by "
                f"{puzzle.reserve(before) - puzzle.reserve(after)}, and the move scores {puzzle.score(before, after)}; "
                "a move lowers the reserve by at least its score, and never raises it"
            )
        counts.append(found.counts.astype(np.int64))
        targets.append(places.astype(np.int32))
        costs.append(much * (taken - found.scores) + 1)
    return Graph(np.cumsum(np.concatenate(counts)), np.concatenate(targets)), np.concatenate(costs)


def play_of(run: OpenRun) -> Play:
    """Return the best play of a run; `UnanswerableError` for a run without plays."""
    require_plays(run)
    if issubclass(run.kind, Optimise):
        return run.kind(run.store, run.puzzle).best_play()
    return best_play(run.store, run.puzzle, run.resources.budget())


def require_plays(run: OpenRun) -> None:
    """Raise `UnanswerableError` or `NotKeptError` for a run without plays."""
    if issubclass(run.kind, Explore):
        require_best_play(run.store, run.puzzle)
    elif not issubclass(run.kind, Optimise):
        raise UnanswerableError(f"run {run.name} of kind {run.store.manifest.kind} has no plays")


#: The most shapes in the boards of a play that are sent; at least two boards are sent.
_MOST_SHAPES = 40_000


@dataclass(frozen=True)
class BestPlay(Question):
    """Show the best play of a run whose moves score, board by board."""

    route = Route(
        "/play", "play", "The best play of a run whose moves score, board by board.",
        "Return the first `limit` boards of a long play.",
        {"limit": {"default": 200, "ge": 1, "le": 500}}, begins=False,
    )  # fmt: skip

    limit: int

    def ask(self, run: "Run", means: Means) -> dict[str, Any]:
        """Return score, moves and sequence, and the first boards: `filmed` of them."""
        play, puzzle = play_of(run), cast(Scored, run.puzzle)
        boards: list[dict[str, Any]] = []
        shapes = 0
        for found in puzzle.filmed(play.sequence, run.store.manifest.plan.get("board")):
            shapes += sum(len(part.shapes) for part in found.picture.parts)
            if len(boards) == self.limit or (shapes > _MOST_SHAPES and len(boards) >= 2):
                break
            boards.append({"move": found.move, "scored": found.score, "picture": picture_row(found.picture)})
        for board, score in zip(boards, accumulate(board["scored"] for board in boards), strict=True):
            board["score"] = score
        return play.row() | {"proved": play.proved, "filmed": len(boards), "boards": boards}
