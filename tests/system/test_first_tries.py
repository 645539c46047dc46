"""First tries of users: boards as others write them, goals, repeated options, texts that are misread."""

import re
from pathlib import Path

import pytest

from hakoiri import open_run
from tests.support.commands import ROOT, START_OF_2, Hakoiri
from tests.support.geometry import FOLDER
from tests.support.user_puzzles import ruled

CARS = ("-o", "axis=rows-and-columns", "-o", "metric=straight")
#: Boards as most collections of Rush Hour write them, with the fewest moves of the car X to the right edge.
RUSH = {
    "AA...OP..Q.OPXXQ.OP..Q..B...CCB.RRR.": 8, "AA.O.BP..OQBPXXOQGPRRRQGD...EED...FF": 9,
    ".ABBCC.A.DEEXX.DOFPQQQOFP.G.OHP.G..H": 12, "AAB.....B.CCDEXXFGDEHHFG..I.JJKKI...": 17,
    "AABO..CCBO..PXXO..PQQQ..PDD...RRR...": 25, "..AOOOB.APCCBXXP...D.PEEFDGG.HFQQQ.H": 26,
    "ABBO..ACCO..XXDO.P..DEEP..F..P..FRRR": 28, "AA.OOO...BCCDXXB.PD.QEEPFFQ..P..QRRR": 37,
    "..OAAP..OB.PXXOB.PKQQQ..KDDEF.GG.EF.": 43, "OAA.B.OCD.BPOCDXXPQQQE.P..FEGGHHFII.": 51,
}  # fmt: skip
LEAVES = "X at the right edge of row 3"


def flat(text: str) -> str:
    return " ".join(text.split())


# Rush Hour


@pytest.mark.ci_slow
def test_boards_with_a_car_x(hakoiri: Hakoiri, tmp_path: Path) -> None:
    boards = tmp_path / "boards.txt"
    boards.write_text("\n".join(RUSH), encoding="utf-8")
    rows = hakoiri.ask("study", "starts", str(boards), *CARS)["rows"]
    assert [row["moves"] for row in rows] == list(RUSH.values())
    assert flat(hakoiri.here("study", "starts", str(boards), *CARS).stdout).count(LEAVES) == len(RUSH)
    board = next(iter(RUSH))
    told = flat(hakoiri.here("run", "sliding", "--from", board, *CARS).stdout)
    assert f"goal {LEAVES} nearest goal 8 moves" in told
    assert f"goal {LEAVES}" in flat(hakoiri.here("run", "sliding", "--from", board, *CARS, "--dry-run").stdout)


