"""What more workers, on more hosts, bring: costs measured by role, speed-ups reckoned from them, and put to the test.

    python benchmarks/scaling.py --test --plot docs/scaling.svg   # All of docs/scaling.md, as root: some ten minutes.
    python benchmarks/scaling.py --only pancakes --json

Each kind of space is run by threads, by two workers, smaller, and cut into more chunks than two workers need;
`benchmarks/prediction.py` says what follows. With --test that is compared with runs by three hosts, in network
namespaces, whose links are so slow that nothing else counts.
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

from benchmarks.prediction import (
    LEAST_SECONDS,
    ROLES,
    Costs,
    Place,
    Run,
    ceilings,
    deviations,
    fitted,
    fitted_bytes,
    run_seconds,
    speed_up,
)  # fmt: skip
from benchmarks.roles import CONTROL, EACH, ONE, Spent, Team, run_here
from tests.support.namespaces import Network, why_not

#: Hakoiri-musume with all pieces distinguished: 14,950,080 configurations in 200 layers.
_SLIDING = ("sliding", "--from", "ABBC/ABBC/DEEF/DGHF/I..J", "-o")
_GAP = ("gap", "-o", "ranks=13", "--from")


@dataclass(frozen=True)
class Space:
    """A kind of space: what `hakoiri run` is to be given, also for another size, and which layers go to workers."""

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
LARGER = 10
#: The widest layer is cut into so many chunks, too, not only into as many as two workers need.
_CUTS = 16
_TEST_HOSTS, _TEST_MEGABITS = ("one", "two", "three"), (4, 8, 16)
#: Of these the other size is run on slow links.
TESTED = ("pancakes 11", "TopSpin(10,4)")


#: By kind the run by threads, and that of the other size.
Alone = Mapping[str, tuple[Spent, Spent]]


def measured(spaces: Mapping[str, Space]) -> tuple[Alone, list[Run]]:
    """Runs by threads, and by two workers."""
    with tempfile.TemporaryDirectory() as data:
        alone = {
            name: (run_here(space.arguments, data), run_here(space.smaller, data)) for name, space in spaces.items()
        }
    runs = []
    with Team({"here": 2}) as team:
        nothing = Space(("tiles", "-o", "rows=2", "-o", "columns=2"), 1 << 60, (), 0)
        runs += [as_run("nothing", nothing, team.run(nothing.arguments)) for _ in range(2)]
        forced = Space(("klotski", "--farm-from", "0"), 0, (), 0)
        for chunk in ("1000", "80"):
            runs.append(as_run("many layers", forced, team.run((*forced.arguments, "--chunk", chunk))))
        for name, space in spaces.items():
            began, threads = time.monotonic(), _each(*alone[name])
            runs += [as_run(name, *made, threads) for made in _farmed(team, space)]
            print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return alone, runs


def _farmed(team: Team, space: Space) -> Iterator[tuple[Space, Spent]]:
    small = replace(space, arguments=space.smaller, farm=space.smaller_farm)
    team.run(_to_workers(small))  # They load their kernels.
    yield small, team.run(_to_workers(small))
    whole = team.run(_to_workers(space))
    yield space, whole
    yield space, team.run((*_to_workers(space), "--chunk", str(max(whole.report["layers"]) // _CUTS)))


def _to_workers(space: Space) -> Sequence[str]:
    return (*space.arguments, "--farm-from", str(space.farm))


def as_run(kind: str, space: Space, spent: Spent, threads: float = 0.0) -> Run:
    """A run as the fit wants it: small layers, which the coordinator makes by itself, count as by threads."""
    layers = spent.report["layers"]
    alone = threads * sum(size for size in layers if size < space.farm)
    cpu = {**spent.cpu, "coordinator": max(0.0, spent.cpu["coordinator"] - alone)}
    left = spent.received["data"]
    return Run(kind, layers, space.farm, space.directed, cpu, left, spent.jobs, spent.fetches)


def _each(one: Spent, other: Spent) -> float:
    """What one core of threads takes for a configuration: two sizes differ by that alone."""
    seconds = one.cpu["coordinator"] - other.cpu["coordinator"]
    return seconds / (one.configurations - other.configurations)


def costs_of(spaces: Mapping[str, Space], alone: Alone, runs: Sequence[Run]) -> dict[str, Costs]:
    """What each kind costs."""
    roles, found = fitted(runs), {}
    for name, space in spaces.items():
        report = alone[name][0].report
        stored = report["stored_bytes"] / report["configurations"]
        pieces = fitted_bytes([run for run in runs if run.kind == name], stored)
        found[name] = Costs(name, space.directed, _each(*alone[name]), roles[name], pieces, stored)
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
                resource: round(times, 1)
                for resource, times in ceilings(costs, layers, rate * 1e9, depots == EACH).items()
            }
    return found


# The test


def tested(name: str, space: Space, costs: Costs) -> Iterator[dict[str, Any]]:
    """Runs of the smaller space on three hosts, whose links and that of the coordinator have a rate: `None` for none.

    What was reckoned, what they took, and what they took without a limit.
    """
    small = replace(space, arguments=space.smaller, farm=space.smaller_farm)
    for depots in (ONE, EACH):
        network = Network([CONTROL, *_TEST_HOSTS])
        with network, Team(dict.fromkeys(_TEST_HOSTS, 1), depots, network) as team:
            team.run(_to_workers(small))
            unlimited = team.run(_to_workers(small)).wall
            for megabits in _TEST_MEGABITS:
                for host in network.addresses:
                    network.limit(host, megabits * 1_000_000)
                spent = team.run(_to_workers(small))
                place = Place(len(_TEST_HOSTS), len(_TEST_HOSTS), megabits * 1e6, depots == EACH, cores=2)
                seconds = run_seconds(costs, place, spent.report["layers"], small.farm)
                yield {
                    "space": " ".join(small.arguments), "data_redis": depots, "mbit": megabits,
                    "unlimited_s": round(unlimited, 1), "measured_s": round(spent.wall, 1),
                    "reckoned_s": round(seconds, 1), "ratio": round(seconds / spent.wall, 2),
                }  # fmt: skip


# What is shown


def as_text(found: Mapping[str, Any]) -> Iterator[str]:
    """Tables, as docs/scaling.md has them."""
    shared = next(iter(found["spaces"].values()))["factors"]
    yield from _head("role", "start s", "job ms", "fetch us", "a run by this in relation to what it took")
    for role in ROLES:
        factors, (least, most) = shared[role], found["fit"][role]
        fixed = f"{factors['start']:.2f} | {factors['job'] * 1e3:.2f} | {factors['fetch'] * 1e6:.1f}"
        yield f"| {role} | {fixed} | {least} to {most} |"
    yield ""
    yield from _head("ns of a configuration", "threads", *ROLES, "layer ms", "bytes of pieces", "stored")
    for name, space in found["spaces"].items():
        factors, pieces = space["factors"], space["pieces"]
        each = " | ".join(_each_and_known(factors[role]) for role in ROLES)
        layer = f"{factors['coordinator']['layer'] * 1e3:.1f}"
        moved = f"{pieces['each']:.2f} + {pieces['doubling']:.2f} a doubling | {space['stored']:.2f}"
        yield f"| {name} | {space['threads'] * 1e9:.1f} | {each} | {layer} | {moved} |"
    for name, space in found["spaces"].items():
        yield ""
        yield from _head(f"{name}, {LARGER} times as large", *map(str, WORKERS), "at most", "by")
        for place, times in space["larger"].items():
            limit, most = min(space["ceilings"][place].items(), key=lambda item: item[1])
            yield f"| {place} | {' | '.join(map(str, times))} | {most} | {limit} |"
    if found["test"]:
        yield ""
        yield from _head("run", "data Redis", "Mbit/s", "without a limit s", "took s", "reckoned s", "ratio")
        for row in found["test"]:
            yield f"| {' | '.join(str(value) for value in row.values())} |"


def _head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---" * len(names) + "|"


def _each_and_known(factors: Mapping[str, float]) -> str:
    each, known = (f"{factors[name] * 1e9:.1f}" for name in ("each", "known"))
    return f"{each}, {known} an older one" if factors["known"] else each


def draw(found: Mapping[str, Any], target: Path) -> None:
    """The speed-ups of the larger runs by workers."""
    from hakoiri.render.plots import drawn_into

    colours = dict(zip(GIGABITS, ("#d55e00", "#e69f00", "#0072b2"), strict=True))
    with drawn_into(target, (12, 3.4)) as figure:
        panels = figure.subplots(1, len(found["spaces"]), sharex=True, squeeze=False)[0]
        for panel, (name, space) in zip(panels, found["spaces"].items(), strict=True):
            for depots, style in ((EACH, "-"), (ONE, "--")):
                for rate, colour in colours.items():
                    times = space["larger"][f"{depots}, {rate} Gbit/s"]
                    label = f"{rate} Gbit/s, {'a data Redis on each host' if depots == EACH else 'one data Redis'}"
                    panel.plot(WORKERS, times, style, color=colour, marker=".", markersize=4, label=label)
            panel.set_xscale("log", base=2)
            panel.set_xticks(WORKERS, [str(number) for number in WORKERS], fontsize=7)
            panel.set_ylim(bottom=0)
            panel.set_title(name, fontsize=9)
            panel.set_xlabel(f"workers, {_CORES} on a host", fontsize=8)
        panels[0].set_ylabel("times as fast as one core of threads", fontsize=8)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)


def measure_all(spaces: Mapping[str, Space]) -> tuple[dict[str, Any], dict[str, Costs]]:
    """What is measured and reckoned, as plain values; and the costs."""
    alone, runs = measured(spaces)
    costs = costs_of(spaces, alone, runs)
    roles = fitted(runs)
    found: dict[str, Any] = {
        "spaces": {}, "test": [], "runs": len(runs), "fit": {role: _spread(runs, roles, role) for role in ROLES},
    }  # fmt: skip
    for name, space in spaces.items():
        report, cost = alone[name][0].report, costs[name]
        found["spaces"][name] = {
            "command": f"hakoiri run {' '.join(space.arguments)}", "configurations": report["configurations"],
            "threads": cost.threads, "stored": cost.stored, "pieces": cost.pieces._asdict(),
            "factors": {role: cost.roles[role]._asdict() for role in ROLES},
            **reckoned(cost, report["layers"], space.farm),
        }  # fmt: skip
    return found, costs


def _spread(runs: Sequence[Run], roles: Mapping[str, Any], role: str) -> tuple[float, float]:
    """The least and the greatest deviation of the fit, of runs that took enough to be measured."""
    found = deviations([run for run in runs if run.cpu[role] > 2 * LEAST_SECONDS] or runs, roles, role)
    return round(min(found), 2), round(max(found), 2)


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
    spaces = {name: space for name, space in SPACES.items() if arguments.only in name}
    found, costs = measure_all(spaces)
    if arguments.test:
        for name in spaces.keys() & TESTED:
            found["test"] += tested(name, spaces[name], costs[name])
    if arguments.plot:
        draw(found, arguments.plot)
    print(json.dumps(found, indent=1) if arguments.json else "\n".join(as_text(found)))


if __name__ == "__main__":
    main()
