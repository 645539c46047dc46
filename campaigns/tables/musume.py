"""``python -m campaigns.tables.musume WHAT``: the algorithm of Goto, Kawai and Sasaki, and other ways to search.

All by the plain rules of the puzzle, mirror images merged as in the paper, up to the layer after the goal's. Prints
JSON.

- ``layers``: the laws of layers, what three of them save, and a tree search.
- ``ends``: a search from both ends, and searches with bounds for the greatest distance.
- ``space``: the axioms of a distance, and the adjacency of pieces, in all 65,880 configurations.
- ``orders``: the configurations that each of 1,152 orders of moves registers until the goal is expanded.
"""

import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, permutations, product
from typing import Any

from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PuzzleSpec

_DIRECTIONS = ("up", "down", "left", "right")
#: Configurations that core held at least: the widest three layers.
_CORE = 1_110
#: More moves than any path has; orders of moves that a tree search tries.
_NO_LIMIT, _ORDERS = 10**6, 100
Graph = Mapping[int, Sequence[int]]


def merged() -> MergedMirrors:
    """Return the puzzle as the paper searched it."""
    puzzle = PuzzleSpec("klotski", merge_mirrors=True).build()
    assert isinstance(puzzle, MergedMirrors)
    return puzzle


def is_goal(puzzle: Puzzle, key: int) -> bool:
    """Return True for a configuration with the daughter at her goal."""
    return bool(puzzle.is_goal(puzzle.keys([key]))[0])


def distances(after: Callable[[int], Iterable[int]], starts: Iterable[int]) -> dict[int, int]:
    """Return the distance of each configuration from the nearest start, by layers."""
    found, layer = dict.fromkeys(starts, 0), [*starts]
    for depth in range(1, _NO_LIMIT):
        layer = [new for key in layer for new in after(key) if new not in found and found.setdefault(new, depth)]
        if not layer:
            break
    return found


def layers_of(puzzle: Puzzle) -> tuple[list[list[int]], dict[int, list[int]]]:
    """Return the layers up to the one after the first goal, and the successors of all but the last one's."""
    layers, known, graph = [[puzzle.start]], {puzzle.start}, {}
    while not any(key in graph and is_goal(puzzle, key) for key in layers[max(0, len(layers) - 2)]):
        for key in layers[-1]:
            graph[key] = puzzle.successors(key)
        found = dict.fromkeys(after for key in layers[-1] for after in graph[key] if after not in known)
        known.update(found)
        layers.append([*found])
    return layers, graph


def registered(puzzle: Puzzle, layers: list[list[int]], graph: Graph) -> tuple[int, int]:
    """Return the least and the most configurations registered when a goal is expanded, over orders in its layer."""
    before = sum(map(len, layers[:-1]))
    older = {key for layer in layers[-3:-1] for key in layer}
    new = {key: {*graph[key]} - older for key in layers[-2]}
    goals = [key for key in layers[-2] if is_goal(puzzle, key)]
    others = [after for key, found in new.items() if key not in goals[:1] for after in found]
    return before + min(len(new[goal]) for goal in goals), before + len({*others} | new[goals[0]])


def compared(layers: list[list[int]], graph: Graph, all_layers: bool) -> int:
    """Count comparisons in a table searched one by one, of three layers or all; the mean of both directions."""
    total = 0
    for depth, layer in enumerate(layers[:-1]):
        table = chain(*layers[0 if all_layers else max(0, depth - 1) : depth + 1])
        place = {key: number for number, key in enumerate(table)}
        for after in chain(*(graph[key] for key in layer)):
            # Found at place p of n, it takes p + 1 comparisons from the one end and n - p from the other.
            total += len(place) + 1 if after in place else 2 * len(place)
            place.setdefault(after, len(place))
    return total // 2


def swaps(sizes: list[int], core: int) -> int:
    """Count how often older layers go to the drum: all at once when core may not have room for the next layer."""
    held, times = list[int](), 0
    for size in sizes:
        if sum(held) + size > core and len(held) > 2:
            held, times = held[-2:], times + 1
        held.append(size)
    return times


