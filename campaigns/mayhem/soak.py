"""A soak: services that drive one run after another for a long time, under a random mixture of harms."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from typing import ClassVar

import psutil

from campaigns.mayhem.grammar import stream
from campaigns.mayhem.scene import AUTO, pause
from campaigns.mayhem.trials import ImpossibleError, Measure, Outcome, Part, Trial
from campaigns.mayhem.web import mistakes
from campaigns.mayhem.works import OWN_FILE, WORKS, Work, differences, findings, undisturbed_in
from hakoiri.puzzles.user.files import FILES
from hakoiri.storage.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from tests.system.helpers import HAKOIRI, Hakoiri, wait_until
from tests.system.servers import RedisServer
from tests.system.web_servers import ADDRESS, ENVIRONMENT, Server

#: Whose processes need nothing done to them first, and which begin with an empty data directory.
_WORKS = [work for work in WORKS.values() if not (work.before or work.base)]
_DISK_BYTES = 200_000_000
_MOST_WAITING, _MOST_PAUSE_SECONDS, _REST_SECONDS = 3, 2.0, 600.0
#: Memory is flat if it is no more than so many times, and so many MB more than, what it was at a tenth of the time.
_FLAT_TIMES, _FLAT_MB = 1.25, 20.0


class Service:
    """A command that drives what is queued in a data directory of its own, and the good runs that it is to drive."""

    def __init__(self, name: str, place: Path, line: tuple[str, ...], env: dict[str, str], ended: ExitStack) -> None:
        self.name, self.hakoiri = name, Hakoiri(place)
        self.waiting: dict[str, Work] = {}
        _mount(self.hakoiri.data, ended)
        self.process = self.hakoiri.start(*line, env=env | {FILES: str(OWN_FILE)}, executable=HAKOIRI)
        ended.callback(self.hakoiri.close)

    @property
    def megabytes(self) -> float:
        """What its process has in memory now."""
        with suppress(psutil.NoSuchProcess):
            return float(psutil.Process(self.process.pid).memory_info().rss / (1 << 20))
        return 0.0

    def queue(self, work: Work, *farmed: str) -> None:
        """Have it drive a good run; none where its disk is full just then."""
        queued = self.hakoiri.here(*work.queue, *farmed, "--json", check=False)
        if queued.code == 0:
            self.waiting[queued.json["run"]] = work

    def status(self, run: str) -> tuple[str, str]:
        """The status of a run, and why."""
        with suppress(FileNotFoundError, StorageError), Ledger(self.hakoiri.data / run) as ledger:
            return ledger.state.status, ledger.state.reason
        return "", ""


def _mount(data: Path, ended: ExitStack) -> None:
    """A small disk as a data directory."""
    data.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", data], check=False, capture_output=True
    )
    if made.returncode:
        raise ImpossibleError(f"mount is refused here: {made.stderr.decode().strip()}")
    ended.callback(lambda: subprocess.run(["umount", "--lazy", data], check=True))


class Mixture:
    """A server on the web by threads, and a coordinator with a Redis and a host of workers; and what befalls them."""

    def __init__(self, place: Path, chance: Random, outcome: Outcome, ended: ExitStack) -> None:
        self._place, self._chance, self._outcome = place, chance, outcome
        self._expected = undisturbed_in(place / "undisturbed")
        self._redis = RedisServer(place / "redis", appendonly=True)
        ended.callback(self._redis.close)
        url = {"HAKOIRI_REDIS": self._redis.url}
        self._workers = Hakoiri(place / "workers")
        ended.callback(self._workers.close)
        self._host = self._workers.start(
            "worker", "-n", "2", env=url | AUTO | {FILES: str(OWN_FILE)}, executable=HAKOIRI
        )
        self.serve = Service("serve", place / "serve", ("serve", *ADDRESS), ENVIRONMENT, ended)
        self.coordinator = Service("coordinator", place / "coordinator", ("coordinator",), url, ended)
        self.services = (self.serve, self.coordinator)
        self._server = Server(self.serve.process)
        ended.enter_context(closing(self._server.client))
        self._harms: tuple[Callable[[], object], ...] = (
            self._kill_worker, self._kill_worker, self._pause_worker, self._restart_redis, self._forget, self._replica,
            self._kill_driver, self._fill_disk, self._ask, self._ask, self._ask,
        )  # fmt: skip

    def step(self) -> None:
        """Queue runs where few wait, and do one harm."""
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        for service in self.services:
            self.settle(service)
            if len(service.waiting) < _MOST_WAITING:
                work = self._chance.choice(_WORKS)
                service.queue(work, *(work.farmed if service is self.coordinator else ()))
        harm = self._chance.choice(self._harms)
        name = harm.__name__.strip("_")
        self._outcome.figures[name] = self._outcome.figures.get(name, 0) + 1
        harm()
        self._outcome.figures["harms"] += 1

    def settle(self, service: Service) -> None:
        """Compare the good runs that are complete with undisturbed ones, and delete them."""
        for run, work in [*service.waiting.items()]:
            status, reason = service.status(run)
            if status == "failed":
                self._outcome.faults.append(f"{service.name}: {work.name} failed: {reason}")
            if status == "complete":
                found = differences(self._expected.of(work)[0], findings(service.hakoiri.data / run))
                self._outcome.faults += [f"{service.name}: {work.name}: {each}" for each in found]
                self._outcome.figures["runs"] += 1
            if status in ("failed", "complete"):
                service.hakoiri.here("delete", run, "--yes", check=False)
                del service.waiting[run]

    def rest(self) -> None:
        """Do no harm until all good runs are complete."""

        def settled() -> bool:
            for service in self.services:
                self.settle(service)
            return not any(service.waiting for service in self.services) or bool(self.ended())

        wait_until(settled, _REST_SECONDS, "the good runs to be complete")

    def ended(self) -> list[Service]:
        """The services that live no more."""
        return [service for service in self.services if service.process.process.poll() is not None]

    # Harms

    def _kill(self, processes: list[psutil.Process]) -> None:
        if processes:
            with suppress(psutil.NoSuchProcess):
                self._chance.choice(processes).kill()
                self._outcome.figures["kills"] += 1

    def _kill_worker(self) -> None:
        """SIGKILL to a worker or to the data Redis of the host."""
        self._kill(self._host.children())

    def _kill_driver(self) -> None:
        """SIGKILL to what drives the runs of the server on the web."""
        # The server itself is a child, too, where users' puzzles are known to it.
        self._kill([child for child in self.serve.process.children() if "coordinator" in _line(child)])

    def _pause_worker(self) -> None:
        if processes := self._host.children():
            with suppress(psutil.NoSuchProcess):
                pause([self._chance.choice(processes)])

    def _restart_redis(self) -> None:
        self._redis.kill()
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        self._redis.start(wipe=self._chance.random() < 0.3)
        self._outcome.figures["kills"] += 1

    def _forget(self) -> None:
        self._redis.flush()

    def _fill_disk(self) -> None:
        service = self._chance.choice(self.services)
        ballast = service.hakoiri.data / ".ballast"
        usage = os.statvfs(service.hakoiri.data)
        with ballast.open("wb") as file, suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, usage.f_bavail * usage.f_frsize))
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        ballast.unlink()

    def _replica(self) -> None:
        """A failover: Redis is a replica of nobody for a while."""
        self._redis.client.replicaof("127.0.0.1", "1")
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        self._redis.client.replicaof("NO", "ONE")

    def _ask(self) -> None:
        """Requests of any kind, to the server on the web."""
        names = [*self.serve.waiting] or ["last"]
        self._outcome.faults += mistakes(self._server, stream(names, self._chance))
        self._outcome.figures["requests"] += 1


class Soak(Part):
    """A trial is one soak; its number says how many minutes it takes, so that there is no usual one."""

    name, usual, short = "soak", 0, ()
    headings = ("services",)
    measures: ClassVar = {
        "minutes": Measure("minutes"),
        "runs": Measure("good runs, complete and right"),
        "harms": Measure("harms"),
        "kills": Measure("of them kills"),
        "requests": Measure("requests of any bytes"),
        "serve early": Measure("MB of `serve` at 10 %", most=True),
        "serve": Measure("at the end", most=True),
        "coordinator early": Measure("MB of `coordinator` at 10 %", most=True),
        "coordinator": Measure("at the end", most=True),
    }
    text = """\
