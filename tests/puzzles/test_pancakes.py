"""Pancakes, plain and burnt, and the numbering of orders: moves by texts alone, published layers, refusals."""

from itertools import permutations
from math import factorial

import numpy as np
import pytest

from hakoiri.puzzles.permutation.orders import all_orders, digits_of, number_of, order_of, pack_places
from hakoiri.puzzles.permutation.pancakes import BurntPancakes, Pancakes
from tests.support.plain_search import (
    check_expand,
    check_undirected,
    layer_sizes,
    plain_layer_sizes,
    sampled,
    whole,
)
from tests.support.seeds import usual

#: A092113: the stacks of n pancakes by the least number of turns.
PLAIN_LAYERS = {
    2: [1, 1],
    3: [1, 2, 2, 1],
    4: [1, 3, 6, 11, 3],
    5: [1, 4, 12, 35, 48, 20],
    6: [1, 5, 20, 79, 199, 281, 133, 2],
    7: [1, 6, 30, 149, 543, 1_357, 1_903, 1_016, 35],
    8: [1, 7, 42, 251, 1_191, 4_281, 10_561, 15_011, 8_520, 455],
    9: [1, 8, 56, 391, 2_278, 10_666, 38_015, 93_585, 132_697, 79_379, 5_804],
}
#: A078941: the most turns that n burnt pancakes need.
BURNT_DEPTHS = {1: 1, 2: 4, 3: 6, 4: 8, 5: 10, 6: 12, 7: 14}


def plain(n: int) -> Pancakes:
    return Pancakes({"n": str(n)})


def burnt(n: int) -> BurntPancakes:
    return BurntPancakes({"n": str(n)})


def plain_turns(text: str) -> list[str]:
    words = text.split()
    return [" ".join([*reversed(words[:count]), *words[count:]]) for count in range(2, len(words) + 1)]


def burnt_turns(text: str) -> list[str]:
    words = text.split()
    other = [word.removeprefix("-") if word.startswith("-") else f"-{word}" for word in words]
    return [" ".join([*reversed(other[:count]), *words[count:]]) for count in range(1, len(words) + 1)]


def test_numbers_of_orders() -> None:
    numbers = {number_of(order): order for order in permutations(range(5))}
    assert sorted(numbers) == list(range(120))
    for number, order in numbers.items():
        assert tuple(order_of(number, range(5))) == order
        assert number_of([10 * thing - 7 for thing in order]) == number
        assert sum(digits_of(order)) == sum(one > other for i, other in enumerate(order) for one in order[:i])
        assert [number_of(order[:k]) for k in range(6)] == [number % factorial(k) for k in range(6)]


@pytest.mark.parametrize("length", [1, 2, 6])
def test_tables_of_all_orders(length: int) -> None:
    larger, digits = all_orders(length)
    orders = [order_of(number, range(length)) for number in range(factorial(length))]
    assert (length - 1 - larger).T.tolist() == orders
    assert digits.T.tolist() == [digits_of(order) for order in orders]
    assert pack_places(digits).tolist() == [
        sum(digit << 4 * place for place, digit in enumerate(digits_of(order))) for order in orders
    ]


@pytest.mark.parametrize(
    "puzzle", [*map(plain, range(2, 6)), *map(burnt, range(1, 4))], ids=lambda it: f"{it.name}{it.n}"
)
def test_every_small_stack(puzzle: Pancakes | BurntPancakes) -> None:
    keys = whole(puzzle)
    assert len(keys) == factorial(puzzle.n) << (puzzle.n if puzzle.name == "burnt-pancakes" else 0)
    check_expand(puzzle, keys, plain_turns if puzzle.name == "pancakes" else burnt_turns)
    check_undirected(puzzle, keys)


@usual(7, "n", PLAIN_LAYERS)
def test_published_layers(n: int) -> None:
    assert sum(PLAIN_LAYERS[n]) == factorial(n)
    assert layer_sizes(plain(n)) == PLAIN_LAYERS[n]


@pytest.mark.parametrize("n", [*range(1, 7), pytest.param(7, marks=pytest.mark.slow)])
def test_published_depths_of_burnt_pancakes(n: int) -> None:
    sizes = layer_sizes(burnt(n))
    assert (sum(sizes), len(sizes) - 1) == (factorial(n) << n, BURNT_DEPTHS[n])
    assert n > 4 or sizes == plain_layer_sizes(burnt_turns, burnt(n).render(0))


def test_keys_of_larger_spaces_are_listed_block_by_block() -> None:
    blocks = list(plain(10).configurations())
    assert (len(blocks), sum(map(len, blocks))) == (4, factorial(10))
    assert (np.concatenate(blocks) == np.arange(factorial(10))).all()
    assert [plain(12).layout.name, plain(13).layout.name, burnt(10).layout.name] == ["u32", "u64", "u32"]


def test_moves_in_words() -> None:
    for puzzle, least in ((plain(9), 2), (burnt(9), 1)):
        before = int(sampled(puzzle, factorial(9), 50, 3)[0])
        words = [puzzle.describe_move(before, after) for after in puzzle.successors(before)]
        assert words == [f"reverse {count}" for count in range(least, 10)]
