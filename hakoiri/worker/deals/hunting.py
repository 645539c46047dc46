"""One leg of a hunt for hard deals: a walk from a deal by simulated annealing, a pure function of its request.

The objective is one of `OBJECTIVES`: the number of positions reachable from a deal, its least moves to the goal, or the
depth of its last layer. The length of a walk is counted in positions generated, not in seconds, so that every machine
walks the same.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from hakoiri.puzzles.capabilities import Dealt
from hakoiri.puzzles.keys.splitmix import random_words
from hakoiri.worker.deals.solving import DealFigures, hardest_of, solve

Objective = Literal["positions", "moves", "depth"]
#: In the order of their numbers in `worker.solitaires.hunting`.
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
_WORD = 1 << 64
#: The fewest positions that a deal counts as: they stand for the constant cost of a deal.
_LEAST_POSITIONS = 1_000


def score_of(figures: DealFigures, objective: Objective) -> int:
    """Return the value to be maximised; -1 if it is unknown."""
    value: int | None = getattr(figures, objective)
    return -1 if value is None else value


@dataclass(frozen=True)
class Leg:
    """A request for a walk.

    It starts from `deal` and ends when `work` positions are generated. Deals of `cap` positions or more are skipped.
    All figures of the best deal are computed if its score is more than `above`.
    """

    deal: str
    objective: Objective
    seed: int
    temperature: float
    work: int
    cap: int
    above: int


@dataclass(frozen=True)
class WalkResult:
    """The last deal and the best deal of a walk, both with their scores, and the cost."""

    deal: str
    score: int
    best: str
    best_score: int
    figures: DealFigures | None
    tried: int
    generated: int


def walk(puzzle: Dealt, leg: Leg) -> WalkResult:
    """Walk one leg by the puzzle's moves alone; deals of the puzzle's own size."""
    words = random_words(leg.seed)
    here = best = _looked_at(puzzle, leg.deal, leg)
    tried, generated, spent = 1, here.positions, 0
    while spent < leg.work:
        other = _looked_at(puzzle, puzzle.varied(here.deal, next(words)), leg)
        tried, generated = tried + 1, generated + other.positions
        spent += max(other.positions, _LEAST_POSITIONS)
        if other.score < 0 or _worth(other, leg) - _worth(here, leg) < leg.temperature * math.log(
            (next(words) + 1) / _WORD
        ):
            continue
        here = other
        best = max(best, here, key=lambda looked: looked.score)
    figures = None
    if best.score > leg.above:
        figures = DealFigures.of(solve(puzzle, puzzle.parse(best.deal), "bfs", "exhausted", leg.cap))
    return WalkResult(here.deal, here.score, best.deal, best.score, figures, tried, generated)


@dataclass(frozen=True)
class _ScoredDeal:
    """A deal, its score (-1 if it is skipped), and the number of positions generated to find it."""

    deal: str
    score: int
    positions: int


def _looked_at(puzzle: Dealt, deal: str, leg: Leg) -> _ScoredDeal:
    if puzzle.judged_together and leg.objective == "moves":
        hardest, moves, positions = hardest_of(puzzle, puzzle.parse(deal), leg.cap)
        return _ScoredDeal(puzzle.render(hardest), moves, max(positions, _LEAST_POSITIONS))
    solved = solve(puzzle, puzzle.parse(deal), "bfs", "exhausted", leg.cap)
    score = score_of(DealFigures.of(solved), leg.objective) if solved.exhausted else -1
    return _ScoredDeal(deal, score, max(solved.positions, _LEAST_POSITIONS))


def _worth(looked: _ScoredDeal, leg: Leg) -> float:
    """Return the score of a deal in the units of temperatures: logarithms of positions, or moves."""
    return math.log(max(1, looked.score)) if leg.objective == "positions" else looked.score
