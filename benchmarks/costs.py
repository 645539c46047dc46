"""What a layer costs that hosts make, fitted to every request of some runs in which hosts were asked in turn.

In seconds of processor time of a host, for each of its two requests a layer, of the threads and of its main thread:

    fixed + each x configurations (+ byte x bytes sent, of expanding; + older x older ones compared, of merging)

and of the coordinator and the Redis servers layer + host x hosts + byte x bytes sent. Docs: docs/scaling.md.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from benchmarks.watched import Asked, Moment

EXPAND, MERGE = "host-expand", "host-merge"
#: Less processor time is not measured well, and more within this part of it.
_LEAST_SECONDS, _NOISE = 0.003, 0.1
#: So small a part of all requests waits for nobody who has nothing to do with the run.
_UNDISTURBED = 0.1


class Work(NamedTuple):
    """Seconds of a request: whatever its size, for a configuration, a byte sent, an older one compared."""

    fixed: float = 0.0
    each: float = 0.0
    byte: float = 0.0
    older: float = 0.0


class Phase(NamedTuple):
    """A request of a layer: what the threads of a host do together, its main thread, and seconds of waiting."""

    threads: Work
    main: Work
    waits: float = 0.0


class Share(NamedTuple):
    """Seconds of a role other than hosts for a layer, for each host in it, and for a byte that these send."""

    layer: float = 0.0
    host: float = 0.0
    byte: float = 0.0


#: Besides hosts.
ROLES = ("coordinator", "control", "data")


@dataclass(frozen=True)
class Line:
    """Numbers by how many hosts there are: on the lines through those measured, on along the last one."""

    seen: Mapping[int, float]

    def of(self, hosts: int) -> float:
        """The number for some hosts."""
        points = sorted(self.seen.items())
        if hosts in self.seen or len(points) == 1:
            return self.seen.get(hosts, points[0][1])
        (few, low), (many, high) = next((pair for pair in pairwise(points) if hosts <= pair[1][0]), points[-2:])
        return low + (high - low) * math.log(hosts / few) / math.log(many / few)


@dataclass(frozen=True)
class Costs:
    """What a kind of space costs: one core of threads for a configuration, in seconds; else hosts and the coordinator.

    `start` is what the coordinator takes for any run, `dealing` for each host that it deals the run out to. `sent` are
    the bytes of a configuration, `uneven` the work of the slowest host over the mean, and `uneven_sent` its bytes.
    """

    threads: float
    start: float
    dealing: float
    roles: Mapping[str, Share]
    expand: Phase
    merge: Phase
    sent: Line
    uneven: Line
    uneven_sent: Line
    directed: bool = False


class Run(NamedTuple):
    """A run by `hosts` hosts: its layers, the one from which on they made them, and what was seen."""

    hosts: int
    layers: Sequence[int]
    moments: Sequence[Moment]
    asked: Sequence[Asked] = ()

    @property
    def first(self) -> int:
        """The first layer that hosts made."""
        return next(depth for depth, moment in enumerate(self.moments) if moment.hosted)

    def spent(self, role: str, depth: int) -> float:
        """Processor seconds of a role for a layer."""
        return self.moments[depth].cpu[role] - self.moments[depth - 1].cpu[role]


@dataclass(frozen=True)
class Runs:
    """Runs of a space: by threads, by hosts that worked together, by hosts asked in turn."""

    threads: Run
    together: list[Run]
    in_turn: list[Run]
    directed: bool = False


def fitted(spaces: Mapping[str, Runs]) -> dict[str, Costs]:
    """What spaces cost, by name. Seconds of a byte sent are the same for all of them."""
    expand, merge = _phases(spaces, EXPAND), _phases(spaces, MERGE)
    return {name: _costs(runs, expand[name], merge[name]) for name, runs in spaces.items()}


def _costs(runs: Runs, expand: Phase, merge: Phase) -> Costs:
    begin, end = runs.threads.moments[0], runs.threads.moments[-1]
    each = (end.cpu["coordinator"] - begin.cpu["coordinator"]) / sum(runs.threads.layers)
    roles = {role: _share(runs.together, role) for role in ROLES}
    start = float(np.median([run.moments[0].cpu["coordinator"] for run in runs.together]))
    usual = roles["coordinator"]
    dealing = [(run.spent("coordinator", run.first) - usual.layer) / run.hosts - usual.host for run in runs.together]
    expanded = {run.hosts: [asked for asked in run.asked if asked.task == EXPAND] for run in runs.in_turn}
    return Costs(
        each, start, max(0.0, float(np.median(dealing))), roles, expand, merge,
        Line({run.hosts: _bytes(run) for run in runs.in_turn}),
        Line({hosts: uneven([asked.size for asked in found], hosts) for hosts, found in expanded.items()}),
        Line({hosts: uneven([asked.sent for asked in found], hosts) for hosts, found in expanded.items()}),
        runs.directed,
    )  # fmt: skip


def uneven(numbers: Sequence[float], hosts: int) -> float:
    """Numbers of each host, layer by layer: the largest of a layer over their mean, over all layers."""
    table = np.reshape(np.array(numbers, dtype=float), (-1, hosts))
    return float(table.max(axis=1).sum() / table.mean(axis=1).sum()) if table.any() else 1.0


def _bytes(run: Run) -> float:
    """Bytes sent for a configuration that was expanded."""
    sizes = sum(each.size for each in run.asked if each.task == EXPAND)
    return sum(each.sent for each in run.asked) / sizes


def _share(runs: Sequence[Run], role: str) -> Share:
    """What a role costs in the layers that hosts made."""
    rows, took = [], []
    for run in runs:
        for depth in range(run.first + 1, len(run.moments)):
            sent = run.moments[depth].sent - run.moments[depth - 1].sent
            rows.append([1.0, float(run.hosts), float(sent)])
            took.append(run.spent(role, depth))
    return Share(*_least(rows, took))


def _phases(spaces: Mapping[str, Runs], task: str) -> dict[str, Phase]:
    """What a request costs in each space."""
    rows, threads, main, waits = [], [], [], dict[str, list[float]]()
    for number, (name, runs) in enumerate(spaces.items()):
        waits[name] = []
        for asked, older in _requests(runs, task):
            own = [1.0, float(asked.size), older]
            rest = [value if place == number else 0.0 for place in range(len(spaces)) for value in own]
            rows.append([float(asked.sent), *rest])
            threads.append(asked.cpu - asked.main + asked.between)
            main.append(asked.main)
            waits[name].append(asked.clock - asked.cpu)
    byte, *rest = _least(rows, threads)
    # What is sent, and what it is compared with, is no work of the main thread.
    alone = _least([[value for place, value in enumerate(row[1:]) if place % 3 < 2] for row in rows], main)
    found = {}
    for number, name in enumerate(spaces):
        fixed, each, older = rest[3 * number : 3 * number + 3]
        wait = max(0.0, float(np.quantile(waits[name], _UNDISTURBED)))
        found[name] = Phase(Work(fixed, each, byte, older), Work(*alone[2 * number : 2 * number + 2]), wait)
    return found


def _requests(runs: Runs, task: str) -> Iterator[tuple[Asked, float]]:
    """The requests of a task, and how many older configurations of its host each compares with."""
    for run in runs.in_turn:
        older = defaultdict[int, float](float)
        for asked in run.asked:
            if asked.task == MERGE:
                older[asked.host] += asked.size
            # The first layer waits for kernels and bitmaps.
            if asked.task == task and asked.depth > run.first:
                yield asked, older[asked.host] if runs.directed and task == MERGE else 0.0


def _least(rows: Sequence[Sequence[float]], took: Sequence[float]) -> list[float]:
    """Least squares of the relative deviations, none negative."""
    weights = 1 / np.maximum(_LEAST_SECONDS, _NOISE * np.array(took))
    weighted = np.array(rows) * weights[:, None]
    scale = np.maximum(np.abs(weighted).max(axis=0), 1e-30)
    solution, _ = nnls(weighted / scale, np.array(took) * weights)
    return [float(number) for number in solution / scale]
