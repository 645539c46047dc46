"""The command ``runs``: what each run was begun with, which are listed, and the pruning of repeated ones."""

import builtins
import json
import sys
from functools import partial
from unittest.mock import patch

import pytest

from hakoiri.storage.names import DATA_FILE
from tests.support.commands import Hakoiri
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
        "usual": (*SMALL,),
        "goal": (*SMALL, *GOAL, "--until-goal"),
        "start": (*SMALL, "--from", "1./23"),
        "whole": (*SMALL, "--whole", "--diameters", "none"),
    }
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
        ("", "done waiting towers"),
        ("--puzzle tiles", "done waiting"),
        ("--status complete", "done towers"),
        ("--puzzle tiles --status queued", "waiting"),
        ("--puzzle klotski", ""),
    ],
)
def test_runs_are_chosen_by_puzzle_and_status(line: str, listed: str, several: Hakoiri) -> None:
    assert [row["run"] for row in several.ask("runs", *line.split())["runs"]] == listed.split()
    printed = several.here("runs", *line.split())
    assert all(name in printed.stdout for name in listed.split())
    assert listed or printed.stderr == f"none of the 3 runs in {several.data} matches\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("--status done", "'done' is not a status"),
        ("--status complet", "(did you mean complete?)"),
        ("--yes", "--yes needs --prune"),
    ],
)
def test_mistakes_are_named(line: str, said: str, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("runs", *line.split(), check=False)
    assert (refused.code, refused.stdout) == (2, "")
    assert said in " ".join(refused.stderr.replace("│", " ").split())


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
