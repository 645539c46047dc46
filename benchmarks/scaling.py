"""What more workers, on more hosts, bring: costs measured by role, speed-ups reckoned from them, and put to the test.

    python benchmarks/scaling.py --test --plot docs/scaling.svg   # All of docs/scaling.md, as root: some minutes.
    python benchmarks/scaling.py --only pancakes --json

Each kind of space is run by threads, and by two workers with its layers in few, more and many chunks; everybody is
looked at after each layer. `benchmarks.costs` fits what that costs, `benchmarks.prediction` says what follows. With
--test that is compared with runs by three hosts, in network namespaces, on links so slow that little else counts.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.costs import ROLES, Fitted, Made, bytes_of_pieces, deviation, fitted, layers_made
from benchmarks.prediction import Costs, Place, bytes_sent, ceilings, kept_of, run_seconds, speed_up
from benchmarks.roles import CONTROL, EACH, ONE, Team, watched_here
from benchmarks.scaling_page import CORES, GIGABITS, LARGER, WORKERS, as_text, draw
from tests.support.namespaces import Network, why_not

#: Hakoiri-musume with all pieces distinguished: 14,950,080 configurations in 200 layers.
_SLIDING = ("sliding", "--from", "ABBC/ABBC/DEEF/DGHF/I..J", "-o", "distinct=all")
_GAP = (
    "gap", "-o", "ranks=13", "--from",
    "45 4T 18 27 37 12 1T 4Q 14 23 36 3K 25/39 15 16 2T 11 1Q 33 3Q 3J 22 49 2Q 41/"
    "13 3T 17 4K 2K 48 35 28 46 44 31 32 1K/43 34 29 38 19 42 24 1J 47 26 21 2J 4J",
)  # fmt: skip


@dataclass(frozen=True)
class Space:
    """What `hakoiri run` is to be given, and which layers go to workers; one that is run on slow links, too."""

    arguments: Sequence[str]
    farm: int
    tested: "Space | None" = None
    directed: bool = False

    @property
    def farmed(self) -> Sequence[str]:
        """The arguments, of a run by workers."""
        return (*self.arguments, "--farm-from", str(self.farm))


SPACES = {
    "tiles 3x4": Space(("tiles", "-o", "rows=3", "-o", "columns=4"), 50_000),
    "pancakes 11": Space(("pancakes", "-o", "n=11"), 50_000, Space(("pancakes", "-o", "n=10"), 20_000)),
    "TopSpin(10,4)": Space(("topspin", "-o", "n=10"), 5_000, Space(("topspin", "-o", "n=11"), 20_000)),
    "sliding blocks": Space(_SLIDING, 20_000),
    "Gap, full deck": Space(_GAP, 20_000, directed=True),
}
_WORKERS = 2
#: The widest layer is cut into as many chunks as two workers need, and into so many.
_CUTS = (8, 32)
#: One that is tested by three workers: not many more than these need.
_FEW_CUTS = (4,)
_TEST_HOSTS, _TEST_MEGABITS = ("one", "two", "three"), (4, 8, 16)
#: The bucket of `tc` counts frames of 1,514 bytes, and not the 24 between them on a wire.
_COUNTED = 1538 / 1514


@dataclass(frozen=True)
class Seen:
    """A space that was run: its layers, seconds by threads for a configuration, bytes stored; what workers took."""

    layers: Sequence[int]
    threads: float
    stored: float
    start: float
    made: Sequence[Made]
    #: Bytes that went out of data Redis in the run with the fewest chunks.
    sent: int


def measured(spaces: Mapping[str, Space]) -> tuple[dict[str, Seen], dict[str, Seen]]:
    """The spaces by kind, and those of them that are run on slow links."""
    with Team({"here": _WORKERS}) as team, tempfile.TemporaryDirectory() as data:
        whole, small = {}, {}
        for name, space in spaces.items():
            began = time.monotonic()
            whole[name] = _seen(name, space, team, data, _CUTS)
            if space.tested:
                small[name] = _seen(name, space.tested, team, data, _FEW_CUTS)
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return whole, small


def _seen(kind: str, space: Space, team: Team, data: str, cuts: Sequence[int]) -> Seen:
    spent, moments = watched_here(space.arguments, data)
    layers, stored = spent.report["layers"], spent.report["stored_bytes"] / spent.configurations
    here = moments[-1].cpu["coordinator"] - moments[0].cpu["coordinator"]
    sent = team.run(space.farmed).sent["data"]  # Workers load their kernels.
    made: list[Made] = []
    starts = []
    for cut in (None, *cuts):
        chunk = () if cut is None else ("--chunk", str(max(layers) // cut))
        _, moments = team.watch((*space.farmed, *chunk))
        made += layers_made(kind, layers, moments, space.farm, space.directed)
        starts.append(moments[0].cpu["coordinator"])
    return Seen(layers, here / spent.configurations, stored, sum(starts) / len(starts), made, sent)


def costs_of(kind: str, space: Space, seen: Seen, roles: Mapping[str, Fitted]) -> Costs:
    """What a space costs."""
    pieces = bytes_of_pieces(seen.made, seen.layers, seen.stored)
    costs = Costs(kind, space.directed, seen.threads, seen.start, roles, pieces, seen.stored)
    return replace(costs, kept=kept_of(costs, _WORKERS, seen.layers, space.farm, seen.sent))


# What is reckoned


def reckoned(costs: Costs, layers: Sequence[int], farm: int) -> dict[str, Any]:
    """Speed-ups by data Redis, rate of the links and workers, of a larger run and of this one, and the ceilings."""
    larger = [size * LARGER for size in layers]
    found: dict[str, Any] = {"ceilings": {}, "larger": {}, "this": {}}
    for depots in (ONE, EACH):
        for rate in GIGABITS:
            name = f"{depots}, {rate} Gbit/s"
            places = [Place(workers, -(-workers // CORES), rate * 1e9, depots == EACH) for workers in WORKERS]
            found["larger"][name] = [round(speed_up(costs, place, larger, farm), 2) for place in places]
            found["this"][name] = [round(speed_up(costs, place, layers, farm), 2) for place in places]
            limits = ceilings(costs, layers, rate * 1e9, depots == EACH)
            found["ceilings"][name] = {
                resource: [round(times, 1) for times in limit] for resource, limit in limits.items()
            }
    return found


# The test


def tested(space: Space, costs: Costs, megabits: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Runs on three hosts, whose links and that of the coordinator have a rate.

    What was reckoned, what they took, and what they took without a limit; what went out of data Redis, and was to.
    The run without a limit says how much stays with three workers, which is less than stays with two.
    """
    for depots in (ONE, EACH):
        network = Network([CONTROL, *_TEST_HOSTS])
        with network, Team(dict.fromkeys(_TEST_HOSTS, 1), depots, network) as team:
            team.run(space.farmed)
            unlimited = team.run(space.farmed)
            layers, workers = unlimited.report["layers"], len(_TEST_HOSTS)
            costs = replace(costs, kept=kept_of(costs, workers, layers, space.farm, unlimited.sent["data"]))
            for rate in megabits:
                for host in network.addresses:
                    network.limit(host, rate * 1_000_000)
                spent = team.run(space.farmed)
                place = Place(workers, len(_TEST_HOSTS), rate * 1e6 * _COUNTED, depots == EACH, cores=2)
                seconds = run_seconds(costs, place, layers, space.farm)
                sent, expected = spent.sent["data"] / 1e6, bytes_sent(costs, workers, layers, space.farm) / 1e6
                yield {
                    "space": " ".join(space.arguments), "data_redis": depots, "mbit": rate,
                    "unlimited_s": round(unlimited.wall, 1), "kept": round(costs.kept, 2),
                    "measured_s": round(spent.wall, 1),
                    "reckoned_s": round(seconds, 1), "ratio": round(seconds / spent.wall, 2),
                    "sent_mb": round(sent, 2), "reckoned_mb": round(expected, 2),
                }  # fmt: skip


