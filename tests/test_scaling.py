"""What is reckoned for many workers on many hosts: by hand on a tiny case, and against runs on slow links."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.costs import ROLES, Bytes, Factors, Fitted, Made, bytes_of_pieces, deviation, fitted, layers_made
from benchmarks.prediction import (
    Costs,
    Place,
    bytes_sent,
    ceilings,
    chunks_of,
    kept_of,
    run_seconds,
    stages,
    step_seconds,
    steps_of,
)  # fmt: skip
from benchmarks.roles import watched_here
from benchmarks.scaling_page import GIGABITS, as_text, draw
from benchmarks.watched import Moment
from tests.support.namespaces import why_not

NOTHING = Factors()
#: A second of a worker's core for a million configurations, a tenth of that of all others; no jobs, no start.
EACH = {role: Fitted(Factors(each=1e-6 if role == "workers" else 1e-7), NOTHING) for role in ROLES}
TWO = Bytes(((1.0, 2.0),))
COSTS = Costs("toy", False, 2e-6, 0.0, EACH, [TWO] * 5, 1.0)
MILLION = 1_000_000
#: A link of a million bytes of values a second.
LINK = 8_000_000 * 1538 / 1448


def place(workers: int, hosts: int, each: bool = True) -> Place:
    return Place(workers, hosts, LINK, each)


def test_factors_are_found_in_layers_with_their_errors() -> None:
    """Those of a job and a fetch are the same for both kinds; one layer in two took a little more, one less."""
    true = {
        "toy": {role: Factors(0.002, 0.003, 0.0001, number * 1e-8, 0.0) for number, role in enumerate(ROLES, 1)},
        "other": {role: Factors(0.004, 0.003, 0.0001, 3e-7, 2e-8) for role in ROLES},
    }
    made: dict[float, list[Made]] = {0.0: [], 0.1: []}
    for kind, factors in true.items():
        for number in range(40):
            size, jobs = 10_000 * 3 ** (number % 5), 2 ** (number % 7)
            known = 40 * size + 1_000_000 * (number % 3) if kind == "other" else 0
            for noise, layers in made.items():
                part = 1 + noise * (-1) ** (number // 2)
                counts = (float(jobs), float(jobs**2), float(size), float(known))
                cpu = {role: part * (each.layer + each.spent(*counts)) for role, each in factors.items()}
                layers.append(Made(kind, number, size, known, jobs, jobs**2, cpu, 0))
    exact, noisy = fitted(made[0.0]), fitted(made[0.1])
    for kind, factors in true.items():
        for role, each in factors.items():
            assert exact[kind][role].factors == pytest.approx(each, rel=1e-4, abs=1e-10)
            assert exact[kind][role].errors == pytest.approx(NOTHING, abs=1e-6)
            found, errors = noisy[kind][role]
            for value, error, wanted in zip(found, errors, each, strict=True):
                assert abs(value - wanted) <= 4 * error, (kind, role, found, errors)
            assert errors.each > 1e-10 and (errors.known > 0) == (kind == "other")
    assert deviation(made[0.0], exact, "workers") == pytest.approx((1.0, 1.0))


def test_a_layer_is_what_came_between_two_looks() -> None:
    """Not a small one, nor one whose blocks the coordinator had to put there; with the pieces by chunks."""
    layers, both = [1, 50, 100, 400, 300], (1, 2)
    moments = [
        Moment(depth, 0.0, {"workers": depth**2 / 8, "coordinator": depth / 4}, 1_000 * depth, depth, 2 * depth)
        for depth in range(len(layers))
    ]
    found = list(layers_made("toy", layers, moments, 100, directed=True))
    assert found == [Made("toy", 4, 300, 551, 1, 2, {"workers": 7 / 8, "coordinator": 0.25}, 1_000)]
    assert [layer.depth for layer in layers_made("toy", layers, moments, 50, directed=False)] == [3, 4]
    made = [Made("toy", 3, 100, 0, jobs, 0, {}, left) for jobs, left in ((2, 300), (8, 400), (32, 700))]
    pieces = bytes_of_pieces(made, layers, stored=1.0)
    assert pieces == [Bytes(((1.0, 2.0), (3.0, 3.0), (5.0, 6.0)))] * 4 + [Bytes(((0.0, 0.0),))]
    assert [pieces[0].of(chunks) for chunks in (1, 2, 4, 16, 128)] == [2.0, 2.0, 2.5, 4.5, 9.0]
    assert pieces[4].of(7) == 0.0 and all(pieces[place] == pieces[3] for place in both)


def test_a_layer_by_hand() -> None:
    """Four workers, one chunk each: 4 million bytes are stored, pieces are 8 million, two layers compared with 8."""
    step = steps_of([4.0 * MILLION] * 3, COSTS)[1]
    assert step.known == [4.0 * MILLION] * 2
    edges = 3 * 2 * 0.065536
    expected = {"compute": 1.0, "books": 0.4, "take in": 4.0, "leave": 0.0}
    # A half of the pieces is on this host, what they are compared with on the other.
    assert stages(COSTS, place(4, 2), step, 4) == pytest.approx(expected | {"fetch": (4 + 8 + edges) / 2}, abs=0.2)
    one = stages(COSTS, place(4, 2, each=False), step, 4)
    assert one == pytest.approx(expected | {"take in": 0.0, "leave": 12.0, "fetch": 16 + edges})
    # Pieces, what they are compared with, blocks; of the layer that is empty no range has edges.
    sent = (3 * 8 + (4 + 8 + 8) + 2 * 4) * MILLION + 9 * 65_536
    assert bytes_sent(COSTS, 4, [4.0 * MILLION] * 3, 1) == pytest.approx(sent)
    assert chunks_of(step.made, 4) == 4
    # Each worker keeps its own quarter of the pieces, and all that its range is compared with.
    kept = replace(COSTS, kept=1.0)
    assert bytes_sent(kept, 4, [4.0 * MILLION] * 3, 1) == pytest.approx((3 * 6 + 2 * 4) * MILLION)
    assert stages(kept, place(4, 2), step, 4)["fetch"] == pytest.approx(2.0)
    assert stages(kept, place(4, 2, each=False), step, 4)["fetch"] == pytest.approx(6.0)
    half = bytes_sent(replace(COSTS, kept=0.5), 4, [4.0 * MILLION] * 3, 1)
    assert kept_of(kept, 4, [4.0 * MILLION] * 3, 1, half) == pytest.approx(0.5)
    assert kept_of(kept, 4, [4.0 * MILLION] * 3, 1, 2 * sent) == 0
    # One round of all workers: nothing overlaps. In ten the longest stage takes its time, the others a tenth.
    uneven = 1 + 0.08 * math.log2(4)
    assert step_seconds(COSTS, place(4, 2, each=False), step) == pytest.approx(uneven + 0.4 + 12 + 16 + edges)
    many = step._replace(size=10 * step.size, made=10 * step.made, known=[])
    longest = 10 * 12.0
    rest = 10 * (1 + 0.08 * math.log2(chunks_of(many.made, 1)) / 10 + 0.4 + 8) * 1.0
    got = step_seconds(COSTS, place(1, 1, each=False), many)
    assert longest < got < longest + rest
    directed = steps_of([1.0, 2.0, 3.0], replace(COSTS, directed=True))
    assert [step.known for step in directed] == [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0]]


def test_more_of_what_limits_is_faster_and_nothing_beats_the_ceiling() -> None:
    layers = [float(40 * MILLION)] * 5
    for each in (False, True):
        for bits in (1e9, 1e11):
            most = min(limit.times for limit in ceilings(COSTS, layers, bits, each).values())
            times = [
                2e-6 * sum(layers) / run_seconds(COSTS, Place(workers, workers, bits, each), layers, 1)
                for workers in (1, 2, 4, 8)
            ]
            assert times == sorted(times)
            assert times[-1] < most
    assert ceilings(COSTS, layers, 1e9, True)["the coordinator's core"] == pytest.approx((20.0, 20.0, 20.0))
    unsure = EACH | {"coordinator": Fitted(Factors(each=1e-7), Factors(each=3e-8))}
    limits = ceilings(replace(COSTS, roles=unsure), layers, 1e9, True)
    assert limits["the coordinator's core"] == pytest.approx((20.0, 12.5, 50.0))
    assert limits["the coordinator's link"].least == limits["the coordinator's link"].most
    unknown = EACH | {"coordinator": Fitted(Factors(each=1e-7), Factors(each=6e-8))}
    assert ceilings(replace(COSTS, roles=unknown), layers, 1e9, True)["the coordinator's core"].most == math.inf


def shown() -> dict[str, object]:
    """What is known of the toy, as the benchmark has it."""
    return scaling.reckoned(COSTS, [MILLION] * 5, 1) | {
        "threads": COSTS.threads, "start": 0.5, "stored": 1.0, "kept": 0.75, "pieces": {2: 2.0, 8: 2.25},
        "factors": {role: each.factors._asdict() for role, each in EACH.items()},
        "errors": {role: each.errors._asdict() for role, each in EACH.items()},
    }  # fmt: skip


def test_the_table_has_all_that_was_reckoned() -> None:
    tested = {"space": "toy", "data_redis": "one", "mbit": 4, "measured_s": 2.0}
    fit = dict.fromkeys(ROLES, (0.9, 1.1))
    lines = list(as_text({"spaces": {"toy": shown()}, "fit": fit, "test": [tested]}))
    each = "100.00 ± 0.00 | 100.00 ± 0.00 | 100.00 ± 0.00 | 1000.00 ± 0.00"
    assert f"| toy | 2000.0 | {each} | 0.50 | 0.00 ± 0.00 | 2.00 | 2.25 | 1.00 | 0.75 |" in lines
    assert "| workers | 0.00 ± 0.00 | 0.00 ± 0.00 | 0.9 to 1.1 |" in lines
    assert sum("Gbit/s" in line for line in lines) == 2 * len(GIGABITS)
    assert lines[-1] == "| toy | one | 4 | 2.0 |"


@pytest.mark.slow
def test_a_run_is_looked_at_after_each_layer(tmp_path: Path) -> None:
    spent, moments = watched_here(("tiles", "-o", "rows=2", "-o", "columns=3"), str(tmp_path))
    assert [moment.depth for moment in moments] == list(range(len(spent.report["layers"])))
    times = [moment.cpu["coordinator"] for moment in moments]
    assert 0 < times[0] <= times[-1] < spent.cpu["coordinator"] and times == sorted(times)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_runs_on_slow_links_send_what_was_reckoned_and_are_no_faster(tmp_path: Path) -> None:
    """How much longer they take depends on who else is at work; docs/scaling.md tells what an idle machine takes."""
    if why := why_not():
        pytest.skip(f"no network namespaces here: {why}")
    kind = "pancakes 11"
    found = scaling.measure_all({kind: scaling.SPACES[kind]}, test=True, megabits=(4,))
    print(found["test"])
    assert [row["data_redis"] for row in found["test"]] == ["one", "each"]
    assert all(row["ratio"] < 3 / 2 for row in found["test"]), found["test"]
    assert all(row["reckoned_mb"] == pytest.approx(row["sent_mb"], rel=0.2) for row in found["test"]), found["test"]
    draw(found, tmp_path / "pancakes.svg")
    assert b"</svg>" in (tmp_path / "pancakes.svg").read_bytes()
