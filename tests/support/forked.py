"""A forked child, which shares the modules that its parent has imported: numba, RQ and the rest take 0.4 s."""

import gc
import multiprocessing
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.process import BaseProcess

_ENDING = (signal.SIGINT, signal.SIGTERM)


class Forked:
    """A child process of `multiprocessing`, started, with the interface of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self._process.start()
        self.pid = int(process.pid or 0)

    @property
    def returncode(self) -> int | None:
        """Its exit code, negative for a signal, or ``None`` while it lives."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return the exit code, or ``None`` while the process lives."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once the process has ended; ``subprocess.TimeoutExpired`` after so many seconds."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("fork", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        # A child of a fork server can be gone before the server has reported its exit code.
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def fork(work: Callable[[], object]) -> Forked:
    """Fork a child that calls `work`, in a process group of its own, with stderr as stdout; it ends with this process.

    IMPORTANT: only for processes without other threads, whose locks would stay locked in the child.
    """
    # Existing objects are exempt from garbage collection, which would unshare their pages in the child.
    gc.freeze()
    process = multiprocessing.get_context("fork").Process(target=_begin, args=(work,), daemon=True)
    # IMPORTANT: Python drops a signal that comes before its child is set up; a blocked one waits.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        return Forked(process)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin(work: Callable[[], object]) -> None:
    for number in _ENDING:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    os.setpgid(0, 0)
    os.dup2(2, 1)
    work()
