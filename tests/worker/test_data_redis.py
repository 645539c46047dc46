"""The redis-server that a supervisor starts for its host."""

import os
import secrets
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, cast

import psutil
import pytest
import redis

from hakoiri.coordinator.hosts.hosts import HostLostError, HostPool
from hakoiri.coordinator.session.resources import Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.errors import PayloadError, WorkerError
from hakoiri.puzzles.registry import PuzzleSpec
from hakoiri.worker.transport import connection
from hakoiri.worker.transport.connection import (
    HOSTS,
    HostBeat,
    living_hosts,
    require_own_name,
    start_heartbeat,
    worker_key,
)
from hakoiri.worker.transport.data_redis import (
    MAIN,
    DataRedis,
    DataRedisPool,
    data_redis_number,
    free_port,
    is_loopback,
    open_data_redis,
)
from hakoiri.worker.transport.payload import packed, unpacked
from tests.support.commands import PATIENCE_SECONDS, wait_until
from tests.support.forking import SERVER
from tests.support.servers import RedisServer

MEMORY = 50 << 20


@pytest.fixture
def server() -> Iterator[DataRedis]:
    with DataRedis("127.0.0.1", MEMORY) as started:
        yield started


def process_of(server: DataRedis) -> psutil.Process:
    with redis.Redis.from_url(server.url) as client:
        return psutil.Process(client.info("server")["process_id"])


def test_its_port_is_free_and_none_that_is_dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    dealt_out = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()[0])
    with socket.create_server(("127.0.0.1", free_port("127.0.0.1"))) as taken:
        used, free = taken.getsockname()[1], free_port("127.0.0.1")
        assert used < dealt_out
        tried = iter([used, used, free])
        monkeypatch.setattr(secrets, "choice", lambda ports: next(tried))
        assert free_port("127.0.0.1") == free


def test_it_takes_no_more_memory_and_evicts_and_writes_nothing(server: DataRedis) -> None:
    with redis.Redis.from_url(server.url) as client:
        settings = client.config_get("maxmemory", "maxmemory-policy", "save", "appendonly", "bind")
    expected = {"maxmemory": str(MEMORY), "maxmemory-policy": "noeviction", "save": "", "appendonly": "no"}
    assert settings == expected | {"bind": "127.0.0.1"}


def test_nobody_gets_in_without_its_password_and_no_argument_shows_it(server: DataRedis) -> None:
    password = str(redis.connection.parse_url(server.url)["password"])
    without = server.url.replace(password, "")
    with redis.Redis.from_url(without) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()
    process = process_of(server)
    assert password not in " ".join(process.cmdline()) + str(process.environ())


def test_another_in_its_place_has_the_same_url_and_is_empty(server: DataRedis) -> None:
    with redis.Redis.from_url(server.url) as client:
        client.set("kept", "?")
        process_of(server).kill()
        wait_until(lambda: not server.lives)
        server.revive()
        assert client.dbsize() == 0
    assert server.lives


def test_it_ends_with_its_context() -> None:
    with DataRedis("127.0.0.1", MEMORY) as server:
        process = process_of(server)
    assert not process.is_running()


def start_and_be_killed(path: Path) -> None:
    server = DataRedis("127.0.0.1", MEMORY)
    path.write_text(str(process_of(server).pid), encoding="utf-8")
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.ci_slow
def test_it_ends_with_a_process_that_is_killed(tmp_path: Path) -> None:
    starter = SERVER.Process(target=start_and_be_killed, args=(tmp_path / "pid",))
    starter.start()
    starter.join()
    assert starter.exitcode == -signal.SIGKILL
    server = int((tmp_path / "pid").read_text())
    wait_until(lambda: has_ended(server), what="its end")


def has_ended(process: int) -> bool:
    """Whoever inherits it need not have asked for its exit code yet."""
    with suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(process).status() == psutil.STATUS_ZOMBIE)
    return True


def test_what_hinders_it_is_told_in_one_line(server: DataRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkerError, match=r"203\.0\.113\.9 is not an address of this machine"):
        DataRedis("203.0.113.9", MEMORY)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WorkerError, match="cannot start redis-server"):
        server.revive()


@pytest.mark.parametrize(
    "url", ["", "1", "unix:///tmp/x", "redis://", "redis://h:port/0", "redis://:a b@h:1/0", "http://h:1"]
)
def test_only_urls_that_other_hosts_can_use_are_opened(url: str) -> None:
    with pytest.raises(PayloadError, match="the URL of a data Redis is malformed"):
        open_data_redis(url)


