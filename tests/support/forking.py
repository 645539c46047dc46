"""The command line as processes of their own that need not import it: each is forked from one that has.

A new interpreter takes a second to import Hakoiri and to load its kernels, a fork takes none. All else is real: a
process id, signals, exit codes, streams. `multiprocessing`'s fork server is such a process, without threads; it has
what `tests.support.preloaded` loads.
"""

import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import rq.utils

from coordinator.session import resources
from hakoiri.cli import main
from tests.support.namespaces import enter
from worker.transport.rq_worker import TaskWorker
from worker.transport.supervisor import Supervisor

#: Tests allow less memory than users can, so that small spaces are spilled.
SCARCE = 1
#: What forks processes that have imported Hakoiri.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.support.preloaded"])


class Forked:
    """A forked process, as `subprocess.Popen` would have it."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self._process.start()
        self.pid = int(self._process.pid)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal, or ``None`` while it lives."""
        code: int | None = self._process.exitcode
        return code

    def poll(self) -> int | None:
        """The same."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("hakoiri", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


def fork_command(
    arguments: list[str], streams: tuple[Path, Path], env: dict[str, str], cwd: Path,
    before: Callable[[], object] | None,
) -> Forked:  # fmt: skip
    """The command line as a child process, with stdout and stderr in files.

    `before` is called in it first: a function of a module, or a `functools.partial` of one.
    """
    return Forked(SERVER.Process(target=_run, args=(arguments, streams, env, cwd, before)))


def fork_workers() -> None:
    """Have the supervisor that this process is to be fork its workers, too; it has no threads yet."""
    Supervisor._start = _start_worker  # type: ignore[method-assign]


def fork_workers_with_clock(ahead: float) -> None:
    """The same on a host whose clock is so many seconds ahead, for RQ; and it looks for abandoned jobs all the time."""
    then, stamp = rq.utils.now, rq.utils.current_timestamp
    shifted = {"now": lambda: then() + timedelta(seconds=ahead), "current_timestamp": lambda: stamp() + int(ahead)}
    for module in [module for name, module in sys.modules.items() if name.startswith("rq.")]:
        for name in shifted.keys() & vars(module).keys():
            setattr(module, name, shifted[name])
    TaskWorker.should_run_maintenance_tasks = property(lambda _: True)
    fork_workers()


def fork_workers_on(namespace: str) -> None:
    """The same on a host of a `Network`."""
    enter(namespace)
    fork_workers()


def _start_worker(supervisor: Supervisor) -> Any:
    return Forked(multiprocessing.get_context("fork").Process(target=_work, args=(supervisor._environment,)))


def _work(env: dict[str, str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(env)
    os.dup2(2, 1)
    sys.modules.pop("worker.main", None)
    runpy.run_module("worker.main", run_name="__main__")


def _run(
    arguments: list[str], streams: tuple[Path, Path], env: dict[str, str], cwd: Path,
    before: Callable[[], object] | None,
) -> None:  # fmt: skip
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(streams, 1):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    sys.argv = ["hakoiri", *arguments]
    resources.LEAST_MEMORY = SCARCE
    if before is not None:
        before()
    main()
