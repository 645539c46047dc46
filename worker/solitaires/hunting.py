"""One leg of a hunt for hard deals of Gap: a walk from a deal by simulated annealing, a pure function of its request.

What makes a deal hard is one of `OBJECTIVES`: the positions that it leads to, its least moves to the goal, or the depth
of its last layer. The walk is counted in positions generated, never in seconds, so that every machine walks the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from puzzles.errors import PuzzleError
from puzzles.jit import prepare
from puzzles.keys.splitmix import random_words
from puzzles.solitaires.cards import Card
from puzzles.solitaires.gap import Gap
from puzzles.solitaires.kernels import BLANK, SUITS
from puzzles.solitaires.placing import MOST_COLUMNS
from worker.errors import TaskError
from worker.solitaires.counting_kernels import Field
from worker.solitaires.hunting_kernels import anneal, score
from worker.solitaires.solving import solve
from worker.solitaires.solving_kernels import HashTable

Objective = Literal["positions", "moves", "depth"]
#: In the order of their numbers in `worker.solitaires.hunting_kernels`.
OBJECTIVES: tuple[Objective, ...] = get_args(Objective)
_MILLIONTHS = 1_000_000


@dataclass(frozen=True)
class Figures:
    """What is known of a deal: its positions, least moves to the goal (``None`` without one) and last layer."""

    positions: int
    moves: int | None
    depth: int

    def score(self, objective: Objective) -> int:
        """What is maximised."""
        value: int | None = getattr(self, objective)
        return -1 if value is None else value


@dataclass(frozen=True)
class Leg:
    """A walk that is asked for.

    It sets out from `deal` and ends when `work` positions are generated. Deals of `cap` positions or more are passed
    over. Of the best deal met all figures are found out if its score is more than `above`.
    """

    deal: list[Card]
    objective: Objective
    seed: int
    temperature: float
    work: int
    cap: int
    above: int


@dataclass(frozen=True)
class Walked:
    """Where a walk ended, the best deal that it met, both with their scores, and what it cost."""

    deal: list[Card]
    score: int
    best: list[Card]
    best_score: int
    figures: Figures | None
    tried: int
    generated: int


def walk(puzzle: Gap, leg: Leg) -> Walked:
    """Walk one leg; that of a deal of other ranks than the puzzle's, which is on its way there, finds no figures.

    Raises `TaskError` if the figures of the best deal are not those that the walk had.
    """
    prepare(load_hunting_kernels)
    full, puzzle = puzzle, sized(puzzle, leg.deal)
    number, columns, field = OBJECTIVES.index(leg.objective), puzzle.columns, field_of(puzzle, leg.deal)
    known, generated = score(field, columns, _tables(), number, leg.cap)
    state = np.array([leg.seed], dtype=np.uint64)
    known, best, most, tried, more = anneal(
        field, known, columns, _tables(), number, leg.temperature, leg.work, leg.cap, state
    )
    found, figures = deal_of(puzzle, best), None
    if most > leg.above and puzzle is full:
        figures = figures_of(puzzle, found, leg.cap)
        if figures.score(leg.objective) != most:
            raise TaskError(f"{puzzle.text_of_deal(found)}: the hunt found {most} {leg.objective}, but it is {figures}")
    return Walked(deal_of(puzzle, field), known, found, most, figures, tried + 1, generated + more)


def sized(puzzle: Gap, deal: Sequence[Card]) -> Gap:
    """`puzzle`, or where a deal is of other ranks, that of its ranks."""
    ranks = len(deal) // SUITS
    return puzzle if ranks == puzzle.columns else Gap({"ranks": str(ranks)})


def figures_of(puzzle: Gap, deal: list[Card], cap: int) -> Figures:
    """All figures of a deal, by an exact search in memory; `PuzzleError` if it leads to more than `cap` positions."""
    solved = solve(puzzle, puzzle.places_of(deal), "bfs", "exhausted", cap)
    if not solved.exhausted:
        raise PuzzleError(f"{puzzle.text_of_deal(deal)} leads to more than {cap:,} positions; give a greater --cap")
    return Figures(solved.positions, None if solved.goal is None else len(solved.goal.moves), solved.depth)


def field_of(puzzle: Gap, deal: list[Card]) -> Field:
    """For each cell the card on it; the aces' cells are gaps."""
    field = np.full(len(deal), BLANK, dtype=np.int8)
    field[puzzle.places_of(deal)] = np.arange(SUITS * puzzle.run)
    return field


def deal_of(puzzle: Gap, field: Field) -> list[Card]:
    """The deal of a field; which ace lay on which gap is not known, so they come in order."""
    aces = iter(range(0, SUITS * puzzle.columns, puzzle.columns))
    return [next(aces) if card == BLANK else _dealt(card, puzzle.run) for card in field.tolist()]


def _dealt(card: int, run: int) -> Card:
    """A card of the field among those of the deal, where each suit begins with its ace."""
    suit, rank = divmod(card, run)
    return suit * (run + 1) + rank + 1


def request(leg: Leg) -> list[NDArray[Any]]:
    """What the task ``hunt`` is sent (`worker.tasks`)."""
    header = [OBJECTIVES.index(leg.objective), round(leg.temperature * _MILLIONTHS), leg.work, leg.cap, leg.above]
    seed = np.array([leg.seed], dtype=np.uint64)
    return [np.array(leg.deal, dtype=np.uint8), np.array(header, dtype=np.int64), seed]


def asked(chunk: Sequence[NDArray[Any]]) -> Leg:
    """The inverse of `request`."""
    deal, header, seed = chunk
    objective, millionths, work, cap, above = header.tolist()
    return Leg(deal.tolist(), OBJECTIVES[objective], int(seed[0]), millionths / _MILLIONTHS, work, cap, above)


def answer(walked: Walked) -> list[NDArray[Any]]:
    """A result as arrays."""
    figures = []
    if walked.figures is not None:
        moves = walked.figures.moves
        figures = [walked.figures.positions, -1 if moves is None else moves, walked.figures.depth]
    header = [walked.score, walked.best_score, walked.tried, walked.generated, *figures]
    deals = [np.array(deal, dtype=np.uint8) for deal in (walked.deal, walked.best)]
    return [*deals, np.array(header, dtype=np.int64)]


def answered(result: Sequence[NDArray[Any]]) -> Walked:
    """The inverse of `answer`."""
    deal, best, header = result
    score, best_score, tried, generated, *more = header.tolist()
    figures = Figures(more[0], None if more[1] < 0 else more[1], more[2]) if more else None
    return Walked(deal.tolist(), score, best.tolist(), best_score, figures, tried, generated)


@cache
def load_hunting_kernels() -> None:
    """Bring what a leg calls into this process, or compile it."""
    field = np.array([BLANK, *range(1, 7), BLANK, 0, BLANK, 7, BLANK][:12], dtype=np.int8)
    anneal(field, 1, 3, _tables(), 0, 1.0, 1, 2, np.zeros(1, dtype=np.uint64))
    figures_of(Gap({"ranks": "3"}), list(range(12)), 1000)


@cache
def _tables() -> tuple[HashTable, HashTable]:
    """Random words for each card and cell, always the same: for places of 8 bits, and for rows one cell wider."""
    cards, cells = SUITS * (MOST_COLUMNS - 1), SUITS * (MOST_COLUMNS + 1)
    words = np.array(list(islice(random_words(1), 2 * cards * cells)), dtype=np.uint64)
    one, other = words.reshape(2, cards, cells)
    return one, other
