"""Measure the processor time of a run by role, and the bytes sent between hosts.

    python -m benchmarks.roles tiles -o rows=3 -o columns=4
    python -m benchmarks.roles --hosts 2 pancakes -o n=11

The roles are the coordinator, the control Redis, the hosts, their data Redis and plain workers. The script runs the
puzzle by threads, then by hosts of one thread with a data Redis each, and prints one JSON object. Kernels are compiled
before the hosts' run. `ns` is processor time, user and system, in nanoseconds per configuration.
`benchmarks/scaling.py` uses this module for its predictions.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import psutil

from benchmarks.watched import ALONE, Seen, Watched
from hakoiri.worker.transport.connection import living_hosts, living_workers
from tests.support.namespaces import Network
from tests.support.servers import RedisServer

HAKOIRI = Path(sys.executable).parent / "hakoiri"
CONTROL = "control"
#: A run that compiles and loads the kernels that every run needs.
_FIRST = ("klotski", "--farm", "0")


@dataclass(frozen=True)
class Spent:
    """The report of a run, its seconds by the clock (`began`, `wall`), and its processor seconds by role (`cpu`)."""

    report: Mapping[str, Any]
    began: float
    wall: float
    peak_mb: int
    cpu: Mapping[str, float]
    #: These times exclude that of the recording, which `cpu` includes.
    seen: Seen
    #: The processor seconds of `hakoiri collect`, by role; empty if the run was not collected.
    collecting: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """The seconds from the start of the command to the end of its search."""
        return self.seen.moments[-1].clock - self.began

    @property
    def configurations(self) -> int:
        """The number of configurations of the run."""
        return int(self.report["configurations"])


def run_here(arguments: Sequence[str], data: str, team: Watched = ALONE) -> Spent:
    """Run `hakoiri run` with these arguments, by threads or by the hosts of `team`, and record each layer.

    `peak_mb` is the peak memory of this process alone: of the threads, or of the coordinator.
    """
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
    """Return the processor seconds of a `hakoiri` command, without those of workers and servers."""
    _, usage = _completed([str(HAKOIRI), *command, "--data", data])
    return float(usage.ru_utime + usage.ru_stime)


def _completed(command: Sequence[str]) -> tuple[bytes, Any]:
    """Return the output and the resource usage of a command; exit if it fails."""
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
    """A context manager that starts a control Redis, hosts that keep ranges, and plain workers.

    `hosts` gives the number of threads of each host by name. With a `network` each host runs in the namespace of its
    name; the coordinator, the control Redis and the plain workers run in that of `CONTROL`.
    """

    def __init__(self, hosts: Mapping[str, int], workers: int = 0, network: Network | None = None) -> None:
        self._hosts, self._workers, self._network = hosts, workers, network

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stores = stack.enter_context(tempfile.TemporaryDirectory())
            with self._on(CONTROL):
                # Without a password a Redis answers its own host only.
                server = RedisServer(Path(stores, CONTROL), "secret", host=self._address(CONTROL))
            self._control = stack.enter_context(server)
            hosts, workers = [], []
            for name, threads in self._hosts.items():
                options = ("--store", str(Path(stores, name)), "-n", str(threads), "--data-redis", "auto")
                hosts.append(stack.enter_context(self._started(name, *options)))
            if self._workers:
                workers.append(stack.enter_context(self._started(CONTROL, "-n", str(self._workers))))
            self._await()
            self._watched = Watched(_roles(self._control.pid, hosts, workers))
            if hosts:
                self.run(_FIRST)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, arguments: Sequence[str], in_turn: bool = False, collects: bool = False) -> Spent:
        """Run `hakoiri run` on these hosts.

        With `in_turn` only one host works at a time. With `collects`, collect the run afterwards, measured separately.
        """
        team = self._watched._replace(in_turn=in_turn)
        with self._on(CONTROL), tempfile.TemporaryDirectory() as data:
            spent = run_here([*arguments, "--redis", self._control.url, "--hosts", "all"], data, team)
            return replace(spent, collecting=self.cpu_of(["collect", "last"], data)) if collects else spent

    def cpu_of(self, command: Sequence[str], data: str) -> dict[str, float]:
        """Return the processor seconds by role of a command that takes ``--redis``."""
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
        """Start a `hakoiri worker` on a host; yield the process id of its supervisor."""
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
                sys.exit("not all hosts and workers have started after 60 s")
            time.sleep(0.1)


def _roles(control: int, hosts: Sequence[int], workers: Sequence[int]) -> dict[str, list[int]]:
    """Return process ids by role: of the control Redis, and of the processes that the supervisors started."""
    below = [child for host in hosts for child in psutil.Process(host).children(recursive=True)]
    data = [child.pid for child in below if child.name() == "redis-server"]
    teams = [child.pid for team in workers for child in psutil.Process(team).children(recursive=True)]
    return {
        "control": [control], "data": data, "hosts": [child.pid for child in below if child.pid not in data],
        "workers": teams,
    }  # fmt: skip


def with_threads(arguments: Sequence[str]) -> dict[str, Any]:
    """Measure the run by threads of one process."""
    with tempfile.TemporaryDirectory() as data:
        spent = run_here(arguments, data)
    return _common(spent)


def with_hosts(arguments: Sequence[str], hosts: int) -> dict[str, Any]:
    """Measure the run by hosts of one thread each on this machine."""
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
    """Measure one run by threads and by hosts."""
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
