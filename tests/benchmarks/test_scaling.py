"""Predictions for many hosts: by hand on a tiny case, by fits that are known, and against runs on slow links."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from benchmarks import scaling
from benchmarks.costs import EXPAND, MERGE, ROLES, THREADS, Costs, Line, Phase, Run, Runs, Share, Work, fitted
from benchmarks.prediction import Place, Step, run_seconds, step_seconds, steps_of
from benchmarks.watched import Asked, Moment

MILLION = 1_000_000
#: A link of a million bytes of values a second.
LINK = 8_000_000 * 1538 / 1448
#: A microsecond a configuration to expand and half of that to merge, a tenth of it by the main thread.
COSTS = Costs(
    2e-6, 0.5, 0.01, {role: Share(0.001, 0.002, 1e-9 if role == "data" else 0.0) for role in ROLES},
    Phase(Work(0.004, 1e-6, 1e-7, host=5e-4), Work(0.001, 1e-7), 0.003),
    Phase(Work(0.004, 5e-7, 0.0, 1e-8), Work(0.001, 5e-8)),
    Line({1: 0.0, 2: 1.0, 4: 2.0}), Line({1: 1.0, 4: 1.25}), Line({1: 1.0, 2: 1.0, 4: 1.5}),
)  # fmt: skip


def test_a_layer_by_hand() -> None:
    """Four hosts of two cores expand 8 million configurations, send 16 million bytes, and merge 4 million."""
    place, step = Place(4, 2, LINK), Step(8 * MILLION, 4 * MILLION, 20 * MILLION)
    fixed = 0.001 + 4 * 0.002 + 2 * (0.004 + 0.001) + 3 * 0.0005 + 0.003
    plain, packing = 1.1 * 1.5 * 16 / 4 / 0.88, 1.25 * 2 * 2.2 * 4e-3
    threads, send, merge = 1.25 * 2 * (1.0 + 2.2 * 0.1) + packing, 0.55 * plain, 1.25 * 1 * (0.5 + 0.05) / 2
    expand = (threads + 0.25) / 2
    assert step_seconds(COSTS, place, step) == pytest.approx(fixed + expand / 4 + send + merge)
    # On a link that is a little faster the last part is sent after all is expanded; on a fast one all of it.
    little, fast = place._replace(bits=7 * LINK), place._replace(bits=70 * LINK)
    assert step_seconds(COSTS, little, step) == pytest.approx(fixed + expand + send / 7 / 4 + merge)
    once = 1.25 * 2 * (1.0 + 2 * 0.1 + 0.1) / 2
    assert step_seconds(COSTS, fast, step) == pytest.approx(fixed + once + plain / 1.1 / 70 + merge)
    # On a very slow one, too: sending some keys twice would take longer.
    slow = place._replace(bits=LINK / 4)
    got = step_seconds(COSTS, slow, step)
    assert got == pytest.approx(fixed + once + packing / 1.1 / 2 + 4 * send / 1.1 + merge)
    # Each older configuration is compared with, of a directed space.
    older = 1.25 * 28 / 4 * 0.01 / 2
    directed = replace(COSTS, directed=True)
    assert step_seconds(directed, place, step) == pytest.approx(fixed + expand / 4 + send + merge + older)
    # Many cores wait for the thread that works alone; two cores do its work besides, also if four hosts share them.
    assert step_seconds(COSTS, place._replace(cores=64), step) == pytest.approx(
        fixed + 0.25 + packing / 1.1 / 64 + send / 1.1 + 0.0625
    )
    shared = threads + 0.25 + 2 * merge
    got = step_seconds(COSTS, Place(4, 1, LINK, shared=2), step)
    assert got == pytest.approx(0.009 + 2 * (0.010 + 0.0015) + 0.003 + 2 * shared + send / 4)


def test_a_run_is_its_start_its_small_layers_and_those_of_hosts() -> None:
    layers = [1.0, 100.0, 10_000.0, 4_000.0]
    place = Place(2, 8, LINK)
    assert list(steps_of(layers))[-1] == Step(4_000, 0, 10_101)
    hosted = sum(step_seconds(COSTS, place, step) for step in list(steps_of(layers))[2:])
    assert run_seconds(COSTS, place, layers, 5_000) == pytest.approx(0.5 + 10_101 * 2e-6 + 2 * 0.01 + hosted)
    assert run_seconds(COSTS, place, layers, 50_000) == pytest.approx(0.5 + sum(layers) * 2e-6)


LAYERS = [10, 100_000, 300_000, 900_000, 500_000]


def runs(directed: bool) -> Runs:
    """Return the measurements of runs that cost what COSTS says, by threads and by 1, 2 and 4 hosts."""
    threads = [Moment(0.0, {"coordinator": 1 + 2e-6 * sum(LAYERS[:depth])}, 0, 0) for depth in range(1, 6)]
    together, in_turn = [], []
    for hosts in (1, 2, 4):
        asked = list(requests(hosts, directed))
        sent, spent, moments = 0, dict.fromkeys(ROLES, 0.5), [Moment(0.0, dict.fromkeys(ROLES, 0.5), 0, 0)]
        for depth in range(1, len(LAYERS) + 1):
            more = sum(each.sent for each in asked if each.depth == depth)
            for role, share in COSTS.roles.items():
                spent[role] += share.layer + share.host * hosts + share.byte * more + 0.01 * hosts * (depth == 1)
            sent += more
            moments.append(Moment(0.0, dict(spent), depth, sent))
        together.append(Run(hosts, LAYERS, moments))
        in_turn.append(Run(hosts, LAYERS, moments, asked))
    begun = Moment(0.0, {"coordinator": 1}, 0, 0)
    return Runs(Run(0, LAYERS, [begun, *threads]), together, in_turn, directed)


def requests(hosts: int, directed: bool) -> Iterator[Asked]:
    """Those of a run, in which each host has an equal part."""
    for depth, (size, made) in enumerate(zip(LAYERS, [*LAYERS[1:], 0], strict=True), 1):
        for task, phase, count in ((EXPAND, COSTS.expand, size // hosts), (MERGE, COSTS.merge, made // hosts)):
            sent = int(count * COSTS.sent.of(hosts)) if task == EXPAND else 0
            older = sum(each // hosts for each in LAYERS[1 : depth + 1]) if directed and task == MERGE else 0
            work, main = phase.threads, phase.main.fixed + phase.main.each * count
            cpu = main + work.fixed + work.each * count + work.byte * sent + work.older * older - 0.001
            cpu += work.host * (hosts - 1)
            for host in range(hosts):
                clock = main + (cpu - main) / THREADS + phase.waits
                yield Asked(depth, task, host, count, sent, cpu, main, 0.001, clock)


@pytest.mark.parametrize("directed", [False, True])
def test_costs_are_found_in_what_was_seen(directed: bool) -> None:
    found = fitted({"other": runs(not directed), "toy": runs(directed)})["toy"]
    for name in ("threads", "start", "dealing"):
        assert getattr(found, name) == pytest.approx(getattr(COSTS, name), rel=1e-3), name
    for role, share in COSTS.roles.items():
        assert found.roles[role] == pytest.approx(share, rel=1e-3, abs=1e-12), role
    older = COSTS.merge.threads._replace(older=1e-8 if directed else 0.0)
    assert found.expand.threads == pytest.approx(COSTS.expand.threads, rel=0.01)
    assert found.merge.threads == pytest.approx(older, rel=0.01, abs=1e-12)
    assert found.expand.main == pytest.approx(COSTS.expand.main, rel=0.01)
    assert (found.expand.waits, found.merge.waits) == pytest.approx((0.003, 0.0), abs=1e-6)
    assert [found.sent.of(hosts) for hosts in (1, 2, 4)] == pytest.approx([0, 1, 2], rel=1e-3)
    assert found.uneven.of(4) == pytest.approx(1.0, rel=1e-3)


def toy() -> dict[str, object]:
    """Return the results of a toy in the form of the benchmark."""
    seen = runs(directed=False)
    found = scaling.Measured(scaling.Space("toy", farm=50_000), seen.threads.layers, 1.0, fitted({"toy": seen})["toy"])
    costs = scaling.as_plain(found.costs)
    return {"costs": costs, "layers": found.layers, "stored": 1.0, "predicted": scaling.predicted(found)}
