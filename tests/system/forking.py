"""The command line as processes of their own that need not import it: each is forked from one that has.

A new interpreter takes a second to import Hakoiri and to load its kernels, a fork takes none. All else is real: a
process id, signals, exit codes, streams. `multiprocessing`'s fork server is such a process, without threads; it has
what `tests.system.preloaded` loads.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from hakoiri.cli import main

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["tests.system.preloaded"])


class Forked:
    """The command line as a child process, as `subprocess.Popen` would have it.

    `before` is called in it first: a function of a module, or a `functools.partial` of one.
    """

    def __init__(
        self, arguments: list[str], streams: tuple[Path, Path], env: dict[str, str], cwd: Path,
        before: Callable[[], object] | None,
    ) -> None:  # fmt: skip
        self._process = _SERVER.Process(target=_run, args=(arguments, streams, env, cwd, before))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Its exit code, negative for a signal, or ``None`` while it lives."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code once it has ended."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("hakoiri", timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)


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
    if before is not None:
        before()
    main()
