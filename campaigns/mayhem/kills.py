"""Kills at random moments: of every process that takes part, over every kind of run."""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from math import lcm
from pathlib import Path
from random import Random
from typing import ClassVar

import psutil

from campaigns.mayhem.trials import Measure, Outcome, Part, Trial
from campaigns.mayhem.works import (
    WORKS,
    Standing,
    Undisturbed,
    Work,
    differences,
    findings,
    standing,
    the_run,
    undisturbed_in,
)
from storage.names import runs_being_made
from tests.support.forking import fork_workers
from tests.system.helpers import Hakoiri, Running, wait_until
from tests.system.servers import RedisServer
from worker.transport.connection import living_workers

#: No trial is waited for any longer: a run of seconds that takes so long hangs.
_MOST_SECONDS = 120
#: A worker that does not say for so long that it lives is taken for dead.
_DEAD_SECONDS = 6.0
_MOST_BLOWS = 3
#: What is killed twice as often as others has two names.
_AGAIN = ", again"
_TOKEN = "a-token-that-only-mayhem-has"  # noqa: S105


class Scene:
    """A data directory with a run to be made, who takes part in that, and the blows that they were dealt."""

    def __init__(self, work: Work, undisturbed: Undisturbed, place: Path, chance: Random) -> None:
        self.work, self.chance = work, chance
        #: What a process that drives the run does first.
        self.before = work.before
        self.hakoiri = Hakoiri(place)
        self.place = place
        place.mkdir(parents=True)
        self.expected, self.seconds = undisturbed.of(work)
        undisturbed.prepare(work, self.hakoiri.data)
        self.ended = ExitStack()
        self.ended.callback(self.hakoiri.close)
        self.outcome = Outcome("", {"blows": 0, "late": 0, "lost": 0.0, "stood": 0.0, "twice": 0})
        self._before: list[Standing] = []
        self.redis: RedisServer | None = None
        #: Where those who take part find it.
        self.url = ""
        self.hosts: list[Running] = []

    # Who takes part

    def start(self, *arguments: str) -> Running:
        """A command of Hakoiri's that may drive the run."""
        env = {"HAKOIRI_TOKEN": _TOKEN} | ({"HAKOIRI_REDIS": self.url} if self.redis else {})
        return self.hakoiri.start(*arguments, env=env, before=self.before)

    def drive(self) -> Running:
        """The command that makes the run, or goes on with it."""
        farmed = self.work.farmed if self.redis else ()
        if not self.made():
            return self.start(*self.work.begin, *farmed)
        # Options of other kinds of run are none of resume's.
        ways = (*self.work.ways, *farmed) if self.work.line[0] in ("run", "hardest") else ()
        return self.start("resume", the_run(self.work, self.hakoiri.data).name, *ways)

    def made(self) -> bool:
        """Whether there is a run yet."""
        with suppress(FileNotFoundError):
            return bool(the_run(self.work, self.hakoiri.data))
        return False

    def queue(self) -> None:
        """Make the run and leave it to whoever serves."""
        self.hakoiri.here(*self.work.queue, *(self.work.farmed if self.redis else ()))

    def farm(self, hosts: int, workers: int, data_redis: bool = False, keeps: bool = False) -> None:
        """Have a Redis, and hosts with workers, alive when this returns."""
        self.redis = RedisServer(self.place / "redis", appendonly=keeps)
        self.ended.callback(self.redis.close)
        self.url = self.redis.url
        more = {"HAKOIRI_DATA_REDIS": "auto"} if data_redis else {}
        self.hosts = [self.start_host(workers, more) for _ in range(hosts)]
        wait_until(lambda: len(living_workers(self.one_redis.client)) == hosts * workers, what="the workers")

    def start_host(self, workers: int, more: dict[str, str]) -> Running:
        """One supervisor with its workers."""
        env = {"HAKOIRI_REDIS": self.url} | more
        return self.hakoiri.start("worker", "-n", str(workers), env=env, before=fork_workers)

    @property
    def one_redis(self) -> RedisServer:
        """That of the queue."""
        assert self.redis is not None
        return self.redis

    def children(self, data_redis: bool) -> list[psutil.Process]:
        """The data Redis of all hosts, or else their worker processes."""
        found = []
        for child in [child for host in self.hosts for child in host.children()]:
            with suppress(psutil.NoSuchProcess):
                found += [child] if (child.name() == "redis-server") == data_redis else []
        return found

    # Blows

    def standing(self) -> Standing:
        """Of the run now."""
        return standing(self.work, self.hakoiri.data)

    def let_work(self, running: Running, seconds: float) -> bool:
        """Wait for a random moment of so many seconds; whether it is at work then."""
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(self.chance.uniform(0, seconds))
        return running.process.poll() is None

    def struck(self, began: float, blow: Callable[[], object]) -> None:
        """Deal a blow to whoever has driven the run since `began`: note what is durable, and what was not."""
        when = time.time()
        blow()
        kept = self.standing()
        self._before.append(kept)
        lost = when - max(kept.state.updated, began)
        self._count("lost", lost)

    def survived(self, blow: Callable[[], object], running: Running) -> None:
        """Deal a blow that the driver outlives, and wait for its next commit, or its end."""
        when = time.time()
        blow()
        wait_until(
            lambda: self.standing().state.updated > when or running.process.poll() is not None,
            _MOST_SECONDS, "the run to go on",
        )  # fmt: skip
        self._count("stood", time.time() - when)

    def _count(self, name: str, seconds: float) -> None:
        figures = self.outcome.figures
        figures["blows"] = figures.get("blows", 0) + 1
        figures[name] = round(max(figures.get(name, 0), seconds), 3)

    def kill_one(self, data_redis: bool) -> None:
        """SIGKILL to any data Redis or worker; where none has been started again yet, to nobody."""
        if processes := self.children(data_redis):
            with suppress(psutil.NoSuchProcess):
                self.chance.choice(processes).kill()

    def replace_host(self) -> None:
        """SIGKILL to all processes of a host, and another one begins."""
        host = self.chance.choice(self.hosts)
        host.end()
        self.hosts[self.hosts.index(host)] = self.start_host(1, {"HAKOIRI_DATA_REDIS": "auto"})

    def restart_redis(self, wipe: bool) -> None:
        """SIGKILL to the one Redis, and it begins again."""
        self.one_redis.kill()
        self.one_redis.start(wipe=wipe)

    def pause_worker(self) -> None:
        """SIGSTOP, longer than it takes to be taken for dead, and SIGCONT."""
        process = self.chance.choice(self.children(data_redis=False))
        process.suspend()
        time.sleep(_DEAD_SECONDS)
        with suppress(psutil.NoSuchProcess):
            process.resume()

    # The end

    def finish(self, running: Running, code: int = 0) -> None:
        """The driver ends of itself, with that exit code."""
        ended = running.finish(_MOST_SECONDS)
        if ended.code != code or "Traceback" in ended.stderr:
            self.outcome.faults.append(
                f"{' '.join(ended.arguments[:3])} ended with {ended.code}: {ended.stderr[-600:]}"
            )

    def judge(self) -> Outcome:
        """The run is complete and as if nobody had disturbed it; nothing durable was made again."""
        directory = the_run(self.work, self.hakoiri.data)
        self.outcome.faults += differences(self.expected, findings(directory))
        after = self.standing()
        twice = sum(before.changed_by(after) for before in self._before)
        self.outcome.figures["twice"] = twice
        if twice:
            self.outcome.faults.append(f"{twice} pieces that were durable were made again")
        verified = self.hakoiri.here("verify", directory.name, "--json", check=False)
        if verified.code:
            self.outcome.faults.append(f"verify: {verified.stdout[:300]} {verified.stderr[:300]}")
        if left := self._left_behind():
            self.outcome.faults.append(f"left behind: {left}")
        return self.outcome

    def _left_behind(self) -> list[str]:
        """What nobody will ever remove: what is left of a run that was being made goes when another is made, later."""
        halves = runs_being_made(self.hakoiri.data)
        for half in halves:
            os.utime(half, (0, 0))
        if halves:
            self.hakoiri.here("run", "tiles", "-o", "rows=2", "-o", "columns=2")
        return [path.name for path in self.hakoiri.data.glob(".[!s]*")]


