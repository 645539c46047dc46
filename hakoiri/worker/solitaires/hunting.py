"""One leg of a hunt for hard deals of Gap, by kernels that count positions by their hashes (`worker.deals.hunting`)."""

from functools import cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from hakoiri.puzzles.capabilities import Dealt
from hakoiri.puzzles.errors import Hint, PuzzleError
from hakoiri.puzzles.jit import jit
from hakoiri.puzzles.keys.splitmix import random_below, random_word, random_words
from hakoiri.puzzles.solitaires.cards import MOST_COLUMNS, Card, rows_of
from hakoiri.puzzles.solitaires.kernels import BLANK, SUITS
from hakoiri.puzzles.solitaires.solitaire import Solitaire
from hakoiri.worker.deals.hunting import OBJECTIVES, Leg, WalkResult, score_of
from hakoiri.worker.deals.solving import DealFigures
from hakoiri.worker.errors import TaskError
from hakoiri.worker.solitaires.counting_kernels import Field, Profile, count_positions, early_layers
from hakoiri.worker.solitaires.solving import as_solitaire, solve
from hakoiri.worker.solitaires.solving_kernels import HashTable, breadth_first

#: The objectives: their indices in `worker.deals.hunting.OBJECTIVES`.
POSITIONS, MOVES, DEPTH = 0, 1, 2
#: The score of a deal without a solution, if moves count, and of one beyond the cap.
UNSOLVABLE, TOO_LARGE = -1, -2
#: The cost of a try besides its positions, in positions, so that a leg over tiny deals ends, too.
TRY_COST = 300
#: A change is screened by its first layers, up to this share of the positions of the deal that it was made from. It is
#: dropped if they have less than `_SLACK` of what they need (docs/how-to/hunt.md). With fewer positions the first
#: layers are not significant.
_SCREENED, _SLACK = 0.1, 0.9
_FIRST_TOLD, _FEWEST_SCREENED = 0.01, 20_000
#: Kinds of exchanges.
_KINDS = 5


def walk(puzzle: Dealt, leg: Leg) -> WalkResult:
    """Walk one leg; no figures are computed if the deal has other ranks than the puzzle, as in a growing deal.

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
            raise TaskError(f"{found} has {figures}, but the hunt counted {most} {leg.objective}")
    return WalkResult(game.text_of_deal(deal_of(game, field)), known, found, most, figures, tried + 1, generated + more)


def figures_of(puzzle: Solitaire, deal: list[Card], cap: int) -> DealFigures:
    """Return all figures of a deal, by an exact search in memory; `PuzzleError` for more than `cap` positions."""
    solved = solve(puzzle, puzzle.start_of(deal), "bfs", "exhausted", cap)
    if not solved.exhausted:
        raise PuzzleError(
            f"{puzzle.text_of_deal(deal)} leads to more positions than the cap of {cap:,}", Hint("raise", "cap")
        )
    return DealFigures.of(solved)


def field_of(puzzle: Solitaire, deal: list[Card]) -> Field:
    """Return the card on each cell; the aces' cells are gaps."""
    field = np.full(len(deal), BLANK, dtype=np.int8)
    field[puzzle.places_of(deal)] = np.arange(SUITS * puzzle.suit_size)
    return field


def deal_of(puzzle: Solitaire, field: Field) -> list[Card]:
    """Return the deal of a field, with the aces in order: the field does not hold which of them was where."""
    aces = iter(range(0, SUITS * puzzle.columns, puzzle.columns))
    return [next(aces) if card == BLANK else _dealt(card, puzzle.suit_size) for card in field.tolist()]


def _dealt(card: int, suit_size: int) -> Card:
    """Return a card of the field as numbered in deals, where each suit begins with its ace."""
    suit, rank = divmod(card, suit_size)
    return suit * (suit_size + 1) + rank + 1


@cache
def _tables() -> tuple[HashTable, HashTable]:
    """Return fixed random words for each card and cell: for places of 8 bits, and for rows one cell wider."""
    cards, cells = SUITS * (MOST_COLUMNS - 1), SUITS * (MOST_COLUMNS + 1)
    words = np.array(list(islice(random_words(1), 2 * cards * cells)), dtype=np.uint64)
    one, other = words.reshape(2, cards, cells)
    return one, other


