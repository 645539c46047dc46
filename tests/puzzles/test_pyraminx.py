"""The Pyraminx: known turns sticker by sticker, and the errors for what is no Pyraminx. More in test_twisty."""

import pytest

from hakoiri.puzzles.twisty.pyraminx import Pyraminx

SOLVED = "FFFFFF/LLLLLL/RRRRRR/DDDDDD"
#: Worked out by hand on the unfolded puzzle.
TURNED = {
    "U": "RRRFFF/FFFLLL/LLLRRR/DDDDDD",
    "U'": "LLLFFF/RRRLLL/FFFRRR/DDDDDD",
    "L": "LFFLLF/LLDLDD/RRRRRR/DDFDFF",
    "R": "FFDFDD/LLLLLL/FRRFFR/RDDRRD",
    "B": "FFFFFF/RLLRRL/RRDRDD/LLLDDD",
}


@pytest.mark.parametrize("turn", TURNED)
def test_turns_from_the_solved_puzzle(turn: str) -> None:
    puzzle = Pyraminx()
    assert puzzle.render(puzzle.start) == SOLVED
    after = puzzle.parse(TURNED[turn])
    assert after in puzzle.successors(puzzle.start)
    assert puzzle.describe_move(puzzle.start, after) == turn
