"""The inner loop of a hunt for hard deals of Gap: changes of a field, and annealing."""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.keys.splitmix import random_below, random_word
from puzzles.solitaires.kernels import BLANK, SUITS
from worker.solitaires.counting_kernels import Field, Profile, count_positions, early_layers
from worker.solitaires.solving_kernels import HashTable, breadth_first

#: What is maximised: the number of a name in `worker.solitaires.hunting.OBJECTIVES`.
POSITIONS, MOVES, DEPTH = 0, 1, 2
#: The score of a deal that does not lead to the goal, where moves count, and of one beyond the cap.
UNSOLVABLE, TOO_LARGE = -1, -2
#: What a try costs besides its positions, in positions: so a leg over tiny deals ends, too.
TRY_COST = 300
#: A change is screened by its first layers, up to this share of the positions of the deal that it was made from; it is
#: dropped where they have less than `_SLACK` of what they need (measured: docs/hunt.md). With fewer positions the
#: first layers say too little.
_SCREENED, _SLACK = 0.1, 0.9
_FIRST_TOLD, _FEWEST_SCREENED = 0.01, 20_000
#: Kinds of exchanges.
_KINDS = 5


@jit
def _undo_moves(field: Field, columns: int, state: NDArray[np.uint64]) -> None:
    """Put each card that lies right of its predecessor into some gap, as if it had come from there.

    The field that results leads to the one given, so it leads to more positions. The potential of Gap falls with each
    such step, so they end.
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
    """Two cells exchanged: any two, cards of one suit or of one rank, a card and a gap, or neighbours.

    Then moves are undone, where possible.
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
    """(what is maximised, how many positions were generated to find it)."""
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
    """What the first layers of a deal of `known` positions have, 0 where that says too little."""
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
    """Change `field` step by step until `work` positions are generated; it stays where the walk ends.

    A worse deal is taken with the probability exp(gain / temperature) (Kirkpatrick et al., 1983), a gain in positions
    being that of their logarithm; from a deal beyond the cap any step is taken. The least gain that would be taken is
    drawn first, so that most changes are dropped after their first layers. Gives (its score, the best field met, its
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
