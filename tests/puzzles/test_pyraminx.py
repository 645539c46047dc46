"""The Pyraminx: known turns sticker by sticker, and the errors for what is no Pyraminx. More in test_twisty."""

import pytest

from hakoiri.errors import PuzzleError
from hakoiri.puzzles.twisty.pyraminx import Pyraminx
from tests.support.refusals import each_text_refused

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


BAD_TEXTS = {
    "": ["4 rows", "F, L, R, D", "has 0 stickers"],
    SOLVED + "/BBBBBB": ["4 rows", "has 5"],
    "FFFFFF/LLLLL/RRRRRR/DDDDDD": ["face L", "'LLLLL'", "5 stickers", "expected 6"],
    "FFFFFF/LLLLLL/RRRRRR/DDDDUD": ["face D", "'U'", "F, L, R, D"],
    "FFFFFF/LLLLLL/RRRRRR/DDDDDF": ["colour F", "7 times", "expected 6"],
    "LFFFFF/LLFLLL/RRRRRR/DDDDDD": ["one edge is twisted in its place"],
    "FFFFFF/LLRLLL/LRRRRR/DDDDDD": ["two edges are exchanged"],
    "FRFFFF/LLLLLL/RFRRRR/DDDDDD": ["centre U", "no piece has these"],
    "FFLFFF/LLFLLL/RRRRRR/DDDDDD": ["edge FL", "FF", "no piece has these"],
    "0xe3d00": ["0x0 to 0xe3cff"],
    "0x": ["hexadecimal"],
    "0x100000000": ["32 bits"],
}

test_what_is_no_pyraminx_is_refused_in_one_line = each_text_refused(Pyraminx, BAD_TEXTS)


def test_there_are_no_options() -> None:
    with pytest.raises(PuzzleError, match="no option 'tips'; its options: goal"):
        Pyraminx({"tips": "on"})
