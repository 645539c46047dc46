"""The cores and the memory that this process may use, and the cores that workers are kept to when they are replaced."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import psutil
import pytest
import redis

from hakoiri import memory
from hakoiri.errors import WorkerError
from hakoiri.memory import available_memory, memory_left
from hakoiri.worker import machine, supervisor
from hakoiri.worker.machine import cores_for_workers, cores_given, usable_cores
from hakoiri.worker.supervisor import Supervisor
from hakoiri.worker.transport import connection
from tests.support.commands import wait_until

needs_pinning = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system pins no process")


def cgroups(root: Path, files: dict[str, str]) -> Path:
    """A tree of control groups."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


#: The first version of control groups: a quota, and the time that it is for.
QUOTA, PERIOD = "cpu.cfs_quota_us", "cpu.cfs_period_us"


@pytest.mark.parametrize(
    ("mine", "files", "given"),
    [
        ("0::/", {"cpu.max": "max 100000\n"}, []),
        ("0::/", {"cpu.max": "250000 100000\n"}, [2.5]),
        ("0::/a/b", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "400000 100000", "cpu.max": "3000 1000"}, [4, 3]),
        ("1:cpu,cpuacct:/x\n0::/", {f"cpu/x/{QUOTA}": "150000\n", f"cpu/x/{PERIOD}": "100000\n"}, [1.5]),
        ("1:cpu:/of/a/host", {f"cpu/{QUOTA}": "50000", f"cpu/{PERIOD}": "100000"}, [0.5]),
        ("1:cpu:/", {f"cpu/{QUOTA}": "-1\n", f"cpu/{PERIOD}": "100000\n"}, []),
        ("2:cpuset:/y", {"cpu.max": "100000 100000", "y/cpu.max": "100000 100000"}, []),
    ],
)  # fmt: skip
def test_the_time_that_control_groups_give(
    mine: str, files: dict[str, str], given: list[float], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text(mine + "\n", encoding="utf-8")
    assert list(cores_given(cgroups(tmp_path / "root", files), tmp_path / "mine")) == given
    assert list(cores_given(tmp_path, tmp_path / "absent")) == []


V1_LIMIT, V1_USED, V1_STAT = "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat"


@pytest.mark.parametrize(
    ("mine", "files", "left"),
    [
        ("0::/", {"memory.max": "max\n", "memory.current": "5\n"}, []),
        ("0::/", {"memory.max": "900\n", "memory.current": "500\n", "memory.stat": "inactive_file 30\n"}, [430]),
        ("0::/a", {"a/memory.max": "90", "a/memory.current": "95", "memory.max": "70", "memory.current": "9"}, [0, 61]),
        ("4:memory:/x", {f"memory/x/{V1_LIMIT}": "800\n", f"memory/x/{V1_USED}": "300\n",
                         f"memory/x/{V1_STAT}": "total_inactive_file 50\n"}, [550]),
        ("4:memory:/of/a/host", {f"memory/{V1_LIMIT}": "80", f"memory/{V1_USED}": "30"}, [50]),
        ("0::/", {"memory.max": "900\n"}, []),
    ],
)  # fmt: skip
def test_the_memory_that_control_groups_leave(
    mine: str, files: dict[str, str], left: list[int], tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text(mine + "\n", encoding="utf-8")
    assert list(memory_left(cgroups(tmp_path / "root", files), tmp_path / "mine")) == left


def test_the_least_of_all_limits_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=100))
    for left, least in (([], 100), ([300, 70], 70), ([300], 100)):
        monkeypatch.setattr(memory, "memory_left", lambda left=left: iter(left))
        assert available_memory() == least


