"""What more workers, on more hosts, bring: measured costs by role, reckoned speed-ups, and the reckoning put to the test.

    python benchmarks/scaling.py --plot docs/scaling.svg           # All of docs/scaling.md: a few minutes.
    python benchmarks/scaling.py --only pancakes --json
    python benchmarks/scaling.py --test --only tiles               # As root: hosts in network namespaces, slow links.

Each kind of space is run by threads, by two workers, smaller, and cut into more chunks than two workers need; `prediction`
says what follows. With --test runs by three hosts whose links are so slow that nothing else counts are compared with that.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.prediction import (
    ROLES, Costs, Place, Run, ceilings, deviations, fitted, fitted_bytes, run_seconds, speed_up,
)  # fmt: skip
from benchmarks.roles import EACH, ONE, Spent, Team, run_here
from tests.support.namespaces import Network, why_not

#: Hakoiri-musume with all pieces distinguished: 14,950,080 configurations in 200 layers.
_SLIDING = ("sliding", "--from", "ABBC/ABBC/DEEF/DGHF/I..J", "-o")
_GAP = ("gap", "-o", "ranks=13", "--from")


@dataclass(frozen=True)
class Space:
    """A kind of space: what `hakoiri run` is to be given for it, and for a smaller one, and from where on each is farmed."""

    arguments: Sequence[str]
    farm: int
    smaller: Sequence[str]
    smaller_farm: int
    directed: bool = False


SPACES = {
    "tiles 3x4": Space(
        ("tiles", "-o", "rows=3", "-o", "columns=4"), 50_000, ("tiles", "-o", "rows=2", "-o", "columns=5"), 5_000
    ),
    "pancakes 11": Space(("pancakes", "-o", "n=11"), 50_000, ("pancakes", "-o", "n=10"), 20_000),
    "TopSpin(10,4)": Space(("topspin", "-o", "n=10"), 5_000, ("topspin", "-o", "n=11"), 20_000),
    "sliding blocks": Space((*_SLIDING, "distinct=all"), 20_000, (*_SLIDING, "distinct=A,G,H,I,J"), 10_000),
    "Gap, full deck": Space(
        (*_GAP, "45 4T 18 27 37 12 1T 4Q 14 23 36 3K 25/39 15 16 2T 11 1Q 33 3Q 3J 22 49 2Q 41/"
                "13 3T 17 4K 2K 48 35 28 46 44 31 32 1K/43 34 29 38 19 42 24 1J 47 26 21 2J 4J"), 20_000,
        (*_GAP, "26 1T 49 23 35 28 4J 13 45 3K 32 11 4K/1Q 14 33 39 36 29 37 4Q 2J 19 3T 18 3J/"
                "16 21 1J 34 48 22 41 31 17 3Q 38 15 46/1K 2Q 25 4T 43 24 42 44 27 2T 47 12 2K"), 5_000,
        directed=True,
    ),
}  # fmt: skip
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128)
GIGABITS = (1, 10, 100)
#: Workers of a host, in the tables.
_CORES = 8
#: A larger run of the same kind has so many times as large layers.
LARGER = 100
#: The widest layer is cut into so many chunks, besides as many as two workers need.
_CUTS = (6, 24)
_TEST_HOSTS, _TEST_MEGABITS = ("one", "two", "three"), (8, 16, 32)
#: What is run on slow links: small enough.
TESTED = {"tiles 3x4": 5_000, "pancakes 11": 20_000, "TopSpin(10,4)": 20_000}


def measured(spaces: Mapping[str, Space]) -> tuple[dict[str, Spent], list[Run]]:
    """By kind the run by threads; and runs by two workers."""
    with tempfile.TemporaryDirectory() as data:
        alone = {name: run_here(space.arguments, data) for name, space in spaces.items()}
    runs = []
    with Team({"here": 2}) as team:
        nothing = Space(("tiles", "-o", "rows=2", "-o", "columns=2"), 1 << 60, (), 0)
        runs += [as_run("nothing", nothing, team.run(nothing.arguments)) for _ in range(2)]
        forced = Space(("klotski", "--farm-from", "0"), 0, (), 0)
        for chunk in ("1000", "80"):
            runs.append(as_run("many layers", forced, team.run((*forced.arguments, "--chunk", chunk))))
        for name, space in spaces.items():
            began, threads = time.monotonic(), _each(alone[name], runs)
            runs += [as_run(name, *made, threads) for made in _farmed(team, space)]
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return alone, runs


def _farmed(team: Team, space: Space) -> Iterator[tuple[Space, Spent]]:
    small = replace(space, arguments=space.smaller, farm=space.smaller_farm)
    team.run(_to_workers(small))  # They load their kernels.
    yield small, team.run(_to_workers(small))
    whole = team.run(_to_workers(space))
    yield space, whole
    for cuts in _CUTS:
        chunk = str(max(whole.report["layers"]) // cuts)
        yield space, team.run((*_to_workers(space), "--chunk", chunk))


def _to_workers(space: Space) -> Sequence[str]:
    return (*space.arguments, "--farm-from", str(space.farm))


def as_run(kind: str, space: Space, spent: Spent, threads: float = 0.0) -> Run:
    """A run as the fit wants it: small layers, which the coordinator makes by itself, count as by threads."""
    layers = spent.report["layers"]
    alone = threads * sum(size for size in layers if size < space.farm)
    cpu = {**spent.cpu, "coordinator": max(0.0, spent.cpu["coordinator"] - alone)}
    left, fetched = spent.received["data"], spent.sent["data"]
    return Run(kind, layers, space.farm, space.directed, cpu, left, fetched, spent.jobs, spent.fetches)


def _each(alone: Spent, runs: Sequence[Run]) -> float:
    """What one core of threads takes for a configuration, beyond the start."""
    start = min(run.cpu["coordinator"] for run in runs if not run.farmed)
    return (alone.cpu["coordinator"] - start) / alone.configurations


def costs_of(spaces: Mapping[str, Space], alone: Mapping[str, Spent], runs: Sequence[Run]) -> dict[str, Costs]:
    """What each kind costs."""
    roles, found = fitted(runs), {}
    for name, space in spaces.items():
        report = alone[name].report
        stored = report["stored_bytes"] / report["configurations"]
        pieces = fitted_bytes([run for run in runs if run.kind == name], stored)
        found[name] = Costs(name, space.directed, _each(alone[name], runs), roles[name], pieces, stored)
    return found


# What is reckoned


def reckoned(costs: Costs, layers: Sequence[int], farm: int) -> dict[str, Any]:
    """Speed-ups by data Redis, rate of the links and workers, of a larger run and of this one, and the ceilings."""
    larger = [size * LARGER for size in layers]
    found: dict[str, Any] = {"ceilings": {}, "larger": {}, "this": {}}
    for depots in (ONE, EACH):
        for rate in GIGABITS:
            name = f"{depots}, {rate} Gbit/s"
            places = [Place(workers, -(-workers // _CORES), rate * 1e9, depots == EACH) for workers in WORKERS]
            found["larger"][name] = [round(speed_up(costs, place, larger, farm), 2) for place in places]
            found["this"][name] = [round(speed_up(costs, place, layers, farm), 2) for place in places]
            found["ceilings"][name] = {
                resource: round(times, 1) for resource, times in ceilings(costs, rate * 1e9, depots == EACH).items()
            }
    return found


# The test


def tested(name: str, space: Space, costs: Costs) -> Iterator[dict[str, Any]]:
    """Runs on three hosts with slow links: what was reckoned, and what they took."""
    for depots in (ONE, EACH):
        with (
            Network(["control", *_TEST_HOSTS]) as network,
            Team(dict.fromkeys(_TEST_HOSTS, 1), depots, network) as team,
        ):
            team.run(_to_workers(space))
            for megabits in _TEST_MEGABITS:
                for host in network.addresses:
                    network.limit(host, megabits * 1_000_000)
                spent = team.run(_to_workers(space))
                layers = spent.report["layers"]
                place = Place(3, 3, megabits * 1e6, depots == EACH, cores=2)
                reckoned = run_seconds(costs, place, layers, space.farm)
                yield {
                    "space": name, "data_redis": depots, "mbit": megabits, "measured": round(spent.wall, 1),
                    "reckoned": round(reckoned, 1), "ratio": round(reckoned / spent.wall, 2),
                    "cpu": round(sum(spent.cpu.values()), 1),
                }  # fmt: skip
