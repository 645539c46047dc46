"""Processes that live no longer than the one that started them, however that ends."""

import ctypes
import os
import signal
import subprocess
import sys

#: The option of prctl(2) that has the kernel send a signal to a process when its parent ends.
_PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec there may be one system call, and no import.
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def end_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, which is process `parent`; elsewhere than on Linux that
    is left to the parent."""
    if _prctl is None:
        return
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)  # It was faster.


def end(process: "subprocess.Popen[bytes]", seconds: float, number: int = signal.SIGTERM) -> None:
    """Ask a child to end by a signal, and wait; kill it if it takes longer."""
    process.send_signal(number)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
