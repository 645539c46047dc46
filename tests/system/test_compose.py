"""docker-compose.yml: what it promises, and that exactly its commands, started as plain processes, make the service."""

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
import yaml

from hakoiri.compiling import cache_directory, prepare
from hakoiri.puzzles.sliding_blocks.klotski import Klotski
from hakoiri.worker.transport.connection import living_hosts, living_workers
from hakoiri.worker.transport.data_redis import free_port
from hakoiri.worker.warm import load_all_kernels
from tests.support.commands import PATIENCE_SECONDS, ROOT, wait_until

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("coordinator", "web", "worker", "host")
MANY = ("worker", "host")
#: How many containers of each of these.
COUNT = 2
VARIABLE = re.compile(r"\$\$|\$\{(\w+):\?[^}]*\}")


def interpolate(text: str, values: dict[str, str]) -> str:
    """Return a text as compose reads it: ``$$`` is ``$``, ``${NAME:?message}`` the value of a required variable."""
    return VARIABLE.sub(lambda match: values[match[1]] if match[1] else "$", text)


# What the file promises


def test_there_are_five_services() -> None:
    assert set(SERVICES) == {"redis", *OURS}


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_confined_and_comes_back(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["user"].split(":")[0] not in ("", "0", "root")
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] is True
    assert service["init"] is True
    assert service["mem_limit"] and service["pids_limit"]
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


@pytest.mark.parametrize("name", SERVICES)
def test_no_port_is_open_to_other_hosts(name: str) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))
    assert "network_mode" not in SERVICES[name]


@pytest.mark.parametrize("name", MANY)
def test_workers_and_hosts_can_be_many(name: str) -> None:
    """Two containers cannot share a name or a port of the machine."""
    assert not {"container_name", "ports", "hostname"} & set(SERVICES[name])


@pytest.mark.parametrize("name", OURS)
def test_our_services_wait_for_redis(name: str) -> None:
    assert SERVICES[name]["depends_on"] == {"redis": {"condition": "service_healthy"}}


def test_runs_and_redis_are_kept_in_volumes() -> None:
    assert "data:/data" in SERVICES["coordinator"]["volumes"]
    assert "redis:/data" in SERVICES["redis"]["volumes"]
    assert "hosts:/store" in SERVICES["host"]["volumes"]
    assert {"data", "hosts", "redis"} == set(COMPOSE["volumes"])


def test_redis_evicts_nothing_and_keeps_the_queue() -> None:
    settings = SERVICES["redis"]["command"][0].splitlines()
    assert {"maxmemory-policy noeviction", "appendonly yes"} <= set(settings)


def test_password_and_token_are_required_and_never_in_the_file() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    interpolated = re.findall(r"(?<!\$)\$\{([^}]*)\}", text)
    assert interpolated
    secret = ("REDIS_PASSWORD", "HAKOIRI_TOKEN")
    required = {variable for variable in interpolated if variable != "CONTAINER_MEMORY:-8g"}
    assert {variable.partition(":?")[0] for variable in required} == {*secret}
    assert all(variable.partition(":?")[2] for variable in required)
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert all(f"\n{name}=\n" in example for name in secret)


def test_images_are_pinned() -> None:
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    for image in [*bases, *(service["image"] for service in SERVICES.values())]:
        assert re.search(r":\d+\.\d+", image), image


def test_the_user_of_the_image_is_the_user_of_the_file() -> None:
    assert {SERVICES[name]["user"] for name in OURS} == set(re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE))


def has_compose() -> bool:
    if not shutil.which("docker"):
        return False
    return subprocess.run(["docker", "compose", "version"], check=False, capture_output=True).returncode == 0


def test_compose_accepts_the_file() -> None:
    command = ["docker", "compose", "--file", str(ROOT / "docker-compose.yml"), "config", "--quiet"]
    if not has_compose():
        pytest.skip("no docker compose here")
    environment = os.environ | {"HAKOIRI_TOKEN": "some"}
    for password, accepted in (("some", True), ("", False)):
        done = subprocess.run(
            command, env=environment | {"REDIS_PASSWORD": password}, check=False, capture_output=True, text=True
        )
        assert (done.returncode == 0) is accepted, done.stderr
        assert accepted or "REDIS_PASSWORD" in done.stderr


