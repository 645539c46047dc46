"""Keys that this process has left for others as coded blocks, as the bitmaps that they were: fetched and decoded never.

They are a short cut and nothing else: what was left counts only where the coordinator says so, by its name, and each
attempt has names of its own. What is not here any more is fetched.
"""

from collections import deque
from typing import NamedTuple

from worker.layers.kernels import Window

#: A layer is known to the two after it, each of which is a stage where nothing goes wrong.
_STAGES = 2


class Span(NamedTuple):
    """The bytes from `begin` to `end`, which is not among them, of a value, and a bitmap of the keys coded there."""

    session: str
    stage: int
    value: str
    begin: int
    end: int
    window: Window


class Windows:
    """Up to `most` bytes of bitmaps of the last stages of a session; beyond that the oldest go."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._spans = deque[Span]()

    def keep(self, span: Span) -> None:
        """Have this, and what is not too old beside it."""
        self._spans.append(span)
        self._bytes += span.window[1].nbytes
        while self._spans and (self._bytes > self._most or _is_old(self._spans[0], span)):
            self._bytes -= self._spans.popleft().window[1].nbytes

    def find(self, value: str, begin: int, end: int) -> Window | None:
        """A bitmap of the keys coded in some bytes of a value, perhaps with more keys of the same value."""
        for span in self._spans:
            if span.value == value and span.begin <= begin and end <= span.end:
                return span.window
        return None


def _is_old(span: Span, now: Span) -> bool:
    return span.session != now.session or span.stage < now.stage - _STAGES
