"""Predict the time of a run on many hosts from its costs (`benchmarks.costs`). Docs: docs/reports/scaling.md.

A layer takes three steps: the hosts expand, send the successors that belong to other hosts, and merge. On slow links
they may send parts while they expand the rest. The coordinator has them merge when the slowest host has sent all.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from benchmarks.costs import Costs, Line, Phase
from hakoiri.worker.hosts.part import PARTS
from hakoiri.worker.hosts.wire import DEFAULT

#: The payload of TCP in an Ethernet frame, over the bytes of the frame on the wire.
PAYLOAD = 1448 / 1538
#: The part of its link that a host uses while every host sends messages of 1 MB to every other, eight at a time.
#: Measured apart: docs/reports/scaling.md.
USED = Line({1: 1.0, 2: 0.92, 4: 0.88, 8: 0.82, 16: 0.72})
#: A link is slow if sending takes this part of the time. Hosts send in parts there, unless sending takes much longer
#: than expanding.
SLOW = 0.2
#: On slow links they also compress messages if that takes less time than it saves. Measured: 0.9 ns a byte for pancakes
#: of 11 by 2 hosts, 4.0 ns for the 3x4 tiles by 8.
COMPRESSING = 4e-9


class Place(NamedTuple):
    """A number of hosts, the cores of each, and the rate of the link of each in bits a second.

    `shared` is the number of cores of the machine if all hosts run on one.
    """

    hosts: int
    cores: float
    bits: float
    shared: int | None = None

    @property
    def link(self) -> float:
        """The payload bytes a second of a link."""
        return self.bits / 8 * PAYLOAD

    @property
    def core_share(self) -> float:
        """The cores that a host gets while all hosts work."""
        return self.cores if self.shared is None else min(self.cores, self.shared / self.hosts)


class Step(NamedTuple):
    """The numbers of configurations of a layer, of the layer made from it, and of all layers before the first."""

    size: float
    made: float
    older: float


def steps_of(layers: Sequence[float]) -> Iterator[Step]:
    """Yield the step from each layer to the next. The last step finds an empty layer."""
    older = 0.0
    for size, made in zip(layers, [*layers[1:], 0.0], strict=True):
        yield Step(size, made, older)
        older += size


def step_seconds(costs: Costs, place: Place, step: Step) -> float:
    """Return the seconds that hosts take to make a layer."""
    return fixed_seconds(costs, place) + growing_seconds(costs, place, step)


def fixed_seconds(costs: Costs, place: Place) -> float:
    """Return the fixed seconds of a layer: the coordinator sends requests one by one, hosts work in parallel."""
    phases, usual = (costs.expand, costs.merge), costs.roles["coordinator"]
    work = sum(phase.threads.fixed + phase.threads.host * (place.hosts - 1) + phase.main.fixed for phase in phases)
    waits = sum(phase.waits for phase in phases)
    return usual.layer + usual.host * place.hosts + work / min(1, place.core_share) + waits


def growing_seconds(costs: Costs, place: Place, step: Step) -> float:
    """Return the seconds of a layer that grow with it: the slowest host expands, sends, merges."""
    slowest, older = costs.uneven.of(place.hosts) / place.hosts, step.older + step.size if costs.directed else 0.0
    merge = _phase_seconds(costs.merge, place, slowest * step.made, 0.0, slowest * older)
    expand, send = _expanding_and_sending(costs, place, step, 1.0)
    if send <= SLOW * (expand + send):
        return expand + send + merge
    saved, packing = _compressing(costs, place, step)
    expand, send = expand + packing, saved * send
    if send > DEFAULT.most_sending * expand:
        return expand + send + merge
    # Some keys are sent twice.
    expand, send = _expanding_and_sending(costs, place, step, costs.again)
    expand, send = expand + costs.again * packing, saved * send
    # The first part is expanded before any is sent, and the last one is sent when all is expanded.
    return max(expand + send / PARTS, expand / PARTS + send) + merge


def _expanding_and_sending(costs: Costs, place: Place, step: Step, times: float) -> tuple[float, float]:
    """Return the seconds of both if `times` as many bytes are sent as at least must be."""
    sent, share = times * costs.sent.of(place.hosts), step.size / place.hosts
    expand = _phase_seconds(costs.expand, place, costs.uneven.of(place.hosts) * share, sent, 0.0)
    return expand, sent * share * costs.uneven_sent.of(place.hosts) / (place.link * USED.of(place.hosts))


def _compressing(costs: Costs, place: Place, step: Step) -> tuple[float, float]:
    """Return the part that is left of the bytes, and the seconds that compressing takes; 1 and 0 if that is no use."""
    if place.cores <= DEFAULT.compressed * place.link * USED.of(place.hosts):
        return 1.0, 0.0
    sent = costs.sent.of(place.hosts) * costs.uneven.of(place.hosts) * step.size / place.hosts
    return costs.compressed.of(place.hosts), COMPRESSING * sent / place.core_share


def _phase_seconds(phase: Phase, place: Place, size: float, sent: float, older: float) -> float:
    """Return the seconds of a request without its fixed cost.

    The threads share their work. Meanwhile one stages the results, and one commits them.
    """
    work, cores = phase.threads, place.core_share
    threads = work.each * size + work.byte * sent * size + work.older * older
    main = phase.main.each * size
    return max((threads + main) / cores, main)


def run_seconds(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """Return the seconds of a run from its start to its last layer.

    The coordinator makes the layers up to the first of at least `farm` configurations, the hosts all that follow.
    """
    first = next((depth for depth, size in enumerate(layers) if size >= farm), len(layers))
    seconds = costs.start + sum(layers[: first + 1]) * costs.threads
    if first < len(layers):
        seconds += costs.dealing * place.hosts
    return seconds + sum(step_seconds(costs, place, step) for step in list(steps_of(layers))[first:])


def speed_up(costs: Costs, place: Place, layers: Sequence[float], farm: float) -> float:
    """Return the speed-up over one core of a run by threads."""
    return (costs.start + sum(layers) * costs.threads) / run_seconds(costs, place, layers, farm)


def limit(costs: Costs, place: Place, layers: Sequence[float]) -> float:
    """Return the limit of the speed-up as all layers grow by the same factor: fixed costs vanish."""
    return sum(layers) * costs.threads / sum(growing_seconds(costs, place, step) for step in steps_of(layers))


def least_size(costs: Costs, place: Place, layers: Sequence[float], farm: float, times: float) -> float:
    """Return the factor by which all layers must grow for a speed-up of `times`; `inf` if no factor gives it."""
    if limit(costs, place, layers) <= times:
        return float("inf")
    low, high = 1e-3, 1e9
    while high / low > 1.01:
        middle = (low * high) ** 0.5
        enough = speed_up(costs, place, [size * middle for size in layers], farm) >= times
        low, high = (low, middle) if enough else (middle, high)
    return high
