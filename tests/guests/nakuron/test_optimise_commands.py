"""Nakuron on the command line: exact optima, good plays that survive kills, boards made, drawn and replayed."""

import re
import signal
from pathlib import Path
from typing import Any

import pytest

from hakoiri.guests.nakuron.board import random_board
from hakoiri.guests.nakuron.optimise import best_of
from hakoiri.guests.nakuron.plan import Best
from hakoiri.guests.nakuron.puzzle import Nakuron
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import run_directories
from hakoiri.storage.results import read_arrays
from tests.support.commands import Hakoiri, wait_until
from tests.support.published import KNOWN, Known
from tests.support.servers import Workers, by_workers

LARGE = random_board(80, 3, 4)


def written(board: str, path: Path) -> str:
    path.write_text(board.replace("/", "\n") + "\n", encoding="ascii")
    return str(path)


def exact(found: dict[str, Any]) -> tuple[int, int, int]:
    return found["score"], found["moves"], found["configurations"]


@pytest.mark.ci_slow
@pytest.mark.parametrize("known", KNOWN, ids=lambda known: str(known.boards))
def test_runs_prove_the_optima(known: Known, hakoiri: Hakoiri, tmp_path: Path) -> None:
    path = written(known.text, tmp_path / "board.txt")
    found = hakoiri.ask("run", "nakuron", "--from", path)
    assert exact(found) == (known.score, known.moves, known.boards)
    assert hakoiri.ask("replay", "nakuron", path, found["sequence"])["score"] == known.score
    assert len(found["sequence"]) == found["moves"]
    assert hakoiri.ask("verify", "last")["ok"]


@pytest.mark.ci_slow
def test_workers_find_what_threads_find(hakoiri: Hakoiri, farm: Workers, tmp_path: Path) -> None:
    known = KNOWN[0]
    path = written(known.text, tmp_path / "board.txt")
    farmed = hakoiri.ask("run", "nakuron", "--from", path, "--redis", farm.url, "--farm", "200")
    assert exact(farmed) == (known.score, known.moves, known.boards)
    large = written(random_board(14, 1, 4).text(), tmp_path / "large.txt")
    line = ("optimise", "nakuron", "--from", large, "--width", "50", "--rounds", "1")
    with by_workers():
        farmed = hakoiri.ask(*line, "--redis", farm.url, data=tmp_path / "farmed")
    by_threads = hakoiri.ask(*line)
    for name in ("run", "score", "moves", "sequence", "moves_tried", "rounds"):
        assert farmed[name] == by_threads[name]
    assert hakoiri.ask("replay", "nakuron", large, by_threads["sequence"])["score"] == by_threads["score"]


def best_there(hakoiri: Hakoiri) -> Best | None:
    for run in run_directories(hakoiri.data):
        with RunStore(run) as store:
            return best_of(store)
    return None


def test_ctrl_c_leaves_a_line_that_goes_on(hakoiri: Hakoiri, tmp_path: Path) -> None:
    path = written(LARGE.text(), tmp_path / "my board.txt")
    line = ("optimise", "nakuron", "--from", path, "--strategy", "random")
    running = hakoiri.start(*line, "--time", "1h", "--json")
    wait_until(lambda: (best := best_there(hakoiri)) is not None and best.score > 0, what="a play")
    running.send(signal.SIGINT)
    stopped = running.finish()
    assert stopped.code == 130
    found = re.search(r"interrupted: stopped by SIGINT; continue with: hakoiri (.*)$", stopped.stderr.splitlines()[-1])
    assert found, stopped
    assert found[1].startswith(f"resume {stopped.json['run']}")
    again = hakoiri.ask(*line, "--rounds", "1")
    assert again["score"] >= stopped.json["score"] > 0


# Boards


