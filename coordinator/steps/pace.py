"""How long the layer under way, and the run, will take yet: judged by what this session has seen, or not at all.

A layer is expanded, then merged. What is left of a half follows from what is done of it; how long the merging will
take, while a layer is expanded, from the layer before. How many layers will follow nobody can tell from their sizes:
they may shrink for long, and grow again. So there is a time for the run only where the number of all configurations is
known, and it is the most that it can take at the pace of the last layers: some configurations may be out of reach.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

#: A half of a layer says nothing of its pace before.
_LEAST_SECONDS = 1.0
#: Layers whose pace counts; the slowest of them does.
_LAYERS = 3
#: The processor time that a job takes of all processes together (1.1 ms of the coordinator, 2.3 of the worker, the rest
#: of Redis), and the jobs that a worker has in a small layer.
_JOB_SECONDS, _JOBS_EACH = 0.004, 2
#: What a layer made here leaves of the wire's measure, so that one bad moment does not keep all further layers here.
_FORGOTTEN = 0.8
#: Fewer configurations say nothing of what one costs.
_ENOUGH = 1_000


class Pace:
    """The pace of one session. `most` is how many configurations there are at most, if that is known.

    `clock` gives seconds.
    """

    def __init__(self, most: int | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._clock = most, clock
        self._began, self._done_before = clock(), 0
        self._is_resumed = self._is_ahead = False
        self._expanding: float | None = None
        #: Seconds of merging for each of expanding, in the layer before; seconds for each configuration expanded.
        self._merging: float | None = None
        self._each = deque[float](maxlen=_LAYERS)

    def expand(self, done: int, ahead: int = 0) -> None:
        """A layer is begun of which `done` configurations were expanded before, or `ahead`, with the layer before."""
        self._began, self._done_before, self._expanding = self._clock(), done + ahead, None
        self._is_resumed, self._is_ahead = bool(done), bool(ahead)

    def merge(self, done: int) -> None:
        """The layer is expanded, and `done` of its ranges were merged before."""
        now = self._clock()
        self._expanding = now - self._began if not (self._is_resumed or done) else None
        self._began, self._done_before = now, done

    def finish(self, size: int) -> None:
        """The layer is done; `size` configurations were expanded for it. One that was resumed shows no pace."""
        if self._expanding is not None and size:
            merging = self._clock() - self._began
            if not self._is_ahead:
                self._merging = merging / max(self._expanding, 1e-6)
            self._each.append((self._expanding + merging) / size)

    def expanding_left(self, done: int, total: int) -> float | None:
        """Seconds that the layer takes yet, merging included, when `done` of `total` configurations are expanded."""
        left = self._half_left(done, total)
        if left is None or self._merging is None:
            return None
        whole = (self._clock() - self._began + left) * total / (total - self._done_before)
        return left + whole * self._merging

    def merging_left(self, done: int, total: int) -> float | None:
        """Seconds that the layer takes yet when `done` of `total` ranges are merged."""
        return self._half_left(done, total)

    def _half_left(self, done: int, total: int) -> float | None:
        elapsed = self._clock() - self._began
        if elapsed < _LEAST_SECONDS or done <= self._done_before:
            return None
        return elapsed * (total - done) / (done - self._done_before)

    def run_left(self, layer_left: float | None, expanded: int) -> float | None:
        """Seconds that the run takes yet at most when `expanded` configurations will be when the layer is done."""
        if self._most is None or layer_left is None or not self._each:
            return None
        return layer_left + max(self._each) * max(0, self._most - expanded)


@dataclass
class Worth:
    """Whether a layer is worth handing out: its work against what the jobs and the wire cost.

    Seconds per configuration: of one core that makes the next layer of it, and of the wire. 0 while unknown.
    """

    work: float = 0.0
    wire: float = 0.0

    def made_here(self, configurations: int, seconds: float) -> None:
        """A layer was made here, in so many seconds of processor time. What is known of the wire loses weight."""
        self.wire *= _FORGOTTEN
        if configurations >= _ENOUGH:
            self.work = seconds / configurations

    def handed_out(self, configurations: int, moved: int, pace: float) -> None:
        """A layer was made by workers, who moved so many bytes over a wire that takes `pace` seconds for each."""
        self.wire = moved * pace / configurations

    def compare(self, configurations: int, workers: int) -> tuple[float, float]:
        """The seconds that the layer after so many configurations takes one core, and those that go to hand it out."""
        return configurations * self.work, workers * _JOBS_EACH * _JOB_SECONDS + configurations * self.wire

    def pays(self, configurations: int, workers: int) -> bool:
        """Whether workers should have it; where nothing is known yet, they should."""
        work, handing_out = self.compare(configurations, workers)
        return not self.work or work >= handing_out
