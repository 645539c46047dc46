"""One life for all kinds of run: a kind that nobody knows but its class and its row in the registry."""

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from hakoiri.coordinator.runs.create import make_run
from hakoiri.coordinator.runs.kinds import KINDS, kind_of
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import Hint, PuzzleError
from hakoiri.guests.nakuron.board import random_board
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.lock import holder_of
from hakoiri.storage.ledger.manifest import Status
from hakoiri.storage.names import DATA_FILE, ROWS, number_key
from tests.support.commands import Hakoiri, wait_until
from tests.support.seeds import usual
from tests.system.toy_kind import register

PLAN, LIMITS = {"step": 1}, {"to": 8}


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setitem(KINDS, "count", "")
        register()
        yield


def count(data: Path, queued: bool = False) -> Path:
    return make_run(data, PuzzleSpec("klotski"), "count", PLAN, Resources(), queued, LIMITS)


def stop_at(number: int, go_on: Path, done: int) -> None:
    """Wait in a run, when it has counted so far, until there is a file."""
    while done == number and not go_on.exists():
        time.sleep(0.01)


def paused(number: int, go_on: Path) -> None:
    register(partial(stop_at, number, go_on))


def test_a_plan_is_checked_before_a_run_is_made(tmp_path: Path) -> None:
    with pytest.raises(PuzzleError, match="a count has a step"):
        make_run(tmp_path, PuzzleSpec("klotski"), "count", {}, Resources())
    assert list(tmp_path.iterdir()) == []


def test_from_making_to_deleting(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data, queued=True).name
    queued = hakoiri.ask("status", run)
    assert (queued["kind"], queued["status"], queued["step"], queued["counted"]) == ("count", "queued", 1, 0)
    printed = " ".join(hakoiri.here("resume", run).stdout.split())
    assert "status complete counted to 8 digest" in printed
    assert "now ask: hakoiri recount last --twice, hakoiri verify last" in printed
    (listed,) = hakoiri.ask("runs")["runs"]
    assert (listed["status"], listed["counted"], listed["progress"]["done"]) == ("complete", 8, 8)
    again = hakoiri.ask("resume", run)
    assert (again["rows"], again["digest"], again["sessions"], again["depth"]) == (8, f"{8:064x}", 1, None)
    sound = {
        "run": run, "ok": True, "complete": True, "sampled": False, "seed": None, "believed": "",
        "checked": {"numbers": 8},
    }  # fmt: skip
    assert hakoiri.ask("verify", run) == sound | {"faults": [], "cause": None}
    hakoiri.here("delete", run, "--yes")
    assert hakoiri.ask("runs") == {"runs": []}


def test_the_face_words_what_a_run_and_an_error_keep_as_data(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data, queued=True)
    with RunStore(run, writable=True) as store:
        store.commit(store.state.become("interrupted", "it is full", (Hint("lower", "cap"), Hint("resume", run.name))))
    reason = f"it is full; lower --cap; continue with: hakoiri resume {run.name}"
    assert hakoiri.ask("status", run.name)["reason"] == hakoiri.ask("runs")["runs"][0]["reason"] == reason
    assert hakoiri.here("delete", "none", check=False).error.endswith("; 'hakoiri runs' lists them")
    (run / DATA_FILE).write_bytes(b"none")
    advice = (
        f"restore it from an archive, or make it again; 'hakoiri verify {run.name}' lists all faults; "
        f"'hakoiri delete {run.name}' removes it"
    )
    assert hakoiri.ask("runs")["runs"][0]["reason"].endswith(advice)
    verified = hakoiri.here("verify", run.name, "--json", check=False)
    assert (verified.code, verified.json["faults"][0].endswith(advice)) == (1, True)


def test_what_is_stored_of_a_run_that_is_not_complete_is_not_called_the_run(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data, queued=True)
    cases: tuple[tuple[Status, str, str], ...] = (
        ("queued", "", "the run is not complete\n"),
        ("interrupted", "stopped by [SIGINT]", "the run is not complete: stopped by [SIGINT]\n"),
        ("failed", "the puzzle is wrong", "the run has failed: the puzzle is wrong\n"),
    )
    for status, reason, said in cases:
        with RunStore(run, writable=True) as store:
            store.commit(store.state.become(status, reason))
        assert hakoiri.here("verify", run.name).stdout == f"the stored part is sound: checked nothing\n{said}"
        verified = hakoiri.ask("verify", run.name)
        assert (verified["ok"], verified["complete"]) == (True, False)


