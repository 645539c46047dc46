"""The command ``runs``: what each run was begun with, which are listed, and the pruning of repeated ones."""

import builtins
import json
import re
import sys
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pytest
import typer

from hakoiri.coordinator.errors import UnknownRunError
from hakoiri.coordinator.runs.catalogue import find_run
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import DATA_FILE
from tests.support.commands import START_OF_2, Hakoiri
from tests.support.process_setup import stand_still_beyond

SMALL = ("tiles", "-o", "rows=2", "-o", "columns=2")
GOAL = ("--goal", "12/**")


def details(hakoiri: Hakoiri) -> dict[str, str]:
    """Return the details of each run in the list, which are those of `status`."""
    rows = hakoiri.ask("runs")["runs"]
    assert all(row == hakoiri.ask("status", row["run"]) for row in rows)
    return {row["run"]: row["details"] for row in rows}


def test_runs_of_one_puzzle_are_told_apart(hakoiri: Hakoiri) -> None:
    lines = {
        "usual": (*SMALL,), "goal": (*SMALL, *GOAL, "--until-goal"), "start": (*SMALL, "--from", "1./23"),
        "whole": (*SMALL, "--whole", "--diameters", "none"),
    }  # fmt: skip
    for name, line in lines.items():
        hakoiri.here("run", *line, "--name", name)
    found = details(hakoiri)
    assert found == {
        "usual": "rows=2 columns=2 from=.1/23",
        "goal": "rows=2 columns=2 goal=12/** from=.1/23 until-goal",
        "start": "rows=2 columns=2 from=1./23",
        "whole": "rows=2 columns=2 diameters=none",
    }
    listed = " ".join(hakoiri.here("runs").stdout.split())
    assert all(word in listed for text in found.values() for word in text.split())


def test_long_values_are_cut_in_the_details_alone(hakoiri: Hakoiri) -> None:
    board = "/".join(["........"] * 7 + ["A......."])
    hakoiri.ask("enqueue", "sliding", "--from", board)
    (row,) = hakoiri.ask("runs")["runs"]
    assert row["start"] == board
    assert f"from={board[:47]}…" in row["details"]


@pytest.fixture
def several(hakoiri: Hakoiri) -> Hakoiri:
    """Runs of two puzzles, one of them queued."""
    hakoiri.ask("run", *SMALL, "--name", "done")
    hakoiri.ask("enqueue", *SMALL, "--name", "waiting")
    hakoiri.ask("run", "hanoi", "-o", "discs=2", "--name", "towers")
    return hakoiri


@pytest.mark.parametrize(
    ("line", "listed"),
    [
        ("", "done waiting towers"), ("--puzzle tiles", "done waiting"), ("--status complete", "done towers"),
        ("--puzzle tiles --status queued", "waiting"), ("--puzzle klotski", ""),
    ],
)  # fmt: skip
def test_runs_are_chosen_by_puzzle_and_status(line: str, listed: str, several: Hakoiri) -> None:
    assert [row["run"] for row in several.ask("runs", *line.split())["runs"]] == listed.split()
    printed = several.here("runs", *line.split())
    assert all(name in printed.stdout for name in listed.split())
    assert listed or printed.stderr == f"none of the 3 runs in {several.data} matches\n"


# Pruning


def names(hakoiri: Hakoiri) -> list[str]:
    return [row["run"] for row in hakoiri.ask("runs")["runs"]]


@pytest.fixture
def repeated(hakoiri: Hakoiri) -> Hakoiri:
    """Runs that do the same as another, and some that do not."""
    for name, line in {
        "first": SMALL,
        "other-goal": (*SMALL, *GOAL),
        "second": SMALL,
        "other-start": (*SMALL, "--from", "1./23"),
        "other-kind": (*SMALL, "--whole"),
    }.items():
        hakoiri.ask("run", *line, "--name", name)
    hakoiri.ask("enqueue", *SMALL, "--name", "waiting")
    hakoiri.ask("enqueue", *SMALL, "--name", "stopped")
    hakoiri.ask("cancel", "stopped")
    return hakoiri


KEPT = ["other-goal", "second", "other-start", "other-kind", "waiting"]


def test_the_newest_complete_run_of_each_is_kept(repeated: Hakoiri) -> None:
    assert repeated.ask("runs", "--prune", "--yes") == {"runs": ["first", "stopped"], "status": "deleted"}
    assert names(repeated) == KEPT
    again = repeated.here("runs", "--prune")
    assert (again.stdout, again.stderr) == ("", f"no repeated or failed runs in {repeated.data}\n")


