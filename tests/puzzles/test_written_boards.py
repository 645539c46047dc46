"""Boards as other people write them: read as what they mean, or refused with the line; compared with a search apart."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from hakoiri.api import explore
from hakoiri.errors import ConfigurationError, PuzzleError, PuzzleWarning, remarks
from hakoiri.puzzles.contract import Puzzle
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.puzzles.texts import board_in, plain_rows
from hakoiri.reading import read_board, read_text
from tests.support.plain_search import layers_of

CARS = {"axis": "rows-and-columns"}
#: Random boards, each written in every dialect.
BOARDS = 12

_State = frozenset[tuple[tuple[frozenset[tuple[int, int]], str], frozenset[tuple[int, int]]]]


def slow_layers(rows: list[str], bound: bool) -> Iterator[set[_State]]:
    """Yield the layers of a board by the rules: sets of pieces, each known by its shape, and by its line if bound."""
    cells = {(i, j): mark for i, row in enumerate(rows) for j, mark in enumerate(row)}
    free = {cell for cell, mark in cells.items() if mark != "#"}
    pieces = {letter: frozenset(c for c in cells if cells[c] == letter) for letter in {*cells.values()} - {".", "#"}}

    def kind_of(piece: frozenset[tuple[int, int]]) -> tuple[frozenset[tuple[int, int]], str]:
        top, left = min(i for i, _ in piece), min(j for _, j in piece)
        down, across = len({i for i, _ in piece}), len({j for _, j in piece})
        line = ("row" if down == 1 else "column" if across == 1 else "") if bound and len(piece) > 1 else ""
        # Cars of different lines never change places.
        place = f"{line} {top if line == 'row' else left}" if line else ""
        return frozenset((i - top, j - left) for i, j in piece), place

    def moved(state: _State) -> Iterator[_State]:
        taken = {cell for _, piece in state for cell in piece}
        for kind, piece in state:
            for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                if (kind[1].startswith("row") and down) or (kind[1].startswith("column") and right):
                    continue
                after = frozenset((i + down, j + right) for i, j in piece)
                if after <= free and not after & (taken - piece):
                    yield (state - {(kind, piece)}) | {(kind, after)}

    layer = {frozenset((kind_of(piece), piece) for piece in pieces.values())}
    known = set(layer)
    while layer:
        yield layer
        layer = {after for state in layer for after in moved(state)} - known
        known |= layer


def read(text: str, puzzle: str, options: Mapping[str, str], folder: Path) -> tuple[Puzzle, list[str]]:
    (file := folder / "board").write_text(text, encoding="utf-8")
    with remarks() as notes:
        return PuzzleSpec(puzzle, options, read_board(str(file))).build(), notes


RUSH = "AA...O/P..Q.O/PXXQ.O/P..Q../B...CC/B.RRR."
LINES = RUSH.replace("/", "\n")
KLOTSKI = "ABBC/ABBC/DEEF/DGHF/I..J"
SHORT = "ABB/.CC/DDD"
EIGHT = "123/4.6/758"
PARKED = "AAB..F/..BCDF/GPPCDF/GH.III/GHJ.../LLJMM."


@pytest.mark.parametrize(
    ("text", "puzzle", "plain"),
    [
        ("OPPPAA ; the top row\nOBCC.Q\nOBXX.Q\nRRRD.Q\n..EDFF\nGGE...\n", "sliding",
         "OPPPAA/OBCC.Q/OBXX.Q/RRRD.Q/..EDFF/GGE..."),
        ("5...3\n55.33\nA.B.C\nAAB.C\n", "sliding", "5...3/55.33/A.B.C/AAB.C"),
        ("ABB // one\n.CC; two\nDDD //\n", "sliding", SHORT),
        ("3 x 3\nABB\n.CC\nDDD", "sliding", SHORT), ("3,3,\n\nABB\n.CC\nDDD", "sliding", SHORT),
        ("3\nABB\n.CC\nDDD", "sliding", SHORT), ("3x3\n\nABB\n.CC\nDDD", "sliding", SHORT),
        ("A board\nof mine\n\nABB\n.CC\nDDD\n\nby somebody else", "sliding", SHORT),
        ("Century\n\nABB/.CC/DDD\n", "sliding", SHORT), ("one\n\nABB/.CC/DDD\n", "sliding", SHORT),
        ("A B B\n. C C\nD D D", "sliding", SHORT), ("A,B,B\n-,C,C\nD,D,D,", "sliding", SHORT),
        ("A B B\n_ C C\nD D D", "sliding", SHORT), ("ABB\n0CC\nDDD", "sliding", SHORT),
        ("+---+\n|ABB|\n|.CC|\n|DDD|\n+---+\n", "sliding", SHORT),
        ("┌───┐\n│ABB│\n│-CC│\n│DDD│\n└───┘\n", "sliding", SHORT),
        ("| A | B | B |\n|   | C | C |\n| D | D | D |", "sliding", SHORT),
        ("['ABB', '.CC', 'DDD']", "sliding", SHORT), ('("ABB",\n "-CC",\n "DDD",)', "sliding", SHORT),
        ("ABB\noCC\nDDD\n", "sliding", SHORT), ("A B B\no C C\nD D D", "sliding", SHORT),
        ("Aoo/ABB/x..", "sliding", "Aoo/ABB/x.."),
        ('[["A", "B", "B"],\n ["-", "C", "C"],\n ["D", "D", "D"]]', "sliding", SHORT),
        ("5 4\nA B B C\nA B B C\nD E E F\nD G H F\nI _ _ J\n", "klotski", KLOTSKI),
        ("+----+\n|ABBC|\n|ABBC|\n|DEEF|\n|DGHF|\n|I--J|\n+----+\n", "klotski", KLOTSKI),
        ("[[1,2,3],[4,0,6],[7,5,8]]", "tiles", EIGHT), ("[[1 2 3]\n [4 0 6]\n [7 5 8]]\n", "tiles", EIGHT),
        ("[1, 2, 3, 4, 0, 6, 7, 5, 8]", "tiles", EIGHT), ("((1,2,3),(4,0,6),(7,5,8))", "tiles", EIGHT),
        ("# This puzzle is solvable\n3\n1 2 3\n4 0 6\n7 5 8\n", "tiles", EIGHT),
        ("1,2,3\n4,,6\n7,5,8\n".replace(",,", ",_,"), "tiles", EIGHT), ("123\n4-6\n758\n", "tiles", EIGHT),
        ("+---+---+---+\n| 1 | 2 | 3 |\n+---+---+---+\n| 4 |   | 6 |\n| 7 | 5 | 8 |\n+---+---+---+", "tiles", EIGHT),
    ],
)  # fmt: skip
def test_a_board_is_read_as_it_is_meant(text: str, puzzle: str, plain: str, tmp_path: Path) -> None:
    found, _ = read(text, puzzle, {}, tmp_path)
    assert found.start_text() == plain
    # The same text of several lines in Python and over HTTP.
    with remarks():
        assert PuzzleSpec(puzzle, {}, text).build().start_text() == found.start_text()
    if puzzle == "sliding":
        expected = [len(layer) for layer in islice(slow_layers(plain.split("/"), bound=False), 4)]
        assert [len(layer) for layer in islice(layers_of(found), 4)] == expected


FRAMED = "|AA...O|\n|P..Q.O|\n|PXXQ.O|\n|P..Q..|\n|B...CC|\n|B.RRR.|"


@pytest.mark.parametrize(
    ("text", "plain", "goal", "said"),
    [
        (LINES, RUSH, "X@3,5", False), (RUSH.replace("/", ""), RUSH, "X@3,5", False),
        (LINES.replace(".", "-"), RUSH, "X@3,5", False),
        (RUSH.replace("/", "").replace(".", "_"), RUSH, "X@3,5", False), (FRAMED, RUSH, "X@3,5", False),
        ("IBBxoo\nIooLDD\nJAALoo\nJoKEEM\nFFKooM\nGGHHHM", "IBB#../I..LDD/JAAL../J.KEEM/FFK..M/GGHHHM", "A@3,5",
         False),
        # The size, the number of cars without the one that leaves, and the exit K.
        ("6 6\n11\nAAB..F\n..BCDF\nGPPCDFK\nGH.III\nGHJ...\nLLJMM.\n", PARKED, "P@3,5", True),
        ("6 6\n11\n AAB..F\n ..BCDF\nKGPPCDF\n GH.III\n GHJ...\n LLJMM.\n", PARKED, "P@3,1", True),
        (f"+------+\n{FRAMED}\n+------+".replace("XXQ.O|", "XXQ.O>"), RUSH, "X@3,5", True),
        (FRAMED.replace("XXQ.O|", "XXQ.O"), RUSH, "X@3,5", True),
    ],
)  # fmt: skip
def test_a_rush_hour_has_its_exit_however_it_is_written(
    text: str, plain: str, goal: str, said: bool, tmp_path: Path
) -> None:
    found, notes = read(text, "sliding", CARS, tmp_path)
    same = PuzzleSpec("sliding", CARS | {"goal": goal}, plain).build()
    assert (found.start_text(), found.parameters) == (same.start_text(), same.parameters)
    assert notes == ([f"the letter beside row 3 is the exit, so the goal is {goal}"] if said else [])
    row, column = int(goal[2]) - 1, int(goal[4]) - 1
    wanted = {(row, column), (row, column + 1)}
    ours = zip(layers_of(found), slow_layers(plain.split("/"), bound=True), strict=False)
    for layer, expected in islice(ours, 6):
        there = any(piece == wanted and kind[1].startswith("row") for state in expected for kind, piece in state)
        assert (len(layer), bool(found.is_goal(layer).any())) == (len(expected), there)


def test_a_run_of_before_keeps_having_no_goal() -> None:
    assert PuzzleSpec("sliding", CARS | {"goal": ""}, RUSH).build().parameters["goal"] == ""
    for empty in (".", "o"):
        board = "AA../XXB./..B./....".replace(".", empty)
        assert PuzzleSpec("sliding", CARS, board).build().parameters["goal"] == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Easy\n\nABBC\n.DDC\nE..C", "line 1 'Easy' may be a title or a row"),
        ("My board\nABB\n.CC\nDDD", "line 1 'My board' is not a row like the others"),
        ("3x3\nABB\n.CC\nDDD", "line 1 '3x3' may be the size or a row"),
        ("; a size\n4 3\nABB\n.CC\nDDD", "line 2 '4 3' is not the size of the board below it, 3 rows of 3"),
        ("ABB\n.CC\n\nABB\n.CC\n", "2 boards, at lines 1 and 4"),
        ("AA...OP..Q.OPXXQ.OP..Q..B...CCB.RRR. 8\n", "is of a list; give one board alone"),
        ("60 IBBxooIooLDDJAALooJoKEEMFFKooMGGHHHM 2332\n", "is of a list; give one board alone"),
        ("ABB\n.CC\nD-D", "both as '.' and as '-'"), ("A B\nC D\nE F", "row 1 'A B'"),
        ("#####\n#A B#\n#####", "row 2 '#A B#'"), ("# AAA #\nB..\nB.C", "line 1 '# AAA #'"),
        ("AAB\n.CBA\n.DD", "row 2 '.CBA' has 4 cells"), ("AAB\n.CBZ\n.DD", "which piece leaves beside row 2"),
        ("ABB\n.CC\nDDD;third", "row 3 'DDD;third'"), ("ABB//.CC/DDD\n", "row 2 ''"),
        ("6 6\n9\nAAB..F\n..BCDF\nGPPCDF\nGH.III\nGHJ...\nLLJMM.\n", "line 1 '6 6' is not the size"),
        ("  AAB\n  C.B\nDD.", "line 3 'DD.' begins at another column"), (" AAB\nC.B", "line 1 'AAB' begins at another"),
        ("5,4,\n1,-1,-1,1,\n1,0,3,1,\n1,0,4,1,\n1,2,2,1,\n1,1,1,1,\n", "row 1 '1,-1,-1,1,'"),
    ],
)  # fmt: skip
def test_what_may_mean_two_things_is_refused_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match=re.escape(said)) as caught:
        read(text, "sliding", {}, tmp_path)
    assert "\n" not in str(caught.value)


def written(rows: list[str], rng: Random) -> str:
    """Return a board in a dialect by lot, perhaps with a size, a title or comments."""
    empty = rng.choice(".-_")
    rows = [row.replace(".", empty) for row in rows]
    width = len(rows[0])
    form = rng.randrange(4)
    if form == 1:
        rows = [" ".join(row) for row in rows]
    elif form == 2:
        rows = [f"+{'-' * width}+", *(f"|{row}|" for row in rows), f"+{'-' * width}+"]
    if rng.random() < 0.3:
        rows = [f"{row} {rng.choice([';', '//'])} {rng.choice(['top', '3', 'A.B'])}" for row in rows]
    if form < 2 and rng.random() < 0.4:
        rows = [f"{len(rows)} {width}", "", *rows]
    if rng.random() < 0.4:
        rows = ["The board of a friend", "", *rows]
    return "\n".join([*rows, ""])


def random_board(rng: Random) -> list[str]:
    """Return rows with single cells, dominoes and at least one empty cell."""
    height, width = rng.randint(3, 4), rng.randint(3, 5)
    cells, letters = {(i, j): "." for i in range(height) for j in range(width)}, iter("ABCDEFGHIJKLMNOPQRSTU")
    for cell in rng.sample(sorted(cells), height * width - 2):
        beside = (cell[0], cell[1] + 1)
        if cells[cell] == ".":
            letter = next(letters)
            for each in (cell, beside) if cells.get(beside) == "." and rng.random() < 0.4 else (cell,):
                cells[each] = letter
    cells[0, 0] = "."
    return ["".join(cells[i, j] for j in range(width)) for i in range(height)]


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_random_board_is_the_same_in_every_dialect_and_loses_no_mark(seed: int, tmp_path: Path) -> None:
    rng = Random(seed)
    for _ in range(BOARDS if seed == 1 else 50 * BOARDS):
        rows = random_board(rng)
        plain, text = "/".join(rows), written(rows, rng)
        assert read(text, "sliding", {}, tmp_path)[0].start_text() == plain
        lines = "\n".join(rows)
        at = rng.randrange(len(lines) + 1)
        more = lines[:at] + rng.choice("AZ.9 -#;") + lines[at + rng.randrange(2) :]
        try:
            found, notes = read(more, "sliding", {}, tmp_path)
        except PuzzleError:
            continue
        # A blank or an empty comment at the end of a row, and a blank line between rows.
        same = re.sub(r"[ ;]+$", "", more, flags=re.MULTILINE).split() == rows
        assert found.start_text() != plain or notes or same


@pytest.mark.parametrize(
    "word",
    ["maze.skb", "folder/b.sokb", "boards/maze.xsb", "MAZE.TXT", "my maze.txt", "../maze.sok", "folder/maze", "folder"],
)
def test_a_word_that_looks_like_a_file_is_one(word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for reader in (read_board, read_text):
        with pytest.raises(ConfigurationError, match=f"there is no file {word}|{word} is a directory"):
            reader(word)
    with pytest.raises(ConfigurationError, match="there is no file ABB"):
        explore("sliding", start=Path("ABB"), data=tmp_path)


@pytest.mark.parametrize(
    "text",
    ["AA.BC", "A.Bo.xC..", "tttt/.txt", "123456789.abcdef", "123456789.ab", "HGFEDCBA/././.", RUSH, "../..", "R U' F2",
     RUSH.replace("/", ""), "AA.O.BP..OQBPXXOQGPRRRQGD...EED...FF", "A" * 5000, "hour 5", "4 6 2 5 1 3", "ABB\n.cc"],
)  # fmt: skip
def test_boards_are_no_files(text: str) -> None:
    assert read_board(text) == text


def test_the_blank_of_the_8_puzzle_is_said_or_chosen() -> None:
    said = "the start leads to both solved boards; the goal is .12/345/678, the blank first; for 123/456/78. add"
    with pytest.warns(PuzzleWarning, match=said):
        PuzzleSpec("tiles", {}, EIGHT).build()
    for options in ({"blank": "first"}, {"blank": "last"}, {"goal": "123/456/78."}):
        assert PuzzleSpec("tiles", options, EIGHT).build().is_goal is not None
    # An even width leaves no choice.
    assert (
        PuzzleSpec("tiles", {"rows": "4", "columns": "4"}, "1234/5678/9abc/de.f").build().parameters["blank"] == "last"
    )


def test_titles_of_levels_and_floors_of_blanks() -> None:
    level = "Level 7\n\n; by hand\n  ####\n  # .#\n #*@ #\n #####\nTitle: one\nAuthor: two\n"
    assert board_in(level) == "######/###-.#/##*@-#/######"
    assert board_in("AABC/AADC\nE.DF\n") == "AABC/AADC/E.DF"
    # Floor may be written while the outside is blank; the first row of a text in a program may begin before others.
    assert board_in(" #####\n #-@-#\n#-$-#\n#-.-#\n#####\n") == "######/##-@-#/#-$-##/#-.-##/######"
    assert board_in("AAB\n    C.B\n    DD.\n    ") == "AAB/C.B/DD."


@pytest.mark.parametrize(
    "text",
    [f"[[1,1,2]{' ' * 50_000}x]", f"['AAB',{' ' * 50_000}x]", f"# {'abc' * 30_000}#\nAB\n", "AB\n" * 33_000],
    ids=["lists", "texts", "preface", "rows"],
)
def test_a_text_of_any_length_is_read_in_time(text: str) -> None:
    """Each took half a minute to hours once."""
    assert plain_rows(board_in(text))