@pytest.mark.parametrize(
    ("host", "alone"), [("127.0.0.1", True), ("::1", True), ("localhost", True), ("10.1.2.3", False)]
)
def test_loopback_is_known(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_values_of_any_size_come_through_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is one of the authority in SSL_CERT_FILE."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"]
    subprocess.run([*made, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    port = free_port("127.0.0.1")
    settings = {
        "bind": "127.0.0.1", "port": 0, "tls-port": port, "tls-cert-file": certificate, "tls-key-file": key,
        "tls-auth-clients": "no", "save": "", "dir": tmp_path, "requirepass": "known",
    }  # fmt: skip
    words = [str(word) for name, value in settings.items() for word in (f"--{name}", value)]
    server = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    url = f"rediss://:known@localhost:{port}/0"
    try:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        with open_data_redis(url) as trusting:
            wait_until(lambda: answers(trusting), what="a Redis with TLS")
            for size in (1, 40_000, 3_000_000):
                trusting.set("x", bytes(size))
                assert bytes(trusting.get("x")) == bytes(size)
        monkeypatch.delenv("SSL_CERT_FILE")
        with open_data_redis(url) as strict, pytest.raises(redis.ConnectionError, match="certificate verify failed"):
            strict.ping()
    finally:
        server.terminate()
        server.wait()


def answers(client: redis.Redis) -> bool:
    with suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


# Data Redis, by the heartbeats of hosts: one that cannot be reached, or is another service, is lost at once


class Told:
    """The Redis of the queue, in which a host reports its data Redis."""

    def __init__(self, url: str) -> None:
        self._beat = str(HostBeat("7-a", 2, url)).encode()

    def smembers(self, name: str) -> set[bytes]:
        return {b"den-1"}

    def mget(self, names: list[str]) -> list[bytes]:
        return [self._beat]


@pytest.mark.parametrize("url", ["?", "redis://[", "redis://:secret@host:99999999/0", "redis://:secret@127.0.0.1:1/0"])
def test_an_address_that_does_not_lead_to_a_data_redis_is_lost(url: str) -> None:
    data_pool = DataRedisPool(cast(redis.Redis, Told(url)))
    with pytest.raises(PayloadError) as raised, data_pool.reach(data_redis_number(url)) as connection:
        connection.ping()
    assert "secret" not in str(raised.value)


def test_another_service_at_its_address_is_lost_and_not_tried_again_at_once() -> None:
    def answer() -> None:
        with listener.accept()[0] as there:
            there.recv(1)
            there.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as server:
        server.submit(answer)
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        data_pool = DataRedisPool(cast(redis.Redis, Told(url)))
        for words in ("does not answer", "did not answer a moment ago"):
            with pytest.raises(PayloadError, match=words), data_pool.reach(data_redis_number(url)) as connection:
                connection.ping()


def test_a_data_redis_that_no_host_names_is_lost_and_that_of_the_queue_never() -> None:
    main = cast(redis.Redis, Told("redis://10.0.0.9:1/0"))
    data_pool = DataRedisPool(main)
    with pytest.raises(PayloadError, match="belongs to no live host"), data_pool.reach(5):
        pytest.fail("it was connected to")
    with data_pool.reach(MAIN) as connection:
        assert connection is main


# Heartbeats of hosts: two hosts of one name find each other, and what only seems to be a host is left out


@pytest.fixture
def server_of_queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    """A Redis; heartbeats are fast."""
    monkeypatch.setattr(connection, "BEAT_SECONDS", 0.02)
    with RedisServer(tmp_path / "redis") as found:
        yield found


def beat_of(place: str) -> str:
    return str(HostBeat(f"{os.getpid()}-{secrets.token_hex(4)}-{place}", 2, "", idle=True))


def test_a_copied_directory_has_no_second_host(server_of_queue: RedisServer) -> None:
    end = start_heartbeat("one", server_of_queue.client, None, lambda: beat_of("here"), HOSTS, "here")
    require_own_name(server_of_queue.client, "one", "here")
    with pytest.raises(WorkerError, match="two hosts have the name one, because a directory was copied"):
        require_own_name(server_of_queue.client, "one", "there")
    end()
    require_own_name(server_of_queue.client, "one", "there")
    # A dead one is waited for.
    server_of_queue.client.set(worker_key("one"), beat_of("here"), px=200)
    require_own_name(server_of_queue.client, "one", "there")
    assert server_of_queue.client.get(worker_key("one")) is None


def test_two_hosts_of_one_name_that_begin_at_once_end(
    server_of_queue: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, one_has = list[int](), threading.Event()

    def end(code: int) -> None:
        ended.append(code)
        one_has.set()

    monkeypatch.setattr(os, "_exit", end)
    begin = partial(start_heartbeat, "one", server_of_queue.client, None)
    ends = [begin(partial(beat_of, place), HOSTS, place) for place in ("here", "there")]
    assert one_has.wait(PATIENCE_SECONDS)
    assert {*ended} == {1}
    for stop in ends:
        stop()


def test_the_names_of_hosts_match_one_pattern(server_of_queue: RedisServer) -> None:
    for name in ("host-1.lan", "with blank", "a/../b", "", "x" * 201):
        server_of_queue.client.sadd(HOSTS, name)
        server_of_queue.client.set(worker_key(name), beat_of("here"))
    assert [*living_hosts(server_of_queue.client)] == ["host-1.lan"]


def test_hosts_are_told_of_a_new_map_while_redis_is_away(server_of_queue: RedisServer) -> None:
    """The old map cannot be removed then; it is not sent in place of the new one."""
    spec = PuzzleSpec("klotski")
    pool = HostPool(
        server_of_queue.url, server_of_queue.client, spec.build(), spec, Control(), SilentObserver(), Tuning(), 0
    )
    for number in range(2):
        pool.tell("host-back", packed({"owners": [number]}), {"ghost": packed({})})
        server_of_queue.kill()
    assert unpacked(pool._shared.arrays, dict[str, Any]) == {"owners": [1]}


def test_who_is_idle_and_takes_no_request_counts_as_away(server_of_queue: RedisServer) -> None:
    server_of_queue.client.sadd(HOSTS, "ghost")
    server_of_queue.client.set(worker_key("ghost"), beat_of("nowhere"))
    spec, tuning = PuzzleSpec("klotski"), Tuning(host_look=0.0, host_taken=0.0)
    pool = HostPool(
        server_of_queue.url, server_of_queue.client, spec.build(), spec, Control(), SilentObserver(), tuning, 0
    )
    assert pool.choose() == ["ghost"]
    with pytest.raises(HostLostError, match="host ghost is alive, but takes no requests"):
        pool.ask("host-take", packed({}), {"ghost": []}, pool.living())
    with pytest.raises(HostLostError, match="0 hosts live, 1 are wanted"):
        pool.choose(again=True)
    # Another process by this name is another host.
    server_of_queue.client.set(worker_key("ghost"), beat_of("somewhere"))
    assert pool.choose() == ["ghost"]
