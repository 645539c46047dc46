"""Workers of two hosts, each with a data Redis of its own: what they make stays there, and others fetch it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

import psutil
import pytest
import redis

from hakoiri.worker.transport import data_redis
from hakoiri.worker.transport.connection import living_workers, without_password
from tests.support.forking import set_clock
from tests.system.helpers import FinishedRuns, Hakoiri, wait_until
from tests.system.servers import RedisServer, Workers, started_workers

#: Seconds.
DAY = 86_400.0


@dataclass(frozen=True)
class Host:
    """A worker, and the data Redis that it leaves pieces in."""

    data: redis.Redis
    team: Workers


@dataclass(frozen=True)
class Hosts:
    """The Redis of the queue, and hosts."""

    main: RedisServer
    hosts: list[Host]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts of one worker each: the first starts a data Redis itself, the second has one with a password.

    The clock of the first is a day ahead, that of the second is slow by a day.
    """
    directory = tmp_path_factory.mktemp("hosts")
    command = Hakoiri(directory)
    with ExitStack() as stack:
        main = stack.enter_context(RedisServer(directory / "main"))
        named = stack.enter_context(RedisServer(directory / "data", "not-for-everybody"))
        teams = [
            stack.enter_context(
                started_workers(command, main.url, 1, {"HAKOIRI_DATA_REDIS": url}, before=partial(set_clock, ahead))
            )
            for url, ahead in (("auto", DAY), (named.url, -DAY))
        ]
        urls = living_workers(main.client).values()
        clients = [stack.enter_context(redis.Redis.from_url(url)) for url in sorted(urls, key=named.url.__eq__)]
        yield Hosts(main, list(map(Host, clients, teams)))
    command.close()


def commands(client: redis.Redis, name: str) -> int:
    """How often a command came to a server so far."""
    stats = client.info("commandstats").get(f"cmdstat_{name}", {"calls": 0})
    return int(stats["calls"])


def test_pieces_stay_on_the_host_that_made_them(hosts: Hosts, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    ended = hakoiri.here("run", "klotski", "--redis", hosts.main.url, "--farm-from", "500", "--chunk", "100", "--json")
    assert ended.json["digest"] == finished.explored["digest"]
    assert "in no queue" not in ended.stderr, "nobody compares clocks"
    fetched = [commands(host.data, "getrange") for host in hosts.hosts]
    assert all(fetched), fetched
    assert not commands(hosts.main.client, "getrange")
    assert not [key for host in hosts.hosts for key in host.data.scan_iter()], "pieces stay behind"
    places = hakoiri.ask("status", "last")["places"]
    assert places == hakoiri.ask("runs")["runs"][-1]["places"]
    assert sum(made["layers"] for made in places["layers"].values()) == 168
    urls = sorted(without_password(url) for url in living_workers(hosts.main.client).values())
    (host,) = places["hosts"]
    assert (host["workers"], sorted(host["data_redis"])) == (2, urls)
    assert host["chunks"].keys() == {"spread", "gather"}
    shown = hakoiri.here("status", "last").stdout
    assert f"by 2 workers of {host['host']}, pieces in redis://" in " ".join(shown.split())
    assert "not-for-everybody" not in shown


@pytest.mark.slow
def test_a_data_redis_that_is_killed_is_replaced(hosts: Hosts, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    """What lay there is made again, by whoever has time."""
    first = hosts.hosts[0]
    old = psutil.Process(first.data.info("server")["process_id"])
    running = hakoiri.start("run", "klotski", "--redis", hosts.main.url, "--chunk", "100", "--json")
    wait_until(lambda: first.data.dbsize() >= 3 or running.process.poll() is not None, what="pieces")
    old.kill()
    ended = running.finish()
    assert ended.code == 0, ended
    assert ended.json["digest"] == finished.explored["digest"]
    first.team.supervisor.wait_for("the data Redis had ended; another is in its place, empty")
    assert first.data.info("server")["process_id"] != old.pid


@pytest.mark.slow
@pytest.mark.parametrize("scarce", [1, 2])
def test_layers_for_which_data_redis_have_too_little_room_are_made_in_passes(
    scarce: int, hosts: Hosts, hakoiri: Hakoiri
) -> None:
    """It is enough that one of them has little; none evicts anything, and what each may hold is kept to."""
    expected = hakoiri.ask("run", "cube2")["digest"]
    hakoiri.here("delete", "last", "--yes")
    short = [host.data for host in hosts.hosts[:scarce]]
    for client in short:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 2_000_000)
    ended = hakoiri.start_run_by_passes(hosts.main.url).finish()
    assert ended.code == 0, ended
    assert ended.json["digest"] == expected
    assert "left out" not in ended.stderr
    assert [client.info("stats")["evicted_keys"] for client in short] == [0] * scarce


# What a worker is not started with


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--data-redis", "redis://"), "no URL of a data Redis; write redis://:PASSWORD@HOST:PORT/0"),
        (("--data-redis", "redis://:hidden@127.0.0.1:1/0"), "no Redis answers at redis://127.0.0.1:1/0"),
        (("--data-redis", "auto", "--data-host", "203.0.113.9"), "203.0.113.9 is no address of this machine"),
        (("--data-host", "127.0.0.1"), "--data-host and --data-memory say how the data Redis is"),
    ],
)
def test_what_cannot_be_a_data_redis_is_refused(
    options: tuple[str, ...], said: str, redis_server: RedisServer, hakoiri: Hakoiri
) -> None:
    refused = hakoiri.here("worker", "--redis", redis_server.url, *options, check=False)
    assert refused.code != 0
    assert said in " ".join(refused.stderr.split())
    assert "hidden" not in refused.stderr


def test_a_data_redis_that_other_hosts_cannot_reach_is_refused(
    redis_server: RedisServer, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_redis, "address_towards", lambda _: "10.0.0.2")
    options = ("--redis", redis_server.url, "--data-redis", redis_server.url)
    refused = hakoiri.here("worker", *options, check=False)
    assert (refused.code, "is reached from this machine alone" in refused.stderr) == (2, True), refused
