"""``python -m campaigns.papers.drum``: what three layers save in Hakoiri-musume, and other ways to search it.

Configurations are 32-bit numbers of the puzzle, mirror images merged as the paper did. Prints JSON:

- ``until_found`` and ``registered``: configurations registered when the goal is found, and, as the paper seems to have
  counted, until the goal itself is expanded: the least and the most, over all orders within its layer;
- ``window``: the most configurations in three layers, and ``look_ups`` by tables: one for all, or three layers;
- ``swapped``: layers written to the drum, if core holds as many configurations as ``core`` says;
- ``tree``: a tree search from the start that remembers all configurations, without and with a limit of moves: how many
  it meets until a goal, its moves, and its look-ups.
"""

import json
from collections.abc import Iterator

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec

#: Configurations that core held at least: the widest three layers.
_CORE = 1_110


def puzzle_merged() -> Puzzle:
    """Hakoiri-musume with mirror images merged."""
    return PuzzleSpec("klotski", merge_mirrors=True).build()


def layers_of(puzzle: Puzzle) -> tuple[list[list[int]], int]:
    """The layers up to the one after that of the first goal, by the plain rules, and the look-ups of one table."""
    layers, known, looked = [[puzzle.start]], {puzzle.start}, 0
    goals: list[int] = []
    while not goals:
        goals = [key for key in layers[-1] if _is_goal(puzzle, key)]
        following = []
        for key in layers[-1]:
            for after in puzzle.successors(key):
                looked += 1
                if after not in known:
                    known.add(after)
                    following.append(after)
        layers.append(following)
    return layers, looked


def _is_goal(puzzle: Puzzle, key: int) -> bool:
    return bool(puzzle.is_goal(puzzle.keys([key]))[0])


def registered(puzzle: Puzzle, layers: list[list[int]]) -> tuple[int, int]:
    """The least and the most configurations registered when a first goal is expanded, over orders within its layer."""
    before = sum(map(len, layers[:-1]))
    older = {key for layer in layers[-3:-1] for key in layer}
    new = {key: {*puzzle.successors(key)} - older for key in layers[-2]}
    goals = [key for key in layers[-2] if _is_goal(puzzle, key)]
    least = min(len(new[goal]) for goal in goals)
    others = [after for key, found in new.items() if key not in goals[:1] for after in found]
    return before + least, before + len({*others} | new[goals[0]])


def in_order_of_finding(puzzle: Puzzle, layers: list[list[int]]) -> int:
    """The same in the order in which the plain search meets configurations, moves as the rules list them."""
    count, known = sum(map(len, layers[:-1])), {key for layer in layers[:-1] for key in layer}
    for key in layers[-2]:
        fresh = {*puzzle.successors(key)} - known
        known |= fresh
        count += len(fresh)
        if _is_goal(puzzle, key):
            break
    return count


def swaps(sizes: list[int], core: int) -> int:
    """How often older layers go to the drum, all at once when the next layer may not fit with what core holds."""
    held, times = list[int](), 0
    for size in sizes:
        if sum(held) + size > core and len(held) > 2:
            held, times = held[-2:], times + 1
        held.append(size)
    return times


def tree_search(puzzle: Puzzle, limit: int) -> tuple[int, int, int]:
    """(configurations met until a goal, its moves or -1, look-ups) of a depth-first search no deeper than `limit`.

    A configuration that is met again is followed again only from fewer moves.
    """
    known, looked = {puzzle.start: 0}, 0
    path: list[Iterator[int]] = [iter(puzzle.successors(puzzle.start))]
    while path:
        after = next(path[-1], None)
        if after is None:
            path.pop()
            continue
        looked += 1
        if len(path) > limit or known.get(after, limit + 1) <= (len(path) if limit < _NO_LIMIT else limit):
            continue
        known[after] = len(path)
        if _is_goal(puzzle, after):
            return len(known), len(path), looked
        path.append(iter(puzzle.successors(after)))
    return len(known), -1, looked


#: More moves than any path has.
_NO_LIMIT = 10**6


def main() -> None:
    """Print all figures."""
    puzzle = puzzle_merged()
    layers, looked = layers_of(puzzle)
    sizes = [len(layer) for layer in layers]
    window = max(sum(sizes[depth : depth + 3]) for depth in range(len(sizes)))
    least, most = registered(puzzle, layers)
    free, limited = tree_search(puzzle, _NO_LIMIT), tree_search(puzzle, len(layers) - 2)
    print(
        json.dumps(
            {
                "until_found": sum(sizes[:-1]),
                "registered": [least, most],
                "in_order": in_order_of_finding(puzzle, layers),
                "window": window,
                "bytes": {"one table": 4 * sum(sizes), "three layers": 4 * window},
                "look_ups": looked,
                "swapped": {core: swaps(sizes, core) for core in (_CORE, 1_500, 2_048)},
                "core_of_8": next(core for core in range(_CORE, sum(sizes)) if swaps(sizes, core) == 8),
                "tree": dict(zip(("met", "moves", "look_ups"), free, strict=True)),
                "limited": dict(zip(("met", "moves", "look_ups"), limited, strict=True)),
            }
        )
    )


if __name__ == "__main__":
    main()
