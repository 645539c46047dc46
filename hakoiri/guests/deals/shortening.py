"""Removal of redundant moves of a Superpuzz solution (Shintani, "Verbosity of Movement by Depth-first Search").

Where i aces and j holes are in the left-end column, moving only aces between its holes makes an *element component*
(i, j). The paper gives the greatest distance m in each, and its property 1 says that a stay of more than m moves is
redundant. A true strong component may be larger: cards of rank r travel from column r to column r behind their aces,
and no other move can be part of a cycle. Outside components the paper's first cause is a card moved twice where once
would do. `STEPS` names what is left out, in this order, each step until nothing changes:

- ``revisits``: the moves between two visits of one position;
- ``aces``: a stay in an element component becomes a shortest one (at most m moves: the paper's corollary);
- ``components``: so does a stay in a strong component, of all cards;
- ``twice``: the first of two moves of a card, where the solution is right without it;
- ``shortcuts``: moves between two positions of which the later one is met sooner among the first so many positions of a
  breadth-first search from the earlier one. This is not the paper's: with enough positions the solution is a shortest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal, get_args

from hakoiri.errors import TaskError
from hakoiri.guests.deals.dealt import Dealt, Move
from hakoiri.guests.deals.solitaire import Solitaire, moved
from hakoiri.guests.deals.solving import as_solitaire, first_positions
from hakoiri.keys.layout import Key

#: The greatest distance in the element component of i aces and j holes, from the paper.
DIAMETERS = {(1, 1): 1, (1, 2): 1, (1, 3): 1, (2, 1): 3, (2, 2): 3, (3, 1): 4}
#: Reasons why moves are redundant: a position recurred; a stay in an element component was longer than its diameter, or
#: only longer than necessary; so was one in a strong component; a card moved twice where once would do.
Why = Literal["revisit", "property 1", "detour", "component", "twice", "shortcut"]
Step = Literal["revisits", "aces", "components", "twice", "shortcuts"]
STEPS: tuple[Step, ...] = get_args(Step)
Places = tuple[int, ...]
#: Returns whether a move of a card, from a cell to another, belongs to the moves of a stay.
Inside = Callable[[Solitaire, int, int, int], bool]
#: Positions from which a study looks for shortcuts.
REACH = 1_000


@dataclass(frozen=True)
class Redundancy:
    """Moves ``begin..end-1`` of a solution, to be replaced by `instead`; `component` is (aces, holes)."""

    begin: int
    end: int
    instead: list[Move]
    why: Why
    component: tuple[int, int] | None


@dataclass(frozen=True)
class ShorteningPass:
    """A solution, and its redundancies that are removed together; they do not overlap."""

    moves: list[Move]
    redundant: list[Redundancy]


@dataclass(frozen=True)
class Shortened:
    """A solution without its redundant moves. Each round begins with the result of the round before.

    `left` is the number of moves left after each step.
    """

    moves: list[Move]
    rounds: list[ShorteningPass]
    left: dict[Step, int]


def shorten(puzzle: Dealt, start: Key, moves: list[Move], reach: int = 0) -> Shortened:
    """Return `moves` from the position `start` without those that the `STEPS` find redundant.

    Shortcuts are searched for among the first `reach` positions from each position of the solution; 0 skips them. The
    result is replayed: it leads by legal moves from `start` to the end of `moves`. Raises `TaskError` if `moves` are
    not legal.
    """
    game = as_solitaire(puzzle)
    places = game.placing.unpack(start)
    path = replay(game, places, moves)
    end = path[-1]
    rounds, left = list[ShorteningPass](), dict[Step, int]()
    finders = _FINDERS | ({"shortcuts": partial(_shortcuts, reach)} if reach else {})
    for number, step in enumerate(finders, 1):
        while redundant := next(filter(None, (finders[each](game, path, moves) for each in STEPS[:number])), None):
            rounds.append(ShorteningPass(moves, redundant))
            moves = _cut_out(moves, redundant)
            path = _positions(path[0], moves)
        left[step] = len(moves)
    if replay(game, places, moves)[-1] != end:
        raise TaskError("a shortened solution ends elsewhere; this is a bug of Hakoiri")
    return Shortened(moves, rounds, left)


def replay(puzzle: Solitaire, places: list[int], moves: list[Move]) -> list[Places]:
    """Return the position before each move and after the last by the reference rules; `TaskError` if one is illegal."""
    found = [tuple(places)]
    for number, move in enumerate(moves, 1):
        here = list(found[-1])
        if move not in puzzle.moves(here):
            raise TaskError(f"move {number}, {puzzle.word(move[0])} to cell {move[1]}, is not a legal move")
        card, cell = move
        found.append(tuple(moved(here, card, cell)))
    return found


def _positions(start: Places, moves: list[Move]) -> list[Places]:
    """Return the result of `replay`, for moves known to be legal."""
    found = [start]
    for card, cell in moves:
        found.append((*found[-1][:card], cell, *found[-1][card + 1 :]))
    return found


def _cut_out(moves: list[Move], redundant: list[Redundancy]) -> list[Move]:
    kept: list[Move] = []
    begin = 0
    for each in redundant:
        kept += [*moves[begin : each.begin], *each.instead]
        begin = each.end
    return kept + moves[begin:]


def _revisits(puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[Redundancy]:
    """Return the loops of a path: from the first visit of a position to its last."""
    last = {position: number for number, position in enumerate(path)}
    found, number = [], 0
    while number < len(path):
        end = last[path[number]]
        if end > number:
            found.append(Redundancy(number, end, [], "revisit", None))
        number = max(end, number + 1)
    return found


def _of_aces(puzzle: Solitaire, card: int, source: int, target: int) -> bool:
    """Return whether an ace moves from left end to left end."""
    return not (card % puzzle.suit_size or source % puzzle.columns or target % puzzle.columns)


def _of_chains(puzzle: Solitaire, card: int, source: int, target: int) -> bool:
    """Return whether a card of rank r, aces being 0, moves from column r to column r."""
    return card % puzzle.suit_size == source % puzzle.columns == target % puzzle.columns


def _long_stays(inside: Inside, puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[Redundancy]:
    """Return the stays in components, the longest sequences of moves `inside`, that are longer than the shortest."""
    within = [inside(puzzle, card, before[card], cell) for (card, cell), before in zip(moves, path, strict=False)]
    borders = [number for number, (one, other) in enumerate(pairwise([False, *within, False])) if one != other]
    found = []
    for begin, end in zip(borders[::2], borders[1::2], strict=True):
        why: Why = "component"
        instead, component = _shortest_stay(puzzle, path[begin], path[end], inside), None
        if inside is _of_aces:
            component = element_component(puzzle, path[begin])
            why = "property 1" if end - begin > DIAMETERS[component] else "detour"
        if len(instead) < end - begin:
            found.append(Redundancy(begin, end, instead, why, component))
    return found


def _shortest_stay(puzzle: Solitaire, start: Places, end: Places, inside: Inside) -> list[Move]:
    """Return a shortest path between two positions by moves `inside`."""
    known: dict[Places, list[Move]] = {start: []}
    for position in (order := [start]):
        if end in known:
            break
        for card, cell in puzzle.moves(list(position)):
            if inside(puzzle, card, position[card], cell):
                after = (*position[:card], cell, *position[card + 1 :])
                if after not in known:
                    known[after] = [*known[position], (card, cell)]
                    order.append(after)
    return known[end]


def _moved_twice(puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[Redundancy]:
    """Return the first two moves of a card, the highest ranks first, of which the later one alone would do."""
    by_rank = sorted(range(len(moves)), key=lambda number: (-(moves[number][0] % puzzle.suit_size), number))
    for first in by_rank:
        card = moves[first][0]
        again = next((number for number in range(first + 1, len(moves)) if moves[number][0] == card), None)
        if again is not None and _right_without(puzzle, path[first], moves[first + 1 : again + 1]):
            return [Redundancy(first, again + 1, moves[first + 1 : again + 1], "twice", None)]
    return []


def _right_without(puzzle: Solitaire, start: Places, moves: list[Move]) -> bool:
    """Return whether `moves` are legal from `start`."""
    cells, at = list(start), {cell: card for card, cell in enumerate(start)}
    for card, cell in moves:
        column, left = cell % puzzle.columns, at.get(cell - 1)
        fits = left == card - 1 if column else True
        if cell in at or not fits or (card % puzzle.suit_size == 0) != (column == 0):
            return False
        del at[cells[card]]
        cells[card], at[cell] = cell, card
    return True


def element_component(puzzle: Solitaire, position: Places) -> tuple[int, int]:
    """Return the numbers of aces and of holes in the left-end column."""
    ends = {row * puzzle.columns for row in range(len(position) // puzzle.suit_size)}
    aces = sum(cell in ends for card, cell in enumerate(position) if card % puzzle.suit_size == 0)
    return aces, len(ends - set(position))


def _shortcuts(reach: int, puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[Redundancy]:
    """Return the greatest shortcut from each position in turn, beyond the one before."""
    later = {position: number for number, position in enumerate(path)}
    found, number = [], 0
    while number < len(path) - 1:
        positions, depths, moves_to = first_positions(puzzle, path[number], reach)
        saved = {place: later[each] - number - depths[place] for place, each in enumerate(positions) if each in later}
        place = max(saved, key=lambda place: saved[place])
        if saved[place] > 0:
            end = later[positions[place]]
            found.append(Redundancy(number, end, moves_to(place), "shortcut", None))
            number = end
        else:
            number += 1
    return found


_FINDERS: dict[Step, Callable[[Solitaire, list[Places], list[Move]], list[Redundancy]]] = {
    "revisits": _revisits,
    "aces": partial(_long_stays, _of_aces),
    "components": partial(_long_stays, _of_chains),
    "twice": _moved_twice,
}
