"""The command line as processes, each ended whatever happens. Redis and workers are in `servers`."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

import psutil
import typer.main

from hakoiri.cli import main
from hakoiri.coordinator.session import resources
from hakoiri.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import State
from tests.support.forked import Forked
from tests.support.forking import SCARCE, fork_command

HAKOIRI = Path(sys.executable).with_name("hakoiri")
ROOT = Path(__file__).resolve().parents[2]
#: A configuration of a component of each of these sizes.
START_OF_2 = "AABC/AADC/E.DF/E.GH/IIGJ"
START_OF_201 = "AABC/AABD/EEFG/.HFI/JH.I"
START_OF_248 = "AABC/AABD/EEFD/..FG/HIJG"
#: How long a test waits in vain: many times what any of it takes on a machine that does much else.
PATIENCE_SECONDS = 240.0
#: From what to what a test waits before it looks again: a tenth of what it has waited already.
_LEAST_PAUSE, _MOST_PAUSE = 0.01, 0.05
_commands = cache(typer.main.get_command)
_Result = TypeVar("_Result")


def wait_until(predicate: Callable[[], _Result], seconds: float = PATIENCE_SECONDS, what: str = "") -> _Result:
    """The first true result of `predicate`, asked again and again; `AssertionError` when the time is over."""
    begun = time.monotonic()
    while not (result := predicate()):
        if (waited := time.monotonic() - begun) > seconds:
            raise AssertionError(f"waited {seconds:.0f} s in vain {f'for {what}' if what else ''}; last: {result!r}")
        time.sleep(max(_LEAST_PAUSE, min(waited / 10, _MOST_PAUSE)))
    return result


def clean_environment(**changes: str) -> dict[str, str]:
    """This process's environment without the user's own settings, and with `changes`."""
    own = ("HAKOIRI_DATA", "HAKOIRI_REDIS", "HAKOIRI_DATA_REDIS", "HAKOIRI_PUZZLE_FILES")
    dropped = (*own, "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTHONWARNINGS")
    return {name: value for name, value in os.environ.items() if name not in dropped} | changes


class Finished:
    """The result of a command: exit code (negative: the signal that ended it), stdout and stderr."""

    def __init__(self, arguments: list[str], code: int, stdout: str, stderr: str) -> None:
        self.arguments, self.code, self.stdout, self.stderr = arguments, code, stdout, stderr

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        lines = self.stdout.splitlines()
        assert len(lines) == 1, f"not one line on stdout: {self}"
        found = json.loads(lines[0])
        assert isinstance(found, dict), f"no object: {self}"
        return found

    @property
    def error(self) -> str:
        """The error line: the last on stderr, the only one that begins with the program's name."""
        lines = self.stderr.splitlines()
        ours = [line for line in lines if line.startswith("hakoiri: ")]
        assert len(ours) == 1 and lines[-1] == ours[0], f"not one error line at the end: {self}"
        assert "Traceback" not in self.stderr, self
        return ours[0]

    def __repr__(self) -> str:
        return f"hakoiri {' '.join(self.arguments)} -> {self.code}\nstdout: {self.stdout}\nstderr: {self.stderr}"


