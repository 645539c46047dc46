"""A run directory that somebody else has made: no link in it is followed, and no number in it is sent a signal."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hakoiri.errors import DamagedError
from hakoiri.keys.layout import U32
from hakoiri.storage.engine.files import open_inside
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.spill import NO_FILES, Spill, SpillFiles
from hakoiri.storage.ledger.lock import holder_of, interrupt_holder
from hakoiri.storage.names import CREATED_FILE, HOLDER_FILE, QUEUED_FILE, SPILL_FOLDER, created_at
from tests.support.commands import PATIENCE_SECONDS, START_OF_2, Hakoiri

PRECIOUS = "all that I have\n"
#: What a name in a run's directory may be instead of a file.
Make = Callable[[Path, Path], None]
STRANGE: dict[str, Make] = {
    "link": lambda name, target: name.symlink_to(target),
    "hard link": lambda name, target: name.hardlink_to(target),
    "link to nothing": lambda name, target: name.symlink_to(target.with_name("nothing")),
    "link to a folder": lambda name, target: name.symlink_to(target.parent),
    "pipe": lambda name, _: os.mkfifo(name),
    "folder": lambda name, _: name.mkdir(),
}
NAMES = (HOLDER_FILE, QUEUED_FILE, CREATED_FILE, "data.mdb", "lock.mdb", SPILL_FOLDER, "scratch-1")
COMMANDS = ("status {}", "verify {}", "resume {} --repair", "cancel {}", "delete {} --yes")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A file of the user's own, in a folder with another."""
    (tmp_path / "home").mkdir()
    for name in ("precious", "other"):
        (tmp_path / "home" / name).write_text(PRECIOUS, encoding="ascii")
    return tmp_path / "home" / "precious"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a run of two configurations."""
    command = Hakoiri(tmp_path_factory.mktemp("small"))
    command.ask("run", "klotski", "--from", START_OF_2)
    return command.run_directory()


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_outside_a_run_is_touched(name: str, kind: str, precious: Path, hakoiri: Hakoiri, small: Path) -> None:
    """Whatever is asked of a run in the directory of which one name is something else."""
    hakoiri.data.mkdir()
    run = shutil.copytree(small, hakoiri.data / "given")
    with suppress(FileNotFoundError):
        (run / name).unlink()
    STRANGE[kind](run / name, precious)
    before = precious.stat().st_mtime_ns
    for command in COMMANDS:
        hakoiri.here(*command.format("given").split(), check=False)
        assert [file.read_text(encoding="ascii") for file in sorted(precious.parent.iterdir())] == [PRECIOUS] * 2
    assert precious.stat().st_mtime_ns == before


def test_spill_files_behind_a_link_are_neither_written_nor_removed(tmp_path: Path, precious: Path) -> None:
    """A stopped long layer takes its files up again, and removes the others in their folder."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / SPILL_FOLDER).symlink_to(precious.parent)
    spill, keys = Spill(tmp_path / "run", U32, 3), np.arange(9, dtype=np.uint32)
    for use in (
        lambda: spill.restore(NO_FILES),
        lambda: spill.restore(SpillFiles(2, {"0": 9}, {"0": 9})),
        lambda: spill.append(0, code_keys(3, keys)),
    ):
        with pytest.raises(DamagedError, match="plain folder"):
            use()
    spill.clear()
    assert sorted(file.name for file in precious.parent.iterdir()) == ["other", "precious"]


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("name", ["file", "folder/file"])
@pytest.mark.parametrize("mode", ["r", "a+", "w", "r+b"])
def test_only_plain_files_of_the_directory_are_opened(
    mode: str, name: str, kind: str, tmp_path: Path, precious: Path
) -> None:
    (tmp_path / "run" / "folder").mkdir(parents=True)
    STRANGE[kind](tmp_path / "run" / name, precious)
    if (mode, kind) == ("r", "hard link"):
        with open_inside(tmp_path / "run", name, mode) as file:
            assert file.read() == PRECIOUS
        return
    with pytest.raises((DamagedError, IsADirectoryError)):
        open_inside(tmp_path / "run", name, mode)
    assert precious.read_text(encoding="ascii") == PRECIOUS
    assert not (precious.parent / "nothing").exists()


@pytest.mark.parametrize("text", ["9" * 5_000, "-5", "1e9", "", "\x00"])
def test_a_time_of_making_that_makes_no_sense_is_none(text: str, tmp_path: Path) -> None:
    (tmp_path / CREATED_FILE).write_text(text, encoding="ascii")
    assert created_at(tmp_path) == 0


# Signals


@pytest.mark.parametrize("number", [-1, 0, 1, True, 2**31, 2**70, 1.5, "1", None, [], {}])
def test_no_signal_goes_to_a_number_that_is_no_process(
    number: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(os, "kill", lambda *given: sent.append(given))
    monkeypatch.setattr(signal, "pidfd_send_signal", lambda *given: sent.append(given))
    with held(tmp_path, number):
        assert holder_of(tmp_path) is not None
        interrupt_holder(tmp_path)
    assert sent == []


class held:  # noqa: N801
    """While the block runs somebody holds a lock, and names a process of this user that has nothing to do with it."""

    def __init__(self, directory: Path, number: object) -> None:
        self._file = (directory / HOLDER_FILE).open("w+", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        json.dump({"pid": number}, self._file)
        self._file.flush()

    def __enter__(self) -> "held":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


_ANSWERING = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print(flush=True)
raise SystemExit(signal.sigwait({signal.SIGINT}))
"""


def test_only_who_has_the_lock_file_open_is_interrupted(tmp_path: Path) -> None:
    # Where tests run in the background SIGINT may be ignored, which programs inherit.
    program = ["env", "--default-signal=INT", sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(program, **pipes) as bystander, held(tmp_path, bystander.pid):
        assert bystander.stdout and bystander.stdin
        bystander.stdout.readline()
        interrupt_holder(tmp_path)
        # It would have been there before what is written now.
        bystander.stdin.close()
        assert bystander.wait(PATIENCE_SECONDS) == 0
    # Blocked until it is waited for: one that came just before a read would not end that.
    program = [sys.executable, "-c", _ANSWERING]
    with held(tmp_path, 0) as lock, subprocess.Popen(program, **pipes, pass_fds=[lock._file.fileno()]) as answering:
        assert answering.stdout is not None
        answering.stdout.readline()
        lock._file.seek(0)
        json.dump({"pid": answering.pid}, lock._file)
        lock._file.truncate()
        lock._file.flush()
        interrupt_holder(tmp_path)
        assert answering.wait(PATIENCE_SECONDS) == signal.SIGINT


# Names that hold markup
