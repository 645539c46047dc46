"""Hosts with addresses of their own: one is cut off, one is killed, one is slow; the run they keep ends right."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from hakoiri.worker.transport.connection import living_hosts
from tests.support.commands import Finished, Hakoiri, Running, wait_until
from tests.support.namespaces import Network, enter, why_not
from tests.support.servers import RedisServer

pytestmark = pytest.mark.slow
HOSTS = ("one", "two", "three")
#: 1,814,400 configurations in 56 layers.
PUZZLE = ("tiles", "-o", "rows=2", "-o", "columns=5")
SPACE = (*PUZZLE, "--farm", "1", "--hosts", "all")


class Hosts:
    """A Redis and a run on one machine, and a host with a data Redis on each of three others."""

    def __init__(self, directory: Path, hakoiri: Hakoiri, network: Network) -> None:
        self.network, self._hakoiri, self._directory = network, hakoiri, directory
        with network.inside("control"):
            self.main = RedisServer(directory / "redis", "secret", host=network.addresses["control"])
        self.teams = {name: self._start(name) for name in HOSTS}
        wait_until(lambda: len(self.data_redis()) == len(HOSTS), what="all hosts")

    def start_again(self, name: str) -> None:
        """Start a host that was killed."""
        self.teams[name] = self._start(name)

    def _start(self, name: str) -> Running:
        before = partial(enter, self.network.namespace(name))
        environment = {"HAKOIRI_REDIS": self.main.url, "HAKOIRI_DATA_REDIS": "auto"}
        store = str(self._directory / name)
        return self._hakoiri.start("worker", "--store", store, env=environment, before=before)

    def data_redis(self) -> dict[str, str]:
        """The URL of the data Redis of each living host."""
        with self.network.inside("control"):
            urls = [beat.url for beat in living_hosts(self.main.client).values()]
        of = {address: name for name, address in self.network.addresses.items()}
        return {of[url.rpartition("@")[2].partition(":")[0]]: url for url in urls if url}

    def start(self, *arguments: str) -> Running:
        """A run that is driven from the host of the Redis."""
        before = partial(enter, self.network.namespace("control"))
        return self._hakoiri.start("run", *arguments, "--redis", self.main.url, "--json", before=before)

    def await_layer(self, depth: int, running: Running) -> None:
        """Return when that many layers are made, and more are to come."""
        wait_until(lambda: self._hakoiri.state().depth >= depth or running.process.poll() is not None)
        assert running.process.poll() is None, running.finish()

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
    assert ended.json["digest"] == hakoiri.ask("run", *PUZZLE, data=hakoiri.data / "threads")["digest"]


@pytest.mark.ci_slow
def test_a_host_that_is_killed_in_mid_layer(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """Its process, its supervisor and its data Redis."""
    running = hosts.start(*SPACE)
    hosts.await_layer(15, running)
    hosts.kill("three")
    running.wait_for("waiting for ")
    hosts.start_again("three")
    ended = running.finish()
    assert "restarts" in ended.stderr
    assert_right(ended, hakoiri)


def test_a_host_that_is_cut_off_in_mid_layer(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """The run waits until it is back."""
    running = hosts.start(*SPACE)
    hosts.await_layer(15, running)
    hosts.network.cut("two")
    running.wait_for("waiting for ")
    assert set(hosts.data_redis()) == {"one", "three"}
    hosts.network.mend("two")
    ended = running.finish()
    assert "restarts" in ended.stderr
    assert_right(ended, hakoiri)
