"""Words that mean nothing: boards, keys, options. One line names what is wrong, and nothing is left behind."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hakoiri.cli import app
from hakoiri.errors import counted
from hakoiri.guests.nakuron.board import random_board
from hakoiri.storage.ledger.manifest import State
from tests.support.commands import FinishedRuns, Hakoiri
from tests.support.user_puzzles import FAULT, FAULTY, JUGS, ROW, changed, written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ABBC/ABB/DEEF/DGHF/I..J", "row 2 'ABB' has 3 cells, expected 4"),
        ("ABBC/ABBC/DEEF/DGHF/I.\x1b[31m.J", "row 5"),
        ("ABBC/ABBC/DE\nF/DGHF/I..J", "'ABBC/ABBC/DE/F/DGHF/I..J' has 6"),
        ("0x1ffffffff", "more than 32 bits"),
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


# Mistakes in user puzzles: each is reported in one line, with the configuration and the line of the file


#: By when they are found: what is changed in a puzzle, or a whole file, and what is said.
MISTAKES = json.loads(Path(__file__).with_name("mistakes.json").read_text(encoding="utf-8"))


def mistaken(directory: Path, change: Any, text: str, name: str) -> str:
    """A file with a mistake, if there is any file, and the word for its puzzle."""
    if change is None:
        return f"{directory}/{name.lower()}.py:{name}"
    return written(directory, change if isinstance(change, str) else changed(*map(tuple, change), text=text), name)


def refusal(hakoiri: Hakoiri, *words: str) -> str:
    """The one line with which a command is refused."""
    refused = hakoiri.here(*words, check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert refused.stderr == f"{refused.error}\n"
    return refused.error


@pytest.mark.parametrize(("change", "said"), MISTAKES["before a run is made"])
def test_a_mistake_is_told_before_a_run_is_made(change: Any, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = mistaken(tmp_path, change, JUGS, "Jugs")
    for command in ("run", "enqueue", "puzzles", "show 0x800 --puzzle"):
        assert said in refusal(hakoiri, *command.split(), word)
    assert not hakoiri.data.exists()


def test_a_mistake_of_the_start_is_told_before_a_run_is_made(tmp_path: Path, hakoiri: Hakoiri) -> None:
    word = written(tmp_path, changed(("        found = []\n", "        found = [][key != 0x800]\n")))
    assert "successors of 8/0/0 (0x800) failed: line 18, " in refusal(hakoiri, "run", word)
    assert not hakoiri.data.exists()


@pytest.mark.parametrize(("change", "said"), MISTAKES["with the configuration"])
def test_a_mistake_is_told_with_the_configuration(change: Any, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    """Whatever goes wrong in the rules while they are searched: the run has failed, nothing to resume."""
    refused = hakoiri.here("run", mistaken(tmp_path, change, JUGS, "Jugs"), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert said in refused.error and "resume" not in refused.error
    status = hakoiri.ask("status", "last")
    assert (status["status"], said in status["reason"]) == ("failed", True)


@pytest.mark.parametrize(("change", "said"), MISTAKES["in a kernel"])
def test_a_mistake_in_a_kernel_is_told_before_a_run_is_made(
    change: Any, said: str, tmp_path: Path, hakoiri: Hakoiri
) -> None:
    assert said in refusal(hakoiri, "run", mistaken(tmp_path, change, ROW, "Row"))
    assert not hakoiri.data.exists()


@pytest.mark.parametrize(("change", "said"), MISTAKES["in the list of configurations"])
def test_a_mistake_in_the_list_of_configurations(change: Any, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    assert said in hakoiri.here("run", mistaken(tmp_path, change, ROW, "Row"), "--whole", check=False).error
    assert hakoiri.ask("status", "last")["status"] == "failed"


@pytest.mark.parametrize(
    ("greedy", "said"), [("np.empty(1 << 56)", "Unable to allocate"), ("bytearray(1 << 60)", "MemoryError")]
)
def test_too_little_memory_is_one_line(greedy: str, said: str, tmp_path: Path, hakoiri: Hakoiri) -> None:
    text = changed(("        room, counts", f"        130 in keys and {greedy}\n        room, counts"), text=ROW)
    refused = hakoiri.here("run", written(tmp_path, text, "Row"), check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert f"not enough memory: {said}" in refused.error
    assert "--memory" in refused.error
    status = hakoiri.ask("status", "last")
    assert (status["status"], said in status["reason"]) == ("interrupted", True)


@pytest.mark.parametrize("farmed", [(), ("--farm", "0")])
def test_a_kernel_that_fails_names_the_configuration(farmed: tuple[str, ...], tmp_path: Path, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("run", written(tmp_path, FAULTY, "Row"), *farmed, check=False)
    assert FAULT in refused.error
    status = hakoiri.ask("status", "last")
    assert status["status"] == "failed"
    assert 0 < status["depth"] <= 30


@pytest.mark.ci_slow
def test_verify_says_that_a_puzzle_is_wrong_and_advises_nothing_that_cannot_help(
    tmp_path: Path, hakoiri: Hakoiri
) -> None:
    """A kernel that is wrong about one configuration, which no sample of the run meets."""
    slip = changed(
        ("if key < 199:", "if key < 199 and key != 7:"), ("if key > 0:", "if key > 0 and key != 8:"), text=ROW
    )
    assert hakoiri.here("run", written(tmp_path, slip, "Row"), check=False).code == 0
    found = hakoiri.here("verify", "last", "--full", check=False)
    assert found.code == 1
    said = r"^row of \w+\.py, line \d+: successors of 0x8 returns 0x7, expand does not; the two must agree$"
    assert re.search(said, found.stdout, re.MULTILINE)
    assert "the puzzle is wrong, not the file, so no repair helps" in found.stderr
    assert "--repair" not in found.stderr
    assert hakoiri.here("verify", "last", "--full", "--json", check=False).json["cause"] == "puzzle"
    assert "no layer is damaged; nothing to repair" in hakoiri.here("resume", "last", "--repair").stderr


# One thing has one name, a unit where it has one, and its singular; what is mistyped is guessed


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    ("number", "things", "said"),
    [
        (1, "moves", "1 move"),
        (0, "moves", "0 moves"),
        (2_220, "layers checked", "2,220 layers checked"),
        (1, "layers checked", "1 layer checked"),
        (1, "moves of the best play", "1 move of the best play"),
        (1, "kernels/s", "1 kernel/s"),
        (2, "kernels/s", "2 kernels/s"),
    ],
)
def test_numbers_are_counted_in_english(number: int, things: str, said: str) -> None:
    assert counted(number, things) == said


@pytest.mark.ci_slow
def test_commands_and_options_are_guessed() -> None:
    assert "'runs'" in CliRunner().invoke(app, ["rusn"]).output
    assert "--memory" in CliRunner().invoke(app, ["run", "klotski", "--memry", "1GB"]).output


def test_runs_and_status_say_the_same(finished: FinishedRuns) -> None:
    explored = finished.explored["run"]
    again = flat(finished.hakoiri.here("resume", explored).stdout)
    status = flat(finished.hakoiri.here("status", explored).stdout)
    for label in ("nearest goal 116 moves", "configurations 25,955", "depth 167", "computing "):
        assert label in again, again
        assert label in status, status
    counted_run = finished.counted["run"]
    for label in ("moves between them 103,390", "components 898", "start in component 1"):
        assert label in flat(finished.hakoiri.here("resume", counted_run).stdout)
        assert label in flat(finished.hakoiri.here("status", counted_run).stdout)
    told = finished.hakoiri.ask("status", explored)
    assert f"rate {told['rate']:,} configurations/s" in status
    assert told["rate_unit"] == "configurations/s"
    assert datetime.fromisoformat(told["created"]).tzinfo is not None
    assert "created" in finished.hakoiri.here("runs").stdout.splitlines()[0].split()


@pytest.mark.ci_slow
def test_positions_and_moves_tried_are_no_configurations(hakoiri: Hakoiri, tmp_path: Path) -> None:
    board = tmp_path / "board.txt"
    board.write_text("\n".join(random_board(6, 1, 1).lines()), encoding="ascii")
    for line, name in (
        ("hunt gap -o ranks=3 --legs 1", "positions"),
        ("study deals gap --sizes 3 --deals 2", "positions"),
        (f"optimise nakuron --from {board} --rounds 1", "moves_tried"),
    ):
        made = hakoiri.here(*line.split()).stdout
        run = made.split()[1]
        for label in ("deals tried", "positions generated", "moves tried"):
            assert (f"\n{label} " in made) == (f"\n{label} " in hakoiri.here("status", run).stdout) or "study" in line
        told = hakoiri.ask("status", run)
        assert (told["configurations"], told[name] > 0) == (None, True)
        text = hakoiri.here("status", run).stdout
        assert f"{name.replace('_', ' ')} " in text
        assert "configurations" not in text
    assert told["start"] is None, "its board is its start"
    assert "start" not in [row.split()[0] for row in text.splitlines() if row[:1].strip()]


@pytest.mark.parametrize(
    ("line", "has"),
    [
        ("hunt gap -o ranks=3 --legs 1", "of the kind hunt: it has legs and records and no layers"),
        ("study deals gap --sizes 3 --deals 1", "of the kind study: it has deals and no layers"),
        ("enqueue klotski", "has no layers yet"),
    ],
)
def test_a_run_without_layers_says_what_it_has(line: str, has: str, hakoiri: Hakoiri) -> None:
    hakoiri.here(*line.split())
    refused = hakoiri.here("layers", "last", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert has in refused.error


@pytest.mark.ci_slow
def test_where_the_start_is_the_goal_no_way_there_is_offered(hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    goal = finished.hakoiri.ask("path", finished.explored["run"])["configurations"][-1]
    assert "now ask: hakoiri path last --to farthest, " in hakoiri.here("run", "klotski", "--from", goal).stdout
    assert "now ask: hakoiri path last, " in hakoiri.here("run", "klotski").stdout


def test_the_diameter_of_a_whole_space_is_that_around_the_usual_start(finished: FinishedRuns) -> None:
    hakoiri, counted_run = finished.hakoiri, finished.counted["run"]
    holds = hakoiri.ask("component-of", counted_run, finished.explored["start"])["component"]
    assert holds == finished.counted["start_component"] == 1, "component 0 is the one upside down"
    assert f"start in component {holds}" in flat(hakoiri.here("resume", counted_run).stdout)
    found = hakoiri.ask("diameter", counted_run)
    assert (found["component"], found["diameter"]) == (holds, 190)
    assert f"component {holds}, with the usual start" in flat(hakoiri.here("diameter", counted_run).stdout)
    other = flat(hakoiri.here("diameter", counted_run, "--component", "0").stdout)
    assert "component 0 size" in other


def test_figures_of_earlier_runs_are_read_by_their_new_names() -> None:
    from hakoiri.guests.deals.hunt import HuntFigures
    from hakoiri.guests.nakuron.optimise import OptimiseFigures

    earlier = State(figures={"configurations": 7, "rounds": 1, "legs": 2})
    assert OptimiseFigures.of(earlier) == OptimiseFigures(moves_tried=7, rounds=1)
    assert HuntFigures.of(earlier) == HuntFigures(positions=7, legs=2)
