"""``python -m campaigns.papers.elements``: element components (i, j), i aces and j holes at the left end.

The positions that moves of aces between the left ends lead to, from the first random deal that begins with each, by the
puzzle's rules. Prints JSON: by component its positions, its diameter, and the fewest and most moves of a
position; how many goals there are, and their components.
"""

import itertools
import json
from typing import Any

from hakoiri.puzzles.keys.layout import Key
from hakoiri.puzzles.solitaires.superpuzz import Superpuzz
from hakoiri.worker.solitaires.shortening import element_component

_COMPONENTS = ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1))


def inside(puzzle: Superpuzz, key: Key) -> list[Key]:
    """The positions to which an ace moves from a left end to another."""
    found = []
    for after in puzzle.successors(key):
        card, source, target = puzzle.move_between(key, after)
        if card % puzzle.suit_size == 0 and source % puzzle.columns == target % puzzle.columns == 0:
            found.append(after)
    return found


def layers(puzzle: Superpuzz, start: Key) -> list[set[Key]]:
    """The positions of a component by their distance from one of them."""
    found, known = [{start}], {start}
    while found[-1]:
        found.append({after for key in found[-1] for after in inside(puzzle, key)} - known)
        known |= found[-1]
    return found[:-1]


def main() -> None:
    """Print all components."""
    puzzle, starts = Superpuzz(), dict[tuple[int, int], Key]()
    for number in itertools.count():
        start = puzzle.start_of_deal(1, number)
        starts.setdefault(element_component(puzzle, tuple(puzzle.placing.unpack(start))), start)
        if starts.keys() >= set(_COMPONENTS):
            break
    result: dict[str, Any] = {}
    for aces, holes in _COMPONENTS:
        positions = set().union(*layers(puzzle, starts[aces, holes]))
        moves = [len(inside(puzzle, key)) for key in positions]
        diameter = max(len(layers(puzzle, key)) - 1 for key in positions)
        result[f"{aces}, {holes}"] = {
            "positions": len(positions),
            "diameter": diameter,
            "moves": [min(moves), max(moves)],
        }
    goals = {element_component(puzzle, tuple(puzzle.placing.unpack(goal))) for goal in puzzle.goals}
    print(json.dumps(result | {"goals": len(puzzle.goals), "components of goals": sorted(goals)}))


if __name__ == "__main__":
    main()
