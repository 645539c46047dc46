"""The pocket cube: known scrambles sticker by sticker, and the errors for what is no cube. More in test_twisty."""

import pytest

from hakoiri.errors import ConfigurationError, PuzzleError
from hakoiri.puzzles.twisty.cube2 import Cube2

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
    assert key == turned(quarter, 0, "R U U F' R R")
    assert quarter.most_successors == 6
    assert half.most_successors == 9


BAD_TEXTS = {
    "": ["6 rows", "U, R, F, D, L, B", "has 0 stickers"],
    SOLVED + "/BBBB": ["6 rows", "has 7"],
    "UUUU/RRR/FFFF/DDDD/LLLL/BBBB": ["face R", "'RRR'", "3 stickers", "expected 4"],
    "UUUU/RRRR/FFFF/DDDD/LLLL/BBWB": ["face B", "'W'", "U, R, F, D, L, B"],
    "uuuu/RRRR/FFFF/DDDD/LLLL/BBBB": ["face U", "'u'"],
    "UUUU/RRRR/FFFF/DDDD/LLLL/BBBU": ["colour U", "5 times", "expected 4"],
    SOLVED.replace("/", "")[1:]: ["has 23 stickers", "24 stickers without", "R U R'"],
    # The stickers of corner DBL in the other order.
    "UUUU/RRRR/FFFF/DDDD/LLBL/BBBL": ["no corner has the colours D, B, L"],
    "UUUR/FRRR/FUFF/DDDD/LLLL/BBBB": ["one corner is twisted in its place"],
    # The mirror image of a piece.
    "UUUU/FRRR/FRFF/DDDD/LLLL/BBBB": ["corner URF", "UFR", "no piece has these"],
    # Two stickers of one colour on a piece.
    "UUFU/RRRR/FUFF/DDDD/LLLL/BBBB": ["corner URF", "URU", "no piece has these"],
    # Pieces URF and DLF again where UFL and DFR should be.
    "UUUU/RRFR/RFFL/DDDD/LFLL/BBBB": ["corner URF and corner UFL", "same piece", "URF"],
    "0x381030": ["0x0 to 0x38102f"],
    "0x": ["hexadecimal"],
    "0x100000000": ["32 bits"],
}


@pytest.mark.parametrize("text", BAD_TEXTS)
def test_what_is_no_cube_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        Cube2().parse(text)
    message = str(refusal.value)
    assert "\n" not in message
    assert [part for part in BAD_TEXTS[text] if part not in message] == [], message


def test_bad_options_are_refused() -> None:
    with pytest.raises(PuzzleError, match=r"metric=slice: expected half\|quarter"):
        Cube2({"metric": "slice"})
