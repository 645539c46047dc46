"""Boards drawn for people: a line around every piece whatever its shape, walls, and texts that are no boards."""

import io

import pytest
from rich.console import Console

from hakoiri.puzzles.pictures import Picture, text_pictures
from hakoiri.render.images import print_picture, print_side_by_side
from hakoiri.render.tables import framed

BENT = """\
┌───┬───────┬───┬───────┐
│▒▒▒│ A     │ B │▒▒▒▒▒▒▒│
│▒▒▒│   ┌───┤   └───┐▒▒▒│
│▒▒▒│   │ C │       │▒▒▒│
│▒▒▒├───┤   └───┬───┴───┤
│▒▒▒│   │       │       │
└───┴───┴───────┴───────┘"""
INSIDE = """\
┌───────────┐
│ A         │
│   ┌───┐   │
│   │   │   │
│   └───┘   │
│           │
└───────────┘"""
TILES = """\
┌───┬───┬───┐
│   │ 1 │ 2 │
├───┼───┼───┤
│ 3 │ 5 │ 4 │
└───┴───┴───┘"""


@pytest.mark.parametrize(
    ("board", "drawing"),
    [
        ("#AAB##/#ACBB#/#.CC..", BENT),
        ("#zzB##/#zCBB#/#.CC..", BENT.replace("A", "z")),
        ("AAA/A.A/AAA", INSIDE),
        (".12/354", TILES),
    ],
)
def test_every_piece_has_a_line_around_it_and_one_letter(board: str, drawing: str) -> None:
    assert framed(board) == drawing


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("CBA/././.", ["C B A", ".", ".", "."]),
        ("##*##/*.*.*/##*##", ["    *", "* . * . *", "    *"]),
        ("UURR/RRFF/FFUU", ["U U R R", "R R F F", "F F U U"]),
        ("1 2 10 3", ["1 2 10 3"]),
        ("0x17038bbb", ["0x17038bbb"]),
    ],
)
def test_other_texts_have_their_rows_below_each_other(text: str, lines: list[str]) -> None:
    out = io.StringIO()
    print_picture(Console(file=out), text, Picture(0, 0, ()))
    assert [line.rstrip() for line in out.getvalue().splitlines()] == lines


@pytest.mark.parametrize("boards", [["#AAB##/#ACBB#", "#.ABB#/#AA.B#"], ["CBA/././.", "CB/./A/."], ["1 2 3", "2 1 3"]])
@pytest.mark.parametrize("terminal", [False, True])
def test_boards_stand_side_by_side_in_columns(boards: list[str], terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=60, force_terminal=terminal)
    print_side_by_side(console, boards, ["0 start", "1 B down"], text_pictures(boards))
    if terminal:
        assert "\x1b" in out.getvalue()
        return
    title, *lines = out.getvalue().rstrip("\n").split("\n")
    right = title.index("1 B down")
    assert [line[:right].rstrip() for line in lines] == boards[0].split("/")
    assert [line[right:] for line in lines] == boards[1].split("/")
