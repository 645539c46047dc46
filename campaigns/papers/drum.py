"""``python -m campaigns.papers.drum``: what three layers save in Hakoiri-musume, and other ways to search it.

Configurations are 32-bit numbers of the puzzle, mirror images merged as the paper did. Prints JSON:

- ``places`` and ``blanks``: places of a piece of 2 x 2, 2 x 1 and 1 x 2 cells, and states of the two blanks;
- ``moves``, ``undirected`` and ``neighbours``: moves of all layers, whether each can be taken back, and whether each
  leads to the same layer or the one before or after it;
- ``until_found``: configurations registered with the layer of the goal; ``registered``: when the goal is expanded, the
  least and the most over all orders within its layer;
- ``window`` and ``all``: the most configurations in three layers, and those in all layers; ``look_ups`` in the table;
- ``swapped``: how often layers are written to the drum, by the configurations that core holds; ``core_of_8``: the
  smallest core with 8 swaps, and by what ``factor`` all configurations are more;
- ``tree`` and ``limited``: a tree search from the start that remembers all configurations, without and with a limit of
  moves: how many it meets until a goal, its moves, and its look-ups.

``python -m campaigns.papers.drum --orders`` prints ``orders`` alone: how many of 1,152 orders of moves register which
number of configurations until the goal is expanded.
"""

import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, permutations, product

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PuzzleSpec

_DIRECTIONS = ("up", "down", "left", "right")
#: Configurations that core held at least: the widest three layers.
_CORE = 1_110


def layers_of(puzzle: Puzzle) -> tuple[list[list[int]], int]:
    """Return the layers up to the one after the first goal, by the plain rules, and the look-ups of one table."""
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
    """Return the least and the most configurations registered when a goal is expanded, over orders in its layer."""
    before = sum(map(len, layers[:-1]))
    older = {key for layer in layers[-3:-1] for key in layer}
    new = {key: {*puzzle.successors(key)} - older for key in layers[-2]}
    goals = [key for key in layers[-2] if _is_goal(puzzle, key)]
    least = min(len(new[goal]) for goal in goals)
    others = [after for key, found in new.items() if key not in goals[:1] for after in found]
    return before + least, before + len({*others} | new[goals[0]])


def by_order(puzzle: MergedMirrors, layers: list[list[int]]) -> dict[int, int]:
    """Count the 1,152 orders of moves by the configurations that each registers until a goal is expanded.

    Pieces are taken kind by kind and from the upper left, each in all directions. The kinds and the directions come in
    any order, and layers are expanded in the order in which they are found, or in reverse.
    """
    graph = {key: _told_moves(puzzle, key) for layer in layers[:-1] for key in layer}
    goals = {key for key in layers[-2] if _is_goal(puzzle, key)}
    found = Counter[int]()
    for kinds, directions in product(permutations(range(4)), permutations(_DIRECTIONS)):
        place = {
            key: [after for *_, after in sorted((kinds.index(kind), cell, directions.index(way), after)
                                                for kind, cell, way, after in moves)]
            for key, moves in graph.items()
        }  # fmt: skip
        found.update(_registered(place, puzzle.start, goals, step) for step in (1, -1))
    return dict(sorted(found.items()))


def _told_moves(puzzle: MergedMirrors, key: int) -> list[tuple[int, int, str, int]]:
    """Return (kind of piece, its cell, direction, configuration) of each move."""
    text, moves = puzzle.render(key).replace("/", ""), []
    for after in puzzle.base.successors(key):
        piece, way = puzzle.base.describe_move(key, after).split()
        cell = text.index(piece)
        kind = {1: 3, 4: 0}.get(text.count(piece), 1 if piece * 2 in text[cell : cell + 2] else 2)
        moves.append((kind, cell, way, puzzle.representative(after)))
    return moves


def _registered(after: dict[int, list[int]], start: int, goals: set[int], step: int) -> int:
    known, layer = {start}, [start]
    while True:
        following = list[int]()
        for key in layer[::step]:
            fresh = [found for found in dict.fromkeys(after[key]) if found not in known]
            known.update(fresh)
            following += fresh
            if key in goals:
                return len(known)
        layer = following


def laws(puzzle: Puzzle, layers: list[list[int]]) -> dict[str, int | bool]:
    """Count the moves, and check that each can be taken back and leads at most one layer up or down."""
    depth = {key: number for number, layer in enumerate(layers) for key in layer}
    after = {key: puzzle.successors(key) for layer in layers for key in layer}
    moves = [(key, found) for key in chain(*layers[:-1]) for found in after[key]]
    return {
        "moves": len(moves),
        "undirected": all(key in after[found] for key, found in moves),
        "neighbours": all(abs(depth[found] - depth[key]) <= 1 for key, found in moves),
    }


def swaps(sizes: list[int], core: int) -> int:
    """Count how often older layers go to the drum: all at once when core may not have room for the next layer."""
    held, times = list[int](), 0
    for size in sizes:
        if sum(held) + size > core and len(held) > 2:
            held, times = held[-2:], times + 1
        held.append(size)
    return times


def tree_search(puzzle: Puzzle, limit: int) -> tuple[int, int, int]:
    """Search depth first, no deeper than `limit`; return (configurations met until a goal, its moves or -1, look-ups).

    A configuration is followed again only if it is met after fewer moves.
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


def main(*given: str) -> None:
    """Print all figures, or those of ``--orders``."""
    puzzle = PuzzleSpec("klotski", merge_mirrors=True).build()
    assert isinstance(puzzle, MergedMirrors)
    layers, looked = layers_of(puzzle)
    if given == ("--orders",):
        print(json.dumps({"orders": by_order(puzzle, layers)}))
        return
    sizes = [len(layer) for layer in layers]
    core = next(core for core in range(_CORE, sum(sizes)) if swaps(sizes, core) == 8)
    found = [tree_search(puzzle, limit) for limit in (_NO_LIMIT, len(layers) - 2)]
    free, limited = (dict(zip(("met", "moves", "look_ups"), each, strict=True)) for each in found)
    result = {
        "places": [(5 - wide) * (6 - tall) for wide, tall in ((2, 2), (2, 1), (1, 2))],
        "blanks": math.comb(20, 2),
        **laws(puzzle, layers),
        "until_found": sum(sizes[:-1]),
        "registered": registered(puzzle, layers),
        "window": max(sum(sizes[depth : depth + 3]) for depth in range(len(sizes))),
        "all": sum(sizes),
        "look_ups": looked,
        "swapped": {core: swaps(sizes, core) for core in (_CORE, 1_500, 2_048)},
        "core_of_8": core,
        "factor": sum(sizes) / core,
        "tree": free,
        "limited": limited,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
