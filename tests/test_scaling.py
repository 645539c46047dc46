"""What is reckoned for many workers on many hosts: by hand on a tiny case, and against runs on slow links."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.prediction import (
    ROLES,
    Bytes,
    Costs,
    Factors,
    Place,
    Run,
    Step,
    ceilings,
    chunks_of,
    fitted,
    fitted_bytes,
    run_seconds,
    stages,
    step_seconds,
    steps_of,
)  # fmt: skip
from tests.support.namespaces import why_not

NOTHING = Factors(0, 0, 0, 0, 0, 0)
#: A second of a worker's core for a million configurations, a tenth of that of all others; no jobs, no start.
EACH = {role: NOTHING._replace(each=1e-6 if role == "workers" else 1e-7) for role in ROLES}
COSTS = Costs("toy", False, 2e-6, EACH, Bytes(2.0, 0.0), 1.0)
MILLION = 1_000_000
#: A link of a million bytes of values a second.
LINK = 8_000_000 * 1538 / 1448


def place(workers: int, hosts: int, each: bool = True) -> Place:
    return Place(workers, hosts, LINK, each)


def test_factors_are_found_in_runs() -> None:
    true = {
        "toy": {role: Factors(0.5, 0.002, 0.003, 0.0001, number * 1e-8, 0.0) for number, role in enumerate(ROLES, 1)},
        "other": {role: Factors(0.5, 0.004, 0.003, 0.0001, 3e-7, 2e-8) for role in ROLES},
    }
    runs = []
    sizes = [(100, 1000), (100, 90_000, 50_000), (10, 4 * MILLION, 7 * MILLION, 2 * MILLION), (1, 30 * MILLION)]
    for kind, factors in true.items():
        for number, layers in enumerate(sizes * 2, 1):
            run = Run(kind, layers, 1000, kind == "other", {}, 0.0, 7 * number, 5 * number**3)
            cpu = {
                role: each.start + each.layer * len(run.farmed)
                + each.layers(run.jobs, run.fetches, sum(run.farmed), run.known)
                for role, each in factors.items()
            }  # fmt: skip
            runs.append(replace(run, cpu=cpu, left=sum(run.farmed) * (3.0 + 0.25 * run.doublings)))
    found = fitted(runs)
    for kind, factors in true.items():
        for role, each in factors.items():
            assert found[kind][role] == pytest.approx(each, rel=1e-4, abs=1e-10)
        own = [run for run in runs if run.kind == kind]
        assert fitted_bytes(own, stored=1.0) == pytest.approx((2.0, 0.25))


def test_a_layer_by_hand() -> None:
    """Four workers, one chunk each: 4 million bytes are stored, pieces are 8 million, two layers compared with 8."""
    step = Step(4.0 * MILLION, 4.0 * MILLION, [4.0 * MILLION, 4.0 * MILLION])
    edges = 3 * 2 * 0.065536
    expected = {"compute": 1.0, "books": 0.4, "take in": 4.0, "leave": 0.0}
    # A half of the pieces is on this host, what they are compared with on the other.
    assert stages(COSTS, place(4, 2), step, 4) == pytest.approx(expected | {"fetch": (4 + 8 + edges) / 2}, abs=0.2)
    one = stages(COSTS, place(4, 2, each=False), step, 4)
    assert one == pytest.approx(expected | {"take in": 0.0, "leave": 12.0, "fetch": 16 + edges})
    assert chunks_of(step.made, 4) == 4
    # One round of all workers: nothing overlaps. In ten the longest stage takes its time, the others a tenth.
    uneven = 1 + 0.08 * math.log2(4)
    assert step_seconds(COSTS, place(4, 2, each=False), step) == pytest.approx(uneven + 0.4 + 12 + 16 + edges)
    many = Step(*(10 * number for number in step[:2]), [])
    longest = 10 * 12.0
    rest = 10 * (1 + 0.08 * math.log2(chunks_of(many.made, 1)) / 10 + 0.4 + 8) * 1.0
    got = step_seconds(COSTS, place(1, 1, each=False), many)
    assert longest < got < longest + rest
    assert [step.known for step in steps_of([1.0, 2.0, 3.0], directed=True)] == [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]]


def test_more_of_what_limits_is_faster_and_nothing_beats_the_ceiling() -> None:
    layers = [float(40 * MILLION)] * 5
    for each in (False, True):
        for bits in (1e9, 1e11):
            most = min(ceilings(COSTS, layers, bits, each).values())
            times = [
                2e-6 * sum(layers) / run_seconds(COSTS, Place(workers, workers, bits, each), layers, 1)
                for workers in (1, 2, 4, 8)
            ]
            assert times == sorted(times)
            assert times[-1] < most
    assert ceilings(COSTS, layers, 1e9, True)["the coordinator's core"] == pytest.approx(20.0)


def test_the_table_has_all_that_was_reckoned() -> None:
    space = scaling.reckoned(COSTS, [MILLION] * 3, 1)
    space |= {"threads": COSTS.threads, "stored": 1.0, "pieces": {"each": 2.0, "doubling": 0.1}}
    space["factors"] = {role: factors._asdict() for role, factors in EACH.items()}
    tested = {"space": "toy", "data_redis": "one", "mbit": 4, "measured_s": 2.0}
    fit = dict.fromkeys(ROLES, (0.9, 1.1))
    lines = list(scaling.as_text({"spaces": {"toy": space}, "fit": fit, "test": [tested]}))
    assert "| toy | 2000.0 | 100.0 | 100.0 | 100.0 | 1000.0 | 0.0 | 2.00 + 0.10 a doubling | 1.00 |" in lines
    assert "| workers | 0.00 | 0.00 | 0.0 | 0.9 to 1.1 |" in lines
    assert sum("Gbit/s" in line for line in lines) == 2 * len(scaling.GIGABITS)
    assert lines[-1] == "| toy | one | 4 | 2.0 |"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_runs_on_slow_links_take_what_was_reckoned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Within a third, as other work may slow them down; costs are those that docs/scaling.md gives for pancakes."""
    if why := why_not():
        pytest.skip(f"no network namespaces here: {why}")
    monkeypatch.setattr(scaling, "_TEST_MEGABITS", (4,))
    start, each = [0.63, 0.0, 0.0, 0.0], [1.1e-9, 0.8e-9, 2.6e-9, 66.8e-9]
    factors = [NOTHING._replace(start=first, job=1e-3, each=more) for first, more in zip(start, each, strict=True)]
    costs = Costs("pancakes", False, 77e-9, dict(zip(ROLES, factors, strict=True)), Bytes(0.36, 0.41), 1.005)
    rows = list(scaling.tested("pancakes", scaling.SPACES["pancakes 11"], costs))
    print(rows)
    assert [row["data_redis"] for row in rows] == ["one", "each"]
    assert all(2 / 3 < row["ratio"] < 3 / 2 for row in rows), rows
    space = scaling.reckoned(costs, [MILLION] * 3, 1)
    scaling.draw({"spaces": {"pancakes": space}}, tmp_path / "pancakes.svg")
    assert b"</svg>" in (tmp_path / "pancakes.svg").read_bytes()
