"""Interruptible computing: the rules of a puzzle in plain Python may take seconds for one chunk."""

import ctypes
import threading
from collections.abc import Callable
from typing import TypeVar

_Made = TypeVar("_Made")


class Interrupted(BaseException):
    """Raised in a thread while it computes. Not an ``Exception``, because a puzzle may catch those."""


class InterruptibleWork:
    """Work of any threads that another thread or a signal handler can interrupt."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may run in a thread that holds the lock.
        self._lock = threading.RLock()
        self._at_work = set[int]()

    def run(self, work: Callable[[], _Made]) -> _Made:
        """Return the result of `work`, which must have no side effects; `Interrupted` may be raised in it."""
        thread = threading.get_ident()
        try:
            with self._lock:
                self._at_work.add(thread)
            return work()
        finally:
            # IMPORTANT: under the lock, so that nothing is raised in this thread after it has left.
            with self._lock:
                self._at_work.discard(thread)

    def break_off(self) -> None:
        """Raise `Interrupted` in all working threads: at their next Python instruction, not within a system call."""
        with self._lock:
            for thread in self._at_work:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Interrupted))
            self._at_work.clear()
