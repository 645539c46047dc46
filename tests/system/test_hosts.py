"""Two hosts, each with a data Redis of its own, whose clocks differ: messages go there, whatever becomes of them."""

import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

import psutil
import pytest
import redis

from hakoiri.worker.hosts import wire
from hakoiri.worker.hosts.requests import HostRequest
from hakoiri.worker.transport import data_redis
from hakoiri.worker.transport.connection import inbox_key, living_hosts
from hakoiri.worker.transport.data_redis import DataRedisPool
from tests.support.commands import PATIENCE_SECONDS, Hakoiri, Running, wait_until
from tests.support.process_setup import set_clock, stand_still_after_layer
from tests.support.servers import RedisServer, Workers, started_host

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
        """The number of messages that came to it so far."""
        return int(self.data.info("commandstats").get("cmdstat_rpush", {"calls": 0})["calls"])


@dataclass(frozen=True)
class Hosts:
    """The Redis of the queue, and hosts."""

    main: RedisServer
    hosts: list[Host]

    def start(self, hakoiri: Hakoiri, *words: str, before: Callable[[], object] | None = None) -> Running:
        """A run that they keep from the first layer on."""
        hosted = ("--redis", self.main.url, "--hosts", "all", "--farm", "1", "--json")
        return hakoiri.start("run", *words, *hosted, before=before)


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


@pytest.mark.ci_slow
def test_messages_go_to_the_data_redis_of_their_hosts(hosts: Hosts, hakoiri: Hakoiri) -> None:
    before = [host.received() for host in hosts.hosts]
    ended = hosts.start(hakoiri, "klotski", "--merge-mirrors").finish()
    assert ended.json["digest"] == hakoiri.ask("run", "klotski", "--merge-mirrors")["digest"]
    assert "restarts" not in ended.stderr, "clocks are not compared"
    assert all(host.received() > count for host, count in zip(hosts.hosts, before, strict=True))
    assert not hosts.main.client.keys("hakoiri:*:inbox:*")
    assert not [key for host in hosts.hosts for key in host.data.scan_iter()], "messages stay behind"
    assert not hosts.main.client.keys("rq:queue:*"), "requests stay behind"
    run = ended.json["run"]
    work_log = hakoiri.ask("status", run)["work_log"]
    assert sorted(host["host"] for host in work_log["kept"]["hosts"]) == sorted(host.name for host in hosts.hosts)
    shown = hakoiri.here("status", run).stdout
    assert all(host.name in shown for host in hosts.hosts)
    assert "not-for-everybody" not in shown + ended.stderr


@pytest.mark.ci_slow
@pytest.mark.parametrize("whole", [True, pytest.param(False, marks=SLOW)], ids=["other-bytes", "cut-off"])
def test_messages_that_are_damaged_are_sent_again(whole: bool, hosts: Hosts, hakoiri: Hakoiri) -> None:
    """Their layer is begun anew: the one after the pause, or the next if that was expanded before."""
    receiver, space = hosts.hosts[1], ("tiles", "-o", "rows=2", "-o", "columns=4")
    running = hosts.start(hakoiri, *space, before=partial(stand_still_after_layer, 20))
    running.stands_still()
    # A message that was sent ahead of a layer begun anew may stay for some minutes.
    before, process = set(receiver.data.keys()), receiver.process
    process.suspend()
    try:
        running.send(signal.SIGCONT)
        # They wait until the host goes on.
        (key,) = wait_until(lambda: set(receiver.data.keys("hakoiri:*:inbox:*")) - before, what="messages")
        (message,) = receiver.data.lrange(key, 0, 0)
        assert isinstance(message, bytes)
        receiver.data.execute_command("LSET", key, 0, message[:9] + b"\xff" + (message[10:] if whole else b""))
    finally:
        process.resume()
    ended = running.finish()
    assert (ended.code, len(re.findall(r"layer 2[12] restarts\n", ended.stderr))) == (0, 1), ended
    assert ended.json["digest"] == hakoiri.ask("run", *space)["digest"]


