"""The command line as processes of their own that need not import it: each is forked from one that has.

A new interpreter takes a second to import Hakoiri and to load its kernels, a fork takes none. All else is real: a
process id, signals, exit codes, streams. `multiprocessing`'s fork server is such a process, without threads; it has
what `tests.support.preloaded` loads.
"""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from hakoiri import compiling
from hakoiri.cli import main
from hakoiri.coordinator.session import resources
from hakoiri.worker import program
from hakoiri.worker.machine import end_with
from hakoiri.worker.main import main as work
from hakoiri.worker.supervisor import Supervisor
from tests.support.forked import Forked, fork

#: Tests allow less memory than users can, so that small spaces are spilled.
SCARCE = 1
_start_interpreter = Supervisor.start_worker
#: What forks processes that have imported Hakoiri.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.support.preloaded"])


def fork_command(
    arguments: list[str], streams: tuple[Path, Path], env: dict[str, str], cwd: Path,
    before: Callable[[], object] | None,
) -> Forked:  # fmt: skip
    """The command line as a child process, with stdout and stderr in files.

    `before` is called in it first: a function of a module, or a `functools.partial` of one.
    """
    return Forked(SERVER.Process(target=_run, args=(arguments, streams, env, cwd, before)))


def fork_other_worker(change: str, env: dict[str, str]) -> Forked:
    """A worker process without a supervisor, or a host, whose program differs by `change`; `env` says what it does."""
    return Forked(SERVER.Process(target=_work_otherwise, args=(change, env)))


def _work_otherwise(change: str, env: dict[str, str]) -> None:
    end_with(os.getppid())
    os.environ.clear()
    os.environ.update(env)
    exec(change, {"__name__": "changed"})  # noqa: S102
    # The process that forked may know the digests of what was changed.
    program._program_of.cache_clear()
    work()


def _start_worker(supervisor: Supervisor) -> Any:
    """A worker that inherits what was changed in its supervisor; a new interpreter if that has other threads."""
    if threading.active_count() > 1:
        return _start_interpreter(supervisor)
    return fork(partial(_work_in, supervisor._environment))


def _work_in(env: dict[str, str]) -> None:
    os.environ |= env
    # The supervisor's would look at its run before a kernel compiles.
    compiling._compilation.tellers.clear()
    work()


def _run(
    arguments: list[str], streams: tuple[Path, Path], env: dict[str, str], cwd: Path,
    before: Callable[[], object] | None,
) -> None:  # fmt: skip
    # The one that forks ends with the process that it forks for.
    end_with(os.getppid())
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
    Supervisor.start_worker = _start_worker  # type: ignore[assignment, method-assign]
    if before is not None:
        before()
    main()
