"""The cores that this process may use: those of its affinity, and no more than its cgroups give it the time of."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_CGROUPS, _MINE = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: What a worker takes: 300 MB on the 3x4 tiles, of which it has some 4 million at a time.
_WORKER_BYTES = 400_000_000
#: The environment of a worker: numpy's libraries would start a thread for each core, and never use one of them here.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def usable_cores() -> list[int]:
    """A core for each process that can be busy at a time."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    return cores[: max(1, int(min(cores_given(), default=len(cores))))]


def cores_for_workers() -> list[int]:
    """Those of them for which there is memory."""
    import psutil

    return usable_cores()[: max(1, psutil.virtual_memory().available // _WORKER_BYTES)]


def cores_given(root: Path = _CGROUPS, mine: Path = _MINE) -> Iterator[float]:
    """The time of how many cores each cgroup gives that this process is in, of those that have a limit."""
    for line in mine.read_text(encoding="utf-8").splitlines() if mine.exists() else []:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        # In the first version each controller has a tree of its own. In a container the path may be one of the host.
        top = root / "cpu" if controllers else root
        group = top / path.lstrip("/")
        for folder in (group, *group.parents):
            if folder.is_relative_to(top) and (text := _quota(folder)):
                quota, period = text.split()
                if quota not in ("max", "-1"):
                    yield int(quota) / int(period)


def _quota(folder: Path) -> str:
    """Microseconds of processor time, and the microseconds in which they may be spent."""
    for files in (["cpu.max"], ["cpu.cfs_quota_us", "cpu.cfs_period_us"]):
        if all((folder / name).exists() for name in files):
            return " ".join((folder / name).read_text(encoding="utf-8") for name in files)
    return ""


def pin(process: int, core: int) -> None:
    """Let a process run on one core alone, where the system can do that; one that has ended is passed over."""
    if hasattr(os, "sched_setaffinity"):
        with suppress(ProcessLookupError):
            os.sched_setaffinity(process, {core})
