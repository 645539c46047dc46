"""One thing has one name, a unit where it has one, and its singular; what is mistyped is guessed."""

from datetime import datetime

import pytest
from typer.testing import CliRunner

from hakoiri.cli import app
from hakoiri.errors import counted
from tests.support.commands import ROOT, FinishedRuns, Hakoiri

SOLVED = "AABC/AADE/.FGH/IJJK/.BCK"


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
    ],
)
def test_numbers_are_counted_in_english(number: int, things: str, said: str) -> None:
    assert counted(number, things) == said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("run kloski", "(did you mean klotski?)"),
        ("run klotski -o metrik=unit", "(did you mean metric?)"),
        ("run klotski -o metric=finga", "(did you mean finger?)"),
        ("run klotski -o metric=unit -o metric=finger", "option metric= is given twice, as unit and finger"),
        ("run sokoban", "there is no puzzle 'sokoban'; known puzzles"),
    ],
)
def test_what_is_mistyped_is_guessed(line: str, said: str, hakoiri: Hakoiri) -> None:
    assert said in hakoiri.here(*line.split(), check=False).error
    assert not hakoiri.data.exists()


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


def test_positions_and_moves_tried_are_no_configurations(hakoiri: Hakoiri) -> None:
    board = str(ROOT / "examples" / "nakuron.txt")
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
