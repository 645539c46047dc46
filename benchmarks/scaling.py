"""Measure the costs of runs by hosts, predict speed-ups, and compare the predictions with runs on slow links.

    python -m benchmarks.scaling --test --plot docs/reports/scaling.svg   # For that page. As root; 20 minutes.
    python -m benchmarks.scaling --only pancakes --json

The script runs each space by threads, and by 1, 2 and 4 hosts at the same time. It also runs it by 1, 2, 4 and 8 hosts
one after the other, so that each has the machine for itself. Hosts have two threads and run in network namespaces.
`benchmarks.costs` fits the costs, and `benchmarks.prediction` computes the speed-ups. With --test the script also runs
spaces on links so slow that sending takes most of the time, by hosts of one thread, and compares these times with
predictions.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.costs import AGAIN, COMPRESSED, THREADS, Costs, Line, Run, Runs, fitted
from benchmarks.prediction import Place, least_size, limit, run_seconds, speed_up
from benchmarks.roles import CONTROL, Spent, Team, run_here
from benchmarks.scaling_page import CORES, GIGABITS, HOSTS, LARGER, as_text, draw
from tests.support.namespaces import Network, why_not

#: Hakoiri-musume with all pieces distinguished: 14,950,080 configurations in 200 layers.
_SLIDING = "ABBC/ABBC/DEEF/DGHF/I..J"
_GAP = (
    "45 4T 18 27 37 12 1T 4Q 14 23 36 3K 25/39 15 16 2T 11 1Q 33 3Q 3J 22 49 2Q 41/"
    "13 3T 17 4K 2K 48 35 28 46 44 31 32 1K/43 34 29 38 19 42 24 1J 47 26 21 2J 4J"
)


@dataclass(frozen=True)
class Space:
    """A space as the arguments of `hakoiri run`. Hosts make the layers from the first of `farm` configurations on.

    `compressed` is the part of their bytes that compressed messages take, by the number of hosts. It was measured on
    what a host finds for others in the largest layer. In parts hosts send `again` times as many bytes as at once,
    measured with slow links.
    """

    puzzle: str
    options: Mapping[str, object] = field(default_factory=dict)
    start: str = ""
    farm: int = 50_000
    directed: bool = False
    compressed: Mapping[int, float] = field(default_factory=lambda: {1: COMPRESSED})
    again: float = AGAIN

    @property
    def arguments(self) -> list[str]:
        """The arguments of `hakoiri run`."""
        options = [word for name, value in self.options.items() for word in ("-o", f"{name}={value}")]
        return [self.puzzle, *options, *(["--from", self.start] if self.start else []), "--farm", str(self.farm)]


_PANCAKES = {2: 0.92, 4: 0.83, 8: 0.76}
SPACES = {
    "tiles 3x4": Space("tiles", {"rows": 3, "columns": 4}, again=1.02),
    "pancakes 11": Space("pancakes", {"n": 11}, compressed=_PANCAKES, again=1.2),
    "pancakes 12": Space("pancakes", {"n": 12}, compressed=_PANCAKES, again=1.2),
    "Hanoi, 15 discs": Space("hanoi", {"pegs": 4, "discs": 15}),
    "sliding blocks": Space("sliding", {"distinct": "all"}, _SLIDING),
    "Gap, full deck": Space("gap", {"ranks": 13}, _GAP, directed=True),
}
#: Numbers of hosts: at the same time, and one after the other.
_TOGETHER, _IN_TURN = (1, 2, 4), (1, 2, 4, 8)
#: The runs of the test: spaces, numbers of hosts, and rates of the links.
_TESTED, _TEST_HOSTS, _TEST_MEGABITS = ("tiles 3x4", "pancakes 11"), (2, 4), (8, 16)
#: How long a link may delay a frame. With 200 ms acknowledgements wait behind data, and 0.7 to 0.9 of a link are used.
_TEST_QUEUE = "50ms"
#: Bytes of a frame on the wire over those that `tc` counts, which leaves out 24.
_COUNTED = 1538 / 1514
#: Cores of the machine, shared by all hosts.
_TEST_CORES = 2


def hosts_of(count: int, threads: int) -> dict[str, int]:
    """Return the threads of `count` hosts, by name."""
    return {f"host-{number}": threads for number in range(count)}


@dataclass(frozen=True)
class Measured:
    """A measured space: the sizes of its layers, the bytes stored per configuration, and its costs."""

    space: Space
    layers: Sequence[int]
    stored: float
    costs: Costs


def measured(spaces: Mapping[str, Space]) -> dict[str, Measured]:
    """Run the spaces and fit their costs. For each number of hosts all spaces run on the same hosts."""
    with tempfile.TemporaryDirectory() as data:
        threads = {name: run_here(space.arguments, data) for name, space in spaces.items()}
    seen = {name: Runs(_run(threads[name], 0), [], [], space.directed) for name, space in spaces.items()}
    for count in sorted({*_TOGETHER, *_IN_TURN}):
        hosts = hosts_of(count, THREADS)
        network = Network([CONTROL, *hosts])
        with network, Team(hosts, network=network) as team:
            for name, space in spaces.items():
                began = time.monotonic()
                for in_turn, runs, counts in (
                    (False, seen[name].together, _TOGETHER),
                    (True, seen[name].in_turn, _IN_TURN),
                ):
                    if count in counts:
                        runs.append(_run(team.run(space.arguments, in_turn), count))
                print(f"{name}, {count} hosts: {time.monotonic() - began:.0f} s", file=sys.stderr)
    costs = fitted(seen)
    return {
        name: Measured(
            space, seen[name].threads.layers, _stored(threads[name]),
            replace(costs[name], compressed=Line(space.compressed), again=space.again),
        )
        for name, space in spaces.items()
    }  # fmt: skip


def _stored(spent: Spent) -> float:
    return float(spent.report["stored_bytes"]) / spent.configurations


def _run(spent: Spent, hosts: int) -> Run:
    return Run(hosts, spent.report["layers"], spent.seen.moments, spent.seen.asked)


def predicted(found: Measured) -> dict[str, Any]:
    """Return for each rate four lists, each with one number for each of `HOSTS`.

    `this`, `larger` and `limit` are the speed-ups of the run, of one with layers `LARGER` times as large, and the limit
    for ever larger layers. `half` is the number of configurations at which the speed-up is half of the limit.
    """
    costs, layers, farm = found.costs, found.layers, found.space.farm
    larger, rows = [size * LARGER for size in layers], dict[str, Any]()
    for rate in GIGABITS:
        places = [Place(hosts, CORES, rate * 1e9) for hosts in HOSTS]
        most = [limit(costs, place, layers) for place in places]
        half = [least_size(costs, place, layers, farm, times / 2) for place, times in zip(places, most, strict=True)]
        rows[f"{rate} Gbit/s"] = {
            "this": [speed_up(costs, place, layers, farm) for place in places],
            "larger": [speed_up(costs, place, larger, farm) for place in places],
            "limit": most, "half": [sum(layers) * times for times in half],
        }  # fmt: skip
    return rows


def tested(name: str, found: Measured, counts: Sequence[int], megabits: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Run a space on links of each rate, and yield measured and predicted seconds up to the last layer."""
    for count in counts:
        hosts = hosts_of(count, 1)
        network = Network([CONTROL, *hosts])
        with network, Team(hosts, network=network) as team:
            unlimited = team.run(found.space.arguments)
            for rate in megabits:
                for host in network.addresses:
                    network.limit(host, rate * 1_000_000, _TEST_QUEUE)
                spent = team.run(found.space.arguments)
                place = Place(count, 1, rate * 1e6 * _COUNTED, shared=_TEST_CORES)
                seconds = run_seconds(found.costs, place, found.layers, found.space.farm)
                yield {
                    "space": name, "hosts": count, "mbit": rate, "unlimited_s": _rounded(unlimited),
                    "measured_s": _rounded(spent), "predicted_s": round(seconds, 1),
                    "ratio": round(seconds / spent.seconds, 2), "sent_mb": round(spent.seen.moments[-1].sent / 1e6, 2),
                }  # fmt: skip


