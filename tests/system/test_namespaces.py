"""Workers on hosts with addresses of their own: one is cut off, one is killed, one is slow; the run ends right."""

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
import redis

from hakoiri.worker.transport.connection import living_workers
from tests.support.namespaces import Network, enter, why_not
from tests.system.helpers import Finished, Hakoiri, Running, wait_until
from tests.system.servers import RedisServer

pytestmark = pytest.mark.slow
HOSTS = ("one", "two", "three")
#: 3,674,160 configurations in 12 layers, of which the large ones are cut into some dozens of chunks.
SPACE = ("cube2", "--farm-from", "5000", "--chunk", "20000")


class Hosts:
    """A Redis and a run on one host, and a worker with a data Redis on each of three others."""

    def __init__(self, directory: Path, hakoiri: Hakoiri, network: Network) -> None:
        self.network, self._hakoiri = network, hakoiri
        with network.inside("control"):
            self.main = RedisServer(directory / "redis", "secret", host=network.addresses["control"])
        self.teams = {name: self._start(name) for name in HOSTS}
        wait_until(lambda: len(self.data_redis()) == len(HOSTS), what="a worker on each host")

    def _start(self, name: str) -> Running:
        before = partial(enter, self.network.namespace(name))
        environment = {"HAKOIRI_REDIS": self.main.url, "HAKOIRI_DATA_REDIS": "auto"}
        return self._hakoiri.start("worker", env=environment, before=before)

    def data_redis(self) -> dict[str, str]:
        """The URL of the data Redis of each host with a living worker."""
        with self.network.inside("control"):
            urls = living_workers(self.main.client).values()
        of = {address: name for name, address in self.network.addresses.items()}
        return {of[url.rpartition("@")[2].partition(":")[0]]: url for url in urls if url}

    def start(self, *arguments: str) -> Running:
        """A run that is driven from the host of the Redis."""
        before = partial(enter, self.network.namespace("control"))
        return self._hakoiri.start("run", *arguments, "--redis", self.main.url, "--json", before=before)

    def await_pieces(self, name: str, running: Running, least: int = 20) -> None:
        """Return in the middle of a layer: pieces lie on a host."""
        with self.network.inside(name), redis.Redis.from_url(self.data_redis_of(name)) as client:
            wait_until(lambda: client.dbsize() >= least or running.process.poll() is not None, what="pieces")
        assert running.process.poll() is None, running.finish()

    def data_redis_of(self, name: str) -> str:
        """The URL of the data Redis of a host."""
        return self.data_redis()[name]

    def kill(self, name: str) -> None:
        """Everything on a host ends at once."""
        family = [psutil.Process(self.teams[name].pid), *self.teams[name].children()]
        for process in family:
            process.kill()
        self.teams[name].finish()

    def close(self) -> None:
        """End the Redis; what else runs, the command line ends."""
        with self.network.inside("control"):
            self.main.close()


@pytest.fixture
def hosts(tmp_path: Path, hakoiri: Hakoiri) -> Iterator[Hosts]:
    if why := why_not():
        pytest.skip(f"no network namespaces here: {why}")
    with Network(["control", *HOSTS]) as network:
        made = Hosts(tmp_path, hakoiri, network)
        yield made
        made.close()
        hakoiri.close()


def assert_right(ended: Finished, hakoiri: Hakoiri) -> None:
    """The run is complete, and its digest that of a run by threads."""
    assert ended.code == 0, ended
    assert ended.json["digest"] == hakoiri.ask("run", "cube2", data=hakoiri.data / "threads")["digest"]


def test_a_host_that_is_cut_off_in_mid_layer(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """What lay there is made again by the others, and it works again when it is back."""
    running = hosts.start(*SPACE)
    hosts.await_pieces("two", running)
    began = time.monotonic()
    hosts.network.cut("two")
    ended = running.finish()
    print(f"ended {time.monotonic() - began:.1f} s after the cut\n{ended.stderr}")
    assert_right(ended, hakoiri)
    assert f"{hosts.network.addresses['two']}:" in ended.stderr
    assert "left out until it answers" in ended.stderr
    assert set(hosts.data_redis()) == {"one", "three"}
    hosts.network.mend("two")
    wait_until(lambda: set(hosts.data_redis()) == set(HOSTS), what="the host that was cut off")


def test_a_host_that_is_killed_in_mid_layer(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """Its worker, its supervisor and its data Redis."""
    running = hosts.start(*SPACE)
    hosts.await_pieces("three", running)
    hosts.kill("three")
    ended = running.finish()
    print(ended.stderr)
    assert_right(ended, hakoiri)
    assert f"{hosts.network.addresses['three']}:" in ended.stderr
    assert "left out until it answers" in ended.stderr


def test_a_host_behind_a_slow_link(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """10 Mbit/s: it takes its time, and nobody is left out for that."""
    hosts.network.limit("one", 10_000_000)
    ended = hosts.start(*SPACE).finish()
    print(ended.stderr)
    assert_right(ended, hakoiri)
    assert "left out" not in ended.stderr


def test_two_hosts_that_do_not_reach_each_other(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """All others reach both, so who is to blame is not clear; what one needs of the other is made again elsewhere."""
    running = hosts.start(*SPACE)
    hosts.await_pieces("two", running)
    began = time.monotonic()
    hosts.network.part("one", "two")
    ended = running.finish()
    print(f"ended {time.monotonic() - began:.1f} s after they were parted\n{ended.stderr}")
    assert_right(ended, hakoiri)
    assert "does not answer" in ended.stderr
