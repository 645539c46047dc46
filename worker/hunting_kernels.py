"""The inner loop of a hunt for hard deals of Gap: a quick count of positions, changes of a deal, and annealing.

A deal is here a `field`: for each cell the card that lies on it (numbered as in `puzzles.solitaire_kernels`) or BLANK.
Which ace lay on a blank changes nothing, so it is left out.
"""

import numpy as np
from numpy.typing import NDArray

from puzzles.jit import jit
from puzzles.solitaire_kernels import BLANK, SUITS, Table
from worker.solving_kernels import HashTable, breadth_first

Field = NDArray[np.int8]
#: What is maximised: the number of a name in `worker.hunting.OBJECTIVES`.
POSITIONS, MOVES, DEPTH = 0, 1, 2
#: The score of a deal that does not lead to the goal, where its moves are asked, and of one beyond the cap.
UNSOLVABLE, TOO_LARGE = -1, -2
#: What a try costs besides its positions, in positions: so a leg over tiny deals ends as well.
TRY_COST = 300
_FIRST_ROOM = 1 << 12
_CHANGES = 5


@jit
def _lay_out(field: Field, columns: int, place: Table, gaps: Table, follows: Table) -> None:
    """Where each card is, where the gaps are, and for each cell the card that a gap to its right takes, or BLANK.

    A row is here one cell wider, for its ace at the left.
    """
    run, width = columns - 1, columns + 1
    follows[:] = BLANK
    for row in range(SUITS):
        follows[row * width] = row * run
    count = 0
    for cell in range(SUITS * columns):
        wide = cell // columns * width + cell % columns + 1
        card = field[cell]
        if card == BLANK:
            gaps[count] = wide
            count += 1
        else:
            place[card] = wide
            follows[wide] = card + 1 if card % run != run - 1 else BLANK


@jit
def _slot_of(hashes: NDArray[np.uint64], value: np.uint64) -> int:
    """Where a hash stands in a table, or where it would."""
    mask = np.uint64(len(hashes) - 1)
    slot = value & mask
    while hashes[slot] != np.uint64(0) and hashes[slot] != value:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@jit
def _spread(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A table of twice the size with the same hashes; 0 is an empty slot."""
    spread = np.zeros(2 * len(hashes), dtype=np.uint64)
    for value in hashes:
        if value != np.uint64(0):
            spread[_slot_of(spread, value)] = value
    return spread


@jit
def count_positions(field: Field, columns: int, table: HashTable, cap: int) -> int:
    """How many positions a field leads to, at most `cap`: depth first, moves done and taken back on one board.

    Only hashes are kept, which makes this three times as fast as a search that compares positions. Two equal hashes in
    ten million positions have a chance of one to 400,000; whoever names a record counts it exactly.
    """
    place = np.empty(SUITS * (columns - 1), dtype=np.int64)
    gaps = np.empty(SUITS, dtype=np.int64)
    follows = np.empty(SUITS * (columns + 1), dtype=np.int64)
    _lay_out(field, columns, place, gaps, follows)
    value = np.uint64(1)
    for card in range(len(place)):
        value ^= table[card, place[card]]
    hashes = np.zeros(_FIRST_ROOM, dtype=np.uint64)
    hashes[_slot_of(hashes, value)] = value
    # The potential of Gap grows with every move and is never more than this.
    done = np.empty((SUITS * columns * columns // 2, 3), dtype=np.int64)
    count, level, gap = 1, 0, 0
    while count < cap:
        if gap == SUITS:
            if level == 0:
                break
            level -= 1
            card, source, gap = done[level]
            target = place[card]
            value ^= table[card, source] ^ table[card, target]
            place[card], gaps[gap] = source, target
            follows[source], follows[target] = follows[target], BLANK
            gap += 1
            continue
        target = gaps[gap]
        card = follows[target - 1]
        if card == BLANK:
            gap += 1
            continue
        source = place[card]
        after = value ^ table[card, source] ^ table[card, target]
        slot = _slot_of(hashes, after)
        if hashes[slot] == after:
            gap += 1
            continue
        hashes[slot] = value = after
        count += 1
        if 2 * count > len(hashes):
            hashes = _spread(hashes)
        done[level, 0], done[level, 1], done[level, 2] = card, source, gap
        level += 1
        place[card], gaps[gap] = target, source
        follows[target], follows[source] = follows[source], BLANK
        gap = 0
    return count


@jit
def random_word(state: NDArray[np.uint64]) -> np.uint64:
    """The next number of SplitMix64 (`puzzles.cards.random_words`)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    word: np.uint64 = (state[0] ^ (state[0] >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@jit
def _below(state: NDArray[np.uint64], bound: int) -> np.int64:
    # Signed: numba would make a float of a number without and one with a sign.
    return np.int64(random_word(state) % np.uint64(bound))


@jit
def _undo_moves(field: Field, columns: int, state: NDArray[np.uint64]) -> None:
    """Put each card that lies right of its predecessor into some gap, as if it had come from there.

    The field that results leads to the one given, so it leads to more positions. The potential of Gap falls with each
    such step, so they come to an end.
    """
    run = columns - 1
    cell = 0
    while cell < SUITS * columns:
        card = field[cell]
        row, column = divmod(cell, columns)
        first = card == row * run
        in_order = first if column == 0 else card != BLANK and card % run != 0 and field[cell - 1] == card - 1
        if not in_order:
            cell += 1
            continue
        number = _below(state, SUITS)
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
    """Two cells exchanged: any two, cards of one suit or of one rank, a card and a gap, or neighbours."""
    run, cells = columns - 1, SUITS * columns
    kind = _below(state, _CHANGES)
    while True:
        one = _below(state, cells)
        other = _below(state, cells)
        if kind == 4:
            other = (one + (1 if other % 2 else columns)) % cells
        a, b = field[one], field[other]
        if a == b or (kind == 3 and BLANK not in (a, b)):
            continue
        if (kind == 1 and a % run != b % run) or (kind == 2 and a // run != b // run):
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
def anneal(
    field: Field, known: int, columns: int, tables: tuple[HashTable, HashTable], objective: int, temperature: float,
    work: int, cap: int, state: NDArray[np.uint64],
) -> tuple[int, Field, int, int, int]:  # fmt: skip
    """Change `field` step by step until `work` positions are generated; it stays where the walk ends.

    A worse deal is taken with the probability exp(gain / temperature) (Kirkpatrick et al., 1983), a gain in positions
    being that of their logarithm; from a deal beyond the cap any step is taken. Gives (its score, the best field met,
    its score, deals tried, positions generated).
    """
    spent = tried = 0
    best, most, new = field.copy(), known, field.copy()
    while spent < work:
        new[:] = field
        change(new, columns, state)
        found, generated = score(new, columns, tables, objective, cap)
        spent += generated + TRY_COST
        tried += 1
        if known == TOO_LARGE:
            gain = 0.0
        elif found == TOO_LARGE:
            continue
        else:
            gain = np.log(found / known) if objective == POSITIONS else float(found - known)
        chance = float(random_word(state) >> np.uint64(11)) / float(1 << 53)
        if gain >= 0 or chance < np.exp(gain / temperature):
            known = found
            field[:] = new
            if found > most:
                most = found
                best[:] = new
    return known, best, most, tried, spent - tried * TRY_COST
