"""The cores and memory that this process may use, and its end with the process that started it.

Files of control groups: https://docs.kernel.org/admin-guide/cgroup-v2.html (`cpu.max`, `memory.max`), and of the first
version https://docs.kernel.org/admin-guide/cgroup-v1/memory.html, where each controller has a tree of its own.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

#: Environment variables: the process that started a child, and the URL of the Redis of workers.
SUPERVISOR, REDIS = "HAKOIRI_SUPERVISOR", "HAKOIRI_REDIS"
_CGROUPS, _MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: The most memory of a worker: 300 MB on the 3x4 tiles, of which it has some 4 million at a time.
WORKER_BYTES = 400_000_000
#: Environment of a process: numpy's libraries would start a thread per core, which waits in a loop for 25 ms (0.42 CPU
#: s for the 3x3 tiles instead of 0.48), and nothing here benefits from them.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def usable_cores() -> list[int]:
    """Return a core for each process that can be busy at a time."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return cores[: max(1, int(min(cores_given(), default=len(cores))))]


def cores_for_workers() -> list[int]:
    """Return the usable cores for whose workers there is memory."""
    return usable_cores()[: max(1, available_memory() // WORKER_BYTES)]


def available_memory() -> int:
    """Return the bytes that this process and its children can take before the system or a control group runs out."""
    import psutil

    return int(min([psutil.virtual_memory().available, *memory_left()]))


def cores_given(root: Path = _CGROUPS, mine: Path = _MINE) -> Iterator[float]:
    """Yield the processor time that each cgroup of this process with a limit allows, in cores."""
    for folder in _groups("cpu", root, mine):
        for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
            # Microseconds of processor time, and the microseconds in which they may be spent.
            numbers = " ".join(_read(folder / name) for name in names).split()
            if len(numbers) == 2 and numbers[0] not in ("max", "-1"):
                yield int(numbers[0]) / int(numbers[1])


def memory_left(root: Path = _CGROUPS, mine: Path = _MINE) -> Iterator[int]:
    """Yield the bytes that each cgroup of this process with a limit has left.

    Inactive cached files count as used in a cgroup, but are dropped at once when memory is needed.
    """
    for folder in _groups("memory", root, mine):
        for limit, usage, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most, used = _read(folder / limit).strip(), _read(folder / usage).strip()
            if most.isdigit() and used.isdigit():
                statistics = dict(line.split() for line in _read(folder / "memory.stat").splitlines())
                yield max(0, int(most) - int(used) + int(statistics.get(cached, 0)))


def _groups(controller: str, root: Path, mine: Path) -> Iterator[Path]:
    """Yield the folders of the cgroups of this process for `controller`, the innermost first."""
    for line in _read(mine).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # In the first version each controller has a tree of its own. In a container the path may be one of the host.
        top = root / controller if controllers else root
        group = top / path.lstrip("/")
        yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(top))


def _read(file: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    with suppress(OSError):
        return file.read_text(encoding="utf-8")
    return ""


def pin(process: int, core: int) -> None:
    """Restrict a process to one core, if the system supports it; ignore a process that has ended."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(process, {core})


#: The option of prctl(2) that makes the kernel send a signal to a process when its parent ends.
_PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec only a system call is safe, not an import.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with(parent: int) -> None:
    """Make the kernel kill this process when its parent, process `parent`, ends; on Linux only."""
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # The parent has ended already.


def start_child(module: str, *words: str, **how: Any) -> "subprocess.Popen[bytes]":
    """Start a module as a program whose supervisor is this process; `how` has `env` and more for `Popen`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *words], **how | {"env": how["env"] | {SUPERVISOR: str(os.getpid())}}
    )


def how_ended(code: int) -> str:
    """Return the end of a child in words, from its exit code."""
    return f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"


def end(process: "subprocess.Popen[bytes]", seconds: float, number: int = signal.SIGTERM) -> None:
    """Ask a child to end by a signal, and wait; kill it after so many seconds."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
