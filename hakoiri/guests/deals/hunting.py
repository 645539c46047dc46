"""One leg of a hunt for hard deals of Gap, by kernels that count a deal's positions by their hashes.

A deal is a `field`: for each cell its card (numbered as in `guests.deals.kernels`) or BLANK. The aces are left
out, because it makes no difference which of them was where. Places are in rows one cell wider, for the aces.
"""

from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hakoiri.compiling import jit, lowest_bit
from hakoiri.errors import Hint, PuzzleError, TaskError
from hakoiri.guests.deals.cards import MOST_COLUMNS, Card, rows_of
from hakoiri.guests.deals.dealt import Dealt
from hakoiri.guests.deals.kernels import BLANK, SUITS, Table
from hakoiri.guests.deals.searching import OBJECTIVES, Leg, WalkResult, score_of
from hakoiri.guests.deals.solitaire import Solitaire
from hakoiri.guests.deals.solving import as_solitaire, solve
from hakoiri.guests.deals.solving_kernels import HashTable, breadth_first
from hakoiri.keys.splitmix import random_below, random_word, random_words
from hakoiri.storage.results import DealFigures

Field = NDArray[np.int8]
#: The place of each card; the caller chooses the integer type.
Places = NDArray[Any]
#: The number of positions up to each depth.
Profile = NDArray[np.int64]
_FIRST_ROOM = 1 << 12


@jit
def _lay_follows(place: Places, columns: int, follows: Table) -> np.uint64:
    """Write for each cell the card that fits a gap to its right, or BLANK; return the gaps as bits."""
    suit_size, width = columns - 1, columns + 1
    follows[:] = BLANK
    gaps = (np.uint64(1) << np.uint64(SUITS * width)) - np.uint64(1)
    for row in range(SUITS):
        follows[row * width] = row * suit_size
        gaps ^= np.uint64(1) << np.uint64(row * width)
    for card in range(len(place)):
        if card % suit_size != suit_size - 1:
            follows[place[card]] = card + 1
        gaps ^= np.uint64(1) << np.uint64(place[card])
    return gaps


@jit
def _lay_out(field: Field, columns: int, place: Places, follows: Table) -> np.uint64:
    """Write the place of each card, and fill `follows` as `_lay_follows` does; return the gaps."""
    for cell in range(SUITS * columns):
        if field[cell] != BLANK:
            place[field[cell]] = cell // columns * (columns + 1) + cell % columns + 1
    return _lay_follows(place, columns, follows)


@jit
def _slot_of(hashes: NDArray[np.uint64], value: np.uint64) -> int:
    """Return the slot of a hash in a table, or the slot where it belongs."""
    mask = np.uint64(len(hashes) - 1)
    slot = value & mask
    while hashes[slot] != np.uint64(0) and hashes[slot] != value:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@jit
def _spread(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a table of twice the size with the same hashes; 0 is an empty slot."""
    spread = np.zeros(2 * len(hashes), dtype=np.uint64)
    for value in hashes:
        if value != np.uint64(0):
            spread[_slot_of(spread, value)] = value
    return spread


@jit
def _places_of(left: np.uint64) -> Table:
    """Return the gaps, given as bits, as a table."""
    gaps = np.empty(SUITS, dtype=np.int64)
    for number in range(SUITS):
        gaps[number] = lowest_bit(left)
        left &= left - np.uint64(1)
    return gaps


@jit
def _begun(place: Places, table: HashTable) -> tuple[np.uint64, NDArray[np.uint64]]:
    """Return the hash of a first position, and a table of hashes that contains it."""
    value = np.uint64(1)
    for card in range(len(place)):
        value ^= table[card, place[card]]
    hashes = np.zeros(_FIRST_ROOM, dtype=np.uint64)
    hashes[_slot_of(hashes, value)] = value
    return value, hashes


@jit
def _shift(card: int, gap: int, source: int, target: int, place: Places, gaps: Table, follows: Table) -> None:
    """Move a card from its place into a gap, which moves the other way."""
    place[card], gaps[gap] = target, source
    follows[target], follows[source] = follows[source], BLANK


@jit
def count_positions(field: Field, columns: int, table: HashTable, cap: int) -> int:
    """Return the number of positions reachable from a field, at most `cap`: depth first, on one board with undo.

    Only hashes are kept, which makes this three times as fast as a search that compares positions. The probability of
    two equal hashes in ten million positions is 1 in 400,000; records are counted exactly.
    """
    place = np.empty(SUITS * (columns - 1), dtype=np.int64)
    follows = np.empty(SUITS * (columns + 1), dtype=np.int64)
    gaps = _places_of(_lay_out(field, columns, place, follows))
    value, hashes = _begun(place, table)
    # The potential of Gap grows with every move, up to at most this.
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
            _shift(card, gap, target, source, place, gaps, follows)
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
        _shift(card, gap, source, target, place, gaps, follows)
        gap = 0
    return count


@jit
def early_layers(
    field: Field, columns: int, table: HashTable, expected: Profile, least: float, most: int
) -> tuple[Profile, bool]:
    """Return the profile of a field up to `most` positions, breadth first, and whether it reached them or the end.

    It stops at a depth with less than `least` times the number `expected` there, if that is not 0.
    """
    room, cards = 2 * most, SUITS * (columns - 1)
    follows = np.empty(SUITS * (columns + 1), dtype=np.int64)
    places, values = np.empty((room, cards), dtype=np.uint8), np.empty(room, dtype=np.uint64)
    _lay_out(field, columns, places[0], follows)
    values[0], hashes = _begun(places[0], table)
    profile = np.empty(SUITS * columns * columns // 2, dtype=np.int64)
    index, count, depth = 0, 1, 0
    while True:
        profile[depth] = count
        if depth < len(expected) and count < least * expected[depth]:
            return profile[: depth + 1], False
        if count >= most or index == count:
            return profile[: depth + 1], True
        for each in range(index, count):
            left = _lay_follows(places[each], columns, follows)
            while left != np.uint64(0):
                target = np.int64(lowest_bit(left))
                left &= left - np.uint64(1)
                card = follows[target - 1]
                if card == BLANK:
                    continue
                value = values[each] ^ table[card, places[each, card]] ^ table[card, target]
                slot = _slot_of(hashes, value)
                if hashes[slot] == value or count == room:
                    continue
                hashes[slot] = values[count] = value
                places[count] = places[each]
                places[count, card] = target
                count += 1
                if 2 * count > len(hashes):
                    hashes = _spread(hashes)
            index += 1
        depth += 1


#: The objectives: their indices in `guests.deals.searching.OBJECTIVES`.
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
    return solved.figures


def field_of(puzzle: Solitaire, deal: list[Card]) -> Field:
    """Return the card on each cell; the aces' cells are gaps."""
    field = np.full(len(deal), BLANK, dtype=np.int8)
    field[puzzle.places_of(deal)] = np.arange(SUITS * puzzle.suit_size)
    return field


def deal_of(puzzle: Solitaire, field: Field) -> list[Card]:
    """Return the deal of a field, with the aces in order: the field does not hold which of them was where."""
    aces = iter(range(0, SUITS * puzzle.columns, puzzle.columns))
    # In deals each suit begins with its ace.
    return [next(aces) if card == BLANK else card + card // puzzle.suit_size + 1 for card in field.tolist()]


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
