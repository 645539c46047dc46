"""``python -m campaigns.tables.superpuzz WHAT ...``: claims of Shintani on Superpuzz. Prints JSON.

- ``elements``: element components (i, j), i aces and j holes at the left end. They are the positions that moves of aces
  between the left ends lead to, from the first random deal that begins with each.
- ``strong DEAL``: strong components of a deal and of 64 random ones with 5 columns: their classes (i, j), and the ranks
  of the cards that move in them.
- ``sample COLUMNS STRATEGY DEALS [naive]``: how many deals are solved in how many moves (seed 2, one goal). With
  ``naive`` each place is exchanged with any other, a shuffle that is not fair.
- ``reach COLUMNS DEALS``: depth-first solutions shortened by shortcuts among more and more positions (seed 1, one
  goal).
"""

import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hakoiri.guests.deals.dealt import SearchOrder
from hakoiri.guests.deals.shortening import element_component, shorten
from hakoiri.guests.deals.solitaire import Superpuzz
from hakoiri.guests.deals.solving import solve
from hakoiri.keys.layout import Key

_COMPONENTS = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1))
_REACHES, _CAP, _DEALS = (0, 100, 1_000, 10_000, 100_000), 10_000_000, 64


def elements() -> dict[str, Any]:
    """Return the figures of each element component, the number of goals and their components."""
    puzzle, starts = Superpuzz(), dict[tuple[int, int], Key]()
    for number in itertools.count():
        start = puzzle.start_of_deal(1, number)
        starts.setdefault(element_component(puzzle, tuple(puzzle.placing.unpack(start))), start)
        if starts.keys() >= {*_COMPONENTS}:
            break
    result: dict[str, Any] = {}
    for aces, holes in _COMPONENTS:
        positions = set().union(*_layers(puzzle, starts[aces, holes]))
        moves = {len(_inside(puzzle, key)) for key in positions}
        diameter = max(len(_layers(puzzle, key)) - 1 for key in positions)
        result[f"{aces}{holes}"] = {"positions": len(positions), "diameter": diameter, "moves": sorted(moves)}
    goals = {element_component(puzzle, tuple(puzzle.placing.unpack(goal))) for goal in puzzle.goals}
    return result | {"goals": len(puzzle.goals), "components_of_goals": [list(each) for each in sorted(goals)]}


def _inside(puzzle: Superpuzz, key: Key) -> list[Key]:
    """The positions to which an ace moves from a left end to another."""
    found = []
    for after in puzzle.successors(key):
        card, source, target = puzzle.move_between(key, after)
        if card % puzzle.suit_size == 0 and source % puzzle.columns == target % puzzle.columns == 0:
            found.append(after)
    return found


def _layers(puzzle: Superpuzz, start: Key) -> list[set[Key]]:
    found, known = [{start}], {start}
    while found[-1]:
        found.append({after for key in found[-1] for after in _inside(puzzle, key)} - known)
        known |= found[-1]
    return found[:-1]


def strong(deal: str) -> dict[str, Any]:
    """Return the classes of all strong components of more than one position, and the ranks that move in them."""
    small, classes, ranks, counts = Superpuzz({"columns": "5"}), Counter[str](), Counter[int](), Counter[str]()
    given = Superpuzz(start=deal)
    for puzzle, start in ((given, given.start), *((small, small.start_of_deal(0, n)) for n in range(_DEALS))):
        first = tuple(puzzle.placing.unpack(start))
        index, known, edges, cards = {first: 0}, [first], list[tuple[int, int]](), list[int]()
        for number, place in enumerate(known):
            for card, cell in puzzle.moves(list(place)):
                after = (*place[:card], cell, *place[card + 1 :])
                if after not in index:
                    index[after] = len(known)
                    known.append(after)
                edges.append((number, index[after]))
                cards.append(card)
        one, other = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        graph = csr_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(len(known), len(known)))
        count, labels = connected_components(graph, connection="strong")
        within = labels[one] == labels[other]
        ranks.update(1 + card % puzzle.suit_size for card, inner in zip(cards, within, strict=True) if inner)
        kinds: dict[int, set[tuple[int, int]]] = {}
        for number in {*one[within].tolist()}:
            kinds.setdefault(int(labels[number]), set()).add(element_component(puzzle, known[number]))
        classes.update(str(sorted(kind)) for kind in kinds.values())
        counts.update({"positions": len(known), "components": int(count), "strong": len(kinds)})
        if puzzle is given:
            largest = int(np.bincount(labels).max())
    wanted = {str([each]) for each in _COMPONENTS}
    other_classes = sum(count for kind, count in classes.items() if kind not in wanted)
    return {"deals": 1 + _DEALS, **counts, "others": other_classes, "classes": len(wanted & classes.keys()),
            "ranks": sorted(ranks), "aces": ranks[1], "moves": ranks.total(), "largest": largest}  # fmt: skip


def sample(columns: str, strategy: SearchOrder, deals: str, shuffle: str = "fair") -> dict[str, Any]:
    """Return the number of deals by the moves of their solution."""
    puzzle, moves, capped = Superpuzz({"columns": columns, "goals": "1"}), Counter[int](), 0
    for number in range(int(deals)):
        start = puzzle.start_of_deal(2, number) if shuffle == "fair" else _unfair(puzzle, number)
        found = solve(puzzle, start, strategy, "fixed", _CAP)
        if found.fixed is not None:
            moves[len(found.fixed.moves)] += 1
        capped += found.fixed is None and not found.exhausted
    return {"deals": int(deals), "capped": capped, "moves": dict(sorted(moves.items()))}


def _unfair(puzzle: Superpuzz, number: int) -> Key:
    cards, draw = list(range(4 * puzzle.columns)), random.Random(number)
    for place in range(len(cards)):
        other = draw.randrange(len(cards))
        cards[place], cards[other] = cards[other], cards[place]
    return puzzle.placing.pack(puzzle.places_of(cards))


def reach(columns: str, deals: str) -> dict[str, Any]:
    """Return for each reach the solutions that become shortest ones, and the seconds that it takes."""
    puzzle = Superpuzz({"columns": columns, "goals": "1"})
    starts = [puzzle.start_of_deal(1, number) for number in range(int(deals))]
    solved = [(start, solve(puzzle, start, "dfs", "fixed", _CAP).fixed) for start in starts]
    solutions = [(start, goal.moves) for start, goal in solved if goal is not None]
    began = time.process_time()
    goals = [solve(puzzle, start, "bfs", "fixed", _CAP).fixed for start, _ in solutions]
    searched = time.process_time() - began
    shortest = [len(goal.moves) for goal in goals if goal is not None]
    rows = []
    for far in _REACHES:
        began = time.process_time()
        left = [len(shorten(puzzle, start, moves, far).moves) for start, moves in solutions]
        reached = sum(one == other for one, other in zip(left, shortest, strict=True))
        rows.append({"reach": far, "mean": sum(left) / len(left), "shortest": reached,
                     "cpu_seconds": time.process_time() - began})  # fmt: skip
    return {"rows": rows, "solutions": len(solutions), "shortest": sum(shortest) / len(shortest),
            "cpu_seconds": searched}  # fmt: skip


if __name__ == "__main__":
    told: Mapping[str, Callable[..., dict[str, Any]]] = {
        "elements": elements, "strong": strong, "sample": sample, "reach": reach,
    }  # fmt: skip
    print(json.dumps(told[sys.argv[1]](*sys.argv[2:])))