`serve`, and a `coordinator` with a Redis and a host of two workers, drive small good runs of any kind, one after the
other, while their workers, the data Redis, the one Redis and the server's driver are killed, paused, flushed and failed
over, their disks filled and freed again, and the server is sent any bytes: a random mixture, by the seed, with two
seconds or less in between. At the end both must live, and end with 0 when asked to; each good run must be complete and
as one that nobody disturbed; and a process must take no more memory than at a tenth of the time, when no run is left
(1.25 times as much and 20 MB are let pass). `python -m campaigns.soak --minutes 60` does it."""

    def case_of(self, number: int) -> str:
        return "serve and coordinator"

    def run(self, trial: Trial) -> Outcome:
        outcome = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0))
        with ExitStack() as ended:
            mixture = Mixture(self.place, trial.chance(), outcome, ended)
            outcome.figures["minutes"] = trial.number
            began, end = time.monotonic(), 60.0 * trial.number
            for part, name in ((0.1, " early"), (1.0, "")):
                while time.monotonic() < began + part * end and not mixture.ended():
                    mixture.step()
                mixture.rest()
                for service in mixture.services:
                    outcome.figures[f"{service.name}{name}"] = round(service.megabytes, 1)
            for service in mixture.services:
                outcome.faults += _end(service, outcome)
        return outcome


def _line(process: psutil.Process) -> list[str]:
    with suppress(psutil.NoSuchProcess):
        return list(process.cmdline())
    return []


def _end(service: Service, outcome: Outcome) -> list[str]:
    """What is wrong with a service at the end."""
    alive = service.process.process.poll() is None
    service.process.send(signal.SIGTERM) if alive else None
    ended = service.process.finish()
    early, late = outcome.figures[f"{service.name} early"], outcome.figures[service.name]
    faults = [] if alive and ended.code == 0 else [f"{service.name} ended with {ended.code}: {ended.stderr[-600:]}"]
    return faults + [f"{service.name} grew from {early} to {late} MB"] * (late > _FLAT_TIMES * early + _FLAT_MB)
