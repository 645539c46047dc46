"""Cube and Pyraminx alike: the whole spaces, turns that undo one another, words, published layer sizes."""

from collections.abc import Callable

import numpy as np
import pytest

from hakoiri.keys.layout import Keys
from hakoiri.puzzles.twisty.base import Twisty
from hakoiri.puzzles.twisty.cube2 import Cube2
from hakoiri.puzzles.twisty.pyraminx import Pyraminx

PUBLISHED = {
    # OEIS A079761.
    "cube, half": [1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644],
    # Widely quoted; no single source.
    "cube, quarter": [1, 6, 27, 120, 534, 2256, 8969, 33058, 114149, 360508, 930588, 1350852, 782536, 90280, 276],
    # Quoted from Jaap Scherphuis, tips left out.
    "pyraminx": [1, 8, 48, 288, 1728, 9896, 51808, 220111, 480467, 166276, 2457, 32],
}
PUZZLES: dict[str, Callable[[], Twisty]] = {
    "cube, half": Cube2,
    "cube, quarter": lambda: Cube2({"metric": "quarter"}),
    "pyraminx": Pyraminx,
}
#: All configurations, and how often a turn is the identity.
SIZES = {"cube": (3_674_160, 4), "pyraminx": (933_120, 3)}


@pytest.fixture(scope="module", params=PUZZLES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def puzzle(name: str) -> Twisty:
    return PUZZLES[name]()


def size_and_order(name: str) -> tuple[int, int]:
    return SIZES[name.partition(",")[0]]


def some(name: str, count: int) -> Keys:
    keys = np.random.default_rng(1).integers(0, size_and_order(name)[0], count, dtype=np.uint32)
    keys[0] = 0
    return keys


def columns(puzzle: Twisty, keys: Keys) -> Keys:
    """The successors, a column for each turn."""
    found, counts = puzzle.expand(keys)
    assert found.dtype == np.uint32
    assert counts.tolist() == [puzzle.most_successors] * len(keys)
    return found.reshape(-1, puzzle.most_successors)


def layers(puzzle: Twisty, start: int, size: int, most: int = 100) -> list[int]:
    seen, layer, found = np.zeros(size, dtype=np.bool_), puzzle.keys([start]), list[int]()
    while len(layer) and len(found) < most:
        seen[layer] = True
        found.append(len(layer))
        successors = puzzle.expand(layer).successors
        new = np.zeros(size, dtype=np.bool_)
        new[successors] = True
        layer = np.flatnonzero(new & ~seen).astype(np.uint32)
    return found


def test_published_layers(name: str, puzzle: Twisty) -> None:
    size, _ = size_and_order(name)
    assert layers(puzzle, puzzle.start, size) == PUBLISHED[name]
    assert sum(PUBLISHED[name]) == size


@pytest.mark.ci_slow
def test_turns_permute_all_configurations(name: str, puzzle: Twisty) -> None:
    blocks = list(puzzle.configurations())
    size, _ = size_and_order(name)
    assert (np.concatenate(blocks) == np.arange(size)).all()
    reached = np.zeros((puzzle.most_successors, size), dtype=np.bool_)
    for block in blocks:
        for turn, column in enumerate(columns(puzzle, block).T):
            reached[turn, column] = True
    assert reached.all()


def test_turns_undo_one_another_and_come_round(name: str, puzzle: Twisty) -> None:
    keys, order = some(name, 10_000), size_and_order(name)[1]
    turns = [puzzle.describe_move(0, after) for after in puzzle.successors(0)]
    for number, turn in enumerate(turns):
        after = columns(puzzle, keys)[:, number]
        opposite = {turn[0]: f"{turn[0]}'", f"{turn[0]}'": turn[0]}.get(turn, turn)
        assert (columns(puzzle, after)[:, turns.index(opposite)] == keys).all()
        assert (after != keys).all()
        if turn == turn[0]:
            came = [after := columns(puzzle, after)[:, number] for _ in range(order - 1)]
            assert [(one == keys).all() for one in came] == [False] * (order - 2) + [True]


def test_moves_in_words(name: str, puzzle: Twisty) -> None:
    faces = {"cube, half": ("URF", ["", "'", "2"]), "cube, quarter": ("URF", ["", "'"])}
    corners, resources = faces.get(name, ("ULRB", ["", "'"]))
    for key in some(name, 4).tolist():
        words = [puzzle.describe_move(key, after) for after in puzzle.successors(key)]
        assert words == [turn + way for turn in corners for way in resources]


def test_only_the_start_is_solved(name: str, puzzle: Twisty) -> None:
    goals = np.concatenate([block[puzzle.is_goal(block)] for block in puzzle.configurations()])
    assert goals.tolist() == [puzzle.start]
    rows = puzzle.render(puzzle.start).split("/")
    assert all(set(row) == {face} for face, row in zip(puzzle.faces, rows, strict=True))


# The pocket cube: known scrambles sticker by sticker, and the errors for what is no cube


SOLVED = "UUUU/RRRR/FFFF/DDDD/LLLL/BBBB"
#: Worked out by hand on the unfolded cube.
TURNED = {
    "U": "UUUU/BBRR/RRFF/DDDD/FFLL/LLBB",
    "U'": "UUUU/FFRR/LLFF/DDDD/BBLL/RRBB",
    "R": "UFUF/RRRR/FDFD/DBDB/LLLL/UBUB",
    "F": "UULL/URUR/FFFF/RRDD/LDLD/BBBB",
    "U2": "UUUU/LLRR/BBFF/DDDD/RRLL/FFBB",
    "R2": "UDUD/RRRR/FBFB/DUDU/LLLL/FBFB",
    "F2": "UUDD/LRLR/FFFF/UUDD/LRLR/BBBB",
}


def turned(puzzle: Cube2, key: int, words: str) -> int:
    """The key after moves such as ``"R U R'"``."""
    for word in words.split():
        (key,) = [after for after in puzzle.successors(key) if puzzle.describe_move(key, after) == word]
    return key


@pytest.mark.parametrize("turn", TURNED)
def test_turns_from_the_solved_cube(turn: str) -> None:
    puzzle = Cube2()
    assert puzzle.render(puzzle.start) == SOLVED
    assert puzzle.parse(TURNED[turn]) == turned(puzzle, puzzle.start, turn)


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("words", "times"),
    # What is left of the orders 105, 63, 6 and 6 on the large cube when its edges are not looked at.
    [("R U", 15), ("R U'", 9), ("R2 U2", 3), ("R U R' U'", 6)],
)
def test_known_sequences_come_round(words: str, times: int) -> None:
    puzzle = Cube2()
    keys = [0]
    while len(keys) == 1 or keys[-1] != 0:
        keys.append(turned(puzzle, keys[-1], words))
    assert len(keys) - 1 == times


def test_a_half_turn_is_two_quarter_turns() -> None:
    half, quarter = Cube2(), Cube2({"metric": "quarter"})
    key = turned(half, 0, "R U2 F' R2")
    assert half.render(key) == quarter.render(turned(quarter, 0, "R U U F' R R"))
    assert quarter.most_successors == 6
    assert half.most_successors == 9
