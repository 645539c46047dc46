"""Runs of rules in plain Python by child processes: the figures and digests of threads, whatever becomes of these."""

import os
import signal
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from hakoiri.errors import WorkerError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import run_directories
from hakoiri.worker.child import _require_unchanged
from hakoiri.worker.machine import usable_cores, worker_name
from tests.support.commands import Hakoiri, Running, await_end, wait_until
from tests.system.test_farm import SLOW_RULES

#: Rules that do something odd in a child, once: a file says that it has been done.
ODD_RULES = SLOW_RULES.replace(
    "        for _ in range(20_000):\n            pass\n",
    """\
        import os, pathlib, sys, time
        done = pathlib.Path(__file__).with_suffix(".done")
        if "hakoiri.worker.child" in sys.orig_argv and not done.exists():
            done.touch()
            {does}
""",
)
ODD = {
    "dies": "os._exit(3)",
    "hangs": "time.sleep(600)",
    "eats memory": "held = bytearray(1 << 30); held[::4096] = b'x' * len(held[::4096]); time.sleep(600)",
    "raises": "raise OSError('only here')",
    "exits": "sys.exit(3)",
}
#: Rules that leave a configuration out in children.
LYING_RULES = SLOW_RULES.replace(
    "        return [2 * key",
    """\
        import sys
        if "hakoiri.worker.child" in sys.orig_argv and key % 100 == 7:
            return [2 * key % 3_001]
        return [2 * key""",
)


def file_of(directory: Path, text: str) -> str:
    (directory / "spinning.py").write_text(text)
    return f"{directory / 'spinning.py'}:Spinning"


@pytest.fixture
def puzzle(tmp_path: Path) -> str:
    """Rules that take five milliseconds."""
    return file_of(tmp_path, SLOW_RULES.replace("20_000", "100_000"))


