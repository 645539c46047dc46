"""Keys that this process has left for others as coded blocks, as the bitmaps that they were: fetched and decoded never.

They are a short cut and nothing else: what was left counts only where the coordinator says so, by its name, and each
attempt has names of its own. What is not here any more is fetched.

IMPORTANT: where Redis comes back with the data of a while ago, jobs are in its queues again, so that two workers make
one attempt, each of what it has at hand. So what is asked for must be, block by block, what was left from here.
"""

from collections import deque
from collections.abc import Set
from typing import NamedTuple

from hakoiri.puzzles.keys.layout import Key
from hakoiri.worker.layers.kernels import Window

#: A layer is known to the two after it, each of which is a stage where nothing goes wrong.
STAGES = 2


class Span(NamedTuple):
    """Some blocks of a value: the first byte, the first key, how many keys of each; and a bitmap of all these keys."""

    session: str
    stage: int
    value: str
    blocks: Set[tuple[int, Key, int]]
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

    def find(self, value: str, blocks: Set[tuple[int, Key, int]]) -> Window | None:
        """A bitmap of the keys of some blocks of a value, perhaps with more keys of the same value."""
        for span in self._spans:
            if span.value == value and blocks <= span.blocks:
                return span.window
        return None


def _is_old(span: Span, now: Span) -> bool:
    return span.session != now.session or span.stage < now.stage - STAGES
