"""TopSpin: rings up to turns, moves by texts alone, layers against a plain search, components, refusals."""

from math import factorial

import numpy as np
import pytest

from hakoiri.puzzles.permutation import topspin as kernels
from hakoiri.puzzles.permutation.topspin import TopSpin
from tests.support.plain_search import check_expand, check_undirected, layer_sizes, plain_layer_sizes, sampled, whole

#: (n, k) for all small rings.
SMALL = [(n, k) for n in range(4, 7) for k in range(2, n + 1)]
#: (n, k) -> how many components: by parity, by every other place keeping its tokens, or because k is all but one.
COMPONENTS = {(7, 4): 2, (7, 5): 2, (8, 4): 1, (8, 3): 35, (6, 3): 10, (8, 7): 2_520, (8, 8): 2_520, (9, 4): 2}


def topspin(n: int, k: int) -> TopSpin:
    return TopSpin({"n": str(n), "k": str(k)})


def reversals(words: tuple[str, ...], k: int) -> set[tuple[str, ...]]:
    """The rings after one move, each turned until token 1 is first, by exchanging places on the ring two by two."""
    found = set()
    for first in range(len(words)):
        ring = list(words)
        for step in range(k // 2):
            one, other = (first + step) % len(ring), (first + k - 1 - step) % len(ring)
            ring[one], ring[other] = ring[other], ring[one]
        at = ring.index("1")
        found.add((*ring[at:], *ring[:at]))
    return found


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_every_small_ring(n: int, k: int) -> None:
    puzzle = topspin(n, k)
    keys = whole(puzzle)
    assert len(keys) == factorial(n - 1)
    check_expand(puzzle, keys, lambda text: [" ".join(after) for after in reversals(tuple(text.split()), k)])
    check_undirected(puzzle, keys)
    assert puzzle.most_successors == (n if k < n - 1 else 1)


@pytest.mark.parametrize(("n", "k"), [*SMALL, (7, 3), (7, 4), (8, 5)])
def test_layers_are_those_of_a_plain_search(n: int, k: int) -> None:
    start = tuple(str(token) for token in range(1, n + 1))
    assert layer_sizes(topspin(n, k)) == plain_layer_sizes(lambda ring: reversals(ring, k), start)


@pytest.mark.parametrize(("n", "k"), COMPONENTS)
def test_components_have_the_same_size(n: int, k: int) -> None:
    puzzle = topspin(n, k)
    starts = {0, *sampled(puzzle, factorial(n - 1), 4, 3).tolist()}
    assert {sum(layer_sizes(puzzle, start)) * COMPONENTS[n, k] for start in starts} == {factorial(n - 1)}


def test_a_ring_may_be_written_from_any_token_on() -> None:
    puzzle = topspin(5, 2)
    for text in ("1 5 2 4 3", "2 4 3 1 5", " 3,1,5, 2 4"):
        assert puzzle.render(puzzle.parse(text)) == "1 5 2 4 3"
    assert TopSpin({"n": "5"}, "3 4 5 1 2").start == 0


def test_moves_in_words() -> None:
    puzzle = topspin(6, 3)
    before = puzzle.parse("1 6 3 2 5 4")
    words = {puzzle.describe_move(before, after): puzzle.render(after) for after in puzzle.successors(before)}
    assert words["reverse 5 4 1"] == "1 4 5 6 3 2"
    assert len(words) == 6
    assert topspin(4, 4).describe_move(0, topspin(4, 4).successors(0)[0]) == "reverse 1 2 3 4"


@pytest.mark.parametrize(("n", "k"), [(10, 4), (11, 4), (13, 3), (13, 12)])
def test_tokens_beyond_the_tables(n: int, k: int) -> None:
    """Moves that begin at any place, of keys near each other and far apart."""
    puzzle = topspin(n, k)
    keys = np.unique(np.concatenate([sampled(puzzle, factorial(n - 1), 30, 5), puzzle.keys([*range(20)])]))
    check_expand(puzzle, keys, lambda text: [" ".join(after) for after in reversals(tuple(text.split()), k)])


def test_the_kernel_keeps_to_its_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As plain Python each index is checked."""
    puzzle = topspin(11, 4)
    keys = sampled(puzzle, factorial(10), 3, 7)
    room = puzzle.layout.empty(len(keys) * puzzle.most_successors)
    monkeypatch.setattr(kernels, "popcount", lambda word: int(word).bit_count())
    plain = vars(kernels)
    monkeypatch.setattr(kernels, "_read_last", plain["_read_last"].py_func)
    plain["_expand_keys"].py_func(keys, puzzle._tables, room)
    assert room.tolist() == puzzle.expand(keys).successors.tolist()