def measure_all(spaces: Mapping[str, Space], test: bool, megabits: Sequence[int] = _TEST_MEGABITS) -> dict[str, Any]:
    """What is measured, reckoned and tested, as plain values."""
    whole, small = measured(spaces)
    made = [layer for seen in (*whole.values(), *small.values()) for layer in seen.made]
    roles = fitted(made)
    fit = {role: [round(bound, 2) for bound in deviation(made, roles, role)] for role in ROLES}
    found: dict[str, Any] = {"spaces": {}, "test": [], "layers": len(made), "fit": fit}
    for name, space in spaces.items():
        seen, costs = whole[name], costs_of(name, space, whole[name], roles[name])
        found["spaces"][name] = {
            "command": f"hakoiri run {' '.join(space.arguments)}", "configurations": sum(seen.layers),
            "threads": seen.threads, "start": seen.start, "stored": seen.stored,
            "kept": costs.kept, "pieces": {chunks: _pieces(costs, seen, chunks) for chunks in (2, *_CUTS)},
            "factors": {role: roles[name][role].factors._asdict() for role in ROLES},
            "errors": {role: roles[name][role].errors._asdict() for role in ROLES},
            **reckoned(costs, seen.layers, space.farm),
        }  # fmt: skip
        if test and space.tested:
            found["test"] += tested(space.tested, costs_of(name, space.tested, small[name], roles[name]), megabits)
    return found


def _pieces(costs: Costs, seen: Seen, chunks: int) -> float:
    """Bytes of pieces for a configuration of a space whose layers are cut into some chunks."""
    each = zip(seen.layers, costs.pieces, strict=True)
    return sum(size * pieces.of(chunks) for size, pieces in each) / sum(seen.layers)


def main() -> None:
    """Measure, reckon, and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only kinds whose name contains this")
    parser.add_argument("--test", action="store_true", help="compare with runs on slow links; as root")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the speed-ups: .svg, .png or .pdf")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of tables")
    arguments = parser.parse_args()
    if arguments.test and (why := why_not()):
        sys.exit(f"no hosts can be made here: {why}")
    found = measure_all({name: space for name, space in SPACES.items() if arguments.only in name}, arguments.test)
    if arguments.plot:
        draw(found, arguments.plot)
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(as_text(found)))


if __name__ == "__main__":
    main()
