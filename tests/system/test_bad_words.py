"""Words that mean nothing: boards, keys, options. One line names what is wrong, and nothing is left behind."""

from pathlib import Path

import pytest

from tests.support.commands import FinishedRuns, Hakoiri

START = "ABBC/ABBC/DEEF/DGHF/I..J"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected 5 rows"),
        ("ABBC/ABBC/DEEF/DGHF", "expected 5 rows joined by '/'; 'ABBC/ABBC/DEEF/DGHF' has 4"),
        ("ABBC/ABB/DEEF/DGHF/I..J", "row 2 'ABB' has 3 cells, expected 4"),
        ("ABBC/ABBC/DEEF/DG*F/I..J", "row 4 'DG*F': '*' is not a letter or '.'"),
        ("ABBC/ABBC/DEEF/DGHF/I.\x1b[31m.J", "row 5"),
        ("ABBC/ABBC/DE\nF/DGHF/I..J", "'ABBC/ABBC/DE/F/DGHF/I..J' has 6"),
        ("ABBC/ABBC/DEEF/DGHF/A..J", "piece A is not a rectangle: its cells are row 1 column 1"),
        ("ABBC/ABBC/ADEF/GDHF/GI.J", "piece A is 3x1"),
        ("ABBC/ABBC/DEEF/DGHF/I...", "expected 4 1x1 pieces, found 3 (G, H, I)"),
        ("ABBC/ABBC/DEEF/DEEF/I..J", "expected 1 2x2 pieces, found 2 (B, E)"),
        ("..../..../..../..../....", "expected 1 2x2 pieces, found 0"),
        ("0xgg", "0x must be followed by hexadecimal digits"),
        ("0x", "0x must be followed by hexadecimal digits"),
        ("0x1ffffffff", "more than 32 bits"),
        ("0xf7038bbb", "the 2x2 piece is at place 15 of 12"),
        ("0x17083bbb", "not in increasing order: [0, 8, 3, 11]"),
        ("0x17038bff", "the blanks are pair 255 of 190"),
        ("0x11038bbb", "the 2x2 piece and the horizontal 1x2 piece both cover row 1 column 2"),
        ("0x17038b00", "both cover row 1 column 1"),
    ],
)
def test_a_bad_configuration_is_refused_by_row_or_piece(text: str, said: str, hakoiri: Hakoiri) -> None:
    for command in (("show", text), ("run", "klotski", "--from", text), ("enqueue", "klotski", "--from", text)):
        refused = hakoiri.here(*command, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert said in refused.error
        assert refused.stderr == f"{refused.error}\n", "more than one line"
        assert refused.error.isprintable()
    assert not hakoiri.data.exists()


def test_a_directory_is_no_board(hakoiri: Hakoiri, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "1." / "23").mkdir(parents=True)
    for line in (("run", "klotski", "--from", str(tmp_path)), ("show", "1.")):
        assert "is a directory; expected a file" in hakoiri.here(*line, check=False).error
    board = ("show", "1./23", "--puzzle", "tiles", "-o", "rows=2", "-o", "columns=2")
    assert hakoiri.ask(*board)["configuration"] == "1./23"


@pytest.mark.parametrize("question", [("path", "last", "--to"), ("path", "last", "--from"), ("distance", "last")])
def test_a_bad_configuration_is_refused_by_every_question(question: tuple[str, ...], finished: FinishedRuns) -> None:
    refused = finished.hakoiri.here(*question, "ABBC/ABB/DEEF/DGHF/I..J", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "row 2" in refused.error


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("run sokoban", 1, "known puzzles: burnt-pancakes, cube2, gap, hanoi, klotski, "),
        ("run sokoban", 1, "write a puzzle of your own as FILE.py:NAME"),
        ("run sokoban.py:Sokoban", 1, "there is no file sokoban.py"),
        ("run sokoban.py", 1, "there is no file sokoban.py"),
        ("run klotski -o metric=diagonal", 1, "klotski option metric=diagonal: expected unit|straight|finger"),
        ("run hanoi -o discs=0", 1, "hanoi option discs=0: expected a whole number in 1..20"),
        ("run hanoi -o discs=three", 1, "hanoi option discs=three: expected a whole number in 1..20"),
        ("run klotski -o colour=red", 1, "its options: metric"),
        ("run klotski -o metric", 1, "NAME=VALUE"),
        ("run klotski --whole --until-goal", 1, "leave out"),
        ("run peg-solitaire --whole", 1, "peg-solitaire cannot list its whole space; leave out --whole"),
        ("run sliding --whole", 1, "needs a board; set --from BOARD"),
        ("run sliding", 1, "--from"),
        ("run klotski --goal A@1,1", 1, "klotski option goal=A@1,1: expected 5 rows joined by '/'"),
        ("run sliding --from AA/.. --goal A@2,1 -o goal=A@1,1", 1, "cannot be combined"),
        ("run sliding --from AA/.. --goal B@2,1", 1, "no piece B"),
        ("run klotski --from board.txt", 1, "there is no file board.txt"),
        ("puzzles sokoban", 1, "known puzzles"),
        ("puzzles klotski -o colour=red", 1, "its options: metric"),
        (f"run klotski --whole --from {START}", 1, "leave out"),
        ("show 0x17038bbb --puzzle sokoban", 1, "known puzzles"),
        ("status last", 1, "there are no runs"),
        ("run klotski --memory lots", 2, "is not a size; expected"),
        ("run klotski --memory 0", 2, "is not a size; expected"),
        ("run klotski --chunk 0", 2, "--chunk"),
        ("run klotski --workers 0", 2, "--workers"),
        ("run klotski --workers 99999999", 1, "workers 99999999 is not in 1..1024"),
        ("run klotski --memory 9000000TB", 1, "memory 9895604649984000000 is not in 1..9223372036854775807"),
        (f"run klotski --memory {'9' * 400}", 2, "is not a size; expected"),
        ("run klotski --chunk 9223372036854775808", 1, "chunk 9223372036854775808 is not in 1..9223372036854775807"),
        ("enqueue klotski --farm 1" + "0" * 30, 1, "farm 1" + "0" * 30 + " is not in 0.."),
        ("run klotski --farm sometimes", 2, "'sometimes' is not auto, always, never or"),
        ("run klotski --farm -1", 2, "--farm"),
        ("run klotski --by layers", 1, "--by needs --whole"),
        ("run klotski --whole --by paths", 1, "by 'paths' is not joins or layers"),
        ("run superpuzz --whole --by layers", 1, "superpuzz is directed: a search does not find its components"),
        ("run klotski --deadline nan", 1, "nan is not a number of seconds"),
        ("run klotski --deadline inf", 1, "inf is not a number of seconds"),
        ("hunt gap --legs 1 --certificate nowhere/x.json", 1, "nowhere/x.json: its directory does not exist; choose"),
        ("study deals gap --sizes 3 --deals 1 --csv .", 1, "cannot write .: it is a directory"),
        ("map last --to nowhere/x.hakomap", 1, "cannot write nowhere/x.hakomap: its directory does not exist"),
        ("hardest last --plot nowhere/x.png", 1, "cannot write nowhere/x.png: its directory does not exist"),
        ("layers last --limit 3", 2, "--limit needs --depth"),
        ("layers last --depth 3 --plot x.png", 2, "--plot and --depth cannot be combined"),
        ("path last --limit 3", 2, "--limit needs --all"),
        ("deal gap --count 99999999999", 2, "--count"),
        ("run klotski --depth 4", 2, "--depth"),
        ("run", 2, "PUZZLE"),
        ("worker", 2, "HAKOIRI_REDIS"),
        ("worker -n 0", 2, "-n 0: the number of processes must be"),
        ("worker -n many", 2, "-n many: the number of processes must be"),
        ("worker -n 99999999", 2, "-n 99999999: the number of"),
        ("worker -n 1 --data-redis auto --data-memory 1MB", 2, "1MB is below the minimum of 16MB"),
        ("solve klotski", 2, "solve"),
    ],
)
def test_bad_words_leave_nothing_behind(line: str, code: int, said: str, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here(*line.split(), check=False)
    assert (refused.code, refused.stdout) == (code, "")
    assert said in refused.stderr
    assert code == 2 or said in refused.error
    assert not hakoiri.data.exists()
