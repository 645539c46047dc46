"""``python -m campaigns.tables.gap WHAT DEAL ...``: claims of Ishihata on Gap, by the programs of the paper.

A state is a tuple of 32 cells, 0 for a gap, as in the paper. Prints JSON.

- ``states``: moves, points, orders of moves and trees without memory of the first deal and of the second; the table of
  the second; a small graph with a loop.
- ``printed``: both programs in C (`gap.c`) over 300 random deals, their positions and seconds, and gaps kept beside the
  cells; and their positions of the deal given.
- ``misplaced``: A* that counts misplaced cards, beside breadth first, over 300 random deals.
"""

import heapq
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hakoiri.guests.deals.solitaire import Gap

State = tuple[int, ...]
_M, _N, _HASH_SIZE, _INFINITY, _DEALS, _TIMES = 7, 8, 293_129, 100_000, 300, 5
_GOAL: State = tuple(0 if rank > _M else 10 * suit + rank for suit in range(1, 5) for rank in range(1, _N + 1))
_SOURCE = Path(__file__).with_name("gap.c")
#: From S to G in three moves, by B. The program enters B from A while it is still at A, and notes that B leads nowhere.
_LOOP = {"S": "CB", "C": "D", "D": "A", "A": "BG", "B": "A", "G": ""}


def state_of(game: Gap, key: int) -> State:
    """A position as a state."""
    words = game.render(key).replace("\n", " ").replace("/", " ").split()
    return tuple(0 if word == ".." else int(word) for word in words)


def dealt(deal: str) -> State:
    """The state in which a game begins."""
    game = Gap(start=deal)
    return state_of(game, game.start)


def random_states() -> list[State]:
    """The states in which random games begin."""
    game = Gap()
    return [state_of(game, game.start_of_deal(0, number)) for number in range(_DEALS)]


def moves(state: State) -> Iterator[State]:
    """The paper's ``generate_moves``."""
    for gap, card in enumerate(state):
        left = state[gap - 1]
        if card == 0 and left != 0 and left % 10 != _M:
            following = list(state)
            following[state.index(left + 1)], following[gap] = 0, left + 1
            yield tuple(following)


def reached(start: State) -> dict[State, list[State]]:
    """All states that can be reached, each with its moves."""
    found: dict[State, list[State]] = {}
    left = [start]
    while left:
        state = left.pop()
        if state not in found:
            found[state] = list(moves(state))
            left += found[state]
    return found


def points(state: State) -> int:
    """A pair of neighbours x6 x7 counts 1, x5 x6 2, and so on to 6 for x1 x2."""
    pairs = ((left, card) for cell, (left, card) in enumerate(pairwise(state), 1) if cell % _N)
    return sum(_M - left % 10 for left, card in pairs if left and card == left + 1)


def tree(graph: Mapping[State, Sequence[State]]) -> int:
    """The positions that a search without memory generates: the ways to all states, summed from the last ones."""
    total: dict[State, int] = {}
    for state in sorted(graph, key=points, reverse=True):
        total[state] = 1 + sum(total[after] for after in graph[state])
    return total[next(iter(graph))]


def orders(graph: Mapping[State, Sequence[State]]) -> tuple[int, int]:
    """Return how many pairs of moves of a state lead to the same state in both orders, and all pairs."""
    same = count = 0
    for state, found in graph.items():
        for one, other in combinations(found, 2):
            # A state after both has the cells that each changed.
            both = tuple(b if b != a else c for a, b, c in zip(state, one, other, strict=True))
            same += both in graph[one] and both in graph[other]
            count += 1
    return same, count


def compared(states: Iterable[State], factors: Sequence[int]) -> float:
    """Mean number of states compared until one is found in the paper's table of chains."""
    chains = Counter(sum(factor * card for factor, card in zip(factors, state, strict=True)) % _HASH_SIZE
                     for state in states)  # fmt: skip
    return sum(length * (length + 1) / 2 for length in chains.values()) / chains.total()


def backtrack(leads: Mapping[str, str], state: str, to_goal: dict[str, int]) -> int:
    """The paper's depth-first program on another graph; `to_goal` is its table."""
    if state not in to_goal:
        to_goal[state] = _INFINITY
        to_goal[state] = 1 + min((backtrack(leads, after, to_goal) for after in leads[state]), default=_INFINITY)
    return to_goal[state]


def fewest(leads: Mapping[str, str], start: str, goal: str) -> int:
    """The fewest moves, breadth first."""
    layers = [{start}]
    while goal not in layers[-1]:
        layers.append({after for state in layers[-1] for after in leads[state]})
    return len(layers) - 1


