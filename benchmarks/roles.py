"""What a run costs each of those who take part: processor seconds, and bytes between hosts.

    python benchmarks/roles.py tiles -o rows=3 -o columns=4
    python benchmarks/roles.py --hosts 2 pancakes -o n=11

runs the puzzle by threads and then by hosts of one thread that keep it, each with a data Redis of its own, and prints
one JSON object. Kernels are compiled before. `ns` are nanoseconds of processor time, user and system, per
configuration. `benchmarks/scaling.py` predicts with it what more hosts would take.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import redis

from benchmarks.watched import ALONE, Seen, Watched
from hakoiri.worker.transport.connection import living_hosts, living_workers
from tests.support.namespaces import Network

HAKOIRI = Path(sys.executable).parent / "hakoiri"
CONTROL = "control"
#: A run that compiles and loads what every run needs.
_FIRST = ("klotski", "--farm-from", "0")


@dataclass(frozen=True)
class Spent:
    """What a run reports, the seconds that it took by the clock, and what its processes took, by role."""

    report: Mapping[str, Any]
    began: float
    wall: float
    peak_mb: int
    cpu: Mapping[str, float]
    #: Without the time of looking.
    seen: Seen
    #: What it takes besides to bring the run home, by role; nothing unless that was asked for.
    collecting: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """From the start of the command to the end of its search, before the run is brought home."""
        return self.seen.moments[-1].clock - self.began

    @property
    def configurations(self) -> int:
        """How many the run found."""
        return int(self.report["configurations"])


def run_here(arguments: Sequence[str], data: str, team: Watched = ALONE) -> Spent:
    """A run by this command line, looked at after each layer: by threads, or the coordinator's part."""
    before = team.cpu()
    with tempfile.NamedTemporaryFile() as seen:
        program = (sys.executable, "-m", "benchmarks.watched", seen.name, json.dumps(team))
        began = time.monotonic()
        out, usage = _completed([*program, "run", *arguments, "--data", data, "--json"])
        wall = time.monotonic() - began
        found = Seen.of(seen.read())
    cpu = {role: spent - before[role] for role, spent in team.cpu().items()}
    cpu |= {"coordinator": usage.ru_utime + usage.ru_stime}
    return Spent(json.loads(out), began, wall, usage.ru_maxrss * 1024 // 1_000_000, cpu, found)


def cpu_of(command: Sequence[str], data: str) -> float:
    """Processor seconds of any command of the command line, of its process alone."""
    _, usage = _completed([str(HAKOIRI), *command, "--data", data])
    return usage.ru_utime + usage.ru_stime


def _completed(command: Sequence[str]) -> tuple[bytes, Any]:
    """What a command prints, and what it used; the program ends where it fails."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(command)}\n{errors.read().decode()}")
        return out.read(), usage


class Team:
    """A control Redis, hosts that keep runs and plain workers, until the block ends.

    `hosts`: how many threads each has. With a network they are on its hosts of these names, and the coordinator and the
    control Redis are on its host `CONTROL`.
    """

    def __init__(self, hosts: Mapping[str, int], workers: int = 0, network: Network | None = None) -> None:
        self._hosts, self._workers, self._network = hosts, workers, network

    def __enter__(self) -> "Team":
        with ExitStack() as stack:
            stores = stack.enter_context(tempfile.TemporaryDirectory())
            self._control = stack.enter_context(_server(self._on(CONTROL), self._address(CONTROL)))
            hosts, workers = [], []
            for name, threads in self._hosts.items():
                options = ("--store", str(Path(stores, name)), "-n", str(threads), "--data-redis", "auto")
                hosts.append(stack.enter_context(self._started(name, *options)))
            if self._workers:
                workers.append(stack.enter_context(self._started(CONTROL, "-n", str(self._workers))))
            self._await()
            self._watched = Watched(_roles(self._control.process, hosts, workers))
            if hosts:
                self.run(_FIRST)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, arguments: Sequence[str], in_turn: bool = False, collects: bool = False) -> Spent:
        """A run that these hosts keep, asked one after the other or all at once; brought home if it `collects`."""
        team = self._watched._replace(in_turn=in_turn)
        with self._on(CONTROL), tempfile.TemporaryDirectory() as data:
            spent = run_here([*arguments, "--redis", self._control.url, "--hosts", "all"], data, team)
            return replace(spent, collecting=self.cpu_of(["collect", "last"], data)) if collects else spent

    def cpu_of(self, command: Sequence[str], data: str) -> dict[str, float]:
        """Processor seconds by role of any command that takes ``--redis``."""
        before = self._watched.cpu()
        coordinator = cpu_of([*command, "--redis", self._control.url], data)
        return {"coordinator": coordinator} | {
            role: spent - before[role] for role, spent in self._watched.cpu().items()
        }

    def _on(self, name: str) -> AbstractContextManager[None]:
        return self._network.inside(name) if self._network else nullcontext()

    def _address(self, name: str) -> str:
        return self._network.addresses[name] if self._network else "127.0.0.1"

    @contextmanager
    def _started(self, name: str, *options: str) -> Iterator[int]:
        """Start a `hakoiri worker` on a host; its process number."""
        environment, quiet = os.environ | {"HAKOIRI_REDIS": self._control.url}, subprocess.DEVNULL
        with self._on(name):
            team = subprocess.Popen([HAKOIRI, "worker", *options], env=environment, stdout=quiet, stderr=quiet)
        try:
            yield team.pid
        finally:
            team.terminate()
            team.wait()

    def _await(self) -> None:
        until, client = time.monotonic() + 60, self._control.client
        while len(living_hosts(client)) < len(self._hosts) or len(living_workers(client)) < self._workers:
            if time.monotonic() > until:
                sys.exit("the hosts and workers do not come")
            time.sleep(0.1)


def _roles(control: int, hosts: Sequence[int], workers: Sequence[int]) -> dict[str, list[int]]:
    """Process numbers by role, of those that some supervisors have started."""
    below = [child for host in hosts for child in psutil.Process(host).children(recursive=True)]
    data = [child.pid for child in below if child.name() == "redis-server"]
    teams = [child.pid for team in workers for child in psutil.Process(team).children(recursive=True)]
    return {
        "control": [control], "data": data, "hosts": [child.pid for child in below if child.pid not in data],
        "workers": teams,
    }  # fmt: skip


@dataclass(frozen=True)
class _Server:
    process: int
    url: str
    client: redis.Redis


@contextmanager
def _server(there: AbstractContextManager[None], address: str) -> Iterator[_Server]:
    """A redis-server at a free port of an address."""
    with there:
        with socket.create_server((address, 0)) as probe:
            port = probe.getsockname()[1]
        command = ["redis-server", "--port", str(port), "--bind", address, "--protected-mode", "no", "--save", ""]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tempfile.gettempdir())
        url = f"redis://{address}:{port}/0"
        # Its socket stays on that host.
        client = redis.Redis.from_url(url)
        while not _answers(client):
            time.sleep(0.02)
    try:
        yield _Server(process.pid, url, client)
    finally:
        process.terminate()
        process.wait()


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def with_threads(arguments: Sequence[str]) -> dict[str, Any]:
    """The run by threads of one process."""
    with tempfile.TemporaryDirectory() as data:
        spent = run_here(arguments, data)
    return _common(spent)


def with_hosts(arguments: Sequence[str], hosts: int) -> dict[str, Any]:
    """The run by hosts on this machine, of one thread each."""
    with Team({f"host-{number}": 1 for number in range(hosts)}) as team:
        spent = team.run(arguments, collects=True)
    sent, cpu = spent.seen.moments[-1].sent / spent.configurations, spent.collecting
    return _common(spent) | {
        "ns_together": _ns(spent, sum(spent.cpu.values())), "sent": round(sent, 3),
        "collecting_ns": {role: _ns(spent, value) for role, value in cpu.items()},
    }  # fmt: skip


def _common(spent: Spent) -> dict[str, Any]:
    report = {name: spent.report[name] for name in ("configurations", "digest")}
    ns = {role: _ns(spent, value) for role, value in spent.cpu.items() if value}
    return report | {"wall_s": round(spent.wall, 2), "peak_mb": spent.peak_mb, "ns": ns}


def _ns(spent: Spent, value: float) -> float:
    return round(value / spent.configurations * 1e9, 1)


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--only", choices=["threads", "hosts"])
    options, arguments = parser.parse_known_args()
    found: dict[str, Any] = {}
    if options.only != "hosts":
        found["threads"] = with_threads(arguments)
    if options.only != "threads":
        found["hosts"] = with_hosts(arguments, options.hosts)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
