"""The sum that shows whether a configuration or a move was left out."""

from collections.abc import Mapping

import numpy as np
import pytest

from hakoiri.keys.layout import Keys
from hakoiri.puzzles.contract import Expansion, Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.layers.kernels import flow_of, merge, total_flow


def reached(puzzle: Puzzle) -> Keys:
    """All that the start leads to."""
    found = fresh = puzzle.keys([puzzle.start])
    while len(fresh):
        fresh = merge([puzzle.expand(fresh).successors], [found])
        found = merge([found, fresh], [])
    return found


@pytest.mark.parametrize(
    ("name", "options", "start", "mirrors"),
    [
        ("pancakes", {"n": "6"}, None, False),
        ("burnt-pancakes", {"n": "4"}, None, False),
        ("topspin", {"n": "7", "k": "4"}, None, False),
        ("hanoi", {"pegs": "4", "discs": "5"}, None, False),
        ("tiles", {"rows": "2", "columns": "4"}, None, False),
        ("tiles", {"rows": "2", "columns": "4", "metric": "multi"}, None, False),
        ("sliding", {}, "AABB/CDEF/G...", False),
        ("sliding", {"metric": "straight"}, "AABB/CDEF/G...", False),
        ("sliding", {"metric": "finger"}, "AABB/CDEF/G...", False),
        ("klotski", {}, None, False),
        ("klotski", {}, None, True),
    ],
)
def test_all_of_an_undirected_space_balances_and_nothing_less_does(
    name: str, options: Mapping[str, str], start: str | None, mirrors: bool
) -> None:
    puzzle = PuzzleSpec(name, options, start, mirrors).build()
    keys = reached(puzzle)
    rng = np.random.default_rng(3)
    parts = [keys[:100], keys[100:101], keys[101:]]
    assert total_flow(flow_of(puzzle, part, puzzle.expand(part)) for part in parts) == 0
    for place in rng.integers(len(keys), size=5).tolist():
        rest = np.delete(keys, place, axis=0)
        assert flow_of(puzzle, rest, puzzle.expand(rest)) != 0, "a hidden configuration"
        successors, counts = puzzle.expand(keys)
        counts[place] -= 1
        left_out = int(counts[:place].sum())
        fewer = Expansion(np.delete(successors, left_out, axis=0), counts)
        # Two of the same name lead alike where mirror images are merged.
        alike = np.count_nonzero(puzzle.expand(keys[place : place + 1]).successors == successors[left_out]) > 1
        assert (flow_of(puzzle, keys, fewer) != 0) or alike, "a hidden move"


def test_a_directed_space_has_none() -> None:
    puzzle = PuzzleSpec("peg-solitaire", {}).build()
    keys = puzzle.keys([puzzle.start])
    assert flow_of(puzzle, keys, puzzle.expand(keys)) == 0
