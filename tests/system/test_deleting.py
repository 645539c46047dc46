"""The command ``delete``: it asks first, refuses where nobody can answer, and leaves nothing of a run behind."""

import builtins
import sys
from unittest.mock import patch

import pytest
import typer

from tests.support.commands import START_OF_2, Hakoiri


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
