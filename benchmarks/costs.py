"""Fit the cost of a layer made by hosts to the requests of some runs.

A host gets two requests a layer: expand and merge. For a short layer the merge request also expands for the next one.
This saves a request, and is not in the model. The model of the processor seconds of its threads for one request is

    fixed + host x other hosts + each x configurations + byte x bytes sent (expand)
        + older x older configurations compared (merge)

and fixed + each x configurations for the thread that works alone (`benchmarks.watched.Asked`). The model of the
processor seconds of the coordinator, the control Redis and all data Redis for a layer is

    layer + host x hosts + byte x bytes sent

The requests come from runs in which the coordinator waits for the answer of one host before it sends the next request.
Docs: docs/reports/scaling.md.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from benchmarks.watched import Asked, Moment

EXPAND, MERGE = "host-expand", "host-merge"
#: The threads of a measured host. With one, its main thread would do all.
THREADS = 2
#: The error of a measured processor time: this part of it, taken of at least so many seconds.
_NOISE, _LEAST_SECONDS = 0.1, 0.003
#: The quantile of the waiting times that is taken for a machine without other work.
_UNDISTURBED = 0.1


class Work(NamedTuple):
    """The processor seconds of a request: fixed; for each configuration, byte sent, older one compared, other host."""

    fixed: float = 0.0
    each: float = 0.0
    byte: float = 0.0
    older: float = 0.0
    host: float = 0.0


class Phase(NamedTuple):
    """The cost of one of the two requests of a layer to a host.

    `threads` is the work that its threads share, `main` that of the thread that works alone, `waits` the seconds by
    the clock beyond both.
    """

    threads: Work
    main: Work
    waits: float = 0.0


class Share(NamedTuple):
    """The processor seconds of a role other than the hosts: for a layer, for each host in it, for each byte sent."""

    layer: float
    host: float
    byte: float


#: The roles other than the hosts.
ROLES = ("coordinator", "control", "data")


@dataclass(frozen=True)
class Line:
    """A number that depends on the number of hosts, linear in its logarithm between and beyond the measured ones."""

    seen: Mapping[int, float]

    def of(self, hosts: int) -> float:
        """Return the number for `hosts` hosts."""
        points = sorted(self.seen.items())
        if hosts in self.seen or len(points) == 1:
            return self.seen.get(hosts, points[0][1])
        (few, low), (many, high) = next((pair for pair in pairwise(points) if hosts <= pair[1][0]), points[-2:])
        return low + (high - low) * math.log(hosts / few) / math.log(many / few)


#: For spaces of which they were not measured: the part of their bytes that compressed messages take, and how many times
#: as many bytes are sent in parts.
COMPRESSED, AGAIN = 0.55, 1.1


@dataclass(frozen=True)
class Costs:
    """The costs of a space, in seconds.

    `threads` is the cost of a configuration on one core of a run by threads. The coordinator spends `start` before
    the first layer, and `dealing` for each host when it sends the hosts their ranges. `sent` is the number of bytes
    sent for each configuration expanded. In each layer the largest host has `uneven` times the mean of the
    configurations, and the host that sends most `uneven_sent` times the mean of the bytes.
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
    #: The part of their bytes that messages take if they are compressed, and the factor if they are sent in parts.
    compressed: Line = field(default_factory=lambda: Line({1: COMPRESSED}))
    again: float = AGAIN


class Run(NamedTuple):
    """A run by `hosts` hosts: the sizes of its layers, the state after each layer, and the requests if recorded."""

    hosts: int
    layers: Sequence[int]
    moments: Sequence[Moment]
    asked: Sequence[Asked] = ()

    @property
    def first(self) -> int:
        """The depth of the first layer that hosts made."""
        return next(depth for depth, moment in enumerate(self.moments) if moment.hosted)

    def spent(self, role: str, depth: int) -> float:
        """Return the processor seconds that a role spent on a layer."""
        return self.moments[depth].cpu[role] - self.moments[depth - 1].cpu[role]