class Running:
    """A command at work, its output going to files."""

    def __init__(
        self, arguments: list[str], files: Path, env: dict[str, str], cwd: Path, executable: Path | None,
        before: Callable[[], object] | None,
    ) -> None:  # fmt: skip
        files.mkdir(parents=True)
        self.arguments, self._streams = arguments, (files / "stdout", files / "stderr")
        for stream in self._streams:
            stream.touch()
        if executable is None:
            assert env.get("PYTHONPATH") == os.environ.get("PYTHONPATH"), "too late for a process that is forked"
            self.process: Forked | subprocess.Popen[bytes] = fork_command(arguments, self._streams, env, cwd, before)
            return
        assert before is None, "only in a process that is forked from one of ours"
        with self._streams[0].open("wb") as stdout, self._streams[1].open("wb") as stderr:
            self.process = subprocess.Popen(
                [executable, *arguments], env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def stdout(self) -> str:
        """The output so far."""
        return self._streams[0].read_text(encoding="utf-8")

    @property
    def stderr(self) -> str:
        """The error output so far."""
        return self._streams[1].read_text(encoding="utf-8")

    def wait_for(self, text: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Return when `text` stands in its output; `AssertionError` if it ends or takes too long before."""

        def said() -> bool:
            ended = self.process.poll() is not None
            there = text in self.stdout + self.stderr
            assert there or not ended, f"ended without {text!r}: {self.finish()}"
            return there

        wait_until(said, seconds, f"{text!r} in {self.stdout + self.stderr!r}")

    def stands_still(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Return when it has stopped as SIGSTOP does; `AssertionError` if it ends or takes too long before."""

        def stopped() -> bool:
            assert self.process.poll() is None, self.finish()
            return bool(psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)

        wait_until(stopped, seconds, f"it to stand still: {self.arguments}")

    def send(self, number: int) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def kill(self) -> Finished:
        """SIGKILL, to it alone."""
        self.process.kill()
        return self.finish()

    def finish(self, seconds: float = PATIENCE_SECONDS) -> Finished:
        """Wait for its end."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still at work after {seconds} s: {self.arguments}\n{self.stderr}") from None
        return Finished(self.arguments, code, self.stdout, self.stderr)

    def children(self) -> list[psutil.Process]:
        """Its living descendants."""
        return [child for child in _descendants(self.pid) if _lives(child)]

    def end(self) -> None:
        """End it and its descendants, whatever they do."""
        family = self.children()
        if self.process.poll() is None:
            self.process.kill()
        for child in family:
            with suppress(psutil.NoSuchProcess):
                child.kill()
        self.process.wait()
        await_end(family)


class Hakoiri:
    """The command line with a data directory of its own: ``hakoiri("run", "klotski")`` waits, `start` does not.

    The data directory goes by HAKOIRI_DATA, as a user would have it; ``data=None`` names none.
    """

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self._directory = directory
        self._started: list[Running] = []

    def __call__(
        self, *arguments: str, data: Path | str | None = "", env: Mapping[str, str] | None = None, check: bool = True,
        seconds: float = PATIENCE_SECONDS, **options: Any,
    ) -> Finished:  # fmt: skip
        """Run a command to its end; with `check` its exit code must be 0. `options` are those of `start`."""
        finished = self.start(*arguments, data=data, env=env, **options).finish(seconds)
        assert finished.code == 0 or not check, finished
        return finished

    def json(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """The JSON of a command that must succeed."""
        return self(*arguments, "--json", **options).json

    def here(
        self, *arguments: str, data: Path | str | None = "", env: Mapping[str, str] | None = None, check: bool = True
    ) -> Finished:
        """The same in this process, for the many small questions: it saves half a second each."""
        stdout, stderr = StringIO(), StringIO()
        with (
            patch.object(sys, "argv", ["hakoiri", *arguments]),
            patch.dict(os.environ, self._environment(data, env), clear=True),
            patch.object(resources, "LEAST_MEMORY", SCARCE),
            # Typer makes all commands anew for every line: half the time of a small question.
            patch.object(typer.main, "get_command", _commands),
            redirect_stdout(stdout),
            redirect_stderr(stderr),
        ):
            code = 0
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
        finished = Finished(list(arguments), code, stdout.getvalue(), stderr.getvalue())
        assert finished.code == 0 or not check, finished
        return finished

    def ask(self, *arguments: str, **options: Any) -> dict[str, Any]:
        """The JSON of a command that must succeed, in this process."""
        return self.here(*arguments, "--json", **options).json

    def start(
        self, *arguments: str, data: Path | str | None = "", env: Mapping[str, str] | None = None, cwd: Path = ROOT,
        executable: Path | None = None, before: Callable[[], object] | None = None,
    ) -> Running:  # fmt: skip
        """Start a command in a forked process, which calls `before` first; or, as a user does, an `executable`."""
        files = self._directory / "output" / str(len(self._started))
        running = Running(list(arguments), files, self._environment(data, env), cwd, executable, before)
        self._started.append(running)
        return running

    def _environment(self, data: Path | str | None, env: Mapping[str, str] | None) -> dict[str, str]:
        where = self.data if data == "" else data
        return clean_environment(**dict(env or {}) | ({"HAKOIRI_DATA": str(where)} if where is not None else {}))

    def run_directory(self) -> Path:
        """The directory of the only run."""
        (directory,) = (entry for entry in self.data.iterdir() if not entry.name.startswith("."))
        return directory

    def state(self) -> State:
        """The only run's last commit, read beside whoever drives it; an empty state before there is a run."""
        try:
            with Ledger(self.run_directory()) as ledger:
                return ledger.state
        except (ValueError, FileNotFoundError, StorageError):
            return State()

    def close(self) -> None:
        """End everything that is still at work."""
        for running in self._started:
            running.end()


@dataclass(frozen=True)
class FinishedRuns:
    """Two undisturbed runs to ask and to compare with; nobody may change them.

    `explored` and `counted` are the JSON of `run klotski` and of `run klotski --whole`, the latter made last.
    """

    hakoiri: Hakoiri
    explored: dict[str, Any]
    counted: dict[str, Any]

    def copy(self, which: dict[str, Any], data: Path, name: str = "") -> Path:
        """A copy of one of the two for a test to damage, in another data directory, by its own or another name."""
        return Path(shutil.copytree(self.hakoiri.data / which["run"], data / (name or which["run"])))

    def digests(self) -> list[str]:
        """The digests of the layers of the exploration."""
        return [layer["digest"] for layer in self.hakoiri.ask("layers", self.explored["run"])["layers"]]


def _descendants(pid: int) -> list[psutil.Process]:
    """The processes that a process has started, and theirs. `psutil` would look at all that the machine has."""
    found = list[psutil.Process]()
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):
            for child in map(int, listed.read_text(encoding="ascii").split()):
                with suppress(psutil.NoSuchProcess):
                    found.append(psutil.Process(child))
                found += _descendants(child)
    return found


def await_end(processes: Sequence[psutil.Process], seconds: float = PATIENCE_SECONDS) -> list[psutil.Process]:
    """Return the processes that still run after so many seconds. A zombie has ended."""
    with suppress(AssertionError):
        wait_until(lambda: not any(map(_lives, processes)), seconds)
    return [process for process in processes if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False
