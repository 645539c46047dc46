"""States of any kind: which are the same is decided by Python's equality, against plain sets of random values."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from itertools import combinations
from math import inf
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.user.forms import expression, form, literal, text_of
from hakoiri.puzzles.user.states import Walk

#: Random graphs in the default suite, and where the slow tests run.
GRAPHS, MORE_GRAPHS = 200, 10_000


class Point(NamedTuple):
    """Equal to a pair."""

    x: Any
    y: Any


class Colour(IntEnum):
    """Equal to whole numbers."""

    RED = 0
    BLUE = 1


class Bank(Enum):
    """Equal to nothing else."""

    LEFT = 0
    RIGHT = 1


class Word(StrEnum):
    """Equal to texts."""

    A = "a"


class Letter(str, Enum):  # noqa: UP042  (is meant)
    """Equal to texts, and with another ``str``."""

    A = "a"


@dataclass(frozen=True)
class Place:
    """Equal by one of its fields."""

    at: Any
    note: Any = field(default=0, compare=False)


class Odd:
    """Equal to numbers, by a rule of its own."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Odd) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Odd({self.value})"


#: Values; those in a row are equal. Decimals and numpy's numbers cannot be compared.
EQUAL: list[list[Any]] = [
    [0, False, 0.0, -0.0, Fraction(0), 0j, np.int64(0), np.bool_(False), np.float32(0), Colour.RED],
    [1, True, 1.0, Fraction(2, 2), 1 + 0j, np.uint8(1), np.float64(1), np.complex128(1), Colour.BLUE],
    [0.5, Fraction(1, 2), np.float32(0.5), np.float16(0.5), 0.5 + 0j],
    [0.1, np.float64(0.1)],
    [Fraction(1, 10)],
    [float(np.float32(0.1)), np.float64(np.float32(0.1))],
    [2**70, 2.0**70, Fraction(2**70)],
    [inf, np.float64(inf)],
    [1 + 2j, np.complex128(1 + 2j)],
    [complex(-0.0, 2), 2j],
    ["a", np.str_("a"), Word.A, Letter.A],
    ["1"],
    ["a b"],
    ["a  b"],
    [" a"],
    ["'a'"],
    ["\n"],
    [b"a", np.bytes_(b"a")],
    [None],
    [Bank.LEFT],
    [Bank.RIGHT],
    [Place(1), Place(True, 5), Place(1.0, "x")],
    [Place("1")],
]
DECIMALS = [
    [1, Decimal("1.0"), Decimal(1)],
    [0.5, Decimal("0.50")],
    [Decimal("0.1"), Fraction(1, 10)],
    [-inf, Decimal("-Infinity")],
]


def made(chance: Random, rows: list[list[Any]], depth: int) -> list[Any]:
    """Return a random row of equal values: alone, or in tuples, sets and dataclasses."""
    kind = chance.randrange(5) if depth else 0
    if kind == 0:
        return chance.choice(rows)
    inner = [made(chance, rows, depth - 1) for _ in range(2 if kind == 1 else chance.randrange(4))]
    if kind == 4:
        inner = [made(chance, rows, depth - 1)]
    row: list[Any] = []
    for _ in range(3):
        parts = [chance.choice(each) for each in inner]
        if kind == 1:
            row += [tuple(parts), Point(*parts)]
        elif kind == 2:
            row.append(tuple(parts))
        else:
            row.append(frozenset(parts) if kind == 3 else Place(parts[0], chance.random()))
    return row


def layers_of(start: Hashable, moves: Callable[[Any], Iterator[Any]]) -> list[int]:
    """The obviously right search: a plain set."""
    seen, layer, sizes = {start}, [start], [1]
    while layer:
        following = []
        for state in layer:
            for after in moves(state):
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        sizes.append(len(following))
        layer = following
    return sizes


