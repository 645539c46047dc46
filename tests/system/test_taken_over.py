"""A process that stands still while its lock is removed and another drives its run: it writes nothing, and says so."""

import signal
from pathlib import Path

import pytest

from hakoiri.coordinator.runs.service import serve
from hakoiri.coordinator.session.resources import Resources
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import Hint, TakenOverError
from hakoiri.keys.layout import U32
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.spill import Spill
from hakoiri.storage.ledger.lock import RunLock
from hakoiri.storage.ledger.manifest import Progress
from hakoiri.storage.names import DATA_FILE, HOLDER_FILE, SPILL_FOLDER
from tests.support.commands import FinishedRuns, Hakoiri
from tests.support.process_setup import be_starved, stand_still
from tests.support.refusals import refused


def stand_still_starved() -> None:
    """Stop as SIGSTOP does in the midst of a layer, of which something lies in spill files."""
    be_starved()
    stand_still(30, "expanded")


def test_the_one_that_lost_its_run_is_told_and_writes_nothing(hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    first = hakoiri.start("run", "klotski", "--memory", "1MB", "--chunk", "100", "--farm", "1",
                          before=stand_still_starved)  # fmt: skip
    first.stands_still()
    directory = hakoiri.run_directory()
    (directory / HOLDER_FILE).unlink()
    second = hakoiri.here("resume", directory.name)
    left = (directory / DATA_FILE).read_bytes()
    first.send(signal.SIGCONT)
    lost = first.finish()
    assert (second.code, lost.code) == (0, 1)
    assert f"run {directory.name} was taken over by another process while this one was stopped" in lost.error
    assert f"hakoiri status {directory.name}" in lost.error
    assert "hakoiri resume" not in lost.error
    assert (directory / DATA_FILE).read_bytes() == left
    assert not list(directory.glob(f"{SPILL_FOLDER}/*"))
    assert hakoiri.ask("status", directory.name)["digest"] == finished.explored["digest"]


def test_spill_files_are_written_by_the_holder_alone(tmp_path: Path) -> None:
    """No transaction guards these."""
    run = tmp_path / "a-run"
    run.mkdir()
    spill, keys = Spill(run, U32, 3), code_keys(3, U32.pack([1, 2]))
    with RunLock(run):
        spill.append(0, keys)
        (run / HOLDER_FILE).unlink()
        with refused(TakenOverError, "was taken over by another process", Hint("status", "a-run")):
            spill.append(0, keys)
        (run / HOLDER_FILE).touch()
        with pytest.raises(TakenOverError):
            spill.append(0, keys)
    assert [path.stat().st_size for path in (run / SPILL_FOLDER).iterdir()] == [spill.stored_bytes]


class Removing(SilentObserver):
    """Removes the lock of a run that has begun, as somebody would who means to drive it himself."""

    def __init__(self, directory: Path) -> None:
        self._lock = directory / HOLDER_FILE

    def progress(self, progress: Progress) -> None:
        self._lock.unlink(missing_ok=True)


def test_a_coordinator_leaves_a_run_that_it_has_lost(hakoiri: Hakoiri) -> None:
    directory = hakoiri.data / hakoiri.ask("study", "sizes", "hanoi", "--sizes", "2..3", "--queue")["run"]
    said: list[tuple[str, Hint]] = []
    ends = serve(hakoiri.data, Resources(workers=1), None, Control(), lambda: Removing(directory),
                 lambda *words: said.append(words), burst=True)  # fmt: skip
    assert ends == []
    assert "was taken over by another process" in said[-1][0]
    assert said[-1][1:] == (Hint("status", directory.name),)
