"""Moves backwards: what leads to a configuration, by kernel and by rules, is what its moves forwards say."""

import numpy as np
import pytest

from hakoiri.keys.layout import ints
from hakoiri.keys.order import sort_keys
from hakoiri.keys.splitmix import random_words
from hakoiri.puzzles.capabilities import Reversible
from hakoiri.puzzles.goals import Backwards
from hakoiri.puzzles.registry import PuzzleSpec

PUZZLES = {
    "peg solitaire": ("peg-solitaire", {}),
    "each board of peg solitaire": ("peg-solitaire", {"symmetry": "off"}),
    "gap": ("gap", {"ranks": "4"}),
    "a full deck of gap": ("gap", {"ranks": "13"}),
    "superpuzz": ("superpuzz", {"columns": "4"}),
}


@pytest.mark.parametrize("which", PUZZLES)
def test_moves_lead_back_to_where_they_came_from(which: str) -> None:
    name, options = PUZZLES[which]
    puzzle = PuzzleSpec(name, options).build()
    assert isinstance(puzzle, Reversible)
    keys, words = [puzzle.start], random_words(1)
    for word, _ in zip(words, range(12), strict=False):
        further = puzzle.successors(keys[-1]) or puzzle.successors(puzzle.start)
        keys.append(further[word % len(further)])
    # Configurations that no start reaches, too.
    keys += [before for key in keys[:3] for before in puzzle.predecessors(key)[:2]]
    for key in keys:
        assert all(key in puzzle.predecessors(after) for after in puzzle.successors(key))
        before = puzzle.predecessors(key)
        assert all(key in puzzle.successors(each) for each in before)
        assert len(before) <= puzzle.most_predecessors
    found, counts = puzzle.unmove(puzzle.keys(keys))
    parts = np.split(found, np.cumsum(counts)[:-1])
    assert [ints(sort_keys(part)) for part in parts] == [sorted(puzzle.predecessors(key)) for key in keys]


def test_turned_round_twice_it_is_as_before() -> None:
    puzzle = PuzzleSpec("gap", {"ranks": "3"}).build()
    assert isinstance(puzzle, Reversible)
    turned, key = Backwards(puzzle), puzzle.start
    assert turned.successors(key) == puzzle.predecessors(key) != puzzle.successors(key) == turned.predecessors(key)
    assert turned.most_successors == puzzle.most_predecessors
    assert ints(Backwards(turned).expand(puzzle.keys([key])).successors) == puzzle.successors(key)