def check_graph(seed: int) -> None:
    chance = Random(seed)
    rows = DECIMALS if chance.random() < 0.1 else EQUAL
    number: dict[Any, int] = {}
    names: list[list[Any]] = []
    for _ in range(chance.randrange(2, 25)):
        row = made(chance, rows, 3)
        if row[0] not in number:
            number |= dict.fromkeys(row, len(names))
            names.append(row)
    arcs = [[chance.randrange(len(names)) for _ in range(chance.randrange(4))] for _ in names]

    def graph(salt: int) -> tuple[Any, Callable[[Any], Iterator[Any]]]:
        def moves(state: Any) -> Iterator[Any]:
            spelled = Random(f"{seed} {salt} {number[state]}")
            for place in arcs[number[state]]:
                yield spelled.choice(names[place])

        return Random(salt).choice(names[0]), moves

    walks = []
    for salt in (1, 2):
        start, moves = graph(salt)
        try:
            walk = Walk(start, moves)
            while walk.layers[-1]:
                walk.step()
        except PuzzleError as error:
            # Only an outermost text may be written as another value.
            assert "are not equal, but have the same text" in str(error), (seed, error)
            assert any(isinstance(each, str) for row in names for each in row)
            return
        assert [*map(len, walk.layers)] == layers_of(start, moves), seed
        walks.append([set(layer) for layer in walk.layers])
    # Whichever of equal values came first, the keys are the same.
    assert walks[0] == walks[1], seed


@pytest.mark.ci_slow
def test_random_graphs_of_mixed_types_are_those_of_a_plain_set() -> None:
    for seed in range(GRAPHS):
        check_graph(seed)


@pytest.mark.slow
def test_many_random_graphs_of_mixed_types_are_those_of_a_plain_set() -> None:
    for seed in range(GRAPHS, MORE_GRAPHS):
        check_graph(seed)


@pytest.mark.parametrize("rows", [EQUAL, DECIMALS])
def test_forms_are_equal_exactly_if_values_are(rows: list[list[Any]]) -> None:
    chance = Random(1)
    values = [each for row in rows for each in row]
    values += [each for _ in range(20) for each in made(chance, rows, 3)]
    for one, other in combinations(values, 2):
        equal = hash(one) == hash(other) and one == other
        assert (form(one) == form(other)) == equal, (one, other)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("a b", "a b"), (" a", "' a'"), ("0x1", "'0x1'"), (1.0, "1"), ((1, "a  b", None), "(1, 'a  b', None)"),
        ((1,), "(1,)"), (Point(True, Fraction(1, 3)), "(1, 1/3)"), (frozenset("ba"), "{'a', 'b'}"), (0.1, "0.1"),
        (Place(frozenset([2.0, 1])), "Place(at={1, 2})"), (Bank.LEFT, "Bank.LEFT"), (np.float32(0.5), "0.5"),
    ],
)  # fmt: skip
def test_texts_for_people(state: Any, text: str) -> None:
    assert text_of(state) == text


def test_an_equality_that_the_texts_do_not_follow_is_refused() -> None:
    walk = Walk(0, lambda state: [Odd(state + 1), state + 1] if state < 3 else [])
    with pytest.raises(
        PuzzleError, match=r"the states Odd\(1\) and 1 are equal, but have different texts, Odd\(1\) and 1"
    ):
        walk.step()


@pytest.mark.parametrize(
    "value", [{"a": [1, (2.5,), {3}], None: b"x"}, (), (1,), -inf, {frozenset([1, 2]): True}, "\n'\"", 1e-320, [[]]]
)
def test_plain_data_is_written_as_python(value: Any) -> None:
    back = eval(literal(value))  # noqa: S307
    assert back == value and type(back) is type(value)


def test_other_data_is_not_plain() -> None:
    ring: list[Any] = []
    ring.append(ring)
    for value, error in ((Place(1), TypeError), ([np.int64(1)], TypeError), (ring, RecursionError)):
        with pytest.raises(error):
            literal(value)
    state = (Place((Bank.LEFT, 1)), Point(0, frozenset([2])))
    assert eval(expression(state)) == state  # noqa: S307
