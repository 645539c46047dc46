"""The seconds in which this process compiles or loads kernels, and a clock that stands still meanwhile."""

import threading
import time
from collections.abc import Callable
from typing import Any


class _Spent:
    """The seconds in which any thread of this process compiled or loaded kernels."""

    def __init__(self) -> None:
        self._lock, self._busy, self._began, self._seconds = threading.Lock(), 0, 0.0, 0.0

    def during(self, work: Callable[..., Any], *given: Any) -> Any:
        with self._lock:
            self._began = self._began if self._busy else time.perf_counter()
            self._busy += 1
        try:
            return work(*given)
        finally:
            with self._lock:
                self._busy -= 1
                self._seconds += 0.0 if self._busy else time.perf_counter() - self._began

    def so_far(self) -> float:
        with self._lock:
            return self._seconds + (time.perf_counter() - self._began if self._busy else 0.0)


_spent = _Spent()
timed, compiling_seconds = _spent.during, _spent.so_far


def clock() -> float:
    """Return `time.perf_counter` without the seconds of compiling and loading: what work takes by itself."""
    return time.perf_counter() - compiling_seconds()