def test_no_car_is_guessed(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """A car A lies anywhere in boards whose red car is X; it leaves only where it lies in the row of the exit."""
    lower = "AA...oP..Q.oPxxQ.oP..Q..B...CCB.RRR."
    found = hakoiri.ask("run", "sliding", "--from", lower, *CARS)
    assert (found["configurations"], found["goal_depth"]) == (1_247, 8)
    board = next(iter(RUSH)).replace("X", "Z")
    refused = hakoiri.here("run", "sliding", "--from", board, *CARS, check=False)
    assert "which piece must leave?" in refused.error and "--goal A@1,5" in refused.error
    assert hakoiri.ask("run", "sliding", "--from", board, *CARS, "--goal", "Z@3,5")["goal_depth"] == 8
    boards = tmp_path / "boards.txt"
    boards.write_text(board, encoding="utf-8")
    assert "line 1: which piece" in hakoiri.here("study", "starts", str(boards), *CARS, check=False).error
    assert hakoiri.ask("study", "starts", str(boards), *CARS, "--goal", "Z@3,5")["rows"][0]["moves"] == 8
    walled = "AA...OP..Q.OPXXQ.OP..Q..B..xCCB.RRR."
    assert "write '#' for a wall" in hakoiri.here("run", "sliding", "--from", walled, *CARS, check=False).error


# Goals


@pytest.mark.parametrize("line", ["run sliding --from AB./...", "study starts {file}"])
def test_a_goal_that_exchanges_pieces_of_one_shape_is_remarked_on(line: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "start").write_text("AB./...", encoding="utf-8")
    goal = (*line.format(file=tmp_path / "start").split(), "--goal", "BA./***")
    told = hakoiri.here(*goal)
    said = "BA./***: pieces of one shape are the same, so B means A or B, A means A or B; to tell them apart add"
    assert told.stderr == f"hakoiri: {said} distinct=A,B\n"
    if line.startswith("run"):
        assert hakoiri.here("path", "last").stderr == hakoiri.here("verify", "last").stderr == ""
        apart = hakoiri.here(*goal, "-o", "distinct=A,B", "--json")
        assert (apart.json["goal_depth"], apart.stderr) == (4, "")


def test_a_target_that_exchanges_pieces_of_one_shape_is_remarked_on(hakoiri: Hakoiri) -> None:
    hakoiri.ask("run", "sliding", "--from", "AB./...")
    for line in ("path last --to BA./...", "distance last BA./..."):
        assert "so B means A, A means B" in hakoiri.here(*line.split()).error
    assert hakoiri.here("distance", "last", ".../AB.").stderr == ""
    swapped = "CBBA/CBBA/DEEF/DGHF/.IJ."
    assert "C means A, A means C" in hakoiri.here("run", "klotski", "--goal", swapped, "--layers", "1").stderr


@pytest.mark.parametrize("more", [("--from", "AB./..."), ("--from", "A../.BB", *CARS)])
def test_no_goal_is_set(more: tuple[str, ...], hakoiri: Hakoiri, tmp_path: Path) -> None:
    assert "nearest goal no goal is set" in flat(hakoiri.here("run", "sliding", *more).stdout)
    assert "nearest goal no goal is set" in flat(hakoiri.here("run", "sliding", *more, "--dry-run").stdout)
    status = flat(hakoiri.here("status", "last").stdout)
    assert "no goal is set" in status and "goal=" not in status
    for line in ("path last", "hardest last", "path last --statistics"):
        assert "no goal is set" in hakoiri.here(*line.split(), check=False).error
    (tmp_path / "start").write_text(more[1], encoding="utf-8")
    assert "no goal is set" in hakoiri.here("study", "starts", str(tmp_path / "start"), *more[2:]).stdout


def test_the_goal_of_all_starts_is_said(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "start").write_text("1.2/345/678", encoding="utf-8")
    assert "goal .12/345/678" in flat(
        hakoiri.here("study", "starts", str(tmp_path / "start"), "--puzzle", "tiles").stdout
    )


# Words


def test_an_undecided_deal_fails_with_any_option(hakoiri: Hakoiri) -> None:
    deal = hakoiri.ask("deal", "gap", "-o", "ranks=6", "--seed", "1")["deals"][0]
    for more in ((), ("--strategy", "bfs"), ("--show",), ("--json",)):
        assert hakoiri.here("solve", "gap", deal, "-o", "ranks=6", "--cap", "100", *more, check=False).code == 1


RING = ruled("Ring", undirected=True, rules="""\
    def successors(self, key):
        return [(key + 1) % 12, (key - 1) % 12]

    def render(self, key):
        return f"hour {key}"

    def parse_text(self, text):
        return int(text.split()[1]) % 12
""")  # fmt: skip


def test_a_text_is_not_taken_for_another(hakoiri: Hakoiri, tmp_path: Path) -> None:
    file = tmp_path / "ring.py"
    file.write_text(RING, encoding="utf-8")
    hakoiri.ask("run", f"{file}:Ring")
    assert hakoiri.ask("distance", "last", "Hour  05")["length"] == 5
    refused = hakoiri.here("distance", "last", "hour 17", check=False)
    assert "'hour 17' is not a configuration of ring: parse_text takes it for 'hour 5'" in refused.error
    tried = hakoiri.here("try", f"{file}:Ring", check=False)
    assert tried.code == 1 and "takes it for" in tried.stdout
    level = "5#|#@$.#|5#"
    assert hakoiri.ask("run", f"{ROOT}/examples/sokoban.py:Sokoban", "--from", level)["goal_depth"] == 1


# Boards and configurations as others write them


@pytest.mark.parametrize(
    "start",
    [
        "1234/5678/9abc/de.f", "1 2 3 4/5 6 7 8/9 10 11 12/13 14 0 15", "123456789ABCDE0F",
        "1,2,3,4,5,6,7,8,9,10,11,12,13,14,0,15",
    ],
)  # fmt: skip
def test_the_15_puzzle_as_it_is_sold(start: str, hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("run", "tiles", "-o", "rows=4", "-o", "columns=4", "--from", start, "--until-goal")
    assert (found["start"], found["goal_depth"], found["layers"]) == ("1234/5678/9abc/de.f", 1, [1, 3])
    assert found["parameters"] == {"rows": "4", "columns": "4", "blank": "last"}
    assert hakoiri.ask("path", "last")["moves"] == ["f left"]


def test_walls_around_a_board_do_not_count(hakoiri: Hakoiri) -> None:
    frame = "#" * 10
    board = "/".join([frame, *(f"#{row}#" for row in ("AA......", "........", "......BB")), frame, *[frame] * 4])
    found = hakoiri.ask("run", "sliding", "--from", board, "--goal", "A@4,2")
    plain = hakoiri.ask("run", "sliding", "--from", "AA....../......../......BB", "--goal", "A@3,1")
    assert (found["start"], found["layers"], found["goal_depth"]) == (board, plain["layers"], plain["goal_depth"])
    assert hakoiri.ask("verify", "last", "--full")["ok"]
    wide = "/".join(["A" + "." * 8] * 8).replace("A", ".", 7)
    assert "72 of them not walls" in hakoiri.here("run", "sliding", "--from", wide, check=False).error
    ring = "/".join(["A" + "." * 8, *["." + "#" * 7 + "."] * 7, "." * 9])
    refused = hakoiri.here("run", "sliding", "--from", ring, check=False).error
    assert "32 free cells and 49 walls between them, 17 above the limit" in refused


_CORNER = ["A" + "#" * 8, *["." + "#" * 8] * 7, "." * 9]
_ROOMS = ["A...#....", *["....#...."] * 3, "#" * 9, *["....#...."] * 4]
_STAIRS = ["A." + "#" * 10, *["#" * place + ".." + "#" * (10 - place) for place in range(1, 10)], "#" * 10 + ".B"]


@pytest.mark.parametrize(("rows", "configurations"), [(_CORNER, 17), (_ROOMS, 16), (_STAIRS, 231)])
def test_walls_between_free_cells_do_not_count_where_rows_can_be_close(
    rows: list[str], configurations: int, hakoiri: Hakoiri
) -> None:
    found = hakoiri.ask("run", "sliding", "--from", "/".join(rows))
    assert found["configurations"] == configurations
    assert hakoiri.ask("verify", "last", "--full")["ok"]


@pytest.mark.ci_slow
def test_boards_with_walls_are_generated_by_their_free_cells(hakoiri: Hakoiri) -> None:
    size = "/".join(_CORNER).replace("A", ".")
    more = ("--pieces", "1x1:1", "--empty", "16", "--goal", "1x1@9,9", "--boards", "1")
    assert hakoiri.ask("generate", "sliding", "--size", size, *more)["boards"] == 1


@pytest.mark.ci_slow
@pytest.mark.parametrize("prime", "\u2019\u2018\u2032\u00b4\u02b9\uff07`")
def test_marks_that_are_written_for_a_prime(prime: str, hakoiri: Hakoiri) -> None:
    assert hakoiri.ask("show", "--puzzle", "cube2", f"R U{prime}") == hakoiri.ask("show", "--puzzle", "cube2", "R U'")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("3 x 2\nAB.\n...\n", "AB./..."),
        ("A board of mine\n\nAB.\n...\n", "AB./..."),
        ("AB.\n...\n\nBA.\n...\n", "2 boards, at lines 1 and 4: which?"),
        ("1 2 3 10\n5 6 7 8\n9 4 0 1\n", "row 1 '1 2 3 10'"),
    ],
)
def test_files_of_boards(text: str, start: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    (file := tmp_path / "board.txt").write_text(text, encoding="utf-8")
    done = hakoiri.here("run", "sliding", "--from", str(file), check=False)
    assert start in (done.error if done.code else done.stdout)


def test_the_blank_of_the_8_puzzle_is_said_once(hakoiri: Hakoiri) -> None:
    said = "the goal is .12/345/678, the blank first; for 123/456/78. add blank=last"
    done = hakoiri.here("run", "tiles", "--from", "[[1,2,3],[4,0,6],[7,5,8]]", "--until-goal", "--layers", "3")
    assert done.error.count(said) == 1
    more = ("-o", "blank=last", "--until-goal")
    assert said not in (done := hakoiri.here("run", "tiles", "--from", "123/4.6/758", *more)).stderr
    assert "nearest goal         2 moves" in done.stdout
    assert said not in hakoiri.here("show", "123/4.6/758", "--puzzle", "tiles").stderr
    assert said not in hakoiri.here("verify", "last").stderr


def test_levels_with_blanks_and_empty_files(hakoiri: Hakoiri, tmp_path: Path) -> None:
    level = "; 1\n  ####\n  # .#\n ##  ###\n #*@   #\n #   $ #\n #   ###\n #####\nTitle: one\n"
    (file := tmp_path / "one.xsb").write_text(level, encoding="utf-8")
    assert hakoiri.ask("run", f"{ROOT}/examples/sokoban.py:Sokoban", "--from", str(file))["goal_depth"] > 10
    (file := tmp_path / "empty.txt").touch()
    assert f"the file {file} is empty" in hakoiri.here("solve", "gap", str(file), check=False).error


# Options


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "redis://localhost:1/0?ssl_cert_reqs=none",
            "the unknown option 'ssl_cert_reqs'; options of TLS need rediss://",
        ),
        ("redis://localhost:1/0?foo=1", "the unknown option 'foo'"),
        ("redis://localhost:1/?timeout=5", "the unknown option 'timeout'"),
        ("rediss://localhost:1/0?ssl_cert_reqs=none", "no Redis answers at rediss://localhost:1/0"),
        ("redis://:pa/ss@localhost:1/0", "percent-encode the password"),
        ("redis://me:1234/5@localhost:1/0", "percent-encode the password"),
        ("redis://:pa#ss@localhost:1/0", "percent-encode the password"),
        ("redis://:p[a@localhost:1/0", "percent-encode the password"),
        ("redis://:pa%2Fss@localhost:1/0", "no Redis answers at redis://localhost:1/0"),
    ],
)
def test_urls_of_redis(url: str, said: str, hakoiri: Hakoiri) -> None:
    for line in ("health", "worker", "run klotski", "drain host"):
        refused = hakoiri.here(*line.split(), "--redis", url, check=False).error
        secret = url.partition("//")[2].rpartition("@")[0].rpartition(":")[2]
        assert said in refused and (not secret or secret not in refused)


