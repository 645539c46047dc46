"""Services of a soak: each on a small disk, with the runs that it is to drive and the memory that it takes."""

import os
import re
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random

import numpy as np
import psutil

from campaigns.mayhem import poisonous
from campaigns.mayhem.trials import ImpossibleError, Outcome
from campaigns.mayhem.works import OWN_FILE, Undisturbed, Work, by_workers, differences, findings
from hakoiri.coordinator.runs import drive
from hakoiri.errors import StorageError
from hakoiri.puzzles.user.files import FILES
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.ledger.manifest import ENDED
from hakoiri.storage.names import SERVED_FILE
from tests.support.commands import HAKOIRI, Hakoiri, Running
from tests.support.disks import mounted_disk

_DISK_BYTES = 200_000_000
_BALLAST = ".ballast"
#: A poisonous run is cancelled after so long at most; the service tries each again every 30 seconds.
_MOST_POISON_SECONDS = 150.0
#: kB of memory that no file backs; a page that N processes share counts as a part in N.
_ANONYMOUS = re.compile(r"Pss_Anon: +(\d+) kB")
POISON_FILE = Path(poisonous.__file__)
#: The puzzles of that file which may be run without a limit of memory.
POISONS = ("Leaves", "Exits", "Raises", "Crashes", "Aborts", "Killed", "Greedy", "Endless")


class Service:
    """A command on a disk of its own, where its log is written, too."""

    def __init__(self, name: str, place: Path, line: tuple[str, ...], env: dict[str, str], ended: ExitStack) -> None:
        self.name, self.place, self.hakoiri = name, place, Hakoiri(place)
        place.mkdir(parents=True)
        if refused := ended.enter_context(mounted_disk("tmpfs", place, _DISK_BYTES)):
            raise ImpossibleError(f"mount is refused here: {refused}")
        self.hakoiri.data.mkdir()
        files = {FILES: f"{OWN_FILE}:{POISON_FILE}"}
        self.process: Running = self.hakoiri.start(*line, env=env | files, executable=HAKOIRI)
        ended.callback(self.hakoiri.close)

    @property
    def lives(self) -> bool:
        return self.process.process.poll() is None

    @property
    def megabytes(self) -> float:
        """Return the MB of its memory and that of its children; shared pages count once."""
        return megabytes(self.process.pid)

    def fill_disk(self, seconds: float) -> None:
        """Keep the disk full for so many seconds."""
        ballast, usage = self.place / _BALLAST, os.statvfs(self.place)
        with ballast.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, usage.f_bavail * usage.f_frsize))
        time.sleep(seconds)
        ballast.unlink()