@jit
def _undo_moves(field: Field, columns: int, state: NDArray[np.uint64]) -> None:
    """Move each card right of its predecessor into some gap, as if it had come from there.

    The new field leads to the given one, so it leads to more positions. Each such step reduces the potential of Gap, so
    they end.
    """
    suit_size = columns - 1
    cell = 0
    while cell < SUITS * columns:
        card = field[cell]
        row, column = divmod(cell, columns)
        first = card == row * suit_size
        in_order = first if column == 0 else card != BLANK and card % suit_size != 0 and field[cell - 1] == card - 1
        if not in_order:
            cell += 1
            continue
        number = random_below(state, SUITS)
        other = -1
        for each in range(SUITS * columns):
            if field[each] == BLANK:
                if number == 0:
                    other = each
                number -= 1
        field[other], field[cell] = card, BLANK
        cell = 0


@jit
def change(field: Field, columns: int, state: NDArray[np.uint64]) -> None:
    """Exchange two cells: any two, cards of one suit or of one rank, a card and a gap, or neighbours.

    Then undo moves, where possible.
    """
    suit_size, cells = columns - 1, SUITS * columns
    kind = random_below(state, _KINDS)
    while True:
        one = random_below(state, cells)
        other = random_below(state, cells)
        if kind == 4:
            other = (one + (1 if other % 2 else columns)) % cells
        a, b = field[one], field[other]
        if a == b or (kind == 3 and BLANK not in (a, b)):
            continue
        if (kind == 1 and a % suit_size != b % suit_size) or (kind == 2 and a // suit_size != b // suit_size):
            continue
        break
    field[one], field[other] = b, a
    _undo_moves(field, columns, state)


@jit
def score(field: Field, columns: int, tables: tuple[HashTable, HashTable], objective: int, cap: int) -> tuple[int, int]:
    """Return (the value to be maximised, the number of positions generated to find it)."""
    if objective == POSITIONS:
        count = count_positions(field, columns, tables[1], cap)
        return (count if count < cap else TOO_LARGE), count
    place = np.empty(SUITS * (columns - 1), dtype=np.uint8)
    for cell in range(SUITS * columns):
        if field[cell] != BLANK:
            place[field[cell]] = cell
    found = breadth_first(place, columns, False, tables[0], 1 if objective == MOVES else 0, cap)
    count, ends, goals, exhausted = found[2], found[3], found[4], found[5]
    if objective == MOVES and goals[0, 0] != BLANK:
        return int(goals[0, 1]), count
    if not exhausted and count == cap:
        return TOO_LARGE, count
    return (UNSOLVABLE if objective == MOVES else len(ends) - 1), count


@jit
def _profile(field: Field, known: int, columns: int, table: HashTable) -> Profile:
    """Return the sizes of the first layers of a deal of `known` positions, 0 where they are not significant."""
    if known < _FEWEST_SCREENED:
        return np.zeros(0, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    profile, _ = early_layers(field, columns, table, none, 0.0, int(known * _SCREENED))
    for depth in range(len(profile)):
        if profile[depth] < known * _FIRST_TOLD:
            profile[depth] = 0
    return profile


@jit
def anneal(
    field: Field, known: int, columns: int, tables: tuple[HashTable, HashTable], objective: int, temperature: float,
    work: int, cap: int, state: NDArray[np.uint64],
) -> tuple[int, Field, int, int, int]:  # fmt: skip
    """Change `field` step by step until `work` positions are generated; it is the last deal of the walk then.

    A worse deal is accepted with the probability exp(gain / temperature) (Kirkpatrick et al., 1983); the gain in
    positions is that of their logarithm. From a deal beyond the cap any step is accepted. The least acceptable gain is
    drawn first, so that most changes are dropped after their first layers. Returns (its score, the best field met, its
    score, deals tried, positions generated).
    """
    spent = tried = 0
    best, most, new = field.copy(), known, field.copy()
    profile = _profile(field, known if objective == POSITIONS else 0, columns, tables[1])
    while spent < work:
        new[:] = field
        change(new, columns, state)
        tried += 1
        spent += TRY_COST
        # Never the logarithm of 0.
        chance = (float(random_word(state) >> np.uint64(11)) + 1.0) / float(1 << 53)
        needed = temperature * np.log(chance)
        if len(profile):
            layers, passed = early_layers(new, columns, tables[1], profile, _SLACK * np.exp(needed), profile[-1])
            spent += layers[-1]
            if not passed:
                continue
        found, generated = score(new, columns, tables, objective, cap)
        spent += generated
        if known == TOO_LARGE:
            gain = 0.0
        elif found == TOO_LARGE:
            continue
        else:
            gain = np.log(found / known) if objective == POSITIONS else float(found - known)
        if gain < needed:
            continue
        known = found
        field[:] = new
        if objective == POSITIONS:
            profile = _profile(field, known, columns, tables[1])
            spent += profile[-1] if len(profile) else 0
        if found > most:
            most = found
            best[:] = new
    return known, best, most, tried, spent - tried * TRY_COST
