"""How long a run takes by many workers on many hosts, reckoned from what it costs each role.

What a role spends on a run is, in seconds of processor time,

    start + layer x farmed layers + job x jobs + fetch x fetches + each x configurations (+ known x older ones compared)

where a job is a chunk of a layer for a worker, and a fetch a stretch of a piece, of which each job leaves one for each
job of the next layer. Bytes grow with the configurations, and a little with each doubling of the chunks, for a chunk
leaves out its own duplicates only. `fitted` finds the factors in measured runs.

A layer then goes through stages: workers fetch, compute and leave, the coordinator takes blocks in and keeps the books.
In r rounds of all workers they overlap as in a pipeline: the longest stage, and an r-th of all others. Docs:
docs/scaling.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

ROLES = ("coordinator", "control", "data", "workers")
#: What a link carries besides: frames of 1,538 bytes have 1,448 of TCP's.
_PAYLOAD = 1448 / 1538
#: A job fetches, besides the pieces of its range, stretches of two older layers there.
_MORE_FETCHES = 3
#: Configurations of a chunk at most and at least (coordinator.steps.farmed).
_MOST_CHUNK, _LEAST_CHUNK = 1 << 22, 1 << 15
#: The fullest of some ranges holds so much more than their mean, for each time that their number doubles (measured).
_UNEVEN = 0.08
#: Bytes of a block of a layer.
_BLOCK = 1 << 16
#: Less processor time is not measured well.
LEAST_SECONDS = 0.05


@dataclass(frozen=True)
class Run:
    """A measured run of a kind of space: layers of `farm` configurations and more went to workers."""

    kind: str
    layers: Sequence[int]
    farm: int
    directed: bool
    cpu: Mapping[str, float]
    #: Bytes left in the data Redis.
    left: float
    jobs: int
    fetches: int

    @property
    def farmed(self) -> list[int]:
        """The layers whose successors workers made."""
        return [size for size in self.layers if size >= self.farm]

    @property
    def known(self) -> int:
        """How many older configurations of a directed space were fetched, to be compared."""
        older = np.cumsum(self.layers)
        return int(sum(older[np.array(self.layers) >= self.farm])) if self.directed else 0

    @property
    def doublings(self) -> float:
        """How often a layer was halved into chunks, on the average."""
        return math.log2(max(1.0, self.jobs / max(1, len(self.farmed))))


class Factors(NamedTuple):
    """What a role spends, in seconds, on a run, a farmed layer, a job, a fetch, a configuration, an older one."""

    start: float
    layer: float
    job: float
    fetch: float
    each: float
    known: float

    def layers(self, jobs: float, fetches: float, size: float, known: float) -> float:
        """The processor time of one farmed layer, without what is the same for any."""
        return self.job * jobs + self.fetch * fetches + self.each * size + self.known * known


class Bytes(NamedTuple):
    """Bytes of pieces for a configuration whose successors they are, and for each doubling of the chunks besides."""

    each: float
    doubling: float

    def of(self, size: float, chunks: float) -> float:
        """Those of a layer that is cut into some chunks."""
        return size * (self.each + self.doubling * math.log2(max(1.0, chunks)))


@dataclass(frozen=True)
class Costs:
    """What a kind of space costs: by threads one core's seconds for a configuration, else by role; bytes."""

    kind: str
    directed: bool
    threads: float
    roles: Mapping[str, Factors]
    pieces: Bytes
    #: Bytes of a configuration as it is stored.
    stored: float


class Place(NamedTuple):
    """So many workers on so many hosts, each with a link of so many bits a second; data Redis on each, or one.

    The one is on the host of the coordinator. `cores` are all there are, where hosts are only simulated.
    """

    workers: int
    hosts: int
    bits: float
    each: bool
    cores: int | None = None

    @property
    def link(self) -> float:
        """Bytes of values a second."""
        return self.bits / 8 * _PAYLOAD


def fitted(runs: Sequence[Run]) -> dict[str, dict[str, Factors]]:
    """By kind and role, factors that come as close as can be, in relation, to what all runs took.

    Those of a run, a job and a fetch are the same for all kinds, for they are the same work.
    """
    kinds = sorted({run.kind for run in runs})
    found: dict[str, dict[str, Factors]] = {kind: {} for kind in kinds}
    for role in ROLES:
        rows = [_row(run, kinds) for run in runs]
        took = [run.cpu[role] for run in runs]
        start, job, fetch, *rest = _least(rows, took)
        for kind, (layer, each, known) in zip(kinds, np.reshape(rest, (-1, 3)).tolist(), strict=True):
            found[kind][role] = Factors(start, layer, job, fetch, each, known)
    return found


def fitted_bytes(runs: Sequence[Run], stored: float) -> Bytes:
    """The bytes of pieces in runs of one kind: what was left, but for the blocks of layers."""
    rows = [[float(sum(run.farmed)), sum(run.farmed) * run.doublings] for run in runs]
    return Bytes(*_least(rows, [run.left - stored * sum(run.farmed) for run in runs]))


def deviations(runs: Sequence[Run], costs: Mapping[str, Mapping[str, Factors]], role: str) -> list[float]:
    """By run, what a role takes by its factors, in relation to what it took."""
    return [_reckoned(run, costs[run.kind][role]) / max(LEAST_SECONDS, run.cpu[role]) for run in runs]