# Whose driver dies


def _again_and_again(scene: Scene, start: Callable[[], Running], kill: Callable[[Running], object]) -> None:
    """Kill the driver at random moments of its work; the next one goes on."""
    for _ in range(scene.chance.randint(1, _MOST_BLOWS)):
        began = time.time()
        running = start()
        if not scene.let_work(running, scene.seconds):
            scene.outcome.figures["late"] += 1
            return
        scene.struck(began, partial(kill, running))


def foreground(scene: Scene) -> None:
    """The process that a user started."""
    _again_and_again(scene, scene.drive, Running.kill)
    scene.finish(scene.drive())


def coordinator(scene: Scene) -> None:
    """The coordinator of a queued run, by threads."""
    scene.queue()
    _again_and_again(scene, lambda: scene.start("coordinator", "--threads", "--burst"), Running.kill)
    scene.finish(scene.start("coordinator", "--threads", "--burst"))


def farming_coordinator(scene: Scene) -> None:
    """The coordinator of a queued run, whose workers live on."""
    scene.farm(hosts=1, workers=2)
    scene.queue()
    _again_and_again(scene, lambda: scene.start("coordinator", "--burst"), Running.kill)
    scene.finish(scene.start("coordinator", "--burst"))


def web_server(scene: Scene) -> None:
    """The server on the web, which drives queued runs in a process of its own: that one leaves, too."""

    def kill(server: Running) -> None:
        family = server.children()
        server.kill()
        _, alive = psutil.wait_procs(family, timeout=30)
        if alive:
            scene.outcome.faults.append(f"the server is dead, and {len(alive)} of its processes are left")

    scene.queue()
    _again_and_again(scene, lambda: scene.start("serve", "--port", "0"), kill)
    scene.finish(scene.start("coordinator", "--threads", "--burst"))


