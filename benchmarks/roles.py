"""What a run costs each of those who take part: processor seconds, and bytes through Redis.

    python benchmarks/roles.py tiles -o rows=3 -o columns=4
    python benchmarks/roles.py --workers 2 pancakes -o n=11

runs the puzzle with threads and then by workers, with a Redis for the queue and another for what the workers hand each
other, and prints one JSON object. Kernels are compiled before. `ns` are nanoseconds of processor time, user and system,
per configuration. `benchmarks/scaling.py` reckons with it what more workers, on more hosts, would take.
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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from benchmarks.watched import ALONE, Moment, Watched, calls
from hakoiri.worker.transport.connection import living_workers
from tests.support.namespaces import Network

HAKOIRI = Path(sys.executable).parent / "hakoiri"
CONTROL = "control"
#: Where the data Redis is: the one on the host of the coordinator, or one on each host that works.
ONE, EACH = "one", "each"
#: A run that compiles and loads what every run needs.
_FIRST = ("klotski", "--farm-from", "0")


@dataclass(frozen=True)
class Spent:
    """What a run reports, the seconds that it took by the clock, and what its processes took, by role."""

    report: Mapping[str, Any]
    wall: float
    peak_mb: int
    cpu: Mapping[str, float]
    #: Bytes that came into the control Redis and the data Redis, and that went out.
    received: Mapping[str, int]
    sent: Mapping[str, int]
    #: Jobs done by workers; pieces left in data Redis, stretches of pieces fetched from there.
    jobs: int
    pieces: int
    fetches: int

    @property
    def configurations(self) -> int:
        """How many the run found."""
        return int(self.report["configurations"])


def run_here(arguments: Sequence[str], data: str, program: Sequence[str] = (str(HAKOIRI),)) -> Spent:
    """A run by this command line alone: by threads, or where it names a Redis the coordinator's part."""
    began = time.monotonic()
    command = [*program, "run", *arguments, "--data", data, "--json"]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=out, stderr=errors)
        _, _, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = 0
        out.seek(0)
        errors.seek(0)
        try:
            report = json.load(out)
        except ValueError:
            sys.exit(f"{' '.join(command)}\n{errors.read().decode()}")
    subprocess.run([HAKOIRI, "delete", report["run"], "--data", data, "--yes"], check=True, capture_output=True)
    cpu = {"coordinator": usage.ru_utime + usage.ru_stime}
    return Spent(report, wall, usage.ru_maxrss * 1024 // 1_000_000, cpu, {}, {}, 0, 0, 0)


def cpu_of(command: Sequence[str], data: str) -> float:
    """Processor seconds of any command of the command line, of its process alone."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([HAKOIRI, *command, "--data", data], stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if child.returncode:
            sys.exit(f"{' '.join(command)}\n{errors.read().decode()}")
    return usage.ru_utime + usage.ru_stime


def watched_here(arguments: Sequence[str], data: str, team: Watched = ALONE) -> tuple[Spent, list[Moment]]:
    """`run_here`, looked at after each layer, and what was seen."""
    with tempfile.NamedTemporaryFile() as seen:
        program = (sys.executable, "-m", "benchmarks.watched", seen.name, json.dumps(team))
        spent = run_here(arguments, data, program)
        return spent, [Moment(*each) for each in json.load(seen)]


class Team:
    """A control Redis, data Redis and workers, until the block ends: on this machine, or on the hosts of a network.

    `hosts`: how many workers each has. With a network the control Redis, the coordinator and the data Redis if there is
    `ONE` are on its host `CONTROL`, whose address is then given as one of data Redis.
    """

    def __init__(self, hosts: Mapping[str, int], depots: str = ONE, network: Network | None = None) -> None:
        self._hosts, self._depots, self._network = hosts, depots, network
        # No worker shows from the address of a data Redis that has a host for itself.
        self._allowed = self._address(CONTROL) if network and depots == ONE else ""

    def __enter__(self) -> "Team":
        with ExitStack() as stack:
            self._data = stack.enter_context(tempfile.TemporaryDirectory())
            self._control = stack.enter_context(_server(self._on(CONTROL), self._address(CONTROL)))
            places = {CONTROL: self._hosts} if self._depots == ONE else {name: [name] for name in self._hosts}
            self._stores, workers = [], []
            for place, users in places.items():
                store = stack.enter_context(_server(self._on(place), self._address(place)))
                self._stores.append(store)
                for name in users:
                    with self._on(name):
                        team = _workers(self._control.url, store.url, self._hosts[name], self._allowed)
                        workers.append(stack.enter_context(team))
            self._workers = workers
            self._await()
            self.run(_FIRST)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, arguments: Sequence[str]) -> Spent:
        """A run by these workers."""
        team = self._watched()
        before = team.cpu()
        for server in (self._control, *self._stores):
            server.client.config_resetstat()
        with self._on(CONTROL):
            ended = run_here(self._distributed(arguments), self._data)
        cpu = {role: spent - before[role] for role, spent in team.cpu().items()}
        control = [self._control.client.info("all")]
        stores = [store.client.info("all") for store in self._stores]
        return Spent(
            ended.report, ended.wall, ended.peak_mb, {**ended.cpu, **cpu},
            {"control": _total(control, "total_net_input_bytes"), "data": _total(stores, "total_net_input_bytes")},
            {"control": _total(control, "total_net_output_bytes"), "data": _total(stores, "total_net_output_bytes")},
            # Of all that talk to the control Redis, RQ alone appends to a list, once for each job.
            calls(control, "rpush"), calls(stores, "set"), calls(stores, "getrange"),
        )  # fmt: skip

    def cpu_of(self, command: Sequence[str], data: str) -> dict[str, float]:
        """Processor seconds by role of any command that takes ``--redis``."""
        team = self._watched()
        before = team.cpu()
        coordinator = cpu_of(self._distributed(command), data)
        return {"coordinator": coordinator} | {role: spent - before[role] for role, spent in team.cpu().items()}

    def watch(self, arguments: Sequence[str]) -> tuple[Spent, list[Moment]]:
        """A run by these workers, looked at after each layer: `Spent` has the coordinator's part, looking included."""
        with self._on(CONTROL):
            return watched_here(self._distributed(arguments), self._data, self._watched())

    def _distributed(self, arguments: Sequence[str]) -> list[str]:
        allowed = ["--data-networks", self._allowed] if self._allowed else []
        return [*arguments, "--redis", self._control.url, *allowed]

    def _watched(self) -> Watched:
        processes = {
            "control": [self._control.process], "data": [store.process for store in self._stores],
            "workers": self._workers,
        }  # fmt: skip
        return Watched(processes, [self._control.url], [store.url for store in self._stores])

    def _on(self, name: str) -> AbstractContextManager[None]:
        return self._network.inside(name) if self._network else nullcontext()

    def _address(self, name: str) -> str:
        return self._network.addresses[name] if self._network else "127.0.0.1"

    def _await(self) -> None:
        until = time.monotonic() + 60
        while len(living_workers(self._control.client)) < sum(self._hosts.values()):
            if time.monotonic() > until:
                sys.exit("the workers do not come")
            time.sleep(0.1)


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


@contextmanager
def _workers(control: str, store: str, count: int, allowed: str) -> Iterator[int]:
    """Start `count` workers, to which data Redis at the addresses `allowed` may send; gives their supervisor's id."""
    settings = {"HAKOIRI_REDIS": control, "HAKOIRI_DATA_REDIS": store, "HAKOIRI_DATA_NETWORKS": allowed}
    quiet = subprocess.DEVNULL
    team = subprocess.Popen(
        [HAKOIRI, "worker", "-n", str(count)], env=os.environ | settings, stdout=quiet, stderr=quiet
    )
    try:
        yield team.pid
    finally:
        team.terminate()
        team.wait()


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def _total(infos: list[dict[str, Any]], name: str) -> int:
    return sum(int(info[name]) for info in infos)


def with_threads(arguments: Sequence[str]) -> dict[str, Any]:
    """The run by threads of one process."""
    with tempfile.TemporaryDirectory() as data:
        spent = run_here(arguments, data)
    return _common(spent) | {"ns": _ns(spent, sum(spent.cpu.values()))}


def with_workers(arguments: Sequence[str], workers: int) -> dict[str, Any]:
    """The run by workers of this machine."""
    with Team({"here": workers}) as team:
        spent = team.run(arguments)
    count = spent.configurations
    return _common(spent) | {
        "ns": {role: _ns(spent, value) for role, value in spent.cpu.items()},
        "ns_together": _ns(spent, sum(spent.cpu.values())),
        "bytes_in": {role: round(value / count, 3) for role, value in spent.received.items()},
        "bytes_out": {role: round(value / count, 3) for role, value in spent.sent.items()},
        "jobs": spent.jobs, "pieces": spent.pieces, "fetches": spent.fetches,
    }  # fmt: skip


def _common(spent: Spent) -> dict[str, Any]:
    report = {name: spent.report[name] for name in ("configurations", "digest")}
    return report | {"wall_s": round(spent.wall, 2), "peak_mb": spent.peak_mb}


def _ns(spent: Spent, value: float) -> float:
    return round(value / spent.configurations * 1e9, 1)


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=["threads", "workers"])
    options, arguments = parser.parse_known_args()
    found: dict[str, Any] = {}
    if options.only != "workers":
        found["threads"] = with_threads(arguments)
    if options.only != "threads":
        found["workers"] = with_workers(arguments, options.workers)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
