"""``solve`` and ``deal``: the contest's format in and out, figures on request, errors in one line. Runs of deals."""

import json
import subprocess
from pathlib import Path

import pytest

from hakoiri.guests.deals.solitaire import Superpuzz
from tests.guests.deals.test_solitaire import FIGURE_1_GAP, FIGURE_1_MOVES, FIGURE_1_PUZZ
from tests.guests.deals.test_solving import CLIMBED, CONTEST, IN_ORDER
from tests.support import card_rules as rules
from tests.support.commands import HAKOIRI, Hakoiri

CONTEST_FILE = "4\n\n" + "\n\n".join(deal.replace("/", "\n") for deal in (FIGURE_1_GAP, CONTEST, IN_ORDER, CLIMBED))


@pytest.fixture
def contest(tmp_path: Path) -> Path:
    path = tmp_path / "deals.txt"
    path.write_text(CONTEST_FILE + "\n", encoding="utf-8")
    return path


@pytest.mark.ci_slow
def test_the_contest(hakoiri: Hakoiri, contest: Path) -> None:
    """As the contest wants it: one answer a line."""
    answers = "-1\n33\n0\n34\n"
    assert hakoiri.here("solve", "gap", str(contest)).stdout == answers
    # The last one takes most of the time.
    quick, answers = CONTEST_FILE.removesuffix(f"\n\n{CLIMBED}".replace("/", "\n")), answers.removesuffix("34\n")
    contest.write_text(quick.removeprefix("4\n"), encoding="utf-8")
    assert hakoiri.here("solve", "gap", str(contest)).stdout == answers
    contest.write_text("; in one line each\n" + "\n".join((FIGURE_1_GAP, CONTEST)), encoding="utf-8")
    assert hakoiri.here("solve", "gap", str(contest)).stdout == "-1\n33\n"
    assert hakoiri.here("solve", "gap", CONTEST).stdout == "33\n"
    piped = subprocess.run(
        [HAKOIRI, "solve", "gap", "-"], input=quick.replace("4", "3", 1), capture_output=True, text=True, check=True
    )
    assert piped.stdout == answers


@pytest.mark.ci_slow
def test_figures_of_both_strategies(hakoiri: Hakoiri, contest: Path) -> None:
    wide = hakoiri.ask("solve", "gap", str(contest), "--strategy", "bfs")["deals"]
    deep = hakoiri.ask("solve", "gap", str(contest), "--strategy", "dfs")["deals"]
    assert [row["moves"] for row in wide] == [row["moves"] for row in deep] == [None, 33, 0, 34]
    assert [row["solvable"] for row in wide] == [False, True, True, True]
    # Depth first all positions are looked at; breadth first no more once the goal is found.
    assert [row["positions"] for row in deep] == [22, 6_785, 1, 423_672]
    assert all(one["positions"] <= other["positions"] for one, other in zip(wide, deep, strict=True))
    assert deep[3]["positions_until_goal"] < wide[3]["positions_until_goal"]
    for row in (*wide, *deep):
        assert row["seconds"] >= 0
        if row["solution"]:
            here = rules.gap_start(row["deal"])
            for card in row["solution"]:
                (here,) = [after for word, after in rules.moves(here, gap=True) if word == card]
            assert rules.is_gap_goal(here)
    told = hakoiri.here("solve", "gap", CONTEST, "--strategy", "dfs").stdout.split()
    assert told[:4] == ["deal", "moves", "positions", "until"]
    assert "6,785" in told


