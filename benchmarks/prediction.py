"""How long a run takes by many workers on many hosts, reckoned from what it costs each role (`benchmarks.costs`).

A layer goes through stages: workers fetch, compute and leave, the coordinator takes blocks in and keeps the books.
In r rounds of all workers they overlap as in a pipeline: the longest stage, and an r-th of all others. Docs:
docs/scaling.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from benchmarks.costs import ROLES, Bytes, Factors, Fitted

#: What a link carries besides: frames of 1,538 bytes have 1,448 of TCP's.
PAYLOAD = 1448 / 1538
#: A job fetches, besides the pieces of its range, stretches of two older layers there.
_MORE_FETCHES = 3
#: Configurations of a chunk at most and at least (coordinator.steps.farmed).
_MOST_CHUNK, _LEAST_CHUNK = 1 << 22, 1 << 15
#: The fullest of some ranges holds so much more than their mean, for each time that their number doubles (measured).
_UNEVEN = 0.08
#: Bytes of a block of a layer.
_BLOCK = 1 << 16
#: So many standard errors either way are the interval of a factor.
_ERRORS = 2


@dataclass(frozen=True)
class Costs:
    """What a kind of space costs: by threads one core's seconds for a configuration, else by role; bytes.

    `start` is what the coordinator takes for any run; `pieces` are by layer, `stored` the bytes of a configuration.
    Workers have so large a part `kept` of what they made and get the range of again, and do not fetch it.
    """

    kind: str
    directed: bool
    threads: float
    start: float
    roles: Mapping[str, Fitted]
    pieces: Sequence[Bytes]
    stored: float
    kept: float = 0.0

    def spent(self, role: str) -> Factors:
        """What a role spends."""
        return self.roles[role].factors


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
        return self.bits / 8 * PAYLOAD


class Step(NamedTuple):
    """A layer that workers make: of some configurations, how many it has, and the layers that it may lead back to.

    Bytes of the pieces that it is made of, and of those that it leads to.
    """

    size: float
    made: float
    known: Sequence[float]
    pieces: Bytes
    further: Bytes


def steps_of(layers: Sequence[float], costs: Costs) -> list[Step]:
    """Those that make some layers and find that there are no more."""
    found = []
    for place, size in enumerate(layers):
        last = place + 1 == len(layers)
        known = layers[0 if costs.directed else max(0, place - 1) : place + 1]
        further = costs.pieces[place if last else place + 1]
        found.append(Step(size, 0.0 if last else layers[place + 1], known, costs.pieces[place], further))
    return found


def chunks_of(size: float, workers: int) -> int:
    """How many jobs a layer of some configurations is cut into that is to be made."""
    rounds = max(1, math.ceil(size / (_MOST_CHUNK * workers)))
    return max(1, math.ceil(size / max(size / (rounds * workers), _LEAST_CHUNK)))


class Moved(NamedTuple):
    """Bytes that go out of data Redis for a layer, and those that are left there while it is made.

    Pieces, those of them that stay with their makers, blocks of the layers that they are compared with as far as they
    are fetched, blocks made; these, with the pieces of the layer after it.
    """

    pieces: float
    own: float
    known: float
    stored: float
    left: float

    @property
    def sent(self) -> float:
        """All that goes out."""
        return self.pieces - self.own + self.known + self.stored


def bytes_of(costs: Costs, workers: int, step: Step, chunks: int) -> Moved:
    """What a layer moves that is made in some chunks, of one that some workers have made."""
    stored = costs.stored * step.made
    # Blocks of known layers do not end where ranges do.
    edges = (chunks - 1) * sum(min(_BLOCK, costs.stored * size) for size in step.known)
    known = (1 - costs.kept) * (costs.stored * sum(step.known) + edges)
    pieces = step.pieces.of(chunks_of(step.size, workers)) * step.size
    return Moved(pieces, costs.kept / workers * pieces, known, stored, step.further.of(chunks) * step.made + stored)


def moved_in(costs: Costs, workers: int, layers: Sequence[float], farm: float) -> list[Moved]:
    """What each layer moves that workers make."""
    steps = (step for step in steps_of(layers, costs) if step.size >= farm)
    return [bytes_of(costs, workers, step, chunks_of(step.made, workers)) for step in steps]


def bytes_sent(costs: Costs, workers: int, layers: Sequence[float], farm: float) -> float:
    """What goes out of data Redis in a run."""
    return sum(moved.sent for moved in moved_in(costs, workers, layers, farm))


def kept_of(costs: Costs, workers: int, layers: Sequence[float], farm: float, sent: float) -> float:
    """The part that workers have kept, of a run in which so many bytes went out of data Redis."""
    all_moved = moved_in(replace(costs, kept=0.0), workers, layers, farm)
    may_stay = sum(moved.pieces / workers + moved.known for moved in all_moved)
    return min(1.0, max(0.0, (sum(moved.sent for moved in all_moved) - sent) / may_stay))


def stages(costs: Costs, place: Place, step: Step, chunks: int) -> dict[str, float]:
    """The seconds that each stage of a layer takes if it never waits for another."""
    before = chunks_of(step.size, place.workers)
    fetches = chunks * (before * (1 - costs.kept / place.workers) + _MORE_FETCHES * (1 - costs.kept))
    known_size = sum(step.known) if costs.directed else 0.0
    spent = {role: costs.spent(role).spent(chunks, fetches, step.made, known_size) for role in ROLES}
    pieces, own, known, stored, left = bytes_of(costs, place.workers, step, chunks)
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
        moved, served = (pieces - own + known, left, 0.0), spent["data"]
    fetch, leave, take_in = (number / place.link for number in moved)
    share = left / max(1.0, left + pieces - own + known)
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
    return costs.spent("coordinator").layer + longest + (sum(took.values()) - longest) / rounds


def run_seconds(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How long a run takes from its start to the last layer; those smaller than `farm` the coordinator makes."""
    return costs.start + sum(
        step_seconds(costs, place, step) if step.size >= farm else step.size * costs.threads
        for step in steps_of(layers, costs)
    )


def speed_up(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How many times as fast as one core of the threaded run."""
    return (costs.start + sum(layers) * costs.threads) / run_seconds(costs, place, layers, farm)


class Limit(NamedTuple):
    """How many times as fast as one core of threads a resource lets a large run be: about, at least, at most."""

    times: float
    least: float
    most: float


def ceilings(costs: Costs, layers: Sequence[float], bits: float, each: bool) -> dict[str, Limit]:
    """What each resource lets through, however many hosts work.

    A host that works adds its cores, its link and, where `each` has one, its data Redis: none of these is a limit.
    What a configuration is compared with is judged by some layers.
    """
    link, count = bits / 8 * PAYLOAD, sum(layers)
    known = sum(sum(step.known) for step in steps_of(layers, costs)) / count
    if each:
        moved = {"the coordinator's link": costs.stored / link}
    else:
        pieces = sum(size * found.of(2) for size, found in zip(layers, costs.pieces, strict=True)) / count
        moved = {"the data Redis's link": (pieces + (1 - costs.kept) * known * costs.stored) / link}
    cores = {"the coordinator's core": "coordinator"} | ({} if each else {"the data Redis's core": "data"})
    limits = {name: Limit(*[costs.threads / seconds] * 3) for name, seconds in moved.items()}
    for name, role in cores.items():
        took, error = (factors.each + factors.known * known * costs.directed for factors in costs.roles[role])
        bounds = (took, took + _ERRORS * error, took - _ERRORS * error)
        limits[name] = Limit(*(costs.threads / seconds if seconds > 0 else math.inf for seconds in bounds))
    return limits
