"""Copies of runs, names that two take at once, what kills leave behind, and files that are exchanged under a driver."""

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from hakoiri.coordinator.runs import create
from hakoiri.coordinator.runs.create import make_planned, plan_run
from hakoiri.coordinator.session.resources import Resources
from hakoiri.errors import Hint, NameTakenError, TakenOverError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.storage.engine.files import replaced
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.names import DATA_FILE
from tests.support.commands import HAKOIRI, START_OF_2, Hakoiri
from tests.support.refusals import refused
from tests.support.seeds import first_usual
from tests.support.user_puzzles import ruled

TINY = ("run", "klotski", "--from", START_OF_2)
#: Rules in plain Python that take seconds for a configuration, after a line that says that they have begun.
SLOW = ruled(
    "Slow",
    """\
    def successors(self, key):
        if key == 8:
            print("slow by now", file=sys.stderr, flush=True)
            end = time.monotonic() + 100
            while time.monotonic() < end:
                pass
        return [each for each in (key - 1, key + 1) if 0 <= each < 20]

    def is_goal(self, keys):
        return keys == 19

    def render(self, key):
        return str(key)

    def parse_text(self, text):
        return int(text)
""",
    imports="import sys\nimport time",
    start=5,
    undirected=True,
)


def test_a_copy_of_a_run_goes_by_the_name_of_its_directory(hakoiri: Hakoiri) -> None:
    hakoiri.ask(*TINY, "--name", "b-first")
    shutil.copytree(hakoiri.data / "b-first", hakoiri.data / "a-copy")
    listed = hakoiri.ask("runs")["runs"]
    assert [(run["run"], run["made_as"]) for run in listed] == [("b-first", None), ("a-copy", "b-first")]
    assert "a-copy was created as b-first: it is a copy, or was renamed" in hakoiri.here("runs").stderr
    assert hakoiri.ask("status", "a-copy")["run"] == "a-copy"
    assert hakoiri.ask("delete", "last", "--yes")["runs"] == ["a-copy"]
    assert [path.name for path in hakoiri.data.iterdir()] == ["b-first"]


def test_a_name_that_another_takes_meanwhile_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = plan_run(tmp_path, PuzzleSpec("klotski", start=START_OF_2), None, {}, Resources(), "mine")
    make_planned(tmp_path, manifest, False, None)
    # As it was before the other had made it.
    monkeypatch.setattr(create, "DATA_FILE", "not there yet")
    with refused(NameTakenError, "there is a run mine already", Hint("change", "name"), Hint("status", "mine")):
        make_planned(tmp_path, manifest, False, None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


#: Commands that only read the directory of the runs.
READING = (
    "runs", "status last", "layers last", "components last", "diameter last", "path last", "verify last", "health",
)  # fmt: skip
#: Commands that write there.
WRITING = (" ".join(TINY), "delete last --yes", "enqueue klotski", "coordinator --threads --burst")


def leave_some(data: Path) -> list[Path]:
    """Leave what kills leave while a run is made or deleted, an hour ago."""
    left = [data / ".creating-aaaaaa", data / ".deleting-aaaaaa-klotski-abcdef", data / ".hakoiri-abcdef-runs.json"]
    for directory in left[:2]:
        directory.mkdir()
        (directory / DATA_FILE).write_bytes(b"half")
    left[2].write_bytes(b"half")
    for path in left:
        os.utime(path, (1, 1))
    return left


def test_who_only_reads_removes_nothing(hakoiri: Hakoiri) -> None:
    hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2")
    leave_some(hakoiri.data)
    before = sorted(hakoiri.data.rglob("*"))
    for command in READING:
        hakoiri.here(*command.split(), check=command != "health")
        assert sorted(hakoiri.data.rglob("*")) == before, command


@pytest.mark.parametrize("command", WRITING)
def test_what_kills_left_goes_with_the_next_command_that_writes(command: str, hakoiri: Hakoiri) -> None:
    hakoiri.ask(*TINY)
    left = leave_some(hakoiri.data)
    hakoiri.here(*command.split())
    assert [path for path in left if path.exists()] == []


def test_what_killed_exports_left_goes_with_the_next_one(hakoiri: Hakoiri, tmp_path: Path) -> None:
    hakoiri.data.mkdir()
    for target in (tmp_path / "out.csv", hakoiri.data / "out.csv"):
        (part := target.with_name(".hakoiri-abcdef-other.csv")).write_text("half", encoding="utf-8")
        with replaced(target) as held:
            held.write_text("whole", encoding="utf-8")
            assert not part.exists()
            with replaced(target.with_name("another.csv")) as other:
                assert held.exists()
                other.touch()
        assert target.read_text(encoding="utf-8") == "whole"
        assert not list(target.parent.glob(".hakoiri-*"))


def test_a_data_file_that_is_exchanged_is_noticed_at_the_next_commit(hakoiri: Hakoiri) -> None:
    directory = hakoiri.data / hakoiri.ask(*TINY)["run"]
    copy = shutil.copy(directory / DATA_FILE, hakoiri.data / "copy")
    with RunLock(directory), Ledger(directory, writable=True) as ledger:
        ledger.commit(ledger.state)
        Path(copy).rename(directory / DATA_FILE)
        with refused(TakenOverError, "was taken over by another process", Hint("status", directory.name)):
            ledger.commit(ledger.state)
        assert ledger.poisoned


@pytest.mark.ci_slow
@pytest.mark.parametrize("megabytes", [150, 8_192])
def test_too_few_addresses_are_named_as_such(megabytes: int, hakoiri: Hakoiri) -> None:
    """With the least of them a library cannot be loaded, with the most LMDB has no room for its map.

    No forked process: that has loaded all libraries.
    """
    line = f"ulimit -v {megabytes << 10} && exec {HAKOIRI} {' '.join(TINY)}"
    ended = hakoiri("-c", line, executable=Path("/bin/sh"), check=False)
    assert ended.code == 1
    assert "ulimit -v unlimited" in ended.error
    # That run was never made, or is gone.
    assert not re.search("output|[0-9a-f]{6}-klotski", ended.error)


@pytest.mark.ci_slow
@pytest.mark.parametrize("number", first_usual(1, signal.SIGINT, signal.SIGHUP, signal.SIGTERM))
@pytest.mark.parametrize("where", [(), ("--farm", "1")], ids=["here", "threads"])
def test_a_slow_puzzle_is_broken_off(number: int, where: tuple[str, ...], hakoiri: Hakoiri, tmp_path: Path) -> None:
    """The layers before are committed; the puzzle would take 100 s more."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    running = hakoiri.start("run", f"{tmp_path / 'slow.py'}:Slow", *where)
    running.wait_for("slow by now")
    running.send(number)
    ended = running.finish(30)
    assert ended.code == 128 + number
    assert f"interrupted: stopped by {signal.Signals(number).name}" in ended.stderr
    state = hakoiri.state()
    assert (state.status, state.depth) == ("interrupted", 2)
