"""Computing that can be broken off: the rules of a puzzle in plain Python may take seconds for one chunk."""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

_Made = TypeVar("_Made")


class Interrupted(BaseException):
    """Raised in a thread amid its computing. No ``Exception``, for a puzzle may catch those."""


class InterruptibleWork:
    """Computing by any threads, which another thread or a signal handler may break off."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may meet its own thread inside.
        self._lock = threading.RLock()
        self._at_work = set[int]()

    def run(self, work: Callable[[], _Made]) -> _Made:
        """Return what `work` makes; `Interrupted` out of its midst. It may change nothing that others use."""
        thread = threading.get_ident()
        try:
            with self._lock:
                self._at_work.add(thread)
            return work()
        finally:
            # IMPORTANT: behind the lock, so that nothing is raised in this thread any more once it has left.
            with self._lock:
                self._at_work.discard(thread)

    def break_off(self) -> None:
        """Raise `Interrupted` in all threads at work: at the next step of Python, not within a system call."""
        with self._lock:
            for thread in self._at_work:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
            self._at_work.clear()
