"""Workers of two hosts, each with a data Redis of its own: what they make stays there, and others fetch it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest

from tests.system.helpers import FinishedRuns, Hakoiri
from tests.system.servers import RedisServer, Workers, started_workers


@dataclass(frozen=True)
class Host:
    """A worker, and the data Redis that it leaves pieces in."""

    data: RedisServer
    team: Workers


@dataclass(frozen=True)
class Hosts:
    """The Redis of the queue, and hosts."""

    main: RedisServer
    hosts: list[Host]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts of one worker each; the data Redis of the second asks for a password."""
    directory = tmp_path_factory.mktemp("hosts")
    command = Hakoiri(directory)
    with ExitStack() as stack:
        main = stack.enter_context(RedisServer(directory / "main"))
        found = []
        for number, password in enumerate(["", "not-for-everybody"]):
            data = stack.enter_context(RedisServer(directory / str(number), password))
            environment = {"HAKOIRI_DATA_REDIS": data.url}
            found.append(Host(data, stack.enter_context(started_workers(command, main.url, 1, environment))))
        yield Hosts(main, found)
    command.close()


def commands(server: RedisServer, name: str) -> int:
    """How often a command came to a server so far."""
    stats = server.client.info("commandstats").get(f"cmdstat_{name}", {"calls": 0})
    return int(stats["calls"])


def test_pieces_stay_on_the_host_that_made_them(hosts: Hosts, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    found = hakoiri.ask("run", "klotski", "--redis", hosts.main.url, "--farm-from", "300", "--chunk", "200")
    assert found["digest"] == finished.explored["digest"]
    fetched = [commands(host.data, "getrange") for host in hosts.hosts]
    assert min(fetched) > 100, fetched
    assert not commands(hosts.main, "getrange")
    assert not [key for host in hosts.hosts for key in host.data.client.scan_iter()], "pieces stay behind"