def test_generated_boards_are_read_again(hakoiri: Hakoiri, tmp_path: Path) -> None:
    printed = hakoiri.here("generate", "nakuron", "--size", "12", "--setting", "2", "--seed", "9").stdout
    assert printed == "\n".join(random_board(12, 2, 9).lines()) + "\n"
    made = hakoiri.ask("generate", "nakuron", "--size", "12", "--setting", "2", "--seed", "9")
    path = tmp_path / "board.txt"
    path.write_text(printed, encoding="ascii")
    shown = hakoiri.ask("show", str(path), "--puzzle", "nakuron")
    assert shown["board"] == made["board"] == random_board(12, 2, 9).text()
    assert sum(shown["balls"].values()) == made["balls"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_boards_are_drawn(ending: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    path, picture = written(KNOWN[0].text, tmp_path / "board.txt"), tmp_path / f"board.{ending}"
    drawn = hakoiri.here("show", path, "--puzzle", "nakuron", "--plot", str(picture))
    assert picture.read_bytes()[:5] in (b"\x89PNG\r", b"<svg ")
    assert "up 5 of 17" in drawn.stdout
    assert "1=11 2=9 3=17 4=13" in drawn.stdout


def test_boards_on_the_terminal(hakoiri: Hakoiri, tmp_path: Path) -> None:
    small = hakoiri.here("show", written(KNOWN[0].text, tmp_path / "board.txt"), "--puzzle", "nakuron").stdout
    assert small.splitlines()[0] == "▒▒4 2 1 1 3 1 1 ▒▒▒▒"
    assert small.splitlines()[6] == "▒▒▒▒4 2 4 ▒▒▒▒2 1 ▒▒"
    large = hakoiri.here("show", written(LARGE.text(), tmp_path / "large.txt"), "--puzzle", "nakuron").stdout
    assert large.splitlines()[:41] == ["▀" * 82] * 41
    assert hakoiri.ask("show", "0x0", "--puzzle", "nakuron")["moves"] == []


def test_a_play_is_replayed_step_by_step(hakoiri: Hakoiri, tmp_path: Path) -> None:
    path, play = written(KNOWN[0].text, tmp_path / "board.txt"), tmp_path / "play.txt"
    play.write_text("0120102\n102303\n", encoding="ascii")
    told = hakoiri.ask("replay", "nakuron", path, str(play), "--steps")
    assert (told["score"], told["moves"], told["left"]) == (22, 13, 0)
    assert told["steps"][1] == {"move": 2, "side": "right", "dropped": 12, "scored": 5, "score": 10, "left": 21}
    printed = hakoiri.here("replay", "nakuron", path, "012", "--steps").stdout
    assert re.search(r"3\s+down\s+8\s+3\s+13\s+13", printed)


# Mistakes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:-1]], "line 13, row 8, '4155314' has 7 cells, expected 8"),
        (
            lambda lines: [*lines[:6], "7" + lines[6][1:], *lines[7:]],
            "line 7, row 2, has '7' in cell 1, expected 0 to 5",
        ),
        (lambda lines: [*lines[:2], lines[2] + "1", *lines[3:]], "line 3, the frame's side right, '543345511' has 9"),
        (lambda lines: lines[:-1], "row 8 is missing"),
        (lambda lines: ["eight", *lines[1:]], "the first line must be the size of the board"),
        (lambda lines: ["8" * 5_000, *lines[1:]], "the first line must be the size of the board"),
    ],
)
def test_bad_files_name_the_row(change: Any, said: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    path = written("/".join(change(KNOWN[0].text.split("/"))), tmp_path / "board.txt")
    for command in (
        ("run", "nakuron", "--from", path),
        ("optimise", "nakuron", "--from", path, "--time", "1s"),
        ("replay", "nakuron", path, "0"),
        ("show", path, "--puzzle", "nakuron"),
    ):
        refused = hakoiri.here(*command, check=False)
        assert (refused.code, refused.stdout) == (1, "")
        assert said in refused.error
    assert not hakoiri.data.exists()


def test_other_mistakes_are_one_line(hakoiri: Hakoiri, tmp_path: Path) -> None:
    large = written(LARGE.text(), tmp_path / "large.txt")
    for line, said in (
        (("run", "nakuron", "--from", large), "hakoiri optimise nakuron --from FILE"),
        (("optimise", "klotski", "--from", large), "klotski has no scored moves; puzzles with scores: nakuron"),
        (("optimise", "nakuron", "--from", large, "--strategy", "luck"), "set --strategy cycle|random"),
        (("optimise", "nakuron", "--from", large, "--strategy", "greedy", "--width", "3"), "leave out --width"),
        (("optimise", "nakuron", "--from", "none.txt"), "there is no file none.txt"),
        (("replay", "nakuron", large, "0124"), "move 4 is '4'"),
        (("show", large, "--puzzle", "nakuron", "--plot", "x.jpg"), "cannot draw 'x.jpg'"),
    ):
        refused = hakoiri.here(*line, check=False)
        assert (refused.code, refused.stdout) == (1, ""), refused
        assert said in refused.error
    assert hakoiri.here("generate", "nakuron", "--setting", "4", check=False).code == 2
    assert not hakoiri.data.exists()


def has_beam(hakoiri: Hakoiri) -> bool:
    for run in run_directories(hakoiri.data):
        with RunStore(run) as store:
            return bool(read_arrays(store))
    return False


@pytest.mark.slow
def test_a_killed_search_goes_on_and_loses_nothing(hakoiri: Hakoiri, tmp_path: Path) -> None:
    path = written(LARGE.text(), tmp_path / "large.txt")
    line = ("optimise", "nakuron", "--from", path, "--width", "8")
    running = hakoiri.start(*line, "--time", "1h")
    wait_until(lambda: has_beam(hakoiri), seconds=240, what="a beam on disk")
    running.kill()
    before = best_there(hakoiri)
    assert before is not None
    assert Nakuron().replay(before.sequence, LARGE.text()) == before.score > 0
    rounds = str(hakoiri.ask("status", "last")["rounds"] + 1)
    again = hakoiri.ask(*line, "--rounds", rounds)
    assert again["score"] >= before.score
    whole = hakoiri.ask(*line, "--rounds", rounds, data=tmp_path / "whole")
    for name in ("score", "sequence", "moves_tried"):
        assert again[name] == whole[name]
