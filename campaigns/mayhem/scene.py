"""The scene of a trial: a data directory with a run to be made, whoever takes part in it, and what comes of that."""

import os
import subprocess
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import ClassVar

import psutil

from campaigns.mayhem.trials import Outcome, Part, Trial
from campaigns.mayhem.works import (
    FOR_WORKERS,
    OWN_FILE,
    WORKS,
    Standing,
    Undisturbed,
    Work,
    by_workers,
    differences,
    findings,
    standing,
    the_run,
    undisturbed_in,
)
from hakoiri.puzzles.user.files import FILES
from hakoiri.storage.names import runs_being_made
from hakoiri.worker.transport.connection import living_workers
from tests.support.commands import Hakoiri, Running, await_end, wait_until
from tests.support.servers import RedisServer
from tests.support.web import ENVIRONMENT

#: No trial is waited for any longer: a run of seconds that takes so long hangs.
MOST_SECONDS = 120
#: The errors of a run that finds no Redis or no host when it begins.
_NOT_BEGUN = ("no Redis answers", "hosts live, ")
#: The pause between two looks at a run's last commit.
_LOOK_SECONDS = 0.003
#: A worker that does not say for so long that it lives is taken for dead.
_DEAD_SECONDS = 6.0


def pause(processes: list[psutil.Process]) -> None:
    """SIGSTOP, longer than it takes to be taken for dead, and SIGCONT."""
    for process in processes:
        process.suspend()
    time.sleep(_DEAD_SECONDS)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