def _rounded(spent: Spent) -> float:
    return round(spent.seconds, 1)


def measure_all(
    spaces: Mapping[str, Space], slow: Collection[str], counts: Sequence[int] = _TEST_HOSTS,
    megabits: Sequence[int] = _TEST_MEGABITS,
) -> dict[str, Any]:  # fmt: skip
    """Return costs and predictions of the spaces, and the test of those named in `slow`, as plain values."""
    everything: dict[str, Any] = {"spaces": {}, "test": []}
    for name, found in measured(spaces).items():
        everything["spaces"][name] = {
            "command": f"hakoiri run {' '.join(found.space.arguments)}", "layers": found.layers,
            "stored": found.stored, "costs": as_plain(found.costs), "predicted": predicted(found),
        }  # fmt: skip
        if name in slow:
            everything["test"] += tested(name, found, counts, megabits)
    return everything


def as_plain(costs: Costs) -> dict[str, Any]:
    """Return costs as plain values."""
    phases = {
        name: {"threads": phase.threads._asdict(), "main": phase.main._asdict(), "waits": phase.waits}
        for name, phase in (("expand", costs.expand), ("merge", costs.merge))
    }
    roles = {role: share._asdict() for role, share in costs.roles.items()}
    return asdict(costs) | phases | {"roles": roles}


def main() -> None:
    """Measure, predict, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only spaces whose name contains this")
    parser.add_argument("--test", action="store_true", help="compare with runs on slow links")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the speed-ups: .svg, .png or .pdf")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    arguments = parser.parse_args()
    if why := why_not():
        sys.exit(f"no network namespaces here: {why}")
    chosen = {name: space for name, space in SPACES.items() if arguments.only in name}
    found = measure_all(chosen, _TESTED if arguments.test else ())
    if arguments.plot:
        draw(found, arguments.plot)
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(as_text(found)))


if __name__ == "__main__":
    main()
