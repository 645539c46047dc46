"""Censuses by passes, as if memory were short: by workers of a real Redis, and killed in the middle of each pass."""

import signal
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hakoiri.api import Run, census, explore
from hakoiri.coordinator.census import job as verify_module
from hakoiri.coordinator.executors.remote import RemoteExecutor
from hakoiri.coordinator.executors.threads import ThreadExecutor
from hakoiri.coordinator.runs.verify import verify_directory
from hakoiri.coordinator.session.check import Report
from hakoiri.coordinator.session.resources import Resources, Tuning
from hakoiri.coordinator.session.session import Control, SilentObserver
from hakoiri.storage.layers.blocks import code_keys
from hakoiri.storage.layers.store import RunStore
from hakoiri.storage.ledger.ledger import Ledger
from hakoiri.storage.names import BLOCKS, number_key
from hakoiri.storage.results import Diameter, read_pairs, recorded_components, stage_component
from tests.support.commands import Hakoiri
from tests.support.process_setup import stand_still_when_joined, stand_still_when_listed
from tests.support.runs import essence, small_slabs
from tests.support.servers import Workers, by_workers
from tests.support.toy_runs import before_call

#: Little for all configurations of Hakoiri-musume, enough for what is proved of its largest component.
_SHORT = 5_000_000
#: All configurations of ten tiles and their moves take more than the least memory that a run may have.
_TILES = ("run", "sliding", "--from", ".ABCD/EFGHI", "-o", "distinct=all", "--whole", "--diameters", "below=2")


def test_diameters_are_asked_for_from_the_command_line(hakoiri: Hakoiri) -> None:
    found = hakoiri.ask("run", "tiles", "-o", "rows=2", "-o", "columns=2", "--whole", "--diameters", "below=4")
    assert (found["diameters"], found["components"], found["components_done"]) == ("below=4", 1, 1)
    (only,) = hakoiri.ask("components", "last")["components"]
    assert (only["size"], only["diameter"]) == (12, None)
    # What was left out is measured when it is asked for.
    assert hakoiri.ask("diameter", "last", "--component", "0")["diameter"] == 6
    refused = hakoiri.here("run", "tiles", "--diameters", "largest=1", check=False)
    assert "--diameters needs --whole" in refused.error


@pytest.mark.slow
def test_workers_find_what_threads_find(
    farm: Workers, whole_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_slabs(monkeypatch, 4_096)
    resources = Resources(farm.url, memory=_SHORT, chunk=20_000, farm=1, tuning=Tuning(most_range=5 * 4_096))
    with by_workers(), census(data=tmp_path, resources=resources) as run:
        assert essence(run) == essence(whole_run)
        assert run.components() == whole_run.components()
        directory = run.store.directory
    report = verified(farm, directory, monkeypatch)
    assert (report.ok, report.checked["configurations"]) == (True, 2_000)


def verified(farm: Workers, directory: Path, patch: pytest.MonkeyPatch) -> Report:
    """Return the report of `verify`, all its work done by workers."""
    asked, mapped = set[str](), RemoteExecutor.map

    def told(self: RemoteExecutor, task: str, *arguments: Any) -> Any:
        asked.add(task)
        return mapped(self, task, *arguments)

    patch.setattr(RemoteExecutor, "map", told)
    resources = Resources(farm.url, memory=1 << 28, chunk=1_000, farm=1)
    report = verify_directory(directory, False, resources, Control(), SilentObserver())
    assert "derive" in asked or not report.ok
    return report


def test_workers_and_threads_search_from_every_configuration_of_a_census_again(
    farm: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with census("pancakes", {"n": "5"}, data=tmp_path) as run:
        directory = run.store.directory
    monkeypatch.setattr(verify_module, "_STEPS_AT_ONCE", 10_000)
    for executor, resources in ((ThreadExecutor, Resources()), (RemoteExecutor, Resources(farm.url))):
        asked: list[str] = []
        before_call(monkeypatch, executor, "map", lambda _, task, *rest, asked=asked: asked.append(task))
        with by_workers() if resources.redis else nullcontext():
            report = verify_directory(directory, True, resources, Control(), SilentObserver())
        assert (report.ok, report.checked["components"]) == (True, 1), report
        assert "searches" in asked
    with RunStore(directory, writable=True) as store:
        (record,) = recorded_components(store).values()
        stage_component(store, Diameter(replace(record, radius=4), read_pairs(store, 0)))
        store.commit(store.state)
    report = verify_directory(directory, True, Resources(farm.url), Control(), SilentObserver())
    assert "diameter, radius, centre, periphery are (5, 5, 120, 120)" in report.faults[0]


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_workers_verify_layers_as_this_process_does(
    full: bool, farm: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with explore("pancakes", {"n": "6"}, data=tmp_path) as run:
        directory, layer = run.store.directory, run.layer(3)
    far, here = Resources(farm.url, chunk=50, farm=1), Resources()
    with by_workers():
        reports = [verify_directory(directory, full, each, Control(), SilentObserver(), seed=5) for each in (far, here)]
    assert reports[0] == reports[1]
    assert reports[0].ok
    with RunStore(directory, writable=True) as store:
        # As a repair would put it, but for one configuration: only its digest and its moves are wrong.
        store.erase(BLOCKS, number_key(3))
        store.stage_blocks(3, code_keys(3, layer[1:]))
        store.commit(store.state)
    damaged = [verify_directory(directory, full, each, Control(), SilentObserver()).faults for each in (far, here)]
    assert damaged[0] == damaged[1]
    assert damaged[0] == ["layer 3 is damaged: its blocks do not match its record"]


@pytest.mark.slow
def test_a_census_killed_in_each_pass_is_that_of_one_left_alone(hakoiri: Hakoiri, tmp_path: Path) -> None:
    with closing(Hakoiri(tmp_path / "alone")) as other:
        alone = other.ask(*_TILES, "--memory", "4GB")
    assert (alone["configurations"], alone["components"], alone["edges"]) == (3_628_800, 2, 4_717_440)
    command, passes = [*_TILES, "--memory", "100MB"], (stand_still_when_listed, stand_still_when_joined)
    for before in passes:
        running = hakoiri.start(*command, before=before)
        running.stands_still()
        running.send(signal.SIGKILL)
        running.finish()
        command = ["resume", "last", "--memory", "100MB"]
    found = hakoiri.ask(*command)
    for name in ("digest", "components", "edges", "start_component", "configurations"):
        assert found[name] == alone[name]
    with Ledger(hakoiri.run_directory()) as ledger:
        assert ledger.state.session == len(passes) + 1
    assert hakoiri.ask("verify", "last")["ok"]
