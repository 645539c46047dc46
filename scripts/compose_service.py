"""Start the service of docker-compose.yml with podman-compose, kill parts of it during a run, and check the result.

compose-test calls it, in a network of its own in which nothing else listens. $COMPOSE is the command of podman-compose.
"""

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PROJECT = "hakoiri-test"
WORKERS = HOSTS = 2
SCALES = {"worker": WORKERS, "host": HOSTS}
#: How long a state that must come is waited for.
PATIENCE_SECONDS = 600.0
#: The ports at which the containers of each service listen; a host's data Redis takes a free one.
SERVICES = {"redis": {6379}, "web": {8080}, "coordinator": set[int](), "worker": set[int](), "host": set[int]()}
DATA_REDIS = range(10_000, 30_000)
#: Configurations, greatest depth and digest of what the usual start of the Hakoiri-musume reaches.
REACHED = (25_955, 167, "55e94a65ebe4704215527917a7a6fdff44e760199b7eaf49604acc3736dbdc10")
#: Configurations and components of its whole space.
WHOLE = (65_880, 898)
PAGE = ("127.0.0.1", 8080)
LISTENS = "0A"  # a socket's state in /proc/net/tcp
DNS_PORT = 53
TOKEN = secrets.token_hex(16)
ENVIRONMENT = os.environ | {"REDIS_PASSWORD": secrets.token_hex(16), "HAKOIRI_TOKEN": TOKEN}
#: Podman has no log driver "local", and podman-compose heeds the last --scale alone.
OVERRIDES = {name: {"logging": {"driver": "k8s-file"}, "scale": SCALES.get(name, 1)} for name in SERVICES}
_Result = TypeVar("_Result")


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Say what is done, and how long it took."""
    print(f"compose-test: {name}", flush=True)
    begin = time.monotonic()
    yield
    print(f"compose-test: {name}: {time.monotonic() - begin:.1f} s", flush=True)


def check(holds: bool, what: str) -> None:
    """Exit with a message unless something holds."""
    if not holds:
        raise SystemExit(f"compose-test: FAILED: {what}")


def wait_for(what: str, state: "Callable[[], _Result]") -> _Result:
    """Return the first true answer of `state`."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if found := state():
            return found
        time.sleep(0.2)
    raise SystemExit(f"compose-test: FAILED: waited {PATIENCE_SECONDS:.0f} s in vain for {what}")


def podman(*words: str) -> "subprocess.CompletedProcess[str]":
    """Call podman."""
    return subprocess.run(["podman", *words], check=False, capture_output=True, text=True)


