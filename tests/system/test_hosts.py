"""Two hosts, each with a data Redis of its own, whose clocks differ: messages go there, whatever becomes of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import pytest
import redis

from hakoiri.worker.transport import data_redis
from hakoiri.worker.transport.connection import living_hosts
from tests.support.forking import set_clock
from tests.system.helpers import FinishedRuns, Hakoiri, Running, wait_until
from tests.system.servers import RedisServer, Workers, started_host

SLOW = pytest.mark.slow
#: Seconds.
DAY = 86_400.0


@dataclass(frozen=True)
class Host:
    """A host, and the data Redis at which it takes messages."""

    name: str
    data: redis.Redis
    team: Workers

    @property
    def process(self) -> psutil.Process:
        """The one that keeps its ranges."""
        (process,) = (child for child in self.team.supervisor.children() if child.name() != "redis-server")
        return process

    def received(self) -> int:
        """How many messages came to it so far."""
        return int(self.data.info("commandstats").get("cmdstat_rpush", {"calls": 0})["calls"])


@dataclass(frozen=True)
class Hosts:
    """The Redis of the queue, and hosts."""

    main: RedisServer
    hosts: list[Host]

    def start(self, hakoiri: Hakoiri, *words: str) -> Running:
        """A run that they keep from the first layer on."""
        return hakoiri.start("run", *words, "--redis", self.main.url, "--hosts", "all", "--farm-from", "1", "--json")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts of one thread each: the first starts a data Redis itself, the second has one with a password.

    The clock of the first is a day ahead, that of the second is slow by a day.
    """
    directory = tmp_path_factory.mktemp("hosts")
    command = Hakoiri(directory)
    with ExitStack() as stack:
        main = stack.enter_context(RedisServer(directory / "main"))
        named = stack.enter_context(RedisServer(directory / "data", "not-for-everybody"))
        found = Hosts(main, [])
        for url, ahead in (("auto", DAY), (named.url, -DAY)):
            known = living_hosts(main.client).keys()
            store, clock = directory / f"host-{len(known)}", partial(set_clock, ahead)
            team = stack.enter_context(started_host(command, main.url, store, "--data-redis", url, before=clock))
            ((name, beat),) = ((name, beat) for name, beat in living_hosts(main.client).items() if name not in known)
            found.hosts.append(Host(name, stack.enter_context(redis.Redis.from_url(beat.url)), team))
        yield found
    command.close()


def test_messages_go_to_the_data_redis_of_their_hosts(hosts: Hosts, hakoiri: Hakoiri, finished: FinishedRuns) -> None:
    before = [host.received() for host in hosts.hosts]
    ended = hosts.start(hakoiri, "klotski", "--merge-mirrors").finish()
    assert ended.json["digest"] == hakoiri.ask("run", "klotski", "--merge-mirrors")["digest"]
    assert "begun anew" not in ended.stderr, "nobody compares clocks"
    assert all(host.received() > count for host, count in zip(hosts.hosts, before, strict=True))
    assert not hosts.main.client.keys("hakoiri:*:inbox:*")
    assert not [key for host in hosts.hosts for key in host.data.scan_iter()], "messages stay behind"
    run = ended.json["run"]
    places = hakoiri.ask("status", run)["places"]
    assert sorted(host["host"] for host in places["kept"]["hosts"]) == sorted(host.name for host in hosts.hosts)
    shown = hakoiri.here("status", run).stdout
    assert all(host.name in shown for host in hosts.hosts)
    assert "not-for-everybody" not in shown + ended.stderr