@needs_pinning
def test_cores_are_those_of_the_affinity_and_of_the_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {7, 3, 5})
    for given, expected in (([], [3, 5, 7]), ([8.0, 2.5], [3, 5]), ([0.5], [3])):
        monkeypatch.setattr(machine, "cores_given", lambda given=given: iter(given))
        assert usable_cores() == expected
    monkeypatch.setattr(machine, "cores_given", lambda: iter([]))
    for available, expected in ((10**12, [3, 5, 7]), (10**9, [3, 5]), (10**6, [3])):
        monkeypatch.setattr(psutil, "virtual_memory", lambda available=available: SimpleNamespace(available=available))
        assert cores_for_workers() == expected


@needs_pinning
def test_a_worker_that_dies_is_replaced_on_its_core(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeper = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
    started: list[int] = []

    class Team(Supervisor):
        poll_seconds, restart_seconds = 0.01, 0.0

        def start_worker(self) -> "subprocess.Popen[bytes]":
            process = subprocess.Popen(sleeper)
            started.append(process.pid)
            return process

    monkeypatch.setattr(supervisor, "connect", lambda url: None)
    monkeypatch.setattr(supervisor, "forget_worker", lambda name, connection: None)
    own = sorted(os.sched_getaffinity(0))
    places = [own[-1], own[0], own[-1]]
    team = Team("redis://", 3, lambda text: None, cores=places)
    team.start()
    keeper = threading.Thread(target=team.run)
    keeper.start()
    try:
        assert [os.sched_getaffinity(process) for process in started] == [{core} for core in places]
        os.kill(started[1], signal.SIGKILL)
        wait_until(lambda: team.replaced == 1, what="another worker")
        assert os.sched_getaffinity(started[3]) == {places[1]}
    finally:
        team.request_stop()
        keeper.join()


def test_workers_that_end_early_in_succession_are_started_after_longer_and_longer_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervisor, "connect", lambda url: None)
    monkeypatch.setattr(supervisor, "forget_worker", lambda name, connection: None)

    def refuse(*_: object) -> None:
        raise WorkerError("it is broken")

    monkeypatch.setattr(supervisor, "require_own_names", refuse)
    said: list[str] = []
    team = Supervisor("redis://", 1, said.append)
    vars(team).update(_workers=[SimpleNamespace(pid=1, wait=lambda: 1)], _began={0: time.monotonic()})
    pauses = [team._report_ended(0) for _ in range(9)]
    assert pauses == [0.5, 0.5, 0.5, 0.5, 0.5, 1.0, 2.0, 4.0, 8.0]
    assert [text for text in said if "it is broken" in text] == said[4:]
    assert len(said) == 5
    # One that has worked for a while counts for none of them.
    team._began[0] -= 60
    assert (team._report_ended(0), len(said)) == (0.5, 6)


def test_a_worker_says_that_it_lives_until_its_parent_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    beats, loops, parents = list[str](), list[Callable[[], None]](), iter([7, 7, 7, 1])

    class Redis:
        """Notes what a worker says of itself."""

        def pipeline(self, transaction: bool) -> "Redis":
            return self

        def sadd(self, name: str, worker: str) -> None:
            beats.append(worker)

        def set(self, name: str, url: str, ex: int, get: bool) -> None:
            beats.append(url)

        def execute(self) -> list[bool]:
            """Both were noted."""
            return [True, True]

    def ended(code: int) -> None:
        raise InterruptedError(code)

    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    monkeypatch.setattr(os, "_exit", ended)
    monkeypatch.setattr(connection, "BEAT_SECONDS", 0.0)
    monkeypatch.setattr(
        threading, "Thread", lambda target, **_: loops.append(target) or SimpleNamespace(start=lambda: None)
    )
    connection.start_heartbeat("one", cast(redis.Redis, Redis()), 7, lambda: "a URL")
    assert beats == ["one", "a URL"]
    with pytest.raises(InterruptedError):
        loops[0]()
    assert beats == ["one", "a URL"] * 4


def test_how_a_worker_ended_is_said() -> None:
    said = [supervisor._fate(code) for code in (0, 1, -9)]
    assert all(each for each in said) and len({*said}) == 3
    assert [("SIGKILL" in each or "signal" in each) for each in said] == [False, False, True]
