"""One leg of a hunt for hard deals of Gap, by kernels that count positions by their hashes (`worker.deals.hunting`)."""

from functools import cache
from itertools import islice

import numpy as np

from puzzles.capabilities import Dealt
from puzzles.errors import PuzzleError, Step
from puzzles.keys.splitmix import random_words
from puzzles.solitaires.cards import MOST_COLUMNS, Card, rows_of
from puzzles.solitaires.kernels import BLANK, SUITS
from puzzles.solitaires.solitaire import Solitaire
from worker.deals.hunting import OBJECTIVES, Leg, Walked, score_of
from worker.deals.solving import DealFigures
from worker.errors import TaskError
from worker.solitaires.counting_kernels import Field
from worker.solitaires.hunting_kernels import anneal, score
from worker.solitaires.solving import as_solitaire, solve
from worker.solitaires.solving_kernels import HashTable


def walk(puzzle: Dealt, leg: Leg) -> Walked:
    """Walk one leg; if the deal has other ranks than the puzzle, on its way there, no figures are found.

    Raises `TaskError` if the figures of the best deal are not those of the walk.
    """
    full = as_solitaire(puzzle)
    columns = len(rows_of(leg.deal)[0])
    game = full if columns == full.columns else full.sized(columns)
    number, field = OBJECTIVES.index(leg.objective), field_of(game, game.parse_deal(leg.deal))
    known, generated = score(field, columns, _tables(), number, leg.cap)
    state = np.array([leg.seed], dtype=np.uint64)
    known, best, most, tried, more = anneal(
        field, known, columns, _tables(), number, leg.temperature, leg.work, leg.cap, state
    )
    found, figures = game.text_of_deal(deal_of(game, best)), None
    if most > leg.above and game is full:
        figures = figures_of(game, deal_of(game, best), leg.cap)
        if score_of(figures, leg.objective) != most:
            raise TaskError(f"{found}: the hunt found {most} {leg.objective}, but it is {figures}")
    return Walked(game.text_of_deal(deal_of(game, field)), known, found, most, figures, tried + 1, generated + more)


def figures_of(puzzle: Solitaire, deal: list[Card], cap: int) -> DealFigures:
    """All figures of a deal, by an exact search in memory; `PuzzleError` if it leads to more than `cap` positions."""
    solved = solve(puzzle, puzzle.start_of(deal), "bfs", "exhausted", cap)
    if not solved.exhausted:
        raise PuzzleError(f"{puzzle.text_of_deal(deal)} leads to more than {cap:,} positions", Step("raise", "cap"))
    return DealFigures.of(solved)


def field_of(puzzle: Solitaire, deal: list[Card]) -> Field:
    """For each cell the card on it; the aces' cells are gaps."""
    field = np.full(len(deal), BLANK, dtype=np.int8)
    field[puzzle.places_of(deal)] = np.arange(SUITS * puzzle.suit_size)
    return field


def deal_of(puzzle: Solitaire, field: Field) -> list[Card]:
    """The deal of a field; which ace lay on which gap is not known, so they are taken in order."""
    aces = iter(range(0, SUITS * puzzle.columns, puzzle.columns))
    return [next(aces) if card == BLANK else _dealt(card, puzzle.suit_size) for card in field.tolist()]


def _dealt(card: int, suit_size: int) -> Card:
    """A card of the field among those of the deal, where each suit begins with its ace."""
    suit, rank = divmod(card, suit_size)
    return suit * (suit_size + 1) + rank + 1


@cache
def _tables() -> tuple[HashTable, HashTable]:
    """Random words for each card and cell, always the same: for places of 8 bits, and for rows one cell wider."""
    cards, cells = SUITS * (MOST_COLUMNS - 1), SUITS * (MOST_COLUMNS + 1)
    words = np.array(list(islice(random_words(1), 2 * cards * cells)), dtype=np.uint64)
    one, other = words.reshape(2, cards, cells)
    return one, other