def children_of(run: Running, count: int = 2) -> list[psutil.Process]:
    """Return so many children, once they have been started."""

    def is_one(process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return "hakoiri.worker.child" in process.cmdline()
        return False

    def found() -> list[psutil.Process]:
        mine = [each for each in run.children() if is_one(each)]
        assert len(mine) == count or run.process.poll() is None, run.finish()
        return mine if len(mine) == count else []

    return wait_until(found)


def expanders(hakoiri: Hakoiri) -> list[str]:
    """The names of those who have expanded committed layers of the only run."""
    (directory,) = run_directories(hakoiri.data)
    with Ledger(directory) as ledger:
        return sorted(ledger.state.work_log.get("expanders", {}))


@pytest.mark.ci_slow
@pytest.mark.parametrize("lost", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_what_becomes_of_children_changes_nothing(hakoiri: Hakoiri, tmp_path: Path, lost: int) -> None:
    alone = hakoiri.ask("run", file_of(tmp_path, SLOW_RULES.replace("20_000", "20")), "--farm", "never")
    puzzle = file_of(tmp_path, SLOW_RULES)
    run = hakoiri.start("run", puzzle, "--farm", "always", "--workers", "2", "--json")
    mine = children_of(run)
    for each in mine[:lost]:
        each.kill()
    ended = run.finish()
    assert (ended.code, ended.json["digest"]) == (0, alone["digest"])
    assert not await_end(mine)
    work_log = hakoiri.ask("status", "last")["work_log"]
    assert work_log["layers"]["processes"]["layers"] > 0
    assert [row["name"] for row in work_log["expanders"] if row["name"] is not None] != []
    assert hakoiri.ask("verify", "last")["ok"]


@pytest.mark.ci_slow
@pytest.mark.parametrize("harm", ODD)
def test_a_child_that_does_what_it_should_not_loses_nothing(hakoiri: Hakoiri, tmp_path: Path, harm: str) -> None:
    puzzle = file_of(tmp_path, ODD_RULES.format(does=ODD[harm]))
    alone = hakoiri.ask("run", puzzle, "--farm", "never")
    options = ("--farm", "always", "--workers", "2", "--json", "--memory", "1GB")
    ended = hakoiri("run", puzzle, *options, "--deadline", "2" if harm == "hangs" else "60")
    assert (tmp_path / "spinning.done").exists()
    assert ended.json["digest"] == alone["digest"]
    said = {"dies": "ended with exit code 3", "hangs": "is overdue", "eats memory": "took more than"}
    assert said.get(harm, "") in ended.stderr


@pytest.mark.ci_slow
def test_an_audited_child_that_lies_is_replaced(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """A few times; then threads make the chunks. Layers that follow from its answers are made again."""
    alone = hakoiri.ask("run", file_of(tmp_path, SLOW_RULES), "--farm", "never")
    puzzle = file_of(tmp_path, LYING_RULES)
    ended = hakoiri("run", puzzle, "--farm", "always", "--workers", "2", "--audit", "100%", "--json")
    assert ended.json["digest"] == alone["digest"]
    audit = hakoiri.ask("status", "last")["work_log"]["audit"]
    assert len(audit["untrusted"]) > 2
    assert "is not the one made here" in ended.stderr
    assert "no effect" not in ended.stderr


@pytest.mark.parametrize("option", ["--deadline 5", "--audit 1%"])
def test_a_setting_for_other_processes_without_any_is_said_to_have_no_effect(hakoiri: Hakoiri, option: str) -> None:
    """Rules with a kernel are worked on by threads. Nothing is refused: a later session may have workers."""
    name = option.split(maxsplit=1)[0].removeprefix("--")
    said = f"{name} has no effect: only this process makes chunks; leave out --{name}"
    assert said in hakoiri.here("run", "klotski", "--layers", "1", *option.split()).stderr
    assert "no effect" not in hakoiri.here("run", "klotski", "--layers", "1").stderr


@pytest.mark.ci_slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_child_is_left_after_any_end_of_the_parent(hakoiri: Hakoiri, tmp_path: Path, number: signal.Signals) -> None:
    """Even if one has stopped, once it has asked the system to end with its parent."""
    puzzle = file_of(tmp_path, SLOW_RULES.replace("20_000", "100_000"))
    run = hakoiri.start("run", puzzle, "--farm", "always", "--workers", "2", "--json")
    mine = children_of(run)
    assert all(os.getpgid(each.pid) != os.getpgid(run.pid) for each in mine)
    wait_until(lambda: worker_name(mine[0].pid) in expanders(hakoiri), what="a layer by the first")
    mine[0].suspend()
    run.send(number)
    ended = run.finish()
    assert "Traceback" not in ended.stderr
    assert not await_end(mine)


@pytest.mark.ci_slow
@pytest.mark.parametrize("whom", ["coordinator", "run"])
def test_no_child_is_left_after_a_kill_of_a_service_or_its_run(hakoiri: Hakoiri, puzzle: str, whom: str) -> None:
    """A run that a coordinator drives in a process of its own; another process goes on with it."""
    run = hakoiri.ask("enqueue", puzzle, "--farm", "always")["run"]
    service = ("coordinator", "--puzzle", puzzle, "--threads")
    coordinator = hakoiri.start(*service)
    mine = [*children_of(coordinator, len(usable_cores())), *coordinator.children()]
    if whom == "coordinator":
        coordinator.kill()
        coordinator = hakoiri.start(*service)
    else:
        driver = mine[0].parent()
        assert driver is not None
        driver.kill()
    assert not await_end(mine)
    wait_until(lambda: hakoiri.ask("status", run)["status"] == "complete")
    coordinator.send(signal.SIGTERM)
    coordinator.finish()
    assert hakoiri.ask("status", run)["configurations"] == 3_001


@pytest.mark.ci_slow
def test_a_child_starts_by_itself_once_work_is_slow(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """Of two cores, one is that of a thread, which works beside it."""
    puzzle = file_of(tmp_path, SLOW_RULES.replace("20_000", "100_000"))
    run = hakoiri.start("run", puzzle, "--workers", "2", "--json")
    mine = children_of(run, 1)
    wait_until(lambda: len(expanders(hakoiri)) == 2 or run.process.poll() is not None, what="a layer by both")
    assert expanders(hakoiri) == ["", worker_name(mine[0].pid)]
    run.send(signal.SIGINT)
    assert run.finish().code == 130
    assert not await_end(mine)


@pytest.mark.parametrize(
    ("more", "farm"), [("\n    remembers = True\n", "always"), ("", "auto")], ids=["remember", "short"]
)
def test_rules_that_remember_and_short_runs_have_no_children(
    hakoiri: Hakoiri, tmp_path: Path, more: str, farm: str
) -> None:
    text = SLOW_RULES.replace("20_000", "20") + more
    run = hakoiri("run", file_of(tmp_path, text), "--farm", farm, "--workers", "2", "--json")
    assert hakoiri.ask("status", "last")["work_log"] is None
    assert run.json["configurations"] == 3_001


@pytest.mark.ci_slow
def test_a_child_with_other_code_than_the_run_does_nothing(hakoiri: Hakoiri, tmp_path: Path) -> None:
    """A module beside the puzzle's file is edited when the child imports it."""
    edited = """\
import pathlib, sys
if "hakoiri.worker.child" in sys.orig_argv:
    pathlib.Path(__file__).with_name("beside.py").touch()
import beside
"""
    (tmp_path / "beside.py").touch()
    puzzle = file_of(tmp_path, edited + SLOW_RULES.replace("20_000", "20"))
    alone = hakoiri.ask("run", puzzle, "--farm", "never")
    ended = hakoiri("run", puzzle, "--farm", "always", "--workers", "2", "--json")
    assert ended.json["digest"] == alone["digest"]
    assert f"{tmp_path / 'beside.py'} has changed since the run was begun" in ended.stderr.replace("\n", " ")
    assert all(row["name"] is None for row in hakoiri.ask("status", "last")["work_log"]["expanders"])


@pytest.mark.parametrize(("name", "refused"), [("hakoiri.beside", True), ("beside", False)])
def test_a_parent_that_is_older_than_its_code_has_no_children(
    name: str, refused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A coordinator whose installation was upgraded: its own modules are those of its start, others of the run."""
    file = tmp_path / "beside.py"
    file.touch()
    module = ModuleType(name)
    module.__file__ = str(file)
    monkeypatch.setitem(sys.modules, name, module)
    changed = file.stat().st_ctime
    with pytest.raises(WorkerError, match="has changed since") if refused else nullcontext():
        _require_unchanged(time.time() + 1, changed - 1, len(sys.modules))