@pytest.mark.slow
def test_pieces_in_any_number_and_the_usual_goal(hakoiri: Hakoiri) -> None:
    line = ("generate", "sliding", "--size", "6x6", "--boards", "2", "--cap", "3k", "--seed", "2", *CARS)
    found = hakoiri.ask(*line, "--pieces", "2x1:* 1x2:* 3x1:* 1x3:*", "--empty", "10..16")
    assert found["boards"] == 2 and found["goal"] == "2x1@3,5"
    assert hakoiri.ask("verify", "last")["ok"]
    walls = hakoiri.ask(
        "generate", "sliding", "--size", "...#/..../..../#...", "--pieces", "2x2:1 1x1:3..5", "--boards", "2"
    )
    assert walls["goal"] == "2x2@3,2"
    assert all(row["board"][3] == row["board"][15] == "#" for row in walls["rows"])
    assert (
        hakoiri.ask("study", "boards", "--size", "..#/...", "--pieces", "1x1:4", "--empty", "1")["configurations"] == 5
    )
    said = hakoiri.here("study", "boards", "--size", "4x5", "--pieces", "2x2:1 2x1:1 1x2:4 1x1:3", check=False).error
    assert said.endswith("with this many empty cells: they leave 3; set --empty 3")


def test_small_helps(hakoiri: Hakoiri) -> None:
    assert "configurations 181,440" in flat(hakoiri.here("run", "tiles", "--whole", "--dry-run").stdout)
    assert "use -o rows=3" in hakoiri.here("run", "tiles", "--rows", "3", check=False).stderr
    for line in ("run", "hardest"):
        _, team = hakoiri.here(line, "--help").stdout.split("Workers and hosts")
        assert all(name in team for name in ("--redis", "--farm", "--hosts", "--audit", "--chunk", "--workers"))