# What its commands do


class Service:
    """The containers of the file as processes: the same commands, other paths, and free ports instead of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.password, self.token = secrets.token_hex(16), secrets.token_hex(16)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports = {port: str(free_port("127.0.0.1")) for port in ("6379", "8080")}
        for volume in COMPOSE["volumes"]:
            (place / volume).mkdir()

    def start(self, name: str, container: str) -> None:
        """Start one container of the service `name`."""
        service = SERVICES[name]
        entry = service.get("entrypoint", ["/bin/sh", str(ROOT / "scripts/container")])
        argv = [*entry, *(self._here(name, container, word) for word in service["command"])]
        with open(self.place / f"{container}.log", "wb") as log:
            self.processes[container] = subprocess.Popen(
                argv, env=self.environment(name, container), cwd=self.place,
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def environment(self, name: str, container: str) -> dict[str, str]:
        """The variables that a container has: those of the file and those of the image."""
        own = {key: self._here(name, container, value) for key, value in SERVICES[name]["environment"].items()}
        image = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HAKOIRI_DATA": str(self.place / "data"),
            "XDG_CACHE_HOME": str(self.place / container),
            "BUILT_KERNELS": str(self.place / "kernels"),
        }
        return image | own

    def check(self, name: str, container: str) -> "subprocess.CompletedProcess[str]":
        """Do the health check of a service."""
        kind, *words = (self._here(name, container, word) for word in SERVICES[name]["healthcheck"]["test"])
        return self.execute(["/bin/sh", "-c", *words] if kind == "CMD-SHELL" else words, name, container)

    def execute(self, argv: list[str], name: str, container: str) -> "subprocess.CompletedProcess[str]":
        """As ``docker compose exec`` does."""
        return subprocess.run(
            argv, env=self.environment(name, container), cwd=self.place,
            check=False, capture_output=True, text=True, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    def log(self, container: str) -> str:
        return (self.place / f"{container}.log").read_text(encoding="utf-8")

    def _here(self, name: str, container: str, text: str) -> str:
        """A text of the file with the paths, addresses and ports that containers have here."""
        places = {
            "/tmp/store": self.place / f"{container}-store",
            "/store": self.place / "hosts",
            "/data": self.place / ("redis" if name == "redis" else "data"),
        }
        text = re.sub(f"(?<![-\\w])({'|'.join(places)})", lambda match: str(places[match[1]]), text)
        text = text.replace("@redis:", "@127.0.0.1:").replace("hakoiri-container", f"/bin/sh {ROOT}/scripts/container")
        for port, free in self.ports.items():
            text = text.replace(port, free)
        values = {"REDIS_PASSWORD": self.password, "HAKOIRI_TOKEN": self.token}
        return interpolate(text.replace("0.0.0.0", "127.0.0.1"), values)  # noqa: S104


def built_kernels(place: Path) -> None:
    """Compile the kernels of one puzzle, as the Dockerfile does."""
    prepare(partial(load_all_kernels, Klotski()))
    # Other tests may be writing there.
    passing = shutil.ignore_patterns("tmp*", "own_puzzle_*")
    shutil.copytree(cache_directory(), place / "kernels" / "hakoiri" / "kernels", ignore=passing)


def await_health(service: Service, name: str, container: str) -> "subprocess.CompletedProcess[str]":
    """The health check of a container, as soon as it passes: what was just started need not answer yet."""

    def passes() -> "list[subprocess.CompletedProcess[str]]":
        check = service.check(name, container)
        return [] if check.returncode else [check]

    (passed,) = wait_until(passes, what=f"a healthy {container}")
    return passed


@contextmanager
def running(place: Path) -> Iterator[Service]:
    """Redis, a coordinator, and `COUNT` workers and hosts; whatever still runs afterwards is killed."""
    built_kernels(place)
    service = Service(place)
    try:
        service.start("redis", "redis")
        await_health(service, "redis", "redis")
        for name in OURS:
            for number in range(COUNT if name in MANY else 1):
                service.start(name, f"{name}-{number}" if name in MANY else name)
        yield service
    finally:
        for process in service.processes.values():
            if process.poll() is None:
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
                process.kill()
            process.wait()


@contextmanager
def command_lines() -> Iterator[set[str]]:
    """Collect the command lines of all processes of this machine while the block runs, some times a second."""
    seen: set[str] = set()
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.2):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                with suppress(OSError):  # It has just ended.
                    seen.add(file.read_text(encoding="utf-8", errors="replace").replace("\0", " "))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        done.set()
        looking.join()


def enqueue_and_wait(service: Service) -> dict[str, Any]:
    """Queue the Hakoiri-musume, to be kept by the hosts; its last status, and it is at home afterwards."""

    def hakoiri(*words: str) -> dict[str, Any]:
        done = service.execute(["hakoiri", *words, "--json"], "coordinator", "coordinator")
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    with redis.Redis(port=int(service.ports["6379"]), password=service.password) as client:
        wait_until(lambda: len(living_workers(client)) == COUNT, what=f"{COUNT} workers")
        wait_until(lambda: len(living_hosts(client)) == COUNT, what=f"{COUNT} hosts")
    assert hakoiri("health")["workers"] == COUNT
    run = hakoiri("enqueue", "klotski", "--farm", "500", "--hosts", "all")["run"]
    wait_until(lambda: f"run {run}: complete" in service.log("coordinator"), what="the end")
    status, path = hakoiri("status", run), hakoiri("path", run)
    hakoiri("collect", run)
    assert not [*service.place.glob("hosts/*/run-*")]
    assert hakoiri("path", run) == path
    return status


def end(service: Service, container: str) -> int:
    process = service.processes[container]
    process.send_signal(signal.SIGTERM)
    return process.wait(PATIENCE_SECONDS)


@pytest.mark.slow
def test_the_commands_of_the_file_make_the_service(tmp_path: Path) -> None:
    """Start, enqueue, complete, stop; healthy while it runs, unhealthy without Redis, and the password never shows."""
    with command_lines() as lines, running(tmp_path) as service:
        status = enqueue_and_wait(service)
        assert (status["status"], status["configurations"]) == ("complete", 25_955)
        assert len(status["work_log"]["kept"]["hosts"]) == COUNT
        assert min(host["sent"] for host in status["work_log"]["kept"]["hosts"]) > 0

        containers = {name: f"{name}-0" if name in MANY else name for name in SERVICES}
        passed = [await_health(service, name, container) for name, container in containers.items()]

        in_order = [*(container for container in service.processes if container != "redis"), "redis"]
        said = {container: (end(service, container), service.log(container)) for container in in_order}
        assert {code for code, _ in said.values()} == {0}, said

        failed = [service.check(name, container) for name, container in containers.items()]
        assert 0 not in [check.returncode for check in failed], failed

    texts = [*lines, *(log for _, log in said.values()), *(check.stdout + check.stderr for check in passed + failed)]
    server = f"redis-server *:{service.ports['6379']}"
    for sure_to_be_seen in (server, "Ready to accept connections", "ok: Redis answers"):
        assert any(sure_to_be_seen in text for text in texts)
    assert not [text for text in texts if service.password in text or service.token in text]


def test_redis_refuses_a_password_that_would_break_its_url(tmp_path: Path) -> None:
    service = Service(tmp_path)
    service.password = 'a"b@c d'  # noqa: S105
    service.start("redis", "redis")
    assert service.processes["redis"].wait(PATIENCE_SECONDS) != 0
    assert "REDIS_PASSWORD may hold" in service.log("redis")
    assert service.password not in service.log("redis")


def test_the_image_starts_as_the_processes_here_do() -> None:
    """The commands above begin with ``scripts/container``, and so does the image."""
    (copied,) = re.findall(r"^COPY scripts/container (\S+)$", DOCKERFILE, re.MULTILINE)
    assert f'ENTRYPOINT ["{Path(copied).name}"]' in DOCKERFILE
