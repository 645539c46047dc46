"""Processes that end with the process that started them, however that ends."""

import ctypes
import os
import signal
import subprocess
import sys

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


def end(process: "subprocess.Popen[bytes]", seconds: float, number: int = signal.SIGTERM) -> None:
    """Ask a child to end by a signal, and wait; kill it after so many seconds."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