def tree_search(puzzle: Puzzle, limit: int, order: random.Random | None = None) -> tuple[int, int, int]:
    """Search depth first, no deeper than `limit`; return (configurations met until a goal, its moves or -1, look-ups).

    A configuration is followed again only if it is met after fewer moves.
    """

    def moves(key: int) -> Iterator[int]:
        found = puzzle.successors(key)
        if order is not None:
            order.shuffle(found)
        return iter(found)

    known, looked = {puzzle.start: 0}, 0
    path = [moves(puzzle.start)]
    while path:
        after = next(path[-1], None)
        if after is None:
            path.pop()
            continue
        looked += 1
        if len(path) > limit or known.get(after, limit + 1) <= (len(path) if limit < _NO_LIMIT else limit):
            continue
        known[after] = len(path)
        if is_goal(puzzle, after):
            return len(known), len(path), looked
        path.append(moves(after))
    return len(known), -1, looked


def layers_told() -> dict[str, Any]:
    """Return figures of layers, tables, the drum and tree searches."""
    puzzle = merged()
    layers, graph = layers_of(puzzle)
    sizes, depth = [len(layer) for layer in layers], {key: n for n, layer in enumerate(layers) for key in layer}
    moves = [(key, after) for key in chain(*layers[:-1]) for after in graph[key]]
    core = next(core for core in range(_CORE, sum(sizes)) if swaps(sizes, core) == 8)
    limited = tree_search(puzzle, len(layers) - 2)
    first = sorted(tree_search(puzzle, _NO_LIMIT, random.Random(seed))[:2] for seed in range(_ORDERS))
    few, many = (compared(layers, graph, all_layers) for all_layers in (False, True))
    return {
        "places": [(5 - wide) * (6 - tall) for wide, tall in ((2, 2), (2, 1), (1, 2))],
        "blanks": math.comb(20, 2),
        "moves": len(moves),
        "undirected": sum(key in puzzle.successors(after) for key, after in moves),
        "neighbours": sum(abs(depth[after] - depth[key]) <= 1 for key, after in moves),
        "until_found": sum(sizes[:-1]),
        "registered": registered(puzzle, layers, graph),
        "window": max(sum(sizes[depth : depth + 3]) for depth in range(len(sizes))),
        "all": sum(sizes),
        "compared": few,
        "compared_all": many,
        "times": many / few,
        "swapped": [swaps(sizes, core) for core in (_CORE, 1_500, 2_048)],
        "core_of_8": core,
        "factor": round(sum(sizes) / core, 1),
        "met": [first[0][0], first[len(first) // 2][0], first[-1][0]],
        "limited": dict(zip(("met", "moves", "look_ups"), limited, strict=True)),
    }


def ends_told() -> dict[str, Any]:
    """Return the cost of a search from both ends, and of the greatest distance of the component."""
    puzzle, whole = merged(), PuzzleSpec("klotski").build()
    here = distances(puzzle.successors, [puzzle.start])
    goals = [key for key in here if is_goal(puzzle, key)]
    forward, back = (Counter(each.values()) for each in (here, distances(puzzle.successors, goals)))
    moves = min(here[goal] for goal in goals)
    # The smaller frontier is expanded.
    ways = [0, 0]
    while sum(ways) < moves:
        ways[forward[ways[0]] > back[ways[1]]] += 1
    totals = [[*accumulate(layers[depth] for depth in range(moves + 1))] for layers in (forward, back)]
    one, other = (total[way] for total, way in zip(totals, ways, strict=True))
    graph = {key: whole.successors(key) for key in distances(whole.successors, [whole.start])}
    searches, diameter = bounded(graph)
    return {
        "until_found": totals[0][moves],
        "one": one,
        "other": other,
        "best": min(totals[0][depth] + totals[1][moves - depth] for depth in range(moves + 1)),
        "size": len(graph),
        "searches": searches,
        "diameter": diameter,
        "times": searches * len(graph) / totals[0][moves],
    }


def bounded(graph: Graph) -> tuple[int, int]:
    """Return how many searches find the greatest distance, and this (bounds of Takes and Kosters, 2011)."""
    low, high = dict.fromkeys(graph, 0), dict.fromkeys(graph, _NO_LIMIT)
    left, count, best = {*graph}, 0, 0
    while left:
        if count % 2:
            source = min(left, key=lambda key: (low[key], -len(graph[key]), key))
        else:
            source = max(left, key=lambda key: (high[key], -low[key], len(graph[key]), key))
        far, count = distances(graph.__getitem__, [source]), count + 1
        eccentricity = max(far.values())
        for key in left:
            low[key] = max(low[key], eccentricity - far[key], far[key])
            high[key] = min(high[key], eccentricity + far[key])
        best = max(best, *(low[key] for key in left))
        left = {key for key in left if high[key] > best and key != source}
    return count, best


def space_told() -> dict[str, Any]:
    """Return the axioms of a distance in every component, and how many structures of adjacency there are."""
    puzzle = PuzzleSpec("klotski").build()
    graph = {int(key): puzzle.successors(int(key)) for block in puzzle.configurations() for key in block}
    components, left, draw = list[list[int]](), {*graph}, random.Random(1)
    while left:
        components.append([*distances(graph.__getitem__, [min(left)])])
        left -= {*components[-1]}
    triples = broken = 0
    for component in components:
        chosen = component if len(component) < 32 else draw.sample(component, 32)
        far = {key: distances(graph.__getitem__, [key]) for key in chosen}
        triples += len(chosen) ** 3
        broken += sum(far[a][b] != far[b][a] or (far[a][b] == 0) != (a == b) for a, b in product(chosen, chosen))
        broken += sum(far[a][c] > far[a][b] + far[b][c] for a, b, c in product(chosen, chosen, chosen))
    structures = {structure(puzzle.render(key).replace("/", "")) for key in graph}
    return {
        "configurations": len(graph), "components": len(components), "triples": triples, "broken": broken,
        "structures": len(structures),
    }  # fmt: skip


def structure(board: str) -> int:
    """Return a number for the kinds and the adjacency of pieces, blanks and walls, whatever they are called.

    Pieces are told apart by their kinds and neighbours, then by those of their neighbours, and so on.
    """
    cells = {(n // 4, n % 4): f"{n}" if mark == "." else mark for n, mark in enumerate(board)}
    at = {(y, x): cells.get((y, x), "wall") for y in range(-1, 6) for x in range(-1, 5)}
    links = {(at[y, x], way, at[y + way, x + 1 - way]) for y in range(-1, 5) for x in range(-1, 4) for way in (0, 1)}
    colours = {name: hash((name.isalpha(), board.count(name), name * 2 in board)) for name in at.values()}
    for _ in range(4):
        seen: dict[str, list[tuple[int, int]]] = {name: [] for name in colours}
        for one, way, other in links:
            seen[one].append((way, colours[other]))
            seen[other].append((way + 2, colours[one]))
        colours = {name: hash((colours[name], *sorted(found))) for name, found in seen.items()}
    return hash(tuple(sorted(colours.values())))


def orders_told() -> dict[str, Any]:
    """Count the orders of moves by the configurations that each registers until a goal is expanded.

    Pieces are taken kind by kind and from the upper left, each in all directions. The kinds and the directions come in
    any order, and layers are expanded in the order in which they are found, or in reverse.
    """
    puzzle = merged()
    layers, _ = layers_of(puzzle)
    graph = {key: _described(puzzle, key) for layer in layers[:-1] for key in layer}
    goals = {key for key in layers[-2] if is_goal(puzzle, key)}
    found = Counter[int]()
    for kinds, directions in product(permutations(range(4)), permutations(_DIRECTIONS)):
        after = {
            key: [new for *_, new in sorted((kinds.index(kind), cell, directions.index(way), new)
                                            for kind, cell, way, new in moves)]
            for key, moves in graph.items()
        }  # fmt: skip
        found.update(_registered(after, puzzle.start, goals, step) for step in (1, -1))
    nearest = min(found, key=lambda count: abs(count - 12_071))
    return {"same": found[12_071], "orders": found.total(), "least": min(found), "most": max(found), "nearest": nearest}


def _described(puzzle: MergedMirrors, key: int) -> list[tuple[int, int, str, int]]:
    """Return (kind of piece, its cell, direction, configuration) of each move."""
    text, moves = puzzle.render(key).replace("/", ""), []
    for after in puzzle.base.successors(key):
        piece, way = puzzle.base.describe_move(key, after).split()
        cell = text.index(piece)
        kind = {1: 3, 4: 0}.get(text.count(piece), 1 if piece * 2 in text[cell : cell + 2] else 2)
        moves.append((kind, cell, way, puzzle.representative(after)))
    return moves


def _registered(after: Graph, start: int, goals: set[int], step: int) -> int:
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


if __name__ == "__main__":
    told = {"layers": layers_told, "ends": ends_told, "space": space_told, "orders": orders_told}
    print(json.dumps(told[sys.argv[1]]()))
