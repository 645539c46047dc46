"""A soak: services drive one run after another for a long time, under a random mixture of harms."""

import signal
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from random import Random
from typing import ClassVar

import psutil
import redis

from campaigns.mayhem.failovers import be_locked, be_replica
from campaigns.mayhem.grammar import stream
from campaigns.mayhem.liars import OTHER, other_worker
from campaigns.mayhem.scene import pause
from campaigns.mayhem.services import Driver, Memory, Service, command_line, megabytes
from campaigns.mayhem.trials import REQUESTS, Measure, Outcome, Part, Trial
from campaigns.mayhem.web import mistakes
from campaigns.mayhem.works import WORKS, undisturbed_in
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import wait_until
from tests.support.servers import RedisServer
from tests.support.web import ADDRESS, ENVIRONMENT, Server
from tests.support.web_requests import BUSY

#: Runs that begin with an empty data directory and whose processes need no changes.
_WORKS = [work for work in WORKS.values() if not (work.before or work.base)]
_MOST_WAITING, _MOST_PAUSE_SECONDS, _REST_SECONDS = 3, 2.0, 600.0
#: The number of rests, at which memory is measured. At the first one caches are filled and kernels loaded.
_RESTS = 10
#: Memory is flat if it is at most this factor times that of the first rest, plus so many MB.
_FLAT_TIMES, _FLAT_MB = 1.25, 20.0
_WORKERS = 2
_QUESTIONS = ("", "/summary", "/layers", "/components", "/components/0/diameter", "/path", "/hardest", "/play")


