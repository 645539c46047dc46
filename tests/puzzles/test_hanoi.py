"""Hanoi: the whole of small spaces, text, pegs that may change places, published distances, refusals."""

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hakoiri.keys.layout import Keys, ints
from hakoiri.puzzles.contract import Puzzle, Ranking, numbers_of
from hakoiri.puzzles.hanoi import Hanoi
from hakoiri.puzzles.quotient import MergedMirrors
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.layers.kernels import set_within
from tests.support.plain_search import layer_sizes, layers_of, plain_layer_sizes, reference_distances
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


RANKED = [
    (5, 4, None), (4, 4, None), (5, 4, "./D/CBA/./."), (4, 2, None), (3, 5, None), (8, 2, None), (6, 4, "D/C/BA/././."),
]  # fmt: skip


def ranked(pegs: int, discs: int, start: str | None) -> list[tuple[Puzzle, Ranking]]:
    """The puzzle and that of its classes, with their numbers."""
    base = Hanoi({"pegs": str(pegs), "discs": str(discs)}, start)
    assert base.class_ranking is not None
    return [(base, base._ranking(())), (MergedMirrors(base), base.class_ranking)]


@usual(3, ("pegs", "discs", "start"), RANKED)
def test_numbers_are_the_places_of_keys_in_order(pegs: int, discs: int, start: str | None) -> None:
    """The keys are found by the slow rules; what is no key has no number."""
    for puzzle, ranking in ranked(pegs, discs, start):
        keys = sorted(reference_distances(puzzle.successors, puzzle.start))
        assert ranking.size == len(keys)
        numbers = np.arange(len(keys), dtype=np.uint64)
        assert ints(ranking.keys(numbers)) == keys
        assert ints(ranking.keys(numbers[::-1])) == keys[::-1]
        others = sorted({*range(1 << discs * (pegs - 1).bit_length() + 1)} - {*keys})[::7]
        assert ranking.of(puzzle.keys(keys)).tolist() == numbers.tolist()
        assert {*ranking.of(puzzle.keys(others)).tolist()} == {(1 << 64) - 1}


@usual(3, ("pegs", "discs", "start"), RANKED)
@given(seed=st.integers(0, 1 << 32), share=st.sampled_from([0.01, 0.3, 1.0]))
@settings(max_examples=10)
def test_bitmaps_of_numbers_get_the_successors(
    pegs: int, discs: int, start: str | None, seed: int, share: float
) -> None:
    random = np.random.default_rng(seed)
    for puzzle, ranking in ranked(pegs, discs, start):
        words = -(-ranking.size // 64)
        low = int(random.integers(words)) * 64
        numbers = np.arange(low, ranking.size, dtype=np.uint64)
        numbers = numbers[random.random(len(numbers)) < share]
        bits, found, expected = (np.zeros(size, dtype=np.uint64) for size in (words - low // 64, words, words))
        set_within(bits, numbers, low)
        keys = ints(ranking.keys(numbers))
        after = sorted({after for key in keys for after in puzzle.successors(key)})
        set_within(expected, ranking.of(puzzle.keys(after)), 0)
        assert ranking.spread is not None
        ranking.spread.write(bits, low, found)
        np.testing.assert_array_equal(found, expected)


def test_classes_are_sets_of_towers() -> None:
    """By rules on towers without any keys: pegs that were empty at the start are a set."""

    def after(state: tuple[tuple[int, ...], frozenset[tuple[int, ...]], int]) -> Iterator[Any]:
        first, others, discs = state
        towers = [first, *sorted(others), *[()] * (4 - len(others))]
        for one, two in permutations(range(5), 2):
            if towers[one] and (not towers[two] or towers[one][-1] < towers[two][-1]):
                moved = [*towers]
                moved[one], moved[two] = towers[one][:-1], (*towers[two], towers[one][-1])
                yield moved[0], frozenset(filter(None, moved[1:])), discs

    sizes = plain_layer_sizes(after, (tuple(range(6, 0, -1)), frozenset(), 6))
    puzzle = PuzzleSpec("hanoi", {"pegs": "5", "discs": "6"}, merge_mirrors=True).build()
    assert layer_sizes(puzzle, puzzle.start) == sizes
    assert sum(sizes) == puzzle.total == numbers_of(puzzle)
    weights = [puzzle.tally(keys)[1] for keys in layers_of(puzzle)]
    assert weights == layer_sizes(hanoi(5, 6))


class _Still(Hanoi):
    """Towers of which only one move is made."""

    def successors(self, key: int) -> list[int]:
        return super().successors(key)[:1]


def test_changed_moves_are_not_those_of_the_kernel() -> None:
    for kind in (Hanoi, _Still):
        ranking = kind({"pegs": "5", "discs": "4"}).ranking
        assert ranking is not None
        assert (ranking.spread is None) == (kind is _Still)


@pytest.mark.parametrize(("pegs", "discs"), LARGE)
def test_numbers_of_large_spaces_lead_back(pegs: int, discs: int) -> None:
    for puzzle, ranking in ranked(pegs, discs, None):
        keys = np.unique(some(pegs, discs))
        keys = np.unique(puzzle.base.canonical(keys)) if isinstance(puzzle, MergedMirrors) else keys
        numbers = ranking.of(keys)
        assert (np.diff(numbers.astype(np.int64)) > 0).all()
        assert int(numbers[-1]) < ranking.size
        np.testing.assert_array_equal(ranking.keys(numbers), keys)


@pytest.mark.parametrize(("pegs", "discs"), LARGE)
def test_orbits_keep_the_number_of_moves(pegs: int, discs: int) -> None:
    puzzle, keys = hanoi(pegs, discs), some(pegs, discs)
    orbits = puzzle.keys(puzzle.orbits(keys).tolist())
    assert (puzzle.expand(orbits).counts == puzzle.expand(keys).counts).all()
    assert (puzzle.orbits(orbits) == orbits).all()
