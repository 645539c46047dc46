"""The cores that this process may use, its children, and its end with the process that started it.

Control groups: as for `hakoiri.memory`, the file `cpu.max`.
"""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hakoiri.memory import available_memory, groups, limit_for_children, text_of

#: Environment variables: the process that started a child, and the URL of the Redis of workers.
SUPERVISOR, REDIS = "HAKOIRI_SUPERVISOR", "HAKOIRI_REDIS"
#: The most memory of a worker: 300 MB on the 3x4 tiles, of which it has some 4 million at a time.
WORKER_BYTES = 400_000_000
#: That of a child besides its chunk (`worker.child`): the interpreter, numpy, numba and the kernels.
CHILD_BYTES = 180_000_000
#: The least for its chunk, and for what its rules keep.
CHUNK_BYTES = 64_000_000
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


def cores_given(*where: Path) -> Iterator[float]:
    """Yield the processor time that each cgroup of this process with a limit allows, in cores."""
    for folder in groups("cpu", *where):
        for names in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
            # Microseconds of processor time, and the microseconds in which they may be spent.
            numbers = " ".join(text_of(folder / name) for name in names).split()
            if len(numbers) == 2 and numbers[0] not in ("max", "-1"):
                yield int(numbers[0]) / int(numbers[1])


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
    env = how["env"] | limit_for_children() | {SUPERVISOR: str(os.getpid())}
    return subprocess.Popen([sys.executable, "-P", "-m", module, *words], **how | {"env": env})


def worker_name(process: int) -> str:
    """Return the name of the worker with this process id on this machine."""
    return f"{socket.gethostname()}-{process}"


def host_of(worker: str) -> str:
    """Return the machine of a worker."""
    return worker.rpartition("-")[0]


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
