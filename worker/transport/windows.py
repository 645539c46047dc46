"""Keys that this process has left in Redis as coded blocks, as the bitmaps that they were: fetched and decoded never.

They are a short cut and nothing else: what was left counts only where the coordinator says so, by its name, and each
attempt has names of its own. What is not here any more is fetched from Redis.
"""

from collections import deque
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from puzzles.keys.layout import key_at
from worker.layers.kernels import Window
from worker.layers.parts import Held
from worker.transport.lots import BEGIN, LENGTH, Lot, Origin, names_of, stretches

#: A layer is known to the two after it, each of which is a stage where nothing goes wrong.
_STAGES = 2


class Span(NamedTuple):
    """The bytes of a value from `begin` to `end`, which is not among them, and a bitmap of the keys coded there."""

    begin: int
    end: int
    window: Window


class Windows:
    """Up to `most` bytes of bitmaps of the last stages; beyond that the oldest go."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._spans = deque[tuple[Origin, str, Span]]()

    def keep(self, origin: Origin, value: int, span: Span) -> None:
        """Have this of a value that `origin` has left."""
        self._spans.append((origin, origin.key(value), span))
        self._bytes += span.window[1].nbytes
        while self._spans and (self._bytes > self._most or self._is_old(self._spans[0][0], origin)):
            self._bytes -= self._spans.popleft()[-1].window[1].nbytes

    @staticmethod
    def _is_old(origin: Origin, now: Origin) -> bool:
        return origin.session != now.session or origin.stage < now.stage - _STAGES

    def take(self, session: str, lot: Lot) -> tuple[list[Held], Lot]:
        """What is here of some blocks, perhaps with more keys of the same layer; the blocks that are not."""
        held, other = [], np.ones(len(lot.counts), dtype=np.bool_)
        cuts = [*stretches(lot.places).tolist(), len(lot.places)]
        for (begin, end), name in zip(pairwise(cuts), names_of(session, lot.places), strict=True):
            first, last = lot.places[begin, BEGIN], lot.places[end - 1, [BEGIN, LENGTH]].sum()
            for _, key, span in self._spans:
                if key == name.key and span.begin <= first and last <= span.end:
                    held.append(Held(key_at(lot.firsts, begin), int(lot.counts[begin:end].sum()), span.window))
                    other[begin:end] = False
        return held, lot.take(other)
