"""The redis-server that a supervisor starts for its host."""

import os
import secrets
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import redis

from hakoiri.errors import PayloadError, WorkerError
from hakoiri.worker.transport.data_redis import DataRedis, free_port, is_loopback, open_data_redis
from tests.support.commands import wait_until
from tests.support.forking import SERVER

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
    "url",
    ["", "1", "unix:///tmp/x", "redis://", "redis://h:port/0", "redis://:a b@h:1/0", "http://h:1"],
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
