"""What a layer that workers make costs each role, fitted to every such layer of some runs that were watched.

In seconds of processor time

    layer + job x jobs + fetch x fetches + each x configurations made (+ known x older ones compared)

where a job makes a key range of the layer, and a fetch is a stretch of bytes that it takes out of a data Redis. A job
and a fetch are the same work for all kinds of space. Bytes of pieces are counted by layer: how many keys lie close
together, and how many successors a chunk has twice, is different in each.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from benchmarks.watched import Moment

ROLES = ("coordinator", "control", "data", "workers")
#: Less processor time is not measured well, and more within this part of it.
_LEAST_SECONDS, _NOISE = 0.003, 0.1


class Made(NamedTuple):
    """A layer that workers made, as it was seen; `known` older configurations of a directed space were compared."""

    kind: str
    depth: int
    size: int
    known: int
    jobs: int
    fetches: int
    #: Seconds of processor time by role.
    cpu: Mapping[str, float]
    #: Bytes left in data Redis: the blocks of this layer, and the pieces of what it leads to.
    left: int


class Factors(NamedTuple):
    """What a role spends, in seconds, on a layer, a job, a fetch, a configuration made, an older one."""

    layer: float = 0.0
    job: float = 0.0
    fetch: float = 0.0
    each: float = 0.0
    known: float = 0.0

    def spent(self, jobs: float, fetches: float, size: float, known: float) -> float:
        """The processor time of one layer, without what is the same for any."""
        return self.job * jobs + self.fetch * fetches + self.each * size + self.known * known


class Fitted(NamedTuple):
    """Factors, and the standard error of each."""

    factors: Factors
    errors: Factors


class Bytes(NamedTuple):
    """Bytes of the pieces of what a configuration leads to: (how often its layer was halved, bytes), increasing.

    A chunk leaves out only what it finds twice itself, so there are more the more chunks there are.
    """

    seen: tuple[tuple[float, float], ...]

    def of(self, chunks: float) -> float:
        """Those of a configuration of a layer that is cut into some chunks: on the line through the two next to it."""
        halved = math.log2(max(1.0, chunks))
        if len(self.seen) == 1 or halved <= self.seen[0][0]:
            return self.seen[0][1]
        (place, value), (beyond, more) = next(
            (pair for pair in pairwise(self.seen) if halved <= pair[1][0]), self.seen[-2:]
        )
        return value + (halved - place) * (more - value) / (beyond - place)


def layers_made(
    kind: str, layers: Sequence[int], moments: Sequence[Moment], farm: int, directed: bool
) -> Iterator[Made]:
    """The layers that workers made, but for the first of them, whose blocks come to data Redis from disk."""
    for before, now in pairwise(moments):
        depth = now.depth
        if depth >= 2 and min(layers[depth - 2], layers[depth - 1]) >= farm:
            cpu = {role: seconds - before.cpu[role] for role, seconds in now.cpu.items()}
            known = sum(layers[:depth]) if directed else 0
            jobs, fetches = now.jobs - before.jobs, now.fetches - before.fetches
            yield Made(kind, depth, layers[depth], known, jobs, fetches, cpu, now.received - before.received)


def fitted(made: Sequence[Made]) -> dict[str, dict[str, Fitted]]:
    """By kind and role, factors that come as close as can be, in relation, to what all layers took."""
    kinds = sorted({layer.kind for layer in made})
    rows = np.array([_row(layer, kinds) for layer in made])
    found: dict[str, dict[str, Fitted]] = {kind: {} for kind in kinds}
    for role in ROLES:
        job, fetch, *rest = np.transpose(_least(rows, np.array([layer.cpu[role] for layer in made]))).tolist()
        for kind, (layer, each, known) in zip(kinds, np.reshape(rest, (-1, 3, 2)).tolist(), strict=True):
            values, errors = zip(layer, job, fetch, each, known, strict=True)
            found[kind][role] = Fitted(Factors(*values), Factors(*errors))
    return found


def deviation(made: Sequence[Made], costs: Mapping[str, Mapping[str, Fitted]], role: str) -> tuple[float, float]:
    """What the factors give for whole runs' layers together, in relation to what these took; least and most by kind."""
    found = []
    for kind, roles in costs.items():
        own = [layer for layer in made if layer.kind == kind]
        factors = roles[role].factors
        given = sum(factors.layer + factors.spent(each.jobs, each.fetches, each.size, each.known) for each in own)
        found.append(given / sum(each.cpu[role] for each in own))
    return min(found), max(found)


def bytes_of_pieces(made: Sequence[Made], layers: Sequence[int], stored: float) -> list[Bytes]:
    """By layer, what the pieces take that it leads to; where workers did not make it, as of the one after it."""
    seen: dict[int, dict[float, float]] = {}
    for layer in made:
        left = max(0.0, layer.left / layer.size - stored)
        seen.setdefault(layer.depth, {})[math.log2(max(1, layer.jobs))] = left
    found = [Bytes(((0.0, 0.0),))]
    for depth in reversed(range(len(layers))):
        found.append(Bytes(tuple(sorted(seen[depth].items()))) if depth in seen else found[-1])
    return found[:0:-1]


def _row(layer: Made, kinds: Sequence[str]) -> list[float]:
    own = [1.0, float(layer.size), float(layer.known)]
    rest = [number if kind == layer.kind else 0.0 for kind in kinds for number in own]
    return [float(layer.jobs), float(layer.fetches), *rest]


def _least(rows: NDArray[np.float64], took: NDArray[np.float64]) -> NDArray[np.float64]:
    """[least squares of the relative deviations, none negative; the standard error of each, as if they might be]."""
    weights = 1 / np.maximum(_LEAST_SECONDS, _NOISE * took)
    weighted = rows * weights[:, None]
    scale = np.maximum(np.abs(weighted).max(axis=0), 1e-30)
    there, (weighted, wanted) = weighted.any(axis=0), (weighted / scale, took * weights)
    solution, residual = nnls(weighted, wanted)
    spread = residual**2 / max(1, len(took) - there.sum())
    errors = np.zeros(len(scale))
    errors[there] = np.sqrt(spread * np.diag(np.linalg.pinv(weighted[:, there].T @ weighted[:, there])))
    return np.array([solution, errors]) / scale
