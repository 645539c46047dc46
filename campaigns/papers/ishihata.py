"""``python -m campaigns.papers.ishihata DEAL DEAL``: what Ishihata says of Gap, by the programs printed in the paper.

A state is a tuple of 32 cells, 0 for a gap, as in the paper. Prints JSON:

- ``most_moves``, ``points_rise``: the most moves of a state, and whether each move adds points, over all states of the
  first deal;
- ``prime``: whether the size of the hash table is a prime number;
- ``compared``: states compared for each look-up when all states of the second deal are in the table, by multipliers;
- ``loop``: the fewest moves that the depth-first program finds in a small graph with a loop, and the true number.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from hakoiri.puzzles.solitaires.gap import Gap

State = tuple[int, ...]

_M, _N, _HASH_SIZE, _INFINITY = 7, 8, 293_129, 100_000
#: From S to G in three moves, by B. The program enters B from A while it is still at A, and notes that B leads nowhere.
_LOOP = {"S": "CB", "C": "D", "D": "A", "A": "BG", "B": "A", "G": ""}


def state_of(deal: str) -> State:
    """The state in which the game begins."""
    gap = Gap(start=deal)
    words = gap.render(gap.start).replace("\n", " ").replace("/", " ").split()
    return tuple(0 if word == ".." else int(word) for word in words)


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


def main(small: str, large: str) -> None:
    """Print all figures."""
    graph, states = reached(state_of(small)), list(reached(state_of(large)))
    multipliers: Mapping[str, Callable[[int], int]] = {
        "1, 2, 4, 7, 11, ...": lambda cell: 1 + cell * (cell + 1) // 2,
        "1, 2, 3, 4, 5, ...": lambda cell: 1 + cell,
    }
    result = {
        "most_moves": max(map(len, graph.values())),
        "points_rise": all(points(after) > points(state) for state, found in graph.items() for after in found),
        "prime": _is_prime(_HASH_SIZE),
        "states": len(states),
        "compared": {
            name: compared(states, [factor(cell) for cell in range(4 * _N)]) for name, factor in multipliers.items()
        },
        "loop": {"program": backtrack(_LOOP, "S", {"G": 0}), "fewest": fewest(_LOOP, "S", "G")},
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
