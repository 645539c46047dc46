"""Estimates the remaining time of a tree by a sound interval, because chunks are done in random order.

The prefixes are shuffled before they are cut into chunks, so the first k of N chunks are a simple random sample. With
mean m and standard deviation s of their nodes, the other R = N - k chunks have about R m nodes. The error of that has
the variance R s^2 N / k: R s^2 of the chunks themselves and (R s)^2 / k of the mean. Only chunks before the first
missing one count, because those done beyond it were quick ones and would bias the estimate.

The seconds are the nodes divided by the pace of this session, so the interval does not include the machine's future
load.
"""

import math
import statistics
from collections.abc import Sequence

#: With fewer chunks there is no estimate: their spread is not known well enough for a normal distribution.
LEAST_SAMPLE = 40
_CONFIDENCE = 0.95
_QUANTILE = statistics.NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
SecondsLeft = tuple[float, float]


def nodes_left(sample: Sequence[int], chunks: int) -> SecondsLeft | None:
    """Return bounds of the nodes of the chunks beyond `sample`, with 95 % confidence; ``None`` if it is too small."""
    known = len(sample)
    rest = chunks - known
    if known < LEAST_SAMPLE:
        return None
    expected = rest * statistics.fmean(sample)
    error = _QUANTILE * statistics.stdev(sample) * math.sqrt(rest * chunks / known)
    return max(0.0, expected - error), expected + error


def seconds_left(sample: Sequence[int], chunks: int, beyond: int, nodes: int, seconds: float) -> SecondsLeft | None:
    """Return the same in seconds, at a pace of `nodes` in `seconds`; `beyond` nodes after `sample` are done."""
    bounds = nodes_left(sample, chunks)
    if bounds is None or not nodes or not seconds:
        return None
    least, most = (max(0.0, bound - beyond) * seconds / nodes for bound in bounds)
    return least, most