def compose(*words: str) -> None:
    """Call podman-compose, whose output is shown where it fails."""
    files = ["--file", "docker-compose.yml", "--file", "-"]
    argv = [os.environ["COMPOSE"], "--project-name", PROJECT, "--profile", "hosts", *files, *words]
    done = subprocess.run(
        argv, env=ENVIRONMENT, input=json.dumps({"services": OVERRIDES}), check=False, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    check(done.returncode == 0, f"{' '.join(argv)}\n{done.stdout}")


def containers() -> dict[str, str]:
    """The service of each container, by the container's name."""
    listed = json.loads(podman("ps", "--all", "--format", "json").stdout)
    return {each["Names"][0]: each["Labels"]["com.docker.compose.service"] for each in listed}


def podman_log(container: str) -> str:
    """The last lines that a container wrote."""
    done = podman("logs", "--tail", "20", container)
    return done.stdout + done.stderr


def process_of(container: str) -> int:
    """The process id of a container's init, 0 while it does not run."""
    return int(podman("inspect", "--format", "{{.State.Pid}}", container).stdout or 0)


def is_healthy(container: str) -> bool:
    """Run the health check of the compose file once."""
    return podman("healthcheck", "run", container).returncode == 0


def ask(path: str, token: str = TOKEN) -> tuple[int, dict[str, Any]]:
    """Return the status and the body of an answer of the page."""
    request = Request("http://{}:{}{}".format(*PAGE, path), headers={"Authorization": f"Bearer {token}"})  # noqa: S310
    try:
        with urlopen(request, timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
            return answer.status, json.load(answer)
    except HTTPError as error:
        return error.code, {}


def hakoiri(*words: str) -> dict[str, Any]:
    """Call a command in the container of the coordinator."""
    (name,) = (name for name, service in containers().items() if service == "coordinator")
    done = podman("exec", name, "hakoiri", *words, "--json")
    check(done.returncode == 0, f"hakoiri {' '.join(words)}: {done.stderr}")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def listening(process: int | str) -> set[tuple[str, int]]:
    """Addresses and ports at which something listens in the network of a process, by TCP of either version."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, port = local.split(":")
            if state == LISTENS:
                found.add((".".join(str(byte) for byte in reversed(bytes.fromhex(address))), int(port, 16)))
    return found


def kill(container: str) -> int:
    """Kill a container's init as a crash would; return its process id."""
    process = process_of(container)
    os.kill(process, signal.SIGKILL)
    return process


def check_ports() -> None:
    """Check that this machine is reached at the page's port alone, with its token, and each container at its own."""
    here = {(address, port) for address, port in listening("self") if port != DNS_PORT}
    check(here == {PAGE}, f"listening here: {here}")
    for name, service in containers().items():
        ports = {port for _, port in listening(process_of(name))}
        own = {port for port in ports if service == "host" and port in DATA_REDIS}
        check(ports - own == SERVICES[service], f"{name} listens on {ports}")
        check(len(own) == (service == "host"), f"{name} has data Redis at {own}")
    status, _ = ask("/api/runs", token="wrong")  # noqa: S106
    check(status == HTTPStatus.UNAUTHORIZED, f"the page answers {status} to a wrong token")


def kill_during(run: str) -> None:
    """Kill a host and later the coordinator while a run goes on, and wait for its end."""
    hosts = [name for name, service in containers().items() if service == "host"]
    (coordinator,) = (name for name, service in containers().items() if service == "coordinator")

    def reached(least: int) -> int | None:
        found = int(ask(f"/api/runs/{run}")[1].get("configurations") or 0)
        return found if found >= least else None

    def is_back(container: str, before: int) -> bool:
        return process_of(container) not in (0, before)

    killed = {}
    for victim, configurations in ((hosts[0], 2_000), (coordinator, 10_000)):
        at = wait_for(f"{configurations:,} configurations", partial(reached, configurations)) or 0
        check(at < REACHED[0], "the run was over before it could be disturbed")
        killed[victim] = kill(victim)
        print(f"compose-test: {victim} was killed at {at:,} configurations", flush=True)
    for victim, before in killed.items():
        wait_for(f"{victim} to be started again", partial(is_back, victim, before))
    wait_for("the end of the run", lambda: ask(f"/api/runs/{run}")[1].get("status") == "complete")


def enqueue(name: str, *words: str) -> None:
    """Have the Hakoiri-musume queued; does not wait until the command has ended."""
    (coordinator,) = (name for name, service in containers().items() if service == "coordinator")
    done = podman("exec", "--detach", coordinator, "hakoiri", "enqueue", "klotski", "--name", name, *words)
    check(done.returncode == 0, done.stderr)


def stop_hosts() -> None:
    """Stop all hosts, and check that these end by themselves."""
    hosts = [name for name, service in containers().items() if service == "host"]
    podman("stop", "--time", "45", *hosts)
    codes = [podman("inspect", "--format", "{{.State.ExitCode}}", name).stdout.strip() for name in hosts]
    check(codes == ["0"] * HOSTS, f"the hosts ended with {codes}")


def check_runs() -> None:
    """Check a run that hosts keep, with kills, and undisturbed ones by workers: frontiers, and the whole space."""
    enqueue("killed", "--farm", "1", "--hosts", "all")
    kill_during("killed")
    status, path = hakoiri("status", "killed"), hakoiri("path", "killed")
    check((status["configurations"], status["depth"], status["digest"]) == REACHED, f"the result: {status}")
    check(len(status["work_log"]["kept"]["hosts"]) == HOSTS, f"it is not at all hosts: {status['work_log']}")
    check(status["work_log"]["layers"]["small"]["layers"] <= 1, f"layers were not made by hosts: {status['work_log']}")
    hakoiri("collect", "killed")
    stop_hosts()
    check(hakoiri("path", "killed") == path, "the path differs when the run is at home")
    enqueue("frontiers", "--farm", "always")
    wait_for("the end of the run", lambda: ask("/api/runs/frontiers")[1].get("status") == "complete")
    status = hakoiri("status", "frontiers")
    check((status["configurations"], status["depth"], status["digest"]) == REACHED, f"the result: {status}")
    made = status["work_log"]["layers"]["workers"]["layers"]
    check(made == REACHED[1], f"workers expanded {made} layers: {status['work_log']}")
    enqueue("whole", "--whole", "--chunk", "1000", "--farm", "always")
    wait_for("the end of the run", lambda: ask("/api/runs/whole")[1].get("status") == "complete")
    status, components = hakoiri("status", "whole"), hakoiri("components", "whole")["components"]
    found = (status["configurations"], len(components))
    check(found == WHOLE, f"the whole space: {found}")
    check(bool(status["work_log"]["hosts"]), f"workers did no chunks: {status['work_log']}")


def main() -> None:
    """Do all of it; take everything down, whatever happens."""
    try:
        with phase("starting the service"):
            compose("up", "--detach", "--no-build")
        with phase("health checks"):
            for name in containers():
                wait_for(f"{name} to be healthy", partial(is_healthy, name))
        with phase("ports"):
            check_ports()
        with phase("a run with kills, and the whole space"):
            check_runs()
        with phase("health after it"):
            status, health = wait_for("both workers", lambda: ask("/api/health"))
            check(status == HTTPStatus.OK and health["ok"] and health["workers"] == WORKERS, f"/api/health: {health}")
            podman("start", *(name for name, service in containers().items() if service == "host"))
            for name in containers():
                wait_for(f"{name} to be healthy", partial(is_healthy, name))
    except BaseException:
        for name in containers():
            print(f"compose-test: {name} wrote last:\n{podman_log(name)}", flush=True)
        raise
    finally:
        with phase("taking it down"):
            # Podman-compose takes down one container of each service.
            podman("rm", "--force", "--time", "45", *(name for name in containers() if name.endswith("_2")))
            compose("down", "--volumes")
    left = [*containers(), *podman("volume", "ls", "--quiet").stdout.split()]
    check(left == [], f"containers or volumes are left: {left}")


if __name__ == "__main__":
    main()
