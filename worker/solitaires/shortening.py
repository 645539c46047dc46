"""Redundant moves of a Superpuzz solution found and left out (Shintani, "Verbosity of Movement by Depth-first Search").

Where i aces and j holes are in the left-end column, moving only aces between its holes makes an *element component*
(i, j): the paper gives the greatest distance m in each, and its property 1 says that a stay of more than m moves is
redundant. A stay is here replaced by a shortest way between its ends, so that at most m moves are left of it (the
paper's corollary), and moves between two visits of the same position are left out, until there are none.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from hakoiri.puzzles.capabilities import Dealt, Move
from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.solitaires.solitaire import Solitaire, moved
from hakoiri.worker.errors import TaskError
from hakoiri.worker.solitaires.solving import as_solitaire

#: The greatest distance in the element component of i aces and j holes, from the paper.
DIAMETERS = {(1, 1): 1, (1, 2): 1, (1, 3): 1, (2, 1): 3, (2, 2): 3, (3, 1): 4}
#: Why moves are redundant: a position recurred, a stay was longer than its component's diameter, or only longer than
#: necessary.
Why = Literal["revisit", "property 1", "detour"]
Places = tuple[int, ...]


@dataclass(frozen=True)
class Redundancy:
    """Moves ``begin..end-1`` of the solution as it was, which `instead` replaces; `component` is (aces, holes)."""

    begin: int
    end: int
    instead: list[Move]
    why: Why
    component: tuple[int, int] | None


@dataclass(frozen=True)
class ShorteningPass:
    """A solution, and redundancies of it that are left out together; they do not overlap."""

    moves: list[Move]
    redundant: list[Redundancy]


@dataclass(frozen=True)
class Shortened:
    """A solution without its redundant moves. Each round begins with the solution left by the round before."""

    moves: list[Move]
    rounds: list[ShorteningPass]


def shorten(puzzle: Dealt, start: Key, moves: list[Move]) -> Shortened:
    """`moves` from the position `start`, without revisits and stays that are longer than necessary.

    The result is replayed: it leads by moves of the rules from `start` to where `moves` lead. Raises `TaskError` if
    `moves` are no moves of the rules.
    """
    game = as_solitaire(puzzle)
    places = game.placing.unpack(start)
    path = replay(game, places, moves)
    end = path[-1]
    rounds: list[ShorteningPass] = []
    while redundant := _revisits(path) or _long_stays(game, path, moves):
        rounds.append(ShorteningPass(moves, redundant))
        moves = _cut_out(moves, redundant)
        path = _positions(path[0], moves)
    if replay(game, places, moves)[-1] != end:
        raise TaskError("a shortened solution ends elsewhere: this is a defect of Hakoiri")
    return Shortened(moves, rounds)


def replay(puzzle: Solitaire, places: list[int], moves: list[Move]) -> list[Places]:
    """The position before each move and after the last, by the reference rules; `TaskError` names a wrong move."""
    found = [tuple(places)]
    for number, move in enumerate(moves, 1):
        here = list(found[-1])
        if move not in puzzle.moves(here):
            raise TaskError(f"move {number}, {puzzle.word(move[0])} to cell {move[1]}, is against the rules")
        card, cell = move
        found.append(tuple(moved(here, card, cell)))
    return found


def _positions(start: Places, moves: list[Move]) -> list[Places]:
    """What `replay` gives, for moves known to be right."""
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


def _revisits(path: list[Places]) -> list[Redundancy]:
    """The loops of a path: from the first visit of a position to its last."""
    last = {position: number for number, position in enumerate(path)}
    found, number = [], 0
    while number < len(path):
        end = last[path[number]]
        if end > number:
            found.append(Redundancy(number, end, [], "revisit", None))
        number = max(end, number + 1)
    return found


def _long_stays(puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[Redundancy]:
    """The stays in element components that are longer than the shortest between their ends."""
    found = []
    for begin, end in _stays(puzzle, path, moves):
        instead = _shortest_stay(puzzle, path[begin], path[end])
        if len(instead) < end - begin:
            component = element_component(puzzle, path[begin])
            why: Why = "property 1" if end - begin > DIAMETERS[component] else "detour"
            found.append(Redundancy(begin, end, instead, why, component))
    return found


def _stays(puzzle: Solitaire, path: list[Places], moves: list[Move]) -> list[tuple[int, int]]:
    """The longest sequences of moves of aces from left end to left end: each move's number, and one past the last."""
    inside = [
        card % puzzle.suit_size == 0 and before[card] % puzzle.columns == 0 and cell % puzzle.columns == 0
        for (card, cell), before in zip(moves, path, strict=False)
    ]
    borders = [number for number, (one, other) in enumerate(pairwise([False, *inside, False])) if one != other]
    return list(zip(borders[::2], borders[1::2], strict=True))


def _shortest_stay(puzzle: Solitaire, start: Places, end: Places) -> list[Move]:
    """A shortest way between two positions of one element component that stays in it."""
    known: dict[Places, list[Move]] = {start: []}
    for position in (order := [start]):
        for card, cell in puzzle.moves(list(position)):
            if card % puzzle.suit_size or position[card] % puzzle.columns or cell % puzzle.columns:
                continue
            after = tuple(moved(list(position), card, cell))
            if after not in known:
                known[after] = [*known[position], (card, cell)]
                order.append(after)
        if end in known:
            break
    return known[end]


def element_component(puzzle: Solitaire, position: Places) -> tuple[int, int]:
    """How many aces and how many holes are in the left-end column."""
    ends = {row * puzzle.columns for row in range(len(position) // puzzle.suit_size)}
    aces = sum(cell in ends for card, cell in enumerate(position) if card % puzzle.suit_size == 0)
    return aces, len(ends - set(position))