class Mixture:
    """A web server that drives runs by threads, a coordinator with Redis and a host of workers, and harms to them."""

    def __init__(self, place: Path, chance: Random, outcome: Outcome, ended: ExitStack) -> None:
        self._chance, self._outcome = chance, outcome
        self._expected = undisturbed_in(place)
        self._redis = RedisServer(place / "redis", appendonly=True)
        ended.callback(self._redis.close)
        url = {"HAKOIRI_REDIS": self._redis.url}
        line = ("worker", "-n", str(_WORKERS))
        self._host = Service("worker", place / "workers", line, url, ended)
        self._serve = Driver("serve", place / "serve", ("serve", *ADDRESS), ENVIRONMENT, ended, farms=False)
        coordinator = Driver("coordinator", place / "coordinator", ("coordinator",), url, ended, farms=True)
        self._drivers = (self._serve, coordinator)
        self.services = (*self._drivers, self._host)
        self._server = Server(self._serve.process)
        ended.enter_context(closing(self._server.client))
        self._other = ended.enter_context(ExitStack())
        self._harms: tuple[Callable[[], object], ...] = (
            self._kill_worker, self._kill_worker, self._pause_worker, self._restart_redis, self._forget,
            self._fail_over, self._change_password, self._kill_driver, self._fill_disk, self._fill_disk,
            self._poison, self._poison, self._other_code, self._garbage, self._garbage, self._question, self._question,
        )  # fmt: skip

    def step(self) -> None:
        """Queue runs where few wait, and do one harm."""
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        for driver in self._drivers:
            driver.settle(self._expected, self._outcome)
            if len(driver.waiting) < _MOST_WAITING:
                driver.queue(self._chance.choice(_WORKS))
        harm = self._chance.choice(self._harms)
        try:
            harm()
        except Exception as error:  # The others go on: what was found so far must not be lost.
            self._outcome.faults.append(f"{harm.__name__.strip('_')}: {type(error).__name__}: {error}")
        self._outcome.figures["harms"] += 1

    def rest(self, memory: Memory) -> None:
        """Do no harm until all runs have ended, then note the memory of each service."""
        self._other.close()
        for driver in self._drivers:
            driver.give_up_poisonous()

        def settled() -> bool:
            for driver in self._drivers:
                driver.settle(self._expected, self._outcome)
            return all(driver.rests for driver in self._drivers) or not self.live

        wait_until(settled, _REST_SECONDS, "all runs to end")
        wait_until(
            lambda: len(living_workers(self._redis.client)) == _WORKERS or not self.live, _REST_SECONDS, "the workers"
        )
        for service in self.services:
            memory.note(service.name, service.megabytes)
        memory.note("Redis", megabytes(self._redis.pid))

    @property
    def live(self) -> bool:
        return all(service.lives for service in self.services)

    def left_behind(self) -> list[str]:
        """Files that are left in the data directories although all runs are deleted."""
        return [f"{each.name} left behind: {left}" for each in self._drivers if (left := each.left_behind())]

    def _kill(self, processes: list[psutil.Process]) -> None:
        if processes:
            with suppress(psutil.NoSuchProcess):
                self._chance.choice(processes).kill()
                self._outcome.figures["kills"] += 1

    def _kill_worker(self) -> None:
        """SIGKILL to a worker or to the data Redis of the host."""
        self._kill(self._host.process.children())

    def _kill_driver(self) -> None:
        """SIGKILL to the process that drives the runs of the web server."""
        # Where users' puzzles are known, the server itself is a child, too.
        self._kill([child for child in self._serve.process.children() if "coordinator" in command_line(child)])

    def _pause_worker(self) -> None:
        if processes := self._host.process.children():
            with suppress(psutil.NoSuchProcess):
                pause([self._chance.choice(processes)])

    def _restart_redis(self) -> None:
        self._redis.kill()
        time.sleep(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        self._redis.start(wipe=self._chance.random() < 0.3)
        self._outcome.figures["kills"] += 1

    def _forget(self) -> None:
        self._redis.flush()

    def _fail_over(self) -> None:
        self._away(be_replica)

    def _change_password(self) -> None:
        self._away(be_locked)

    def _away(self, harm: Callable[[redis.Redis, Random], None]) -> None:
        with redis.Redis.from_url(self._redis.url, single_connection_client=True) as client:
            harm(client, self._chance)
        self._outcome.figures["failovers"] += 1

    def _fill_disk(self) -> None:
        """Leave no free block for the data and the log of a service."""
        self._chance.choice(self.services).fill_disk(self._chance.uniform(0, _MOST_PAUSE_SECONDS))
        self._outcome.figures["disks"] += 1

    def _poison(self) -> None:
        """Queue a run whose puzzle harms the process that computes its moves."""
        self._chance.choice(self._drivers).poison(self._chance)

    def _other_code(self) -> None:
        """Start a worker of other code in place of the last one."""
        self._other.close()
        change = OTHER[self._chance.choice(sorted(OTHER))].format(number=self._chance.randint(7, 99))
        self._other.enter_context(other_worker(self._redis.url, change))
        self._outcome.figures["others"] += 1

    def _garbage(self) -> None:
        """Send any bytes to the web server."""
        names = [*self._serve.waiting] or ["last"]
        self._outcome.faults += mistakes(self._server, stream(names, self._chance))
        self._outcome.figures["requests"] += 1

    def _question(self) -> None:
        """Ask what a user may ask; it may be refused while the disk is full or the run has no answer."""
        run = self._chance.choice([*self._serve.waiting] or ["last"])
        where = f"/api/runs/{run}{self._chance.choice(_QUESTIONS)}"
        status = self._server.client.get(where).status_code
        if status >= 500 and status not in BUSY:
            self._outcome.faults.append(f"GET {where}: {status}")
        self._outcome.figures["requests"] += 1


class Soak(Part):
    """A trial is one soak of as many minutes as its number; none is part of an ordinary campaign."""

    name, usual, short = "soak", 0, ()
    headings = ("services",)
    measures: ClassVar = {
        "minutes": Measure("minutes"),
        "runs": Measure("good runs, complete and right"),
        "harms": Measure("harms"),
        "kills": Measure("kills"),
        "poisons": Measure("poisonous runs"),
        "others": Measure("workers of other code"),
        "failovers": Measure("failovers, other passwords"),
        "disks": Measure("full disks"),
        **REQUESTS,
        **{
            f"{name}{when}": Measure(words.format(name=name), most=True)
            for name in ("serve", "coordinator", "worker", "Redis")
            for when, words in (
                (" early", "MB of {name} at first"),
                ("", "MB of {name} at last"),
                (" growth", "MB of {name} per hour"),
            )
        },
    }
    text = """\
`serve`, and a `coordinator` with Redis and a host of two workers, drive one small run after another. Every two seconds
or less one random harm is done. Workers, the data Redis, Redis and the server's driver are killed, paused, flushed,
failed over or given other passwords. The disks of the services and of their logs are filled and freed again. Users'
puzzles end or block the process that computes their moves, workers of other code come and go, and the server receives
any bytes. At the end all services must be alive and end with 0 when asked to, each good run must be complete and the
same as an undisturbed run, and no other file may be left.

Ten times no harm is done until all runs have ended and are deleted, first after a tenth of the time. Then the memory
of each service is measured: that of all of its processes without mapped files, a page that N of them share as a part
in N. The last figure may be 1.25 times the first one and 20 MB more; MB per hour are the slope of a line through all
ten. `python -m campaigns.soak --minutes 60` does it."""

    def case_of(self, number: int) -> str:
        return "serve and coordinator"

    def run(self, trial: Trial) -> Outcome:
        outcome, memory = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0)), Memory()
        outcome.figures["minutes"] = trial.number
        with ExitStack() as ended:
            mixture = Mixture(self.place, trial.chance(), outcome, ended)
            began = time.monotonic()
            for part in range(1, _RESTS + 1):
                while time.monotonic() < began + 60.0 * trial.number * part / _RESTS and mixture.live:
                    mixture.step()
                mixture.rest(memory)
            outcome.figures |= memory.figures()
            outcome.faults += mixture.left_behind()
            for service in mixture.services:
                outcome.faults += _end(service, outcome)
        return outcome


def _end(service: Service, outcome: Outcome) -> list[str]:
    alive = service.lives
    service.process.send(signal.SIGTERM) if alive else None
    ended = service.process.finish()
    early, late = outcome.figures[f"{service.name} early"], outcome.figures[service.name]
    faults = [] if alive and ended.code == 0 else [f"{service.name} ended with {ended.code}: {ended.stderr[-600:]}"]
    if (place := ended.stderr.find("Traceback")) >= 0:
        faults.append(f"{service.name} printed a traceback: {ended.stderr[place : place + 4_000]}")
    return faults + [f"{service.name} grew from {early} to {late} MB"] * (late > _FLAT_TIMES * early + _FLAT_MB)