# What is printed


@pytest.mark.ci_slow
def test_summaries(hakoiri: Hakoiri) -> None:
    limited = hakoiri.here("run", "klotski", "--merge-mirrors", "--until-goal").stdout
    assert "with merge-mirrors until-goal" in flat(limited)
    assert "with layers=3" in flat(hakoiri.here("run", "klotski", "--layers", "3").stdout)
    assert "with" not in hakoiri.here("run", "klotski", "--from", START_OF_2).stdout
    resumed = hakoiri.here("resume", "last")
    assert resumed.stderr.endswith("was complete already\n") and "now ask: hakoiri diameter last" in resumed.stdout
    for line in ("runs", "layers last", "puzzles", "status last"):
        assert not re.search(r"[ \t]$", hakoiri.here(*line.split()).stdout, re.MULTILINE)


def test_answers_print_boards(hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("run", "tiles", "-o", "rows=2")["run"]
    with open_run(run, hakoiri.data) as opened:
        assert str(opened.diameter()).splitlines()[:2] == ["21 moves between", ".12/345  345/.12"]
        assert str(opened.hardest()).splitlines()[0] == "21 moves from the nearest goal: 1 configuration"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("layers last --depth 9", "run the puzzle again without --layers"),
        ("study starts {start} --puzzle magic-star", "start one with 'hakoiri run magic-star'"),
        ("run klotski --goal x -o goal=y", "leave out --goal"),
        ("generate sliding --size 3x3 --pieces 1x1:2 --goal 1x1@1,1 --empty 1", "choose another with --empty"),
    ],
)
def test_errors_with_a_next_step_have_a_hint(line: str, hint: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "start").write_text("1", encoding="utf-8")
    hakoiri.ask("run", "klotski", "--layers", "3")
    assert f"; {hint}" in flat(hakoiri.here(*line.format(start=tmp_path / "start").split(), check=False).error)


