"""Estimates the time left of a layer and of the run, from what this session has seen.

A layer is expanded, then merged. What is left of a half follows from what is done of it; how long the merging will
take, while a layer is expanded, from the layer before. Their sizes do not tell how many layers will follow:
they may shrink for long, and grow again. So there is a time for the run only where the number of all configurations is
known. It is the most that the run can take at the pace of the last layers: some configurations may be out of reach.
"""

import time
from collections import deque
from collections.abc import Callable

#: A half of a layer says nothing of its pace before.
_LEAST_SECONDS = 1.0
#: Layers whose pace counts; the slowest of them does.
_LAYERS = 3


class Pace:
    """The pace of one session. `most` is how many configurations there are at most, if that is known.

    `clock` gives seconds.
    """

    def __init__(self, most: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._began, self._done_before = clock(), 0
        self._is_resumed = False
        self._expanding: float | None = None
        #: Seconds of merging for each of expanding, in the layer before; seconds for each configuration expanded.
        self._merging: float | None = None
        self._each = deque[float](maxlen=_LAYERS)

    def expand(self, done: int) -> None:
        """A layer is begun of which `done` configurations were expanded before."""
        self._began, self._done_before, self._expanding = self._clock(), done, None
        self._is_resumed = bool(done)

    def merge(self, done: int) -> None:
        """The layer is expanded, and `done` of its ranges were merged before."""
        now = self._clock()
        self._expanding = now - self._began if not (self._is_resumed or done) else None
        self._began, self._done_before = now, done

    def finish(self, size: int) -> None:
        """The layer is done; `size` configurations were expanded for it. One that was resumed shows no pace."""
        if self._expanding is not None and size:
            merging = self._clock() - self._began
            self._merging = merging / max(self._expanding, 1e-6)
            self._each.append((self._expanding + merging) / size)

    def expanding_left(self, done: int, total: int) -> float | None:
        """Seconds that the layer takes yet, merging included, when `done` of `total` configurations are expanded."""
        left = self.merging_left(done, total)
        if left is None or self._merging is None:
            return None
        whole = (self._clock() - self._began + left) * total / (total - self._done_before)
        return left + whole * self._merging

    def merging_left(self, done: int, total: int) -> float | None:
        """Seconds that the layer takes yet when `done` of `total` ranges are merged."""
        elapsed = self._clock() - self._began
        if elapsed < _LEAST_SECONDS or done <= self._done_before:
            return None
        return elapsed * (total - done) / (done - self._done_before)

    def run_left(self, layer_left: float | None, expanded: int) -> float | None:
        """Seconds that the run takes yet at most when `expanded` configurations will be when the layer is done."""
        if self._most is None or layer_left is None or not self._each:
            return None
        return layer_left + max(self._each) * max(0, self._most - expanded)