class Scene:
    """A data directory with a run to be made, who takes part in that, and the blows that they were dealt."""

    def __init__(self, work: Work, undisturbed: Undisturbed, place: Path, chance: Random, outcome: Outcome) -> None:
        self.work, self.chance, self.outcome = work, chance, outcome
        #: What a process that drives the run does first.
        self.before = work.before
        #: What it is, if not forked from a process that has imported Hakoiri.
        self.executable: Path | None = None
        self.hakoiri = Hakoiri(place)
        self.place = place
        place.mkdir(parents=True)
        self.expected, self.seconds = undisturbed.of(work)
        #: Put the run that the work belongs to, if any, into the empty data directory.
        self.prepare = partial(undisturbed.prepare, work, self.hakoiri.data)
        self.prepare()
        self.ended = ExitStack()
        self.ended.callback(self.hakoiri.close)
        self._before: list[Standing] = []
        self.redis: RedisServer | None = None
        #: Where those who take part find it.
        self.url = ""
        self.hosts: list[Running] = []

    def start(self, *arguments: str) -> Running:
        """A command of Hakoiri's that may drive the run; it knows the user's puzzle."""
        env = ENVIRONMENT | {FILES: str(OWN_FILE)} | ({"HAKOIRI_REDIS": self.url} if self.redis else {})
        return self.hakoiri.start(*arguments, env=env, before=self.before, executable=self.executable)

    def drive(self) -> Running:
        """The command that makes the run, or goes on with it."""
        work = by_workers(self.work, bool(self.redis))
        if not self.made():
            return self.start(*work.begin)
        # `resume` lacks options of other kinds of run.
        ways = work.ways if work.line[0] in ("run", "hardest") else ()
        return self.start("resume", the_run(self.work, self.hakoiri.data).name, *ways)

    def coordinate(self) -> Running:
        """A coordinator that drives the queued run, by workers if there are any."""
        return self.start("coordinator", *(() if self.redis else ("--threads",)), "--burst")

    def made(self) -> bool:
        with suppress(FileNotFoundError):
            return bool(the_run(self.work, self.hakoiri.data))
        return False

    def queue(self) -> None:
        """Make the run and leave it to whoever serves."""
        self.hakoiri.here(*by_workers(self.work, bool(self.redis)).queue)

    def farm(
        self, hosts: int = 1, workers: int = 2, keeps: bool = False, before: Callable[[], object] | None = None,
        env: Mapping[str, str] | None = None, options: str = "",
    ) -> None:  # fmt: skip
        """Have a Redis, and supervisors with workers, alive when this returns; these have `options` in its URL."""
        self.redis = RedisServer(self.place / "redis", appendonly=keeps)
        self.ended.callback(self.redis.close)
        self.url = f"{self.redis.url}{options}"
        self.hosts = [self.start_host(workers, before, env) for _ in range(hosts)]
        wait_until(lambda: len(living_workers(self.one_redis.client)) == hosts * workers, what="the workers")

    def start_host(
        self, workers: int = 1, before: Callable[[], object] | None = None, env: Mapping[str, str] | None = None
    ) -> Running:
        """One supervisor with its workers, which know the user's puzzle; it calls `before` first."""
        settings = {"HAKOIRI_REDIS": self.url, FILES: str(OWN_FILE)} | dict(env or {})
        return self.hakoiri.start("worker", "-n", str(workers), env=settings, before=before)

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

    def standing(self) -> Standing:
        return standing(self.work, self.hakoiri.data)

    def let_work(self, running: Running, seconds: float) -> bool:
        """Wait for a random moment of so many seconds; whether it is at work then."""
        with suppress(subprocess.TimeoutExpired):
            running.process.wait(self.chance.uniform(0, seconds))
        return running.process.poll() is None

    def let_deepen(self, running: Running, layers: range) -> bool:
        """Wait until a random one of these layers is committed; whether the run is at work then.

        The moment counts only if the run was running at it, and did not end before the blow.

        Raises TimeoutError if no layer comes for `MOST_SECONDS`.
        """
        wanted, reached, until = self.chance.choice(layers), -1, time.monotonic() + MOST_SECONDS
        while running.process.poll() is None:
            depth = self.standing().state.depth
            if depth >= wanted:
                return running.process.poll() is None
            if depth > reached:
                reached, until = depth, time.monotonic() + MOST_SECONDS
            elif time.monotonic() > until:
                raise TimeoutError(f"no layer after {depth} in {MOST_SECONDS} s")
            time.sleep(_LOOK_SECONDS)
        return False

    def struck(self, began: float, blow: Callable[[], object]) -> None:
        """Deal a blow to whoever has driven the run since `began`: note what is durable, and what was not."""
        when = time.time()
        blow()
        kept = self.standing()
        self._before.append(kept)
        lost = when - max(kept.state.updated, began)
        self._count("lost", lost)

    def survived(self, blow: Callable[[], object], driver: Callable[[], Running]) -> None:
        """Deal a blow that the driver outlives, and wait for its next commit, or its end."""
        when = time.time()
        blow()
        wait_until(
            lambda: self.standing().state.updated > when or driver().process.poll() is not None,
            MOST_SECONDS, "the run to go on",
        )  # fmt: skip
        self._count("stood", time.time() - when)

    def _count(self, name: str, seconds: float) -> None:
        figures = self.outcome.figures
        figures["blows"] = figures.get("blows", 0) + 1
        figures[name] = round(max(figures.get(name, 0), seconds), 3)

    def kill_one(self, data_redis: bool) -> None:
        """SIGKILL any data Redis or worker, if one has been started again."""
        if processes := self.children(data_redis):
            with suppress(psutil.NoSuchProcess):
                self.chance.choice(processes).kill()

    def replace_host(self) -> None:
        """SIGKILL to a supervisor and its workers, and another one begins."""
        host = self.chance.choice(self.hosts)
        host.end()
        self.hosts[self.hosts.index(host)] = self.start_host()

    def restart_redis(self, wipe: bool) -> None:
        """SIGKILL to the one Redis, and it begins again."""
        self.one_redis.kill()
        self.one_redis.start(wipe=wipe)

    def pause_worker(self) -> None:
        """SIGSTOP to one worker, and SIGCONT."""
        pause([self.chance.choice(self.children(data_redis=False))])

    def pause_host(self) -> None:
        """The same to a supervisor and its workers."""
        host = self.chance.choice(self.hosts)
        pause([psutil.Process(host.pid), *host.children()])

    def pause_redis(self) -> None:
        """The same to the one Redis."""
        pause([psutil.Process(self.one_redis.pid)])

    def leave_alone(self, running: Running) -> None:
        """SIGKILL to a process alone; all that it has started must leave by themselves."""
        family = running.children()
        running.kill()
        if left := await_end(family, 30):
            self.outcome.faults.append(f"{running.arguments[0]} is dead, and {len(left)} of its processes are left")

    def replace_supervisor(self) -> None:
        """That to the only supervisor, whose place another takes."""
        self.leave_alone(self.hosts[0])
        self.hosts = [self.start_host(2)]

    def finish(self, running: Running, code: int = 0, seconds: float = MOST_SECONDS) -> None:
        """The driver ends of itself, with that exit code."""
        ended = running.finish(seconds)
        if ended.code != code or "Traceback" in ended.stderr:
            self.outcome.faults.append(
                f"{' '.join(ended.arguments[:3])} ended with {ended.code}: {ended.stderr[-600:]}"
            )

    def finish_at_last(self, running: Running, await_hosts: Callable[[], object] = lambda: None) -> None:
        """The same with 0, of itself or resumed."""
        if running.finish(MOST_SECONDS).code == 1 and any(words in running.stderr for words in _NOT_BEGUN):
            # It was away when the run wanted to begin, which is refused at once; in its midst it is waited for.
            self.outcome.figures["late"] += 1
            await_hosts()
            running = self.drive()
        self.finish(running)

    def judge(self) -> Outcome:
        """Check that the run is complete and as an undisturbed one, and that nothing durable was made again."""
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
        """Return what stays behind: the next run that is made removes what is left of one that was being made."""
        halves = runs_being_made(self.hakoiri.data)
        for half in halves:
            os.utime(half, (0, 0))
        if halves:
            self.hakoiri.here("run", "tiles", "-o", "rows=2", "-o", "columns=2")
        return [half.name for half in runs_being_made(self.hakoiri.data)]


class Disturbed(Part):
    """A part whose trials each disturb a run of one kind in one of its `ways`.

    Some ways are for one work only, and those `by_workers` for works of which workers do chunks.
    """

    ways: ClassVar[Mapping[str, Callable[[Scene], None]]]
    works: ClassVar[Mapping[str, Work]] = WORKS
    of_work: ClassVar[Mapping[str, str]] = {}
    by_workers: ClassVar[Collection[str]] = ()
    scene: ClassVar[type[Scene]] = Scene

    def case_of(self, number: int) -> str:
        turn, place = divmod(number, len(self.ways))
        way = list(self.ways)[place]
        works = self.works_of(way)
        return f"{way} / {works[(turn + place) % len(works)]}"

    def works_of(self, way: str) -> list[str]:
        """The kinds of runs that are disturbed in this way."""
        if way in self.of_work:
            return [self.of_work[way]]
        return [name for name in self.works if name in FOR_WORKERS or way not in self.by_workers]

    def run(self, trial: Trial) -> Outcome:
        outcome = Outcome(self.case_of(trial.number), dict.fromkeys(self.measures, 0))
        way, work = outcome.case.split(" / ")
        files = self.place / trial.folder
        scene = self.scene(self.works[work], undisturbed_in(self.place), files, trial.chance(), outcome)
        with scene.ended:
            self.ways[way](scene)
            return scene.judge()
