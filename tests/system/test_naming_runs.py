"""Runs by names that users choose, several deleted at once, and runs that were made before."""

import re
from pathlib import Path

import pytest

from hakoiri.coordinator.errors import UnknownRunError
from hakoiri.coordinator.runs.catalogue import find_run
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import DATA_FILE
from tests.support.commands import START_OF_2, Hakoiri


def test_a_run_has_the_name_that_its_user_chose(hakoiri: Hakoiri) -> None:
    assert hakoiri.ask("run", "klotski", "--from", START_OF_2, "--name", "tiny")["run"] == "tiny"
    assert hakoiri.ask("enqueue", "klotski", "--name", "later_1")["run"] == "later_1"
    assert hakoiri.ask("status", "later")["run"] == "later_1"
    for name, said in (("tiny", "there is a run tiny already"), ("last", "'last' is not a valid run name")):
        assert said in hakoiri.here("run", "klotski", "--name", name, check=False).error
    for name in ("", "a/b", "../x", ".hidden", "a.json", "a b", "x" * 65):
        assert "is not a valid run name" in hakoiri.here("run", "klotski", "--name", name, check=False).error
    assert sorted(path.name for path in hakoiri.data.iterdir()) == ["later_1", "tiny"]


def test_several_runs_are_deleted_or_none(hakoiri: Hakoiri) -> None:
    for name in ("one", "two", "three"):
        hakoiri.ask("run", "klotski", "--from", START_OF_2, "--name", name)
    refused = hakoiri.here("delete", "one", "four", "--yes", check=False)
    assert "no run 'four'" in refused.error
    assert len(hakoiri.ask("runs")["runs"]) == 3
    assert hakoiri.ask("delete", "last", "three", "on", "--yes") == {"runs": ["three", "one"], "status": "deleted"}
    assert [run["run"] for run in hakoiri.ask("runs")["runs"]] == ["two"]


@pytest.fixture
def finished_before(hakoiri: Hakoiri) -> str:
    return str(hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--name", "before")["run"])


TILES = ("run", "tiles", "-o", "rows=2", "-o", "columns=2")


def test_a_finished_run_of_the_same_is_named_and_taken_where_it_may_be(hakoiri: Hakoiri, finished_before: str) -> None:
    again = hakoiri.here(*TILES, "--json")
    assert again.json["run"] != finished_before
    assert "run before did the same and is complete; --reuse uses it" in again.stderr
    hakoiri.here("delete", "last", "--yes")
    taken = hakoiri.here(*TILES, "--reuse", "--json")
    assert (taken.json["run"], taken.json["sessions"], taken.json["configurations"]) == (finished_before, 1, 12)
    assert "--reuse" not in taken.stderr
    assert hakoiri.ask("enqueue", *TILES[1:], "--reuse")["run"] == finished_before
    assert len(hakoiri.ask("runs")["runs"]) == 1


def test_what_to_ask_next_names_a_run_that_is_not_the_last(hakoiri: Hakoiri, finished_before: str) -> None:
    hakoiri.here("enqueue", "klotski")
    for line in ((*TILES, "--reuse"), ("resume", finished_before)):
        said = hakoiri.here(*line).stdout
        assert f"now ask: hakoiri path {finished_before} --to farthest, " in said
        assert " last" not in said


def test_what_to_do_next_says_where_the_run_lies(hakoiri: Hakoiri, tmp_path: Path) -> None:
    where = tmp_path / "other runs"
    made = hakoiri.here(*TILES, "--data", str(where)).stdout
    assert f"now ask: hakoiri path last --data '{where}' --to farthest, " in made
    queued = hakoiri.here("enqueue", *TILES[1:], "--data", str(where)).stdout
    assert re.search(rf"watch it with: hakoiri status \S+ --data '{where}' --watch", queued)


def test_a_run_to_be_taken_cannot_be_given_a_name(hakoiri: Hakoiri) -> None:
    refused = hakoiri.here(*TILES, "--reuse", "--name", "zz", check=False)
    assert "--name and --reuse cannot be combined" in refused.error
    assert not hakoiri.data.exists()


@pytest.mark.parametrize("other", ["--whole", "--until-goal", "--from=1./23", "-ocolumns=3"])
def test_a_run_of_something_else_is_not_the_same(hakoiri: Hakoiri, finished_before: str, other: str) -> None:
    made = hakoiri.here(*TILES[:-2], *(() if "columns" in other else TILES[-2:]), other, "--reuse", "--json")
    assert made.json["run"] != finished_before
    assert made.stderr == ""


def test_a_run_that_is_not_complete_is_not_taken(hakoiri: Hakoiri, finished_before: str) -> None:
    directory: Path = hakoiri.data / finished_before
    with Ledger(directory, writable=True) as ledger:
        ledger.commit(ledger.state.__class__(status="interrupted"))
    made = hakoiri.here(*TILES, "--reuse", "--json")
    assert made.json["run"] != finished_before


@pytest.mark.parametrize(
    ("name", "meant"), [("Fist", "First"), ("klotsk", "ab12cd-klotski"), ("lats", "last"), ("x", "")]
)
def test_the_name_of_a_run_is_guessed(name: str, meant: str, tmp_path: Path) -> None:
    for run in ("First", "ab12cd-klotski"):
        (tmp_path / run).mkdir()
        (tmp_path / run / DATA_FILE).touch()
    with pytest.raises(UnknownRunError) as refused:
        find_run(tmp_path, name)
    guess = f" (did you mean {meant}?)" if meant else ""
    assert str(refused.value) == f"there is no run {name!r} in {tmp_path}{guess}"
