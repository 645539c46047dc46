"""Hanoi: the whole of small spaces, text, pegs that may change places, published distances, refusals."""

from itertools import permutations

import numpy as np
import pytest

from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.hanoi import Hanoi
from tests.support.plain_search import layers_of
from tests.support.seeds import usual

PUBLISHED = {
    # OEIS A007664.
    "transfer by discs, 4 pegs": [1, 3, 5, 9, 13, 17, 25, 33, 41, 49],
    # Lucas: 2^discs - 1.
    "transfer by discs, 3 pegs": [2**discs - 1 for discs in range(1, 11)],
    "layers, 4 pegs, 3 discs": [1, 3, 6, 12, 30, 12],
}
SMALL = [(3, 1), (3, 2), (3, 6), (4, 1), (4, 2), (4, 3), (4, 6), (5, 1), (5, 4), (6, 4), (7, 3), (8, 1), (8, 4)]
LARGE = [(3, 20), (4, 15), (4, 16), (4, 20), (5, 12), (6, 10), (8, 20)]


def hanoi(pegs: int, discs: int) -> Hanoi:
    return Hanoi({"pegs": str(pegs), "discs": str(discs)})


def whole(puzzle: Puzzle) -> Keys:
    return np.concatenate(list(puzzle.configurations()))


def some(pegs: int, discs: int) -> Keys:
    """Random keys, and towers that stand on few of the pegs."""
    rng = np.random.default_rng(pegs * 100 + discs)
    places = rng.integers(0, rng.integers(1, pegs + 1, 400), (discs, 400))
    bits = (pegs - 1).bit_length()
    return hanoi(pegs, discs).keys([sum(int(peg) << bits * disc for disc, peg in enumerate(key)) for key in places.T])


@pytest.mark.parametrize(("pegs", "discs"), SMALL)
def test_every_configuration_of_a_small_space_is_reached(pegs: int, discs: int) -> None:
    puzzle = hanoi(pegs, discs)
    keys = whole(puzzle)
    assert len(keys) == pegs**discs == sum(map(len, layers_of(puzzle)))
    successors, counts = puzzle.expand(keys)
    assert counts.max() == puzzle.most_successors
    sources = np.repeat(keys, counts)
    assert (sources != successors).all()
    assert len(set(zip(sources.tolist(), successors.tolist(), strict=True))) == len(successors)


@pytest.mark.ci_slow
@pytest.mark.parametrize("pegs", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_published_transfers(pegs: int) -> None:
    for discs, moves in enumerate(PUBLISHED[f"transfer by discs, {pegs} pegs"], 1):
        puzzle = hanoi(pegs, discs)
        goals = [int(puzzle.is_goal(layer).sum()) for layer in layers_of(puzzle)]
        assert goals.index(1) == moves
        assert sum(goals) == 1


def test_published_layers() -> None:
    assert list(map(len, layers_of(hanoi(4, 3)))) == PUBLISHED["layers, 4 pegs, 3 discs"]


@usual(3, ("pegs", "discs"), [(3, 4), (4, 4), (5, 3), (8, 2)])
def test_orbits_are_those_of_exchanged_pegs(pegs: int, discs: int) -> None:
    puzzle = hanoi(pegs, discs)
    keys = whole(puzzle)
    bits = (pegs - 1).bit_length()
    places = [keys.astype(np.int64) >> bits * disc & ((1 << bits) - 1) for disc in range(discs)]
    images = [
        sum(np.array(renamed)[place] << bits * disc for disc, place in enumerate(places))
        for renamed in permutations(range(pegs))
    ]
    least = np.min(images, axis=0)
    orbits = puzzle.orbits(keys)
    assert orbits.dtype == np.int64
    pairs = np.unique(np.stack([least, orbits]), axis=1)
    assert pairs.shape[1] == len(np.unique(least)) == len(np.unique(orbits)) < len(keys)


def test_texts_and_moves_in_words() -> None:
    puzzle = Hanoi()
    assert puzzle.render(puzzle.start) == "CBA/././."
    moves = {
        puzzle.describe_move(puzzle.start, after): puzzle.render(after) for after in puzzle.successors(puzzle.start)
    }
    assert moves == {
        "A from peg 1 to peg 2": "CB/A/./.",
        "A from peg 1 to peg 3": "CB/./A/.",
        "A from peg 1 to peg 4": "CB/././A",
    }
    assert puzzle.parse(" B/CA/./.\n") == 0b01_00_01
    assert puzzle.is_goal(puzzle.keys([puzzle.parse("./././CBA"), puzzle.parse("././A/CB")])).tolist() == [True, False]
    assert hanoi(3, 20).render(hanoi(3, 20).start) == "TSRQPONMLKJIHGFEDCBA/./."


@pytest.mark.parametrize(("pegs", "discs"), LARGE)
def test_orbits_keep_the_number_of_moves(pegs: int, discs: int) -> None:
    puzzle, keys = hanoi(pegs, discs), some(pegs, discs)
    orbits = puzzle.keys(puzzle.orbits(keys).tolist())
    assert (puzzle.expand(orbits).counts == puzzle.expand(keys).counts).all()
    assert (puzzle.orbits(orbits) == orbits).all()