def everything(scene: Scene) -> None:
    """The run, its workers, their data Redis and the one Redis, at one moment; only the disk is left."""
    scene.farm(hosts=1, workers=2, data_redis=True, keeps=True)

    def kill() -> None:
        running.kill()
        for host in scene.hosts:
            host.end()
        scene.one_redis.kill()

    began, running = time.time(), scene.drive()
    if scene.let_work(running, scene.seconds):
        scene.struck(began, kill)
        scene.redis = None
        scene.finish(scene.drive())
    else:
        scene.outcome.figures["late"] += 1


# Whose driver lives


def _blow_by_blow(scene: Scene, blow: Callable[[], object]) -> None:
    """Deal blows at random moments of a run that goes on by itself."""
    running = scene.drive()
    for _ in range(scene.chance.randint(1, _MOST_BLOWS)):
        if not scene.let_work(running, scene.seconds):
            scene.outcome.figures["late"] += 1
            break
        scene.survived(blow, running)
    if running.finish(_MOST_SECONDS).code == 1 and "no Redis answers" in running.stderr:
        # It was away when the run wanted to begin, which is refused at once; in its midst it is waited for.
        scene.outcome.figures["late"] += 1
        running = scene.drive()
    scene.finish(running)


def worker(scene: Scene) -> None:
    """One of two workers; their supervisor starts another."""
    scene.farm(hosts=1, workers=2)
    _blow_by_blow(scene, lambda: scene.kill_one(data_redis=False))


def host(scene: Scene) -> None:
    """One of two hosts: its supervisor, its worker and its data Redis at once. Another takes its place."""
    scene.farm(hosts=2, workers=1, data_redis=True)
    _blow_by_blow(scene, scene.replace_host)


def data_redis(scene: Scene) -> None:
    """The data Redis of one of two hosts."""
    scene.farm(hosts=2, workers=1, data_redis=True)
    _blow_by_blow(scene, lambda: scene.kill_one(data_redis=True))


def redis_keeping(scene: Scene) -> None:
    """The one Redis, which comes back with all that it held."""
    scene.farm(hosts=1, workers=2, keeps=True)
    _blow_by_blow(scene, lambda: scene.restart_redis(wipe=False))


