"""The classics: their records computed, and their names as starts."""

import re

import pytest

from hakoiri.cli.options import spec_of
from hakoiri.puzzles.errors import PuzzleError
from hakoiri.puzzles.families.classics import CLASSICS
from hakoiri.puzzles.sliding_blocks.sliding import Sliding
from hakoiri.worker.deals.solving import solve
from tests.support.published import HAKOIRI

#: More than the largest space of a classic.
CAP = 200_000


@pytest.mark.parametrize("name", CLASSICS)
def test_the_fewest_moves_are_those_of_a_search(name: str) -> None:
    for metric, moves in CLASSICS[name].moves.items():
        puzzle = spec_of("sliding", [f"metric={metric}"], name).build()
        assert isinstance(puzzle, Sliding)
        goal = solve(puzzle, puzzle.start, "bfs", "goal", CAP).goal
        assert goal is not None and len(goal.moves) == moves, metric


def test_every_number_of_a_source_is_a_record() -> None:
    for classic in CLASSICS.values():
        _, _, said = classic.source.rpartition(": ")
        assert {int(number) for number in said.split(", ")} <= set(classic.moves.values()), classic.title


def test_hakoiri_musume_is_the_puzzle_of_the_paper() -> None:
    assert CLASSICS["ane-rouge"].start == HAKOIRI["start"]
    assert CLASSICS["ane-rouge"].moves == HAKOIRI["solution by metric"]


def test_a_name_stands_for_board_and_options_and_own_options_come_first() -> None:
    pennant = CLASSICS["pennant"]
    assert spec_of("sliding", None, "pennant") == spec_of("sliding", ["goal=A@4,1"], pennant.start)
    assert spec_of("sliding", None, "pennant", "A@1,3").options == {"goal": "A@1,3"}
    assert re.fullmatch("[a-z0-9-]+", "".join(CLASSICS))
    with pytest.raises(PuzzleError, match="cannot be combined"):
        spec_of("sliding", ["goal=A@4,1"], "pennant", "A@1,3")
