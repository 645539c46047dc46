"""Run-length boards: round trips, the published example of Sokoban, and what is refused."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hakoiri.errors import ConfigurationError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.sliding_blocks.boards import expand_runs
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from tests.support.published import HAKOIRI

#: "Claire" by L. J. Haywood, as the Sokoban Wiki writes it.
CLAIRE = "7#|#.@-#-#|#$*-$-#|#3-$-#|#-2.2-#|#2-*2-#|7#"
CLAIRE_IN_ROWS = "#######/#.@-#-#/#$*-$-#/#---$-#/#-..--#/#--*--#/#######"

MARKS = st.characters(codec="ascii", categories=("L", "P", "S"), exclude_characters="/|")
ROWS = st.lists(st.text(MARKS, max_size=200), min_size=2, max_size=9)


def packed(row: str, least: int) -> str:
    """A row with its runs of `least` marks or more as a number and a mark."""
    runs = [(len([*same]), mark) for mark, same in groupby(row)]
    return "".join(f"{count}{mark}" if count >= least else mark * count for count, mark in runs)


@given(ROWS, st.integers(1, 4))
def test_a_board_comes_back(rows: list[str], least: int) -> None:
    runs = "|".join(packed(row, least) for row in rows)
    assert expand_runs(runs) == "/".join(rows)
    width = max(map(len, rows))
    assert expand_runs(runs, "-") == "/".join(row.ljust(width, "-") for row in rows)
    assert expand_runs(runs.replace("|", "")) == runs.replace("|", "")


def test_the_published_example() -> None:
    assert expand_runs(CLAIRE) == CLAIRE_IN_ROWS
    assert expand_runs("4#|#@$.#|3#", "-") == "####-/#@$.#/###--"


def test_boards_of_sliding_blocks() -> None:
    runs = "|".join(packed(row, 2) for row in HAKOIRI["start"].split("/"))
    assert runs == "A2BC|A2BC|D2EF|DGHF|I2.J"
    assert Klotski({}, runs).start == Klotski().start
    goal = "4*|4*|4*|*2B*|*2B*"
    puzzle = PuzzleSpec("sliding", {"goal": goal}, runs).build()
    assert puzzle.start_text() == HAKOIRI["start"]
    assert puzzle.parameters["goal"] == "****/****/****/*BB*/*BB*"
    # As many marks as a board of one line has.
    assert len(text := "ABCDEFG|2L5M|7.|7.|3NOPQ.") == 25
    assert PuzzleSpec("sliding", {}, text).build().start_text().count("/") == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2A/2A|A", "joined by both '/' and '|'"),
        ("2A2|3.", "row 1 '2A2' is malformed"),
        ("2A|0A", "row 2 '0A' is malformed"),
        ("2A|1000.", "row 2 '1000.' is malformed"),
        ("2A|\u0663.", "row 2"),
        ("2A2.", "may be one row or have runs"),
        ("o5AA2o", "may be one row or have runs"),
        ("2A|3.", "row 2 '...' has 3 cells"),
        ("999A" * 66 + "|A", "2 rows of 65,934 marks, above 65,536 marks"),
        ("999A" + "|A" * 66, "67 rows of 999 marks, above 65,536 marks"),
    ],
)
def test_what_is_ambiguous_or_malformed_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        PuzzleSpec("sliding", {}, text).build()
    assert said in str(refusal.value)