@pytest.mark.slow
def test_tiles_with_the_blank_last_have_the_layers_of_those_with_it_first(hakoiri: Hakoiri) -> None:
    first = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=4")
    last = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=4", "-o", "blank=last")
    assert last["layers"] == first["layers"] and last["start"] == "1234/567."
    assert hakoiri.ask("verify", "last", "--full")["ok"]
    goal = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=4", "-o", "blank=last", "--goal", "**34/567*")
    plain = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=4", "--goal", "*123/45**", "--from", ".123/4567")
    assert goal["goals"] == plain["goals"] == 2 * 3 // 2
    refused = hakoiri.here("run", "tiles", "--from", "1234/5678/9abc/def.", check=False)
    assert "set -o rows=4; set -o columns=4" in refused.error


def test_failed_runs_are_pruned(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (file := tmp_path / "ring.py").write_text(RING.replace("% 12", "% (12 - key)", 1), encoding="utf-8")
    assert hakoiri.here("run", f"{file}:Ring", check=False).code == 1
    kept = hakoiri.ask("run", "klotski", "--from", START_OF_2)["run"]
    gone = hakoiri.here("runs", "--prune", "--yes", "--json")
    assert len(gone.json["runs"]) == 1 and " failed" in gone.stderr
    assert [row["run"] for row in hakoiri.ask("runs")["runs"]] == [kept]


@pytest.mark.ci_slow
def test_a_dry_run_refuses_what_run_refuses(hakoiri: Hakoiri) -> None:
    cube = str(FOLDER / "3x3x3.gap")
    for more in (["--keep", "depths"], ["--whole"], ["-o", "pieces=identical"], ["--name", "a/b"]):
        refused, tried = (hakoiri.here("run", cube, *more, *last, check=False) for last in ([], ["--dry-run"]))
        assert tried.error == refused.error != ""
        assert tried.stdout == ""
    assert "43,252,003,274,489,856,000" in hakoiri.here("run", cube, "--dry-run").stdout