def redis_forgetting(scene: Scene) -> None:
    """The one Redis, which comes back with nothing."""
    scene.farm(hosts=1, workers=2)
    _blow_by_blow(scene, lambda: scene.restart_redis(wipe=True))


def stopped_worker(scene: Scene) -> None:
    """A worker stands still until it is taken for dead, and goes on: its late answers change nothing."""
    scene.farm(hosts=1, workers=2)
    _blow_by_blow(scene, scene.pause_worker)


def stopped_driver(scene: Scene) -> None:
    """The driver stands still, somebody else wants to drive the run and is refused; then the first goes on."""
    running = scene.drive()
    at_work = scene.let_work(running, scene.seconds)
    if at_work:
        process = psutil.Process(running.pid)
        process.suspend()
        at_work = scene.standing().state.status == "running"
        if at_work:
            second = scene.hakoiri.here("resume", the_run(scene.work, scene.hakoiri.data).name, check=False)
            if second.code != 1 or "is held by process" not in second.error:
                scene.outcome.faults.append(f"two drivers: {second}")
        process.resume()
    scene.outcome.figures["blows" if at_work else "late"] += 1
    scene.finish(running)


def two_coordinators(scene: Scene) -> None:
    """Two serve one data directory; the one that drives is stopped, and killed while the other waits."""
    scene.queue()
    both = [scene.start("coordinator", "--threads", "--burst") for _ in range(2)]
    if scene.let_work(both[0], scene.seconds):
        scene.chance.shuffle(both)
        with suppress(psutil.NoSuchProcess):
            psutil.Process(both[0].pid).suspend()
        scene.let_work(both[1], scene.seconds)
        scene.struck(time.time(), both[0].kill)
    for each in both:
        each.finish(_MOST_SECONDS)
    scene.finish(scene.start("coordinator", "--threads", "--burst"))


VICTIMS = {
    "foreground run": foreground,
    "coordinator": coordinator,
    "web server": web_server,
    "coordinator with workers": farming_coordinator,
    "worker": worker,
    f"foreground run{_AGAIN}": foreground,
    "host with its data Redis": host,
    "data Redis": data_redis,
    "driver stopped": stopped_driver,
    "one Redis, data kept": redis_keeping,
    "one Redis, data lost": redis_forgetting,
    "two coordinators": two_coordinators,
    "everything at once": everything,
    "worker stopped": stopped_worker,
}


class Kills(Part):
    """A trial is a run of one kind, and one to three blows to one of those who take part."""

    name, usual, short = "kills", 600, (0, 10)
    headings = ("who is killed", "run")
    measures: ClassVar = {
        "blows": Measure("kills"),
        "late": Measure("after its end"),
        "twice": Measure("made twice"),
        "lost": Measure("seconds of work lost", most=True),
        "stood": Measure("seconds until it went on", most=True),
    }
    text = """\
A run of each kind, small enough to take a second, and one to three kills (SIGKILL, or SIGSTOP for longer than it takes
to be missed, and SIGCONT) of somebody who takes part in it, at random moments. Where the driver dies, somebody goes on
with the run. Afterwards it must be complete; its digest and all of its layers, rows and components must be those of a
run that nobody disturbed; every layer, row and chunk that was durable at a kill must be there untouched (else it was
*made twice*); and `hakoiri verify` must agree. *Seconds of work lost* are those from the last commit to the kill.
*Seconds until it went on* are those to the next commit where the driver lives: a worker is missed after five seconds of
silence."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._undisturbed = undisturbed_in(place / "undisturbed")

    def run(self, trial: Trial) -> Outcome:
        victims, works = list(VICTIMS), list(WORKS.values())
        victim = victims[trial.number % len(victims)]
        work = works[(trial.number + trial.number // lcm(len(victims), len(works))) % len(works)]
        scene = Scene(work, self._undisturbed, self.place / trial.name, trial.chance())
        with scene.ended:
            VICTIMS[victim](scene)
            scene.outcome.case = f"{victim.removesuffix(_AGAIN)} / {work.name}"
            return scene.judge()