@dataclass(frozen=True)
class Runs:
    """The runs of a space: by threads, by hosts at the same time, and by hosts one after the other."""

    threads: Run
    together: list[Run]
    in_turn: list[Run]
    directed: bool = False


def fitted(spaces: Mapping[str, Runs]) -> dict[str, Costs]:
    """Return the costs of each space. All spaces have the same cost of a byte sent."""
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
    """Return the sum over layers of the largest number of a host, divided by the sum over layers of the mean.

    `numbers` has one number for each host of the first layer, then for each host of the second, and so on.
    """
    table = np.reshape(np.array(numbers, dtype=float), (-1, hosts))
    return float(table.max(axis=1).sum() / table.mean(axis=1).sum()) if table.any() else 1.0


def _bytes(run: Run) -> float:
    sizes = sum(each.size for each in run.asked if each.task == EXPAND)
    return sum(each.sent for each in run.asked) / sizes


def _share(runs: Sequence[Run], role: str) -> Share:
    """Fit the cost of a role to the layers that hosts made, without the first, which includes dealing."""
    rows, took = [], []
    for run in runs:
        for depth in range(run.first + 1, len(run.moments)):
            sent = run.moments[depth].sent - run.moments[depth - 1].sent
            rows.append([1.0, float(run.hosts), float(sent)])
            took.append(run.spent(role, depth))
    return Share(*_least(rows, took))


def _phases(spaces: Mapping[str, Runs], task: str) -> dict[str, Phase]:
    """Fit the cost of one kind of request for each space."""
    rows, threads, main, waits = [], [], [], dict[str, list[float]]()
    for number, (name, runs) in enumerate(spaces.items()):
        waits[name] = []
        for asked, older, others in _requests(runs, task):
            own = [1.0, float(asked.size), older, float(others)]
            rest = [value if place == number else 0.0 for place in range(len(spaces)) for value in own]
            rows.append([float(asked.sent), *rest])
            threads.append(asked.cpu - asked.main + asked.between)
            main.append(asked.main)
            waits[name].append(asked.clock - asked.main - (asked.cpu - asked.main) / THREADS)
    byte, *rest = _least(rows, threads)
    # The thread that works alone neither sends nor compares.
    alone = _least([[value for place, value in enumerate(row[1:]) if place % 4 < 2] for row in rows], main)
    found = {}
    for number, name in enumerate(spaces):
        fixed, each, older, host = rest[4 * number : 4 * number + 4]
        wait = max(0.0, float(np.quantile(waits[name], _UNDISTURBED)))
        found[name] = Phase(Work(fixed, each, byte, older, host), Work(*alone[2 * number : 2 * number + 2]), wait)
    return found


def _requests(runs: Runs, task: str) -> Iterator[tuple[Asked, float, int]]:
    """Yield the requests of a task, each with the numbers of older configurations compared and of other hosts."""
    for run in runs.in_turn:
        older = defaultdict[int, float](float)
        for asked in run.asked:
            if asked.task == MERGE:
                older[asked.host] += asked.size
            # The first layer also loads kernels and sets up bitmaps.
            if asked.task == task and asked.depth > run.first:
                yield asked, older[asked.host] if runs.directed and task == MERGE else 0.0, run.hosts - 1


def _least(rows: Sequence[Sequence[float]], took: Sequence[float]) -> list[float]:
    """Return the coefficients, none negative, that minimise the sum of squares of the relative errors."""
    # It takes half a second to import, and is needed for new measurements alone.
    from scipy.optimize import nnls

    weights = 1 / np.maximum(_LEAST_SECONDS, _NOISE * np.array(took))
    weighted = np.array(rows) * weights[:, None]
    scale = np.maximum(np.abs(weighted).max(axis=0), 1e-30)
    solution, _ = nnls(weighted / scale, np.array(took) * weights)
    return [float(number) for number in solution / scale]
