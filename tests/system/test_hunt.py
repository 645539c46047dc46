"""The commands ``hunt`` and ``verify FILE.json``: refusals, kills with real signals, and RQ workers against threads."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hakoiri.coordinator.studies.hunt import HuntFigures, Record, legs_of, records_of
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.names import run_directories
from tests.support.commands import Hakoiri, wait_until
from tests.support.servers import Workers, by_workers

SMALL = ("hunt", "gap", "-o", "ranks=3", "--legs", "4")
LONG = ("hunt", "gap", "-o", "ranks=5", "--time", "1h")


def records(hakoiri: Hakoiri) -> list[Record]:
    for run in run_directories(hakoiri.data):
        with RunStore(run) as store:
            return records_of(store)
    return []


def has_records(hakoiri: Hakoiri) -> bool:
    return len(records(hakoiri)) > 1


def without_times(found: dict[str, Any]) -> dict[str, Any]:
    best = {name: value for name, value in found["best"].items() if name not in ("seconds", "when")}
    return {name: found[name] for name in ("legs", "deals", "positions")} | {"score": best["score"]}


def test_a_hunt_prints_its_records_and_a_certificate_that_verify_derives_again(hakoiri: Hakoiri) -> None:
    printed = hakoiri.here(*SMALL, "--maximise", "moves")
    (run,) = run_directories(hakoiri.data)
    target = run.with_suffix(".json")
    certificate = json.loads(target.read_text(encoding="utf-8"))
    flat = " ".join(printed.stdout.split())
    assert f"most moves {certificate['figures']['moves']}" in flat
    assert certificate["deal"].replace("/", " ") in flat
    assert f"verify it with: hakoiri verify {target}" in printed.stderr
    found = hakoiri.ask(*SMALL, "--maximise", "moves")
    assert found["best"]["figures"] == certificate["figures"]
    assert found["legs"] == 4
    assert found["certificate"] == str(target)
    verified = hakoiri.ask("verify", str(target), "--full")
    assert (verified["certificate"], verified["ok"]) == (str(target), True)
    assert verified["checked"]["configurations"] == certificate["figures"]["positions"]
    assert hakoiri.here("verify", str(target)).stdout.startswith("sound: checked")


def test_the_certificate_in_the_docs_is_sound_in_form() -> None:
    from hakoiri.coordinator.runs.certificate import read_certificate
    from tests.support.commands import ROOT

    found = read_certificate(ROOT / "docs" / "reports" / "hardest-gap-7.json")
    assert found.figures.positions == sum(layer.size for layer in found.layers) > 1_000_000
    assert found.figures.depth == len(found.layers) - 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["hunt", "klotski"], "klotski does not support hunts; puzzles that do: gap and sliding"),
        (["hunt", "gap", "--maximise", "beauty"], "unknown objective 'beauty'; set --maximise positions|moves|depth"),
        (["hunt", "gap", "-o", "ranks=2"], "ranks=2"),
        (["verify", "missing.json"], "missing.json cannot be read: No such file or directory"),
        (["verify", "pyproject.json/x.json"], "cannot be read"),
    ],
)
def test_mistakes_are_one_line(line: list[str], words: str, hakoiri: Hakoiri) -> None:
    refused = hakoiri.here(*line, check=False)
    assert refused.code == 1
    assert words in refused.error
    assert not hakoiri.data.exists()


def test_nothing_found_is_said(hakoiri: Hakoiri) -> None:
    printed = hakoiri.here("hunt", "gap", "-o", "ranks=3", "--legs", "1", "--cap", "2")
    assert "no record found yet" in printed.stderr
    assert "deals tried" in printed.stdout
    assert hakoiri.ask("hunt", "gap", "-o", "ranks=3", "--legs", "1", "--cap", "2")["best"] is None


@pytest.mark.parametrize("option", [["--time", "soon"], ["--time", "0m"], ["--legs", "0"], ["--seed", "-1"]])
def test_wrong_usage(option: list[str], hakoiri: Hakoiri) -> None:
    assert hakoiri.here("hunt", "gap", *option, check=False).code == 2


def test_a_killed_hunt_keeps_every_record_that_it_announced(hakoiri: Hakoiri) -> None:
    running = hakoiri.start(*LONG)
    wait_until(lambda: has_records(hakoiri), what="records")
    announced = re.findall(r"record: ([\d,]+) positions: (.*)", running.kill().stderr)
    before = records(hakoiri)
    assert len(before) > 1
    (run,) = run_directories(hakoiri.data)
    with RunStore(run) as store:
        bests = {(f"{leg.best_score:,}", leg.best) for leg in legs_of(store).values()}
        legs = HuntFigures.of(store.state).legs
    assert announced
    assert set(announced) <= bests
    again = hakoiri.ask(*LONG[:-2], "--legs", str(legs + 2))
    assert again["legs"] >= legs + 2
    # Legs that land later may stand before those that were there: a record in between no longer counts.
    assert again["best"]["score"] >= before[-1].score


def test_rq_workers_hunt_as_threads_do(hakoiri: Hakoiri, farm: Workers, tmp_path: Path) -> None:
    with by_workers():
        farmed = hakoiri.ask(*SMALL, "--redis", farm.url)
    alone = hakoiri.ask(*SMALL, data=tmp_path / "other")
    assert without_times(farmed) == without_times(alone)
