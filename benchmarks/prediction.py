"""How long a run takes on many hosts, by what it costs (`benchmarks.costs`). Docs: docs/scaling.md.

A layer is made in two requests, and none begins before the slowest host has ended the one before: expand, send what was
found for others, merge.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.costs import Costs, Line, Phase

#: What a link carries besides: frames of 1,538 bytes have 1,448 of TCP's.
PAYLOAD = 1448 / 1538
#: The part of its link that a host uses which sends messages of 1 MB to all others, one after the other, while these
#: do the same: some receive from two, and some from none (measured apart: docs/scaling.md).
USED = Line({1: 1.0, 2: 0.93, 4: 0.80, 8: 0.69, 16: 0.62})


class Place(NamedTuple):
    """Hosts, the cores of each, and the bits a second of the link of each.

    `shared` is how many cores there are of them all, where hosts are only simulated.
    """

    hosts: int
    cores: float
    bits: float
    shared: int | None = None

    @property
    def link(self) -> float:
        """Bytes of values a second."""
        return self.bits / 8 * PAYLOAD

    @property
    def core_share(self) -> float:
        """The cores of a host while all work."""
        return self.cores if self.shared is None else min(self.cores, self.shared / self.hosts)


class Step(NamedTuple):
    """The configurations of a layer, of the one made from it, and of all before that."""

    size: float
    made: float
    older: float


def steps_of(layers: Sequence[float]) -> Iterator[Step]:
    """Those that make some layers and find that there are no more."""
    older = 0.0
    for size, made in zip(layers, [*layers[1:], 0.0], strict=True):
        yield Step(size, made, older)
        older += size


def step_seconds(costs: Costs, place: Place, step: Step) -> float:
    """How long hosts take to make a layer."""
    return fixed_seconds(costs, place) + growing_seconds(costs, place, step)


def fixed_seconds(costs: Costs, place: Place) -> float:
    """What a layer takes however small it is: the coordinator asks one host after the other, and these work at once."""
    phases, usual = (costs.expand, costs.merge), costs.roles["coordinator"]
    work = sum(phase.threads.fixed + phase.main.fixed for phase in phases)
    waits = sum(phase.waits for phase in phases)
    return usual.layer + usual.host * place.hosts + work / min(1, place.core_share) + waits


def growing_seconds(costs: Costs, place: Place, step: Step) -> float:
    """What goes with its configurations: the slowest host expands, sends, merges."""
    slowest, sent = costs.uneven.of(place.hosts) / place.hosts, costs.sent.of(place.hosts)
    older = step.older + step.size if costs.directed else 0.0
    expand = _phase_seconds(costs.expand, place, slowest * step.size, sent, 0.0)
    merge = _phase_seconds(costs.merge, place, slowest * step.made, 0.0, slowest * older)
    return expand + merge + sending_seconds(costs, place, step)


def sending_seconds(costs: Costs, place: Place, step: Step) -> float:
    """What the fullest link takes: hosts send when they have expanded."""
    share = costs.uneven_sent.of(place.hosts) / place.hosts
    return costs.sent.of(place.hosts) * step.size * share / (place.link * USED.of(place.hosts))


def _phase_seconds(phase: Phase, place: Place, size: float, sent: float, older: float) -> float:
    """Threads share a request's work; the main thread of a host stages and commits meanwhile what they have made."""
    work, cores = phase.threads, place.core_share
    threads = work.each * size + work.byte * sent * size + work.older * older
    main = phase.main.each * size
    return max(threads / cores, main) if cores > 1 else (threads + main) / cores


def run_seconds(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How long a run takes from its start to the last layer; those before one of `farm` the coordinator makes.

    As they were dealt out, runs stay with hosts.
    """
    first = next((depth for depth, size in enumerate(layers) if size >= farm), len(layers))
    seconds = costs.start + sum(layers[: first + 1]) * costs.threads
    if first < len(layers):
        seconds += costs.dealing * place.hosts
    return seconds + sum(step_seconds(costs, place, step) for step in list(steps_of(layers))[first:])


def speed_up(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """How many times as fast as one core of the threaded run."""
    return (costs.start + sum(layers) * costs.threads) / run_seconds(costs, place, layers, farm)


def limit(costs: Costs, place: Place, layers: Sequence[float]) -> float:
    """The speed-up of layers so large that nothing else counts, which grow and shrink as these do."""
    return sum(layers) * costs.threads / sum(growing_seconds(costs, place, step) for step in steps_of(layers))


def least_size(costs: Costs, place: Place, layers: Sequence[float], farm: float, times: float) -> float:
    """So many times as large its layers must be for some speed-up, `inf` where none are."""
    if limit(costs, place, layers) <= times:
        return float("inf")
    low, high = 1e-3, 1e9
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        enough = speed_up(costs, place, [size * middle for size in layers], farm) >= times
        low, high = (low, middle) if enough else (middle, high)
    return high