class Driver(Service):
    """A service that drives the queued runs of its data directory: good ones, and now and then a poisonous one."""

    def __init__(
        self, name: str, place: Path, line: tuple[str, ...], env: dict[str, str], ended: ExitStack, farms: bool
    ) -> None:
        super().__init__(name, place, line, env, ended)
        self._farms = farms
        self.waiting: dict[str, Work] = {}
        #: By the names of poisonous runs: when they are cancelled.
        self.poisoned: dict[str, float] = {}
        self._over = set[str]()

    def queue(self, work: Work) -> None:
        """Queue a good run; none if its disk is full."""
        queued = self.hakoiri.here(*by_workers(work, bool(self._farms)).queue, "--json", check=False)
        if queued.code == 0:
            self.waiting[queued.json["run"]] = work

    def poison(self, chance: Random) -> str:
        """Queue a poisonous run if it has none; return the name of the puzzle, empty if it has one."""
        name = chance.choice(POISONS)
        farmed = ("--whole", "--chunk", "1", "--farm", "1") if self._farms else ()
        line = ("enqueue", f"{POISON_FILE}:{name}", *farmed, "--json")
        if self.poisoned or (queued := self.hakoiri.here(*line, check=False)).code:
            return ""
        # One that never answers keeps the good runs waiting until it is cancelled.
        most = _MOST_POISON_SECONDS / (10 if name == "Endless" else 1)
        self.poisoned[queued.json["run"]] = time.monotonic() + chance.uniform(0, most)
        return name

    def settle(self, expected: Undisturbed, outcome: Outcome) -> None:
        """Compare good runs that are complete with undisturbed ones, cancel poisonous ones; delete what has ended."""
        for run, work in [*self.waiting.items()]:
            status, reason = self._status(run)
            if status == "failed":
                outcome.faults.append(f"{self.name}: {work.name} failed: {reason}")
            if status == "complete":
                found = differences(expected.of(work)[0], findings(self.hakoiri.data / run))
                outcome.faults += [f"{self.name}: {work.name}: {each}" for each in found]
                outcome.figures["runs"] += 1
            if status in ("failed", "complete"):
                self._over.add(run)
                del self.waiting[run]
        for run, until in [*self.poisoned.items()]:
            status, _ = self._status(run)
            if status == "complete":
                outcome.faults.append(f"{self.name}: a poisonous run is complete")
            if status in ENDED:
                outcome.figures["poisons"] += 1
                self._over.add(run)
                del self.poisoned[run]
            elif time.monotonic() > until:
                self.hakoiri.here("cancel", run, check=False)
        # Another process may hold one for a moment, or the disk be full.
        self._over = {run for run in self._over if self.hakoiri.here("delete", run, "--yes", check=False).code}

    @property
    def rests(self) -> bool:
        """True if all runs are deleted and no process that was started for one is left.

        Such a process may still start when its run is cancelled and deleted. It takes more than 100 MB.
        """
        return not (self.waiting or self.poisoned or self._over or self._drives_apart)

    @property
    def _drives_apart(self) -> bool:
        return any(drive.__name__ in command_line(child) for child in self.process.children())

    def give_up_poisonous(self) -> None:
        """Let the next `settle` cancel all poisonous runs."""
        self.poisoned = dict.fromkeys(self.poisoned, 0.0)

    def left_behind(self) -> list[str]:
        """Return the entries of the data directory except marks of services; none if all runs are deleted."""
        return sorted(entry.name for entry in self.hakoiri.data.iterdir() if not entry.name.startswith(SERVED_FILE))

    def _status(self, run: str) -> tuple[str, str]:
        """Return the status of a run and its reason; both are empty if the run cannot be read."""
        with suppress(FileNotFoundError, StorageError), Ledger(self.hakoiri.data / run) as ledger:
            return ledger.state.status, ledger.state.reason
        return "", ""


class Memory:
    """Memory of processes over time, measured when they are idle."""

    def __init__(self) -> None:
        self._seen: dict[str, list[tuple[float, float]]] = {}

    def note(self, name: str, taken: float) -> None:
        """Record that `name` takes so many MB now."""
        self._seen.setdefault(name, []).append((time.monotonic(), taken))

    def figures(self) -> dict[str, float]:
        """Return for each process its first and last memory, and its growth per hour over all measurements."""
        found: dict[str, float] = {}
        for name, seen in self._seen.items():
            hours, taken = np.array(seen).T / ((3600.0,), (1.0,))
            slope = float(np.polyfit(hours - hours[0], taken, 1)[0]) if len(seen) > 1 else 0.0
            found |= {f"{name} early": seen[0][1], name: seen[-1][1], f"{name} growth": slope}
        return {name: round(figure, 1) for name, figure in found.items()}


def megabytes(process: int) -> float:
    """Return the MB of a process and its children, without mapped files; shared pages count once."""
    taken = 0
    with suppress(psutil.NoSuchProcess):
        family = psutil.Process(process)
        for each in (family, *family.children(recursive=True)):
            with suppress(OSError):  # It has ended.
                rollup = Path(f"/proc/{each.pid}/smaps_rollup").read_text(encoding="ascii")
                taken += sum(map(int, _ANONYMOUS.findall(rollup)))
    return taken / 1024


def command_line(process: psutil.Process) -> list[str]:
    """Return the command line of a process; empty if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []
