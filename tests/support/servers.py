"""Redis servers and workers as real processes, each ended whatever happens."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Self
from unittest.mock import patch

import redis

from hakoiri.coordinator.executors.in_flight import InFlight
from hakoiri.coordinator.executors.sending import Chunk
from hakoiri.worker.hosts.host import STORE, THREADS
from hakoiri.worker.machine import end_with
from hakoiri.worker.rq_worker import TaskQueue
from hakoiri.worker.transport.connection import HOSTS, WORKERS, event_key, living_hosts, living_workers, worker_key
from hakoiri.worker.transport.data_redis import free_port
from hakoiri.worker.transport.payload import Array, Event
from tests.support.commands import FinishedRuns, Hakoiri, Running, clean_environment, wait_until
from tests.support.forking import fork_other_worker


class RedisServer:
    """A redis-server of its own on a free port, by default of the loopback, answering when the constructor returns.

    Without `appendonly` nothing outlives `kill`; with it everything that was acknowledged does. With `certificates`,
    files by name, it speaks TLS alone.
    """

    def __init__(
        self, directory: Path, password: str = "", appendonly: bool = False, host: str = "127.0.0.1",
        certificates: Mapping[str, Path] | None = None,
    ) -> None:  # fmt: skip
        directory.mkdir(parents=True, exist_ok=True)
        self._directory, self._password, self._appendonly, self._host = directory, password, appendonly, host
        self._process: subprocess.Popen[bytes] | None = None
        self._pretended, self._begun, self._certificates = "", set[str](), certificates
        self.port = free_port(host)
        secret = f":{password}@" if password else ""
        scheme, options = ("rediss", {"ssl_ca_certs": str(certificates["ca.pem"])}) if certificates else ("redis", {})
        self.url = f"{scheme}://{secret}{host}:{self.port}/0"
        self.url_without_password = f"{scheme}://{host}:{self.port}/0"
        self.client = redis.Redis.from_url(self.url, **options)
        self.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None
        return self._process.pid

    def start(self, wipe: bool = False) -> None:
        """Start it, again on the same port, with the data it had or `wipe`d."""
        if wipe:
            shutil.rmtree(self._directory / "appendonlydir", ignore_errors=True)
        settings = {
            "bind": self._host, "port": self.port, "dir": self._directory, "save": '""', "daemonize": "no",
            "appendonly": "yes" if self._appendonly else "no", "appendfsync": "always",
        }  # fmt: skip
        if self._password:
            settings["requirepass"] = self._password
        if self._certificates is not None:
            files = {"cert": "server.pem", "key": "server.key", "ca-cert": "ca.pem"}
            settings |= {"port": 0, "tls-port": self.port, "tls-auth-clients": "no"}
            settings |= {f"tls-{what}-file": self._certificates[name] for what, name in files.items()}
        config = self._directory / "redis.conf"
        config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()), encoding="utf-8")
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                ["redis-server", config], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                preexec_fn=partial(end_with, os.getpid()),  # noqa: PLW1509
            )  # fmt: skip
        wait_until(self._answers, what=f"redis-server on port {self.port}")

    def kill(self) -> None:
        """SIGKILL: no farewell, no last write."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def pretend_worker(self, name: str = "nobody") -> None:
        """A worker that lives and does nothing, so that whoever sends it chunks waits and waits (`waiting_jobs`)."""
        self._pretended = name
        self.client.sadd(WORKERS, name)
        self.client.set(worker_key(name), b"")

    def waiting_jobs(self) -> int:
        """Return the number of chunks that wait. A pretended worker says that it has begun one of each run."""
        queue = TaskQueue(connection=self.client)
        for asked in (job.kwargs for job in queue.jobs if self._pretended):
            if asked["session"] not in self._begun:
                self._begun.add(asked["session"])
                began = Event("started", asked["token"], asked["attempt"], self._pretended)
                self.client.lpush(event_key(asked["session"]), began.pack())
        return queue.count

    def pause(self) -> None:
        """Let it answer nobody until `unpause`, its connections staying open."""
        os.kill(self.pid, signal.SIGSTOP)

    def unpause(self) -> None:
        """Let it answer again."""
        os.kill(self.pid, signal.SIGCONT)

    def flush(self) -> None:
        """Throw away all that it holds."""
        self.client.flushall()

    def close(self) -> None:
        """End it."""
        self.client.close()
        self.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "log").read_text(encoding="utf-8")
        try:
            return bool(self.client.info("server")["process_id"] == self.pid)
        except (redis.ConnectionError, redis.TimeoutError, redis.exceptions.BusyLoadingError):
            return False


class Workers:
    """Living workers under one ``hakoiri worker``, and the Redis URL that they listen to."""

    def __init__(self, supervisor: Running, url: str) -> None:
        self.supervisor, self.url = supervisor, url

    def pids(self) -> list[int]:
        """The process ids of its workers now."""
        return [child.pid for child in self.supervisor.children()]

    def kill_one(self) -> None:
        """SIGKILL to one of them."""
        os.kill(self.pids()[-1], signal.SIGKILL)


def held_run(hakoiri: Hakoiri, server: RedisServer, *more: str) -> Running:
    """A census whose four chunks wait for a worker that only seems to live."""
    server.pretend_worker()
    command = ("run", "klotski", "--whole", "--farm", "0", "--chunk", "20000", "--json")
    running = hakoiri.start(*command, "--redis", server.url, *more)
    wait_until(lambda: server.waiting_jobs() == 4, what="the four chunks")
    return running


def comes_out_right(running: Running, finished: FinishedRuns) -> str:
    """A census ends by itself as one that nobody disturbed; return what it said on the way."""
    ended = running.finish()
    assert ended.code == 0, ended
    assert ended.json["digest"] == finished.counted["digest"]
    return ended.stderr


@contextmanager
def started_host(
    hakoiri: Hakoiri, url: str, store: Path, *options: str, before: Callable[[], object] | None = None
) -> Iterator[Workers]:
    """A host that keeps ranges below `store`, known to Redis when the block begins, gone when it has ended.

    Its supervisor calls `before` first.
    """
    supervisor = hakoiri.start("worker", "--store", str(store), *options, env={"HAKOIRI_REDIS": url}, before=before)
    with (
        redis.Redis.from_url(url) as client,
        _until_it_lives(supervisor, "host in ", lambda: _beats(client, supervisor)),
    ):
        yield Workers(supervisor, url)


def _beats(client: redis.Redis, supervisor: Running) -> bool:
    """Return whether the host process of this supervisor, and not the one before it, sends heartbeats."""
    processes = {str(child.pid) for child in supervisor.children()}
    return any(beat.process.partition("-")[0] in processes for beat in living_hosts(client).values())


@contextmanager
def started_workers(
    hakoiri: Hakoiri, url: str, count: int, env: Mapping[str, str] | None = None, executable: Path | None = None,
    before: Callable[[], object] | None = None, options: Sequence[str] = (),
) -> Iterator[Workers]:  # fmt: skip
    """`count` workers, all of them known to Redis when the block begins, none left when it has ended.

    Forked, they and their supervisor, which calls `before` first; or, as a user has them, from an `executable`.
    """
    with redis.Redis.from_url(url) as client:
        known = living_workers(client)
        supervisor = hakoiri.start(
            "worker", "-n", str(count), *options, env={"HAKOIRI_REDIS": url} | dict(env or {}), executable=executable,
            before=before,
        )  # fmt: skip
        # It says so when it can be stopped.
        with _until_it_lives(
            supervisor, "worker processes for", lambda: len(living_workers(client).keys() - known.keys()) >= count
        ):
            yield Workers(supervisor, url)


@contextmanager
def by_workers() -> Iterator[None]:
    """Require that workers have done some of what is asked in this process during the block."""
    answered, fetch = list[str | None](), InFlight.fetch

    def counted(flight: InFlight, chunk: Chunk, event: Event) -> list[Array] | None:
        answered.append(chunk.worker)
        return fetch(flight, chunk, event)

    with patch.object(InFlight, "fetch", counted):
        yield
    assert answered, "no worker did anything"


@contextmanager
def _until_it_lives(supervisor: Running, said: str, lives: Callable[[], bool]) -> Iterator[None]:
    """Wait until a supervisor has said something and `lives`; end it and its processes after the block."""
    try:
        supervisor.wait_for(said)
        wait_until(lambda: lives() or supervisor.process.poll() is not None, what="the workers")
        assert supervisor.process.poll() is None, supervisor.finish()
        yield
    finally:
        supervisor.end()


@contextmanager
def other_worker(server: RedisServer, change: str, store: Path | None = None) -> Iterator[str]:
    """The name of a living worker process whose program differs by `change`; of a host that keeps ranges in `store`."""
    members, host = (WORKERS, {}) if store is None else (HOSTS, {STORE: str(store), THREADS: "1"})
    before = living_workers(server.client, members)
    process = fork_other_worker(change, clean_environment(HAKOIRI_REDIS=server.url, **host))

    def came() -> set[str]:
        assert process.poll() is None, "it ended"
        return living_workers(server.client, members).keys() - before

    try:
        (name,) = wait_until(came)
        yield name
    finally:
        process.kill()
        process.wait()
