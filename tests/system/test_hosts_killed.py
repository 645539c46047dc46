"""Hosts, data Redis, the one Redis and the coordinator killed at seeded moments of a run: it ends right, always."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from hakoiri.worker.transport.connection import living_workers
from tests.support.seeds import seeds
from tests.system.helpers import FinishedRuns, Hakoiri, Running, wait_until
from tests.system.servers import RedisServer
from tests.system.test_interruptions import (
    EXPLORE,
    SLOW_REDIS,
    assert_kept,
    assert_undisturbed,
    at_depth,
    layers_of,
    moments,
    reaches,
)  # fmt: skip

pytestmark = pytest.mark.slow
HOSTS, KILLS = 3, 4


class Town:
    """The one Redis, hosts of one worker and a data Redis each, and a run; `kills` does what to one of them."""

    def __init__(self, directory: Path, hakoiri: Hakoiri, chance: random.Random) -> None:
        self._hakoiri, self._chance = hakoiri, chance
        self.main = RedisServer(directory / "main", appendonly=True)
        self.hosts = [self._start() for _ in range(HOSTS)]
        self._stopped: list[psutil.Process] = []
        wait_until(lambda: len(living_workers(self.main.client)) == HOSTS, what="the workers")
        self.run = self._run(EXPLORE)

    @property
    def kills(self) -> dict[str, Callable[[], None]]:
        """By name, what may be killed."""
        return {
            "data Redis": lambda: self._data_redis(self._any()).kill(),
            "data Redis, for good": self._kill_for_good,
            "data Redis, frozen": lambda: self._stop(self._data_redis(self._any())),
            "worker": lambda: self._worker(self._any()).kill(),
            "host": self._kill_host,
            "the one Redis": lambda: self._restart(wipe=False),
            "the one Redis and its data": lambda: self._restart(wipe=True),
            "coordinator": self._kill_coordinator,
        }

    def close(self) -> None:
        """Let all go on that stands still, and end the one Redis."""
        for process in self._stopped:
            with suppress(psutil.NoSuchProcess):
                process.resume()
        for host in self.hosts:
            host.end()
        self.main.close()

    def _start(self) -> Running:
        environment = {"HAKOIRI_REDIS": self.main.url, "HAKOIRI_DATA_REDIS": "auto"}
        return self._hakoiri.start("worker", env=environment)

    def _run(self, command: tuple[str, ...]) -> Running:
        return self._hakoiri.start(*command, *SLOW_REDIS, "--redis", self.main.url)

    def _any(self) -> Running:
        """A host on which all stand on their feet, again."""

        def standing() -> list[Running]:
            return [host for host in self.hosts if len(host.children()) == 2]

        wait_until(lambda: bool(standing()), what="a host on its feet")
        return self._chance.choice(standing())

    def _data_redis(self, host: Running) -> psutil.Process:
        (server,) = [child for child in host.children() if child.name() == "redis-server"]
        return server

    def _worker(self, host: Running) -> psutil.Process:
        (worker,) = [child for child in host.children() if child.name() != "redis-server"]
        return worker

    def _stop(self, process: psutil.Process) -> None:
        process.suspend()
        self._stopped.append(process)

    def _kill_for_good(self) -> None:
        host = self._any()
        # It starts no other one then.
        self._stop(psutil.Process(host.pid))
        self._data_redis(host).kill()

    def _kill_host(self) -> None:
        host = self._any()
        family = host.children()
        os.kill(host.pid, signal.SIGKILL)
        for process in family:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.hosts[self.hosts.index(host)] = self._start()

    def _restart(self, wipe: bool) -> None:
        self.main.kill()
        self.main.start(wipe=wipe)

    def _kill_coordinator(self) -> None:
        kept_before = layers_of(self._hakoiri)
        assert self.run.kill().code == -signal.SIGKILL
        kept = layers_of(self._hakoiri)
        assert_kept(kept_before, kept)
        self.run = self._run(("resume", "last"))


@pytest.fixture
def town(request: pytest.FixtureRequest, tmp_path: Path, hakoiri: Hakoiri) -> Iterator[Town]:
    made = Town(tmp_path, hakoiri, random.Random(request.param))
    yield made
    made.close()


@pytest.mark.parametrize(("town", "seed"), [(seed, seed) for seed in seeds(400, 8, 60)], indirect=["town"])
def test_a_run_survives_what_may_happen_to_hosts(
    town: Town, seed: int, hakoiri: Hakoiri, finished: FinishedRuns
) -> None:
    kinds = random.Random(seed).sample(sorted(town.kills), KILLS)
    done = []
    for depth, kind in zip(moments(seed, KILLS), kinds, strict=True):
        wait_until(reaches(hakoiri, at_depth(depth), town.run), what=f"layer {depth}, seed {seed}: {done}")
        assert town.run.process.poll() is None, town.run.finish()
        town.kills[kind]()
        done.append(kind)
    ended = town.run.finish()
    assert ended.code == 0, (done, ended)
    print(f"seed {seed}: {len(done)} kills: {', '.join(done)}\n{ended.stderr}")
    undisturbed = {"explore": finished.explored["digest"], "layers": finished.digests()}
    assert_undisturbed(hakoiri, undisturbed)