@pytest.mark.ci_slow
def test_watched_cancelled_and_resumed(hakoiri: Hakoiri, tmp_path: Path) -> None:
    run, go_on = count(hakoiri.data), tmp_path / "go on"
    driver = hakoiri.start("resume", run.name, before=partial(paused, 3, go_on))
    wait_until(lambda: hakoiri.ask("status", run.name)["progress"]["done"] == 3)
    text = " ".join(hakoiri.here("status", run.name).stdout.split())
    assert "status running" in text
    assert "progress counting by 1; 3 of 8 numbers" in text
    refused = hakoiri.here("resume", run.name, check=False)
    assert (refused.code, "is held by process" in refused.error) == (75, True)
    assert f"; follow it to its end with 'hakoiri status {run.name} --watch'; stop it with" in refused.error
    assert "'hakoiri resume" not in refused.error
    assert hakoiri.here("delete", run.name, "--yes", check=False).code == 75
    cancelling = hakoiri.start("cancel", run.name)
    with RunStore(run) as store:
        wait_until(store.cancel_requested)
    go_on.touch()
    assert cancelling.finish().code == 0
    assert driver.finish().code == 1
    assert holder_of(run) is None
    stopped = hakoiri.ask("status", run.name)
    assert stopped["status"] == "cancelled"
    assert 3 <= stopped["counted"] < 8
    resumed = hakoiri.ask("resume", run.name)
    assert (resumed["status"], resumed["counted"], resumed["rows"], resumed["sessions"]) == ("complete", 8, 8, 2)


@pytest.mark.ci_slow
def test_stopped_by_a_signal(hakoiri: Hakoiri, tmp_path: Path) -> None:
    run, go_on = count(hakoiri.data), tmp_path / "go on"
    driver = hakoiri.start("resume", run.name, before=partial(paused, 2, go_on))
    wait_until(lambda: hakoiri.ask("status", run.name)["counted"] == 2)
    driver.send(15)
    go_on.touch()
    finished = driver.finish()
    assert (finished.code, "interrupted: stopped by SIGTERM" in finished.stderr) == (143, True)
    assert hakoiri.ask("status", run.name)["status"] == "interrupted"
    assert hakoiri.ask("resume", run.name)["counted"] == 8


def test_damage_is_found_and_mended(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data)
    hakoiri.here("resume", run.name)
    with RunStore(run, writable=True) as store:
        store.erase(ROWS, number_key(5))
        store.commit(store.state)
    found = hakoiri.here("verify", run.name, "--json", check=False)
    assert (found.code, found.json["faults"]) == (1, ["number 5 is missing"])
    assert hakoiri.ask("resume", run.name, "--repair")["rows"] == 8
    assert hakoiri.ask("verify", run.name)["ok"]


def test_limits_may_grow_and_the_identity_stays(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data)
    hakoiri.here("resume", run.name)
    with RunStore(run, writable=True) as store:
        manifest = store.manifest
        store.stage_limits({"to": 11})
        store.commit(store.read_state())
    assert hakoiri.ask("resume", run.name, "--repair")["counted"] == 11
    with RunStore(run) as store:
        assert (store.manifest, store.limits()) == (manifest, {"to": 11})


def test_a_kind_of_another_program_is_named(hakoiri: Hakoiri) -> None:
    run = count(hakoiri.data)
    del KINDS["count"]
    with pytest.raises(PuzzleError, match="kind of run 'count'; known kinds: explore"):
        kind_of("count")
    refused = hakoiri.here("resume", run.name, check=False)
    assert (refused.code, "there is no kind of run 'count'" in refused.error) == (1, True)
    assert hakoiri.ask("status", run.name)["kind"] == "count"
    KINDS["count"] = ""


@usual(
    5,
    ("command", "words"),
    [
        ("run klotski", "25,955 configurations"),
        ("run magic-star", "{chunks} of {chunks} chunk"),
        ("study deals superpuzz --sizes 4 --deals 12", "12 of 12 deals"),
        ("hunt gap -o ranks=3 --legs 2", "{deals} deals tried"),
        ("optimise nakuron --from {board} --rounds 1", "{moves_tried} moves tried"),
        ("run klotski --whole", "898 components; 65,880 configurations"),
    ],
)
def test_each_kind_shows_its_progress(command: str, words: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    board = tmp_path / "board.txt"
    board.write_text("\n".join(random_board(6, 1, 1).lines()), encoding="ascii")
    figures = hakoiri.ask(*command.format(board=board).split())
    text = " ".join(hakoiri("status", "last").stdout.split())
    assert words.format(**figures) in text[text.index("progress ") :]
    progress = hakoiri.json("status", "last")["progress"]
    assert json.dumps(progress)
    assert progress["total"] in (None, progress["done"])


def test_files_that_nobody_would_write_are_refused(hakoiri: Hakoiri) -> None:
    study = ("study", "deals", "gap", "--sizes", "3", "--deals", "2", "--queue")
    hunt = ("hunt", "gap", "-o", "ranks=3", "--queue")
    for line in ((*study, "--csv", "a.csv"), (*study, "--plot", "a.png"), (*hunt, "--certificate", "a.json")):
        assert "and --queue cannot be combined" in hakoiri.here(*line, check=False).error
    assert not hakoiri.data.exists()
