"""Puzzles of users that end their process: the user is told, no exit code says success, no service ends with them."""

import signal
from pathlib import Path

import pytest

from campaigns.mayhem import poisonous
from tests.support.commands import HAKOIRI, Finished, Hakoiri, wait_until
from tests.support.process_setup import be_the_program

#: The puzzles of the campaign, and some that say when they have come to the harmful rule.
POISON = f"""{Path(poisonous.__file__).read_text(encoding="utf-8")}

import itertools, time

if os.environ.get("POISON_AT_IMPORT"):
    os._exit(0)

class Telling(Harmless):
    def act(self):
        open(os.environ["POISON_WAITS"], "w").close()
        self.wait()

class Waits(Telling):
    def wait(self):
        time.sleep(0.3)

class Spins(Telling):
    def wait(self):
        while True:
            pass

class InC(Telling):
    def wait(self):
        sum(itertools.repeat(0))
"""


@pytest.fixture
def poison(tmp_path: Path) -> Path:
    """The file of these puzzles."""
    (tmp_path / "poison.py").write_text(POISON, encoding="utf-8")
    return tmp_path / "poison.py"


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("name", "said", "code", "again"),
    [
        pytest.param("Leaves", "ended with exit code 0", 1, True, marks=pytest.mark.ci_slow),
        ("Crashes", "ended by SIGSEGV", 128 + signal.SIGSEGV, False),
        pytest.param("Exits", "SystemExit: 0", 1, False, marks=pytest.mark.ci_slow),
        ("Raises", "_OddError", 1, False),
        pytest.param("Crashes", "ended by SIGSEGV", 128 + signal.SIGSEGV, True, marks=pytest.mark.slow),
        pytest.param("Exits", "SystemExit: 0", 1, True, marks=pytest.mark.slow),
        pytest.param("Raises", "_OddError", 1, True, marks=pytest.mark.slow),
    ],
)
def test_a_puzzle_that_ends_its_process_is_told(
    name: str, said: str, code: int, again: bool, poison: Path, hakoiri: Hakoiri
) -> None:
    """And `again` when its run is resumed."""
    ended = hakoiri("run", f"{poison}:{name}", "--json", before=be_the_program, check=False)
    assert (ended.code, ended.stdout) == (code, "")
    assert said in ended.error
    assert hakoiri.state().status in ("running", "failed")
    if again:
        resumed = hakoiri("resume", "last", "--json", before=be_the_program, check=False)
        assert (resumed.code, resumed.stdout) == (code, "")
        assert said in resumed.error


@pytest.mark.ci_slow
@pytest.mark.parametrize(
    ("name", "how"),
    [("Leaves", "with exit code 0"), pytest.param("Crashes", "by SIGSEGV", marks=pytest.mark.slow)],
)
def test_no_service_ends_with_a_puzzle_and_a_good_run_is_not_kept_waiting(
    name: str, how: str, poison: Path, hakoiri: Hakoiri
) -> None:
    bad, good = (hakoiri.json("enqueue", f"{poison}:{puzzle}")["run"] for puzzle in (name, "Harmless"))

    def serve() -> Finished:
        files = {"HAKOIRI_PUZZLE_FILES": str(poison)}
        return hakoiri("coordinator", "--threads", "--burst", "--json", env=files)

    # However many sessions commit some work before their end.
    assert serve().json["runs"] == [{"run": good, "status": "complete"}, {"run": bad, "status": "failed"}]
    state = hakoiri.ask("status", bad)
    assert (state["status"], hakoiri.ask("status", good)["status"]) == ("failed", "complete")
    reason = f"the process of the run ended {how} before its work was done, twice in a row"
    assert state["reason"].startswith(reason)
    assert f"hakoiri resume {bad}" in state["reason"]
    assert serve().json["runs"] == []


@pytest.mark.ci_slow
def test_a_puzzle_that_asks_for_too_much_memory_is_told_in_a_line(poison: Path, hakoiri: Hakoiri) -> None:
    hakoiri.json("enqueue", f"{poison}:Greedy")
    served = hakoiri("coordinator", "--threads", "--burst", env={"HAKOIRI_PUZZLE_FILES": str(poison)})
    assert "Traceback" not in served.stderr
    assert "MemoryError" in served.stderr
    assert hakoiri.state().status == "interrupted"


@pytest.mark.ci_slow
def test_a_run_of_a_user_that_never_answers_is_cancelled_from_elsewhere(
    poison: Path, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    waits = {"POISON_WAITS": str(tmp_path / "waits")}
    running = hakoiri.start("run", f"{poison}:Spins", env=waits, before=be_the_program)
    wait_until((tmp_path / "waits").exists, what="the puzzle to loop")
    hakoiri.here("cancel", "last")
    ended = running.finish()
    assert (ended.code, "cancelled on request" in ended.stderr) == (1, True), ended
    assert hakoiri.state().status == "cancelled"


@pytest.mark.ci_slow
def test_a_file_that_ends_its_process_is_told(poison: Path, hakoiri: Hakoiri) -> None:
    ended = hakoiri("run", f"{poison}:Harmless", env={"POISON_AT_IMPORT": "1"}, executable=HAKOIRI, check=False)
    assert (ended.code, ended.stdout) == (1, "")
    assert "ended with exit code 0" in ended.error


@pytest.mark.ci_slow
@pytest.mark.parametrize(("name", "in_time"), [("Spins", True), pytest.param("InC", False, marks=pytest.mark.slow)])
def test_a_run_that_never_answers_is_cancelled(
    name: str, in_time: bool, poison: Path, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    """The run behind it is driven then. A loop in C is killed after 30 seconds."""
    files = {"HAKOIRI_PUZZLE_FILES": str(poison), "POISON_WAITS": str(tmp_path / "waits")}
    first, second = (hakoiri.json("enqueue", f"{poison}:{puzzle}")["run"] for puzzle in (name, "Harmless"))
    service = hakoiri.start("coordinator", "--threads", env=files)
    wait_until((tmp_path / "waits").exists, what="it to be driven")
    cancelled = hakoiri.here("cancel", first, check=False)
    assert (cancelled.code == 0) == in_time, cancelled
    wait_until(lambda: hakoiri.ask("status", second)["status"] == "complete", what="the other one")
    service.send(signal.SIGTERM)
    assert service.finish().code == 0
    if not in_time:
        hakoiri.here("cancel", first)
    assert hakoiri.ask("status", first)["status"] == "cancelled"
