"""First tries of users: boards as others write them, goals, repeated options, texts that are misread."""

from pathlib import Path

import pytest

from tests.support.commands import ROOT, Hakoiri

CARS = ("-o", "axis=rows-and-columns", "-o", "metric=straight")
#: Boards as most collections of Rush Hour write them, with the fewest moves of the car X to the right edge.
RUSH = {
    "AA...OP..Q.OPXXQ.OP..Q..B...CCB.RRR.": 8,
    "AA.O.BP..OQBPXXOQGPRRRQGD...EED...FF": 9,
    ".ABBCC.A.DEEXX.DOFPQQQOFP.G.OHP.G..H": 12,
    "AAB.....B.CCDEXXFGDEHHFG..I.JJKKI...": 17,
    "AABO..CCBO..PXXO..PQQQ..PDD...RRR...": 25,
    "..AOOOB.APCCBXXP...D.PEEFDGG.HFQQQ.H": 26,
    "ABBO..ACCO..XXDO.P..DEEP..F..P..FRRR": 28,
    "AA.OOO...BCCDXXB.PD.QEEPFFQ..P..QRRR": 37,
    "..OAAP..OB.PXXOB.PKQQQ..KDDEF.GG.EF.": 43,
    "OAA.B.OCD.BPOCDXXPQQQE.P..FEGGHHFII.": 51,
}
LEAVES = "X at the right edge of row 3"


def flat(text: str) -> str:
    return " ".join(text.split())


# Rush Hour


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


# Words


@pytest.mark.parametrize(
    "line",
    [
        "run klotski --from {board} --from {board}",
        "run klotski --goal {board} --goal {board}",
        "path last --to {board} --to goal",
        "study sizes tiles --sizes 4 --sizes=6",
        "worker -n 1 -n2",
    ],
)
def test_a_repeated_option_is_refused(line: str, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here(*line.format(board="ABBC/ABBC/DEEF/DGHF/.IJ.").split(), check=False)
    assert refused.code == 2 and "is given twice" in refused.stderr


def test_an_undecided_deal_fails_with_any_option(hakoiri: Hakoiri) -> None:
    deal = hakoiri.ask("deal", "gap", "-o", "ranks=6", "--seed", "1")["deals"][0]
    for more in ((), ("--strategy", "bfs"), ("--show",), ("--json",)):
        assert hakoiri.here("solve", "gap", deal, "-o", "ranks=6", "--cap", "100", *more, check=False).code == 1


RING = """
from hakoiri import U32, Puzzle


class Ring(Puzzle):
    name, layout, undirected, most_successors = "ring", U32, True, 2

    def usual_start(self):
        return 0

    def successors(self, key):
        return [(key + 1) % 12, (key - 1) % 12]

    def render(self, key):
        return f"hour {key}"

    def parse_text(self, text):
        return int(text.split()[1]) % 12
"""


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