@pytest.mark.parametrize("harm", ["other bytes", pytest.param("cut off", marks=SLOW), pytest.param("gone", marks=SLOW)])
def test_messages_that_are_damaged_are_sent_again(harm: str, hosts: Hosts, hakoiri: Hakoiri) -> None:
    """The layer is begun anew."""
    receiver, board = hosts.hosts[1], ("sliding", "--from", "AABB/C..D/EEFF")
    process = receiver.process
    process.suspend()
    try:
        running = hosts.start(hakoiri, *board)
        # They wait until the host goes on.
        (key,) = wait_until(lambda: receiver.data.keys("hakoiri:*:inbox:*"), what="messages")
        (message,) = receiver.data.lrange(key, 0, 0)
        if harm == "gone":
            receiver.data.delete(key)
        else:
            receiver.data.lset(key, 0, message[:9] + b"\xff" + (message[10:] if harm == "other bytes" else b""))
    finally:
        process.resume()
    ended = running.finish()
    assert (ended.code, "begun anew" in ended.stderr) == (0, True), ended
    assert ended.json["digest"] == hakoiri.ask("run", *board)["digest"]


@SLOW
def test_a_data_redis_that_is_killed_is_replaced(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """What lay there is made again."""
    first = hosts.hosts[0]
    old, before = psutil.Process(first.data.info("server")["process_id"]), first.received()
    running = hosts.start(hakoiri, "tiles", "-o", "rows=2", "-o", "columns=5")
    wait_until(lambda: first.received() > before + 10 or running.process.poll() is not None, what="messages")
    old.kill()
    ended = running.finish()
    assert ended.code == 0, ended
    assert ended.json["digest"] == hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=5")["digest"]
    first.team.supervisor.wait_for("the data Redis had ended; another is in its place, empty")
    assert first.data.info("server")["process_id"] != old.pid


@SLOW
@pytest.mark.parametrize("scarce", [1, 2])
def test_messages_for_which_data_redis_have_too_little_room_wait(scarce: int, hosts: Hosts, hakoiri: Hakoiri) -> None:
    """It is enough that one of them has little; none evicts anything, and what each may hold is kept to."""
    short = [host.data for host in hosts.hosts[:scarce]]
    usual = [client.config_get("maxmemory")["maxmemory"] for client in short]
    full = [int(client.info("errorstats").get("errorstat_OOM", {"count": 0})["count"]) for client in short]
    for client in short:
        client.config_set("maxmemory", client.info("memory")["used_memory"] + 100_000)
    try:
        ended = hosts.start(hakoiri, "cube2").finish()
        refused = [int(client.info("errorstats").get("errorstat_OOM", {"count": 0})["count"]) for client in short]
    finally:
        for client, most in zip(short, usual, strict=True):
            client.config_set("maxmemory", most)
    assert ended.code == 0, ended
    assert all(now > then for now, then in zip(refused, full, strict=True)), "they had room enough"
    assert "begun anew" not in ended.stderr
    assert ended.json["digest"] == hakoiri.ask("run", "cube2")["digest"]
    assert [client.info("stats")["evicted_keys"] for client in short] == [0] * scarce


# What a host is not started with


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
    options: tuple[str, ...], said: str, redis_server: RedisServer, hakoiri: Hakoiri, tmp_path: Path
) -> None:
    store = ("--store", str(tmp_path / "host"))
    refused = hakoiri.here("worker", *store, "--redis", redis_server.url, *options, check=False)
    assert refused.code != 0
    assert said in " ".join(refused.stderr.split())
    assert "hidden" not in refused.stderr


def test_a_worker_that_keeps_no_ranges_has_no_data_redis(redis_server: RedisServer, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("worker", "--redis", redis_server.url, "--data-redis", "auto", check=False)
    assert (refused.code, "add --store DIR" in refused.stderr) == (2, True), refused


def test_a_data_redis_that_other_hosts_cannot_reach_is_refused(
    redis_server: RedisServer, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(data_redis, "address_towards", lambda _: "10.0.0.2")
    options = ("--store", str(tmp_path / "host"), "--redis", redis_server.url, "--data-redis", redis_server.url)
    refused = hakoiri.here("worker", *options, check=False)
    assert (refused.code, "is reached from this machine alone" in refused.stderr) == (2, True), refused