@SLOW
def test_a_data_redis_that_is_killed_is_replaced(hosts: Hosts, hakoiri: Hakoiri) -> None:
    """Its blocks are made again."""
    first = hosts.hosts[0]
    old, before = psutil.Process(first.data.info("server")["process_id"]), first.received()
    running = hosts.start(hakoiri, "tiles", "-o", "rows=2", "-o", "columns=5")
    wait_until(lambda: first.received() > before + 10 or running.process.poll() is not None, what="messages")
    old.kill()
    ended = running.finish()
    assert ended.code == 0, ended
    assert ended.json["digest"] == hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=5")["digest"]
    first.team.supervisor.wait_for("the data Redis ended; an empty one replaces it")
    assert first.data.info("server")["process_id"] != old.pid


@pytest.mark.ci_slow
def test_a_message_waits_while_the_data_redis_of_its_receiver_is_full(redis_server: RedisServer) -> None:
    """And nothing is evicted for it."""
    client = redis_server.client
    request = HostRequest({"run": "a", "layout": "u32"}, ["x"], 0, [0], b"", [0], 1, session="s")
    client.set("other", bytes(1_000_000))
    client.config_set("maxmemory", client.info("memory")["used_memory"] - 500_000)
    sender = Thread(target=wire.Mail(DataRedisPool(client), request).send, args=(0, b"message"), daemon=True)
    sender.start()
    # Refused and tried again.
    wait_until(lambda: client.info("errorstats").get("errorstat_OOM", {"count": 0})["count"] > 1)
    assert (sender.is_alive(), client.exists("other")) == (True, 1)
    client.delete("other")
    sender.join(PATIENCE_SECONDS)
    assert client.lrange(inbox_key("s", "x", 1, 0), 0, -1) == [b"message"]


# What a host is not started with


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--data-redis", "redis://"), "the URL of a data Redis is malformed; expected redis://:PASSWORD@HOST:PORT/0"),
        (("--data-redis", "redis://:hidden@127.0.0.1:1/0"), "no Redis answers at redis://127.0.0.1:1/0"),
        (("--data-redis", "auto", "--data-host", "203.0.113.9"), "203.0.113.9 is not an address of this machine"),
        (("--data-host", "127.0.0.1"), "--data-host and --data-memory need --data-redis auto"),
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


@pytest.mark.ci_slow
def test_a_host_that_comes_back_waits_for_redis(redis_server: RedisServer, hakoiri: Hakoiri, tmp_path: Path) -> None:
    store = tmp_path / "host"
    with started_host(hakoiri, redis_server.url, store):
        (name,) = living_hosts(redis_server.client)
    redis_server.kill()
    command = ("worker", "--store", str(store), "--data-redis", "auto", "--redis", redis_server.url)
    again = hakoiri.start(*command)
    again.wait_for("this host waits for it")
    redis_server.start()
    wait_until(lambda: name in living_hosts(redis_server.client))
    again.wait_for(f"named {name}, for")
    again.end()
    redis_server.kill()
    again = hakoiri.start(*command)
    again.wait_for("this host waits for it")
    again.send(signal.SIGINT)
    ended = again.finish()
    # Before it has begun to wait, the signal ends it.
    assert ended.code in (0, 128 + signal.SIGINT, -signal.SIGINT), ended
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("word", ["new directory", "malformed URL"])
def test_a_host_waits_for_no_redis_that_was_never_there(word: str, hakoiri: Hakoiri, tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{data_redis.free_port('127.0.0.1')}/0"
    if word == "malformed URL":
        url = "redis://127.0.0.1:port/0"
        (tmp_path / "host").write_text("a-host\n", encoding="utf-8")
    refused = hakoiri.here("worker", "--store", str(tmp_path), "--redis", url, check=False)
    assert refused.code == 1


def test_a_worker_that_keeps_no_ranges_has_no_data_redis(redis_server: RedisServer, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here("worker", "--redis", redis_server.url, "--data-redis", "auto", check=False)
    assert (refused.code, "add --store DIR" in refused.stderr) == (2, True), refused


def test_a_data_redis_that_other_hosts_cannot_reach_is_refused(
    redis_server: RedisServer, hakoiri: Hakoiri, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(data_redis, "address_towards", lambda _: "10.0.0.2")
    options = ("--store", str(tmp_path / "host"), "--redis", redis_server.url, "--data-redis", redis_server.url)
    refused = hakoiri.here("worker", *options, check=False)
    assert (refused.code, "cannot be reached from other" in refused.stderr) == (2, True), refused
