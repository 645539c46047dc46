"""Commands of Hakoiri as processes of their own: what they answer, and what they cost, over any interruption."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from campaigns.tables.entries import PYTHON, TO_FILE, answer_of

#: Where what a command has cost so far is written down, and its answer.
_SPENT, _ANSWER = "spent.json", "answer.json"
HAKOIRI = (sys.executable, "-m", "hakoiri")
#: Commands that know no runs.
_WITHOUT_DATA = {"deal", "generate", "replay", "show", "solve", "study magic-star", "study nakuron"}
#: How often a process is looked at, in seconds, and how often what it costs is written down.
_LOOK, _NOTE = 0.1, 5.0


class StoppedError(Exception):
    """The time is up; the next call goes on."""


class FailedError(Exception):
    """A command said that it could not: its message."""


@dataclass(frozen=True)
class Cost:
    """The cost of processes: clock and processor time, peaks of memory and disk, and the number that was killed.

    `None` is not known.
    """

    seconds: float = 0
    cpu_seconds: float | None = 0
    peak_bytes: int | None = 0
    disk_bytes: int = 0
    kills: int = 0

    def and_then(self, other: "Cost") -> "Cost":
        """Of one after the other."""
        assert self.cpu_seconds is not None and other.cpu_seconds is not None
        assert self.peak_bytes is not None and other.peak_bytes is not None
        return Cost(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_bytes, other.peak_bytes),
            max(self.disk_bytes, other.disk_bytes),
            self.kills + other.kills,
        )


class Desk:
    """A data directory for the commands of one entry, and notes of what one of them answers and costs, in a folder.

    A command whose answer is there is not given again. When it is `late`, whatever runs is stopped, so that it can be
    gone on with; `memory` is what each may take.
    """

    def __init__(
        self,
        folder: Path,
        data: Path | None = None,
        memory: str | None = None,
        late: Callable[[], bool] = lambda: False,
        program: Sequence[str] = HAKOIRI,
    ) -> None:
        self.folder, self.data, self._memory, self._late = folder, data or folder / "data", memory, late
        self._program = program
        folder.mkdir(parents=True, exist_ok=True)
        self.data.mkdir(parents=True, exist_ok=True)

    def beside(self, name: str) -> "Desk":
        """One for another command about the same data directory."""
        return Desk(self.folder / name, self.data, self._memory, self._late, self._program)

    @property
    def spent(self) -> Cost:
        """Return the cost of the command so far."""
        with suppress(FileNotFoundError):
            return Cost(**json.loads((self.folder / _SPENT).read_text(encoding="utf-8")))
        return Cost()

    def answer(self, line: Sequence[str], kills: Sequence[int] = ()) -> Any:
        """Return the answer of a command line; raise `StoppedError` or `FailedError`.

        For each of `kills`, a number of bytes, its process is killed when so much lies on the disk, and gone on with.
        """
        target = self.folder / _ANSWER
        while not target.exists():
            # Each call of `run` makes another run; all others continue theirs.
            begun = line[0] == "run" and any(self.data.iterdir())
            ahead = kills[self.spent.kills :]
            self._process(["resume", "last"] if begun else line, target, ahead[0] if ahead else None)
        return answer_of(target.read_text(encoding="utf-8"))

    def _process(self, line: Sequence[str], target: Path, fatal: int | None) -> None:
        """Run a command; if it comes to its end, `target` has its answer."""
        command = self._command(line)
        part, said = target.with_suffix(".part"), self.folder / "stderr.txt"
        with part.open("wb") as out, said.open("wb") as err:
            process = subprocess.Popen(command, stdout=out, stderr=err)
            try:
                killed = self._watch(process, fatal)
            except BaseException:
                process.terminate()
                process.wait()
                raise
        if process.returncode == 0:
            if TO_FILE in line:
                part.replace(self.folder.parent / line[-1])
                part.write_text("{}", encoding="utf-8")
            part.replace(target)
        elif not killed:
            if self._late():
                raise StoppedError(" ".join(line))
            told = said.read_text(encoding="utf-8").strip().splitlines()
            raise FailedError(f"{' '.join(line)}: exit code {process.returncode}: {' '.join(told[-2:])}")

    def _command(self, line: Sequence[str]) -> list[str]:
        """Return the command to run; names of what an earlier line has left become paths to it."""
        if line[0] == PYTHON:
            return [sys.executable, *line[1:]]
        if TO_FILE in line:
            return [*self._program, *line[: line.index(TO_FILE)]]
        left = self.folder.parent
        words = [str(left / word) if (left / word).is_file() else word for word in line]
        if _WITHOUT_DATA & {line[0], " ".join(line[:2])}:
            return [*self._program, *words, "--json"]
        memory = ("--memory", self._memory) if self._memory else ()
        return [*self._program, *words, "--json", "--data", str(self.data), *memory]

    def _watch(self, process: subprocess.Popen[bytes], fatal: int | None) -> bool:
        """Note what it costs until it is over; whether it was killed because so much lay on the disk.

        When it is late it is asked to stop.
        """
        before, began, disk, noted, stopped, killed = self.spent, time.monotonic(), 0, 0.0, False, False
        waiting = os.pidfd_open(process.pid)
        while not select.select([waiting], [], [], _LOOK)[0]:
            now, disk = time.monotonic(), max(disk, bytes_in(self.data))
            if fatal is not None and disk > fatal:
                process.kill()
                killed = True
            elif not stopped and self._late():
                process.terminate()
                stopped = True
            if now > noted + _NOTE:
                noted, used = now, sum(psutil.Process(process.pid).cpu_times()[:2])
                # How much memory it took is told when it ends.
                self._note(before.and_then(Cost(now - began, used, 0, disk)))
        os.close(waiting)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        used, disk = usage.ru_utime + usage.ru_stime, max(disk, bytes_in(self.data))
        self._note(before.and_then(Cost(time.monotonic() - began, used, usage.ru_maxrss * 1024, disk, int(killed))))
        return killed

    def _note(self, spent: Cost) -> None:
        part = self.folder / f"{_SPENT}.part"
        part.write_text(json.dumps(asdict(spent)), encoding="utf-8")
        part.replace(self.folder / _SPENT)


def bytes_in(folder: Path) -> int:
    """Return the bytes on disk of the files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512  # noqa: PTH118  (ten times a second)
    return total