def _reckoned(run: Run, factors: Factors) -> float:
    layers = factors.layer * len(run.farmed)
    return factors.start + layers + factors.layers(run.jobs, run.fetches, sum(run.farmed), run.known)


def _row(run: Run, kinds: list[str]) -> list[float]:
    own = [float(len(run.farmed)), float(sum(run.farmed)), float(run.known)]
    rest = [number if kind == run.kind else 0.0 for kind in kinds for number in own]
    return [1.0, float(run.jobs), float(run.fetches), *rest]


def _least(rows: list[list[float]], took: list[float]) -> NDArray[np.float64]:
    """Least squares of the relative deviations, none of the factors negative."""
    weights = 1 / np.maximum(LEAST_SECONDS, took)
    weighted = np.array(rows) * weights[:, None]
    scale = np.maximum(weighted.max(axis=0), 1e-30)
    solution, _ = nnls(weighted / scale, np.array(took) * weights)
    return np.asarray(solution / scale)


# The time


class Step(NamedTuple):
    """A layer that workers make: of some configurations, how many it has, and the layers that it may lead back to."""

    size: float
    made: float
    known: Sequence[float]


def steps_of(layers: Sequence[float], directed: bool) -> list[Step]:
    """Those that make some layers and find that there are no more."""
    found = []
    for place, size in enumerate(layers):
        made = layers[place + 1] if place + 1 < len(layers) else 0.0
        found.append(Step(size, made, layers[0 if directed else max(0, place - 1) : place + 1]))
    return found


def chunks_of(size: float, workers: int) -> int:
    """How many jobs a layer of some configurations is cut into that is to be made."""
    rounds = max(1, math.ceil(size / (_MOST_CHUNK * workers)))
    return max(1, math.ceil(size / max(size / (rounds * workers), _LEAST_CHUNK)))


def stages(costs: Costs, place: Place, step: Step, chunks: int) -> dict[str, float]:
    """The seconds that each stage of a layer takes if it never waits for another."""
    fetches = chunks * (chunks + _MORE_FETCHES)
    spent = {role: costs.roles[role].layers(chunks, fetches, step.size, sum(step.known)) for role in ROLES}
    pieces, stored = costs.pieces.of(step.size, chunks), costs.stored * step.made
    # Blocks of known layers do not end where ranges do.
    edges = (chunks - 1) * sum(min(_BLOCK, costs.stored * size) for size in step.known)
    known = costs.stored * sum(step.known) + edges
    left = costs.pieces.of(step.made, chunks) + stored
    active, hosts = min(chunks, place.workers), min(place.hosts, chunks)
    compute = spent["workers"] / active
    if place.cores is not None:
        compute = (spent["workers"] + spent["data"] + spent["control"]) / min(place.cores, active)
    if place.each:
        # What a range is compared with lies where it was made: on one other host. Its pieces are everywhere.
        elsewhere = (pieces * (1 - 1 / place.hosts) + known) if place.hosts > 1 else 0.0
        moved = elsewhere / hosts, 0.0, stored
        served = spent["data"] / hosts
    else:
        moved, served = (pieces + known, left, 0.0), spent["data"]
    fetch, leave, take_in = (number / place.link for number in moved)
    share = left / max(1.0, left + pieces + known)
    return {
        "fetch": max(fetch, served * (1 - share)), "compute": compute, "leave": max(leave, served * share),
        "take in": take_in, "books": spent["coordinator"],
    }  # fmt: skip


def step_seconds(costs: Costs, place: Place, step: Step) -> float:
    """How long workers take to make a layer."""
    chunks = chunks_of(step.made, place.workers)
    rounds = max(1.0, chunks / place.workers)
    took = stages(costs, place, step, chunks)
    # A link that all share is as busy with uneven ranges.
    for name in ("fetch", "compute") if place.each else ("compute",):
        took[name] *= 1 + _UNEVEN * math.log2(chunks) / rounds
    longest = max(took.values())
    return costs.roles["coordinator"].layer + longest + (sum(took.values()) - longest) / rounds


def run_seconds(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How long a run takes from its start to the last layer; those smaller than `farm` the coordinator makes."""
    return costs.roles["coordinator"].start + sum(
        step_seconds(costs, place, step) if step.size >= farm else step.size * costs.threads
        for step in steps_of(layers, costs.directed)
    )


def speed_up(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How many times as fast as one core of the threaded run."""
    start = costs.roles["coordinator"].start
    return (start + sum(layers) * costs.threads) / run_seconds(costs, place, layers, farm)


def ceilings(costs: Costs, layers: Sequence[float], bits: float, each: bool) -> dict[str, float]:
    """By resource, how many times as fast as one core of threads a large run can be at most, however many hosts work.

    A host that works adds its cores, its link and, where `each` has one, its data Redis: none of these is a limit.
    What a configuration is compared with is judged by some layers.
    """
    link = bits / 8 * _PAYLOAD
    known = sum(sum(step.known) for step in steps_of(layers, costs.directed)) / sum(layers)
    core = {role: costs.roles[role].each + costs.roles[role].known * known for role in ROLES}
    limits = {"the coordinator's core": core["coordinator"]}
    if each:
        limits["the coordinator's link"] = costs.stored / link
    else:
        limits["the data Redis's core"] = core["data"]
        limits["the data Redis's link"] = (costs.pieces.each + known * costs.stored) / link
    return {name: costs.threads / seconds if seconds else math.inf for name, seconds in limits.items()}