def test_deals_of_the_generator(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """The same deals in the contest's format, in JSON and one by one."""
    listed = hakoiri.here("deal", "superpuzz", "-o", "columns=4", "--seed", "9", "--count", "3").stdout
    texts = json.loads(
        hakoiri.here("deal", "superpuzz", "-o", "columns=4", "--seed", "9", "--count", "3", "--json").stdout
    )
    blocks = listed.split("\n\n")
    assert blocks[0] == "3"
    assert [block.strip().replace("\n", "/") for block in blocks[1:]] == texts["deals"]
    second = hakoiri.ask("deal", "superpuzz", "-o", "columns=4", "--seed", "9", "--first", "1")["deals"]
    assert second == texts["deals"][1:2]
    path = tmp_path / "deals"
    path.write_text(listed, encoding="utf-8")
    solved = hakoiri.ask("solve", "superpuzz", str(path), "-o", "columns=4")["deals"]
    assert [row["deal"] for row in solved] == texts["deals"]


def test_a_deal_that_is_not_settled_is_not_called_unsolvable(hakoiri: Hakoiri) -> None:
    told = hakoiri.here("solve", "gap", CLIMBED, "--cap", "1000", "--json", check=False)
    (row,) = told.json["deals"]
    assert told.code == 1
    assert (row["solvable"], row["moves"], row["positions"], row["exhausted"]) == (None, None, 1_000, False)
    assert (
        "undecided" in hakoiri.here("solve", "gap", CLIMBED, "--cap", "1000", "--strategy", "bfs", check=False).stdout
    )


def test_one_deal_that_is_not_settled_costs_no_answer(hakoiri: Hakoiri, tmp_path: Path) -> None:
    (tmp_path / "deals").write_text("\n".join([CONTEST, CLIMBED, CONTEST]), encoding="utf-8")
    told = hakoiri.here("solve", "gap", str(tmp_path / "deals"), "--cap", "7000", check=False)
    assert (told.code, told.stdout) == (1, "33\n?\n33\n")
    assert told.error.startswith("hakoiri: 1 of 3 deals undecided after 7,000 positions: number 2; raise --cap")


def test_a_run_of_the_papers_deal_until_its_goal(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """From a file; the path names the holes by the cards of the deal, also after the run is opened again."""
    path = tmp_path / "figure1"
    path.write_text("; figure 1\n" + FIGURE_1_PUZZ.replace("/", "\n"), encoding="utf-8")
    found = hakoiri.ask("run", "superpuzz", "--from", str(path), "--until-goal")
    assert (found["goal_depth"], found["start"], found["exhausted"]) == (18, FIGURE_1_PUZZ, False)
    way = hakoiri.ask("path", "last")
    rules.replay(
        rules.puzz_start(FIGURE_1_PUZZ),
        way["configurations"],
        lambda board: rules.is_puzz_goal(board, False),
        gap=False,
    )
    assert way["moves"][0] in FIGURE_1_MOVES or "6" in way["moves"][0]
    assert not any(".." in move for move in way["moves"])
    puzzle = Superpuzz(start=FIGURE_1_PUZZ)
    assert way["moves"] == puzzle.describe_moves([puzzle.parse(text) for text in way["configurations"]])
    drawn = hakoiri.here("path", "last").stdout
    assert "18 moves" in drawn
    assert way["moves"][0] in drawn


def test_a_given_solution_is_checked_shown_and_shortened(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """The paper's 24 moves become 22, from a file with its arrows, too."""
    path, film = tmp_path / "moves", tmp_path / "film.svg"
    path.write_text(FIGURE_1_MOVES.replace(") (", ") →\n("), encoding="utf-8")
    found = hakoiri.ask("replay", "superpuzz", FIGURE_1_PUZZ, str(path), "--shorten", "--steps", "--film", str(film))
    assert (found["moves"], found["solved"], found["shortened"], len(found["steps"])) == (24, True, 22, 22)
    assert " ".join(found["solution"]) == FIGURE_1_MOVES
    boards = [rules.text_of(rules.puzz_start(FIGURE_1_PUZZ)), *(step["configuration"] for step in found["steps"])]
    rules.replay(rules.board_of(boards[0]), boards, lambda board: rules.is_puzz_goal(board, False), gap=False)
    assert "22 of 22: (S6, H5)" in film.read_text(encoding="utf-8")
    shown = hakoiri.here("replay", "superpuzz", FIGURE_1_PUZZ, FIGURE_1_MOVES, "--shorten").stdout
    assert "moves 8 to 11, property 1 in element component (2, 1)" in shown
    cards = hakoiri.ask("solve", "gap", CONTEST)["deals"][0]["solution"]
    assert hakoiri.ask("replay", "gap", CONTEST, " ".join(cards))["solved"]
    part = hakoiri.ask("replay", "gap", CONTEST, " ".join(cards[:-1]))
    assert (part["moves"], part["solved"]) == (32, False)
    wrong = hakoiri.here("replay", "gap", CONTEST, f"{cards[0]} {cards[0]}", check=False)
    assert (wrong.code, wrong.error) == (1, f"hakoiri: move 2, {cards[0]}, is not a legal move")