def _is_prime(number: int) -> bool:
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def states(small: str, large: str) -> dict[str, Any]:
    """Return figures of all states of two deals."""
    graph, other = reached(dealt(small)), reached(dealt(large))
    primes = [number for number in range(2, 200) if _is_prime(number)]
    factors: Mapping[str, Callable[[int], int]] = {
        "rising": lambda cell: 1 + cell * (cell + 1) // 2,
        "plain": lambda cell: 1 + cell,
        "primes": lambda cell: primes[cell],
    }
    same, pairs = orders(graph)
    same_of_other, pairs_of_other = orders(other)
    return {
        "most_moves": max(map(len, graph.values())),
        "points_rise": all(points(after) > points(state) for state, found in graph.items() for after in found),
        "prime": _is_prime(_HASH_SIZE),
        "states": [len(graph), len(other)],
        "trees": [float(tree(graph)), float(tree(other))],
        "orders": [same, pairs, same_of_other, pairs_of_other],
        **{name: round(compared(other, [*map(factor, range(4 * _N))]), 2) for name, factor in factors.items()},
        "loop": {"program": backtrack(_LOOP, "S", {"G": 0}), "fewest": fewest(_LOOP, "S", "G")},
    }


def printed(deal: str) -> dict[str, Any]:
    """Compile and run both programs."""
    source = _SOURCE.read_text(encoding="utf-8")
    blocks = source.partition("/* breadth first */")[2].partition("/* end */")[0].split("/* depth first */")
    given = [random_states(), [dealt(deal)]]
    texts = ["\n".join(" ".join(map(str, state)) for state in states) for states in given]
    result: dict[str, Any] = {"lines": [sum(bool(line.strip()) for line in block.splitlines()) for block in blocks]}
    with TemporaryDirectory() as folder:
        for name, flags in (("o0", ["-O0"]), ("o2", ["-O2"]), ("o0 beside", ["-O0", "-DBESIDE"]),
                            ("o2 beside", ["-O2", "-DBESIDE"])):  # fmt: skip
            program = str(Path(folder) / name.replace(" ", "-"))
            subprocess.run(["gcc", *flags, "-o", program, str(_SOURCE)], check=True)
            for order in ("bfs", "dfs"):
                many, one = (_told(program, order, text) for text in texts)
                # Beside other work the least of some times is the one to take.
                ticks = min([many[-1][0], *(_told(program, order, texts[0])[-1][0] for _ in range(_TIMES - 1))])
                result[f"{order} {name}"] = ticks / 1e6
                result[order] = {"positions": sum(row[0] for row in many[:-1]), "deal": one[0][0]}
                result[order]["moves"] = [row[1] for row in many[:-1]]
    same = result["bfs"].pop("moves") == (found := result["dfs"].pop("moves"))
    return result | {"same": same, "solved": sum(moves >= 0 for moves in found), "deals": len(found)}


def _told(program: str, order: str, text: str) -> list[list[int]]:
    ended = subprocess.run([program, order], input=text, capture_output=True, text=True, check=True)
    return [[*map(int, line.split())] for line in ended.stdout.splitlines()]


def misplaced() -> dict[str, Any]:
    """Return the states generated breadth first and by A*, over deals with a solution, and over the others."""
    result = {"solvable": 0, "breadth": 0, "best": 0, "rest": 0, "rest_best": 0}
    for start in random_states():
        best, solved = _best_first(start, lambda state: sum(a != b for a, b in zip(state, _GOAL, strict=True) if a))
        breadth, _ = _best_first(start, lambda state: 0)
        result["solvable"] += solved
        result["breadth" if solved else "rest"] += breadth
        result["best" if solved else "rest_best"] += best
    return result


def _best_first(start: State, left: Callable[[State], int]) -> tuple[int, bool]:
    """Search by moves and a bound of the moves `left`; return states generated, and whether the goal was reached."""
    known, queue = {start: 0}, [(left(start), 0, start)]
    while queue:
        _, negative, state = heapq.heappop(queue)
        if state == _GOAL:
            return len(known), True
        for after in moves(state):
            if known.get(after, _INFINITY) > 1 - negative:
                known[after] = 1 - negative
                heapq.heappush(queue, (1 - negative + left(after), negative - 1, after))
    return len(known), False


if __name__ == "__main__":
    told: Mapping[str, Callable[..., dict[str, Any]]] = {"states": states, "printed": printed, "misplaced": misplaced}
    print(json.dumps(told[sys.argv[1]](*sys.argv[2:])))
