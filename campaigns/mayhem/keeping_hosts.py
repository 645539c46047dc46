"""The hosts of one trial, and the blows that can hit who takes part in its run."""

import shutil
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import cast

import psutil

from campaigns.mayhem.scene import Scene
from campaigns.mayhem.works import the_run
from hakoiri.coordinator.hosts.range_map import NOBODY, RangeMap
from hakoiri.errors import StorageError
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import HOSTS_KEY, META
from hakoiri.worker.transport.connection import living_hosts
from tests.support.commands import Running, wait_until
from tests.support.namespaces import Network, enter
from tests.support.process_setup import be_impatient
from tests.support.servers import RedisServer

_LEAST_STILL, _MOST_STILL = 1.0, 10.0
#: Where the coordinator and its Redis are, and the hosts.
CONTROL, NAMES = "control", ("one", "two", "three")


class KeepingHosts:
    """Two or three hosts of one thread, each with its directory, and the command that drives the run.

    The second host has a data Redis of its own; others may have one. In a `network` each host is a host of its own, and
    all have one.
    """

    def __init__(self, scene: Scene, network: Network | None = None) -> None:
        self._scene, self._network = scene, network
        address = network.addresses[CONTROL] if network else "127.0.0.1"
        scene.redis = RedisServer(scene.place / "redis", "secret" if network else "", host=address)
        scene.ended.callback(scene.redis.close)
        scene.url = scene.redis.url
        self._own = [True, *(bool(network) or scene.chance.random() < 0.5 for _ in range(scene.chance.randint(1, 2)))]
        #: Whose disk was lost last.
        self._lost = ""
        scene.hosts = [self._start(number) for number in range(len(self._own))]
        wait_until(lambda: len(living_hosts(scene.one_redis.client)) == len(self._own), what="the hosts")
        if network:
            scene.before = partial(enter, network.namespace(CONTROL))
        elif scene.chance.random() < 0.5:
            scene.before = be_impatient
        self.running = scene.drive()

    def _start(self, number: int) -> Running:
        scene, own = self._scene, ("--data-redis", "auto") if self._own[number] else ()
        line = ("worker", "--store", str(self.directory(number)), *own)
        before = partial(enter, self._network.namespace(NAMES[number])) if self._network else None
        return scene.hakoiri.start(*line, env={"HAKOIRI_REDIS": scene.url}, before=before)

    def directory(self, number: int) -> str:
        return str(self._scene.place / f"host-{number}")

    def kill_process(self) -> None:
        """SIGKILL to the process of one host; its supervisor starts another."""
        self._scene.kill_one(data_redis=False)

    def kill_data_redis(self) -> None:
        """SIGKILL to a data Redis."""
        self._scene.kill_one(data_redis=True)

    def kill_host(self) -> None:
        """SIGKILL to all processes of a host, which is started again on its directory."""
        number = self._scene.chance.randrange(len(self._own))
        self._scene.hosts[number].end()
        self._scene.hosts[number] = self._start(number)

    def kill_redis(self) -> None:
        """SIGKILL to the Redis of the queue, which comes back empty."""
        self._scene.restart_redis(wipe=True)

    def kill_coordinator(self) -> None:
        """SIGKILL to the command that drives the run; another one goes on."""
        self.running.kill()
        self.running = self._scene.drive()

    def kill_all(self) -> None:
        """SIGKILL to all of these at once."""
        self.running.kill()
        for host in self._scene.hosts:
            host.end()
        self.kill_redis()
        self._scene.hosts = [self._start(number) for number in range(len(self._own))]
        self.await_one()
        self.running = self._scene.drive()

    def lose_disk(self) -> None:
        """End a host, remove its directory, and start one in its place; it is drained, or waited for in vain.

        Nothing happens if a run has ended with one host: no host joins a whole space that is under way.
        """
        self._await_copies()
        if not self._has_copies():
            return
        number, chance = self._scene.chance.randrange(len(self._own)), self._scene.chance
        self._lost = name = self._name(number)
        self._scene.hosts[number].end()
        shutil.rmtree(self.directory(number))
        self._scene.hosts[number] = self._start(number)
        if chance.random() < 0.5:
            self._drain(name)

    def drain_lost(self) -> None:
        """Drain the host that was lost last, if a run that has ended still names it."""
        with Ledger(the_run(self._scene.work, self._scene.hakoiri.data)) as run:
            is_named = self._lost in run.keepers()
        if is_named:
            self._drain(self._lost)

    def drain(self) -> None:
        """Have a host leave, and start it again."""
        self._await_copies()
        number = self._scene.chance.randrange(len(self._own))
        self._drain(self._name(number))
        self._scene.hosts[number].end()
        self._scene.hosts[number] = self._start(number)

    def _drain(self, name: str) -> None:
        finished = self._scene.hakoiri.start("drain", name, "--redis", self._scene.url).finish()
        if finished.code:
            self._scene.outcome.faults.append(f"not drained: {finished.stderr}")

    def with_parts(self) -> list[str]:
        """The names of the hosts whose directories hold a part of a run."""
        numbers = range(len(self._own))
        return [self._name(each) for each in numbers if [*Path(self.directory(each)).glob("run-*")]]

    def _name(self, number: int) -> str:
        file = Path(self.directory(number)) / "host"
        wait_until(file.exists, what="the name of a host")
        return file.read_text(encoding="utf-8").strip()

    def _await_copies(self) -> None:
        """Return when each range is at two hosts, or the run has ended."""
        wait_until(lambda: self._has_copies() or self.running.process.poll() is not None, what="copies")

    def _has_copies(self) -> bool:
        with (
            suppress(FileNotFoundError, StorageError),
            Ledger(the_run(self._scene.work, self._scene.hakoiri.data)) as run,
        ):
            range_map = RangeMap(**run.read_record(META, HOSTS_KEY, "record of its hosts"))
            is_done = range_map.settled and not range_map.due and NOBODY not in range_map.copies
            return is_done and self._lost not in range_map.hosts
        return False

    def await_one(self) -> None:
        """Return when a host lives."""
        wait_until(lambda: living_hosts(self._scene.one_redis.client), what="a host")

    def stop(self) -> None:
        """SIGSTOP to the process of a host, and SIGCONT some seconds later."""
        if processes := self._scene.children(data_redis=False):
            process = self._scene.chance.choice(processes)
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                time.sleep(self._scene.chance.uniform(_LEAST_STILL, _MOST_STILL))
                process.resume()

    def cut_link(self) -> None:
        """Cut the link of a host, and mend it some seconds later."""
        network, name = cast(Network, self._network), NAMES[self._scene.chance.randrange(len(self._own))]
        network.cut(name)
        time.sleep(self._scene.chance.uniform(_LEAST_STILL, _MOST_STILL))
        network.mend(name)

    def slow_link(self) -> None:
        """Let little through the link of a host from now on."""
        name, chance = NAMES[self._scene.chance.randrange(len(self._own))], self._scene.chance
        cast(Network, self._network).limit(name, chance.choice((1_000_000, 10_000_000)))