def test_nothing_is_pruned_where_nobody_can_be_asked(repeated: Hakoiri) -> None:
    refused = repeated.here("runs", "--prune", check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "first (complete) did the same as second\n" in refused.stderr
    assert "stopped (cancelled) did the same as second\n" in refused.stderr
    assert refused.error == "hakoiri: no terminal to confirm on; add --yes to delete first, stopped"
    assert {"first", "stopped"} < {*names(repeated)}


@pytest.mark.parametrize(("answer", "left"), [("n", True), ("y", False)])
def test_pruning_asks_on_a_terminal(answer: str, left: bool, repeated: Hakoiri) -> None:
    with patch.object(sys, "stdin") as stdin, patch.object(builtins, "input", return_value=answer) as asked:
        stdin.isatty.return_value = True
        stdin.readline.return_value = f"{answer}\n"
        done = repeated.here("runs", "--prune", check=False)
    assert "delete 2 runs and all results?" in done.stderr + str(asked.call_args_list)
    assert ("first" in names(repeated)) == left
    assert ("first is deleted" in done.stdout) != left


def test_only_the_chosen_are_pruned(repeated: Hakoiri) -> None:
    assert repeated.ask("runs", "--prune", "--yes", "--puzzle", "hanoi")["runs"] == []
    assert repeated.ask("runs", "--prune", "--yes", "--status", "cancelled")["runs"] == ["stopped"]
    assert "first" in names(repeated)


def test_where_none_is_complete_none_is_pruned(hakoiri: Hakoiri) -> None:
    for name in ("one", "other"):
        hakoiri.ask("enqueue", *SMALL, "--name", name)
        hakoiri.ask("cancel", name)
    assert hakoiri.ask("runs", "--prune", "--yes")["runs"] == []


def test_what_belongs_to_a_run_stays_or_goes_with_it(hakoiri: Hakoiri) -> None:
    belonging = []
    for name in ("first", "second"):
        hakoiri.ask("run", *SMALL, "--name", name)
        belonging.append(hakoiri.ask("hardest", name)["distances"])
    pruned = hakoiri.here("runs", "--prune", "--yes")
    assert f"first (complete) did the same as second, and {belonging[0]} with it" in pruned.stderr
    assert names(hakoiri) == ["second", belonging[1]]
    assert hakoiri.ask("hardest", "second")["distances"] == belonging[1]


def test_a_run_that_a_process_holds_is_never_pruned(hakoiri: Hakoiri) -> None:
    running = hakoiri.start(
        "run", "klotski", "--name", "held", before=partial(stand_still_beyond, "configurations", 1_000)
    )
    running.stands_still()
    hakoiri.ask("run", "klotski", "--name", "complete")
    assert hakoiri.ask("runs", "--prune", "--yes")["runs"] == []
    running.kill()
    assert hakoiri.ask("runs", "--prune", "--yes")["runs"] == ["held"], "it is interrupted now"


def test_a_damaged_run_is_not_pruned(repeated: Hakoiri) -> None:
    (repeated.data / "first" / DATA_FILE).write_bytes(b"no pages of LMDB")
    done = repeated.here("runs", "--prune", "--yes", "--json")
    assert json.loads(done.stdout)["runs"] == ["stopped"]
    assert "first" in names(repeated)


# Runs by names that users choose, several deleted at once, and runs that were made before


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


# The command ``delete``: it asks first, refuses where nobody can answer, and leaves nothing of a run behind


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_nothing_is_deleted_where_nobody_can_be_asked(json: list[str], hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("enqueue", "klotski", "--from", START_OF_2)["run"]
    refused = hakoiri.here("delete", "last", *json, check=False)
    assert (refused.code, refused.stdout) == (1, "")
    assert "--yes" in refused.error
    assert (hakoiri.data / run).exists()
    assert hakoiri.ask("delete", "last", "--yes") == {"runs": [run], "status": "deleted"}
    assert not (hakoiri.data / run).exists()


@pytest.mark.parametrize(("answer", "left"), [("n\n", True), ("y\n", False)])
def test_on_a_terminal_the_user_is_asked(answer: str, left: bool, hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("enqueue", "klotski", "--from", START_OF_2)["run"]
    with patch.object(sys, "stdin") as stdin:
        stdin.isatty.return_value = True
        stdin.readline.return_value = answer
        with patch.object(builtins, "input", return_value=answer.strip()):
            done = hakoiri.here("delete", "last", check=False)
    assert (hakoiri.data / run).exists() == left
    assert (done.code == 0) != left


def test_goal_distances_are_named_and_go_with_their_run(hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2")["run"]
    distances = hakoiri.ask("hardest", run)["distances"]
    with patch.object(sys, "stdin") as stdin, patch.object(typer, "confirm") as confirm:
        stdin.isatty.return_value = True
        hakoiri.here("delete", run, distances)
    assert confirm.call_args.args[0] == f"delete {run}, {distances} and all results?"
    assert list(hakoiri.data.iterdir()) == []


def test_the_certificate_of_a_hunt_goes_with_it(hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("hunt", "gap", "-o", "ranks=3", "--legs", "4")
    mine = hakoiri.data / "mine.json"
    mine.write_text("{}", encoding="utf-8")
    hakoiri.here("delete", found["run"], "--yes")
    assert list(hakoiri.data.iterdir()) == [mine]


def test_a_file_of_the_users_beside_a_run_is_left(hakoiri: Hakoiri) -> None:
    run = hakoiri.ask("enqueue", "klotski", "--from", START_OF_2)["run"]
    (hakoiri.data / f"{run}.json").write_text('{"run": "mine"}', encoding="utf-8")
    hakoiri.here("delete", run, "--yes")
    assert [entry.name for entry in hakoiri.data.iterdir()] == [f"{run}.json"]
