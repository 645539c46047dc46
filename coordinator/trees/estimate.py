"""How long a tree will take yet, from what is done of it: a sound interval, for chunks are done in random order.

The prefixes are shuffled before they are cut into chunks, so the first k of N chunks are a simple random sample. With
mean m and standard deviation s of their nodes, the other R = N - k chunks have about R m nodes, and the error of that
has the variance R s^2 N / k: R s^2 of the chunks themselves and (R s)^2 / k of the mean. Only chunks before the first
that is missing count: those done beyond it were quick ones, and would deceive.

The seconds are the nodes divided by the pace of this session, so what the interval cannot know is how busy the machine
will be.
"""

import math
import statistics
from collections.abc import Sequence

#: Below this many chunks nothing is said: their spread is not known well enough for a normal law.
LEAST_SAMPLE = 40
_CONFIDENCE = 0.95
_QUANTILE = statistics.NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
SecondsLeft = tuple[float, float]


def nodes_left(sample: Sequence[int], chunks: int) -> SecondsLeft | None:
    """Between what bounds the nodes of the chunks beyond `sample` lie, in 95 of 100 cases; ``None`` if too few."""
    known = len(sample)
    rest = chunks - known
    if known < LEAST_SAMPLE:
        return None
    expected = rest * statistics.fmean(sample)
    error = _QUANTILE * statistics.stdev(sample) * math.sqrt(rest * chunks / known)
    return max(0.0, expected - error), expected + error


def seconds_left(sample: Sequence[int], chunks: int, beyond: int, nodes: int, seconds: float) -> SecondsLeft | None:
    """The same in seconds, at a pace of `nodes` in `seconds`; `beyond` nodes of the chunks after `sample` are done."""
    bounds = nodes_left(sample, chunks)
    if bounds is None or not nodes or not seconds:
        return None
    least, most = (max(0.0, bound - beyond) * seconds / nodes for bound in bounds)
    return least, most
